/* report/verdict/verdict.h: from measured facts to a verdict: how much the trainer waits (level), whether
 * that may be said at all (guards), and what the owner of the wait is bound by (cause). The rules are tables
 * (verdict_rules.h); this applies them. */
#pragma once

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/verdict/verdict_rules.h"

struct pp_facts {
    double metric[PP_METRIC_COUNT];    /* NAN: unknown */
    const char *text[PP_METRIC_COUNT]; /* of those that are texts; NULL: unknown */
    int has_own;                       /* what the same metrics would be with exclusive CPUs is known */
    double own[PP_METRIC_COUNT];
    double data_wait_se; /* standard error of DATA_WAIT; NAN: unknown */
    int starved; /* the trainer's own step is stretched for want of a CPU, and that is a part of DATA_WAIT */
    int starved_alone;         /* and without it the trainer would not be exposed */
    double replay_error;       /* of the run as recorded, over the measured rate; NAN: not replayed */
    double replay_off;         /* likewise, where it is too far off for its answers to be used; else NAN */
    const char *why_no_replay; /* where there is none for another reason; NULL: unknown */
    uint64_t errors;           /* and retries, of the whole run */
    enum pp_subject_kind subject;
    const char *ended_by;    /* "duration", "steps", "epochs", ...; NULL: not recorded */
    const char *trace;       /* the profiler whose trace this is (run.source); NULL: pipeprobe recorded it */
    const char *trace_waits; /* how its waits are known: "loader", "annotated", "none", "another thread" */
    double batches;          /* of the whole run */
    int has_workers;         /* the recording has threads that do the workers' stages */
    int own_loader;          /* subject is pipeprobe run: its options may be advised */
    int has_step;            /* without, only a ceiling can be told */
    int has_steady_state;
    int failed;                       /* the run ended by an error of its own */
    const char *ended, *ended_remedy; /* as the report has them: of a job that did not finish */
    int program;                      /* somebody's own loader was recorded: it has options of its own */
    int python;                       /* in Python */
    int unannotated;                  /* it has neither waits nor steps */
    int only_first_batches; /* an epoch is one batch: every wait of the window is an epoch boundary */
    int owner_is_worker;    /* the lane of OWNER */
    double phase_share[PP_PHASE_COUNT]; /* of the workers' thread-time during the stalls */
};

static inline struct pp_values pp_facts_values(const struct pp_facts *f)
{
    return (struct pp_values){pp_metric_facts, PP_METRIC_COUNT, f->metric, f->text};
}

/* Texts are allocated from arena. Evidence that decided stands before the rest. Where exposed_share is known,
 * sentence is left NULL: it is made of the report's numbers, in report/build/parts.h; else it says why
 * nothing was judged. */
void pp_verdict_judge(const struct pp_facts *facts, struct pp_arena *arena, struct pp_report_verdict *out);

/* causes.c: which rows of the table of causes (verdict_rules.h) the facts meet, and of those that they do not
 * meet, what they miss: "why was it not called bandwidth?" has an answer in numbers. */

/* The first row that the facts meet and that no lane contradicts (pp_lane_rules), or NULL. */
const struct pp_rule *pp_cause_first(const struct pp_facts *f, const struct pp_rule *rules, size_t n);

/* The first row that names a want of CPU, which the facts meet and whose remedy gains: what may be said of a
 * trainer that hardly waits for data but whose own step does not get a CPU. NULL: there is none, and no
 * change mends it. */
const struct pp_rule *pp_cause_of_starving(const struct pp_facts *f);

/* Every cause of the table but the verdict's own, with the first condition it misses, into v->rejected. */
void pp_causes_reject(const struct pp_facts *f, struct pp_arena *arena, struct pp_report_verdict *v);

/* confidence.c: how certain a verdict is. A score between 0 and 1 is made of what can be seen
 * in the recording; a table that was fitted on labelled runs turns it into the share of verdicts with such a
 * score whose class was right. docs/results/accuracy.md has the reliability on held-out runs.
 *
 * The score is the product of:
 * - the chance that the wait is on its side of the 5 % threshold (normal approximation over batches),
 * - the lead of the cause over the next one in the replay (half of it where both are equal); where the replay
 * knows no weights, the share of the wait that the cause explains,
 * - how well the replay of the unchanged run comes out,
 * - of causes that are a lack of CPUs, how little others used the CPUs, which hides locks and missing
 * workers; and what free CPUs gain, over what they gain with a worker each: the rest is the loader's. */

/* From this share of right verdicts on a sentence says "near certain". */
#define PP_NEAR_CERTAIN 0.95
/* Sets v's score and confidence; the certainty in words ("near certain", "likely" from 0.7 on, "unclear";
 * NULL: no confidence); and the doubt: what lowers the score most, as "..., because this", NULL where it is
 * near certain. Literal texts. Of a trace nothing is set. cause: NULL where the trainer does not wait. bound:
 * the verdict is input-bound in the steady state. v->explained is read; NAN: unknown. */
void pp_confidence_judge(const struct pp_facts *f, const struct pp_rule *cause, int bound,
                         struct pp_report_verdict *v);
/* Calibrated; NAN for NAN. */
double pp_confidence_of(double score);

/* Rows of the table, in ascending order: from this score on, so many of the labelled verdicts were right. */
struct pp_confidence_row {
    double score, right;
};
extern const struct pp_confidence_row pp_confidence_rows[];
extern const size_t pp_confidence_rows_n;

/* trace.c: what may be concluded from a trace that another profiler wrote (collectors/import). Most see the
 * trainer's process, for a few steps, and no worker: whether the trainer waits and how much can be told, and
 * whether batches are made on its own thread; not whether workers are slow for storage, for CPU work or for
 * want of workers. DFTracer sees the workers' calls of files: storage may be named, what else workers do may
 * not. JAX's and TensorFlow's have the stages of tf.data, but no CPUs. */

/* Why nothing names the trainer's waits, as a reason; or, unless a guard says no already, how the few steps
 * of a trace leave open which level the stall has: its 95 % interval holds the limit of input-bound. NULL:
 * neither. *next_step is what would tell. */
const char *pp_trace_doubt(const struct pp_facts *f, int is_guarded, struct pp_arena *arena,
                           const char **next_step);

/* What to do for more steps in the trace. */
const char *pp_trace_more_steps(const struct pp_facts *f);

/* The cause is not in the trace: the reason, and the command that records it. */
const char *pp_trace_blind(const struct pp_facts *f, struct pp_arena *arena, const char **next_step);

/* Of a trainer that hardly waits: what the trace shows besides, behind that sentence; "" for nothing. */
const char *pp_trace_besides(const struct pp_facts *f, struct pp_arena *arena);
