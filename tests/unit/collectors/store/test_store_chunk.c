/* The columnar codec: round trip on random and realistic spans, size, and arbitrary bytes. */
#include "tests/support/chunk_encode.h"

#include "collectors/store/chunk_impl.h"

#include "probe/base/rng.h"

#include <pipeprobe/phase.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next(struct pp_rng *r)
{
    return pp_rng_next(r);
}

/* Any width of number, also the extremes. */
static uint64_t wild(struct pp_rng *r)
{
    uint64_t v = next(r) >> (next(r) & 63);
    return next(r) % 7 == 0 ? UINT64_MAX - (v & 3) : v;
}

static void fill_wild(struct pp_rng *r, struct pp_span *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s[i] = (struct pp_span){
            .start_ns = wild(r),
            .dur_ns = wild(r),
            .sample = wild(r),
            .bytes = wild(r),
            .cpu_ns = wild(r),
            .run_delay_ns = wild(r),
            .batch = (uint32_t)wild(r),
            .cache_hit_kib = (uint32_t)wild(r),
            .epoch = (uint16_t)wild(r),
            .name = (uint16_t)wild(r),
            .phase = (uint8_t)wild(r),
            .flags = (uint16_t)wild(r),
        };
}

/* A worker's life: wait, read, decode, transform for samples in random order, laps that touch. */
static void fill_worker(struct pp_rng *r, struct pp_span *s, size_t n, int resources)
{
    static const uint8_t phases[] = {PP_PHASE_DISPATCH_WAIT, PP_PHASE_READ, PP_PHASE_DECODE,
                                     PP_PHASE_TRANSFORM};
    static const uint64_t typical[] = {2000, 150000, 4000000, 700000};
    uint64_t t = 1000000000000u, sample = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = i % 4;
        uint64_t dur = typical[k] / 2 + next(r) % typical[k];
        if (k == 0)
            sample = next(r) % 1281167;
        s[i] = (struct pp_span){.start_ns = t,
                                .dur_ns = dur,
                                .sample = PP_NO_SAMPLE,
                                .batch = (uint32_t)(i / 256),
                                .phase = phases[k]};
        if (resources) {
            s[i].sample = sample;
            s[i].cpu_ns = k == 0 ? 1000 : dur - dur / 50;
            s[i].run_delay_ns = next(r) % 10 == 0 ? dur / 60 : 0;
            s[i].bytes = k == 1 ? 110000 + next(r) % 40000 : k == 3 ? 602112 : 0;
            s[i].cache_hit_kib = k == 1 ? (uint32_t)(s[i].bytes / 1024) : 0;
            s[i].flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | (k == 1 ? PP_SPAN_HAS_CACHE : 0);
        }
        t += dur;
    }
}

/* A body, exactly as long, so that an overrun is seen, is these spans. */
static void assert_body(struct pp_chunk_codec *c, const uint8_t *body, size_t size, const struct pp_span *s,
                        size_t n)
{
    size_t got;
    uint8_t *copy = malloc(size);
    memcpy(copy, body, size);
    const struct pp_span *back = pp_chunk_decode(c, copy, size, &got);
    assert_non_null(back);
    assert_int_equal(got, n);
    assert_memory_equal(back, s, n * sizeof(*s));
    free(copy);
}

static size_t check_round_trip(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress)
{
    size_t size;
    const uint8_t *body = chunk_encode(c, spans, n, compress, &size);
    assert_non_null(body);
    assert_body(c, body, size, spans, n);
    return size;
}

/* What a builder makes of spans that come a few at a time. */
static void build(struct pp_chunk_builder *b, const struct pp_span *s, size_t n, size_t piece,
                  struct pp_chunk_shape *all)
{
    for (size_t at = 0, count; at < n; at += count) {
        struct pp_chunk_shape shape = {.gaps = 0};
        count = n - at < PP_CHUNK_BLOCK ? n - at : PP_CHUNK_BLOCK;
        for (size_t from = 0; from < count; from += piece)
            pp_chunk_look(b, &shape, s + at, from, count - from < piece ? count - from : piece);
        all->gaps |= shape.gaps;
        assert_true(pp_chunk_builder_add_block(b, s + at, count, &shape));
    }
}

/* Looked at in pieces: laps but for one gap, wherever it lies, also where pieces and blocks meet, or none at
 * all. */
static void test_one_gap(void **state)
{
    enum { N = 400, PIECE = 100 };
    static const size_t gaps[] = {
        1,         PIECE - 1, PIECE, PIECE + 1, PP_CHUNK_BLOCK - 1, PP_CHUNK_BLOCK, PP_CHUNK_BLOCK + 1,
        3 * PIECE, N - 1,     N};
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_chunk_builder *b = pp_chunk_builder_new();
    struct pp_rng r = pp_rng_key(5, 6, 7, 8);
    struct pp_span s[N];
    for (size_t k = 0; k < sizeof(gaps) / sizeof(gaps[0]); k++) {
        struct pp_chunk_shape shape = {.gaps = 0};
        size_t size;
        fill_worker(&r, s, N, 0);
        for (size_t i = gaps[k]; i < N; i++)
            s[i].start_ns += 5;
        build(b, s, N, PIECE, &shape);
        assert_int_equal(shape.gaps == 0, gaps[k] == N);
        assert_int_equal(pp_chunk_builder_extent(b)->spans, N);
        assert_int_equal(pp_chunk_builder_extent(b)->first_start_ns, s[0].start_ns);
        assert_int_equal(pp_chunk_builder_extent(b)->last_end_ns, s[N - 1].start_ns + s[N - 1].dur_ns);
        const uint8_t *body = pp_chunk_builder_end(b, c, 0, &size);
        assert_body(c, body, size, s, N);
        assert_int_equal(pp_chunk_builder_extent(b)->spans, 0);
    }
    pp_chunk_builder_free(b);
    pp_chunk_codec_free(c);
}

/* A column that has been the same for any number of blocks and then is not, in each of its fields; and one
 * that is the same again. */
static void test_begins_to_vary(void **state)
{
    enum { N = 5 * PP_CHUNK_BLOCK };
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_chunk_builder *b = pp_chunk_builder_new();
    struct pp_rng r = pp_rng_key(3, 1, 4, 1);
    struct pp_span s[N], first, other;
    for (int trial = 0; trial < 2000; trial++) {
        struct pp_chunk_shape shape = {.gaps = 0};
        size_t size, from = 1 + next(&r) % N, until = from + next(&r) % N, words = sizeof(s[0]) / 8;
        uint64_t keep[8];
        fill_wild(&r, &first, 1);
        fill_wild(&r, &other, 1);
        memcpy(keep, &first, sizeof(keep));
        memcpy(&keep[next(&r) % words], (const char *)&other + 8 * (next(&r) % words), 8);
        memcpy(&other, keep, sizeof(keep));
        other.reserved = 0;
        for (size_t i = 0; i < N; i++)
            s[i] = i >= from && i < until ? other : first;
        build(b, s, N, 1 + next(&r) % PP_CHUNK_BLOCK, &shape);
        const uint8_t *body = pp_chunk_builder_end(b, c, trial & 1, &size);
        assert_body(c, body, size, s, N);
    }
    pp_chunk_builder_free(b);
    pp_chunk_codec_free(c);
}

/* Blocks of 1 to 9 phases, in any order: what a palette holds, and what it does not. */
static void test_palettes(void **state)
{
    enum { N = 4 * PP_CHUNK_BLOCK + 17 };
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_rng r = pp_rng_key(2, 7, 1, 8);
    struct pp_span s[N];
    size_t sizes[10] = {0};
    for (unsigned phases = 1; phases < 10; phases++) {
        memset(s, 0, sizeof(s));
        for (size_t i = 0; i < N; i++)
            s[i].phase = (uint8_t)(i < phases ? 200 + i : 200 + next(&r) % phases);
        sizes[phases] = check_round_trip(c, s, N, 0);
    }
    assert_true(sizes[1] < 64);
    assert_true(sizes[2] < 4 * 20 + 100 && sizes[4] < 4 * 40 + 100 && sizes[8] < 4 * 60 + 100);
    assert_true(sizes[9] > N);
    pp_chunk_codec_free(c);
}

/* Version 2: the same without palettes. What a recording of then holds is read. */
static void test_version_2(void **state)
{
    /* two spans: phases 3 and 4, 10 ns each, laps from 1000 on, batch 7 */
    static const uint8_t body[] = {2,
                                   0,
                                   0,
                                   0,
                                   2,
                                   0,
                                   0,
                                   0,
                                   29,
                                   0,
                                   0,
                                   0,
                                   /* phase */ 1,
                                   3,
                                   1,
                                   3,
                                   4,
                                   /* dur */ 0,
                                   10,
                                   /* start */ 1,
                                   0xe8,
                                   7,
                                   0,
                                   /* batch */ 0,
                                   7,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0};
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    uint8_t copy[sizeof(body)];
    size_t n;
    memcpy(copy, body, sizeof(body));
    const struct pp_span *s = pp_chunk_decode(c, copy, sizeof(copy), &n);
    assert_non_null(s);
    assert_int_equal(n, 2);
    assert_true(s[0].phase == 3 && s[0].start_ns == 1000 && s[0].dur_ns == 10 && s[0].batch == 7);
    assert_true(s[1].phase == 4 && s[1].start_ns == 1010 && s[1].dur_ns == 10 && s[1].batch == 7);
    copy[0] = 1;
    assert_null(pp_chunk_decode(c, copy, sizeof(copy), &n));
    copy[0] = 4;
    assert_null(pp_chunk_decode(c, copy, sizeof(copy), &n));
    pp_chunk_codec_free(c);
}

static void test_round_trip(void **state)
{
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_rng r = pp_rng_key(1, 2, 3, 4);
    struct pp_span *s = malloc(4096 * sizeof(*s));
    static const size_t sizes[] = {1, 2, 3, 4, 63, 1000, 4096};
    for (int trial = 0; trial < 20; trial++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            fill_wild(&r, s, sizes[i]);
            check_round_trip(c, s, sizes[i], trial & 1);
            fill_worker(&r, s, sizes[i], trial & 1);
            check_round_trip(c, s, sizes[i], trial & 2);
        }
    }
    memset(s, 0, 4096 * sizeof(*s));
    assert_true(check_round_trip(c, s, 4096, 0) <
                64 + 4096 / PP_CHUNK_BLOCK); /* twelve constant columns, but that starts have blocks */
    free(s);
    pp_chunk_codec_free(c);
}

static void test_size(void **state)
{
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_rng r = pp_rng_key(5, 6, 7, 8);
    struct pp_span *s = malloc(4096 * sizeof(*s));
    fill_worker(&r, s, 4096, 0);
    double lean = (double)check_round_trip(c, s, 4096, 0) / 4096,
           packed = (double)check_round_trip(c, s, 4096, 1) / 4096;
    fill_worker(&r, s, 4096, 1);
    double full = (double)check_round_trip(c, s, 4096, 0) / 4096,
           full_packed = (double)check_round_trip(c, s, 4096, 1) / 4096;
    print_message("# bytes per span: lean %.2f (zstd %.2f), all resource fields %.2f (zstd %.2f)\n", lean,
                  packed, full, full_packed);
    assert_true(lean <= 8);
    assert_true(packed <= 4.5);
    assert_true(full <= 20 && full_packed <= full);
    free(s);
    pp_chunk_codec_free(c);
}

static void test_refuses(void **state)
{
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_span s = {0};
    size_t n, size;
    assert_null(chunk_encode(c, &s, 0, 0, &size));
    assert_null(pp_chunk_decode(c, (const uint8_t *)"", 0, &n));
    /* says 65536 spans in 12 bytes of columns, then 4 billion of them */
    uint8_t lie[24] = {2, 0, 0, 0, 0, 0, 1, 0, 12, 0, 0, 0};
    assert_null(pp_chunk_decode(c, lie, sizeof(lie), &n));
    memset(lie + 4, 0xff, 8);
    assert_null(pp_chunk_decode(c, lie, sizeof(lie), &n));
    pp_chunk_codec_free(c);
}

/* Arbitrary bytes: changed, cut and random bodies either decode to some spans or are refused; the sanitizers
 * watch. */
static void test_arbitrary_bytes(void **state)
{
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_rng r = pp_rng_key(9, 9, 9, 9);
    struct pp_span s[300];
    size_t size, n, refused = 0, decoded = 0;
    for (int trial = 0; trial < 20000; trial++) {
        size_t count = 1 +
                       next(&r) % (trial % 4 ? 64 : 300); /* some with whole blocks, which may be palettes */
        fill_worker(&r, s, count, trial & 1);
        const uint8_t *body = chunk_encode(c, s, count, trial & 2, &size);
        size_t cut = next(&r) % 3 == 0 ? next(&r) % (size + 1) : size;
        uint8_t *m = malloc(cut ? cut : 1); /* exactly as long, so that an overrun is seen */
        memcpy(m, body, cut);
        for (uint64_t k = next(&r) % 4; k && cut; k--)
            m[next(&r) % cut] = (uint8_t)next(&r);
        const struct pp_span *got = pp_chunk_decode(c, m, cut, &n);
        assert_true(got ? n > 0 : n == 0);
        got ? decoded++ : refused++;
        free(m);
    }
    assert_true(refused > 1000 && decoded > 1000);
    pp_chunk_codec_free(c);
}

/* Whether the wanted fields of n spans are those of others. */
static int same_columns(const struct pp_span *a, const struct pp_span *b, size_t n, unsigned wanted)
{
    int same = 1;
    for (size_t i = 0; i < n; i++) {
#define SAME(bit, field) same &= !(wanted & bit) || a[i].field == b[i].field
        SAME(PP_COLUMN_PHASE, phase);
        SAME(PP_COLUMN_DUR, dur_ns);
        SAME(PP_COLUMN_START, start_ns);
        SAME(PP_COLUMN_BATCH, batch);
        SAME(PP_COLUMN_SAMPLE, sample);
        SAME(PP_COLUMN_EPOCH, epoch);
        SAME(PP_COLUMN_BYTES, bytes);
        SAME(PP_COLUMN_CPU, cpu_ns);
        SAME(PP_COLUMN_RUN_DELAY, run_delay_ns);
        SAME(PP_COLUMN_CACHE_HIT, cache_hit_kib);
        SAME(PP_COLUMN_NAME, name);
        SAME(PP_COLUMN_FLAGS, flags);
#undef SAME
    }
    return same;
}

/* Any choice of columns, also of those that are predicted from others: each is what it is among all, and what
 * is not decoded is 0. */
static void test_some_columns(void **state)
{
    enum { N = 700 };
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    struct pp_rng r = pp_rng_key(7, 7, 7, 7);
    struct pp_span s[N];
    size_t size, n;
    for (unsigned wanted = 0; wanted <= PP_COLUMNS_ALL; wanted++) {
        size_t count = 1 + next(&r) % N;
        wanted & 1 ? fill_wild(&r, s, count) : fill_worker(&r, s, count, wanted & 2);
        const uint8_t *body = chunk_encode(c, s, count, wanted & 4, &size);
        uint8_t *copy = malloc(size);
        memcpy(copy, body, size);
        assert_int_equal(pp_chunk_open(c, copy, size, wanted), count);
        const struct pp_span *got = pp_chunk_next(c, &n); /* all of them, in one piece */
        assert_non_null(got);
        assert_int_equal(n, count);
        assert_true(same_columns(got, s, n, wanted));
        assert_true(wanted & PP_COLUMN_SAMPLE ||
                    same_columns(got, &(struct pp_span){0}, 1, PP_COLUMN_SAMPLE));
        free(copy);
    }
    pp_chunk_codec_free(c);
}

static void test_checksum_binds_place(void **state)
{
    const uint8_t body[] = "some columns";
    uint64_t x = pp_chunk_checksum(1, 100, 5, body, sizeof(body));
    assert_int_equal(x, pp_chunk_checksum(1, 100, 5, body, sizeof(body)));
    assert_int_not_equal(x, pp_chunk_checksum(2, 100, 5, body, sizeof(body)));
    assert_int_not_equal(x, pp_chunk_checksum(1, 101, 5, body, sizeof(body)));
    assert_int_not_equal(x, pp_chunk_checksum(1, 100, 6, body, sizeof(body)));
    assert_int_not_equal(x, pp_chunk_checksum(1, 100, 5, body, sizeof(body) - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_gap),      cmocka_unit_test(test_begins_to_vary),
        cmocka_unit_test(test_palettes),     cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_size),
        cmocka_unit_test(test_refuses),      cmocka_unit_test(test_arbitrary_bytes),
        cmocka_unit_test(test_some_columns), cmocka_unit_test(test_checksum_binds_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
