#include "report/findings/checks.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

struct pp_checks_pass {
    const struct pp_source *source;
    const struct pp_timeline *timeline;
    struct pp_laws_pass *laws;
    struct pp_periodic_pass *periodic;
    struct pp_visits_pass *visits;
    struct pp_ranks_pass *ranks;
};

struct pp_checks_pass *pp_checks_begin(const struct pp_source *source, const struct pp_timeline *timeline)
{
    struct pp_checks_pass *p = malloc(sizeof(*p));
    if (!p)
        return NULL;
    *p = (struct pp_checks_pass){source,
                                 timeline,
                                 pp_laws_begin(source, timeline),
                                 pp_periodic_begin(source, timeline),
                                 pp_visits_begin(source, timeline),
                                 pp_ranks_begin(source, timeline)};
    return p;
}

static int is_whole(const struct pp_checks_pass *p)
{
    return p && p->laws && p->periodic && p->visits && p->ranks;
}

int pp_checks_chunk(struct pp_checks_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    return !is_whole(p) || pp_laws_chunk(p->laws, thread, spans, n) ||
           pp_periodic_chunk(p->periodic, thread, spans, n) || pp_visits_chunk(p->visits, thread, spans, n) ||
           pp_ranks_chunk(p->ranks, thread, spans, n);
}

/* Whether spans are missing from the recording. */
static int is_lossy(const struct pp_source *source, const struct pp_timeline *timeline,
                    const struct pp_report *r)
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

pp_status pp_checks_end(struct pp_checks_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_arena *arena, struct pp_checks *out, struct pp_err *err)
{
    pp_status status = is_whole(p) ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to check %s", r->path);
    if (!p)
        return status;
    pp_laws_end(p->laws, tally, r, arena, &out->laws);
    pp_visits_end(p->visits, is_lossy(p->source, p->timeline, r), &out->visits);
    pp_ranks_end(p->ranks, &out->ranks);
    pp_status ended = pp_periodic_end(p->periodic, p->source, &out->periodic, status == PP_OK ? err : NULL);
    free(p);
    return status == PP_OK ? ended : status;
}
