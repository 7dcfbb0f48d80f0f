/* The knobs of the what-if as a table: name, values, and how text becomes numbers; and those that are
 * refused, with the reason. */
#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "report/replay/nvjpeg.h"
#include "report/replay/shards.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind {
    COUNT,
    FACTOR,
    DECODE,
    CPUS,
    BATCH,
    ORDER,
    PINNED,
    OVERLAP,
    CACHE,
    CACHE_BYTES,
    BANDWIDTH,
    LATENCY,
    STEP,
    STEP_MS,
    UNPICKLE,
    PERSISTENT,
    INFLIGHT,
    FIRST_BYTE,
    STREAM,
    HEDGE,
    KEPT,
    HOSTS,
    SHARD_SIZE
};

#define ON_GPU "nvjpeg"
#define MOST_COUNT 1024
#define MOST_BATCH 1000000
#define MOST_INFLIGHT 256
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)

/* What a value has to be, where its name does not say it. */
static const char *const ranges[] = {
    [COUNT] = ", a whole number from 1 to " TEXT(MOST_COUNT),
    [FACTOR] = ", a number from 0 on",
    [DECODE] = ", a number from 0 on",
    [CPUS] = ", a number above 0",
    [BATCH] = ", a whole number from 1 to " TEXT(MOST_BATCH),
    [ORDER] = "",
    [PINNED] = "",
    [OVERLAP] = "",
    [CACHE] = " from 0 to 1",
    [CACHE_BYTES] = ", such as 200GiB",
    [BANDWIDTH] = ", such as 200M",
    [LATENCY] = ", a number from 0 on",
    [STEP] = ", a number from 0 on",
    [STEP_MS] = ", a number above 0",
    [UNPICKLE] = ", a number from 0 on",
    [PERSISTENT] = "",
    [INFLIGHT] = ", a whole number from 1 to " TEXT(MOST_INFLIGHT),
    [FIRST_BYTE] = ", a number from 0 on",
    [STREAM] = ", such as 80M",
    [HEDGE] = "",
    [KEPT] = "",
    [HOSTS] = "",
    [SHARD_SIZE] = ", such as 256MiB",
};

static const struct {
    const char *name, *values, *help;
    enum kind kind;
    size_t offset; /* of the int (COUNT) or double (FACTOR) */
} knobs[] = {
#define AT(field) offsetof(struct pp_knobs, field)
    {"workers", "N", "decoding threads", COUNT, AT(workers)},
    {"prefetch", "N", "batches in flight per worker", COUNT, AT(prefetch)},
    {"copy-buffers", "N", "batches on the device", COUNT, AT(copy_buffers)},
    {"overlap", "on|off", "copies overlap the steps (copy-buffers 2 or 1)", OVERLAP, 0},
    {"batch-size", "N", "samples per batch; the step grows with it unless given", BATCH, 0},
    {"order", "in-order|out-of-order", "delivery order of batches", ORDER, 0},
    {"pinned", "yes|no", "page-locked batch memory: copies cost no CPU, and do not block a PyTorch job",
     PINNED, 0},
    {"persistent-workers", "yes", "PyTorch's workers stay for all epochs", PERSISTENT, 0},
    {"cpus", "N", "usable CPUs; fractions for a quota", CPUS, 0},
    {"cache", "warm|SHARE", "share of the reads served from the page cache", CACHE, 0},
    {"cache-bytes", "SIZE", "a local cache of that size, of a recording without one", CACHE_BYTES, 0},
    {"storage-latency", "FACTOR", "factor on the time blocked in reads", LATENCY, 0},
    {"storage-bandwidth", "BYTES_PER_S", "bandwidth shared by all reads", BANDWIDTH, 0},
    {"inflight", "N", "reads in flight per worker", INFLIGHT, 0},
    {"object-latency", "FACTOR", "factor on the time to the first byte of requests", FIRST_BYTE, 0},
    {"stream-bandwidth", "BYTES_PER_S", "bandwidth of each connection", STREAM, 0},
    {"hedge", "p95|p99", "requests slower than that are made twice", HEDGE, 0},
    {"connections", "kept", "no request opens a connection: no DNS, TCP, TLS", KEPT, 0},
    {"hosts", "even", "the slowest host answers as the others do", HOSTS, 0},
    {"shard-size", "SIZE", "shards of that size behind a stream: fewer requests, or more", SHARD_SIZE, 0},
    {"decode", "FACTOR|nvjpeg[:RATE[:MS]]",
     "factor on the CPU time of decoding; on the GPU, RATE images/s, MS a batch", DECODE, 0},
    {"transform", "FACTOR", "factor on the CPU time of transforms", FACTOR, AT(transform)},
    {"collate", "FACTOR", "factor on the CPU time of collating", FACTOR, AT(collate)},
    {"unpickle", "FACTOR", "factor on the time in which the trainer unpickles batches", UNPICKLE, 0},
    {"copy", "FACTOR", "factor on the time of copies to the device", FACTOR, AT(copy)},
    {"sync", "FACTOR", "factor on the time in device syncs", FACTOR, AT(sync)},
    {"collective", "FACTOR", "factor on the other ranks' step; 0: no waits for other ranks", FACTOR,
     AT(collective)},
    {"retries", "FACTOR", "factor on the time of refused requests and of back-off", FACTOR, AT(retry)},
    {"step", "FACTOR", "factor on the trainer's step", STEP, 0},
    {"step-ms", "MS", "the trainer's step, without waiting", STEP_MS, 0},
#undef AT
};

static const struct {
    const char *name, *why;
} refused[] = {
    {"gil", "interpreter lock hold times are not in the recording; measure a run without it"},
    {"gpu-decode", "the device's decode speed is not in the recording; decode=nvjpeg:IMAGES_PER_S states it"},
    {"format",
     "the cost of another file format is not in the recording; convert a part of the data and record it"},
    {"device",
     "another device's step and link are not in the recording; step-ms and copy-buffers can be set"},
};

enum { KNOBS = sizeof(knobs) / sizeof(*knobs), REFUSED = sizeof(refused) / sizeof(*refused) };

const char *pp_knobs_help(int i, const char **name, const char **values)
{
    if (i < 0 || i >= KNOBS)
        return NULL;
    *name = knobs[i].name;
    *values = knobs[i].values;
    return knobs[i].help;
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* 1 for yes, 0 for no, -1 for neither. */
static int yes_no(const char *v)
{
    return is(v, "yes") || is(v, "on") || is(v, "true")    ? 1
           : is(v, "no") || is(v, "off") || is(v, "false") ? 0
                                                           : -1;
}

static int positive(const char *v, double *out)
{
    return pp_parse_double(v, out) == PP_OK && *out > 0 && *out < 1e9;
}

static int set_order(struct pp_knobs *k, const char *v)
{
    k->order = is(v, "in-order") ? 1 : is(v, "out-of-order") ? 2 : 0;
    return k->order != 0;
}

static int set_cache(struct pp_knobs *k, const char *v)
{
    if (is(v, "warm"))
        return k->cached = 1, 1;
    return pp_parse_double(v, &k->cached) == PP_OK && k->cached >= 0 && k->cached <= 1;
}

/* What a cache can hold of the data, and so of each epoch; NAN: how much that is was not recorded. */
static double held_share(const struct pp_costs *c, uint64_t cache_bytes)
{
    double bytes = 0;
    for (size_t i = 0; i < c->n; i++)
        bytes += (double)c->samples[i].bytes / (double)c->n;
    double data = bytes * (double)c->dataset_samples;
    return data > 0 ? fmin((double)cache_bytes / data, 1) : NAN;
}

static int factor(const char *v, double *out)
{
    return pp_parse_double(v, out) == PP_OK && *out >= 0 && *out < 1e9;
}

static int set_step_ms(struct pp_knobs *k, const char *v)
{
    double ms;
    return positive(v, &ms) && (k->step_ns = ms * 1e6, 1);
}

static int set(struct pp_knobs *k, const struct pp_costs *c, int i, const char *v)
{
    int64_t n;
    uint64_t bytes;
    int answer = yes_no(v);
    switch (knobs[i].kind) {
    case COUNT:
        return pp_parse_int(v, &n) == PP_OK && n >= 1 && n <= MOST_COUNT &&
               (*(int *)((char *)k + knobs[i].offset) = (int)n, 1);
    case FACTOR: return factor(v, (double *)((char *)k + knobs[i].offset));
    case DECODE: return factor(v, &k->decode);
    case CPUS: return positive(v, &k->cpus);
    case BATCH: return pp_parse_int(v, &n) == PP_OK && n >= 1 && n <= MOST_BATCH && (k->batch = (double)n, 1);
    case ORDER: return set_order(k, v);
    case PINNED: return answer >= 0 && (k->pinned = answer, 1);
    case OVERLAP: return answer >= 0 && (k->copy_buffers = answer ? 2 : 1, 1);
    case CACHE: return set_cache(k, v);
    case CACHE_BYTES:
        return pp_parse_size(v, &bytes) == PP_OK && bytes > 0 && (k->cached = held_share(c, bytes), 1);
    case LATENCY: return factor(v, &k->read);
    case BANDWIDTH:
        return pp_parse_size(v, &bytes) == PP_OK && bytes > 0 && (k->bandwidth = (double)bytes, 1);
    case INFLIGHT:
        return pp_parse_int(v, &n) == PP_OK && n >= 1 && n <= MOST_INFLIGHT && (k->inflight = (int)n, 1);
    case FIRST_BYTE: return factor(v, &k->first_byte);
    case STREAM: return pp_parse_size(v, &bytes) == PP_OK && bytes > 0 && (k->stream = (double)bytes, 1);
    case HEDGE: return (k->hedge = is(v, "p95") ? 0.95 : is(v, "p99") ? 0.99 : 0) > 0;
    case KEPT: return is(v, "kept") && (k->kept = 1);
    case SHARD_SIZE:
        return pp_parse_size(v, &bytes) == PP_OK && bytes > 0 && (k->shard_bytes = (double)bytes, 1);
    case HOSTS: return is(v, "even") && (k->even_hosts = 1);
    case STEP: return factor(v, &k->step) && (k->step_stated = 1);
    case STEP_MS: return set_step_ms(k, v);
    case UNPICKLE: return factor(v, &k->unpickle);
    case PERSISTENT: return answer == 1 && (k->persistent = 1);
    }
    return 0;
}

pp_status pp_knobs_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    const char *names[KNOBS + 1] = {0}, *eq = strchr(text, '=');
    char name[40];
    snprintf(name, sizeof(name), "%.*s", (int)(eq ? eq - text : (long)strlen(text)), text);
    for (int i = 0; i < REFUSED; i++)
        if (is(name, refused[i].name))
            return pp_fail(err, PP_E_UNSUPPORTED, "%s cannot be predicted: %s", name, refused[i].why);
    int i = 0;
    while (i < KNOBS && !is(knobs[i].name, name))
        names[i] = knobs[i].name, i++;
    if (i == KNOBS) {
        const char *near = pp_nearest(name, names);
        return pp_fail(err, PP_E_USAGE, "unknown knob '%s'%s%s%s (pipeprobe whatif --set list shows all)",
                       name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    if (eq && knobs[i].kind == DECODE && strncmp(eq + 1, ON_GPU, strlen(ON_GPU)) == 0)
        return pp_nvjpeg_set(k, c, eq + 1 + strlen(ON_GPU), err);
    if (!eq || !set(k, c, i, eq + 1))
        return pp_fail(err, PP_E_USAGE, "'%s' is not valid; use %s=%s%s", text, name, knobs[i].values,
                       ranges[knobs[i].kind]);
    if (knobs[i].kind == UNPICKLE && !(c->unpickle_ns > 0))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "unpickle cannot be predicted: what it takes is not in the recording; pipeprobe exec records it of PyTorch jobs with workers");
    if (knobs[i].kind == PERSISTENT && !(c->may_persist && c->epoch_workers_ns > 0))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "persistent-workers cannot be predicted: no workers of a PyTorch DataLoader that lives for several epochs, and runs to their ends, start again in the recording");
    if (knobs[i].kind == PINNED && k->pinned && c->no_pinning)
        return pp_fail(err, PP_E_UNSUPPORTED, "pinned cannot be predicted: %s", c->no_pinning);
    if (knobs[i].kind == INFLIGHT && c->streaming)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "inflight cannot be predicted: a stream (--stream) is read by one thread, a piece at a "
            "time; record a run by index");
    if (knobs[i].kind == INFLIGHT && !c->inflight)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "inflight cannot be predicted: this loader reads one sample at a time, or what its reads took alone was not recorded; set workers");
    if (knobs[i].kind == HEDGE && c->streaming)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "hedge cannot be predicted: the requests of a stream (--stream) are made once");
    if (knobs[i].kind == SHARD_SIZE && pp_shards_unknown(c))
        return pp_fail(err, PP_E_UNSUPPORTED, "shard-size cannot be predicted: %s", pp_shards_unknown(c));
    if (knobs[i].kind > INFLIGHT && !c->requests.answers)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s cannot be predicted: there are no requests to a remote storage in the recording",
                       name);
    if (knobs[i].kind == HOSTS && isnan(c->requests.slow_host))
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "hosts cannot be predicted: all requests went to one host, or too few to any other");
    if (knobs[i].kind == CACHE_BYTES && isnan(k->cached))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "cache-bytes cannot be predicted: the size of the data set is not in the recording; use cache=SHARE");
    if (knobs[i].kind == PINNED && k->pinned != !c->pageable && c->pageable == 0)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "pinned=no cannot be predicted: the cost of pageable copies was not recorded; run with --pageable");
    return PP_OK;
}
