#include "collectors/store/detail.h"

#include "probe/base/rng.h"

#include <string.h>

#define SLOTS 512u /* a power of two; at most half full, then merging starts afresh: parts add up */

static int of_one_sample(const struct pp_span *s)
{
    return s->batch != PP_NO_BATCH && s->sample != PP_NO_SAMPLE && !(s->flags & PP_SPAN_COUNT);
}

static int mergeable(enum pp_detail detail, pp_lane lane, const struct pp_span *s)
{
    if (s->phase == PP_PHASE_COUNTER || (s->flags & (PP_SPAN_ERROR | PP_SPAN_RETRY | PP_SPAN_UNFINISHED)))
        return 0;
    return of_one_sample(s) || (detail == PP_DETAIL_ROLLUP && lane != PP_LANE_TRAINER);
}

/* The span as the first of its group. */
static struct pp_span group_of(enum pp_detail detail, const struct pp_span *s)
{
    struct pp_span g = *s;
    if (!(g.flags & PP_SPAN_COUNT))
        g.sample = g.sample != PP_NO_SAMPLE;
    g.flags |= PP_SPAN_COUNT;
    if (detail == PP_DETAIL_ROLLUP)
        g.batch = PP_NO_BATCH;
    return g;
}

static int same_group(const struct pp_span *a, const struct pp_span *b)
{
    return a->batch == b->batch && a->epoch == b->epoch && a->name == b->name && a->phase == b->phase &&
           a->flags == b->flags;
}

static void add(struct pp_span *to, const struct pp_span *s)
{
    uint64_t kib = (uint64_t)to->cache_hit_kib + s->cache_hit_kib;
    to->dur_ns += s->dur_ns;
    to->sample += s->sample;
    to->bytes += s->bytes;
    to->cpu_ns += s->cpu_ns;
    to->run_delay_ns += s->run_delay_ns;
    to->cache_hit_kib = kib > UINT32_MAX ? UINT32_MAX : (uint32_t)kib;
}

size_t pp_detail_merge(enum pp_detail detail, pp_lane lane, struct pp_span *spans, size_t n)
{
    uint32_t slot[SLOTS] = {0}; /* 1 + index of a group's span; 0: free */
    size_t kept = 0, groups = 0;
    if (detail == PP_DETAIL_SAMPLE)
        return n;
    for (size_t i = 0; i < n; i++) {
        if (!mergeable(detail, lane, &spans[i])) {
            spans[kept++] = spans[i];
            continue;
        }
        struct pp_span g = group_of(detail, &spans[i]);
        uint32_t h = (uint32_t)pp_mix64((uint64_t)g.batch << 32 ^ (uint64_t)g.name << 16 ^
                                        (uint64_t)g.phase << 8 ^ g.flags) &
                     (SLOTS - 1);
        while (slot[h] && !same_group(&spans[slot[h] - 1], &g))
            h = (h + 1) & (SLOTS - 1);
        if (slot[h]) {
            add(&spans[slot[h] - 1], &g);
            continue;
        }
        if (++groups > SLOTS / 2) {
            memset(slot, 0, sizeof(slot));
            groups = 1;
        }
        spans[kept++] = g;
        slot[h] = (uint32_t)kept;
    }
    return kept;
}
