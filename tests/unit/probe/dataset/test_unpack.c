/* gzip and Zstandard from front to back: members in a row, any block size, every cut and every flipped byte.
 * And shards compressed by them: the same samples as uncompressed, from any cursor, defects as errors of
 * their shard. */
#include "tests/support/counted_storage.h"
#include "tests/support/dataset_tree.h"

#include "probe/dataset/options.h"
#include "probe/dataset/shard_tar.h"
#include "probe/dataset/unpack.h"

#include <zlib.h>
#include <zstd.h>

enum { TEXT = 5000, ROOM = 1 << 20 };

static uint8_t text[TEXT];

static size_t pack_gzip(const uint8_t *from, size_t n, uint8_t *to)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)n,
                  .next_out = to,
                  .avail_out = ROOM};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static size_t pack_zstd(const uint8_t *from, size_t n, uint8_t *to)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t made = ZSTD_compress2(c, to, ROOM, from, n);
    assert_false(ZSTD_isError(made));
    ZSTD_freeCCtx(c);
    return made;
}

static const struct {
    size_t (*pack)(const uint8_t *from, size_t n, uint8_t *to);
    enum pp_packed kind;
    const char *suffix;
} kinds[] = {{pack_gzip, PP_PACKED_GZIP, ".gz"}, {pack_zstd, PP_PACKED_ZSTD, ".zst"}};
enum { KINDS = 2 };

static struct pp_storage *files(void)
{
    static struct pp_storage *s;
    if (!s)
        assert_int_equal(pp_storage_attach("/", &s, NULL), PP_OK);
    return s;
}

/* Unpacks root/rel; *n bytes of what came before the status stand in `got`. */
static pp_status unpack(const char *rel, size_t block, size_t piece, uint8_t *got, size_t *n,
                        struct pp_err *err)
{
    struct pp_object o;
    struct pp_unpack *u = NULL;
    uint8_t head[PP_UNPACK_HEAD];
    struct pp_read r = {.name = rel, .size = sizeof(head), .buf = head};
    size_t more = 1;
    *n = 0;
    assert_int_equal(pp_storage_open(files(), &(struct pp_open){.name = tree_path(rel), .attempt = "open"},
                                     &o, NULL),
                     PP_OK);
    assert_int_equal(pp_object_read_at(&o, &r, NULL), PP_OK);
    pp_status st = pp_unpack_open(&o, rel, pp_packed_kind(head, r.got), block, &u, err);
    while (st == PP_OK && more > 0 && *n + piece <= ROOM) {
        st = pp_unpack_read(u, got + *n, piece, &more, err);
        *n += more;
    }
    pp_unpack_close(u);
    pp_object_close(&o);
    return st;
}

static void members_in_a_row_are_one_text(void **state)
{
    static uint8_t packed[ROOM], got[ROOM];
    static const size_t blocks[] = {1, 7, 512, 1 << 16}, pieces[] = {1, 100, 1 << 16};
    for (int k = 0; k < KINDS; k++) {
        size_t n = kinds[k].pack(text, 2000, packed), out;
        n += kinds[k].pack(text + 2000, 0, packed + n);
        n += kinds[k].pack(text + 2000, TEXT - 2000, packed + n);
        memset(packed + n, 0, 700); /* as on a tape */
        for (int padded = 0; padded < 2; padded++) {
            tree_put("x", packed, n + (padded ? 700 : 0));
            for (size_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++)
                for (size_t p = 0; p < sizeof(pieces) / sizeof(*pieces); p++) {
                    struct pp_err err = {0};
                    if (unpack("x", blocks[b], pieces[p], got, &out, &err) != PP_OK)
                        fail_msg("%s, block %zu, piece %zu: %s", kinds[k].suffix, blocks[b], pieces[p],
                                 err.text);
                    assert_int_equal(out, TEXT);
                    assert_memory_equal(got, text, TEXT);
                }
        }
    }
}

static void damage_is_seen_wherever_it_is(void **state)
{
    static uint8_t packed[ROOM], got[ROOM];
    for (int k = 0; k < KINDS; k++) {
        size_t n = kinds[k].pack(text, TEXT, packed), out;
        for (size_t cut = PP_UNPACK_HEAD; cut < n; cut += 13) {
            struct pp_err err = {0};
            tree_put("x", packed, cut);
            assert_int_equal(unpack("x", 512, 4096, got, &out, &err), PP_E_CORRUPT);
            assert_non_null(strstr(err.text, "truncated"));
        }
        for (size_t at = 20; at < n; at += 13) { /* behind the header, of which not every bit matters */
            struct pp_err err = {0};
            packed[at] ^= 0x10;
            tree_put("x", packed, n);
            pp_status st = unpack("x", 512, 4096, got, &out, &err);
            int same = st == PP_OK && out == TEXT && memcmp(got, text, TEXT) == 0; /* a bit of padding */
            if (!same && (st != PP_E_CORRUPT || !err.text[0]))
                fail_msg("%s, byte %zu of %zu: %s: %s", kinds[k].suffix, at, n, pp_status_name(st), err.text);
            packed[at] ^= 0x10;
        }
        struct pp_err err = {0};
        memcpy(packed + n, "rubbish behind it", 17);
        tree_put("x", packed, n + 17);
        assert_int_equal(unpack("x", 512, 4096, got, &out, &err), PP_E_CORRUPT);
    }
}

/* ---- shards ---- */

enum { SAMPLES = 40 };

static size_t make_tar(uint8_t *to)
{
    size_t n;
    struct archive *a = tree_tar("plain.tar", archive_write_set_format_pax);
    for (int i = 0; i < SAMPLES; i++) {
        char name[32], body[900];
        memset(body, 'a' + i % 26, sizeof(body));
        snprintf(name, sizeof(name), "%03d.jpg", i);
        tree_tar_add(a, name, body, (size_t)snprintf(body, sizeof(body), "image %d", i) + 200);
        snprintf(name, sizeof(name), "%03d.cls", i);
        tree_tar_add(a, name, body, (size_t)snprintf(body, sizeof(body), "%d", i % 7));
    }
    tree_tar_end(a);
    uint8_t *bytes = tree_get("plain.tar", &n);
    memcpy(to, bytes, n);
    free(bytes);
    return n;
}

static struct pp_dataset *open_stream(const char *rel)
{
    static struct pp_dataset_options o;
    o.shards.stream = 1;
    return tree_open(&(struct pp_dataset_opts){.spec = tree_path(rel), .options = &o});
}

struct seen {
    int n, failures;
    char last[sizeof(((struct pp_err *)0)->text)];
};

/* The samples are those from number `first` on, in order; ANY: what was unpacked before damage is found may
 * be wrong. */
enum { ANY = -1 };
static struct seen stream(const struct pp_dataset *d, struct pp_stream_cursor from, int first)
{
    struct pp_stream *st;
    struct pp_sample s = {0};
    struct pp_err err = {0};
    struct seen seen = {0};
    char want[32];
    pp_status status;
    assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){.from = from}, &st, &err), PP_OK);
    while ((status = pp_stream_next(st, &s, NULL, 0, &err)) != PP_END) {
        if (status != PP_OK) {
            seen.failures++;
            snprintf(seen.last, sizeof(seen.last), "%s", err.text);
            continue;
        }
        snprintf(want, sizeof(want), "image %d", first + seen.n);
        if (first != ANY) {
            assert_string_equal((const char *)s.data, want);
            assert_int_equal(s.label, (first + seen.n) % 7);
        }
        seen.n++;
    }
    pp_sample_free(&s);
    pp_stream_close(st);
    return seen;
}

static void packed_shards_stream_as_plain_ones(void **state)
{
    static uint8_t plain[ROOM], packed[ROOM];
    size_t n = make_tar(plain);
    for (int k = 0; k < KINDS; k++) {
        char rel[32];
        struct pp_stream_cursor at[SAMPLES + 1];
        struct pp_sample s = {0};
        struct pp_stream *st;
        snprintf(rel, sizeof(rel), "s.tar%s", kinds[k].suffix);
        tree_put(rel, packed, kinds[k].pack(plain, n, packed));
        struct pp_dataset *d = open_stream(rel);
        struct seen all = stream(d, (struct pp_stream_cursor){0}, 0);
        if (all.n != SAMPLES || all.failures)
            fail_msg("%s: %d samples, %d failures: %s", rel, all.n, all.failures, all.last);
        assert_int_equal(pp_stream_open(d, &(struct pp_stream_opts){0}, &st, NULL), PP_OK);
        for (int i = 0; i < SAMPLES; i++) {
            assert_int_equal(pp_stream_next(st, &s, NULL, 0, NULL), PP_OK);
            pp_stream_cursor(st, &at[i]);
        }
        pp_stream_close(st);
        pp_sample_free(&s);
        for (int i = 0; i < SAMPLES - 1; i++)
            assert_int_equal(stream(d, at[i], i + 1).n, SAMPLES - 1 - i);
        at[3].offset += 512;
        assert_int_equal(stream(d, at[3], 4).failures, 1);
        pp_dataset_close(d);
    }
}

static void a_damaged_packed_shard_costs_its_rest(void **state)
{
    static uint8_t plain[ROOM], packed[ROOM];
    size_t n = make_tar(plain);
    for (int k = 0; k < KINDS; k++) {
        char rel[32];
        struct pp_stream_cursor begin = {0};
        snprintf(rel, sizeof(rel), "s.tar%s", kinds[k].suffix);
        size_t size = kinds[k].pack(plain, n, packed);
        struct {
            const char *what;
            size_t size, flip;
            int most, least;
        } rows[] = {
            {"truncated", size / 2, 0, SAMPLES - 1, 0},
            {"damaged", size, size / 2, SAMPLES, 0},
            /* the checksum: of gzip all samples were read by then, zstd gives a small file whole or not at
               all */
            {"damaged", size, size - 2, SAMPLES, k ? 0 : SAMPLES},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            packed[rows[i].flip] ^= rows[i].flip ? 0x55 : 0;
            tree_put(rel, packed, rows[i].size);
            packed[rows[i].flip] ^= rows[i].flip ? 0x55 : 0;
            struct pp_dataset *d = open_stream(rel);
            struct seen seen = stream(d, begin, ANY);
            if (seen.failures != 1 || seen.n > rows[i].most || seen.n < rows[i].least ||
                !strstr(seen.last, rows[i].what))
                fail_msg("%s, row %zu: %d samples, %d failures: %s", rel, i, seen.n, seen.failures,
                         seen.last);
            pp_dataset_close(d);
        }
        /* cut between two members before it was compressed */
        tree_put(rel, packed, kinds[k].pack(plain, n / 10240 * 10240 - 10240 * 2, packed));
        struct pp_dataset *d = open_stream(rel);
        struct seen seen = stream(d, begin, 0);
        assert_int_equal(seen.failures, 1);
        assert_true(seen.n < SAMPLES);
        pp_dataset_close(d);
    }
}

/* Behind requests each read costs one: what a shard is shows in its first block, which is not read again. */
static void how_a_shard_begins_is_read_once(void **state)
{
    static uint8_t plain[ROOM], packed[ROOM];
    struct pp_storage *counted;
    size_t n = make_tar(plain);
    assert_int_equal(pp_storage_attach(counted_name("/"), &counted, NULL), PP_OK);
    for (int k = -1; k < KINDS; k++) {
        struct pp_object o;
        struct pp_tar *tar = NULL;
        struct pp_tar_member m;
        struct pp_err err;
        uint64_t third = 0;
        size_t size = k < 0 ? n : kinds[k].pack(plain, n, packed);
        tree_put("s", k < 0 ? plain : packed, size);
        assert_int_equal(pp_storage_open(counted,
                                         &(struct pp_open){.name = tree_path("s"), .attempt = "open"}, &o,
                                         NULL),
                         PP_OK);
        const struct pp_tar_file file = {.shard = &o, .path = "s", .size = PP_SIZE_UNKNOWN, .in_order = 1};
        counted_reads = 0;
        assert_int_equal(pp_tar_open(&file, 0, ROOM, &tar, &err), PP_OK);
        for (int i = 0; i < 2 * SAMPLES; i++) {
            assert_int_equal(pp_tar_next(tar, &m, &err), PP_OK);
            assert_false(m.truncated);
            third = i == 2 ? m.header_offset : third;
        }
        assert_int_equal(counted_reads,
                         1 + (k >= 0)); /* a compressed one is read to its end, where there is nothing */
        assert_int_equal(pp_tar_next(tar, &m, &err), PP_END);
        assert_false(m.lacks_end);
        pp_tar_close(tar);
        assert_int_equal(pp_tar_open(&file, third, ROOM, &tar, &err), PP_OK);
        assert_int_equal(pp_tar_next(tar, &m, &err), PP_OK);
        assert_string_equal(m.name, "001.jpg");
        pp_tar_close(tar);
        if (k < 0) {
            assert_int_equal(pp_tar_open(&file, n + 1, ROOM, &tar, &err), PP_E_CORRUPT);
            assert_non_null(strstr(err.text, "not the shard of the saved cursor"));
        }
        pp_object_close(&o);
    }
    pp_storage_detach(counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(members_in_a_row_are_one_text),      TREE_TEST(damage_is_seen_wherever_it_is),
        TREE_TEST(packed_shards_stream_as_plain_ones), TREE_TEST(a_damaged_packed_shard_costs_its_rest),
        TREE_TEST(how_a_shard_begins_is_read_once),
    };
    counted_register();
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (uint8_t)(i * i >> i % 7);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
