#include "report/replay/storage.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/replay/link.h"
#include "report/stats/order.h"
#include "report/stats/tests.h"

PP_BY_POINTER(by_end, struct pp_cost_sample, read_end_ns)

static void sort_by_end(const struct pp_costs *c, const struct pp_cost_sample **order)
{
    for (size_t i = 0; i < c->n; i++)
        order[i] = &c->samples[i];
    qsort(order, c->n, sizeof(*order), by_end);
}

/* ---- parts of the data, time ---- */

enum { PARTS = 16 };

static size_t part_of(const struct pp_costs *c, const struct pp_cost_sample *x)
{
    if (x->sample == PP_NO_SAMPLE)
        return PARTS; /* one of several in a span */
    size_t part = (size_t)((double)x->sample / (double)c->dataset_samples * PARTS);
    return part < PARTS ? part : PARTS - 1;
}

static double mean_of(const float *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

#define MATTERS 0.1 /* of a mean read: less of it changes no sample's time */

struct usual {
    double median, mean; /* of the time blocked in a read */
};

/* How many times slower reads are, by their medians; the means have to agree, or the smaller counts. A tail
 * moves a mean alone. Where every second read waits for a throttle's next slice, the median of a few reads is
 * of either kind, which moves a median alone; so does what is slower of reads that take next to no time. */
static double times_slower(struct usual slow, struct usual before)
{
    double medians = fmax(slow.median, 1e5) / fmax(before.median, 1e5),
           means = fmax(slow.mean, 1e5) / fmax(before.mean, 1e5);
    int agree = means > medians / 2 && slow.median - before.median > MATTERS * before.mean;
    return agree ? medians : fmin(medians, means);
}

/* Of 16 parts, each with few reads of which some are held up, the slowest is much slower by chance. */
#define PART_P 0.001 /* of one part; 16 are looked at */
#define HARDLY_SLOWER 1.5

/* Within the parts: in a slow part most reads are slow, of a tail each part has its few. */
static double shard_of(const struct pp_costs *c, float *v)
{
    float middle[PARTS], mean[PARTS];
    size_t slowest = 0;
    if (c->dataset_samples < 4 * PARTS)
        return NAN;
    for (size_t part = 0; part < PARTS; part++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n; i++)
            if (part_of(c, &c->samples[i]) == part)
                v[n++] = c->samples[i].read_blocked;
        if (n < 5)
            return NAN; /* not seen all over, or not at random: a slow place would look like a slow time */
        qsort(v, n, sizeof(*v), pp_by_float);
        middle[part] = (float)pp_stats_at_sorted(v, n, 0.5);
        mean[part] = (float)mean_of(v, n);
        slowest = middle[part] > middle[slowest] ? part : slowest;
    }
    qsort(middle, PARTS, sizeof(*middle), pp_by_float);
    qsort(mean, PARTS, sizeof(*mean), pp_by_float);
    double slower = times_slower((struct usual){middle[PARTS - 1], mean[PARTS - 1]},
                                 (struct usual){pp_stats_at_sorted(middle, PARTS, 0.5),
                                                pp_stats_at_sorted(mean, PARTS, 0.5)});
    if (slower < HARDLY_SLOWER)
        return slower;
    /* Whether the reads of the part differ from those of all others by more than chance. */
    struct pp_mann_whitney m = {.p = 1};
    struct pp_err ignored;
    double *x = malloc((c->n + 1) * sizeof(*x));
    size_t in = 0, out = 0;
    for (size_t i = 0; x && i < c->n; i++)
        if (part_of(c, &c->samples[i]) == slowest)
            x[in++] = c->samples[i].read_blocked;
        else
            x[c->n - ++out] = c->samples[i].read_blocked;
    if (!x || pp_mann_whitney(x, in, x + in, out, &m, &ignored) != PP_OK)
        m.p = 1; /* nothing is claimed */
    free(x);
    return m.p < PART_P ? slower : NAN;
}

static struct usual usual_read(const struct pp_cost_sample **order, size_t from, size_t to, float *v)
{
    for (size_t i = from; i < to; i++)
        v[i - from] = order[i]->read_blocked;
    qsort(v, to - from, sizeof(*v), pp_by_float);
    return (struct usual){pp_stats_at_sorted(v, to - from, 0.5), mean_of(v, to - from)};
}

/* What is said of a run that changed is said of it after the change: that is what goes on. */
static void drift_of(struct pp_costs *c, const struct pp_cost_sample **order, float *v,
                     struct pp_storage *out)
{
    size_t split;
    /* The split of the window at which the rate of reads finishing changes most; and how the median read
     * changed there, which one slow part of the data or a tail does not move. */
    double t0 = (double)order[0]->read_end_ns, all = (double)order[c->n - 1]->read_end_ns - t0, best = 0;
    out->drift_at = 0.5;
    split = c->n / 2;
    for (size_t i = c->n / 20; all > 0 && i < c->n - c->n / 20; i++) {
        double t = (double)order[i]->read_end_ns - t0;
        if (t < 0.15 * all || t > 0.85 * all)
            continue;
        double change = fabs(log((double)i / t) - log((double)(c->n - i) / (all - t)));
        if (change > best) {
            best = change;
            out->drift_at = t / all;
            split = i;
        }
    }
    struct usual before = usual_read(order, 0, split, v);
    out->drift = times_slower(usual_read(order, split, c->n, v), before);
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

enum { FEWEST_WAITING = 20 };

/* ---- a quota: so many reads a second and no more, whatever their bytes and whichever worker asks ----
 *
 * A throttled volume, a metadata server. More reads at a time wait longer there, and no more of them come
 * back; slow reads without a quota come back the more often the more are asked for. One recording shows which
 * it is only by the times of its reads: answered one after another, or let go in slices. */

/* How long after the read before a read ends, where the two overlap. 0: hardly any does. */
static double gap_of(const struct pp_cost_sample *const *order, size_t reads, float *v)
{
    size_t n = 0;
    for (size_t i = 1; i < reads; i++)
        if (order[i]->read_start_ns < order[i - 1]->read_end_ns && order[i]->worker != order[i - 1]->worker)
            v[n++] = (float)(order[i]->read_end_ns - order[i - 1]->read_end_ns);
    return n < 20 || n < 0.3 * (double)reads ? 0 : pp_stats_middle(v, n);
}

/* By how much the times blocked differ from those behind the read before, in the order of their ends, if each
 * takes the storage `gap`. */
static double off_line(const struct pp_cost_sample *const *order, size_t reads, double gap, float *v)
{
    v[0] = 0;
    for (size_t i = 1; i < reads; i++) {
        const struct pp_cost_sample *before = order[i - 1];
        v[i] = fabsf((float)(order[i]->read_blocked -
                             (gap + (before->read_end_ns > order[i]->read_start_ns
                                         ? (double)(before->read_end_ns - order[i]->read_start_ns)
                                         : 0))));
    }
    return pp_stats_middle(v, reads);
}

/* A quota of operations (a throttled volume, a metadata server) answers one read after another at a fixed
 * pace: how long a read is blocked then says how many were before it. Reads that are slow by themselves take
 * their time whatever the other workers read; they, too, may end at a fixed pace, when what paces them is the
 * CPU that decodes them. So both are tried on every read: it is a line if that explains the times blocked
 * twice as well, and to a quarter of the pace. 0: it is none. v: room for c->n. */
static double at_a_pace(const struct pp_costs *c, const struct pp_cost_sample *const *order, float *v)
{
    double gap = gap_of(order, c->n, v), usual, off_usual;
    for (size_t i = 0; i < c->n; i++)
        v[i] = order[i]->read_blocked;
    usual = pp_stats_middle(v, c->n);
    for (size_t i = 0; i < c->n; i++)
        v[i] = fabsf((float)(order[i]->read_blocked - usual));
    off_usual = pp_stats_middle(v, c->n);
    if (!(gap * c->samples_per_s > 0.25e9) || gap * c->samples_per_s > 1.25e9)
        return 0; /* so quick a line delays no read: reads that are let go together end so close; or more than
                     one ends in a gap */
    return off_line(order, c->n, gap, v) < fmin(gap / 4, off_usual / 2) ? 1e9 / gap : 0;
}

/* Where all reads that wait take equally long, both explain them. Reads that take their own time then keep
 * their distance to the other workers' reads, round after round; a line that is never empty spaces them anew,
 * and the gaps between their ends are forgotten. Two rounds apart gaps have a rank correlation of 0.65 and
 * more in jobs with latency, and of 0.22 and less behind a link (tests/field). 0: it is no line, else its
 * bytes a second, of reads of one size. v: room for c->n. */
#define FORGOTTEN 0.5
#define ALWAYS_BUSY 0.8
static double line_that_forgets(const struct pp_costs *c, const struct pp_cost_sample *const *order, float *v)
{
    size_t n = 0, lag = 2 * (size_t)c->workers;
    const struct pp_cost_sample **waits = malloc(c->n * sizeof(*waits));
    double *gaps = malloc(c->n * sizeof(*gaps)), gap, bytes = 0, blocked_ns = 0, rate = 0;
    for (size_t i = 0; i < c->n; i++)
        v[i] = order[i]->read_blocked;
    qsort(v, c->n, sizeof(*v), pp_by_float);
    double least = 0.25 * pp_stats_at_sorted(v, c->n, 0.9); /* others come with one that waits: read ahead */
    for (size_t i = 0; waits && i < c->n; i++) {
        bytes += order[i]->bytes, blocked_ns += order[i]->read_blocked;
        if (order[i]->read_blocked >= least)
            waits[n++] = order[i];
    }
    if (!gaps || c->workers < 2 || n < lag + 2 * FEWEST_WAITING || !((gap = gap_of(waits, n, v)) > 0))
        goto out;
    double took_ns = (double)(waits[n - 1]->read_end_ns - waits[0]->read_end_ns);
    for (size_t i = 1; i < n; i++)
        gaps[i - 1] = (double)(waits[i]->read_end_ns - waits[i - 1]->read_end_ns);
    if (blocked_ns >= ALWAYS_BUSY * c->workers * took_ns && /* nothing else paces them */
        gap * (double)n >= ALWAYS_BUSY * took_ns && off_line(waits, n, gap, v) < gap / 4 &&
        pp_stats_spearman(gaps, gaps + lag, n - 1 - lag) < FORGOTTEN)
        rate = bytes / (double)n * 1e9 / gap;
out:
    free(waits);
    free(gaps);
    return rate;
}

/* ---- outages: times in which no read completes: a failover, a throttle, a metadata server that restarts
 * ----
 *
 * In the recording they look like slow samples, as many as there were workers to wait. Replayed as slow
 * samples they would come the more often the more samples are read, and hold up one worker at a time; but
 * what stopped was time, not a sample. So they are taken out of the samples and given to the replay as times
 * in which no read begins. */

/* Slow: beyond five times the median, and 5 ms. Together: ended within 5 ms of another worker's. Workers
 * whose slow samples take equally long do that too, when they have fallen into step; but then reads of others
 * go on. */
#define OUTAGE_TIMES 5
#define OUTAGE_NS 5e6
/* More slow reads come together than alone. */
#define OUTAGE_SHARE 0.5

/* The part of the slow reads at the same time; 0: too few to tell. median: of the time blocked in reads. */
static double outages_share(const struct pp_costs *c, const struct pp_cost_sample **order, double median)
{
    enum { MOST_LOOKED_AT = 512 };
    double limit = fmax(OUTAGE_TIMES * median, OUTAGE_NS);
    size_t slow = 0, together = 0, went_on = 0;
    const struct pp_cost_sample *last = NULL;
    int last_counted = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_cost_sample *x = order[i];
        if (x->read_blocked < limit)
            continue;
        int pair = last && last->worker != x->worker &&
                   (double)(x->read_end_ns - last->read_end_ns) < OUTAGE_NS;
        slow++;
        /* Where another worker's read began and ended while this one was slow, storage went on. What waits
         * less than half as long as usual may have come from a cache. */
        for (size_t k = i; k > 0 && i - k < MOST_LOOKED_AT; k--) {
            const struct pp_cost_sample *o = order[k - 1];
            int other = o->read_end_ns > x->read_start_ns && o->worker != x->worker &&
                        o->read_start_ns > x->read_start_ns && o->read_blocked >= 0.5 * median &&
                        o->read_blocked < limit;
            went_on += other;
            if (other || o->read_end_ns <= x->read_start_ns)
                break;
        }
        together += (size_t)pair + (size_t)(pair && !last_counted);
        last_counted = pair;
        last = x;
    }
    int all_stopped = (double)went_on < (1 - OUTAGE_SHARE) * (double)slow;
    int exceptions = slow >= 4 &&
                     slow <= c->n / 3; /* more are the reads that read ahead for the quick ones */
    return exceptions && c->workers > 1 && all_stopped ? (double)together / (double)slow : 0;
}

static void keep_outage(struct pp_costs *c, const struct pp_cost_sample **slow, size_t n, double median)
{
    /* From the first of these reads to the end of the first to end, less the time that a read takes anyway:
     * the latest beginning and the earliest end that they leave. */
    uint64_t start = slow[0]->read_start_ns;
    for (size_t i = 1; i < n; i++)
        start = slow[i]->read_start_ns < start ? slow[i]->read_start_ns : start;
    double end = (double)(slow[0]->read_end_ns - c->window_start_ns) - median;
    struct pp_outage o = {fmax((double)start - (double)c->window_start_ns, 0), end};
    if (o.end > o.start && (!c->n_outages || o.start >= c->outages[c->n_outages - 1].end)) {
        /* Of a read's time blocked, what lay in the outage is not its own. */
        for (size_t i = 0; i < n; i++) {
            struct pp_cost_sample *x = &c->samples[slow[i] - c->samples];
            double begins = (double)x->read_start_ns - (double)c->window_start_ns;
            x->read_blocked = fmaxf(x->read_blocked - (float)(o.end - fmax(begins, o.start)), 0);
        }
        c->outages[c->n_outages++] = o;
    }
}

/* Where that part is large, moves the outages from the samples' read_blocked into c->outages. */
static pp_status take_outages(struct pp_costs *c, const struct pp_cost_sample **order, double median,
                              struct pp_err *err)
{
    double limit = fmax(OUTAGE_TIMES * median, OUTAGE_NS);
    size_t n = 0, slow = 0;
    if (outages_share(c, order, median) < OUTAGE_SHARE)
        return PP_OK;
    for (size_t i = 0; i < c->n; i++)
        slow += order[i]->read_blocked >= limit;
    if (c->storage.serial >= PP_SERIAL && slow > c->n / 10)
        return PP_OK; /* over a full link they are no exceptions, but bring what quick ones find */
    const struct pp_cost_sample **group = malloc(slow * sizeof(*group));
    c->outages = calloc(slow, sizeof(*c->outages));
    if (!group || !c->outages) {
        free(group);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu slow reads", slow);
    }
    for (size_t i = 0; i < c->n; i++) { /* reads that an outage held up end together, behind it */
        if (order[i]->read_blocked < limit)
            continue;
        if (n && (double)(order[i]->read_end_ns - group[n - 1]->read_end_ns) >= OUTAGE_NS) {
            keep_outage(c, group, n, median);
            n = 0;
        }
        group[n++] = order[i];
    }
    if (n)
        keep_outage(c, group, n, median);
    free(group);
    return PP_OK;
}

/* ---- slow workers: those that wait longer than the others for every sample, whatever it is ----
 *
 * A process in a bad place, a mount of its own. What they take more is theirs and not the samples': replayed
 * with the samples, it would be shared by all workers, and two slow samples of a batch would be made side by
 * side by two workers, which are made one after the other by the slow one. */

/* Slow: its median time blocked in reads is twice that of the median worker, and 1 ms more. */
#define SLOW_WORKER_TIMES 2
#define SLOW_WORKER_NS 1e6
enum { FEWEST_READS = 3 };

struct read {
    uint32_t worker;
    float blocked;
};

PP_BY_BOTH(by_worker, struct read, worker, blocked)

PP_BY(by_blocked, struct read, blocked)

pp_status pp_slow_workers_find(struct pp_costs *c, struct pp_err *err)
{
    struct read *r = malloc((c->n + 1) * sizeof(*r));
    c->n_slow = 0;
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the reads of %zu samples", c->n);
    for (size_t i = 0; i < c->n; i++) {
        /* A slow host is slow for whichever worker asks it. */
        double more = c->samples[i].slow_host && c->requests.slow_host > 1
                          ? (c->samples[i].first_byte + c->samples[i].transfer) *
                                (1 - 1 / c->requests.slow_host)
                          : 0;
        r[i] = (struct read){c->samples[i].worker, fmaxf(c->samples[i].read_blocked - (float)more, 0)};
    }
    qsort(r, c->n, sizeof(*r), by_worker);
    size_t n = 0; /* one read of each worker, the median one, at the front */
    for (size_t from = 0, to; from < c->n; from = to) {
        for (to = from; to < c->n && r[to].worker == r[from].worker; to++) {
        }
        if (to - from >= FEWEST_READS)
            r[n++] = r[from + (to - from) / 2];
    }
    qsort(r, n, sizeof(*r), by_blocked);
    double usual = n ? r[(n - 1) / 2].blocked : 0;
    for (size_t i = n; i-- > (n + 1) / 2 && c->n_slow < PP_SLOW_MOST;)
        if (r[i].blocked >= fmax(SLOW_WORKER_TIMES * usual, usual + SLOW_WORKER_NS))
            c->slow[c->n_slow++] = (struct pp_slow_worker){r[i].worker, r[i].blocked - usual};
    free(r);
    return PP_OK;
}

/* ---- how many reads storage was seen to serve at a time ---- */

#define BUSIEST 0.95 /* of the reads: beyond it a few that came together by chance */

/* At the start of each read that waited, how many were under way, itself among them. */
static double parallel_of(const struct pp_costs *c, float *v)
{
    uint64_t *start = malloc(2 * (c->n + 1) * sizeof(*start)), *end = start ? start + c->n + 1 : NULL;
    size_t n = 0, ended = 0;
    for (size_t i = 0; start && i < c->n; i++) {
        const struct pp_cost_sample *x = &c->samples[i];
        if (x->read_blocked > 0 && x->read_blocked >= 0.5 * (double)(x->read_end_ns - x->read_start_ns)) {
            start[n] = x->read_start_ns;
            end[n++] = x->read_end_ns;
        }
    }
    if (n < FEWEST_WAITING) {
        free(start);
        return NAN;
    }
    qsort(start, n, sizeof(*start), pp_by_u64);
    qsort(end, n, sizeof(*end), pp_by_u64);
    for (size_t i = 0; i < n; i++) {
        while (ended < i && end[ended] <= start[i])
            ended++;
        v[i] = (float)(i + 1 - ended);
    }
    free(start);
    qsort(v, n, sizeof(*v), pp_by_float);
    return pp_stats_at_sorted(v, n, BUSIEST);
}

/* ---- putting it together ---- */

/* Of all but a few, which may lack a read at the window's ends. */
static int same_sizes(const struct pp_costs *c, float *v)
{
    for (size_t i = 0; i < c->n; i++)
        v[i] = (float)c->samples[i].bytes;
    qsort(v, c->n, sizeof(*v), pp_by_float);
    double most = pp_stats_at_sorted(v, c->n, 0.98);
    return most - pp_stats_at_sorted(v, c->n, 0.02) <= most / 20; /* of reads without bytes, too */
}

/* The part of a known limit that was used; NAN: no limit, or the reads were not counted. */
double pp_storage_limit_used(double got_per_s, double limit_per_s)
{
    return limit_per_s > 0 ? got_per_s / limit_per_s : NAN;
}

#define SLICE_NS 100e6 /* of the kernel's block throttle */

/* A limit that the control group has, and that is used up: what came is what it lets through. Both may be
 * set; the one that is used more is what limits. */
static int known_limit(struct pp_costs *c)
{
    double bytes = pp_storage_limit_used(c->disk_bytes_per_s, c->limit_bytes_per_s),
           reads = pp_storage_limit_used(c->disk_reads_per_s, c->limit_reads_per_s), size = 0;
    for (size_t i = 0; i < c->n; i++)
        size += c->samples[i].bytes / (double)c->n;
    if (bytes >= PP_LIMIT_USED && !(reads > bytes))
        c->bandwidth = c->samples_per_s * size / fmin(bytes, 1);
    else if (reads >= PP_LIMIT_USED)
        c->reads_per_s = c->samples_per_s / fmin(reads, 1);
    c->burst_ns = c->bandwidth > 0 || c->reads_per_s > 0 ? SLICE_NS : 0;
    return c->burst_ns > 0;
}

/* Bytes or reads a second: of reads that are all as large as each other they are the same, and bytes are what
 * is limited more often. v: room for c->n. 1: they come in slices, between which no read completes; that is
 * no outage, for the limit holds it already. */
static int read_limits(struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    double paced, mean = 0;
    enum pp_ration ration;
    struct pp_link link;
    if (c->streaming) /* read by one thread, they take turns in any case */
        return known_limit(c);
    pp_link_find(c, order, &link);
    c->storage.serial = link.serial;
    for (size_t i = 0; i < c->n; i++)
        mean += c->samples[i].bytes / (double)c->n;
    if (known_limit(c))
        return 1;
    if (c->requests.link > 0) { /* from every connection's bytes, which says more than whole reads do */
        c->bandwidth = c->requests.link;
        c->storage.serial = fmax(link.serial, PP_SERIAL);
    } else if (link.serial >= PP_SERIAL)
        c->bandwidth = link.bytes_per_s;
    else if ((paced = at_a_pace(c, order, v)) > 0 && same_sizes(c, v))
        c->bandwidth = mean * paced;
    else if (paced > 0)
        c->reads_per_s = paced;
    else if ((ration = pp_slices_ration(c, order, v)) != PP_NO_RATION) {
        if (ration == PP_RATION_OF_BYTES || same_sizes(c, v))
            c->bandwidth = c->samples_per_s * mean;
        else
            c->reads_per_s = c->samples_per_s;
        c->burst_ns = SLICE_NS;
        return 1;
    } else if ((c->bandwidth = pp_link_shared(c, order)) > 0 ||
               (same_sizes(c, v) && (c->bandwidth = line_that_forgets(c, order, v)) > 0))
        c->storage.serial = fmax(link.serial, PP_SERIAL);
    return 0;
}

static pp_status read_all(struct pp_costs *c, struct pp_err *err)
{
    struct pp_storage *out = &c->storage;
    float *v = malloc(c->n * sizeof(*v));
    const struct pp_cost_sample **order = malloc(c->n * sizeof(*order));
    pp_status st = v && order ? PP_OK
                              : pp_fail(err, PP_E_NO_MEMORY, "no memory for the reads of %zu samples", c->n);
    if (st == PP_OK) {
        sort_by_end(c, order);
        drift_of(c, order, v, out);
        for (size_t i = 0; i < c->n; i++)
            v[i] = c->samples[i].read_blocked;
        qsort(v, c->n, sizeof(*v), pp_by_float);
        double median = pp_stats_at_sorted(v, c->n, 0.5);
        /* a piece of a stream holds many samples, of which the first pays; their numbers are their order */
        out->tail = c->streaming ? NAN : pp_stats_at_sorted(v, c->n, 0.99) / fmax(median, 1e5);
        out->burst = outages_share(c, order, median);
        out->shard_skew = c->streaming ? NAN : shard_of(c, v);
        out->parallel = parallel_of(c, v);
        if (read_limits(c, order, v))
            out->shard_skew = NAN; /* whose turn comes in the next slice is no part of the data's doing */
        else
            st = take_outages(c, order, median, err);
    }
    out->known = st == PP_OK;
    free(order);
    free(v);
    return st;
}

#define ALL_READ 0.95 /* the rest lacks its read at the window's ends */

/* Where some samples read nothing (a cache in the data set), storage is judged by those that read; their
 * order in time is no rate then, of which a change or an outage could be told. */
pp_status pp_storage_read(struct pp_costs *c, struct pp_err *err)
{
    struct pp_costs only = *c;
    size_t n = 0;
    if (c->storage.known)
        return PP_OK;
    for (size_t i = 0; i < c->n; i++)
        n += c->samples[i].read_end_ns > c->samples[i].read_start_ns;
    if (!n || (double)n >= ALL_READ * (double)c->n)
        return read_all(c, err);
    if (!(only.samples = malloc(n * sizeof(*only.samples))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the reads of %zu samples", n);
    only.n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->samples[i].read_end_ns > c->samples[i].read_start_ns)
            only.samples[only.n++] = c->samples[i];
    only.samples_per_s *= (double)n / (double)c->n;
    pp_status st = read_all(&only, err);
    c->storage = only.storage;
    c->storage.drift = c->storage.burst = NAN;
    c->bandwidth = only.bandwidth;
    c->reads_per_s = only.reads_per_s;
    c->burst_ns = only.burst_ns;
    free(only.samples);
    free(only.outages);
    return st;
}
