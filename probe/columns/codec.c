#include "probe/columns/codec.h"

#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <pthread.h>
#include <zlib.h>
#include <zstd.h>

/* Of snappy-c.h and lz4.h: plain C, and unchanged since their first versions. */
static struct {
    int (*uncompress)(const char *in, size_t in_size, char *out, size_t *out_size);
    int (*uncompressed_length)(const char *in, size_t in_size, size_t *out_size);
    int loaded;
} snappy;

static struct {
    int (*decompress_safe)(const char *in, char *out, int in_size, int out_size);
    int loaded;
} lz4;

static int unpack_snappy(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    size_t n = 0;
    if (snappy.uncompressed_length((const char *)in, in_size, &n) != 0 || n != out_size)
        return -1;
    return snappy.uncompress((const char *)in, in_size, (char *)out, &n) == 0 && n == out_size ? 0 : -1;
}

static int unpack_gzip(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    enum { ANY_HEAD = 32 + MAX_WBITS };
    z_stream z = {0};
    if (in_size > UINT_MAX || out_size > UINT_MAX || inflateInit2(&z, ANY_HEAD) != Z_OK)
        return -1;
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)in_size;
    z.next_out = out;
    z.avail_out = (uInt)out_size;
    int r = inflate(&z, Z_FINISH);
    int whole = r == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return whole ? 0 : -1;
}

static int unpack_zstd(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    size_t n = ZSTD_decompress(out, out_size, in, in_size);
    return !ZSTD_isError(n) && n == out_size ? 0 : -1;
}

static int unpack_lz4(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    if (in_size > INT_MAX || out_size > INT_MAX)
        return -1;
    return lz4.decompress_safe((const char *)in, (char *)out, (int)in_size, (int)out_size) == (int)out_size
               ? 0
               : -1;
}

static int unpack_hadoop(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    while (in_size > 8) {
        uint32_t made = pp_be32(in), packed = pp_be32(in + 4);
        if (packed == 0 || packed > in_size - 8 || made > out_size ||
            unpack_lz4(in + 8, packed, out, made) != 0)
            return -1;
        in += 8 + packed;
        in_size -= 8 + packed;
        out += made;
        out_size -= made;
    }
    return in_size == 0 && out_size == 0 ? 0 : -1;
}

static const struct {
    const char *name, *library, *package;
    const int *loaded;                                                               /* NULL: linked */
    int (*unpack)(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size); /* NULL: as it is */
} codecs[PP_CODECS] = {
    [PP_CODEC_NONE] = {"none", NULL, NULL, NULL, NULL},
    [PP_CODEC_SNAPPY] = {"Snappy", "libsnappy.so.1", "libsnappy1v5", &snappy.loaded, unpack_snappy},
    [PP_CODEC_GZIP] = {"gzip", NULL, NULL, NULL, unpack_gzip},
    [PP_CODEC_ZSTD] = {"Zstandard", NULL, NULL, NULL, unpack_zstd},
    [PP_CODEC_LZ4] = {"LZ4", "liblz4.so.1", "liblz4-1", &lz4.loaded, unpack_lz4},
    [PP_CODEC_LZ4_HADOOP] = {"LZ4 (Hadoop)", "liblz4.so.1", "liblz4-1", &lz4.loaded, unpack_hadoop},
};

static void load_libraries(void)
{
    static const char *const snappy_names[] = {"libsnappy.so.1", NULL};
    static const char *const lz4_names[] = {"liblz4.so.1", NULL};
    static const struct pp_library_call snappy_calls[] = {
        {"snappy_uncompress", (void **)&snappy.uncompress},
        {"snappy_uncompressed_length", (void **)&snappy.uncompressed_length},
    };
    static const struct pp_library_call lz4_calls[] = {
        {"LZ4_decompress_safe", (void **)&lz4.decompress_safe}};
    snappy.loaded = pp_library_open(snappy_names, snappy_calls, 2);
    lz4.loaded = pp_library_open(lz4_names, lz4_calls, 1);
}

pp_status pp_codec_ready(enum pp_codec codec, struct pp_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!codecs[codec].loaded)
        return PP_OK;
    pthread_once(&once, load_libraries);
    if (*codecs[codec].loaded)
        return PP_OK;
    return pp_fail(err, PP_E_UNSUPPORTED,
                   "its columns are compressed by %s, and %s is not installed (Debian: %s)",
                   codecs[codec].name, codecs[codec].library, codecs[codec].package);
}

int pp_codec_unpack(enum pp_codec codec, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    if (codec != PP_CODEC_NONE)
        return codecs[codec].unpack(in, in_size, out, out_size);
    if (in_size != out_size)
        return -1;
    if (out_size)
        memcpy(out, in, out_size);
    return 0;
}

/* ---- encodings of pages: the hybrid ---- */

int pp_runs_take(struct pp_runs *r, uint32_t *out, size_t n)
{
    const uint64_t mask = ((uint64_t)1 << r->width) - 1;
    while (n > 0) {
        if (r->run == 0 && r->packed == 0) {
            uint64_t head;
            unsigned bytes = (r->width + 7) / 8;
            if (!pp_varint_get(&r->at, r->end, &head) || head >> 1 == 0)
                return -1;
            if (head & 1 ? head >> 1 > UINT64_MAX / 64 : (size_t)(r->end - r->at) < bytes)
                return -1;
            if (head & 1) {
                r->packed = (head >> 1) * 8;
                r->bits = 0;
                r->n_bits = 0;
            } else {
                r->run = head >> 1;
                r->value = 0;
                for (unsigned i = 0; i < bytes; i++)
                    r->value |= (uint32_t)*r->at++ << 8 * i;
            }
        }
        uint64_t left = r->run ? r->run : r->packed;
        size_t now = left < n ? (size_t)left : n;
        if (r->run) {
            for (size_t i = 0; i < now; i++)
                out[i] = r->value;
            r->run -= now;
        } else {
            for (size_t i = 0; i < now; i++) {
                while (r->n_bits < r->width) {
                    if (r->at == r->end)
                        return -1;
                    r->bits |= (uint64_t)*r->at++ << r->n_bits;
                    r->n_bits += 8;
                }
                out[i] = (uint32_t)(r->bits & mask);
                r->bits >>= r->width;
                r->n_bits -= r->width;
            }
            r->packed -= now;
        }
        out += now;
        n -= now;
    }
    return 0;
}

/* ---- encodings of pages: deltas ---- */

int pp_delta_take(const uint8_t *bytes, size_t size, int64_t *out, size_t n, size_t *used)
{
    enum { MOST_BLOCK = 1 << 20 };
    const uint8_t *at = bytes, *end = bytes + size, *width = NULL;
    uint64_t block, minis, total, value, least = 0; /* block: values of one, in miniblocks */
    if (!pp_varint_get(&at, end, &block) || !pp_varint_get(&at, end, &minis) ||
        !pp_varint_get(&at, end, &total) || !pp_varint_get(&at, end, &value))
        return -1;
    if (block == 0 || block > MOST_BLOCK || minis == 0 || block % minis != 0 || total != n ||
        block / minis % 8 != 0)
        return -1;
    value = pp_zigzag_get(value);
    if (n > 0)
        out[0] = (int64_t)value;
    for (uint64_t i = 1, per_mini = block / minis, mini = minis; i < n; mini++) {
        if (mini == minis) { /* a block begins: its least delta, and the width of each miniblock */
            if (!pp_varint_get(&at, end, &least) || minis > (size_t)(end - at))
                return -1;
            least = pp_zigzag_get(least);
            width = at;
            at += minis;
            mini = 0;
        }
        unsigned bits_each = width[mini], n_bits = 0;
        uint64_t packed = per_mini / 8 * bits_each;
        if (bits_each > 64 || packed > (size_t)(end - at))
            return -1;
        /* The padding behind the last value is passed over. */
        const uint8_t *from = at;
        unsigned __int128 bits = 0;
        uint64_t mask = bits_each == 64 ? UINT64_MAX : ((uint64_t)1 << bits_each) - 1;
        for (uint64_t last = n - i < per_mini ? n : i + per_mini; i < last; i++) {
            for (; n_bits < bits_each; n_bits += 8)
                bits |= (unsigned __int128)*from++ << n_bits;
            value += least + ((uint64_t)bits & mask);
            out[i] = (int64_t)value;
            bits >>= bits_each;
            n_bits -= bits_each;
        }
        at += packed;
    }
    *used = (size_t)(at - bytes);
    return 0;
}
