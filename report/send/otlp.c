/* A server of OpenTelemetry: POST of the newest metrics, OTLP over HTTP. Sums are cumulative, so one body
 * stands for all before it. Only what the protocol calls worth a second try gets one: 429, 502, 503, 504, and
 * no answer at all. */
#include "report/otlp/answer.h"
#include "report/otlp/settings.h"
#include "report/send/otlp.h"
#include "report/send/sender.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one body, of metrics or traces ---- */

static const struct pp_status_words words[] = {
    {400, 400, "it does not understand the body"},
    {401, 401, "it wants credentials; put them into OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE"},
    {404, 405, "it has no such path; check the URL, which is that of OTLP over HTTP"},
    {415, 415, "it does not take this encoding; try OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
    {0},
};

static int is_worth_a_second_try(long code)
{
    return code == 0 || code == 429 || code == 502 || code == 503 || code == 504;
}

/* A server that is sent credentials could have them in its words. */
static int may_show_words(const struct pp_otlp_settings *s)
{
    return s->n_headers == 0 && !strchr(s->url, '@');
}

enum pp_sent pp_otlp_send(struct pp_client *c, const struct pp_otlp_settings *s, const char *body, size_t n,
                          struct pp_otlp_sending *x)
{
    struct pp_request r = {
        .method = "POST",
        .url = s->url,
        .headers = {s->is_json ? "Content-Type: application/json" : "Content-Type: application/x-protobuf"},
        .body = body,
        .n = n,
        .gzip = s->gzip,
    };
    struct pp_answer a;
    struct pp_otlp_answer told;
    char shown[200], of[32] = "";
    for (size_t i = 0; i < s->n_headers; i++)
        r.headers[1 + i] = s->headers[i];
    int taken = pp_client_send(c, &r, words, &a);
    x->wire_bytes += a.sent;
    x->retry_s = a.retry_s;
    x->rejected = 0;
    if (taken) {
        pp_otlp_answer_read(a.body, a.n, x->things, &told);
        x->rejected = told.rejected;
        if (!told.rejected)
            return PP_SENT;
        if (x->things != UINT64_MAX)
            snprintf(of, sizeof(of), "of %llu ", (unsigned long long)x->things);
        snprintf(x->why, sizeof(x->why), "%s did not take %llu %s%s%s%s",
                 pp_text_no_secrets(shown, sizeof(shown), s->url), (unsigned long long)told.rejected, of,
                 x->called, may_show_words(s) && told.message[0] ? ": " : "",
                 may_show_words(s) ? told.message : "");
        return PP_SENT_PARTLY;
    }
    pp_otlp_refusal_read(a.body, a.code ? a.n : 0, &told);
    snprintf(x->why, sizeof(x->why), "%s%s%s%s", a.why, told.message[0] && may_show_words(s) ? " (" : "",
             may_show_words(s) ? told.message : "", told.message[0] && may_show_words(s) ? ")" : "");
    return is_worth_a_second_try(a.code) ? PP_SENT_AGAIN : PP_SENT_NOT;
}

pp_status pp_otlp_client(const struct pp_otlp_settings *s, int (*stop)(void *ctx), void *ctx,
                         struct pp_client **out, struct pp_err *err)
{
    struct pp_client_opts o = {.authorities = s->authorities,
                               .certificate = s->certificate,
                               .key = s->key,
                               .timeout_ms = s->timeout_ms,
                               .stop = stop,
                               .ctx = ctx};
    return pp_client_open(&o, out, err);
}

/* ---- the sink of metrics ---- */

struct otlp {
    struct pp_sending sending;
    struct pp_otlp_settings settings;
    struct pp_client *client;
};

static pp_status check(const char *target, struct pp_err *err)
{
    struct pp_otlp_settings s;
    pp_status st = pp_otlp_settings_read(target, "metrics", &s, err);
    pp_otlp_settings_free(&s);
    return st;
}

static enum pp_sent send_text(void *ctx, const char *text, size_t n, struct pp_try *t)
{
    struct otlp *p = ctx;
    struct pp_otlp_sending x = {.things = UINT64_MAX, .called = "data points"};
    enum pp_sent sent = pp_otlp_send(p->client, &p->settings, text, n, &x);
    snprintf(t->why, sizeof(t->why), "%s", x.why);
    t->retry_s = x.retry_s;
    return sent;
}

static void close_otlp(void *self)
{
    struct otlp *p = self;
    if (!p)
        return;
    pp_sender_stop(p->sending.sender);
    pp_client_close(p->client);
    pp_otlp_settings_free(&p->settings);
    free(p);
}

static pp_status open_otlp(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    char shown[256];
    struct otlp *p = calloc(1, sizeof(*p));
    pp_status st = p ? pp_otlp_settings_read(o->target, "metrics", &p->settings, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    if (st == PP_OK)
        st = pp_otlp_client(&p->settings, pp_sending_is_stopping, p, &p->client, err);
    if (st == PP_OK) {
        snprintf(p->sending.unanswered, sizeof(p->sending.unanswered), "%s did not answer in time",
                 pp_text_no_secrets(shown, sizeof(shown), p->settings.url));
        st = pp_sender_start("pp-otlp", send_text, p, &p->sending.sender, err);
    }
    if (st == PP_OK)
        *self = p;
    else
        close_otlp(p);
    return st;
}

static enum pp_sink_format format(void *self)
{
    return ((struct otlp *)self)->settings.is_json ? PP_SINK_OTLP_JSON : PP_SINK_OTLP_PROTOBUF;
}

const struct pp_sink_kind pp_sink_otlp = {
    .option = "otlp",
    .is_remote = 1,
    .missing = pp_client_missing,
    .check = check,
    .open = open_otlp,
    .format = format,
    .put = pp_sending_put,
    .finish = pp_sending_finish,
    .wait = pp_sending_wait,
    .count = pp_sending_count,
    .trouble = pp_sending_trouble,
    .close = close_otlp,
};
