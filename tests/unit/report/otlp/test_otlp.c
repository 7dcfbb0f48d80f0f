/* OTLP's two encodings by hand, the standard variables, and what a server answers. That OpenTelemetry's own
 * package reads them: tests/e2e/otlp_reaches_every_server.sh. */
#include "report/otlp/doc.h"
#include "report/otlp/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- messages ---- */

static char *made(int is_json, size_t *n)
{
    static const uint8_t id[] = {0x0a, 0xff};
    static const uint64_t counts[] = {1, 300};
    static const double bounds[] = {0.5};
    struct pp_otlp o;
    pp_otlp_begin(&o, is_json);
    pp_otlp_id(&o, 1, "traceId", id, sizeof(id));
    pp_otlp_fixed64(&o, 7, "startTimeUnixNano", UINT64_MAX);
    pp_otlp_enum(&o, 6, "kind", 1);
    pp_otlp_bool(&o, 3, "isMonotonic", 1);
    pp_otlp_list(&o, "attributes");
    pp_otlp_attribute(&o, 9, "a", "b\x1b");
    pp_otlp_attribute_number(&o, 9, "n", -2);
    pp_otlp_list_end(&o);
    pp_otlp_counts(&o, 6, "bucketCounts", counts, 2);
    pp_otlp_doubles(&o, 7, "explicitBounds", bounds, 1);
    return pp_otlp_finish(&o, n);
}

static void test_messages(void **state)
{
    static const char json[] =
        "{\"traceId\":\"0aff\",\"startTimeUnixNano\":\"18446744073709551615\",\"kind\":1,\"isMonotonic\":true,"
        "\"attributes\":[{\"key\":\"a\",\"value\":{\"stringValue\":\"b\\\\x1b\"}},"
        "{\"key\":\"n\",\"value\":{\"intValue\":\"-2\"}}],\"bucketCounts\":[\"1\",\"300\"],"
        "\"explicitBounds\":[0.5]}\n";
    /* clang-format off */
    static const uint8_t wire[] = {
        0x0a, 2, 0x0a, 0xff,
        0x39, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x30, 1,
        0x18, 1,
        0x4a, 12, 0x0a, 1, 'a', 0x12, 7, 0x0a, 5, 'b', '\\', 'x', '1', 'b',
        0x4a, 16, 0x0a, 1, 'n', 0x12, 11, 0x18, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        0x32, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0x2c, 1, 0, 0, 0, 0, 0, 0,
        0x3a, 8, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
    };
    /* clang-format on */
    size_t n = 0;
    char *text = made(1, &n);
    assert_int_equal(n, strlen(json));
    assert_memory_equal(text, json, n);
    free(text);
    text = made(0, &n);
    assert_int_equal(n, sizeof(wire));
    assert_memory_equal(text, wire, n);
    free(text);
}

/* What the variables say stands before what is known; "service.name" once. */
static void test_resource(void **state)
{
    static const struct pp_otlp_attr attrs[] = {{"service.name", "pipeprobe"},
                                                {"host.name", "node7"},
                                                {"empty", ""},
                                                {"absent", NULL}};
    struct pp_otlp o;
    size_t n;
    setenv("OTEL_SERVICE_NAME", "train", 1);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=a%2Cb, team = x%20%3D%00y ,service.name=no,novalue,=v", 1);
    pp_otlp_begin(&o, 1);
    pp_otlp_resource(&o, attrs, sizeof(attrs) / sizeof(*attrs));
    char *text = pp_otlp_finish(&o, &n);
    unsetenv("OTEL_SERVICE_NAME");
    unsetenv("OTEL_RESOURCE_ATTRIBUTES");
    assert_string_equal(text, "{\"resource\":{\"attributes\":["
                              "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"train\"}},"
                              "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"a,b\"}},"
                              "{\"key\":\"team\",\"value\":{\"stringValue\":\"x = y\"}}]}}\n");
    free(text);
}

/* ---- settings ---- */

#define OTLP "OTEL_EXPORTER_OTLP_"

static void forget(void)
{
    static const char *const names[] = {"ENDPOINT", "METRICS_ENDPOINT", "TRACES_ENDPOINT", "HEADERS",
                                        "TIMEOUT",  "PROTOCOL",         "COMPRESSION",     "CERTIFICATE"};
    char name[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(name, sizeof(name), OTLP "%s", names[i]);
        unsetenv(name);
    }
}

static void test_settings(void **state)
{
    static const struct {
        const char *target, *variables; /* "ENDPOINT=..." behind OTEL_EXPORTER_OTLP_, apart by a space */
        const char *url;                /* NULL: refused, with */
        const char *words;
    } rows[] = {
        {"http://h:4318", "", "http://h:4318/v1/metrics", NULL},
        {"https://h/", "", "https://h/v1/metrics", NULL},
        {"http://h/otlp/v1/metrics", "", "http://h/otlp/v1/metrics", NULL},
        {"http://me:s3cr3t@h:4318", "", "http://me:s3cr3t@h:4318/v1/metrics", NULL},
        {"env", "ENDPOINT=http://h:4318/x", "http://h:4318/x/v1/metrics", NULL},
        {"env", "ENDPOINT=http://h METRICS_ENDPOINT=http://m/any", "http://m/any", NULL},
        {"http://u", "ENDPOINT=http://h METRICS_ENDPOINT=http://m/any", "http://u/v1/metrics", NULL},
        {"env", "TRACES_ENDPOINT=http://t", NULL, "OTEL_EXPORTER_OTLP_ENDPOINT is not set"},
        {"env", "", NULL, "OTEL_EXPORTER_OTLP_ENDPOINT is not set"},
        {"h:4318", "", NULL, "no URL of OTLP over HTTP"},
        {"ftp://me:s3cr3t@h", "", NULL, "'ftp://h' is no URL"},
        {"http://h:4317", "", NULL, "port 4317 is OTLP over gRPC"},
        {"http://h:4317/", "", NULL, "gRPC"},
        {"http://h", "PROTOCOL=grpc", NULL, "PROTOCOL=grpc is OTLP over gRPC"},
        {"http://h", "PROTOCOL=http/thrift", NULL, "http/thrift is unknown"},
        {"http://h", "PROTOCOL=http/json", "http://h/v1/metrics", NULL},
        {"http://h", "COMPRESSION=zstd", NULL, "write gzip or none"},
        {"http://h", "TIMEOUT=never", NULL, "no number of milliseconds"},
        {"http://h", "TIMEOUT=0", NULL, "no number of milliseconds"},
        {"http://h", "HEADERS=x", NULL, "entry 1 of OTEL_EXPORTER_OTLP_HEADERS"},
        {"http://h", "HEADERS=a=b,s3cr3t", NULL, "entry 2 of OTEL_EXPORTER_OTLP_HEADERS"},
        {"http://h", "HEADERS=a=s3cr3t%0d%0aHost:%20x", NULL, "entry 1 of OTEL"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_otlp_settings s;
        struct pp_err err = {0};
        char all[200], *rest, *word, name[64];
        forget();
        snprintf(all, sizeof(all), "%s", rows[i].variables);
        for (word = strtok_r(all, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            char *value = strchr(word, '=');
            *value++ = '\0';
            snprintf(name, sizeof(name), OTLP "%s", word);
            setenv(name, value, 1);
        }
        pp_status st = pp_otlp_settings_read(rows[i].target, "metrics", &s, &err);
        if (st != (rows[i].url ? PP_OK : PP_E_USAGE))
            fail_msg("%s, %s: %d %s", rows[i].target, rows[i].variables, (int)st, err.text);
        if (rows[i].url)
            assert_string_equal(s.url, rows[i].url);
        else if (!strstr(err.text, rows[i].words) || strstr(err.text, "s3cr3t"))
            fail_msg("%s, %s: %s", rows[i].target, rows[i].variables, err.text);
        pp_otlp_settings_free(&s);
    }
    forget();
}

static void test_headers_and_numbers(void **state)
{
    struct pp_otlp_settings s;
    forget();
    setenv(OTLP "HEADERS", " Authorization=Bearer%20a%3Db%2Cc , ,x-one=1=2", 1);
    setenv(OTLP "TIMEOUT", "99999999", 1);
    setenv(OTLP "PROTOCOL", "http/json", 1);
    setenv(OTLP "COMPRESSION", "none", 1);
    assert_int_equal(pp_otlp_settings_read("http://h", "traces", &s, NULL), PP_OK);
    assert_string_equal(s.url, "http://h/v1/traces");
    assert_int_equal(s.n_headers, 2);
    assert_string_equal(s.headers[0], "Authorization: Bearer a=b,c ");
    assert_string_equal(s.headers[1], "x-one: 1=2");
    assert_true(s.timeout_ms > 0 && s.timeout_ms <= 60000);
    assert_true(s.is_json && !s.gzip);
    pp_otlp_settings_free(&s);
    forget();
    assert_int_equal(pp_otlp_settings_read("http://h", "traces", &s, NULL), PP_OK);
    assert_true(!s.is_json && s.gzip && s.timeout_ms == 10000);
    pp_otlp_settings_free(&s);
}

/* ---- answers ---- */

#define ANSWER(text) text, sizeof(text) - 1

static void test_answers(void **state)
{
    static const struct {
        const char *body;
        size_t n;
        uint64_t rejected;
        const char *message;
    } rows[] = {
        {ANSWER(""), 0, ""},
        {ANSWER("{}"), 0, ""},
        {ANSWER("\x0a\x06\x08\x03\x12\x02no"), 3, "no"},
        {ANSWER("\x0a\x02\x08\x00"), 0, ""},
        {ANSWER("\x0a\x02\x08\x7f"), 10, ""},                                        /* more than was sent */
        {ANSWER("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, ""},     /* -1 */
        {ANSWER("\x0a\x40\x08\x03"), 0, ""},                                         /* cut off */
        {ANSWER("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, ""}, /* no varint */
        {ANSWER("\x0a\x04\x12\x02\x1b\xff"), 0, "\\x1b\\xff"},
        {ANSWER("{\"partialSuccess\":{\"rejectedSpans\":\"4\",\"errorMessage\":\"old\"}}"), 4, "old"},
        {ANSWER("{\"partialSuccess\":{\"rejectedDataPoints\":2}}"), 2, ""},
        {ANSWER("{\"partialSuccess\":{\"rejectedSpans\":-2}}"), 0, ""},
        {ANSWER("{\"partialSuccess\":[1,2]}"), 0, ""},
        {ANSWER("{\"partialSuccess\":"), 0, ""},
        {ANSWER("<html>500</html>"), 0, ""},
    };
    struct pp_otlp_answer a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        pp_otlp_answer_read(rows[i].body, rows[i].n, PP_OTLP_TAKEN, 10, &a);
        if (a.rejected != rows[i].rejected || strcmp(a.message, rows[i].message) != 0)
            fail_msg("row %zu: %llu '%s'", i, (unsigned long long)a.rejected, a.message);
    }
    pp_otlp_answer_read(ANSWER("\x08\x03\x12\x03"
                               "bad"),
                        PP_OTLP_REFUSED, 0, &a);
    assert_string_equal(a.message, "bad");
    pp_otlp_answer_read(ANSWER("{\"code\":3,\"message\":\"bad \\u202e\"}"), PP_OTLP_REFUSED, 0, &a);
    assert_non_null(strstr(a.message, "bad \\x"));
    assert_int_equal(a.rejected, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_resource),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_headers_and_numbers),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
