#include "probe/net/http.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

/* mk/curl.mk says whether curl/curl.h is here. */
#ifndef PP_HAVE_CURL
#define PP_HAVE_CURL 0
#endif

static atomic_long stall_ms = 30000;

void pp_http_set_timeout(double seconds)
{
    atomic_store_explicit(&stall_ms, (long)(seconds * 1000), memory_order_relaxed);
}

static int (*_Atomic asked_interrupted)(void);

void pp_http_set_interrupted(int (*interrupted)(void))
{
    atomic_store_explicit(&asked_interrupted, interrupted, memory_order_relaxed);
}

int pp_http_is_interrupted(void)
{
    int (*interrupted)(void) = atomic_load_explicit(&asked_interrupted, memory_order_relaxed);
    return interrupted && interrupted();
}

#if PP_HAVE_CURL
#define CURL_DISABLE_TYPECHECK /* its macros would go around the table of functions below */
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define LONGEST_BYTES ((uint64_t)1 << 32) /* for which an answer's end in time is reckoned */
enum { KEEP_TEXT = PP_HTTP_TEXT - 1, DRAIN = 1 << 16, CONNECT_MS = 10000, LOCAL_MS = 1000 };

/* ---- the library ---- */

#define CALLS(X) \
    X(curl_global_init) \
    X(curl_version_info) \
    X(curl_easy_init) \
    X(curl_easy_cleanup) \
    X(curl_easy_reset) \
    X(curl_easy_setopt) \
    X(curl_easy_getinfo) \
    X(curl_easy_perform) \
    X(curl_easy_strerror) \
    X(curl_slist_append) \
    X(curl_slist_free_all)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    CALLS(MEMBER)
#undef MEMBER
    int loaded;
} curl;

/* Debian has it built with either of two TLS libraries. */
static void load(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const struct pp_library_call calls[] = {
#define ROW(name) {#name, (void **)&curl.name},
        CALLS(ROW)
#undef ROW
    };
    curl.loaded = pp_library_open(names, calls, sizeof(calls) / sizeof(*calls)) &&
                  curl.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const char *pp_http_missing(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return curl.loaded ? NULL : "libcurl.so.4 is not installed, or too old (Debian: libcurl4)";
}

/* ---- a client ---- */

struct handle {
    struct handle *next;
    CURL *easy;
};

struct pp_http {
    struct pp_http_opts o;
    pthread_mutex_t lock;
    struct handle *idle; /* guarded by lock */
};

pp_status pp_http_open(const struct pp_http_opts *o, struct pp_http **out, struct pp_err *err)
{
    *out = NULL;
    if (pp_http_missing())
        return pp_fail(err, PP_E_UNSUPPORTED, "%s", pp_http_missing());
    struct pp_http *h = calloc(1, sizeof(*h));
    if (!h)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for an HTTP client");
    if (o)
        h->o = *o;
    pthread_mutex_init(&h->lock, NULL);
    *out = h;
    return PP_OK;
}

void pp_http_close(struct pp_http *h)
{
    if (!h)
        return;
    for (struct handle *i = h->idle, *next; i; i = next) {
        next = i->next;
        curl.curl_easy_cleanup(i->easy);
        free(i);
    }
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* The one used last: its connection is the likeliest to be open still. */
static struct handle *take_handle(struct pp_http *h)
{
    pthread_mutex_lock(&h->lock);
    struct handle *taken = h->idle;
    if (taken)
        h->idle = taken->next;
    pthread_mutex_unlock(&h->lock);
    if (taken)
        return taken;
    taken = calloc(1, sizeof(*taken));
    if (taken && !(taken->easy = curl.curl_easy_init())) {
        free(taken);
        taken = NULL;
    }
    return taken;
}

/* ---- one request ---- */

struct exchange {
    const struct pp_http *http;
    const struct pp_http_request *request;
    struct pp_http_answer *answer;
    struct pp_err *err;
    pp_status st;   /* of the body function */
    uint64_t asked; /* bytes of the range; PP_HTTP_UNKNOWN: the whole */
    int overdue;    /* it was given up */
    char why[CURL_ERROR_SIZE];
};

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    pp_http_head_line(&x->answer->head, line, size * n);
    return size * n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    struct pp_http_answer *a = x->answer;
    size *= n;
    a->took.received += size;
    if (a->head.status / 100 == 2 || x->request->any_status) {
        x->st = x->request->body
                    ? x->request->body(x->request->ctx, &a->head, (const uint8_t *)bytes, size, x->err)
                    : PP_OK;
        if (x->st == PP_OK && a->head.status == 206 && a->took.received > x->asked)
            x->st = PP_END; /* a server may send more than it was asked for, and without end */
        return x->st == PP_OK ? size : 0;
    }
    size_t room = KEEP_TEXT - a->text_size, take = size < room ? size : room;
    memcpy(a->text + a->text_size, bytes, take);
    a->text_size += take;
    if (a->took.received > DRAIN) /* the connection is worth less than what is still to come */
        x->st = PP_END;
    return x->st == PP_OK ? size : 0;
}

/* 0: none, but a connection that brings nothing is cut off. */
static long timeout_ms(const struct exchange *x)
{
    return x->request->local ? 5L * LOCAL_MS : x->http->o.timeout_ms;
}

/* Asked about once a second, while a name is resolved too. */
static int on_progress(void *ctx, curl_off_t all, curl_off_t now, curl_off_t up_all, curl_off_t up_now)
{
    struct exchange *x = ctx;
    /* One that always brings a little is given up when what was asked for, at 1 KiB/s, would have come.
     * libcurl's limit of speed looks at the last seconds alone. */
    const struct pp_http_answer *a = x->answer;
    uint64_t stall = (uint64_t)atomic_load_explicit(&stall_ms, memory_order_relaxed) * 1000000,
             bytes = x->asked != PP_HTTP_UNKNOWN         ? x->asked
                     : a->head.length != PP_HTTP_UNKNOWN ? a->head.length
                                                         : a->took.received;
    bytes = bytes < LONGEST_BYTES ? bytes : LONGEST_BYTES;
    x->overdue = !timeout_ms(x) && pp_now_ns() - a->took.began_ns > 2 * stall + bytes * (1000000000 / 1024);
    return x->overdue || pp_http_is_interrupted() || (x->http->o.stop && x->http->o.stop(x->http->o.ctx));
}

static void set_text(CURL *easy, CURLoption option, const char *text)
{
    if (text && *text)
        curl.curl_easy_setopt(easy, option, text);
}

static void set_options(CURL *easy, struct exchange *x, struct curl_slist *headers)
{
    const struct pp_http_request *r = x->request;
    const struct pp_http_opts *o = &x->http->o;
    const char *authorities = o->authorities;
    authorities = authorities && *authorities ? authorities : getenv("CURL_CA_BUNDLE");
    authorities = authorities && *authorities ? authorities : getenv("SSL_CERT_FILE");
    curl.curl_easy_setopt(easy, CURLOPT_URL, r->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl.curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, x->why);
    curl.curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl.curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    curl.curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "pipeprobe/" PP_VERSION);
    curl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->local ? LOCAL_MS : CONNECT_MS));
    if (r->local)
        curl.curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (timeout_ms(x)) {
        curl.curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms(x));
    } else {
        long stall = atomic_load_explicit(&stall_ms, memory_order_relaxed);
        curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1024L);
        curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (stall + 999) / 1000);
    }
    curl.curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.curl_easy_setopt(easy, CURLOPT_XFERINFODATA, x);
    curl.curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    set_text(easy, CURLOPT_RANGE, r->range);
    if (r->post) {
        curl.curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->post_size);
        curl.curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->post);
    }
    set_text(easy, CURLOPT_CUSTOMREQUEST, r->method);
    set_text(easy, CURLOPT_CAINFO, authorities);
    set_text(easy, CURLOPT_SSLCERT, o->certificate);
    set_text(easy, CURLOPT_SSLKEY, o->key);
    set_text(easy, CURLOPT_USERNAME, o->user);
    set_text(easy, CURLOPT_PASSWORD, o->password);
    if (r->netrc)
        curl.curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
}

/* How long after the start of a request a step of it ended, by libcurl; 0: it was not taken. */
static uint64_t ended_ns(CURL *easy, CURLINFO step)
{
    curl_off_t us = 0;
    curl.curl_easy_getinfo(easy, step, &us);
    return us > 0 ? (uint64_t)us * 1000 : 0;
}

static void read_took(CURL *easy, struct pp_http_took *t)
{
    uint64_t resolved = ended_ns(easy, CURLINFO_NAMELOOKUP_TIME_T),
             connected = ended_ns(easy, CURLINFO_CONNECT_TIME_T),
             tls = ended_ns(easy, CURLINFO_APPCONNECT_TIME_T),
             sent = ended_ns(easy, CURLINFO_PRETRANSFER_TIME_T),
             first = ended_ns(easy, CURLINFO_STARTTRANSFER_TIME_T),
             end = ended_ns(easy, CURLINFO_TOTAL_TIME_T);
    long connections = 0, port = 0;
    const char *ip = NULL;
    curl.curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
    if (connections) {
        t->connected = 1;
        t->resolve_ns = resolved;
        t->connect_ns = connected > resolved ? connected - resolved : 0;
        t->tls_ns = tls > connected ? tls - connected : 0;
    }
    if (first > sent) {
        t->first_byte_ns = first - sent;
        t->transfer_ns = end > first ? end - first : 0;
    }
    curl.curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip);
    curl.curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
    if (ip && *ip)
        snprintf(t->address, sizeof(t->address), strchr(ip, ':') ? "[%s]:%ld" : "%s:%ld", ip, port);
}

static pp_status fail_certificate(CURL *easy, const char *words, struct pp_err *err)
{
    long why = 0; /* as OpenSSL numbers it, others have bits; the name of the host is libcurl's to look at */
    curl.curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &why);
    return pp_fail(err, PP_E_ACCESS, "the certificate of its host is not to be trusted (%s): %s", words,
                   why == 9 || why == 10 ? "its owner has to renew it, or the clock of this machine is wrong"
                   : why <= 1            ? "use a name that the certificate has"
                                         : "install the authority that signed it, or name its file in "
                                           "SSL_CERT_FILE (CURL_CA_BUNDLE and AWS_CA_BUNDLE come before it)");
}

/* What a proxy does looks as if the host had done it. */
static void name_proxy(const struct exchange *x, struct pp_err *err)
{
    int tls = strncasecmp(x->request->url, "https:", 6) == 0;
    const char *const in[] = {tls ? "https_proxy" : "http_proxy", tls ? "HTTPS_PROXY" : "all_proxy",
                              "all_proxy", "ALL_PROXY"};
    struct pp_err of = *err;
    size_t i = 0;
    for (const char *set; i < sizeof(in) / sizeof(*in) && (!(set = getenv(in[i])) || !*set); i++)
        ;
    if (i < sizeof(in) / sizeof(*in))
        pp_fail(err, of.code, "%.300s, by way of the proxy in %s unless no_proxy names the host", of.text,
                in[i]);
}

static pp_status fail_perform(const struct exchange *x, CURL *easy, CURLcode code, struct pp_err *err)
{
    const struct pp_http_answer *a = x->answer;
    char words[CURL_ERROR_SIZE];
    long proxy = 0;
    curl.curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    if (proxy && proxy / 100 != 2)
        return pp_fail(err, proxy / 100 == 5 ? PP_E_TRANSIENT : PP_E_ACCESS,
                       "the proxy gave no connection to its host, but answered %ld: %s", proxy,
                       proxy == 407 ? PP_HTTP_407 : "check https_proxy, or name the host in no_proxy");
    pp_text_no_secrets(words, sizeof(words), x->why[0] ? x->why : curl.curl_easy_strerror(code));
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (!a->took.address[0])
            return pp_fail(err, PP_E_USAGE, "it is not a URL that can be asked");
        /* fall through */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_FUNCTION_ARGUMENT: /* of a proxy's answer */
        return pp_fail(err, PP_E_TRANSIENT, "what answers there does not speak HTTP");
    case CURLE_SSL_CONNECT_ERROR:
        return pp_fail(err, PP_E_TRANSIENT,
                       "there is no TLS connection (%s): where its host speaks plain HTTP, write http://",
                       words);
    case CURLE_COULDNT_RESOLVE_HOST:
        return pp_fail(err, PP_E_TRANSIENT,
                       "its host name cannot be resolved: check the name, and the DNS of this machine");
    case CURLE_COULDNT_RESOLVE_PROXY:
        return pp_fail(err, PP_E_TRANSIENT,
                       "the proxy's host name cannot be resolved: check http_proxy and https_proxy");
    case CURLE_COULDNT_CONNECT: return pp_fail(err, PP_E_TRANSIENT, "its host accepts no connection");
    case CURLE_OPERATION_TIMEDOUT:
        if (timeout_ms(x))
            return pp_fail(err, PP_E_TRANSIENT, "it did not answer within %ld s",
                           (timeout_ms(x) + 999) / 1000);
        return pp_fail(err, PP_E_TRANSIENT, "its host brought less than 1 KiB/s for %ld s (--remote-timeout)",
                       (atomic_load_explicit(&stall_ms, memory_order_relaxed) + 999) / 1000);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR: return fail_certificate(easy, words, err);
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return pp_fail(
            err, PP_E_ACCESS,
            "a file of certificates cannot be read: check the one given for this server, AWS_CA_BUNDLE, CURL_CA_BUNDLE, "
            "SSL_CERT_FILE");
    case CURLE_ABORTED_BY_CALLBACK:
        return x->overdue
                   ? pp_fail(err, PP_E_TRANSIENT,
                             "its host brought %llu bytes in %llu s, less than 1 KiB/s of what was asked for "
                             "(--remote-timeout)",
                             (unsigned long long)a->took.received,
                             (unsigned long long)(a->took.all_ns / 1000000000))
                   : pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    case CURLE_OUT_OF_MEMORY: return pp_fail(err, PP_E_NO_MEMORY, "no memory for the request");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
        if (a->head.length != PP_HTTP_UNKNOWN && a->took.received)
            return pp_fail(err, PP_E_TRANSIENT, "the connection was cut after %llu of %llu bytes",
                           (unsigned long long)a->took.received, (unsigned long long)a->head.length);
        return pp_fail(err, PP_E_TRANSIENT, "the connection was cut");
    default: return pp_fail(err, PP_E_TRANSIENT, "the request failed (%s)", words);
    }
}

pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err)
{
    unsigned long long first = 0, last = 0; /* "0-99" is 100 bytes */
    int has_range = request->range && sscanf(request->range, "%llu-%llu", &first, &last) == 2 &&
                    last >= first;
    struct exchange x = {.http = h,
                         .request = request,
                         .answer = answer,
                         .err = err,
                         .asked = has_range ? last - first + 1 : PP_HTTP_UNKNOWN};
    struct pp_http_took *t = &answer->took;
    struct handle *taken = take_handle(h);
    /* without the wait for "100 Continue" that some servers never send */
    struct curl_slist *headers = request->post ? curl.curl_slist_append(NULL, "Expect:") : NULL;
    pp_status st = taken && (headers || !request->post)
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for the request");
    answer->head = (struct pp_http_head){.total = PP_HTTP_UNKNOWN, .length = PP_HTTP_UNKNOWN};
    answer->location[0] = answer->text[0] = '\0';
    answer->text_size = 0;
    *t = (struct pp_http_took){.began_ns = pp_now_ns()};
    for (size_t i = 0; st == PP_OK && i < PP_HTTP_HEADERS && request->header[i]; i++) {
        struct curl_slist *longer = curl.curl_slist_append(headers, request->header[i]);
        st = longer ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the request");
        headers = longer ? longer : headers;
    }
    if (st == PP_OK) {
        const char *location = NULL;
        curl_off_t after_s = 0;
        uint64_t cpu_ns = pp_thread_cpu_ns();
        set_options(taken->easy, &x, headers);
        CURLcode code = curl.curl_easy_perform(taken->easy);
        t->all_ns = pp_now_ns() - t->began_ns;
        t->cpu_ns = pp_thread_cpu_ns() - cpu_ns;
        read_took(taken->easy, t);
        curl.curl_easy_getinfo(taken->easy, CURLINFO_REDIRECT_URL, &location);
        if (location && strlen(location) < sizeof(answer->location))
            snprintf(answer->location, sizeof(answer->location), "%s", location);
        curl.curl_easy_getinfo(taken->easy, CURLINFO_RETRY_AFTER, &after_s);
        if (after_s > 0 && !answer->head.retry_after_s) /* it was a date */
            answer->head.retry_after_s = after_s < PP_HTTP_RETRY_S ? (uint32_t)after_s : PP_HTTP_RETRY_S;
        if (x.st != PP_OK && x.st != PP_END)
            st = x.st;
        else if (code != CURLE_OK && x.st != PP_END)
            st = fail_perform(&x, taken->easy, code, err);
        if (st == PP_E_TRANSIENT && x.st == PP_OK && err && !request->local && !strstr(err->text, "proxy"))
            name_proxy(&x, err);
        answer->text[answer->text_size] = '\0';
    }
    curl.curl_slist_free_all(headers);
    if (taken) {
        curl.curl_easy_reset(taken->easy); /* options; connections stay */
        pthread_mutex_lock(&h->lock);
        taken->next = h->idle;
        h->idle = taken;
        pthread_mutex_unlock(&h->lock);
    }
    return st;
}

int pp_http_available(char *text, size_t size)
{
    const char *missing = pp_http_missing();
    const curl_version_info_data *v = missing ? NULL : curl.curl_version_info(CURLVERSION_NOW);
    if (v)
        snprintf(text, size, "libcurl %s, %s", v->version, v->ssl_version ? v->ssl_version : "without TLS");
    else
        snprintf(text, size, "%s", missing);
    return v != NULL;
}

#else

const char *pp_http_missing(void)
{
    return "this pipeprobe was built without libcurl (Debian: libcurl4-openssl-dev, then make)";
}

int pp_http_available(char *text, size_t size)
{
    snprintf(text, size, "%s", pp_http_missing());
    return 0;
}

pp_status pp_http_open(const struct pp_http_opts *o, struct pp_http **out, struct pp_err *err)
{
    *out = NULL;
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", pp_http_missing());
}

void pp_http_close(struct pp_http *h)
{
}

pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", pp_http_missing());
}
#endif
