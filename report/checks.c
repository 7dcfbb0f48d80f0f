#include "report/checks.h"

#include "probe/base/err.h"

#include <string.h>

struct pass {
    struct pp_laws_pass *laws;
    struct pp_periodic_pass *periodic;
    struct pp_visits_pass *visits;
    struct pp_ranks_pass *ranks;
    int no_memory;
};

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    p->no_memory |= pp_laws_chunk(p->laws, thread, spans, n) || pp_periodic_chunk(p->periodic, thread, spans, n) || pp_visits_chunk(p->visits, thread, spans, n) ||
                    pp_ranks_chunk(p->ranks, thread, spans, n);
    return p->no_memory;
}

/* Whether spans are missing from the recording. */
static int is_lossy(const struct pp_source *source, const struct pp_timeline *timeline, const struct pp_report *r)
{
    const struct pp_thread_row *threads;
    size_t n = source->threads(source->ctx, &threads);
    int lossy = timeline->bad_chunks > 0;
    for (size_t i = 0; i < n; i++)
        lossy |= threads[i].dropped > 0;
    for (size_t i = 0; i < r->n_losses; i++)
        lossy |= r->losses[i].count > 0 && r->losses[i].what && strcmp(r->losses[i].what, "spans") == 0;
    return lossy;
}

pp_status pp_checks_run(const struct pp_source *source, const struct pp_timeline *timeline, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_report_arena *arena, struct pp_checks *out, struct pp_err *err)
{
    struct pass p = {.laws = pp_laws_begin(source, timeline), .periodic = pp_periodic_begin(source, timeline), .visits = pp_visits_begin(source, timeline),
                     .ranks = pp_ranks_begin(source, timeline)};
    p.no_memory = !p.laws || !p.periodic || !p.visits || !p.ranks;
    pp_status status = p.no_memory ? PP_OK : source->each_chunk(source->ctx, NULL, each_chunk, &p, NULL, err);
    if (p.no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to check %s", source->path);
    pp_laws_end(p.laws, tally, r, arena, &out->laws);
    pp_visits_end(p.visits, is_lossy(source, timeline, r), &out->visits);
    pp_ranks_end(p.ranks, &out->ranks);
    pp_status ended = pp_periodic_end(p.periodic, source, &out->periodic, status == PP_OK ? err : NULL);
    return status == PP_OK ? ended : status;
}
