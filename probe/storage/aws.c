#include "probe/storage/aws.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/storage/request_log.h"
#include "probe/storage/s3_page.h"
#include "probe/storage/url.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <strings.h>

enum { FILE_MOST = 1 << 20, ANSWER_MOST = 1 << 16, EARLY_S = 300, APART_S = 60 };

enum source { NOWHERE, ANONYMOUS, ENVIRONMENT, PROFILE, IDENTITY, CONTAINER, INSTANCE };

struct pp_aws {
    struct pp_http *http;
    enum source source;
    struct pp_aws_place place;
    char profile[128], role[512], token_file[4096];
    pthread_mutex_t lock; /* guards what follows */
    struct pp_aws_keys keys;
    time_t ends, fetched; /* ends 0: they do not */
    int none;             /* no instance's metadata service answers here: requests are anonymous */
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int copy(char *to, size_t size, const char *from)
{
    return from && (size_t)snprintf(to, size, "%s", from) < size;
}

/* ---- files ---- */

/* NULL when it cannot be read, or is larger than such a file may be. The caller frees it. */
static char *read_small(const char *path, size_t *size)
{
    struct pp_io_file f = {.limit = FILE_MOST};
    char *text = pp_io_read_file(AT_FDCWD, path, &f, NULL) == PP_OK ? realloc(f.buf, f.size + 1) : NULL;
    if (!text) {
        free(f.buf);
        return NULL;
    }
    text[f.size] = '\0';
    *size = f.size;
    return text;
}

static char *read_aws_file(const char *asked, const char *name, size_t *size)
{
    char path[4096];
    const char *home = variable("HOME"), *own = variable(asked);
    if (own)
        return read_small(own, size);
    if (!home || snprintf(path, sizeof(path), "%s/.aws/%s", home, name) >= (int)sizeof(path))
        return NULL;
    return read_small(path, size);
}

static void take_keys(struct pp_aws *a, const char *text, size_t size)
{
    struct pp_aws_keys *k = &a->keys;
    if (pp_ini_get(text, size, a->profile, "aws_access_key_id", k->id, sizeof(k->id)) &&
        pp_ini_get(text, size, a->profile, "aws_secret_access_key", k->secret, sizeof(k->secret))) {
        pp_ini_get(text, size, a->profile, "aws_session_token", k->token, sizeof(k->token));
        a->source = PROFILE;
    } else {
        *k = (struct pp_aws_keys){0};
    }
}

/* keys_wanted 0: region and endpoint alone. */
static pp_status look_into_profile(struct pp_aws *a, int keys_wanted, struct pp_err *err)
{
    static const char *const kinds[] = {"role_arn", "sso_session", "sso_start_url", "credential_process"};
    size_t n = 0, m = 0;
    char *credentials = read_aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", &n), value[512];
    char *config = read_aws_file("AWS_CONFIG_FILE", "config", &m);
    pp_status st = PP_OK;
    if (config && !a->place.region[0])
        pp_ini_get(config, m, a->profile, "region", a->place.region, sizeof(a->place.region));
    if (config && !a->place.endpoint[0])
        pp_ini_get(config, m, a->profile, "endpoint_url", a->place.endpoint, sizeof(a->place.endpoint));
    if (keys_wanted && credentials)
        take_keys(a, credentials, n);
    if (keys_wanted && config && a->source == NOWHERE)
        take_keys(a, config, m);
    if (keys_wanted && a->source == NOWHERE) {
        for (size_t i = 0; config && st == PP_OK && i < sizeof(kinds) / sizeof(*kinds); i++)
            if (pp_ini_get(config, m, a->profile, kinds[i], value,
                           sizeof(value))) /* wants more than a file */
                st = pp_fail(
                    err, PP_E_UNSUPPORTED,
                    "the profile %s gets its credentials by %s, which pipeprobe does not do: run 'eval \"$(aws configure "
                    "export-credentials --profile %s --format env)\"' first",
                    a->profile, kinds[i], a->profile);
        if (st == PP_OK && variable("AWS_PROFILE") &&
            !(credentials && pp_ini_get(credentials, n, a->profile, NULL, NULL, 0)) &&
            !(config && pp_ini_get(config, m, a->profile, NULL, NULL, 0)))
            st = pp_fail(err, PP_E_USAGE,
                         "AWS_PROFILE is %s, which neither ~/.aws/credentials nor ~/.aws/config has",
                         a->profile);
    }
    if (credentials)
        explicit_bzero(credentials, n);
    free(credentials);
    free(config);
    return st;
}

/* ---- services that give credentials ---- */

static const char *const services[] = {[IDENTITY] = "AWS STS for the web identity",
                                       [CONTAINER] = "the container's endpoint",
                                       [INSTANCE] = "the instance's metadata service"};

struct body {
    char text[ANSWER_MOST];
    size_t size;
};

static pp_status take_body(void *ctx, const struct pp_http_head *head, const uint8_t *bytes, size_t size,
                           struct pp_err *err)
{
    struct body *b = ctx;
    if (size >= sizeof(b->text) - b->size)
        return pp_fail(err, PP_E_CORRUPT, "its answer is longer than %zu bytes", sizeof(b->text));
    memcpy(b->text + b->size, bytes, size);
    b->size += size;
    b->text[b->size] = '\0';
    return PP_OK;
}

static pp_status ask(struct pp_aws *a, struct pp_http_request *request, struct body *body, struct pp_err *err)
{
    const char *what = services[a->source];
    struct pp_err why = {0};
    struct pp_http_answer *answer = malloc(sizeof(*answer));
    if (!answer)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to ask %s", what);
    request->body = take_body;
    request->ctx = body;
    body->size = 0;
    body->text[0] = '\0';
    pp_status st = pp_http_perform(a->http, request, answer, &why);
    pp_request_log_answer(pp_request_for(NULL), answer, NULL);
    if (st != PP_OK)
        st = pp_fail(err, st, "no credentials from %s: %s", what, why.text);
    else if (answer->head.status != 200)
        st = pp_fail(err, answer->head.status / 100 == 5 ? PP_E_TRANSIENT : PP_E_ACCESS,
                     "no credentials from %s: it answered with status %d", what, answer->head.status);
    explicit_bzero(answer->text, answer->text_size);
    free(answer);
    return st;
}

time_t pp_aws_parse_time(const char *text)
{
    struct tm t = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    return end && (*end == 'Z' || *end == '.' || *end == '+') ? timegm(&t) : 0;
}

static int copy_string(const json_t *from, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(from, key));
    if (!text || strpbrk(text, "\r\n"))
        return 0;
    return copy(to, size, text);
}

int pp_aws_parse_json(const char *text, size_t size, struct pp_aws_keys *keys, time_t *ends)
{
    char end[64] = "";
    json_t *all = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    *keys = (struct pp_aws_keys){0};
    int ok = copy_string(all, "AccessKeyId", keys->id, sizeof(keys->id)) &&
             copy_string(all, "SecretAccessKey", keys->secret, sizeof(keys->secret));
    if (ok && json_object_get(all, "Token"))
        ok = copy_string(all, "Token", keys->token, sizeof(keys->token));
    copy_string(all, "Expiration", end, sizeof(end));
    *ends = pp_aws_parse_time(end);
    json_decref(all);
    if (!ok)
        *keys = (struct pp_aws_keys){0};
    return ok ? 0 : -1;
}

/* The endpoint may want a token as an Authorization header; one from a file may change. */
static pp_status fetch_container(struct pp_aws *a, struct body *body, struct pp_err *err)
{
    char url[1024], header[8192] = "";
    size_t n = 0;
    const char *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
               *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
               *token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    snprintf(url, sizeof(url), "%s%s", full ? "" : "http://169.254.170.2", full ? full : relative);
    if (!pp_url_has_scheme(url, "http") && !pp_url_has_scheme(url, "https"))
        return pp_fail(err, PP_E_USAGE, "AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL");
    char *text = file ? read_small(file, &n) : NULL;
    if (text)
        text[strcspn(text, "\r\n")] = '\0';
    token = text ? text : token;
    if (token && !strpbrk(token, "\r\n") && strlen(token) + 20 < sizeof(header))
        snprintf(header, sizeof(header), "Authorization: %s", token);
    free(text);
    struct pp_http_request r = {.url = url, .header = {header[0] ? header : NULL}, .local = 1};
    pp_status st = ask(a, &r, body, err);
    explicit_bzero(header, sizeof(header));
    if (st == PP_OK)
        pp_aws_parse_json(body->text, body->size, &a->keys, &a->ends);
    return st;
}

/* IMDSv2: a token by PUT, then the role's name, then its credentials. */
static pp_status fetch_instance(struct pp_aws *a, struct body *body, struct pp_err *err)
{
    char token[1024], role[256], url[512];
    const char *base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    base = base ? base : "http://169.254.169.254";
    snprintf(url, sizeof(url), "%s/latest/api/token", base);
    struct pp_http_request r = {.method = "PUT",
                                .url = url,
                                .header = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                                .local = 1};
    pp_status st = ask(a, &r, body, err);
    if (st != PP_OK)
        return st;
    snprintf(token, sizeof(token), "X-aws-ec2-metadata-token: %.*s", (int)strcspn(body->text, "\r\n"),
             body->text);
    snprintf(url, sizeof(url), "%s/latest/meta-data/iam/security-credentials/", base);
    r = (struct pp_http_request){.url = url, .header = {token}, .local = 1};
    st = ask(a, &r, body, err);
    if (st != PP_OK)
        return st;
    snprintf(role, sizeof(role), "%.*s", (int)strcspn(body->text, "\r\n"), body->text);
    size_t n = strlen(url);
    if (pp_uri_encode(role, PP_URI_VALUE, url + n, sizeof(url) - n) != 0)
        return pp_fail(err, PP_E_CORRUPT, "no credentials from %s: the role's name is too long",
                       services[INSTANCE]);
    st = ask(a, &r, body, err);
    if (st == PP_OK)
        pp_aws_parse_json(body->text, body->size, &a->keys, &a->ends);
    return st;
}

static pp_status fetch_identity(struct pp_aws *a, struct body *body, struct pp_err *err)
{
    size_t n = 0;
    char url[640], end[64], *form = NULL, *token = read_small(a->token_file, &n), *encoded = NULL;
    char role[1600];
    const char *name = variable("AWS_ROLE_SESSION_NAME"), *own = variable("AWS_ENDPOINT_URL_STS");
    struct pp_aws_keys *k = &a->keys;
    pp_status st = pp_fail(err, PP_E_ACCESS, "no credentials: AWS_WEB_IDENTITY_TOKEN_FILE cannot be read");
    if (!token)
        goto out;
    token[strcspn(token, "\r\n")] = '\0';
    encoded = malloc(3 * n + 4);
    if (!encoded || pp_uri_encode(token, PP_URI_VALUE, encoded, 3 * n + 4) != 0 ||
        pp_uri_encode(a->role, PP_URI_VALUE, role, sizeof(role)) != 0 ||
        asprintf(
            &form,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=%s&RoleSessionName=%s&WebIdentityToken=%s",
            role, name ? name : "pipeprobe", encoded) < 0) {
        form = NULL;
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to ask for credentials");
        goto out;
    }
    if (own)
        snprintf(url, sizeof(url), "%s", own);
    else
        snprintf(url, sizeof(url), "https://sts.%s.amazonaws.com/", a->place.region);
    struct pp_http_request r = {.url = url, .post = form, .post_size = strlen(form)};
    st = ask(a, &r, body, err);
    if (st != PP_OK)
        goto out;
    pp_xml_find(body->text, body->size, "AccessKeyId", k->id, sizeof(k->id));
    pp_xml_find(body->text, body->size, "SecretAccessKey", k->secret, sizeof(k->secret));
    pp_xml_find(body->text, body->size, "SessionToken", k->token, PP_XML_TEXT);
    pp_xml_find(body->text, body->size, "Expiration", end, sizeof(end));
    a->ends = pp_aws_parse_time(end);
out:
    if (form)
        explicit_bzero(form, strlen(form));
    free(form);
    free(encoded);
    free(token);
    return st;
}

/* ---- what is asked ---- */

pp_status pp_aws_open(struct pp_http *http, struct pp_aws **out, struct pp_err *err)
{
    const char *profile = variable("AWS_PROFILE"), *region = variable("AWS_REGION"),
               *endpoint = variable("AWS_ENDPOINT_URL_S3"), *unsigned_ = variable("AWS_NO_SIGN_REQUEST"),
               *disabled = variable("AWS_EC2_METADATA_DISABLED");
    struct pp_aws *a = calloc(1, sizeof(*a));
    *out = NULL;
    if (!a)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for credentials");
    a->http = http;
    pthread_mutex_init(&a->lock, NULL);
    a->source = NOWHERE;
    copy(a->profile, sizeof(a->profile), profile ? profile : "default");
    region = region ? region : variable("AWS_DEFAULT_REGION");
    endpoint = endpoint ? endpoint : variable("AWS_ENDPOINT_URL");
    copy(a->place.region, sizeof(a->place.region), region);
    copy(a->place.endpoint, sizeof(a->place.endpoint), endpoint);
    /* The source; what needs requests is asked when the first keys are wanted. */
    struct pp_aws_keys *k = &a->keys;
    if (unsigned_ && strcasecmp(unsigned_, "no") != 0 && strcasecmp(unsigned_, "false") != 0) {
        a->source = ANONYMOUS;
    } else if (copy(k->id, sizeof(k->id), variable("AWS_ACCESS_KEY_ID")) &&
               copy(k->secret, sizeof(k->secret), variable("AWS_SECRET_ACCESS_KEY"))) {
        copy(k->token, sizeof(k->token), variable("AWS_SESSION_TOKEN"));
        a->source = ENVIRONMENT;
    } else {
        *k = (struct pp_aws_keys){0};
    }
    if (a->source == NOWHERE && copy(a->role, sizeof(a->role), variable("AWS_ROLE_ARN")) &&
        copy(a->token_file, sizeof(a->token_file), variable("AWS_WEB_IDENTITY_TOKEN_FILE")))
        a->source = IDENTITY;
    pp_status st = look_into_profile(a, a->source == NOWHERE, err);
    if (st == PP_OK && a->source == NOWHERE &&
        (variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") ||
         variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")))
        a->source = CONTAINER;
    else if (st == PP_OK && a->source == NOWHERE && !(disabled && strcasecmp(disabled, "true") == 0))
        a->source = INSTANCE;
    if (!a->place.region[0])
        copy(a->place.region, sizeof(a->place.region), "us-east-1");
    size_t n = strlen(a->place.endpoint);
    while (n > 0 && a->place.endpoint[n - 1] == '/')
        a->place.endpoint[--n] = '\0';
    if (st == PP_OK && n > 0 && !pp_url_has_scheme(a->place.endpoint, "http") &&
        !pp_url_has_scheme(a->place.endpoint, "https"))
        st = pp_fail(err, PP_E_USAGE,
                     "the endpoint of AWS_ENDPOINT_URL is no URL: it begins with http:// or https://");
    if (st == PP_OK)
        st = pp_url_check(a->place.endpoint, err);
    if (st == PP_OK)
        *out = a;
    else
        pp_aws_close(a);
    return st;
}

void pp_aws_close(struct pp_aws *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    explicit_bzero(a, sizeof(*a));
    free(a);
}

const struct pp_aws_place *pp_aws_place(const struct pp_aws *a)
{
    return &a->place;
}

/* By source; NULL: its keys are there from the beginning, or there are none. */
static pp_status (*const fetch[])(struct pp_aws *, struct body *, struct pp_err *) = {
    [IDENTITY] = fetch_identity, [CONTAINER] = fetch_container, [INSTANCE] = fetch_instance};

pp_status pp_aws_keys(struct pp_aws *a, struct pp_aws_keys *keys, struct pp_err *err)
{
    pp_status st = PP_OK;
    pthread_mutex_lock(&a->lock);
    time_t now = time(NULL);
    /* those that last less than 5 minutes are not fetched for every request */
    int ending = a->ends && (now >= a->ends || (now > a->ends - EARLY_S && now - a->fetched > APART_S));
    if (fetch[a->source] && !a->none && (!a->keys.id[0] || ending)) {
        struct body *body = malloc(sizeof(*body));
        st = body ? fetch[a->source](a, body, err)
                  : pp_fail(err, PP_E_NO_MEMORY, "no memory to ask for credentials");
        if (st == PP_OK && (!a->keys.id[0] || !a->keys.secret[0]))
            st = pp_fail(err, PP_E_CORRUPT, "no credentials from %s: its answer holds none",
                         services[a->source]);
        if (st != PP_OK)
            a->keys = (struct pp_aws_keys){0};
        if (body)
            explicit_bzero(body, sizeof(*body));
        free(body);
        a->fetched = time(NULL);
    }
    if (st != PP_OK && a->source == INSTANCE) { /* most machines are none of EC2's */
        a->none = 1;
        st = PP_OK;
    }
    *keys = a->keys;
    pthread_mutex_unlock(&a->lock);
    return st;
}

int pp_aws_expire(struct pp_aws *a, const char *id)
{
    pthread_mutex_lock(&a->lock);
    int others = fetch[a->source] && !a->none;
    if (others && strcmp(a->keys.id, id) == 0)
        a->keys = (struct pp_aws_keys){0};
    pthread_mutex_unlock(&a->lock);
    return others;
}

struct piece {
    const char *at;
    size_t size;
};

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct piece trimmed(struct piece p)
{
    while (p.size && is_space(p.at[0])) {
        p.at++;
        p.size--;
    }
    while (p.size && is_space(p.at[p.size - 1]))
        p.size--;
    return p;
}

/* key NULL: the section alone. An indented line belongs to a value above it. */
static int find_value(struct piece text, const char *name, const char *key, struct piece *value)
{
    int inside = 0;
    while (text.size) {
        const char *end = memchr(text.at, '\n', text.size);
        struct piece raw = {text.at, end ? (size_t)(end - text.at) : text.size}, line = trimmed(raw);
        struct piece section = {line.at, 0}; /* of "[default]" and "[profile dev]" what is inside */
        const char *equals = memchr(raw.at, '=', raw.size);
        text.at += raw.size + (end != NULL);
        text.size -= raw.size + (end != NULL);
        if (!line.size || line.at[0] == '#' || line.at[0] == ';')
            continue;
        if (line.size >= 2 && line.at[0] == '[' && line.at[line.size - 1] == ']')
            section = trimmed((struct piece){line.at + 1, line.size - 2});
        if (section.size > 8 && memcmp(section.at, "profile", 7) == 0 && is_space(section.at[7]))
            section = trimmed((struct piece){section.at + 8, section.size - 8});
        if (section.size) {
            inside = section.size == strlen(name) && memcmp(section.at, name, section.size) == 0;
            if (inside && !key)
                return 1;
            continue;
        }
        if (!inside || !key || !equals || is_space(raw.at[0]))
            continue;
        struct piece word = trimmed((struct piece){raw.at, (size_t)(equals - raw.at)});
        if (word.size != strlen(key) || strncasecmp(word.at, key, word.size) != 0)
            continue;
        *value = trimmed((struct piece){equals + 1, raw.size - (size_t)(equals - raw.at) - 1});
        for (size_t i = 1; i < value->size; i++) /* a comment begins behind a space */
            if ((value->at[i] == '#' || value->at[i] == ';') && is_space(value->at[i - 1]))
                *value = trimmed((struct piece){value->at, i});
        return 1;
    }
    return 0;
}

int pp_ini_get(const char *text, size_t size, const char *name, const char *key, char *out, size_t out_size)
{
    struct piece value = {NULL, 0};
    int found = find_value((struct piece){text, size}, name, key, &value);
    if (!key || !found || !value.size || value.size >= out_size)
        return !key && found;
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.at[i] < ' ')
            return 0;
    memcpy(out, value.at, value.size);
    out[value.size] = '\0';
    return 1;
}
