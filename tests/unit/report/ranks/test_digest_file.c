/* Digests as files: what is read is what was written, equal digests are equal files however they were merged,
 * and a file that anything happened to is refused. */
#include "report/ranks/digest.h"

#include "probe/base/io.h"
#include "probe/base/rng.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

enum { RANKS = 9, STEPS = 40 };

static char dir[64];
static struct pp_err err;

static const char *path_of(const char *name)
{
    static char path[4][128];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

/* Ranks of 20 s to 2 h, some of them with a clock that jumps. */
static uint64_t end_of(struct pp_rng *rng, int rank, uint32_t step)
{
    uint64_t length_ns = (UINT64_C(1) << rank) * UINT64_C(500000000);
    return rank == 5 ? pp_rng_next(rng) : UINT64_C(1790000000) * 1000000000 + step * length_ns;
}

static void make_one(int rank, struct pp_digest *out)
{
    struct pp_rng rng = pp_rng_key(7, 0, (uint64_t)rank, 0);
    struct pp_rank_own_step steps[STEPS];
    struct pp_rank_row row = {.rank = rank,
                              .world_size = rank % 2 ? RANKS : -1,
                              .local_rank = -1,
                              .node = rank / 4,
                              .attempt = -1,
                              .job = rank % 3 ? "job 1" : NULL,
                              .host = "",
                              .file = "dir/rank.sqlite",
                              .sentence = "STORAGE-BOUND \xc2\xb5s",
                              .samples_per_s = 1.0 / 3,
                              .data_wait_share = NAN,
                              .collective_share = 0.25,
                              .met = rank != 2,
                              .steps = STEPS,
                              .wait_ns = pp_rng_next(&rng) >> 20,
                              .wait_delay_ns = pp_rng_next(&rng) >> 20,
                              .step_delay_ns = pp_rng_next(&rng) >> 20,
                              .work_delay_ns = pp_rng_next(&rng) >> 20,
                              .exchanges = 40,
                              .sampled_exchanges = (uint64_t)rank,
                              .exchange_delay_ns = pp_rng_next(&rng) >> 20};
    struct pp_rank_epoch epochs[] = {{0, pp_rng_next(&rng) >> 20}, {(uint32_t)rank + 1, 5}};
    row.epochs = epochs;
    row.n_epochs = rank % 4 ? 2 : 0;
    struct pp_rank_end ends[] = {{0, pp_rng_next(&rng) >> 2}, {7, 5}, {(uint32_t)rank + 8, UINT64_MAX}};
    row.ends = ends;
    row.n_ends = rank % 5 ? 3 : 0;
    const uint64_t batches[] = {pp_rng_next(&rng), 0};
    row.batches = (const uint8_t *)batches;
    row.n_batches = rank % 3 ? (size_t)rank % 16 : 0;
    row.running = rank == 7;
    row.until_utc_ns = pp_rng_next(&rng) >> 1;
    size_t n = 0;
    row.work_ns[PP_PHASE_READ] = pp_rng_next(&rng) >> 10;
    for (uint32_t i = 0; i < STEPS; i++)
        if (pp_rng_below(&rng, 8)) {
            steps[n] = (struct pp_rank_own_step){.number = 3 * i,
                                                 .own_ns = pp_rng_below(&rng, 1u << 30),
                                                 .input_ns = pp_rng_below(&rng, 5),
                                                 .all_ns = pp_rng_below(&rng, 1u << 31),
                                                 .end_utc_ns = end_of(&rng, rank, i)};
            n++;
        }
    assert_int_equal(pp_digest_make(&row, steps, n, out, &err), PP_OK);
}

static uint8_t *bytes_of(const char *path, size_t *n)
{
    struct pp_io_file f = {0};
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
    *n = f.size;
    return f.buf;
}

static void assert_equal_files(const char *a, const char *b)
{
    size_t n, m;
    uint8_t *x = bytes_of(a, &n), *y = bytes_of(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Merges files[from .. to) by halves, each part through a file. */
static void merge_through_files(const int *order, int from, int to, struct pp_digest *out)
{
    if (to - from == 1) {
        make_one(order[from], out);
    } else {
        struct pp_digest right;
        int middle = from + (to - from) / 3 + 1;
        middle = middle < to ? middle : to - 1;
        merge_through_files(order, from, middle, out);
        merge_through_files(order, middle, to, &right);
        assert_int_equal(pp_digest_merge(out, &right, &err), PP_OK);
        pp_digest_free(&right);
    }
    assert_int_equal(pp_digest_store(out, path_of("part.digest"), &err), PP_OK);
    pp_digest_free(out);
    assert_int_equal(pp_digest_load(path_of("part.digest"), out, &err), PP_OK);
}

static void test_any_tree_is_the_same_file(void **state)
{
    int order[RANKS];
    struct pp_rng rng = pp_rng_key(3, 0, 0, 0);
    (void)state;
    for (int i = 0; i < RANKS; i++)
        order[i] = i;
    for (int round = 0; round < 30; round++) {
        struct pp_digest d;
        merge_through_files(order, 0, RANKS, &d);
        assert_int_equal(d.n_rows, RANKS);
        assert_int_equal(pp_digest_store(&d, path_of(round ? "other.digest" : "first.digest"), &err), PP_OK);
        pp_digest_free(&d);
        if (round)
            assert_equal_files(path_of("first.digest"), path_of("other.digest"));
        for (int i = RANKS - 1; i > 0; i--) {
            int k = (int)pp_rng_below(&rng, (uint64_t)i + 1), t = order[i];
            order[i] = order[k];
            order[k] = t;
        }
    }
}

static void test_what_is_read_is_what_was_written(void **state)
{
    struct pp_digest a, b;
    (void)state;
    make_one(4, &a);
    assert_int_equal(pp_digest_store(&a, path_of("a.digest"), &err), PP_OK);
    assert_true(pp_digest_is_file(path_of("a.digest")));
    assert_int_equal(pp_digest_load(path_of("a.digest"), &b, &err), PP_OK);
    assert_int_equal(b.n_rows, 1);
    assert_int_equal(b.n_steps, a.n_steps);
    assert_memory_equal(a.steps, b.steps, a.n_steps * sizeof(*a.steps));
    const struct pp_rank_row *x = &a.rows[0], *y = &b.rows[0];
    assert_true(y->rank == 4 && y->world_size == -1 && y->node == 1 && y->met && isnan(y->data_wait_share));
    assert_true(x->samples_per_s == y->samples_per_s && x->wait_ns == y->wait_ns);
    assert_true(x->wait_delay_ns == y->wait_delay_ns && x->step_delay_ns == y->step_delay_ns);
    assert_true(x->work_delay_ns == y->work_delay_ns && x->exchange_delay_ns == y->exchange_delay_ns);
    assert_string_equal(y->job, "job 1");
    assert_string_equal(y->host, "");
    assert_null(y->gpu);
    assert_string_equal(y->sentence, x->sentence);
    assert_memory_equal(x->work_ns, y->work_ns, sizeof(x->work_ns));
    assert_true(x->until_utc_ns == y->until_utc_ns && x->running == y->running && y->n_ends == 3);
    for (size_t i = 0; i < y->n_ends; i++)
        assert_true(x->ends[i].number == y->ends[i].number && x->ends[i].utc_ns == y->ends[i].utc_ns);
    pp_digest_free(&a);
    pp_digest_free(&b);
}

static void write_bytes(const char *path, const uint8_t *p, size_t n)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(p, 1, n, out), n);
    fclose(out);
}

/* Cut anywhere, with any byte changed, longer: refused. */
static void test_damage_is_refused(void **state)
{
    struct pp_digest d;
    size_t n;
    (void)state;
    make_one(1, &d);
    assert_int_equal(pp_digest_store(&d, path_of("d.digest"), &err), PP_OK);
    pp_digest_free(&d);
    uint8_t *p = bytes_of(path_of("d.digest"), &n);
    uint8_t *longer = calloc(n + 1, 1);
    memcpy(longer, p, n);
    for (size_t i = 0; i < n; i++) {
        write_bytes(path_of("cut.digest"), p, i);
        assert_int_not_equal(pp_digest_load(path_of("cut.digest"), &d, &err), PP_OK);
        longer[i] ^= 0x41;
        write_bytes(path_of("cut.digest"), longer, n);
        assert_int_not_equal(pp_digest_load(path_of("cut.digest"), &d, &err), PP_OK);
        longer[i] ^= 0x41;
    }
    write_bytes(path_of("cut.digest"), longer, n + 1);
    assert_int_equal(pp_digest_load(path_of("cut.digest"), &d, &err), PP_E_CORRUPT);
    free(longer);
    free(p);
}

/* With the checksum made right again, as a stranger would: what is read is whole in itself, or refused. */
static void test_hostile_files_are_bounded(void **state)
{
    struct pp_digest d;
    struct pp_rng rng = pp_rng_key(5, 0, 0, 0);
    size_t n;
    (void)state;
    make_one(1, &d);
    assert_int_equal(pp_digest_store(&d, path_of("d.digest"), &err), PP_OK);
    pp_digest_free(&d);
    uint8_t *p = bytes_of(path_of("d.digest"), &n);
    for (int round = 0; round < 2000; round++) {
        uint8_t *q = malloc(n);
        memcpy(q, p, n);
        for (uint64_t k = pp_rng_below(&rng, 4) + 1; k; k--)
            q[20 + pp_rng_below(&rng, n - 20)] = (uint8_t)pp_rng_next(&rng);
        size_t m = pp_rng_below(&rng, 3) ? n : 20 + pp_rng_below(&rng, n - 20);
        uint64_t sum = XXH3_64bits(q + 20, m - 20);
        memcpy(q + 12, &sum, sizeof(sum));
        write_bytes(path_of("h.digest"), q, m);
        if (pp_digest_load(path_of("h.digest"), &d, &err) == PP_OK) {
            for (size_t i = 1; i < d.n_steps; i++)
                assert_true(d.steps[i].number > d.steps[i - 1].number);
            pp_digest_free(&d);
        }
        free(q);
    }
    free(p);
}

/* Hashes of batches have a budget, of a rank and of a job, which is the same in any tree of merges. */
static void test_hashes_of_batches_have_a_budget(void **state)
{
    static const struct {
        int64_t world_size;
        size_t n, kept;
    } rows[] = {{1, PP_RANK_BATCHES, PP_RANK_BATCHES},
                {1, PP_RANK_BATCHES + 1, 0},
                {-1, PP_RANK_BATCHES + 1, 0},
                {1024, 1 << 18, 1 << 18},
                {1024, (1 << 18) + 1, 0},
                {INT32_MAX, 1, 0}};
    uint8_t *hashes = calloc(PP_RANK_BATCHES + 1, 1);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_rank_row row = {.world_size = rows[i].world_size,
                                  .batches = hashes,
                                  .n_batches = rows[i].n};
        struct pp_digest d;
        assert_int_equal(pp_digest_make(&row, NULL, 0, &d, &err), PP_OK);
        assert_int_equal(d.rows[0].n_batches, rows[i].kept);
        assert_int_equal(pp_digest_store(&d, path_of("d.digest"), &err), PP_OK);
        pp_digest_free(&d);
        assert_int_equal(pp_digest_load(path_of("d.digest"), &d, &err), PP_OK);
        assert_int_equal(d.rows[0].n_batches, rows[i].kept);
        d.rows[0].batches = hashes;
        d.rows[0].n_batches = PP_RANK_BATCHES + 1; /* a stranger's */
        assert_int_equal(pp_digest_store(&d, path_of("d.digest"), &err), PP_OK);
        pp_digest_free(&d);
        assert_int_equal(pp_digest_load(path_of("d.digest"), &d, &err), PP_E_CORRUPT);
    }
    free(hashes);
}

static void test_other_files(void **state)
{
    struct pp_digest d;
    (void)state;
    write_bytes(path_of("x"), (const uint8_t *)"SQLite format 3", 16);
    assert_false(pp_digest_is_file(path_of("x")));
    assert_false(pp_digest_is_file(path_of("nowhere")));
    assert_int_equal(pp_digest_load(path_of("x"), &d, &err), PP_E_CORRUPT);
    assert_non_null(strstr(err.text, "is no digest"));
    write_bytes(path_of("x"), (const uint8_t *)"ppdigest\7\0\0\0\0\0\0\0\0\0\0\0", 20);
    assert_int_equal(pp_digest_load(path_of("x"), &d, &err), PP_E_VERSION);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/pp-digest-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"part.digest", "first.digest", "other.digest", "a.digest",
                                        "d.digest",    "cut.digest",   "h.digest",     "x"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(path_of(names[i]));
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_tree_is_the_same_file),
        cmocka_unit_test(test_what_is_read_is_what_was_written),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_hostile_files_are_bounded),
        cmocka_unit_test(test_hashes_of_batches_have_a_budget),
        cmocka_unit_test(test_other_files),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
