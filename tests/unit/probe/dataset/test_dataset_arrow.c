/* Arrow IPC as data sets: rows of a stream and of a file, and both cut and damaged at every byte. */
#include "tests/support/dataset_tree.h"
#include "tests/support/made_arrow.h"

#include "probe/base/err.h"
#include "probe/dataset/options.h"

static const struct made_arrow *const made[] = {&made_arrow_stream, &made_arrow_file};
enum { ROWS = 5 };

static struct pp_dataset *open_it(const char *rel, const char *feature)
{
    struct pp_dataset_options o = {0};
    o.feature = feature;
    return tree_open(&(struct pp_dataset_opts){.spec = tree_path(rel), .options = &o});
}

static void expect(const struct pp_dataset *d, uint64_t i, const void *want, size_t n)
{
    static const int64_t labels[ROWS] = {3, -1, 5, -1, 7};
    struct pp_sample s = {0};
    struct pp_err err = {0};
    if (pp_dataset_read(d, i, &s, &err) != PP_OK)
        fail_msg("row %d: %s", (int)i, err.text);
    assert_int_equal(s.size, n);
    assert_memory_equal(s.data, want, n);
    assert_int_equal(s.label, labels[i % ROWS]);
    pp_sample_free(&s);
}

static void expect_image(const struct pp_dataset *d, uint64_t i)
{
    char want[16];
    int n = snprintf(want, sizeof(want), "\xff\xd8\xff\xe0i%d", (int)i % ROWS);
    expect(d, i, want, (size_t)n);
}

static void streams_and_files_give_their_rows(void **state)
{
    for (size_t k = 0; k < 2; k++) {
        tree_put("x.arrow", made[k]->bytes, made[k]->size);
        struct pp_dataset *d = open_it("x.arrow", NULL);
        assert_string_equal(pp_dataset_format_name(d), "arrow");
        assert_int_equal(pp_dataset_content(d), PP_CONTENT_IMAGE);
        assert_int_equal(pp_dataset_len(d), ROWS);
        for (uint64_t i = 0; i < ROWS; i++)
            expect_image(d, ROWS - 1 - i);
        pp_dataset_close(d);
        d = open_it("x.arrow", "ids");
        assert_int_equal(pp_dataset_content(d), PP_CONTENT_TOKENS);
        for (int32_t i = 0; i < ROWS; i++)
            expect(d, (uint64_t)i, (int32_t[]){i, i + 1, i + 2}, (size_t)(1 + i % 3) * 4);
        assert_true(pp_dataset_footprint(d) < 4 << 20);
        pp_dataset_close(d);
    }
}

static void what_datasets_saves_is_its_data_files(void **state)
{
    char text[600];
    tree_put("saved/data-00001-of-00002.arrow", made_arrow_stream.bytes, made_arrow_stream.size);
    tree_put("saved/data-00000-of-00002.arrow", made_arrow_stream.bytes, made_arrow_stream.size);
    tree_put("saved/cache-0123.arrow", made_arrow_stream.bytes, made_arrow_stream.size);
    tree_put_text("saved/state.json", "{}");
    tree_put_text("saved/dataset_info.json", "{}");
    struct pp_dataset *d = open_it("saved", NULL);
    assert_int_equal(pp_dataset_len(d), 2 * ROWS);
    expect_image(d, 2 * ROWS - 1);
    pp_dataset_path(d, ROWS, text, sizeof(text));
    assert_non_null(strstr(text, "data-00001-of-00002.arrow:0"));
    pp_dataset_describe(d, text, sizeof(text));
    assert_string_equal(text, "Arrow, 10 rows in 2 files, column image.bytes");
    pp_dataset_close(d);
}

/* All rows: bytes, or a sentence. */
static int survives(const uint8_t *bytes, size_t n)
{
    struct pp_dataset *d = NULL;
    struct pp_sample s = {.limit = 1 << 20};
    struct pp_err err = {0};
    int good = 0;
    tree_put("x.arrow", bytes, n);
    pp_status st = pp_dataset_open(&(struct pp_dataset_opts){.spec = tree_path("x.arrow")}, &d, &err);
    assert_true(st == PP_OK || err.text[0]);
    for (uint64_t i = 0; d && i < pp_dataset_len(d) && i < 20; i++) {
        pp_err_clear(&err);
        st = pp_dataset_read(d, i, &s, &err);
        assert_true(st == PP_OK || err.text[0]);
        good += st == PP_OK;
    }
    pp_sample_free(&s);
    pp_dataset_close(d);
    return good;
}

static void damage_anywhere_is_survived(void **state)
{
    int good = 0;
    for (size_t k = 0; k < 2; k++) {
        uint8_t *bytes = malloc(made[k]->size);
        memcpy(bytes, made[k]->bytes, made[k]->size);
        for (size_t n = 0; n < made[k]->size; n += 3)
            survives(bytes, n);
        for (size_t at = 0; at < made[k]->size; at++) {
            bytes[at] ^= (uint8_t)(1 << at % 8);
            good += survives(bytes, made[k]->size);
            bytes[at] ^= (uint8_t)(1 << at % 8) ^ 0xff;
            survives(bytes, made[k]->size);
            bytes[at] ^= 0xff;
        }
        free(bytes);
    }
    assert_true(good > 0);
}

static void what_is_wrong_is_a_sentence(void **state)
{
    const struct pp_dataset_opts o = {.spec = tree_path("x.arrow")};
    tree_put("x.arrow", made_arrow_stream.bytes, made_arrow_stream.size / 2);
    tree_refused(&o, PP_E_CORRUPT, "truncated", "ends at byte");
    tree_put("x.arrow", made_arrow_file.bytes, made_arrow_file.size - 1);
    tree_refused(&o, PP_E_CORRUPT, "truncated", "does not end in ARROW1");
    tree_put("x.arrow", "\xff\xff\xff\xff", 4);
    tree_refused(&o, PP_E_CORRUPT, "truncated", "x.arrow");
    tree_put("x.arrow", "\x10\0\0\0\x10\0\0\0", 8);
    tree_refused(&o, PP_E_CORRUPT, "before 0.15", "x.arrow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(streams_and_files_give_their_rows),
        TREE_TEST(what_datasets_saves_is_its_data_files),
        TREE_TEST(damage_anywhere_is_survived),
        TREE_TEST(what_is_wrong_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
