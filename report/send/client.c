#include "report/send/client.h"

#include "probe/base/err.h"
#include "probe/base/library.h"
#include "probe/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *pp_client_escape(const char *text)
{
    char *out = malloc(3 * strlen(text) + 1), *at = out;
    for (; out && *text; text++) {
        if (isalnum((unsigned char)*text) || strchr("-._~", *text))
            *at++ = *text;
        else
            at += sprintf(at, "%%%02X", (unsigned char)*text);
    }
    if (out)
        *at = '\0';
    return out;
}

#if !PP_HAVE_CURL

const char *pp_client_missing(void)
{
    return "this pipeprobe was built without libcurl; apt-get install libcurl4-openssl-dev and build again";
}

pp_status pp_client_open(const struct pp_client_opts *o, struct pp_client **out, struct pp_err *err)
{
    *out = NULL;
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", pp_client_missing());
}

void pp_client_close(struct pp_client *c)
{
}

int pp_client_send(struct pp_client *c, const struct pp_request *r, const struct pp_status_words *words,
                   struct pp_answer *a)
{
    *a = (struct pp_answer){.body = ""};
    return 0;
}

#else

#include <curl/curl.h>
#include <zlib.h>

#define CONNECT_MS 3000L
#define TRANSFER_MS 5000L
#define ANSWER_MOST (256u << 10) /* all that is asked for is short */

#define CALLS(X) \
    X(curl_global_init) \
    X(curl_easy_init) \
    X(curl_easy_reset) \
    X(curl_easy_cleanup) \
    X(curl_easy_setopt) \
    X(curl_easy_getinfo) \
    X(curl_easy_perform) \
    X(curl_easy_strerror) \
    X(curl_slist_append) \
    X(curl_slist_free_all)

/* Macros that check types stand before the names of some. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

static struct {
#define FIELD(name) __typeof__(&name) name;
    CALLS(FIELD)
#undef FIELD
} lib;

const char *pp_client_missing(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const struct pp_library_call calls[] = {
#define CALL(name) {#name, (void **)&lib.name},
        CALLS(CALL)
#undef CALL
    };
    return pp_library_open(names, calls, sizeof(calls) / sizeof(*calls))
               ? NULL
               : "libcurl.so.4 is not on this machine; apt-get install libcurl4";
}

struct pp_client {
    struct pp_client_opts o;
    CURL *curl;
    char *answer; /* ANSWER_MOST + 1 */
    size_t n;
    void *packed;
    size_t packed_cap;
};

pp_status pp_client_open(const struct pp_client_opts *o, struct pp_client **out, struct pp_err *err)
{
    const char *without = pp_client_missing();
    *out = NULL;
    if (without)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s", without);
    lib.curl_global_init(CURL_GLOBAL_DEFAULT);
    struct pp_client *c = calloc(1, sizeof(*c));
    if (c) {
        c->o = *o;
        c->answer = malloc(ANSWER_MOST + 1);
        c->curl = lib.curl_easy_init();
    }
    if (!c || !c->answer || !c->curl) {
        pp_client_close(c);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send anything");
    }
    *out = c;
    return PP_OK;
}

void pp_client_close(struct pp_client *c)
{
    if (c && c->curl)
        lib.curl_easy_cleanup(c->curl);
    if (c) {
        free(c->answer);
        free(c->packed);
    }
    free(c);
}

/* ---- the body ---- */

/* Into c->packed; 0: as it is. */
static size_t pack(struct pp_client *c, const void *body, size_t n)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)body, .avail_in = (uInt)n};
    if (n > UINT32_MAX / 2 || deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    size_t most = deflateBound(&z, (uLong)n), packed = 0;
    if (most > c->packed_cap) {
        free(c->packed);
        c->packed = malloc(most);
        c->packed_cap = c->packed ? most : 0;
    }
    z.next_out = c->packed;
    z.avail_out = (uInt)c->packed_cap;
    if (c->packed && deflate(&z, Z_FINISH) == Z_STREAM_END)
        packed = z.total_out;
    deflateEnd(&z);
    return packed;
}

/* ---- one request ---- */

static size_t take_answer(char *data, size_t size, size_t n, void *ctx)
{
    struct pp_client *c = ctx;
    if (size * n > ANSWER_MOST - c->n)
        return 0;
    memcpy(c->answer + c->n, data, size * n);
    c->n += size * n;
    return size * n;
}

/* Asked about once a second, while a name is resolved too. */
static int go_on(void *ctx, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e)
{
    struct pp_client *c = ctx;
    return c->o.stop && c->o.stop(c->o.ctx);
}

static long timeout_of(const struct pp_client *c)
{
    return c->o.timeout_ms ? c->o.timeout_ms : TRANSFER_MS;
}

static void set_text(CURL *curl, CURLoption option, const char *text)
{
    if (text && *text)
        lib.curl_easy_setopt(curl, option, text);
}

static void set_up(struct pp_client *c, const struct pp_request *r, struct curl_slist *headers)
{
    CURL *curl = c->curl;
    const char *bundle = c->o.authorities;
    bundle = bundle && *bundle ? bundle : getenv("CURL_CA_BUNDLE");
    bundle = bundle && *bundle ? bundle : getenv("SSL_CERT_FILE");
    lib.curl_easy_reset(curl); /* connections stay */
    lib.curl_easy_setopt(curl, CURLOPT_URL, r->url);
    lib.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
    lib.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    lib.curl_easy_setopt(curl, CURLOPT_USERAGENT, "pipeprobe/" PP_VERSION);
#if LIBCURL_VERSION_NUM >= 0x075500
    lib.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    lib.curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    lib.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    lib.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_of(c));
    lib.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    lib.curl_easy_setopt(curl, CURLOPT_WRITEDATA, c);
    lib.curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, go_on);
    lib.curl_easy_setopt(curl, CURLOPT_XFERINFODATA, c);
    lib.curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    set_text(curl, CURLOPT_CAINFO, bundle);
    set_text(curl, CURLOPT_SSLCERT, c->o.certificate);
    set_text(curl, CURLOPT_SSLKEY, c->o.key);
    set_text(curl, CURLOPT_USERNAME, c->o.user);
    set_text(curl, CURLOPT_PASSWORD, c->o.password);
}

static const char *words_of(const struct pp_status_words *words, long code)
{
    static const struct pp_status_words every[] = {
        {300, 399, "it redirects; give the final URL"},
        {401, 401, "it wants a user and a password, or a token"},
        {403, 403, "it does not allow this user to write"},
        {404, 405, "it has no such path; check the URL"},
        {413, 413, "it finds the body too large"},
        {429, 429, "it wants to be asked less often"},
        {500, 599, "its own trouble"},
        {0},
    };
    for (const struct pp_status_words *w = words; w && w->from; w++)
        if (code >= w->from && code <= w->to)
            return w->words;
    for (const struct pp_status_words *w = every; w->from; w++)
        if (code >= w->from && code <= w->to)
            return w->words;
    return "not what such a server answers";
}

/* Why there was no answer, or none that is good. */
static void say(const struct pp_client *c, const struct pp_request *r, CURLcode rc,
                const struct pp_status_words *words, struct pp_answer *a)
{
    char shown[200];
    if (r->shown)
        snprintf(shown, sizeof(shown), "%s", r->shown);
    else
        pp_text_no_secrets(shown, sizeof(shown), r->url);
    switch (rc) {
    case CURLE_OK:
        snprintf(a->why, sizeof(a->why), "%s answered %ld: %s", shown, a->code, words_of(words, a->code));
        break;
    case CURLE_OPERATION_TIMEDOUT:
        snprintf(a->why, sizeof(a->why), "%s did not answer within %ld s", shown,
                 (timeout_of(c) + 999) / 1000);
        break;
    case CURLE_WRITE_ERROR: snprintf(a->why, sizeof(a->why), "%s answers without end", shown); break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        snprintf(a->why, sizeof(a->why),
                 "the certificate of %s is not to be trusted; install the authority that signed it, or name "
                 "its file in SSL_CERT_FILE",
                 shown);
        break;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        snprintf(a->why, sizeof(a->why), "a file of certificates for %s cannot be read", shown);
        break;
    default: snprintf(a->why, sizeof(a->why), "%s cannot be reached: %s", shown, lib.curl_easy_strerror(rc));
    }
}

int pp_client_send(struct pp_client *c, const struct pp_request *r, const struct pp_status_words *words,
                   struct pp_answer *a)
{
    size_t packed = r->gzip && r->n ? pack(c, r->body, r->n) : 0;
    struct curl_slist *headers = lib.curl_slist_append(NULL, "Expect:");
    curl_off_t after = 0;
    *a = (struct pp_answer){.body = c->answer, .sent = packed ? packed : r->n};
    for (size_t i = 0; i < PP_CLIENT_HEADERS && r->headers[i]; i++)
        headers = lib.curl_slist_append(headers, r->headers[i]);
    if (packed)
        headers = lib.curl_slist_append(headers, "Content-Encoding: gzip");
    c->n = 0;
    set_up(c, r, headers);
    if (strcmp(r->method, "GET") != 0) {
        lib.curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)a->sent);
        lib.curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, packed ? c->packed : r->body ? r->body : "");
    }
    CURLcode rc = lib.curl_easy_perform(c->curl);
    lib.curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &a->code);
    lib.curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &after);
    lib.curl_slist_free_all(headers);
    c->answer[c->n] = '\0';
    a->n = c->n;
    a->retry_s = after > 0 && (a->code == 429 || a->code == 503) ? (long)after : 0;
    if (rc == CURLE_OK && a->code >= 200 && a->code <= 299)
        return 1;
    say(c, r, rc, words, a);
    if (rc != CURLE_OK)
        a->code = 0;
    return 0;
}

#endif
