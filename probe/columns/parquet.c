/* Parquet files: the footer is read at open; which pages a column chunk has is found out when a row of it is
 * first wanted (from its OffsetIndex, else from the header of each page), and a page is read and decoded as a
 * whole. A page of a list without either that index or headers of version 2 has to be decoded to know its
 * rows. */
#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/clock.h"
#include "probe/columns/parquet_page.h"

enum {
    HEAD_BLOCK = 16 << 10,  /* read to find the header of a page */
    LARGEST_HEAD = 16 << 20 /* its statistics hold values of the column */
};
#define DICTIONARY UINT32_MAX /* as the number of a page */

struct page_place {
    uint64_t at, first_row; /* of the group */
    uint32_t bytes;         /* header included */
    uint32_t lead;          /* entries that continue the last row of the page before */
};

/* The pages of a chunk; behind the last one a row that ends it. */
struct page_list {
    size_t n;
    struct page_place page[];
};

struct parquet {
    struct pp_table t;
    struct pp_parquet_meta meta;
    uint8_t *footer; /* between open and use */
    size_t footer_size;
    _Atomic(struct page_list *) *list; /* beside meta.chunk; NULL: not known yet */
};

/* One column of one row group. */
struct place {
    struct parquet *p;
    size_t group;
    uint32_t id; /* of the chunk */
    const struct pp_column *column;
    const struct pp_parquet_leaf *leaf;
    struct pp_parquet_chunk *chunk;
    const struct pp_read_context *context;
    struct pp_value *cost; /* what reads are counted in */
};

static pp_status fail_page(const struct place *at, pp_status st, uint64_t offset, const char *why,
                           struct pp_err *err)
{
    return pp_fail(err, st, "%s%s: the page at byte %llu of column %s %s", at->p->t.place.path,
                   st == PP_E_CORRUPT ? " is damaged" : "", (unsigned long long)offset, at->column->name,
                   why);
}

/* Bytes of the file, counted at at->cost. */
static pp_status read_bytes(const struct place *at, struct pp_read *r, struct pp_err *err)
{
    const struct pp_table_place *file = &at->p->t.place;
    pp_status st = pp_table_read(file, r, err);
    if (st == PP_OK && r->got < r->size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends at byte %llu within its data", file->path,
                     (unsigned long long)(r->offset + r->got));
    if (st == PP_OK && at->cost) {
        at->cost->cache_known = r->cache_known;
        at->cost->read_bytes += r->got;
        at->cost->hit_bytes += r->cache_hit_bytes;
    }
    return st;
}

/* ---- reading ---- */

/* A page with its header, in memory of malloc. */
static pp_status read_page(const struct place *at, const struct page_place *page, uint8_t **buf,
                           struct pp_parquet_page_head *head, struct pp_err *err)
{
    if (page->bytes > PP_PARQUET_BODY + LARGEST_HEAD)
        return fail_page(at, PP_E_UNSUPPORTED, page->at,
                         "is larger than 512 MiB, which is the most that is read", err);
    *buf = malloc((size_t)page->bytes + 1);
    if (!*buf)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a page of %u bytes of %s", page->bytes,
                       at->p->t.place.path);
    struct pp_read r = {.part = at->column->name,
                        .offset = page->at,
                        .size = page->bytes,
                        .context = at->context,
                        .buf = *buf,
                        .cap = page->bytes};
    pp_status st = read_bytes(at, &r, err);
    if (st == PP_OK &&
        (pp_parquet_page_head(*buf, page->bytes, head) != 1 || head->packed > page->bytes - head->head))
        st = fail_page(at, PP_E_CORRUPT, page->at, "has no header that fits it", err);
    return st;
}

/* ---- the dictionary ---- */

/* The bytes of a header whose length is not known: more are read as long as it may go on. */
static pp_status read_head(const struct place *at, uint64_t offset, struct pp_parquet_page_head *head,
                           struct pp_err *err)
{
    pp_status st = PP_OK;
    int found = 0;
    for (size_t size = HEAD_BLOCK; st == PP_OK && !found; size *= 8) {
        uint64_t left = at->chunk->end - offset;
        size_t now = left < size ? (size_t)left : size;
        uint8_t *buf = malloc(now + 1);
        struct pp_read r = {.part = at->column->name, .offset = offset, .size = now, .buf = buf, .cap = now};
        if (!buf)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", at->p->t.place.path);
        st = read_bytes(at, &r, err);
        found = st == PP_OK ? pp_parquet_page_head(r.data, r.got, head) : 0;
        free(buf);
        if (st == PP_OK && (found < 0 || (found == 0 && (now == left || size >= LARGEST_HEAD))))
            st = fail_page(at, PP_E_CORRUPT, offset, "has no header", err);
    }
    if (st == PP_OK && head->packed > at->chunk->end - offset - head->head)
        st = fail_page(at, PP_E_CORRUPT, offset, "is longer than its column", err);
    if (st == PP_OK && head->packed > PP_PARQUET_BODY)
        st = fail_page(at, PP_E_UNSUPPORTED, offset, "is larger than 512 MiB, which is the most that is read",
                       err);
    return st;
}

static pp_status make_dictionary(void *ctx, struct pp_page **out, struct pp_err *err)
{
    struct place at = *(const struct place *)ctx;
    struct pp_parquet_page_head head = {0};
    struct pp_parquet_dictionary *d = NULL;
    uint64_t began_ns = pp_now_ns();
    uint8_t *buf = NULL;
    const char *why = NULL;
    at.context = NULL;
    pp_status st = read_head(&at, at.chunk->dictionary_at, &head, err);
    struct page_place page = {.at = at.chunk->dictionary_at, .bytes = (uint32_t)(head.head + head.packed)};
    if (st == PP_OK && head.type != PP_PARQUET_DICTIONARY)
        st = fail_page(&at, PP_E_CORRUPT, page.at, "is no dictionary", err);
    if (st == PP_OK)
        st = read_page(&at, &page, &buf, &head, err);
    if (st == PP_OK) {
        struct pp_parquet_body body = {.column = at.column,
                                       .leaf = at.leaf,
                                       .codec = at.chunk->codec,
                                       .head = &head,
                                       .packed = buf + head.head};
        why = pp_parquet_dictionary_decode(&body, &d, &st);
    }
    if (why)
        fail_page(&at, st, page.at, why, err);
    free(buf);
    if (st != PP_OK)
        return st;
    pp_pages_count_decoded(d->bytes, began_ns);
    *out = &d->base;
    return PP_OK;
}

/* ---- pages ---- */

struct wanted_page {
    struct place at;
    struct page_place page;
};

static pp_status make_page(void *ctx, struct pp_page **out, struct pp_err *err)
{
    const struct wanted_page *want = ctx;
    const struct place *at = &want->at;
    struct pp_pages *pages = at->p->t.place.pages;
    const struct pp_page_key key = {.table = at->p, .chunk = at->id, .page = DICTIONARY};
    struct pp_page *dictionary = NULL;
    struct pp_parquet_page *page = NULL;
    struct pp_parquet_page_head head;
    uint8_t *buf = NULL;
    const char *why = NULL;
    pp_status st = PP_OK;
    *out = NULL;
    if (at->chunk->dictionary_at)
        st = pp_pages_get(pages, &key, make_dictionary, (void *)at, &dictionary, err);
    if (st != PP_OK)
        return st;
    uint64_t began_ns = pp_now_ns();
    st = read_page(at, &want->page, &buf, &head, err);
    if (st == PP_OK && head.type != PP_PARQUET_DATA && head.type != PP_PARQUET_DATA_2)
        st = fail_page(at, PP_E_CORRUPT, want->page.at, "holds no values", err);
    if (st == PP_OK) {
        struct pp_parquet_body body = {.column = at->column,
                                       .leaf = at->leaf,
                                       .codec = at->chunk->codec,
                                       .head = &head,
                                       .packed = buf + head.head,
                                       .dictionary = (struct pp_parquet_dictionary *)dictionary};
        why = pp_parquet_page_decode(&body, &page, &st);
    }
    if (why)
        fail_page(at, st, want->page.at, why, err);
    if (st == PP_OK)
        pp_pages_count_decoded(head.unpacked, began_ns);
    free(buf);
    pp_pages_put(pages, dictionary);
    *out = page ? &page->base : NULL;
    return st;
}

static pp_status get_page(const struct place *at, const struct page_list *list, size_t number,
                          struct pp_parquet_page **out, struct pp_err *err)
{
    struct wanted_page want = {.at = *at, .page = list->page[number]};
    const struct pp_page_key key = {.table = at->p, .chunk = at->id, .page = (uint32_t)number};
    struct pp_page *page = NULL;
    pp_status st = pp_pages_get(at->p->t.place.pages, &key, make_page, &want, &page, err);
    *out = (struct pp_parquet_page *)page;
    if (st == PP_OK && (*out)->rows != list->page[number + 1].first_row - list->page[number].first_row) {
        pp_pages_put(at->p->t.place.pages, page);
        *out = NULL;
        st = fail_page(at, PP_E_CORRUPT, want.page.at,
                       "holds another number of rows than the index of pages says", err);
    }
    return st;
}

/* ---- which pages there are ---- */

static pp_status add_place(struct page_list **list, size_t *cap, const struct page_place *page,
                           struct pp_err *err)
{
    size_t n = *list ? (*list)->n : 0; /* and room for the one behind the last */
    if (!pp_grow(list, cap, sizeof(**list) + (n + 2) * sizeof((*list)->page[0]), 1))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of pages");
    (*list)->page[n] = *page;
    (*list)->n = n + 1;
    return PP_OK;
}

static pp_status list_by_index(const struct place *at, struct page_list **out, struct pp_err *err)
{
    struct pp_parquet_location *l = NULL;
    size_t n = 0, cap = 0;
    uint64_t rows = at->p->meta.group[at->group].rows;
    uint8_t *buf = malloc((size_t)at->chunk->index_bytes + 1);
    struct pp_read r = {.part = at->column->name,
                        .offset = at->chunk->index_at,
                        .size = at->chunk->index_bytes,
                        .buf = buf,
                        .cap = at->chunk->index_bytes};
    if (!buf)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of pages");
    pp_status st = read_bytes(at, &r, err);
    if (st == PP_OK && pp_parquet_locations(r.data, r.got, &l, &n) != 0)
        st = fail_page(at, PP_E_CORRUPT, at->chunk->index_at, "is no index of pages", err);
    for (size_t i = 0; i < n && st == PP_OK; i++) {
        if (l[i].at < at->chunk->begin || l[i].at >= at->chunk->end ||
            l[i].bytes > at->chunk->end - l[i].at ||
            (i == 0 ? l[i].first_row != 0 : l[i].first_row < l[i - 1].first_row) || l[i].first_row > rows)
            st = fail_page(at, PP_E_CORRUPT, at->chunk->index_at, "is an index of pages that do not exist",
                           err);
        else
            st = add_place(
                out, &cap,
                &(struct page_place){.at = l[i].at, .first_row = l[i].first_row, .bytes = l[i].bytes}, err);
    }
    free(l);
    free(buf);
    return st;
}

static pp_status list_by_headers(const struct place *at, struct page_list **out, struct pp_err *err)
{
    size_t cap = 0;
    uint64_t row = 0, total = at->p->meta.group[at->group].rows, offset = at->chunk->data_at;
    pp_status st = PP_OK;
    for (int pages = 0;
         st == PP_OK && offset < at->chunk->end && row < total + (at->leaf->max_repetition != 0); pages++) {
        struct pp_parquet_page_head head;
        uint64_t rows = 0;
        st = read_head(at, offset, &head, err);
        if (st != PP_OK)
            break;
        struct page_place page = {.at = offset,
                                  .first_row = row,
                                  .bytes = (uint32_t)(head.head + head.packed)};
        offset += page.bytes;
        if (pages == PP_PARQUET_PAGES)
            st = fail_page(at, PP_E_UNSUPPORTED, page.at, "is one of more than 1,048,576 pages", err);
        if (head.type == PP_PARQUET_DICTIONARY && !at->chunk->dictionary_at)
            at->chunk->dictionary_at = page.at; /* of writers that do not say where it is */
        if (head.type != PP_PARQUET_DATA && head.type != PP_PARQUET_DATA_2)
            continue;
        if (!at->leaf->max_repetition) {
            rows = head.values;
        } else if (head.type == PP_PARQUET_DATA_2) {
            rows = head.rows;
        } else if (st == PP_OK) { /* how many rows begin in it is known once it is decoded */
            struct wanted_page want = {.at = *at, .page = page};
            struct pp_page *made = NULL;
            want.at.context = NULL;
            st = make_page(&want, &made, err);
            if (st != PP_OK)
                break;
            const struct pp_parquet_page *p = (const struct pp_parquet_page *)made;
            rows = p->rows;
            page.lead = p->start[0] + (uint32_t)p->lead_null;
            made->free(made);
        }
        if (st == PP_OK)
            st = add_place(out, &cap, &page, err);
        row += rows;
    }
    if (st == PP_OK && row != total)
        st = pp_fail(err, PP_E_CORRUPT,
                     "%s is damaged: column %s of row group %zu holds %llu rows instead of %llu",
                     at->p->t.place.path, at->column->name, at->group, (unsigned long long)row,
                     (unsigned long long)total);
    return st;
}

/* Made by the first thread that wants it, under the lock of the chunk's stripe. */
static pp_status get_list(const struct place *at, const struct page_list **out, struct pp_err *err)
{
    _Atomic(struct page_list *) *kept = &at->p->list[at->id];
    pthread_mutex_t *lock = &at->p->t.stripe[at->id % PP_TABLE_STRIPES];
    pp_status st = PP_OK;
    /* acquire: pairs with the release below, so that the list is whole */
    struct page_list *list = atomic_load_explicit(kept, memory_order_acquire);
    *out = list;
    if (list)
        return PP_OK;
    pthread_mutex_lock(lock);
    list = atomic_load_explicit(kept, memory_order_relaxed);
    if (!list) {
        st = at->chunk->index_at ? list_by_index(at, &list, err) : list_by_headers(at, &list, err);
        if (st == PP_OK && !list)
            st = pp_fail(err, PP_E_CORRUPT, "%s is damaged: column %s of row group %zu holds no page",
                         at->p->t.place.path, at->column->name, at->group);
        if (st == PP_OK) {
            list->page[list->n] = (struct page_place){.first_row = at->p->meta.group[at->group].rows};
            atomic_store_explicit(kept, list, memory_order_release);
        } else {
            free(list);
            list = NULL;
        }
    }
    pthread_mutex_unlock(lock);
    *out = list;
    return st;
}

/* ---- values ---- */

static pp_status fail_null(const struct place *at, struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "%s: a list of column %s holds a null", at->p->t.place.path,
                   at->column->name);
}

/* A list that goes on in the pages behind: its pieces in one memory. */
static pp_status gather(const struct place *at, const struct page_list *list, size_t number,
                        struct pp_value *out, struct pp_err *err)
{
    struct pp_pages *pages = at->p->t.place.pages;
    unsigned width = at->column->width;
    uint8_t *all = malloc((size_t)out->size + 1), *grown;
    size_t size = (size_t)out->size;
    pp_status st = all ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for a list of %s", at->p->t.place.path);
    if (all && size)
        memcpy(all, out->data, size);
    for (size_t i = number + 1; st == PP_OK && i < list->n && list->page[i].lead; i++) {
        struct pp_parquet_page *p;
        st = get_page(at, list, i, &p, err);
        if (st != PP_OK)
            break;
        size_t more = (size_t)p->start[0] * width;
        if (p->lead_null)
            st = fail_null(at, err);
        else if (size + more > PP_PARQUET_BODY)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s: a list of column %s has more than 512 MiB",
                         at->p->t.place.path, at->column->name);
        else if (!(grown = realloc(all, size + more + 1)))
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for a list of %s", at->p->t.place.path);
        else
            memcpy((all = grown) + size, p->number, more), size += more;
        int ends = p->rows > 0;
        pp_pages_put(pages, &p->base);
        if (ends)
            break;
    }
    pp_value_release(out);
    out->hold = all;
    out->data = all;
    out->size = size;
    return st;
}

static pp_status parquet_value(struct pp_table *t, uint64_t row, size_t column,
                               const struct pp_read_context *c, struct pp_value *out, struct pp_err *err)
{
    struct parquet *p = (struct parquet *)t;
    const struct pp_parquet_group *groups = p->meta.group;
    size_t group = pp_last_at(&groups->first, p->meta.groups, sizeof(*groups), row);
    size_t i = group * t->n_used + column;
    struct place at = {.p = p,
                       .group = group,
                       .id = (uint32_t)i,
                       .column = &t->column[t->used[column]],
                       .leaf = &p->meta.leaf[t->used[column]],
                       .chunk = &p->meta.chunk[i],
                       .cost = out};
    const struct page_list *list = NULL;
    struct pp_parquet_page *page = NULL;
    *out = (struct pp_value){.pages = t->place.pages};
    pp_status st = get_list(&at, &list, err);
    if (st != PP_OK)
        return st;
    row -= groups[group].first;
    size_t number = pp_last_at(&list->page->first_row, list->n, sizeof(list->page[0]), row);
    at.context = c;
    st = get_page(&at, list, number, &page, err);
    if (st != PP_OK)
        return st;
    out->page = &page->base;
    at.context = NULL;
    row -= list->page[number].first_row;
    unsigned width = at.column->width, flags = page->row && row < page->rows ? page->row[row] : 0;
    out->is_null = (flags & PP_PARQUET_ROW_NULL) != 0;
    if (row >= page->rows) {
        st = fail_page(&at, PP_E_CORRUPT, list->page[number].at, "does not hold the row that it should", err);
    } else if (page->span) {
        out->data = page->bytes + page->span[row].at;
        out->size = page->span[row].size;
    } else if (!page->start) {
        out->data = page->number + (size_t)row * width;
        out->size = width;
    } else if (flags & PP_PARQUET_ROW_HAS_NULL) {
        st = fail_null(&at, err);
    } else {
        out->data = page->number + (size_t)page->start[row] * width;
        out->size = (uint64_t)(page->start[row + 1] - page->start[row]) * width;
        if (row + 1 == page->rows && number + 1 < list->n && list->page[number + 1].lead)
            st = gather(&at, list, number, out, err);
    }
    if (st != PP_OK)
        pp_value_release(out);
    return st;
}

/* ---- open and close ---- */

static pp_status parquet_use(struct pp_table *t, struct pp_err *err)
{
    struct parquet *p = (struct parquet *)t;
    size_t chunks = p->meta.groups * t->n_used;
    pp_status st = pp_parquet_chunks(p->footer, p->footer_size, t, &p->meta, err);
    free(p->footer);
    p->footer = NULL;
    for (size_t i = 0; st == PP_OK && i < chunks; i++) {
        struct pp_err why;
        if (pp_codec_ready(p->meta.chunk[i].codec, &why) != PP_OK)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s cannot be read: %s", t->place.path, why.text);
    }
    if (st == PP_OK && !(p->list = calloc(chunks + 1, sizeof(*p->list))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the row groups of %s", t->place.path);
    return st;
}

static uint64_t parquet_footprint(const struct pp_table *t)
{
    const struct parquet *p = (struct parquet *)t;
    size_t chunks = p->meta.groups * t->n_used;
    uint64_t bytes = sizeof(*p) + p->footer_size * (p->footer != NULL) +
                     p->meta.groups * sizeof(*p->meta.group) +
                     chunks * (sizeof(*p->meta.chunk) + sizeof(*p->list));
    for (size_t i = 0; p->list && i < chunks; i++) {
        const struct page_list *list = atomic_load_explicit(&p->list[i], memory_order_acquire);
        bytes += list ? sizeof(*list) + (list->n + 1) * sizeof(list->page[0]) : 0;
    }
    return bytes;
}

static void parquet_close(struct pp_table *t)
{
    struct parquet *p = (struct parquet *)t;
    for (size_t i = 0; p->list && i < p->meta.groups * t->n_used; i++)
        free(atomic_load_explicit(&p->list[i], memory_order_relaxed));
    free(p->list);
    free(p->footer);
    free(p->meta.leaf);
    free(p->meta.group);
    free(p->meta.chunk);
}

static const struct pp_table_ops parquet_ops = {
    .use = parquet_use,
    .value = parquet_value,
    .footprint = parquet_footprint,
    .close = parquet_close,
};

pp_status pp_parquet_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err)
{
    struct parquet *p = pp_table_new(sizeof(*p), &parquet_ops, place, err);
    uint8_t tail[PP_PARQUET_TAIL];
    const struct place at = {.p = p};
    size_t size = 0;
    struct pp_read r = {.size = sizeof(tail), .buf = tail, .cap = sizeof(tail)};
    pp_status st = PP_OK;
    *out = NULL;
    if (!p)
        return PP_E_NO_MEMORY;
    if (place->size < PP_PARQUET_TAIL + 4)
        st = pp_fail(err, PP_E_CORRUPT, "%s has %llu bytes, too few for a Parquet file", place->path,
                     (unsigned long long)place->size);
    r.offset = place->size - sizeof(tail);
    if (st == PP_OK)
        st = read_bytes(&at, &r, err);
    if (st == PP_OK) {
        size = pp_le32(r.data);
        if (memcmp(r.data + 4, "PARE", 4) == 0)
            st = pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s is encrypted, which is not read: record your own loader with 'pipeprobe exec -- python "
                "train.py'",
                place->path);
        else if (memcmp(r.data + 4, "PAR1", 4) != 0)
            st = pp_fail(err, PP_E_CORRUPT, "%s is truncated, or no Parquet file: it does not end in PAR1",
                         place->path);
        else if (size == 0 || size > place->size - PP_PARQUET_TAIL || size > PP_PARQUET_FOOTER)
            st = pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer claims %zu of its %llu bytes",
                         place->path, size, (unsigned long long)place->size);
    }
    if (st == PP_OK && !(p->footer = malloc(size)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the footer of %s", place->path);
    r = (struct pp_read){.offset = r.offset - size, .size = size, .buf = p->footer, .cap = size};
    if (st == PP_OK)
        st = read_bytes(&at, &r, err);
    p->footer_size = size;
    if (st == PP_OK)
        st = pp_parquet_schema(p->footer, size, &p->t, &p->meta, err);
    if (st != PP_OK)
        pp_table_close(&p->t);
    else
        *out = &p->t;
    return st;
}
