#include "probe/columns/parquet_page.h"
#include "probe/columns/thrift.h"

enum { DEEPEST = 16, REQUIRED = 0, OPTIONAL = 1, REPEATED = 2, NO_TYPE = -1, MOST_CHUNKS = 1 << 22 };

/* ---- schema ---- */

/* A SchemaElement: https://github.com/apache/parquet-format, parquet.thrift. */
struct element {
    int type, repetition, converted;
    int32_t type_length;
    uint32_t children;
    struct pp_thrift_text name;
    int logical;    /* field of LogicalType; 0: none */
    int bits, sign; /* of its INTEGER */
};
enum {
    CONVERTED_NONE = -1,
    CONVERTED_UTF8 = 0,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_UINT_8 = 11,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
    CONVERTED_INTERVAL = 21,
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_INTEGER = 10,
    LOGICAL_JSON = 12,
    LOGICAL_FLOAT16 = 15
};

static void read_element(struct pp_thrift *t, struct element *e)
{
    static const struct pp_thrift_row integer[] = {{PP_THRIFT_ROW(1, NUMBER, struct element, bits)},
                                                   {PP_THRIFT_ROW(2, FLAG, struct element, sign)},
                                                   {0}};
    /* A union: which member there is; of an INTEGER also what is in it. */
    static const struct pp_thrift_row logical[] = {
        {PP_THRIFT_ROW(LOGICAL_STRING, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_MAP, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_LIST, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_ENUM, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_DECIMAL, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_INTEGER, FIELDS, struct element, logical), .fields = integer},
        {PP_THRIFT_ROW(LOGICAL_JSON, ID, struct element, logical)},
        {PP_THRIFT_ROW(LOGICAL_FLOAT16, ID, struct element, logical)},
        {0},
    };
    static const struct pp_thrift_row rows[] = {
        {PP_THRIFT_ROW(1, NUMBER, struct element, type)},
        {PP_THRIFT_ROW(2, NUMBER, struct element, type_length)},
        {PP_THRIFT_ROW(3, NUMBER, struct element, repetition)},
        {PP_THRIFT_ROW(4, TEXT, struct element, name)},
        {PP_THRIFT_ROW(5, SIZE, struct element, children)},
        {PP_THRIFT_ROW(6, NUMBER, struct element, converted)},
        {.id = 10, .into = PP_THRIFT_FIELDS, .fields = logical},
        {0},
    };
    *e = (struct element){.type = NO_TYPE, .converted = CONVERTED_NONE};
    pp_thrift_read(t, rows, e);
    if (e->repetition < REQUIRED || e->repetition > REPEATED)
        t->bad = 1;
}

/* Where in the tree a walk is. */
struct level {
    char name[PP_TABLE_NAME];
    int definition, repetition, list_definition;
    int in_list; /* 1: children are the repeated group of a list; 2: are its element; neither is named */
    int is_map;
};

struct walk {
    struct pp_thrift t;
    size_t left; /* elements of the schema that were not read */
    struct pp_table *table;
    struct pp_parquet_meta *meta;
    int no_memory;
};

/* Kind, number and width of a column; what it is in words where it cannot be read, else NULL. */
static const char *set_leaf(const struct element *e, struct pp_parquet_leaf *l, struct pp_column *c)
{
    int bits, sign = 1;
    l->type = (enum pp_parquet_type)e->type;
    c->number = PP_COLUMN_FLOAT;
    switch (l->type) {
    case PP_PARQUET_BOOLEAN:
        c->kind = PP_COLUMN_NUMBER;
        c->number = PP_COLUMN_UNSIGNED;
        c->width = 1;
        break;
    case PP_PARQUET_INT32:
    case PP_PARQUET_INT64:
        /* Width and sign as Arrow gives them: an INT32 may be declared to hold 8 bits. */
        bits = l->type == PP_PARQUET_INT32 ? 32 : 64;
        l->width = (uint32_t)bits / 8;
        if (e->logical == LOGICAL_INTEGER) {
            bits = e->bits == 8 || e->bits == 16 || e->bits == 32 ? e->bits : bits;
            sign = e->sign;
        } else if (e->converted >= CONVERTED_UINT_8 && e->converted <= CONVERTED_INT_64) {
            bits = 8 << (e->converted - CONVERTED_UINT_8) % 4;
            sign = e->converted - CONVERTED_UINT_8 >= 4;
        }
        c->width = (unsigned)bits / 8 > l->width ? l->width : (unsigned)bits / 8;
        c->number = sign ? PP_COLUMN_SIGNED : PP_COLUMN_UNSIGNED;
        c->kind = PP_COLUMN_NUMBER;
        break;
    case PP_PARQUET_FLOAT:
    case PP_PARQUET_DOUBLE:
        l->width = c->width = l->type == PP_PARQUET_FLOAT ? 4 : 8;
        c->kind = PP_COLUMN_NUMBER;
        break;
    case PP_PARQUET_BYTE_ARRAY: c->kind = PP_COLUMN_BYTES; break;
    case PP_PARQUET_FIXED:
        l->width = (uint32_t)e->type_length;
        c->kind = PP_COLUMN_BYTES;
        if (e->logical == LOGICAL_FLOAT16 && l->width == 2) {
            c->kind = PP_COLUMN_NUMBER;
            c->width = 2;
        }
        break;
    default: return "timestamp of 96 bits";
    }
    c->is_text = c->kind == PP_COLUMN_BYTES &&
                 (e->logical == LOGICAL_STRING || e->logical == LOGICAL_ENUM || e->logical == LOGICAL_JSON ||
                  e->converted == CONVERTED_UTF8 || e->converted == CONVERTED_ENUM ||
                  e->converted == CONVERTED_JSON);
    if (e->logical == LOGICAL_DECIMAL || e->converted == CONVERTED_DECIMAL)
        return "decimal";
    return e->converted == CONVERTED_INTERVAL ? "interval" : NULL;
}

static void add_leaf(struct walk *w, const struct level *at, const struct element *e)
{
    struct pp_column *c;
    if (e->type < 0 || e->type > PP_PARQUET_FIXED ||
        (e->type == PP_PARQUET_FIXED && (e->type_length <= 0 || e->type_length > 1 << 20))) {
        w->t.bad = 1;
        return;
    }
    if (!(c = pp_table_add_column(w->table, at->name))) {
        w->no_memory = 1;
        return;
    }
    struct pp_parquet_leaf *l = &w->meta->leaf[w->table->columns - 1];
    *l = (struct pp_parquet_leaf){.max_definition = (uint8_t)at->definition,
                                  .max_repetition = (uint8_t)at->repetition,
                                  .list_definition = (uint8_t)at->list_definition};
    const char *other = set_leaf(e, l, c);
    if (!other && at->is_map)
        other = "map";
    else if (!other && at->repetition > 1)
        other = "list of lists";
    else if (!other && at->repetition == 1 && c->kind == PP_COLUMN_BYTES)
        other = c->is_text ? "list of strings" : "list of binary";
    if (other)
        c->kind = PP_COLUMN_OTHER;
    else if (at->repetition == 1)
        c->kind = PP_COLUMN_NUMBERS;
    pp_column_set_type(c, c->kind == PP_COLUMN_NUMBERS ? "list of " : "", other);
}

static void walk_children(struct walk *w, const struct level *up, uint32_t children, int depth)
{
    if (depth > DEEPEST || children > w->left)
        w->t.bad = 1;
    for (uint32_t i = 0; i < children && !w->t.bad && !w->no_memory && w->left; i++) {
        struct element e;
        struct level own = {.definition = up->definition,
                            .repetition = up->repetition,
                            .list_definition = up->list_definition,
                            .is_map = up->is_map};
        read_element(&w->t, &e);
        w->left--;
        if (w->t.bad)
            return;
        if (up->in_list) {
            memcpy(own.name, up->name, sizeof(own.name));
        } else {
            size_t n = up->name[0] ? (size_t)snprintf(own.name, sizeof(own.name), "%s.", up->name) : 0;
            for (size_t k = 0; k < e.name.size && n + 1 < sizeof(own.name); k++)
                own.name[n++] = (char)(e.name.at[k] ? e.name.at[k] : '?');
            own.name[n < sizeof(own.name) ? n : sizeof(own.name) - 1] = '\0';
        }
        own.definition += e.repetition != REQUIRED;
        if (e.repetition == REPEATED) {
            own.repetition++;
            own.list_definition = own.definition;
        }
        if (e.children == 0) {
            add_leaf(w, &own, &e);
            continue;
        }
        int is_list = e.logical == LOGICAL_LIST || e.converted == CONVERTED_LIST;
        if (is_list && e.children == 1)
            own.in_list = 1;
        else if (up->in_list == 1 && e.repetition == REPEATED && e.children == 1)
            own.in_list = 2;
        own.is_map |= e.logical == LOGICAL_MAP || e.converted == 1 || e.converted == 2;
        walk_children(w, &own, e.children, depth + 1);
    }
}

/* ---- row groups ---- */

/* What a chunk's metadata say, before they are checked. */
struct raw_chunk {
    int codec, is_encrypted, meta;
    struct pp_thrift_text path; /* of another file that it lies in */
    int64_t values, packed, data_at, dictionary_at, index_at, index_bytes;
};

static const struct pp_thrift_row column_meta_rows[] = {
    {PP_THRIFT_ROW(4, NUMBER, struct raw_chunk, codec)},
    {PP_THRIFT_ROW(5, NUMBER, struct raw_chunk, values)},
    {PP_THRIFT_ROW(7, NUMBER, struct raw_chunk, packed)},
    {PP_THRIFT_ROW(9, NUMBER, struct raw_chunk, data_at)},
    {PP_THRIFT_ROW(11, NUMBER, struct raw_chunk, dictionary_at)},
    {0},
};

static const struct pp_thrift_row column_chunk_rows[] = {
    {PP_THRIFT_ROW(1, TEXT, struct raw_chunk, path)},
    {PP_THRIFT_ROW(3, FIELDS, struct raw_chunk, meta), .fields = column_meta_rows},
    {PP_THRIFT_ROW(4, NUMBER, struct raw_chunk, index_at)},
    {PP_THRIFT_ROW(5, NUMBER, struct raw_chunk, index_bytes)},
    {PP_THRIFT_ROW(8, SEEN, struct raw_chunk, is_encrypted)},
    {PP_THRIFT_ROW(9, SEEN, struct raw_chunk, is_encrypted)},
    {0},
};

/* Within the file, and not before its first four bytes. */
static int is_within(int64_t at, int64_t bytes, uint64_t size)
{
    return at >= 4 && bytes >= 0 && (uint64_t)at <= size && (uint64_t)bytes <= size - (uint64_t)at;
}

/* The chunks of one group: of the columns that are used. */
static pp_status read_columns(struct pp_thrift *t, int type, const struct pp_table *table,
                              struct pp_parquet_chunk *chunk, struct pp_err *err)
{
    /* by the number of the codec in the file; -1: not read */
    static const struct {
        const char *name;
        int codec;
    } codecs[] = {{"", PP_CODEC_NONE}, {"", PP_CODEC_SNAPPY},     {"", PP_CODEC_GZIP}, {"LZO", -1},
                  {"Brotli", -1},      {"", PP_CODEC_LZ4_HADOOP}, {"", PP_CODEC_ZSTD}, {"", PP_CODEC_LZ4}};
    enum { CODECS = sizeof(codecs) / sizeof(*codecs) };
    int element;
    size_t n = pp_thrift_list(t, type, &element);
    const struct pp_table_place *file = &table->place;
    if (element != PP_THRIFT_STRUCT || n != table->columns)
        t->bad = 1;
    for (size_t i = 0; i < n && !t->bad; i++) {
        struct raw_chunk raw = {0};
        const char *name = table->column[i].name;
        size_t k = 0;
        while (k < table->n_used && table->used[k] != i)
            k++;
        if (k == table->n_used) {
            pp_thrift_skip(t, PP_THRIFT_STRUCT);
            continue;
        }
        pp_thrift_read(t, column_chunk_rows, &raw);
        if (t->bad)
            break;
        int is_known = raw.codec >= 0 && raw.codec < CODECS;
        int64_t begin = raw.dictionary_at > 0 && raw.dictionary_at < raw.data_at ? raw.dictionary_at
                                                                                 : raw.data_at;
        if (raw.is_encrypted || raw.path.size)
            return pp_fail(err, PP_E_UNSUPPORTED, "column %s of %s %s, which is not read", name, file->path,
                           raw.is_encrypted ? "is encrypted" : "lies in another file");
        if (!is_known || codecs[raw.codec].codec < 0)
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "column %s of %s is compressed by %s, which is not read: write it with Zstandard, Snappy, gzip or "
                "LZ4, or record your own loader with 'pipeprobe exec -- python train.py'",
                name, file->path, is_known ? codecs[raw.codec].name : "an unknown codec");
        if (!raw.meta || raw.values < 0 || !is_within(begin, raw.packed, file->size) ||
            raw.data_at - begin > raw.packed)
            return pp_fail(err, PP_E_CORRUPT, "%s is damaged: column %s does not lie within the file",
                           file->path, name);
        int has_index = raw.index_at > 0 && raw.index_bytes > 0 && raw.index_bytes <= 64 << 20 &&
                        is_within(raw.index_at, raw.index_bytes, file->size);
        chunk[k] = (struct pp_parquet_chunk){.begin = (uint64_t)begin,
                                             .end = (uint64_t)(begin + raw.packed),
                                             .data_at = (uint64_t)raw.data_at,
                                             .dictionary_at = begin == raw.data_at ? 0 : (uint64_t)begin,
                                             .values = (uint64_t)raw.values,
                                             .index_at = has_index ? (uint64_t)raw.index_at : 0,
                                             .index_bytes = has_index ? (uint32_t)raw.index_bytes : 0,
                                             .codec = (enum pp_codec)codecs[raw.codec].codec};
    }
    return PP_OK;
}

static pp_status fail_groups(const struct pp_table *t, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its row groups are not whole", t->place.path);
}

/* Counts rows on the first walk; on the second takes the chunks into m->chunk. */
static pp_status read_groups(struct pp_thrift *t, int type, const struct pp_table *table,
                             struct pp_parquet_meta *m, struct pp_err *err)
{
    int element;
    uint64_t first = 0;
    pp_status st = PP_OK;
    size_t n = pp_thrift_list(t, type, &element);
    if (n > PP_PARQUET_GROUPS || (n && element != PP_THRIFT_STRUCT) ||
        (m->chunk ? n != m->groups : m->group != NULL))
        return fail_groups(table, err);
    if (!m->chunk && !(m->group = calloc(n + 1, sizeof(*m->group))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the row groups of %s", table->place.path);
    for (size_t i = 0; i < n && st == PP_OK; i++) {
        int64_t rows = -1;
        for (int id = 0, field; st == PP_OK && (field = pp_thrift_field(t, &id));) {
            if (id == 1 && m->chunk)
                st = read_columns(t, field, table, m->chunk + i * table->n_used, err);
            else if (id == 3)
                rows = pp_thrift_int(t, field);
            else
                pp_thrift_skip(t, field);
        }
        if (st == PP_OK &&
            (t->bad || rows < 0 || rows > (int64_t)1 << 48 || first + (uint64_t)rows > (uint64_t)1 << 48))
            st = fail_groups(table, err);
        m->group[i] = (struct pp_parquet_group){.first = first, .rows = (uint64_t)rows};
        first += (uint64_t)rows;
    }
    m->groups = n;
    return st;
}

/* ---- the footer ---- */

pp_status pp_parquet_schema(const uint8_t *footer, size_t size, struct pp_table *t, struct pp_parquet_meta *m,
                            struct pp_err *err)
{
    struct walk w = {.t = {.at = footer, .end = footer + size}, .table = t, .meta = m};
    const struct level top = {.name = ""};
    const char *path = t->place.path;
    struct element root;
    int id = 0, type, element;
    pp_status st = PP_OK;
    while (st == PP_OK && (type = pp_thrift_field(&w.t, &id))) {
        if (id == 4)
            st = read_groups(&w.t, type, t, m, err);
        else if (id == 8)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s is encrypted, which is not read", path);
        else if (id != 2)
            pp_thrift_skip(&w.t, type);
        if (id != 2)
            continue;
        w.left = pp_thrift_list(&w.t, type, &element);
        if (element != PP_THRIFT_STRUCT || w.left < 2 || m->leaf)
            return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer has no schema", path);
        if (w.left > PP_TABLE_COLUMNS * 4)
            return pp_fail(err, PP_E_UNSUPPORTED, "%s has %zu fields: up to %d are read", path, w.left,
                           PP_TABLE_COLUMNS * 4);
        m->leaf = calloc(PP_TABLE_COLUMNS, sizeof(*m->leaf));
        if (!m->leaf)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the schema of %s", path);
        read_element(&w.t, &root);
        w.left--;
        walk_children(&w, &top, root.children, 0);
        if (w.no_memory && t->columns == PP_TABLE_COLUMNS)
            return pp_fail(err, PP_E_UNSUPPORTED, "%s has more than %d columns", path, PP_TABLE_COLUMNS);
        if (w.no_memory)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the schema of %s", path);
        if (w.t.bad || w.left || t->columns == 0)
            return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its schema is not whole", path);
    }
    if (st == PP_OK && (w.t.bad || !m->leaf || !m->group))
        st = pp_fail(err, PP_E_CORRUPT, "%s is damaged: its footer is not whole", path);
    if (st == PP_OK && m->groups)
        t->rows = m->group[m->groups - 1].first + m->group[m->groups - 1].rows;
    return st;
}

pp_status pp_parquet_chunks(const uint8_t *footer, size_t size, const struct pp_table *t,
                            struct pp_parquet_meta *m, struct pp_err *err)
{
    size_t n = t->n_used;
    struct pp_thrift in = {.at = footer, .end = footer + size};
    int id = 0, type;
    pp_status st = PP_OK;
    if (m->groups * n > MOST_CHUNKS)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s has %zu row groups, which are too many to read %zu columns of", t->place.path,
                       m->groups, n);
    m->chunk = calloc(m->groups * n + 1, sizeof(*m->chunk));
    if (!m->chunk)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the row groups of %s", t->place.path);
    while (st == PP_OK && (type = pp_thrift_field(&in, &id))) {
        if (id == 4)
            st = read_groups(&in, type, t, m, err);
        else
            pp_thrift_skip(&in, type);
    }
    for (size_t i = 0; st == PP_OK && i < m->groups * n; i++)
        if (m->chunk[i].end == 0 && m->group[i / n].rows)
            st = fail_groups(t, err);
    return st;
}

/* ---- pages ---- */

#define IN_HEAD(number, kind, member) \
    { \
        PP_THRIFT_ROW(number, kind, struct pp_parquet_page_head, member) \
    }

int pp_parquet_page_head(const uint8_t *bytes, size_t size, struct pp_parquet_page_head *out)
{
    enum { DATA = 5, DICTIONARY = 7, DATA_2 = 8, RLE = 3 };
    static const struct pp_thrift_row data[] = {IN_HEAD(1, SIZE, values),
                                                IN_HEAD(2, NUMBER, encoding),
                                                IN_HEAD(3, NUMBER, definition_encoding),
                                                IN_HEAD(4, NUMBER, repetition_encoding),
                                                {0}};
    static const struct pp_thrift_row dictionary[] = {IN_HEAD(1, SIZE, values),
                                                      IN_HEAD(2, NUMBER, encoding),
                                                      {0}};
    static const struct pp_thrift_row data_2[] = {IN_HEAD(1, SIZE, values),
                                                  IN_HEAD(3, SIZE, rows),
                                                  IN_HEAD(4, NUMBER, encoding),
                                                  IN_HEAD(5, SIZE, definition_bytes),
                                                  IN_HEAD(6, SIZE, repetition_bytes),
                                                  IN_HEAD(7, FLAG, is_packed),
                                                  {0}};
    static const struct pp_thrift_row head[] = {
        IN_HEAD(1, NUMBER, type),
        IN_HEAD(2, SIZE, unpacked),
        IN_HEAD(3, SIZE, packed),
        IN_HEAD(4, NUMBER, crc),
        {PP_THRIFT_ROW(DATA, FIELDS, struct pp_parquet_page_head, of), .fields = data},
        {PP_THRIFT_ROW(DICTIONARY, FIELDS, struct pp_parquet_page_head, of), .fields = dictionary},
        {PP_THRIFT_ROW(DATA_2, FIELDS, struct pp_parquet_page_head, of), .fields = data_2},
        {0},
    };
    static const int wants[] = {[PP_PARQUET_DATA] = DATA,
                                [PP_PARQUET_INDEX] = 0,
                                [PP_PARQUET_DICTIONARY] = DICTIONARY,
                                [PP_PARQUET_DATA_2] = DATA_2};
    struct pp_thrift t = {.at = bytes, .end = bytes + size};
    *out = (struct pp_parquet_page_head){.type = -1, .crc = PP_PARQUET_NO_CRC, .is_packed = 1};
    pp_thrift_read(&t, head, out);
    if (t.bad) /* also where the bytes end within it */
        return t.at == t.end ? 0 : -1;
    out->head = (size_t)(t.at - bytes);
    if (out->of == DATA_2)
        out->definition_encoding = out->repetition_encoding = RLE;
    if (out->type < PP_PARQUET_DATA || out->type > PP_PARQUET_DATA_2)
        return -1;
    return wants[out->type] == 0 || wants[out->type] == out->of ? 1 : -1;
}

int pp_parquet_locations(const uint8_t *bytes, size_t size, struct pp_parquet_location **out, size_t *n)
{
    static const struct pp_thrift_row rows[] = {
        {PP_THRIFT_ROW(1, SIZE, struct pp_parquet_location, at)},
        {PP_THRIFT_ROW(2, SIZE, struct pp_parquet_location, bytes)},
        {PP_THRIFT_ROW(3, SIZE, struct pp_parquet_location, first_row)},
        {0},
    };
    struct pp_thrift t = {.at = bytes, .end = bytes + size};
    int id = 0, type, element;
    *out = NULL;
    *n = 0;
    while ((type = pp_thrift_field(&t, &id))) {
        if (id != 1 || *out) {
            pp_thrift_skip(&t, type);
            continue;
        }
        *n = pp_thrift_list(&t, type, &element);
        *out = element == PP_THRIFT_STRUCT && *n && *n <= PP_PARQUET_PAGES ? calloc(*n, sizeof(**out)) : NULL;
        for (size_t i = 0; *out && i < *n; i++)
            pp_thrift_read(&t, rows, &(*out)[i]);
    }
    if (!t.bad && *out)
        return 0;
    free(*out);
    *out = NULL;
    return -1;
}
