/* What is read of S3 and of AWS's files: names, listings, profiles, answers with credentials; good and
 * hostile. */
#include "probe/base/err.h"
#include "probe/storage/aws.h"
#include "probe/storage/s3_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void names_have_a_bucket_and_a_key(void **state)
{
    struct pp_s3_name n;
    assert_int_equal(pp_s3_parse_name("s3://bucket/a/b c.jpg", &n), 0);
    assert_string_equal(n.bucket, "bucket");
    assert_string_equal(n.key, "a/b c.jpg");
    assert_int_equal(pp_s3_parse_name("s3://bucket", &n), 0);
    assert_string_equal(n.key, "");
    assert_int_equal(pp_s3_parse_name("s3://bucket//x", &n), 0);
    assert_string_equal(n.key, "/x");
    const char *const bad[] = {"s3://",           "s3:///key", "s3://bu cket/x", "s3://evil@host/x",
                               "http://bucket/x", "bucket/x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(pp_s3_parse_name(bad[i], &n), -1);
    char longest[1200] = "s3://b/";
    memset(longest + 7, 'k', 1025);
    assert_int_equal(pp_s3_parse_name(longest, &n), -1);
    longest[7 + 1024] = '\0';
    assert_int_equal(pp_s3_parse_name(longest, &n), 0);
}

/* Keys are sent to these alone: the domain has hosts of customers too. */
static void hosts_of_s3_are_known_from_those_of_customers(void **state)
{
    const char *const own[] = {"s3.amazonaws.com",
                               "bucket.s3.amazonaws.com",
                               "bucket.with.dots.S3.eu-west-1.amazonaws.com",
                               "s3.dualstack.us-east-1.amazonaws.com",
                               "bucket.s3.dualstack.us-gov-west-1.amazonaws.com",
                               "bucket.s3-us-west-2.amazonaws.com"};
    const char *const others[] = {"evil.elb.amazonaws.com",
                                  "s3.evil.us-east-1.elb.amazonaws.com",
                                  "ec2-1-2-3-4.compute-1.amazonaws.com",
                                  "s3.execute-api.eu-west-1.amazonaws.com",
                                  "s3.amazonaws.com.evil.example",
                                  "s3amazonaws.com",
                                  "evils3.amazonaws.com",
                                  "amazonaws.com",
                                  ".amazonaws.com",
                                  "bucket.s3x.amazonaws.com",
                                  ""};
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (!pp_s3_is_own_host(own[i]))
            fail_msg("%s", own[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (pp_s3_is_own_host(others[i]))
            fail_msg("%s", others[i]);
}

/* ---- listings ---- */

struct seen {
    char text[512];
    int n, stop_at;
};

static pp_status see(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    struct seen *s = ctx;
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof(s->text) - n, "%s%s,", e->name, e->kind == PP_ENTRY_DIRECTORY ? "/" : "");
    return ++s->n == s->stop_at ? pp_fail(err, PP_E_LIMIT, "stopped") : PP_OK;
}

static pp_status parse(const char *xml, const char *prefix, struct seen *s, struct pp_s3_page *page)
{
    struct pp_err err = {0};
    int stop_at = s->stop_at;
    *s = (struct seen){.stop_at = stop_at};
    *page = (struct pp_s3_page){.prefix = prefix, .each = see, .ctx = s};
    pp_status st = pp_s3_page_parse(page, xml, strlen(xml), "s3://b/p/", &err);
    assert_int_equal(st != PP_OK, err.text[0] != '\0');
    return st;
}

#define HEAD \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
#define TAIL "</ListBucketResult>"

static void a_listing_is_entries_and_the_way_to_the_next(void **state)
{
    struct seen s = {.stop_at = 0};
    struct pp_s3_page page;
    assert_int_equal(parse(HEAD
                           "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
                           "<NextContinuationToken>a+/=&amp;</NextContinuationToken><Prefix>p/</Prefix>"
                           "<Contents><Key>p/</Key></Contents>"
                           "<Contents><Key>p/a+b%2Bc%C3%A9.jpg</Key><Owner><ID>Key</ID></Owner></Contents>"
                           "<Contents><Key>elsewhere</Key></Contents>"
                           "<CommonPrefixes><Prefix>p/cat/</Prefix></CommonPrefixes><Contents/>" TAIL,
                           "p/", &s, &page),
                     PP_OK);
    assert_string_equal(s.text, "a b+c\xc3\xa9.jpg,cat/,");
    assert_true(page.more);
    assert_string_equal(page.token, "a+/=&");
    assert_int_equal(
        parse("<r:ListBucketResult><r:IsTruncated>false</r:IsTruncated><r:Contents><r:Key>a+b%20&lt;&#233;"
              "&#x1F600;</r:Key></r:Contents></r:ListBucketResult>",
              "", &s, &page),
        PP_OK);
    assert_string_equal(s.text, "a+b%20<\xc3\xa9\xf0\x9f\x98\x80,"); /* not encoded: as it stands */
    assert_false(page.more);
    s.stop_at = 1;
    assert_int_equal(parse(HEAD "<Contents><Key>1</Key></Contents><Contents><Key>2</Key></Contents>" TAIL, "",
                           &s, &page),
                     PP_E_LIMIT);
    assert_string_equal(s.text, "1,");
}

static void what_is_no_listing_is_refused(void **state)
{
    char deep[600] = "", longest[9000] = HEAD "<Contents><Key>";
    for (int i = 0; i < 40; i++)
        strcat(deep, "<a>");
    const char *const bad[] = {"",
                               "hello",
                               "<html><body>Not found",
                               HEAD,
                               HEAD "<Contents></Key></Contents>" TAIL,
                               HEAD "&nonsense;" TAIL,
                               HEAD "&#0;" TAIL,
                               HEAD "&#xD800;" TAIL,
                               HEAD "&#1114112;" TAIL,
                               HEAD "&" TAIL,
                               "<!DOCTYPE a [<!ENTITY b \"c\">]><a/>",
                               deep,
                               HEAD "<IsTruncated>true</IsTruncated>" TAIL,
                               "<a",
                               "<>",
                               "</a>",
                               HEAD "<!--x-->" TAIL,
                               "<a><b></a></b>",
                               "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/>"};
    struct seen s = {.stop_at = 0};
    struct pp_s3_page page;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (parse(bad[i], "", &s, &page) != PP_E_CORRUPT)
            fail_msg("%s", bad[i]);
    /* a key longer than S3 allows is passed over */
    memset(longest + strlen(longest), 'k', 5000);
    strcat(longest, "</Key></Contents>" TAIL);
    assert_int_equal(parse(longest, "", &s, &page), PP_OK);
    assert_int_equal(s.n, 0);
}

static void the_reason_of_a_refusal_is_found(void **state)
{
    static const char xml[] =
        "<Error><Code>AccessDenied</Code><Message>Access &quot;Denied&quot;</Message></Error>";
    char out[32], small[4];
    pp_xml_find(xml, sizeof(xml) - 1, "Message", out, sizeof(out));
    assert_string_equal(out, "Access \"Denied\"");
    pp_xml_find(xml, sizeof(xml) - 1, "Region", out, sizeof(out));
    assert_string_equal(out, "");
    pp_xml_find(xml, sizeof(xml) - 1, "Code", small, sizeof(small));
    assert_string_equal(small, "");
    pp_xml_find(xml, 38, "Code", out, sizeof(out)); /* cut behind it */
    assert_string_equal(out, "AccessDenied");
}

/* ---- profiles ---- */

static void profiles_are_read_as_aws_writes_them(void **state)
{
    static const char text[] =
        "# mine\n[default]\naws_access_key_id = ID0\naws_secret_access_key=a/b+c=d\n\n"
        "[profile dev]\r\nregion = eu-west-1 # near\r\ns3 =\n  region = wrong\n"
        "; other\n[ spaced ]\nregion=x;y\n[empty]\nregion =\n[control]\nregion = a\tb\n[last]\nregion=end";
    char out[16];
    const struct {
        const char *section, *key, *want;
    } rows[] = {
        {"default", "aws_access_key_id", "ID0"},
        {"default", "aws_secret_access_key", "a/b+c=d"},
        {"dev", "region", "eu-west-1"},
        {"spaced", "region", "x;y"},
        {"last", "region", "end"},
        {"default", "region", NULL},
        {"empty", "region", NULL},
        {"control", "region", NULL},
        {"nobody", "region", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int found = pp_ini_get(text, sizeof(text) - 1, rows[i].section, rows[i].key, out, sizeof(out));
        if (found != (rows[i].want != NULL) || (found && strcmp(out, rows[i].want) != 0))
            fail_msg("%s %s", rows[i].section, rows[i].key);
    }
    assert_int_equal(pp_ini_get(text, sizeof(text) - 1, "dev", "region", out, 9),
                     0); /* too long for its room */
    assert_true(pp_ini_get(text, sizeof(text) - 1, "dev", NULL, NULL, 0));
    assert_false(pp_ini_get(text, sizeof(text) - 1, "de", NULL, NULL, 0));
    assert_false(pp_ini_get("[", 1, "", NULL, NULL, 0));
}

/* ---- credentials of a service ---- */

static void credentials_are_taken_from_a_service(void **state)
{
    struct pp_aws_keys *k = calloc(1, sizeof(*k));
    time_t ends;
    static const char good[] =
        "{\"Code\":\"Success\",\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"T\","
        "\"Expiration\":\"2026-11-23T05:00:00Z\"}";
    assert_int_equal(pp_aws_parse_json(good, sizeof(good) - 1, k, &ends), 0);
    assert_string_equal(k->id, "A");
    assert_string_equal(k->secret, "S");
    assert_string_equal(k->token, "T");
    assert_int_equal(ends, 1795410000);
    const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"AccessKeyId\":\"A\"}",
        "{\"AccessKeyId\":1,\"SecretAccessKey\":\"S\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"a\\r\\nHost: b\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (pp_aws_parse_json(bad[i], strlen(bad[i]), k, &ends) != -1)
            fail_msg("%s", bad[i]);
    assert_int_equal(pp_aws_parse_time("2026-11-23T05:00:00.123Z"), 1795410000);
    assert_int_equal(pp_aws_parse_time("tomorrow"), 0);
    free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_a_bucket_and_a_key),
        cmocka_unit_test(hosts_of_s3_are_known_from_those_of_customers),
        cmocka_unit_test(a_listing_is_entries_and_the_way_to_the_next),
        cmocka_unit_test(what_is_no_listing_is_refused),
        cmocka_unit_test(the_reason_of_a_refusal_is_found),
        cmocka_unit_test(profiles_are_read_as_aws_writes_them),
        cmocka_unit_test(credentials_are_taken_from_a_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
