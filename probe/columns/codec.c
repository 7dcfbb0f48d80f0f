#include "probe/columns/codec.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/library.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

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

static int unpack_none(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    if (in_size != out_size)
        return -1;
    if (out_size)
        memcpy(out, in, out_size);
    return 0;
}

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
    const int *loaded; /* NULL: linked */
    int (*unpack)(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);
} codecs[PP_CODECS] = {
    [PP_CODEC_NONE] = {"none", NULL, NULL, NULL, unpack_none},
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
    return codecs[codec].unpack(in, in_size, out, out_size);
}
