/* The clocks of the ranks of a digest, from the ends of the collectives that its rows have in common. */
#include "report/ranks/clock.h"
#include "report/ranks/judge.h"

#include <math.h>

static size_t pairs_of(const struct pp_rank_row *reference, const struct pp_rank_row *own,
                       struct pp_clock_pair *pairs)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < reference->n_ends && k < own->n_ends && n < PP_RANK_ENDS;) {
        const struct pp_rank_end *a = &reference->ends[i], *b = &own->ends[k];
        if (a->number == b->number)
            pairs[n++] = (struct pp_clock_pair){.own_ns = b->utc_ns, .reference_ns = a->utc_ns};
        i += a->number <= b->number;
        k += b->number <= a->number;
    }
    return n;
}

/* At the last of the pairs: there the rank was seen last. */
static int align(struct judge *j, size_t reference, size_t row)
{
    struct pp_clock_pair pairs[PP_RANK_ENDS];
    struct pp_clock clock;
    struct pp_ranks_row *out = &j->r->rows[row];
    size_t n = pairs_of(&j->d->rows[reference], &j->d->rows[row], pairs);
    if (pp_clock_fit(pairs, n, &clock, NULL) != PP_OK)
        return 0;
    if (!clock.unknown) {
        uint64_t at = pairs[n - 1].own_ns;
        j->ahead_ns[row] = (int64_t)(pp_clock_to_reference(&clock, at) - at);
        out->clock_offset_ns = -(double)j->ahead_ns[row];
        out->clock_error_ns = clock.error_ns;
        j->r->clock_error_ns = fmax(j->r->clock_error_ns, clock.error_ns); /* of NAN, the other one */
        if (j->slowest_clock == j->d->n_rows ||
            fabs(out->clock_offset_ns) > fabs(j->r->rows[j->slowest_clock].clock_offset_ns))
            j->slowest_clock = row;
    }
    pp_clock_free(&clock);
    return 1;
}

int judge_clocks(struct judge *j)
{
    size_t reference = 0, n = j->d->n_rows;
    j->slowest_clock = n;
    while (reference < n && j->d->rows[reference].n_ends < PP_CLOCK_LEAST)
        reference++;
    for (size_t i = reference + 1; i < n; i++)
        if (!align(j, reference, i))
            return 0;
    if (!isnan(j->r->clock_error_ns))
        j->r->rows[reference].clock_offset_ns = j->r->rows[reference].clock_error_ns = 0;
    return 1;
}
