/* dash/verdict.h: the report model of a growing file, built again and again on a thread of its own, so that no frame waits for it. A build is
 * followed by a pause of a hundred times its cost, so that it takes at most one per cent of a core. */
#ifndef PP_DASH_VERDICT_H
#define PP_DASH_VERDICT_H

#include "report/model.h"

struct pp_verdicts;

/* path is copied. NULL: no memory or no thread; the dashboard then has no verdict. */
struct pp_verdicts *pp_verdicts_start(const char *path);
void pp_verdicts_stop(struct pp_verdicts *v);
/* The newest report, or NULL; stays valid until the next call. Only the thread that started it calls this. */
const struct pp_report *pp_verdicts_newest(struct pp_verdicts *v);
/* The file has ended or changed: build at the next opportunity, without waiting out the pause. */
void pp_verdicts_wake(struct pp_verdicts *v);

#endif
