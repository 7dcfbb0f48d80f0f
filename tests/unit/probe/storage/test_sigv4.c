/* Signatures against what AWS publishes: the S3 guide's examples (docs.aws.amazon.com, "Authenticating
 * Requests: Using the Authorization Header"), the general guide's ListUsers, and two of its test suite.
 * SHA-256 and HMAC against FIPS 180-4 and RFC 4231. */
#include "probe/storage/aws.h"
#include "probe/net/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void sha256_of(const void *bytes, size_t size, size_t piece, char hex[PP_SHA256_HEX])
{
    struct pp_sha256 s;
    uint8_t digest[PP_SHA256_SIZE];
    s = pp_sha256_initial;
    for (size_t at = 0; at < size; at += piece)
        pp_sha256_add(&s, (const char *)bytes + at, size - at < piece ? size - at : piece);
    pp_sha256_end(&s, digest);
    pp_sha256_hex(digest, hex);
}

static void sha256_is_that_of_the_standard(void **state)
{
    char hex[PP_SHA256_HEX], other[PP_SHA256_HEX];
    sha256_of("", 0, 1, hex);
    assert_string_equal(hex, PP_SIGV4_EMPTY);
    sha256_of("abc", 3, 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 56, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    sha256_of(million, 1000000, 1000000, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (size_t n = 0; n < 200; n++) { /* in one piece and in pieces, around the ends of blocks */
        sha256_of(million, n, n ? n : 1, hex);
        sha256_of(million, n, 7, other);
        assert_string_equal(hex, other);
    }
    free(million);
}

static void hmac_is_that_of_rfc_4231(void **state)
{
    char hex[PP_SHA256_HEX];
    uint8_t out[PP_SHA256_SIZE], key[131];
    pp_hmac_sha256((struct pp_bytes){"Jefe", 4}, (struct pp_bytes){"what do ya want for nothing?", 28}, out);
    pp_sha256_hex(out, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    pp_hmac_sha256((struct pp_bytes){key, sizeof(key)}, (struct pp_bytes){text, sizeof(text) - 1}, out);
    pp_sha256_hex(out, hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

#define S3_KEYS "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define SUITE_KEYS "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define S3_HOST "examplebucket.s3.amazonaws.com"
#define S3_DATE "20130524T000000Z"
#define SUITE_DATE "20150830T123600Z"

struct published {
    const char *name, *id, *secret, *method, *path, *query, *service, *date, *payload;
    struct pp_sigv4_header header[6];
    const char *signature;
};

static const struct published published[] = {
    {"GET an object's range",
     S3_KEYS,
     "GET",
     "/test.txt",
     "",
     "s3",
     S3_DATE,
     PP_SIGV4_EMPTY,
     {{"host", S3_HOST},
      {"range", "bytes=0-9"},
      {"x-amz-content-sha256", PP_SIGV4_EMPTY},
      {"x-amz-date", S3_DATE}},
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT an object",
     S3_KEYS,
     "PUT",
     "/test%24file.text",
     "",
     "s3",
     S3_DATE,
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
     {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
      {"host", S3_HOST},
      {"x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
      {"x-amz-date", S3_DATE},
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET a bucket's lifecycle",
     S3_KEYS,
     "GET",
     "/",
     "lifecycle=",
     "s3",
     S3_DATE,
     PP_SIGV4_EMPTY,
     {{"host", S3_HOST}, {"x-amz-content-sha256", PP_SIGV4_EMPTY}, {"x-amz-date", S3_DATE}},
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET a listing",
     S3_KEYS,
     "GET",
     "/",
     "max-keys=2&prefix=J",
     "s3",
     S3_DATE,
     PP_SIGV4_EMPTY,
     {{"host", S3_HOST}, {"x-amz-content-sha256", PP_SIGV4_EMPTY}, {"x-amz-date", S3_DATE}},
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
    {"IAM ListUsers",
     SUITE_KEYS,
     "GET",
     "/",
     "Action=ListUsers&Version=2010-05-08",
     "iam",
     SUITE_DATE,
     PP_SIGV4_EMPTY,
     {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"},
      {"host", "iam.amazonaws.com"},
      {"x-amz-date", SUITE_DATE}},
     "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
    {"get-vanilla",
     SUITE_KEYS,
     "GET",
     "/",
     "",
     "service",
     SUITE_DATE,
     PP_SIGV4_EMPTY,
     {{"host", "example.amazonaws.com"}, {"x-amz-date", SUITE_DATE}},
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key-case",
     SUITE_KEYS,
     "GET",
     "/",
     "Param1=value1&Param2=value2",
     "service",
     SUITE_DATE,
     PP_SIGV4_EMPTY,
     {{"host", "example.amazonaws.com"}, {"x-amz-date", SUITE_DATE}},
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
};

static struct pp_sigv4 request_of(const struct published *p)
{
    size_t n = 0;
    while (n < 6 && p->header[n].name)
        n++;
    return (struct pp_sigv4){.method = p->method,
                             .path = p->path,
                             .query = p->query,
                             .header = p->header,
                             .headers = n,
                             .payload = p->payload,
                             .date = p->date,
                             .region = "us-east-1",
                             .service = p->service};
}

static void signatures_are_those_that_aws_publishes(void **state)
{
    struct pp_aws_keys *keys = calloc(1, sizeof(*keys));
    for (size_t i = 0; i < sizeof(published) / sizeof(*published); i++) {
        const struct published *p = &published[i];
        struct pp_sigv4 s = request_of(p);
        char out[1024];
        snprintf(keys->id, sizeof(keys->id), "%s", p->id);
        snprintf(keys->secret, sizeof(keys->secret), "%s", p->secret);
        assert_int_equal(pp_sigv4_sign(&s, keys, out, sizeof(out)), 0);
        const char *signature = strstr(out, "Signature=");
        if (!signature || strcmp(signature + 10, p->signature) != 0)
            fail_msg("%s: %s, published %s", p->name, out, p->signature);
        assert_null(strstr(out, p->secret));
        for (size_t room = 0; room <= strlen(out); room++) {
            char small[1024];
            assert_int_equal(pp_sigv4_sign(&s, keys, small, room), -1);
        }
    }
    struct pp_sigv4 s = request_of(&published[0]);
    char out[512];
    assert_int_equal(pp_sigv4_sign(&s, keys, out, sizeof(out)), 0);
    assert_non_null(strstr(out, "Credential=AKIDEXAMPLE/20130524/us-east-1/s3/aws4_request, "
                                "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "));
    free(keys);
}

/* What libcurl 7.88's own signer gets wrong, among it. */
static void keys_are_encoded_as_they_are_signed(void **state)
{
    const struct {
        const char *text;
        enum pp_uri_part part;
        const char *want;
    } rows[] = {
        {"a/b c+d=e", PP_URI_PATH, "a/b%20c%2Bd%3De"},
        {"a/b c+d=e", PP_URI_VALUE, "a%2Fb%20c%2Bd%3De"},
        {"-._~09AZaz", PP_URI_PATH, "-._~09AZaz"},
        {"\xc3\xa9%", PP_URI_PATH, "%C3%A9%25"},
        {"", PP_URI_PATH, ""},
    };
    char out[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(pp_uri_encode(rows[i].text, rows[i].part, out, sizeof(out)), 0);
        assert_string_equal(out, rows[i].want);
    }
    assert_int_equal(pp_uri_encode("abcdef", PP_URI_PATH, out, 6), -1);
    assert_int_equal(pp_uri_encode("", PP_URI_PATH, out, 0), -1);
}

static void a_date_is_that_of_the_header(void **state)
{
    char date[PP_SIGV4_DATE];
    pp_sigv4_date(1369353600, date);
    assert_string_equal(date, S3_DATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_is_that_of_the_standard),
        cmocka_unit_test(hmac_is_that_of_rfc_4231),
        cmocka_unit_test(signatures_are_those_that_aws_publishes),
        cmocka_unit_test(keys_are_encoded_as_they_are_signed),
        cmocka_unit_test(a_date_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
