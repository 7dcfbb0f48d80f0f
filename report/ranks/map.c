/* The map of ranks and time, from the slices and epochs of the digest. */
#include "report/ranks/judge.h"

#include "probe/base/array.h"

/* A rank's place in the map. */
struct place {
    size_t row;   /* in the digest */
    double share; /* wait for data of its step time */
};

/* ---- groups ---- */

static int by_host(const void *a, const void *b, void *ctx)
{
    const struct pp_rank_row *rows = ctx;
    const struct place *x = a, *y = b;
    int order = strcmp(rows[x->row].host, rows[y->row].host);
    return order ? order : PP_COMPARE(x->row, y->row);
}

/* ---- order: the worst group first ---- */

struct group {
    size_t first, n; /* places */
    double share;    /* of its worst rank */
    size_t worst;    /* row */
};

static int by_worst(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->share != y->share ? PP_COMPARE(y->share, x->share) : PP_COMPARE(x->first, y->first);
}

/* ---- cells ---- */

struct axis {
    uint32_t first, per; /* slices; per column */
};

/* A slice's number on the first rank's clock. */
static uint32_t number_of(const struct judge *j, size_t row, const struct pp_rank_slice *s)
{
    double slice_ns = 1e9 * (double)(UINT64_C(1) << j->d->slice_log2_s),
           number = (double)s->number + round((double)j->ahead_ns[row] / slice_ns);
    return number <= 0 ? 0 : number >= UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)number;
}

static void add_slices(const struct judge *j, double *cells, size_t row, struct axis x)
{
    const struct pp_rank_row *r = &j->d->rows[row];
    uint64_t wait = 0, all = 0;
    for (size_t i = 0; i < r->n_slices; i++) {
        uint32_t column = (number_of(j, row, &r->slices[i]) - x.first) / x.per;
        int last = i + 1 == r->n_slices || (number_of(j, row, &r->slices[i + 1]) - x.first) / x.per != column;
        wait += r->slices[i].wait_ns;
        all += r->slices[i].all_ns;
        if (!last)
            continue;
        if (all)
            cells[column] = fmax(cells[column], (double)wait / (double)all); /* of NAN, the other one */
        wait = all = 0;
    }
}

/* The epochs that the map shows: the first ones of all ranks. */
static void choose_epochs(struct judge *j)
{
    struct pp_ranks_map *m = &j->r->map;
    uint32_t shown[PP_RANKS_MAP_EPOCHS];
    size_t n = 0;
    for (int64_t after = -1; n < PP_RANKS_MAP_EPOCHS; n++) {
        int64_t next = INT64_MAX;
        for (size_t i = 0; i < j->d->n_rows; i++)
            for (size_t k = 0; k < j->d->rows[i].n_epochs; k++)
                if (j->d->rows[i].epochs[k].epoch > after && j->d->rows[i].epochs[k].epoch < next)
                    next = j->d->rows[i].epochs[k].epoch;
        if (next == INT64_MAX)
            break;
        shown[n] = (uint32_t)next;
        after = next;
    }
    m->epoch = pp_arena_alloc(&j->r->arena, (n + 1) * sizeof(*m->epoch));
    m->n_epochs = m->epoch ? n : 0;
    for (size_t i = 0; i < m->n_epochs; i++)
        m->epoch[i] = shown[i];
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const struct pp_rank_row *r = &j->d->rows[i];
        uint64_t more = 0;
        for (size_t k = 0; k < r->n_epochs; k++)
            more += n && r->epochs[k].epoch > shown[n - 1];
        m->epochs_left_out = more > m->epochs_left_out ? more : m->epochs_left_out;
    }
}

static double *empty_cells(struct judge *j, size_t n)
{
    double *cells = pp_arena_alloc(&j->r->arena, (n + 1) * sizeof(*cells));
    for (size_t i = 0; cells && i < n; i++)
        cells[i] = NAN;
    return cells;
}

static void fill(struct judge *j, const struct place *place, const struct group *groups, size_t n_groups)
{
    struct pp_ranks_map *m = &j->r->map;
    const struct pp_digest *d = j->d;
    uint32_t first = UINT32_MAX, last = 0;
    for (size_t k = 0; k < d->n_rows; k++)
        if (d->rows[k].n_slices) {
            uint32_t low = number_of(j, k, &d->rows[k].slices[0]),
                     high = number_of(j, k, &d->rows[k].slices[d->rows[k].n_slices - 1]);
            first = low < first ? low : first;
            last = high > last ? high : last;
        }
    uint64_t range = first <= last ? (uint64_t)last - first + 1 : 0;
    struct axis x = {first, (uint32_t)((range + PP_RANKS_MAP_COLUMNS - 1) / PP_RANKS_MAP_COLUMNS)};
    m->n_columns = x.per ? (size_t)((range + x.per - 1) / x.per) : 0;
    m->column_s = (double)x.per * (double)(UINT64_C(1) << d->slice_log2_s);
    size_t whole = n_groups > PP_RANKS_MAP_ROWS ? PP_RANKS_MAP_ROWS - 1 : n_groups;
    m->n_groups = n_groups > PP_RANKS_MAP_ROWS ? PP_RANKS_MAP_ROWS : n_groups;
    choose_epochs(j);
    m->groups = pp_arena_alloc(&j->r->arena, (m->n_groups + 1) * sizeof(*m->groups));
    m->wait_share = empty_cells(j, m->n_groups * m->n_columns);
    m->ready_s = empty_cells(j, m->n_groups * m->n_epochs);
    if (!m->groups || !m->wait_share || !m->ready_s)
        return;
    for (size_t g = 0; g < n_groups; g++) {
        size_t at = g < whole ? g : whole;
        struct pp_ranks_group *out = &m->groups[at];
        if (g <= whole) { /* the first of those that share the last row is the worst of them */
            struct pp_arena *a = &j->r->arena;
            const struct pp_rank_row *from = &d->rows[place[groups[g].first].row],
                                     *to = &d->rows[place[groups[g].first + groups[g].n - 1].row];
            out->label = g == whole   ? pp_arena_printf(a, "%zu others", n_groups - whole)
                         : m->by_host ? pp_arena_copy(a, from->host)
                         : from->rank == to->rank
                             ? pp_arena_printf(a, "rank %lld", (long long)from->rank)
                             : pp_arena_printf(a, "ranks %lld-%lld", (long long)from->rank,
                                               (long long)to->rank);
            out->worst_rank = (double)j->d->rows[groups[g].worst].rank;
            out->wait_share = groups[g].share;
        }
        out->n_ranks += groups[g].n;
        for (size_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
            const struct pp_rank_row *r = &j->d->rows[place[i].row];
            add_slices(j, &m->wait_share[at * m->n_columns], place[i].row, x);
            for (size_t e = 0; e < r->n_epochs; e++)
                for (size_t k = 0; k < m->n_epochs; k++)
                    if (m->epoch[k] == r->epochs[e].epoch) {
                        double *cell = &m->ready_s[at * m->n_epochs + k];
                        *cell = fmax(*cell, (double)r->epochs[e].ready_ns / 1e9);
                    }
        }
    }
}

int judge_map(struct judge *j)
{
    const struct pp_digest *d = j->d;
    size_t n = d->n_rows, n_groups = 0;
    struct place *place = calloc(n + 1, sizeof(*place));
    struct group *groups = calloc(n + 1, sizeof(*groups));
    if (place && groups) {
        /* Whether machines are fewer than ranks, and all are known. */
        size_t hosts = 0, others = 0;
        for (size_t i = 0; i < n; i++) {
            hosts += d->rows[i].host != NULL;
            others += hosts == i + 1 && strcmp(d->rows[i].host, d->rows[0].host) != 0;
        }
        j->r->map.by_host = n > PP_RANKS_MAP_ROWS && hosts == n && others > 0;
        for (size_t i = 0; i < n; i++) {
            const struct pp_rank_row *r = &d->rows[i];
            double input = (double)(r->wait_ns + r->sync_ns),
                   all = input + (double)(r->step_ns + r->collective_ns);
            place[i] = (struct place){.row = i, .share = all > 0 ? input / all : 0};
        }
        if (j->r->map.by_host)
            qsort_r(place, n, sizeof(*place), by_host, d->rows);
        size_t each = n > PP_RANKS_MAP_ROWS ? (n + PP_RANKS_MAP_ROWS - 1) / PP_RANKS_MAP_ROWS : 1;
        for (size_t i = 0; i < n; i++) {
            int begins = j->r->map.by_host
                             ? !i || strcmp(d->rows[place[i].row].host, d->rows[place[i - 1].row].host) != 0
                             : i % each == 0;
            if (begins)
                groups[n_groups++] = (struct group){.first = i, .share = -1};
            struct group *g = &groups[n_groups - 1];
            g->n++;
            if (place[i].share > g->share) {
                g->share = place[i].share;
                g->worst = place[i].row;
            }
        }
        qsort(groups, n_groups, sizeof(*groups), by_worst);
        fill(j, place, groups, n_groups);
    }
    int done = place && groups && !pp_arena_failed(&j->r->arena);
    free(place);
    free(groups);
    return done;
}
