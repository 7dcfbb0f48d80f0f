#include "report/ranks/digest.h"

#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/measure/timeline.h"
#include "report/ranks/collectives.h"
#include "report/source/source.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pass {
    struct pp_rank_row row;
    struct pp_rank_own_step *steps;
    struct pp_covered_step *times; /* of the same steps */
    size_t n, room;
    int no_memory;
    double to_utc_ns; /* added to a time of this recording; NAN: not known */
    struct pp_rank_epoch epochs[PP_RANK_EPOCHS];
    uint64_t
        done_ns; /* when the step before was; 0: there was none, and not known when the recording began */
};

/* The first batch of an epoch, in warm-up or not. */
static void note_epoch(struct pass *p, const struct pp_timeline_batch *b)
{
    struct pp_rank_row *r = &p->row;
    uint64_t after = b->step_ns + b->collective_ns + b->sync_ns;
    uint64_t had = b->end_ns > after ? b->end_ns - after : 0;
    int rises = !r->n_epochs || b->epoch > p->epochs[r->n_epochs - 1].epoch;
    if (rises && r->n_epochs < PP_RANK_EPOCHS && p->done_ns && had >= p->done_ns)
        p->epochs[r->n_epochs++] = (struct pp_rank_epoch){.epoch = b->epoch, .ready_ns = had - p->done_ns};
    p->done_ns = b->end_ns;
}

static void each_batch(void *ctx, const struct pp_timeline_batch *b)
{
    struct pass *p = ctx;
    struct pp_rank_row *r = &p->row;
    note_epoch(p, b);
    if (b->warmup || p->n == PP_DIGEST_STEPS || p->no_memory)
        return;
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 1024;
        struct pp_rank_own_step *grown = realloc(p->steps, room * sizeof(*grown));
        p->steps = grown ? grown : p->steps;
        struct pp_covered_step *times = grown ? realloc(p->times, room * sizeof(*times)) : NULL;
        p->times = times ? times : p->times;
        p->no_memory = !times;
        if (!times)
            return;
        p->room = room;
    }
    uint64_t input = b->wait_ns + b->sync_ns;
    p->times[p->n] = (struct pp_covered_step){
        b->end_ns > b->step_ns + b->sync_ns ? b->end_ns - b->step_ns - b->sync_ns : 0, b->end_ns, 0};
    p->steps[p->n++] = (struct pp_rank_own_step){.number = b->number,
                                                 .own_ns = input + b->step_ns,
                                                 .input_ns = input,
                                                 .all_ns = input + b->step_ns + b->collective_ns,
                                                 .end_utc_ns = isnan(p->to_utc_ns)
                                                                   ? 0
                                                                   : b->end_ns + (uint64_t)p->to_utc_ns};
    r->steps++;
    r->wait_ns += b->wait_ns;
    r->sync_ns += b->sync_ns;
    r->step_ns += b->step_ns;
    r->collective_ns += b->collective_ns;
    r->met |= b->collective_ns > 0;
}

/* A trace of another profiler has its collectives beside the trainer's steps, which hold them. */
static pp_status take_collectives(const struct pp_source *source, struct pass *p, struct pp_err *err)
{
    struct pp_rank_row *r = &p->row;
    int any = 0;
    pp_status st = r->met ? PP_OK : pp_collectives_cover(source, p->times, p->n, &any, err);
    for (size_t i = 0; i < p->n && st == PP_OK && any; i++) {
        struct pp_rank_own_step *s = &p->steps[i];
        uint64_t most = s->own_ns - s->input_ns,
                 covered = p->times[i].covered_ns < most ? p->times[i].covered_ns : most;
        s->own_ns -= covered;
        r->step_ns -= covered;
        r->collective_ns += covered;
    }
    r->met |= any;
    return st;
}

static int64_t whole(const struct pp_source *s, const char *section, const char *key)
{
    double v = pp_source_number(s, section, key, -1);
    return v >= 0 && v <= INT32_MAX ? (int64_t)v : -1;
}

/* exec outlives its program and finishes the file. What a launcher sends to all ranks when one has failed
 * (SIGTERM) is no sign of the one. */
static int was_killed(const struct pp_source *s)
{
    static const int signals[] = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    int status = (int)whole(s, "result", "exit_status"), found = 0;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        found |= status == 128 + signals[i];
    return found;
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
    r->outcome = was_killed(s) ? PP_RANK_KILLED : s->meta(s->ctx, "run", "outcome");
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

/* A process that could not see all of its waits for other ranks says so (collectors/attach/python/meets.c):
 * what it recorded of them is not the whole. */
static void look_for_unseen(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    *(int *)ctx |= value && strstr(value, "waits for other ranks are not recorded") != NULL;
}

/* The device of this rank among those that its process was given: "2" of CUDA_VISIBLE_DEVICES=2,3. */
static const char *gpu_of(const struct pp_source *s, const struct pp_rank_row *r, char *buf, size_t size)
{
    const char *name = s->meta(s->ctx, "environment", "gpu"),
               *given = s->meta(s->ctx, "environment", "CUDA_VISIBLE_DEVICES");
    if (!name)
        return NULL;
    snprintf(buf, size, "%lld", (long long)(r->local_rank < 0 ? 0 : r->local_rank));
    for (int64_t i = 0; given && *given; i++) {
        size_t n = strcspn(given, ",");
        if (i == r->local_rank || !given[n]) { /* one alone is this rank's whatever its number */
            snprintf(buf, size, "%.*s", (int)n, given);
            break;
        }
        given += n + 1;
    }
    return buf;
}

/* The clock of the recording against the calendar. */
static double utc_offset(const struct pp_source *s)
{
    double utc = pp_source_number(s, "run", "started_utc_ns", NAN),
           mono = pp_source_number(s, "run", "started_mono_ns", NAN);
    return utc >= mono ? utc - mono : NAN;
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
    for (size_t i = 0; i < report->n_phases; i++)
        if (report->phases[i].lane != PP_LANE_TRAINER && (unsigned)report->phases[i].phase < PP_PHASE_COUNT)
            r->work_ns[report->phases[i].phase] += report->phases[i].total_ns;
    for (size_t i = 0; i < report->n_losses; i++)
        r->lost_spans += report->losses[i].count;
}

pp_status pp_digest_read(const char *path, struct pp_digest *out, struct pp_err *err)
{
    struct pp_source source;
    struct pp_timeline tl = {0};
    struct pp_report *report = NULL;
    struct pass p = {.row = {.file = path}};
    char gpu[64];
    *out = (struct pp_digest){0};
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = read_identity(&source, &p.row, err);
    if (st == PP_OK) {
        p.row.gpu = gpu_of(&source, &p.row, gpu, sizeof(gpu));
        p.to_utc_ns = utc_offset(&source);
        p.done_ns = (uint64_t)fmax(pp_source_number(&source, "run", "started_mono_ns", 0), 0);
        p.row.epochs = p.epochs;
        source.glance = 1; /* pictures and intervals are not asked for */
        st = pp_timeline_build_each(&source, &tl, each_batch, &p, err);
    }
    if (st == PP_OK && !p.no_memory)
        st = take_collectives(&source, &p, err);
    int unseen = 0;
    if (st == PP_OK)
        st = source.each_meta(source.ctx, "process_note", look_for_unseen, &unseen, err);
    p.row.met = p.row.met && !unseen;
    if (st == PP_OK && p.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the steps of %s", path);
    if (st == PP_OK)
        st = pp_report_from(&source, &report, err);
    if (st == PP_OK) {
        take_report(report, &p.row);
        st = pp_digest_make(&p.row, p.steps, p.n, out, err);
    }
    pp_report_free(report);
    pp_timeline_free(&tl);
    pp_source_close(&source);
    free(p.steps);
    free(p.times);
    return st;
}
