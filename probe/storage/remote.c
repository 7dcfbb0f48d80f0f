#include "probe/storage/remote.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/storage/request_log.h"
#include "probe/storage/url.h"

#include <pthread.h>

#include <xxhash.h>

#define KEPT_OBJECT ((uint64_t)64 << 20)
#define KEPT_ALL ((uint64_t)512 << 20)
#define BACKOFF_NS 100000000u
#define LOOK_NS 50000000u

enum { IGNORED_RANGES = 2 }; /* answers with the whole object, after which it is kept */

struct object {
    pthread_mutex_t lock; /* guards what follows */
    int known, ignored;
    uint64_t size; /* PP_SIZE_UNKNOWN: the server does not say */
    char etag[PP_HTTP_ETAG], modified[40];
    uint8_t *whole;           /* of a server that ignores ranges; set once */
    struct pp_remote *remote; /* whose budget whole is of */
    char *name;
};

const char *pp_remote_name(const struct pp_object *o)
{
    return ((const struct object *)o->state)->name;
}

pp_status pp_remote_begin(struct pp_remote *r, const struct pp_remote_kind *kind, void *state,
                          struct pp_err *err)
{
    r->kind = kind;
    r->state = state;
    return pp_http_open(&(struct pp_http_opts){.authorities = getenv("AWS_CA_BUNDLE")}, &r->http, err);
}

void pp_remote_end(struct pp_remote *r)
{
    pp_http_close(r->http);
    r->http = NULL;
}

char *pp_remote_join(const struct pp_object *dir, const char *name)
{
    char *whole = NULL;
    if (!dir)
        return strdup(name);
    const char *parent = pp_remote_name(dir);
    const char *slash = *parent && parent[strlen(parent) - 1] == '/' ? "" : "/";
    return asprintf(&whole, "%s%s%s", parent, slash, name) < 0 ? NULL : whole;
}

pp_status pp_remote_object(struct pp_object *out, const struct pp_object *dir, const char *name,
                           struct pp_err *err)
{
    struct object *o = calloc(1, sizeof(*o));
    if (!o || !(o->name = pp_remote_join(dir, name))) {
        free(o);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", name);
    }
    pthread_mutex_init(&o->lock, NULL);
    o->size = PP_SIZE_UNKNOWN;
    out->state = o;
    return PP_OK;
}

void pp_remote_close(struct pp_object *out)
{
    struct object *o = out->state;
    if (!o)
        return;
    if (o->whole)
        __atomic_sub_fetch(&o->remote->kept, o->size, __ATOMIC_RELAXED);
    free(o->whole);
    free(o->name);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* ---- one request, with its redirects ---- */

/* What is to be done, and with what; of one request. */
struct job {
    const struct pp_remote *remote;
    struct pp_remote_ask ask;
    struct pp_http_request request;
    const char *attempt, *part; /* for the sentence */
    void *kept; /* counters of the body function, kept_size bytes: 0 again before a further try */
    size_t kept_size;
    struct pp_request log; /* what it is for */
    struct pp_remote_call call;
    struct pp_http_answer answer;
    char moved[PP_HTTP_URL];
};

/* r: the read that it is for; or NULL. */
static struct job *new_job(const struct pp_remote *remote, const char *name, const char *attempt,
                           const struct pp_read *r, struct pp_err *err)
{
    struct job *j = calloc(1, sizeof(*j));
    if (!j) {
        pp_fail(err, PP_E_NO_MEMORY, "no memory to %s %s", attempt, name);
        return NULL;
    }
    j->remote = remote;
    j->ask.name = name;
    j->log = pp_request_for(r ? r->context : NULL);
    j->attempt = attempt;
    return j;
}

static pp_status fail_job(const struct job *j, pp_status st, const char *why, struct pp_err *err)
{
    char reason[sizeof(err->text)];
    snprintf(reason, sizeof(reason), "%s", why); /* it may stand in err */
    return pp_fail(err, st, "cannot %s %s%s%s: %s", j->attempt, j->part ? j->part : "", j->part ? " in " : "",
                   j->ask.name, reason);
}

static pp_status perform(struct job *j, struct pp_err *err)
{
    const struct pp_remote_kind *kind = j->remote->kind;
    const struct pp_http_answer *a = &j->answer;
    char match[PP_HTTP_ETAG + 16];
    int redirects = 0, learned = 0;
    j->ask.moved = NULL;
    for (;;) {
        memset(j->call.header, 0, sizeof(j->call.header));
        j->call.signer[0] = '\0';
        pp_status st = kind->prepare(j->remote->state, &j->ask, &j->call, err);
        if (st != PP_OK)
            return fail_job(j, st, err ? err->text : "", err);
        size_t n = 0;
        while (n < PP_HTTP_HEADERS && j->call.header[n])
            n++;
        memcpy(j->request.header, j->call.header, sizeof(j->call.header));
        if (j->ask.if_match && n < PP_HTTP_HEADERS) {
            snprintf(match, sizeof(match), "If-Match: %s", j->ask.if_match);
            j->request.header[n] = match;
        }
        j->request.url = j->call.url;
        j->request.netrc = j->call.netrc;
        st = pp_http_perform(j->remote->http, &j->request, &j->answer, err);
        pp_request_log_answer(j->log, a, j->ask.query ? NULL : j->ask.name);
        if (st != PP_OK)
            return fail_job(j, st, err ? err->text : "", err);
        int s = a->head.status;
        if (s >= 300 && kind->learn && learned < 3 && kind->learn(j->remote->state, &j->ask, &j->call, a)) {
            learned++;
            pp_count(&pp_request_counters, PP_REQUEST_COUNT_RETRIES, 1);
            continue;
        }
        if (!a->location[0] || (s != 301 && s != 302 && s != 303 && s != 307 && s != 308))
            return PP_OK;
        if (redirects++ == PP_REMOTE_REDIRECTS)
            return fail_job(j, PP_E_IO, "more than 5 redirects in a row", err);
        int to_tls = pp_url_has_scheme(a->location, "https"),
            to_plain = pp_url_has_scheme(a->location, "http");
        if (!to_tls && !to_plain)
            return fail_job(
                j, PP_E_ACCESS,
                "its server redirects to a URL that is neither http nor https, which is not followed", err);
        if (!to_tls && pp_url_has_scheme(j->call.url, "https"))
            return fail_job(j, PP_E_ACCESS, "its server redirects from https to http, which is not followed",
                            err);
        snprintf(j->moved, sizeof(j->moved), "%s", a->location);
        j->ask.moved = j->moved;
        pp_count(&pp_request_counters, PP_REQUEST_COUNT_RETRIES, 1);
    }
}

/* ---- what a status means ---- */

static const struct {
    int status;
    pp_status means;
    const char *why;
} meanings[] = {
    {400, PP_E_USAGE, "400 Bad Request"},
    {401, PP_E_ACCESS, "401 Unauthorized: the server wants credentials"},
    {403, PP_E_ACCESS, "403 Forbidden"},
    {404, PP_E_NOT_FOUND, "404 Not Found"},
    {407, PP_E_ACCESS, "407: " PP_HTTP_407},
    {408, PP_E_TRANSIENT, "408 Request Timeout"},
    {410, PP_E_NOT_FOUND, "410 Gone"},
    {412, PP_E_CORRUPT,
     "the object was changed while it was being read: its ETag is another one; start the run again"},
    {425, PP_E_TRANSIENT, "425 Too Early"},
    {429, PP_E_TRANSIENT, "429 Too Many Requests: the server asks to slow down"},
    {500, PP_E_TRANSIENT, "500 Internal Server Error"},
    {502, PP_E_TRANSIENT, "502 Bad Gateway"},
    {503, PP_E_TRANSIENT, "503 Slow Down: the server is busy"},
    {504, PP_E_TRANSIENT, "504 Gateway Timeout"},
};

/* For a sample once, else with retries. PP_OK for 2xx, and for 416, which is what lies beyond the end. */
static pp_status ask(struct job *j, struct pp_err *err)
{
    enum { MEANINGS = sizeof(meanings) / sizeof(*meanings) };
    const struct pp_http_head *h = &j->answer.head;
    uint64_t backoff = BACKOFF_NS;
    for (int try = 1;; try++, backoff *= 2) {
        pp_status st = perform(j, err);
        if (st == PP_E_TRANSIENT)
            pp_storage_note_retry_after(0);
        if (st == PP_OK && h->status / 100 != 2 && h->status != 416) {
            char why[400], more[300] = "";
            size_t i = 0;
            if (j->remote->kind->explain)
                j->remote->kind->explain(&j->call, &j->answer, more, sizeof(more));
            while (i < MEANINGS && meanings[i].status != h->status)
                i++;
            if (i < MEANINGS)
                snprintf(why, sizeof(why), "%s%s%s", meanings[i].why, more[0] ? ", " : "", more);
            else
                snprintf(why, sizeof(why), "the server answered with status %d%s%s", h->status,
                         more[0] ? ", " : "", more);
            st = i < MEANINGS ? meanings[i].means : h->status / 100 == 5 ? PP_E_TRANSIENT : PP_E_IO;
            if (i < MEANINGS && st == PP_E_TRANSIENT)
                pp_storage_note_retry_after(h->retry_after_s);
            st = fail_job(j, st, why, err);
        }
        if (st != PP_E_TRANSIENT || try == PP_REMOTE_TRIES || j->log.sample != UINT64_MAX)
            return st;
        uint64_t ends = pp_now_ns() + pp_storage_retry_wait_ns(backoff);
        for (uint64_t now; (now = pp_now_ns()) < ends && !pp_http_is_interrupted();)
            pp_sleep_until_ns(ends - now > LOOK_NS ? now + LOOK_NS : ends);
        if (pp_http_is_interrupted())
            return fail_job(j, PP_E_INTERRUPTED, "interrupted", err);
        pp_count(&pp_request_counters, PP_REQUEST_COUNT_RETRIES, 1);
        j->log.attempt++;
        if (j->kept)
            memset(j->kept, 0, j->kept_size);
    }
}

/* ---- whole bodies ---- */

static pp_status keep_body(void *ctx, const struct pp_http_head *head, const uint8_t *bytes, size_t size,
                           struct pp_err *err)
{
    struct pp_remote_body *b = ctx;
    if (size > b->limit - b->size)
        return pp_fail(err, PP_E_CORRUPT, "the answer is longer than %zu bytes", b->limit);
    if (!pp_grow(&b->bytes, &b->cap, b->size + size + 1, 1))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for an answer of %zu bytes", b->size + size);
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    b->bytes[b->size] = '\0';
    return PP_OK;
}

pp_status pp_remote_fetch(const struct pp_remote *r, const struct pp_remote_ask *what, const char *attempt,
                          struct pp_remote_body *body, struct pp_err *err)
{
    struct job *j = new_job(r, what->name, attempt, NULL, err);
    if (!j)
        return PP_E_NO_MEMORY;
    j->ask = *what;
    j->kept = &body->size;
    j->kept_size = sizeof(body->size);
    j->request.body = keep_body;
    j->request.ctx = body;
    pp_status st = ask(j, err);
    free(j);
    return st;
}

/* ---- what an object is ---- */

/* Caller holds the lock, or is alone. */
static pp_status learn(struct object *o, const struct job *j, struct pp_err *err)
{
    const struct pp_http_head *h = &j->answer.head;
    uint64_t total = h->has_range ? h->total : h->status == 200 ? h->length : PP_HTTP_UNKNOWN;
    if (o->known && ((o->etag[0] && h->etag[0] && strcmp(o->etag, h->etag) != 0) ||
                     (o->size != PP_SIZE_UNKNOWN && total != PP_HTTP_UNKNOWN && o->size != total)))
        return fail_job(
            j, PP_E_CORRUPT,
            "the object was changed while it was being read: its ETag or size is another one; start the run again",
            err);
    o->ignored += h->status == 200;
    if (o->known)
        return PP_OK;
    o->known = 1;
    o->size = total == PP_HTTP_UNKNOWN ? PP_SIZE_UNKNOWN : total;
    snprintf(o->etag, sizeof(o->etag), "%s", h->etag);
    snprintf(o->modified, sizeof(o->modified), "%s", h->modified);
    return PP_OK;
}

static pp_status stop_at_once(void *ctx, const struct pp_http_head *head, const uint8_t *bytes, size_t size,
                              struct pp_err *err)
{
    return head->status == 206 ? PP_OK : PP_END; /* one byte, or the whole object */
}

static int64_t version_of(const char *etag, const char *modified)
{
    const char *mark = *etag ? etag : modified;
    return *mark ? (int64_t)XXH3_64bits(mark, strlen(mark)) : 0;
}

/* Asks for one byte: the answer has size and ETag, and unlike that to HEAD, a reason where there is one. */
static pp_status make_known(const struct pp_object *out, const char *attempt, struct pp_place_info *info,
                            struct pp_err *err)
{
    struct object *o = out->state;
    pp_status st = PP_OK;
    pthread_mutex_lock(&o->lock);
    struct job *j = o->known ? NULL
                             : new_job((const struct pp_remote *)out->storage, o->name, attempt, NULL, err);
    if (j) {
        j->request.range = "0-0";
        j->request.body = stop_at_once;
        st = ask(j, err);
        if (st == PP_OK)
            st = learn(o, j, err);
        o->ignored = 0; /* not asked for bytes yet */
    } else if (!o->known) {
        st = PP_E_NO_MEMORY;
    }
    if (st == PP_OK)
        *info = (struct pp_place_info){.kind = PP_PLACE_OBJECT,
                                       .size = o->size,
                                       .version = version_of(o->etag, o->modified)};
    pthread_mutex_unlock(&o->lock);
    free(j);
    return st;
}

pp_status pp_remote_info(const struct pp_object *out, const char *name, struct pp_place_info *info,
                         struct pp_err *err)
{
    return make_known(out, "open", info, err);
}

pp_status pp_remote_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                         const char *attempt, struct pp_place_info *info, struct pp_err *err)
{
    struct pp_object o = {.storage = s};
    pp_status st = pp_remote_object(&o, dir, name, err);
    if (st == PP_OK)
        st = make_known(&o, attempt, info, err);
    pp_remote_close(&o);
    return st;
}

/* ---- ranges ---- */

struct range {
    const struct pp_read *read;
    uint64_t offset;
    size_t size;
    struct {
        size_t got;
        uint64_t passed; /* of an answer with the whole object */
    } kept;
};

static pp_status keep_range(void *ctx, const struct pp_http_head *h, const uint8_t *bytes, size_t size,
                            struct pp_err *err)
{
    struct range *w = ctx;
    if (h->status == 206) {
        if (!h->has_range)
            return pp_fail(err, PP_E_TRANSIENT, "the answer to a range does not say which bytes it holds");
        if (h->first != w->offset || h->last - h->first >= w->size ||
            (h->last - h->first + 1 != w->size && h->total != PP_HTTP_UNKNOWN && h->last + 1 != h->total))
            return pp_fail(err, PP_E_TRANSIENT,
                           "the answer holds bytes %llu to %llu, asked for were %llu to %llu",
                           (unsigned long long)h->first, (unsigned long long)h->last,
                           (unsigned long long)w->offset, (unsigned long long)(w->offset + w->size - 1));
    } else { /* the range is ignored: what lies before it passes by */
        uint64_t before = w->kept.passed < w->offset ? w->offset - w->kept.passed : 0;
        size_t skip = before < size ? (size_t)before : size;
        w->kept.passed += skip;
        bytes += skip;
        size -= skip;
    }
    size_t room = w->size - w->kept.got, take = size < room ? size : room;
    memcpy(w->read->buf + w->kept.got, bytes, take);
    w->kept.got += take;
    if (take == size && (h->status == 206 || w->kept.got < w->size))
        return PP_OK;
    return h->status == 206 ? pp_fail(err, PP_E_TRANSIENT, "the answer is longer than what was asked for")
                            : PP_END;
}

static pp_status read_range(const struct pp_object *out, struct pp_read *r, struct pp_err *err)
{
    struct object *o = out->state;
    char range[64], etag[PP_HTTP_ETAG];
    struct range w = {.read = r, .offset = r->offset, .size = r->size};
    struct job *j = new_job((const struct pp_remote *)out->storage, o->name, "read", r, err);
    if (!j)
        return PP_E_NO_MEMORY;
    pthread_mutex_lock(&o->lock);
    snprintf(etag, sizeof(etag), "%s", o->known ? o->etag : "");
    if (o->known && o->size != PP_SIZE_UNKNOWN && o->size - r->offset < r->size)
        w.size = (size_t)(o->size - r->offset);
    pthread_mutex_unlock(&o->lock);
    snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)w.offset,
             (unsigned long long)(w.offset + w.size - 1));
    j->part = r->part;
    j->log.flags = w.offset == 0 ? PP_REQUEST_BEGINS : 0;
    j->ask.if_match = etag[0] == '"' ? etag : NULL; /* weak ones may not be asked for */
    j->request = (struct pp_http_request){.range = range, .body = keep_range, .ctx = &w};
    j->kept = &w.kept;
    j->kept_size = sizeof(w.kept);
    pp_status st = ask(j, err);
    pthread_mutex_lock(&o->lock);
    if (st == PP_OK)
        st = learn(o, j, err);
    /* A body that says it is short by its header alone is complete to libcurl. */
    const struct pp_http_head *h = &j->answer.head;
    uint64_t left = o->size > w.offset ? o->size - w.offset : 0; /* where the size is known */
    uint64_t want = h->status == 416             ? 0
                    : o->size != PP_SIZE_UNKNOWN ? (left < w.size ? left : w.size)
                    : h->has_range               ? h->last - h->first + 1
                                                 : 0;
    if (st == PP_OK && w.kept.got < want)
        st = fail_job(j, PP_E_TRANSIENT, "the answer ended early", err);
    pthread_mutex_unlock(&o->lock);
    r->got = st == PP_OK ? w.kept.got : 0;
    r->data = r->buf;
    if (st == PP_E_TRANSIENT && h->retry_after_s == 0)
        pp_storage_note_retry_after(0);
    free(j);
    return st;
}

/* ---- servers that ignore ranges ---- */

/* The caller holds the lock. */
static pp_status keep_whole(struct pp_remote *remote, struct object *o, struct pp_err *err)
{
    struct pp_remote_body body = {.limit = KEPT_OBJECT};
    struct pp_remote_ask what = {.name = o->name, .if_match = o->etag[0] == '"' ? o->etag : NULL};
    int fits = o->size != PP_SIZE_UNKNOWN && o->size <= KEPT_OBJECT;
    if (fits && __atomic_add_fetch(&remote->kept, o->size, __ATOMIC_RELAXED) > KEPT_ALL) {
        __atomic_sub_fetch(&remote->kept, o->size, __ATOMIC_RELAXED);
        fits = 0;
    }
    if (!fits)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "cannot read %s: its server ignores ranges, and objects are kept in memory only up to 64 MiB and 512 MiB in "
            "all: use a server that answers ranges (nginx does), or copy the data to a local disk",
            o->name);
    pp_status st = pp_remote_fetch(remote, &what, "read", &body, err);
    if (st == PP_OK && body.size != o->size)
        st = pp_fail(err, PP_E_CORRUPT, "cannot read %s: it has %zu bytes instead of %llu", o->name,
                     body.size, (unsigned long long)o->size);
    if (st != PP_OK) {
        __atomic_sub_fetch(&remote->kept, o->size, __ATOMIC_RELAXED);
        free(body.bytes);
        return st;
    }
    o->whole = body.bytes;
    o->remote = remote;
    return PP_OK;
}

pp_status pp_remote_read_at(const struct pp_object *out, struct pp_read *r, struct pp_err *err)
{
    struct object *o = out->state;
    pp_status st = PP_OK;
    r->data = r->buf;
    pthread_mutex_lock(&o->lock);
    int beyond = r->size == 0 || (o->known && o->size != PP_SIZE_UNKNOWN && r->offset >= o->size);
    if (!beyond && !o->whole && o->ignored >= IGNORED_RANGES)
        st = keep_whole((struct pp_remote *)out->storage, o, err);
    int kept = o->whole != NULL;
    pthread_mutex_unlock(&o->lock);
    if (st != PP_OK || beyond)
        return st;
    if (!kept)
        return read_range(out, r, err);
    uint64_t left = o->size - r->offset;
    r->got = left < r->size ? (size_t)left : r->size;
    memcpy(r->buf, o->whole + r->offset, r->got);
    return PP_OK;
}

/* ---- whole objects ---- */

static pp_status keep_object(void *ctx, const struct pp_http_head *head, const uint8_t *bytes, size_t size,
                             struct pp_err *err)
{
    struct pp_read *r = ctx;
    uint64_t need = r->got + size;
    if (head->length != PP_HTTP_UNKNOWN && head->length > need)
        need = head->length;
    if (r->limit && need > r->limit)
        return pp_read_fail_limit(r, need, err);
    if (need > SIZE_MAX / 2)
        return pp_fail(err, PP_E_CORRUPT, "the answer is said to be longer than the memory of any machine");
    pp_status st = pp_read_reserve(r, (size_t)need, err);
    if (st != PP_OK)
        return st;
    memcpy(r->buf + r->got, bytes, size);
    r->got += size;
    return PP_OK;
}

pp_status pp_remote_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                               struct pp_err *err)
{
    char *whole = pp_remote_join(dir, r->name);
    struct job *j = whole ? new_job((const struct pp_remote *)s, whole, "read", r, err) : NULL;
    pp_status st = PP_E_NO_MEMORY;
    if (!j)
        goto out;
    j->request.body = keep_object;
    j->request.ctx = r;
    j->kept = &r->got;
    j->kept_size = sizeof(r->got);
    r->got = 0;
    st = ask(j, err);
    r->data = r->buf;
    if (st != PP_OK)
        r->got = 0;
    else
        r->version = version_of(j->answer.head.etag, j->answer.head.modified);
out:
    free(j);
    free(whole);
    return st;
}
