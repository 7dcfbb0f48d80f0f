#include "report/ranks/clock.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/ranks/judge.h"
#include "report/source/source.h"
#include "report/stats/order.h"

#define ERRORS 4.0
#define MOST_DRIFT 1e-3     /* clocks of computers drift by some 1e-5 */
#define MEDIAN_ERROR 1.2533 /* of a median over that of a mean */
#define SIGMA_OF_MAD 1.4826

struct work {
    const struct pp_clock_pair *pairs;
    size_t n, blocks;
    double *left, *of_block, *middle; /* left: n; the others: one per block */
    double scratch[2 * PP_CLOCK_WINDOW];
};

static size_t first_of(const struct work *w, size_t block)
{
    return block * w->n / w->blocks;
}

static double at_of(const struct work *w, size_t i)
{
    return (double)(w->pairs[i].own_ns - w->pairs[0].own_ns);
}

static void take_medians(struct work *w)
{
    for (size_t b = 0; b < w->blocks; b++) {
        size_t from = first_of(w, b), n = first_of(w, b + 1) - from;
        memcpy(w->scratch, w->left + from, n * sizeof(double));
        w->of_block[b] = pp_stats_median(w->scratch, n);
        w->middle[b] = (at_of(w, from) + at_of(w, from + n - 1)) / 2;
    }
}

static void fit(struct work *w, struct pp_clock *out)
{
    /* The first look is for the drift alone: blocks of half a window, so that one window has two. */
    for (size_t i = 0; i < w->n; i++)
        w->left[i] = (double)(int64_t)(w->pairs[i].reference_ns - w->pairs[i].own_ns -
                                       (uint64_t)out->ahead_ns);
    w->blocks = w->n / (PP_CLOCK_WINDOW / 2) > 1 ? w->n / (PP_CLOCK_WINDOW / 2) : 2;
    take_medians(w);
    /* The median of the slopes between blocks that are half of the recording apart; of a single window,
     * between its halves. */
    size_t half = w->blocks / 2, n = 0;
    double *slopes = w->middle + w->blocks; /* behind it: as many again */
    for (size_t b = 0; half && b + half < w->blocks; b++)
        slopes[n++] = (w->of_block[b + half] - w->of_block[b]) / fmax(w->middle[b + half] - w->middle[b], 1);
    out->drift = n ? pp_stats_median(slopes, n) : 0;
    for (size_t i = 0; i < w->n; i++)
        w->left[i] -= out->drift * at_of(w, i);
    w->blocks = w->n / PP_CLOCK_WINDOW ? w->n / PP_CLOCK_WINDOW : 1;
    take_medians(w);
    out->error_ns = 0;
    out->n_knots = w->blocks;
    for (size_t b = 0; b < w->blocks; b++) {
        out->knots[b] = (struct pp_clock_knot){w->middle[b], w->of_block[b]};
        size_t from = first_of(w, b), pairs = first_of(w, b + 1) - from;
        for (size_t i = 0; i < pairs; i++)
            w->scratch[i] = fabs(w->left[from + i] - w->of_block[b]);
        out->error_ns = fmax(out->error_ns, ERRORS * MEDIAN_ERROR * SIGMA_OF_MAD *
                                                pp_stats_median(w->scratch, pairs) / sqrt((double)pairs));
    }
}

pp_status pp_clock_fit(const struct pp_clock_pair *pairs, size_t n, struct pp_clock *out, struct pp_err *err)
{
    *out = (struct pp_clock){.steps = n, .error_ns = NAN};
    if (n < PP_CLOCK_LEAST) {
        out->unknown = "fewer than 50 collective steps in common";
        return PP_OK;
    }
    size_t most = n / (PP_CLOCK_WINDOW / 2) + 2;
    struct work w = {.pairs = pairs,
                     .n = n,
                     .left = malloc(n * sizeof(double)),
                     .of_block = malloc(most * sizeof(double)),
                     .middle = malloc(2 * most * sizeof(double))};
    out->knots = malloc(most * sizeof(*out->knots));
    out->from_ns = pairs[0].own_ns;
    out->ahead_ns = (int64_t)(pairs[0].reference_ns - pairs[0].own_ns);
    pp_status st = w.left && w.of_block && w.middle && out->knots
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory to align clocks by %zu steps", n);
    if (st == PP_OK)
        fit(&w, out);
    if (st != PP_OK || !(fabs(out->drift) <= MOST_DRIFT)) {
        pp_clock_free(out);
        out->unknown = "the ends of the collective steps do not keep their distance";
        out->error_ns = NAN;
        out->drift = 0;
    }
    free(w.left);
    free(w.of_block);
    free(w.middle);
    return st;
}

void pp_clock_free(struct pp_clock *c)
{
    free(c->knots);
    c->knots = NULL;
    c->n_knots = 0;
}

uint64_t pp_clock_to_reference(const struct pp_clock *c, uint64_t own_ns)
{
    double at = (double)(int64_t)(own_ns - c->from_ns), left_ns = 0;
    size_t n = PP_BEFORE(c->n_knots, i, c->knots[i].at_ns <= at);
    if (c->n_knots) { /* what the line leaves at that time: between two middles of windows, in proportion */
        const struct pp_clock_knot *a = &c->knots[n ? n - 1 : 0], *b = a + 1;
        left_ns = a->left_ns;
        if (n && at > a->at_ns && n < c->n_knots)
            left_ns += (b->left_ns - a->left_ns) * (at - a->at_ns) / (b->at_ns - a->at_ns);
    }
    return own_ns + (uint64_t)c->ahead_ns + (uint64_t)llround(c->drift * at + left_ns);
}

/* The ends of collective steps in recordings, for clock.h. */

enum { MOST_BATCHES = 1 << 21 };

struct ends {
    const struct pp_source *source;
    struct pp_collective_ends *to;
    int no_memory;
};

static int on_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct ends *e = ctx;
    struct pp_collective_ends *to = e->to;
    const struct pp_thread_row *rows;
    size_t rows_n = e->source->threads(e->source->ctx, &rows);
    size_t at = pp_thread_at(rows, rows_n, thread);
    if (at >= rows_n || rows[at].lane != PP_LANE_TRAINER)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase != PP_PHASE_COLLECTIVE || s->batch >= MOST_BATCHES || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        size_t had = to->n;
        if (!pp_grow(&to->at, &to->n, (size_t)s->batch + 1, sizeof(*to->at)))
            return e->no_memory = 1;
        if (to->n > had)
            memset(to->at + had, 0, (to->n - had) * sizeof(*to->at));
        uint64_t end = s->start_ns + s->dur_ns;
        to->at[s->batch] = end > to->at[s->batch] ? end : to->at[s->batch];
    }
    return 0;
}

void pp_process_note_find(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct pp_process_note *note = ctx;
    note->is_there |= value && strstr(value, note->words) != NULL;
}

pp_status pp_collective_ends_read(const struct pp_source *s, struct pp_collective_ends *io,
                                  struct pp_err *err)
{
    struct pp_wanted wanted = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_FLAGS};
    const struct pp_thread_row *rows;
    size_t n = s->threads(s->ctx, &rows), trainers = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].lane == PP_LANE_TRAINER)
            wanted.thread = trainers++ ? NULL : &rows[i].id; /* the one saves to read the others */
    uint64_t bad = 0;
    struct ends e = {.source = s, .to = io};
    /* A process that met a part of the ranks alone says so. */
    struct pp_process_note groups = {.words = "clocks are not compared"};
    pp_status st = s->each_meta(s->ctx, "process_note", pp_process_note_find, &groups, err);
    if (st != PP_OK || groups.is_there)
        return st;
    st = s->each_chunk(s->ctx, &wanted, on_chunk, &e, &bad, err);
    return st == PP_OK && e.no_memory ? pp_fail(err, PP_E_NO_MEMORY, "no memory to align %s", s->path) : st;
}

pp_status pp_clock_align(const struct pp_source *sources, size_t n, struct pp_clock *out, struct pp_err *err)
{
    struct pp_collective_ends reference = {0};
    memset(out, 0, n * sizeof(*out));
    pp_status st = n ? pp_collective_ends_read(&sources[0], &reference, err) : PP_OK;
    for (size_t i = 1; st == PP_OK && i < n; i++) {
        struct pp_collective_ends own = {0};
        st = pp_collective_ends_read(&sources[i], &own, err);
        size_t n_pairs = 0, most = reference.n < own.n ? reference.n : own.n;
        struct pp_clock_pair *pairs = st == PP_OK ? calloc(most + 1, sizeof(*pairs)) : NULL;
        if (st == PP_OK && !pairs)
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory to align clocks by %zu steps", most);
        for (size_t b = 0; pairs && b < most; b++)
            if (reference.at[b] && own.at[b])
                pairs[n_pairs++] = (struct pp_clock_pair){own.at[b], reference.at[b]};
        if (pairs)
            st = pp_clock_fit(pairs, n_pairs, &out[i], err);
        free(pairs);
        if (st == PP_OK && out[i].unknown) {
            /* What the hosts' own clocks say: right where they are synchronised, and no error is known. */
            double r_mono = pp_source_number(&sources[0], "run", "started_mono_ns", NAN),
                   r_utc = pp_source_number(&sources[0], "run", "started_utc_ns", NAN),
                   mono = pp_source_number(&sources[i], "run", "started_mono_ns", NAN),
                   utc = pp_source_number(&sources[i], "run", "started_utc_ns", NAN),
                   ahead = (utc - r_utc) - (mono - r_mono);
            if (isfinite(ahead) && fabs(ahead) < 9e18)
                out[i].ahead_ns = (int64_t)ahead;
        }
        free(own.at);
    }
    free(reference.at);
    return st;
}

/* The clocks of the ranks of a digest, from the ends of the collectives that its rows have in common. */

int judge_clocks(struct judge *j)
{
    size_t reference = 0, n = j->d->n_rows;
    j->slowest_clock = n;
    while (reference < n && j->d->rows[reference].n_ends < PP_CLOCK_LEAST)
        reference++;
    for (size_t row = reference + 1; row < n; row++) {
        struct pp_clock_pair pairs[PP_RANK_ENDS];
        struct pp_clock clock;
        struct pp_ranks_row *out = &j->r->rows[row];
        const struct pp_rank_row *first = &j->d->rows[reference], *own = &j->d->rows[row];
        size_t n_pairs = 0;
        for (size_t i = 0, k = 0; i < first->n_ends && k < own->n_ends && n_pairs < PP_RANK_ENDS;) {
            const struct pp_rank_end *a = &first->ends[i], *b = &own->ends[k];
            if (a->number == b->number)
                pairs[n_pairs++] = (struct pp_clock_pair){.own_ns = b->utc_ns, .reference_ns = a->utc_ns};
            i += a->number <= b->number;
            k += b->number <= a->number;
        }
        if (pp_clock_fit(pairs, n_pairs, &clock, NULL) != PP_OK)
            return 0;
        if (!clock.unknown) { /* at the last of the pairs: there the rank was seen last */
            uint64_t at = pairs[n_pairs - 1].own_ns;
            j->ahead_ns[row] = (int64_t)(pp_clock_to_reference(&clock, at) - at);
            out->clock_offset_ns = -(double)j->ahead_ns[row];
            out->clock_error_ns = clock.error_ns;
            j->r->clock_error_ns = fmax(j->r->clock_error_ns, clock.error_ns); /* of NAN, the other one */
            if (j->slowest_clock == n ||
                fabs(out->clock_offset_ns) > fabs(j->r->rows[j->slowest_clock].clock_offset_ns))
                j->slowest_clock = row;
        }
        pp_clock_free(&clock);
    }
    if (!isnan(j->r->clock_error_ns))
        j->r->rows[reference].clock_offset_ns = j->r->rows[reference].clock_error_ns = 0;
    return 1;
}
