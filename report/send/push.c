/* A Prometheus Pushgateway: PUT of the newest text. Counters are sums since the start, so a text that is not
 * sent is not missed once a later one is; it is counted all the same. */
#include "report/send/sender.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

enum { NAME = 1024 };

struct push {
    struct pp_sending sending;
    char type[128];
};

static const struct pp_status_words words[] = {
    {401, 401,
     "it wants a user and a password; put them into PIPEPROBE_METRICS_PUSH=http://USER:PASSWORD@HOST"},
    {404, 405, "it has no such path; give the URL of a Pushgateway without a path"},
    {413, 413, "it finds the text too large"},
    {429, 429, "it wants to be asked less often; give a longer --metrics-interval"},
    {0},
};

/* URL/metrics/job/JOB/instance/HOST[/rank/N], unless the user gave a group. */
static pp_status push_url_of(void *self, const struct pp_sink_opts *o, struct pp_http_opts *http,
                             struct pp_err *err)
{
    struct push *p = self;
    char shown[256], rank[32] = "", job[NAME], host[NAME];
    int n = (int)strlen(o->target), made;
    if (strncmp(o->target, "http://", 7) != 0 && strncmp(o->target, "https://", 8) != 0)
        return pp_fail(err, PP_E_USAGE,
                       "--metrics-push %s: write the Pushgateway's URL, as http://pushgateway:9091",
                       pp_text_no_secrets(shown, sizeof(shown), o->target));
    if (pp_uri_encode(o->job, PP_URI_VALUE, job, NAME) != 0 ||
        pp_uri_encode(o->instance, PP_URI_VALUE, host, NAME) != 0)
        return pp_fail(err, PP_E_USAGE, "--metrics-push: the label job or instance is longer than %d bytes",
                       NAME / 3);
    while (n > 0 && o->target[n - 1] == '/')
        n--;
    if (o->rank >= 0)
        snprintf(rank, sizeof(rank), "/rank/%ld", o->rank);
    if (strstr(o->target, "/metrics/job"))
        made = asprintf(&p->sending.url, "%.*s", n, o->target);
    else
        made = asprintf(&p->sending.url, "%.*s/metrics/job/%s/instance/%s%s", n, o->target, job, host, rank);
    if (made < 0) {
        p->sending.url = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    }
    snprintf(p->type, sizeof(p->type), "Content-Type: %s", o->content_types[0]);
    pp_text_no_secrets(p->sending.shown, sizeof(p->sending.shown), o->target);
    return PP_OK;
}

static enum pp_sent push_send(void *self, const char *text, size_t n, struct pp_try *t)
{
    struct push *p = self;
    struct pp_client_request r = {.method = "PUT",
                                  .url = p->sending.url,
                                  .shown = p->sending.shown,
                                  .headers = {p->type},
                                  .body = text,
                                  .n = n};
    struct pp_client_answer a;
    if (pp_client_send(p->sending.client, &r, words, &a))
        return PP_SENT;
    snprintf(t->why, sizeof(t->why), "%s", a.why);
    t->retry_s = a.retry_s;
    return PP_SENT_NOT;
}

static const struct pp_sending_kind push = {
    .thread = "pp-push",
    .size = sizeof(struct push),
    .url_of = push_url_of,
    .send = push_send,
};

const struct pp_sink_kind pp_sink_push = {
    .option = "metrics-push",
    .takes = PP_SINK_PROMETHEUS,
    .sending = &push,
    PP_SENDING_HOOKS,
};
