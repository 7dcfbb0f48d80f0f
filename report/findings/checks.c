#include "report/findings/checks.h"

#include "probe/base/err.h"

enum { RANKS = 1024 };

struct pp_checks_pass {
    const struct pp_source *source;
    const struct pp_timeline *timeline;
    struct pp_laws_pass *laws;
    struct pp_periodic_pass *periodic;
    struct pp_visits_pass *visits;
    struct pp_patterns_pass *patterns;
    struct pp_leases_pass *leases;
    struct pp_shuffle_pass *shuffle;
    struct pp_device_decode_pass *device_decode;
    struct pp_counter_id last_rank;
    uint64_t last[RANKS]; /* collective steps to which each rank came last */
    int is_whole;         /* each of them has the memory that it asked for */
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
                                 pp_patterns_begin(source, timeline),
                                 pp_leases_begin(source, timeline),
                                 pp_shuffle_begin(source),
                                 pp_device_decode_begin(source, timeline),
                                 {.text = "collective_last_rank"},
                                 {0},
                                 0};
    p->is_whole = p->laws && p->periodic && p->visits && p->patterns && p->leases && p->shuffle &&
                  p->device_decode;
    return p;
}

int pp_checks_chunk(struct pp_checks_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    if (!p || !p->is_whole)
        return 1;
    const struct pp_timeline *tl = p->timeline;
    for (size_t i = 0; i < n && tl->has_trainer && thread == tl->trainer && tl->has_steady_state; i++)
        if (spans[i].start_ns >= tl->start_ns && spans[i].start_ns < tl->end_ns &&
            pp_counter_is(&p->last_rank, p->source, &spans[i]) && spans[i].bytes < RANKS)
            p->last[spans[i].bytes]++;
    pp_leases_chunk(p->leases, spans, n);
    return pp_laws_chunk(p->laws, thread, spans, n) || pp_periodic_chunk(p->periodic, thread, spans, n) ||
           pp_visits_chunk(p->visits, thread, spans, n) || pp_patterns_chunk(p->patterns, thread, spans, n) ||
           pp_shuffle_chunk(p->shuffle, spans, n) ||
           pp_device_decode_chunk(p->device_decode, thread, spans, n);
}

pp_status pp_checks_end(struct pp_checks_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_arena *arena, struct pp_checks *out, struct pp_err *err)
{
    pp_status status = p && p->is_whole ? PP_OK
                                        : pp_fail(err, PP_E_NO_MEMORY, "no memory to check %s", r->path);
    if (!p)
        return status;
    pp_laws_end(p->laws, tally, r, arena, &out->laws);
    /* Whether spans are missing from the recording. */
    const struct pp_thread_row *threads;
    size_t n = p->source->threads(p->source->ctx, &threads);
    int lossy = p->timeline->bad_chunks > 0;
    for (size_t i = 0; i < n; i++)
        lossy |= threads[i].dropped > 0;
    for (size_t i = 0; i < r->n_losses; i++)
        lossy |= r->losses[i].count > 0 && r->losses[i].what && strcmp(r->losses[i].what, "spans") == 0;
    pp_visits_end(p->visits, lossy, &out->visits);
    pp_patterns_end(p->patterns, tally, &out->patterns);
    struct pp_ranks *ranks = &out->ranks;
    *ranks = (struct pp_ranks){.last_share = NAN,
                               .own_share = NAN,
                               .rank = pp_source_number(p->source, "config", "rank", NAN)};
    for (uint32_t k = 0; k < RANKS; k++) {
        ranks->meetings += p->last[k];
        ranks->last_rank = p->last[k] > p->last[ranks->last_rank] ? k : ranks->last_rank;
    }
    if (ranks->meetings) {
        ranks->last_share = (double)p->last[ranks->last_rank] / (double)ranks->meetings;
        ranks->own_share = ranks->rank >= 0 && ranks->rank < RANKS
                               ? (double)p->last[(int)ranks->rank] / (double)ranks->meetings
                               : NAN;
    }
    pp_leases_end(p->leases, &out->leases);
    pp_shuffle_end(p->shuffle, &out->shuffle);
    pp_device_decode_end(p->device_decode, &out->device_decode);
    out->origin_ns = pp_source_number(p->source, "run", "started_mono_ns", (double)p->timeline->first_ns);
    pp_status ended = pp_periodic_end(p->periodic, p->source, &out->periodic, status == PP_OK ? err : NULL);
    if (status == PP_OK && ended == PP_OK)
        ended = pp_memory_check(p->source, &out->memory, err);
    if (status == PP_OK && ended == PP_OK)
        ended = pp_counters_check(p->source, p->timeline, out, err);
    if (status == PP_OK && ended == PP_OK)
        ended = pp_handed_check(p->source, p->timeline, tally, &out->handed, err);
    free(p);
    return status == PP_OK ? ended : status;
}
