#include "probe/dataset/token_layout.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"

#include <ctype.h>

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

enum { HEADER = 34, SIZE_BYTES = 4, OFFSET_BYTES = 8 };

static const char megatron_magic[PP_MEGATRON_MAGIC] = "MMIDIDX\0";

/* DType of Megatron-LM, from 1 on; bytes 0: not tokens that a batch holds. */
static const struct {
    const char *name;
    int bytes;
} types[] = {{"", 0},      {"uint8", 0},   {"int8", 0},    {"int16", 2}, {"int32", 4},
             {"int64", 0}, {"float64", 0}, {"float32", 0}, {"uint16", 2}};
enum { TYPES = sizeof(types) / sizeof(*types) };

int pp_is_megatron_index(const uint8_t *head, size_t size)
{
    return size >= sizeof(megatron_magic) && memcmp(head, megatron_magic, sizeof(megatron_magic)) == 0;
}

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
static pp_status check_pieces(const struct pp_object *o, const char *idx, const char *bin, uint64_t bin_size,
                              const struct pp_megatron *m, struct pp_err *err)
{
    uint64_t n = m->sequences, offsets = HEADER + n * SIZE_BYTES, first, last, size;
    pp_status st = read_number(o, idx, offsets, OFFSET_BYTES, &first);
    if (st == PP_OK)
        st = read_number(o, idx, offsets + (n - 1) * OFFSET_BYTES, OFFSET_BYTES, &last);
    if (st == PP_OK)
        st = read_number(o, idx, HEADER + (n - 1) * SIZE_BYTES, SIZE_BYTES, &size);
    if (st != PP_OK)
        return pp_fail(err, st, "cannot read %s: it is truncated, or its disk failed", idx);
    uint64_t end = last + size * (unsigned)m->token_bytes;
    if (first == 0 && last <= bin_size && end == bin_size)
        return PP_OK;
    return pp_fail(
        err, PP_E_CORRUPT,
        "%s holds %llu bytes, and its index %s ends at byte %llu: one of the two is truncated, or they belong to different data sets",
        bin, (unsigned long long)bin_size, idx, (unsigned long long)end);
}

pp_status pp_megatron_read(const struct pp_storage *storage, const char *idx, const char *bin,
                           uint64_t bin_size, struct pp_megatron *out, struct pp_err *err)
{
    const struct pp_open how = {.name = idx, .attempt = "open the token index"};
    struct pp_object o = {0};
    struct pp_place_info info;
    uint8_t head[HEADER];
    struct pp_read r = {.name = idx, .size = HEADER, .buf = head, .cap = HEADER};
    *out = (struct pp_megatron){0};
    pp_status st = pp_storage_stat(storage, NULL, idx, how.attempt, &info, err);
    if (st == PP_OK)
        st = pp_storage_open(storage, &how, &o, err);
    if (st == PP_OK)
        st = pp_object_read_at(&o, &r, err);
    if (st != PP_OK)
        goto out;
    if (!pp_is_megatron_index(r.data, r.got)) {
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
    out->token_bytes = types[type].bytes;
    out->tokens = bin_size / (unsigned)out->token_bytes;
    out->sequences = pp_le64(r.data + 18);
    uint64_t documents = pp_le64(r.data + 26), room = (info.size - HEADER) / SIZE_BYTES;
    if (out->sequences == 0)
        st = pp_fail(err, PP_E_EMPTY, "%s lists no sequence", idx);
    else if (out->sequences > room || documents > room ||
             HEADER + out->sequences * (SIZE_BYTES + OFFSET_BYTES) + documents * OFFSET_BYTES > info.size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: %llu bytes cannot hold its %llu sequences", idx,
                     (unsigned long long)info.size, (unsigned long long)out->sequences);
    else
        st = check_pieces(&o, idx, bin, bin_size, out, err);
out:
    pp_object_close(&o);
    return st;
}
