#include "report/replay/knobs.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/text.h"
#include "report/replay/nvjpeg.h"
#include "report/replay/requests.h"

enum { MOST_COUNT = 1024, MOST_BATCH = 1000000, MOST_INFLIGHT = 256 };
#define TOO_LARGE 1e9 /* a factor or an amount */

struct pp_knobs pp_knobs_none(void)
{
    return (struct pp_knobs){.read = 1,
                             .first_byte = 1,
                             .decode = 1,
                             .transform = 1,
                             .collate = 1,
                             .op_cpu = 1,
                             .op_blocked = 1,
                             .sampler = 1,
                             .unpickle = 1,
                             .step = 1,
                             .device_decode = 1,
                             .copy = 1,
                             .sync = 1,
                             .retry = 1,
                             .collective = 1};
}

/* ---- what follows from a value ---- */

/* The field has the bytes of a cache: its share of the data, and so of the reads of an epoch. NAN: how large
 * the data are was not recorded. */
static void hold_share(struct pp_knobs *k, const struct pp_costs *c)
{
    double bytes = 0;
    for (size_t i = 0; i < c->n; i++)
        bytes += (double)c->samples[i].bytes / (double)c->n;
    double data = bytes * (double)c->dataset_samples;
    k->cached = data > 0 ? fmin(k->cached / data, 1) : NAN;
}

static void state_step(struct pp_knobs *k, const struct pp_costs *c)
{
    k->step_stated = 1;
}

#define ONE_TENSOR (-1)
#define FIRST_TENSOR 2 /* costs as much as that many more at most: the message itself is read besides */

static void unpickle_one(struct pp_knobs *k, const struct pp_costs *c)
{
    if (k->unpickle != ONE_TENSOR)
        return;
    k->unpickle = 1 / c->batch_tensors;
    k->unpickle_most = fmin(FIRST_TENSOR / c->batch_tensors, 1);
}

#define MUCH_THROTTLED 0.02 /* of the time */

/* As many CPUs as there are, for us alone; of a quota that throttles, twice as many. */
static void lift_quota(struct pp_knobs *k, const struct pp_costs *c)
{
    k->cpus = c->throttled_share > MUCH_THROTTLED ? 2 * c->cpus : c->cpus;
}

/* ---- the table ---- */

static const struct pp_knob_word truth[] = {{"True", 1}, {"False", 0}, {NULL, 0}},
                                 only_true[] = {{"True", 1}, {NULL, 0}},
                                 order[] = {{"True", 1},
                                            {"False", 2},
                                            {"in-order", 1},
                                            {"out-of-order", 2},
                                            {NULL, 0}},
                                 overlap[] = {{"True", 2}, {"False", 1}, {NULL, 0}},
                                 warm[] = {{"warm", 1}, {NULL, 0}}, cached[] = {{"cached", 0}, {NULL, 0}},
                                 late[] = {{"p95", 0.95}, {"p99", 0.99}, {NULL, 0}},
                                 kept[] = {{"kept", 1}, {NULL, 0}}, even[] = {{"even", 1}, {NULL, 0}},
                                 none[] = {{"none", 1}, {NULL, 0}}, no_time[] = {{"none", 0}, {NULL, 0}},
                                 one_tensor[] = {{"one-tensor", ONE_TENSOR}, {NULL, 0}};

#define AT(member) .field = offsetof(struct pp_knobs, member)

/* clang-format off */
const struct pp_knob pp_knob_rows[] = {
    [PP_KNOB_NUM_WORKERS] =
    {"num_workers", "workers fewer-workers", "N", "decoding threads, or processes; 0: a PyTorch trainer makes its batches",
     PP_KNOB_COUNT, AT(workers), .most = MOST_COUNT, .zero = PP_NO_WORKERS, .needs = PP_NEEDS_PYTORCH, .is_argument = 1, .option = "workers", .step = PP_STEP_ONE, .recorded = "workers"},
    [PP_KNOB_PREFETCH_FACTOR] =
    {"prefetch_factor", "prefetch", "N", "batches in flight per worker", PP_KNOB_COUNT, AT(prefetch),
     .most = MOST_COUNT, .is_argument = 1, .usual = 2, .option = "prefetch", .step = PP_STEP_ONE, .recorded = "prefetch"},
    [PP_KNOB_PIN_MEMORY] =
    {"pin_memory", "pinned pin", "True|False",
     "page-locked batch memory: copies cost no CPU, and do not block a PyTorch job", PP_KNOB_SWITCH, AT(pinned),
     .words = truth, .needs = PP_NEEDS_COPIES, .is_argument = 1, .option = "pageable", .flag = -1},
    [PP_KNOB_PERSISTENT_WORKERS] =
    {"persistent_workers", "persistent", "True", "PyTorch's workers stay for all epochs", PP_KNOB_SWITCH, AT(persistent),
     .words = only_true, .needs = PP_NEEDS_RESTARTS, .is_argument = 1},
    [PP_KNOB_IN_ORDER] =
    {"in_order", "order", "True|False", "delivery order of batches: as sampled, or as finished", PP_KNOB_SWITCH, AT(order),
     .words = order, .is_argument = 1, .usual = 1, .option = "out-of-order", .flag = -1},

    {"copy-buffers", "buffers", "N", "batches on the device", PP_KNOB_COUNT, AT(copy_buffers), .most = MOST_COUNT,
     .option = "copy-buffers", .step = PP_STEP_ONE, .recorded = "copy_buffers"},
    {"overlap", NULL, "True|False", "copies overlap the steps (copy-buffers 2 or 1)", PP_KNOB_SWITCH, AT(copy_buffers),
     .words = overlap},
    {"batch_size", "batch", "N", "samples per batch; the step grows with it unless given", PP_KNOB_COUNT, AT(batch),
     .most = MOST_BATCH, .is_argument = 1, .option = "batch-size", .step = PP_STEP_DOUBLE, .recorded = "batch_size"},
    {"cpus", NULL, "N", "usable CPUs; fractions for a quota", PP_KNOB_AMOUNT, AT(cpus), .step = PP_STEP_ONE,
     .recorded = "usable_cpus"},
    {"other-load", NULL, "none", "no other program, and no quota, takes these CPUs", PP_KNOB_SWITCH, AT(alone),
     .words = none, .then = lift_quota, .needs = PP_NEEDS_LOAD},
    {"cache", NULL, "warm|SHARE", "share of the reads served from the page cache", PP_KNOB_SHARE, AT(cached), .words = warm,
     .step = PP_STEP_TENTH},
    {"cache-bytes", NULL, "SIZE", "a local cache of that size, of a recording without one", PP_KNOB_BYTES, AT(cached),
     .example = "200GiB", .then = hold_share, .needs = PP_NEEDS_DATA_SIZE},
    {"storage-latency", "storage", "cached|FACTOR", "factor on the time blocked in reads", PP_KNOB_FACTOR, AT(read),
     .words = cached, .step = PP_STEP_FIFTH},
    {"storage-bandwidth", NULL, "BYTES_PER_S", "bandwidth shared by all reads", PP_KNOB_BYTES, AT(bandwidth), .example = "200M"},
    {"inflight", NULL, "N", "reads in flight per worker", PP_KNOB_COUNT, AT(inflight), .most = MOST_INFLIGHT,
     .needs = PP_NEEDS_READS_AHEAD, .option = "inflight"},
    {"object-latency", NULL, "FACTOR", "factor on the time to the first byte of requests", PP_KNOB_FACTOR, AT(first_byte),
     .needs = PP_NEEDS_REQUESTS},
    {"stream-bandwidth", NULL, "BYTES_PER_S", "bandwidth of each connection", PP_KNOB_BYTES, AT(stream), .example = "80M",
     .needs = PP_NEEDS_REQUESTS},
    {"hedge", NULL, "p95|p99", "requests slower than that are made twice", PP_KNOB_WORD, AT(hedge), .words = late,
     .needs = PP_NEEDS_SINGLE_REQUESTS},
    {"connections", NULL, "kept", "no request opens a connection: no DNS, TCP, TLS", PP_KNOB_SWITCH, AT(kept), .words = kept,
     .needs = PP_NEEDS_REQUESTS},
    {"hosts", NULL, "even", "the slowest host answers as the others do", PP_KNOB_SWITCH, AT(even_hosts), .words = even,
     .needs = PP_NEEDS_HOSTS},
    {"shard-size", NULL, "SIZE", "shards of that size behind a stream: fewer requests, or more", PP_KNOB_BYTES,
     AT(shard_bytes), .example = "256MiB", .needs = PP_NEEDS_SHARDS},
    {"decode", NULL, "FACTOR|nvjpeg[:RATE[:MS]]", "factor on the CPU time of decoding; on the GPU, RATE images/s, MS a batch",
     PP_KNOB_FACTOR, AT(decode), .special = "nvjpeg", .set_special = pp_nvjpeg_set, .option = "decode",
     .step = PP_STEP_FIFTH},
    {"transform", NULL, "FACTOR", "factor on the CPU time of transforms", PP_KNOB_FACTOR, AT(transform), .step = PP_STEP_FIFTH},
    {"collate", NULL, "FACTOR", "factor on the CPU time of collating", PP_KNOB_FACTOR, AT(collate)},
    {"op", NULL, "NAME:FACTOR", "factor on one operation of the transforms, or one line, that the Python stacks name",
     PP_KNOB_FACTOR, AT(op_cpu), .special = "", .set_special = pp_op_set},
    {"sampler", NULL, "none|FACTOR", "factor on what the sampler draws for at the start of an epoch", PP_KNOB_FACTOR,
     AT(sampler), .words = no_time, .needs = PP_NEEDS_A_SAMPLER},
    {"unpickle", NULL, "one-tensor|FACTOR", "factor on the time in which the trainer unpickles batches", PP_KNOB_FACTOR,
     AT(unpickle), .words = one_tensor, .then = unpickle_one, .needs = PP_NEEDS_UNPICKLING},
    {"copy", "link", "FACTOR", "factor on the time of copies to the device", PP_KNOB_FACTOR, AT(copy)},
    {"sync", NULL, "none|FACTOR", "factor on the time in device syncs", PP_KNOB_FACTOR, AT(sync), .words = no_time,
     .option = "sync-every-step", .flag = 1},
    {"lock", NULL, "none", "no worker waits for a lock that another one holds", PP_KNOB_SWITCH, AT(unlocked), .words = none,
     .needs = PP_NEEDS_A_LOCK},
    {"slow-worker", NULL, "even", "the slow worker is as fast as the median one", PP_KNOB_SWITCH, AT(even_workers),
     .words = even},
    {"collective", "rank", "FACTOR", "factor on the other ranks' step; 0: no waits for other ranks", PP_KNOB_FACTOR,
     AT(collective)},
    {"retries", "errors", "none|FACTOR", "factor on the time of refused requests and of back-off", PP_KNOB_FACTOR, AT(retry),
     .words = no_time},
    {"step", NULL, "FACTOR", "factor on the trainer's step", PP_KNOB_FACTOR, AT(step), .then = state_step,
     .step = PP_STEP_FIFTH},
    {"step-ms", NULL, "MS", "the trainer's step, without waiting", PP_KNOB_AMOUNT, AT(step_ns), .scale = 1e6},

    {"gil", NULL, NULL, "interpreter lock hold times are not in the recording; measure a run without it", PP_KNOB_NEVER, 0},
    {"gpu-decode", NULL, NULL,
     "the device's decode speed is not in the recording; decode=nvjpeg:IMAGES_PER_S states it", PP_KNOB_NEVER, 0},
    {"format", NULL, NULL,
     "the cost of another file format is not in the recording; convert a part of the data and record it", PP_KNOB_NEVER, 0},
    {"device", NULL, NULL,
     "another device's step and link are not in the recording; step-ms and copy-buffers can be set", PP_KNOB_NEVER, 0},
#ifdef PP_KNOB_OF_A_TEST
    PP_KNOB_OF_A_TEST,
#endif
    {.name = NULL},
};
/* clang-format on */

enum { KNOBS = sizeof(pp_knob_rows) / sizeof(*pp_knob_rows) - 1 };

/* ---- names ---- */

/* '-' is '_'. */
static int is_name(const char *name, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] != text[i] && !(strchr("-_", name[i]) && name[i] && strchr("-_", text[i]) && text[i]))
            return 0;
    return name[length] == '\0' || name[length] == ' ';
}

const struct pp_knob *pp_knob_find(const char *name, size_t length)
{
    for (const struct pp_knob *knob = pp_knob_rows; length && knob->name; knob++) {
        if (is_name(knob->name, name, length))
            return knob;
        for (const char *p = knob->also; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
            if (is_name(p, name, length))
                return knob;
    }
    return NULL;
}

const char *pp_knob_nearest(const char *name)
{
    const char *names[KNOBS + 1] = {0};
    size_t n = 0;
    for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++)
        if (knob->kind != PP_KNOB_NEVER)
            names[n++] = knob->name;
    const char *near = pp_nearest(name, names);
    for (const struct pp_knob *knob = pp_knob_rows; !near && knob->name; knob++) {
        char words[64], *rest = words, *word;
        snprintf(words, sizeof(words), "%s", knob->also ? knob->also : "");
        while (!near && (word = strsep(&rest, " ")))
            near = pp_nearest(name, (const char *const[]){word, NULL}) ? knob->name : NULL;
    }
    return near;
}

/* ---- values ---- */

static const char *plain_truth(const char *text)
{
    static const char *const words[][2] = {{"true", "True"}, {"yes", "True"},    {"on", "True"},
                                           {"1", "True"},    {"false", "False"}, {"no", "False"},
                                           {"off", "False"}, {"0", "False"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(text, words[i][0]) == 0)
            return words[i][1];
    return text;
}

/* A word of the row; NULL: text is none. */
static const double *find_word(const struct pp_knob *knob, const char *text)
{
    const char *word = knob->kind == PP_KNOB_SWITCH ? plain_truth(text) : text;
    for (const struct pp_knob_word *w = knob->words; w && w->word; w++)
        if (strcmp(w->word, word) == 0)
            return &w->value;
    return NULL;
}

int pp_knob_truth(const struct pp_knob *knob, const char *text)
{
    const double *value = find_word(knob, text);
    if (value && knob->flag > 0)
        return *value != 0;
    for (const struct pp_knob_word *w = knob->words; value && w->word; w++)
        if (w->value == *value) { /* "out-of-order" is False, the first word with its value */
            text = w->word;
            break;
        }
    const char *word = plain_truth(text);
    return strcmp(word, "True") == 0 ? 1 : strcmp(word, "False") == 0 ? 0 : -1;
}

int pp_knob_count(const struct pp_knob *knob, const char *text)
{
    int64_t n;
    if (pp_parse_int(text, &n) != PP_OK || n < 0 || n > knob->most)
        return 0;
    return n ? (int)n : knob->zero;
}

static int parse_value(const struct pp_knob *knob, const char *text, double *value)
{
    uint64_t bytes;
    const double *word = find_word(knob, text);
    if (word)
        return *value = *word, 1;
    switch (knob->kind) {
    case PP_KNOB_COUNT: return (*value = pp_knob_count(knob, text)) != 0;
    case PP_KNOB_BYTES:
        return pp_parse_size(text, &bytes) == PP_OK && bytes > 0 && (*value = (double)bytes, 1);
    case PP_KNOB_FACTOR: return pp_parse_double(text, value) == PP_OK && *value >= 0 && *value < TOO_LARGE;
    case PP_KNOB_AMOUNT: return pp_parse_double(text, value) == PP_OK && *value > 0 && *value < TOO_LARGE;
    case PP_KNOB_SHARE: return pp_parse_double(text, value) == PP_OK && *value >= 0 && *value <= 1;
    default: return 0;
    }
}

/* What a value has to be, where the row's values do not say it. */
static const char *range_of(const struct pp_knob *knob, char buf[64])
{
    *buf = '\0';
    switch (knob->kind) {
    case PP_KNOB_COUNT: snprintf(buf, 64, ", a whole number from %d to %.0f", !knob->zero, knob->most); break;
    case PP_KNOB_FACTOR: return ", a number from 0 on";
    case PP_KNOB_AMOUNT: return ", a number above 0";
    case PP_KNOB_SHARE: return " from 0 to 1";
    case PP_KNOB_BYTES: snprintf(buf, 64, ", such as %s", knob->example); break;
    default: break;
    }
    return buf;
}

/* Why it cannot be predicted of these costs, with the value set; NULL: it can. */
static const char *why_unknown(enum pp_knob_needs needs, const struct pp_costs *c, const struct pp_knobs *k)
{
    int compete;
    switch (needs) {
    case PP_NEEDS_NOTHING: break;
    case PP_NEEDS_UNPICKLING:
        if (!(c->unpickle_ns > 0))
            return "what it takes is not in the recording; pipeprobe exec records it of PyTorch jobs with workers";
        return k->unpickle >= 0 ? NULL
                                : "how many tensors a batch has is not in the recording; use unpickle=FACTOR";
    case PP_NEEDS_A_SAMPLER:
        return c->epoch_sampler_ns + c->draw_ns > 0
                   ? NULL
                   : "no sampler of a PyTorch job draws for long in the recording";
    case PP_NEEDS_RESTARTS:
        return c->may_persist && c->epoch_workers_ns > 0
                   ? NULL
                   : "no workers of a PyTorch DataLoader that lives for several epochs, and runs to their ends, start again in the recording";
    case PP_NEEDS_PYTORCH:
        return k->workers != PP_NO_WORKERS || c->per_worker
                   ? NULL
                   : "only a PyTorch DataLoader works without workers, and the recording is of none";
    case PP_NEEDS_COPIES:
        if (k->pinned && c->no_pinning)
            return c->no_pinning;
        return k->pinned || c->pageable ? NULL
                                        : "the cost of pageable copies was not recorded; run with --pageable";
    case PP_NEEDS_DATA_SIZE:
        return isnan(k->cached) ? "the size of the data set is not in the recording; use cache=SHARE" : NULL;
    case PP_NEEDS_READS_AHEAD:
        if (c->streaming)
            return "a stream (--stream) is read by one thread, a piece at a time; record a run by index";
        return c->inflight
                   ? NULL
                   : "this loader reads one sample at a time, or what its reads took alone was not recorded; set num_workers";
    case PP_NEEDS_REQUESTS:
    case PP_NEEDS_SINGLE_REQUESTS:
    case PP_NEEDS_HOSTS:
        if (needs == PP_NEEDS_SINGLE_REQUESTS && c->streaming)
            return "the requests of a stream (--stream) are made once";
        if (!c->requests.answers)
            return "there are no requests to a remote storage in the recording";
        return needs == PP_NEEDS_HOSTS && isnan(c->requests.slow_host)
                   ? "all requests went to one host, or too few to any other"
                   : NULL;
    case PP_NEEDS_SHARDS: return pp_shards_unknown(c);
    case PP_NEEDS_A_LOCK: return c->locked ? NULL : "the recording has no lock that the workers share";
    case PP_NEEDS_LOAD:
        compete = c->others * (1 - pp_costs_helpers_part(c)) > 0.1 || c->groups > 0.05 ||
                  c->throttled_share > MUCH_THROTTLED;
        return compete ? NULL : "the recording has hardly any background load, and no quota that throttles";
    }
    return NULL;
}

pp_status pp_knobs_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    char name[40], range[64];
    const char *eq = strchr(text, '='), *why;
    double value;
    snprintf(name, sizeof(name), "%.*s", (int)(eq ? eq - text : (long)strlen(text)), text);
    const struct pp_knob *knob = pp_knob_find(name, strlen(name));
    if (!knob) {
        const char *near = pp_knob_nearest(name);
        return pp_fail(err, PP_E_USAGE, "unknown knob '%s'%s%s%s (pipeprobe whatif --set list shows all)",
                       name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    if (knob->kind == PP_KNOB_NEVER)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s cannot be predicted: %s", knob->name, knob->help);
    if (eq && knob->special && strncmp(eq + 1, knob->special, strlen(knob->special)) == 0)
        return knob->set_special(k, c, eq + 1 + strlen(knob->special), err);
    if (!eq || !parse_value(knob, eq + 1, &value))
        return pp_fail(err, PP_E_USAGE, "'%s' is not valid; use %s=%s%s", text, name, knob->values,
                       range_of(knob, range));
    void *field = (char *)k + knob->field;
    if (knob->kind == PP_KNOB_COUNT || knob->kind == PP_KNOB_SWITCH)
        *(int *)field = (int)value;
    else
        *(double *)field = knob->scale > 0 ? value * knob->scale : value;
    if (knob->then)
        knob->then(k, c);
    why = why_unknown(knob->needs, c, k);
    return why ? pp_fail(err, PP_E_UNSUPPORTED, "%s cannot be predicted: %s", name, why) : PP_OK;
}

/* ---- several, and what they are elsewhere ---- */

pp_status pp_knobs_set_all(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    char word[PP_KNOB_TEXT];
    pp_status st = PP_OK;
    for (const char *p = text + strspn(text, " "); *p && st == PP_OK; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof(word), "%.*s", (int)n, p);
        st = pp_knobs_set(k, c, word, err);
        p += n;
    }
    return st;
}

const char *pp_knob_option(const char *set, char apart, char buf[PP_KNOB_TEXT])
{
    const char *eq = set ? strchr(set, '=') : NULL;
    const struct pp_knob *knob = eq && !strchr(set, ' ') ? pp_knob_find(set, (size_t)(eq - set)) : NULL;
    if (!knob || !knob->option)
        return NULL;
    if (knob->flag) {
        int on = pp_knob_truth(knob, eq + 1);
        if (on < 0)
            return NULL;
        snprintf(buf, PP_KNOB_TEXT, "--%s%s", on == (knob->flag > 0) ? "" : "no-", knob->option);
        return buf;
    }
    if (knob->special && strncmp(eq + 1, knob->special, strlen(knob->special)) != 0)
        return NULL; /* a factor on what it costs is no setting */
    snprintf(buf, PP_KNOB_TEXT, "--%s%c%s", knob->option, apart, eq + 1);
    return buf;
}

int pp_knob_is_argument(const char *set)
{
    const char *eq = set ? strchr(set, '=') : NULL;
    const struct pp_knob *knob = eq && !strchr(set, ' ') ? pp_knob_find(set, (size_t)(eq - set)) : NULL;
    return knob && knob->is_argument;
}

/* ---- the knob op ---- */

enum { NAMED = 6, NAMES = 256 };

static double part_of(double op, double all)
{
    return all > 0 ? fmin(op / all, 1) : 0;
}

void pp_op_scale(struct pp_knobs *k, const struct pp_costs *c, const struct pp_op *op, double factor)
{
    const struct pp_ops_loader *l = &c->ops.loaders[op->loader];
    double less = 1 - factor, n = l->n[op->of_batch], cpu = l->cpu[op->of_batch];
    if (!l->judged) {
        k->freed_cpus += less * l->cpus * part_of(op->cpu, l->cpu[0] + l->cpu[1]);
        return;
    }
    double on_cpu = 1 - less * part_of(op->cpu, cpu), blocked = 1 - less * part_of(op->n - op->cpu, n - cpu);
    *(op->of_batch ? &k->collate : &k->op_cpu) *= on_cpu;
    k->op_blocked *= op->of_batch ? 1 : blocked; /* what collating is blocked in is not replayed */
}

pp_status pp_op_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    const char *colon = strrchr(text, ':');
    double factor;
    if (!c->ops.n_ops)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "op cannot be predicted: there are no Python stacks of workers in the recording");
    if (!colon || colon == text || pp_parse_double(colon + 1, &factor) != PP_OK || !(factor >= 0) ||
        factor > 1e3)
        return pp_fail(err, PP_E_USAGE, "'op=%s' is not valid; use op=NAME:FACTOR, a number from 0 on", text);
    const struct pp_op *op = pp_ops_find(&c->ops, text, (size_t)(colon - text));
    if (!op) {
        char names[NAMES] = "";
        for (size_t i = 0; i < c->ops.n_ops && i < NAMED; i++)
            pp_text_add(names, sizeof(names), "%s%s", i ? ", " : "", c->ops.ops[i].word);
        return pp_fail(err, PP_E_USAGE, "there is no op '%.*s' in the recording; the largest are: %s",
                       (int)(colon - text), text, names);
    }
    pp_op_scale(k, c, op, factor);
    return PP_OK;
}
