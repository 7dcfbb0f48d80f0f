/* Numbers as people read them: rows of value and text, with the places where rounding carries into the next
 * unit. */
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct row {
    double v;
    const char *wanted;
};

static void check(char *(*f)(char *, size_t, double), const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char buf[32];
        assert_ptr_equal(f(buf, sizeof(buf), rows[i].v), buf);
        assert_string_equal(buf, rows[i].wanted);
    }
}
#define CHECK(f, rows) check(f, rows, sizeof(rows) / sizeof(*rows))

static void test_gains_are_percents_or_factors(void **state)
{
    char buf[64];
    assert_string_equal(pp_text_gain(buf, sizeof(buf), 0.29, 0.14, 0.41), "+29 % (+14 to +41 %)");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), 0.72, 0.13, 1.82), "1.7 times (1.1 to 2.8)");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), 0.29, NAN, NAN), "+29 %");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), -0.001, -0.2, 0.3), "+0 % (-20 to +30 %)");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), 2.8, 0.9, 3.5), "3.8 times (1.9 to 4.5)");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), 53.4, NAN, NAN), "54 times");
    assert_string_equal(pp_text_gain(buf, sizeof(buf), NAN, 0, 1), "-");
}

static void test_duration(void **state)
{
    static const struct row rows[] = {
        {0, "0 ns"},           {1, "1 ns"},         {999, "999 ns"},      {999.7, "1.00 us"},
        {812e3, "812 us"},     {999.4e3, "999 us"}, {999.6e3, "1.00 ms"}, {4.12e6, "4.12 ms"},
        {31e9, "31.0 s"},      {1.5e9, "1.50 s"},   {59.94e9, "59.9 s"},  {59.96e9, "1m00s"},
        {125e9, "2m05s"},      {3599.6e9, "1h00m"}, {3600e9, "1h00m"},    {7500e9, "2h05m"},
        {-4.12e6, "-4.12 ms"}, {NAN, "-"},
    };
    CHECK(pp_text_duration, rows);
}

static void test_bytes(void **state)
{
    static const struct row rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {101888, "99.5 KiB"},
        {1023.6 * 1024, "1.00 MiB"},
        {1.21 * 0x1p30, "1.21 GiB"},
        {0x1p62, "4096 PiB"},
        {NAN, "-"},
    };
    CHECK(pp_text_bytes, rows);
}

static void test_count(void **state)
{
    static const struct row rows[] = {
        {0, "0"},         {999, "999"},
        {1000, "1,000"},  {1281167, "1,281,167"},
        {999.6, "1,000"}, {-1234567, "-1,234,567"},
        {-0.2, "0"},      {NAN, "-"},
    };
    CHECK(pp_text_count, rows);
}

static void test_percent(void **state)
{
    static const struct row rows[] = {
        {0.613, "61.3 %"},  {0, "0 %"},         {-2e-5, "-0.00 %"},   {1, "100 %"},
        {0.9996, "100 %"},  {0.0031, "0.31 %"}, {0.00001, "<0.01 %"}, {0.052, "5.2 %"},
        {0.00996, "1.0 %"}, {2.5, "250 %"},     {-0.031, "-3.1 %"},   {NAN, "-"},
    };
    CHECK(pp_text_percent, rows);
}

static void test_rate(void **state)
{
    static const struct row rows[] = {
        {1337, "1,337"}, {8.31, "8.31"},  {83.14, "83.1"},
        {99.94, "99.9"}, {99.96, "100"},  {0.8314, "0.831"},
        {0, "0"},        {9.996, "10.0"}, {12345678.9, "12,345,679"},
        {NAN, "-"},
    };
    CHECK(pp_text_rate, rows);
}

static void test_predicted(void **state)
{
    static const struct row rows[] = {
        {1337, "1,300"},
        {8.31, "8.3"},
        {83.14, "83"},
        {99.94, "100"},
        {0.8314, "0.83"},
        {597, "600"},
        {0, "0"},
        {9.996, "10"},
        {-94.4, "-94"},
        {8, "8"},
        {12345678.9, "12,000,000"},
        {NAN, "-"},
    };
    CHECK(pp_text_predicted, rows);
}

static void test_counted(void **state)
{
    char buf[32];
    assert_string_equal(pp_text_counted(buf, sizeof(buf), 1, "batch", "batches"), "1 batch");
    assert_string_equal(pp_text_counted(buf, sizeof(buf), 0, "batch", "batches"), "0 batches");
    assert_string_equal(pp_text_counted(buf, sizeof(buf), 1281, "batch", "batches"), "1,281 batches");
    assert_string_equal(pp_text_counted(buf, 5, 1281, "batch", "batches"), "1,28");
}

static void test_add(void **state)
{
    char buf[12] = "";
    pp_text_add(buf, sizeof(buf), "%s", "");
    assert_string_equal(buf, "");
    pp_text_add(buf, sizeof(buf), "%d of ", 3);
    pp_text_add(buf, sizeof(buf), "%d", 40);
    assert_string_equal(buf, "3 of 40");
    pp_text_add(buf, sizeof(buf), "%s", " workers"); /* cut off, and whole again after it */
    assert_string_equal(buf, "3 of 40 wor");
    pp_text_add(buf, sizeof(buf), "%s", "k");
    assert_string_equal(buf, "3 of 40 wor");
    memset(buf, 'x', sizeof(buf)); /* no end within its size: nothing is added */
    pp_text_add(buf, sizeof(buf) - 1, "%s", "y");
    assert_int_equal(buf[sizeof(buf) - 1], 'x');
}

/* A buffer that is too small is filled and terminated, never overrun. */
static void test_small_buffers(void **state)
{
    char *(*const all[])(char *, size_t, double) = {pp_text_duration, pp_text_bytes, pp_text_count,
                                                    pp_text_percent, pp_text_rate};
    for (size_t f = 0; f < sizeof(all) / sizeof(*all); f++)
        for (size_t size = 1; size < 32; size++) {
            char buf[33];
            for (size_t i = 0; i < sizeof(buf); i++)
                buf[i] = 'x';
            all[f](buf, size, -1.23456789e300);
            int end = -1;
            for (int i = 0; i < (int)size && end < 0; i++)
                end = buf[i] == '\0' ? i : -1;
            assert_in_range(end, 0, size - 1);
            for (size_t i = size; i < sizeof(buf); i++)
                assert_int_equal(buf[i], 'x');
        }
}

static void test_plain(void **state)
{
    static const struct {
        const char *given, *shown;
    } rows[] = {
        {"", NULL},
        {"img/0001 (copy).jpg", NULL},
        {"\xc3\xa9t\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", NULL},
        {"a\\b", NULL},
        {"\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"},
        {"two\nlines\tand\r", "two\\nlines\\tand\\r"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"a\xe2\x80\xaegpj.exe", "a\\xe2\\x80\\xaegpj.exe"},              /* U+202E, right-to-left override */
        {"\xe2\x81\xa6i\xe2\x81\xa9", "\\xe2\\x81\\xa6i\\xe2\\x81\\xa9"}, /* U+2066 to U+2069, isolates */
        {"\xd8\x9c", "\\xd8\\x9c"},                                       /* U+061C, Arabic letter mark */
        {"z\xe2\x80\x8bw", "z\\xe2\\x80\\x8bw"},                          /* U+200B, zero-width space */
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"},   /* U+2028, U+2029, line ends */
        {"\xef\xbb\xbf"
         "bom",
         "\\xef\\xbb\\xbf"
         "bom"},                                              /* U+FEFF */
        {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"},                  /* U+FFFF, no character */
        {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"},         /* U+E0041, a tag: not shown */
        {"\xd8\xa7\xd7\x90 \xe2\x80\x93 \xef\xbf\xbd", NULL}, /* letters that run right to left are letters */
        {"cut \xc3", "cut \\xc3"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *shown = pp_text_plain(rows[i].given);
        assert_int_equal(pp_text_is_plain(rows[i].given), rows[i].shown == NULL);
        assert_string_equal(shown, rows[i].shown ? rows[i].shown : rows[i].given);
        assert_true(pp_text_is_plain(shown));
        free(shown);
    }
}

static void test_formulas(void **state)
{
    static const char *const formulas[] = {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"};
    static const char *const texts[] = {"", "a=1", "1-1", "'=1", " =1"};
    for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++)
        assert_true(pp_text_is_formula(formulas[i]));
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_false(pp_text_is_formula(texts[i]));
}

static void test_shell_words(void **state)
{
    static const char *const words[] = {"a", "-o", "dir/run-2.sqlite", "a=1", "A_b@c%d:e,f+g"};
    static const char *const others[] = {"",     "a b", "$(x)", "`x`", "a;b", "~/x",  "a'b",
                                         "a\"b", "a|b", "a&b",  "a>b", "*",   "a\nb", "{a,b}",
                                         "#x",   "!x",  "a?",   "[a]", "a\\", "^a",   "\xc3\xa9"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_true(pp_text_is_shell_word(words[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(pp_text_is_shell_word(others[i]));
}

static void test_characters_stay_whole(void **state)
{
    static const struct {
        const char *given;
        size_t size;
        const char *kept;
    } rows[] = {
        {"abc", 4, "abc"},
        {"abcd", 4, "abc"},
        {"\xc3\xa9\xc3\xa9", 4, "\xc3\xa9"},
        {"\xc3\xa9\xc3\xa9", 5, "\xc3\xa9\xc3\xa9"},
        {"a\xf0\x9f\x98\x80", 5, "a"},
        {"\xf0\x9f\x98\x80", 4, ""},
        {"\x80\x80\x80\x80\x80\x80", 6, "\x80\x80\x80\x80\x80"},
        {"a", 1, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char out[8];
        pp_utf8_copy(out, rows[i].size, rows[i].given);
        assert_string_equal(out, rows[i].kept);
    }
}

static void test_secrets(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"", ""},
        {"pipeprobe run /data --steps 3", "pipeprobe run /data --steps 3"},
        {"http://host:9091", "http://host:9091"},
        {"http://user:pass@host:9091/x", "http://host:9091/x"},
        {"--metrics-push=https://u:p@ss/w@host a@b", "--metrics-push=https://host a@b"},
        {"run http://u:p@h?token=s3 -o x", "run http://h -o x"},
        {"http://h/a?x=1@y", "http://y"}, /* rather too much */
        {"http://u:p?q@h/?t=1", "http://h/"},
        {"http://@", "http://"},
        {"://", "://"},
    };
    char out[128];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(pp_text_no_secrets(out, sizeof(out), rows[i].text), rows[i].shown);
    assert_string_equal(pp_text_no_secrets(out, 9, "http://u:p@host"), "http://h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gains_are_percents_or_factors),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_small_buffers),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_shell_words),
        cmocka_unit_test(test_characters_stay_whole),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
