#include "report/findings/device_decode.h"

#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 40, MOST = 1 << 20, LEAST_STEPS = 10 };

#define LEAST_OFFLOADED 0.95 /* the smallest share that counts is 5 % */
#define SATURATED 0.9        /* utilisation law, as in the verdict */
#define LEAST_STRETCH 0.05   /* the smallest share of a step that counts */
#define SIGMAS 3.0           /* by chance one run in 700 */
#define LEAST_OVER_ALONE 0.1 /* the device measures what a step takes alone to within that */
#define LEAST_OVER_NS 2e5    /* a launch and a wake-up are part of a step */
#define BESIDE 0.75
#define APART 0.25
#define MOST_COPIED 0.5 /* more than half of the pixels: the copies are still those of pixels */

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

/* 0: no memory. */
static int add(struct stretches *x, const struct pp_span *s)
{
    if (x->n == MOST)
        return 1;
    if (x->n == x->cap) {
        size_t cap = x->cap ? 2 * x->cap : 1024;
        void *grown = realloc(x->of, cap * sizeof(*x->of));
        if (!grown)
            return 0;
        x->of = grown;
        x->cap = cap;
    }
    x->of[x->n++] = (struct stretch){s->start_ns, s->start_ns + s->dur_ns};
    return 1;
}

/* 0: no memory. */
static int add_span(struct pp_device_decode_pass *p, pp_lane lane, const struct pp_span *s)
{
    struct pp_device_decode_use *u = &p->use;
    switch (lane) {
    case PP_LANE_DEVICE:
        if (s->phase != PP_PHASE_GPU_DECODE)
            return 1;
        u->batches++;
        u->images += s->sample == PP_NO_SAMPLE ? 0 : (double)s->sample;
        return add(&p->decoding, s);
    case PP_LANE_TRAINER: return s->phase != PP_PHASE_STEP || add(&p->steps, s);
    case PP_LANE_WORKER:
        if (s->phase == PP_PHASE_DECODE)
            u->cpu_decode_ns += (double)s->dur_ns;
        return 1;
    case PP_LANE_COPY:
        if (s->phase == PP_PHASE_H2D) {
            u->copies++;
            u->copied_bytes += (double)s->bytes;
        }
        return 1;
    default: return 1;
    }
}

int pp_device_decode_chunk(struct pp_device_decode_pass *p, uint32_t thread, const struct pp_span *spans,
                           size_t n)
{
    int fits = 1;
    if (!p->decodes || thread >= p->n_threads || !p->tl->has_steady_state)
        return 0;
    for (size_t i = 0; i < n && fits; i++)
        if (spans[i].start_ns >= p->tl->start_ns && spans[i].start_ns < p->tl->end_ns)
            fits = add_span(p, p->threads[thread].lane, &spans[i]);
    return !fits;
}

/* ---- the end of the pass ---- */

static int by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Batches are decoded beside each other: their union, rising. */
static void merge(struct stretches *x)
{
    size_t n = 0;
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
}

static double part_within(const struct stretch *part, uint64_t from, uint64_t to)
{
    uint64_t a = part->from_ns > from ? part->from_ns : from, b = part->to_ns < to ? part->to_ns : to;
    return b > a ? (double)(b - a) : 0;
}

/* Mean and variance of the mean, of what has been added. */
struct mean {
    double n, sum, squares;
};

static void add_value(struct mean *m, double v)
{
    m->n++;
    m->sum += v;
    m->squares += v * v;
}

static double mean_of(const struct mean *m)
{
    return m->n ? m->sum / m->n : NAN;
}

static double variance_of_mean(const struct mean *m)
{
    return m->n > 1 ? fmax(m->squares - m->sum * m->sum / m->n, 0) / (m->n - 1) / m->n : NAN;
}

static void compare_steps(const struct pp_device_decode_pass *p, struct pp_device_decode_use *u)
{
    struct mean beside = {0}, apart = {0};
    size_t first = 0;
    for (size_t i = 0; i < p->steps.n; i++) {
        const struct stretch *s = &p->steps.of[i];
        double ns = (double)(s->to_ns - s->from_ns), within = 0;
        while (first < p->decoding.n && p->decoding.of[first].to_ns <= s->from_ns)
            first++;
        for (size_t k = first; k < p->decoding.n && p->decoding.of[k].from_ns < s->to_ns; k++)
            within += part_within(&p->decoding.of[k], s->from_ns, s->to_ns);
        if (ns > 0 && within >= BESIDE * ns)
            add_value(&beside, ns);
        else if (ns > 0 && within <= APART * ns)
            add_value(&apart, ns);
    }
    u->beside = beside.n;
    u->apart = apart.n;
    u->beside_ns = mean_of(&beside);
    u->apart_ns = mean_of(&apart);
    u->difference_se_ns = sqrt(variance_of_mean(&beside) + variance_of_mean(&apart));
    u->beside_se_ns = sqrt(variance_of_mean(&beside));
}

void pp_device_decode_end(struct pp_device_decode_pass *p, struct pp_device_decode_use *out)
{
    *out = (struct pp_device_decode_use){0};
    if (!p)
        return;
    struct pp_device_decode_use *u = &p->use;
    merge(&p->decoding);
    if (p->steps.n)
        qsort(p->steps.of, p->steps.n, sizeof(*p->steps.of), by_start);
    compare_steps(p, u);
    for (size_t i = 0; i < p->decoding.n; i++)
        u->busy_ns += part_within(&p->decoding.of[i], p->tl->start_ns, p->tl->end_ns);
    *out = *u;
    free(p->decoding.of);
    free(p->steps.of);
    free(p);
}

/* ---- findings ---- */

/* Of the samples, by their batches: those that were decoded before the window and used in it are of neither
 * number. NAN: how many samples a batch has is not known. */
static double decoded_share(const struct pp_source *source, const struct pp_timeline *tl,
                            const struct pp_device_decode_use *u)
{
    double under_way = pp_source_number(source, "config", "copy_buffers", 2),
           all = u->copies > u->batches + under_way ? u->batches / u->copies : 1,
           per_batch = (double)tl->window_samples / (double)tl->window_batches;
    return per_batch > 0 ? fmin(u->images / u->batches / per_batch * all, 1) : NAN;
}

static void add_offload(const struct pp_source *source, const struct pp_timeline *tl,
                        const struct pp_device_decode_use *u, struct pp_arena *arena, struct pp_report *r)
{
    char share_text[CELL], images[CELL], cpu[CELL];
    double share = decoded_share(source, tl, u), cpu_ns = u->cpu_decode_ns / (double)tl->window_batches;
    int found = share < LEAST_OFFLOADED;
    if (isnan(share)) {
        pp_finding_add(r, arena, "decode-offload", PP_FINDING_NOT_MEASURED,
                       "how many samples a batch has was not recorded");
        return;
    }
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "decode-offload", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            found ? "the GPU decodes %s of the images (%s); the workers decode the others, %s per batch"
                  : "decode moved off the CPU: the GPU decodes %s of the images (%s); decoding takes "
                    "the workers %s per batch",
            pp_text_percent(share_text, CELL, share), pp_text_count(images, CELL, u->images),
            pp_text_duration(cpu, CELL, cpu_ns)));
    f->next_step = found ? pp_remedies[PP_REMEDY_PLAIN_JPEG].sentence : NULL;
    pp_finding_number(f, "images", u->images);
    pp_finding_number(f, "image_share", share);
    pp_finding_number(f, "worker_decode_s_per_batch", cpu_ns / 1e9);
}

/* Of a saturated decoder more batches at once gain nothing; of another one that is waited for they may. */
static void add_engine(const struct pp_source *source, const struct pp_timeline *tl,
                       const struct pp_device_decode_use *u, struct pp_arena *arena, struct pp_report *r)
{
    const char *backend = source->meta(source->ctx, "decode", "backend");
    double window = (double)(tl->end_ns - tl->start_ns), busy = u->busy_ns / window,
           wait = pp_timeline_wait_share(tl), rate = u->images / (window / 1e9);
    char busy_text[CELL], rate_text[CELL], wait_text[CELL];
    int full = busy >= SATURATED, found = full && wait >= pp_level_moderate->at_least;
    int hardware = backend && strcmp(backend, "HARDWARE") == 0;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "decode-engine", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "%s%s for %s of the time, at %s images/s; the trainer waits %s%s",
                        found ? "decode engine saturated: " : "",
                        hardware ? "the JPEG engines are busy" : "the GPU's decoder is busy",
                        pp_text_percent(busy_text, CELL, busy), pp_text_count(rate_text, CELL, round(rate)),
                        pp_text_percent(wait_text, CELL, wait), full && !found ? ", so it keeps up" : ""));
    f->next_step = found ? pp_remedies[PP_REMEDY_DECODE_ELSEWHERE].sentence : NULL;
    pp_finding_number(f, "busy_share", busy);
    pp_finding_number(f, "images_per_s", rate);
    pp_finding_number(f, "wait_share", wait);
}

/* What a step takes on a device that does nothing else, where that was measured before the run: of steps that
 * are fixed work. NAN else. */
static double step_alone_ns(const struct pp_source *source)
{
    const char *step = source->meta(source->ctx, "config", "step");
    return step && strcmp(step, "cuda-work") == 0 ? pp_source_number(source, "config", "step_ns", NAN) : NAN;
}

/* Every step ran beside decoding: against what it takes alone. */
static void add_steps_over_alone(const struct pp_device_decode_use *u, double alone_ns,
                                 struct pp_arena *arena, struct pp_report *r)
{
    char beside[CELL], alone[CELL], longer[CELL];
    double difference = u->beside_ns - alone_ns, stretch = difference / alone_ns;
    int found = stretch >= LEAST_OVER_ALONE && difference >= LEAST_OVER_NS &&
                difference >= SIGMAS * u->beside_se_ns;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "decode-steps", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena,
                        "%sa step takes %s beside decoding and %s on an idle GPU, %s %s (%.0f steps; apart "
                        "from decoding there were %.0f)",
                        found ? "decoding takes time from the step: " : "",
                        pp_text_duration(beside, CELL, u->beside_ns), pp_text_duration(alone, CELL, alone_ns),
                        pp_text_percent(longer, CELL, fabs(stretch)), stretch < 0 ? "shorter" : "longer",
                        u->beside, u->apart));
    f->next_step = found ? pp_remedies[PP_REMEDY_DECODE_STEALS].sentence : NULL;
    pp_finding_number(f, "step_beside_s", u->beside_ns / 1e9);
    pp_finding_number(f, "step_alone_s", alone_ns / 1e9);
    pp_finding_number(f, "stretch_share", stretch);
    pp_finding_number(f, "difference_se_s", u->beside_se_ns / 1e9);
    pp_finding_number(f, "steps_beside", u->beside);
    pp_finding_number(f, "steps_apart", u->apart);
}

static void add_steps(const struct pp_source *source, const struct pp_device_decode_use *u,
                      struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "decode-steps";
    char beside[CELL], apart[CELL], longer[CELL];
    double alone_ns = step_alone_ns(source);
    if (u->beside >= LEAST_STEPS && u->apart < LEAST_STEPS && alone_ns > 0) {
        add_steps_over_alone(u, alone_ns, arena, r);
        return;
    }
    if (u->beside < LEAST_STEPS || u->apart < LEAST_STEPS) {
        pp_finding_add(
            r, arena, kind, PP_FINDING_NOT_MEASURED,
            pp_arena_printf(arena,
                            "%.0f steps ran beside decoding and %.0f apart from it: %d of each are "
                            "needed to compare them",
                            u->beside, u->apart, LEAST_STEPS));
        return;
    }
    double difference = u->beside_ns - u->apart_ns, stretch = difference / u->apart_ns;
    int found = stretch >= LEAST_STRETCH && difference >= SIGMAS * u->difference_se_ns;
    pp_text_duration(beside, CELL, u->beside_ns);
    pp_text_duration(apart, CELL, u->apart_ns);
    pp_text_percent(longer, CELL, fabs(stretch));
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena, "%sa step takes %s beside decoding and %s apart from it, %s %s%s (%.0f and %.0f steps)",
            found ? "decoding takes time from the step: " : "", beside, apart, longer,
            stretch < 0 ? "shorter" : "longer",
            !found && stretch >= LEAST_STRETCH ? ": within the spread of the steps" : "", u->beside,
            u->apart));
    f->next_step = found ? pp_remedies[PP_REMEDY_DECODE_STEALS].sentence : NULL;
    pp_finding_number(f, "step_beside_s", u->beside_ns / 1e9);
    pp_finding_number(f, "step_apart_s", u->apart_ns / 1e9);
    pp_finding_number(f, "stretch_share", stretch);
    pp_finding_number(f, "difference_se_s", u->difference_se_ns / 1e9);
    pp_finding_number(f, "steps_beside", u->beside);
    pp_finding_number(f, "steps_apart", u->apart);
}

static void add_copies(const struct pp_source *source, const struct pp_timeline *tl,
                       const struct pp_device_decode_use *u, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "decode-copies";
    char copied[CELL], pixels[CELL], share_text[CELL];
    double row = pp_source_number(source, "config", "row_bytes", NAN),
           per_batch = row * (double)tl->window_samples / (double)tl->window_batches,
           bytes = u->copies ? u->copied_bytes / u->copies : NAN, share = bytes / per_batch;
    if (!(share >= 0)) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       u->copies ? "the size of a sample was not recorded" : "no copy was recorded");
        return;
    }
    int found = share >= MOST_COPIED, compressed = decoded_share(source, tl, u) >= LEAST_OFFLOADED;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "copies carry %s: %s per batch, %s of the %s that its pixels have",
                        found && compressed ? "compressed bytes, nearly as many as pixels"
                        : found             ? "pixels for the most part"
                                            : "compressed bytes instead of pixels",
                        pp_text_bytes(copied, CELL, bytes), pp_text_percent(share_text, CELL, share),
                        pp_text_bytes(pixels, CELL, per_batch)));
    f->next_step = !found
                       ? NULL
                       : pp_remedies[compressed ? PP_REMEDY_DECODE_ELSEWHERE : PP_REMEDY_PLAIN_JPEG].sentence;
    pp_finding_number(f, "copied_bytes_per_batch", bytes);
    pp_finding_number(f, "pixel_bytes_per_batch", per_batch);
    pp_finding_number(f, "copied_share", share);
}

void pp_findings_of_device_decode(const struct pp_source *source, const struct pp_timeline *tl,
                                  const struct pp_device_decode_use *u, struct pp_arena *arena,
                                  struct pp_report *r)
{
    if (!u->batches || !tl->has_steady_state || tl->end_ns <= tl->start_ns)
        return;
    add_offload(source, tl, u, arena, r);
    add_engine(source, tl, u, arena, r);
    add_steps(source, u, arena, r);
    add_copies(source, tl, u, arena, r);
}
