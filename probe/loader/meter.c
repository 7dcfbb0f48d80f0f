#include "probe/loader/meter.h"

#include "probe/loader/loader.h"

void pp_meter_init(struct pp_meter *m, uint64_t capacity, uint64_t depth, uint64_t now_ns)
{
    *m = (struct pp_meter){.capacity = capacity, .depth = depth, .started_ns = now_ns, .changed_ns = now_ns};
}

void pp_meter_set(struct pp_meter *m, uint64_t depth, uint64_t now_ns)
{
    /* Two threads' clock reads may arrive out of order by a few ns: time never runs backwards in the account.
     */
    uint64_t span = now_ns > m->changed_ns ? now_ns - m->changed_ns : 0;
    m->area += (double)m->depth * (double)span;
    if (m->depth == 0)
        m->empty_ns += span;
    if (m->depth >= m->capacity)
        m->full_ns += span;
    m->changed_ns += span;
    m->depth = depth;
}

void pp_meter_report(struct pp_meter *m, const char *name, uint64_t now_ns, struct pp_loader_queue *out)
{
    pp_meter_set(m, m->depth, now_ns);
    uint64_t total = m->changed_ns - m->started_ns;
    double per = total ? 1.0 / (double)total : 0;
    *out = (struct pp_loader_queue){
        .name = name,
        .capacity = m->capacity,
        .puts = m->puts,
        .gets = m->gets,
        .put_wait_ns = m->put_wait_ns,
        .get_wait_ns = m->get_wait_ns,
        .mean_depth = m->area * per,
        .share_empty = (double)m->empty_ns * per,
        .share_full = (double)m->full_ns * per,
    };
}
