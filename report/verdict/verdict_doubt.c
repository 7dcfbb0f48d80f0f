#include "report/verdict/verdict_judge.h"

#include "report/replay/costs.h"

#include "probe/base/text.h"

#define MOST_OF_RUN 0.8    /* stalled: the spread of a few batches leaves it above half */
#define MUCH_OF_OTHERS 0.2 /* of the CPUs: what was measured is about them too */

/* ---- may anything be said ---- */

/* Few batches of a second and more (language models) say on which side of 5 % the wait is, if it lies twice
 * its standard error away; what they gain has an interval as wide. */
static double limit_of(const struct pp_facts *f, const struct pp_guard_rule *g)
{
    double off = fabs(f->metric[PP_METRIC_DATA_WAIT] - PP_LEAST_SHARE);
    int clear = f->metric[PP_METRIC_BATCH_TIME] >= 1e9 && off > 2 * f->data_wait_se;
    return f->trace && g->of_trace > 0 ? g->of_trace : g->of_long > 0 && clear ? g->of_long : g->limit;
}

const struct pp_guard_rule *pp_judge_guard(const struct pp_facts *f)
{
    for (size_t i = 0; i < pp_guard_rules_n; i++) {
        const struct pp_guard_rule *g = &pp_guard_rules[i];
        double v = f->metric[g->metric];
        if (!(g->at_least ? v >= limit_of(f, g) : v <= limit_of(f, g)) && !(g->if_known && isnan(v)))
            return g;
    }
    return NULL;
}

/* A recording is made longer by what ended it. `pipeprobe exec` and libpipeprobe have no say in that. */
static void advise_longer(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    const char *by = f->ended_by ? f->ended_by : "";
    double of_window = 1e9 / fmax(f->metric[PP_METRIC_WINDOW], 1e8),
           of_batches = 10 / fmax(f->metric[PP_METRIC_BATCHES], 1),
           more = f->batches * 1.5 * fmin(fmax(of_window, of_batches), 10);
    /* Batches for which the job has to run longer, where it is known how long one takes. */
    double missing = ceil(fmax(10 - f->metric[PP_METRIC_BATCHES], 1e9 / f->metric[PP_METRIC_BATCH_TIME]));
    char time[32], batches[40];
    const char *step = NULL;
    if (f->trace)
        step = pp_trace_more_steps(f);
    else if (f->program && strcmp(by, "duration") == 0)
        step = "Give exec a longer --duration.";
    else if (f->program && !(missing >= 1 && missing * f->metric[PP_METRIC_BATCH_TIME] < 1e13))
        step =
            "Let the program run longer: the recording ends when the program does. More epochs or steps in the program itself, or a larger data set.";
    else if (f->program) {
        double missing_ns = missing * f->metric[PP_METRIC_BATCH_TIME];
        if (missing_ns < 1e11)
            snprintf(time, sizeof(time), "%.0f s", fmax(ceil(missing_ns / 1e9), 1));
        else
            pp_text_duration(time, sizeof(time), missing_ns);
        step = pp_arena_printf(
            j->arena, "Let the job take %s more, about %s: more steps or epochs, or a larger data set.",
            pp_text_counted(batches, sizeof(batches), missing, "batch", "batches"), time);
    } else if (strcmp(by, "steps") == 0)
        step = pp_arena_printf(j->arena,
                               "Give more steps: --steps %.0f, or --duration 30s in place of --steps.",
                               ceil(more / 10) * 10);
    else if (strcmp(by, "epochs") == 0)
        step = pp_arena_printf(
            j->arena,
            "Give more epochs, so that there are about %.0f batches (--epochs), or --duration 30s in place of --epochs.",
            ceil(more / 10) * 10);
    else if (f->subject == PP_SUBJECT_OWN_LOADER && strcmp(by, "interrupted") == 0)
        step = "Let the run end by itself: it was interrupted.";
    if (step)
        pp_judge_next_step(j, step);
}

/* A step's spread is not known yet, but hundreds of samples may be: what they show of a trainer that hardly
 * does anything but wait is worth more than the advice to wait longer. */
static int say_so_far(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    const struct pp_rule *cause = f->has_step && !f->trace && f->has_steady_state && !f->only_first_batches &&
                                          f->metric[PP_METRIC_DATA_WAIT] >= MOST_OF_RUN &&
                                          f->metric[PP_METRIC_OWNER_SHARE] >= PP_LEAST_EXPLAINED
                                      ? pp_judge_cause(f)
                                      : NULL;
    if (!cause || !cause->l2)
        return 0;
    v->l1 = cause->l1;
    v->l2 = cause->l2;
    v->cause = pp_judge_fill(j, cause->said);
    v->reason = pp_arena_printf(j->arena, "%s; so far the trainer waits %s: %s", v->reason,
                                pp_judge_fill(j, "{data_wait}"), v->cause);
    pp_judge_advise(j, cause->remedy);
    return 1;
}

/* The guard's reason and remedy, unless it is known what kept batches from coming: more time is no help. */
void pp_judge_inconclusive(const struct judge *j, const struct pp_guard_rule *g)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    char limit[48];
    v->l0 = "inconclusive";
    v->reason = pp_judge_fill(j, g->reason);
    if (g->metric == PP_METRIC_BATCHES && f->trace)
        v->reason = pp_arena_printf(j->arena, "the trace has %s besides its first one",
                                    pp_text_counted(limit, sizeof(limit), f->metric[PP_METRIC_BATCHES],
                                                    "step", "steps"));
    if (g->metric == PP_METRIC_BATCHES)
        v->reason = pp_arena_printf(j->arena, "%s, at least %.0f are needed", v->reason, limit_of(f, g));
    pp_judge_advise(j, g->remedy);
    if (g->metric == PP_METRIC_BATCHES || g->metric == PP_METRIC_WINDOW)
        if (f->ended || !say_so_far(j))
            advise_longer(j);
    if (f->ended && g->metric != PP_METRIC_LOSS) {
        v->reason = f->failed ? "the job failed before enough was recorded"
                              : "the job was interrupted before enough was recorded";
        pp_judge_next_step(j, f->ended_remedy ? f->ended_remedy : "Fix what its message names.");
    } else if (!f->has_steady_state && f->failed) {
        v->reason = "the run failed before a steady state was reached";
        pp_judge_next_step(j, "Fix the failure: its message names it, and the errors list the files.");
    } else if (f->unannotated) {
        v->reason = "nothing recorded says when the trainer waits for data and when it works";
        pp_judge_next_step(
            j,
            f->python
                ? "Mark the wait for the next batch and the step in the training loop, data_wait and step (pipeprobe help recording-your-own-job). What is recorded of which loader: pipeprobe help other-loaders."
                : "Annotate the job's data_wait and step, and name their ranges in a --map (pipeprobe help recording-your-own-job).");
    } else if (!f->has_steady_state) {
        v->reason = "the recording ends before a steady state was reached";
    } else if (g->metric == PP_METRIC_BATCHES && f->only_first_batches) {
        v->reason = "an epoch has one batch, so every wait is an epoch boundary and cannot be judged";
        pp_judge_advise(j, PP_REMEDY_MORE_DATA);
    }
    if ((g->metric == PP_METRIC_BATCHES || g->metric == PP_METRIC_WINDOW) && !v->cause && f->has_step &&
        f->has_steady_state && !f->trace && !f->only_first_batches && f->metric[PP_METRIC_BATCHES] >= 2)
        v->reason = pp_arena_printf(j->arena, "%s; so far training waits %s of the time", v->reason,
                                    pp_text_share(limit, sizeof(limit), f->metric[PP_METRIC_DATA_WAIT]));
    v->sentence = pp_arena_printf(j->arena, "INCONCLUSIVE: %s", v->reason);
    pp_unit_text(pp_metric_facts[g->metric].unit, limit_of(f, g), limit, sizeof(limit));
    pp_judge_evidence(j, g->metric,
                      pp_arena_printf(j->arena, "%s %s needed: %s", g->at_least ? "at least" : "at most",
                                      limit, g->source),
                      -1);
    if (f->metric[PP_METRIC_CONTENDED] >= MUCH_OF_OTHERS)
        pp_judge_evidence(j, PP_METRIC_CONTENDED, NULL, 0);
}

/* Most of the wait is not where the cause is: that is no verdict, and what would make it one is known. */
void pp_judge_unexplained(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    int unnamed = f->metric[PP_METRIC_UNNAMED] >= 1 - PP_LEAST_EXPLAINED;
    v->reason = pp_judge_fill(
        j,
        unnamed
            ? "{unnamed} of the workers' time in the stalls is in code that no range names ({owner}: {owner_share})"
            : "no phase has half of the workers' time in the stalls (the largest, {owner}, has {owner_share})");
    /* Without a replay the causes cannot be weighed against each other; what it lacks is what to do. */
    if (!unnamed && isnan(f->replay_off))
        pp_judge_next_step(
            j,
            f->why_no_replay
                ? pp_arena_printf(j->arena, "Make the run one that can be replayed, and record again: %s.",
                                  f->why_no_replay)
                : "Record again with the time on a CPU and the wait for one, so that the run can be replayed.");
    else if (!unnamed) {
        v->reason = pp_arena_printf(
            j->arena, "%s; the replay cannot rank the causes: it misses this run's rate by %.0f %%",
            v->reason, 100 * fabs(f->replay_off));
        if (f->errors)
            pp_judge_advise(j, PP_REMEDY_ERRORS_FIRST);
        else
            pp_judge_next_step(
                j,
                "Record longer (a minute), with the same load on the machine from beginning to end: the replay needs a run that does not change.");
    } else
        pp_judge_next_step(
            j,
            f->text[PP_METRIC_SAMPLE_CODE]
                ? "See what a worker does meanwhile: py-spy dump -p PID. One that has ended, or has no shard of the data, makes no samples in the table of workers."
            : f->subject == PP_SUBJECT_PROGRAM
                ? "Record the workers' other stages too (pp_span_begin, pp_lap_end): decode, transform, collate, and handing the batch over."
                : "Annotate what else the workers do (read, decode, transform, collate, handing the batch to the trainer, starting) with NVTX ranges, map them to phases (--map), and record again.");
    pp_judge_evidence(j, PP_METRIC_UNNAMED, "< 50.0 %: else the ranges do not tell what the workers do", -1);
    pp_judge_evidence(j, PP_METRIC_OWNER_SHARE, "< 50.0 %: not a cause", -1);
}

/* What to do where no cause is established: what the recording lacks is added to it. */
static const char *advise_missing(const struct pp_facts *f)
{
    if (f->starved_alone)
        return "Record longer, or again without background load on these CPUs.";
    if ((!f->has_workers || isnan(f->metric[PP_METRIC_OWNER])) && f->text[PP_METRIC_SAMPLE_CODE])
        return "Record longer: no worker's sample was recorded while the trainer waited. What the hooks could not see is among the findings (partly-recorded).";
    if (isnan(f->metric[PP_METRIC_OWNER]) && f->metric[PP_METRIC_THREADS_LOOKS] < PP_LEAST_LOOKS)
        return "Record longer: a second of stalls has 20 looks at the job's threads, and they give the cause.";
    if (isnan(f->metric[PP_METRIC_OWNER]) && f->metric[PP_METRIC_THREADS_WORK] < 0.5)
        return "Find what makes the batches: another program or machine that this one asks, a lock, or a sleep. py-spy dump -p PID shows where the training thread waits.";
    if (!f->has_workers || isnan(f->metric[PP_METRIC_OWNER]))
        return f->subject == PP_SUBJECT_PROGRAM
                   ? "Record the workers' stages too: threads of lane worker (pp_thread_open) with read, decode, transform and collate."
               : f->subject == PP_SUBJECT_JOB
                   ? "Annotate the workers' read, decode, transform and collate with NVTX ranges, map them to phases (--map), and record again."
                   : "Record the workers' read, decode, transform and collate too.";
    if ((f->metric[PP_METRIC_OWNER] != PP_PHASE_NONE && isnan(f->metric[PP_METRIC_OWNER_BLOCKED])) ||
        isnan(f->metric[PP_METRIC_CPUS]))
        return "Record again with CPU accounting on a machine that has /proc/thread-self/schedstat.";
    return f->metric[PP_METRIC_BUSY_CPUS] >= 0.9
               ? "Record again while nothing else runs on these CPUs, and see whether it is still so."
               : "Record longer, and see what the trainer does meanwhile: py-spy dump -p PID.";
}

void pp_judge_missing(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    if (f->starved_alone)
        v->reason =
            "the replay that would separate own threads from other processes does not reproduce the run";
    else if (isnan(f->metric[PP_METRIC_OWNER]) && f->metric[PP_METRIC_THREADS_LOOKS] >= PP_LEAST_LOOKS)
        v->reason = pp_judge_fill(
            j,
            f->metric[PP_METRIC_THREADS_WORK] >= 0.5
                ? "while training waits {threads_work|thread of the job is|threads of the job are} at work, some computing ({threads_compute}) and some reading ({threads_read})"
                : "while training waits no thread of the job's processes is at work ({threads_work} on average). They wait for a lock, a queue or a timer, or for another program");
    else if (isnan(f->metric[PP_METRIC_OWNER]) && f->metric[PP_METRIC_THREADS_LOOKS] > 0)
        v->reason = pp_judge_fill(
            j,
            "no span says what makes the batches, and the job's threads were seen only {threads_looks|time|times} in stalls; 20 looks are needed");
    else if (!f->has_workers)
        v->reason = "the recording has no ranges of workers";
    else if (isnan(f->metric[PP_METRIC_OWNER]))
        v->reason = "the recording has no worker spans during the stalls";
    else if (f->metric[PP_METRIC_OWNER] == PP_PHASE_NONE)
        v->reason = pp_judge_fill(
            j,
            f->metric[PP_METRIC_G_INPUT] >= PP_WORTH_A_FIX
                ? "the workers have nothing to do for {worker_idle} of the stalls, and batches are late on their way; the best change to the input gains {g_input} in the replay"
                : "the workers have nothing to do for {worker_idle} of the stalls, batches are late on their way, and no change that can be replayed gains 15 % for sure");
    else if (isnan(f->metric[PP_METRIC_OWNER_BLOCKED]))
        v->reason = "the time on a CPU and the wait for one were not recorded";
    else if (isnan(f->metric[PP_METRIC_CPUS]))
        v->reason = "the number of usable CPUs was not recorded";
    else
        v->reason = pp_judge_fill(
            j,
            "no cause has its evidence: {owner} has {owner_share} of the workers' time in the stalls, on a CPU for {cpu} of it, waiting for one for {run_queue}, blocked for {blocked}; {busy_cpus} of the usable CPUs are in use");
    pp_judge_next_step(j, advise_missing(f));
}
