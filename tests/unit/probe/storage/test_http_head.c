/* The header of an answer, and URLs: good, odd and hostile ones. */
#include "probe/net/http.h"
#include "probe/storage/storage.h"
#include "probe/storage/request_log.h"
#include "probe/storage/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct pp_http_head head_of(const char *const *lines)
{
    struct pp_http_head h = {0};
    for (; *lines; lines++)
        pp_http_head_line(&h, *lines, strlen(*lines));
    return h;
}

static void an_answer_to_a_range_is_taken_apart(void **state)
{
    const char *const lines[] = {"HTTP/1.1 206 Partial Content\r\n",
                                 "Content-Length: 100\r\n",
                                 "content-range: bytes 200-299/1000\r\n",
                                 "ETag: \"abc\"\r\n",
                                 "Last-Modified: Mon, 23 Nov 2026 05:00:00 GMT\r\n",
                                 "X-Amz-Bucket-Region: eu-west-1\r\n",
                                 "X-Other: 1\r\n",
                                 "\r\n",
                                 NULL};
    struct pp_http_head h = head_of(lines);
    assert_int_equal(h.status, 206);
    assert_int_equal(h.length, 100);
    assert_true(h.has_range);
    assert_int_equal(h.first, 200);
    assert_int_equal(h.last, 299);
    assert_int_equal(h.total, 1000);
    assert_string_equal(h.etag, "\"abc\"");
    assert_string_equal(h.region, "eu-west-1");
}

static void a_status_line_begins_anew(void **state)
{
    const char *const lines[] = {"HTTP/1.1 100 Continue\r\n",  "ETag: \"old\"\r\n",  "\r\n",
                                 "HTTP/1.1 503 Slow Down\r\n", "Retry-After: 7\r\n", NULL};
    struct pp_http_head h = head_of(lines);
    assert_int_equal(h.status, 503);
    assert_int_equal(h.retry_after_s, 7);
    assert_string_equal(h.etag, "");
    assert_true(h.length == PP_HTTP_UNKNOWN);
}

/* has_range, first, last, total */
static void ranges_are_taken_whole_or_not_at_all(void **state)
{
    const struct {
        const char *value;
        int ok;
        uint64_t first, last, total;
    } rows[] = {
        {"bytes 0-0/1", 1, 0, 0, 1},
        {"bytes 5-9/*", 1, 5, 9, PP_HTTP_UNKNOWN},
        {"bytes */77", 1, 1, 0, 77},
        {"bytes 9-5/100", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes 0-100/100", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes 0-99/100x", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes 0-99", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes -5/9", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"items 0-9/10", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes 18446744073709551616-18446744073709551617/18446744073709551618", 0, 0, 0, PP_HTTP_UNKNOWN},
        {"bytes 0-18446744073709551615/*", 0, 0, 0, PP_HTTP_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char line[160];
        snprintf(line, sizeof(line), "Content-Range: %s\r\n", rows[i].value);
        const char *const lines[] = {"HTTP/1.1 206 X\r\n", line, NULL};
        struct pp_http_head h = head_of(lines);
        if (h.has_range != rows[i].ok)
            fail_msg("%s", rows[i].value);
        if (!rows[i].ok)
            continue;
        assert_int_equal(h.first, rows[i].first);
        assert_int_equal(h.last, rows[i].last);
        assert_true(h.total == rows[i].total);
    }
}

static void odd_lines_are_passed_over(void **state)
{
    char longest[700];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "ETag: ", 6);
    struct pp_http_head h = {.length = PP_HTTP_UNKNOWN};
    pp_http_head_line(&h, longest, sizeof(longest)); /* a cut ETag would equal others */
    pp_http_head_line(&h, longest, 300);
    pp_http_head_line(&h, "ETag: \"a\0b\"", 11);
    pp_http_head_line(&h, "", 0);
    pp_http_head_line(&h, ":", 1);
    pp_http_head_line(&h, "Content-Length: -1", 18);
    pp_http_head_line(&h, "Content-Length: 99999999999999999999", 36);
    pp_http_head_line(&h, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", 42);
    pp_http_head_line(&h, "x-amz-bucket-region: evil.example/", 34);
    assert_string_equal(h.etag, "");
    assert_string_equal(h.region, "");
    assert_int_equal(h.retry_after_s, 0);
    assert_true(h.length == PP_HTTP_UNKNOWN);
    pp_http_head_line(&h, "Retry-After: 999999", 19);
    assert_int_equal(h.retry_after_s, 3600);
}

/* ---- URLs ---- */

static void a_url_that_is_a_credential_is_refused_without_repeating_it(void **state)
{
    const char *const bad[] = {"https://joe:HIDDEN@host/x.tar",
                               "http://HIDDEN@host",
                               "https://host/a.tar,https://u:HIDDEN@host/b.tar",
                               "https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=HIDDEN",
                               "https://h/k?X-Amz-Sign%61ture=HIDDEN",
                               "https://h/k?apikey=HIDDEN",
                               "https://h/k?a=1;password=HIDDEN",
                               "https://h/k?AWSAccessKeyId=HIDDEN",
                               "https://h/k?X-Goog-Credential=HIDDEN",
                               "https://h/k?sig=HIDDEN",
                               "https://h/k?token=HIDDEN",
                               "https://h/k?id_token=HIDDEN",
                               "https://h/k?sessionToken=HIDDEN",
                               "https://h/k?ticket=HIDDEN",
                               "https://h/k?authkey=HIDDEN",
                               "https://h/k?jwt=HIDDEN",
                               "https://h/k?PHPSESSION%49D=HIDDEN",
                               "https://h/k?a=1&code=HIDDEN"};
    const char *const good[] = {"https://host/x@2.tar", "https://host/x.tar?versionId=3&signatures=1",
                                "http://host", "https://host/a.tar,https://host/b@.tar",
                                "https://h/k?design=1&tokenizer=gpt2&keyword=cat&author=x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct pp_err err = {0};
        if (pp_url_check(bad[i], &err) != PP_E_USAGE || strstr(err.text, "HIDDEN"))
            fail_msg("%s: %s", bad[i], err.text);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        if (pp_url_check(good[i], NULL) != PP_OK)
            fail_msg("%s", good[i]);
}

static void urls_are_tidied_and_split(void **state)
{
    char out[64];
    struct pp_url u;
    assert_int_equal(pp_url_tidy("http://h/a b%20\xc3\xa9.tar#part", out, sizeof(out)), 0);
    assert_string_equal(out, "http://h/a%20b%20%C3%A9.tar");
    assert_int_equal(pp_url_tidy("http://h/0123456789012345678901234567890123456789012345678901234567890",
                                 out, sizeof(out)),
                     -1);
    assert_int_equal(pp_url_split("http://host:80/a/b?c=d#e", &u), 0);
    assert_memory_equal(u.host, "host:80", u.host_size);
    assert_int_equal(u.path_size, 4);
    assert_int_equal(u.query_size, 3);
    assert_int_equal(pp_url_split("http://host", &u), 0);
    assert_memory_equal(u.path, "/", u.path_size);
    assert_int_equal(u.query_size, 0);
    assert_int_equal(pp_url_split("http:///a", &u), -1);
    assert_int_equal(pp_url_split("host/a", &u), -1);
}

/* ---- waiting before a retry ---- */

static void a_remote_failure_is_waited_for_with_jitter(void **state)
{
    const uint64_t ms = 1000000;
    uint64_t least = UINT64_MAX, most = 0;
    assert_int_equal(pp_storage_retry_wait_ns(10 * ms), 10 * ms); /* a disk: what the caller says */
    for (int i = 0; i < 200; i++) {
        pp_storage_note_retry_after(0);
        uint64_t wait = pp_storage_retry_wait_ns(10 * ms);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least >= 50 * ms);
    assert_true(most < 100 * ms);
    assert_true(most > least);
    assert_int_equal(pp_storage_retry_wait_ns(10 * ms), 10 * ms); /* noted once, used once */
    pp_storage_note_retry_after(3);
    assert_int_equal(pp_storage_retry_wait_ns(10 * ms), 3000 * ms);
    pp_storage_note_retry_after(3000);
    assert_int_equal(pp_storage_retry_wait_ns(10 * ms), 30000 * ms);
}

static void the_counters_only_grow(void **state)
{
    const struct pp_counter_set *s = &pp_request_counters;
    uint64_t before = pp_counted(s, PP_REQUEST_COUNT_THROTTLED);
    pp_count(s, PP_REQUEST_COUNT_THROTTLED, 2);
    assert_int_equal(pp_counted(s, PP_REQUEST_COUNT_THROTTLED), before + 2);
    assert_string_equal(s->name[PP_REQUEST_COUNT_FIRST_BYTE_NS], "remote_first_byte_ns_total");
    assert_true(s->n == PP_REQUEST_COUNT_TRANSFER_NS + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_to_a_range_is_taken_apart),
        cmocka_unit_test(a_status_line_begins_anew),
        cmocka_unit_test(ranges_are_taken_whole_or_not_at_all),
        cmocka_unit_test(odd_lines_are_passed_over),
        cmocka_unit_test(a_url_that_is_a_credential_is_refused_without_repeating_it),
        cmocka_unit_test(urls_are_tidied_and_split),
        cmocka_unit_test(a_remote_failure_is_waited_for_with_jitter),
        cmocka_unit_test(the_counters_only_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
