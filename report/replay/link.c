#include "report/replay/link.h"

#include "probe/base/array.h"
#include "report/replay/storage.h"
#include "report/stats/tests.h"

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

PP_BY(by_by, struct point, by)

static struct point sum_of(const struct point *p, size_t n)
{
    struct point all = {0, 0, 0};
    for (size_t i = 0; i < n; i++)
        all.by += p[i].by, all.bytes += p[i].bytes, all.ns += p[i].ns;
    return all;
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
    /* Whether reads are slower per byte the more others are beside them, as sharing makes them. */
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (mostly_blocked(order[i]) && order[i]->bytes > 0)
            p[n++] = (struct point){beside(c, order, i), order[i]->bytes, order[i]->read_blocked};
    size_t quarter = n / 4;
    if (quarter < FEWEST_BLOCKS)
        goto out;
    qsort(p, n, sizeof(*p), by_by);
    struct point few = sum_of(p, quarter), many = sum_of(p + n / 2, n - n / 2);
    double shared = (1 + many.by / (double)(n - n / 2)) / (1 + few.by / (double)quarter),
           seen = many.ns / many.bytes / (few.ns / few.bytes);
    if (!(shared >= SHARING_TELLS && seen - 1 >= SHARING_SEEN * (shared - 1)))
        goto out;
    for (size_t b = 0; b < blocks; b++) {
        p[b] = (struct point){0, 0, 0};
        for (size_t i = b * reads + 1; i <= (b + 1) * reads; i++) {
            /* The part of the time since the read before ended in which any read was under way. Only reads
             * that end later can be: of these one of the next few, unless more are under way at once than
             * there are workers. */
            uint64_t from = order[i - 1]->read_end_ns, first = order[i]->read_start_ns;
            for (size_t k = i + 1; k < c->n && k < i + LOOK_AHEAD * (size_t)c->workers; k++)
                first = order[k]->read_start_ns < first ? order[k]->read_start_ns : first;
            from = first > from ? first : from;
            p[b].bytes += order[i]->bytes;
            p[b].ns += order[i]->read_end_ns > from ? (double)(order[i]->read_end_ns - from) : 0;
        }
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

/* ---- shared: reads are the slower the more others are under way, whatever their sizes ----
 *
 * Reads that share a link have a part of it each: 1 / k of it, while k are under way. Then a read's time per
 * byte goes with 1 / s, s the mean of 1 / k over its time, and log(time) on log(s) has the slope -1; requests
 * that queue piece by piece blur that. A read that has a rate or a latency of its own has the slope 0. */

enum { PIECES_MOST = 16 };
/* A quarter of what sharing says, beyond two standard errors of a line that is known to a quarter: reads of
 * their own come there once in a thousand. The surest of five lines is taken. */
#define SHARING_SLOPE (-0.25)
#define SHARING_ERRORS 2
#define MOST_ERROR 0.25
#define LEAST_CHANGE \
    0.02 /* of log(1 / k), its standard deviation: else there is nothing to hold times against */
/* Of the time of reads, what a worker's children and other threads compute: from there on (curl, started for
 * each sample, takes a third) reads that are under way together slow each other on the CPUs, and no link is
 * told by it. */
#define COMPUTED 0.1
#define BESIDE_EACH_OTHER 1.25 /* reads under way, on average, while there are any */

struct moment {
    uint64_t at;
    size_t read; /* twice its place, and 1 at its end */
};

PP_BY_BOTH(by_at, struct moment, at, read)

/* Until its thread has a CPU again: its worker asks for nothing before. */
static uint64_t done_ns(const struct pp_cost_sample *r)
{
    uint64_t end = r->read_end_ns + (uint64_t)r->read_wake;
    return end > r->read_start_ns ? end : r->read_start_ns; /* it read nothing */
}

struct piece {
    double bytes, blocked, took, share;
};

/* So many reads of a worker after each other, as order has them; those of which it mostly waited. */
static size_t pieces_of(const struct pp_costs *c, const struct pp_cost_sample *const *order,
                        const double *share, size_t reads, struct piece *p)
{
    struct piece open[PP_SLOW_MOST] = {{0, 0, 0, 0}};
    uint32_t worker[PP_SLOW_MOST] = {0};
    size_t in[PP_SLOW_MOST] = {0}, workers = 0, n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_cost_sample *r = order[i];
        size_t w = 0;
        while (w < workers && worker[w] != r->worker)
            w++;
        if (w == PP_SLOW_MOST || done_ns(r) == r->read_start_ns || !r->bytes)
            continue;
        worker[w] = r->worker;
        workers += w == workers;
        struct piece *o = &open[w];
        o->bytes += r->bytes, o->blocked += r->read_blocked;
        o->took += (double)(done_ns(r) - r->read_start_ns), o->share += share[r - c->samples];
        if (++in[w] < reads)
            continue;
        if (o->blocked >= 0.5 * o->took)
            p[n++] = *o;
        *o = (struct piece){0, 0, 0, 0};
        in[w] = 0;
    }
    return n;
}

struct line {
    double slope, error, spread; /* spread: of y, its standard deviation */
};

enum logarithm { SHARE, PACE, BYTES, WORK };

static double log_of(const struct piece *p, enum logarithm of)
{
    switch (of) {
    case SHARE: return log(p->share / p->took);
    case PACE: return log(p->blocked / p->bytes);
    case BYTES: return log(p->bytes);
    default: return log(p->share);
    }
}

static struct line line_of(const struct piece *p, size_t n, enum logarithm x_of, enum logarithm y_of)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, m = (double)n;
    for (size_t i = 0; i < n; i++) {
        double x = log_of(&p[i], x_of), y = log_of(&p[i], y_of);
        sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
    }
    sxx -= sx * sx / m, syy -= sy * sy / m, sxy -= sx * sy / m;
    double slope = sxx > 0 ? sxy / sxx : NAN;
    return (struct line){slope, sqrt(fmax(syy - slope * sxy, 0) / (m - 2) / sxx), sqrt(fmax(syy, 0) / m)};
}

/* Reads of a worker that follow each other are taken together, as many as tell most: what is read ahead, and
 * what waits for it, are alike only then. */
double pp_link_shared(const struct pp_costs *c, const struct pp_cost_sample *const *order)
{
    double *share = malloc((c->n + 1) * sizeof(*share)), surest = SHARING_SLOPE, rate = 0;
    struct piece *p = malloc((c->n + 1) * sizeof(*p));
    double took = 0;
    for (size_t i = 0; i < c->n; i++)
        took += (double)(done_ns(&c->samples[i]) - c->samples[i].read_start_ns);
    struct moment *m = NULL;
    if (!share || !p || c->workers < 2 || c->helper_cpu_ns > COMPUTED * took ||
        !(m = malloc(2 * (c->n + 1) * sizeof(*m))))
        goto out;
    for (size_t i = 0; i < c->n; i++) {
        m[2 * i] = (struct moment){c->samples[i].read_start_ns, 2 * i};
        m[2 * i + 1] = (struct moment){done_ns(&c->samples[i]), 2 * i + 1};
    }
    qsort(m, 2 * c->n, sizeof(*m), by_at);
    /* share[i]: the time of read i, each moment of it over how many reads were under way; in ns. */
    double part = 0;
    long under_way = 0;
    for (size_t i = 0; i < 2 * c->n; i++) {
        int ends = m[i].read & 1;
        part += i && under_way > 0 ? (double)(m[i].at - m[i - 1].at) / (double)under_way : 0;
        share[m[i].read / 2] = ends ? part - share[m[i].read / 2] : part;
        under_way += ends ? -1 : 1;
    }
    free(m);
    for (size_t reads = 1; reads <= PIECES_MOST; reads *= 2) {
        size_t n = pieces_of(c, order, share, reads, p);
        struct piece all = {0, 0, 0, 0};
        for (size_t i = 0; i < n; i++)
            all.bytes += p[i].bytes, all.took += p[i].took, all.share += p[i].share;
        if (n < 2 * FEWEST_BLOCKS || all.took < BESIDE_EACH_OTHER * all.share)
            break;
        struct line line = line_of(p, n, SHARE, PACE), sizes = line_of(p, n, BYTES, WORK);
        /* Of several sizes, the larger takes longer; else it is the number of reads that is limited. */
        int changes = line_of(p, n, SHARE, SHARE).spread >= LEAST_CHANGE;
        int of_bytes = !(line_of(p, n, BYTES, BYTES).spread > 0.05 && sizes.slope < FOLLOWS);
        if (changes && of_bytes && line.error <= MOST_ERROR &&
            line.slope + SHARING_ERRORS * line.error < surest) {
            surest = line.slope + SHARING_ERRORS * line.error;
            rate = all.bytes * 1e9 / all.share;
        }
    }
out:
    free(share);
    free(p);
    return rate;
}

/* One by one: whole reads queue for the link. They finish each as long after the one before as its own bytes
 * take; for reads that are slow by themselves, the gap has nothing to do with the bytes. The serial index is
 * the rank correlation of gap and bytes, over reads that overlapped the one before: where others use the CPUs
 * a few threads are late to notice that their read has ended, which makes one gap long and the next one
 * short, by more than all bytes make them differ. */
void pp_link_find(const struct pp_costs *c, const struct pp_cost_sample *const *order, struct pp_link *out)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, serial = NAN, all = (double)c->n;
    size_t stride = c->n / MOST_PAIRS + 1, pairs = 0;
    double *bytes = malloc(2 * (c->n / stride + 1) * sizeof(*bytes)),
           *gap = bytes ? bytes + c->n / stride + 1 : NULL;
    for (size_t i = 1; bytes && i < c->n; i++) {
        const struct pp_cost_sample *r = order[i], *before = order[i - 1];
        if (!(r->read_start_ns < before->read_end_ns && r->worker != before->worker && mostly_blocked(r)))
            continue;
        double x = r->bytes, y = (double)(r->read_end_ns - before->read_end_ns);
        if (i % stride == 0)
            bytes[pairs] = x, gap[pairs++] = y;
        n++, sx += x, sy += y, sxx += x * x;
    }
    out->bytes_per_s = sy > 0 ? sx * 1e9 / sy : 0;
    if (bytes && n >= 20 && n > 0.3 * all && sizes_differ(sx, sxx, n))
        serial = pp_stats_spearman(bytes, gap, pairs);
    free(bytes);
    out->serial = fmax(serial, 0); /* unknown: not claimed */
    if (out->serial >= PP_SERIAL)
        return;
    double rate = 0, other = c->workers == 1 ? 0 : in_turns(c, order, &rate);
    /* With one worker nothing overlaps: the time of a read is then its bytes over a rate, if it is
     * proportional to them (correlation over 0.9, no intercept). */
    sx = sy = sxx = 0;
    for (size_t i = 0; c->workers == 1 && i < c->n; i++) {
        double x = c->samples[i].bytes, y = c->samples[i].read_blocked;
        sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
    }
    double vx = sxx - sx * sx / all, vy = syy - sy * sy / all, cov = sxy - sx * sy / all;
    if (c->workers == 1 && sizes_differ(sx, sxx, all) && vy > 0 && cov > 0) {
        double slope = cov / vx, intercept = (sy - slope * sx) / all;
        rate = 1e9 / slope;
        other = fabs(intercept) < 0.3 * sy / all ? cov / sqrt(vx * vy) : 0;
    }
    if (other >= PP_SERIAL)
        *out = (struct pp_link){other, rate};
}

/* ---- a link that requests share ---- */

enum { FEWEST = 20 };
/* ln of how many times likelier a link is (Laplace's errors); and how much smaller what it is off by is at
 * least: errors that are no chance may be alike */
#define LIKELIER 10
#define BETTER 1.5
#define LEAST_OFF 1e-4 /* of a rate: nothing is measured more exactly */

struct event {
    double at;
    size_t transfer;
    int begins;
};

PP_BY_BOTH(by_time, struct event, at, begins)

/* Bytes per ns in the median, and how far half of the transfers are from that, as a part of it. A few that
 * were held up by something else move neither. v: room for n. */
static double fit(const struct pp_transfer *t, const double *ns, size_t n, double *v, double *off)
{
    for (size_t i = 0; i < n; i++)
        v[i] = t[i].bytes / fmax(ns[i], 1);
    qsort(v, n, sizeof(*v), pp_by_double);
    double rate = v[n / 2];
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] / rate - 1);
    qsort(v, n, sizeof(*v), pp_by_double);
    *off = fmax(v[n / 2], LEAST_OFF);
    return rate;
}

double pp_request_link(const struct pp_transfer *t, size_t n)
{
    double *share = malloc((n + 1) * sizeof(*share)), *alone = malloc((n + 1) * sizeof(*alone));
    double *v = malloc((n + 1) * sizeof(*v));
    struct event *e = malloc((2 * n + 1) * sizeof(*e));
    double link = share && alone && v && e ? 0 : NAN, off_link, off_alone;
    for (size_t i = 0; i < n && link == 0; i++) {
        e[2 * i] = (struct event){t[i].start_ns, i, 1};
        /* Its end comes behind its beginning, however large both are. */
        e[2 * i + 1] = (struct event){fmax(t[i].end_ns,
                                           fmax(t[i].start_ns + 1, nextafter(t[i].start_ns, INFINITY))),
                                      i, 0};
        alone[i] = fmax(t[i].end_ns - t[i].start_ns, 1);
    }
    if (link == 0 && n >= FEWEST) {
        qsort(e, 2 * n, sizeof(*e), by_time);
        /* share[i]: ns that transfer i would have had the link to itself, of all that share it. */
        double now = 0, passed = 0; /* of a transfer that was there all the time */
        size_t running = 0;
        for (size_t i = 0; i < 2 * n; i++) {
            passed += running ? (e[i].at - now) / (double)running : 0;
            now = e[i].at;
            running += e[i].begins ? 1 : (size_t)-1;
            share[e[i].transfer] = e[i].begins ? -passed : share[e[i].transfer] + passed;
        }
        double rate = fit(t, share, n, v, &off_link);
        fit(t, alone, n, v, &off_alone);
        double better = off_alone / off_link;
        link = better >= BETTER && (double)n * log(better) >= LIKELIER && isfinite(rate) ? rate * 1e9 : 0;
    }
    free(e);
    free(v);
    free(alone);
    free(share);
    return link;
}
