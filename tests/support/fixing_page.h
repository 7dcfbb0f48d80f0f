/* The guide docs/guide/fixing-a-stall.md, made from the rules and remedies of report/verdict: for each
 * verdict what one sees, and the fix in each program. tests/unit/report/verdict/test_verdict_page.c holds the
 * page against it; make golden rewrites the page. */
#pragma once

/* The whole page; the caller frees it. NULL: no memory. */
char *fixing_page(void);
