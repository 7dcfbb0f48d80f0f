#include "report/findings/checks.h"

#include "probe/base/array.h"
#include "report/findings/findings.h"

enum { MOST = 1 << 20, LEAST_STEPS = 10 };

#define BESIDE 0.75
#define APART 0.25

struct stretch {
    uint64_t from_ns, to_ns;
};
struct stretches {
    struct stretch *of;
    size_t n, cap;
};

struct pp_device_decode_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    const struct pp_thread_row *threads;
    size_t n_threads;
    int decodes; /* there is a device lane at all */
    struct stretches decoding, steps;
    struct pp_device_decode_use use;
};

/* ---- gathering ---- */

struct pp_device_decode_pass *pp_device_decode_begin(const struct pp_source *source,
                                                     const struct pp_timeline *tl)
{
    struct pp_device_decode_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->source = source;
    p->tl = tl;
    p->n_threads = source->threads(source->ctx, &p->threads);
    for (size_t i = 0; i < p->n_threads; i++)
        p->decodes |= p->threads[i].lane == PP_LANE_DEVICE;
    return p;
}

int pp_device_decode_chunk(struct pp_device_decode_pass *p, uint32_t thread, const struct pp_span *spans,
                           size_t n)
{
    int fits = 1;
    if (!p->decodes || thread >= p->n_threads || !p->tl->has_steady_state)
        return 0;
    struct pp_device_decode_use *u = &p->use;
    pp_lane lane = p->threads[thread].lane;
    for (size_t i = 0; i < n && fits; i++) {
        const struct pp_span *s = &spans[i];
        struct stretches *to = NULL;
        if (s->start_ns < p->tl->start_ns || s->start_ns >= p->tl->end_ns)
            continue;
        if (lane == PP_LANE_DEVICE && s->phase == PP_PHASE_GPU_DECODE) {
            u->batches++;
            u->images += s->sample == PP_NO_SAMPLE ? 0 : (double)s->sample;
            to = &p->decoding;
        } else if (lane == PP_LANE_TRAINER && s->phase == PP_PHASE_STEP) {
            to = &p->steps;
        } else if (lane == PP_LANE_WORKER && s->phase == PP_PHASE_DECODE) {
            u->cpu_decode_ns += (double)s->dur_ns;
        } else if (lane == PP_LANE_COPY && s->phase == PP_PHASE_H2D) {
            u->copies++;
            u->copied_bytes += (double)s->bytes;
        }
        if (!to || to->n == MOST)
            continue;
        fits = pp_grow(&to->of, &to->cap, to->n + 1, sizeof(*to->of));
        if (fits)
            to->of[to->n++] = (struct stretch){s->start_ns, s->start_ns + s->dur_ns};
    }
    return !fits;
}

/* ---- the end of the pass ---- */

PP_BY(by_start, struct stretch, from_ns)

static double part_within(const struct stretch *part, uint64_t from, uint64_t to)
{
    uint64_t a = part->from_ns > from ? part->from_ns : from, b = part->to_ns < to ? part->to_ns : to;
    return b > a ? (double)(b - a) : 0;
}

/* Mean and variance of the mean, of what has been added. */
struct mean {
    double n, sum, squares;
};

static double variance_of_mean(const struct mean *m)
{
    return m->n > 1 ? fmax(m->squares - m->sum * m->sum / m->n, 0) / (m->n - 1) / m->n : NAN;
}

void pp_device_decode_end(struct pp_device_decode_pass *p, struct pp_device_decode_use *out)
{
    *out = (struct pp_device_decode_use){0};
    if (!p)
        return;
    struct pp_device_decode_use *u = &p->use;
    struct stretches *x = &p->decoding;
    size_t n = 0;
    /* Batches are decoded beside each other: their union, rising. */
    if (x->n)
        qsort(x->of, x->n, sizeof(*x->of), by_start);
    for (size_t i = 0; i < x->n; i++) {
        struct stretch *last = n ? &x->of[n - 1] : NULL;
        if (last && x->of[i].from_ns <= last->to_ns)
            last->to_ns = x->of[i].to_ns > last->to_ns ? x->of[i].to_ns : last->to_ns;
        else
            x->of[n++] = x->of[i];
    }
    x->n = n;
    if (p->steps.n)
        qsort(p->steps.of, p->steps.n, sizeof(*p->steps.of), by_start);
    struct mean beside = {0}, apart = {0};
    size_t first = 0;
    for (size_t i = 0; i < p->steps.n; i++) {
        const struct stretch *s = &p->steps.of[i];
        double ns = (double)(s->to_ns - s->from_ns), within = 0;
        while (first < p->decoding.n && p->decoding.of[first].to_ns <= s->from_ns)
            first++;
        for (size_t k = first; k < p->decoding.n && p->decoding.of[k].from_ns < s->to_ns; k++)
            within += part_within(&p->decoding.of[k], s->from_ns, s->to_ns);
        struct mean *of = within >= BESIDE * ns ? &beside : within <= APART * ns ? &apart : NULL;
        if (!(ns > 0) || !of)
            continue;
        of->n++;
        of->sum += ns;
        of->squares += ns * ns;
    }
    u->beside = beside.n;
    u->apart = apart.n;
    u->beside_ns = beside.n ? beside.sum / beside.n : NAN;
    u->apart_ns = apart.n ? apart.sum / apart.n : NAN;
    u->difference_se_ns = sqrt(variance_of_mean(&beside) + variance_of_mean(&apart));
    u->beside_se_ns = sqrt(variance_of_mean(&beside));
    for (size_t i = 0; i < p->decoding.n; i++)
        u->busy_ns += part_within(&p->decoding.of[i], p->tl->start_ns, p->tl->end_ns);
    *out = *u;
    free(p->decoding.of);
    free(p->steps.of);
    free(p);
}

/* ---- facts ---- */

static void measure_steps(const struct pp_source *source, const struct pp_device_decode_use *u,
                          struct pp_finding_values *f)
{
    /* What a step takes on a device that does nothing else was measured before the run for steps of fixed
     * work. */
    double *m = f->number, alone_ns = pp_source_is(source, "step", "cuda-work")
                                          ? pp_source_number(source, "config", "step_ns", NAN)
                                          : NAN;
    int over_alone = u->beside >= LEAST_STEPS && u->apart < LEAST_STEPS && alone_ns > 0;
    m[PP_FINDING_STEPS_BESIDE] = u->beside;
    m[PP_FINDING_STEPS_APART] = u->apart;
    if (!over_alone && (u->beside < LEAST_STEPS || u->apart < LEAST_STEPS)) {
        m[PP_FINDING_STEPS_UNKNOWN] = 1;
        return;
    }
    double than_ns = over_alone ? alone_ns : u->apart_ns, difference_ns = u->beside_ns - than_ns,
           se_ns = over_alone ? u->beside_se_ns : u->difference_se_ns;
    m[PP_FINDING_STEP_BESIDE] = u->beside_ns / 1e9;
    m[over_alone ? PP_FINDING_STEP_ALONE : PP_FINDING_STEP_APART] = than_ns / 1e9;
    m[PP_FINDING_STEP_STRETCH] = difference_ns / than_ns;
    m[PP_FINDING_STEP_CHANGE] = fabs(difference_ns / than_ns);
    f->text[PP_FINDING_STEP_LONGER] = difference_ns < 0 ? "shorter" : "longer";
    m[PP_FINDING_STEP_DIFFERENCE] = difference_ns / 1e9;
    m[PP_FINDING_STEP_SIGMAS] = difference_ns / se_ns;
    m[PP_FINDING_STEP_SE] = se_ns / 1e9;
}

void pp_measure_device_decode(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_source *source = from->source;
    const struct pp_timeline *tl = from->timeline;
    const struct pp_device_decode_use *u = &from->checks->device_decode;
    double *m = f->number;
    if (!u->batches || !tl->has_steady_state || tl->end_ns <= tl->start_ns)
        return;
    /* The share is of the samples, by their batches: those that were decoded before the window and used in it
     * are of neither number. */
    double window_ns = (double)(tl->end_ns - tl->start_ns), batches = (double)tl->window_batches,
           under_way = pp_source_number(source, "config", "copy_buffers", 2),
           all = u->copies > u->batches + under_way ? u->batches / u->copies : 1,
           per_batch = (double)tl->window_samples / batches,
           share = per_batch > 0 ? fmin(u->images / u->batches / per_batch * all, 1) : NAN,
           pixels = pp_source_number(source, "config", "row_bytes", NAN) * (double)tl->window_samples /
                    batches,
           copied = u->copies ? u->copied_bytes / u->copies : NAN;
    m[PP_FINDING_DECODE_RECORDED] = 1;
    if (isnan(share))
        f->text[PP_FINDING_OFFLOAD_UNKNOWN] = "how many samples a batch has was not recorded";
    m[PP_FINDING_OFFLOAD_IMAGES] = u->images;
    m[PP_FINDING_OFFLOAD_SHARE] = share;
    m[PP_FINDING_OFFLOAD_WORKERS] = u->cpu_decode_ns / batches / 1e9;
    const char *backend = source->meta(source->ctx, "decode", "backend");
    f->text[PP_FINDING_ENGINE_NAME] = backend && strcmp(backend, "HARDWARE") == 0
                                          ? "the JPEG engines are busy"
                                          : "the GPU's decoder is busy";
    m[PP_FINDING_ENGINE_BUSY] = u->busy_ns / window_ns;
    m[PP_FINDING_ENGINE_RATE] = u->images / (window_ns / 1e9);
    m[PP_FINDING_ENGINE_WAIT] = pp_timeline_share(tl, pp_timeline_exposed_ns(tl));
    measure_steps(source, u, f);
    if (!(copied / pixels >= 0))
        f->text[PP_FINDING_COPIES_UNKNOWN] = u->copies ? "the size of a sample was not recorded"
                                                       : "no copy was recorded";
    m[PP_FINDING_COPIES_BYTES] = copied;
    m[PP_FINDING_COPIES_PIXELS] = pixels;
    m[PP_FINDING_COPIES_SHARE] = copied / pixels;
}
