/* The knobs of the what-if as a table: name, values, and how text becomes numbers; and those that are
 * refused, with the reason. */
#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "report/replay/whatif.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { COUNT, FACTOR, CPUS, BATCH, ORDER, PINNED, OVERLAP, CACHE, BANDWIDTH, LATENCY, STEP, STEP_MS };

#define MOST_COUNT 1024
#define MOST_BATCH 1000000
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)

/* What a value has to be, where its name does not say it. */
static const char *const ranges[] = {
    [COUNT] = ", a whole number from 1 to " TEXT(MOST_COUNT),
    [FACTOR] = ", a number from 0 on",
    [CPUS] = ", a number above 0",
    [BATCH] = ", a whole number from 1 to " TEXT(MOST_BATCH),
    [ORDER] = "",
    [PINNED] = "",
    [OVERLAP] = "",
    [CACHE] = " from 0 to 1",
    [BANDWIDTH] = ", such as 200M",
    [LATENCY] = ", a number from 0 on",
    [STEP] = ", a number from 0 on",
    [STEP_MS] = ", a number above 0",
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
    {"overlap", "on|off", "copies beside the steps (copy-buffers 2 or 1)", OVERLAP, 0},
    {"batch-size", "N", "samples per batch; unless the step is given too, it is taken to grow with it", BATCH,
     0},
    {"order", "in-order|out-of-order", "how batches are delivered", ORDER, 0},
    {"pinned", "yes|no", "page-locked batch memory: copies cost no CPU", PINNED, 0},
    {"cpus", "N", "usable CPUs; fractions for a quota", CPUS, 0},
    {"cache", "warm|SHARE", "part of the reads that storage does not see", CACHE, 0},
    {"storage-latency", "FACTOR", "times the recorded time blocked in reads", LATENCY, 0},
    {"storage-bandwidth", "BYTES_PER_S", "that all reads share", BANDWIDTH, 0},
    {"decode", "FACTOR", "times the recorded CPU time of decoding", FACTOR, AT(decode)},
    {"transform", "FACTOR", "times that of transforms", FACTOR, AT(transform)},
    {"collate", "FACTOR", "times that of collating", FACTOR, AT(collate)},
    {"copy", "FACTOR", "times the recorded time of copies to the device", FACTOR, AT(copy)},
    {"sync", "FACTOR", "times the time in device syncs", FACTOR, AT(sync)},
    {"collective", "FACTOR", "times what a step takes the other ranks; 0: nobody is waited for", FACTOR,
     AT(collective)},
    {"retries", "FACTOR", "times the time spent backing off from failed reads", FACTOR, AT(retry)},
    {"step", "FACTOR", "times the trainer's step", STEP, 0},
    {"step-ms", "MS", "the trainer's step, without waiting", STEP_MS, 0},
#undef AT
};

static const struct {
    const char *name, *why;
} refused[] = {
    {"gil",
     "what holds an interpreter's lock, and for how long, is not in the recording; only a run without it can tell"},
    {"gpu-decode",
     "how fast the device decodes, and what that takes from its steps, is not in the recording; only a run can tell"},
    {"format",
     "what another file format costs to read and decode is not in the recording; convert a part of the data and record it"},
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

static int factor(const char *v, double *out)
{
    return pp_parse_double(v, out) == PP_OK && *out >= 0 && *out < 1e9;
}

static int set_step_ms(struct pp_knobs *k, const char *v)
{
    double ms;
    return positive(v, &ms) && (k->step_ns = ms * 1e6, 1);
}

static int set(struct pp_knobs *k, int i, const char *v)
{
    int64_t n;
    uint64_t bytes;
    int answer = yes_no(v);
    switch (knobs[i].kind) {
    case COUNT:
        return pp_parse_int(v, &n) == PP_OK && n >= 1 && n <= MOST_COUNT &&
               (*(int *)((char *)k + knobs[i].offset) = (int)n, 1);
    case FACTOR: return factor(v, (double *)((char *)k + knobs[i].offset));
    case CPUS: return positive(v, &k->cpus);
    case BATCH: return pp_parse_int(v, &n) == PP_OK && n >= 1 && n <= MOST_BATCH && (k->batch = (double)n, 1);
    case ORDER: return set_order(k, v);
    case PINNED: return answer >= 0 && (k->pinned = answer, 1);
    case OVERLAP: return answer >= 0 && (k->copy_buffers = answer ? 2 : 1, 1);
    case CACHE: return set_cache(k, v);
    case LATENCY: return factor(v, &k->read);
    case BANDWIDTH:
        return pp_parse_size(v, &bytes) == PP_OK && bytes > 0 && (k->bandwidth = (double)bytes, 1);
    case STEP: return factor(v, &k->step) && (k->step_stated = 1);
    case STEP_MS: return set_step_ms(k, v);
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
        return pp_fail(err, PP_E_USAGE,
                       "no knob is called '%s'%s%s%s (pipeprobe whatif --set list shows them all)", name,
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    if (!eq || !set(k, i, eq + 1))
        return pp_fail(err, PP_E_USAGE, "'%s' does not fit; it takes %s=%s%s", text, name, knobs[i].values,
                       ranges[knobs[i].kind]);
    if (knobs[i].kind == PINNED && k->pinned != !c->pageable && c->pageable == 0)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "pinned=no cannot be predicted: what bouncing through pageable memory costs here was not recorded; run with --pageable");
    return PP_OK;
}
