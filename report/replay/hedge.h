/* replay/hedge.h: when a client that hedges holds a request for late, and whether it may make it a second
 * time: later than a quantile of the newest first bytes, and within a budget of as many as that quantile
 * leaves (Dean and Barroso, "The Tail at Scale", 2013). What is noted is the answer that counted, so that the
 * limit falls while late requests are made again.
 *
 * No lock, no clock. */
#ifndef PP_REPORT_REPLAY_HEDGE_H
#define PP_REPORT_REPLAY_HEDGE_H

#include <stdint.h>

enum { PP_HEDGE_RECENT = 256, PP_HEDGE_LEAST = 50 };

struct pp_hedge {
    float recent[PP_HEDGE_RECENT]; /* ns */
    uint64_t n;                    /* ever */
    double quantile, spare;        /* quantile 0: no request is late; spare: that may be made twice now */
    uint64_t ns;                   /* at the quantile; computed anew after every few requests */
};

/* UINT64_MAX: no request is late. */
uint64_t pp_hedge_after_ns(const struct pp_hedge *h);
/* The first byte of an answer. */
void pp_hedge_note(struct pp_hedge *h, uint64_t first_byte_ns);
/* 1: a late request may be made twice. */
int pp_hedge_spend(struct pp_hedge *h);

#endif
