/* base/sample_list.h: which samples the batches of a DataLoader have, as bytes: per batch n + 1 (0: its
 * samples have no numbers), then n differences, each to the sample before (the first of a list: to 0). All
 * are LEB128; a difference d is d << 1 ^ d >> 63. A shuffled list takes as many bytes per sample as its
 * numbers have groups of seven bits, and one more bit; a sequential one takes one. */
#pragma once

#include "probe/base/std.h"

enum { PP_SAMPLE_LIST_NUMBER = 10 }; /* bytes that a number takes at the most */

/* Appends at out, which has room; they return the new end. */
uint8_t *pp_sample_list_put_batch(uint8_t *out, uint64_t n); /* UINT64_MAX: they have no numbers */
uint8_t *pp_sample_list_put(uint8_t *out, uint64_t sample, uint64_t *last); /* *last: 0 at first */

/* Reads a stranger's bytes. */
struct pp_sample_list {
    const uint8_t *at, *end;
    uint64_t last, left; /* left: of the batch */
    int damaged;
};
/* 0: the end, or damage. *n: samples of the next batch; UINT64_MAX: they have no numbers. What was left of
 * the one before is passed over. */
int pp_sample_list_batch(struct pp_sample_list *l, uint64_t *n);
int pp_sample_list_next(struct pp_sample_list *l, uint64_t *sample);
