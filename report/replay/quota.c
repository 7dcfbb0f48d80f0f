#include "report/replay/quota.h"

#include <math.h>
#include <stdlib.h>

static int by_float(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

/* ---- one after another, at a pace ---- */

static float middle(float *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_float);
    return n ? v[n / 2] : 0;
}

/* How long a read would be blocked behind the one before it, in the order of their ends, if each takes the
 * storage `gap`. */
static double in_line(const struct pp_cost_sample *r, const struct pp_cost_sample *before, double gap)
{
    return gap +
           (before->read_end_ns > r->read_start_ns ? (double)(before->read_end_ns - r->read_start_ns) : 0);
}

/* A quota of operations (a throttled volume, a metadata server) answers one read after another at a fixed
 * pace: how long a read is blocked then says how many were before it. Reads that are slow by themselves take
 * their time whoever else reads; they, too, may end at a fixed pace, when what paces them is the CPU that
 * decodes them. So both are tried on every read: it is a line if that explains the times blocked twice as
 * well, and to a quarter of the pace. 0: it is none. v: room for c->n. */
static double at_a_pace(const struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    size_t n = 0;
    for (size_t i = 1; i < c->n; i++)
        if (order[i]->read_start_ns < order[i - 1]->read_end_ns && order[i]->worker != order[i - 1]->worker)
            v[n++] = (float)(order[i]->read_end_ns - order[i - 1]->read_end_ns);
    if (n < 20 || n < 0.3 * (double)c->n)
        return 0; /* hardly any read waited for another */
    double gap = middle(v, n), usual, off_usual;
    for (size_t i = 0; i < c->n; i++)
        v[i] = order[i]->read_blocked;
    usual = middle(v, c->n);
    for (size_t i = 0; i < c->n; i++)
        v[i] = fabsf((float)(order[i]->read_blocked - usual));
    off_usual = middle(v, c->n);
    v[0] = 0;
    for (size_t i = 1; i < c->n; i++)
        v[i] = fabsf((float)(order[i]->read_blocked - in_line(order[i], order[i - 1], gap)));
    double off_line = middle(v, c->n);
    return gap > 0 && off_line < gap / 4 && off_line < off_usual / 2 ? 1e9 / gap : 0;
}

/* ---- in slices: so many at once, and the rest when the next slice begins ---- */

#define TOGETHER_NS 5e6 /* ends of reads that were let go together */
#define MOSTLY 0.7      /* of the workers' time is spent in reads: nothing else paces them */
enum { FEWEST_SLICES = 10 };

/* As the kernel's block throttle has it (blkio.throttle, io.max: slices of 100 ms). Reads that had to wait
 * end with others, whenever they began, and the slices are as long as each other. The most of the reads do:
 * where only some are held up, now and then, it is an outage (outages.h). */
static double in_slices(const struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    double blocked = 0, starts_off = 0, ends_off = 0, let_go = NAN;
    size_t slices = 0, together = 0;
    for (size_t i = 0; i < c->n; i++)
        blocked += c->samples[i].read_blocked;
    for (size_t from = 0, to; from < c->n; from = to) {
        for (to = from + 1;
             to < c->n && (double)(order[to]->read_end_ns - order[to - 1]->read_end_ns) < TOGETHER_NS; to++) {
        }
        size_t held = 0;
        const struct pp_cost_sample *first = NULL;
        for (size_t i = from; i < to; i++) {
            if (order[i]->read_blocked < 2 * TOGETHER_NS)
                continue; /* let go at once */
            first = first ? first : order[i];
            starts_off += fabs((double)order[i]->read_start_ns - (double)first->read_start_ns);
            ends_off += (double)(order[i]->read_end_ns - first->read_end_ns);
            held++;
        }
        if (held < 2)
            continue;
        if (!isnan(let_go))
            v[slices++] = (float)((double)first->read_end_ns - let_go);
        let_go = (double)first->read_end_ns;
        together += held;
    }
    if (slices < FEWEST_SLICES || together < c->n / 2 || starts_off < 4 * ends_off ||
        blocked < MOSTLY * c->workers * c->window_ns)
        return 0;
    double slice = middle(v, slices);
    for (size_t i = 0; i < slices; i++)
        v[i] = fabsf(v[i] - (float)slice);
    return middle(v, slices) < 0.1 * slice ? c->samples_per_s : 0;
}

double pp_quota_reads_per_s(const struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    double paced = at_a_pace(c, order, v);
    return paced > 0 ? paced : in_slices(c, order, v);
}
