#include "report/send/sender.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/base/text.h"

#define PAUSE_MOST_S 60l

const struct pp_sink_kind *const pp_sink_kinds[] = {&pp_sink_http, &pp_sink_textfile,    &pp_sink_push,
                                                    &pp_sink_otlp, &pp_sink_tensorboard, &pp_sink_mlflow,
                                                    NULL};

struct text {
    char *bytes; /* NULL: none */
    size_t n;
};

struct pp_sender {
    struct pp_sending *of;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    /* under lock */
    struct text next; /* to be sent; a newer one takes its place */
    int sending, hurry, last,
        stop;     /* hurry: next is sent without waiting out a pause; last: no other comes */
    int too_slow; /* a text was replaced */
    struct pp_sink_count count;
    char trouble[500];
    /* the thread's alone */
    unsigned failures;
    uint64_t pause_until_ns;
};

/* ---- the thread ---- */

static void *sender_main(void *arg)
{
    struct pp_sender *s = arg;
    pthread_setname_np(pthread_self(), s->of->kind->thread);
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!s->next.bytes || (!s->hurry && pp_now_ns() < s->pause_until_ns)) {
            pp_cond_wait_until(&s->wake, &s->lock, s->next.bytes ? s->pause_until_ns : UINT64_MAX);
            continue;
        }
        struct text text = s->next;
        struct pp_try t = {.last = s->last};
        s->next = (struct text){0};
        s->hurry = 0;
        s->sending = 1;
        pthread_mutex_unlock(&s->lock);
        enum pp_sent sent = s->of->kind->send(s->of, text.bytes, text.n, &t);
        pthread_mutex_lock(&s->lock);
        if (sent == PP_SENT_AGAIN && !s->next.bytes && !s->stop) {
            s->next = text;
            text.bytes = NULL;
        } else {
            s->count.lost += sent != PP_SENT;
            s->count.sent += sent == PP_SENT;
        }
        if (sent != PP_SENT)
            snprintf(s->trouble, sizeof(s->trouble), "%s", t.why);
        if (sent == PP_SENT || sent == PP_SENT_PARTLY) {
            s->failures = 0;
        } else {
            long pause_s = s->failures < 6 ? 1l << s->failures : PAUSE_MOST_S;
            pause_s = t.retry_s > pause_s ? t.retry_s : pause_s;
            pause_s = pause_s < PAUSE_MOST_S ? pause_s : PAUSE_MOST_S;
            uint64_t ns = (uint64_t)pause_s * UINT64_C(1000000000), now = pp_now_ns();
            s->failures++;
            s->pause_until_ns = now + ns + pp_mix64(now) % (ns / 4);
        }
        free(text.bytes);
        s->sending = 0;
        pthread_cond_broadcast(&s->idle);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Asked by requests; before the thread there is none. */
static int is_stopping(void *self)
{
    struct pp_sender *s = ((struct pp_sending *)self)->sender;
    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    int stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

/* ---- the sink ---- */

/* Up to url_of. */
static pp_status set_up(const struct pp_sink_kind *kind, const struct pp_sink_opts *o,
                        struct pp_http_opts *http, struct pp_sending **out, struct pp_err *err)
{
    struct pp_sending *p = *out = calloc(1, kind->sending->size);
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    p->kind = kind->sending;
    pp_status st = p->kind->url_of(p, o, http, err);
    if (st == PP_OK && !p->shown[0])
        pp_text_no_secrets(p->shown, sizeof(p->shown), p->url);
    return st;
}

pp_status pp_sending_check(const struct pp_sink_kind *kind, const char *target, struct pp_err *err)
{
    struct pp_sink_opts o = {
        .target = target, .content_types = {"", ""}, .job = "", .instance = "", .rank = -1};
    struct pp_http_opts http = {0};
    struct pp_sending *p;
    pp_status st = set_up(kind, &o, &http, &p, err);
    pp_sending_close(p);
    return st;
}

pp_status pp_sending_open(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                          struct pp_err *err)
{
    struct pp_http_opts http = {0};
    struct pp_sending *p;
    pp_status st = set_up(kind, o, &http, &p, err);
    http.stop = is_stopping;
    http.ctx = p;
    if (st == PP_OK)
        st = pp_client_open(&http, &p->client, err);
    struct pp_sender *s = st == PP_OK ? calloc(1, sizeof(*s)) : NULL;
    if (st == PP_OK && !s)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    if (s) {
        s->of = p;
        pthread_mutex_init(&s->lock, NULL);
        pp_cond_init(&s->wake);
        pp_cond_init(&s->idle);
        p->sender = s; /* before the thread: its requests ask whether they are to stop */
        int rc = pthread_create(&s->thread, NULL, sender_main, s);
        if (rc != 0) {
            p->sender = NULL;
            free(s);
            st = pp_fail_errno(err, rc, "cannot start the thread that sends metrics");
        }
    }
    if (st == PP_OK)
        *self = p;
    else
        pp_sending_close(p);
    return st;
}

void pp_sending_close(void *self)
{
    struct pp_sending *p = self;
    if (!p)
        return;
    struct pp_sender *s = p->sender;
    if (s) { /* ends a request that is under way */
        pthread_mutex_lock(&s->lock);
        s->stop = 1;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        pthread_cond_destroy(&s->wake);
        pthread_cond_destroy(&s->idle);
        pthread_mutex_destroy(&s->lock);
        free(s->next.bytes);
        free(s);
    }
    pp_client_close(p->client);
    if (p->kind->forget)
        p->kind->forget(p);
    free(p->url);
    free(p);
}

void pp_sending_put(void *self, const char *text, size_t n, int last)
{
    struct pp_sender *s = ((struct pp_sending *)self)->sender;
    char *copy = malloc(n ? n : 1);
    if (copy)
        memcpy(copy, text, n);
    pthread_mutex_lock(&s->lock);
    s->count.lost += s->next.bytes != NULL || !copy;
    s->too_slow |= s->next.bytes != NULL;
    free(s->next.bytes);
    s->next = (struct text){copy, n};
    s->hurry = s->last = last;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

void pp_sending_wait(void *self, uint64_t deadline_ns)
{
    const struct pp_sending *p = self;
    struct pp_sender *s = p->sender;
    pthread_mutex_lock(&s->lock);
    while ((s->next.bytes || s->sending) && pp_now_ns() < deadline_ns)
        pp_cond_wait_until(&s->idle, &s->lock, deadline_ns);
    int left = s->next.bytes || s->sending;
    s->count.lost += left != 0;
    if (left && !s->trouble[0])
        snprintf(s->trouble, sizeof(s->trouble), "%s did not answer in time", p->shown);
    pthread_mutex_unlock(&s->lock);
}

struct pp_sink_count pp_sending_count(void *self)
{
    struct pp_sender *s = ((struct pp_sending *)self)->sender;
    pthread_mutex_lock(&s->lock);
    struct pp_sink_count c = s->count;
    pthread_mutex_unlock(&s->lock);
    return c;
}

void pp_sending_trouble(void *self, char *text, size_t size)
{
    struct pp_sender *s = ((struct pp_sending *)self)->sender;
    pthread_mutex_lock(&s->lock);
    snprintf(text, size, "%s",
             s->trouble[0] ? s->trouble
             : s->too_slow ? "the server takes longer than --metrics-interval"
                           : "");
    pthread_mutex_unlock(&s->lock);
}
