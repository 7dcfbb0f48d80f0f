/* Structs described by tables: every type as JSON, what is unknown, order, and how people read a unit. */
#include "probe/base/fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct point {
    const char *name;
    double x;
    uint64_t n;
};

struct inner {
    double share;
};

struct all {
    const char *text, *missing;
    char chars[8], empty[8];
    double number, unknown;
    uint64_t whole, zero;
    uint32_t small;
    int integer, flag;
    struct inner inner;
    const struct inner *there, *nowhere;
    struct point *points;
    struct point fixed[2];
    size_t n_points;
    double *values;
    struct point *none;
};

#define ROW struct point
static const struct pp_field point_fields[] = {
    PP_FIELD_AT(ROW, "name", name, NONE, "of the point"),
    PP_FIELD_AT(ROW, "x", x, NS, "where"),
    PP_FIELD_AT(ROW, "n", n, COUNT, "how many"),
    PP_FIELDS_END,
};
#undef ROW

static const struct pp_field x_and_n_fields[] = {
    PP_FIELD_AT(struct point, "x", x, NS, "where"),
    PP_FIELD_AT(struct point, "n", n, COUNT, "how many"),
    PP_FIELDS_END,
};
static const struct pp_field inner_fields[] = {
    PP_FIELD_AT(struct inner, "share", share, SHARE, "of it", .range = "0..1"),
    PP_FIELDS_END,
};
static const struct pp_field value_fields[] = {
    {.key = "value", .type = PP_FIELD_NUMBER},
    PP_FIELDS_END,
};

static struct pp_value twice(const void *row, const void *root)
{
    assert_ptr_equal(row, root);
    return pp_value_number(2 * ((const struct all *)row)->number);
}

#define ROW struct all
static const struct pp_field all_fields[] = {
    PP_FIELD_AT(ROW, "integer", integer, NONE, "behind the others", .flags = PP_FIELD_LAST),
    PP_FIELD_AT(ROW, "text", text, NONE, "a text"),
    PP_FIELD_AT(ROW, "missing", missing, NONE, "a text that is not there"),
    PP_FIELD_AT(ROW, "chars", chars, NONE, "an array"),
    PP_FIELD_AT(ROW, "empty", empty, NONE, "an empty array"),
    PP_FIELD_AT(ROW, "empty_unknown", empty, NONE, "the same", .flags = PP_FIELD_EMPTY_UNKNOWN),
    PP_FIELD_AT(ROW, "number", number, NUMBER, "a number"),
    PP_FIELD_AT(ROW, "unknown", unknown, SHARE, "NAN"),
    PP_FIELD_AT(ROW, "whole", whole, COUNT, "more than a double holds"),
    PP_FIELD_AT(ROW, "zero_unknown", zero, COUNT, "0", .flags = PP_FIELD_EMPTY_UNKNOWN),
    PP_FIELD_AT(ROW, "small", small, COUNT, "32 bits"),
    PP_FLAG_AT(ROW, "flag", flag, "true"),
    {.key = "twice", .type = PP_FIELD_NUMBER, .get = twice},
    {.key = "inner", .type = PP_FIELD_OBJECT, .at = offsetof(ROW, inner), .fields = inner_fields},
    {.key = "nowhere",
     .type = PP_FIELD_OBJECT,
     .at = offsetof(ROW, nowhere),
     .flags = PP_FIELD_INDIRECT,
     .fields = inner_fields},
    {.type = PP_FIELD_INLINE, .at = offsetof(ROW, there), .flags = PP_FIELD_INDIRECT, .fields = inner_fields},
    {.type = PP_FIELD_INLINE,
     .at = offsetof(ROW, nowhere),
     .flags = PP_FIELD_INDIRECT,
     .fields = inner_fields},
    {.key = "rows",
     .type = PP_FIELD_ROWS,
     PP_ROWS_AT(ROW, points, n_points),
     .newest = 1,
     .fields = point_fields},
    {.key = "fixed",
     .type = PP_FIELD_ROWS,
     .at = offsetof(ROW, fixed),
     .count = 2,
     .stride = sizeof(struct point),
     .fields = x_and_n_fields},
    {.key = "none", .type = PP_FIELD_ROWS, PP_ROWS_AT(ROW, none, n_points), .fields = point_fields},
    {.key = "list",
     .type = PP_FIELD_LIST,
     .at = offsetof(ROW, values),
     .count_at = offsetof(ROW, n_points),
     .stride = sizeof(double),
     .fields = value_fields,
     .flags = PP_FIELD_INDIRECT | PP_FIELD_COUNT_OF_ROOT | PP_FIELD_ONE_LINE},
    {.key = "columns", .type = PP_FIELD_COLUMNS, PP_ROWS_AT(ROW, points, n_points), .fields = x_and_n_fields},
    {.key = "map", .type = PP_FIELD_MAP, PP_ROWS_AT(ROW, points, n_points), .fields = point_fields},
    PP_FIELDS_END,
};
#undef ROW

static struct point points[] = {{"a", 1, 2}, {"b", NAN, 3}};
static double values[] = {0.5, INFINITY};
static const struct inner inner = {0.75};
static const struct all all = {
    .text = "say \"x\"",
    .chars = "chars",
    .number = 1.5,
    .unknown = NAN,
    .whole = UINT64_MAX,
    .small = 7,
    .integer = -3,
    .flag = 5,
    .inner = {0.25},
    .there = &inner,
    .points = points,
    .fixed = {{.x = 3, .n = 4}},
    .n_points = 2,
    .values = values,
};

static void every_type_as_json(void **state)
{
    static const char want[] =
        "{ \"text\": \"say \\\"x\\\"\", \"missing\": null, \"chars\": \"chars\", \"empty\": \"\", "
        "\"empty_unknown\": null, \"number\": 1.5, \"unknown\": null, \"whole\": 18446744073709551615, "
        "\"zero_unknown\": null, \"small\": 7, \"flag\": true, \"twice\": 3, \"inner\": { \"share\": 0.25 }, "
        "\"nowhere\": null, \"share\": 0.75, \"rows\": [ { \"name\": \"b\", \"x\": null, \"n\": 3 } ], "
        "\"fixed\": [ { \"x\": 3, \"n\": 4 }, { \"x\": 0, \"n\": 0 } ], \"none\": [], \"list\": [0.5,null], "
        "\"columns\": { \"x\": [1,null], \"n\": [2,3 ] }, \"map\": { \"a\": 1, \"b\": null }, \"integer\": -3 } ";
    char *got, *to;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    assert_int_equal(pp_fields_json(all_fields, &all, out), 0);
    fclose(out);
    to = got; /* one blank for each stretch of white space */
    for (const char *s = got; *s; s++)
        if (!strchr(" \n", *s) || (to > got && to[-1] != ' '))
            *to++ = *s == '\n' ? ' ' : *s;
    *to = '\0';
    assert_string_equal(got, want);
    free(got);
}

static void a_full_disk_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(pp_fields_json(all_fields, &all, full), -1);
    fclose(full);
}

static void a_path_finds_its_field(void **state)
{
    const void *row = &all;
    const struct pp_field *f = pp_fields_find(all_fields, "inner.share", &row);
    assert_non_null(f);
    assert_ptr_equal(row, &all.inner);
    struct pp_value v = pp_field_value(f, row, &all);
    assert_true(pp_value_as_number(&v) == 0.25);
    row = &all;
    assert_null(pp_fields_find(all_fields, "nowhere.share", &row));
    row = &all;
    assert_null(pp_fields_find(all_fields, "", &row));
    assert_ptr_equal(row, &all);
}

static void people_read_a_number_by_its_unit(void **state)
{
    static const struct {
        enum pp_field_unit unit;
        double value;
        const char *text;
    } rows[] = {
        {PP_UNIT_NONE, 1234567, "1234567"}, {PP_UNIT_COUNT, 1234567, "1,234,567"},
        {PP_UNIT_RATE, 8.312, "8.31"},      {PP_UNIT_NS, 4120000, "4.12 ms"},
        {PP_UNIT_S, 31, "31.0 s"},          {PP_UNIT_SHARE, 0.613, "61.3 %"},
        {PP_UNIT_BYTES, 1024, "1.00 KiB"},  {PP_UNIT_BYTES_PER_S, 1024, "1.00 KiB/s"},
        {PP_UNIT_NUMBER, 1.005, "1.00"},    {PP_UNIT_SHARE, NAN, "-"},
        {PP_UNIT_GAIN, 0.29, "29.0 %"},     {PP_UNIT_GAIN, 1.4, "2.4 times"},
        {PP_UNIT_FACTOR, 2, "2"},           {PP_UNIT_FACTOR, 31.24, "31.2"},
    };
    char buf[40];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(pp_unit_text(rows[i].unit, rows[i].value, buf, sizeof(buf)), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_as_json),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_path_finds_its_field),
        cmocka_unit_test(people_read_a_number_by_its_unit),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
