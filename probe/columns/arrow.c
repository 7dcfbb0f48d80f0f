/* Arrow IPC, the stream format (what Hugging Face's `datasets` saves) and the file format: at open the
 * messages are gone through for the rows of each record batch; where the buffers of a batch lie is looked up
 * when a row of it is first wanted. Nothing is decoded: a value is bytes of the file. */
#include "probe/base/array.h"
#include "probe/columns/arrow_meta.h"

#include <stdatomic.h>

enum {
    MOST_BATCHES = 1 << 20,
    HEAD = 8,          /* continuation, size of the metadata */
    ENDS_BLOCK = 4096, /* bytes read at a message: most metadata are shorter */
    FILE_HEAD = 8,     /* "ARROW1", padded */
    FILE_TAIL = 10,    /* i32 size of the footer, "ARROW1" */
    BLOCK = 24         /* of the footer: offset, size of the metadata, size of the body */
};
static const char magic[] = "ARROW1";

struct batch {
    uint64_t at, body_at, body; /* of the metadata and of the buffers, in the file */
    uint32_t metadata;          /* bytes */
    uint64_t first, rows;
    _Atomic(struct pp_arrow_place *) place; /* by used column; NULL: not looked up yet */
};

struct arrow {
    struct pp_table t;
    struct pp_arrow_schema schema;
    struct batch *batch;
    size_t batches, cap;
};

/* ---- reading ---- */

static pp_status fail_cut(const struct arrow *a, uint64_t at, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends at byte %llu within its data",
                   a->t.place.path, (unsigned long long)at);
}

static pp_status fail_damaged(const struct arrow *a, uint64_t at, const char *what, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT, "%s is damaged: the message at byte %llu %s", a->t.place.path,
                   (unsigned long long)at, what);
}

static pp_status read_all(struct arrow *a, uint64_t at, uint8_t *buf, size_t size, struct pp_err *err)
{
    struct pp_read r = {.offset = at, .size = size, .buf = buf, .cap = size};
    pp_status st = pp_table_read(&a->t.place, &r, err);
    return st == PP_OK && r.got < size ? fail_cut(a, at + r.got, err) : st;
}

/* ---- messages ---- */

struct message {
    uint64_t at;    /* of its 8 bytes before the metadata */
    uint8_t *bytes; /* the metadata, of malloc */
    uint32_t size;
    struct pp_arrow_message m;
};

/* The message at `at`; bytes NULL: the stream ends there. The caller frees bytes, also after a failure. */
static pp_status read_message(struct arrow *a, uint64_t at, struct message *out, struct pp_err *err)
{
    int32_t size = 0;
    *out = (struct message){.at = at, .bytes = malloc(ENDS_BLOCK)};
    if (!out->bytes)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", a->t.place.path);
    struct pp_read r = {.offset = at, .size = ENDS_BLOCK, .buf = out->bytes, .cap = ENDS_BLOCK};
    pp_status st = pp_table_read(&a->t.place, &r, err);
    if (st != PP_OK)
        return st;
    if (r.got > 0 && r.got < HEAD)
        return fail_cut(a, at + r.got, err);
    if (r.got > 0)
        memcpy(&size, out->bytes + 4, sizeof(size));
    if (r.got > 0 && memcmp(out->bytes, "\xff\xff\xff\xff", 4) != 0)
        return fail_damaged(a, at, "does not begin with FFFFFFFF (files of Arrow before 0.15 are not read)",
                            err);
    if (size < 0 || size > PP_ARROW_METADATA)
        return fail_damaged(a, at, "has metadata of a size that cannot be", err);
    if (size == 0) { /* as it is where nothing is left */
        free(out->bytes);
        out->bytes = NULL;
        return PP_OK;
    }
    out->size = (uint32_t)size;
    if (out->size > r.got - HEAD) {
        uint8_t *grown = realloc(out->bytes, out->size);
        if (!grown)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", a->t.place.path);
        out->bytes = grown;
        st = read_all(a, at + HEAD, out->bytes, out->size, err);
    } else {
        memmove(out->bytes, out->bytes + HEAD, out->size);
    }
    const struct pp_flat f = {out->bytes, out->size};
    if (st == PP_OK && pp_arrow_message(&f, &out->m) != 0)
        st = fail_damaged(a, at, "has no header", err);
    return st;
}

static pp_status add_batch(struct arrow *a, const struct message *m, struct pp_err *err)
{
    const struct pp_flat f = {m->bytes, m->size};
    const struct pp_table_place *file = &a->t.place;
    int packed;
    int64_t rows = pp_arrow_rows(&f, m->m.header, &packed);
    uint64_t body_at = m->at + HEAD + m->size;
    if (rows < 0)
        return fail_damaged(a, m->at, "is a record batch without a number of rows", err);
    if (packed)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the record batches of %s are compressed, which is not read: write it without compression "
            "(as datasets.save_to_disk does), or as Parquet",
            file->path);
    if (body_at > file->size || m->m.body > file->size - body_at)
        return fail_cut(a, file->size, err);
    if (a->batches == MOST_BATCHES || a->t.rows + (uint64_t)rows > (uint64_t)1 << 48)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s holds more than %d record batches", file->path,
                       MOST_BATCHES);
    if (!pp_grow(&a->batch, &a->cap, a->batches + 1, sizeof(*a->batch)))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the record batches of %s", file->path);
    struct batch *b = &a->batch[a->batches++];
    *b = (struct batch){.at = m->at + HEAD,
                        .body_at = body_at,
                        .body = m->m.body,
                        .metadata = m->size,
                        .first = a->t.rows,
                        .rows = (uint64_t)rows};
    atomic_init(&b->place, NULL);
    a->t.rows += (uint64_t)rows;
    return PP_OK;
}

/* ---- open ---- */

static pp_status walk_stream(struct arrow *a, struct pp_err *err)
{
    const uint64_t file = a->t.place.size;
    pp_status st = PP_OK;
    uint64_t at = 0;
    int ended = 0;
    for (int n = 0; st == PP_OK && !ended; n++) {
        struct message m = {0};
        st = read_message(a, at, &m, err);
        ended = st == PP_OK && !m.bytes;
        if (st == PP_OK && !ended) {
            const struct pp_flat f = {m.bytes, m.size};
            if (n == 0 && m.m.kind != PP_ARROW_SCHEMA)
                st = fail_damaged(a, at, "is no schema", err);
            else if (n == 0)
                st = pp_arrow_schema(&f, m.m.header, &a->t, &a->schema, err);
            else if (m.m.kind == PP_ARROW_BATCH)
                st = add_batch(a, &m, err);
            at += HEAD + (uint64_t)m.size;
            if (st == PP_OK && m.m.body > file - (at < file ? at : file))
                st = fail_cut(a, file, err);
            at += m.m.body;
        }
        free(m.bytes);
        if (st == PP_OK && n == 2 * MOST_BATCHES)
            st = fail_damaged(a, at, "is one of millions", err);
    }
    if (st == PP_OK && !a->schema.leaf)
        st = pp_fail(err, PP_E_CORRUPT, "%s holds no schema", a->t.place.path);
    return st;
}

/* The footer of a file has the schema again, and where each record batch is. */
static pp_status walk_footer(struct arrow *a, struct pp_err *err)
{
    enum { SCHEMA = 1, BATCHES = 3 };
    const struct pp_table_place *file = &a->t.place;
    uint8_t tail[FILE_TAIL];
    int32_t size;
    if (file->size < FILE_HEAD + FILE_TAIL)
        return fail_cut(a, file->size, err);
    pp_status st = read_all(a, file->size - FILE_TAIL, tail, FILE_TAIL, err);
    if (st != PP_OK)
        return st;
    memcpy(&size, tail, sizeof(size));
    if (memcmp(tail + 4, magic, 6) != 0)
        return pp_fail(err, PP_E_CORRUPT, "%s is truncated: it does not end in ARROW1", file->path);
    if (size <= 0 || (uint64_t)size > file->size - FILE_HEAD - FILE_TAIL || size > PP_ARROW_METADATA * 4)
        return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer claims %d of its %llu bytes", file->path,
                       size, (unsigned long long)file->size);
    uint8_t *footer = malloc((size_t)size);
    if (!footer)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the footer of %s", file->path);
    st = read_all(a, file->size - FILE_TAIL - (uint64_t)size, footer, (size_t)size, err);
    if (st != PP_OK)
        goto out;
    const struct pp_flat f = {footer, (size_t)size};
    size_t root = pp_flat_follow(&f, 0), first, schema = pp_flat_refer(&f, root, SCHEMA);
    size_t n = pp_flat_vector(&f, pp_flat_refer(&f, root, BATCHES), BLOCK, &first);
    st = schema ? pp_arrow_schema(&f, schema, &a->t, &a->schema, err)
                : pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer has no schema", file->path);
    /* A writer notes record batches as it writes them, so that each begins behind the one before. */
    uint64_t behind = FILE_HEAD;
    for (size_t i = 0; st == PP_OK && i < n; i++) {
        struct message m = {0};
        int64_t at = pp_flat_read(&f, first + i * BLOCK, 8);
        if (at < 0 || (uint64_t)at < behind || (uint64_t)at > file->size - HEAD)
            st = pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer names byte %lld for record batch %zu",
                         file->path, (long long)at, i);
        if (st == PP_OK)
            st = read_message(a, (uint64_t)at, &m, err);
        if (st == PP_OK && (!m.bytes || m.m.kind != PP_ARROW_BATCH))
            st = fail_damaged(a, (uint64_t)at, "is no record batch", err);
        if (st == PP_OK)
            st = add_batch(a, &m, err);
        behind = (uint64_t)at + HEAD + m.size;
        free(m.bytes);
    }
out:
    free(footer);
    return st;
}

/* The places of the used columns in a batch; NULL after a failure. */
static struct pp_arrow_place *read_places(struct arrow *a, struct batch *b, pp_status *st, struct pp_err *err)
{
    uint8_t *bytes = malloc(b->metadata);
    struct pp_arrow_place *place = calloc(a->t.n_used, sizeof(*place));
    const struct pp_flat f = {bytes, b->metadata};
    struct pp_arrow_message m;
    *st = bytes && place
              ? read_all(a, b->at, bytes, b->metadata, err)
              : pp_fail(err, PP_E_NO_MEMORY, "no memory for a record batch of %s", a->t.place.path);
    int bad = *st == PP_OK &&
              (pp_arrow_message(&f, &m) != 0 || m.kind != PP_ARROW_BATCH || m.body != b->body);
    for (size_t i = 0; *st == PP_OK && !bad && i < a->t.n_used; i++)
        bad = pp_arrow_place(&f, m.header, b->body, &a->schema, &a->schema.leaf[a->t.used[i]], &place[i]) !=
              0;
    if (bad)
        *st = fail_damaged(a, b->at - HEAD, "is a record batch whose buffers do not fit its rows", err);
    free(bytes);
    if (*st == PP_OK)
        return place;
    free(place);
    return NULL;
}

/* ---- values ---- */

/* One row that is read. */
struct row {
    struct arrow *a;
    const struct batch *b;
    const struct pp_arrow_leaf *leaf;
    const struct pp_arrow_place *place;
    const struct pp_column *column;
    uint64_t number; /* in the batch */
};

static pp_status fail_row(const struct row *r, const char *what, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT,
                   "%s is damaged: column %s of row %llu of the record batch at byte %llu %s",
                   r->a->t.place.path, r->column->name, (unsigned long long)r->number,
                   (unsigned long long)(r->b->at - HEAD), what);
}

static pp_status no_null_between(const struct row *r, uint64_t from, uint64_t to, struct pp_err *err)
{
    const struct pp_arrow_part *v = &r->place->element_validity;
    uint8_t some[256];
    pp_status st = PP_OK;
    if (v->size == 0)
        return PP_OK;
    if (to > r->place->elements)
        return fail_row(r, "lies outside of its list", err);
    for (uint64_t i = from; st == PP_OK && i < to;) {
        uint64_t byte = i / 8, n = (to + 7) / 8 - byte;
        n = n < sizeof(some) ? n : sizeof(some);
        st = read_all(r->a, r->b->body_at + v->at + byte, some, (size_t)n, err);
        for (; st == PP_OK && i < to && i / 8 < byte + n; i++)
            if (!(some[i / 8 - byte] >> i % 8 & 1))
                return pp_fail(err, PP_E_UNSUPPORTED, "%s: a list of column %s holds a null",
                               r->a->t.place.path, r->column->name);
    }
    return st;
}

/* The row's value, as bytes of the file; a bit is a byte of its own. */
static pp_status find_value(const struct row *r, struct pp_value *out, struct pp_err *err)
{
    uint64_t each = r->column->width ? r->column->width : 1;
    uint8_t byte;
    pp_status st = PP_OK;
    for (uint32_t i = 0; i < r->leaf->levels && st == PP_OK && !out->is_null; i++) {
        if (r->place->validity[i].size == 0)
            continue;
        st = read_all(r->a, r->b->body_at + r->place->validity[i].at + r->number / 8, &byte, 1, err);
        out->is_null = st == PP_OK && !(byte >> r->number % 8 & 1);
    }
    if (st != PP_OK || out->is_null)
        return st;
    if (r->leaf->is_bits) {
        out->data = &out->bit;
        out->size = 1;
        if (r->number / 8 >= r->place->data.size)
            return fail_row(r, "lies outside of its buffer", err);
        st = read_all(r->a, r->b->body_at + r->place->data.at + r->number / 8, &out->bit, 1, err);
        out->bit = out->bit >> r->number % 8 & 1;
        return st;
    }
    /* from where to where the row's bytes, or numbers, go */
    uint64_t fixed = r->leaf->fixed ? r->leaf->fixed : 1, from = r->number * fixed, to = from + fixed;
    if (r->leaf->offsets) {
        uint8_t pair[16];
        unsigned width = r->leaf->offset_width;
        st = read_all(r->a, r->b->body_at + r->place->offsets.at + r->number * width, pair, width * 2, err);
        if (st != PP_OK)
            return st;
        const struct pp_flat f = {pair, sizeof(pair)};
        int64_t begins = pp_flat_read(&f, 0, width), ends = pp_flat_read(&f, width, width);
        if (begins < 0 || ends < begins)
            return fail_row(r, "ends before it begins", err);
        from = (uint64_t)begins;
        to = (uint64_t)ends;
    }
    if (r->leaf->element_node)
        st = no_null_between(r, from, to, err);
    if (st != PP_OK)
        return st;
    if (to > r->place->data.size / each)
        return fail_row(r, "lies outside of its buffer", err);
    out->at = r->b->body_at + r->place->data.at + from * each;
    out->size = (to - from) * each;
    return PP_OK;
}

static pp_status arrow_value(struct pp_table *t, uint64_t row, size_t column, const struct pp_read_context *c,
                             struct pp_value *out, struct pp_err *err)
{
    struct arrow *a = (struct arrow *)t;
    size_t batch = pp_last_at(&a->batch->first, a->batches, sizeof(*a->batch), row);
    struct batch *b = &a->batch[batch];
    struct row r = {.a = a,
                    .b = b,
                    .leaf = &a->schema.leaf[t->used[column]],
                    .column = &t->column[t->used[column]],
                    .number = row - b->first};
    *out = (struct pp_value){.pages = t->place.pages};
    pp_status st = PP_OK;
    /* acquire: pairs with the release below, so that the places are whole */
    struct pp_arrow_place *place = atomic_load_explicit(&b->place, memory_order_acquire);
    if (!place) {
        pthread_mutex_lock(&t->stripe[batch % PP_TABLE_STRIPES]);
        place = atomic_load_explicit(&b->place, memory_order_relaxed);
        if (!place && (place = read_places(a, b, &st, err)))
            atomic_store_explicit(&b->place, place, memory_order_release);
        pthread_mutex_unlock(&t->stripe[batch % PP_TABLE_STRIPES]);
    }
    r.place = place ? place + column : NULL;
    if (st == PP_OK)
        st = find_value(&r, out, err);
    if (st != PP_OK)
        pp_value_release(out);
    return st;
}

/* ---- the table ---- */

static uint64_t arrow_footprint(const struct pp_table *t)
{
    const struct arrow *a = (struct arrow *)t;
    uint64_t bytes = sizeof(*a) + a->cap * sizeof(*a->batch) + PP_TABLE_COLUMNS * sizeof(*a->schema.leaf);
    for (size_t i = 0; i < a->batches; i++)
        if (atomic_load_explicit(&a->batch[i].place, memory_order_relaxed))
            bytes += t->n_used * sizeof(struct pp_arrow_place);
    return bytes;
}

static void arrow_close(struct pp_table *t)
{
    struct arrow *a = (struct arrow *)t;
    for (size_t i = 0; i < a->batches; i++)
        free(atomic_load_explicit(&a->batch[i].place, memory_order_relaxed));
    free(a->batch);
    free(a->schema.leaf);
}

static const struct pp_table_ops arrow_ops = {
    .value = arrow_value,
    .footprint = arrow_footprint,
    .close = arrow_close,
};

pp_status pp_arrow_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err)
{
    struct arrow *a = pp_table_new(sizeof(*a), &arrow_ops, place, err);
    uint8_t head[FILE_HEAD] = {0};
    struct pp_read r = {.size = sizeof(head), .buf = head, .cap = sizeof(head)};
    *out = NULL;
    if (!a)
        return PP_E_NO_MEMORY;
    pp_status st = pp_table_read(&a->t.place, &r, err);
    if (st == PP_OK)
        st = memcmp(head, magic, 6) == 0 ? walk_footer(a, err) : walk_stream(a, err);
    if (st != PP_OK)
        pp_table_close(&a->t);
    else
        *out = &a->t;
    return st;
}
