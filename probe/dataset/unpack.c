#include "probe/dataset/unpack.h"
#include "probe/base/allowance.h"

#include <zlib.h>
#include <zstd.h>

enum { GZIP_ONLY = 16 + MAX_WBITS, ZSTD_WINDOW_LOG = 27 };
enum { MEMBER_COSTS = 64 << 10 }; /* bytes, of a member that may be empty: it takes as long as so many */

/* What one step did. */
enum step { STEP_GOES_ON, STEP_ENDED /* a member or frame is whole */, STEP_DAMAGED, STEP_NO_MEMORY };

/* A compression. */
struct codec {
    const char *name;
    uint8_t magic[PP_UNPACK_HEAD];
    size_t magic_size;
    /* Works on u->in and gives what it could make; of a member, also behind another, where u is not inside of
     * one. */
    enum step (*step)(struct pp_unpack *u, uint8_t *buf, size_t size, size_t *made);
};

struct pp_unpack {
    const struct codec *codec;
    const struct pp_object *object;
    char *name;
    struct pp_read last;
    struct pp_allowance allowed; /* by what was read so far */
    uint64_t at;                 /* where the next block is read */
    size_t block;
    uint8_t *buf;
    const uint8_t *in; /* what of the block is left */
    size_t left;
    int inside, at_end; /* of a member; of the object */
    int damaged;        /* nothing more can be had */
    const char *why;    /* a library's words for that, or NULL */
    z_stream z;
    ZSTD_DCtx *zstd;
};

/* ---- gzip ---- */

static enum step gzip_step(struct pp_unpack *u, uint8_t *buf, size_t size, size_t *made)
{
    if (!u->inside && (u->z.state ? inflateReset(&u->z) : inflateInit2(&u->z, GZIP_ONLY)) != Z_OK)
        return STEP_NO_MEMORY;
    /* a block and a request are far below 4 GiB each */
    u->z.next_in = (Bytef *)(uintptr_t)u->in;
    u->z.avail_in = (uInt)u->left;
    u->z.next_out = buf;
    u->z.avail_out = (uInt)size;
    int r = inflate(&u->z, Z_NO_FLUSH);
    *made = size - u->z.avail_out;
    u->in = u->z.next_in;
    u->left = u->z.avail_in;
    u->why = u->z.msg;
    if (r == Z_STREAM_END)
        return STEP_ENDED;
    return r == Z_OK || r == Z_BUF_ERROR ? STEP_GOES_ON : r == Z_MEM_ERROR ? STEP_NO_MEMORY : STEP_DAMAGED;
}

/* ---- Zstandard ---- */

static enum step zstd_step(struct pp_unpack *u, uint8_t *buf, size_t size, size_t *made)
{
    ZSTD_inBuffer in = {.src = u->in, .size = u->left};
    ZSTD_outBuffer out = {.dst = buf, .size = size};
    size_t r = 0;
    if (!u->inside && u->zstd)
        r = ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
    else if (!u->inside && (u->zstd = ZSTD_createDCtx()))
        r = ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    if (!u->zstd || ZSTD_isError(r))
        return STEP_NO_MEMORY;
    r = ZSTD_decompressStream(u->zstd, &out, &in);
    *made = out.pos;
    u->in += in.pos;
    u->left -= in.pos;
    u->why = ZSTD_isError(r) ? ZSTD_getErrorName(r) : NULL;
    return r == 0 ? STEP_ENDED : ZSTD_isError(r) ? STEP_DAMAGED : STEP_GOES_ON;
}

static const struct codec codecs[] = {
    [PP_PACKED_GZIP] = {"gzip", {0x1f, 0x8b}, 2, gzip_step},
    [PP_PACKED_ZSTD] = {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_step},
};
enum { CODECS = sizeof(codecs) / sizeof(*codecs) };

enum pp_packed pp_packed_kind(const uint8_t *head, size_t size)
{
    for (int i = PP_PACKED_NOT + 1; i < CODECS; i++)
        if (size >= codecs[i].magic_size && memcmp(head, codecs[i].magic, codecs[i].magic_size) == 0)
            return (enum pp_packed)i;
    return PP_PACKED_NOT;
}

/* ---- the stream ---- */

pp_status pp_unpack_open(const struct pp_object *object, const char *name, enum pp_packed kind, size_t block,
                         struct pp_unpack **out, struct pp_err *err)
{
    struct pp_unpack *u = calloc(1, sizeof(*u));
    *out = NULL;
    if (!u || !(u->name = strdup(name)) || !(u->buf = malloc(block)))
        goto no_memory;
    u->object = object;
    u->block = block;
    u->codec = &codecs[kind];
    u->allowed = pp_allowance_of(PP_ALLOWED_PACKED, 0);
    *out = u;
    return PP_OK;
no_memory:
    pp_unpack_close(u);
    return pp_fail(err, PP_E_NO_MEMORY, "no memory to unpack %s", name);
}

static void set_input(struct pp_unpack *u, const struct pp_read *r)
{
    u->last = *r;
    u->at += r->got;
    u->allowed.left += r->got * pp_allowances[PP_ALLOWED_PACKED].times;
    u->in = r->data;
    u->left = r->got;
    u->at_end = r->got == 0;
}

void pp_unpack_take(struct pp_unpack *u, const struct pp_read *first, uint8_t **buf)
{
    uint8_t *own = u->buf;
    u->buf = *buf;
    *buf = own;
    set_input(u, first);
}

pp_status pp_unpack_read(struct pp_unpack *u, uint8_t *buf, size_t size, size_t *got, struct pp_err *err)
{
    *got = 0;
    while (*got == 0) {
        if (u->damaged)
            return pp_fail(err, PP_E_CORRUPT, "%s is damaged: its %s data do not unpack (%s)", u->name,
                           u->codec->name, u->why ? u->why : "no reason given");
        if (u->left == 0 && !u->at_end) {
            struct pp_read r = {
                .name = u->name, .offset = u->at, .size = u->block, .buf = u->buf, .cap = u->block};
            pp_status st = pp_object_read_at(u->object, &r, err);
            if (st != PP_OK)
                return st;
            set_input(u, &r);
        }
        /* Between two members zero bytes may stand (tar pads what it writes to a device), then another member
         * or the end. */
        while (!u->inside && u->left && *u->in == 0)
            u->in++, u->left--;
        if (!u->inside && u->left && *u->in != u->codec->magic[0] && u->codec == &codecs[PP_PACKED_GZIP])
            return pp_fail(err, PP_E_CORRUPT,
                           "%s is damaged at byte %llu: behind its %s data lies something else", u->name,
                           (unsigned long long)(u->at - u->left), u->codec->name);
        if (!u->inside && !u->left && u->at_end)
            return PP_OK;
        if (!u->inside && !u->left)
            continue;
        enum step did = u->codec->step(u, buf, size, got);
        if (did == STEP_NO_MEMORY)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory to unpack %s", u->name);
        u->inside = did != STEP_ENDED;
        u->damaged = did == STEP_DAMAGED; /* what came before it is given first */
        if (did == STEP_GOES_ON && u->at_end && *got == 0)
            return pp_fail(err, PP_E_CORRUPT, "%s is truncated at byte %llu: its %s data go on", u->name,
                           (unsigned long long)u->at, u->codec->name);
        if (!pp_allowance_take(&u->allowed, *got + (u->inside ? 0 : MEMBER_COSTS)))
            return pp_allowance_fail(&u->allowed, u->name, err);
    }
    return PP_OK;
}

const struct pp_read *pp_unpack_last(const struct pp_unpack *u)
{
    return &u->last;
}

void pp_unpack_close(struct pp_unpack *u)
{
    if (!u)
        return;
    inflateEnd(&u->z); /* both also of what has not begun */
    ZSTD_freeDCtx(u->zstd);
    free(u->buf);
    free(u->name);
    free(u);
}
