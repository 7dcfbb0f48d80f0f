#include "report/build/parts.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct pp_tally_pass *tally;
    struct pp_checks_pass *checks;
    struct pp_costs_pass *costs;   /* NULL: there is no steady state */
    struct pp_series_pass *series; /* NULL: a glance draws no pictures */
    const struct pp_other_batches *other;
    const struct pp_thread_row *threads;
    size_t n_threads, room;
    struct pp_span *judged; /* of a chunk, room of them */
    int no_memory;
};

/* What workers did for the loader that is judged: samples and workers of several loaders are not compared
 * with each other. */
static int check_chunk(struct pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    size_t at = 0, kept = 0;
    while (at < p->n_threads && p->threads[at].id != thread)
        at++;
    if (!p->other->n || at == p->n_threads || p->threads[at].lane == PP_LANE_TRAINER)
        return pp_checks_chunk(p->checks, thread, spans, n);
    if (n > p->room) {
        struct pp_span *grown = realloc(p->judged, n * sizeof(*grown));
        if (!grown)
            return 1;
        p->judged = grown;
        p->room = n;
    }
    for (size_t i = 0; i < n; i++)
        if (spans[i].batch == PP_NO_BATCH || !pp_other_batches_has(p->other, spans[i].batch))
            p->judged[kept++] = spans[i];
    return pp_checks_chunk(p->checks, thread, p->judged, kept);
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    p->no_memory = pp_tally_chunk(p->tally, thread, spans, n) || check_chunk(p, thread, spans, n) ||
                   (p->costs && pp_costs_chunk(p->costs, thread, spans, n)) ||
                   (p->series && pp_series_chunk(p->series, thread, spans, n));
    return p->no_memory;
}

pp_status pp_gather(const struct pp_source *source, const struct pp_timeline *tl, struct pp_arena *arena,
                    struct pp_report *r, struct pp_gathered *out, struct pp_err *err)
{
    int replays = tl->has_steady_state, draws = !source->glance;
    memset(out, 0, sizeof(*out));
    struct pass p = {
        .other = &tl->other,
        .tally = pp_tally_begin(source, tl, &out->tally),
        .checks = pp_checks_begin(source, tl),
        .costs = replays ? pp_costs_begin(source, tl, &out->costs) : NULL,
        .series = draws ? pp_series_begin(source, tl, &out->tally) : NULL,
    };
    p.n_threads = source->threads(source->ctx, &p.threads);
    p.no_memory = !p.tally || !p.checks || (replays && !p.costs) || (draws && !p.series);
    pp_status status = p.no_memory ? PP_OK : source->each_chunk(source->ctx, NULL, each_chunk, &p, NULL, err);
    if (p.no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the statistics of %s", source->path);
    free(p.judged);
    pp_tally_end(p.tally);
    pp_status checked = pp_checks_end(p.checks, &out->tally, r, arena, &out->checks,
                                      status == PP_OK ? err : NULL);
    if (status == PP_OK)
        status = checked;
    out->costs_status = replays ? pp_costs_end(p.costs, source, &out->why_no_costs) : PP_E_INCONCLUSIVE;
    pp_status drawn = draws ? pp_series_end(p.series, source, arena, r, &out->targets,
                                            status == PP_OK ? err : NULL)
                            : PP_OK;
    if (!replays && !source->glance && drawn == PP_OK)
        drawn = pp_ops_read(source, tl, &out->costs.ops, status == PP_OK ? err : NULL);
    pp_status looked = pp_thread_work_read(source, tl, &out->threads, status == PP_OK ? err : NULL);
    return status != PP_OK ? status : drawn != PP_OK ? drawn : looked;
}

void pp_gathered_free(struct pp_gathered *g)
{
    pp_tally_free(&g->tally);
    pp_costs_free(&g->costs);
}
