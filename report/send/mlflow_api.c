#include "report/send/mlflow_api.h"

#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Of "mlflow-artifacts:/0/RUN/artifacts" and "mlflow-artifacts://HOST/0/RUN/artifacts" the path; anything
 * else is a store that the server does not give access to. */
static void take_artifacts(const json_t *v, char *out, size_t size)
{
    static const char scheme[] = "mlflow-artifacts:";
    const char *text = json_string_value(v);
    if (!text || strncmp(text, scheme, sizeof(scheme) - 1) != 0)
        return;
    text += sizeof(scheme) - 1;
    if (strncmp(text, "//", 2) == 0)
        text = strchr(text + 2, '/');
    while (text && *text == '/')
        text++;
    if (!text || !*text || strlen(text) >= size || strstr(text, ".."))
        return;
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_./", *c))
            return;
    snprintf(out, size, "%s", text);
}

int pp_mlflow_read_run(const char *body, size_t n, struct pp_mlflow_run *out)
{
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *info = json_object_get(json_object_get(root, "run"), "info");
    *out = (struct pp_mlflow_run){0};
    int found = take_id(json_object_get(info, "run_id"), out->id);
    take_artifacts(json_object_get(info, "artifact_uri"), out->artifacts, sizeof(out->artifacts));
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

struct body {
    struct pp_json json;
    FILE *out;
    char *text;
    size_t n;
};

static int begin(struct body *b)
{
    *b = (struct body){0};
    b->out = open_memstream(&b->text, &b->n);
    if (!b->out)
        return 0;
    pp_json_begin(&b->json, b->out, 0);
    pp_json_object(&b->json);
    return 1;
}

static char *end(struct body *b)
{
    pp_json_object_end(&b->json);
    int failed = pp_json_end(&b->json) != 0;
    if (fclose(b->out) == 0 && !failed)
        return b->text;
    free(b->text);
    return NULL;
}

static void put_text(struct body *b, const char *key, const char *value)
{
    pp_json_key(&b->json, key);
    pp_json_str(&b->json, value);
}

static void put_number(struct body *b, const char *key, long long value)
{
    pp_json_key(&b->json, key);
    pp_json_int(&b->json, value);
}

char *pp_mlflow_create_experiment(const char *name)
{
    struct body b;
    if (!begin(&b))
        return NULL;
    put_text(&b, "name", name);
    return end(&b);
}

char *pp_mlflow_create_run(const char *experiment, const char *name, long long started_ms)
{
    struct body b;
    if (!begin(&b))
        return NULL;
    put_text(&b, "experiment_id", experiment);
    put_text(&b, "run_name", name);
    put_number(&b, "start_time", started_ms);
    return end(&b);
}

char *pp_mlflow_update_run(const char *run, long long ended_ms)
{
    struct body b;
    if (!begin(&b))
        return NULL;
    put_text(&b, "run_id", run);
    put_text(&b, "status", "FINISHED");
    put_number(&b, "end_time", ended_ms);
    return end(&b);
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
