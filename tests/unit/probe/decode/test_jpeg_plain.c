/* Which JPEGs are plain enough for a GPU's decoder, by their markers alone. */
#include "probe/decode/jpeg_plain.h"
#include "tests/support/image_samples.h"

#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct jpeg_kind kind(int h, int v)
{
    return (struct jpeg_kind){
        .width = 61, .height = 47, .space = JCS_YCbCr, .h = {h, 1, 1}, .v = {v, 1, 1}, .quality = 80};
}

static void expect(struct bytes b, const char *want)
{
    const char *got = pp_jpeg_not_plain(b.data, b.size);
    if (!got != !want || (got && strcmp(got, want) != 0))
        fail_msg("\"%s\" instead of \"%s\"", got ? got : "plain", want ? want : "plain");
}

static void kinds_are_told_apart(void **state)
{
    struct jpeg_kind rows[12] = {kind(2, 2), kind(1, 1), kind(2, 1), kind(2, 2), kind(2, 2), kind(2, 2),
                                 kind(2, 2), kind(2, 2), kind(1, 1), kind(1, 1), kind(1, 1), kind(2, 2)};
    static const char *const want[12] = {NULL, NULL,        NULL,          NULL,
                                         NULL, NULL,        "progressive", "several scans",
                                         NULL, "not YCbCr", "not YCbCr",   "not baseline"};
    (void)state;
    rows[3].restart_rows = 1;
    rows[4].restart_blocks = 3;
    rows[5].orientation = 6;
    rows[6].progressive = 1;
    rows[7].separate_scans = 1;
    rows[8].space = JCS_GRAYSCALE;
    rows[9].space = JCS_CMYK;
    rows[9].h[3] = rows[9].v[3] = 1;
    rows[10].space = JCS_RGB;
    rows[11].arithmetic = 1;
    for (int i = 0; i < 12; i++) {
        struct bytes b = encode_jpeg(&rows[i], 7);
        expect(b, want[i]);
        free(b.data);
    }
}

static void samplings_are_told_apart(void **state)
{
    static const struct {
        int h, v, gray;
        enum pp_jpeg_sampling want;
    } rows[] = {{1, 1, 0, PP_JPEG_444}, {2, 1, 0, PP_JPEG_422},   {2, 2, 0, PP_JPEG_420},
                {1, 2, 0, PP_JPEG_440}, {4, 1, 0, PP_JPEG_OTHER}, {1, 1, 1, PP_JPEG_GRAY}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jpeg_kind k = kind(rows[i].h, rows[i].v);
        if (rows[i].gray)
            k.space = JCS_GRAYSCALE;
        struct bytes b = encode_jpeg(&k, 1);
        assert_string_equal(pp_jpeg_sampling_name(pp_jpeg_sampling(b.data, b.size)),
                            pp_jpeg_sampling_name(rows[i].want));
        for (size_t n = 0; n < b.size; n++) { /* nothing beyond a cut is read (by the sanitizers) */
            uint8_t *exact = malloc(n ? n : 1);
            memcpy(exact, b.data, n);
            enum pp_jpeg_sampling s = pp_jpeg_sampling(exact, n);
            assert_true(s == rows[i].want || s == PP_JPEG_OTHER);
            free(exact);
        }
        free(b.data);
    }
}

/* Wherever a file is cut it is not plain, and nothing beyond its end is read (by the sanitizers). */
static void a_cut_file_is_not_plain(void **state)
{
    struct jpeg_kind k = kind(2, 2);
    struct bytes whole = encode_jpeg(&k, 1);
    (void)state;
    for (size_t n = 0; n < whole.size; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, whole.data, n);
        if (!pp_jpeg_not_plain(exact, n))
            fail_msg("cut to %zu of %zu bytes it is taken for plain", n, whole.size);
        free(exact);
    }
    expect(whole, NULL);
    free(whole.data);
}

static void damage_is_not_plain(void **state)
{
    struct jpeg_kind k = kind(2, 2);
    struct bytes b = encode_jpeg(&k, 1);
    size_t scan = 0;
    (void)state;
    for (size_t i = 0; i + 1 < b.size && !scan; i++)
        scan = b.data[i] == 0xff && b.data[i + 1] == 0xda ? i : 0;
    uint8_t kept[2] = {b.data[scan + 40], b.data[scan + 41]};
    b.data[scan + 40] = 0xff; /* a restart where none was announced */
    b.data[scan + 41] = 0xd3;
    expect(b, "several scans");
    memcpy(b.data + scan + 40, kept, 2);
    expect(b, NULL);
    b.data[scan + 1] = 0xd8;
    expect(b, "a damaged header");
    expect((struct bytes){(uint8_t *)"PNG, say", 8}, "no JPEG");
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_are_told_apart),
                                       cmocka_unit_test(samplings_are_told_apart),
                                       cmocka_unit_test(a_cut_file_is_not_plain),
                                       cmocka_unit_test(damage_is_not_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
