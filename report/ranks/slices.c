#include "report/ranks/slices.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

/* Adds to the last slice, or to a new one behind it. */
static void add(struct pp_rank_slice *out, size_t *n, const struct pp_rank_slice *s)
{
    if (!*n || out[*n - 1].number != s->number) {
        out[(*n)++] = *s;
        return;
    }
    struct pp_rank_slice *last = &out[*n - 1];
    last->steps += s->steps;
    last->wait_ns += s->wait_ns;
    last->all_ns += s->all_ns;
}

static size_t coarsen(struct pp_rank_slice *slices, size_t n, unsigned by_log2)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        struct pp_rank_slice s = slices[i];
        s.number >>= by_log2;
        add(slices, &k, &s);
    }
    return k;
}

/* The shortest length with which all steps have PP_RANK_SLICES at most. */
static unsigned length_for(const struct pp_rank_own_step *steps, size_t n)
{
    uint64_t first = UINT64_MAX, last = 0;
    unsigned log2_s = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t s = steps[i].end_utc_ns / SECOND;
        first = s && s < first ? s : first;
        last = s > last ? s : last;
    }
    while (first <= last && (last >> log2_s) - (first >> log2_s) >= PP_RANK_SLICES)
        log2_s++;
    return log2_s;
}

int slices_make(struct pp_digest *d, const struct pp_rank_own_step *steps, size_t n)
{
    struct pp_rank_row *row = &d->rows[0];
    unsigned log2_s = length_for(steps, n);
    uint64_t before = 0;
    size_t k = 0;
    row->slices = pp_arena_alloc(&d->arena, PP_RANK_SLICES * sizeof(*row->slices));
    row->n_slices = 0;
    if (!row->slices)
        return 0;
    d->slice_log2_s = log2_s;
    for (size_t i = 0; i < n; i++) {
        uint64_t s = steps[i].end_utc_ns / SECOND;
        if (s <= UINT32_MAX && s >= before && s) { /* a clock that was set back makes no second slice */
            before = s >> log2_s << log2_s;
            add(row->slices, &k,
                &(struct pp_rank_slice){.number = (uint32_t)(s >> log2_s),
                                        .steps = 1,
                                        .wait_ns = steps[i].input_ns,
                                        .all_ns = steps[i].all_ns > steps[i].input_ns ? steps[i].all_ns
                                                                                      : steps[i].input_ns});
        }
    }
    row->n_slices = (uint32_t)k;
    return 1;
}

static void *copy_of(struct pp_digest *d, const void *from, size_t bytes)
{
    void *own = bytes ? pp_arena_alloc(&d->arena, bytes) : NULL;
    if (own)
        memcpy(own, from, bytes);
    return own;
}

int slices_fit(struct pp_digest *d, struct pp_rank_row *row, unsigned from_log2_s, unsigned to_log2_s,
               int copy)
{
    if (copy) {
        size_t slices = row->n_slices * sizeof(*row->slices), epochs = row->n_epochs * sizeof(*row->epochs),
               ends = row->n_ends * sizeof(*row->ends);
        row->slices = copy_of(d, row->slices, slices);
        row->epochs = copy_of(d, row->epochs, epochs);
        row->ends = copy_of(d, row->ends, ends);
        if ((slices && !row->slices) || (epochs && !row->epochs) || (ends && !row->ends))
            return 0;
    }
    if (to_log2_s > from_log2_s)
        row->n_slices = (uint32_t)coarsen(row->slices, row->n_slices, to_log2_s - from_log2_s);
    return 1;
}
