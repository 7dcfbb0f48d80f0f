#include "report/source/source.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

enum {
    MOST_ROWS = 1 << 19, /* twice what a recorder keeps */
    PLACES = 4096        /* as many as the reader tells apart */
};

struct pp_kept_requests {
    struct pp_request_row *row; /* of [first, n), without the texts of their places */
    size_t first, n, room;
    char *address[PLACES], *prefix[PLACES]; /* NULL: not known */
    uint64_t read;
    int too_many; /* this file is read each time */
    int no_memory;
};

struct pp_kept_requests *pp_kept_requests_new(void)
{
    return calloc(1, sizeof(struct pp_kept_requests));
}

static void forget(struct pp_kept_requests *k)
{
    for (size_t i = 0; i < PLACES; i++) {
        free(k->address[i]);
        free(k->prefix[i]);
    }
    free(k->row);
    uint64_t read = k->read;
    memset(k, 0, sizeof(*k));
    k->read = read;
}

void pp_kept_requests_free(struct pp_kept_requests *k)
{
    if (k)
        forget(k);
    free(k);
}

uint64_t pp_kept_requests_read(const struct pp_kept_requests *k)
{
    return k->read;
}

/* ---- what came since ---- */

struct update {
    struct pp_kept_requests *k;
    const struct pp_request_row *newest; /* that was kept; it comes first, or the file is another one */
    int met, other;
};

static void on_row(void *ctx, const struct pp_request_row *r)
{
    struct update *u = ctx;
    struct pp_kept_requests *k = u->k;
    k->read++;
    if (u->newest && !u->met) {
        u->met = 1;
        const struct pp_request_row *a = u->newest;
        u->other = !(a->id == r->id && a->start_ns == r->start_ns && a->first_byte_ns == r->first_byte_ns &&
                     a->transfer_ns == r->transfer_ns && a->cpu_ns == r->cpu_ns && a->bytes == r->bytes &&
                     a->sample == r->sample && a->status == r->status && a->place == r->place);
        return;
    }
    if (u->other || k->no_memory || k->too_many)
        return;
    k->too_many = k->n - k->first >= MOST_ROWS;
    if (!k->too_many && k->n >= k->room && k->first > k->n / 2) { /* what was removed makes room first */
        memmove(k->row, k->row + k->first, (k->n - k->first) * sizeof(*k->row));
        k->n -= k->first;
        k->first = 0;
    }
    k->no_memory = !k->too_many && !pp_grow(&k->row, &k->room, k->n + 1, sizeof(*k->row));
    if (k->no_memory || k->too_many)
        return;
    for (int i = 0; r->place < PLACES && i < 2 && !k->no_memory; i++) {
        /* A place's texts never change, and stand in the file before its first request. */
        const char *text = i ? r->prefix : r->address;
        char **to = i ? &k->prefix[r->place] : &k->address[r->place];
        if (text && !*to)
            k->no_memory = !(*to = strdup(text));
    }
    k->row[k->n] = *r;
    k->row[k->n].address = k->row[k->n].prefix = NULL;
    k->n++;
}

pp_status pp_kept_requests_each(struct pp_kept_requests *k, struct pp_reader *r, pp_request_fn *fn, void *ctx,
                                struct pp_err *err)
{
    pp_status st = PP_OK;
    if (!k || k->too_many)
        return pp_reader_each_request(r, NULL, fn, ctx, err);
    int again = k->first == k->n;
    if (!again) {
        const struct pp_request_row newest = k->row[k->n - 1]; /* the array may move */
        struct update u = {.k = k, .newest = &newest};
        st = pp_reader_each_request(r, &(struct pp_request_wanted){.from_id = newest.id}, on_row, &u, err);
        again = st == PP_OK && (!u.met || u.other);
    }
    if (again) {
        struct update u = {.k = k};
        forget(k);
        st = pp_reader_each_request(r, NULL, on_row, &u, err);
    }
    uint64_t oldest;
    if (st == PP_OK)
        st = pp_reader_first_request(r, &oldest, err);
    while (st == PP_OK && k->first < k->n && (int64_t)k->row[k->first].id < (int64_t)oldest)
        k->first++;
    if (st == PP_OK && k->no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu requests", k->n);
    int too_many = k->too_many;
    if (st != PP_OK || too_many) {
        forget(k);
        k->too_many = too_many;
    }
    if (st == PP_OK && too_many)
        return pp_reader_each_request(r, NULL, fn, ctx, err);
    for (size_t i = k->first; st == PP_OK && i < k->n; i++) {
        struct pp_request_row row = k->row[i];
        if (row.place < PLACES) {
            row.address = k->address[row.place];
            row.prefix = k->prefix[row.place];
        }
        fn(ctx, &row);
    }
    return st;
}
