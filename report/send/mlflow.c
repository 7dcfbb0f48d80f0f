/* An MLflow tracking server: parameters once, metrics as they come, the report as an artifact at the end.
 * Into the run that MLFLOW_RUN_ID names, else into one of its own, which it ends. MLflow keeps every point of
 * a metric, so a text that is not taken leaves a gap. */
#include "report/send/mlflow.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"
#include "report/send/sender.h"

#include <ctype.h>
#include <jansson.h>

/* ---- answers ---- */

/* What goes into paths and bodies later. */
static int take_id(const json_t *v, char id[65])
{
    const char *text = json_string_value(v);
    size_t n = text ? json_string_length(v) : 0;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_", text[i]))
            return 0;
    if (!n || n > 64)
        return 0;
    memcpy(id, text, n + 1);
    return 1;
}

int pp_mlflow_read_run(const char *body, size_t n, struct pp_mlflow_run *out)
{
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *info = json_object_get(json_object_get(root, "run"), "info");
    *out = (struct pp_mlflow_run){0};
    int found = take_id(json_object_get(info, "run_id"), out->id);
    /* Of "mlflow-artifacts:/0/RUN/artifacts" and "mlflow-artifacts://HOST/0/RUN/artifacts" the path; anything
     * else is a store that the server does not give access to. */
    static const char scheme[] = "mlflow-artifacts:";
    const char *text = json_string_value(json_object_get(info, "artifact_uri")),
               *path = text && strncmp(text, scheme, sizeof(scheme) - 1) == 0 ? text + sizeof(scheme) - 1
                                                                              : NULL;
    if (path && strncmp(path, "//", 2) == 0)
        path = strchr(path + 2, '/');
    while (path && *path == '/')
        path++;
    int plain = path && *path && strlen(path) < sizeof(out->artifacts) && !strstr(path, "..");
    for (const char *c = path; plain && *c; c++)
        plain = isalnum((unsigned char)*c) || strchr("-_./", *c);
    if (plain)
        snprintf(out->artifacts, sizeof(out->artifacts), "%s", path);
    json_decref(root);
    return found;
}

int pp_mlflow_read_experiment(const char *body, size_t n, char id[65])
{
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *of = json_object_get(root, "experiment");
    int found = take_id(json_object_get(of ? of : root, "experiment_id"), id);
    json_decref(root);
    return found;
}

void pp_mlflow_read_refusal(const char *body, size_t n, char *words, size_t size)
{
    char cut[100] = "";
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(root, "message"));
    if (text)
        pp_utf8_copy(cut, sizeof(cut), text);
    char *plain = pp_text_plain(cut);
    snprintf(words, size, "%s", plain ? plain : "");
    free(plain);
    json_decref(root);
}

/* ---- bodies ---- */

struct member {
    const char *key, *text;
    long long number; /* where there is no text */
};

/* NULL: no memory. */
static char *object_of(const struct member *m)
{
    struct pp_json j;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    pp_json_begin(&j, out, 0);
    pp_json_object(&j);
    for (; m->key; m++)
        if (m->text)
            pp_json_put_str(&j, m->key, m->text);
        else
            pp_json_put_int(&j, m->key, m->number);
    pp_json_object_end(&j);
    int failed = pp_json_end(&j) != 0;
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

char *pp_mlflow_create_experiment(const char *name)
{
    return object_of((const struct member[]){{"name", name, 0}, {0}});
}

char *pp_mlflow_of_run(const char *run, const char *object, size_t n)
{
    char *body = NULL;
    if (!n || object[0] != '{' ||
        asprintf(&body, "{\"run_id\":\"%s\",%.*s", run, (int)(n - 1), object + 1) < 0)
        return NULL;
    return body;
}

/* ---- the server ---- */

pp_status pp_mlflow_url(const char *target, char **out, struct pp_err *err)
{
    char shown[200];
    const char *url = strcmp(target, "env") == 0 ? getenv("MLFLOW_TRACKING_URI") : target;
    *out = NULL;
    if (!url || !*url)
        return pp_fail(
            err, PP_E_USAGE,
            "MLflow as the environment says: MLFLOW_TRACKING_URI is not set; set it, or give a URL as "
            "http://localhost:5000");
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return pp_fail(
            err, PP_E_USAGE,
            "'%s' is no URL of an MLflow tracking server; write it as http://localhost:5000 (stores in "
            "files and databases are not written to)",
            pp_text_no_secrets(shown, sizeof(shown), url));
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    *out = strndup(url, n);
    return *out ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for a URL");
}

/* ---- the sink ---- */

enum { TIMEOUT_S = 10, TIMEOUT_MOST_S = 120, NAME = 3 * 1024 };

struct mlflow {
    struct pp_sending sending;
    char *bearer;
    char name[200];
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

static pp_status mlflow_url_of(void *self, const struct pp_sink_opts *o, struct pp_http_opts *http,
                               struct pp_err *err)
{
    struct mlflow *p = self;
    const char *token = variable("MLFLOW_TRACKING_TOKEN"), *timeout = variable("MLFLOW_HTTP_REQUEST_TIMEOUT");
    pp_status st = pp_mlflow_url(o->target, &p->sending.url, err);
    if (st != PP_OK)
        return st;
    if (token && strpbrk(token, "\r\n"))
        return pp_fail(err, PP_E_USAGE, "MLFLOW_TRACKING_TOKEN has a line break in it");
    if (token && asprintf(&p->bearer, "Authorization: Bearer %s", token) < 0) {
        p->bearer = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    }
    p->fetch = o->fetch;
    p->ctx = o->ctx;
    if (o->rank >= 0)
        snprintf(p->name, sizeof(p->name), "%s rank %ld", o->job, o->rank);
    else
        snprintf(p->name, sizeof(p->name), "%s", o->job);
    /* In seconds; a server whose database is slow takes longer than others here. */
    long s = timeout ? strtol(timeout, NULL, 10) : TIMEOUT_S;
    s = s <= 0 ? TIMEOUT_S : s < TIMEOUT_MOST_S ? s : TIMEOUT_MOST_S;
    *http = (struct pp_http_opts){.authorities = variable("MLFLOW_TRACKING_SERVER_CERT_PATH"),
                                  .user = token ? NULL : variable("MLFLOW_TRACKING_USERNAME"),
                                  .password = token ? NULL : variable("MLFLOW_TRACKING_PASSWORD"),
                                  .timeout_ms = 1000 * s};
    return PP_OK;
}

static void mlflow_forget(void *self)
{
    free(((struct mlflow *)self)->bearer);
}

/* ---- requests ---- */

static const struct pp_status_words refusals[] = {
    {401, 401,
     "it wants credentials; put them into MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and "
     "MLFLOW_TRACKING_PASSWORD"},
    {404, 404, "it has no such run, experiment or path"},
    {0},
};

static enum pp_sent no_memory(struct pp_client_answer *a, struct pp_try *t)
{
    *a = (struct pp_client_answer){0};
    snprintf(t->why, sizeof(t->why), "no memory for a request");
    return PP_SENT_NOT;
}

/* of, which may be NULL, stands escaped behind path. */
static enum pp_sent ask(struct mlflow *p, const char *path, const char *of, struct pp_client_request r,
                        struct pp_client_answer *a, struct pp_try *t)
{
    char *url = NULL, escaped[NAME], told[120] = "";
    if (pp_uri_encode(of ? of : "", PP_URI_VALUE, escaped, sizeof(escaped)) != 0 ||
        asprintf(&url, "%s/api/2.0/%s%s", p->sending.url, path, escaped) < 0)
        return no_memory(a, t);
    r.url = url;
    r.shown = p->sending.shown;
    if (!r.headers[0])
        r.headers[0] = "Content-Type: application/json";
    r.headers[1] = p->bearer;
    int taken = pp_client_send(p->sending.client, &r, refusals, a);
    free(url);
    if (taken)
        return PP_SENT;
    /* a server that is sent credentials could have them in its words */
    if (a->code && !p->bearer && !variable("MLFLOW_TRACKING_PASSWORD") && !strchr(p->sending.url, '@'))
        pp_mlflow_read_refusal(a->body, a->n, told, sizeof(told));
    if (*told)
        snprintf(t->why, sizeof(t->why), "%.370s (%s)", a->why, told);
    else
        snprintf(t->why, sizeof(t->why), "%s", a->why);
    t->retry_s = a->retry_s;
    return a->code == 0 || a->code == 429 || a->code >= 502 ? PP_SENT_AGAIN : PP_SENT_NOT;
}

/* body is freed. */
static enum pp_sent post(struct mlflow *p, const char *path, char *body, struct pp_client_answer *a,
                         struct pp_try *t)
{
    if (!body)
        return no_memory(a, t);
    enum pp_sent sent = ask(p, path, NULL,
                            (struct pp_client_request){.method = "POST", .body = body, .n = strlen(body)}, a,
                            t);
    free(body);
    return sent;
}

/* ---- the run ---- */

static enum pp_sent find_run(struct mlflow *p, struct pp_try *t)
{
    const char *given = variable("MLFLOW_RUN_ID"), *own = variable("MLFLOW_EXPERIMENT_ID"),
               *name = variable("MLFLOW_EXPERIMENT_NAME");
    static const struct pp_client_request get = {.method = "GET"};
    char experiment[65];
    struct pp_mlflow_run run;
    struct pp_client_answer a;
    p->is_own = !given;
    enum pp_sent sent = PP_SENT;
    int understood = 1;
    snprintf(experiment, sizeof(experiment), "%s", own ? own : "0");
    if (given) {
        sent = ask(p, "mlflow/runs/get?run_id=", given, get, &a, t);
    } else if (!own && name) {
        sent = ask(p, "mlflow/experiments/get-by-name?experiment_name=", name, get, &a, t);
        if (a.code == 404)
            sent = post(p, "mlflow/experiments/create", pp_mlflow_create_experiment(name), &a, t);
        understood = sent != PP_SENT || pp_mlflow_read_experiment(a.body, a.n, experiment);
    }
    if (!given && sent == PP_SENT && understood) {
        const struct member run_of[] = {{"experiment_id", experiment, 0},
                                        {"run_name", p->name, 0},
                                        {"start_time", NULL,
                                         (long long)(pp_clock_of(CLOCK_REALTIME) / 1000000)},
                                        {0}};
        sent = post(p, "mlflow/runs/create", object_of(run_of), &a, t);
    }
    if (sent == PP_SENT && understood)
        understood = pp_mlflow_read_run(a.body, a.n, &run);
    if (!understood) {
        snprintf(t->why, sizeof(t->why), "%s does not answer as MLflow does", p->sending.shown);
        return PP_SENT_NOT;
    }
    if (sent == PP_SENT)
        p->run = run;
    return sent;
}

/* ---- what is logged ---- */

static enum pp_sent mlflow_send(void *self, const char *text, size_t n, struct pp_try *t)
{
    struct mlflow *p = self;
    struct pp_client_answer a;
    enum pp_sent sent = p->run.id[0] ? PP_SENT : find_run(p, t), params = PP_SENT, page = PP_SENT;
    if (sent == PP_SENT && !p->has_params) {
        /* Parameters cannot be changed: one that the run has with another value is refused, for ever. */
        size_t size = 0;
        char *object = p->fetch(p->ctx, PP_SINK_MLFLOW_PARAMS, &size);
        if (object)
            params = post(p, "mlflow/runs/log-batch", pp_mlflow_of_run(p->run.id, object, size), &a, t);
        p->has_params = params != PP_SENT_AGAIN;
        free(object);
    }
    if (sent == PP_SENT)
        sent = post(p, "mlflow/runs/log-batch", pp_mlflow_of_run(p->run.id, text, n), &a, t);
    if (sent != PP_SENT || !t->last)
        return sent == PP_SENT && params != PP_SENT ? PP_SENT_PARTLY : sent;
    if (!p->has_page) {
        char path[400];
        size_t size = 0;
        char *html = p->run.artifacts[0] ? p->fetch(p->ctx, PP_SINK_PAGE, &size) : NULL;
        struct pp_client_request put = {.method = "PUT",
                                        .headers = {"Content-Type: text/html; charset=utf-8"},
                                        .body = html,
                                        .n = size};
        page = PP_SENT_NOT;
        snprintf(path, sizeof(path), "mlflow-artifacts/artifacts/%s/pipeprobe/report.html", p->run.artifacts);
        if (html)
            page = ask(p, path, NULL, put, &a, t);
        else if (p->run.artifacts[0])
            snprintf(t->why, sizeof(t->why), "the recording has no report to attach");
        else
            snprintf(
                t->why, sizeof(t->why),
                "%s keeps artifacts where only a client can write (not mlflow-artifacts:); attach the page of "
                "'pipeprobe report FILE --format html' yourself",
                p->sending.shown);
        free(html);
        p->has_page = page != PP_SENT_AGAIN;
    }
    if (p->is_own && page != PP_SENT_AGAIN) {
        const struct member end[] = {{"run_id", p->run.id, 0},
                                     {"status", "FINISHED", 0},
                                     {"end_time", NULL, (long long)(pp_clock_of(CLOCK_REALTIME) / 1000000)},
                                     {0}};
        sent = post(p, "mlflow/runs/update", object_of(end), &a, t);
    }
    return sent == PP_SENT && page == PP_SENT && params == PP_SENT ? PP_SENT : PP_SENT_PARTLY;
}

static const struct pp_sending_kind mlflow = {
    .thread = "pp-mlflow",
    .size = sizeof(struct mlflow),
    .url_of = mlflow_url_of,
    .send = mlflow_send,
    .forget = mlflow_forget,
};

const struct pp_sink_kind pp_sink_mlflow = {
    .option = "mlflow",
    .takes = PP_SINK_MLFLOW_METRICS,
    .sending = &mlflow,
    PP_SENDING_HOOKS,
};
