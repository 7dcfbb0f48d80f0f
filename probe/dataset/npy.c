#include "probe/dataset/npy.h"
#include "probe/base/err.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The header is the text of a Python dictionary: {'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }
 */
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

static int take_uint(struct text *t, uint64_t *value)
{
    skip_space(t);
    const char *start = t->at;
    *value = 0;
    for (; t->at < t->end && isdigit((unsigned char)*t->at); t->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*t->at - '0'), value))
            return 0;
    return t->at > start;
}

struct header {
    char descr[32];
    int has_descr, structured, fortran, has_order;
    uint64_t shape[2]; /* of the first two dimensions */
    unsigned dims;
    int has_shape;
};

static int take_shape(struct text *t, struct header *h)
{
    if (!take(t, '('))
        return 0;
    while (!take(t, ')')) {
        uint64_t n;
        if (!take_uint(t, &n))
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

static int take_entry(struct text *t, struct header *h)
{
    char key[32];
    if (!take_string(t, key, sizeof(key)) || !take(t, ':'))
        return 0;
    if (strcmp(key, "descr") == 0) {
        skip_space(t);
        h->structured = t->at < t->end &&
                        *t->at == '['; /* a list of fields: never one of ours, so nothing more is read */
        if (h->structured) {
            snprintf(h->descr, sizeof(h->descr), "struct");
            return 1;
        }
        return h->has_descr = take_string(t, h->descr, sizeof(h->descr));
    }
    if (strcmp(key, "fortran_order") == 0) {
        h->fortran = take_word(t, "True");
        return h->has_order = h->fortran || take_word(t, "False");
    }
    return strcmp(key, "shape") == 0 && take_shape(t, h);
}

static int take_dictionary(struct text *t, struct header *h)
{
    *h = (struct header){0};
    if (!take(t, '{'))
        return 0;
    while (!take(t, '}')) {
        if (!take_entry(t, h))
            return 0;
        if (h->structured)
            return 1;
        if (!take(t, ',')) {
            if (!take(t, '}'))
                return 0;
            break;
        }
    }
    return h->has_descr && h->has_order && h->has_shape;
}

/* Bytes per item, or 0 for a type that holds no tokens. numpy always writes the byte order, so "=u2" and "u2"
 * do not occur. */
static int item_bytes(const char *descr)
{
    static const struct {
        const char *descr;
        int bytes;
    } types[] = {{"<u2", 2}, {"<u4", 4}, {"<i4", 4}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strcmp(descr, types[i].descr) == 0)
            return types[i].bytes;
    return 0;
}

static pp_status check(const struct header *h, uint64_t file_size, const char *name, struct pp_npy *out,
                       struct pp_err *err)
{
    out->item_bytes = item_bytes(h->descr);
    if (!out->item_bytes)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s holds items of type %s; tokens are little-endian uint16, uint32 or int32 (<u2, <u4, <i4): save it with "
            "astype('uint16') or astype('uint32')",
            name, h->descr);
    /* A one-dimensional array is the same in both orders; numpy writes False for it, others may not. */
    if (h->dims != 1 && h->fortran)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s is stored in Fortran order; save it flat, with numpy.save(file, array.ravel())",
                       name);
    if (h->dims != 1)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s has %u dimensions; tokens are one flat array: save array.ravel()", name, h->dims);
    out->items = h->shape[0];
    uint64_t held = (file_size - out->data_offset) / (unsigned)out->item_bytes;
    if (out->items > held)
        return pp_fail(
            err, PP_E_CORRUPT,
            "the header of %s claims %llu tokens of %d bytes, but the file holds %llu: it is truncated or still being written",
            name, (unsigned long long)out->items, out->item_bytes, (unsigned long long)held);
    return PP_OK;
}

pp_status pp_npy_parse(const uint8_t *data, size_t size, uint64_t file_size, const char *name,
                       struct pp_npy *out, struct pp_err *err)
{
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
    return check(&h, file_size, name, out, err);
}
