/* What a digest takes from a recording: at once, or look by look while it is written. */
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/measure/timeline.h"
#include "report/ranks/clock.h"
#include "report/ranks/digest.h"
#include "report/resume/resume_read.h"
#include "report/source/source.h"

#include <signal.h>
#include <unistd.h>

struct stretch {
    uint64_t start_ns, end_ns;
};

/* What a digest takes from a recording, in one look or in many: who the rank is, its steps, its epochs, and
 * when its collectives ended. */
struct digest_pass {
    struct pp_rank_row row; /* its texts are the source's, but for gpu */
    struct pp_rank_own_step *steps;
    struct stretch *times; /* of the same steps, without the wait for their data; disjoint, rising */
    size_t n, room;
    int no_memory;
    char gpu[64];
    double to_utc_ns; /* added to a time of this recording; NAN: not known */
    struct pp_collective_ends ends;
    struct pp_rank_epoch epochs[PP_RANK_EPOCHS];
    struct pp_rank_end kept[PP_RANK_ENDS];
    uint64_t done_ns; /* when the step before was; 0: there was none, or it began before the recording */
};

/* A time of the recording on the calendar; 0: not known. */
static uint64_t digest_pass_utc(const struct digest_pass *p, uint64_t ns)
{
    return isnan(p->to_utc_ns) || !ns ? 0 : ns + (uint64_t)p->to_utc_ns;
}

/* The next batch of the trainer. */
static void digest_pass_batch(void *ctx, const struct pp_timeline_batch *b)
{
    struct digest_pass *p = ctx;
    struct pp_rank_row *r = &p->row;
    /* The first batch of an epoch, in warm-up or not. */
    uint64_t after = b->step_ns + b->collective_ns + b->sync_ns;
    uint64_t had = b->end_ns > after ? b->end_ns - after : 0;
    int rises = !r->n_epochs || b->epoch > p->epochs[r->n_epochs - 1].epoch;
    if (rises && r->n_epochs < PP_RANK_EPOCHS && p->done_ns && had >= p->done_ns)
        p->epochs[r->n_epochs++] = (struct pp_rank_epoch){.epoch = b->epoch, .ready_ns = had - p->done_ns};
    p->done_ns = b->end_ns;
    if (b->warmup || p->n == PP_DIGEST_STEPS || p->no_memory)
        return;
    size_t room = p->room; /* both have as much */
    if (!pp_grow(&p->steps, &room, p->n + 1, sizeof(*p->steps)) ||
        !pp_grow(&p->times, &p->room, p->n + 1, sizeof(*p->times))) {
        p->no_memory = 1;
        return;
    }
    uint64_t input = b->wait_ns + b->sync_ns;
    p->times[p->n] = (struct stretch){
        b->end_ns > b->step_ns + b->sync_ns ? b->end_ns - b->step_ns - b->sync_ns : 0, b->end_ns};
    p->steps[p->n++] = (struct pp_rank_own_step){.number = b->number,
                                                 .own_ns = input + b->step_ns,
                                                 .input_ns = input,
                                                 .all_ns = input + b->step_ns + b->collective_ns,
                                                 .end_utc_ns = digest_pass_utc(p, b->end_ns)};
    r->steps++;
    r->wait_ns += b->wait_ns;
    r->sync_ns += b->sync_ns;
    r->step_ns += b->step_ns;
    r->collective_ns += b->collective_ns;
    r->wait_delay_ns += b->wait_delay_ns;
    r->step_delay_ns += b->step_delay_ns;
    r->exchanges += b->exchanges;
    r->sampled_exchanges += b->sampled_exchanges;
    r->exchange_delay_ns += b->exchange_delay_ns;
}

static int64_t whole(const struct pp_source *s, const char *section, const char *key)
{
    double v = pp_source_number(s, section, key, -1);
    return v >= 0 && v <= INT32_MAX ? (int64_t)v : -1;
}

/* A launcher says more than the options of `run`, which older recordings have alone. */
static pp_status read_identity(const struct pp_source *s, struct pp_rank_row *r, struct pp_err *err)
{
    int said = whole(s, "rank", "rank") >= 0;
    const char *section = said ? "rank" : "config";
    r->rank = whole(s, section, "rank");
    r->world_size = whole(s, section, "world_size");
    r->local_rank = whole(s, "rank", "local_rank");
    r->node = whole(s, "rank", "node");
    r->attempt = whole(s, "rank", "attempt");
    r->job = s->meta(s->ctx, "rank", "job");
    r->launcher = s->meta(s->ctx, "rank", "launcher");
    r->host = s->meta(s->ctx, "environment", "hostname");
    r->version = s->meta(s->ctx, "run", "version");
    r->first_by_ns = (uint64_t)fmin(fmax(pp_source_number(s, "result", "ended_first_by_ns", 0), 0), 1e18);
    /* exec outlives its program and finishes the file. What a launcher sends to all ranks when one has failed
     * (SIGTERM) is no sign of the one. */
    static const int signals[] = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    int status = (int)whole(s, "result", "exit_status"), found = 0;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        found |= status == 128 + signals[i];
    r->outcome = found ? PP_RANK_KILLED : s->meta(s->ctx, "run", "outcome");
    if (r->rank < 0 || (!said && r->world_size < 2))
        return pp_fail(
            err, PP_E_USAGE,
            "%s is of no rank: it was recorded without a launcher's variables (RANK and WORLD_SIZE, "
            "PMI_RANK, SLURM_PROCID, ...) and without --rank; see pipeprobe report for a single one",
            s->path);
    if (r->world_size >= 0 && r->rank >= r->world_size)
        return pp_fail(err, PP_E_USAGE, "%s says that it is rank %lld of %lld, which cannot be", s->path,
                       (long long)r->rank, (long long)r->world_size);
    return PP_OK;
}

/* ---- the whole ---- */

/* Who it is, and what its clock says. What was counted before stays. PP_E_USAGE: it is of no rank. */
static pp_status digest_pass_begin(struct digest_pass *p, const struct pp_source *s, struct pp_err *err)
{
    pp_status st = read_identity(s, &p->row, err);
    if (st != PP_OK)
        return st;
    p->row.file = s->path;
    /* The device of this rank among those that its process was given: "2" of CUDA_VISIBLE_DEVICES=2,3. */
    size_t size = sizeof(p->gpu);
    const char *name = s->meta(s->ctx, "environment", "gpu"),
               *given = s->meta(s->ctx, "environment", "CUDA_VISIBLE_DEVICES");
    if (!name) {
        p->row.gpu = NULL;
    } else {
        snprintf(p->gpu, size, "%lld", (long long)(p->row.local_rank < 0 ? 0 : p->row.local_rank));
        for (int64_t i = 0; given && *given; i++) {
            size_t n = strcspn(given, ",");
            if (i == p->row.local_rank || !given[n]) { /* one alone is this rank's whatever its number */
                snprintf(p->gpu, size, "%.*s", (int)n, given);
                break;
            }
            given += n + 1;
        }
        p->row.gpu = p->gpu;
    }
    p->row.epochs = p->epochs;
    /* The clock of the recording against the calendar. */
    double utc = pp_source_number(s, "run", "started_utc_ns", NAN),
           mono = pp_source_number(s, "run", "started_mono_ns", NAN);
    p->to_utc_ns = utc >= mono ? utc - mono : NAN;
    if (!p->done_ns)
        p->done_ns = (uint64_t)fmax(pp_source_number(s, "run", "started_mono_ns", 0), 0);
    return PP_OK;
}

/* ---- collectives of other profilers' traces ---- */

/* Collectives of a trace that another profiler wrote. They lie on threads of their own (gloo, MPI) or are
 * kernels on the GPU (NCCL), beside the trainer's steps: what of a step they cover is its wait for the other
 * ranks, as durations alone tell. The rank that comes last waits least. No clocks are compared.
 *
 *     trainer     | wait |    step           | wait |   step      |
 *     gloo 0                    |======|                  |==|        covered: the union of both, in the step
 *     gloo 1                       |======|                |====|  */
enum { MOST_COLLECTIVES = 1 << 20 };

struct collectives {
    struct stretch *at;
    size_t n, room;
    int no_memory;
};

static void add_collective(struct collectives *t, uint64_t start_ns, uint64_t dur_ns)
{
    if (t->n == MOST_COLLECTIVES || t->no_memory)
        return;
    t->no_memory = !pp_grow(&t->at, &t->room, t->n + 1, sizeof(*t->at));
    if (!t->no_memory)
        t->at[t->n++] = (struct stretch){start_ns, start_ns + dur_ns};
}

static int collectives_of_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct collectives *t = ctx;
    for (size_t i = 0; i < n; i++)
        if (spans[i].phase == PP_PHASE_COLLECTIVE)
            add_collective(t, spans[i].start_ns, spans[i].dur_ns);
    return t->no_memory;
}

/* ncclKernel_AllReduce_RING_LL_Sum_float, since 2.19 ncclDevKernel_AllReduce_Sum_f32_RING_LL; RCCL has the
 * same. */
static void collective_of_gpu(void *ctx, const struct pp_gpu_row *row)
{
    if (row->name && strcmp(row->kind, "kernel") == 0 &&
        (strncmp(row->name, "ncclDevKernel", 13) == 0 || strncmp(row->name, "ncclKernel", 10) == 0))
        add_collective(ctx, row->start_ns, row->dur_ns);
}

PP_BY(by_start, struct stretch, start_ns)

/* Of a trace of another profiler, whose trainer does not wait for others itself: collectives of threads of
 * the host where there are any, else of the GPU, are taken out of the steps, which hold them. Once, after all
 * batches, before digest_pass_waits. */
static pp_status digest_pass_collectives(struct digest_pass *p, const struct pp_source *s, struct pp_err *err)
{
    struct pp_rank_row *r = &p->row;
    struct collectives t = {0};
    uint64_t bad;
    if (r->collective_ns || p->no_memory || !s->meta(s->ctx, "run", "source"))
        return PP_OK;
    pp_status st = s->each_chunk(s->ctx, NULL, collectives_of_chunk, &t, &bad, err);
    if (st == PP_OK && !t.n && s->each_gpu)
        st = s->each_gpu(s->ctx, collective_of_gpu, &t, err);
    if (st == PP_OK && t.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the collectives of %s", s->path);
    /* Disjoint: several at once cover their time once. */
    size_t kept = 0;
    if (t.n)
        qsort(t.at, t.n, sizeof(*t.at), by_start);
    for (size_t i = 0; i < t.n; i++) {
        struct stretch *last = kept ? &t.at[kept - 1] : NULL;
        if (last && t.at[i].start_ns <= last->end_ns)
            last->end_ns = t.at[i].end_ns > last->end_ns ? t.at[i].end_ns : last->end_ns;
        else
            t.at[kept++] = t.at[i];
    }
    t.n = kept;
    for (size_t i = 0, k = 0; i < p->n && st == PP_OK; i++) {
        struct pp_rank_own_step *step = &p->steps[i];
        const struct stretch *in = &p->times[i];
        uint64_t covered = 0, most = step->own_ns - step->input_ns;
        while (k < t.n && t.at[k].end_ns <= in->start_ns)
            k++;
        for (size_t m = k; m < t.n && t.at[m].start_ns < in->end_ns; m++) {
            uint64_t from = t.at[m].start_ns > in->start_ns ? t.at[m].start_ns : in->start_ns,
                     to = t.at[m].end_ns < in->end_ns ? t.at[m].end_ns : in->end_ns;
            covered += to > from ? to - from : 0;
        }
        covered = covered < most ? covered : most;
        step->own_ns -= covered;
        r->step_ns -= covered;
        r->collective_ns += covered;
    }
    free(t.at);
    return st;
}

/* Whether its waits for other ranks are whole, and the ends of its collectives. */
static pp_status digest_pass_waits(struct digest_pass *p, const struct pp_source *s, struct pp_err *err)
{
    /* A process that could not see all of its waits for other ranks says so: what it recorded of them is not
     * the whole. */
    struct pp_process_note unseen = {.words = "waits for other ranks are not recorded"};
    pp_status st = s->each_meta(s->ctx, "process_note", pp_process_note_find, &unseen, err);
    p->row.met = p->row.collective_ns > 0 && !unseen.is_there;
    return st == PP_OK && p->row.met ? pp_collective_ends_read(s, &p->ends, err) : st;
}

/* The digest of all that was counted; the source is to be open still. */
static pp_status digest_pass_make(struct digest_pass *p, struct pp_digest *out, struct pp_err *err)
{
    if (p->no_memory)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the steps of %s", p->row.file);
    struct pp_rank_row *r = &p->row;
    r->n_ends = 0;
    r->ends = p->kept;
    for (size_t i = 0; i < p->ends.n && r->n_ends < PP_RANK_ENDS; i++)
        if (p->ends.at[i] && pp_rank_end_is_kept((uint32_t)i) && digest_pass_utc(p, p->ends.at[i]))
            p->kept[r->n_ends++] = (struct pp_rank_end){(uint32_t)i, digest_pass_utc(p, p->ends.at[i])};
    return pp_digest_make(&p->row, p->steps, p->n, out, err);
}

/* Until when it was recorded: its end, or its last span. */
static uint64_t digest_pass_until(const struct digest_pass *p, const struct pp_source *s,
                                  uint64_t last_span_ns)
{
    double ended = pp_source_number(s, "run", "ended_mono_ns", 0);
    return digest_pass_utc(p, ended >= (double)last_span_ns ? (uint64_t)ended : last_span_ns);
}

/* Of one without an outcome, whether it is still written: opening it has recovered what a killed run left,
 * and removed its rings. */
static int digest_pass_is_written(const char *path)
{
    char rings[PATH_MAX];
    return (size_t)snprintf(rings, sizeof(rings), "%s.rings", path) < sizeof(rings) &&
           access(rings, F_OK) == 0;
}

static void digest_pass_free(struct digest_pass *p)
{
    free(p->steps);
    free(p->times);
    free(p->ends.at);
    *p = (struct digest_pass){0};
}

static void take_report(const struct pp_report *report, struct pp_rank_row *r)
{
    r->l0 = report->verdict.l0;
    r->l1 = report->verdict.l1;
    r->l2 = report->verdict.l2;
    r->sentence = report->verdict.cause_line ? report->verdict.cause_line : report->verdict.sentence;
    r->subject = report->subject;
    r->samples_per_s = report->samples_per_s;
    r->data_wait_share = report->data_wait_share;
    r->collective_share = report->collective_share;
    r->samples = report->window_samples;
    for (size_t i = 0; i < report->n_phases; i++) {
        const struct pp_report_phase *p = &report->phases[i];
        if (p->lane == PP_LANE_TRAINER || (unsigned)p->phase >= PP_PHASE_COUNT)
            continue;
        r->work_ns[p->phase] += p->total_ns;
        if (pp_phase_is_work(p->phase) && p->run_delay_share > 0)
            r->work_delay_ns += (uint64_t)(p->run_delay_share * (double)p->total_ns);
    }
    for (size_t i = 0; i < report->n_losses; i++)
        r->lost_spans += report->losses[i].count;
}

pp_status pp_digest_read(const char *path, int batches, struct pp_digest *out, struct pp_err *err)
{
    struct pp_source source;
    struct pp_timeline tl = {0};
    struct pp_report *report = NULL;
    struct pp_resume_run run = {.hashing = 1};
    struct digest_pass *p = calloc(1, sizeof(*p));
    *out = (struct pp_digest){0};
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = digest_pass_begin(p, &source, err);
    source.glance = 1; /* pictures and intervals are not asked for */
    if (st == PP_OK)
        st = pp_timeline_build_each(&source, &tl, digest_pass_batch, p, err);
    if (st == PP_OK)
        st = digest_pass_collectives(p, &source, err);
    if (st == PP_OK)
        st = digest_pass_waits(p, &source, err);
    if (st == PP_OK)
        st = pp_report_from(&source, &report, err);
    if (st == PP_OK) {
        take_report(report, &p->row);
        p->row.until_utc_ns = digest_pass_until(p, &source, tl.spans ? tl.last_ns : 0);
        p->row.running = !p->row.outcome && digest_pass_is_written(path);
        struct pp_err why; /* of too many samples there are no hashes */
        uint8_t *hashes = batches && pp_resume_read(path, &run, &why) == PP_OK
                              ? pp_resume_pack(&run, &p->row.n_batches)
                              : NULL;
        p->row.batches = hashes;
        st = digest_pass_make(p, out, err);
        free(hashes);
    }
    pp_resume_free(&run);
    pp_report_free(report);
    pp_timeline_free(&tl);
    pp_source_close(&source);
    digest_pass_free(p);
    free(p);
    return st;
}

struct pp_digest_follow {
    char *path;
    struct digest_pass pass;
    /* The last batch that was counted: a look begins with it, for what follows it. 0: none was. */
    uint64_t counted_start_ns;
    struct pp_timeline_batch last;
    /* while a look goes on */
    const struct pp_source *source;
    struct pp_timeline_batch held; /* the newest, which may go on */
    int any_held;
    uint32_t renumber; /* a recording that numbers no batches begins with 0 in every look */
    uint64_t last_end_ns;
    /* of the batches that count */
    uint64_t judged_from_ns, judged_to_ns, samples, work_from_ns;
};

struct pp_digest_follow *pp_digest_follow_new(const char *path)
{
    struct pp_digest_follow *f = calloc(1, sizeof(*f));
    if (f && !(f->path = strdup(path))) {
        free(f);
        f = NULL;
    }
    return f;
}

void pp_digest_follow_free(struct pp_digest_follow *f)
{
    if (!f)
        return;
    digest_pass_free(&f->pass);
    free(f->path);
    free(f);
}

/* ---- batches ---- */

static void count(struct pp_digest_follow *f, const struct pp_timeline_batch *b)
{
    digest_pass_batch(&f->pass, b);
    f->counted_start_ns = b->start_ns;
    f->last = *b;
    if (b->warmup)
        return;
    f->judged_from_ns = f->judged_from_ns ? f->judged_from_ns : b->start_ns;
    f->judged_to_ns = b->end_ns;
    f->samples += b->samples;
}

static void on_batch(void *ctx, const struct pp_timeline_batch *batch)
{
    struct pp_digest_follow *f = ctx;
    struct pp_timeline_batch b = *batch;
    if (f->counted_start_ns && b.start_ns <= f->counted_start_ns) {
        f->renumber = b.start_ns == f->counted_start_ns ? f->last.number - b.number : f->renumber;
        return;
    }
    b.number += f->renumber;
    if (f->any_held)
        count(f, &f->held);
    f->held = b;
    f->any_held = 1;
}

/* ---- what the workers did meanwhile ---- */

/* Spans that ended in the steps that were counted by this look. */
static int add_work(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pp_digest_follow *f = ctx;
    const struct pp_thread_row *rows;
    size_t rows_n = f->source->threads(f->source->ctx, &rows);
    size_t at = pp_thread_at(rows, rows_n, thread);
    if (at >= rows_n || rows[at].lane == PP_LANE_TRAINER)
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t end = spans[i].start_ns + spans[i].dur_ns;
        if (end <= f->work_from_ns || end > f->judged_to_ns || (unsigned)spans[i].phase >= PP_PHASE_COUNT)
            continue;
        f->pass.row.work_ns[spans[i].phase] += spans[i].dur_ns;
        if (pp_phase_is_work(spans[i].phase) && (spans[i].flags & PP_SPAN_HAS_DELAY))
            f->pass.row.work_delay_ns += spans[i].run_delay_ns < spans[i].dur_ns ? spans[i].run_delay_ns
                                                                                 : spans[i].dur_ns;
    }
    return 0;
}

/* ---- a look ---- */

/* part: the recording from the last batch that was counted, which a part calls warm-up, as its first. */
static pp_status read_part(struct pp_digest_follow *f, const struct pp_source *part, struct pp_err *err)
{
    struct pp_timeline tl = {0};
    f->any_held = 0;
    f->renumber = 0;
    pp_status st = pp_timeline_build_each(part, &tl, on_batch, f, err);
    if (st == PP_OK && f->any_held && f->pass.row.outcome)
        count(f, &f->held); /* it does not go on */
    if (st == PP_OK)
        st = digest_pass_waits(&f->pass, part, err);
    if (st == PP_OK && tl.spans && tl.last_ns > f->last_end_ns)
        f->last_end_ns = tl.last_ns;
    pp_timeline_free(&tl);
    return st;
}

pp_status pp_digest_follow_look(struct pp_digest_follow *f, uint64_t until_ns, uint64_t now_utc_ns,
                                struct pp_digest *out, int *ended, struct pp_err *err)
{
    struct pp_source source, part = {.ctx = NULL};
    struct pp_rank_row *row = &f->pass.row;
    *out = (struct pp_digest){0};
    pp_status st = pp_source_open(f->path, &source, err);
    if (st == PP_OK)
        st = digest_pass_begin(&f->pass, &source,
                               err); /* before the spans: what an outcome ends is all there */
    if (st == PP_OK)
        st = pp_source_open_as(
            f->path, &(struct pp_source_view){.part = 1, .from_ns = f->counted_start_ns, .to_ns = until_ns},
            &part, err);
    if (st == PP_OK)
        st = read_part(f, &part, err);
    f->source = &source;
    if (st == PP_OK) {
        f->work_from_ns = f->work_from_ns ? f->work_from_ns : f->judged_from_ns;
        if (f->judged_to_ns > f->work_from_ns) {
            const struct pp_wanted wanted = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_FLAGS |
                                                        PP_COLUMN_RUN_DELAY,
                                             .from_ns = f->work_from_ns,
                                             .to_ns = f->judged_to_ns};
            st = f->source->each_chunk(f->source->ctx, &wanted, add_work, f, NULL, err);
            f->work_from_ns = f->judged_to_ns;
        }
    }
    if (st == PP_OK) {
        /* What a report says of the rank, as far as its own steps tell. */
        struct pp_rank_row *r = &f->pass.row;
        double input = (double)(r->wait_ns + r->sync_ns),
               all = input + (double)(r->step_ns + r->collective_ns),
               s = (double)(f->judged_to_ns - f->judged_from_ns) / 1e9;
        r->samples = f->samples;
        r->samples_per_s = s > 0 ? (double)f->samples / s : NAN;
        r->data_wait_share = all > 0 ? input / all : NAN;
        r->collective_share = all > 0 ? (double)r->collective_ns / all : NAN;
        row->running = !row->outcome && digest_pass_is_written(f->path);
        row->until_utc_ns = row->running && now_utc_ns ? now_utc_ns
                                                       : digest_pass_until(&f->pass, &source, f->last_end_ns);
        if (ended)
            *ended = !row->running;
        st = digest_pass_make(&f->pass, out, err);
    } else if (ended) {
        *ended = !digest_pass_is_written(f->path);
    }
    pp_source_close(&part);
    pp_source_close(&source);
    return st;
}
