#include "report/replay/link.h"

#include "report/replay/storage.h"
#include "report/stats/tests.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_PAIRS = 20000 }; /* looked at: 0.7 is known to 0.01 then */

/* Sizes that hardly differ tell nothing: 5 % from their mean. */
static int sizes_differ(double sx, double sxx, double n)
{
    return sxx - sx * sx / n > 0.0025 * sxx;
}

static int mostly_blocked(const struct pp_cost_sample *r)
{
    return r->read_blocked >= 0.5 * (double)(r->read_end_ns - r->read_start_ns);
}

/* ---- one by one: whole reads queue for the link ---- */

/* Whether the read was under way when the one before it ended, for another worker, and waited for storage
 * rather than for a CPU. */
static int overlaps(const struct pp_cost_sample *r, const struct pp_cost_sample *before)
{
    return r->read_start_ns < before->read_end_ns && r->worker != before->worker && mostly_blocked(r);
}

/* Reads on one link finish one by one, each as long after the one before as its own bytes take; for reads
 * that are slow by themselves, the gap has nothing to do with the bytes. The serial index is the rank
 * correlation of gap and bytes, over reads that overlapped the one before: where others use the CPUs a few
 * threads are late to notice that their read has ended, which makes one gap long and the next one short, by
 * more than all bytes make them differ. */
static double one_by_one(const struct pp_costs *c, const struct pp_cost_sample *const *order,
                         double *bytes_per_s)
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

/* ---- with one worker ---- */

/* With one worker nothing overlaps: the time of a read is then its bytes over a rate, if it is proportional
 * to them (correlation over 0.9, no intercept). */
static double proportional(const struct pp_costs *c, double *bytes_per_s)
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

/* ---- in turns: the reads of several workers are served piece by piece ----
 *
 * A file is read in requests of its read-ahead, and those of several files take turns on the link: no read
 * ends as long after the one before as its own bytes take. Over many reads the turns cancel out: the time in
 * which any read is under way is the bytes of all over the rate of the link. */

enum { READS_OF_BLOCK = 8, FEWEST_BLOCKS = 20, LOOK_AHEAD = 4 }; /* the first and the last per worker */
/* Blocks with twice the bytes take at least 1.6 times as long. For reads of a fixed time it is 1.2 at most,
 * where decoding that follows the bytes keeps them apart; between the two nothing is claimed. */
#define FOLLOWS 0.6
/* How much slower a read is beside others: at least half of what sharing says, and sharing has to say 10 %. A
 * read that has a rate of its own (a connection to an object store) is as fast beside others as alone. */
#define SHARING_SEEN 0.5
#define SHARING_TELLS 1.1

/* The part of the time since the read before ended in which any read was under way. Only reads that end later
 * can be: of these one of the next few, unless more are under way at once than there are workers. */
static double busy_before(const struct pp_costs *c, const struct pp_cost_sample *const *order, size_t i)
{
    uint64_t from = order[i - 1]->read_end_ns, first = order[i]->read_start_ns;
    for (size_t k = i + 1; k < c->n && k < i + LOOK_AHEAD * (size_t)c->workers; k++)
        first = order[k]->read_start_ns < first ? order[k]->read_start_ns : first;
    from = first > from ? first : from;
    return order[i]->read_end_ns > from ? (double)(order[i]->read_end_ns - from) : 0;
}

/* The other reads that were under way beside read i, on average over its time. */
static double beside(const struct pp_costs *c, const struct pp_cost_sample *const *order, size_t i)
{
    const struct pp_cost_sample *r = order[i];
    size_t near = LOOK_AHEAD * (size_t)c->workers, to = i + near < c->n ? i + near : c->n;
    double time = 0;
    for (size_t k = i > near ? i - near : 0; k < to; k++) {
        const struct pp_cost_sample *x = order[k];
        uint64_t from = x->read_start_ns > r->read_start_ns ? x->read_start_ns : r->read_start_ns,
                 end = x->read_end_ns < r->read_end_ns ? x->read_end_ns : r->read_end_ns;
        if (x->worker != r->worker && end > from)
            time += (double)(end - from);
    }
    return time / fmax((double)(r->read_end_ns - r->read_start_ns), 1);
}

struct point {
    double by, bytes, ns;
};

static int by_by(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return (x->by > y->by) - (x->by < y->by);
}

static struct point sum_of(const struct point *p, size_t n)
{
    struct point all = {0, 0, 0};
    for (size_t i = 0; i < n; i++)
        all.by += p[i].by, all.bytes += p[i].bytes, all.ns += p[i].ns;
    return all;
}

/* Whether reads are slower per byte the more others are beside them, as sharing makes them. p: room for n
 * reads of c. */
static int slower_beside_others(const struct pp_costs *c, const struct pp_cost_sample *const *order,
                                struct point *p)
{
    size_t n = 0, quarter;
    for (size_t i = 0; i < c->n; i++)
        if (mostly_blocked(order[i]) && order[i]->bytes > 0)
            p[n++] = (struct point){beside(c, order, i), order[i]->bytes, order[i]->read_blocked};
    quarter = n / 4;
    if (quarter < FEWEST_BLOCKS)
        return 0;
    qsort(p, n, sizeof(*p), by_by);
    struct point few = sum_of(p, quarter), many = sum_of(p + n / 2, n - n / 2);
    double shared = (1 + many.by / (double)(n - n / 2)) / (1 + few.by / (double)quarter),
           seen = many.ns / many.bytes / (few.ns / few.bytes);
    return shared >= SHARING_TELLS && seen - 1 >= SHARING_SEEN * (shared - 1);
}

/* 0: not in turns, or not to be told. */
static double in_turns(const struct pp_costs *c, const struct pp_cost_sample *const *order,
                       double *bytes_per_s)
{
    size_t reads = READS_OF_BLOCK * (size_t)c->workers, blocks = reads ? (c->n - 1) / reads : 0;
    double serial = 0, *pairs = NULL;
    struct point *p = NULL;
    if (blocks < FEWEST_BLOCKS || !(p = malloc(c->n * sizeof(*p))) ||
        !(pairs = malloc(2 * blocks * sizeof(*pairs))))
        goto out;
    if (!slower_beside_others(c, order, p))
        goto out;
    for (size_t b = 0; b < blocks; b++) {
        p[b] = (struct point){0, 0, 0};
        for (size_t i = b * reads + 1; i <= (b + 1) * reads; i++)
            p[b].bytes += order[i]->bytes, p[b].ns += busy_before(c, order, i);
        p[b].by = pairs[b] = p[b].bytes, pairs[blocks + b] = p[b].ns;
    }
    qsort(p, blocks, sizeof(*p), by_by);
    struct point all = sum_of(p, blocks), small = sum_of(p, blocks / 2),
                 large = sum_of(p + blocks - blocks / 2, blocks / 2);
    double more_bytes = large.bytes / small.bytes - 1, more_time = large.ns / small.ns - 1;
    *bytes_per_s = all.bytes * 1e9 / all.ns;
    if (more_bytes > 0.05 && more_time >= FOLLOWS * more_bytes)
        serial = fmax(pp_stats_spearman(pairs, pairs + blocks, blocks), 0);
out:
    free(pairs);
    free(p);
    return serial;
}

void pp_link_find(const struct pp_costs *c, const struct pp_cost_sample *const *order, struct pp_link *out)
{
    out->serial = one_by_one(c, order, &out->bytes_per_s);
    if (out->serial >= PP_SERIAL)
        return;
    double rate = 0, other = c->workers == 1 ? proportional(c, &rate) : in_turns(c, order, &rate);
    if (other >= PP_SERIAL)
        *out = (struct pp_link){other, rate};
}
