#include "report/replay/storage.h"

#include "probe/base/err.h"
#include "report/replay/outages.h"
#include "report/replay/quota.h"
#include "report/stats/spearman.h"

#include <math.h>
#include <stdlib.h>

static int by_float(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

static double at(const float *sorted, size_t n, double q)
{
    return n ? sorted[(size_t)(q * (double)(n - 1))] : NAN;
}

static int by_end(const void *a, const void *b)
{
    const struct pp_cost_sample *x = *(const struct pp_cost_sample *const *)a,
                                *y = *(const struct pp_cost_sample *const *)b;
    return (x->read_end_ns > y->read_end_ns) - (x->read_end_ns < y->read_end_ns);
}

static void sort_by_end(const struct pp_costs *c, const struct pp_cost_sample **order)
{
    for (size_t i = 0; i < c->n; i++)
        order[i] = &c->samples[i];
    qsort(order, c->n, sizeof(*order), by_end);
}

/* ---- a shared link ---- */

enum { MOST_PAIRS = 20000 }; /* looked at: 0.7 is known to 0.01 then */

/* Whether the read was under way when the one before it ended, for another worker, and waited for storage
 * rather than for a CPU. */
static int overlaps(const struct pp_cost_sample *r, const struct pp_cost_sample *before)
{
    return r->read_start_ns < before->read_end_ns && r->worker != before->worker &&
           r->read_blocked >= 0.5 * (double)(r->read_end_ns - r->read_start_ns);
}

/* Sizes that hardly differ tell nothing: 5 % from their mean. */
static int sizes_differ(double sx, double sxx, double n)
{
    return sxx - sx * sx / n > 0.0025 * sxx;
}

/* Reads on one link finish one by one, each as long after the one before as its own bytes take; for reads
 * that are slow by themselves, the gap has nothing to do with the bytes. The serial index is the rank
 * correlation of gap and bytes, over reads that overlapped the one before: where others use the CPUs a few
 * threads are late to notice that their read has ended, which makes one gap long and the next one short, by
 * more than all bytes make them differ. Where all sizes are the same, it is 0: nothing is claimed. */
static double serial_of(const struct pp_costs *c, const struct pp_cost_sample **order, double *bytes_per_s)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, serial = NAN;
    size_t stride = c->n / MOST_PAIRS + 1, pairs = 0;
    double *bytes = malloc(2 * (c->n / stride + 1) * sizeof(*bytes)),
           *gap = bytes ? bytes + c->n / stride + 1 : NULL;
    for (size_t i = 1; bytes && i < c->n; i++) {
        const struct pp_cost_sample *r = order[i], *before = order[i - 1];
        if (!overlaps(r, before))
            continue;
        double x = r->bytes, y = (double)(r->read_end_ns - before->read_end_ns);
        if (i % stride == 0)
            bytes[pairs] = x, gap[pairs++] = y;
        n++, sx += x, sy += y, sxx += x * x;
    }
    *bytes_per_s = sy > 0 ? sx * 1e9 / sy : 0;
    if (bytes && n >= 20 && n > 0.3 * (double)c->n && sizes_differ(sx, sxx, n))
        serial = pp_stats_spearman(bytes, gap, pairs);
    free(bytes);
    return fmax(serial, 0); /* unknown: not claimed */
}

/* With one worker nothing overlaps: the time of a read is then its bytes over a rate, if it is proportional
 * to them (correlation over 0.9, no intercept). */
static double proportional_of(const struct pp_costs *c, double *bytes_per_s)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, n = (double)c->n;
    for (size_t i = 0; i < c->n; i++) {
        double x = c->samples[i].bytes, y = c->samples[i].read_blocked;
        sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
    }
    double vx = sxx - sx * sx / n, vy = syy - sy * sy / n, cov = sxy - sx * sy / n;
    if (!sizes_differ(sx, sxx, n) || !(vy > 0) || !(cov > 0))
        return 0;
    double slope = cov / vx, intercept = (sy - slope * sx) / n;
    *bytes_per_s = 1e9 / slope;
    return fabs(intercept) < 0.3 * sy / n ? cov / sqrt(vx * vy) : 0;
}

/* ---- parts of the data, time ---- */

enum { PARTS = 16 };

static size_t part_of(const struct pp_costs *c, const struct pp_cost_sample *x)
{
    size_t part = (size_t)((double)x->sample / (double)c->dataset_samples * PARTS);
    return part < PARTS ? part : PARTS - 1;
}

/* Medians within the parts: in a slow part most reads are slow, of a tail each part has its few. */
static double shard_of(const struct pp_costs *c, float *v)
{
    float middle[PARTS];
    if (c->dataset_samples < 4 * PARTS)
        return NAN;
    for (size_t part = 0; part < PARTS; part++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n; i++)
            if (part_of(c, &c->samples[i]) == part)
                v[n++] = c->samples[i].read_blocked;
        if (n < 5)
            return NAN; /* not seen all over, or not in random order: time and place cannot be told apart */
        qsort(v, n, sizeof(*v), by_float);
        middle[part] = (float)at(v, n, 0.5);
    }
    qsort(middle, PARTS, sizeof(*middle), by_float);
    return middle[PARTS - 1] / fmax(at(middle, PARTS, 0.5), 1e5);
}

/* The split of the window at which the rate of reads finishing changes most; and how the median read changed
 * there, which one slow part of the data or a tail does not move. */
static double split_of(const struct pp_costs *c, const struct pp_cost_sample **order, size_t *at_read)
{
    double t0 = (double)order[0]->read_end_ns, all = (double)order[c->n - 1]->read_end_ns - t0, best = 0,
           where = 0.5;
    *at_read = c->n / 2;
    for (size_t i = c->n / 20; all > 0 && i < c->n - c->n / 20; i++) {
        double t = (double)order[i]->read_end_ns - t0;
        if (t < 0.15 * all || t > 0.85 * all)
            continue;
        double change = fabs(log((double)i / t) - log((double)(c->n - i) / (all - t)));
        if (change > best) {
            best = change;
            where = t / all;
            *at_read = i;
        }
    }
    return where;
}

static double middle_read(const struct pp_cost_sample **order, size_t from, size_t to, float *v)
{
    for (size_t i = from; i < to; i++)
        v[i - from] = order[i]->read_blocked;
    qsort(v, to - from, sizeof(*v), by_float);
    return fmax(at(v, to - from, 0.5), 1e5);
}

/* What is said of a run that changed is said of it after the change: that is what goes on. */
static void drift_of(struct pp_costs *c, const struct pp_cost_sample **order, float *v,
                     struct pp_storage *out)
{
    size_t split;
    out->drift_at = split_of(c, order, &split);
    out->drift = middle_read(order, split, c->n, v) / middle_read(order, 0, split, v);
    if (!(out->drift >= PP_DRIFT) || c->n - split < 50)
        return;
    uint64_t from = order[split]->read_end_ns, to = order[c->n - 1]->read_end_ns;
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->samples[i].read_end_ns > from)
            c->samples[kept++] = c->samples[i];
    c->samples_per_s = (double)kept * 1e9 / (double)(to - from);
    c->n = kept;
    sort_by_end(c, order);
}

/* ---- putting it together ---- */

static int same_sizes(const struct pp_costs *c)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < c->n; i++) {
        least = c->samples[i].bytes < least ? c->samples[i].bytes : least;
        most = c->samples[i].bytes > most ? c->samples[i].bytes : most;
    }
    return most - least <= most / 20; /* of reads without bytes, too */
}

/* Bytes or reads a second: of reads that are all as large as each other they are the same, and bytes are what
 * is limited more often. v: room for c->n. */
static void read_limits(struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    double overlapping, alone, reads_per_s, serial = serial_of(c, order, &overlapping),
                                            proportional = c->workers == 1 ? proportional_of(c, &alone) : 0;
    c->storage.serial = serial;
    if (serial >= PP_SERIAL)
        c->bandwidth = overlapping;
    else if (proportional >= PP_SERIAL)
        c->bandwidth = alone, c->storage.serial = proportional;
    else if ((reads_per_s = pp_quota_reads_per_s(c, order, v)) > 0 && same_sizes(c))
        c->bandwidth = c->samples[0].bytes * reads_per_s;
    else if (reads_per_s > 0)
        c->reads_per_s = reads_per_s;
}

pp_status pp_storage_read(struct pp_costs *c, struct pp_err *err)
{
    struct pp_storage *out = &c->storage;
    if (out->known)
        return PP_OK;
    float *v = malloc(c->n * sizeof(*v));
    const struct pp_cost_sample **order = malloc(c->n * sizeof(*order));
    pp_status st = v && order
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory to look at the reads of %zu samples", c->n);
    if (st == PP_OK) {
        sort_by_end(c, order);
        drift_of(c, order, v, out);
        for (size_t i = 0; i < c->n; i++)
            v[i] = c->samples[i].read_blocked;
        qsort(v, c->n, sizeof(*v), by_float);
        double median = at(v, c->n, 0.5);
        out->tail = at(v, c->n, 0.99) / fmax(median, 1e5);
        out->burst = pp_outages_share(c, order, median);
        out->shard_skew = shard_of(c, v);
        read_limits(c, order, v);
        st = pp_outages_take(c, order, median, err);
    }
    out->known = st == PP_OK;
    free(order);
    free(v);
    return st;
}
