#include "report/findings/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 1024 };

struct pp_ranks_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct pp_counter_id last_rank;
    uint64_t last[RANKS]; /* meetings to which each rank came last */
};

struct pp_ranks_pass *pp_ranks_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_ranks_pass *p = calloc(1, sizeof(*p));
    if (p) {
        p->source = source;
        p->tl = tl;
        p->last_rank.text = "collective_last_rank";
    }
    return p;
}

int pp_ranks_chunk(struct pp_ranks_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    if (!p->tl->has_trainer || thread != p->tl->trainer || !p->tl->has_steady_state)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->start_ns >= p->tl->start_ns && s->start_ns < p->tl->end_ns &&
            pp_counter_is(&p->last_rank, p->source, s) && s->bytes < RANKS)
            p->last[s->bytes]++;
    }
    return 0;
}

void pp_ranks_end(struct pp_ranks_pass *p, struct pp_ranks *out)
{
    *out = (struct pp_ranks){.last_share = NAN, .own_share = NAN, .rank = NAN, .world_size = NAN};
    if (!p)
        return;
    out->rank = pp_source_number(p->source, "config", "rank", NAN);
    out->world_size = pp_source_number(p->source, "config", "world_size", NAN);
    for (uint32_t r = 0; r < RANKS; r++) {
        out->meetings += p->last[r];
        out->last_rank = p->last[r] > p->last[out->last_rank] ? r : out->last_rank;
    }
    if (out->meetings) {
        out->last_share = (double)p->last[out->last_rank] / (double)out->meetings;
        out->own_share = out->rank >= 0 && out->rank < RANKS
                             ? (double)p->last[(int)out->rank] / (double)out->meetings
                             : NAN;
    }
    free(p);
}
