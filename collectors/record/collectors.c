#include "collectors/record/collectors.h"

#include "collectors/attach/activity.h"
#include "collectors/attach/loaders.h"
#include "collectors/attach/requests.h"
#include "collectors/gpu/gpu.h"
#include "collectors/gpu/reach.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/record/counters.h"
#include "collectors/stacks/stacks.h"
#include "collectors/stacks/threads.h"
#include "collectors/system/counters.h"
#include "collectors/system/job_cpus.h"
#include "collectors/system/memory.h"
#include "collectors/system/neighbours.h"
#include "collectors/system/traffic.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void stop_rows(struct pp_collectors *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->running[i].started)
            c->running[i].row->stop(c->running[i].state);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
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
        stop_rows(c);
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
    stop_rows(c);
}
