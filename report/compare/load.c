/* A recorded run as a sample: its report (report/model/model.h), and counts over its complete epochs. */
#include "report/compare/run.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "collectors/store/reader.h"
#include "report/build/build.h"
#include "report/compare/compare.h"
#include "report/stats/order.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- counts over complete epochs ----
 *
 * An epoch is complete when all its batches were delivered: a later one began, or the run ended with it. What
 * readers had fetched ahead of an unfinished epoch differs from run to run and is not counted. */

struct epoch_counts {
    double bytes, batches, samples, errors;
    double opens, reads; /* of the whole run, as the loader counted them; NAN: it did not */
    int whole;           /* the run is its complete epochs and nothing else */
    uint64_t epochs;     /* complete ones; 0: the rest is meaningless */
    int lossless;        /* no span was dropped or damaged: the counts are exact */
};

/* span.epoch has 16 bits; a run with more would count two as one, so nothing is said of it */
#define EPOCHS 65536

struct epoch_sums {
    uint64_t bytes, batches, samples, errors;
};

struct epoch_walk {
    struct epoch_sums *epoch;
    unsigned last;  /* the last epoch of which the trainer saw a batch */
    unsigned first; /* the first */
    int any;
    const struct pp_thread_row *threads;
    size_t n_threads;
};

static int count_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct epoch_walk *w = ctx;
    int trainer = 0;
    for (size_t i = 0; i < w->n_threads; i++)
        trainer |= w->threads[i].id == thread && w->threads[i].lane == PP_LANE_TRAINER;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        struct epoch_sums *t = &w->epoch[s->epoch];
        t->bytes += s->phase == PP_PHASE_READ ? s->bytes : 0;
        t->errors += (s->flags & PP_SPAN_ERROR) != 0;
        if (!trainer || !((s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY) &&
                          s->batch != PP_NO_BATCH))
            continue;
        t->batches++;
        t->samples += s->flags & PP_SPAN_COUNT ? s->sample : 0;
        w->first = !w->any || s->epoch < w->first ? s->epoch : w->first;
        w->last = !w->any || s->epoch > w->last ? s->epoch : w->last;
        w->any = 1;
    }
    return 0;
}

static pp_status count_epochs(const char *path, struct epoch_counts *out, struct pp_err *err)
{
    struct epoch_walk w = {.epoch = calloc(EPOCHS, sizeof(struct epoch_sums))};
    struct pp_reader *r = NULL;
    uint64_t bad_chunks = 0;
    double epoch = 0;
    *out = (struct epoch_counts){.lossless = 1, .opens = NAN, .reads = NAN};
    pp_status st = w.epoch ? pp_reader_open(path, &r, err)
                           : pp_fail(err, PP_E_NO_MEMORY, "no memory to count the epochs of %s", path);
    if (st != PP_OK)
        goto out;
    w.n_threads = pp_reader_threads(r, &w.threads);
    st = pp_reader_each_chunk(r, count_spans, &w, &bad_chunks, err);
    if (st != PP_OK)
        goto out;
    out->lossless = bad_chunks == 0;
    for (size_t i = 0; i < w.n_threads; i++)
        out->lossless &= w.threads[i].dropped == 0;
    if (!pp_reader_meta_num(r, "result", "opens", &out->opens) ||
        !pp_reader_meta_num(r, "result", "reads", &out->reads))
        out->opens = out->reads = NAN;
    if (w.any && (!pp_reader_meta_num(r, "result", "epoch", &epoch) || epoch < EPOCHS - 1)) {
        const char *resumed = pp_reader_meta(r, "config", "resume");
        const char *text = pp_reader_meta(r, "result", "ended_by");
        int begun_before = resumed && resumed[0], ended = text && strcmp(text, "epochs") == 0;
        unsigned from = w.first + (begun_before ? 1 : 0); /* it began in the middle */
        unsigned to = w.last + (ended ? 1 : 0);
        out->whole = ended && !begun_before;
        for (unsigned e = from; e < to; e++) {
            const struct epoch_sums *t = &w.epoch[e];
            if (!t->batches)
                continue;
            out->bytes += (double)t->bytes;
            out->batches += (double)t->batches;
            out->samples += (double)t->samples;
            out->errors += (double)t->errors;
            out->epochs++;
        }
    }
out:
    pp_reader_close(r);
    free(w.epoch);
    return st;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

/* ---- metrics ---- */

static void set_metric(struct pp_run *out, enum pp_cmp_id id, double value, enum pp_why why_not)
{
    out->metric[id] = value;
    out->why[id] = isnan(value) ? why_not : PP_WHY_UNKNOWN;
}

/* Warm-up is no measurement, and without a step the trainer does nothing but wait. */
static void set_metrics(const struct pp_report *r, struct pp_run *out)
{
    int steady = r->has_steady_state, waits = steady && r->has_step;
    double wait_p99_s = NAN, cpu_ns = 0;
    /* Waiting costs no CPU worth the name and is often not split; work without a split makes the sum unknown.
     */
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        int unsplit = isnan(p->cpu_share) && info && info->kind == PP_KIND_WORK && p->total_ns;
        if (p->lane == PP_LANE_READER || p->lane == PP_LANE_WORKER || p->lane == PP_LANE_COPY)
            cpu_ns += unsplit ? NAN : isnan(p->cpu_share) ? 0 : (double)p->total_ns * p->cpu_share;
    }
    double cpu_s = r->window_samples && cpu_ns > 0 ? cpu_ns / 1e9 / (double)r->window_samples : NAN;
    for (size_t i = r->n_phases; i-- > 0;)
        if (r->phases[i].phase == PP_PHASE_DATA_WAIT && r->phases[i].lane == PP_LANE_TRAINER)
            wait_p99_s = (double)r->phases[i].p99_ns / 1e9;
    set_metric(out, PP_CMP_FIRST_BATCH_S, r->first_batch_s, PP_WHY_NO_FIRST_BATCH);
    int counts = !isnan(r->samples_per_s) && r->samples_per_s > 0;
    set_metric(out, PP_CMP_SAMPLES_PER_S, steady && counts ? r->samples_per_s : NAN,
               steady ? PP_WHY_NO_SAMPLES : PP_WHY_NO_STEADY_STATE);
    set_metric(out, PP_CMP_BATCHES_PER_S, steady && !counts ? r->batches_per_s : NAN,
               counts ? PP_WHY_COUNTS_SAMPLES : PP_WHY_NO_STEADY_STATE);
    set_metric(out, PP_CMP_CPU_S_PER_SAMPLE, steady ? cpu_s : NAN,
               steady ? PP_WHY_NO_CPU_TIME : PP_WHY_NO_STEADY_STATE);
    set_metric(out, PP_CMP_DATA_WAIT_SHARE, waits ? r->data_wait_share : NAN,
               r->has_step ? PP_WHY_NO_STEADY_STATE : PP_WHY_NO_STEP);
    set_metric(out, PP_CMP_DATA_WAIT_P99_S, waits ? wait_p99_s : NAN,
               waits         ? PP_WHY_NO_WAIT
               : r->has_step ? PP_WHY_NO_STEADY_STATE
                             : PP_WHY_NO_STEP);
}

/* The fine slices of the report's pictures that lie in the steady state, in ten windows: their quartiles. */
static void set_spreads(const struct pp_report *r, struct pp_run *out)
{
    static const enum pp_cmp_id of[] = {PP_CMP_SAMPLES_PER_S, PP_CMP_DATA_WAIT_SHARE};
    double value[2][PP_RUN_WINDOWS] = {{0}};
    size_t first = 0, n;
    while (first < r->n_fine && r->fine[first].start_s < r->window_start_s)
        first++;
    for (n = 0; first + n < r->n_fine && r->fine[first + n].end_s <= r->window_end_s; n++)
        ;
    size_t per = n / PP_RUN_WINDOWS;
    if (per == 0 || !r->has_steady_state)
        return;
    for (size_t i = 0; i < per * PP_RUN_WINDOWS; i++) {
        const struct pp_report_slice *s = &r->fine[first + i];
        value[0][i / per] += s->samples_per_s / (double)per;
        value[1][i / per] += s->wait_share / (double)per;
    }
    struct pp_run_spread *s = &out->spread;
    s->known = 1;
    s->window_s = (r->fine[first].end_s - r->fine[first].start_s) * (double)per;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        s->low[i] = s->high[i] = NAN;
    for (int i = 0; i < 2; i++) {
        if (isnan(out->metric[of[i]]))
            continue;
        pp_stats_sort(value[i], PP_RUN_WINDOWS);
        s->low[of[i]] = pp_stats_quantile_sorted(value[i], PP_RUN_WINDOWS, 0.25);
        s->high[of[i]] = pp_stats_quantile_sorted(value[i], PP_RUN_WINDOWS, 0.75);
    }
}

/* The report's part of it: metrics but for COUNTs, verdict, parts, fields. */
static pp_status run_of_report(const struct pp_report *r, struct pp_run *out, struct pp_err *err)
{
    int ok = pp_run_init(out, r->path);
    copy_text(out->session, sizeof(out->session), r->session);
    copy_text(out->outcome, sizeof(out->outcome), r->outcome);
    copy_text(out->subject, sizeof(out->subject), r->subject);
    copy_text(out->l0, sizeof(out->l0), r->verdict.l0);
    copy_text(out->l1, sizeof(out->l1), r->verdict.l1);
    copy_text(out->l2, sizeof(out->l2), r->verdict.l2);
    set_metrics(r, out);
    if (r->has_steady_state && r->window_batches && r->batches_per_s > 0) {
        out->batch_s = 1 / r->batches_per_s;
        for (size_t i = 0; i < r->n_phases; i++) {
            const struct pp_report_phase *p = &r->phases[i];
            if ((unsigned)p->lane >= PP_LANE_COUNT || (unsigned)p->phase >= PP_PHASE_COUNT)
                continue;
            double *part = out->part_s[p->lane][p->phase],
                   s = (double)p->total_ns / 1e9 / (double)r->window_batches /
                       (p->lane == PP_LANE_WORKER && r->n_workers ? (double)r->n_workers : 1);
            int split = !isnan(p->cpu_share) && !isnan(p->run_delay_share) && !isnan(p->blocked_share);
            part[PP_PART_UNSPLIT] = split ? 0 : s;
            part[PP_PART_CPU] = split ? s * p->cpu_share : 0;
            part[PP_PART_RUN_DELAY] = split ? s * p->run_delay_share : 0;
            part[PP_PART_BLOCKED] = split ? s * p->blocked_share : 0;
        }
    }
    set_spreads(r, out);
    out->has_spent = r->n_spent > 0;
    for (size_t i = 0; i < r->n_spent; i++)
        out->spent_ns[r->spent[i].kind] = r->spent[i].per_sample_ns;
    for (size_t i = 0; ok && i < r->n_environment; i++)
        ok = pp_run_set_field(out, r->environment[i].key, r->environment[i].value);
    for (size_t i = 0; ok && i < r->n_config; i++) {
        char name[128];
        snprintf(name, sizeof(name), "config.%s", r->config[i].key);
        ok = pp_run_set_field(out, name, r->config[i].value);
    }
    if (ok)
        return PP_OK;
    pp_run_free(out);
    return pp_fail(err, PP_E_NO_MEMORY, "no memory for the fields of %s", r->path);
}

/* ---- files, directories and globs ---- */

static pp_status load_one(const char *path, struct pp_runs *out, struct pp_err *err)
{
    struct pp_run *run = pp_runs_push(out);
    if (!run)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for another run");
    /* An unfinished run is PP_OK: whether it may be a sample is pp_compare_check_side's to say. On failure
     * *run needs no freeing. */
    struct pp_report *report = NULL;
    struct epoch_counts counts;
    pp_status st = pp_report_build(path, &report, err);
    if (st == PP_OK)
        st = count_epochs(path, &counts, err);
    if (st == PP_OK)
        st = run_of_report(report, run, err);
    if (st == PP_OK) {
        /* Counts of spans, by epoch, and counts of the loader, which are of the whole run. */
        const char *format = pp_run_field(run, "config.format");
        int mapped = format && strcmp(format, "tokens") == 0,
            counted = !isnan(counts.opens) && !isnan(counts.reads);
        enum pp_why why = !counts.lossless ? PP_WHY_LOST_SPANS
                          : !counts.epochs ? PP_WHY_NO_EPOCH
                                           : PP_WHY_UNKNOWN;
        double per_epoch = why == PP_WHY_UNKNOWN ? 1 / (double)counts.epochs : NAN,
               per_run = counts.whole && counts.epochs ? 1 / (double)counts.epochs : NAN;
        enum pp_why io_why = !counted        ? PP_WHY_NOT_COUNTED
                             : counts.epochs ? PP_WHY_PART_OF_EPOCH
                                             : PP_WHY_NO_EPOCH;
        set_metric(run, PP_CMP_BYTES_READ, counts.bytes * per_epoch, why);
        set_metric(run, PP_CMP_BATCHES, counts.batches * per_epoch, why);
        set_metric(run, PP_CMP_SAMPLES, counts.samples * per_epoch, why);
        set_metric(run, PP_CMP_ERRORS, counts.errors * per_epoch, why);
        set_metric(run, PP_CMP_OPENS, counts.opens * per_run, io_why);
        set_metric(run, PP_CMP_READS, mapped ? NAN : counts.reads * per_run, mapped ? PP_WHY_MAPPED : io_why);
    }
    pp_report_free(report);
    if (st != PP_OK)
        out->n--; /* nothing in it to free */
    return st;
}

/* dir: word is one. */
static pp_status load_glob(const char *word, int dir, struct pp_runs *out, struct pp_err *err)
{
    const char *nothing = dir ? "the directory holds no recording (*.sqlite)" : "no file matches";
    char in_dir[PATH_MAX];
    size_t at = 0;
    glob_t g;
    pp_status st = PP_OK;
    /* A directory's name may hold characters that mean something to glob(3). */
    for (const char *c = word; dir && *c; c++) {
        if (at + 16 > sizeof(in_dir))
            return pp_fail(err, PP_E_USAGE, "the name of directory %s is too long", word);
        if (strchr("*?[]{}\\", *c))
            in_dir[at++] = '\\';
        in_dir[at++] = *c;
    }
    strcpy(in_dir + at, "/*.sqlite");
    int rc = glob(dir ? in_dir : word, GLOB_BRACE, NULL, &g); /* sorted */
    if (rc != 0) {
        globfree(&g);
        return rc == GLOB_NOMATCH ? pp_fail(err, PP_E_NOT_FOUND, "%s: %s", word, nothing)
                                  : pp_fail(err, PP_E_IO, "the files of %s cannot be listed", word);
    }
    size_t before = out->n;
    size_t side[2] = {0}, length = strlen(word);
    for (size_t i = 0; i < g.gl_pathc && dir; i++) {
        const char *name = strrchr(g.gl_pathv[i], '/') + 1;
        side[0] += strncmp(name, "base-", 5) == 0;
        side[1] += strncmp(name, "head-", 5) == 0;
    }
    while (length > 1 && word[length - 1] == '/')
        length--;
    /* `ci run --keep DIR` keeps both sides of a comparison in one directory, which is no sample of either. */
    if (side[0] && side[1])
        st = pp_fail(
            err, PP_E_USAGE,
            "%s holds both sides of a comparison, %zu base-*.sqlite and %zu head-*.sqlite: name one of them, such as "
            "'%.*s/head-*.sqlite'",
            word, side[0], side[1], (int)length, word);
    for (size_t i = 0; i < g.gl_pathc && st == PP_OK; i++) {
        const char *path = g.gl_pathv[i];
        struct pp_err why = {0};
        if (!dir && (pp_text_ends_in(path, ".sqlite.log") || pp_text_ends_in(path, "-wal") ||
                     pp_text_ends_in(path, "-shm") || pp_text_ends_in(path, "-journal")))
            continue; /* what pipeprobe leaves beside a recording */
        st = load_one(path, out, &why);
        if (st != PP_OK)
            pp_fail(err, st, "%s; it is one of the files of %s: name recordings only", why.text, word);
    }
    if (st == PP_OK && out->n == before)
        st = pp_fail(err, PP_E_NOT_FOUND, "%s: no recording matches", word);
    globfree(&g);
    return st;
}

pp_status pp_runs_load(const char *const *operands, size_t n, struct pp_runs *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (size_t i = 0; i < n && st == PP_OK; i++) {
        const char *word = operands[i];
        struct stat s;
        errno = 0;
        int is_dir = stat(word, &s) == 0 && S_ISDIR(s.st_mode);
        if (is_dir && access(word, R_OK | X_OK) != 0) /* glob(3) would find nothing in it */
            st = pp_fail_errno(err, errno, "cannot list the directory %s", word);
        else if (is_dir || (errno == ENOENT && strpbrk(word, "*?[{")))
            st = load_glob(word, is_dir, out, err);
        else
            st = load_one(word, out, err);
    }
    return st;
}

/* Left out on purpose: hostname and data path (CI machines have new ones every time), memory available,
 * launcher variables, versions of pipeprobe itself (what a comparison may be about). */
const struct pp_same_field pp_same_fields[] = {
    {"cpu_model", PP_SAME_MACHINE, 0, "CPU model"},
    {"machine", PP_SAME_MACHINE, 0, "architecture"},
    {"usable_cpus", PP_SAME_MACHINE, 0.01, "CPUs available to this process"},
    {"cpu_quota", PP_SAME_MACHINE, 0.01, "control group's CPU quota"},
    {"memory_total", PP_SAME_MACHINE, 0.05, "memory (kernels reserve slightly different amounts)"},
    {"memory_limit", PP_SAME_MACHINE, 0.05, "control group's memory limit"},
    {"virtual_machine", PP_SAME_MACHINE, 0, "running under a hypervisor"},
    {"kernel", PP_SAME_MACHINE, 0, "kernel release"},
    {"data_fs_type", PP_SAME_MACHINE, 0, "file system under the data"},
    {"libjpeg_turbo_version", PP_SAME_MACHINE, 0, "decoder"},
    {"config.device_name", PP_SAME_MACHINE, 0, "device"},
    {"config.simd", PP_SAME_MACHINE, 0, "instruction set used by transforms"},
    {"config.dataset_samples", PP_SAME_WORK, 0, "samples in the data set"},
    {"config.format", PP_SAME_WORK, 0, "kind of data set"},
    {"config.synthetic", PP_SAME_WORK, 0, "synthetic data set"},
    {"config.step", PP_SAME_WORK, 0, "kind of trainer step"},
    {"config.step_ns", PP_SAME_WORK, 0, "length of the trainer step"},
    {NULL, PP_SAME_MACHINE, 0, NULL},
};

/* Options that name this run's files and looks, not what it measured. */
static const char *const of_one_run[] = {
    "config.output",
    "config.force",
    "config.quiet",
    "config.json",
    "config.color",
    "config.list_delivered",
    "config.digest",
    "config.dataset",
    "config.dataset_description",
    "config.dataloader", /* which loader of the job is judged: PID.NUMBER */
    "config.save_state",
    "config.workers_why",
    "config.batch_size_why",
    "config.prefetch_why",
    "config.record",
    "config.top",
    "config.collective",
    NULL,
};
static int listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return 1;
    return 0;
}

/* Whether a field is the same in both; 1 when neither has it. */
static int equal(const char *a, const char *b, double tolerance)
{
    if (!a || !b)
        return a == b;
    if (tolerance > 0) {
        char *end_a, *end_b;
        double x = strtod(a, &end_a), y = strtod(b, &end_b);
        if (end_a != a && end_b != b)
            return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
    }
    return strcmp(a, b) == 0;
}

static struct pp_difference difference(const char *name, const struct pp_run *a, const struct pp_run *b)
{
    const char *x = pp_run_field(a, name), *y = pp_run_field(b, name);
    return (struct pp_difference){.name = name,
                                  .base = x ? x : "unknown",
                                  .head = y ? y : "unknown",
                                  .base_path = a->path,
                                  .head_path = b->path};
}

/* The first run of the side whose field differs from that of run b, or NULL. */
static const struct pp_run *odd_one(const struct pp_same_field *f, const struct pp_runs *side,
                                    const struct pp_run *b)
{
    for (size_t i = 0; i < side->n; i++)
        if (!equal(pp_run_field(&side->run[i], f->name), pp_run_field(b, f->name), f->tolerance))
            return &side->run[i];
    return NULL;
}

size_t pp_differences(const struct pp_runs *a, const struct pp_runs *b, const char *const *allow,
                      struct pp_difference *out, size_t max)
{
    size_t n = 0;
    for (const struct pp_same_field *f = pp_same_fields; f->name && n < max; f++) {
        if (listed(allow, f->name) || listed(allow, "all"))
            continue;
        const struct pp_run *odd = odd_one(f, a, &b->run[0]);
        if (!odd)
            odd = odd_one(f, b, &b->run[0]);
        if (odd)
            out[n++] = difference(f->name, odd, &b->run[0]);
    }
    return n;
}

/* An option that is neither in the table nor of one run's files and looks. */
static int is_free_option(const char *name)
{
    for (const struct pp_same_field *f = pp_same_fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return 0;
    return strncmp(name, "config.", 7) == 0 && !listed(of_one_run, name);
}

size_t pp_config_changes(const struct pp_run *a, const struct pp_run *b, struct pp_difference *out,
                         size_t max)
{
    size_t n = 0;
    for (int swap = 0; swap < 2; swap++) {
        const struct pp_run *from = swap ? b : a, *other = swap ? a : b;
        for (size_t i = 0; i < from->n_fields && n < max; i++) {
            const char *name = from->field[i].name, *there = pp_run_field(other, name);
            /* what both have is found in the first walk */
            if (is_free_option(name) && (swap ? !there : !equal(from->field[i].value, there, 0)))
                out[n++] = difference(name, a, b);
        }
    }
    return n;
}

/* Field by field, each hash the seed of the next: names and values end with their zero. */
static uint64_t mix_field(uint64_t hash, const char *name, const char *value)
{
    hash = XXH64(name, strlen(name) + 1, hash);
    return XXH64(value, strlen(value) + 1, hash);
}

void pp_series_name(const struct pp_run *r, char *buf, size_t size)
{
    const char *cpu = pp_run_field(r, "cpu_model"), *cpus = pp_run_field(r, "usable_cpus"),
               *format = pp_run_field(r, "config.format");
    /* Two significant digits of what has a tolerance. */
    uint64_t hash = 0;
    static const char *const to_show[] = {"kernel", "libjpeg_turbo_version", NULL};
    char number[32];
    for (const struct pp_same_field *f = pp_same_fields; f->name; f++) {
        const char *value = pp_run_field(r, f->name);
        if (!value || listed(to_show, f->name))
            continue;
        if (f->tolerance > 0)
            snprintf(number, sizeof(number), "%.1e", strtod(value, NULL));
        hash = mix_field(hash, f->name, f->tolerance > 0 ? number : value);
    }
    for (size_t i = 0; i < r->n_fields; i++)
        if (is_free_option(r->field[i].name))
            hash = mix_field(hash, r->field[i].name, r->field[i].value);
    snprintf(buf, size, "%.60s, %.8s CPUs, %.20s [%08x]", cpu ? cpu : "unknown CPU", cpus ? cpus : "?",
             format ? format : "?", (unsigned)(hash >> 32));
}
