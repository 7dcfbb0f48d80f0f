#include "probe/loader/fault.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/rng.h"
#include "probe/loader/stop.h"
#include "probe/storage/fault.h"

enum fault_kind {
    READ_LATENCY,
    OPEN_LATENCY,
    READ_BANDWIDTH,
    READ_IOPS,
    SLOW_SHARD,
    READ_ERRORS,
    STRAGGLER,
    SLOW_WORKER,
    DECODE_COST,
    TRANSFORM_COST,
    COLLATE_COST,
    GLOBAL_LOCK,
    STARTUP_COST,
    COLD_CACHE,
    STORAGE_STALL,
    EPOCH_RESTART,
    SYNC_LATENCY,
    COPY_STAGING,
    KINDS
};

/* Kinds of randomness of one sample, kept apart. */
enum { STREAM_LATENCY = 1000, STREAM_TAIL, STREAM_ERROR, STREAM_STRAGGLER };

enum value_type { DURATION, SIZE, NUMBER, SHARE, NOTHING };

static const struct {
    const char *name;
    enum value_type value;
    const char *args, *help;
} faults[KINDS] = {
    [READ_LATENCY] = {"read-latency", DURATION, "TIME[,jitter=J][,tail=P:TIME][,after=TIME]",
                      "every read blocks TIME longer; a share P of them for the tail's TIME"},
    [OPEN_LATENCY] = {"open-latency", DURATION, "TIME[,jitter=J][,after=TIME]",
                      "every open blocks TIME longer (metadata)"},
    [READ_BANDWIDTH] = {"read-bandwidth", SIZE, "BYTES_PER_S[,after=TIME]",
                        "all reads share this bandwidth (token bucket)"},
    [READ_IOPS] = {"read-iops", SIZE, "READS_PER_S[,after=TIME]",
                   "all reads share this rate, independent of their size"},
    [SLOW_SHARD] = {"slow-shard", DURATION, "TIME[,of=N]",
                    "one of N parts of the data blocks TIME longer per read"},
    [READ_ERRORS] = {"read-errors", SHARE, "P[,fails=N]",
                     "the first N attempts to read P of the samples fail with EIO"},
    [STRAGGLER] = {"straggler", SHARE, "P[,cost=TIME]", "P of the samples cost TIME more CPU to decode"},
    [SLOW_WORKER] = {"slow-worker", DURATION, "TIME[,worker=N]", "worker N blocks TIME longer per sample"},
    [DECODE_COST] = {"decode-cost", NUMBER, "FACTOR", "decode takes FACTOR times its CPU time"},
    [TRANSFORM_COST] = {"transform-cost", DURATION, "TIME", "transform takes TIME more CPU per sample"},
    [COLLATE_COST] = {"collate-cost", DURATION, "TIME", "collate takes TIME more CPU per batch"},
    [GLOBAL_LOCK] = {"global-lock", NOTHING, "", "one lock around every decode, like an interpreter lock"},
    [STARTUP_COST] = {"startup-cost", DURATION, "TIME", "every worker needs TIME before its first sample"},
    [COLD_CACHE] = {"cold-cache", DURATION, "TIME",
                    "the first read of a sample misses the page cache and blocks TIME longer"},
    [STORAGE_STALL] = {"storage-stall", DURATION, "TIME[,every=TIME]",
                       "all reads stop for TIME, once per second or per every=TIME"},
    [EPOCH_RESTART] = {"epoch-restart", DURATION, "TIME",
                       "every worker needs TIME before its first sample of each later epoch"},
    [SYNC_LATENCY] = {"sync-latency", DURATION, "TIME", "a device sync takes TIME longer"},
    [COPY_STAGING] = {"copy-staging", SIZE, "BYTES_PER_S",
                      "copies from pageable memory take CPU time at this rate"},
};

struct fault {
    int on;
    double value;  /* ns, bytes/s, factor or share, as the table says */
    double jitter; /* relative half-width of a uniform spread */
    double tail_share, tail_ns;
    double cost_ns, after_ns, every_ns;
    uint64_t of, fails;
    int worker;
};

struct pp_faults {
    struct fault fault[KINDS];
    uint64_t seed, start_ns;
    pthread_mutex_t bucket_lock, global_lock;
    double bucket_free_ns; /* when the shared pipe has moved what was asked of it; guarded by bucket_lock */
    uint64_t samples;      /* of the dataset: what slow-shard divides; 0: unknown */
    atomic_uchar *touched; /* cold-cache: one per sample */
    struct pp_read_faults reads;
    const struct pp_stop *stop; /* of the loader that uses them; NULL: none */
};

const char *pp_faults_help(int i, const char **name, const char **args)
{
    if (i < 0 || i >= KINDS)
        return NULL;
    *name = faults[i].name;
    *args = faults[i].args;
    return faults[i].help;
}

/* Elsewhere a bare number is seconds. A fault's time is mostly milliseconds, and 20 seconds a read is a run
 * that delivers nothing. 0 needs no unit. */
static int lacks_unit(const char *text)
{
    return text[0] && text[strspn(text, "0123456789.")] == '\0' && strpbrk(text, "123456789");
}

/* ---- parsing ---- */

static int parse_value(enum value_type type, const char *text, double *out)
{
    uint64_t u = 0;
    pp_status st = PP_OK;
    switch (type) {
    case DURATION:
        st = lacks_unit(text) ? PP_E_USAGE : pp_parse_duration(text, &u);
        *out = (double)u;
        break;
    case SIZE: st = pp_parse_size(text, &u), *out = (double)u; break;
    case NUMBER:
    case SHARE: st = pp_parse_double(text, out); break;
    case NOTHING: return text[0] == '\0';
    }
    return st == PP_OK && *out >= 0 && (type != SHARE || *out <= 1) && (type != SIZE || *out >= 1);
}

static int parse_key(struct fault *f, const char *key, const char *text)
{
    int64_t n;
    if (!strcmp(key, "jitter"))
        return parse_value(SHARE, text, &f->jitter);
    if (!strcmp(key, "tail")) {
        const char *colon = strchr(text, ':');
        char share[32];
        if (!colon || (size_t)(colon - text) >= sizeof(share))
            return 0;
        snprintf(share, sizeof(share), "%.*s", (int)(colon - text), text);
        return parse_value(SHARE, share, &f->tail_share) && parse_value(DURATION, colon + 1, &f->tail_ns);
    }
    if (!strcmp(key, "cost"))
        return parse_value(DURATION, text, &f->cost_ns);
    if (!strcmp(key, "after"))
        return parse_value(DURATION, text, &f->after_ns);
    if (!strcmp(key, "every"))
        return parse_value(DURATION, text, &f->every_ns) && f->every_ns > 0;
    if (pp_parse_int(text, &n) != PP_OK || n < 0)
        return 0;
    if (!strcmp(key, "of"))
        return f->of = (uint64_t)n, n > 0;
    if (!strcmp(key, "fails"))
        return f->fails = (uint64_t)n, 1;
    if (!strcmp(key, "worker"))
        return f->worker = (int)n, 1;
    return 0;
}

/* Whether the table's argument text of kind mentions "key=". */
static int takes_key(enum fault_kind kind, const char *key)
{
    char pattern[32];
    snprintf(pattern, sizeof(pattern), ",%s=", key);
    return strstr(faults[kind].args, pattern) != NULL;
}

/* Why text, the value of key (NULL: the fault's own), was refused. */
static pp_status fail_value(enum fault_kind kind, const char *spec, const char *key, const char *text,
                            struct pp_err *err)
{
    const char *time = key && !strcmp(key, "tail") && strchr(text, ':') ? strchr(text, ':') + 1 : text;
    int is_time = key ? takes_key(kind, key) && (!strcmp(key, "tail") || !strcmp(key, "cost") ||
                                                 !strcmp(key, "after") || !strcmp(key, "every"))
                      : faults[kind].value == DURATION;
    if (is_time && lacks_unit(time))
        return pp_fail(err, PP_E_USAGE, "--inject %s: %s needs a unit: %sms", spec, time, time);
    return pp_fail(err, PP_E_USAGE, "--inject %s: '%s%s%s' is not valid; use %s=%s", spec, key ? key : "",
                   key && text[0] ? "=" : "", text, faults[kind].name, faults[kind].args);
}

static pp_status parse_one(struct pp_faults *all, const char *spec, struct pp_err *err)
{
    const char *names[KINDS + 1] = {0}, *near;
    char text[256], *args, *key, *save;
    int kind = 0;
    if ((size_t)snprintf(text, sizeof(text), "%s", spec) >= sizeof(text))
        return pp_fail(err, PP_E_USAGE, "--inject: '%.40s...' is too long", spec);
    args = strchr(text, '=');
    args = args ? (*args = '\0', args + 1) : text + strlen(text);
    for (int i = 0; i < KINDS; i++)
        names[i] = faults[i].name;
    while (kind < KINDS && strcmp(names[kind], text) != 0)
        kind++;
    if (kind == KINDS) {
        near = pp_nearest(text, names);
        return pp_fail(err, PP_E_USAGE,
                       "--inject: unknown fault '%s'%s%s%s; pipeprobe run --inject list shows all", text,
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    struct fault *f = &all->fault[kind];
    *f = (struct fault){.on = 1, .of = 8, .fails = 1, .cost_ns = 50e6, .every_ns = 1e9};
    char *value = strtok_r(args, ",", &save);
    if (!parse_value(faults[kind].value, value ? value : "", &f->value))
        return fail_value(kind, spec, NULL, value ? value : "", err);
    while ((key = strtok_r(NULL, ",", &save))) {
        char *eq = strchr(key, '=');
        if (eq)
            *eq = '\0';
        if (!eq || !takes_key(kind, key) || !parse_key(f, key, eq + 1))
            return fail_value(kind, spec, key, eq ? eq + 1 : "", err);
    }
    return PP_OK;
}

pp_status pp_faults_parse(const char *const *specs, int n, uint64_t seed, struct pp_faults **out,
                          struct pp_err *err)
{
    struct pp_faults *f = calloc(1, sizeof(*f));
    pp_status st = f ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "--inject: no memory");
    if (!f)
        return st;
    f->seed = seed;
    f->start_ns = pp_now_ns();
    pthread_mutex_init(&f->bucket_lock, NULL);
    pthread_mutex_init(&f->global_lock, NULL);
    for (int i = 0; i < n && st == PP_OK; i++)
        st = parse_one(f, specs[i], err);
    if (st != PP_OK) {
        pp_faults_destroy(f);
        f = NULL;
    }
    *out = f;
    return st;
}

void pp_faults_destroy(struct pp_faults *f)
{
    if (!f)
        return;
    pthread_mutex_destroy(&f->global_lock);
    pthread_mutex_destroy(&f->bucket_lock);
    free(f->touched);
    free(f);
}

void pp_faults_set_stop(struct pp_faults *f, const struct pp_stop *stop)
{
    if (f)
        f->stop = stop;
}

pp_status pp_faults_set_dataset(struct pp_faults *f, uint64_t samples, struct pp_err *err)
{
    if (!f)
        return PP_OK;
    f->samples = samples;
    if (!f->fault[COLD_CACHE].on)
        return PP_OK;
    f->touched = calloc(samples ? samples : 1, sizeof(*f->touched));
    return f->touched ? PP_OK
                      : pp_fail(err, PP_E_NO_MEMORY, "--inject cold-cache: no memory for %llu samples",
                                (unsigned long long)samples);
}

/* ---- acting ---- */

/* Takes that much CPU time on the calling thread: under contention it lasts as much longer as real work
 * would. */
static void burn_cpu_ns(double ns)
{
    uint64_t end = pp_thread_cpu_ns() + (uint64_t)ns;
    volatile uint64_t x = 1;
    while (pp_thread_cpu_ns() < end)
        for (int i = 0; i < 200; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
}

static const struct fault *active(const struct pp_faults *f, enum fault_kind kind)
{
    if (!f || !f->fault[kind].on)
        return NULL;
    const struct fault *one = &f->fault[kind];
    return one->after_ns > 0 && (double)(pp_now_ns() - f->start_ns) < one->after_ns ? NULL : one;
}

static double unit_of(const struct pp_faults *f, const struct pp_read_context *at, uint64_t stream)
{
    struct pp_rng r = pp_rng_key(f->seed, at->epoch, at->sample, stream);
    return pp_rng_unit(&r);
}

/* An injected wait is no real one: it ends when the run is to stop. */
static void block(const struct pp_faults *f, double ns)
{
    if (ns < 1)
        return;
    if (f->stop)
        pp_stop_sleep(f->stop, (uint64_t)ns);
    else
        pp_sleep_until_ns(pp_now_ns() + (uint64_t)ns);
}

static void burn(const struct pp_faults *f, double ns)
{
    enum { SLICE_NS = 20000000 };
    for (; ns > 0 && !(f->stop && pp_stop_is_requested(f->stop)); ns -= SLICE_NS)
        burn_cpu_ns(ns < SLICE_NS ? ns : SLICE_NS);
}

static double latency_of(const struct pp_faults *f, const struct fault *one, const struct pp_read_context *at,
                         uint64_t stream)
{
    if (one->tail_share > 0 && unit_of(f, at, STREAM_TAIL) < one->tail_share)
        return one->tail_ns;
    return one->value * (1 + one->jitter * (2 * unit_of(f, at, stream) - 1));
}

pp_status pp_fault_before_read(void *ctx, const struct pp_read_context *at, struct pp_err *err)
{
    const struct pp_faults *f = ctx;
    const struct fault *one;
    if (!f)
        return PP_OK;
    if ((one = active(f, OPEN_LATENCY)))
        block(f, latency_of(f, one, at, STREAM_LATENCY + 100));
    if ((one = active(f, READ_LATENCY)))
        block(f, latency_of(f, one, at, STREAM_LATENCY));
    if ((one = active(f, SLOW_SHARD))) {
        /* A shard is a run of neighbours in the dataset; without its size, every of-th sample. */
        uint64_t shard = (f->samples + one->of - 1) / one->of;
        if (f->samples ? at->sample < shard : pp_mix64(at->sample + 1) % one->of == 0)
            block(f, one->value);
    }
    if ((one = active(f, STORAGE_STALL))) {
        /* Until the end of the stall that now lies in; the run begins between two stalls. */
        double period = one->every_ns + one->value, in = fmod((double)(pp_now_ns() - f->start_ns), period);
        if (in >= one->every_ns)
            block(f, period - in);
    }
    if ((one = active(f, SLOW_WORKER)) && at->worker == one->worker)
        block(f, one->value);
    if ((one = active(f, READ_ERRORS)) && (uint64_t)at->attempt < one->fails &&
        unit_of(f, at, STREAM_ERROR) < one->value)
        return pp_fail(err, PP_E_TRANSIENT, "reading sample %llu failed: Input/output error",
                       (unsigned long long)at->sample);
    return PP_OK;
}

static void after_read(void *ctx, const struct pp_read_context *at, struct pp_read *r)
{
    struct pp_faults *f = ctx;
    const struct fault *cold = active(f, COLD_CACHE);
    /* relaxed: two workers never read the same sample at once, and a flag guards no other memory */
    if (cold && f->touched && at->sample < f->samples &&
        !atomic_exchange_explicit(&f->touched[at->sample], 1, memory_order_relaxed)) {
        block(f, cold->value);
        r->cache_hit_bytes = 0;
    }
    const struct fault *bandwidth = active(f, READ_BANDWIDTH), *iops = active(f, READ_IOPS);
    double ns = (bandwidth ? (double)r->got / bandwidth->value * 1e9 : 0) + (iops ? 1e9 / iops->value : 0);
    if (!(ns > 0))
        return;
    pthread_mutex_lock(&f->bucket_lock);
    f->bucket_free_ns = fmax(f->bucket_free_ns, (double)pp_now_ns()) + ns;
    double until = f->bucket_free_ns;
    pthread_mutex_unlock(&f->bucket_lock);
    block(f, until - (double)pp_now_ns());
}

const struct pp_read_faults *pp_faults_reads(struct pp_faults *f)
{
    if (!f)
        return NULL;
    f->reads = (struct pp_read_faults){.ctx = f, .before = pp_fault_before_read, .after = after_read};
    return &f->reads;
}

uint64_t pp_fault_decode_begin(struct pp_faults *f)
{
    if (active(f, GLOBAL_LOCK))
        pthread_mutex_lock(&f->global_lock);
    return f ? pp_thread_cpu_ns() : 0;
}

void pp_fault_decode_end(struct pp_faults *f, const struct pp_read_context *at, uint64_t token)
{
    const struct fault *one;
    if (!f)
        return;
    if ((one = active(f, DECODE_COST)) && one->value > 1)
        burn(f, (one->value - 1) * (double)(pp_thread_cpu_ns() - token));
    if ((one = active(f, STRAGGLER)) && unit_of(f, at, STREAM_STRAGGLER) < one->value)
        burn(f, one->cost_ns);
    if (f->fault[GLOBAL_LOCK].on)
        pthread_mutex_unlock(&f->global_lock);
}

void pp_fault_pass(struct pp_faults *f, enum pp_fault_place place)
{
    static const struct {
        enum fault_kind kind;
        void (*spend)(const struct pp_faults *f, double ns);
    } places[] = {[PP_FAULT_TRANSFORM] = {TRANSFORM_COST, burn},
                  [PP_FAULT_COLLATE] = {COLLATE_COST, burn},
                  [PP_FAULT_START] = {STARTUP_COST, block},
                  [PP_FAULT_EPOCH] = {EPOCH_RESTART, block},
                  [PP_FAULT_SYNC] = {SYNC_LATENCY, block}};
    const struct fault *one = active(f, places[place].kind);
    if (one)
        places[place].spend(f, one->value);
}

void pp_fault_copy(struct pp_faults *f, size_t bytes, int pinned)
{
    const struct fault *one = active(f, COPY_STAGING);
    if (one && !pinned)
        burn(f, (double)bytes / one->value * 1e9);
}

/* ---- ballast ---- */

#define BALLAST_SLICE_NS 10000000.0

struct pp_ballast {
    atomic_int stop;
    double share; /* of each slice */
    int started;
    pthread_t thread[];
};

static void *ballast_main(void *arg)
{
    struct pp_ballast *b = arg;
    pthread_setname_np(pthread_self(), "pp-ballast");
    uint64_t slice_end = pp_now_ns();
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
        uint64_t now = pp_now_ns();
        slice_end = (slice_end > now ? slice_end : now) + (uint64_t)BALLAST_SLICE_NS;
        burn_cpu_ns(b->share * BALLAST_SLICE_NS);
        if (pp_now_ns() < slice_end)
            pp_sleep_until_ns(slice_end);
    }
    return NULL;
}

pp_status pp_ballast_start(double cpus, int threads, struct pp_ballast **out, struct pp_err *err)
{
    struct pp_ballast *b = calloc(1, sizeof(*b) + (size_t)threads * sizeof(b->thread[0]));
    int rc = 0;
    *out = NULL;
    if (!b)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a ballast of %d threads", threads);
    b->share = cpus / threads;
    while (b->started < threads && (rc = pthread_create(&b->thread[b->started], NULL, ballast_main, b)) == 0)
        b->started++;
    if (rc != 0) {
        pp_ballast_stop(b);
        return pp_fail_errno(err, rc, "starting a ballast of %d threads failed", threads);
    }
    *out = b;
    return PP_OK;
}

void pp_ballast_stop(struct pp_ballast *b)
{
    if (!b)
        return;
    atomic_store_explicit(&b->stop, 1, memory_order_relaxed); /* the flag guards no other memory */
    for (int i = 0; i < b->started; i++)
        pthread_join(b->thread[i], NULL);
    free(b);
}
