/* Megatron-LM's pairs of files: the windows are those of the .bin, of the type that the .idx says; whatever
 * is wrong with the pair is a sentence. */
#include "tests/support/dataset_tree.h"

#include "probe/base/rng.h"
#include "probe/dataset/options.h"

enum { TOKENS = 1000, SEQUENCES = 4, IDX = 34 + SEQUENCES * 12 + (SEQUENCES + 1) * 8 };

static const int lengths[SEQUENCES] = {400, 1, 99, 500};

/* type: Megatron's code; width: its bytes. */
static void make_pair(const char *name, int type, int width)
{
    uint8_t idx[IDX] = "MMIDIDX\0", *bin = calloc(TOKENS, 4), *to = idx + 34;
    char rel[64];
    idx[9] = 1;
    idx[17] = (uint8_t)type;
    idx[18] = SEQUENCES;
    idx[26] = SEQUENCES + 1;
    for (int i = 0; i < SEQUENCES; i++, to += 4)
        memcpy(to, &lengths[i], 4);
    uint64_t at = 0;
    for (int i = 0; i < SEQUENCES; at += (uint64_t)(lengths[i++] * width), to += 8)
        memcpy(to, &at, 8);
    for (uint64_t i = 0; i <= SEQUENCES; i++, to += 8)
        memcpy(to, &i, 8);
    for (uint32_t i = 0; i < TOKENS; i++)
        memcpy(bin + i * (unsigned)width, &i, (size_t)width);
    snprintf(rel, sizeof(rel), "%s.idx", name);
    tree_put(rel, idx, sizeof(idx));
    snprintf(rel, sizeof(rel), "%s.bin", name);
    tree_put(rel, bin, (size_t)(TOKENS * width));
    free(bin);
}

static struct pp_dataset_opts opts_of(const char *rel, int token_bytes)
{
    static struct pp_dataset_options o;
    o.tokens.window = 101;
    o.tokens.token_bytes = token_bytes;
    return (struct pp_dataset_opts){.spec = tree_path(rel), .options = &o};
}

static void windows_are_of_the_type_the_index_says(void **state)
{
    static const struct {
        int type, width;
    } types[] = {{8, 2}, {3, 2}, {4, 4}};
    static const char *const specs[] = {"text_document.bin", "text_document.idx", "text_document"};
    for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++) {
        make_pair("text_document", types[k].type, types[k].width);
        for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
            char text[160];
            struct pp_sample s = {0};
            struct pp_dataset_opts o = opts_of(specs[i], 0);
            struct pp_dataset *d = tree_open(&o);
            assert_string_equal(pp_dataset_format_name(d), "tokens");
            assert_int_equal(pp_dataset_len(d), (TOKENS - 101) / 100 + 1);
            assert_int_equal(pp_dataset_read(d, 3, &s, NULL), PP_OK);
            assert_int_equal(s.size, 101 * types[k].width);
            for (uint32_t j = 0; j < 101; j++) {
                uint32_t v = 0;
                memcpy(&v, s.data + j * (unsigned)types[k].width, (size_t)types[k].width);
                assert_int_equal(v, 300 + j);
            }
            pp_dataset_describe(d, text, sizeof(text));
            assert_non_null(strstr(text, "Megatron index of 4 sequences"));
            pp_sample_free(&s);
            pp_dataset_close(d);
        }
    }
}

/* The size that an option says is for files that do not say it. */
static void an_index_and_an_option_must_agree(void **state)
{
    make_pair("a", 4, 4);
    struct pp_dataset_opts o = opts_of("a.bin", 4);
    pp_dataset_close(tree_open(&o));
    o = opts_of("a.bin", 2);
    tree_refused(&o, PP_E_USAGE, "--token-bytes 2", "4 bytes");
    tree_put_text("a.idx", "an index of something else"); /* as if it were not there */
    pp_dataset_close(tree_open(&o));
}

static void a_pair_that_does_not_fit_is_refused(void **state)
{
    static const struct {
        size_t at; /* in the index */
        uint8_t value;
        pp_status status;
        const char *word, *other;
    } rows[] = {
        {9, 2, PP_E_UNSUPPORTED, "version 2", "version 1"},
        {17, 5, PP_E_UNSUPPORTED, "int64", "2 or 4 bytes"},
        {17, 7, PP_E_UNSUPPORTED, "float32", "2 or 4 bytes"},
        {17, 99, PP_E_UNSUPPORTED, "unknown type", "99"},
        {17, 4, PP_E_CORRUPT, "ends at byte", "truncated"},
        {18, 5, PP_E_CORRUPT, "truncated", "5 sequences"},
        {25, 0x80, PP_E_CORRUPT, "truncated", "sequences"},
        {33, 0xff, PP_E_CORRUPT, "truncated", "sequences"},
        {34 + SEQUENCES * 4, 2, PP_E_CORRUPT, "ends at byte", "different data sets"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t n;
        make_pair("a", 8, 2);
        uint8_t *idx = tree_get("a.idx", &n);
        idx[rows[i].at] = rows[i].value;
        tree_put("a.idx", idx, n);
        free(idx);
        struct pp_dataset_opts o = opts_of("a.bin", 0);
        tree_refused(&o, rows[i].status, rows[i].word, rows[i].other);
    }
    make_pair("a", 8, 2);
    assert_int_equal(truncate(tree_path("a.bin"), TOKENS), 0);
    struct pp_dataset_opts o = opts_of("a.bin", 0);
    tree_refused(&o, PP_E_CORRUPT, "a.bin holds 1000 bytes", "ends at byte 2000");
    make_pair("a", 8, 2);
    for (int cut = 9; cut < IDX; cut++) {
        make_pair("a", 8, 2);
        assert_int_equal(truncate(tree_path("a.idx"), cut), 0);
        tree_refused(&o, PP_E_CORRUPT, "a.idx", "truncated");
    }
}

static void any_index_is_safe(void **state)
{
    struct pp_rng r = pp_rng_key(4, 0, 0, 0);
    size_t n;
    make_pair("a", 8, 2);
    uint8_t *good = tree_get("a.idx", &n), *bad = malloc(n);
    struct pp_dataset_opts o = opts_of("a.bin", 0);
    for (int round = 0; round < 1000; round++) {
        struct pp_dataset *d = NULL;
        struct pp_err err = {0};
        memcpy(bad, good, n);
        for (uint64_t k = pp_rng_below(&r, 5); k < 5; k++)
            bad[9 + pp_rng_below(&r, n - 9)] = (uint8_t)pp_rng_next(&r);
        tree_put("a.idx", bad, n);
        if (pp_dataset_open(&o, &d, &err) != PP_OK)
            assert_true(err.text[0]);
        pp_dataset_close(d);
    }
    free(good);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(windows_are_of_the_type_the_index_says),
        TREE_TEST(an_index_and_an_option_must_agree),
        TREE_TEST(a_pair_that_does_not_fit_is_refused),
        TREE_TEST(any_index_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
