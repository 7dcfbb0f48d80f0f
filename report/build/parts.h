/* report/build/parts.h: the parts of a report. Each is made by one file of this room from what was measured
 * and replayed; build.c asks for them in their order. */
#pragma once

#include "probe/base/arena.h"
#include "report/findings/checks.h"
#include "report/measure/tally.h"
#include "report/measure/stalls.h"
#include "report/measure/timeline.h"
#include "report/model/model.h"
#include "report/pictures/series.h"
#include "report/replay/costs.h"
#include "report/replay/whatif.h"
#include "report/source/source.h"
#include "report/verdict/signals.h"
#include "report/verdict/verdict.h"

/* subject.c: what a recording is about: pipeprobe's own loader on a data set, somebody's training job, or a
 * program that records itself. A verdict holds for that subject and no other. */

/* Sets the report's subject, its kind and its loader from the sections run and config. Texts: from arena. */
void pp_subject_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

/* facts.c: the second pass over the spans, after the timeline: everything that needs no more than the
 * steady-state window is gathered in one walk, for reading and decoding the spans costs as much as looking at
 * them. What every lane did (tally.h), the secondary checks (checks.h), what samples and batches cost
 * (costs.h), and the pictures (series.h). */

struct pp_gathered {
    struct pp_tally tally;
    struct pp_checks checks;
    struct pp_costs costs;
    pp_status costs_status;     /* PP_E_INCONCLUSIVE: there is nothing to replay, */
    struct pp_err why_no_costs; /* and this says why; without a steady state it does not */
    struct pp_thread_work threads;
    struct pp_series_targets targets;
};

/* After the rows of r are there; fills what its pictures need unless the source is a glance. tally
 * and costs are freed by their rooms, also after a failure. */
pp_status pp_gather(const struct pp_source *source, const struct pp_timeline *timeline,
                    struct pp_arena *arena, struct pp_report *r, struct pp_gathered *out, struct pp_err *err);

/* And the facts of a run, from which the verdict is judged (report/verdict/verdict.h), computed in one
 * place and in one order; and the rest of what a replay gives: ranked changes (changes.c), and causes that it
 * rules out. */

/* What facts are computed from; all borrowed. The totals, times and rates of the report are set. */
struct pp_facts_from {
    const struct pp_source *source;
    struct pp_arena *arena; /* of texts that are made */
    const struct pp_report *report;
    const struct pp_timeline *timeline;
    struct pp_gathered *gathered; /* its costs are calibrated */
    double usable_cpus;           /* NAN: unknown */
    double loss_share;
};

struct pp_diagnosis {
    struct pp_signals signals;
    int replayed;      /* the replay comes out as the run did; without, no metric of it is known */
    double starved_ns; /* of the judged batches: how much longer the trainer's steps took for want of a CPU; 0
                          where that is not exposed time */
    double stretch_ns; /* likewise, exposed or not */
    double taking_ns; /* of the judged batches' waits, what taking batches that are there costs; 0: unknown */
    struct pp_err why_not;
};

/* Each metric is written once, by the part that metrics.h names; a part that was not recorded leaves NAN.
 * DATA_WAIT then grows by the other times that expose the trainer. */
void pp_facts_build(const struct pp_facts_from *from, struct pp_facts *facts, struct pp_diagnosis *out);
/* A run of given length, so that its start is a part of what it takes; a run that was stopped after a while
 * has any length. */
int pp_run_ended_by_itself(const struct pp_source *source);

/* changes.c: the changes of a report as one ordered list, r->verdict.fixes: what could be set, what a replay
 * of the recording gains by it, and whether it is advised. The verdict's Do and Gain, the line to paste, the
 * tables, `tune`, `run --prove` and the findings that advise a change read this list, so that no sentence of
 * a report advises against another. */

/* Makes the list of what was replayed, without what a DALI pipeline has not. The verdict is judged. */
void pp_changes_list(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report *r);
/* Adds the one that no replay is asked for, where the verdict's remedy is about time between epochs: this
 * time left out of the run, of which the code that is named (n 0: none is) has its share. */
void pp_changes_leave_out(const struct pp_timeline *timeline, const struct pp_op_step *code,
                          struct pp_arena *arena, struct pp_report *r);
/* The list with that one before all others. */
void pp_changes_put_first(const struct pp_report_fix *fix, struct pp_arena *arena,
                          struct pp_report_verdict *v);
/* Says of each change whether it is advised, and orders them: those to do, the one that carries out the
 * verdict's next step first; those to measure; those that gain nothing here. r->verdict.action has the first
 * to do, or why there is none. */
void pp_changes_advise(struct pp_report *r, struct pp_arena *arena);

/* Of findings: what they advise is taken back where the list has it as a change that gains nothing here. The
 * findings are there, and speak of PyTorch. */
void pp_changes_agree(struct pp_report *r, struct pp_arena *arena);

/* ops.c: which line costs the stall, as the report says it: the ops of the stacks (measure/ops.h) with what
 * half of each gains in a replay; as changes to measure; and as the verdict's cause where one is sure. */

/* Fills r->ops, step_lines and flame, and adds changes behind those of changes.c, which are listed. costs is
 * calibrated where it was replayed. */
void pp_ops_tell(const struct pp_costs *costs, int replayed, struct pp_arena *arena, struct pp_report *r);
/* After changes are advised and before the action is chosen: where the work of samples holds the trainer up,
 * the op that costs most of it becomes the cause and what to make cheaper. */
void pp_ops_speak(struct pp_report *r, struct pp_arena *arena);
/* After the findings: where workers read many times what samples are made of, in an op of the user's own code
 * that is the cause, reading less is what to do, with its gain. */
void pp_ops_read_less(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r);
/* After the findings: what else gains. */
void pp_ops_other_way(struct pp_report *r, struct pp_arena *arena);

/* samples.c: the slowest samples of the judged loader, with the names that the recording has of them (meta
 * section slow_sample). Those are listed that take SLOW_TIMES the median or more. */

/* Fills r->slow_samples, from the costs of samples of the steady state; texts from arena. */
void pp_slow_samples_list(const struct pp_source *source, const struct pp_costs *c, struct pp_arena *arena,
                          struct pp_report *r);
/* "a.jpg (1.20 s, 3 of 3 times), b.jpg (...)": the worst three with a name, for a sentence; NULL: none. */
const char *pp_slow_samples_worst(const struct pp_report *r, struct pp_arena *arena);

/* subject.c: what is said of each DataLoader of a job that has several: its rate, its workers, and in which
 * words the judged one is named. */

/* After the rows of loaders and of workers; texts from arena. */
void pp_loaders_tell(const struct pp_timeline *tl, const struct pp_tally *tally, struct pp_arena *arena,
                     struct pp_report *r);
/* The loader of that process and number. NULL: the recording does not list it. */
struct pp_report_loader *pp_loaders_find(const struct pp_report *r, long long pid, unsigned loader);
/* Where a training thread that makes its own batches takes their samples of another DataLoader, with workers,
 * the place of that one: it was begun, and gave the loop no batch. NULL: there is none. */
const char *pp_loaders_inner(const struct pp_report *r);

/* ending.c: how a job ended that did not finish: why, which worker, and the remedy, from its exit status, the
 * exception that its interpreter ended with, kills of its control group, and its threads' last spans. */

/* Sets r->ended and its remedy, of a recording of `exec` whose outcome (set, as are times and totals) is not
 * that it finished; else they stay NULL. */
void pp_ending_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

/* samples.c: what the GPU decoded (run --decode), as the recording's section "decode" tells. */

/* NULL: nothing was decoded on a GPU, or the arena has no memory, which fails the report as a whole. */
const struct pp_report_decode *pp_decode_read(const struct pp_source *source,
                                              const struct pp_timeline *timeline, struct pp_arena *arena);

/* samples.c: where the time of a sample goes (report/model/spent.h). */

/* Fills spent of r, after its totals; nothing without a steady state. wait_share: of the workers' time in the
 * stalls, by phase; NULL: not known. */
void pp_spent_list(const struct pp_timeline *tl, const struct pp_tally *tally, const double *wait_share,
                   struct pp_arena *arena, struct pp_report *r);

/* changes.c: which settings to change one after the other, and where that ends. */

/* Into v->path, from the settings among v->fixes: greedy, each step the one that gains most beside those
 * before it, replayed together, until the next gains less than 5 %. costs are calibrated. Empty where the
 * first gains less, or its interval holds a loss. */
void pp_path_find(const struct pp_costs *costs, struct pp_report_verdict *v);

/* subject.c: what a PyTorch DataLoader would be expected to do with the data that pipeprobe's own loader was
 * recorded on. Our loader is faster by a measured factor, so that "not input-bound" about it says little
 * about a job in Python: the recording is replayed with its CPU work that many times as expensive, with the
 * same workers, prefetch and step. An expectation, with the measured factor's range; `run --loader pytorch`
 * measures. */

/* Fills r->pytorch where the subject is pipeprobe's own loader; elsewhere it stays NULL. costs: calibrated;
 * NULL: the run cannot be replayed. A verdict that is not input-bound gets the expectation as next step. */
void pp_pytorch_expect(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r);

/* changes.c: the names of other processes that use the CPUs (collectors/system/neighbours.c) in the advice to
 * move them off. */

/* Once the next step is chosen; nothing where it is another one, or none was recorded. */
void pp_neighbours_name(struct pp_arena *arena, struct pp_report *r);

/* sentence.c: the verdict in words. What the report begins with, its cause, and both as the one sentence of
 * JSON and the dashboard are made here from the same parts, so that no two outputs differ. */

/* Fills verdict.head, .cause_line and .sentence. Last: the verdict, the rates and the action are known. */
void pp_sentence_compose(struct pp_arena *arena, struct pp_report *r);

/* "waits 16 % of the time for data and 80 % for a CPU", or for other ranks, or the device; of: " of the
 * time", or "". "": no share is known. */
const char *pp_sentence_waits(const struct pp_report *r, const char *of, char *buf, size_t size);
