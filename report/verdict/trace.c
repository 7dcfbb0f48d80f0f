#include "report/verdict/verdict.h"

#include "probe/base/text.h"

#define RECORD "Record the job itself for some minutes: pipeprobe exec -- python train.py"

static int is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* What the profilers call things; the last row is for those that have none of their own. */
static const struct words {
    const char *source, *more_steps, *waits;
} words[] = {
    {"dftracer", "Trace more steps. Or record the job: pipeprobe exec -- python train.py.",
     "dataloader fetch.iter, or a range that a map names"},
    {"xplane",
     "Profile more steps: 30 between jax.profiler.start_trace and stop_trace, or between the first and the last batch of "
     "profile_batch.",
     "tf.data's IteratorGetNext, __next__ of a DataLoader, or an annotation such as data_wait"},
    {NULL,
     "Profile more steps: torch.profiler.schedule(wait=1, warmup=1, active=30). Or record the job: pipeprobe exec "
     "-- python train.py.",
     "enumerate(DataLoader)#..., or a range of that meaning"},
};

static const struct words *words_of(const struct pp_facts *f)
{
    const struct words *w = words;
    while (w->source && !is(f->trace, w->source))
        w++;
    return w;
}

const char *pp_trace_more_steps(const struct pp_facts *f)
{
    return words_of(f)->more_steps;
}

const char *pp_trace_doubt(const struct pp_facts *f, int is_guarded, struct pp_arena *arena,
                           const char **next_step)
{
    /* The two-sided 95 % quantile of Student's t for 1, 2, ... degrees of freedom (Abramowitz and Stegun,
     * table 26.10); beyond, the normal's. */
    static const double t95[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                                 2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09};
    *next_step =
        is(f->trace, "xplane")
            ? "Put the loop's next() into jax.profiler.TraceAnnotation(\"data_wait\") and each step into "
              "StepTraceAnnotation."
            : RECORD ", or profile a training loop that takes its batches from a DataLoader.";
    if (is(f->trace_waits, "none"))
        return pp_arena_printf(arena, "no event of the trace is a wait for data (%s)", words_of(f)->waits);
    if (is(f->trace_waits, "another thread"))
        return "another thread than the training loop's takes the batches, so the trainer's own wait has no name in the trace";
    if (is_guarded)
        return NULL;
    *next_step = pp_trace_more_steps(f);
    double share = f->metric[PP_METRIC_DATA_WAIT], n = f->metric[PP_METRIC_BATCHES],
           t = !(n >= 2)                                      ? NAN
               : n - 1 > (double)(sizeof(t95) / sizeof(*t95)) ? 1.96
                                                              : t95[(size_t)(n - 1) - 1],
           off = f->data_wait_se * t, limit = pp_level_moderate->at_least;
    char low[32], high[32], at[32], count[32];
    if (!(off > 0) || share - off >= limit || share + off < limit)
        return NULL;
    return pp_arena_printf(arena,
                           "the wait is %s of the step time, with a 95 %% interval of %s to %s from %s steps",
                           pp_text_percent(at, sizeof(at), share),
                           pp_text_percent(low, sizeof(low), fmax(share - off, 0)),
                           pp_text_percent(high, sizeof(high), fmin(share + off, 1)),
                           pp_text_count(count, sizeof(count), n));
}

const char *pp_trace_blind(const struct pp_facts *f, struct pp_arena *arena, const char **next_step)
{
    if (is(f->trace, "dftracer")) {
        *next_step = RECORD ". That recording has the workers' CPU time, and decoding beside reads.";
        if (f->metric[PP_METRIC_CALLS] != 1)
            return "no calls of worker processes are in the trace, so slow storage, slow work and too few workers look "
                   "the same in it";
        /* Calls of files, and the ranges that the program names: what else workers do is not in it. */
        char read[32], named[32];
        const double *share = f->phase_share;
        return pp_arena_printf(
            arena,
            "during the stalls the workers are in calls of files for %s of their time and in transforms that have a range for "
            "%s; the trace has neither their CPU time nor the machine's CPUs, so slow work and too few workers look the same in it",
            pp_text_percent(read, sizeof(read), share[PP_PHASE_READ]),
            pp_text_percent(named, sizeof(named), share[PP_PHASE_TRANSFORM] + share[PP_PHASE_DECODE]));
    }
    if (is(f->trace, "pipeprobe")) {
        *next_step = "Report the recording that this was exported from: it has what an export leaves out.";
        return "an export has no CPUs of the machine, no GPU activity and no counters to find the cause with";
    }
    if (is(f->trace, "xplane") && f->has_workers) {
        *next_step =
            "Iterate over the data set without the model, and again without each stage: the stage whose absence helps "
            "is the cause.";
        /* Stages of tf.data and Grain, each by the time that is its own. */
        char read[32], decode[32], transform[32], collate[32];
        const double *share = f->phase_share;
        double all = share[PP_PHASE_READ] + share[PP_PHASE_DECODE] + share[PP_PHASE_TRANSFORM] +
                     share[PP_PHASE_COLLATE];
        if (!(all > 0))
            return "the trace has no stage of the input pipeline at work during the stalls";
        return pp_arena_printf(
            arena,
            "of the time of the input pipeline's stages during the stalls reads are %s, decoding %s, transforms %s and batching %s; the "
            "trace has neither their CPU time nor the machine's CPUs, so slow stages and too few threads look the same in it",
            pp_text_percent(read, sizeof(read), share[PP_PHASE_READ] / all),
            pp_text_percent(decode, sizeof(decode), share[PP_PHASE_DECODE] / all),
            pp_text_percent(transform, sizeof(transform), share[PP_PHASE_TRANSFORM] / all),
            pp_text_percent(collate, sizeof(collate), share[PP_PHASE_COLLATE] / all));
    }
    if (f->has_workers) {
        *next_step =
            "Report the recording that this was exported from, or record the job: pipeprobe exec -- python train.py.";
        return "the trace has ranges of workers, but neither their CPU time nor the CPUs of the machine to weigh causes by";
    }
    *next_step = RECORD
        ". That recording has the workers: reads, decode, transform, collate, and their CPU time.";
    return "the trace has no worker process, so slow reads, slow decoding or transforms, and too few workers look the same "
           "in it";
}

const char *pp_trace_besides(const struct pp_facts *f, struct pp_arena *arena)
{
    const double *m = f->metric;
    double cpu = m[PP_METRIC_WAIT_ITSELF];
    char wait[32], idle[32];
    const char *
        hidden = "",
       *synced = "",
       *pageable =
           !(m[PP_METRIC_GPU_PAGEABLE] >= 0.5) ? ""
           : m[PP_METRIC_PINS] == 1
               ? " Most bytes are copied to the GPU from pageable memory, though the loader pins its batches: copy its "
                 "tensors as they come (non_blocking=True), and convert them on the GPU."
               : " Most bytes are copied to the GPU from pageable memory: DataLoader(pin_memory=True) "
                 "and batch.to(device, non_blocking=True).";
    if (cpu >= pp_level_moderate->at_least && m[PP_METRIC_GPU_IDLE] < cpu)
        hidden = pp_arena_printf(
            arena, " The CPU waits for batches for %s of the time, while the GPU still has kernels to run.",
            pp_text_percent(wait, sizeof(wait), cpu));
    if (m[PP_METRIC_GPU_SYNCS] >= 0.5 && m[PP_METRIC_GPU_IDLE] >= pp_level_moderate->at_least)
        synced = pp_arena_printf(
            arena,
            " The trainer makes %.1f synchronising calls per step (.item(), print of a loss); of the GPU's idle time %s is "
            "synchronisation and launches after it.",
            m[PP_METRIC_GPU_SYNCS], pp_text_percent(idle, sizeof(idle), m[PP_METRIC_GPU_HOST]));
    return *hidden || *synced || *pageable ? pp_arena_printf(arena, "%s%s%s", hidden, synced, pageable) : "";
}
