#include "report/verdict/trace.h"

#include "probe/base/text.h"

#include <math.h>
#include <string.h>

#define RECORD "Record the job itself for some minutes: pipeprobe exec -- python train.py"

/* The two-sided 95 % quantile of Student's t for 1, 2, ... degrees of freedom (Abramowitz and Stegun,
 * table 26.10); beyond, the normal's. */
static double t95(double degrees)
{
    static const double t[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
                               2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09};
    size_t n = sizeof(t) / sizeof(*t);
    if (!(degrees >= 1))
        return NAN;
    return degrees > (double)n ? 1.96 : t[(size_t)degrees - 1];
}

static int is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

const char *pp_trace_few_steps(const struct pp_facts *f, struct pp_arena *arena, const char **next_step)
{
    *next_step =
        "Profile more steps: torch.profiler.schedule(wait=1, warmup=1, active=30). Or record the job: pipeprobe exec "
        "-- python train.py.";
    double share = f->metric[PP_METRIC_DATA_WAIT], n = f->metric[PP_METRIC_BATCHES],
           off = f->data_wait_se * t95(n - 1), limit = pp_level_moderate->at_least;
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

const char *pp_trace_unnamed(const struct pp_facts *f, const char **next_step)
{
    *next_step = RECORD ", or profile a training loop that takes its batches from a DataLoader.";
    if (is(f->trace_waits, "none"))
        return "no event of the trace is a wait for data (enumerate(DataLoader)#..., or a range of that meaning)";
    if (is(f->trace_waits, "another thread"))
        return "another thread than the training loop's takes the batches, so the trainer's own wait has no name in the trace";
    return NULL;
}

const char *pp_trace_blind(const struct pp_facts *f, const char **next_step)
{
    if (is(f->trace, "pipeprobe")) {
        *next_step = "Report the recording that this was exported from: it has what an export leaves out.";
        return "an export has no CPUs of the machine, no GPU activity and no counters to find the cause with";
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
    char wait[32];
    double cpu = f->metric[PP_METRIC_WAIT_ITSELF];
    const char *pageable =
        f->metric[PP_METRIC_GPU_PAGEABLE] >= 0.5
            ? " Most bytes are copied to the GPU from pageable memory: DataLoader(pin_memory=True) "
              "and batch.to(device, non_blocking=True)."
            : "";
    int hidden = cpu >= pp_level_moderate->at_least && f->metric[PP_METRIC_GPU_IDLE] < cpu;
    return !hidden
               ? pageable
               : pp_arena_printf(
                     arena,
                     " The CPU waits for batches for %s of the time, while the GPU still has kernels to run.%s",
                     pp_text_percent(wait, sizeof(wait), cpu), pageable);
}
