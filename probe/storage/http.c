#include "probe/storage/http.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/library.h"
#include "probe/storage/request_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mk/curl.mk says whether curl/curl.h is here. */
#ifndef PP_HAVE_CURL
#define PP_HAVE_CURL 0
#endif

static atomic_long timeout_ms = 30000;

void pp_http_set_timeout(double seconds)
{
    atomic_store_explicit(&timeout_ms, (long)(seconds * 1000), memory_order_relaxed);
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
    char why[200];
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
    if (!curl.loaded)
        snprintf(curl.why, sizeof(curl.why), "libcurl.so.4 is not installed, or too old (Debian: libcurl4)");
}

static int is_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return curl.loaded;
}

int pp_http_available(char *text, size_t size)
{
    if (!is_loaded()) {
        snprintf(text, size, "%s", curl.why);
        return 0;
    }
    const curl_version_info_data *v = curl.curl_version_info(CURLVERSION_NOW);
    snprintf(text, size, "libcurl %s, %s", v->version, v->ssl_version ? v->ssl_version : "without TLS");
    return 1;
}

/* ---- a client ---- */

struct handle {
    struct handle *next;
    CURL *easy;
};

struct pp_http {
    pthread_mutex_t lock;
    struct handle *idle; /* guarded by lock */
};

pp_status pp_http_open(struct pp_http **out, struct pp_err *err)
{
    *out = NULL;
    if (!is_loaded())
        return pp_fail(err, PP_E_UNSUPPORTED, "%s", curl.why);
    struct pp_http *h = calloc(1, sizeof(*h));
    if (!h)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for an HTTP client");
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

static void give_handle(struct pp_http *h, struct handle *taken)
{
    curl.curl_easy_reset(taken->easy); /* options; connections stay */
    pthread_mutex_lock(&h->lock);
    taken->next = h->idle;
    h->idle = taken;
    pthread_mutex_unlock(&h->lock);
}

/* ---- one request ---- */

struct exchange {
    const struct pp_http_request *request;
    struct pp_http_answer *answer;
    struct pp_err *err;
    pp_status st; /* of the body function */
    uint64_t received;
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
    x->received += size;
    if (a->head.status / 100 == 2) {
        x->st = x->request->body
                    ? x->request->body(x->request->ctx, &a->head, (const uint8_t *)bytes, size, x->err)
                    : PP_OK;
        return x->st == PP_OK ? size : 0;
    }
    size_t room = KEEP_TEXT - a->text_size, take = size < room ? size : room;
    memcpy(a->text + a->text_size, bytes, take);
    a->text_size += take;
    if (x->received > DRAIN) /* the connection is worth less than what is still to come */
        x->st = PP_END;
    return x->st == PP_OK ? size : 0;
}

static int on_progress(void *ctx, curl_off_t all, curl_off_t now, curl_off_t up_all, curl_off_t up_now)
{
    return pp_http_is_interrupted();
}

static void set_options(CURL *easy, const struct exchange *x, struct curl_slist *headers)
{
    const struct pp_http_request *r = x->request;
    long stall = atomic_load_explicit(&timeout_ms, memory_order_relaxed);
    const char *bundle = getenv("AWS_CA_BUNDLE");
    bundle = bundle && *bundle ? bundle : getenv("CURL_CA_BUNDLE");
    bundle = bundle && *bundle ? bundle : getenv("SSL_CERT_FILE");
    curl.curl_easy_setopt(easy, CURLOPT_URL, r->url);
    curl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl.curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    curl.curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
    curl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "pipeprobe/" PP_VERSION);
    curl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->local ? LOCAL_MS : CONNECT_MS));
    if (r->local) {
        curl.curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 5L * LOCAL_MS);
        curl.curl_easy_setopt(easy, CURLOPT_PROXY, "");
    }
    curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1024L);
    curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (stall + 999) / 1000);
    curl.curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    if (r->range)
        curl.curl_easy_setopt(easy, CURLOPT_RANGE, r->range);
    if (r->post)
        curl.curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->post);
    if (r->method)
        curl.curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
    if (bundle && *bundle)
        curl.curl_easy_setopt(easy, CURLOPT_CAINFO, bundle);
    if (r->netrc)
        curl.curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
}

static uint64_t time_of(CURL *easy, CURLINFO what)
{
    curl_off_t us = 0;
    curl.curl_easy_getinfo(easy, what, &us);
    return us > 0 ? (uint64_t)us * 1000 : 0;
}

/* What one request took. */
struct took {
    uint64_t began_ns, all_ns, cpu_ns;
    uint64_t resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns;
    long connections;
};

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* libcurl's times all count from the start of the request; a step that was not taken is 0. */
static void read_times(CURL *easy, struct took *t)
{
    uint64_t resolved = time_of(easy, CURLINFO_NAMELOOKUP_TIME_T);
    uint64_t connected = time_of(easy, CURLINFO_CONNECT_TIME_T),
             tls = time_of(easy, CURLINFO_APPCONNECT_TIME_T);
    uint64_t sent = time_of(easy, CURLINFO_PRETRANSFER_TIME_T);
    uint64_t first = time_of(easy, CURLINFO_STARTTRANSFER_TIME_T), end = time_of(easy, CURLINFO_TOTAL_TIME_T);
    curl.curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &t->connections);
    if (t->connections) {
        t->resolve_ns = resolved;
        t->connect_ns = above(connected, resolved);
        t->tls_ns = above(tls, connected);
    }
    if (first > sent) {
        t->first_byte_ns = first - sent;
        t->transfer_ns = above(end, first);
    }
}

static void count(const struct exchange *x, const struct took *t)
{
    int status = x->answer->head.status;
    const uint64_t amount[] = {
        [PP_REQUEST_COUNT_REQUESTS] = 1,
        [PP_REQUEST_COUNT_FAILED] = status == 0 || status >= 400,
        [PP_REQUEST_COUNT_THROTTLED] = status == 429 || status == 503,
        [PP_REQUEST_COUNT_CONNECTIONS] = (uint64_t)t->connections,
        [PP_REQUEST_COUNT_BYTES] = x->received,
        [PP_REQUEST_COUNT_BUSY_NS] = t->all_ns,
        [PP_REQUEST_COUNT_RESOLVE_NS] = t->resolve_ns,
        [PP_REQUEST_COUNT_CONNECT_NS] = t->connect_ns,
        [PP_REQUEST_COUNT_TLS_NS] = t->tls_ns,
        [PP_REQUEST_COUNT_FIRST_BYTE_NS] = t->first_byte_ns,
        [PP_REQUEST_COUNT_TRANSFER_NS] = t->transfer_ns,
    };
    for (unsigned i = 0; i < sizeof(amount) / sizeof(*amount); i++)
        pp_count(&pp_request_counters, i, amount[i]);
}

static void note(CURL *easy, const struct exchange *x, const struct took *t)
{
    const struct pp_http_subject *of = x->request->subject;
    char address[PP_REQUEST_ADDRESS] = "";
    const char *ip = NULL;
    long port = 0;
    if (!of || !pp_request_log_is_on())
        return;
    curl.curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip);
    curl.curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
    if (ip && *ip)
        snprintf(address, sizeof(address), strchr(ip, ':') ? "[%s]:%ld" : "%s:%ld", ip, port);
    uint64_t parts = t->resolve_ns + t->connect_ns + t->tls_ns + t->first_byte_ns + t->transfer_ns;
    pp_request_log_add(&(struct pp_request){.start_ns = t->began_ns,
                                            .queue_ns = above(t->all_ns, parts),
                                            .resolve_ns = t->resolve_ns,
                                            .connect_ns = t->connect_ns,
                                            .tls_ns = t->tls_ns,
                                            .first_byte_ns = t->first_byte_ns,
                                            .transfer_ns = t->transfer_ns,
                                            .cpu_ns = t->cpu_ns,
                                            .bytes = x->received,
                                            .sample = of->sample,
                                            .epoch = of->epoch,
                                            .status = x->answer->head.status,
                                            .attempt = of->attempt,
                                            .flags = of->flags |
                                                     (t->connections ? PP_REQUEST_CONNECTED : 0u)},
                       address, of->name);
}

static pp_status fail_perform(const struct exchange *x, CURLcode code, struct pp_err *err)
{
    const struct pp_http_head *h = &x->answer->head;
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return pp_fail(err, PP_E_USAGE, "it is not a URL that can be asked");
    case CURLE_COULDNT_RESOLVE_HOST:
        return pp_fail(err, PP_E_TRANSIENT,
                       "its host name cannot be resolved: check the name, and the DNS of this machine");
    case CURLE_COULDNT_RESOLVE_PROXY:
        return pp_fail(err, PP_E_TRANSIENT,
                       "the proxy's host name cannot be resolved: check http_proxy and https_proxy");
    case CURLE_COULDNT_CONNECT: return pp_fail(err, PP_E_TRANSIENT, "its host accepts no connection");
    case CURLE_OPERATION_TIMEDOUT:
        return pp_fail(err, PP_E_TRANSIENT, "its host brought less than 1 KiB/s for %ld s (--remote-timeout)",
                       (atomic_load_explicit(&timeout_ms, memory_order_relaxed) + 999) / 1000);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        return pp_fail(
            err, PP_E_ACCESS,
            "the certificate of its host is not to be trusted (%s): install the authority that signed it, or name "
            "its file in SSL_CERT_FILE",
            curl.curl_easy_strerror(code));
    case CURLE_SSL_CACERT_BADFILE:
        return pp_fail(
            err, PP_E_ACCESS,
            "the file of trusted certificates cannot be read: check AWS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE");
    case CURLE_ABORTED_BY_CALLBACK: return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    case CURLE_OUT_OF_MEMORY: return pp_fail(err, PP_E_NO_MEMORY, "no memory for the request");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
        if (h->length != PP_HTTP_UNKNOWN && x->received)
            return pp_fail(err, PP_E_TRANSIENT, "the connection was cut after %llu of %llu bytes",
                           (unsigned long long)x->received, (unsigned long long)h->length);
        return pp_fail(err, PP_E_TRANSIENT, "the connection was cut");
    default: return pp_fail(err, PP_E_TRANSIENT, "the request failed (%s)", curl.curl_easy_strerror(code));
    }
}

pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err)
{
    struct exchange x = {.request = request, .answer = answer, .err = err};
    struct took t = {0};
    struct curl_slist *headers = NULL;
    struct handle *taken = take_handle(h);
    pp_status st = taken ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for a connection");
    answer->head = (struct pp_http_head){.total = PP_HTTP_UNKNOWN, .length = PP_HTTP_UNKNOWN};
    answer->location[0] = answer->text[0] = '\0';
    answer->text_size = 0;
    for (size_t i = 0; st == PP_OK && i < PP_HTTP_HEADERS && request->header[i]; i++) {
        struct curl_slist *longer = curl.curl_slist_append(headers, request->header[i]);
        st = longer ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the request");
        headers = longer ? longer : headers;
    }
    if (st == PP_OK) {
        const char *location = NULL;
        uint64_t cpu_ns = pp_thread_cpu_ns();
        t.began_ns = pp_now_ns();
        set_options(taken->easy, &x, headers);
        CURLcode code = curl.curl_easy_perform(taken->easy);
        t.all_ns = pp_now_ns() - t.began_ns;
        t.cpu_ns = pp_thread_cpu_ns() - cpu_ns;
        read_times(taken->easy, &t);
        count(&x, &t);
        note(taken->easy, &x, &t);
        curl.curl_easy_getinfo(taken->easy, CURLINFO_REDIRECT_URL, &location);
        if (location && strlen(location) < sizeof(answer->location))
            snprintf(answer->location, sizeof(answer->location), "%s", location);
        if (x.st != PP_OK && x.st != PP_END)
            st = x.st;
        else if (code != CURLE_OK && x.st != PP_END)
            st = fail_perform(&x, code, err);
        answer->text[answer->text_size] = '\0';
    }
    curl.curl_slist_free_all(headers);
    if (taken)
        give_handle(h, taken);
    return st;
}

#else

#define WHY "this pipeprobe was built without libcurl (Debian: libcurl4-openssl-dev, then make)"

int pp_http_available(char *text, size_t size)
{
    snprintf(text, size, "%s", WHY);
    return 0;
}

pp_status pp_http_open(struct pp_http **out, struct pp_err *err)
{
    *out = NULL;
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", WHY);
}

void pp_http_close(struct pp_http *h)
{
}

pp_status pp_http_perform(struct pp_http *h, const struct pp_http_request *request,
                          struct pp_http_answer *answer, struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", WHY);
}
#endif
