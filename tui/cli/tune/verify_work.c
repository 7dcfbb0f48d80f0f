#include "tui/cli/tune/tune.h"
#include "probe/base/text.h"

/* Of the work of a sample and of a step: a CPU's clock, its caches and neighbours move them by less. Of the
 * CPU time alone they take more: it doubled beside compiles. */
#define LEAST_OF_BEFORE 0.75
#define LEAST_CPU 0.5
#define SAME_BYTES 0.02 /* padded batches differ a little */
#define SAME_SHARE 0.05
#define SHORT_LIFE \
    200 /* samples of a worker: of 20, each took twice the CPU time that it takes one that stays */

const struct pp_report_loader *verify_loader_of(const struct pp_report *r)
{
    const struct pp_report_loader *most = NULL;
    for (size_t i = 0; i < r->n_loaders; i++) {
        if (r->loaders[i].judged)
            return &r->loaders[i];
        if (!most || r->loaders[i].batches > most->batches)
            most = &r->loaders[i];
    }
    return most;
}

/* Time in a phase without waiting for a CPU, or on the CPU alone. */
static double time_in(const struct pp_report *r, pp_phase phase, int cpu_alone)
{
    double ns = 0;
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        double part = cpu_alone ? p->cpu_share : 1 - p->run_delay_share;
        if (p->phase == phase)
            ns += (double)p->total_ns * (isnan(part) ? !cpu_alone : part);
    }
    return ns;
}

/* A number of a finding, whether it was found or not. */
static double number_of(const struct pp_report *r, const char *finding, const char *name)
{
    for (size_t i = 0; i < r->n_findings; i++)
        for (size_t k = 0; strcmp(r->findings[i].kind, finding) == 0 && k < r->findings[i].numbers; k++)
            if (strcmp(r->findings[i].number[k].name, name) == 0)
                return r->findings[i].number[k].value;
    return NAN;
}

void verify_work_read(const struct pp_report *r, struct verify_work *w)
{
    const struct pp_report_loader *l = verify_loader_of(r);
    *w = (struct verify_work){
        .samples = NAN, .batch_size = NAN, .drop_last = NAN, .epoch_samples = NAN, .step_ns = NAN};
    if (l) {
        snprintf(w->dataset, sizeof(w->dataset), "%s", l->dataset ? l->dataset : "");
        w->samples = l->samples;
        w->batch_size = l->batch_size;
        w->drop_last = l->drop_last;
        double life = l->batches * l->batch_size / l->epochs / l->num_workers;
        w->is_cold = l->epochs > 1 && l->num_workers > 0 && l->persistent_workers == 0 && life < SHORT_LIFE;
        w->epochs = l->epochs;
        w->epoch_samples = l->batches * l->batch_size / (l->epochs > 1 ? l->epochs - 0.5 : 1);
    }
    w->batch_bytes = number_of(r, "view-of-storage", "tensor_bytes");
    w->repeated = number_of(r, "samples-repeated", "repeated_visits") /
                  number_of(r, "samples-repeated", "visits");
    double ns = time_in(r, PP_PHASE_READ, 1) + time_in(r, PP_PHASE_DECODE, 0) +
                time_in(r, PP_PHASE_TRANSFORM, 0);
    double cpu_ns = time_in(r, PP_PHASE_DECODE, 1) + time_in(r, PP_PHASE_TRANSFORM, 1);
    w->sample_ns = r->window_samples ? ns / (double)r->window_samples : NAN;
    w->cpu_ns = cpu_ns > 0 && r->window_samples ? cpu_ns / (double)r->window_samples : NAN;
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == PP_PHASE_STEP) {
            /* A mean below the median: many of them do nothing. A few that are long raise only the mean. */
            const struct pp_report_phase *p = &r->phases[i];
            double each = p->mean_ns > 0 ? fmin((double)p->p50_ns, p->mean_ns) : (double)p->p50_ns;
            w->step_ns = each * (isnan(p->run_delay_share) ? 1 : 1 - p->run_delay_share);
        }
}

enum kind { IS_TEXT, IS_COUNT, IS_BYTES, IS_TIME, IS_AT_LEAST, IS_SHARE };
static const struct {
    const char *code, *name;
    enum kind kind;
    size_t at;
    double least; /* of what it was */
    double slack; /* of a time, ns: what a new process and a hand-over cost a sample and a step */
} rows[VERIFY_CHECKS] = {
#define AT(field) offsetof(struct verify_work, field)
    {"dataset", "data set", IS_TEXT, AT(dataset), 0, 0},
    {"samples", "its samples", IS_COUNT, AT(samples), 0, 0},
    {"epoch", "samples of an epoch", IS_AT_LEAST, AT(epoch_samples), LEAST_OF_BEFORE, 0},
    {"repeated", "samples that came again in an epoch", IS_SHARE, AT(repeated), 0, 0},
    {"batch_size", "batch size", IS_COUNT, AT(batch_size), 0, 0},
    {"drop_last", "drop_last", IS_COUNT, AT(drop_last), 0, 0},
    {"batch_bytes", "bytes of a batch", IS_BYTES, AT(batch_bytes), 0, 0},
    {"sample_work", "work on a sample", IS_TIME, AT(sample_ns), LEAST_OF_BEFORE, 1e5},
    {"sample_cpu", "CPU time of a sample", IS_TIME, AT(cpu_ns), LEAST_CPU, 2e5},
    {"step", "the step", IS_TIME, AT(step_ns), LEAST_OF_BEFORE, 5e5},
#undef AT
};

static const char *value_text(enum kind kind, const void *at, char *buf, size_t size)
{
    double v = kind == IS_TEXT ? 0 : *(const double *)at;
    if (kind == IS_TEXT) {
        snprintf(buf, size, "%s", (const char *)at);
        return buf;
    }
    return kind == IS_BYTES   ? pp_text_bytes(buf, size, v)
           : kind == IS_TIME  ? pp_text_duration(buf, size, v)
           : kind == IS_SHARE ? pp_text_share(buf, size, v)
                              : pp_text_count(buf, size, v);
}

static int is_same(size_t row, const void *before, const void *after)
{
    const enum kind kind = rows[row].kind;
    double a = kind == IS_TEXT ? 0 : *(const double *)before,
           b = kind == IS_TEXT ? 0 : *(const double *)after;
    switch (kind) {
    case IS_TEXT: return strcmp(before, after) == 0;
    case IS_COUNT: return isnan(a) || isnan(b) || a == b;
    case IS_BYTES: return isnan(a) || isnan(b) || fabs(b - a) <= SAME_BYTES * a;
    case IS_TIME:
    case IS_AT_LEAST: return isnan(a) || isnan(b) || b >= rows[row].least * a || a - b <= rows[row].slack;
    case IS_SHARE: return isnan(a) || isnan(b) || b <= a + SAME_SHARE;
    }
    return 1;
}

int verify_work_compare(const struct verify_work *before, const struct verify_work *after,
                        struct verify_check check[VERIFY_CHECKS])
{
    int differ = 0;
    struct verify_work is = *after;
    if (!(is.epochs > 1))
        is.epoch_samples = NAN; /* the first one goes on: as many may come */
    if (is.is_cold != before->is_cold)
        is.sample_ns = is.cpu_ns =
            NAN; /* what a new process makes costs more: pages are copied, caches filled */
    for (size_t i = 0; i < VERIFY_CHECKS; i++) {
        const void *b = (const char *)before + rows[i].at, *a = (const char *)&is + rows[i].at;
        struct verify_check *c = &check[i];
        *c = (struct verify_check){.code = rows[i].code, .name = rows[i].name};
        value_text(rows[i].kind, b, c->before, sizeof(c->before));
        value_text(rows[i].kind, a, c->after, sizeof(c->after));
        c->same = is_same(i, b, a);
        c->is_less = !c->same && rows[i].kind == IS_TIME;
        differ += !c->same;
    }
    return differ;
}
