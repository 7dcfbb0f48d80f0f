#include "report/replay/outages.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdlib.h>

static double limit_of(double median)
{
    return fmax(PP_OUTAGE_TIMES * median, PP_OUTAGE_NS);
}

double pp_outages_share(const struct pp_costs *c, const struct pp_cost_sample **order, double median)
{
    double limit = limit_of(median);
    size_t slow = 0, together = 0;
    const struct pp_cost_sample *last = NULL;
    int last_counted = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_cost_sample *x = order[i];
        if (x->read_blocked < limit)
            continue;
        int pair = last && last->worker != x->worker &&
                   (double)(x->read_end_ns - last->read_end_ns) < PP_OUTAGE_NS;
        slow++;
        together += (size_t)pair + (size_t)(pair && !last_counted);
        last_counted = pair;
        last = x;
    }
    return slow >= 4 && c->workers > 1 ? (double)together / (double)slow : 0;
}

/* From the first of these reads to the end of the first to end, less the time that a read takes anyway: the
 * latest beginning and the earliest end that they leave. */
static struct pp_outage outage_of(const struct pp_costs *c, const struct pp_cost_sample **slow, size_t n,
                                  double median)
{
    uint64_t start = slow[0]->read_start_ns;
    for (size_t i = 1; i < n; i++)
        start = slow[i]->read_start_ns < start ? slow[i]->read_start_ns : start;
    double end = (double)(slow[0]->read_end_ns - c->window_start_ns) - median;
    return (struct pp_outage){fmax((double)start - (double)c->window_start_ns, 0), end};
}

/* Of a read's time blocked, what lay in the outage is not its own. */
static void take_out(struct pp_costs *c, const struct pp_outage *o, const struct pp_cost_sample **slow,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pp_cost_sample *x = &c->samples[slow[i] - c->samples];
        double start = (double)x->read_start_ns - (double)c->window_start_ns;
        x->read_blocked = fmaxf(x->read_blocked - (float)(o->end - fmax(start, o->start)), 0);
    }
}

static void keep(struct pp_costs *c, const struct pp_cost_sample **slow, size_t n, double median)
{
    struct pp_outage o = outage_of(c, slow, n, median);
    if (o.end > o.start && (!c->n_outages || o.start >= c->outages[c->n_outages - 1].end)) {
        take_out(c, &o, slow, n);
        c->outages[c->n_outages++] = o;
    }
}

pp_status pp_outages_take(struct pp_costs *c, const struct pp_cost_sample **order, double median,
                          struct pp_err *err)
{
    double limit = limit_of(median);
    size_t n = 0, slow = 0;
    if (pp_outages_share(c, order, median) < PP_OUTAGE_SHARE)
        return PP_OK;
    for (size_t i = 0; i < c->n; i++)
        slow += order[i]->read_blocked >= limit;
    const struct pp_cost_sample **group = malloc(slow * sizeof(*group));
    c->outages = calloc(slow, sizeof(*c->outages));
    if (!group || !c->outages) {
        free(group);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu slow reads", slow);
    }
    for (size_t i = 0; i < c->n; i++) { /* reads that an outage held up end together, behind it */
        if (order[i]->read_blocked < limit)
            continue;
        if (n && (double)(order[i]->read_end_ns - group[n - 1]->read_end_ns) >= PP_OUTAGE_NS) {
            keep(c, group, n, median);
            n = 0;
        }
        group[n++] = order[i];
    }
    if (n)
        keep(c, group, n, median);
    free(group);
    return PP_OK;
}
