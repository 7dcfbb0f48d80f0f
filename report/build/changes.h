/* report/build/changes.h: the changes of a report as one ordered list, r->verdict.fixes: what could be set,
 * what a replay of the recording gains by it, and whether it is advised. The verdict's Do and Gain, the line
 * to paste, the tables, `tune`, `run --prove` and the findings that advise a change read this list, so that
 * no sentence of a report advises against another. */
#ifndef PP_REPORT_BUILD_CHANGES_H
#define PP_REPORT_BUILD_CHANGES_H

#include "report/build/facts.h"
#include "report/model/model.h"

/* Makes the list of what was replayed, without what a DALI pipeline has not. The verdict is judged. */
void pp_changes_list(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report *r);
/* Adds the one that no replay is asked for, where the verdict's remedy is about time between epochs: this
 * time left out of the run, of which the code that is named (n 0: none is) has its share. */
void pp_changes_leave_out(const struct pp_timeline *timeline, const struct pp_op_step *code,
                          struct pp_arena *arena, struct pp_report *r);
/* Says of each change whether it is advised, and orders them: those to do, the one that carries out the
 * verdict's next step first; those to measure; those that gain nothing here. r->verdict.action has the first
 * to do, or why there is none. */
void pp_changes_advise(struct pp_report *r, struct pp_arena *arena);

/* Of findings: what they advise is taken back where the list has it as a change that gains nothing here. The
 * findings are there, and speak of PyTorch. */
void pp_changes_agree(struct pp_report *r, struct pp_arena *arena);

#endif
