#include "report/replay/costs_impl.h"

#include <math.h>
#include <string.h>

/* ---- counters: what the system and its quota did meanwhile ---- */

struct counted {
    struct {
        double first, last;
        uint64_t first_ns, last_ns;
        int n;
    } row[6];
};
enum { USER, SYSTEM, PROCESS, THROTTLED, FAULTS, NICE };

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    static const char *const names[] = {"machine_cpu_user_ns_total",  "machine_cpu_system_ns_total",
                                        "process_cpu_ns_total",       "cgroup_throttled_ns_total",
                                        "process_major_faults_total", "machine_cpu_nice_ns_total"};
    struct counted *k = ctx;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0) {
            if (!k->row[i].n++)
                k->row[i].first = value, k->row[i].first_ns = t_ns;
            k->row[i].last = value;
            k->row[i].last_ns = t_ns;
        }
}

/* Growth per ns of wall time; of CPU time: CPUs. NAN: fewer than two values. */
static double growth(const struct counted *k, int i)
{
    if (k->row[i].n < 2 || k->row[i].last_ns <= k->row[i].first_ns)
        return NAN;
    return (k->row[i].last - k->row[i].first) / (double)(k->row[i].last_ns - k->row[i].first_ns);
}

static pp_status read_counters(const struct pp_source *source, struct pp_costs *c, struct pp_err *err)
{
    struct counted k = {0};
    c->outside_cpus = c->process_cpus = c->throttled_share = c->major_faults_per_s = NAN;
    if (!source->each_counter)
        return PP_OK;
    pp_status st = source->each_counter(source->ctx, on_counter, &k, err);
    c->process_cpus = growth(&k, PROCESS);
    double nice = growth(&k, NICE); /* older recordings have none */
    c->outside_cpus = fmax(growth(&k, USER) + (isnan(nice) ? 0 : nice) + growth(&k, SYSTEM) - c->process_cpus,
                           0);
    c->throttled_share = growth(&k, THROTTLED);
    c->major_faults_per_s = growth(&k, FAULTS) * 1e9;
    return st;
}

/* ---- configuration ---- */

static void read_config(const struct pp_source *s, struct pp_costs *c)
{
    c->workers = (int)pp_source_number(s, "config", "workers", 0);
    c->prefetch = (int)pp_source_number(s, "config", "prefetch", 2);
    c->batch_size = pp_source_number(s, "config", "batch_size", 0);
    c->copy_buffers = (int)pp_source_number(s, "config", "copy_buffers", 2);
    c->in_order = !pp_source_yes(s, "config", "out_of_order");
    c->pageable = pp_source_yes(s, "config", "pageable");
    c->sync_every_step = pp_source_yes(s, "config", "sync_every_step");
    c->streaming = pp_source_yes(s, "config", "stream");
    c->dataset_samples = (uint64_t)pp_source_number(s, "config", "dataset_samples", 0);
    c->usable_cpus = pp_source_number(s, "environment", "usable_cpus", NAN);
    c->machine_cpus = pp_source_number(s, "environment", "cpus_affinity", c->usable_cpus);
    c->online_cpus = pp_source_number(s, "environment", "cpus_online", c->machine_cpus);
    const char *sharing = s->meta(s->ctx, "environment", "cpu_sharing");
    c->fair_to_groups = sharing && strcmp(sharing, "groups") == 0;
    c->memory_available = pp_source_number(s, "environment", "memory_available", NAN);
}

pp_status pp_costs_facts(const struct pp_source *source, struct pp_costs *c, struct pp_err *err)
{
    read_config(source, c);
    return read_counters(source, c, err);
}
