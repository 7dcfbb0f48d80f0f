/* s3://BUCKET/KEY of AWS or of any store that speaks its protocol: signed requests (sigv4.c), listings by
 * prefix, in pages, and the region that a bucket turns out to be in. */
#include "probe/base/err.h"
#include "probe/storage/aws.h"
#include "probe/storage/remote.h"
#include "probe/storage/s3_page.h"
#include "probe/storage/url.h"

#include <fnmatch.h>
#include <pthread.h>
#include <strings.h>

extern const struct pp_storage_ops pp_storage_s3; /* at the end */

enum { BUCKETS = 16, PAGE_BYTES = 16 << 20, EMPTY_PAGES = 100, PAGE_COSTS = 4096 };
#define LISTED_MOST (UINT64_C(1) << 30) /* of names, by all listings: ImageNet-21k has 0.6 of it */

struct s3 {
    struct pp_remote remote;
    struct pp_aws *aws;
    uint64_t listed;      /* names that servers told, and the pages they came in; atomic */
    pthread_mutex_t lock; /* guards what follows */
    size_t n;
    struct {
        char bucket[PP_S3_BUCKET], region[40];
    } found[BUCKETS]; /* regions that servers told */
};

/* ---- regions ---- */

static void region_of(struct s3 *s, const char *bucket, char out[64])
{
    snprintf(out, 64, "%s", pp_aws_place(s->aws)->region);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->found[i].bucket, bucket) == 0)
            snprintf(out, 64, "%s", s->found[i].region);
    pthread_mutex_unlock(&s->lock);
}

/* ---- requests ---- */

/* The parts of a URL of ours, each terminated. */
struct parts {
    char scheme[8], host[512], path[4 * PP_S3_KEY], query[PP_HTTP_URL / 2];
};

static int copy_part(char *to, size_t size, const char *from, size_t n)
{
    return (size_t)snprintf(to, size, "%.*s", (int)n, from) < size ? 0 : -1;
}

static int split_url(const char *url, struct parts *out)
{
    struct pp_url u;
    if (pp_url_split(url, &u) != 0)
        return -1;
    return copy_part(out->scheme, sizeof(out->scheme), url, strcspn(url, ":")) == 0 &&
                   copy_part(out->host, sizeof(out->host), u.host, u.host_size) == 0 &&
                   copy_part(out->path, sizeof(out->path), u.path, u.path_size) == 0 &&
                   copy_part(out->query, sizeof(out->query), u.query, u.query_size) == 0
               ? 0
               : -1;
}

/* Appends "NAME: value" to the call's text; its value is what is signed. */
static const char *add_header(struct pp_remote_call *call, size_t *used, const char *name, const char *value)
{
    size_t n = 0, room = sizeof(call->text) - *used;
    while (call->header[n])
        n++;
    char *at = call->text + *used;
    int size = snprintf(at, room, "%s: %s", name, value);
    if (size < 0 || (size_t)size >= room || n + 1 >= PP_HTTP_HEADERS)
        return NULL;
    call->header[n] = at;
    *used += (size_t)size + 1;
    return at + strlen(name) + 2;
}

static int sign(const struct parts *at, const struct pp_aws_keys *keys, const char *region,
                struct pp_remote_call *call)
{
    char date[PP_SIGV4_DATE], authorization[1024];
    size_t used = 0;
    pp_sigv4_date(time(NULL), date);
    const char *hash = add_header(call, &used, "x-amz-content-sha256", PP_SIGV4_EMPTY);
    const char *when = add_header(call, &used, "x-amz-date", date);
    const char *token = keys->token[0] ? add_header(call, &used, "x-amz-security-token", keys->token) : NULL;
    if (!hash || !when || (keys->token[0] && !token))
        return -1;
    const struct pp_sigv4_header headers[] = {{"host", at->host},
                                              {"x-amz-content-sha256", hash},
                                              {"x-amz-date", when},
                                              {"x-amz-security-token", token}};
    const struct pp_sigv4 s = {.method = "GET",
                               .path = at->path,
                               .query = at->query,
                               .header = headers,
                               .headers = token ? 4 : 3,
                               .payload = PP_SIGV4_EMPTY,
                               .date = date,
                               .region = region,
                               .service = "s3"};
    if (pp_sigv4_sign(&s, keys, authorization, sizeof(authorization)) != 0)
        return -1;
    snprintf(call->signer, sizeof(call->signer), "%s", keys->id);
    return add_header(call, &used, "Authorization", authorization) ? 0 : -1;
}

static pp_status s3_prepare(void *state, const struct pp_remote_ask *ask, struct pp_remote_call *call,
                            struct pp_err *err)
{
    struct s3 *s = state;
    struct pp_s3_name name;
    struct pp_aws_keys keys;
    struct parts at;
    char region[64];
    if (pp_s3_parse_name(ask->name, &name) != 0)
        return pp_fail(err, PP_E_USAGE, "it is not a name such as s3://BUCKET/KEY");
    if (ask->query)
        name.key[0] = '\0'; /* a listing is asked of the bucket */
    region_of(s, name.bucket, region);
    /* An endpoint and a bucket with dots, which no certificate of AWS is for, have the bucket in the path. */
    const char *endpoint = pp_aws_place(s->aws)->endpoint;
    int in_path = *endpoint || strchr(name.bucket, '.') != NULL;
    char base[512];
    if (*endpoint)
        snprintf(base, sizeof(base), "%s", endpoint);
    else
        snprintf(base, sizeof(base), "https://%s%ss3.%s.amazonaws.com", in_path ? "" : name.bucket,
                 in_path ? "" : ".", region);
    int r = split_url(ask->moved ? ask->moved : base, &at);
    if (r == 0 && !ask->moved) {
        size_t n = strcmp(at.path, "/") == 0 ? 0 : strlen(at.path); /* an endpoint may lie below a path */
        n += (size_t)snprintf(at.path + n, sizeof(at.path) - n, "%s%s%s", in_path ? "/" : "",
                              in_path ? name.bucket : "", name.key[0] || !in_path ? "/" : "");
        r = n < sizeof(at.path) ? pp_uri_encode(name.key, PP_URI_PATH, at.path + n, sizeof(at.path) - n) : -1;
    }
    if (r == 0 && ask->query && !ask->moved)
        r = copy_part(at.query, sizeof(at.query), ask->query, strlen(ask->query));
    if (r != 0 || (size_t)snprintf(call->url, sizeof(call->url), "%s://%s%s%s%s", at.scheme, at.host, at.path,
                                   at.query[0] ? "?" : "", at.query) >= sizeof(call->url))
        return pp_fail(err, PP_E_USAGE, "its name is too long for a URL");
    if (ask->moved) { /* a redirect is signed when it leads where the keys are known anyway */
        struct parts own;
        int ours = *endpoint ? split_url(endpoint, &own) == 0 && strcasecmp(own.host, at.host) == 0
                             : pp_s3_is_own_host(at.host);
        if (!ours)
            return PP_OK;
    }
    pp_status st = pp_aws_keys(s->aws, &keys, err);
    if (st == PP_OK && keys.id[0] && sign(&at, &keys, region, call) != 0)
        st = pp_fail(err, PP_E_USAGE, "the credentials or the region are too long to sign with");
    explicit_bzero(&keys, sizeof(keys));
    return st;
}

/* 1: what was learnt was not known so. */
static int s3_learn(void *state, const struct pp_remote_ask *ask, const struct pp_remote_call *call,
                    const struct pp_http_answer *a)
{
    static const struct {
        const char *code;
        int ended; /* the credentials have; else the bucket is elsewhere */
    } codes[] = {{"ExpiredToken", 1},         {"ExpiredTokenException", 1},
                 {"TokenRefreshRequired", 1}, {"AuthorizationHeaderMalformed", 0},
                 {"PermanentRedirect", 0},    {"IllegalLocationConstraintException", 0}};
    enum { CODES = sizeof(codes) / sizeof(*codes) };
    struct s3 *s = state;
    struct pp_s3_name name;
    char code[64], region[40], known[64];
    size_t i = 0, k = 0;
    pp_xml_find(a->text, a->text_size, "Code", code, sizeof(code));
    while (i < CODES && strcmp(codes[i].code, code) != 0)
        i++;
    if (i < CODES && codes[i].ended)
        return call->signer[0] && pp_aws_expire(s->aws, call->signer);
    if (i == CODES && a->head.status != 301)
        return 0;
    snprintf(region, sizeof(region), "%s", a->head.region);
    if (!region[0])
        pp_xml_find(a->text, a->text_size, "Region", region, sizeof(region));
    if (region[strspn(region,
                      "abcdefghijklmnopqrstuvwxyz0123456789-")]) /* it becomes a part of a host's name */
        return 0;
    if (pp_s3_parse_name(ask->name, &name) != 0)
        return 0;
    region_of(s, name.bucket, known);
    if (!*region || strcmp(known, region) == 0)
        return 0;
    pthread_mutex_lock(&s->lock);
    while (k < s->n && strcmp(s->found[k].bucket, name.bucket) != 0)
        k++;
    int room = k < BUCKETS;
    if (room) {
        snprintf(s->found[k].bucket, sizeof(s->found[k].bucket), "%s", name.bucket);
        snprintf(s->found[k].region, sizeof(s->found[k].region), "%s", region);
        s->n = k == s->n ? k + 1 : s->n;
    }
    pthread_mutex_unlock(&s->lock);
    return room;
}

static void s3_explain(const struct pp_remote_call *call, const struct pp_http_answer *a, char *out,
                       size_t size)
{
    char code[64], message[160];
    pp_xml_find(a->text, a->text_size, "Code", code, sizeof(code));
    pp_xml_find(a->text, a->text_size, "Message", message, sizeof(message));
    int denied = a->head.status == 403 || a->head.status == 401;
    snprintf(out, size, "%s%s%s%s", code, message[0] ? ": " : "", message,
             denied && !call->signer[0]
                 ? "; no credentials were found (AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws), so that the "
                   "request was anonymous"
                 : "");
    for (char *c = out; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

static const struct pp_remote_kind s3_kind = {.prepare = s3_prepare,
                                              .learn = s3_learn,
                                              .explain = s3_explain};

/* ---- attaching ---- */

static void s3_detach(struct pp_storage *storage)
{
    struct s3 *s = (struct s3 *)storage;
    pp_aws_close(s->aws);
    pp_remote_end(&s->remote);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static pp_status s3_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    struct pp_err why = {0};
    struct s3 *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place);
    s->remote.base = (struct pp_storage){.ops = &pp_storage_s3,
                                         .flags = PP_STORAGE_LISTS,
                                         .request_bytes = PP_REQUEST_BYTES};
    pthread_mutex_init(&s->lock, NULL);
    pp_status st = pp_remote_begin(&s->remote, &s3_kind, s, &why);
    if (st == PP_OK)
        st = pp_aws_open(s->remote.http, &s->aws, &why);
    if (st != PP_OK) {
        pp_fail(err, st, "cannot open %s: %s", place, why.text);
        s3_detach(&s->remote.base);
        return st;
    }
    s->remote.base.scope = pp_aws_place(s->aws)->endpoint;
    *out = &s->remote.base;
    return PP_OK;
}

/* ---- listing ---- */

struct listing {
    const struct pp_remote *remote;
    const char *name;   /* that was asked for, for sentences */
    const char *prefix; /* of keys */
    int deep;           /* all below it, and not only what lies directly there */
    unsigned most;      /* keys of a page */
};

/* Page after page; one is in memory at a time. */
static pp_status list_all(const struct listing *l, pp_entry_fn *each, void *ctx, struct pp_err *err)
{
    pp_status st;
    int empty = 0;
    char before[PP_S3_TOKEN] = "";
    struct pp_s3_page *page = calloc(1, sizeof(*page));
    if (!page)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to list %s", l->name);
    page->prefix = l->prefix;
    page->each = each;
    page->ctx = ctx;
    do {
        memcpy(before, page->token, sizeof(before));
        char query[PP_HTTP_URL / 2], token[3 * PP_S3_TOKEN], prefix[3 * PP_S3_KEY];
        struct pp_remote_body body = {.limit = PAGE_BYTES};
        struct pp_remote_ask ask = {.name = l->name, .query = query};
        int n = -1;
        if (pp_uri_encode(page->token, PP_URI_VALUE, token, sizeof(token)) == 0 &&
            pp_uri_encode(l->prefix, PP_URI_VALUE, prefix, sizeof(prefix)) == 0)
            n = snprintf(query, sizeof(query), "%s%s%s%sencoding-type=url&list-type=2&max-keys=%u&prefix=%s",
                         *token ? "continuation-token=" : "", token, *token ? "&" : "",
                         l->deep ? "" : "delimiter=%2F&", l->most, prefix);
        if (n < 0 || (size_t)n >= sizeof(query)) {
            st = pp_fail(err, PP_E_USAGE, "cannot list %s: its name is too long", l->name);
        } else {
            st = pp_remote_fetch(l->remote, &ask, "list", &body, err);
            if (st == PP_OK)
                st = pp_s3_page_parse(page, (const char *)body.bytes, body.size, l->name, err);
            free(body.bytes);
        }
        empty = page->entries ? 0 : empty + 1;
        if (st == PP_OK && page->more && (strcmp(before, page->token) == 0 || empty == EMPTY_PAGES))
            st = pp_fail(err, PP_E_CORRUPT, "cannot list %s: the server's listing does not get on", l->name);
        uint64_t *listed = &((struct s3 *)l->remote)->listed, cost = PAGE_COSTS + page->names;
        if (__atomic_add_fetch(listed, cost, __ATOMIC_RELAXED) > LISTED_MOST && st == PP_OK)
            st = pp_fail(err, PP_E_UNSUPPORTED,
                         "cannot list %s: the listings hold more than 1 GiB of names; name a smaller prefix",
                         l->name);
    } while (st == PP_OK && page->more);
    free(page);
    return st;
}

static pp_status stop_at_first(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    *(int *)ctx = 1;
    return PP_END;
}

static pp_status directory_prefix(const char *name, char prefix[PP_S3_KEY + 1], const char *attempt,
                                  struct pp_err *err)
{
    struct pp_s3_name n;
    if (pp_s3_parse_name(name, &n) != 0)
        return pp_fail(err, PP_E_USAGE, "cannot %s %s: it is not a name such as s3://BUCKET/PREFIX", attempt,
                       name);
    size_t size = strlen(n.key);
    snprintf(prefix, PP_S3_KEY + 1, "%s%s", n.key, size && n.key[size - 1] != '/' ? "/" : "");
    return PP_OK;
}

static pp_status stat_directory(const struct pp_storage *storage, const char *name, const char *attempt,
                                struct pp_place_info *out, struct pp_err *err)
{
    char prefix[PP_S3_KEY + 1];
    const struct listing below = {.remote = (const struct pp_remote *)storage,
                                  .name = name,
                                  .prefix = prefix,
                                  .most = 2};
    int any = 0;
    pp_status st = directory_prefix(name, prefix, attempt, err);
    if (st == PP_OK)
        st = list_all(&below, stop_at_first, &any, err);
    if (st != PP_OK && st != PP_END)
        return st;
    if (!any && *prefix)
        return pp_fail(err, PP_E_NOT_FOUND, "cannot %s %s: no object has a name that begins so", attempt,
                       name);
    *out = (struct pp_place_info){.kind = PP_PLACE_DIRECTORY};
    return PP_OK;
}

/* Braces and patterns are for shard_names.c: no server has to be asked about them. A name that is no object's
 * may be that of a directory. */
static pp_status s3_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                         const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    struct pp_err why = {0};
    struct pp_s3_name n;
    char *whole = pp_remote_join(dir, name);
    pp_status st;
    if (!whole) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to %s %s", attempt, name);
    } else if (strpbrk(whole, "{}*?[")) {
        st = pp_fail(err, PP_E_NOT_FOUND, "cannot %s %s: no object is called so", attempt, whole);
    } else if (pp_s3_parse_name(whole, &n) != 0 || !n.key[0] || whole[strlen(whole) - 1] == '/') {
        st = stat_directory(s, whole, attempt, out, err);
    } else if ((st = pp_remote_stat(s, NULL, whole, attempt, out, err)) == PP_E_NOT_FOUND) {
        pp_status below = stat_directory(s, whole, attempt, out, &why);
        if (below == PP_OK)
            pp_err_clear(err);
        else if (below != PP_E_NOT_FOUND)
            pp_fail(err, below, "%s", why.text);
        st = below;
    }
    free(whole);
    return st;
}

/* A directory is a prefix, about which nothing is asked before it is listed. */
static pp_status s3_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                         struct pp_err *err)
{
    out->handle = (o->how & PP_OPEN_DIRECTORY) != 0;
    return pp_remote_object(out, o->dir, o->name, err);
}

static pp_status s3_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                         struct pp_err *err)
{
    if (!o->handle)
        return pp_remote_info(o, name, out, err);
    *out = (struct pp_place_info){.kind = PP_PLACE_DIRECTORY};
    return PP_OK;
}

static pp_status s3_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                         struct pp_err *err)
{
    char prefix[PP_S3_KEY + 1];
    const struct listing l = {.remote = (const struct pp_remote *)dir->storage,
                              .name = pp_remote_name(dir),
                              .prefix = prefix,
                              .most = 1000};
    pp_status st = directory_prefix(l.name, prefix, "list", err);
    return st == PP_OK ? list_all(&l, each, ctx, err) : st;
}

/* ---- patterns ---- */

struct matching {
    const char *pattern; /* of whole names */
    const char *lead;    /* that an entry's name lacks: "s3://BUCKET/" and the prefix */
    pp_entry_fn *each;
    void *ctx;
    size_t found;
};

static pp_status match_entry(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    struct matching *m = ctx;
    char whole[PP_S3_BUCKET + 2 * PP_S3_KEY + 8];
    if (e->kind == PP_ENTRY_DIRECTORY)
        return PP_OK;
    snprintf(whole, sizeof(whole), "%s%s", m->lead, e->name);
    if (fnmatch(m->pattern, whole, FNM_PATHNAME | FNM_NOESCAPE) != 0)
        return PP_OK;
    m->found++;
    return m->each(m->ctx, &(struct pp_entry){.name = whole, .kind = PP_ENTRY_OBJECT}, err);
}

static pp_status s3_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                          struct pp_err *err)
{
    struct pp_s3_name n;
    char lead[PP_S3_BUCKET + PP_S3_KEY + 8];
    if (pp_s3_parse_name(pattern, &n) != 0)
        return pp_fail(err, PP_E_USAGE, "cannot list %s: it is not a name such as s3://BUCKET/KEY", pattern);
    size_t literal = strcspn(n.key, "*?[");
    const char *slash = strrchr(n.key, '/');
    int deep = slash && (size_t)(slash - n.key) > literal; /* a directory's name is a pattern too */
    n.key[literal] = '\0';
    snprintf(lead, sizeof(lead), "s3://%s/%s", n.bucket, n.key);
    struct matching m = {.pattern = pattern, .lead = lead, .each = each, .ctx = ctx};
    const struct listing l = {
        .remote = (const struct pp_remote *)s, .name = lead, .prefix = n.key, .deep = deep, .most = 1000};
    pp_status st = list_all(&l, match_entry, &m, err);
    if (st == PP_OK && !m.found)
        st = pp_fail(err, PP_E_NOT_FOUND, "no object matches %s", pattern);
    return st;
}

const struct pp_storage_ops pp_storage_s3 = {
    .name = "s3",
    .help = "buckets: s3://BUCKET/PREFIX/",
    .schemes = {"s3"},
    .attach = s3_attach,
    .detach = s3_detach,
    .stat = s3_stat,
    .open = s3_open,
    .close = pp_remote_close,
    .info = s3_info,
    .read_at = pp_remote_read_at,
    .read_whole = pp_remote_read_whole,
    .list = s3_list,
    .match = s3_match,
};
