/* Requests to remote storages, row by row. A long run has some hundred thousand: the texts of their places,
 * of which there are few, are read once, and not with every row. */
#include "collectors/store/reader_impl.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

/* A request takes a day at most: sums of its parts, and of all rows, stay whole. */
#define LONGEST_NS UINT64_C(86400000000000)

/* ---- places ---- */

enum { MOST_PLACES = 4096, LONGEST_TEXT = 255 }; /* numbers of a recorded run are below 1024 */

struct place {
    char *address, *prefix; /* NULL: not known */
};

static void free_places(struct place *places)
{
    for (size_t i = 0; places && i < MOST_PLACES; i++) {
        free(places[i].address);
        free(places[i].prefix);
    }
    free(places);
}

static pp_status read_places(struct pp_reader *r, struct place *places, struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT id, address, prefix FROM request_place");
    while (query_row(&q)) {
        uint64_t id = col_num(&q, 0);
        if (id >= MOST_PLACES || places[id].address)
            continue;
        places[id].address = strndup(col_text(&q, 1), LONGEST_TEXT);
        places[id].prefix = strndup(col_text(&q, 2), LONGEST_TEXT);
    }
    return query_end(&q, err);
}

/* ---- rows ---- */

static int take_request(const struct query *q, const struct place *places, struct pp_request_row *r)
{
    uint64_t *const parts[] = {&r->queue_ns,      &r->resolve_ns,  &r->connect_ns, &r->tls_ns,
                               &r->first_byte_ns, &r->transfer_ns, &r->cpu_ns};
    int sound = col_num(q, 0) <= INT64_MAX && col_num(q, 8) <= INT64_MAX;
    *r = (struct pp_request_row){.start_ns = col_num(q, 0),
                                 .bytes = col_num(q, 8),
                                 .status = (uint32_t)col_num(q, 9),
                                 .attempt = (uint32_t)col_num(q, 10),
                                 .epoch = col_id_or_none(q, 11),
                                 .sample = col_num_or(q, 12, PP_NO_SAMPLE),
                                 .flags = (uint32_t)col_num(q, 13),
                                 .place = (uint32_t)col_num_or(q, 14, 0),
                                 .id = col_num(q, 15)};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        *parts[i] = col_num(q, 1 + (int)i);
        sound &= *parts[i] <= LONGEST_NS;
    }
    if (r->place < MOST_PLACES) {
        r->address = places[r->place].address;
        r->prefix = places[r->place].prefix;
    }
    return sound;
}

#define COLUMNS \
    "start_ns, queue_ns, resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns, cpu_ns, bytes, status, attempt, epoch, sample, flags, place, id FROM request "
#define WANTED "WHERE start_ns >= ?1 AND start_ns < ?2 AND id >= ?3 "

static void bind_wanted(const struct query *q, const struct pp_request_wanted *wanted)
{
    uint64_t to = wanted && wanted->to_ns && wanted->to_ns < INT64_MAX ? wanted->to_ns : INT64_MAX;
    sqlite3_bind_int64(q->st, 1, wanted && wanted->from_ns < to ? (sqlite3_int64)wanted->from_ns : 0);
    sqlite3_bind_int64(q->st, 2, (sqlite3_int64)to);
    sqlite3_bind_int64(q->st, 3, wanted && wanted->from_id ? (sqlite3_int64)wanted->from_id : INT64_MIN);
}

struct call {
    const struct place *places;
    const struct pp_request_wanted *wanted;
    pp_request_fn *fn;
    void *ctx;
};

static pp_status as_they_ended(struct pp_reader *r, const struct call *c, struct pp_err *err)
{
    struct pp_request_row row;
    struct query q = reader_query(r, "SELECT " COLUMNS WANTED "ORDER BY id");
    bind_wanted(&q, c->wanted);
    while (query_row(&q))
        if (take_request(&q, c->places, &row))
            c->fn(c->ctx, &row);
    return query_end(&q, err);
}

/* Places are sorted, and rows fetched one by one: a sort of rows takes a disk that the file does not. */
static pp_status as_they_began(struct pp_reader *r, const struct call *c, struct pp_err *err)
{
    struct pp_request_row taken;
    struct query row = reader_query(r, "SELECT " COLUMNS "WHERE id = ?1"),
                 order = reader_query(r, "SELECT id FROM request " WANTED "ORDER BY start_ns, id");
    bind_wanted(&order, c->wanted);
    while (row.code == SQLITE_OK && query_row(&order)) {
        sqlite3_reset(row.st);
        row.code = sqlite3_bind_int64(row.st, 1, (sqlite3_int64)col_num(&order, 0));
        if (!query_row(&row))
            break;
        if (take_request(&row, c->places, &taken))
            c->fn(c->ctx, &taken);
        row.code = row.code == SQLITE_ROW ? SQLITE_OK : row.code;
    }
    row.code = row.code == SQLITE_OK ? SQLITE_DONE : row.code;
    pp_status status = query_end(&row, err), ordered = query_end(&order, status ? NULL : err);
    return status ? status : ordered;
}

pp_status pp_reader_each_request(struct pp_reader *r, const struct pp_request_wanted *wanted,
                                 pp_request_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!reader_has_table(r, "request_place", &status, err) || status) /* a file from before these tables */
        return status;
    struct place *places = calloc(MOST_PLACES, sizeof(*places));
    const struct call call = {places, wanted, fn, ctx};
    status = places ? read_places(r, places, err)
                    : pp_fail(err, PP_E_NO_MEMORY, "no memory for the places of requests");
    if (!status)
        status = wanted && wanted->by_start ? as_they_began(r, &call, err) : as_they_ended(r, &call, err);
    free_places(places);
    return status;
}

pp_status pp_reader_first_request(struct pp_reader *r, uint64_t *id, struct pp_err *err)
{
    pp_status status;
    *id = 0;
    if (!reader_has_table(r, "request", &status, err) || status)
        return status;
    struct query q = reader_query(r, "SELECT id FROM request ORDER BY id LIMIT 1");
    if (query_row(&q))
        *id = col_num(&q, 0);
    return query_end(&q, err);
}
