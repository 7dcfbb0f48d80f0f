/* report/verdict/verdict.h: from measured facts to a verdict: how much the trainer waits (level), whether
 * that may be said at all (guards), and what the owner of the wait is bound by (cause). The rules are tables
 * (verdict_rules.h); this applies them. */
#ifndef PP_REPORT_VERDICT_VERDICT_H
#define PP_REPORT_VERDICT_VERDICT_H

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
 * sentence is left NULL: it is made of the report's numbers, in report/build/sentence.h; else it says why
 * nothing was judged. */
void pp_verdict_judge(const struct pp_facts *facts, struct pp_arena *arena, struct pp_report_verdict *out);

#endif
