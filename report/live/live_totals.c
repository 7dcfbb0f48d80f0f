/* What a run did since its start, as sums that only grow. */
#include "report/live/live_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const double pp_live_wait_bounds_s[PP_LIVE_WAIT_BOUNDS] = {0.001, 0.01, 0.1, 1, 10};

static void add(struct pp_live_total *to, uint64_t n, uint64_t total_ns, uint64_t bytes)
{
    to->n += n;
    to->total_ns += total_ns;
    to->bytes += bytes;
}

/* Samples are counted by the last work on single ones. Which phase that is shows within the first second;
 * what was counted before stays. */
static void count(const struct pp_live *l, struct pp_live_totals *sum)
{
    const struct pp_live_total *trainer = sum->phase[PP_LANE_TRAINER];
    double samples = NAN;
    sum->batches = 0;
    for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
        sum->batches += live_takes_batch(l, phase) ? (double)trainer[phase].n : 0;
    for (int i = 0; i < LIVE_WORKS && isnan(samples); i++)
        samples = sum->work_n[i] ? (double)sum->work_n[i] : NAN;
    if (isnan(samples))
        samples = sum->batches * l->batch_size;
    sum->samples = fmax(sum->samples, samples); /* of a number and NAN, the number */
}

static void add_work(struct pp_live_totals *sum, unsigned phase, uint64_t n)
{
    static const pp_phase works[LIVE_WORKS] = {PP_PHASE_TRANSFORM, PP_PHASE_DECODE, PP_PHASE_READ};
    for (int i = 0; i < LIVE_WORKS; i++)
        sum->work_n[i] += works[i] == phase ? n : 0;
}

void live_total_of_part(struct pp_live *l, struct live_second *s, const struct pp_second_row *row)
{
    long thread = live_thread_row(l, row->thread);
    if (thread < 0)
        return;
    add(&l->totals.phase[l->threads[thread].lane][row->phase], row->n, row->total_ns, row->bytes);
    add_work(&l->totals, row->phase, row->n);
    if (row->phase == PP_PHASE_READ) {
        s->cache_hit_bytes += row->cache_hit_kib << 10;
        l->totals.cache_hit_bytes += row->cache_hit_kib << 10;
    }
    if (row->phase == PP_PHASE_DATA_WAIT) {
        uint64_t longer, left = row->n;
        for (int i = 0; i < PP_LIVE_WAIT_BOUNDS; i++) {
            longer = pp_second_at_least(row, (uint64_t)(pp_live_wait_bounds_s[i] * 1e9) + 1);
            longer = longer < left ? longer : left; /* damaged blobs may say anything */
            s->waits[i] += (uint32_t)(left - longer);
            l->totals.waits[i] += left - longer;
            left = longer;
        }
        s->waits[PP_LIVE_WAIT_BOUNDS] += (uint32_t)left;
        l->totals.waits[PP_LIVE_WAIT_BOUNDS] += left;
    }
    count(l, &l->totals);
}

/* A kind is the recorder's word for a class of errors. A file with more kinds than that is damaged, or made.
 */
uint32_t live_total_of_error(struct pp_live *l, const struct pp_error_row *row)
{
    struct pp_live_error_kind *kinds = l->totals.errors;
    const char *kind = row->kind && *row->kind ? row->kind : "other";
    uint32_t i = 0;
    while (i < PP_LIVE_ERROR_KINDS - 1 && kinds[i].name[0] &&
           strncmp(kinds[i].name, kind, sizeof(kinds[i].name) - 1) != 0)
        i++;
    if (i == PP_LIVE_ERROR_KINDS - 1)
        kind = "other";
    if (!kinds[i].name[0])
        snprintf(kinds[i].name, sizeof(kinds[i].name), "%s", kind);
    kinds[i].count += row->count;
    return i;
}

void live_total_of_threads(struct pp_live *l)
{
    l->totals.dropped = 0;
    for (size_t i = 0; i < l->n_threads; i++)
        l->totals.dropped += l->threads[i].dropped;
}

const struct pp_live_totals *pp_live_totals(const struct pp_live *l)
{
    return &l->totals;
}

void pp_live_totals_add(const struct pp_live *l, uint64_t s, struct pp_live_totals *sum)
{
    if (s < l->base_s || s - l->base_s >= l->n_seconds)
        return;
    const struct live_second *sec = &l->seconds[s - l->base_s];
    for (uint32_t i = 0; i < sec->n; i++) {
        const struct live_part *p = &sec->parts[i];
        long row = live_thread_row(l, p->thread);
        if (row < 0)
            continue;
        add(&sum->phase[l->threads[row].lane][p->phase], p->n, p->total_ns, p->bytes);
        add_work(sum, p->phase, p->n);
    }
    for (int i = 0; i <= PP_LIVE_WAIT_BOUNDS; i++)
        sum->waits[i] += sec->waits[i];
    sum->cache_hit_bytes += sec->cache_hit_bytes;
    sum->dropped = l->totals.dropped; /* at which times is not recorded */
    for (size_t i = 0; i < l->n_errors; i++) {
        struct pp_live_error_kind *kind = &sum->errors[l->errors[i].kind];
        if (l->errors[i].t_ns / LIVE_SECOND_NS != s)
            continue;
        memcpy(kind->name, l->totals.errors[l->errors[i].kind].name, sizeof(kind->name));
        kind->count += l->errors[i].count;
    }
    count(l, sum);
}

struct pp_live_rank pp_live_rank(const struct pp_live *l)
{
    return l->rank;
}
