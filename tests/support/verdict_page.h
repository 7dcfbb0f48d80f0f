/* The reference of verdicts, docs/reference/verdicts.md, made from the tables of report/verdict: levels,
 * guards, rules and remedies. tests/unit/report/verdict/test_verdict_page.c holds the page against it; make
 * golden rewrites the page. */
#pragma once

#include "report/verdict/labels.h"
#include "report/verdict/verdict_rules.h"

/* NULL: no rule says it. */
const struct pp_label *verdict_label(const char *l1, const char *l2);
/* The whole page; the caller frees it. NULL: no memory. */
char *verdict_page(void);
