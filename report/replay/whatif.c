#include "report/replay/whatif_impl.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "report/replay/storage.h"

/* ---- predictions ---- */

enum { REPLAY_SAMPLES = 6000, SHORT_SAMPLES = 1500, BOOTSTRAPS = 5 };

/* A few batches at least, however large. */
enum { LEAST_BATCHES = 6, NEIGHBOURS = 12 };

static size_t length_of(const struct pp_costs *c, int glance)
{
    double most = glance == PP_GLANCE_SHORT ? SHORT_SAMPLES : REPLAY_SAMPLES;
    return (size_t)fmin(fmax(most, LEAST_BATCHES * c->batch_size), (double)c->n);
}

/* n samples in blocks of so many batches: neighbours are not independent. They are drawn with replacement;
 * seed 0: from all over the recording. A block begins where its first batch does. */
static void take_blocks(const struct pp_costs *c, struct pp_cost_sample *to, size_t n, double batches,
                        uint64_t seed)
{
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 77);
    size_t block = (size_t)fmax(fmin(batches * c->batch_size, (double)n), 1);
    for (size_t at = 0; at < n; at += block) {
        size_t m = n - at < block ? n - at : block,
               from = seed ? (size_t)(pp_rng_unit(&rng) * (double)(c->n - block + 1))
                           : (size_t)((double)at / (double)n * (double)(c->n - block));
        while (c->per_worker && from > 0 && c->samples[from].batch == c->samples[from - 1].batch)
            from--;
        memcpy(to + at, c->samples + from, m * sizeof(*to));
    }
}

/* Replays n of the recorded samples, or of a resampled copy. Of a longer recording they are blocks from all
 * over it: its first batches may have had it easier. */
static pp_status replay_some(const struct pp_costs *c, const struct pp_knobs *k,
                             const struct pp_cost_sample *s, size_t n, struct pp_replay_result *r,
                             struct pp_err *err)
{
    if (s != c->samples || n == c->n)
        return pp_whatif_replay(c, k, s, n, r, err);
    struct pp_cost_sample *spread = malloc(n * sizeof(*spread));
    if (!spread)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu samples", n);
    take_blocks(c, spread, n, n < 4 * NEIGHBOURS * c->batch_size ? 1 : NEIGHBOURS, 0);
    pp_status st = pp_whatif_replay(c, k, spread, n, r, err);
    free(spread);
    return st;
}

/* Which replay as recorded: of the recording or a resampled copy, with one of four ideas of who competes. */
enum { BASE, BASE_COPY, BASE_OTHERS = BASE_COPY + BOOTSTRAPS, BASE_DRAG = BASE_OTHERS + 4 };
_Static_assert(BASE_DRAG + 2 == PP_BASE_RATES, "each batch has its place");

static pp_status base_rate(const struct pp_costs *c, int which, const struct pp_cost_sample *s, size_t n,
                           struct pp_base_rate *out, struct pp_err *err)
{
    struct pp_base_rate none = {0}, *kept = c->base ? &c->base[which] : &none;
    const double of[] = {
        c->others,     c->groups,    c->wanted_by_others, c->wake_part,         c->bandwidth, c->reads_per_s,
        c->restart_ns, c->step_drag, (double)c->n,        (double)c->n_outages, c->on_demand, c->lock_held};
    struct pp_knobs as_recorded = pp_knobs_none();
    struct pp_replay_result r;
    if (kept->samples_per_s > 0 && memcmp(kept->of, of, sizeof(of)) == 0) {
        *out = *kept;
        return PP_OK;
    }
    pp_status st = replay_some(c, &as_recorded, s, n, &r, err);
    if (st == PP_OK) {
        *kept = (struct pp_base_rate){.samples_per_s = r.samples_per_s, .first_wait_ns = r.first_wait_ns};
        memcpy(kept->of, of, sizeof(of));
    }
    *out = *kept;
    return st;
}

/* Of the recorded time, what the replay leaves out. */
static double apart_share(const struct pp_costs *c)
{
    return fmin(c->apart_ns * c->samples_per_s / c->batch_size / 1e9, 0.9);
}

/* What the replay has to come to. Of epochs that drain it has as many starts as its batches need; a window
 * that holds a few of them has one less. */
static double rate_within(const struct pp_costs *c)
{
    double window_ns = (double)c->epoch_samples * 1e9 / c->samples_per_s,
           missing_ns = c->drains ? c->epoch_starts_missing * (c->epoch_gap_ns + c->epoch_wait_ns) : 0;
    return c->samples_per_s / (1 - apart_share(c)) *
           (missing_ns > 0 ? window_ns / (window_ns + missing_ns) : 1);
}

/* What the replay as recorded is off by cancels; but where it is too slow, as it is for the batches that were
 * late, the quotient must not promise more than the trainer, whose own time was recorded, can do. What the
 * replay leaves out stays as it was (Amdahl). */
static double calibrated(const struct pp_costs *c, const struct pp_knobs *k, const struct pp_replay_result *r,
                         const struct pp_base_rate *base)
{
    struct pp_knobs as_recorded = pp_knobs_none();
    double scale = fmax(c->samples_per_s / pp_whatif_trainer_most(c, &as_recorded, 0), 1),
           ratio = r->samples_per_s / base->samples_per_s, apart = apart_share(c),
           rate = c->samples_per_s * ratio / (1 - apart + apart * ratio);
    return fmin(rate, scale * pp_whatif_trainer_most(c, k, r->first_wait_ns - base->first_wait_ns));
}

/* Of storage that answers each read by itself: samples/s, if it serves no more than PP_PARALLEL_BEYOND times
 * the reads at a time that were seen (Little's law); INFINITY: no read waits, or it is not known. */
static double storage_sure(const struct pp_costs *c, const struct pp_knobs *k)
{
    double ns = 0;
    for (size_t i = 0; i < c->n; i++)
        ns += c->samples[i].read_blocked / (double)c->n;
    ns *= k->read * (1 - k->cached);
    int each = !(c->bandwidth > 0) && !(c->reads_per_s > 0) && !c->streaming; /* a stream has one reader */
    return each && ns > 0 && c->storage.parallel > 0 ? PP_PARALLEL_BEYOND * c->storage.parallel * 1e9 / ns
                                                     : INFINITY;
}

/* Without an interval: a fifth of the cost. */
static pp_status predict_rate(const struct pp_costs *c, const struct pp_knobs *k, struct pp_prediction *out,
                              struct pp_err *err)
{
    struct pp_replay_result r;
    struct pp_base_rate base;
    double more_ns;
    *out = (struct pp_prediction){.low = NAN, .high = NAN, .gain_low = NAN, .gain_high = NAN};
    pp_status st = base_rate(c, BASE, c->samples, length_of(c, c->glance), &base, err);
    if (st == PP_OK)
        st = replay_some(c, k, c->samples, length_of(c, c->glance), &r, err);
    if (st != PP_OK)
        return st;
    out->samples_per_s = calibrated(c, k, &r, &base);
    out->gain = out->samples_per_s / c->samples_per_s - 1;
    more_ns = r.first_wait_ns - base.first_wait_ns;
    out->data_wait_share = r.data_wait_share;
    if (!c->n_others && isfinite(pp_whatif_trainer_most(c, k, more_ns))) {
        /* The data wait that a prediction leaves, so that a change of nothing leaves the one that was
         * measured: the replay's own as recorded has the waits for first batches, or lacks what was no
         * batch's. */
        struct pp_knobs as_recorded = pp_knobs_none();
        double share = pp_whatif_wait_share(c, k, out->samples_per_s, more_ns),
               before = pp_whatif_wait_share(c, &as_recorded, c->samples_per_s, 0),
               measured = c->data_wait_share;
        int known = measured > 0 && before > 0 && before < 1;
        out->data_wait_share = !known            ? share
                               : share <= before ? share * measured / before
                                                 : 1 - (1 - share) * (1 - measured) / (1 - before);
    }
    out->reads_waiting = r.reads_waiting;
    out->reads_seen = out->samples_per_s > fmax(storage_sure(c, k), c->samples_per_s) ? c->storage.parallel
                                                                                      : 0;
    out->parts = c->divides && k->workers > c->workers && out->gain > 0.01 ? k->workers : 0;
    return PP_OK;
}

double pp_whatif_measured(const struct pp_costs *c)
{
    return c->others_part > 0 ? c->whole_per_s : c->samples_per_s;
}

/* The job's rate where the judged loader's part of its time runs at the rate that was predicted, and the rest
 * as it did (Amdahl, AFIPS Spring Joint Computer Conference, 1967). */
static double of_whole(const struct pp_costs *c, double samples_per_s)
{
    double judged = 1 - c->others_part;
    return c->others_part > 0 ? c->whole_per_s / (c->others_part + judged * c->samples_per_s / samples_per_s)
                              : samples_per_s;
}

static void to_whole(const struct pp_costs *c, struct pp_prediction *p)
{
    double others = c->others_part, judged = (1 - others) * c->samples_per_s / p->samples_per_s;
    if (!(others > 0))
        return;
    p->data_wait_share = (judged * p->data_wait_share + others * c->others_wait_share) / (judged + others);
    p->samples_per_s = of_whole(c, p->samples_per_s);
    p->low = of_whole(c, p->low);
    p->high = of_whole(c, p->high);
    p->gain = p->samples_per_s / c->whole_per_s - 1;
    p->gain_low = p->low / c->whole_per_s - 1;
    p->gain_high = p->high / c->whole_per_s - 1;
}

const char *pp_whatif_assumes(const struct pp_prediction *p, char *buf, size_t size)
{
    int n = 0;
    if (p->reads_seen > 0)
        n = snprintf(buf, size, "storage serves %.*f parallel reads as fast as the %.0f recorded",
                     p->reads_waiting < 9.95, p->reads_waiting, p->reads_seen);
    if (p->parts && n < (int)size)
        n += snprintf(buf + n, size - (size_t)n,
                      "%sthe IterableDataset has an equal part for each of %d workers", n ? ", and " : "",
                      p->parts);
    return n ? buf : NULL;
}

pp_status pp_whatif_rate(const struct pp_costs *c, const struct pp_knobs *k, double *samples_per_s,
                         double *data_wait_share, struct pp_err *err)
{
    struct pp_prediction p;
    pp_status st = predict_rate(c, k, &p, err);
    if (st != PP_OK)
        return st;
    to_whole(c, &p);
    *samples_per_s = p.samples_per_s;
    if (data_wait_share)
        *data_wait_share = p.data_wait_share;
    return PP_OK;
}

pp_status pp_whatif_error(const struct pp_costs *c, double *error, struct pp_err *err)
{
    struct pp_base_rate base;
    pp_status st = base_rate(c, BASE, c->samples, length_of(c, c->glance), &base, err);
    if (st == PP_OK)
        *error = base.samples_per_s / rate_within(c) - 1;
    return st;
}

/* One more replay of these samples under the knobs, against the replay as recorded that stands at `which`:
 * widens the interval of *out to its rate. */
static pp_status widen(const struct pp_costs *c, const struct pp_knobs *k, int which,
                       const struct pp_cost_sample *s, struct pp_prediction *out, struct pp_err *err)
{
    size_t n = length_of(c, c->glance);
    struct pp_replay_result r;
    struct pp_base_rate base;
    pp_status st = base_rate(c, which, s, n, &base, err);
    if (st == PP_OK)
        st = replay_some(c, k, s, n, &r, err);
    if (st != PP_OK)
        return st;
    double rate = calibrated(c, k, &r, &base);
    out->low = fmin(out->low, rate);
    out->high = fmax(out->high, rate);
    return PP_OK;
}

/* The ends of what is not known of a change, as changes. */
static size_t ends_of(const struct pp_costs *c, const struct pp_knobs *k, struct pp_knobs *end)
{
    size_t n = 0;
    for (int i = 0; i < 2 && k->gpu_decode.low_per_s < k->gpu_decode.high_per_s; i++) {
        end[n] = *k; /* of what is published of the GPU */
        end[n].gpu_decode.per_s = i ? k->gpu_decode.high_per_s : k->gpu_decode.low_per_s;
        end[n++].gpu_decode.floor_ns = i ? k->gpu_decode.low_floor_ns : k->gpu_decode.high_floor_ns;
    }
    if (k->unpickle_most > k->unpickle)
        end[n] = *k, end[n++].unpickle = k->unpickle_most;
    if (k->kept && c->per_worker) /* who opens a connection for each sample makes its client anew, in Python,
                                     which is part of the sample's other work */
        end[n] = *k, end[n++].transform *= 0.5;
    if (k->workers == PP_NO_WORKERS &&
        !c->in_trainer) { /* within one thread a batch needs no shared memory: of
                             what collating took, a part that was not recorded */
        end[n] = *k, end[n].collate = 0, end[n++].cold = -1;
        end[n] = *k, end[n++].cold = 1;
    }
    if (k->batch > 0) /* how a step and the hand-over grow with the batch takes two sizes to know: from not at
                         all to in proportion */
        end[n] = *k, end[n++].per_batch = 1;
    return n;
}

pp_status pp_whatif(const struct pp_costs *c, const struct pp_knobs *k, struct pp_prediction *out,
                    struct pp_err *err)
{
    if (c->glance) {
        pp_status quick = predict_rate(c, k, out, err);
        if (quick == PP_OK)
            to_whole(c, out);
        return quick;
    }
    size_t n = length_of(c, c->glance);
    struct pp_base_rate base = {0};
    struct pp_cost_sample *s = malloc(n * sizeof(*s));
    pp_status st = s ? base_rate(c, BASE, c->samples, n, &base, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu samples", n);
    memset(out, 0, sizeof(*out));
    if (st == PP_OK)
        st = predict_rate(c, k, out, err);
    out->low = out->high = out->samples_per_s;
    for (uint64_t b = 1; b <= BOOTSTRAPS && st == PP_OK; b++) {
        take_blocks(c, s, n, NEIGHBOURS, b);
        st = widen(c, k, BASE_COPY + (int)b - 1, s, out, err);
    }
    const double competition[][2] = {{c->others_range.low, 0},
                                     {c->others_range.high, 0},
                                     {0, c->groups_range.low},
                                     {0, c->groups_range.high}};
    for (int i = 0; i < 4 && st == PP_OK;
         i++) { /* who the scheduler is fair to, and to how many, is not known for sure */
        struct pp_costs other = *c;
        if (competition[i][0] + competition[i][1] < 0.02 && i % 2)
            continue; /* there is no competition */
        other.others = competition[i][0];
        other.groups = competition[i][1];
        other.wanted_by_others *= i % 2 ? 1.25 : 0.75;
        other.wake_part = fmin(c->wake_part * (i % 2 ? 1.25 : 0.75), 1);
        st = widen(&other, k, BASE_OTHERS + i, c->samples, out, err);
    }
    for (int i = 0; i < 2 && st == PP_OK && c->step_threads > 0; i++) {
        struct pp_costs other = *c; /* who sleeps where it waits for the others, and how often they meet */
        other.step_drag *= 2 * i;
        st = widen(&other, k, BASE_DRAG + i, c->samples, out, err);
    }
    struct pp_knobs end[8];
    size_t ends = ends_of(c, k, end);
    for (size_t i = 0; i < ends && st == PP_OK; i++)
        st = widen(c, &end[i], BASE, c->samples, out, err);
    if (st == PP_OK) {
        /* a change of nothing is known exactly; else the model is off by at least what it is off by here */
        double off = fabs(out->samples_per_s / c->samples_per_s - 1) > 0.01
                         ? fmin(fabs(base.samples_per_s / rate_within(c) - 1), 0.2) / 2 + 0.02
                         : 0.02;
        off += 1.28 * 1.414 * c->rate_se; /* the recording is one sample of this machine, and the run that
                                             would check the prediction is another */
        if (out->reads_seen > 0)
            out->low = fmin(out->low, fmax(storage_sure(c, k), c->samples_per_s));
        out->low /= 1 + off;
        out->high *= 1 + off;
        out->gain_low = out->low / c->samples_per_s - 1;
        out->gain_high = out->high / c->samples_per_s - 1;
        to_whole(c, out);
    }
    free(s);
    return st;
}

/* ---- calibration: who competes for the CPUs makes the replay wait for them as the recording did ---- */

enum { HALVINGS = 9 };
#define CLOSE_ENOUGH 0.003 /* at a short glance: a tenth of what fit_competition takes for an error */

/* The value of *much, c->others or c->groups, from 0 to most, at which what the replay gives is what was
 * recorded: its throughput, or which part of the time that its threads ask for on CPUs they get. Both fall as
 * it grows. */
enum fitted { BY_THROUGHPUT, BY_SERVICE };
static pp_status fit(struct pp_costs *c, double *much, double most, enum fitted by, double recorded,
                     struct pp_err *err)
{
    struct pp_knobs none = pp_knobs_none();
    double low = 0, high = most;
    pp_status st = PP_OK;
    for (int i = 0; i < HALVINGS && st == PP_OK; i++) {
        struct pp_replay_result r;
        *much = i ? (low + high) / 2 : 0; /* first: does it need any? */
        st = replay_some(c, &none, c->samples, length_of(c, PP_GLANCE_SHORT), &r, err);
        double got = st != PP_OK ? NAN : by == BY_THROUGHPUT ? r.samples_per_s : r.service_rate;
        if (st == PP_OK && i && c->glance == PP_GLANCE_SHORT && fabs(got / recorded - 1) < CLOSE_ENOUGH)
            return st;
        if (st == PP_OK && got > recorded)
            low = *much;
        else if (i == 0)
            return st;
        else
            high = *much;
    }
    *much = (low + high) / 2;
    return st;
}

#define USUAL_LOAD 4
#define MOST_LOAD 64

/* The same, with more where most is not enough: on a CPU that thirty share, or whose others have a greater
 * weight, a thread gets less than the usual most leaves it. */
static pp_status fit_delays(struct pp_costs *c, double *much, struct pp_err *err)
{
    /* The competition there can have been. While CPUs were idle the others had what they wanted: processor
     * sharing at utilisation rho holds others' load / (1 - rho) of their threads on average (Kleinrock,
     * Queueing Systems 2, 1976, 4.4). Without this bound a single worker, which hardly waits for a CPU
     * whether none or all but one of the others are taken, would be predicted to leave none for a second
     * worker. */
    double bound = MOST_LOAD * (c->cpus + c->workers),
           idle = 1 - (c->outside_cpus + c->process_cpus) / c->online_cpus; /* NAN: not counted */
    double usual = USUAL_LOAD * (c->cpus + c->workers),
           most = idle > 0 ? fmin(bound, (c->outside_cpus + c->helper_cpus) / idle) : bound;
    double recorded = c->cpu_ns + c->delay_ns > 0 ? c->cpu_ns / (c->cpu_ns + c->delay_ns) : 1;
    pp_status st = fit(c, much, fmin(most, usual), BY_SERVICE, recorded, err);
    return st == PP_OK && *much > 0.99 * usual ? fit(c, much, most, BY_SERVICE, recorded, err) : st;
}

/* Competition is what makes the replay wait for CPUs as long as the recording did. Where the replay is too
 * slow with that, some of the delays were beside the critical path (a thread that wakes up for a lock another
 * has taken meanwhile) and held no batch up: then it is what makes the throughput come out, if that does come
 * out. The two are the ends of what it may be. */
static pp_status fit_competition(struct pp_costs *c, double *much, struct pp_range *range, struct pp_err *err)
{
    double error = 0, after = 0;
    c->others = c->groups = 0;
    pp_status st = fit_delays(c, much, err);
    double by_delay = *much;
    if (st == PP_OK)
        st = pp_whatif_error(c, &error, err);
    if (st == PP_OK && error < -0.03) {
        st = fit(c, much, by_delay, BY_THROUGHPUT, rate_within(c), err);
        if (st == PP_OK)
            st = pp_whatif_error(c, &after, err);
        if (st == PP_OK && fabs(after) >= fabs(error))
            *much = by_delay; /* competition is not what the replay is off by */
    }
    *range = (struct pp_range){*much * 0.75, by_delay * 1.25};
    return st;
}

/* Where epochs drain, what the recorded first wait has beyond the replay's is the start of the workers. */
static pp_status fit_restart(struct pp_costs *c, struct pp_err *err)
{
    struct pp_knobs none = pp_knobs_none();
    struct pp_replay_result r;
    if (!c->drains)
        return PP_OK;
    c->restart_ns = 0;
    pp_status st = replay_some(c, &none, c->samples, length_of(c, PP_GLANCE_SHORT), &r, err);
    if (st == PP_OK)
        c->restart_ns = fmax(c->epoch_wait_ns - r.first_wait_ns - c->fetch_cpu_ns - c->fetch_blocked_ns, 0);
    return st;
}

#define MUCH_FASTER 0.15 /* what a change has to gain */
#define ENOUGH_IDLE 0.1

pp_status pp_whatif_calibrate(struct pp_costs *c, struct pp_err *err)
{
    double others = 0, groups = 0;
    /* Threads of the job that have no lane compete as others' do, and as threads: they are in our group. */
    int helpers = c->helper_cpus > c->outside_cpus, as_groups = c->fair_to_groups && !helpers;
    c->cpus = c->usable_cpus > 0 ? c->usable_cpus : 1;
    c->others = c->groups = c->wake_part = 0;
    c->wanted_by_others = INFINITY; /* while the competition is fitted to the delays that it made */
    pp_status st = pp_storage_read(c, err);
    if (st == PP_OK)
        st = pp_slow_workers_find(c, err);
    if (st == PP_OK)
        st = fit_restart(c, err);
    if (st == PP_OK)
        st = fit_delays(c, &c->others, err);
    c->others_as_threads = c->others;
    if (c->others > 0)
        c->wake_part = c->others / (c->others + c->runnable);
    /* Workers that rest as long as it trains are ahead of the trainer, or are asked for a batch when it wants
     * one: what comes nearer to the rate that was recorded. */
    double ahead = 0, asked = 0;
    if (st == PP_OK) {
        st = c->rests ? pp_whatif_error(c, &ahead, err) : PP_OK;
        c->on_demand = st == PP_OK && ahead >= MUCH_FASTER;
        if (c->on_demand)
            st = pp_whatif_error(c, &asked, err);
        c->on_demand = c->on_demand && fabs(asked) < ahead / 2;
    }
    if (st == PP_OK && c->locked &&
        c->lock_wait > 0) /* so much that they come to the recorded rate together */
        st = fit(c, &c->lock_held, 1, BY_THROUGHPUT, rate_within(c), err);
    if (st == PP_OK && !(c->glance && as_groups)) /* at a glance only the one that is used */
        st = fit_competition(c, &c->others, &c->others_range, err);
    others = c->others;
    if (st == PP_OK && !helpers && (!c->glance || as_groups))
        st = fit_competition(c, &c->groups, &c->groups_range, err);
    groups = c->groups;
    c->others = as_groups ? 0 : others;
    c->groups = as_groups ? groups : 0;
    /* Others that leave CPUs idle have what they want, and take no more when we take more: a load of 0.4 CPUs
     * is replayed as 0.4 CPUs, and not as a competitor for half of the machine. The less was idle, the less
     * is that known: under a tenth of the machine they may have wanted more than they got. */
    double idle = 1 - (c->outside_cpus + c->process_cpus) / c->online_cpus; /* NAN: not counted */
    c->wanted_by_others = !helpers && idle > 0 ? c->outside_cpus * fmax(1, ENOUGH_IDLE / idle) : INFINITY;
    return st == PP_OK ? fit_restart(c, err) : st; /* the competition takes a part of the wait */
}
