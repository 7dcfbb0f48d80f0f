/* The endpoint that Prometheus scrapes: GET /metrics, by libmicrohttpd on a thread of its own. */
#include "report/send/sink.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "report/send/client.h"

#if !PP_HAVE_MICROHTTPD

static const char *missing(void)
{
    return "this pipeprobe was built without libmicrohttpd; apt-get install libmicrohttpd-dev and build again";
}

static pp_status open_http(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                           struct pp_err *err)
{
    return pp_fail(err, PP_E_UNSUPPORTED, "%s", missing());
}

#else

#include <microhttpd.h>
#include <stdatomic.h>
#include <unistd.h>

#define CONNECTIONS_MOST 16
#define CONNECTIONS_OF_ONE 6 /* address: who is silent on many does not keep the others out */
#define CONNECTION_S 10      /* one that sends nothing is closed */
#define CONNECTION_BYTES (32u << 10)

#define CALLS(X) \
    X(MHD_start_daemon) \
    X(MHD_stop_daemon) \
    X(MHD_create_response_from_buffer) \
    X(MHD_add_response_header) \
    X(MHD_queue_response) \
    X(MHD_destroy_response) \
    X(MHD_lookup_connection_value)

static struct {
#define FIELD(name) __typeof__(&name) name;
    CALLS(FIELD)
#undef FIELD
} mhd;

static const char *missing(void)
{
    static const char *const names[] = {"libmicrohttpd.so.12", NULL};
    static const struct pp_library_call calls[] = {
#define CALL(name) {#name, (void **)&mhd.name},
        CALLS(CALL)
#undef CALL
    };
    return pp_library_open(names, calls, sizeof(calls) / sizeof(*calls))
               ? NULL
               : "libmicrohttpd.so.12 is not on this machine; apt-get install libmicrohttpd12";
}

struct http {
    struct pp_sink_opts o;
    struct MHD_Daemon *daemon;
    atomic_ullong sent, lost; /* relaxed: counts alone */
    char where[128];
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned code, const char *type, const char *text,
                             size_t n)
{
    struct MHD_Response *r = mhd.MHD_create_response_from_buffer(n, (void *)text, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    mhd.MHD_add_response_header(r, "Content-Type", type);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd.MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result queued = mhd.MHD_queue_response(c, code, r);
    mhd.MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result reply_words(struct MHD_Connection *c, unsigned code, const char *text)
{
    return reply(c, code, "text/plain; charset=utf-8", text, strlen(text));
}

/* Called twice or more per request: at its head, for what it sends, at its end. */
static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *body, size_t *body_size, void **seen)
{
    static int head_seen;
    struct http *h = ctx;
    if (!*seen) {
        *seen = &head_seen;
        return MHD_YES;
    }
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return reply_words(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.\n");
    if (strcmp(url, "/metrics") == 0) {
        size_t n = 0;
        const char *accept = mhd.MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
        int open = accept && strstr(accept, "application/openmetrics-text");
        enum pp_sink_format format = open ? PP_SINK_OPENMETRICS : PP_SINK_PROMETHEUS;
        char *text = h->o.fetch(h->o.ctx, format, &n);
        atomic_fetch_add_explicit(text ? &h->sent : &h->lost, 1, memory_order_relaxed);
        enum MHD_Result r = text ? reply(c, MHD_HTTP_OK, h->o.content_types[format], text, n)
                                 : reply_words(c, MHD_HTTP_SERVICE_UNAVAILABLE,
                                               "The recording cannot be read.\n");
        free(text);
        return r;
    }
    return strcmp(url, "/") == 0 ? reply_words(c, MHD_HTTP_OK, "pipeprobe: the metrics are at /metrics\n")
                                 : reply_words(c, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics.\n");
}

/* The library's own words on standard error are for its developers. */
static void no_log(void *ctx, const char *fmt, va_list ap)
{
}

static pp_status open_http(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                           struct pp_err *err)
{
    struct pp_address address;
    char shown[100];
    int fd = -1;
    const char *without = missing();
    if (without)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s", without);
    struct http *h = calloc(1, sizeof(*h));
    pp_status status = h ? pp_address_parse(o->target, &address, err)
                         : pp_fail(err, PP_E_NO_MEMORY, "no memory to serve metrics");
    if (status == PP_OK)
        status = pp_address_listen(&address, &fd, shown, sizeof(shown), err);
    if (status == PP_OK) {
        h->o = *o;
        snprintf(h->where, sizeof(h->where), "metrics at http://%s/metrics", shown);
        h->daemon = mhd.MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG,
                                         0, NULL, NULL, answer, h, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
                                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                         (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT,
                                         (unsigned)CONNECTION_S, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                                         (unsigned)CONNECTIONS_OF_ONE, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                         (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (!h->daemon)
            status = pp_fail(err, PP_E_SYSTEM, "libmicrohttpd does not start on %s", shown);
    }
    if (status == PP_OK) {
        *self = h;
        return PP_OK;
    }
    if (fd >= 0)
        close(fd);
    free(h);
    return status;
}

static struct pp_sink_count count(void *self)
{
    struct http *h = self;
    return (struct pp_sink_count){atomic_load_explicit(&h->sent, memory_order_relaxed),
                                  atomic_load_explicit(&h->lost, memory_order_relaxed)};
}

static void trouble(void *self, char *text, size_t size)
{
    snprintf(text, size, "%s", count(self).lost ? "the recording could not be read" : "");
}

static const char *where(void *self)
{
    return ((struct http *)self)->where;
}

static void close_http(void *self)
{
    struct http *h = self;
    if (h)
        mhd.MHD_stop_daemon(h->daemon);
    free(h);
}

#endif

static pp_status check_http(const struct pp_sink_kind *kind, const char *target, struct pp_err *err)
{
    struct pp_address address;
    return pp_address_parse(target, &address, err);
}

/* It is asked; nothing is sent of itself. */
const struct pp_sink_kind pp_sink_http = {
    .option = "metrics",
    .missing = missing,
    .check = check_http,
    .open = open_http,
#if PP_HAVE_MICROHTTPD
    .where = where,
    .count = count,
    .trouble = trouble,
    .close = close_http,
#endif
};
