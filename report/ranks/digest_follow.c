#include "report/ranks/digest.h"

#include "report/ranks/digest_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        if (digest_pass_is_work(spans[i].phase) && (spans[i].flags & PP_SPAN_HAS_DELAY))
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
        st = pp_source_open_part(f->path, f->counted_start_ns, until_ns, &part, err);
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
