/* Up to max of what a ring holds and has not been read, in one go: what the drain does piece by piece. What
 * was read stays in the ring until pp_ring_release. */
#pragma once

#include "probe/trace/drain_side.h"

static inline size_t ring_peek(struct pp_session *s, uint32_t thread, struct pp_span *out, size_t max)
{
    struct pp_ring_reader r = pp_ring_reader(s, thread);
    return pp_ring_read(&r, out, max);
}
