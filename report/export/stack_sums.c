#include "report/export/stack_sums.h"

#include "report/export/out.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

enum { PHASES = 256 };

static pp_status no_memory(const struct pp_stack_sums *s, struct pp_err *err)
{
    return pp_fail(err, PP_E_NO_MEMORY, "exporting %s: out of memory", s->run->source->path);
}

/* ---- places of code: functions with a line, each once ---- */

struct code {
    uint32_t function, line, frame;
};

PP_BY_BOTH(by_function_and_line, struct code, function, line)

/* ---- sums ---- */

static int add_row(struct pp_stack_sums *s, struct pp_stack_sum row)
{
    if (!pp_grow(&s->rows, &s->room, s->n_rows + 1, sizeof(*s->rows)))
        return 0;
    s->rows[s->n_rows++] = row;
    return 1;
}

/* In samples of the first seconds, which are taken more often. */
static uint64_t weight_of(const struct pp_stack_sample *x)
{
    return x->flags & PP_STACK_DENSE ? 1 : PP_STACKS_DENSER;
}

/* Samples of a thread lie side by side. A sample stands for the time to the next, on average. */
static pp_status sum_stacks(struct pp_stack_sums *s, struct pp_err *err)
{
    const struct pp_stack_sample *x = s->stacks.samples;
    uint64_t *seen = calloc(s->stacks.n_frames + 1, sizeof(*seen));
    uint64_t *weight = calloc(s->stacks.n_frames + 1, sizeof(*weight));
    /* What a sample of weight 1 stands for, by all threads: for a thread that was seen once. */
    double ns = 0, of = 0;
    for (size_t i = 0; i + 1 < s->stacks.n_samples; i++)
        if (x[i + 1].thread == x[i].thread) {
            ns += (double)(x[i + 1].t_ns - x[i].t_ns);
            of += (double)weight_of(&x[i]);
        }
    double mean = of > 0 ? ns / of : 100e6 / PP_STACKS_DENSER;
    int fine = seen && weight;
    for (size_t i = 0, n; fine && i < s->stacks.n_samples; i += n) {
        uint64_t until_last = 0;
        for (n = 1; i + n < s->stacks.n_samples && x[i + n].thread == x[i].thread; n++)
            until_last += weight_of(&x[i + n - 1]);
        const struct pp_thread_row *thread = pp_scan_thread(s->run, x[i].thread);
        double each_ns = n > 1 ? (double)(x[i + n - 1].t_ns - x[i].t_ns) / (double)until_last : mean;
        if (!thread) /* it records no spans */
            continue;
        for (size_t k = i; k < i + n; k++) {
            seen[x[k].frame]++;
            weight[x[k].frame] += weight_of(&x[k]);
        }
        for (size_t k = i; k < i + n && fine; k++) {
            uint32_t frame = x[k].frame;
            if (seen[frame])
                fine = add_row(s, (struct pp_stack_sum){thread, frame, seen[frame],
                                                        (uint64_t)((double)weight[frame] * each_ns)});
            seen[frame] = weight[frame] = 0;
        }
    }
    free(seen);
    free(weight);
    return fine ? PP_OK : no_memory(s, err);
}

pp_status pp_stack_sums_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                             struct pp_err *err)
{
    struct pp_stack_sums *s = *self = calloc(1, sizeof(*s));
    if (!s)
        return pp_out_no_memory(place->out, err);
    *s = (struct pp_stack_sums){.run = run, .fd = place->fd, .label = place->out};
    pp_status status = pp_stacks_read(run->source, &s->stacks, err);
    if (status != PP_OK)
        return status;
    if (s->stacks.n_samples) {
        /* Places of code: functions with a line, each once. */
        size_t n = s->stacks.n_frames;
        struct code *code = malloc((n + 1) * sizeof(*code));
        s->locations = malloc((n + 1) * sizeof(*s->locations));
        s->location = malloc((n + 1) * sizeof(*s->location));
        for (uint32_t i = 0; code && i < n; i++)
            code[i] = (struct code){s->stacks.frames[i].function, s->stacks.frames[i].line, i};
        if (code)
            qsort(code, n, sizeof(*code), by_function_and_line);
        for (size_t i = 0; code && s->locations && s->location && i < n; i++) {
            const struct pp_stack_function *f = &s->stacks.functions[code[i].function];
            if (i == 0 || by_function_and_line(&code[i - 1], &code[i]) != 0)
                s->locations[s->n_locations++] = (struct pp_stack_location){f->name, f->file, code[i].line};
            s->location[code[i].frame] = (uint32_t)s->n_locations - 1;
        }
        int fine = code && s->locations && s->location;
        free(code);
        return fine ? PP_OK : no_memory(s, err);
    }
    s->of_phases = 1;
    s->locations = calloc(PHASES, sizeof(*s->locations));
    s->location = calloc(PHASES, sizeof(*s->location));
    s->phase_ns = calloc(s->run->n_threads + 1, PHASES * sizeof(*s->phase_ns));
    s->phase_n = calloc(s->run->n_threads + 1, PHASES * sizeof(*s->phase_n));
    if (!s->locations || !s->location || !s->phase_ns || !s->phase_n)
        return no_memory(s, err);
    for (unsigned phase = 0; phase < PHASES; phase++)
        if (s->run->phase_spans[phase] && pp_phase_info((pp_phase)phase)) {
            s->location[phase] = (uint32_t)s->n_locations;
            s->locations[s->n_locations++] = (struct pp_stack_location){pp_phase_info((pp_phase)phase)->name,
                                                                        "", 0};
        }
    return PP_OK;
}

pp_status pp_stack_sums_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct pp_stack_sums *s = self;
    size_t at = (size_t)(e->thread - s->run->threads) * PHASES + e->span->phase;
    if (!s->of_phases || e->track || !pp_phase_info((pp_phase)e->span->phase))
        return PP_OK;
    s->phase_ns[at] += e->span->dur_ns;
    s->phase_n[at]++;
    return PP_OK;
}

pp_status pp_stack_sums_close(void *self, int complete, struct pp_err *err)
{
    struct pp_stack_sums *s = self;
    int fine = 1;
    if (!s)
        return PP_OK;
    for (size_t i = 0; complete && s->of_phases && i < s->run->n_threads * PHASES && fine; i++)
        if (s->phase_n[i])
            fine = add_row(s, (struct pp_stack_sum){&s->run->threads[i / PHASES], (uint32_t)(i % PHASES),
                                                    s->phase_n[i], s->phase_ns[i]});
    pp_status st = !fine ? no_memory(s, err) : complete && !s->of_phases ? sum_stacks(s, err) : PP_OK;
    if (complete && st == PP_OK)
        st = s->run->to->stacks(s, err);
    pp_stacks_free(&s->stacks);
    free(s->locations);
    free(s->location);
    free(s->rows);
    free(s->phase_ns);
    free(s->phase_n);
    free(s);
    return st;
}

size_t pp_stack_sums_path(const struct pp_stack_sums *s, const struct pp_stack_sum *row,
                          uint32_t path[PP_STACK_LONGEST])
{
    if (s->of_phases)
        return path[0] = s->location[row->leaf], 1;
    const struct pp_stack_frame *frames = s->stacks.frames;
    size_t n = (size_t)frames[row->leaf].depth + 1, i = n;
    for (uint32_t at = row->leaf; i > 0; at = frames[at].parent)
        path[--i] = s->location[at];
    return n;
}
