/* report/rivals.h: the published decision rules of other tools, applied to our recordings, so that one table compares them with ours. Each is what the
 * tool's source or documentation says, with its thresholds (docs/DIAGNOSIS.md names them); what a tool needs that one recording cannot give (three
 * runs, a patched framework) is left out of the table rather than guessed. A tool that stops at "input-bound" names no class. */
#ifndef PP_REPORT_RIVALS_H
#define PP_REPORT_RIVALS_H

#include "report/model.h"

struct pp_rival_verdict {
    int input_bound;
    const char *l1; /* NULL: the tool names none */
};

/* NULL after the last. */
const char *pp_rival(int i, const struct pp_report *r, struct pp_rival_verdict *out);

#endif
