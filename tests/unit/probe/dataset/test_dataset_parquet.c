/* Parquet files as data sets: each sample and label of every layout, by any number of threads, and hostile
 * files. */
#include "tests/support/dataset_tree.h"
#include "tests/support/made_parquet.h"

#include "probe/base/err.h"
#include "probe/dataset/options.h"

#include <pthread.h>

static const struct made_parquet layouts[] = {
    {.rows = 100, .group_rows = 40, .page_rows = 7},
    {.rows = 100, .group_rows = 40, .page_rows = 7, .codec = 2, .dictionary = 1, .nulls = 1},
    {.rows = 100, .group_rows = 100, .page_rows = 11, .codec = 6, .split = 1},
    {.rows = 100, .group_rows = 30, .page_rows = 30, .version_2 = 1, .codec = 6, .dictionary = 1},
    {.rows = 100, .group_rows = 30, .page_rows = 4, .version_2 = 1, .index = 1, .nulls = 1},
    {.rows = 100, .group_rows = 50, .page_rows = 5, .codec = 2, .index = 1, .dictionary = 1},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts), MANY = 4096 };

static void put_made(const char *rel, const struct made_parquet *how)
{
    size_t n;
    uint8_t *bytes = made_parquet(how, &n);
    tree_put(rel, bytes, n);
    free(bytes);
}

static struct pp_dataset *open_it(const char *rel, const char *feature)
{
    struct pp_dataset_options o = {0};
    o.feature = feature;
    return tree_open(&(struct pp_dataset_opts){.spec = tree_path(rel), .options = &o});
}

/* Sample i of d is row i of what was made. */
static void expect(const struct pp_dataset *d, const struct made_parquet *how, uint32_t i, int ids)
{
    struct pp_sample s = {0};
    struct pp_err err = {0};
    uint8_t want[MANY];
    size_t n = ids ? made_parquet_ids(i, (int32_t *)(void *)want) * 4 : made_parquet_image(i, want);
    if (pp_dataset_read(d, i, &s, &err) != PP_OK)
        fail_msg("row %u: %s", i, err.text);
    assert_int_equal(s.size, n);
    assert_memory_equal(s.data, want, n);
    assert_int_equal(s.label, made_parquet_label(how, i));
    pp_sample_free(&s);
}

static void every_layout_gives_its_rows(void **state)
{
    for (size_t k = 0; k < LAYOUTS; k++) {
        put_made("x.parquet", &layouts[k]);
        struct pp_dataset *d = open_it("x.parquet", NULL);
        assert_string_equal(pp_dataset_format_name(d), "parquet");
        assert_int_equal(pp_dataset_content(d), PP_CONTENT_IMAGE);
        assert_int_equal(pp_dataset_len(d), layouts[k].rows);
        for (uint32_t i = 0; i < layouts[k].rows; i++)
            expect(d, &layouts[k], i * 37 % layouts[k].rows, 0);
        pp_dataset_close(d);
        d = open_it("x.parquet", "ids");
        assert_int_equal(pp_dataset_content(d), PP_CONTENT_TOKENS);
        for (uint32_t i = 0; i < layouts[k].rows; i++)
            expect(d, &layouts[k], i * 37 % layouts[k].rows, 1);
        pp_dataset_close(d);
    }
}

struct job {
    const struct pp_dataset *d;
    uint32_t first;
};

static void *read_some(void *arg)
{
    const struct job *j = arg;
    for (uint32_t i = 0; i < layouts[1].rows; i++)
        expect(j->d, &layouts[1], (i * 13 + j->first) % layouts[1].rows, 0);
    return NULL;
}

static void threads_share_pages(void **state)
{
    pthread_t t[4];
    struct job job[4];
    put_made("x.parquet", &layouts[1]);
    struct pp_dataset *d = open_it("x.parquet", NULL);
    for (uint32_t i = 0; i < 4; i++) {
        job[i] = (struct job){d, i * 3};
        assert_int_equal(pthread_create(&t[i], NULL, read_some, &job[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert_true(pp_dataset_footprint(d) < 4 << 20);
    pp_dataset_close(d);
}

static void a_directory_is_its_files_in_order(void **state)
{
    char path[600];
    put_made("set/train-00001.parquet", &layouts[1]);
    put_made("set/train-00000.parquet", &layouts[0]);
    tree_put_text("set/README.md", "x");
    struct pp_dataset *d = open_it("set", NULL);
    assert_int_equal(pp_dataset_len(d), 200);
    expect(d, &layouts[0], 99, 0);
    pp_dataset_path(d, 103, path, sizeof(path));
    assert_non_null(strstr(path, "set/train-00001.parquet:3"));
    pp_dataset_describe(d, path, sizeof(path));
    assert_string_equal(path, "Parquet, 200 rows in 2 files, column image.bytes");
    pp_dataset_close(d);
}

static void what_is_wrong_is_a_sentence(void **state)
{
    struct pp_dataset_options o = {0};
    size_t n;
    uint8_t *bytes = made_parquet(&layouts[0], &n);
    const struct pp_dataset_opts cut = {.spec = tree_path("cut.parquet")};
    tree_put("cut.parquet", bytes, n - 9);
    tree_refused(&cut, PP_E_CORRUPT, "truncated", "PAR1");
    memcpy(bytes + n - 4, "PARE", 4);
    tree_put("cut.parquet", bytes, n);
    tree_refused(&cut, PP_E_UNSUPPORTED, "encrypted", "pipeprobe exec");
    memcpy(bytes + n - 8, "\xff\xff\xff\xff\x50\x41\x52\x31", 8);
    tree_put("cut.parquet", bytes, n);
    tree_refused(&cut, PP_E_CORRUPT, "footer claims", "damaged");
    tree_put("cut.parquet", "PAR1", 4);
    tree_refused(&cut, PP_E_CORRUPT, "too few", "Parquet");
    free(bytes);
    put_made("x.parquet", &layouts[0]);
    o.feature = "picture";
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("x.parquet"), .options = &o}, PP_E_UNSUPPORTED,
                 "no column picture", "image.bytes (binary), label (int64), ids (list of int32)");
}

/* One byte is another one: each sample is bytes or a sentence. */
static void damage_anywhere_is_survived(void **state)
{
    struct pp_sample s = {.limit = 1 << 20};
    for (size_t k = 0; k < LAYOUTS; k++) {
        size_t n;
        uint8_t *bytes = made_parquet(&layouts[k], &n);
        for (size_t at = k; at < n; at += at + 4000 < n ? 211 : 17) {
            uint8_t was = bytes[at];
            bytes[at] ^= (uint8_t)(1 << at % 8);
            tree_put("x.parquet", bytes, n);
            bytes[at] = was;
            struct pp_dataset *d = NULL;
            struct pp_err err = {0};
            pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_path("x.parquet")}, &d,
                                           &err);
            assert_true(st == PP_OK || err.text[0]);
            for (uint64_t i = 0; d && i < pp_dataset_len(d) && i < 100; i += 9) {
                pp_err_clear(&err);
                assert_true(pp_dataset_read(d, i, &s, &err) == PP_OK || err.text[0]);
            }
            pp_dataset_close(d);
        }
        free(bytes);
    }
    pp_sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(every_layout_gives_its_rows),       TREE_TEST(threads_share_pages),
        TREE_TEST(a_directory_is_its_files_in_order), TREE_TEST(what_is_wrong_is_a_sentence),
        TREE_TEST(damage_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
