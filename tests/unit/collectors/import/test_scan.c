/* The streaming JSON reader: tokens of good, careless, cut and hostile texts, plain and gzip; numbers. */
#include "collectors/import/scan.h"

#include "tests/support/made_trace.h"
#include "tests/support/store_dir.h"

#include <inttypes.h>
#include <zlib.h>

/* The tokens of the file as letters, keys and strings with their texts. */
static void read_tokens(const char *path, char *out, size_t size)
{
    static const char of[] = {
        [PP_SCAN_OBJECT] = '{',       [PP_SCAN_OBJECT_END] = '}', [PP_SCAN_ARRAY] = '[',
        [PP_SCAN_ARRAY_END] = ']',    [PP_SCAN_KEY] = 'k',        [PP_SCAN_STRING] = 's',
        [PP_SCAN_NUMBER_TOKEN] = 'n', [PP_SCAN_WORD] = 'w',       [PP_SCAN_END] = '.',
        [PP_SCAN_CUT] = '!',          [PP_SCAN_BAD] = '?'};
    struct pp_bytes *bytes;
    struct pp_scan *s = malloc(sizeof(*s));
    struct pp_err err = {0};
    enum pp_token t;
    size_t n = 0;
    assert_int_equal(pp_bytes_open(path, &bytes, &err), PP_OK);
    *s = (struct pp_scan){.bytes = bytes, .ended = PP_SCAN_END};
    do {
        t = pp_scan_next(s);
        n += (size_t)snprintf(out + n, n < size ? size - n : 0, "%c%s", of[t],
                              t == PP_SCAN_KEY || t == PP_SCAN_STRING || t == PP_SCAN_NUMBER_TOKEN ? s->text
                                                                                                   : "");
    } while (t != PP_SCAN_END && t != PP_SCAN_CUT && t != PP_SCAN_BAD && n < size);
    assert_int_equal(pp_scan_next(s), t); /* and it stays so */
    pp_bytes_close(bytes);
    free(s);
}

static void test_tokens(void **state)
{
    static const struct {
        const char *text, *tokens;
    } rows[] = {
        {"{\"a\": 1, \"b\": [true, null, -1.5e3], \"c\": \"x\"}", "{kan1kb[wwn-1.5e3]kcsx}."},
        {"  []", "[]."},
        {"7", "n7."},
        {"{\"a\":{},}", "{ka{}}."},
        {"[1,,2 3,]", "[n1n2n3]."},
        {"[{\"a\":1}\n{\"a\":2}]", "[{kan1}{kan2}]."},
        {"[NaN, -Infinity, Infinity]", "[www]."},
        {"[\"a\\\"b\\\\c\\/d\\n\\t\\u00e9\\ud83d\\ude00\"]", "[sa\"b\\c/d\n\t\xc3\xa9\xf0\x9f\x98\x80]."},
        {"[\"\\ud83d \\ude00 \\u0000\"]", "[s\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd]."},
        {"[\"C:\\path\\q\"]", "[sC:\\path\\q]."},
        {"[\"two\nlines\"]", "[stwo\nlines]."},
        {"{\"a\": [1, 2", "{ka[n1!"},
        {"{\"a\": \"x", "{ka!"},
        {"{\"a\"", "{!"},
        {"[", "[!"},
        {"", "!"},
        {"{1: 2}", "{?"},
        {"{\"a\" 1}", "{?"},
        {"[nonsense]", "[?"},
        {"[}", "[?"},
        {"[+1]", "[?"},
    };
    char tokens[512];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!rows[i].text[0])
            continue; /* an empty file is refused before it is read */
        made_trace_put(store_path, rows[i].text, strlen(rows[i].text), 0);
        read_tokens(store_path, tokens, sizeof(tokens));
        assert_string_equal(tokens, rows[i].tokens);
        made_trace_put(store_path, rows[i].text, strlen(rows[i].text), 1);
        read_tokens(store_path, tokens, sizeof(tokens));
        assert_string_equal(tokens, rows[i].tokens);
    }
}

static void test_limits(void **state)
{
    char text[8192], tokens[8192];
    memset(text, '[', 70);
    made_trace_put(store_path, text, 70, 0);
    read_tokens(store_path, tokens, sizeof(tokens));
    assert_int_equal(strlen(tokens), PP_SCAN_DEPTH + 1);
    assert_int_equal(tokens[PP_SCAN_DEPTH], '?');

    text[0] = '"'; /* 5000 bytes of two-byte characters: the text is cut before one */
    for (int i = 0; i < 2500; i++)
        memcpy(text + 1 + 2 * i, "\xc3\xa9", 2);
    text[5001] = '"';
    made_trace_put(store_path, text, 5002, 0);
    read_tokens(store_path, tokens, sizeof(tokens));
    assert_true(strlen(tokens) <= PP_SCAN_TEXT + 1);
    assert_string_equal(tokens + strlen(tokens) - 3, "\xc3\xa9.");

    for (int i = 0; i < 1600; i++)
        memcpy(text + 1 + 3 * i, "\xe2\x82\xac", 3);
    for (int from = 0; from < 3; from++) { /* whichever byte of it is the last that fits */
        memmove(text + 1 + from, text + 1, 4800);
        memset(text + 1, 'a', (size_t)from);
        text[4801 + from] = '"';
        made_trace_put(store_path, text, 4802 + (size_t)from, 0);
        read_tokens(store_path, tokens, sizeof(tokens));
        assert_string_equal(tokens + strlen(tokens) - 4, "\xe2\x82\xac.");
        memmove(text + 1, text + 1 + from, 4800);
    }

    memset(text, '1', 100);
    made_trace_put(store_path, text, 100, 0);
    read_tokens(store_path, tokens, sizeof(tokens));
    assert_string_equal(tokens, "?");
}

static void test_microseconds_are_exact(void **state)
{
    static const struct {
        const char *text;
        int ok;
        int64_t ns;
    } rows[] = {
        {"0", 1, 0},
        {"1616683286123456", 1, 1616683286123456000},
        {"1616683286123456.789", 1, 1616683286123456789},
        {"12.5", 1, 12500},
        {"12.3456789", 1, 12345},
        {"-1.5", 1, -1500},
        {"1.5e3", 1, 1500000},
        {"9223372036854775", 0, 0},
        {"1e300", 0, 0},
        {"-", 0, 0},
        {"", 0, 0},
        {"12 ", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t ns = 0;
        int ok = pp_scan_us(rows[i].text, &ns);
        if (ok != rows[i].ok || (ok && ns != rows[i].ns))
            fail_msg("'%s': %d, %" PRId64, rows[i].text, ok, ns);
    }
}

static void test_a_cut_gzip_file_gives_what_is_whole(void **state)
{
    char *text = malloc(1 << 20), *tokens = malloc(1 << 20);
    size_t n = 0;
    n += (size_t)sprintf(text, "[");
    while (n < 900000)
        n += (size_t)sprintf(text + n, "%d,", rand());
    made_trace_put(store_path, text, n, 1);
    FILE *f = fopen(store_path, "r+");
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftruncate(fileno(f), ftell(f) / 2), 0);
    fclose(f);
    read_tokens(store_path, tokens, 1 << 20);
    size_t got = strlen(tokens);
    assert_true(got > 200000 && got < 900000);
    assert_int_equal(tokens[got - 1], '!');
    free(text);
    free(tokens);
}

static void test_what_is_no_file_is_refused(void **state)
{
    struct pp_bytes *bytes;
    struct pp_err err = {0};
    assert_int_equal(pp_bytes_open("/nowhere/at.all", &bytes, &err), PP_E_NOT_FOUND);
    assert_int_equal(pp_bytes_open("/dev/null", &bytes, &err), PP_E_UNSUPPORTED);
    assert_int_equal(pp_bytes_open("/tmp", &bytes, &err), PP_E_UNSUPPORTED);
    made_trace_put(store_path, "", 0, 0);
    assert_int_equal(pp_bytes_open(store_path, &bytes, &err), PP_E_EMPTY);
    assert_non_null(strstr(err.text, "is empty"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_tokens),
        STORE_TEST(test_limits),
        STORE_TEST(test_microseconds_are_exact),
        STORE_TEST(test_a_cut_gzip_file_gives_what_is_whole),
        STORE_TEST(test_what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
