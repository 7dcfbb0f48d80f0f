/* Fuzz target: files of a data set. The first byte of the input says which file the rest is: a TFRecord, the
 * index of Megatron's tokens, an MDS index.json, an MDS shard, a tar shard, compressed or not, as it is
 * streamed, an Arrow or a Parquet file. The others lie there sound. What opens is read to its end: each
 * sample is bytes or a sentence. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"
#include "tests/support/made_arrow.h"
#include "tests/support/made_parquet.h"

#include "probe/base/crc32c.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>
#include <zstd.h>

static const struct file {
    const char *name; /* below the scratch directory */
    const char *spec; /* what is opened then */
    int stream;
} files[] = {
    {"x.tfrecord", "x.tfrecord", 0}, {"tokens.idx", "tokens.bin", 0},
    {"mds/index.json", "mds", 0},    {"set/shard.00000.mds", "set", 0},
    {"s.tar.gz", "s.tar.gz", 1},     {"s.tar.zst", "s.tar.zst", 1},
    {"s.tar", "s.tar", 1},           {"x.arrow", "x.arrow", 0},
    {"x.parquet", "x.parquet", 0},
};
enum { FILES = sizeof(files) / sizeof(*files) };

static const char index_json[] =
    "{\"version\":2,\"shards\":[{\"column_names\":[\"image\",\"label\"],\"column_encodings\":[\"jpeg\",\"int\"],"
    "\"column_sizes\":[null,8],\"compression\":null,\"format\":\"mds\",\"hashes\":[],\"raw_data\":{\"basename\":"
    "\"shard.00000.mds\",\"bytes\":64,\"hashes\":{}},\"samples\":2,\"size_limit\":67108864,\"zip_data\":null}]}";

static const uint8_t shard[64] = {2, 0, 0, 0, 16, 0, 0,    0,    32,   0,    0,    0,    48, 0,
                                  0, 0, 4, 0, 0,  0, 0xff, 0xd8, 0xff, 0xe0, 7,    0,    0,  0,
                                  0, 0, 0, 0, 4,  0, 0,    0,    0xff, 0xd8, 0xff, 0xe1, 9};

static void lay_out(void)
{
    static int done;
    uint8_t tokens[64] = {0};
    if (done++)
        return;
    mkdir(scratch_path("mds"), 0700);
    mkdir(scratch_path("set"), 0700);
    mkdir(scratch_path("index"), 0700);
    scratch_write(scratch_path("mds/shard.00000.mds"), shard, sizeof(shard));
    scratch_write(scratch_path("set/index.json"), (const uint8_t *)index_json, sizeof(index_json) - 1);
    scratch_write(scratch_path("tokens.bin"), tokens, sizeof(tokens));
}

static void stream_all(const struct pp_dataset *d, struct pp_sample *s)
{
    struct pp_stream *st;
    struct pp_err err = {0};
    if (pp_stream_open(d, &(struct pp_stream_opts){.sample_limit = 1 << 20}, &st, &err) != PP_OK)
        abort();
    for (int i = 0; i < SCRATCH_SAMPLES; i++) {
        pp_status status = pp_stream_next(st, s, NULL, 0, &err);
        if (status == PP_END)
            break;
        scratch_look_at(status, s, &err);
    }
    pp_stream_close(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_dataset_options o = {0};
    struct pp_dataset *d = NULL;
    struct pp_sample s = {.limit = 1 << 20};
    struct pp_err err = {0};
    if (size == 0)
        return 0;
    lay_out();
    const struct file *f = &files[data[0] % FILES];
    scratch_write(scratch_path(f->name), data + 1, size - 1);
    o.shards.stream = f->stream;
    o.shards.index_dir = scratch_path("index");
    pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = scratch_path(f->spec), .options = &o},
                                   &d, &err);
    if (st == PP_OK && f->stream && pp_dataset_streams(d))
        stream_all(d, &s);
    else if (st == PP_OK)
        scratch_read_samples(d, &s);
    else if (!err.text[0])
        abort();
    pp_sample_free(&s);
    pp_dataset_close(d);
    return 0;
}

/* ---- sound inputs ---- */

static size_t make_tfrecord(uint8_t *to)
{
    static const uint8_t example[] = "\x0a\x1e\x0a\x10\x0a\x05image\x12\x07\x0a\x05\x0a\x03\xff\xd8\xff"
                                     "\x0a\x0a\x0a\x03"
                                     "cls\x12\x05\x1a\x03\x0a\x01\x07";
    size_t n = sizeof(example) - 1, at = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t length = n;
        uint32_t crc;
        memcpy(to + at, &length, 8);
        crc = pp_crc32c(to + at, 8);
        crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
        memcpy(to + at + 8, &crc, 4);
        memcpy(to + at + 12, example, n);
        crc = pp_crc32c(example, n);
        crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
        memcpy(to + at + 12 + n, &crc, 4);
        at += n + 16;
    }
    return at;
}

static size_t make_index(uint8_t *to)
{
    static const uint8_t head[34] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0, 1, 0, 0, 0, 0,
                                     0,   0,   0,   8,   1,   0,   0,   0, 0, 0, 0, 0, 2};
    memset(to, 0, 62);
    memcpy(to, head, sizeof(head));
    to[34] = 32;
    to[54] = 1;
    return 62;
}

/* One member of each kind, by hand: the header's sum is of bytes. */
static size_t make_tar(uint8_t *to)
{
    static const char *const names[] = {"a.jpg", "a.cls", "b.png"};
    size_t at = 0;
    memset(to, 0, 8192);
    for (size_t i = 0; i < 3; i++, at += 1024) {
        unsigned sum = 0;
        char *h = (char *)to + at;
        snprintf(h, 100, "%s", names[i]);
        snprintf(h + 100, 8, "0000644");
        snprintf(h + 124, 12, "%011o", 5u);
        memset(h + 148, ' ', 8);
        h[156] = '0';
        memcpy(h + 257,
               "ustar\0"
               "00",
               8);
        for (int k = 0; k < 512; k++)
            sum += (uint8_t)h[k];
        snprintf(h + 148, 8, "%06o", sum);
        memcpy(h + 512, i == 1 ? "17\n  " : "bytes", 5);
    }
    return at + 1024;
}

/* Version 1 with lists that go on in the next page; version 2 with an index of pages. */
static const struct made_parquet parquets[] = {
    {.rows = 12, .group_rows = 7, .page_rows = 3, .dictionary = 1, .nulls = 1, .split = 1},
    {.rows = 12, .group_rows = 7, .page_rows = 3, .codec = 6, .version_2 = 1, .index = 1},
};
enum { PARQUETS = sizeof(parquets) / sizeof(*parquets) };

static size_t make_parquet(unsigned i, uint8_t *to, size_t room)
{
    size_t n;
    uint8_t *made = made_parquet(&parquets[i], &n);
    if (n > room)
        abort();
    memcpy(to, made, n);
    free(made);
    return n;
}

static size_t make(unsigned i, uint8_t *to, size_t room)
{
    uint8_t tar[8192];
    uLongf made = room;
    size_t n = make_tar(tar);
    switch (i) {
    case 0: return make_tfrecord(to);
    case 1: return make_index(to);
    case 2: memcpy(to, index_json, sizeof(index_json) - 1); return sizeof(index_json) - 1;
    case 3: memcpy(to, shard, sizeof(shard)); return sizeof(shard);
    case 4: {
        z_stream z = {.next_in = tar, .avail_in = (uInt)n, .next_out = to, .avail_out = (uInt)made};
        deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
        deflate(&z, Z_FINISH);
        deflateEnd(&z);
        return z.total_out;
    }
    case 5: return ZSTD_compress(to, room, tar, n, 1);
    case 6: memcpy(to, tar, n); return n;
    case 7:
    case 8: {
        const struct made_arrow *arrow = i == 7 ? &made_arrow_stream : &made_arrow_file;
        memcpy(to, arrow->bytes, arrow->size);
        return arrow->size;
    }
    default: return make_parquet(i - 9, to, room);
    }
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    enum { ROOM = 16384 };
    enum { ARROW = 7, PARQUET = 8, SEEDS = PARQUET + 1 + PARQUETS };
    if (i >= SEEDS || !(*data = malloc(ROOM)))
        return 0;
    (*data)[0] = (uint8_t)(i < PARQUET ? i : i == PARQUET ? ARROW : PARQUET);
    *size = 1 + make(i, *data + 1, ROOM - 1);
    return 1;
}
