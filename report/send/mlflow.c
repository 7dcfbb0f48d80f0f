/* An MLflow tracking server: parameters once, metrics as they come, the report as an artifact at the end.
 * Into the run that MLFLOW_RUN_ID names, else into one of its own, which it ends. MLflow keeps every point of
 * a metric, so a text that is not taken leaves a gap. */
#include "report/send/client.h"
#include "report/send/mlflow_api.h"
#include "report/send/sender.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 10, TIMEOUT_MOST_S = 120 };

struct mlflow {
    struct pp_sending sending;
    struct pp_client *client;
    char *url, *bearer;
    char shown[200], name[200];
    pp_sink_fetch_fn *fetch;
    void *ctx;
    /* the thread's alone */
    struct pp_mlflow_run run; /* id "": not there yet */
    int is_own, has_params, has_page;
};

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static pp_status check(const char *target, struct pp_err *err)
{
    char *url;
    pp_status st = pp_mlflow_url(target, &url, err);
    free(url);
    return st;
}

/* MLFLOW_HTTP_REQUEST_TIMEOUT is in seconds; a server whose database is slow takes longer than others here.
 */
static long timeout_ms(void)
{
    const char *text = variable("MLFLOW_HTTP_REQUEST_TIMEOUT");
    long s = text ? strtol(text, NULL, 10) : TIMEOUT_S;
    return 1000 * (s > 0 && s < TIMEOUT_MOST_S ? s : s > 0 ? TIMEOUT_MOST_S : TIMEOUT_S);
}

/* ---- requests ---- */

static const struct pp_status_words words[] = {
    {401, 401,
     "it wants credentials; put them into MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and "
     "MLFLOW_TRACKING_PASSWORD"},
    {404, 404, "it has no such run, experiment or path"},
    {0},
};

struct asking {
    const char *method, *path, *type;
    const char *body; /* NULL: none; freed */
    size_t n;
};

/* A server that is sent credentials could have them in its words. */
static int may_show_words(const struct mlflow *p)
{
    return !p->bearer && !variable("MLFLOW_TRACKING_PASSWORD") && !strchr(p->url, '@');
}

static enum pp_sent ask(struct mlflow *p, const struct asking *q, struct pp_answer *a, struct pp_try *t)
{
    char *url = NULL, told[120] = "";
    int taken = 0;
    struct pp_request r = {.method = q->method, .shown = p->shown, .body = q->body, .n = q->n};
    *a = (struct pp_answer){0};
    if (asprintf(&url, "%s/api/2.0/%s", p->url, q->path) < 0) {
        snprintf(t->why, sizeof(t->why), "no memory for a request");
        return PP_SENT_NOT;
    }
    r.url = url;
    r.headers[0] = q->type;
    r.headers[1] = p->bearer;
    taken = pp_client_send(p->client, &r, words, a);
    free(url);
    if (taken)
        return PP_SENT;
    if (a->code && may_show_words(p))
        pp_mlflow_read_refusal(a->body, a->n, told, sizeof(told));
    snprintf(t->why, sizeof(t->why), "%s%s%s%s", a->why, *told ? " (" : "", told, *told ? ")" : "");
    t->retry_s = a->retry_s;
    return a->code == 0 || a->code == 429 || a->code >= 502 ? PP_SENT_AGAIN : PP_SENT_NOT;
}

#define JSON_TYPE "Content-Type: application/json"

/* body is freed. */
static enum pp_sent post(struct mlflow *p, const char *path, char *body, struct pp_answer *a,
                         struct pp_try *t)
{
    struct asking q = {.method = "POST", .path = path, .type = JSON_TYPE, .body = body};
    enum pp_sent sent = PP_SENT_NOT;
    q.n = body ? strlen(body) : 0;
    if (body)
        sent = ask(p, &q, a, t);
    else
        snprintf(t->why, sizeof(t->why), "no memory for a request");
    free(body);
    return sent;
}

static enum pp_sent get(struct mlflow *p, const char *path, const char *of, struct pp_answer *a,
                        struct pp_try *t)
{
    char *escaped = pp_client_escape(of), *whole = NULL;
    enum pp_sent sent = PP_SENT_NOT;
    struct asking q = {.method = "GET", .type = JSON_TYPE};
    if (escaped && asprintf(&whole, "%s%s", path, escaped) >= 0) {
        q.path = whole;
        sent = ask(p, &q, a, t);
        free(whole);
    } else {
        *a = (struct pp_answer){0};
        snprintf(t->why, sizeof(t->why), "no memory for a request");
    }
    free(escaped);
    return sent;
}

static enum pp_sent not_understood(const struct mlflow *p, struct pp_try *t)
{
    snprintf(t->why, sizeof(t->why), "%s does not answer as MLflow does", p->shown);
    return PP_SENT_NOT;
}

/* ---- the run ---- */

static enum pp_sent find_experiment(struct mlflow *p, char id[65], struct pp_try *t)
{
    const char *own = variable("MLFLOW_EXPERIMENT_ID"), *name = variable("MLFLOW_EXPERIMENT_NAME");
    struct pp_answer a;
    snprintf(id, 65, "%s", own ? own : "0");
    if (own || !name)
        return PP_SENT;
    enum pp_sent sent = get(p, "mlflow/experiments/get-by-name?experiment_name=", name, &a, t);
    if (a.code == 404)
        sent = post(p, "mlflow/experiments/create", pp_mlflow_create_experiment(name), &a, t);
    if (sent == PP_SENT && !pp_mlflow_read_experiment(a.body, a.n, id))
        sent = not_understood(p, t);
    return sent;
}

static enum pp_sent find_run(struct mlflow *p, struct pp_try *t)
{
    const char *given = variable("MLFLOW_RUN_ID");
    char experiment[65];
    struct pp_mlflow_run run;
    struct pp_answer a;
    enum pp_sent sent;
    p->is_own = !given;
    if (given) {
        sent = get(p, "mlflow/runs/get?run_id=", given, &a, t);
    } else {
        sent = find_experiment(p, experiment, t);
        if (sent == PP_SENT)
            sent = post(p, "mlflow/runs/create",
                        pp_mlflow_create_run(experiment, p->name,
                                             (long long)(pp_clock_of(CLOCK_REALTIME) / 1000000)),
                        &a, t);
    }
    if (sent == PP_SENT && !pp_mlflow_read_run(a.body, a.n, &run))
        sent = not_understood(p, t);
    if (sent == PP_SENT)
        p->run = run;
    return sent;
}

/* ---- what is logged ---- */

static enum pp_sent log_object(struct mlflow *p, const char *object, size_t n, struct pp_try *t)
{
    struct pp_answer a;
    return post(p, "mlflow/runs/log-batch", pp_mlflow_of_run(p->run.id, object, n), &a, t);
}

/* Parameters cannot be changed: one that the run has with another value is refused, for ever. */
static enum pp_sent log_params(struct mlflow *p, struct pp_try *t)
{
    size_t n = 0;
    char *object = p->fetch(p->ctx, PP_SINK_MLFLOW_PARAMS, &n);
    enum pp_sent sent = object ? log_object(p, object, n, t) : PP_SENT;
    p->has_params = sent != PP_SENT_AGAIN;
    free(object);
    return sent;
}

static enum pp_sent put_page(struct mlflow *p, struct pp_try *t)
{
    char path[400];
    size_t n = 0;
    struct pp_answer a;
    if (!p->run.artifacts[0]) {
        snprintf(
            t->why, sizeof(t->why),
            "%s keeps artifacts where only a client can write (not mlflow-artifacts:); attach the page of "
            "'pipeprobe report FILE --format html' yourself",
            p->shown);
        return PP_SENT_NOT;
    }
    char *page = p->fetch(p->ctx, PP_SINK_PAGE, &n);
    if (!page) {
        snprintf(t->why, sizeof(t->why), "the recording has no report to attach");
        return PP_SENT_NOT;
    }
    snprintf(path, sizeof(path), "mlflow-artifacts/artifacts/%s/pipeprobe/report.html", p->run.artifacts);
    struct asking q = {.method = "PUT",
                       .path = path,
                       .type = "Content-Type: text/html; charset=utf-8",
                       .body = page,
                       .n = n};
    enum pp_sent sent = ask(p, &q, &a, t);
    free(page);
    return sent;
}

static enum pp_sent send_text(void *ctx, const char *text, size_t n, struct pp_try *t)
{
    struct mlflow *p = ctx;
    struct pp_answer a;
    enum pp_sent sent = p->run.id[0] ? PP_SENT : find_run(p, t), params = PP_SENT, page = PP_SENT;
    if (sent == PP_SENT && !p->has_params)
        params = log_params(p, t);
    if (sent == PP_SENT)
        sent = log_object(p, text, n, t);
    if (sent != PP_SENT || !t->last)
        return sent == PP_SENT && params != PP_SENT ? PP_SENT_PARTLY : sent;
    if (!p->has_page) {
        page = put_page(p, t);
        p->has_page = page != PP_SENT_AGAIN;
    }
    if (p->is_own && page != PP_SENT_AGAIN)
        sent = post(p, "mlflow/runs/update",
                    pp_mlflow_update_run(p->run.id, (long long)(pp_clock_of(CLOCK_REALTIME) / 1000000)), &a,
                    t);
    return sent == PP_SENT && page == PP_SENT && params == PP_SENT ? PP_SENT : PP_SENT_PARTLY;
}

/* ---- the sink ---- */

static void close_mlflow(void *self)
{
    struct mlflow *p = self;
    if (!p)
        return;
    pp_sender_stop(p->sending.sender);
    pp_client_close(p->client);
    free(p->bearer);
    free(p->url);
    free(p);
}

static pp_status set_up(struct mlflow *p, const struct pp_sink_opts *o, struct pp_err *err)
{
    const char *token = variable("MLFLOW_TRACKING_TOKEN");
    if (token && strpbrk(token, "\r\n"))
        return pp_fail(err, PP_E_USAGE, "MLFLOW_TRACKING_TOKEN has a line break in it");
    if (token && asprintf(&p->bearer, "Authorization: Bearer %s", token) < 0) {
        p->bearer = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    }
    p->fetch = o->fetch;
    p->ctx = o->ctx;
    pp_text_no_secrets(p->shown, sizeof(p->shown), p->url);
    snprintf(p->sending.unanswered, sizeof(p->sending.unanswered), "%s did not answer in time", p->shown);
    if (o->rank >= 0)
        snprintf(p->name, sizeof(p->name), "%s rank %ld", o->job, o->rank);
    else
        snprintf(p->name, sizeof(p->name), "%s", o->job);
    struct pp_client_opts co = {.authorities = variable("MLFLOW_TRACKING_SERVER_CERT_PATH"),
                                .user = token ? NULL : variable("MLFLOW_TRACKING_USERNAME"),
                                .password = token ? NULL : variable("MLFLOW_TRACKING_PASSWORD"),
                                .timeout_ms = timeout_ms(),
                                .stop = pp_sending_is_stopping,
                                .ctx = p};
    return pp_client_open(&co, &p->client, err);
}

static pp_status open_mlflow(const struct pp_sink_opts *o, void **self, struct pp_err *err)
{
    struct mlflow *p = calloc(1, sizeof(*p));
    pp_status st = p ? pp_mlflow_url(o->target, &p->url, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    if (st == PP_OK)
        st = set_up(p, o, err);
    if (st == PP_OK)
        st = pp_sender_start("pp-mlflow", send_text, p, &p->sending.sender, err);
    if (st == PP_OK)
        *self = p;
    else
        close_mlflow(p);
    return st;
}

static enum pp_sink_format format(void *self)
{
    return PP_SINK_MLFLOW_METRICS;
}

const struct pp_sink_kind pp_sink_mlflow = {
    .option = "mlflow",
    .is_remote = 1,
    .missing = pp_client_missing,
    .check = check,
    .open = open_mlflow,
    .format = format,
    .put = pp_sending_put,
    .finish = pp_sending_finish,
    .wait = pp_sending_wait,
    .count = pp_sending_count,
    .trouble = pp_sending_trouble,
    .close = close_mlflow,
};
