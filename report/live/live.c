#include "report/live/live_impl.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_MOST 10000000u        /* 115 days; a stamp beyond is damage */
#define QUIET_NS (3 * LIVE_SECOND_NS) /* a recorder commits every second */

static const char *const state_names[] = {"running", "finished", "interrupted", "failed", "killed"};

const char *pp_live_state_name(enum pp_live_state s)
{
    return state_names[s];
}

int live_room(struct pp_live *l, void **array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return 1;
    size_t wanted = *cap ? *cap * 2 : 16;
    void *grown = realloc(*array, wanted * size);
    if (!grown) {
        l->no_memory = 1;
        return 0;
    }
    *array = grown;
    *cap = wanted;
    return 1;
}

/* ---- roll-ups ---- */

static struct live_second *second_of(struct pp_live *l, uint64_t s)
{
    if (!l->n_seconds)
        l->base_s = l->origin_ns && l->origin_ns / LIVE_SECOND_NS < s ? l->origin_ns / LIVE_SECOND_NS : s;
    if (s < l->base_s)
        s = l->base_s;
    if (s - l->base_s >= SECONDS_MOST)
        return NULL;
    while (l->n_seconds <= s - l->base_s) {
        if (!live_room(l, (void **)&l->seconds, l->n_seconds, &l->cap_seconds, sizeof(*l->seconds)))
            return NULL;
        if (!live_room(l, (void **)&l->stalled, l->n_seconds, &l->cap_stalled, sizeof(*l->stalled)))
            return NULL;
        l->stalled[l->n_seconds] = 0;
        l->seconds[l->n_seconds++] = (struct live_second){0};
    }
    return &l->seconds[s - l->base_s];
}

static void note_stall(struct pp_live *l, const struct live_second *s)
{
    size_t i = (size_t)(s - l->seconds);
    l->stalled[i] = live_wait_share(l, l->base_s + i) >= PP_LIVE_STALL_SHARE; /* false for NAN */
}

static void add_sums(struct pp_live *l, struct live_second *s, const struct pp_second_row *row)
{
    switch ((pp_phase)row->phase) {
    case PP_PHASE_DATA_WAIT:
    case PP_PHASE_DEVICE_SYNC: s->wait_ns += row->total_ns; break;
    case PP_PHASE_STEP:
    case PP_PHASE_COLLECTIVE:
        s->step_ns += row->total_ns;
        break; /* the rest of a step's time: other ranks are no wait for data */
    case PP_PHASE_TRANSFORM: s->work_n[LIVE_TRANSFORMED] += row->n; return;
    case PP_PHASE_DECODE: s->work_n[LIVE_DECODED] += row->n; return;
    case PP_PHASE_READ: s->work_n[LIVE_READ] += row->n; return;
    default: return;
    }
    note_stall(l, s);
}

static void add_part(void *ctx, const struct pp_second_row *row)
{
    struct pp_live *l = ctx;
    struct live_second *s = row->phase < PP_PHASE_COUNT ? second_of(l, row->second) : NULL;
    size_t cap = s ? s->cap : 0;
    if (!s || !live_room(l, (void **)&s->parts, s->n, &cap, sizeof(*s->parts)))
        return;
    s->cap = (uint32_t)cap;
    s->parts[s->n++] = (struct live_part){
        .thread = row->thread,
        .phase = row->phase,
        .n = row->n,
        .total_ns = row->total_ns,
        .max_ns = row->max_ns,
        .cpu_ns = row->cpu_ns,
        .run_delay_ns = row->run_delay_ns,
        .bytes = row->bytes,
    };
    add_sums(l, s, row);
    live_total_of_part(l, s, row);
    live_event_of_part(l, row);
}

static void add_error(void *ctx, const struct pp_error_row *row)
{
    struct pp_live *l = ctx;
    live_event_of_error(l, row);
    uint32_t kind = live_total_of_error(l, row);
    if (live_room(l, (void **)&l->errors, l->n_errors, &l->cap_errors, sizeof(*l->errors)))
        l->errors[l->n_errors++] = (struct live_error){.t_ns = row->t_ns,
                                                       .count = row->count,
                                                       .thread = row->thread,
                                                       .kind = kind};
}

/* That nothing ends is news too: the seconds go on, and a wait of the trainer's counts while it lasts. */
static void add_open_phase(void *ctx, const struct pp_open_phase_row *row)
{
    struct pp_live *l = ctx;
    struct live_second *s = second_of(l, row->t_ns / LIVE_SECOND_NS);
    long thread = live_thread_row(l, row->thread);
    uint64_t from = row->t_ns / LIVE_SECOND_NS * LIVE_SECOND_NS;
    l->open_ns = row->t_ns > l->open_ns ? row->t_ns : l->open_ns;
    if (!s || thread < 0 || l->threads[thread].lane != PP_LANE_TRAINER || row->phase != PP_PHASE_DATA_WAIT)
        return;
    s->open_wait_ns = row->t_ns - (row->since_ns > from ? row->since_ns : from);
    note_stall(l, s);
}

static void add_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const names[PP_LIVE_GPUS] = {
#define NAME(sym, counter) [PP_LIVE_GPU_##sym] = counter,
        PP_LIVE_GPU_MAP(NAME)
#undef NAME
    };
    static const char *const meters[LIVE_METERS] = {
#define NAME(sym, counter) [LIVE_##sym] = counter,
        LIVE_METER_MAP(NAME)
#undef NAME
    };
    struct pp_live *l = ctx;
    for (int i = 0; i < LIVE_METERS; i++)
        if (strcmp(name, meters[i]) == 0)
            live_note_meter(l, t_ns, (enum live_meter)i, value);
    for (int i = 0; i < PP_LIVE_GPUS; i++)
        if (strcmp(name, names[i]) == 0 &&
            live_room(l, (void **)&l->gpu, l->n_gpu, &l->cap_gpu, sizeof(*l->gpu)))
            l->gpu[l->n_gpu++] = (struct live_gpu){.t_ns = t_ns,
                                                   .what = (enum pp_live_gpu)i,
                                                   .value = (float)value};
}

void live_range(const struct pp_live *l, uint64_t *first_s, uint64_t *last_s)
{
    size_t n = l->n_seconds;
    /* Parts of the newest second still come while the run goes. */
    if (n && l->state == PP_LIVE_RUNNING)
        n--;
    *first_s = l->base_s;
    *last_s = n ? l->base_s + n - 1 : l->base_s - 1;
    if (!l->base_s && !n)
        *first_s = 1, *last_s = 0;
}

/* ---- facts, state ---- */

struct fact_walk {
    struct pp_live *l;
    const char *section;
    size_t cap;
};

static void add_fact(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct fact_walk *w = ctx;
    if (!live_room(w->l, (void **)&w->l->facts, w->l->n_facts, &w->cap, sizeof(*w->l->facts)))
        return;
    struct pp_live_fact *f = &w->l->facts[w->l->n_facts++];
    snprintf(f->section, sizeof(f->section), "%s", w->section);
    snprintf(f->key, sizeof(f->key), "%s", key);
    snprintf(f->value, sizeof(f->value), "%s", value);
    snprintf(f->unit, sizeof(f->unit), "%s", unit ? unit : "");
    f->numeric = numeric;
}

/* A number of the file's as a rank or a node; -1 where it cannot be one. */
static double count_of(double number)
{
    return number >= 0 && number < 1e9 ? number : -1;
}

static void read_facts(struct pp_live *l, struct pp_reader *r)
{
    static const char *const sections[] = {"run", "rank", "config", "environment"};
    struct fact_walk w = {.l = l};
    free(l->facts);
    l->facts = NULL;
    l->n_facts = 0;
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        w.section = sections[i];
        pp_reader_each_meta(r, w.section, add_fact, &w, NULL);
    }
    const char *host = pp_reader_meta(r, "environment", "hostname");
    snprintf(l->host, sizeof(l->host), "%s", host ? host : "");
    pp_reader_meta_num(r, "config", "batch_size", &l->batch_size);
    pp_reader_meta_num(r, "config", "workers", &l->workers);
    pp_reader_meta_num(r, "config", "prefetch", &l->prefetch);
    const char *copies = pp_reader_meta(r, "config", "copy_buffers"); /* stored as it was typed */
    l->copy_buffers = copies ? atof(copies) : NAN;
    const char *source = pp_reader_meta(r, "config", "source");
    l->ends_epochs = source && strcmp(source, "pytorch") == 0;
    double ns, number;
    l->rank = (struct pp_live_rank){
        .rank = pp_reader_meta_num(r, "rank", "rank", &number) ? (long)count_of(number) : -1,
        .node = pp_reader_meta_num(r, "rank", "node", &number) ? (long)count_of(number) : -1,
    };
    if (pp_reader_meta_num(r, "run", "started_mono_ns", &ns) && ns >= 0)
        l->origin_ns = (uint64_t)ns;
    if (pp_reader_meta_num(r, "run", "ended_mono_ns", &ns) && ns >= 0)
        l->ended_ns = (uint64_t)ns;
}

static enum pp_live_state state_of(const char *outcome)
{
    for (int s = PP_LIVE_FINISHED; s <= PP_LIVE_FAILED; s++)
        if (strcmp(outcome, state_names[s]) == 0)
            return (enum pp_live_state)s;
    return PP_LIVE_FINISHED; /* a word of a newer version: it ended */
}

/* Only on the host that recorded can an absent process be told from one that is elsewhere. */
static int process_is_gone(const struct pp_live *l)
{
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    return l->n_threads && strcmp(host, l->host) == 0 && kill((pid_t)l->threads[0].pid, 0) != 0 &&
           errno == ESRCH;
}

/* ---- the file ---- */

static int64_t modified_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * (int64_t)LIVE_SECOND_NS + st->st_mtim.tv_nsec;
}

static void forget(struct pp_live *l)
{
    for (size_t i = 0; i < l->n_seconds; i++)
        free(l->seconds[i].parts);
    l->n_seconds = l->n_events = l->n_errors = l->n_gpu = l->n_meters = 0;
    l->second_id = l->error_id = l->counter_id = 0;
    l->open_ns = 0;
    l->origin_ns = l->ended_ns = 0;
    l->state = PP_LIVE_RUNNING;
    l->batch_size = l->workers = l->prefetch = l->copy_buffers = NAN;
    memset(l->usual, 0, sizeof(l->usual));
    l->totals = (struct pp_live_totals){.samples = NAN};
    live_forget_threads(l);
    live_near_forget(l);
}

/* Whether the file or its write-ahead log changed since the last look; notes when. */
static int look(struct pp_live *l)
{
    struct stat st, wal;
    char log[PATH_MAX];
    uint64_t now = pp_now_ns(), looked = l->looked_mono_ns;
    l->deleted = stat(l->path, &st) != 0;
    if (l->deleted)
        return 0;
    l->looked_mono_ns = now;
    if (st.st_ino != l->ino || st.st_dev != l->dev) {
        forget(l);
        l->ino = st.st_ino;
        l->dev = st.st_dev;
        l->changed_ns = 0;
        looked = 0;
    }
    int64_t changed = modified_ns(&st);
    if ((size_t)snprintf(log, sizeof(log), "%s-wal", l->path) < sizeof(log) && stat(log, &wal) == 0 &&
        modified_ns(&wal) > changed)
        changed = modified_ns(&wal);
    if (changed == l->changed_ns)
        return 0;
    /* How long ago that was is asked of the wall clock, which a file server may have another of: it was after
     * the last look. From then on the monotonic one counts. */
    int64_t ago = (int64_t)pp_clock_of(CLOCK_REALTIME) - changed;
    l->last_change_mono_ns = ago > 0 && (uint64_t)ago < now ? now - (uint64_t)ago : now;
    if (looked && l->last_change_mono_ns < looked)
        l->last_change_mono_ns = looked;
    l->changed_ns = changed;
    return 1;
}

static pp_status read_new(struct pp_live *l, struct pp_err *err)
{
    struct pp_reader *r = NULL;
    pp_reader_close(l->reader);
    l->reader = NULL;
    pp_status status = pp_reader_open(l->path, &r, err);
    if (status != PP_OK)
        return status;
    const char *outcome = pp_reader_meta(r, "run",
                                         "outcome"); /* before the rows: what it ends is then all read */
    read_facts(l, r);
    status = live_read_threads(l, r, err);
    live_total_of_threads(l);
    if (status == PP_OK)
        status = pp_reader_each_second_after(r, &l->second_id, add_part, l, err);
    if (status == PP_OK)
        status = pp_reader_each_error_after(r, &l->error_id, add_error, l, err);
    if (status == PP_OK)
        status = pp_reader_each_counter_after(r, &l->counter_id, add_counter, l, err);
    if (status == PP_OK)
        status = pp_reader_each_open_phase(r, l->open_ns + 1, UINT64_MAX, add_open_phase, l, err);
    if (status == PP_OK)
        l->state = outcome ? state_of(outcome) : PP_LIVE_RUNNING;
    l->reader = r;
    live_near_forget(l);
    if (status == PP_OK && l->no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the history of %s", l->path);
    return status;
}

pp_status pp_live_refresh(struct pp_live *l, int *changed, struct pp_err *err)
{
    pp_status status = PP_OK;
    int new = look(l), died = 0;
    if (!new && !l->deleted && l->state == PP_LIVE_RUNNING &&pp_now_ns() - l->last_change_mono_ns > QUIET_NS)
        died = process_is_gone(l);
    if (new || died)
        status = read_new(l, err); /* opening takes in what a killed run left in its rings */
    if (died && status == PP_OK && l->state == PP_LIVE_RUNNING)
        l->state = PP_LIVE_KILLED;
    if (died)
        look(l); /* our own recovery is no sign of life */
    if (changed)
        *changed = new || died;
    return status;
}

pp_status pp_live_open(const char *path, struct pp_live **out, struct pp_err *err)
{
    struct pp_live *l = calloc(1, sizeof(*l));
    *out = NULL;
    if (!l || !(l->path = strdup(path))) {
        free(l);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    }
    forget(l);
    look(l);
    pp_status status = read_new(l, err);
    if (status != PP_OK) {
        pp_live_close(l);
        return status;
    }
    if (l->deleted)
        look(l); /* there were only ring files, and reading made the file of them */
    if (l->state == PP_LIVE_RUNNING && pp_now_ns() - l->last_change_mono_ns > QUIET_NS && process_is_gone(l))
        l->state = PP_LIVE_KILLED;
    *out = l;
    return PP_OK;
}

void pp_live_without_bars(struct pp_live *l)
{
    l->without_bars = 1;
}

void pp_live_close(struct pp_live *l)
{
    if (!l)
        return;
    forget(l);
    pp_reader_close(l->reader);
    free(l->seconds);
    free(l->stalled);
    free(l->events);
    free(l->errors);
    free(l->gpu);
    free(l->meters);
    free(l->facts);
    free(l->bars);
    free(l->stages);
    free(l->worker_rows);
    free(l->path);
    free(l);
}

const struct pp_live_fact *pp_live_facts(const struct pp_live *l, size_t *n)
{
    *n = l->n_facts;
    return l->facts;
}
