/* What a recording says of itself: meta, threads, names. */
#include "collectors/store/reader_impl.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The threads, and the shorter lists before. */
struct reader_threads {
    struct reader_threads *smaller;
    size_t cap;
    struct pp_thread_row rows[];
};

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Strings handed out live as long as the reader: they are kept once each. */
static const char *keep(struct pp_reader *r, const char *text)
{
    char **known = text ? tfind(text, &r->kept, by_text) : NULL;
    if (!text || known)
        return known ? *known : NULL;
    char *copy = strdup(text);
    if (copy && !tsearch(copy, &r->kept, by_text)) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* Ends a query whose caller is told of no error: it is kept for the report. */
static void end_unsaid(struct query *q)
{
    query_end(q, q->r->unread.code ? NULL : &q->r->unread);
}

pp_status pp_reader_check(struct pp_reader *r, struct pp_err *err)
{
    struct query threads = reader_query(r, "SELECT id FROM thread");
    while (query_row(&threads)) {
    }
    pp_status status = query_end(&threads, err);
    struct query names = reader_query(r, "SELECT id FROM name");
    while (query_row(&names)) {
    }
    end_unsaid(&names);
    return status;
}

static struct query meta_query(struct pp_reader *r, const char *section, const char *key)
{
    struct query q = reader_query(r, "SELECT value FROM meta WHERE section = ? AND key = ?");
    sqlite3_bind_text(q.st, 1, section, -1, SQLITE_STATIC);
    sqlite3_bind_text(q.st, 2, key, -1, SQLITE_STATIC);
    return q;
}

const char *pp_reader_meta(struct pp_reader *r, const char *section, const char *key)
{
    struct query q = meta_query(r, section, key);
    const char *value = query_row(&q) ? keep(r, col_text(&q, 0)) : NULL;
    end_unsaid(&q);
    return value;
}

int pp_reader_meta_num(struct pp_reader *r, const char *section, const char *key, double *value)
{
    struct query q = meta_query(r, section, key);
    int there = query_row(&q) && col_is_number(&q, 0);
    if (there)
        *value = sqlite3_column_double(q.st, 0);
    end_unsaid(&q);
    return there;
}

pp_status pp_reader_each_meta(struct pp_reader *r, const char *section, pp_meta_fn *fn, void *ctx,
                              struct pp_err *err)
{
    struct query q = reader_query(r, "SELECT key, value, unit FROM meta WHERE section = ? ORDER BY rowid");
    sqlite3_bind_text(q.st, 1, section, -1, SQLITE_STATIC);
    while (query_row(&q)) {
        int numeric = col_is_number(&q, 1);
        const char *key = col_text(&q, 0), *value = col_text(&q, 1);
        fn(ctx, key, value, col_text_or_null(&q, 2), numeric);
    }
    return query_end(&q, err);
}

static pp_lane lane_of(const char *name)
{
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        if (strcmp(pp_lane_name((pp_lane)lane), name) == 0)
            return (pp_lane)lane;
    return PP_LANE_MAIN;
}

/* Room for twice as many. The list before stays where it is: a caller that asked for it may still read it. */
static int grow_threads(struct pp_reader *r)
{
    size_t cap = r->threads ? r->threads->cap * 2 : 16;
    struct reader_threads *grown = malloc(sizeof(*grown) + cap * sizeof(grown->rows[0]));
    if (!grown)
        return 0;
    *grown = (struct reader_threads){.smaller = r->threads, .cap = cap};
    if (r->threads)
        memcpy(grown->rows, r->threads->rows, r->threads->cap * sizeof(grown->rows[0]));
    r->threads = grown;
    return 1;
}

size_t pp_reader_threads(struct pp_reader *r, const struct pp_thread_row **rows)
{
    size_t n = 0;
    struct query q = reader_query(
        r, "SELECT id, lane, name, pid, tid, recorded, dropped FROM thread ORDER BY id");
    while (query_row(&q)) {
        if (!pp_thread_id_is_sound(col_num(&q, 0)))
            continue;
        if ((!r->threads || n == r->threads->cap) && !grow_threads(r))
            break;
        const char *name = keep(r, col_text(&q, 2));
        r->threads->rows[n++] = (struct pp_thread_row){
            .id = (uint32_t)col_num(&q, 0),
            .lane = lane_of(col_text(&q, 1)),
            .name = name ? name : "",
            .pid = (int64_t)col_num(&q, 3),
            .tid = (int64_t)col_num(&q, 4),
            .recorded = col_num(&q, 5),
            .dropped = col_num(&q, 6),
        };
    }
    end_unsaid(&q);
    *rows = r->threads ? r->threads->rows : NULL;
    return n;
}

const char *pp_reader_name(struct pp_reader *r, uint16_t id)
{
    struct query q = reader_query(r, "SELECT text FROM name WHERE id = ?");
    sqlite3_bind_int(q.st, 1, id);
    const char *name = query_row(&q) ? keep(r, col_text(&q, 0)) : NULL;
    end_unsaid(&q);
    return name;
}

void reader_free_kept(struct pp_reader *r)
{
    tdestroy(r->kept, free);
    r->kept = NULL;
    while (r->threads) {
        struct reader_threads *list = r->threads;
        r->threads = list->smaller;
        free(list);
    }
}
