/* Traces for OpenTelemetry: what a batch becomes, the same ids each time, and what a budget leaves out. That
 * OpenTelemetry's own package reads them: tests/e2e/otlp_reaches_every_server.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/export_source.h"
#include "report/export/otlp_traces.h"

#include <jansson.h>

struct bodies {
    char *text;
    size_t n, size;
    unsigned count, stop_after;
};

static int keep(void *ctx, const char *body, size_t n, size_t spans)
{
    struct bodies *b = ctx;
    b->text = realloc(b->text, b->size + n + 1);
    memcpy(b->text + b->size, body, n);
    b->size += n;
    b->text[b->size] = '\0';
    b->count++;
    return b->count == b->stop_after;
}

static struct bodies made(struct fake_export *f, const struct pp_otlp_traces_opts *o,
                          struct pp_otlp_traces_result *r, pp_status want)
{
    struct bodies b = {0};
    struct pp_source source = fx_source(f);
    struct pp_err err = {0};
    pp_status st = pp_otlp_traces(&source, o, keep, &b, r, &err);
    if (st != want)
        fail_msg("%d: %s", (int)st, err.text);
    return b;
}

static json_t *spans_of(const char *line)
{
    json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(root);
    json_t *spans = json_object_get(
        json_array_get(json_object_get(json_array_get(json_object_get(root, "resourceSpans"), 0),
                                       "scopeSpans"),
                       0),
        "spans");
    assert_true(json_is_array(spans));
    json_incref(spans);
    json_decref(root);
    return spans;
}

static const char *text_of(const json_t *span, const char *key)
{
    const char *text = json_string_value(json_object_get(span, key));
    return text ? text : "";
}

/* One trace, whose root encloses its children; the trainer's spans link to the worker's last. */
static void test_a_batch_is_a_trace(void **state)
{
    struct fake_export f;
    struct pp_otlp_traces_opts o = {.is_json = 1, .max_bytes = 1 << 20};
    struct pp_otlp_traces_result r, again;
    fx_begin(&f);
    fx_batch(&f, 0);
    fx_batch(&f, 1);
    struct bodies b = made(&f, &o, &r, PP_OK), c = made(&f, &o, &again, PP_OK);
    assert_string_equal(b.text, c.text);
    assert_int_equal(r.batches, 2);
    assert_int_equal(r.bodies, 1);
    assert_int_equal(r.batches_left, 0);
    json_t *spans = spans_of(b.text);
    assert_int_equal(json_array_size(spans), r.spans);
    const json_t *root = NULL, *span;
    size_t i, roots = 0, links = 0;
    char finished[20] = "";
    json_array_foreach(spans, i, span)
    {
        assert_int_equal(strlen(text_of(span, "traceId")), 32);
        assert_int_equal(strlen(text_of(span, "spanId")), 16);
        if (strcmp(text_of(span, "name"), "pipeprobe.batch") == 0) {
            root = span;
            roots++;
            assert_string_equal(text_of(span, "parentSpanId"), "");
            finished[0] = '\0';
            continue;
        }
        assert_non_null(root);
        assert_string_equal(text_of(span, "traceId"), text_of(root, "traceId"));
        assert_string_equal(text_of(span, "parentSpanId"), text_of(root, "spanId"));
        assert_true(atoll(text_of(span, "startTimeUnixNano")) >= atoll(text_of(root, "startTimeUnixNano")));
        assert_true(atoll(text_of(span, "endTimeUnixNano")) <= atoll(text_of(root, "endTimeUnixNano")));
        if (strcmp(text_of(span, "name"), "collate") == 0)
            snprintf(finished, sizeof(finished), "%s", text_of(span, "spanId"));
        const json_t *link = json_array_get(json_object_get(span, "links"), 0);
        if (link) {
            links++;
            assert_string_equal(text_of(link, "traceId"), text_of(root, "traceId"));
            if (strcmp(text_of(span, "name"), "step") == 0)
                assert_string_equal(text_of(link, "spanId"), finished);
        }
    }
    assert_int_equal(roots, 2);
    assert_true(links >= 2);
    json_decref(spans);
    free(b.text);
    free(c.text);
    fx_end(&f);
}

/* The batches that were waited for longest come first, and the budget is kept to the byte. */
static void test_budget(void **state)
{
    struct fake_export f;
    struct pp_otlp_traces_result whole, part;
    uint64_t last = 0;
    fx_begin(&f);
    for (uint32_t i = 0; i < 40; i++)
        fx_batch(&f, i);
    /* of batch 17 a wait beyond all others */
    fx_span(&f, FX_TRAINER, PP_PHASE_DATA_WAIT, 90000000, 99000000, 17);
    for (int is_json = 0; is_json < 2; is_json++) {
        struct pp_otlp_traces_opts o = {.is_json = is_json, .max_bytes = 1 << 24, .body_spans = 8};
        struct bodies b = made(&f, &o, &whole, PP_OK);
        assert_int_equal(whole.batches, 40);
        assert_true(whole.bodies > 10 && whole.bytes == b.size);
        free(b.text);
        last = 0;
        for (o.max_bytes = 100; o.max_bytes < whole.bytes; o.max_bytes += whole.bytes / 7) {
            b = made(&f, &o, &part, PP_OK);
            assert_true(part.bytes <= o.max_bytes && part.bytes == b.size && part.bytes >= last);
            assert_int_equal(part.batches + part.batches_left, 40);
            assert_true(part.batches < 40);
            if (is_json && part.batches) {
                json_t *spans = spans_of(b.text);
                const json_t *a = json_array_get(json_object_get(json_array_get(spans, 0), "attributes"), 0);
                assert_string_equal(text_of(json_object_get(a, "value"), "intValue"), "17");
                json_decref(spans);
            }
            last = part.bytes;
            free(b.text);
        }
        assert_true(last > 0);
    }
    fx_end(&f);
}

static void test_nothing_and_interrupted(void **state)
{
    struct fake_export f;
    struct pp_otlp_traces_opts o = {.is_json = 1, .max_bytes = 1 << 20, .body_spans = 1};
    struct pp_otlp_traces_result r;
    struct bodies b = {.stop_after = 1};
    struct pp_err err = {0};
    fx_begin(&f);
    fx_span(&f, FX_WORKER, PP_PHASE_DISPATCH_WAIT, 0, 5, FX_NO);
    struct bodies none = made(&f, &o, &r, PP_OK);
    assert_int_equal(none.count, 0);
    assert_int_equal(r.spans_alone, 1);
    fx_batch(&f, 0);
    fx_batch(&f, 1);
    struct pp_source source = fx_source(&f);
    assert_int_equal(pp_otlp_traces(&source, &o, keep, &b, &r, &err), PP_E_INTERRUPTED);
    assert_int_equal(b.count, 1);
    free(b.text);
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_is_a_trace),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_nothing_and_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
