/* Token files: a flat array (.bin, .npy; a .bin with the index of Megatron-LM beside it says its own type) of
 * token ids, borrowed from the storage where it maps them. Sample i is window tokens from position i *
 * (window - 1): windows overlap by one token, so that every token but the first is once a target of
 * next-token prediction. The tail shorter than a window is left out. */
#include "probe/dataset/dataset_tokens.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"

#include <ctype.h>
#include <malloc.h>

enum { DEFAULT_WINDOW = 1025 /* 1024 and the next token */ };

struct tokens {
    struct pp_dataset base;
    char *path;
    struct pp_object file;
    uint64_t file_size;
    int borrows; /* samples point into the storage's memory */
    uint64_t data_offset, count, window, stride;
    int token_bytes;
    uint64_t sequences; /* of a Megatron index; 0: there is none */
};

static uint64_t offset_of(const struct tokens *t, uint64_t index)
{
    return t->data_offset + index * t->stride * (unsigned)t->token_bytes;
}

static pp_status tokens_read(const struct pp_dataset *d, uint64_t index,
                             const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct tokens *t = (const struct tokens *)d;
    struct pp_read r = {.name = t->path,
                        .context = context,
                        .offset = offset_of(t, index),
                        .size = t->window * (size_t)t->token_bytes};
    pp_status st = PP_OK;
    if (t->borrows) {
        st = pp_object_borrow(&t->file, &r, err);
    } else {
        st = pp_sample_reserve(s, r.size, t->path, err);
        r.buf = s->buf;
        r.cap = s->cap;
        if (st == PP_OK)
            st = pp_object_read_at(&t->file, &r, err);
    }
    if (st == PP_OK && r.got < r.size)
        st = pp_fail(err, PP_E_IO, "cannot read %s at byte %llu: the file was truncated or its disk failed",
                     t->path, (unsigned long long)r.offset);
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    s->data = r.data;
    s->size = st == PP_OK ? r.size : 0;
    return st;
}

static void tokens_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct tokens *t = (const struct tokens *)d;
    snprintf(buf, size, "%s@%llu", t->path, (unsigned long long)offset_of(t, index));
}

static void tokens_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct tokens *t = (const struct tokens *)d;
    char tokens[32], windows[32];
    pp_text_count(tokens, sizeof(tokens), (double)t->count);
    pp_text_count(windows, sizeof(windows), (double)d->len);
    int n = snprintf(buf, size, "token file, %s tokens of %d bytes in %s windows of %llu", tokens,
                     t->token_bytes, windows, (unsigned long long)t->window);
    if (t->sequences && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, ", Megatron index of %s",
                 pp_text_counted(tokens, sizeof(tokens), (double)t->sequences, "sequence", "sequences"));
}

static uint64_t tokens_footprint(const struct pp_dataset *d)
{
    return sizeof(struct tokens) + malloc_usable_size(((const struct tokens *)d)->path);
}

static void tokens_close(struct pp_dataset *d)
{
    struct tokens *t = (struct tokens *)d;
    pp_object_close(&t->file);
    free(t->path);
}

static const struct pp_dataset_ops tokens_ops = {
    .read = tokens_read,
    .path = tokens_path,
    .describe = tokens_describe,
    .footprint = tokens_footprint,
    .close = tokens_close,
};

/* ---- .npy ---- */

/* A header is a dictionary of Python as text: {'descr': '<u2', 'fortran_order': False, 'shape': (9,)} */
struct text {
    const char *at, *end;
};

static void skip_space(struct text *t)
{
    while (t->at < t->end && isspace((unsigned char)*t->at))
        t->at++;
}

/* 1 and past it when the next character is c. */
static int take(struct text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return 0;
    t->at += n;
    return 1;
}

/* A quoted string without escapes; what does not fit into buf is no value we know, so it is refused. */
static int take_string(struct text *t, char *buf, size_t size)
{
    skip_space(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return 0;
    char quote = *t->at++;
    size_t n = 0;
    for (; t->at < t->end && *t->at != quote; t->at++) {
        if (n + 1 == size)
            return 0;
        buf[n++] = *t->at;
    }
    buf[n] = '\0';
    return take(t, quote);
}

struct header {
    char descr[32];
    int has_descr, fortran, has_order;
    uint64_t shape[2]; /* of the first two dimensions */
    unsigned dims;
    int has_shape;
};

static int take_shape(struct text *t, struct header *h)
{
    if (!take(t, '('))
        return 0;
    while (!take(t, ')')) {
        uint64_t n = 0;
        skip_space(t);
        if (t->at == t->end || !isdigit((unsigned char)*t->at))
            return 0;
        for (; t->at < t->end && isdigit((unsigned char)*t->at); t->at++)
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*t->at - '0'), &n))
                return 0;
        if (h->dims < 2)
            h->shape[h->dims] = n;
        if (h->dims < 64)
            h->dims++;
        if (!take(t, ',')) {
            if (!take(t, ')'))
                return 0;
            break;
        }
    }
    return h->has_shape = 1;
}

static int take_dictionary(struct text *t, struct header *h)
{
    char key[32];
    *h = (struct header){0};
    if (!take(t, '{'))
        return 0;
    while (!take(t, '}')) {
        if (!take_string(t, key, sizeof(key)) || !take(t, ':'))
            return 0;
        if (strcmp(key, "descr") == 0) {
            skip_space(t);
            if (t->at < t->end &&
                *t->at == '[') { /* a list of fields: never one of ours, so nothing more is read */
                snprintf(h->descr, sizeof(h->descr), "struct");
                return 1;
            }
            h->has_descr = take_string(t, h->descr, sizeof(h->descr));
            if (!h->has_descr)
                return 0;
        } else if (strcmp(key, "fortran_order") == 0) {
            h->fortran = take_word(t, "True");
            h->has_order = h->fortran || take_word(t, "False");
            if (!h->has_order)
                return 0;
        } else if (strcmp(key, "shape") != 0 || !take_shape(t, h)) {
            return 0;
        }
        if (!take(t, ',')) {
            if (!take(t, '}'))
                return 0;
            break;
        }
    }
    return h->has_descr && h->has_order && h->has_shape;
}

pp_status pp_npy_parse(const uint8_t *data, size_t size, uint64_t file_size, const char *name,
                       struct pp_npy *out, struct pp_err *err)
{
    /* numpy always writes the byte order, so "=u2" and "u2" do not occur */
    static const struct {
        const char *descr;
        int bytes;
    } items[] = {{"<u2", 2}, {"<u4", 4}, {"<i4", 4}};
    struct header h;
    *out = (struct pp_npy){0};
    if (size < 6 || memcmp(data, "\x93NUMPY", 6) != 0)
        return pp_fail(err, PP_E_CORRUPT, "%s is not an .npy file: it does not begin with \\x93NUMPY", name);
    if (size < 12)
        return pp_fail(err, PP_E_CORRUPT, "%s ends inside its .npy header", name);
    if (data[6] < 1 || data[6] > 3)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s has .npy format version %d; 1 to 3 are known", name,
                       data[6]);
    /* Version 1 gives the header's length in 2 bytes, later ones in 4. */
    uint64_t length = data[8] | (uint64_t)data[9] << 8, start = 10;
    if (data[6] > 1) {
        length |= (uint64_t)data[10] << 16 | (uint64_t)data[11] << 24;
        start = 12;
    }
    out->data_offset = start + length;
    if (out->data_offset > file_size)
        return pp_fail(err, PP_E_CORRUPT, "%s ends inside its .npy header", name);
    if (out->data_offset > size)
        return pp_fail(err, PP_E_UNSUPPORTED, "the .npy header of %s is %llu bytes long; up to %zu are read",
                       name, (unsigned long long)length, size);
    struct text t = {.at = (const char *)data + start, .end = (const char *)data + out->data_offset};
    if (!take_dictionary(&t, &h))
        return pp_fail(
            err, PP_E_CORRUPT,
            "the .npy header of %s is damaged: it is not a dictionary of descr, fortran_order and shape",
            name);
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
        if (strcmp(h.descr, items[i].descr) == 0)
            out->item_bytes = items[i].bytes;
    if (!out->item_bytes)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s holds items of type %s; tokens are little-endian uint16, uint32 or int32 (<u2, <u4, <i4): save it with "
            "astype('uint16') or astype('uint32')",
            name, h.descr);
    /* A one-dimensional array is the same in both orders; numpy writes False for it, others may not. */
    if (h.dims != 1 && h.fortran)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s is stored in Fortran order; save it flat, with numpy.save(file, array.ravel())",
                       name);
    if (h.dims != 1)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s has %u dimensions; tokens are one flat array: save array.ravel()", name, h.dims);
    out->items = h.shape[0];
    uint64_t held = (file_size - out->data_offset) / (unsigned)out->item_bytes;
    if (out->items > held)
        return pp_fail(
            err, PP_E_CORRUPT,
            "the header of %s claims %llu tokens of %d bytes, but the file holds %llu: it is truncated or still being written",
            name, (unsigned long long)out->items, out->item_bytes, (unsigned long long)held);
    return PP_OK;
}

/* ---- Megatron-LM ---- */

/* The index: "MMIDIDX\0\0", u64 version 1, u8 type, u64 sequences, u64 documents, i32 size of each sequence
 * in tokens, i64 offset of each in the .bin, i64 first sequence of each document
 * (megatron/core/datasets/indexed_dataset.py); all little-endian. */
enum { MAGIC = 9, HEADER = 34, SIZE_BYTES = 4, OFFSET_BYTES = 8 };
static const char megatron_magic[MAGIC] = "MMIDIDX\0";

/* DType of Megatron-LM, from 1 on; bytes 0: not tokens that a batch holds. */
static const struct {
    const char *name;
    int bytes;
} types[] = {{"", 0},      {"uint8", 0},   {"int8", 0},    {"int16", 2}, {"int32", 4},
             {"int64", 0}, {"float64", 0}, {"float32", 0}, {"uint16", 2}};
enum { TYPES = sizeof(types) / sizeof(*types) };

static pp_status read_number(const struct pp_object *o, const char *name, uint64_t at, size_t n,
                             uint64_t *out)
{
    uint8_t bytes[8] = {0};
    struct pp_read r = {.name = name, .offset = at, .size = n, .buf = bytes, .cap = sizeof(bytes)};
    pp_status st = pp_object_read_at(o, &r, NULL);
    *out = pp_le64(bytes);
    return st == PP_OK && r.got < n ? PP_E_CORRUPT : st;
}

/* The tokens lie in one piece from byte 0 of the .bin to its end. */
static pp_status check_pieces(const struct tokens *t, const struct pp_object *o, const char *idx,
                              struct pp_err *err)
{
    uint64_t n = t->sequences, offsets = HEADER + n * SIZE_BYTES, first, last, size;
    pp_status st = read_number(o, idx, offsets, OFFSET_BYTES, &first);
    if (st == PP_OK)
        st = read_number(o, idx, offsets + (n - 1) * OFFSET_BYTES, OFFSET_BYTES, &last);
    if (st == PP_OK)
        st = read_number(o, idx, HEADER + (n - 1) * SIZE_BYTES, SIZE_BYTES, &size);
    if (st != PP_OK)
        return pp_fail(err, st, "cannot read %s: it is truncated, or its disk failed", idx);
    uint64_t end = last + size * (unsigned)t->token_bytes;
    if (first == 0 && last <= t->file_size && end == t->file_size)
        return PP_OK;
    return pp_fail(
        err, PP_E_CORRUPT,
        "%s holds %llu bytes, and its index %s ends at byte %llu: one of the two is truncated, or they belong to different data sets",
        t->path, (unsigned long long)t->file_size, idx, (unsigned long long)end);
}

/* PP_E_UNSUPPORTED: of a version or type of token that is not read. PP_E_CORRUPT: it does not fit the tokens.
 * Of the offsets the first and the last are verified. */
static pp_status read_megatron(struct tokens *t, const struct pp_storage *storage, const char *idx,
                               struct pp_err *err)
{
    const struct pp_open how = {.name = idx, .attempt = "open the token index"};
    struct pp_object o = {0};
    struct pp_place_info info;
    uint8_t head[HEADER];
    struct pp_read r = {.name = idx, .size = HEADER, .buf = head, .cap = HEADER};
    pp_status st = pp_storage_stat(storage, NULL, idx, how.attempt, &info, err);
    if (st == PP_OK)
        st = pp_storage_open(storage, &how, &o, err);
    if (st == PP_OK)
        st = pp_object_read_at(&o, &r, err);
    if (st != PP_OK)
        goto out;
    if (r.got < MAGIC || memcmp(r.data, megatron_magic, MAGIC) != 0) {
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s is not an index of Megatron-LM", idx);
        goto out;
    }
    if (r.got < HEADER) {
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated at byte %zu", idx, r.got);
        goto out;
    }
    unsigned long long version = (unsigned long long)pp_le64(r.data + 9);
    uint8_t type = r.data[17];
    if (version != 1) {
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s has version %llu: version 1 is read", idx, version);
        goto out;
    }
    if (type >= TYPES || types[type].bytes == 0) {
        st = pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s says that its tokens are %s (type %u): those of 2 or 4 bytes are read (uint16, int16, int32)",
            idx, type > 0 && type < TYPES ? types[type].name : "of an unknown type", type);
        goto out;
    }
    t->token_bytes = types[type].bytes;
    t->count = t->file_size / (unsigned)t->token_bytes;
    t->sequences = pp_le64(r.data + 18);
    uint64_t documents = pp_le64(r.data + 26), room = (info.size - HEADER) / SIZE_BYTES;
    if (t->sequences == 0)
        st = pp_fail(err, PP_E_EMPTY, "%s lists no sequence", idx);
    else if (t->sequences > room || documents > room ||
             HEADER + t->sequences * (SIZE_BYTES + OFFSET_BYTES) + documents * OFFSET_BYTES > info.size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: %llu bytes cannot hold its %llu sequences", idx,
                     (unsigned long long)info.size, (unsigned long long)t->sequences);
    else
        st = check_pieces(t, &o, idx, err);
out:
    pp_object_close(&o);
    return st;
}

/* ---- open ---- */

/* The spec with another ending in place of its .bin or .idx, or behind it; the caller frees. */
static char *with_ending(const char *spec, const char *ending)
{
    char *path;
    size_t n = strlen(spec);
    if (pp_has_suffix(spec, ".bin .idx"))
        n -= 4;
    return asprintf(&path, "%.*s%s", (int)n, spec, ending) < 0 ? NULL : path;
}

/* Where the tokens lie, and how many: by a .npy's header, a .idx, or the file's size. */
static pp_status lay_out(struct tokens *t, const struct pp_storage *storage, int token_bytes,
                         struct pp_err *err)
{
    pp_status st;
    if (pp_has_suffix(t->path, ".npy")) {
        struct pp_npy npy;
        uint8_t *head = malloc(PP_NPY_HEAD);
        if (!head)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", t->path);
        struct pp_read r = {.name = t->path, .size = PP_NPY_HEAD, .buf = head, .cap = PP_NPY_HEAD};
        st = pp_object_read_at(&t->file, &r, err);
        if (st == PP_OK)
            st = pp_npy_parse(head, r.got, t->file_size, t->path, &npy, err);
        free(head);
        if (st != PP_OK)
            return st;
        t->data_offset = npy.data_offset;
        t->count = npy.items;
        t->token_bytes = npy.item_bytes;
        return PP_OK;
    }
    /* NAME.idx beside NAME.bin, unless it is another program's file of that name. */
    uint8_t head[MAGIC];
    char *idx = with_ending(t->path, ".idx");
    if (!idx)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", t->path);
    if (pp_read_head(storage, NULL, idx, head, MAGIC) == MAGIC && memcmp(head, megatron_magic, MAGIC) == 0) {
        st = read_megatron(t, storage, idx, err);
        if (st == PP_OK && token_bytes && token_bytes != t->token_bytes)
            st = pp_fail(err, PP_E_USAGE, "--token-bytes %d: %s says that its tokens have %d bytes",
                         token_bytes, idx, t->token_bytes);
        free(idx);
        return st;
    }
    free(idx);
    t->token_bytes = token_bytes ? token_bytes : 2;
    if (t->token_bytes != 2 && t->token_bytes != 4)
        return pp_fail(err, PP_E_USAGE,
                       "tokens of %d bytes are not supported: a token has 2 (uint16) or 4 (uint32) bytes",
                       t->token_bytes);
    t->count = t->file_size / (unsigned)t->token_bytes;
    unsigned left = (unsigned)(t->file_size % (unsigned)t->token_bytes);
    if (left)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s has %llu bytes, %u more than a whole number of %d-byte tokens: it is truncated, or its tokens have another size",
            t->path, (unsigned long long)t->file_size, left, t->token_bytes);
    return PP_OK;
}

static pp_status tokens_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    const struct pp_tokens_opts *o = &place->options->tokens;
    uint64_t window_bytes;
    struct pp_place_info info = {0};
    struct tokens *t = calloc(1, sizeof(*t));
    /* Megatron-LM's own tools take the name without an ending. */
    if (t)
        t->path = pp_has_suffix(place->spec, ".npy .bin") ? strdup(place->spec)
                                                          : with_ending(place->spec, ".bin");
    if (!t || !t->path) {
        free(t);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    }
    t->base.ops = &tokens_ops;
    t->base.content = PP_CONTENT_TOKENS;
    *out = &t->base;
    t->window = o->window ? (uint64_t)o->window : DEFAULT_WINDOW;
    t->stride = t->window > 1 ? t->window - 1 : 1;
    const struct pp_open how = {.name = t->path, .how = PP_OPEN_BORROW, .attempt = "open the token file"};
    pp_status st = pp_storage_open(place->storage, &how, &t->file, err);
    if (st == PP_OK)
        st = pp_object_info(&t->file, t->path, &info, err);
    if (st == PP_OK && (info.kind != PP_PLACE_OBJECT || info.size == 0))
        st = pp_fail(err, info.size == 0 ? PP_E_EMPTY : PP_E_UNSUPPORTED, "the token file %s %s", t->path,
                     info.kind == PP_PLACE_OBJECT ? "has 0 bytes" : "is not a regular file");
    else if (st == PP_OK && info.size == PP_SIZE_UNKNOWN)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the token file %s does not say its size", t->path);
    t->file_size = info.size;
    t->borrows = (pp_storage_flags(place->storage) & PP_STORAGE_BORROWS) != 0;
    if (st == PP_OK)
        st = lay_out(t, place->storage, (int)o->token_bytes, err);
    if (st == PP_OK &&
        (__builtin_mul_overflow(t->window, (uint64_t)t->token_bytes, &window_bytes) || t->count < t->window))
        st = pp_fail(err, PP_E_EMPTY, "%s holds %llu tokens, fewer than one window of %llu", t->path,
                     (unsigned long long)t->count, (unsigned long long)t->window);
    if (st == PP_OK)
        t->base.len = (t->count - t->window) / t->stride + 1;
    return st;
}

static int tokens_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    struct pp_place_info info;
    if (place->info.kind == PP_PLACE_DIRECTORY)
        return 0;
    if (pp_has_suffix(place->spec, ".bin .npy"))
        return 80;
    /* NAME or NAME.idx for a pair of Megatron-LM's files. */
    char *idx = with_ending(place->spec, ".idx"), *bin = with_ending(place->spec, ".bin");
    int is = idx && bin && (place->info.kind == PP_PLACE_MISSING || pp_has_suffix(place->spec, ".idx")) &&
             pp_storage_stat(place->storage, NULL, idx, "stat", &info, NULL) == PP_OK &&
             pp_storage_stat(place->storage, NULL, bin, "stat", &info, NULL) == PP_OK;
    free(idx);
    free(bin);
    return is ? 80 : 0;
}

/* ---- options ---- */

static pp_status tokens_check(const struct pp_dataset_options *o, struct pp_err *err)
{
    if (o->tokens.token_bytes == 3)
        return pp_fail(err, PP_E_USAGE, "--token-bytes 3: tokens are 2 (uint16) or 4 (uint32) bytes");
    return PP_OK;
}

/* clang-format off */
static const struct pp_opt tokens_opts[] = {
    {.name = "window", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_dataset_options, tokens.window), .min = 2, .max = 1e9,
     .arg = "N", .dflt = "1025", .help = "tokens per sample (token files)"},
    {.name = "token-bytes", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_dataset_options, tokens.token_bytes), .min = 2, .max = 4,
     .arg = "2|4", .help = "bytes of a token in a .bin (default: 2, or its .idx)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_tokens = {
    .name = "tokens",
    .help = "a .bin or .npy file of tokens",
    .noun = "token files",
    .probe = tokens_probe,
    .open = tokens_open,
    .opts = tokens_opts,
    .check = tokens_check,
};
