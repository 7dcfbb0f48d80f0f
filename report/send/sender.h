/* send/sender.h: the sinks that wait for a network: a thread that sends the newest text to a server. One text
 * waits at most: a newer one takes its place, and that is counted. After a failure it pauses, 1 s and then
 * twice as long each time up to a minute, or as long as the server asks; a random part of a quarter keeps the
 * ranks of a job from asking together.
 *
 * Such a kind says where to send and how (struct pp_sending_kind); opening, counting, closing and the thread
 * are here, the same for all: PP_SENDING_HOOKS. */
#pragma once

#include "report/send/client.h"
#include "report/send/sink.h"

struct pp_sender;

enum pp_sent {
    PP_SENT,        /* taken */
    PP_SENT_PARTLY, /* taken, but not all of it: counts as lost */
    PP_SENT_NOT,    /* lost: this text would not be taken a second time */
    PP_SENT_AGAIN   /* worth a second try, unless a newer text is there by then */
};
struct pp_try {
    int last;      /* no other text comes */
    long retry_s;  /* out: how long the server asks to wait; 0: it does not say */
    char why[500]; /* out: a sentence, unless it was taken */
};

/* How the state of such a kind begins. */
struct pp_sending {
    const struct pp_sending_kind *kind;
    struct pp_sender *sender;
    struct pp_client *client;
    char *url;       /* what is asked; malloc'd by url_of */
    char shown[200]; /* what sentences call it; "" after url_of: url without secrets */
};

struct pp_sending_kind {
    const char *thread; /* its name */
    size_t size;        /* of the state */
    /* Reads target and environment: url, what else the state holds, how the server is spoken to. Nothing is
     * opened, and check asks it too. */
    pp_status (*url_of)(void *self, const struct pp_sink_opts *o, struct pp_http_opts *http,
                        struct pp_err *err);
    /* On the sender's thread. */
    enum pp_sent (*send)(void *self, const char *text, size_t n, struct pp_try *t);
    void (*forget)(void *self); /* frees what url_of made besides url; or NULL */
};

/* The hooks of struct pp_sink_kind. */
pp_status pp_sending_check(const struct pp_sink_kind *kind, const char *target, struct pp_err *err);
pp_status pp_sending_open(const struct pp_sink_kind *kind, const struct pp_sink_opts *o, void **self,
                          struct pp_err *err);
void pp_sending_put(void *self, const char *text, size_t n, int last);
void pp_sending_wait(void *self, uint64_t deadline_ns);
struct pp_sink_count pp_sending_count(void *self);
void pp_sending_trouble(void *self, char *text, size_t size);
void pp_sending_close(void *self);

#define PP_SENDING_HOOKS \
    .is_remote = 1, .missing = pp_http_missing, .check = pp_sending_check, .open = pp_sending_open, \
    .put = pp_sending_put, .wait = pp_sending_wait, .count = pp_sending_count, \
    .trouble = pp_sending_trouble, .close = pp_sending_close
