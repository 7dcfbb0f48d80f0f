/* Who competes with a recorded run for the CPUs: what makes its replay wait for them as the recording did. */
#include "report/replay/slow_workers.h"
#include "report/replay/storage.h"
#include "report/replay/whatif_impl.h"

#include <math.h>

enum { HALVINGS = 9 };

static double service_rate(const struct pp_replay_result *r)
{
    return r->service_rate;
}

static double throughput(const struct pp_replay_result *r)
{
    return r->samples_per_s;
}

/* The value of *much, c->others or c->groups, from 0 to most, at which what the replay gives is what was
 * recorded. What is looked at falls as it grows. */
static pp_status fit(struct pp_costs *c, double *much, double most,
                     double (*look)(const struct pp_replay_result *), double recorded, struct pp_err *err)
{
    struct pp_knobs none = pp_knobs_none();
    double low = 0, high = most;
    pp_status st = PP_OK;
    for (int i = 0; i < HALVINGS && st == PP_OK; i++) {
        struct pp_replay_result r;
        *much = i ? (low + high) / 2 : 0; /* first: does it need any? */
        st = pp_whatif_replay(c, &none, c->samples, c->n < 1500 ? c->n : 1500, &r, err);
        if (st == PP_OK && look(&r) > recorded)
            low = *much;
        else if (i == 0)
            return st;
        else
            high = *much;
    }
    *much = (low + high) / 2;
    return st;
}

static double recorded_rate(const struct pp_costs *c)
{
    return c->cpu_ns + c->delay_ns > 0 ? c->cpu_ns / (c->cpu_ns + c->delay_ns) : 1;
}

/* The competition there can have been. While CPUs were idle the others had what they wanted: processor
 * sharing at utilisation rho holds others' load / (1 - rho) of their threads on average (Kleinrock, Queueing
 * Systems 2, 1976, 4.4). Without this bound a single worker, which waits the same hardly at all for anything
 * from nobody to all CPUs but its own being taken, would be told that a second one finds no CPU. */
static double most_competition(const struct pp_costs *c)
{
    double most = 4 * (c->cpus + c->workers), idle = 1 - (c->outside_cpus + c->process_cpus) / c->online_cpus;
    return idle > 0 ? fmin(most, c->outside_cpus / idle) : most; /* NAN: not counted */
}

/* Competition is what makes the replay wait for CPUs as long as the recording did. Where the replay is too
 * slow with that, some of the delays were beside the critical path (a thread that wakes up for a lock another
 * has taken meanwhile) and held nobody up: then it is what makes the throughput come out, if that does come
 * out. The two are the ends of what it may be. */
static pp_status fit_competition(struct pp_costs *c, double *much, struct pp_range *range, struct pp_err *err)
{
    double error = 0, after = 0;
    c->others = c->groups = 0;
    pp_status st = fit(c, much, most_competition(c), service_rate, recorded_rate(c), err);
    double by_delay = *much;
    if (st == PP_OK)
        st = pp_whatif_error(c, &error, err);
    if (st == PP_OK && error < -0.03) {
        st = fit(c, much, by_delay, throughput, c->samples_per_s, err);
        if (st == PP_OK)
            st = pp_whatif_error(c, &after, err);
        if (st == PP_OK && fabs(after) >= fabs(error))
            *much = by_delay; /* competition is not what the replay is off by */
    }
    *range = (struct pp_range){*much * 0.75, by_delay * 1.25};
    return st;
}

pp_status pp_whatif_calibrate(struct pp_costs *c, struct pp_err *err)
{
    double others = 0, groups = 0;
    c->cpus = c->usable_cpus > 0 ? c->usable_cpus : 1;
    c->others = c->groups = c->wake_part = 0;
    pp_status st = pp_storage_read(c, err);
    if (st == PP_OK)
        st = pp_slow_workers_find(c, err);
    if (st == PP_OK)
        st = fit(c, &c->others, most_competition(c), service_rate, recorded_rate(c), err);
    c->others_as_threads = c->others;
    if (c->others > 0)
        c->wake_part = c->others / (c->others + c->runnable);
    if (st == PP_OK && !(c->glance && c->fair_to_groups)) /* at a glance only the one that is used */
        st = fit_competition(c, &c->others, &c->others_range, err);
    others = c->others;
    if (st == PP_OK && (!c->glance || c->fair_to_groups))
        st = fit_competition(c, &c->groups, &c->groups_range, err);
    groups = c->groups;
    c->others = c->fair_to_groups ? 0 : others;
    c->groups = c->fair_to_groups ? groups : 0;
    return st;
}
