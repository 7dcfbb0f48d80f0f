/* MDS shards: samples, labels and order from the index.json and the shards beside it, raw, zstd and gzip;
 * columns by encoding and by name; indexes and shards that are cut, damaged, foreign or hostile. */
#include "tests/support/counted_storage.h"
#include "tests/support/dataset_tree.h"

#include "probe/base/rng.h"
#include "probe/dataset/options.h"
#include "probe/dataset/mds_shards.h"

#include <pthread.h>
#include <zstd.h>

#define JPEG "\xff\xd8\xff\xe0"
#define COLUMNS "[\"caption\",\"image\",\"label\"]"
#define ENCODINGS "[\"str\",\"jpeg\",\"int\"]"
#define SIZES "[null,null,8]"

enum { PER_SHARD = 5, SHARDS = 3, ALL = PER_SHARD * SHARDS, ROOM = 8192 };

/* Sample i: a caption of i bytes, an image, its label. */
static size_t put_sample(uint8_t *to, int i)
{
    char image[32], caption[64];
    uint32_t sizes[2] = {(uint32_t)i, (uint32_t)snprintf(image, sizeof(image), JPEG "image %d", i)};
    int64_t label = i * 100000000000;
    memset(caption, 'c', sizeof(caption));
    memcpy(to, sizes, 8);
    memcpy(to + 8, caption, sizes[0]);
    memcpy(to + 8 + sizes[0], image, sizes[1]);
    memcpy(to + 8 + sizes[0] + sizes[1], &label, 8);
    return 16 + sizes[0] + sizes[1];
}

static size_t make_shard(uint8_t *to, int first)
{
    uint32_t n = PER_SHARD, at = 4 + 4 * (PER_SHARD + 1);
    at += (uint32_t)sprintf((char *)to + at, "{\"some\": \"config\"}");
    memcpy(to, &n, 4);
    for (int i = 0; i < PER_SHARD; i++) {
        memcpy(to + 4 + 4 * i, &at, 4);
        at += (uint32_t)put_sample(to + at, first + i);
    }
    memcpy(to + 4 + 4 * PER_SHARD, &at, 4);
    return at;
}

/* The rows of index.json; compressed: ".zstd" or NULL. */
static size_t describe_shard(char *to, int i, size_t bytes, const char *compressed)
{
    char zip[128] = "null";
    if (compressed)
        snprintf(zip, sizeof(zip), "{\"basename\": \"shard.%05d.mds%s\", \"bytes\": 1, \"hashes\": {}}", i,
                 compressed);
    return (size_t)sprintf(to,
                           "%s{\"column_names\":" COLUMNS ",\"column_encodings\":" ENCODINGS
                           ",\"column_sizes\":" SIZES ",\"compression\":%s,\"format\":\"mds\",\"hashes\":[],"
                           "\"raw_data\":{\"basename\":\"shard.%05d.mds\",\"bytes\":%zu,\"hashes\":{}},"
                           "\"samples\":%d,\"size_limit\":67108864,\"version\":2,\"zip_data\":%s}",
                           i ? ", " : "", compressed ? "\"zstd\"" : "null", i, bytes, PER_SHARD, zip);
}

static void make_set(const char *dir, const char *compressed)
{
    static uint8_t shard[ROOM], packed[ROOM];
    static char index[ROOM];
    char rel[128];
    size_t n = (size_t)sprintf(index, "{\"shards\": [");
    for (int i = 0; i < SHARDS; i++) {
        size_t bytes = make_shard(shard, i * PER_SHARD), size = bytes;
        if (compressed)
            size = ZSTD_compress(packed, sizeof(packed), shard, bytes, 1);
        snprintf(rel, sizeof(rel), "%s/shard.%05d.mds%s", dir, i, compressed ? compressed : "");
        tree_put(rel, compressed ? packed : shard, size);
        n += describe_shard(index + n, i, bytes, compressed);
    }
    n += (size_t)sprintf(index + n, "], \"version\": 2}");
    snprintf(rel, sizeof(rel), "%s/index.json", dir);
    tree_put(rel, index, n);
}

static struct pp_dataset_opts opts_of(const char *rel, const char *feature)
{
    static struct pp_dataset_options o;
    o.feature = feature;
    o.shards.index_dir = tree_path("index");
    mkdir(tree_path("index"), 0700);
    return (struct pp_dataset_opts){.spec = tree_path(rel), .options = &o};
}

static struct pp_dataset *open_it(const char *rel, const char *feature)
{
    struct pp_dataset_opts o = opts_of(rel, feature);
    return tree_open(&o);
}

static void expect(const struct pp_dataset *d, int i)
{
    char want[32], path[256], end[32];
    struct pp_sample s = {0};
    struct pp_err err = {0};
    if (pp_dataset_read(d, (uint64_t)i, &s, &err) != PP_OK)
        fail_msg("sample %d: %s", i, err.text);
    snprintf(want, sizeof(want), JPEG "image %d", i);
    assert_int_equal(s.size, strlen(want));
    assert_memory_equal(s.data, want, s.size);
    assert_int_equal(s.label, i * 100000000000);
    snprintf(end, sizeof(end), ":%d", i % PER_SHARD);
    pp_dataset_path(d, (uint64_t)i, path, sizeof(path));
    assert_string_equal(path + strlen(path) - strlen(end), end);
    pp_sample_free(&s);
}

static void samples_come_in_the_order_of_the_index(void **state)
{
    static const char *const kinds[] = {NULL, ".zstd"};
    char text[128];
    for (int k = 0; k < 2; k++) {
        make_set(k ? "packed" : "raw", kinds[k]);
        struct pp_dataset *d = open_it(k ? "packed" : "raw", NULL);
        assert_string_equal(pp_dataset_format_name(d), "mds");
        assert_int_equal(pp_dataset_content(d), PP_CONTENT_IMAGE);
        assert_int_equal(pp_dataset_len(d), ALL);
        for (int i = ALL - 1; i >= 0; i--)
            expect(d, i);
        for (int i = 0; i < ALL; i++)
            expect(d, i);
        pp_dataset_describe(d, text, sizeof(text));
        assert_string_equal(text, k ? "MDS, 15 samples in 3 shards (compressed), column image"
                                    : "MDS, 15 samples in 3 shards, column image");
        pp_dataset_close(d);
    }
    /* nothing is left of what was unpacked, and nothing was written beside the shards */
    assert_int_equal(rmdir(tree_path("index")), 0);
    assert_int_equal(access(tree_path("packed/shard.00000.mds"), F_OK), -1);
    /* a shard that is there uncompressed too is read as it is */
    make_set("raw", NULL);
    assert_int_equal(link(tree_path("raw/shard.00001.mds"), tree_path("packed/shard.00001.mds")), 0);
    assert_int_equal(unlink(tree_path("packed/shard.00001.mds.zstd")), 0);
    struct pp_dataset *d = open_it("packed", NULL);
    expect(d, PER_SHARD + 1);
    expect(d, 0);
    pp_dataset_close(d);
}

static void *read_all(void *d)
{
    for (int i = 0; i < ALL; i++)
        expect(d, i);
    return NULL;
}

/* Threads that come to a packed shard at once: one unpacks it, all read it. */
static void threads_share_what_is_unpacked(void **state)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    make_set("packed", ".zstd");
    for (int round = 0; round < 5; round++) {
        struct pp_dataset *d = open_it("packed", NULL);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, read_all, d), 0);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        pp_dataset_close(d);
    }
}

/* Behind requests: a look at each shard, then one request for its offsets and one for each sample. A web
 * server has no listing, so that the index may be named by itself. */
static void a_sample_is_one_request(void **state)
{
    static const char *const places[] = {"raw", "raw/index.json"};
    pthread_t thread[2];
    make_set("raw", NULL);
    for (int k = 0; k < 2; k++) {
        struct pp_dataset_opts o = opts_of(places[k], NULL);
        o.spec = counted_name(o.spec);
        counted_stats = 0;
        struct pp_dataset *d = tree_open(&o);
        assert_string_equal(pp_dataset_format_name(d), "mds");
        assert_int_equal(pp_dataset_len(d), ALL);
        assert_in_range(counted_stats, 1 + SHARDS, 2 + SHARDS); /* the place itself, by one format or two */
        counted_reads = 0;
        read_all(d);
        assert_int_equal(counted_reads, SHARDS + ALL);
        read_all(d);
        assert_int_equal(counted_reads, SHARDS + 2 * ALL);
        pp_dataset_close(d);
        d = tree_open(&o); /* two threads that come to a shard at once */
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, read_all, d), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        pp_dataset_close(d);
    }
    make_set("raw", ".zstd");
    for (int i = 0; i < SHARDS; i++) {
        char rel[64];
        snprintf(rel, sizeof(rel), "raw/shard.%05d.mds", i);
        assert_int_equal(unlink(tree_path(rel)), 0);
    }
    struct pp_dataset_opts o = opts_of("raw/index.json", NULL);
    o.spec = counted_name(o.spec);
    struct pp_dataset *d = tree_open(&o);
    read_all(d);
    pp_dataset_close(d);
    o.spec = tree_path("raw/index.json"); /* of a directory, too */
    d = tree_open(&o);
    read_all(d);
    pp_dataset_close(d);
}

static void a_table_that_is_cut_is_said(void **state)
{
    struct pp_dataset_opts o;
    struct pp_sample s = {0};
    struct pp_err err;
    make_set("raw", NULL);
    assert_int_equal(truncate(tree_path("raw/shard.00001.mds"), 12), 0);
    o = opts_of("raw", NULL);
    o.spec = counted_name(o.spec);
    struct pp_dataset *d = tree_open(&o);
    assert_true(tree_warns(d, "has 12 bytes instead of"));
    expect(d, 0);
    expect(d, ALL - 1);
    assert_int_equal(pp_dataset_read(d, PER_SHARD, &s, &err), PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "truncated: it ends in the offsets of its 5 samples"));
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void put_index(const char *dir, const char *shards)
{
    static char text[ROOM];
    char rel[64];
    snprintf(rel, sizeof(rel), "%s/index.json", dir);
    tree_put(rel, text, (size_t)snprintf(text, sizeof(text), "{\"version\":2,\"shards\":[%s]}", shards));
}

#define SHARD(names, encodings, sizes, basename, samples, bytes) \
    "{\"column_names\":" names ",\"column_encodings\":" encodings ",\"column_sizes\":" sizes \
    ",\"compression\":null,\"format\":\"mds\",\"raw_data\":{\"basename\":\"" basename "\",\"bytes\":" bytes \
    "},\"samples\":" samples ",\"zip_data\":null}"

static void tokens_of_one_size_are_rows(void **state)
{
    uint32_t head[4] = {2, 16, 24, 32};
    uint16_t tokens[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t shard[32];
    struct pp_sample s = {0};
    memcpy(shard, head, 16);
    memcpy(shard + 16, tokens, 16);
    tree_put("t/shard.00000.mds", shard, sizeof(shard));
    put_index("t", SHARD("[\"tokens\"]", "[\"ndarray:uint16:4\"]", "[8]", "shard.00000.mds", "2", "32"));
    struct pp_dataset *d = open_it("t", NULL);
    assert_int_equal(pp_dataset_content(d), PP_CONTENT_TOKENS);
    assert_int_equal(pp_dataset_read(d, 1, &s, NULL), PP_OK);
    assert_int_equal(s.size, 8);
    assert_memory_equal(s.data, tokens + 4, 8);
    pp_sample_free(&s);
    pp_dataset_close(d);
}

static void an_index_that_cannot_be_used_is_a_sentence(void **state)
{
    static const struct {
        const char *shards;
        pp_status status;
        const char *word, *other;
    } rows[] = {
        {"", PP_E_EMPTY, "0 shards", ""},
        {"{\"format\":\"mds\"}", PP_E_CORRUPT, "shard 0", "no name"},
        {"{\"format\":\"csv\", \"x\": \"mds\"}", PP_E_UNSUPPORTED, "format csv", "mds"},
        {SHARD("[\"text\"]", "[\"str\"]", "[null]", "s.mds", "1", "100"), PP_E_UNSUPPORTED, "text (str)",
         "exec"},
        {SHARD("[\"a\"]", "[\"pil\"]", "[null]", "s.mds", "1", "100"), PP_E_UNSUPPORTED, "a (pil)", "exec"},
        {SHARD("[\"a\",\"b\"]", "[\"jpeg\"]", "[null]", "s.mds", "1", "100"), PP_E_CORRUPT, "columns", ""},
        {SHARD("[1]", "[\"jpeg\"]", "[null]", "s.mds", "1", "100"), PP_E_CORRUPT, "column 0", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[-3]", "s.mds", "1", "100"), PP_E_CORRUPT, "column 0", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "../../etc/passwd", "1", "100"), PP_E_UNSUPPORTED,
         "outside", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "x/../../y", "1", "100"), PP_E_UNSUPPORTED, "outside", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "/etc/passwd", "1", "100"), PP_E_UNSUPPORTED, "outside",
         ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "s.mds", "1000000", "100"), PP_E_CORRUPT, "shard 0", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "s.mds", "-1", "100"), PP_E_CORRUPT, "shard 0", ""},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "none.mds", "1", "100"), PP_E_NOT_FOUND,
         "none.mds is missing", "1 of the 1"},
        {SHARD("[\"a\"]", "[\"jpeg\"]", "[null]", "s.mds", "1",
               "100") "," SHARD("[\"a\"]", "[\"png\"]", "[null]", "s.mds", "1", "100"),
         PP_E_UNSUPPORTED, "other columns", "shard 1"},
    };
    tree_put_text("d/s.mds", "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_dataset *d = NULL;
        struct pp_err err = {0};
        put_index("d", rows[i].shards);
        struct pp_dataset_opts o = opts_of("d", NULL);
        o.format = "mds";
        pp_status st = pp_dataset_open(&o, &d, &err);
        if (st != rows[i].status || !strstr(err.text, rows[i].word) || !strstr(err.text, rows[i].other))
            fail_msg("row %zu: %s: %s", i, pp_status_name(st), err.text);
    }
    struct pp_dataset_opts o = opts_of("d", NULL);
    o.format = "mds";
    tree_put_text("d/index.json", "{\"shards\": [");
    tree_refused(&o, PP_E_CORRUPT, "not JSON", "line 1");
    tree_put_text("d/index.json", "{\"shards\": [], \"version\": 1}");
    tree_refused(&o, PP_E_UNSUPPORTED, "version 1", "version 2");
    tree_put_text("d/index.json", "");
    tree_refused(&o, PP_E_CORRUPT, "index.json has 0 bytes", "");
    make_set("raw", NULL);
    o = opts_of("raw", "caption");
    tree_refused(&o, PP_E_UNSUPPORTED, "no column caption with an image", "caption (str)");
    o = opts_of("raw", "image");
    pp_dataset_close(tree_open(&o));
}

/* A byte of a shard: its sample is an error or another sample, and nothing else happens. */
static void a_damaged_shard_is_errors_of_its_samples(void **state)
{
    struct pp_rng r = pp_rng_key(2, 0, 0, 0);
    struct pp_sample s = {0};
    size_t n, failed = 0, read = 0;
    make_set("raw", NULL);
    uint8_t *good = tree_get("raw/shard.00000.mds", &n), *bad = malloc(n);
    for (int round = 0; round < 400; round++) {
        size_t size = round % 4 ? n : pp_rng_below(&r, n);
        memcpy(bad, good, n);
        for (uint64_t k = pp_rng_below(&r, 4); k < 4; k++)
            bad[pp_rng_below(&r, round % 2 ? 28 : n)] = (uint8_t)pp_rng_next(&r);
        tree_put("raw/shard.00000.mds", bad, size);
        struct pp_dataset *d = open_it("raw", NULL);
        for (uint64_t i = 0; i < PER_SHARD; i++) {
            struct pp_err err = {0};
            pp_status st = pp_dataset_read(d, i, &s, &err);
            failed += st != PP_OK;
            read += st == PP_OK;
            if (st != PP_OK)
                assert_true(err.text[0] && s.size == 0);
        }
        expect(d, PER_SHARD);
        pp_dataset_close(d);
    }
    assert_true(failed > 100 && read > 100);
    pp_sample_free(&s);
    free(good);
    free(bad);
}

static void a_packed_shard_that_does_not_unpack_is_said_once_found(void **state)
{
    struct pp_sample s = {0};
    struct pp_err err = {0};
    size_t n;
    make_set("p", ".zstd");
    uint8_t *bytes = tree_get("p/shard.00001.mds.zstd", &n);
    static const char *const words[] = {"truncated", "instead of", "neither Zstandard"};
    for (size_t i = 0; i < 3; i++) {
        static uint8_t other[ROOM];
        size_t size = ZSTD_compress(other, sizeof(other), "short", 5, 1);
        tree_put("p/shard.00001.mds.zstd",
                 i == 0   ? bytes
                 : i == 1 ? other
                          : (const uint8_t *)"brotli?",
                 i == 0   ? n / 2
                 : i == 1 ? size
                          : 7);
        struct pp_dataset *d = open_it("p", NULL);
        for (int again = 0; again < 2; again++) {
            pp_status st = pp_dataset_read(d, PER_SHARD, &s, &err);
            if ((st != PP_E_CORRUPT && st != PP_E_UNSUPPORTED) || !strstr(err.text, words[i]))
                fail_msg("%zu: %s: %s", i, pp_status_name(st), err.text);
        }
        expect(d, 0);
        expect(d, ALL - 1);
        pp_dataset_close(d);
    }
    pp_sample_free(&s);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(samples_come_in_the_order_of_the_index),
        TREE_TEST(threads_share_what_is_unpacked),
        TREE_TEST(a_sample_is_one_request),
        TREE_TEST(a_table_that_is_cut_is_said),
        TREE_TEST(tokens_of_one_size_are_rows),
        TREE_TEST(an_index_that_cannot_be_used_is_a_sentence),
        TREE_TEST(a_damaged_shard_is_errors_of_its_samples),
        TREE_TEST(a_packed_shard_that_does_not_unpack_is_said_once_found),
    };
    counted_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
