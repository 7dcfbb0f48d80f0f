/* A server of OpenTelemetry: POST of the newest metrics, OTLP over HTTP. Sums are cumulative, so one body
 * stands for all before it. Only what the protocol calls worth a second try gets one: 429, 502, 503, 504, and
 * no answer at all. */
#include "report/send/otlp.h"
#include "report/otlp/settings.h"

#include "probe/base/text.h"

#include <zlib.h>

/* ---- one body, of metrics or traces ---- */

static const struct pp_status_words words[] = {
    {400, 400, "it does not understand the body"},
    {401, 401, "it wants credentials; put them into OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE"},
    {404, 405, "it has no such path; check the URL, which is that of OTLP over HTTP"},
    {415, 415, "it does not take this encoding; try OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
    {0},
};

/* The body as gzip has it, malloc'd; NULL: it is sent as it is. */
static void *pack(const void *body, size_t n, size_t *packed)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)body, .avail_in = (uInt)n};
    if (!n || n > UINT32_MAX / 2 || deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t most = deflateBound(&z, (uLong)n);
    void *out = malloc(most);
    z.next_out = out;
    z.avail_out = (uInt)most;
    if (out && deflate(&z, Z_FINISH) == Z_STREAM_END) {
        *packed = z.total_out;
    } else {
        free(out);
        out = NULL;
    }
    deflateEnd(&z);
    return out;
}

enum pp_sent pp_otlp_send(struct pp_client *c, const struct pp_otlp_settings *s, const char *body, size_t n,
                          struct pp_otlp_sending *x)
{
    void *packed = s->gzip ? pack(body, n, &n) : NULL;
    struct pp_client_request r = {
        .method = "POST",
        .url = s->url,
        .headers = {s->is_json ? "Content-Type: application/json" : "Content-Type: application/x-protobuf"},
        .body = packed ? packed : body,
        .n = n,
    };
    struct pp_client_answer a;
    struct pp_otlp_answer told;
    char shown[200], of[32] = "";
    size_t headers = 1;
    for (size_t i = 0; i < s->n_headers; i++)
        r.headers[headers++] = s->headers[i];
    if (packed)
        r.headers[headers++] = "Content-Encoding: gzip";
    int taken = pp_client_send(c, &r, words, &a);
    free(packed);
    x->wire_bytes += n;
    x->retry_s = a.retry_s;
    x->rejected = 0;
    /* a server that is sent credentials could have them in its words */
    int may_show = s->n_headers == 0 && !strchr(s->url, '@');
    if (taken) {
        pp_otlp_answer_read(a.body, a.n, PP_OTLP_TAKEN, x->things, &told);
        x->rejected = told.rejected;
        if (!told.rejected)
            return PP_SENT;
        if (x->things != UINT64_MAX)
            snprintf(of, sizeof(of), "of %llu ", (unsigned long long)x->things);
        snprintf(x->why, sizeof(x->why), "%s did not take %llu %s%s%s%s",
                 pp_text_no_secrets(shown, sizeof(shown), s->url), (unsigned long long)told.rejected, of,
                 x->called, may_show && told.message[0] ? ": " : "", may_show ? told.message : "");
        return PP_SENT_PARTLY;
    }
    pp_otlp_answer_read(a.body, a.code ? a.n : 0, PP_OTLP_REFUSED, 0, &told);
    if (may_show && told.message[0])
        snprintf(x->why, sizeof(x->why), "%.280s (%s)", a.why, told.message);
    else
        snprintf(x->why, sizeof(x->why), "%s", a.why);
    return a.code == 0 || a.code == 429 || a.code == 502 || a.code == 503 || a.code == 504 ? PP_SENT_AGAIN
                                                                                           : PP_SENT_NOT;
}

struct pp_http_opts pp_otlp_client_opts(const struct pp_otlp_settings *s)
{
    return (struct pp_http_opts){.authorities = s->authorities,
                                 .certificate = s->certificate,
                                 .key = s->key,
                                 .timeout_ms = s->timeout_ms};
}

/* ---- the sink of metrics ---- */

struct otlp {
    struct pp_sending sending;
    struct pp_otlp_settings settings;
};

static pp_status otlp_url_of(void *self, const struct pp_sink_opts *o, struct pp_http_opts *http,
                             struct pp_err *err)
{
    struct otlp *p = self;
    pp_status st = pp_otlp_settings_read(o->target, "metrics", &p->settings, err);
    if (st != PP_OK)
        return st;
    *http = pp_otlp_client_opts(&p->settings);
    pp_text_no_secrets(p->sending.shown, sizeof(p->sending.shown), p->settings.url);
    return PP_OK;
}

static enum pp_sent otlp_send(void *self, const char *text, size_t n, struct pp_try *t)
{
    struct otlp *p = self;
    struct pp_otlp_sending x = {.things = UINT64_MAX, .called = "data points"};
    enum pp_sent sent = pp_otlp_send(p->sending.client, &p->settings, text, n, &x);
    snprintf(t->why, sizeof(t->why), "%s", x.why);
    t->retry_s = x.retry_s;
    return sent;
}

static void otlp_forget(void *self)
{
    pp_otlp_settings_free(&((struct otlp *)self)->settings);
}

static enum pp_sink_format otlp_format(void *self)
{
    return ((struct otlp *)self)->settings.is_json ? PP_SINK_OTLP_JSON : PP_SINK_OTLP_PROTOBUF;
}

static const struct pp_sending_kind otlp = {
    .thread = "pp-otlp",
    .size = sizeof(struct otlp),
    .url_of = otlp_url_of,
    .send = otlp_send,
    .forget = otlp_forget,
};

const struct pp_sink_kind pp_sink_otlp = {
    .option = "otlp",
    .format = otlp_format,
    .sending = &otlp,
    PP_SENDING_HOOKS,
};
