/* What a PyTorch trainer does apart from batches, how long its GPU was busy, what hand-overs made slower. */
#include "report/replay/costs_impl.h"

#include "probe/base/array.h"

#define PAUSE 10 /* a step so many times as long as the middle one, if no more than one in so many is */

/* Of the window, that in which the GPU's work was recorded. */
static double recorded_part(const struct pp_costs_pass *p)
{
    double from = pp_source_number(p->source, "gpu", "from_ns", 0),
           until = pp_source_number(p->source, "gpu", "until_ns", INFINITY);
    return (fmin(until, (double)p->tl->end_ns) - fmax(from, (double)p->tl->start_ns)) / p->c->window_ns;
}

/* Of what was recorded for most of the window, as much of all steps. */
static void copies(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    const struct pp_source *s = p->source;
    const char *activity = s->meta(s->ctx, "gpu", "activity");
    double part = recorded_part(p), dropped = pp_source_number(s, "gpu", "records_dropped", 0),
           records = pp_source_number(s, "gpu", "records", 0);
    c->no_pinning = NULL;
    if (!activity || strncmp(activity, "not recorded", 12) == 0 || !(part >= PP_LEAST_RECORDED))
        c->no_pinning = "the job's GPU activity was not recorded for most of the steady state";
    else if (dropped > PP_MOST_DROPPED * (records + dropped))
        c->no_pinning = "too many of the GPU's records were dropped";
    else if (p->calls.unmatched > p->calls.matched)
        c->no_pinning = "most copies to the GPU are not known to be of the training thread";
    if (c->no_pinning)
        return;
    if (pp_source_number(p->source, "config", "pin_memory", 0) == 1)
        c->no_pinning = "the job asks for pinned batches already (pin_memory=True)";
    else if (c->in_trainer)
        c->no_pinning = "without workers the training thread would have to pin them; predict workers=N alone";
    c->pageable_call_ns = fmin(p->calls.call_ns / part, c->step_cpu_ns + c->step_blocked_ns) / p->steps;
    c->pageable_copy_ns = p->calls.copy_ns / part / p->steps;
    c->waits_for_copies = p->calls.waits / part / p->steps >= 0.5;
}

void pp_costs_apart(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    if (!c->per_worker || !(p->steps > 0))
        return;
    /* Steps are in order of their length. A quota makes long ones as well, and those are its. */
    size_t n = p->n_steps, pause = n - n / PAUSE;
    double middle = n ? p->step[n / 2].ns : 0;
    if (n < 2 * PAUSE || c->throttled_share > 0.01 || p->step[pause - 1].ns > PAUSE * middle)
        pause = n;
    while (pause < n && !(p->step[pause].ns > PAUSE * middle))
        pause++;
    /* While the trainer is at something else, the workers go on until what is prefetched is full: that much
     * of it is not lost. At the pace of batches, without what else there was. */
    double besides = p->other_ns + (double)p->whole->starts.gap_ns;
    for (size_t i = 0; i < p->checkpoint.n; i++)
        besides += (double)(p->checkpoint.at[i].end_ns - p->checkpoint.at[i].start_ns);
    for (size_t i = pause; i < n; i++)
        besides += p->step[i].ns - middle;
    double filled = (c->in_trainer
                         ? 0
                         : (double)c->workers * c->prefetch * fmax(c->window_ns - besides, 0) / p->steps),
           saved = 0, batches = p->batches[0] + p->batches[1];
    /* Out of the steps, as far as they are longer than that. In all. */
    double taken = 0;
    for (size_t i = pause; i < n; i++) {
        struct pp_costs_step *s = &p->step[i];
        double more = fmax(s->ns - middle - filled, 0), part = more / s->ns;
        c->step_cpu_ns = fmax(c->step_cpu_ns - s->cpu_ns * part, 0);
        c->step_stretch_ns = fmax(c->step_stretch_ns - s->delay_ns * part, 0);
        c->step_blocked_ns = fmax(c->step_blocked_ns - (s->ns - s->cpu_ns - s->delay_ns) * part, 0);
        s->ns -= (float)more;
        taken += more;
    }
    p->pauses_ns = taken / p->steps;
    for (size_t i = 0; i < p->checkpoint.n; i++)
        saved += fmax((double)(p->checkpoint.at[i].end_ns - p->checkpoint.at[i].start_ns) - filled, 0);
    c->apart_ns = p->pauses_ns + saved / (batches > 0 ? batches : p->steps);
    /* That a kernel ran, of the window; 0: not recorded for most of it. */
    const struct pp_stretches *kernels = &p->kernel;
    double part = recorded_part(p), busy = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < kernels->n; i++) { /* in the order of their starts */
        uint64_t begin = kernels->at[i].start_ns > at ? kernels->at[i].start_ns : at;
        busy += kernels->at[i].end_ns > begin ? (double)(kernels->at[i].end_ns - begin) : 0;
        at = kernels->at[i].end_ns > at ? kernels->at[i].end_ns : at;
    }
    c->gpu_busy_ns = part >= PP_LEAST_RECORDED ? fmin(busy / part, c->window_ns) / p->steps : 0;
    copies(p);
}

/* The most of its CPU time that a short step owes to hand-overs: steps of 0.22 ms took 0.54 to 1.3 ms beside
 * workers (docs/internals/replay.md). */
#define COLDEST 0.75

/* What the mean of the values has beyond the quickest tenth of them. */
static struct pp_cold beyond_the_quickest(double *value, size_t n, double taking_ns)
{
    double mean = 0, beyond;
    qsort(value, n, sizeof(*value), pp_by_double);
    for (size_t i = 0; i < n; i++)
        mean += value[i] / (double)n;
    beyond = n ? fmax(mean - value[n / 10], 0) : 0;
    return (struct pp_cold){fmin(beyond, taking_ns), fmax(beyond, fmin(taking_ns, COLDEST * mean))};
}

void pp_costs_cold(struct pp_costs_pass *p)
{
    struct pp_costs *c = p->c;
    double taking_ns = c->fetch_cpu_ns + c->fetch_blocked_ns;
    double *value = c->per_worker && !c->in_trainer ? calloc(c->n + p->n_steps + 1, sizeof(*value)) : NULL;
    size_t batches = 0;
    if (!value)
        return; /* nothing is claimed */
    for (size_t i = 0; i < p->n_steps; i++)
        value[i] = p->step[i].cpu_ns;
    c->cold_step = beyond_the_quickest(value, p->n_steps, taking_ns);
    for (size_t i = 0, n; i < c->n; i += n) {
        double sum = 0;
        for (n = 0; i + n < c->n && c->samples[i + n].batch == c->samples[i].batch; n++)
            sum += c->samples[i + n].decode_cpu + c->samples[i + n].transform_cpu;
        value[batches++] = sum * c->batch_size / (double)n;
    }
    c->cold_work = beyond_the_quickest(value, batches, taking_ns);
    free(value);
}
