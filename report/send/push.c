/* A Prometheus Pushgateway: PUT of the newest text. Counters are sums since the start, so a text that is not
 * sent is not missed once a later one is; it is counted all the same. */
#include "report/send/client.h"
#include "report/send/sender.h"

#include "probe/base/err.h"
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

struct push {
    struct pp_sending sending;
    struct pp_client *client;
    char *url;
    char shown[200], type[128];
};

static const struct pp_status_words words[] = {
    {401, 401,
     "it wants a user and a password; put them into PIPEPROBE_METRICS_PUSH=http://USER:PASSWORD@HOST"},
    {404, 405, "it has no such path; give the URL of a Pushgateway without a path"},
    {413, 413, "it finds the text too large"},
    {429, 429, "it wants to be asked less often; give a longer --metrics-interval"},
    {0},
};

static enum pp_sent send_text(void *ctx, const char *text, size_t n, struct pp_try *t)
{
    struct push *p = ctx;
    struct pp_request r = {
        .method = "PUT", .url = p->url, .shown = p->shown, .headers = {p->type}, .body = text, .n = n};
    struct pp_answer a;
    if (pp_client_send(p->client, &r, words, &a))
        return PP_SENT;
    snprintf(t->why, sizeof(t->why), "%s", a.why);
    t->retry_s = a.retry_s;
    return PP_SENT_NOT;
}

/* URL/metrics/job/JOB/instance/HOST[/rank/N], unless the user gave a group. */
static char *url_of(const struct pp_sink_opts *o)
{
    char *url = NULL, rank[32] = "";
    int n = (int)strlen(o->target);
    while (n > 0 && o->target[n - 1] == '/')
        n--;
    if (strstr(o->target, "/metrics/job"))
        return strndup(o->target, (size_t)n);
    char *job = pp_client_escape(o->job), *host = pp_client_escape(o->instance);
    if (o->rank >= 0)
        snprintf(rank, sizeof(rank), "/rank/%ld", o->rank);
    if (!job || !host ||
        asprintf(&url, "%.*s/metrics/job/%s/instance/%s%s", n, o->target, job, host, rank) < 0)
        url = NULL;
    free(job);
    free(host);
    return url;
}

static void close_push(void *self)
{
    struct push *p = self;
    if (!p)
        return;
    pp_sender_stop(p->sending.sender);
    pp_client_close(p->client);
    free(p->url);
    free(p);
}

static pp_status open_push(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    struct push *p = calloc(1, sizeof(*p));
    struct pp_client_opts co = {.stop = pp_sending_is_stopping, .ctx = p};
    pp_status st = p && (p->url = url_of(o)) ? pp_client_open(&co, &p->client, err)
                                             : pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    if (st == PP_OK) {
        snprintf(p->type, sizeof(p->type), "Content-Type: %s", o->content_types[0]);
        pp_text_no_secrets(p->shown, sizeof(p->shown), o->target);
        snprintf(p->sending.unanswered, sizeof(p->sending.unanswered), "%s did not answer in time", p->shown);
        st = pp_sender_start("pp-push", send_text, p, &p->sending.sender, err);
    }
    if (st == PP_OK)
        *self = p;
    else
        close_push(p);
    return st;
}

static enum pp_sink_format format(void *self)
{
    return PP_SINK_PROMETHEUS;
}

const struct pp_sink_kind pp_sink_push = {
    .option = "metrics-push",
    .is_remote = 1,
    .missing = pp_client_missing,
    .check = check,
    .open = open_push,
    .format = format,
    .put = pp_sending_put,
    .finish = pp_sending_finish,
    .wait = pp_sending_wait,
    .count = pp_sending_count,
    .trouble = pp_sending_trouble,
    .close = close_push,
};
