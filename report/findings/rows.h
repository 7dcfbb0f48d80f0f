/* report/findings/rows.h: how a finding becomes a row of the model, shared by the files that write the
 * sentences: findings.c (the run and its order) and worker_rows.c (what workers do). Texts are borrowed from
 * the arena. */
#ifndef PP_REPORT_FINDINGS_ROWS_H
#define PP_REPORT_FINDINGS_ROWS_H

#include "report/findings/checks.h"

/* Appends a row. Never NULL: without memory a row that is not in the report, and the arena remembers. */
struct pp_report_finding *pp_finding_add(struct pp_report *r, struct pp_arena *arena, const char *kind,
                                         enum pp_finding_state state, const char *sentence);
/* Numbers beyond PP_FINDING_NUMBERS are left out. */
void pp_finding_number(struct pp_report_finding *f, const char *name, double value);

/* Of the time of the threads that read, which are the workers, or the shard reader when streaming: the read
 * phase. */
double pp_finding_read_share(const struct pp_report *r);

/* lockstep-waits, worker-restarts, worker-hang, memory-growth, buffer-debt (worker_rows.c). */
void pp_findings_of_workers(const struct pp_source *source, const struct pp_timeline *tl,
                            const struct pp_checks *checks, struct pp_arena *arena, struct pp_report *r);

#endif
