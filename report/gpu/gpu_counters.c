#include "report/gpu/gpu_counters.h"

#include <math.h>
#include <string.h>

enum { UTILIZATION, MEMORY, RX, TX, COUNTERS };
static const char *const names[COUNTERS] = {"gpu_utilization_percent", "gpu_memory_used_bytes",
                                            "gpu_pcie_rx_bytes_per_s", "gpu_pcie_tx_bytes_per_s"};

struct readings {
    uint64_t from_ns, to_ns;
    size_t n[COUNTERS];
    double sum[COUNTERS], most[COUNTERS];
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct readings *r = ctx;
    if (t_ns < r->from_ns || t_ns > r->to_ns || strncmp(name, "gpu_", 4) != 0)
        return;
    for (int i = 0; i < COUNTERS; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        r->most[i] = r->n[i] ? fmax(r->most[i], value) : value;
        r->sum[i] += value;
        r->n[i]++;
    }
}

static double mean(const struct readings *r, int i)
{
    return r->n[i] ? r->sum[i] / (double)r->n[i] : NAN;
}

pp_status pp_gpu_counters(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                          struct pp_arena *arena, struct pp_report_gpu *g, struct pp_err *err)
{
    struct readings r = {.from_ns = from_ns, .to_ns = to_ns};
    const char *told = source->meta(source->ctx, "gpu", "counters");
    pp_status st = source->each_counter ? source->each_counter(source->ctx, on_counter, &r, err) : PP_OK;
    g->utilization_share = mean(&r, UTILIZATION) / 100;
    g->memory_used_bytes = r.n[MEMORY] ? r.most[MEMORY] : NAN;
    g->pcie_rx_bytes_per_s = mean(&r, RX);
    g->pcie_tx_bytes_per_s = mean(&r, TX);
    if (!told)
        g->counters_missing = "the recording does not say whether NVML was read";
    else if (strncmp(told, "not recorded", 12) == 0)
        g->counters_missing = pp_arena_copy(arena, told);
    else if (!r.n[MEMORY] && !r.n[UTILIZATION])
        g->counters_missing = "no reading fell into the steady state (there is one a second)";
    return st;
}
