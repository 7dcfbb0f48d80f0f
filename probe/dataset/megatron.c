#include "probe/dataset/megatron.h"
#include "probe/base/err.h"

#include <string.h>

enum { HEADER = 34, SIZE_BYTES = 4, OFFSET_BYTES = 8 };

static const char magic[PP_MEGATRON_MAGIC] = "MMIDIDX\0";

/* DType of Megatron-LM, from 1 on; bytes 0: not tokens that a batch holds. */
static const struct {
    const char *name;
    int bytes;
} types[] = {{"", 0},      {"uint8", 0},   {"int8", 0},    {"int16", 2}, {"int32", 4},
             {"int64", 0}, {"float64", 0}, {"float32", 0}, {"uint16", 2}};
enum { TYPES = sizeof(types) / sizeof(*types) };

static uint64_t little(const uint8_t *at, size_t n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | at[n];
    return v;
}

int pp_is_megatron_index(const uint8_t *head, size_t size)
{
    return size >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

static pp_status read_number(const struct pp_object *o, const char *name, uint64_t at, size_t n,
                             uint64_t *out)
{
    uint8_t bytes[8];
    struct pp_read r = {.name = name, .offset = at, .size = n, .buf = bytes, .cap = sizeof(bytes)};
    pp_status st = pp_object_read_at(o, &r, NULL);
    if (st == PP_OK && r.got < n)
        st = PP_E_CORRUPT;
    *out = st == PP_OK ? little(r.data, n) : 0;
    return st;
}

static pp_status check_header(const uint8_t *head, size_t got, const char *idx, struct pp_err *err)
{
    if (!pp_is_megatron_index(head, got))
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is not an index of Megatron-LM", idx);
    if (got < HEADER)
        return pp_fail(err, PP_E_CORRUPT, "%s is truncated at byte %zu", idx, got);
    if (little(head + 9, 8) != 1)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s has version %llu: version 1 is read", idx,
                       (unsigned long long)little(head + 9, 8));
    uint8_t type = head[17];
    if (type >= TYPES || types[type].bytes == 0)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s says that its tokens are %s (type %u): those of 2 or 4 bytes are read (uint16, int16, int32)",
            idx, type > 0 && type < TYPES ? types[type].name : "of an unknown type", type);
    return PP_OK;
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
    struct pp_object o = {0};
    struct pp_place_info info;
    uint8_t head[HEADER];
    struct pp_read r = {.name = idx, .size = HEADER, .buf = head, .cap = HEADER};
    *out = (struct pp_megatron){0};
    pp_status st = pp_storage_stat(storage, NULL, idx, "open the token index", &info, err);
    if (st == PP_OK)
        st = pp_storage_open(storage, &(struct pp_open){.name = idx, .attempt = "open the token index"}, &o,
                             err);
    if (st == PP_OK)
        st = pp_object_read_at(&o, &r, err);
    if (st == PP_OK)
        st = check_header(r.data, r.got, idx, err);
    if (st != PP_OK)
        goto out;
    out->token_bytes = types[r.data[17]].bytes;
    out->tokens = bin_size / (unsigned)out->token_bytes;
    out->sequences = little(r.data + 18, 8);
    uint64_t documents = little(r.data + 26, 8), room = (info.size - HEADER) / SIZE_BYTES;
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
