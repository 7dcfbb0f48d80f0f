#include "report/build/diagnose.h"

#include "report/verdict/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How far the replay of the run as it was may be from it before its answers are not used: three times the
 * median error of predictions. */
#define MOST_REPLAY_ERROR 0.25

static void forget(struct pp_facts *f)
{
    for (int m = PP_METRIC_W_STORAGE; m < PP_METRIC_COUNT; m++)
        f->metric[m] = NAN;
    f->metric[PP_METRIC_STRETCH] = f->metric[PP_METRIC_OWN_CROWD] = NAN;
}

/* 0 for a knob that does not apply (fewer than one worker): it is known to gain nothing. */
static double gain_of(const struct pp_signals *s, const char *knob)
{
    const struct pp_fix *f = pp_signals_fix(s, knob);
    return f ? f->p.gain : 0;
}

static void fill_metrics(const struct pp_diagnosis *d, struct pp_facts *f)
{
    const struct pp_signals *s = &d->signals;
    double *m = f->metric;
    for (int i = 0; i < PP_CAUSES; i++)
        m[PP_METRIC_W_STORAGE + i] = s->weight[i];
    m[PP_METRIC_G_WORKERS] = gain_of(s, "workers");
    m[PP_METRIC_G_FEWER] = gain_of(s, "fewer-workers");
    m[PP_METRIC_G_PREFETCH] = gain_of(s, "prefetch");
    m[PP_METRIC_G_BUFFERS] = gain_of(s, "buffers");
    m[PP_METRIC_G_CPUS] = gain_of(s, "cpus");
    m[PP_METRIC_G_WORK] = gain_of(s, "work");
    double less_work = isnan(s->weight[PP_CAUSE_WORK])
                           ? 0
                           : s->weight[PP_CAUSE_WORK] *
                                 s->sensitivity; /* weights are unknown where no cause gains anything */
    m[PP_METRIC_CPUS_LEAD] = (1 + gain_of(s, "cpus")) / (1 + less_work) - 1;
    m[PP_METRIC_G_CPUS_WORKERS] = s->cpus_workers;
    m[PP_METRIC_PREFETCH_PART] = gain_of(s, "prefetch") / gain_of(s, "storage");
    m[PP_METRIC_READ_TAIL] = s->read_tail;
    m[PP_METRIC_READ_BURST] = s->read_burst;
    m[PP_METRIC_SHARD_SKEW] = s->shard_skew;
    m[PP_METRIC_WORK_TAIL] = s->work_tail;
    m[PP_METRIC_WORKER_SKEW] = s->worker_skew;
    m[PP_METRIC_READ_SERIAL] = s->read_serial;
    m[PP_METRIC_READ_BYTES] = s->read_bytes;
    m[PP_METRIC_MISS] = 1 - s->hit_share;
    m[PP_METRIC_FREE_MEMORY] = 1 - s->fits_memory;
    m[PP_METRIC_FIRST_TOUCH] = s->first_touch;
    m[PP_METRIC_DRIFT] = s->drift;
    m[PP_METRIC_TRANSFORM_PART] = s->transform_part;
    m[PP_METRIC_COLLATE_PART] = s->collate_part;
    m[PP_METRIC_COPY_CPU] = s->copy_cpu;
    m[PP_METRIC_CONTENDED] = s->contended;
    m[PP_METRIC_THROTTLED] = s->throttled;
    m[PP_METRIC_MAJOR_FAULTS] = s->major_faults;
}

/* CPU contention stretches the trainer's own step instead of its wait. */
static void measure_stretch(const struct pp_costs *c, const struct pp_timeline *tl, struct pp_facts *f)
{
    double stretch = c->step_stretch_ns * (double)tl->judged_batches,
           all = (double)(pp_timeline_exposed_ns(tl) + tl->step_ns);
    f->metric[PP_METRIC_STRETCH] = all > 0 ? stretch / all : NAN;
    f->metric[PP_METRIC_WAIT_ITSELF] = pp_timeline_data_wait_share(tl);
    f->metric[PP_METRIC_OWN_CROWD] = c->wanting_cpus + c->others_as_threads > 0
                                         ? c->wanting_cpus / (c->wanting_cpus + c->others_as_threads)
                                         : NAN;
}

/* That is exposed time too, but where the trainer hardly waits it has to be one that something can be done
 * about: a step that sleeps wakes up late on any machine that others use, and no change to the pipeline or to
 * who else runs gains from that what a fix has to. Without a replay nobody knows. */
static void expose_stretch(struct pp_facts *f, int replayed)
{
    double *m = f->metric;
    if (!(m[PP_METRIC_STRETCH] >= pp_conditions[PP_IF_STRETCHED].at_least))
        return;
    int waits = m[PP_METRIC_DATA_WAIT] >= pp_level_moderate->at_least;
    f->starved = !replayed || waits || pp_cause_of_starving(f) != NULL;
    f->starved_alone = f->starved && !waits;
    if (f->starved)
        m[PP_METRIC_DATA_WAIT] = fmin(m[PP_METRIC_DATA_WAIT] + m[PP_METRIC_STRETCH], 1);
}

void pp_diagnose(struct pp_gathered *gathered, const struct pp_timeline *tl, struct pp_facts *facts,
                 struct pp_diagnosis *out)
{
    struct pp_costs *costs = &gathered->costs;
    pp_status st = gathered->costs_status;
    *out = (struct pp_diagnosis){.why_not = gathered->why_no_costs};
    forget(facts);
    if (st == PP_OK)
        st = pp_whatif_calibrate(costs, &out->why_not);
    if (st == PP_OK)
        measure_stretch(costs, tl, facts);
    if (st == PP_OK)
        st = pp_signals_read(costs, &out->signals, &out->why_not);
    out->replayed = st == PP_OK && fabs(out->signals.replay_error) <= MOST_REPLAY_ERROR;
    if (out->replayed)
        fill_metrics(out, facts);
    else if (st == PP_OK)
        snprintf(out->why_not.text, sizeof(out->why_not.text),
                 "the replay of the run as it was is off by %.0f %%", 100 * out->signals.replay_error);
    expose_stretch(facts, out->replayed);
    out->starved_ns = facts->starved ? costs->step_stretch_ns * (double)tl->judged_batches : 0;
}

static void show_ruled_out(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report_verdict *v)
{
    static const char *const names[PP_CAUSES] = {
        "storage",        "failed reads",         "a lock",
        "CPU work",       "copies to the device", "device synchronisation",
        "the other ranks"};
    for (int i = 0; i < PP_CAUSES; i++) {
        double gain = d->signals.weight[i] * d->signals.sensitivity;
        if (d->signals.weight[i] < 0.1 && v->n_ruled_out < sizeof(v->ruled_out) / sizeof(*v->ruled_out))
            v->ruled_out[v->n_ruled_out++] = pp_arena_printf(
                arena, "%s: made a quarter better it gains %.1f %% in the replay", names[i], 100 * gain);
    }
}

void pp_diagnosis_show(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report_verdict *v)
{
    v->replay_error = d->replayed ? d->signals.replay_error : NAN;
    if (!d->replayed) {
        v->why_no_fixes = d->why_not.text[0] ? pp_arena_copy(arena, d->why_not.text) : NULL;
        return;
    }
    if (v->l1)
        show_ruled_out(d, arena, v);
    struct pp_report_fix *fixes = NULL;
    for (int i = 0; i < d->signals.fixes; i++) {
        const struct pp_fix *f = &d->signals.fix[i];
        struct pp_report_fix *to = pp_arena_push(arena, (void **)&fixes, &v->n_fixes, sizeof(*to));
        if (!to)
            return;
        *to = (struct pp_report_fix){.knob = f->knob,
                                     .to = pp_arena_copy(arena, f->to),
                                     .text = f->text,
                                     .gain = f->p.gain,
                                     .low = f->p.gain_low,
                                     .high = f->p.gain_high,
                                     .samples_per_s = f->p.samples_per_s};
        v->fixes = fixes;
    }
}
