#include "report/compare/load.h"

#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/stats/order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static double threads_of(const struct pp_report *r, pp_lane lane)
{
    return lane == PP_LANE_WORKER && r->n_workers ? (double)r->n_workers : 1;
}

/* ---- metrics ---- */

/* Waiting costs no CPU worth the name and is often not split; work without a split makes the sum unknown. */
static double cpu_per_sample(const struct pp_report *r)
{
    double cpu_ns = 0;
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        if (p->lane != PP_LANE_READER && p->lane != PP_LANE_WORKER && p->lane != PP_LANE_COPY)
            continue;
        if (isnan(p->cpu_share) && info && info->kind == PP_KIND_WORK && p->total_ns)
            return NAN;
        cpu_ns += isnan(p->cpu_share) ? 0 : (double)p->total_ns * p->cpu_share;
    }
    return r->window_samples && cpu_ns > 0 ? cpu_ns / 1e9 / (double)r->window_samples : NAN;
}

static double wait_p99_s(const struct pp_report *r)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == PP_PHASE_DATA_WAIT && r->phases[i].lane == PP_LANE_TRAINER)
            return (double)r->phases[i].p99_ns / 1e9;
    return NAN;
}

static void set(struct pp_run *out, enum pp_cmp_id id, double value, enum pp_why why_not)
{
    out->metric[id] = value;
    out->why[id] = isnan(value) ? why_not : PP_WHY_UNKNOWN;
}

/* Warm-up is no measurement, and without a step the trainer does nothing but wait. */
static void set_metrics(const struct pp_report *r, struct pp_run *out)
{
    int steady = r->has_steady_state, waits = steady && r->has_step;
    set(out, PP_CMP_FIRST_BATCH_S, r->first_batch_s, PP_WHY_NO_FIRST_BATCH);
    int counts = !isnan(r->samples_per_s) && r->samples_per_s > 0;
    set(out, PP_CMP_SAMPLES_PER_S, steady && counts ? r->samples_per_s : NAN,
        steady ? PP_WHY_NO_SAMPLES : PP_WHY_NO_STEADY_STATE);
    set(out, PP_CMP_BATCHES_PER_S, steady && !counts ? r->batches_per_s : NAN,
        counts ? PP_WHY_COUNTS_SAMPLES : PP_WHY_NO_STEADY_STATE);
    set(out, PP_CMP_CPU_S_PER_SAMPLE, steady ? cpu_per_sample(r) : NAN,
        steady ? PP_WHY_NO_CPU_TIME : PP_WHY_NO_STEADY_STATE);
    set(out, PP_CMP_DATA_WAIT_SHARE, waits ? r->data_wait_share : NAN,
        r->has_step ? PP_WHY_NO_STEADY_STATE : PP_WHY_NO_STEP);
    set(out, PP_CMP_DATA_WAIT_P99_S, waits ? wait_p99_s(r) : NAN,
        waits         ? PP_WHY_NO_WAIT
        : r->has_step ? PP_WHY_NO_STEADY_STATE
                      : PP_WHY_NO_STEP);
}

static void set_parts(const struct pp_report *r, struct pp_run *out)
{
    if (!r->has_steady_state || !r->window_batches || !(r->batches_per_s > 0))
        return;
    out->batch_s = 1 / r->batches_per_s;
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        if ((unsigned)p->lane >= PP_LANE_COUNT || (unsigned)p->phase >= PP_PHASE_COUNT)
            continue;
        double *part = out->part_s[p->lane][p->phase],
               s = (double)p->total_ns / 1e9 / (double)r->window_batches / threads_of(r, p->lane);
        int split = !isnan(p->cpu_share) && !isnan(p->run_delay_share) && !isnan(p->blocked_share);
        part[PP_PART_UNSPLIT] = split ? 0 : s;
        part[PP_PART_CPU] = split ? s * p->cpu_share : 0;
        part[PP_PART_RUN_DELAY] = split ? s * p->run_delay_share : 0;
        part[PP_PART_BLOCKED] = split ? s * p->blocked_share : 0;
    }
}

/* Quartiles of v, which is sorted by it. */
static void set_spread(struct pp_run_spread *s, enum pp_cmp_id id, double *v)
{
    pp_stats_sort(v, PP_RUN_WINDOWS);
    s->low[id] = pp_stats_quantile_sorted(v, PP_RUN_WINDOWS, 0.25);
    s->high[id] = pp_stats_quantile_sorted(v, PP_RUN_WINDOWS, 0.75);
}

/* The slices of the report's picture that lie in the steady state, in ten windows. */
static void set_spreads(const struct pp_report *r, struct pp_run *out)
{
    double rate[PP_RUN_WINDOWS] = {0}, wait[PP_RUN_WINDOWS] = {0};
    size_t first = 0, n;
    while (first < r->n_slices && r->slices[first].start_s < r->window_start_s)
        first++;
    for (n = 0; first + n < r->n_slices && r->slices[first + n].end_s <= r->window_end_s; n++)
        ;
    size_t per = n / PP_RUN_WINDOWS;
    if (per == 0 || !r->has_steady_state)
        return;
    for (size_t i = 0; i < per * PP_RUN_WINDOWS; i++) {
        const struct pp_report_slice *s = &r->slices[first + i];
        rate[i / per] += s->samples_per_s / (double)per;
        wait[i / per] += s->wait_share / (double)per;
    }
    struct pp_run_spread *s = &out->spread;
    s->known = 1;
    s->window_s = (r->slices[first].end_s - r->slices[first].start_s) * (double)per;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        s->low[i] = s->high[i] = NAN;
    if (!isnan(out->metric[PP_CMP_SAMPLES_PER_S]))
        set_spread(s, PP_CMP_SAMPLES_PER_S, rate);
    if (!isnan(out->metric[PP_CMP_DATA_WAIT_SHARE]))
        set_spread(s, PP_CMP_DATA_WAIT_SHARE, wait);
}

static int set_fields(const struct pp_report *r, struct pp_run *out)
{
    char name[128];
    for (size_t i = 0; i < r->n_environment; i++)
        if (!pp_run_set_field(out, r->environment[i].key, r->environment[i].value))
            return 0;
    for (size_t i = 0; i < r->n_config; i++) {
        snprintf(name, sizeof(name), "config.%s", r->config[i].key);
        if (!pp_run_set_field(out, name, r->config[i].value))
            return 0;
    }
    return 1;
}

/* The report's part of it: metrics but for COUNTs, verdict, parts, fields. */
static pp_status run_of_report(const struct pp_report *r, struct pp_run *out, struct pp_err *err)
{
    int ok = pp_run_init(out, r->path);
    copy(out->session, sizeof(out->session), r->session);
    copy(out->outcome, sizeof(out->outcome), r->outcome);
    copy(out->subject, sizeof(out->subject), r->subject);
    copy(out->l0, sizeof(out->l0), r->verdict.l0);
    copy(out->l1, sizeof(out->l1), r->verdict.l1);
    copy(out->l2, sizeof(out->l2), r->verdict.l2);
    set_metrics(r, out);
    set_parts(r, out);
    set_spreads(r, out);
    if (ok && set_fields(r, out))
        return PP_OK;
    pp_run_free(out);
    return pp_fail(err, PP_E_NO_MEMORY, "no memory for the fields of %s", r->path);
}

/* ---- with counts ---- */

/* Of the spans' counts, whose epochs are told apart, and of the loader's, which are of the whole run. */
static void set_counts(const struct pp_epoch_counts *c, struct pp_run *out)
{
    const char *format = pp_run_field(out, "config.format");
    int mapped = format && strcmp(format, "tokens") == 0, counted = !isnan(c->opens) && !isnan(c->reads);
    enum pp_why why = !c->lossless ? PP_WHY_LOST_SPANS : !c->epochs ? PP_WHY_NO_EPOCH : PP_WHY_UNKNOWN;
    double per_epoch = why == PP_WHY_UNKNOWN ? 1 / (double)c->epochs : NAN,
           per_run = c->whole && c->epochs ? 1 / (double)c->epochs : NAN;
    enum pp_why io_why = !counted ? PP_WHY_NOT_COUNTED : c->epochs ? PP_WHY_PART_OF_EPOCH : PP_WHY_NO_EPOCH;
    set(out, PP_CMP_BYTES_READ, c->bytes * per_epoch, why);
    set(out, PP_CMP_BATCHES, c->batches * per_epoch, why);
    set(out, PP_CMP_SAMPLES, c->samples * per_epoch, why);
    set(out, PP_CMP_ERRORS, c->errors * per_epoch, why);
    set(out, PP_CMP_OPENS, c->opens * per_run, io_why);
    set(out, PP_CMP_READS, mapped ? NAN : c->reads * per_run, mapped ? PP_WHY_MAPPED : io_why);
}

pp_status pp_run_load(const char *path, struct pp_run *out, struct pp_err *err)
{
    struct pp_report *report = NULL;
    struct pp_epoch_counts counts;
    pp_status st = pp_report_build(path, &report, err);
    if (st == PP_OK)
        st = pp_count_epochs(path, &counts, err);
    if (st == PP_OK)
        st = run_of_report(report, out, err);
    if (st == PP_OK)
        set_counts(&counts, out);
    pp_report_free(report);
    return st;
}
