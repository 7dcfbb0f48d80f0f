#include "report/send/sender.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MOST_S 60u

struct text {
    char *bytes; /* NULL: none */
    size_t n;
};

struct pp_sender {
    pp_send_fn *fn;
    void *ctx;
    char name[16];
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

static void pause_after(struct pp_sender *s, long retry_s)
{
    unsigned pause_s = s->failures < 6 ? 1u << s->failures : PAUSE_MOST_S;
    pause_s = retry_s > (long)pause_s ? (unsigned)(retry_s < PAUSE_MOST_S ? retry_s : PAUSE_MOST_S) : pause_s;
    pause_s = pause_s < PAUSE_MOST_S ? pause_s : PAUSE_MOST_S;
    uint64_t ns = pause_s * UINT64_C(1000000000), now = pp_now_ns();
    s->failures++;
    s->pause_until_ns = now + ns + pp_mix64(now) % (ns / 4);
}

/* With the lock. text is taken over. */
static void note(struct pp_sender *s, enum pp_sent sent, struct text text, const struct pp_try *t)
{
    if (sent == PP_SENT_AGAIN && !s->next.bytes && !s->stop) {
        s->next = text;
        text.bytes = NULL;
    } else {
        s->count.lost += sent != PP_SENT;
        s->count.sent += sent == PP_SENT;
    }
    if (sent != PP_SENT)
        snprintf(s->trouble, sizeof(s->trouble), "%s", t->why);
    if (sent == PP_SENT || sent == PP_SENT_PARTLY)
        s->failures = 0;
    else
        pause_after(s, t->retry_s);
    free(text.bytes);
}

static void *sender_main(void *arg)
{
    struct pp_sender *s = arg;
    pthread_setname_np(pthread_self(), s->name);
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
        enum pp_sent sent = s->fn(s->ctx, text.bytes, text.n, &t);
        pthread_mutex_lock(&s->lock);
        note(s, sent, text, &t);
        s->sending = 0;
        pthread_cond_broadcast(&s->idle);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

pp_status pp_sender_start(const char *name, pp_send_fn *fn, void *ctx, struct pp_sender **out,
                          struct pp_err *err)
{
    struct pp_sender *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to send metrics");
    s->fn = fn;
    s->ctx = ctx;
    snprintf(s->name, sizeof(s->name), "%s", name);
    pthread_mutex_init(&s->lock, NULL);
    pp_cond_init(&s->wake);
    pp_cond_init(&s->idle);
    *out = s; /* before the thread: its requests ask whether they are to stop */
    int rc = pthread_create(&s->thread, NULL, sender_main, s);
    if (rc == 0)
        return PP_OK;
    *out = NULL;
    free(s);
    return pp_fail_errno(err, rc, "cannot start the thread that sends metrics");
}

void pp_sender_stop(struct pp_sender *s)
{
    if (!s)
        return;
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

static void hand_over(struct pp_sender *s, const char *text, size_t n, int last)
{
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

/* ---- of a sink ---- */

static struct pp_sender *sender_of(void *self)
{
    return ((struct pp_sending *)self)->sender;
}

int pp_sending_is_stopping(void *self)
{
    struct pp_sender *s = sender_of(self);
    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    int stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

void pp_sending_put(void *self, const char *text, size_t n)
{
    hand_over(sender_of(self), text, n, 0);
}

void pp_sending_finish(void *self, const char *text, size_t n)
{
    hand_over(sender_of(self), text, n, 1);
}

void pp_sending_wait(void *self, uint64_t deadline_ns)
{
    struct pp_sender *s = sender_of(self);
    pthread_mutex_lock(&s->lock);
    while ((s->next.bytes || s->sending) && pp_now_ns() < deadline_ns)
        pp_cond_wait_until(&s->idle, &s->lock, deadline_ns);
    int left = s->next.bytes || s->sending;
    s->count.lost += left != 0;
    if (left && !s->trouble[0])
        snprintf(s->trouble, sizeof(s->trouble), "%s", ((struct pp_sending *)self)->unanswered);
    pthread_mutex_unlock(&s->lock);
}

struct pp_sink_count pp_sending_count(void *self)
{
    struct pp_sender *s = sender_of(self);
    pthread_mutex_lock(&s->lock);
    struct pp_sink_count c = s->count;
    pthread_mutex_unlock(&s->lock);
    return c;
}

void pp_sending_trouble(void *self, char *text, size_t size)
{
    struct pp_sender *s = sender_of(self);
    pthread_mutex_lock(&s->lock);
    snprintf(text, size, "%s",
             s->trouble[0] ? s->trouble
             : s->too_slow ? "the server takes longer than --metrics-interval"
                           : "");
    pthread_mutex_unlock(&s->lock);
}
