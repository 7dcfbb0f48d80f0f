/* tests/lab/other_tools.h: the published decision rules of other tools, applied to our recordings, so that
 * one table compares them with ours. Each is what the tool's source or documentation says, with its
 * thresholds; docs/internals/scenarios.md names the source of each, and what is read off one recording where
 * the tool itself makes several runs or looks at a device. A tool that stops at "input-bound" names no class,
 * and a table counts that as no right one. */
#pragma once

#include "report/model/model.h"

struct other_tool_verdict {
    int input_bound;
    const char *l1; /* NULL: the tool names none */
};

/* NULL after the last. */
const char *other_tool(int i, const struct pp_report *r, struct other_tool_verdict *out);
