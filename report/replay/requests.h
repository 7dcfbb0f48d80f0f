/* report/replay/requests.h: the requests to remote storages that stand behind the reads of a recording: what
 * parts of a read are the first byte, the bytes, a new connection; which host and which prefix of the keys is
 * unlike the others. What a read ahead (--inflight) took stands in its request alone: the worker's span has
 * what was left to wait for.
 *
 * A sample is known by its number and epoch, and its requests are those of all its tries. Those of a stream
 * bring pieces of a shard and are for no sample: they are the cost of the sample for which the reader had to
 * make them, known by the time of its read. */
#pragma once

#include "report/replay/costs.h"

/* A head alone is shorter: an answer without an object. */
#define PP_EMPTY_ANSWER 1024
/* Fewer say nothing about their mean; an address or a prefix with fewer is not compared. */
#define PP_LEAST_REQUESTS 20
/* Of the requests; a store that is not overloaded refuses far fewer. */
#define PP_SOME_REFUSED 0.01

/* Into c->requests, and into the samples their parts. c->samples are all there, in any order. Without
 * requests nothing changes. PP_E_NO_MEMORY. */
pp_status pp_requests_read(const struct pp_source *source, const struct pp_timeline *timeline,
                           struct pp_costs *c, struct pp_err *err);

/* The time to the first byte below which a part q of the answers came, in ns; NAN: there are none. */
double pp_requests_first_byte(const struct pp_requests *r, double q);

/* When a client that hedges holds a request for late, and whether it may make it a second time: later than a
 * quantile of the newest first bytes, and within a budget of as many as that quantile leaves (Dean and
 * Barroso, "The Tail at Scale", 2013). What is noted is the answer that counted, so that the limit falls
 * while late requests are made again.
 *
 * No lock, no clock. */

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

/* What the size of its shards costs a stream of remote storage (run --stream): a shard's bytes come in pieces
 * of which the last is not full, and it may take requests of its own before its first sample: for its
 * version, where there is a cache, and in older recordings for its size and for how it begins. All are made
 * one after the other. With larger shards there are fewer of both, and each takes as long as before. */

/* What pipeprobe pack writes unless it is told otherwise. */
#define PP_SHARDS_ADVISED (256.0 * 1024 * 1024)

/* Why requests by shard are not known of a recording, as the end of a sentence; NULL: they are. */
const char *pp_shards_unknown(const struct pp_costs *c);

/* Of those that were opened in the steady state: bytes of a shard, and its requests. NAN: not known. */
double pp_shards_bytes(const struct pp_costs *c);
double pp_shards_requests(const struct pp_costs *c);

/* Requests per byte with shards of that size, over those that were recorded: 0.1 is a tenth of them. A shard
 * holds no more than all data of an epoch. 1 where they are not known. */
double pp_shards_factor(const struct pp_costs *c, double shard_bytes);
