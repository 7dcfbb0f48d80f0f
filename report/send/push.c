/* A Prometheus Pushgateway: PUT of the newest text, by libcurl on a thread of its own. Counters are sums
 * since the start, so a text that is not sent is not missed once a later one is; it is counted all the same.
 */
#include "report/send/sink.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/base/library.h"
#include "probe/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_status check(const char *target, struct pp_err *err)
{
    char shown[256];
    if (strncmp(target, "http://", 7) == 0 || strncmp(target, "https://", 8) == 0)
        return PP_OK;
    return pp_fail(err, PP_E_USAGE,
                   "--metrics-push %s: write the Pushgateway's URL, as http://pushgateway:9091",
                   pp_text_no_secrets(shown, sizeof(shown), target));
}

#if !PP_HAVE_CURL

static const char *missing(void)
{
    return "this pipeprobe was built without libcurl; apt-get install libcurl4-openssl-dev and build again";
}

static pp_status open_push(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", missing());
}

#else

#include <curl/curl.h>

#define CONNECT_MS 3000L
#define TRANSFER_MS 5000L
#define ANSWER_MOST (64u << 10) /* a Pushgateway answers with nothing, or a sentence */
#define PAUSE_MOST_S 60u        /* after failures */

#define CALLS(X) \
    X(curl_global_init) \
    X(curl_easy_init) \
    X(curl_easy_cleanup) \
    X(curl_easy_setopt) \
    X(curl_easy_getinfo) \
    X(curl_easy_perform) \
    X(curl_easy_strerror) \
    X(curl_easy_escape) \
    X(curl_free) \
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

static const char *missing(void)
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

struct push {
    char *url, *shown; /* shown: without secrets */
    CURL *curl;
    struct curl_slist *headers;
    size_t answered; /* bytes of the answer */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    /* under lock */
    char *next; /* to be sent; a newer one takes its place */
    size_t next_size;
    int sending, last, stop; /* last: next is sent without waiting out a pause, and no other comes */
    struct pp_sink_count count;
    char trouble[320];
    /* the thread's alone */
    unsigned failures;
    uint64_t pause_until_ns;
};

/* ---- one transfer ---- */

static size_t take_answer(char *data, size_t size, size_t n, void *ctx)
{
    struct push *p = ctx;
    p->answered += size * n;
    return p->answered <= ANSWER_MOST ? size * n : 0;
}

/* Asked about once a second, while a name is resolved too. */
static int go_on(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct push *p = ctx;
    pthread_mutex_lock(&p->lock);
    int stop = p->stop;
    pthread_mutex_unlock(&p->lock);
    return stop;
}

static const char *words_of(long code)
{
    static const struct {
        long from, to;
        const char *words;
    } rows[] = {
        {300, 399, "it redirects; give the final URL"},
        {401, 401,
         "it wants a user and a password; put them into PIPEPROBE_METRICS_PUSH=http://USER:PASSWORD@HOST"},
        {403, 403, "it does not allow this user to write"},
        {404, 405, "it has no such path; give the URL of a Pushgateway without a path"},
        {413, 413, "it finds the text too large"},
        {429, 429, "it wants to be asked less often; give a longer --metrics-interval"},
        {500, 599, "its own trouble"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (code >= rows[i].from && code <= rows[i].to)
            return rows[i].words;
    return "not what a Pushgateway answers";
}

/* Why a transfer failed, into text; rc as curl says it. */
static void say_failure(const struct push *p, CURLcode rc, long code, char *text, size_t size)
{
    if (rc == CURLE_OK)
        snprintf(text, size, "%s answered %ld: %s", p->shown, code, words_of(code));
    else if (rc == CURLE_OPERATION_TIMEDOUT)
        snprintf(text, size, "%s did not answer within %ld s", p->shown, TRANSFER_MS / 1000);
    else if (rc == CURLE_WRITE_ERROR)
        snprintf(text, size, "%s answers without end", p->shown);
    else
        snprintf(text, size, "%s cannot be reached: %s", p->shown, lib.curl_easy_strerror(rc));
}

/* 1: taken. Without the lock. retry_s: how long the server asks to wait. */
static int transfer(struct push *p, const char *text, size_t n, char *why, size_t size, long *retry_s)
{
    long code = 0;
    curl_off_t after = 0;
    p->answered = 0;
    lib.curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
    lib.curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, text);
    CURLcode rc = lib.curl_easy_perform(p->curl);
    lib.curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &code);
    lib.curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &after);
    *retry_s = after > 0 && (code == 429 || code == 503) ? (long)after : 0;
    if (rc == CURLE_OK && code >= 200 && code <= 299)
        return 1;
    say_failure(p, rc, code, why, size);
    return 0;
}

/* ---- the thread ---- */

static void note(struct push *p, int taken, const char *why, long retry_s)
{
    unsigned pause_s = p->failures < 6 ? 1u << p->failures : PAUSE_MOST_S;
    p->count.sent += taken != 0;
    p->count.lost += !taken;
    if (taken) {
        p->failures = 0;
        return;
    }
    snprintf(p->trouble, sizeof(p->trouble), "%s", why);
    p->failures++;
    pause_s = (unsigned)retry_s > pause_s ? (unsigned)retry_s : pause_s;
    p->pause_until_ns = pp_now_ns() +
                        (pause_s < PAUSE_MOST_S ? pause_s : PAUSE_MOST_S) * UINT64_C(1000000000);
}

static void *push_main(void *arg)
{
    struct push *p = arg;
    char why[sizeof(p->trouble)];
    pthread_setname_np(pthread_self(), "pp-push");
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (!p->next || (!p->last && pp_now_ns() < p->pause_until_ns)) {
            pp_cond_wait_until(&p->wake, &p->lock, p->next ? p->pause_until_ns : UINT64_MAX);
            continue;
        }
        char *text = p->next;
        size_t n = p->next_size;
        long retry_s = 0;
        p->next = NULL;
        p->sending = 1;
        pthread_mutex_unlock(&p->lock);
        int taken = transfer(p, text, n, why, sizeof(why), &retry_s);
        free(text);
        pthread_mutex_lock(&p->lock);
        note(p, taken, why, retry_s);
        p->sending = 0;
        pthread_cond_broadcast(&p->idle);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the sink ---- */

/* URL/metrics/job/JOB/instance/HOST[/rank/N], unless the user gave a group. */
static char *url_of(CURL *curl, const struct pp_sink_opts *o)
{
    char *url = NULL, rank[32] = "";
    int n = (int)strlen(o->target);
    while (n > 0 && o->target[n - 1] == '/')
        n--;
    if (strstr(o->target, "/metrics/job"))
        return strndup(o->target, (size_t)n);
    char *job = lib.curl_easy_escape(curl, o->job, 0), *host = lib.curl_easy_escape(curl, o->instance, 0);
    if (o->rank >= 0)
        snprintf(rank, sizeof(rank), "/rank/%ld", o->rank);
    if (!job || !host ||
        asprintf(&url, "%.*s/metrics/job/%s/instance/%s%s", n, o->target, job, host, rank) < 0)
        url = NULL;
    lib.curl_free(job);
    lib.curl_free(host);
    return url;
}

static void set_up(struct push *p, const struct pp_sink_opts *o)
{
    char type[128];
    snprintf(type, sizeof(type), "Content-Type: %s", o->content_types[0]);
    p->headers = lib.curl_slist_append(NULL, type);
    p->headers = lib.curl_slist_append(p->headers, "Expect:");
    lib.curl_easy_setopt(p->curl, CURLOPT_URL, p->url);
    lib.curl_easy_setopt(p->curl, CURLOPT_CUSTOMREQUEST, "PUT");
    lib.curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, p->headers);
    lib.curl_easy_setopt(p->curl, CURLOPT_USERAGENT, "pipeprobe/" PP_VERSION);
#if LIBCURL_VERSION_NUM >= 0x075500
    lib.curl_easy_setopt(p->curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    lib.curl_easy_setopt(p->curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    lib.curl_easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
    lib.curl_easy_setopt(p->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    lib.curl_easy_setopt(p->curl, CURLOPT_TIMEOUT_MS, TRANSFER_MS);
    lib.curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, take_answer);
    lib.curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, p);
    lib.curl_easy_setopt(p->curl, CURLOPT_XFERINFOFUNCTION, go_on);
    lib.curl_easy_setopt(p->curl, CURLOPT_XFERINFODATA, p);
    lib.curl_easy_setopt(p->curl, CURLOPT_NOPROGRESS, 0L);
}

static void free_push(struct push *p)
{
    if (p->headers)
        lib.curl_slist_free_all(p->headers);
    if (p->curl)
        lib.curl_easy_cleanup(p->curl);
    free(p->next);
    free(p->url);
    free(p->shown);
    free(p);
}

static pp_status open_push(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    char shown[256];
    const char *without = missing();
    if (without)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s", without);
    lib.curl_global_init(CURL_GLOBAL_DEFAULT);
    struct push *p = calloc(1, sizeof(*p));
    if (p && (p->curl = lib.curl_easy_init()) && (p->url = url_of(p->curl, o)))
        p->shown = strdup(pp_text_no_secrets(shown, sizeof(shown), o->target));
    if (!p || !p->shown) {
        if (p)
            free_push(p);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    }
    set_up(p, o);
    pthread_mutex_init(&p->lock, NULL);
    pp_cond_init(&p->wake);
    pp_cond_init(&p->idle);
    int rc = pthread_create(&p->thread, NULL, push_main, p);
    if (rc != 0) {
        free_push(p);
        return pp_fail_errno(err, rc, "cannot start the thread that sends metrics");
    }
    *self = p;
    return PP_OK;
}

static void hand_over(struct push *p, const char *text, size_t n, int last)
{
    char *copy = malloc(n ? n : 1);
    if (copy)
        memcpy(copy, text, n);
    pthread_mutex_lock(&p->lock);
    p->count.lost += p->next != NULL || !copy;
    free(p->next);
    p->next = copy;
    p->next_size = n;
    p->last = last;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void put(void *self, const char *text, size_t n)
{
    hand_over(self, text, n, 0);
}

static void finish(void *self, const char *text, size_t n, uint64_t deadline_ns)
{
    struct push *p = self;
    hand_over(p, text, n, 1);
    pthread_mutex_lock(&p->lock);
    while ((p->next || p->sending) && pp_now_ns() < deadline_ns)
        pp_cond_wait_until(&p->idle, &p->lock, deadline_ns);
    p->count.lost += p->next || p->sending;
    if ((p->next || p->sending) && !p->trouble[0])
        snprintf(p->trouble, sizeof(p->trouble), "%s did not answer in time", p->shown);
    pthread_mutex_unlock(&p->lock);
}

static struct pp_sink_count count(void *self)
{
    struct push *p = self;
    pthread_mutex_lock(&p->lock);
    struct pp_sink_count c = p->count;
    pthread_mutex_unlock(&p->lock);
    return c;
}

static void trouble(void *self, char *text, size_t size)
{
    struct push *p = self;
    pthread_mutex_lock(&p->lock);
    snprintf(text, size, "%s", p->trouble);
    pthread_mutex_unlock(&p->lock);
}

static void close_push(void *self)
{
    struct push *p = self;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->idle);
    pthread_mutex_destroy(&p->lock);
    free_push(p);
}

#endif

const struct pp_sink_kind pp_sink_push = {
    .option = "metrics-push",
    .missing = missing,
    .check = check,
    .open = open_push,
#if PP_HAVE_CURL
    .put = put,
    .finish = finish,
    .count = count,
    .trouble = trouble,
    .close = close_push,
#endif
};
