/* report/verdict/dali.h: the advice on a recorded DALI pipeline, in the words of DALI: it has no DataLoader,
 * no num_workers and no order of completion.
 *
 * A pipeline is DALI's where its ranges were read by the map `dali` (exec --map dali) and no batch of a
 * DataLoader was recorded. The ranges of its executor stand for all threads of its pool. So what more threads
 * or a deeper queue would gain is not predicted. */
#ifndef PP_REPORT_VERDICT_DALI_H
#define PP_REPORT_VERDICT_DALI_H

#include "probe/base/arena.h"
#include "report/model/model.h"

int pp_dali_is(const struct pp_report *r);
/* The change of that knob means another loader's setting: it is no change of a DALI pipeline. */
int pp_dali_lacks(const char *knob);
/* When all of the report is there: next steps, of findings too, and r->verdict.action. */
void pp_dali_speak(struct pp_report *r, struct pp_arena *arena);
/* A sentence of remedies.h for a DALI pipeline. */
const char *pp_dali_sentence(const char *sentence, struct pp_arena *arena);

#endif
