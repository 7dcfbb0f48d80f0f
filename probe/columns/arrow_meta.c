#include "probe/columns/arrow_meta.h"

/* ---- FlatBuffers ---- */

static int holds(const struct pp_flat *f, size_t at, size_t n)
{
    return at <= f->size && n <= f->size - at;
}

int64_t pp_flat_read(const struct pp_flat *f, size_t at, unsigned bytes)
{
    uint64_t v = 0;
    if (!holds(f, at, bytes))
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)f->bytes[at + i] << 8 * i;
    if (bytes < 8 && v >> (bytes * 8 - 1))
        v |= UINT64_MAX << bytes * 8;
    return (int64_t)v;
}

size_t pp_flat_follow(const struct pp_flat *f, size_t at)
{
    size_t to = holds(f, at, 4) ? at + (uint32_t)pp_flat_read(f, at, 4) : 0;
    return to != at && holds(f, to, 4) ? to : 0;
}

/* Where field id of a table lies: its vtable, found by a signed distance back, has a u16 for each field. */
static size_t find_field(const struct pp_flat *f, size_t table, int id)
{
    if (!table || !holds(f, table, 4))
        return 0;
    int64_t vtable = (int64_t)table - pp_flat_read(f, table, 4);
    size_t slot = 4 + 2 * (size_t)id;
    if (vtable < 0 || !holds(f, (size_t)vtable, 4) ||
        slot + 2 > (uint16_t)pp_flat_read(f, (size_t)vtable, 2) || !holds(f, (size_t)vtable, slot + 2))
        return 0;
    size_t offset = (uint16_t)pp_flat_read(f, (size_t)vtable + slot, 2);
    return offset ? table + offset : 0;
}

size_t pp_flat_refer(const struct pp_flat *f, size_t table, int id)
{
    size_t at = find_field(f, table, id);
    return at ? pp_flat_follow(f, at) : 0;
}

/* A scalar of 1, 2, 4 or 8 bytes, with its sign. */
static int64_t flat_number(const struct pp_flat *f, size_t table, int id, unsigned bytes, int64_t otherwise)
{
    size_t at = find_field(f, table, id);
    return at && holds(f, at, bytes) ? pp_flat_read(f, at, bytes) : otherwise;
}

size_t pp_flat_vector(const struct pp_flat *f, size_t vector, size_t bytes, size_t *first)
{
    *first = vector + 4;
    if (!vector || !holds(f, vector, 4))
        return 0;
    size_t n = (uint32_t)pp_flat_read(f, vector, 4);
    return n <= (f->size - *first) / bytes ? n : 0;
}

/* ---- messages ---- */

enum { MESSAGE_KIND = 1, MESSAGE_HEADER = 2, MESSAGE_BODY = 3 };

int pp_arrow_message(const struct pp_flat *f, struct pp_arrow_message *out)
{
    size_t root = pp_flat_follow(f, 0);
    int64_t body = flat_number(f, root, MESSAGE_BODY, 8, 0);
    *out = (struct pp_arrow_message){.kind = (int)flat_number(f, root, MESSAGE_KIND, 1, 0),
                                     .body = (uint64_t)body,
                                     .header = pp_flat_refer(f, root, MESSAGE_HEADER)};
    return root && out->header && body >= 0 ? 0 : -1;
}

/* ---- schema ---- */

enum { FIELD_NAME = 0, FIELD_TYPE = 2, FIELD_DETAILS = 3, FIELD_DICTIONARY = 4, FIELD_CHILDREN = 5 };

/* Numbers of the union Type. */
enum {
    NULL_ = 1,
    INT,
    FLOAT,
    BINARY,
    UTF8,
    BOOL,
    DECIMAL,
    DATE,
    TIME,
    TIMESTAMP,
    INTERVAL,
    LIST,
    STRUCT,
    UNION,
    FIXED_BINARY,
    FIXED_LIST,
    MAP,
    DURATION,
    LARGE_BINARY,
    LARGE_UTF8,
    LARGE_LIST,
    RUN_ENDS,
    TYPES
};

enum { MOST_NODES = PP_TABLE_COLUMNS * 4 }; /* fields may refer to one another: a walk ends there */

enum shape { PLAIN, BYTES, LISTS, STRUCTS, OTHERS };

/* By type: its buffers in a record batch, and what it is. */
static const struct {
    const char *name;
    unsigned buffers;
    enum shape shape;
} types[TYPES] = {
    [NULL_] = {"null", 0, OTHERS},
    [INT] = {"", 2, PLAIN},
    [FLOAT] = {"", 2, PLAIN},
    [BINARY] = {"binary", 3, BYTES},
    [UTF8] = {"string", 3, BYTES},
    [BOOL] = {"bool", 2, PLAIN},
    [DECIMAL] = {"decimal", 2, OTHERS},
    [DATE] = {"date", 2, OTHERS},
    [TIME] = {"time", 2, OTHERS},
    [TIMESTAMP] = {"timestamp", 2, PLAIN},
    [INTERVAL] = {"interval", 2, OTHERS},
    [LIST] = {"list", 2, LISTS},
    [STRUCT] = {"struct", 1, STRUCTS},
    [UNION] = {"union", 0, OTHERS},
    [FIXED_BINARY] = {"binary", 2, BYTES},
    [FIXED_LIST] = {"list", 1, LISTS},
    [MAP] = {"map", 2, OTHERS},
    [DURATION] = {"duration", 2, PLAIN},
    [LARGE_BINARY] = {"binary", 3, BYTES},
    [LARGE_UTF8] = {"string", 3, BYTES},
    [LARGE_LIST] = {"list", 2, LISTS},
    [RUN_ENDS] = {"run-end encoded", 0, OTHERS},
};

struct walk {
    const struct pp_flat *f;
    struct pp_table *t;
    struct pp_arrow_schema *s;
    const char *no; /* what cannot be read at all, since it changes which buffers there are */
    int bad, no_memory;
};

/* Where in the tree a walk is. */
struct level {
    char name[PP_TABLE_NAME];
    uint32_t node[PP_ARROW_DEPTH], validity[PP_ARROW_DEPTH], levels;
};

/* A number: width and sign of the column. */
static int set_number(const struct walk *w, size_t details, int type, struct pp_column *c)
{
    static const unsigned precisions[] = {2, 4, 8};
    int64_t bits = type == INT ? flat_number(w->f, details, 0, 4, 0) : 64;
    c->kind = PP_COLUMN_NUMBER;
    c->number = PP_COLUMN_SIGNED;
    c->width = (unsigned)bits / 8;
    if (type == INT && !flat_number(w->f, details, 1, 1, 0))
        c->number = PP_COLUMN_UNSIGNED;
    if (type == BOOL) {
        c->width = 1;
        c->number = PP_COLUMN_UNSIGNED;
    } else if (type == FLOAT) {
        int64_t precision = flat_number(w->f, details, 0, 2, 0);
        c->number = PP_COLUMN_FLOAT;
        c->width = precision >= 0 && precision < 3 ? precisions[precision] : 0;
    }
    return c->width == 1 || c->width == 2 || c->width == 4 || c->width == 8;
}

/* A field, and the children of a list and of what is not read, counted: they are no columns of their own. */
static void count_field(struct walk *w, size_t field, int depth)
{
    int type = (int)(uint8_t)flat_number(w->f, field, FIELD_TYPE, 1, 0);
    if (!field || depth > PP_ARROW_DEPTH || w->s->nodes > MOST_NODES) {
        w->bad = 1;
        return;
    }
    w->s->nodes++;
    if (pp_flat_refer(w->f, field, FIELD_DICTIONARY)) {
        w->s->buffers += 2;
        return;
    }
    if (type <= 0 || type >= TYPES || type == UNION) {
        w->no = type == UNION ? "unions" : "views";
        return;
    }
    w->s->buffers += types[type].buffers;
    size_t first, n = pp_flat_vector(w->f, pp_flat_refer(w->f, field, FIELD_CHILDREN), 4, &first);
    for (size_t i = 0; i < n && !w->bad && !w->no; i++)
        count_field(w, pp_flat_follow(w->f, first + i * 4), depth + 1);
}

/* A list of numbers: its own offsets, and the data of its child. */
static void set_list(struct walk *w, size_t field, int type, struct pp_column *c, struct pp_arrow_leaf *l)
{
    size_t first, n = pp_flat_vector(w->f, pp_flat_refer(w->f, field, FIELD_CHILDREN), 4, &first);
    size_t child = n == 1 ? pp_flat_follow(w->f, first) : 0;
    int of = (int)(uint8_t)flat_number(w->f, child, FIELD_TYPE, 1, 0);
    size_t details = pp_flat_refer(w->f, child, FIELD_DETAILS);
    int64_t size = flat_number(w->f, pp_flat_refer(w->f, field, FIELD_DETAILS), 0, 4, 0);
    c->kind = PP_COLUMN_OTHER;
    pp_column_set_type(c, "list of ", of > 0 && of < TYPES ? types[of].name : "something else");
    if (!child || of <= 0 || of >= TYPES || types[of].shape != PLAIN || of == BOOL ||
        pp_flat_refer(w->f, child, FIELD_DICTIONARY) || !set_number(w, details, of, c))
        return;
    pp_column_set_type(c, "list of ", NULL);
    c->kind = PP_COLUMN_NUMBERS;
    l->offsets = type == FIXED_LIST ? 0 : w->s->buffers + 1;
    l->offset_width = type == LARGE_LIST ? 8 : 4;
    l->element_node = w->s->nodes + 1;
    l->element_validity = w->s->buffers + types[type].buffers;
    l->data = l->element_validity + 1;
    if (type == FIXED_LIST) {
        w->bad |= size <= 0;
        l->fixed = (uint32_t)size;
    }
}

static void add_leaf(struct walk *w, const struct level *own, size_t field, int type)
{
    const char *name = types[type].name;
    enum shape shape = types[type].shape;
    struct pp_column *c = pp_table_add_column(w->t, own->name);
    if (!c) {
        w->no_memory = 1;
        return;
    }
    struct pp_arrow_leaf *l = &w->s->leaf[w->t->columns - 1];
    *l = (struct pp_arrow_leaf){.levels = own->levels};
    memcpy(l->node, own->node, sizeof(l->node));
    memcpy(l->validity, own->validity, sizeof(l->validity));
    size_t details = pp_flat_refer(w->f, field, FIELD_DETAILS);
    uint32_t first = w->s->buffers; /* its validity; then what the type has */
    if (pp_flat_refer(w->f, field, FIELD_DICTIONARY)) {
        pp_column_set_type(c, "", "dictionary-encoded");
        c->kind = PP_COLUMN_OTHER;
    } else if (shape == LISTS) {
        set_list(w, field, type, c, l);
    } else if (shape == PLAIN && set_number(w, details, type, c)) {
        l->data = first + 1;
        l->is_bits = type == BOOL;
        pp_column_set_type(c, "", NULL);
    } else if (shape == BYTES) {
        c->kind = PP_COLUMN_BYTES;
        c->is_text = type == UTF8 || type == LARGE_UTF8;
        l->offset_width = type == LARGE_BINARY || type == LARGE_UTF8 ? 8 : 4;
        l->offsets = type == FIXED_BINARY ? 0 : first + 1;
        l->data = type == FIXED_BINARY ? first + 1 : first + 2;
        if (type == FIXED_BINARY) {
            int64_t width = flat_number(w->f, details, 0, 4, 0);
            w->bad |= width <= 0;
            l->fixed = (uint32_t)width;
        }
        pp_column_set_type(c, "", name);
    } else {
        c->kind = PP_COLUMN_OTHER;
        pp_column_set_type(c, "", shape == PLAIN ? "number of an odd width" : name);
    }
    count_field(w, field, 1);
}

static void walk_field(struct walk *w, const struct level *up, size_t field, int depth)
{
    const struct pp_flat *f = w->f;
    int type = (int)(uint8_t)flat_number(f, field, FIELD_TYPE, 1, 0);
    struct level own = *up;
    if (!field || depth >= PP_ARROW_DEPTH || w->s->nodes > MOST_NODES) {
        w->bad = 1;
        return;
    }
    if (type <= 0 || type >= TYPES || type == UNION) {
        w->no = type == UNION ? "unions" : "views";
        return;
    }
    size_t first, n = pp_flat_vector(f, pp_flat_refer(f, field, FIELD_NAME), 1, &first), at = 0;
    if (up->name[0])
        at = (size_t)snprintf(own.name, sizeof(own.name), "%s.", up->name);
    for (size_t i = 0; i < n && at + 1 < sizeof(own.name); i++)
        own.name[at++] = (char)(f->bytes[first + i] ? f->bytes[first + i] : '?');
    own.name[at < sizeof(own.name) ? at : sizeof(own.name) - 1] = '\0';
    own.node[own.levels] = w->s->nodes;
    own.validity[own.levels++] = w->s->buffers;
    if (types[type].shape != STRUCTS || pp_flat_refer(f, field, FIELD_DICTIONARY)) {
        add_leaf(w, &own, field, type);
        return;
    }
    w->s->nodes++;
    w->s->buffers += types[type].buffers;
    n = pp_flat_vector(f, pp_flat_refer(f, field, FIELD_CHILDREN), 4, &first);
    for (size_t i = 0; i < n && !w->bad && !w->no_memory && !w->no; i++)
        walk_field(w, &own, pp_flat_follow(f, first + i * 4), depth + 1);
}

pp_status pp_arrow_schema(const struct pp_flat *f, size_t header, struct pp_table *t,
                          struct pp_arrow_schema *s, struct pp_err *err)
{
    struct walk w = {.f = f, .t = t, .s = s};
    const struct level top = {.name = ""};
    size_t first, n = pp_flat_vector(f, pp_flat_refer(f, header, 1), 4, &first);
    s->leaf = calloc(PP_TABLE_COLUMNS, sizeof(*s->leaf));
    if (!s->leaf)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the schema of %s", t->place.path);
    if (flat_number(f, header, 0, 2, 0) != 0)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s was written by a big-endian machine, which is not read",
                       t->place.path);
    for (size_t i = 0; i < n && !w.bad && !w.no_memory && !w.no; i++)
        walk_field(&w, &top, pp_flat_follow(f, first + i * 4), 0);
    if (w.no)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s holds %s, which are not read: record your own loader with 'pipeprobe exec -- python "
            "train.py'",
            t->place.path, w.no);
    if (w.no_memory)
        return pp_fail(err, t->columns == PP_TABLE_COLUMNS ? PP_E_UNSUPPORTED : PP_E_NO_MEMORY,
                       "%s has more columns than are read, or there is no memory for them", t->place.path);
    if (w.bad || t->columns == 0)
        return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its schema is not whole", t->place.path);
    return PP_OK;
}

/* ---- batches ---- */

enum { BATCH_ROWS = 0, BATCH_NODES = 1, BATCH_BUFFERS = 2, BATCH_COMPRESSION = 3, PAIR = 16 };

int64_t pp_arrow_rows(const struct pp_flat *f, size_t header, int *packed)
{
    int64_t rows = flat_number(f, header, BATCH_ROWS, 8, 0);
    *packed = pp_flat_refer(f, header, BATCH_COMPRESSION) != 0;
    return rows >= 0 && rows <= (int64_t)1 << 40 ? rows : -1;
}

struct batch {
    const struct pp_flat *f;
    size_t nodes, buffers; /* place of the first */
    size_t n_nodes, n_buffers;
    uint64_t body;
    int bad;
};

static struct pp_arrow_part part_of(struct batch *b, uint32_t buffer)
{
    if (buffer >= b->n_buffers) {
        b->bad = 1;
        return (struct pp_arrow_part){0, 0};
    }
    int64_t at = pp_flat_read(b->f, b->buffers + (size_t)buffer * PAIR, 8),
            size = pp_flat_read(b->f, b->buffers + (size_t)buffer * PAIR + 8, 8);
    b->bad |= at < 0 || size < 0 || (uint64_t)at > b->body || (uint64_t)size > b->body - (uint64_t)at;
    return (struct pp_arrow_part){(uint64_t)at, (uint64_t)size};
}

/* Length and nulls. */
static uint64_t node_of(struct batch *b, uint32_t node, uint64_t *nulls)
{
    if (node >= b->n_nodes) {
        b->bad = 1;
        return 0;
    }
    int64_t rows = pp_flat_read(b->f, b->nodes + (size_t)node * PAIR, 8),
            null = pp_flat_read(b->f, b->nodes + (size_t)node * PAIR + 8, 8);
    b->bad |= rows < 0 || rows > (int64_t)1 << 40;
    *nulls = (uint64_t)null;
    return (uint64_t)rows;
}

/* Bits of so many rows; none where nothing is null. */
static struct pp_arrow_part validity_of(struct batch *b, uint32_t node, uint32_t buffer, uint64_t least)
{
    uint64_t nulls = 0, rows = node_of(b, node, &nulls);
    struct pp_arrow_part p = part_of(b, buffer);
    if (nulls == 0)
        return (struct pp_arrow_part){0, 0};
    b->bad |= rows < least || p.size < (rows + 7) / 8;
    return p;
}

int pp_arrow_place(const struct pp_flat *f, size_t header, uint64_t body, const struct pp_arrow_schema *s,
                   const struct pp_arrow_leaf *leaf, struct pp_arrow_place *out)
{
    struct batch b = {.f = f, .body = body};
    int packed;
    uint64_t rows = (uint64_t)pp_arrow_rows(f, header, &packed), nulls, each;
    b.n_nodes = pp_flat_vector(f, pp_flat_refer(f, header, BATCH_NODES), PAIR, &b.nodes);
    b.n_buffers = pp_flat_vector(f, pp_flat_refer(f, header, BATCH_BUFFERS), PAIR, &b.buffers);
    *out = (struct pp_arrow_place){0};
    if (b.n_nodes != s->nodes || b.n_buffers != s->buffers)
        return -1;
    for (uint32_t i = 0; i < leaf->levels; i++)
        out->validity[i] = validity_of(&b, leaf->node[i], leaf->validity[i], rows);
    out->data = part_of(&b, leaf->data);
    if (leaf->offsets) {
        out->offsets = part_of(&b, leaf->offsets);
        each = leaf->offset_width;
        b.bad |= rows > 0 && out->offsets.size / each < rows + 1;
    }
    if (leaf->element_node) {
        out->elements = node_of(&b, leaf->element_node, &nulls);
        out->element_validity = validity_of(&b, leaf->element_node, leaf->element_validity, 0);
        b.bad |= leaf->fixed && out->elements / leaf->fixed < rows;
    }
    return b.bad ? -1 : 0;
}
