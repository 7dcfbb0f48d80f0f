/* send/sender.h: a thread that sends the newest text, for kinds that wait for a network. One text waits at
 * most: a newer one takes its place, and that is counted. After a failure it pauses, 1 s and then twice as
 * long each time up to a minute, or as long as the server asks; a random part of a quarter keeps the ranks of
 * a job from asking together. */
#ifndef PP_REPORT_SEND_SENDER_H
#define PP_REPORT_SEND_SENDER_H

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
/* On the sender's thread. */
typedef enum pp_sent pp_send_fn(void *ctx, const char *text, size_t n, struct pp_try *t);

/* name: of the thread. */
pp_status pp_sender_start(const char *name, pp_send_fn *fn, void *ctx, struct pp_sender **out,
                          struct pp_err *err);
/* Ends a request that is under way; waits for the thread. NULL is fine. */
void pp_sender_stop(struct pp_sender *s);

/* What a sink whose texts a sender sends begins with; unanswered: the sentence when the last text is still
 * under way at the deadline. The functions are those of pp_sink_kind, and pp_client_opts.stop, of such a
 * sink. */
struct pp_sending {
    struct pp_sender *sender;
    char unanswered[300];
};
void pp_sending_put(void *self, const char *text, size_t n);
void pp_sending_finish(void *self, const char *text, size_t n);
void pp_sending_wait(void *self, uint64_t deadline_ns);
struct pp_sink_count pp_sending_count(void *self);
void pp_sending_trouble(void *self, char *text, size_t size);
int pp_sending_is_stopping(void *self);

#endif
