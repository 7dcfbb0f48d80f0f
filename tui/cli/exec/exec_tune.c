#include "tui/cli/exec/exec_tune.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "report/build/build.h"
#include "report/source/source.h"
#include "tui/cli/exec/exec_words.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS 250000000L
#define S_NS 1000000000u
#define LOOK_FIRST_NS (8ull * S_NS) /* of batches under one setting, before they are replayed */
#define LOOK_MOST_NS (300ull * S_NS)
#define REPLAYED_NS (30ull * S_NS) /* at most: the newest */
#define LEAST_GAIN 0.03            /* as in pipeprobe_tune.py */
#define LEAST_BATCHES 8
#define LINE_MAX_BYTES 1024
#define TEXT_MAX 192
enum { CANDIDATES = 3, DECISIONS_MAX = 12, ROWS_MAX = 1000, LEFT_MAX = 8 };

struct candidate {
    int workers, prefetch; /* 0: as it is */
    double gain, low, high;
};

/* What was predicted of a change of one argument, and came of it. */
struct proof {
    const char *change;
    char value[16];
    struct candidate predicted;
    double before, after, low, high; /* samples/s */
};

struct exec_tune {
    enum exec_tune_mode mode;
    const char *recording, *session;
    struct pp_store *store;
    int quiet;
    pthread_t thread;
    atomic_int over; /* the program has ended */
    off_t told;      /* bytes of the job's lines that were read */
    unsigned rows, decisions, said;
    int done, tries, judged; /* tries: what was told last is no decision; judged: there was a replay */
    unsigned asked;          /* candidates that are not decided yet */
    struct candidate candidates[CANDIDATES]; /* that were asked for last */
    struct proof proofs[DECISIONS_MAX];
    unsigned n_proofs;
    uint64_t since_ns; /* since when the loader has the setting that it has; 0: from its first batch on */
    uint64_t look_ns, wait_ns; /* when the recording is replayed next; after how long the time after that */
    long long pid;             /* of the loader that is tuned: its row is "PID.NUMBER" */
    unsigned loader;
    char place[128]; /* where it is made; "": not known */
    struct {
        char loader[24], why[TEXT_MAX];
    } left[LEFT_MAX]; /* what the job does not touch: said once it is known which loader is meant */
    unsigned n_left;
};

/* ---- what the job told ---- */

struct told {
    char what[16], loader[24], text[TEXT_MAX];
    unsigned long long at_ns;
    unsigned batch;
    int workers, prefetch, old_workers, old_prefetch;
    double gain, low, high, before, after;
};

static void say_decision(const struct exec_tune *t, const struct told *c)
{
    static const struct {
        const char *what, *words;
    } ends[] = {{"kept", "kept"},
                {"undone", "undone"},
                {"found", "put back"},
                {"refused", "not tried: "},
                {"failed", "undone: "}};
    char change[96], measured[160] = "", loader[192];
    const char *end = NULL;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (strcmp(c->what, ends[i].what) == 0)
            end = ends[i].words;
    if (!end || t->quiet)
        return;
    /* "num_workers 4 -> 16, prefetch_factor 2 -> 4" */
    int n = 0;
    if (c->workers != c->old_workers)
        n = snprintf(change, sizeof(change), "num_workers %d -> %d", c->old_workers, c->workers);
    if (c->prefetch != c->old_prefetch || !n)
        snprintf(change + n, sizeof(change) - (size_t)n, "%sprefetch_factor %d -> %d", n ? ", " : "",
                 c->old_prefetch, c->prefetch);
    snprintf(loader, sizeof(loader), *t->place ? "loader %u (%s)" : "loader %u", t->loader, t->place);
    n = 0;
    if (isfinite(c->gain))
        n = snprintf(measured, sizeof(measured), "%.3g -> %.3g samples/s, %+.0f %%", c->before, c->after,
                     100 * c->gain);
    if (n && isfinite(c->low) && isfinite(c->high))
        n += snprintf(measured + n, sizeof(measured) - (size_t)n, " (%+.0f to %+.0f %%)", 100 * c->low,
                      100 * c->high);
    exec_say("%s: %s: %s%s%s%s at batch %u", loader, change, measured, n ? ", " : "", end, c->text, c->batch);
}

/* Whether it is about the loader that is tuned; NUMBER -1: about all of the process. */
static int is_ours(const struct exec_tune *t, const char *loader)
{
    long long pid;
    int number;
    return t->pid && sscanf(loader, "%lld.%d", &pid, &number) == 2 && pid == t->pid &&
           (number < 0 || (unsigned)number == t->loader);
}

static void say_left(struct exec_tune *t)
{
    for (unsigned i = 0; i < t->n_left; i++)
        if (is_ours(t, t->left[i].loader)) {
            if (!t->quiet && *t->left[i].why)
                exec_say("--tune does not touch %s: %s", *t->place ? t->place : "the DataLoader",
                         t->left[i].why);
            t->left[i].why[0] = '\0';
            t->said++;
        }
}

static void keep_proof(struct exec_tune *t, const struct told *c)
{
    struct proof *p = &t->proofs[t->n_proofs];
    int workers = c->workers != c->old_workers;
    if (t->n_proofs == DECISIONS_MAX || !isfinite(c->gain) || workers == (c->prefetch != c->old_prefetch))
        return;
    for (size_t i = 0; i < CANDIDATES; i++)
        if (workers ? t->candidates[i].workers == c->workers : t->candidates[i].prefetch == c->prefetch)
            *p = (struct proof){.predicted = t->candidates[i]};
    if (!p->predicted.workers && !p->predicted.prefetch)
        return;
    p->change = workers ? "num_workers" : "prefetch_factor";
    snprintf(p->value, sizeof(p->value), "%d", workers ? c->workers : c->prefetch);
    p->before = c->before;
    p->after = c->after;
    p->low = c->before * (1 + c->low);
    p->high = c->before * (1 + c->high);
    t->n_proofs++;
}

static void take_told(struct exec_tune *t, const struct told *c)
{
    static const char *const decisions[] = {"kept", "undone", "found", "refused", "failed"};
    int decided = 0;
    if (strcmp(c->what, "left") == 0 && t->n_left < LEFT_MAX) {
        snprintf(t->left[t->n_left].loader, sizeof(t->left->loader), "%s", c->loader);
        snprintf(t->left[t->n_left++].why, sizeof(t->left->why), "%s", c->text);
        say_left(t);
    }
    if (!is_ours(t, c->loader) || strcmp(c->what, "left") == 0)
        return;
    char key[16], text[512];
    if (t->rows != ROWS_MAX) {
        int n = snprintf(text, sizeof(text),
                         "at_ns=%llu loader=%s batch=%u num_workers=%d prefetch_factor=%d was=%d/%d why=%s",
                         c->at_ns, c->loader, c->batch, c->workers, c->prefetch, c->old_workers,
                         c->old_prefetch, c->what);
        if (isfinite(c->gain))
            snprintf(text + n, sizeof(text) - (size_t)n,
                     " gain=%.4f low=%.4f high=%.4f before=%.4g after=%.4g", c->gain, c->low, c->high,
                     c->before, c->after);
        snprintf(key, sizeof(key), "%04u", t->rows++);
        pp_store_meta_text(t->store, "loader_change", key, text);
    }
    for (size_t i = 0; i < sizeof(decisions) / sizeof(*decisions); i++)
        decided |= strcmp(c->what, decisions[i]) == 0;
    t->tries = !decided;
    if (!decided)
        return;
    t->decisions++;
    t->said++;
    t->asked = strcmp(c->what, "kept") == 0 || !t->asked ? 0 : t->asked - 1;
    say_decision(t, c);
    keep_proof(t, c);
    if (strcmp(c->what, "kept") == 0) { /* predict anew from how it is now */
        t->since_ns = c->at_ns;
        t->wait_ns = LOOK_FIRST_NS;
        t->look_ns = pp_now_ns() + LOOK_FIRST_NS;
    } else if (!t->asked) {
        t->done = 1;
    }
    if (t->decisions >= DECISIONS_MAX)
        t->done = 1;
}

/* Whole lines only; the job writes each at once. */
static void read_told(struct exec_tune *t)
{
    char path[PATH_MAX + 32], text[16 * LINE_MAX_BYTES], *line = text, *end;
    snprintf(path, sizeof(path), "%s/" PP_TUNE_TOLD, t->session);
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    ssize_t n = fd >= 0 ? pp_io_pread_full(fd, text, sizeof(text) - 1, (uint64_t)t->told) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (; (end = strchr(line, '\n')); line = end + 1) {
        struct told c = {.gain = NAN, .low = NAN, .high = NAN, .before = NAN, .after = NAN};
        char *field[16] = {NULL}, *rest = line;
        int n_fields = 0;
        *end = '\0';
        t->told += end + 1 - line;
        for (char *word; n_fields < 16 && (word = strsep(&rest, "\t"));)
            field[n_fields++] = word;
        if (n_fields < 4)
            continue; /* it is none of the job's */
        snprintf(c.what, sizeof(c.what), "%s", field[0]);
        c.at_ns = strtoull(field[1], NULL, 10);
        snprintf(c.loader, sizeof(c.loader), "%s", field[2]);
        int is_left = strcmp(c.what, "left") == 0;
        if (is_left)
            snprintf(c.text, sizeof(c.text), "%s", field[3]);
        if (is_left ? !*c.text : n_fields < 8)
            continue;
        if (!is_left) {
            int *const numbers[] = {&c.workers, &c.prefetch, &c.old_workers, &c.old_prefetch};
            double *const values[] = {&c.gain, &c.low, &c.high, &c.before, &c.after};
            c.batch = (unsigned)strtoul(field[3], NULL, 10);
            for (int i = 0; i < 4; i++)
                *numbers[i] = atoi(field[4 + i]);
            for (int i = 0; n_fields >= 13 && i < 5; i++)
                *values[i] = strtod(field[8 + i], NULL);
            if (n_fields == 9 || n_fields > 13)
                snprintf(c.text, sizeof(c.text), "%s", field[n_fields == 9 ? 8 : 13]);
        }
        take_told(t, &c);
    }
}

/* ---- what is asked ---- */

/* Of the newest part that was recorded under the setting there is. */
static size_t replay(struct exec_tune *t, struct candidate out[CANDIDATES])
{
    struct pp_source source = {0};
    struct pp_report *report = NULL;
    struct pp_err err;
    uint64_t now = pp_now_ns(), from = now > REPLAYED_NS ? now - REPLAYED_NS : 0;
    size_t n = 0;
    if (from < t->since_ns)
        from = t->since_ns;
    const struct pp_source_view newest = {.part = 1, .from_ns = from, .to_ns = now};
    if (pp_source_open_as(t->recording, &newest, &source, &err) == PP_OK) {
        const char *row = source.meta(source.ctx, "config", "dataloader"), *place;
        int known = t->pid != 0, enough = 0;
        if (row && sscanf(row, "%lld.%u", &t->pid, &t->loader) == 2 && known &&
            pp_report_from(&source, &report, &err) == PP_OK && report->window_batches >= LEAST_BATCHES) {
            t->judged = enough = 1;
        }
        for (size_t i = 0; enough && i < report->verdict.n_fixes && n < CANDIDATES; i++) {
            const struct pp_report_fix *f = &report->verdict.fixes[i];
            struct candidate c = {.gain = f->gain, .low = f->low, .high = f->high};
            if (f->set && sscanf(f->set, "num_workers=%d", &c.workers) != 1)
                sscanf(f->set, "prefetch_factor=%d", &c.prefetch);
            if ((c.workers || c.prefetch) && f->advice != PP_ADVICE_NO && f->gain > LEAST_GAIN)
                out[n++] = c;
        }
        place = row ? source.meta(source.ctx, "loader_place", row) : NULL;
        snprintf(t->place, sizeof(t->place), "%s", place ? place : "");
    }
    pp_report_free(report);
    pp_source_close(&source);
    return n;
}

/* Looks again later where nothing gains: what a job waits for changes with caches and epochs. Until the job
 * iterates a loader, which may take minutes, it is only looked for. */
static void *run_tune(void *arg)
{
    struct exec_tune *t = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19); /* a replay takes what CPUs the job leaves */
    while (!atomic_load_explicit(&t->over, memory_order_relaxed)) {
        struct candidate c[CANDIDATES];
        char path[PATH_MAX + 32], text[512];
        struct pp_err err;
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
        read_told(t);
        if (t->asked || t->done || pp_now_ns() < t->look_ns)
            continue;
        int was_known = t->pid != 0;
        size_t n = replay(t, c);
        if (!was_known) {
            t->look_ns = pp_now_ns() + (t->pid ? LOOK_FIRST_NS : S_NS);
            continue;
        }
        say_left(t);
        if (n) {
            int at = snprintf(text, sizeof(text), "process %lld\nloader %u\n", t->pid, t->loader);
            for (size_t i = 0; i < n; i++)
                at += snprintf(text + at, sizeof(text) - (size_t)at, "try %d %d %.4f\n", c[i].workers,
                               c[i].prefetch, c[i].gain);
            snprintf(path, sizeof(path), "%s/" PP_TUNE_ASKED, t->session);
            memset(t->candidates, 0, sizeof(t->candidates));
            memcpy(t->candidates, c, n * sizeof(*c));
            t->asked = pp_io_write_atomic(path, text, (size_t)at, &err) == PP_OK ? (unsigned)n : 0;
        }
        t->wait_ns = t->wait_ns * 2 < LOOK_MOST_NS ? t->wait_ns * 2 : LOOK_MOST_NS;
        t->look_ns = pp_now_ns() + t->wait_ns;
    }
    return NULL;
}

const struct pp_opt_choice exec_tune_choices[] = {{"keep", "as --tune"},
                                                  {"advise", "put everything back, and say what gained"},
                                                  {NULL, NULL}};

struct exec_tune *exec_tune_start(enum exec_tune_mode mode, const char *recording, const char *session,
                                  struct pp_store *store, int quiet)
{
    struct exec_tune *t = mode != EXEC_TUNE_OFF ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    *t = (struct exec_tune){.mode = mode,
                            .recording = recording,
                            .session = session,
                            .store = store,
                            .quiet = quiet,
                            .wait_ns = LOOK_FIRST_NS,
                            .look_ns = pp_now_ns() + S_NS};
    if (pthread_create(&t->thread, NULL, run_tune, t) == 0)
        return t;
    free(t);
    return NULL;
}

void exec_tune_stop(struct exec_tune *t, int ranks)
{
    if (!t)
        return;
    atomic_store_explicit(&t->over, 1, memory_order_relaxed);
    pthread_join(t->thread, NULL);
    read_told(t);
    if (!t->quiet && ranks)
        exec_say("--tune changed nothing: of several ranks none is tuned");
    else if (!t->quiet && t->tries)
        exec_say("--tune: a change was being tried at the end; a job that goes on takes it back");
    else if (!t->quiet && !t->said && !t->judged)
        exec_say("--tune changed nothing: the recording is too short to predict what a change gains");
    else if (!t->quiet && !t->said)
        exec_say(
            "--tune changed nothing: no other num_workers or prefetch_factor was expected to gain %.0f %%",
            100 * LEAST_GAIN);
}

void exec_tune_end(struct exec_tune *t, const char *recording)
{
    struct pp_proof_row rows[DECISIONS_MAX];
    struct pp_err err;
    for (unsigned i = 0; t && i < t->n_proofs; i++) {
        const struct proof *p = &t->proofs[i];
        rows[i] = (struct pp_proof_row){.kind = "fix",
                                        .change = p->change,
                                        .value = p->value,
                                        .base = p->before,
                                        .predicted = p->before * (1 + p->predicted.gain),
                                        .predicted_low = p->before * (1 + p->predicted.low),
                                        .predicted_high = p->before * (1 + p->predicted.high),
                                        .measured = p->after,
                                        .measured_low = p->low,
                                        .measured_high = p->high,
                                        .rounds = 1,
                                        .ballast_cpus = NAN};
    }
    if (t && recording && t->n_proofs && pp_proof_write(recording, rows, t->n_proofs, &err) != PP_OK)
        exec_say("%s does not hold what was predicted: %s", recording, err.text);
    free(t);
}
