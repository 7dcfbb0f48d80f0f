/* store/detail.h: how much of what happened is kept as spans. Roll-ups are always made from every span; what
 * is merged here is what goes into chunks.
 *
 *   sample  every span
 *   batch   what a thread did to single samples of a batch becomes one span per batch and phase
 *   rollup  what a thread other than a trainer did becomes one span per phase and chunk (some thousand
 *           spans, a second at most)
 *
 * A merged span starts where the first one did, lasts as long as all together (dur_ns is a sum, so is cpu_ns,
 * bytes, ...), and counts them in sample with PP_SPAN_COUNT. Errors, retries, unfinished spans and counters
 * are never merged. */
#ifndef PP_STORE_DETAIL_H
#define PP_STORE_DETAIL_H

#include "collectors/store/writer.h"

/* Merges in place the n spans of one thread; returns how many are left, 1 at least. */
size_t pp_detail_merge(enum pp_detail detail, pp_lane lane, struct pp_span *spans, size_t n);

#endif
