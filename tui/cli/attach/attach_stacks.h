/* tui/cli/attach/attach_stacks.h: looks at the Python stacks of a running job and of its workers, many times
 * a second, from outside: nothing is put into it, and it is not stopped. What they tell is judged at the end
 * (report/measure/looks.h). For one thread. */
#ifndef PP_TUI_CLI_ATTACH_ATTACH_STACKS_H
#define PP_TUI_CLI_ATTACH_ATTACH_STACKS_H

#include "report/measure/looks.h"
#include "tui/cli/attach/attach_rows.h"

#define ATTACH_STACKS_HZ 20

struct attach_stacks;

/* NULL: no memory. */
struct attach_stacks *attach_stacks_begin(void);
/* One look at the job and at the workers that rows know. */
void attach_stacks_look(struct attach_stacks *s, const struct attach_rows *rows);
/* When the next look is due. */
uint64_t attach_stacks_due(const struct attach_stacks *s);
/* What was seen in window_s. Free with pp_looks_free. PP_E_ACCESS: the stacks of the job cannot be read, and
 * why; PP_E_NOT_FOUND: it was not seen in Python. */
pp_status attach_stacks_judge(const struct attach_stacks *s, double window_s, struct pp_looks *out,
                              struct pp_err *err);
void attach_stacks_free(struct attach_stacks *s); /* NULL is fine */

#endif
