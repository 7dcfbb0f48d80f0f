#include "report/replay/requests.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/replay/link.h"
#include "report/stats/order.h"

enum { MOST_PLACES = 1024 };
/* Bytes by which a stream sees what a shard is that it does not read from its beginning (shard_tar.c); in
 * older recordings every shard begins so. */
enum { SHARD_HEAD = 8 };
#define MOST_JOINED 0.9 /* of the samples */

/* An address with a prefix, as the recording numbers them. */
struct place {
    char address[PP_REQUESTS_HOST], prefix[PP_REQUESTS_PREFIX];
    double n, refused;
};

/* Of a request that brought bytes. */
struct answer {
    float first_ns, all_ns;
    uint32_t place;
    int opened;                  /* a connection for it */
    struct pp_transfer transfer; /* ns from from_ns on */
};

struct walk {
    struct pp_costs *c;
    uint64_t from_ns, to_ns;
    size_t *order;  /* of the samples, by epoch and number; of a stream, by the time of their reads. NULL: */
    uint32_t *slot; /* the table of find_in_table is there */
    size_t slots;
    struct place *place;
    size_t n_places;
    struct answer *answer;
    size_t n, room;
    double cpu_ns[2]; /* of requests: on connections that were kept, and that were opened for them */
    int no_memory;
};

/* ---- samples and their requests ---- */

static int compare(const struct pp_cost_sample *x, uint64_t sample, uint32_t epoch)
{
    if (x->epoch != epoch)
        return x->epoch < epoch ? -1 : 1;
    return (x->sample > sample) - (x->sample < sample);
}

static int by_sample(const void *a, const void *b, void *samples)
{
    const struct pp_cost_sample *x = (const struct pp_cost_sample *)samples + *(const size_t *)a,
                                *y = (const struct pp_cost_sample *)samples + *(const size_t *)b;
    return compare(x, y->sample, y->epoch);
}

static int by_read(const void *a, const void *b, void *samples)
{
    const struct pp_cost_sample *x = (const struct pp_cost_sample *)samples + *(const size_t *)a,
                                *y = (const struct pp_cost_sample *)samples + *(const size_t *)b;
    return (x->read_start_ns > y->read_start_ns) - (x->read_start_ns < y->read_start_ns);
}

/* The table of samples: at most a quarter of it is used, and each sample stands within so many slots from
 * where it belongs. Numbers that were made to stand in one place get no table. */
enum { SLOTS_EACH = 4, MOST_STEPS = 128 };

static size_t slot_of(const struct walk *w, uint64_t sample, uint32_t epoch)
{
    return pp_mix64(sample + pp_mix64(epoch)) & (w->slots - 1);
}

/* 0: no memory, or they crowd. */
static int make_table(struct walk *w)
{
    w->slots = 1024;
    while (w->slots < w->c->n * SLOTS_EACH)
        w->slots *= 2;
    w->slot = calloc(w->slots, sizeof(*w->slot));
    int sound = w->slot != NULL;
    for (size_t i = 0; i < w->c->n && sound; i++) {
        size_t at = slot_of(w, w->c->samples[i].sample, w->c->samples[i].epoch);
        int steps = 0;
        for (; steps < MOST_STEPS && w->slot[at]; steps++)
            at = (at + 1) & (w->slots - 1);
        sound = steps < MOST_STEPS;
        if (sound)
            w->slot[at] = (uint32_t)i + 1;
    }
    if (!sound) {
        free(w->slot);
        w->slot = NULL;
    }
    return sound;
}

/* Of a stream, the sample that its reader was at; NULL: none, as while it waits for room. */
static struct pp_cost_sample *sample_of(const struct walk *w, const struct pp_request_row *r)
{
    uint64_t sample = r->sample;
    uint32_t epoch = r->epoch;
    if (w->c->streaming && sample == PP_NO_SAMPLE) {
        size_t begun = PP_BEFORE(w->c->n, i, w->c->samples[w->order[i]].read_start_ns <= r->start_ns);
        struct pp_cost_sample *at = begun ? &w->c->samples[w->order[begun - 1]] : NULL;
        return at && r->start_ns <= at->read_end_ns ? at : NULL;
    }
    if (w->slot) {
        size_t at = slot_of(w, sample, epoch);
        for (int i = 0; i < MOST_STEPS && w->slot[at]; i++, at = (at + 1) & (w->slots - 1)) {
            struct pp_cost_sample *found = &w->c->samples[w->slot[at] - 1];
            if (found->sample == sample && found->epoch == epoch)
                return found;
        }
        return NULL;
    }
    size_t first = PP_BEFORE(w->c->n, i, compare(&w->c->samples[w->order[i]], sample, epoch) < 0);
    struct pp_cost_sample *x = first < w->c->n ? &w->c->samples[w->order[first]] : NULL;
    return x && compare(x, sample, epoch) == 0 ? x : NULL;
}

/* A read ahead may begin before the time that is judged. */
static uint64_t in_window(const struct walk *w, uint64_t t)
{
    return t < w->from_ns ? w->from_ns : t >= w->to_ns ? w->to_ns - 1 : t;
}

/* The first is when the sample was asked for; what the worker read by itself stands in its span already. */
static void begin_sample(const struct walk *w, struct pp_cost_sample *x, const struct pp_request_row *r)
{
    if (w->c->inflight > 1 && !x->requests) {
        x->read_blocked = x->read_cpu = x->read_wake = 0;
        x->read_start_ns = in_window(w, r->start_ns);
    }
    x->requests += x->requests < UINT8_MAX;
}

/* Of a request that was made twice, the time until the second was made is a part of what the answer took. The
 * first, which was late, ends before it. */
static void add_to_sample(const struct walk *w, struct pp_cost_sample *x, const struct pp_request_row *r)
{
    int ahead = w->c->inflight > 1, hedge = (r->flags & PP_REQUEST_ROW_HEDGE) != 0;
    begin_sample(w, x, r);
    double late = ahead && hedge && r->start_ns > x->read_start_ns ? (double)(r->start_ns - x->read_start_ns)
                                                                   : 0,
           ns = (double)pp_request_row_ns(r) + late, cpu = (double)r->cpu_ns;
    if (ahead) {
        x->read_blocked += (float)fmax(ns - cpu, 0);
        x->read_cpu += (float)cpu;
        x->read_end_ns = in_window(w, r->start_ns + pp_request_row_ns(r));
    }
    if (r->status == 429 || r->status == 503) {
        x->refused += (float)ns;
        return;
    }
    x->first_byte += (float)((double)r->first_byte_ns + late);
    x->transfer += (float)r->transfer_ns;
    x->asked += (float)r->bytes;
    x->setup += (float)(r->resolve_ns + r->connect_ns + r->tls_ns);
    x->place = (uint16_t)(r->place < MOST_PLACES ? r->place : 0);
}

/* ---- sums, places ---- */

static void on_request(void *ctx, const struct pp_request_row *r)
{
    struct walk *w = ctx;
    struct pp_requests *q = &w->c->requests;
    struct pp_cost_sample *x = sample_of(w, r);
    int refused = r->status == 429 || r->status == 503,
        streams = w->c->streaming && r->sample == PP_NO_SAMPLE;
    /* Of a sample whose number is not known (a job's stream, __getitems__) it is known that it was for one.
     */
    if ((r->sample == PP_NO_SAMPLE && (w->c->streaming || r->status || r->epoch == UINT32_MAX) && !x) ||
        w->no_memory)
        return;
    if (r->flags & PP_REQUEST_ROW_DROPPED) {
        if (x && !(r->flags & PP_REQUEST_ROW_HEDGE))
            begin_sample(w, x, r);
        return;
    }
    if (x)
        add_to_sample(w, x, r);
    if (r->start_ns < w->from_ns || r->start_ns >= w->to_ns)
        return;
    q->n++;
    q->refused += refused;
    q->connections += (r->flags & PP_REQUEST_ROW_CONNECTED) != 0;
    w->cpu_ns[(r->flags & PP_REQUEST_ROW_CONNECTED) != 0] += (double)r->cpu_ns;
    q->bytes += (double)r->bytes;
    q->busy_ns += (double)pp_request_row_ns(r);
    q->resolve_ns += (double)r->resolve_ns;
    q->connect_ns += (double)(r->connect_ns + r->tls_ns);
    q->first_byte_ns += (double)r->first_byte_ns;
    q->transfer_ns += (double)r->transfer_ns;
    q->hedges += (r->flags & PP_REQUEST_ROW_HEDGE) != 0;
    q->modelled |= (r->flags & PP_REQUEST_ROW_MODEL) != 0;
    struct place *p = &w->place[r->place < MOST_PLACES ? r->place : 0];
    if (p->n == 0 && r->place && r->address && r->prefix) {
        snprintf(p->address, sizeof(p->address), "%s", r->address);
        snprintf(p->prefix, sizeof(p->prefix), "%s", r->prefix);
    }
    p->n++;
    p->refused += refused;
    if (r->status / 100 != 2 && (r->status || !r->bytes)) /* what a job's answers said is not known */
        return;
    q->empty += r->bytes < PP_EMPTY_ANSWER;
    q->shards += streams && ((r->flags & PP_REQUEST_ROW_BEGINS) || r->bytes == SHARD_HEAD);
    q->openings += streams && r->bytes <= SHARD_HEAD;
    if (!pp_grow(&w->answer, &w->room, w->n + 1, sizeof(*w->answer))) {
        w->no_memory = 1;
        return;
    }
    w->answer[w->n++] = (struct answer){.first_ns = (float)r->first_byte_ns,
                                        .all_ns = (float)(r->first_byte_ns + r->transfer_ns),
                                        .opened = (r->flags & PP_REQUEST_ROW_CONNECTED) != 0,
                                        .place = r->place < MOST_PLACES ? r->place : 0};
    double end = (double)(r->start_ns - w->from_ns) + (double)pp_request_row_ns(r);
    w->answer[w->n - 1].transfer = (struct pp_transfer){end - (double)r->transfer_ns, end, (double)r->bytes};
}

/* ---- one host, one prefix ---- */

enum { HOSTS = 64 };

/* The median of the answers that have this mark, a host or a kind of connection, or of all others. */
static double median_of(const struct walk *w, const uint8_t *mark, size_t which, int others, float *v,
                        size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (mark[i] < HOSTS && (mark[i] == which) != others)
            v[(*n)++] = w->answer[i].all_ns;
    return *n ? pp_stats_nth(v, *n, *n / 2) : NAN;
}

/* The slowest host against all others, by the median of what it answered. */
static void find_slow_host(struct walk *w, float *v, uint8_t *host)
{
    struct pp_requests *q = &w->c->requests;
    const char *hosts[HOSTS];
    size_t n_hosts = 0, n, rest;
    q->slow_host = NAN;
    for (size_t i = 0; i < w->n; i++) {
        const char *address = w->place[w->answer[i].place].address;
        size_t at = 0;
        while (at < n_hosts && strcmp(hosts[at], address) != 0)
            at++;
        if (at == n_hosts && n_hosts < HOSTS && address[0])
            hosts[n_hosts++] = address;
        host[i] = (uint8_t)(at < n_hosts ? at : HOSTS);
    }
    for (size_t h = 0; h < n_hosts && n_hosts > 1; h++) {
        double own = median_of(w, host, h, 0, v, &n), others = median_of(w, host, h, 1, v, &rest);
        double ratio = own / fmax(others, 1e5);
        if (n < PP_LEAST_REQUESTS || rest < PP_LEAST_REQUESTS ||
            !(isnan(q->slow_host) || ratio > q->slow_host))
            continue;
        q->slow_host = ratio;
        q->slow_host_part = (double)n / (double)w->n;
        snprintf(q->host, sizeof(q->host), "%s", hosts[h]);
    }
    for (size_t i = 0; i < w->c->n && !isnan(q->slow_host); i++)
        w->c->samples[i].slow_host = w->c->samples[i].place &&
                                     strcmp(w->place[w->c->samples[i].place].address, q->host) == 0;
}

/* The prefix with the most refusals, of two or more. */
static void find_hot_prefix(const struct walk *w)
{
    struct pp_requests *q = &w->c->requests;
    q->hot_prefix = q->hot_prefix_part = NAN;
    for (size_t i = 1; i < MOST_PLACES && q->refused > 0; i++) {
        double n = 0, refused = 0;
        for (size_t k = 1; k < MOST_PLACES && w->place[i].n > 0; k++)
            if (w->place[k].n > 0 && strcmp(w->place[k].prefix, w->place[i].prefix) == 0) {
                n += w->place[k].n;
                refused += w->place[k].refused;
            }
        if (n < PP_LEAST_REQUESTS || q->n - n < PP_LEAST_REQUESTS ||
            !(isnan(q->hot_prefix) || refused / q->refused > q->hot_prefix))
            continue;
        q->hot_prefix = refused / q->refused;
        q->hot_prefix_part = (n - refused) / fmax(q->n - q->refused, 1);
        snprintf(q->prefix, sizeof(q->prefix), "%s", w->place[i].prefix);
    }
}

/* ---- all of it ---- */

static pp_status sum_up(struct walk *w, struct pp_err *err)
{
    struct pp_requests *q = &w->c->requests;
    float *v = malloc((w->n + 1) * sizeof(*v));
    uint8_t *host = malloc(w->n + 1);
    size_t joined = 0;
    pp_status st = v && host && !w->no_memory
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu requests", w->n);
    if (st == PP_OK) {
        find_slow_host(w, v, host);
        find_hot_prefix(w);
        /* What opening a connection costs beside its own time: CPU time, and an answer that comes later and
         * slower (the server's part of the handshake, the slow start of TCP). Where some requests opened one
         * and others did not, that is the difference between the two. */
        double kept = q->n - q->connections;
        size_t n_new, n_kept;
        if (q->connections >= PP_LEAST_REQUESTS && kept >= PP_LEAST_REQUESTS) {
            q->connect_cpu_ns = fmax(w->cpu_ns[1] / q->connections - w->cpu_ns[0] / kept, 0);
            for (size_t i = 0; i < w->n; i++)
                host[i] = (uint8_t)w->answer[i].opened;
            double more = median_of(w, host, 1, 0, v, &n_new) - median_of(w, host, 0, 0, v, &n_kept);
            if (n_new >= PP_LEAST_REQUESTS && n_kept >= PP_LEAST_REQUESTS)
                q->connect_more_ns = fmax(more, 0);
        }
        if (q->transfer_ns >= 0.5 * q->busy_ns && w->n) { /* the bytes are most of the requests' time */
            struct pp_transfer *t = malloc(w->n * sizeof(*t));
            for (size_t i = 0; t && i < w->n; i++)
                t[i] = w->answer[i].transfer;
            q->link = t ? pp_request_link(t, w->n) : NAN;
            free(t);
            if (isnan(q->link))
                st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu requests", w->n);
        }
        for (size_t i = 0; i < w->n; i++)
            v[i] = w->answer[i].first_ns;
        qsort(v, w->n, sizeof(*v), pp_by_float);
        q->first_byte = v;
        q->answers = w->n;
        v = NULL;
    }
    for (size_t i = 0; i < w->c->n; i++) {
        struct pp_cost_sample *x = &w->c->samples[i];
        joined += x->requests > 0;
        if (w->c->streaming && q->n > 0) /* a piece holds many samples */
            x->bytes = x->asked < (float)UINT32_MAX ? (uint32_t)x->asked : UINT32_MAX;
    }
    q->joined = w->c->n ? (double)joined / (double)w->c->n : 0;
    if (w->c->inflight > 1 && q->joined < MOST_JOINED)
        w->c->inflight = 0; /* what reads took is not known: their spans have what was left of it */
    free(host);
    free(v);
    return st;
}

pp_status pp_requests_read(const struct pp_source *source, const struct pp_timeline *tl, struct pp_costs *c,
                           struct pp_err *err)
{
    struct walk w = {.c = c, .from_ns = tl->start_ns, .to_ns = tl->end_ns};
    c->requests = (struct pp_requests){0};
    if (!source->each_request || !c->n)
        return PP_OK;
    w.place = calloc(MOST_PLACES, sizeof(*w.place));
    if (w.place && (c->streaming || !make_table(&w))) {
        w.order = malloc(c->n * sizeof(*w.order));
        for (size_t i = 0; w.order && i < c->n; i++)
            w.order[i] = i;
        if (w.order)
            qsort_r(w.order, c->n, sizeof(*w.order), c->streaming ? by_read : by_sample, c->samples);
    }
    pp_status st = w.place && (w.slot || w.order)
                       ? source->each_request(source->ctx, on_request, &w, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu samples", c->n);
    if (st == PP_OK)
        st = sum_up(&w, err);
    free(w.answer);
    free(w.place);
    free(w.slot);
    free(w.order);
    return st;
}

double pp_requests_first_byte(const struct pp_requests *r, double q)
{
    return r->answers ? r->first_byte[(size_t)(q * (double)(r->answers - 1))] : NAN;
}

/* ---- requests made twice ---- */

enum { EACH = 16 };
#define MOST_SPARE 5.0 /* requests that may be made twice in a row */

uint64_t pp_hedge_after_ns(const struct pp_hedge *h)
{
    return h->quantile > 0 && h->n >= PP_HEDGE_LEAST ? h->ns : UINT64_MAX;
}

void pp_hedge_note(struct pp_hedge *h, uint64_t first_byte_ns)
{
    float sorted[PP_HEDGE_RECENT];
    h->recent[h->n++ % PP_HEDGE_RECENT] = (float)first_byte_ns;
    h->spare = h->spare + 1 - h->quantile < MOST_SPARE ? h->spare + 1 - h->quantile : MOST_SPARE;
    if (h->n < PP_HEDGE_LEAST || (h->n != PP_HEDGE_LEAST && h->n % EACH != 0))
        return;
    size_t n = h->n < PP_HEDGE_RECENT ? (size_t)h->n : PP_HEDGE_RECENT;
    memcpy(sorted, h->recent, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), pp_by_float);
    h->ns = (uint64_t)sorted[(size_t)(h->quantile * (double)(n - 1))];
}

int pp_hedge_spend(struct pp_hedge *h)
{
    int may = h->spare >= 1;
    h->spare -= may;
    return may;
}

/* ---- requests by shard ---- */

enum { LEAST_SHARDS = 4 }; /* of fewer the mean size is not known: the first and the last are parts */

const char *pp_shards_unknown(const struct pp_costs *c)
{
    const struct pp_requests *q = &c->requests;
    if (!c->streaming)
        return "this loader reads samples by themselves, however large their shards are; pack a part of the "
               "data (pipeprobe pack) and record it with --stream";
    if (!(q->answers > 0))
        return "there are no requests to a remote storage in the recording";
    if (!(c->piece_bytes > 0))
        return "the recording does not say how large the pieces are that a shard is asked for in; record it "
               "again";
    if (q->shards < LEAST_SHARDS)
        return "fewer than 4 shards were opened in the steady state; record a longer run";
    return NULL;
}

double pp_shards_bytes(const struct pp_costs *c)
{
    return pp_shards_unknown(c) ? NAN : c->requests.bytes / c->requests.shards;
}

double pp_shards_requests(const struct pp_costs *c)
{
    return pp_shards_unknown(c) ? NAN : (double)c->requests.answers / c->requests.shards;
}

double pp_shards_factor(const struct pp_costs *c, double shard_bytes)
{
    double own = pp_shards_bytes(c), opening = c->requests.openings / c->requests.shards, bytes = shard_bytes;
    if (!(own > 0))
        return 1;
    if (c->stream_shards > 0)
        bytes = fmin(bytes, own * c->stream_shards);
    return (opening + ceil(bytes / c->piece_bytes)) / bytes / (pp_shards_requests(c) / own);
}
