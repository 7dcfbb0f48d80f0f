#include "collectors/record/collectors.h"

#include "collectors/attach/session_files.h"
#include "collectors/collector.h"
#include "collectors/gpu/gpu.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/stacks/threads.h"
#include "collectors/store/writer.h"
#include "collectors/system/counters.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/counters.h"
#include "probe/base/err.h"
#include "probe/columns/pages.h"
#include "probe/device/device.h"
#include "probe/storage/cache/cache.h"
#include "probe/storage/request_log.h"

/* ---- what the loader counts of itself ----
 *
 * What the loader counted of itself, once a second (base/counters.h): requests
 * to remote storages, the cache over a storage, pages of columns. Of a set that counted nothing a recording
 * has no rows. Also each remote request by itself, and at the end why the cache was not all that it should be
 * (meta row cache.trouble). Two collectors (collectors/collector.h). */

extern const struct pp_collector pp_collector_counters, pp_collector_requests;

enum { AT_ONCE = 256 };

/* ---- counters ---- */

static const struct pp_counter_set *const sets[] = {&pp_request_counters, &pp_cache_counters,
                                                    &pp_pages_counters};

#define FOUND "of requests, the cache and pages of columns, where a recording has them"

static void counters_poll(void *store)
{
    uint64_t now = pp_now_ns();
    for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
        int any = 0;
        for (unsigned i = 0; i < sets[k]->n; i++)
            any |= pp_counted(sets[k], i) > 0;
        for (unsigned i = 0; any && i < sets[k]->n; i++)
            pp_store_counter(store, now, sets[k]->name[i], (double)pp_counted(sets[k], i));
    }
}

/* What opening the data set took is stored too: the window of the report subtracts it. */
static pp_status counters_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    counters_poll(*out = opts->store);
    return PP_OK;
}

static void counters_stop(void *store)
{
    char trouble[480];
    counters_poll(store);
    if (pp_cache_trouble(trouble, sizeof(trouble)))
        pp_store_meta_text(store, "cache", "trouble", trouble);
}

const struct pp_collector pp_collector_counters = {
    .name = "counters of the loader",
    .found = FOUND,
    .start = counters_start,
    .poll = counters_poll,
    .stop = counters_stop,
};

/* ---- requests ---- */

struct requests {
    struct pp_store *store;
    uint8_t placed[PP_REQUEST_PLACES]; /* 1: the place stands in the file */
    struct pp_request taken[AT_ONCE];
};

static void requests_poll(void *state)
{
    struct requests *s = state;
    size_t n;
    while ((n = pp_request_log_take(s->taken, AT_ONCE)) > 0)
        for (size_t i = 0; i < n; i++) {
            const struct pp_request *r = &s->taken[i];
            struct pp_request_place place;
            if (r->place && !s->placed[r->place] && pp_request_log_place(r->place, &place)) {
                s->placed[r->place] = 1;
                pp_store_request_place(s->store, r->place, place.address, place.prefix);
            }
            pp_store_request(s->store, &(struct pp_request_row){.start_ns = r->start_ns,
                                                                .queue_ns = r->queue_ns,
                                                                .resolve_ns = r->resolve_ns,
                                                                .connect_ns = r->connect_ns,
                                                                .tls_ns = r->tls_ns,
                                                                .first_byte_ns = r->first_byte_ns,
                                                                .transfer_ns = r->transfer_ns,
                                                                .cpu_ns = r->cpu_ns,
                                                                .bytes = r->bytes,
                                                                .sample = r->sample,
                                                                .epoch = (uint32_t)r->epoch,
                                                                .status = (uint32_t)r->status,
                                                                .attempt = (uint32_t)r->attempt,
                                                                .flags = r->flags,
                                                                .place = r->place});
        }
}

static pp_status requests_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct requests *s = calloc(1, sizeof(*s));
    if (!s || !pp_request_log_set(1)) {
        free(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record requests");
    }
    s->store = opts->store;
    *out = s;
    return PP_OK;
}

static void requests_stop(void *state)
{
    struct requests *s = state;
    uint64_t lost = pp_request_log_lost();
    requests_poll(s);
    if (lost)
        pp_store_loss(s->store, "requests", lost, "more ended between two polls than are kept");
    pp_request_log_set(0);
    free(s);
}

const struct pp_collector pp_collector_requests = {
    .name = "remote requests",
    .found = FOUND,
    .start = requests_start,
    .poll = requests_poll,
    .stop = requests_stop,
};

#define PERIOD_NS 1000000000u

const struct pp_collector *const pp_collector_rows[] = {&pp_collector_process,
                                                        &pp_collector_machine,
                                                        &pp_collector_pressure,
                                                        &pp_collector_cgroup,
                                                        &pp_collector_memory,
                                                        &pp_collector_traffic,
                                                        &pp_collector_job_requests,
                                                        &pp_collector_counters,
                                                        &pp_collector_requests,
                                                        &pp_collector_cupti,
                                                        &pp_collector_nvml,
                                                        &pp_collector_nvtx,
                                                        &pp_collector_loaders,
                                                        &pp_collector_activity,
                                                        &pp_collector_neighbours,
                                                        &pp_collector_job_cpus,
                                                        &pp_collector_stacks,
                                                        &pp_collector_threads,
                                                        NULL};

struct running {
    const struct pp_collector *row; /* that applies */
    int started;
    void *state;
    char text[520];
};

struct pp_collectors {
    struct pp_collect_opts opts;
    pthread_t thread; /* polls the rows that block */
    int has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop;        /* guarded by lock */
    uint64_t cpu_ns; /* of the thread; read after it has ended */
    size_t n;
    struct running running[];
};

static void poll_rows(struct pp_collectors *c, int blocks)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct running *r = &c->running[i];
        if (r->started && r->row->blocks == blocks)
            r->row->poll(r->state);
    }
}

void pp_collectors_poll(struct pp_collectors *c)
{
    if (c)
        poll_rows(c, 0);
}

static void *thread_main(void *arg)
{
    struct pp_collectors *c = arg;
    uint64_t next = pp_now_ns();
    pthread_setname_np(pthread_self(), "pp-gpu");
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        if (pp_now_ns() < next) {
            pp_cond_wait_until(&c->wake, &c->lock, next);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        poll_rows(c, 1);
        next = pp_now_ns() + c->opts.period_ns;
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    c->cpu_ns = pp_thread_cpu_ns();
    return NULL;
}

pp_status pp_collectors_start(const struct pp_collect_opts *opts, struct pp_collectors **out,
                              struct pp_err *err)
{
    const struct pp_collector *const *rows = opts->rows ? opts->rows : pp_collector_rows;
    struct pp_device_info device = {0};
    struct pp_reach_root here = pp_reach_here();
    size_t n = 0;
    *out = NULL;
    while (rows[n])
        n++;
    struct pp_collectors *c = calloc(1, sizeof(*c) + n * sizeof(c->running[0]));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the collectors");
    c->opts = *opts;
    c->opts.period_ns = opts->period_ns ? opts->period_ns : PERIOD_NS;
    pthread_mutex_init(&c->lock, NULL);
    pp_cond_init(&c->wake);
    if (opts->device)
        pp_device_info(opts->device, &device);
    else if (!opts->rows)
        pp_program_gpu_store(&here, opts->gpu_activity, opts->store);
    for (size_t i = 0; i < n; i++) {
        const struct pp_collector *row = rows[i];
        struct pp_err why = {.code = PP_OK};
        if (!row->start || (row->device && (!device.kind || strcmp(row->device, device.kind) != 0)))
            continue;
        struct running *r = &c->running[c->n++];
        r->row = row;
        c->has_thread |= row->blocks;
        r->started = row->start(&c->opts, &r->state, &why) == PP_OK;
        if (!r->started)
            snprintf(r->text, sizeof(r->text), "not recorded: %s", why.text);
        else if (row->describe)
            snprintf(r->text, sizeof(r->text), "%s", row->describe(r->state));
        if (row->key)
            pp_store_meta_text(c->opts.store, row->section, row->key, r->text);
    }
    int rc = c->has_thread ? pthread_create(&c->thread, NULL, thread_main, c) : 0;
    if (rc) {
        c->has_thread = 0;
        pp_collectors_stop(c);
        return pp_fail_errno(err, rc, "cannot start the thread of the GPU collector");
    }
    *out = c;
    return PP_OK;
}

const char *pp_collectors_describe(const struct pp_collectors *c, const struct pp_collector *row)
{
    for (size_t i = 0; c && i < c->n; i++)
        if (c->running[i].row == row)
            return c->running[i].text;
    return NULL;
}

void pp_collectors_stop(struct pp_collectors *c)
{
    if (!c)
        return;
    if (c->has_thread) {
        pthread_mutex_lock(&c->lock);
        c->stop = 1;
        pthread_cond_signal(&c->wake);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
        uint64_t before = pp_thread_cpu_ns();
        poll_rows(c, 1);
        pp_store_meta_num(c->opts.store, "gpu", "monitor_cpu_ns",
                          (double)(c->cpu_ns + pp_thread_cpu_ns() - before), "ns");
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->running[i].started)
            c->running[i].row->stop(c->running[i].state);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
