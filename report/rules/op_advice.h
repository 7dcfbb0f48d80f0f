/* report/rules/op_advice.h: what is known to be faster than an operation that the stacks found
 * (measure/ops.h): by the library's code that it spends its time in.
 *
 * Rows are constant; any thread may call this. */
#ifndef PP_REPORT_RULES_OP_ADVICE_H
#define PP_REPORT_RULES_OP_ADVICE_H

struct pp_op_advice {
    const char *code; /* as "package/module.py:Function" begins; several, separated by spaces */
    const char *advice;
};

/* code: functions of the op, each as "package/module.py:Class.function", separated by spaces. NULL: nothing
 * is known but that it can be done less often. */
const char *pp_op_advice_find(const char *code);
/* Where nothing is known. */
extern const char pp_op_advice_any[];

#endif
