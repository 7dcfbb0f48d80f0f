#include "report/findings/handed.h"

#include "report/findings/measure.h"

#include <math.h>
#include <string.h>

static const struct row {
    const char *name;
    size_t offset;
} rows[] = {
    {"sampler_ns", offsetof(struct pp_handed_use, sampler_ns)},
    {"handed_extra_bytes", offsetof(struct pp_handed_use, extra_bytes)},
    {"unpickle_tensors", offsetof(struct pp_handed_use, tensors)},
};

struct walk {
    struct pp_handed_use *out;
    uint64_t start_ns, end_ns;
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    if (t_ns < w->start_ns || t_ns > w->end_ns || !isfinite(value) || value < 0)
        return;
    if (strcmp(name, "shm_used_bytes") == 0)
        w->out->shm_used_most = fmax(w->out->shm_used_most, value);
    if (strcmp(name, "shm_left_bytes") == 0)
        w->out->shm_left = fmin(w->out->shm_left, value);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            *(double *)((char *)w->out + rows[i].offset) += value;
}

pp_status pp_handed_check(const struct pp_source *source, const struct pp_timeline *tl,
                          const struct pp_tally *tally, struct pp_handed_use *out, struct pp_err *err)
{
    struct walk w = {out, tl->start_ns, tl->end_ns};
    const struct pp_tally_phase *put = tally->phase[PP_LANE_WORKER][PP_PHASE_PUT_WAIT],
                                *read = tally->phase[PP_LANE_WORKER][PP_PHASE_READ],
                                *transform = tally->phase[PP_LANE_WORKER][PP_PHASE_TRANSFORM];
    *out = (struct pp_handed_use){.shm_left = NAN};
    if (put) {
        out->put_bytes = (double)put->bytes;
        out->puts = (double)put->hist.count;
    }
    if (read && transform) {
        out->read_bytes = (double)read->bytes;
        out->made = (double)transform->hist.count;
    }
    return source->each_counter ? source->each_counter(source->ctx, on_counter, &w, err) : PP_OK;
}

double pp_handed_factor(const struct pp_handed_use *u)
{
    return u->put_bytes > 0 ? 1 + u->extra_bytes / u->put_bytes : NAN;
}

/* Where every sample is one of a batch that was asked for by its number of samples. */
static void measure_reads(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_handed_use *u = &from->checks->handed;
    double *m = f->number, batch = pp_source_number(from->source, "config", "batch_size", NAN),
           read = u->read_bytes / u->made, tensors = u->put_bytes / u->puts / batch;
    if (!(u->read_bytes > 0) || !(tensors > 0))
        return;
    m[PP_FINDING_AMPLIFIED] = 1;
    m[PP_FINDING_JOB_READ] = read;
    m[PP_FINDING_JOB_TENSORS] = tensors;
    m[PP_FINDING_JOB_AMPLIFICATION] = read / tensors;
}

void pp_measure_handed(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_handed_use *u = &from->checks->handed;
    double *m = f->number, each = u->put_bytes / u->puts, all = u->shm_left + u->shm_used_most;
    if (!from->report->n_loaders)
        return;
    measure_reads(from, f);
    if (u->put_bytes > 0) {
        m[PP_FINDING_HANDED_BYTES] = each;
        m[PP_FINDING_HANDED_FACTOR] = pp_handed_factor(u);
        m[PP_FINDING_HANDED_BEHIND] = each * pp_handed_factor(u);
        m[PP_FINDING_HANDED_TENSORS] = u->tensors > 0
                                           ? round(u->tensors / (double)from->timeline->window_batches)
                                           : NAN;
        m[PP_FINDING_SHM_LEFT] = u->shm_left;
        m[PP_FINDING_SHM_USED] = u->shm_used_most;
        m[PP_FINDING_SHM_LEFT_SHARE] = all > 0 ? u->shm_left / all : NAN;
    }
}
