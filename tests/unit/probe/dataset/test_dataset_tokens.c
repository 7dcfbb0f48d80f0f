/* Token files and .npy headers; synthetic samples. */
#include "tests/support/dataset_tree.h"

#include "probe/base/clock.h"
#include "probe/base/rng.h"
#include "probe/dataset/dataset_tokens.h"
#include "probe/dataset/options.h"

/* The result lives until the next call. */
static const struct pp_dataset_options *tokens_options(int64_t window, int64_t token_bytes)
{
    static struct pp_dataset_options o;
    o.tokens = (struct pp_tokens_opts){.window = window, .token_bytes = token_bytes};
    return &o;
}

/* An .npy file of the given version whose header is the text, followed by items 16-bit numbers. */
static void put_npy(const char *rel, int version, const char *text, size_t items)
{
    uint8_t bytes[8192] = "\x93NUMPY";
    size_t length = strlen(text), at = version == 1 ? 10 : 12;
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + at, text, length);
    for (size_t i = 0; i < items; i++) {
        bytes[at + length + 2 * i] = (uint8_t)i;
        bytes[at + length + 2 * i + 1] = (uint8_t)(i >> 8);
    }
    tree_put(rel, bytes, at + length + 2 * items);
}

static void put_bin(const char *rel, size_t tokens)
{
    uint16_t *t = malloc(tokens * sizeof(*t));
    for (size_t i = 0; i < tokens; i++)
        t[i] = (uint16_t)i;
    tree_put(rel, t, tokens * sizeof(*t));
    free(t);
}

/* Window i begins at i * (window - 1), every token but the first is once a target, and what is left is
 * shorter than a window. */
static void windows_share_one_token(void **state)
{
    static const size_t counts[] = {5, 8, 9, 10, 1000, 20000};
    for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++)
        for (uint64_t window = 2; window <= 5; window++) {
            struct pp_sample s = {0};
            put_bin("t.bin", counts[k]);
            struct pp_dataset *d = tree_open(
                &(struct pp_dataset_opts){.spec = tree_path("t.bin"), .options = tokens_options(window, 0)});
            assert_string_equal(pp_dataset_format_name(d), "tokens");
            assert_int_equal(pp_dataset_content(d), PP_CONTENT_TOKENS);
            uint64_t n = pp_dataset_len(d), step = window - 1;
            assert_true((n - 1) * step + window <= counts[k]);
            assert_true(n * step + window > counts[k]);
            for (uint64_t i = 0; i < n; i++) {
                uint16_t first, last;
                assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
                assert_int_equal(s.size, window * 2);
                memcpy(&first, s.data, 2);
                memcpy(&last, s.data + s.size - 2, 2);
                assert_int_equal(first, i * step);
                assert_int_equal(last, i * step + window - 1);
                assert_int_equal(s.label, -1);
                assert_true(s.cache_hit_bytes <= s.size);
            }
            assert_int_equal(s.grown, 0); /* borrowed from the mapping */
            pp_sample_free(&s);
            pp_dataset_close(d);
        }
}

static void npy_of_every_kind_is_read(void **state)
{
    static const struct {
        int version;
        const char *text;
    } cases[] = {
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (100,), }      \n"},
        {2, "{'descr': '<u2', 'fortran_order': False, 'shape': (100,), }\n"},
        {3, "{\"shape\":(100,),\"fortran_order\":False,\"descr\":\"<u2\"}"},
        {1, "{'descr': '<u2', 'fortran_order': True, 'shape': ( 100 , )}"}, /* one dimension: the order means
                                                                               nothing */
    };
    char text[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pp_sample s = {0};
        uint16_t token;
        put_npy("t.npy", cases[i].version, cases[i].text, 100);
        struct pp_dataset *d = tree_open(
            &(struct pp_dataset_opts){.spec = tree_path("t.npy"), .options = tokens_options(10, 0)});
        assert_int_equal(pp_dataset_len(d), 11);
        assert_int_equal(pp_dataset_read(d, 10, &s, NULL), PP_OK);
        memcpy(&token, s.data + 18, 2);
        assert_int_equal(token, 99);
        pp_dataset_describe(d, text, sizeof(text));
        assert_string_equal(text, "token file, 100 tokens of 2 bytes in 11 windows of 10");
        pp_dataset_close(d);
    }
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0) {
        char command[400];
        struct pp_sample s = {0};
        snprintf(
            command, sizeof(command),
            "/usr/bin/python3 -c \"import numpy; numpy.save('%s', numpy.arange(70000, dtype='uint32'))\"",
            tree_path("n.npy"));
        assert_int_equal(system(command), 0);
        struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("n.npy")});
        assert_int_equal(pp_dataset_len(d), (70000 - 1025) / 1024 + 1);
        uint32_t token;
        assert_int_equal(pp_dataset_read(d, 66, &s, NULL), PP_OK);
        memcpy(&token, s.data, 4);
        assert_int_equal(token, 66 * 1024);
        assert_int_equal(s.size, 4 * 1025);
        pp_dataset_close(d);
    }
}

static void refusals_are_one_clear_sentence(void **state)
{
    static const struct {
        const char *text;
        pp_status status;
        const char *word, *other;
    } cases[] = {
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (5000000000,), }", PP_E_CORRUPT,
         "claims 5000000000 tokens", "holds 100"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }", PP_E_UNSUPPORTED, "<f4", "astype"},
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (10,), }", PP_E_UNSUPPORTED, ">u2",
         "little-endian"},
        {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (10,), }", PP_E_UNSUPPORTED, "struct",
         "astype"},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (10, 10), }", PP_E_UNSUPPORTED, "Fortran order",
         "ravel"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (10, 10), }", PP_E_UNSUPPORTED, "2 dimensions",
         "ravel"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (), }", PP_E_UNSUPPORTED, "0 dimensions", "flat"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999999,), }", PP_E_CORRUPT,
         "damaged", "dictionary"},
        {"{'descr': '<u2', 'fortran_order': False}", PP_E_CORRUPT, "damaged", "dictionary"},
        {"'descr'", PP_E_CORRUPT, "damaged", "dictionary"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }", PP_E_EMPTY, "holds 3 tokens",
         "window of 1025"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        put_npy("t.npy", 1, cases[i].text, 100);
        tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy")}, cases[i].status, cases[i].word,
                     cases[i].other);
    }
    put_npy("t.npy", 4, "{}", 10);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy")}, PP_E_UNSUPPORTED, "version 4",
                 "1 to 3");
    tree_put("t.npy", "\x93NUMPY\x01\x00\x76\x00{'descr'", 18);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy")}, PP_E_CORRUPT, "ends inside",
                 "header");
    tree_put("t.npy", "\x93NUM", 4);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy")}, PP_E_CORRUPT, "not an .npy", "NUMPY");
    tree_put("t.npy", "", 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy")}, PP_E_EMPTY, "0 bytes", "t.npy");
    tree_put("t.bin", "", 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.bin")}, PP_E_EMPTY, "0 bytes", "t.bin");
    put_bin("t.bin", 3000);
    assert_int_equal(truncate(tree_path("t.bin"), 5999), 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.bin")}, PP_E_CORRUPT, "5999 bytes", "1 more");
    assert_int_equal(truncate(tree_path("t.bin"), 5998), 0);
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.bin"), .options = tokens_options(0, 4)},
                 PP_E_CORRUPT, "2 more", "4-byte");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.bin"), .options = tokens_options(0, 3)},
                 PP_E_USAGE, "3 bytes", "uint16");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.bin"),
                                           .options = tokens_options(INT64_MAX, 0)},
                 PP_E_EMPTY, "fewer than one window", "t.bin");
    tree_refused(&(struct pp_dataset_opts){.spec = tree_path("none.bin")}, PP_E_NOT_FOUND, "none.bin",
                 "No such file");
    for (uint64_t n = 1; n <= 2; n++) {
        put_npy("t.npy", 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (10,), }", 10);
        pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_READ, n, 5 /* EIO */, 0);
        tree_refused(&(struct pp_dataset_opts){.spec = tree_path("t.npy"), .options = tokens_options(2, 0)},
                     PP_E_TRANSIENT, "t.npy", "error");
    }
}

static void a_file_cut_while_mapped_is_an_error_not_a_signal(void **state)
{
    struct pp_sample s = {0};
    struct pp_err err;
    put_bin("t.bin", 100000);
    struct pp_dataset *d = tree_open(&(struct pp_dataset_opts){.spec = tree_path("t.bin")});
    assert_int_equal(pp_dataset_read(d, 90, &s, &err), PP_OK);
    assert_int_equal(truncate(tree_path("t.bin"), 4096), 0);
    assert_int_equal(pp_dataset_read(d, 90, &s, &err), PP_E_IO);
    assert_non_null(strstr(err.text, "truncated"));
    assert_int_equal(s.size, 0);
    assert_int_equal(pp_dataset_read(d, 0, &s, &err), PP_OK);
    pp_dataset_close(d);
}

static void mutated_headers_never_crash(void **state)
{
    static const char header[] =
        "\x93NUMPY\x01\x00\x3c\x00{'descr': '<u2', 'fortran_order': False, 'shape': (100,), } \n";
    static const char pieces[] = "{}()[],:'\"<>u24 TrueFalse0123456789\\\n";
    struct pp_rng rng = pp_rng_key(9, 9, 9, 9);
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        size_t n = pp_rng_below(&rng, 3) ? sizeof(header) - 1 : pp_rng_below(&rng, sizeof(header));
        uint8_t *bytes = malloc(
            n + 1); /* exactly as long as said, so that the sanitizer sees one byte too many */
        uint8_t *exact = realloc(bytes, n ? n : 1);
        memcpy(exact, header, n);
        for (uint64_t k = pp_rng_below(&rng, 5); n && k > 0; k--)
            exact[pp_rng_below(&rng, n)] = pp_rng_below(&rng, 2)
                                               ? (uint8_t)pp_rng_next(&rng)
                                               : (uint8_t)pieces[pp_rng_below(&rng, sizeof(pieces) - 1)];
        struct pp_npy npy;
        struct pp_err err;
        uint64_t file_size = n + 200;
        if (pp_npy_parse(exact, n, file_size, "m.npy", &npy, &err) == PP_OK) {
            assert_true(npy.data_offset <= file_size);
            assert_true(npy.items <= (file_size - npy.data_offset) / (unsigned)npy.item_bytes);
            accepted++;
        } else {
            assert_true(err.text[0]);
        }
        free(exact);
    }
    assert_true(accepted > 1000 && accepted < 19000);
}

/* ---- synthetic ---- */

static void synthetic_samples_follow_their_spec(void **state)
{
    struct pp_sample s = {0}, again = {0};
    char text[256];
    struct pp_dataset_opts opts = {.spec = "n=1k,size=64x48,unique=4,quality=80,classes=10,seed=7",
                                   .format = "synthetic"};
    struct pp_dataset *d = tree_open(&opts), *twin = tree_open(&opts);
    assert_string_equal(pp_dataset_format_name(d), "synthetic");
    assert_int_equal(pp_dataset_len(d), 1000);
    for (uint64_t i = 0; i < 1000; i += 37) {
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
        assert_int_equal(pp_dataset_read(twin, i % 4, &again, NULL), PP_OK);
        assert_int_equal(s.size, again.size);
        assert_memory_equal(s.data, again.data,
                            s.size); /* the same bytes in another dataset of the same spec */
        assert_memory_equal(s.data, "\xff\xd8\xff", 3);
        assert_int_equal(s.label, i % 10);
    }
    assert_string_equal(pp_dataset_path(d, 17, text, sizeof(text)), "synthetic:17");
    pp_dataset_describe(d, text, sizeof(text));
    assert_non_null(strstr(text, "synthetic, 1,000 JPEG samples of 64x48 (4 different"));
    assert_true(pp_dataset_footprint(d) > 4 * 500);
    pp_dataset_close(twin);
    pp_dataset_close(d);

    opts.spec = "n=3,size=10x10..1000x1000,unique=64,format=png";
    d = tree_open(&opts);
    assert_int_equal(pp_dataset_read(d, 2, &s, NULL), PP_OK);
    assert_memory_equal(s.data, "\x89PNG", 4);
    pp_dataset_close(d);

    opts.spec = "read=20ms,jitter=0.5,n=4,unique=1,size=8x8";
    d = tree_open(&opts);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t start = pp_now_ns();
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
        assert_true(pp_now_ns() - start >= 10 * 1000000u);
        assert_true(s.cache_known && s.cache_hit_bytes == 0);
    }
    pp_dataset_close(d);
    opts.spec = ""; /* every key has a default */
    d = tree_open(&opts);
    assert_int_equal(pp_dataset_len(d), 10000);
    /* About as heavy as a photograph: reference sets have 1.2 to 4 bits per pixel. */
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < 64; i++) {
        assert_int_equal(pp_dataset_read(d, i, &s, NULL), PP_OK);
        bytes += s.size;
    }
    double bits = (double)bytes * 8 / (64.0 * 500 * 375);
    if (bits < 1.2 || bits > 4.5)
        fail_msg("%.2f bits per pixel", bits);
    pp_dataset_close(d);
    pp_sample_free(&s);
    pp_sample_free(&again);
}

static void synthetic_spec_errors_name_the_key(void **state)
{
    static const struct {
        const char *spec, *word, *other;
    } cases[] = {
        {"qualty=90", "\"qualty\"", "did you mean \"quality\""},
        {"zzzzzz=1", "\"zzzzzz\"", "keys: n size unique"},
        {"n=0", "n must be", "not \"0\""},
        {"n=-1", "n must be", ""},
        {"n=x", "n must be", ""},
        {"n", "n must be", ""},
        {"n=2000G", "n must be", ""},
        {"size=500", "size must be", "500x375"},
        {"size=0x5", "size must be", ""},
        {"size=5x5..", "size must be", ""},
        {"size=5x5..6", "size must be", ""},
        {"size=99999x1", "size must be", ""},
        {"size=5x5z", "size must be", ""},
        {"quality=101", "quality must be", "1 to 100"},
        {"format=gif", "format must be", "jpeg or png"},
        {"read=soon", "read must be", "2ms"},
        {"read=2h", "read must be", "60s"},
        {"jitter=2", "jitter must be", ""},
        {"unique=0", "unique must be", ""},
        {"seed=-1", "seed must be", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        tree_refused(&(struct pp_dataset_opts){.spec = cases[i].spec, .format = "synthetic"}, PP_E_USAGE,
                     cases[i].word, cases[i].other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(windows_share_one_token),
        TREE_TEST(npy_of_every_kind_is_read),
        TREE_TEST(refusals_are_one_clear_sentence),
        TREE_TEST(a_file_cut_while_mapped_is_an_error_not_a_signal),
        cmocka_unit_test(mutated_headers_never_crash),
        cmocka_unit_test(synthetic_samples_follow_their_spec),
        cmocka_unit_test(synthetic_spec_errors_name_the_key),
    };
    return cmocka_run_group_tests_name("dataset_tokens", tests, NULL, NULL);
}
