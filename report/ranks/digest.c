#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/ranks/digest.h"

/* ---- texts belong to the digest they are in ---- */

static void own_texts(struct pp_digest *d, struct pp_rank_row *row)
{
    const char **const texts[] = {&row->job,      &row->launcher, &row->host, &row->gpu, &row->file,
                                  &row->version,  &row->outcome,  &row->l0,   &row->l1,  &row->l2,
                                  &row->sentence, &row->subject,  &row->via};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *plain = *texts[i] ? pp_text_plain(*texts[i]) : NULL; /* a stranger's, for a terminal */
        *texts[i] = plain ? pp_arena_copy(&d->arena, plain) : NULL;
        free(plain);
    }
}

int pp_rank_end_is_kept(uint32_t number)
{
    unsigned octave = number ? 31u - (unsigned)__builtin_clz(number) : 0;
    return octave < 6 || number % (UINT32_C(1) << (octave - 5)) == 0;
}

static struct pp_hist *new_hists(void)
{
    struct pp_hist *hists = malloc(PP_DIGEST_HISTS * sizeof(*hists));
    for (size_t h = 0; hists && h < PP_DIGEST_HISTS; h++)
        pp_hist_clear(&hists[h]);
    return hists;
}

/* ---- slices of time ---- */

#define SECOND UINT64_C(1000000000)

/* Adds to the last slice, or to a new one behind it. */
static void add_slice(struct pp_rank_slice *out, size_t *n, const struct pp_rank_slice *s)
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

static void *copy_of(struct pp_digest *d, const void *from, size_t bytes)
{
    void *own = bytes ? pp_arena_alloc(&d->arena, bytes) : NULL;
    if (own)
        memcpy(own, from, bytes);
    return own;
}

/* Those of the row of a new digest, from its steps; a step whose end is not known is in none. */
static void slices_make(struct pp_digest *d, const struct pp_rank_own_step *steps, size_t n)
{
    struct pp_rank_row *row = &d->rows[0];
    /* The shortest length with which all steps have PP_RANK_SLICES at most. */
    uint64_t first = UINT64_MAX, last = 0;
    unsigned log2_s = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t s = steps[i].end_utc_ns / SECOND;
        first = s && s < first ? s : first;
        last = s > last ? s : last;
    }
    while (first <= last && (last >> log2_s) - (first >> log2_s) >= PP_RANK_SLICES)
        log2_s++;
    uint64_t before = 0;
    size_t k = 0;
    row->slices = pp_arena_alloc(&d->arena, PP_RANK_SLICES * sizeof(*row->slices));
    row->n_slices = 0;
    if (!row->slices)
        return;
    d->slice_log2_s = log2_s;
    for (size_t i = 0; i < n; i++) {
        uint64_t s = steps[i].end_utc_ns / SECOND;
        if (s <= UINT32_MAX && s >= before && s) { /* a clock that was set back makes no second slice */
            before = s >> log2_s << log2_s;
            add_slice(row->slices, &k,
                      &(struct pp_rank_slice){.number = (uint32_t)(s >> log2_s),
                                              .steps = 1,
                                              .wait_ns = steps[i].input_ns,
                                              .all_ns = steps[i].all_ns > steps[i].input_ns
                                                            ? steps[i].all_ns
                                                            : steps[i].input_ns});
        }
    }
    row->n_slices = (uint32_t)k;
}

/* Before the rows of from come into d: slices of both have one length, the longer one. copy: the rows get
 * slices, epochs and ends of their own in d's arena, which they need when they are another digest's. */
static void slices_fit(struct pp_digest *d, struct pp_rank_row *row, unsigned from_log2_s, unsigned to_log2_s,
                       int copy)
{
    if (copy) {
        row->slices = copy_of(d, row->slices, row->n_slices * sizeof(*row->slices));
        row->epochs = copy_of(d, row->epochs, row->n_epochs * sizeof(*row->epochs));
        row->ends = copy_of(d, row->ends, row->n_ends * sizeof(*row->ends));
        row->batches = copy_of(d, row->batches, row->n_batches);
    }
    if (to_log2_s > from_log2_s && row->slices) {
        size_t k = 0;
        for (size_t i = 0; i < row->n_slices; i++) {
            struct pp_rank_slice s = row->slices[i];
            s.number >>= (to_log2_s - from_log2_s);
            add_slice(row->slices, &k, &s);
        }
        row->n_slices = (uint32_t)k;
    }
}

/* ---- digests ---- */

pp_status pp_digest_make(const struct pp_rank_row *row, const struct pp_rank_own_step *steps, size_t n,
                         struct pp_digest *out, struct pp_err *err)
{
    *out = (struct pp_digest){.rows = malloc(sizeof(*out->rows)),
                              .steps = malloc((n ? n : 1) * sizeof(*out->steps)),
                              .hists = new_hists()};
    if (out->rows && out->steps && out->hists) {
        out->rows[0] = *row;
        out->rows[0].slices = NULL;
        out->rows[0].n_slices = 0;
        /* A part of the job's that any merge comes to, in whatever order. */
        if (row->n_batches > PP_RANK_BATCHES ||
            (row->world_size > 0 && row->n_batches > (size_t)(PP_JOB_BATCHES / row->world_size)))
            out->rows[0].n_batches = 0;
        out->n_rows = 1;
        own_texts(out, &out->rows[0]);
        slices_fit(out, &out->rows[0], 0, 0, 1);
        slices_make(out, steps, n);
    }
    if (!out->rows || !out->steps || !out->hists || pp_arena_failed(&out->arena))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the steps of rank %lld", (long long)row->rank);
    for (size_t i = 0; i < n; i++) {
        const struct pp_rank_own_step *s = &steps[i];
        if (out->n_steps && s->number <= out->steps[out->n_steps - 1].number)
            continue; /* a number that comes again is another loader's */
        out->steps[out->n_steps++] = (struct pp_rank_step){
            .number = s->number,
            .ranks = 1,
            .own = {.sum_ns = s->own_ns, .max_ns = s->own_ns, .rank = row->rank},
            .input = {.sum_ns = s->input_ns, .max_ns = s->input_ns, .rank = row->rank},
            .end_utc_ns = s->end_utc_ns};
        pp_hist_add(&out->hists[PP_DIGEST_OWN], s->own_ns);
        pp_hist_add(&out->hists[PP_DIGEST_INPUT], s->input_ns);
    }
    return PP_OK;
}

void pp_digest_free(struct pp_digest *d)
{
    free(d->rows);
    free(d->steps);
    free(d->hists);
    pp_arena_free(&d->arena);
    *d = (struct pp_digest){0};
}

/* ---- whether two can be of one job ---- */

static const char *name_of(const struct pp_rank_row *r)
{
    return r->via ? r->via : r->file ? r->file : "a digest";
}

/* What is not known contradicts nothing. */
static pp_status check_pair(const struct pp_rank_row *a, const struct pp_rank_row *b, struct pp_err *err)
{
    if (a->job && b->job && strcmp(a->job, b->job) != 0)
        return pp_fail(err, PP_E_USAGE, "%s is of job %s and %s of job %s; name the recordings of one job",
                       name_of(a), a->job, name_of(b), b->job);
    if (a->attempt >= 0 && b->attempt >= 0 && a->attempt != b->attempt)
        return pp_fail(err, PP_E_USAGE,
                       "%s is of attempt %lld of the job and %s of attempt %lld, which may number the ranks "
                       "otherwise; name the recordings of one attempt",
                       name_of(a), (long long)a->attempt, name_of(b), (long long)b->attempt);
    if (a->world_size >= 0 && b->world_size >= 0 && a->world_size != b->world_size)
        return pp_fail(err, PP_E_USAGE,
                       "%s is of a job of %lld ranks and %s of one of %lld; name the recordings of one job",
                       name_of(a), (long long)a->world_size, name_of(b), (long long)b->world_size);
    if (a->rank == b->rank)
        return pp_fail(err, PP_E_USAGE, "%s and %s are both of rank %lld; leave out one of the two",
                       name_of(a), name_of(b), (long long)a->rank);
    return PP_OK;
}

/* Every row of a merged digest agrees with every other of its rows in what it knows, so the first that knows
 * stands for all. */
static struct pp_rank_row known_of(const struct pp_digest *d)
{
    struct pp_rank_row known = {.rank = -1, .world_size = -1, .attempt = -1};
    for (size_t i = 0; i < d->n_rows; i++) {
        const struct pp_rank_row *r = &d->rows[i];
        known.file = known.file ? known.file : r->file;
        known.via = i ? known.via : r->via;
        known.job = known.job ? known.job : r->job;
        known.attempt = known.attempt >= 0 ? known.attempt : r->attempt;
        known.world_size = known.world_size >= 0 ? known.world_size : r->world_size;
    }
    return known;
}

/* ---- merging: two rising lists become one ---- */

static struct pp_rank_top merge_top(const struct pp_rank_top *a, const struct pp_rank_top *b)
{
    const struct pp_rank_top *high = a->max_ns > b->max_ns || (a->max_ns == b->max_ns && a->rank < b->rank)
                                         ? a
                                         : b,
                             *low = high == a ? b : a;
    return (struct pp_rank_top){.sum_ns = a->sum_ns + b->sum_ns,
                                .max_ns = high->max_ns,
                                .second_ns = low->max_ns > high->second_ns ? low->max_ns : high->second_ns,
                                .rank = high->rank};
}

static size_t merge_steps(struct pp_rank_step *out, const struct pp_digest *a, const struct pp_digest *b)
{
    size_t n = 0, i = 0, k = 0;
    while (i < a->n_steps || k < b->n_steps) {
        const struct pp_rank_step *x = i < a->n_steps ? &a->steps[i] : NULL,
                                  *y = k < b->n_steps ? &b->steps[k] : NULL;
        int both = x && y && x->number == y->number, first = x && (!y || x->number <= y->number);
        out[n] = first ? *x : *y;
        if (both)
            out[n] = (struct pp_rank_step){.number = x->number,
                                           .ranks = x->ranks + y->ranks,
                                           .own = merge_top(&x->own, &y->own),
                                           .input = merge_top(&x->input, &y->input),
                                           .end_utc_ns = (!x->end_utc_ns || (y->end_utc_ns &&
                                                                             y->end_utc_ns < x->end_utc_ns)
                                                              ? y->end_utc_ns
                                                              : x->end_utc_ns)};
        n++;
        i += (size_t)first;
        k += (size_t)(both || !first);
    }
    return n;
}

pp_status pp_digest_merge(struct pp_digest *into, const struct pp_digest *from, struct pp_err *err)
{
    size_t n_rows = into->n_rows + from->n_rows, n_steps = into->n_steps + from->n_steps;
    for (size_t i = 0, k = 0; i < into->n_steps && k < from->n_steps;) {
        uint32_t x = into->steps[i].number, y = from->steps[k].number;
        n_steps -= x == y; /* of both */
        i += x <= y;
        k += y <= x;
    }
    struct pp_rank_row known = known_of(into), others = known_of(from);
    others.rank = -2; /* ranks are compared below */
    pp_status st = into->n_rows && from->n_rows ? check_pair(&known, &others, err) : PP_OK;
    for (size_t i = 0, k = 0; st == PP_OK && i < into->n_rows && k < from->n_rows;) {
        if (into->rows[i].rank == from->rows[k].rank)
            st = check_pair(&into->rows[i], &from->rows[k], err);
        else if (into->rows[i].rank < from->rows[k].rank)
            i++;
        else
            k++;
    }
    if (st != PP_OK)
        return st;
    struct pp_rank_row *rows = malloc((n_rows ? n_rows : 1) * sizeof(*rows));
    struct pp_rank_step *steps = malloc((n_steps ? n_steps : 1) * sizeof(*steps));
    if (!into->hists)
        into->hists = new_hists();
    if (!rows || !steps || !into->hists) {
        free(rows);
        free(steps);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu ranks", n_rows);
    }
    /* The texts and slices of b's rows become a's: b takes its own away with it. Slices get one length. */
    unsigned before = into->slice_log2_s, after = before > from->slice_log2_s ? before : from->slice_log2_s;
    for (size_t n = 0, i = 0, k = 0; n < into->n_rows + from->n_rows; n++) {
        int first = k == from->n_rows || (i < into->n_rows && into->rows[i].rank < from->rows[k].rank);
        rows[n] = first ? into->rows[i++] : from->rows[k++];
        if (!first)
            own_texts(into, &rows[n]);
        slices_fit(into, &rows[n], first ? before : from->slice_log2_s, after, !first);
    }
    into->slice_log2_s = after;
    n_steps = merge_steps(steps, into, from);
    for (size_t h = 0; h < PP_DIGEST_HISTS && from->hists; h++)
        pp_hist_merge(&into->hists[h], &from->hists[h]);
    free(into->rows);
    free(into->steps);
    into->rows = rows;
    into->n_rows = n_rows;
    into->steps = steps;
    into->n_steps = n_steps;
    return pp_arena_failed(&into->arena) ? pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu ranks", n_rows)
                                         : PP_OK;
}

static pp_status merge_last_two(struct pp_digest_pile *p, struct pp_err *err)
{
    pp_status st = pp_digest_merge(&p->part[p->n - 2], &p->part[p->n - 1], err);
    pp_digest_free(&p->part[p->n - 1]);
    p->n--;
    p->files[p->n - 1] += p->files[p->n];
    return st;
}

pp_status pp_pile_add(struct pp_digest_pile *p, const struct pp_digest *one, struct pp_err *err)
{
    pp_status st = PP_OK;
    p->part[p->n] = *one;
    p->files[p->n] = 1;
    p->n++;
    while (st == PP_OK && p->n > 1 && p->files[p->n - 1] == p->files[p->n - 2])
        st = merge_last_two(p, err);
    return st;
}

pp_status pp_pile_end(struct pp_digest_pile *p, struct pp_digest *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    while (st == PP_OK && p->n > 1)
        st = merge_last_two(p, err);
    *out = (struct pp_digest){0};
    if (st == PP_OK && p->n) {
        *out = p->part[0];
        p->n = 0;
    }
    pp_pile_free(p);
    return st;
}

void pp_pile_free(struct pp_digest_pile *p)
{
    for (int i = 0; i < p->n; i++)
        pp_digest_free(&p->part[i]);
    p->n = 0;
}
