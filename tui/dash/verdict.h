/* dash/verdict.h: the report model of a growing file, built again and again on a thread of its own, so that
 * no frame waits for it: of the whole run, or of the part of it that is looked at. A build is followed by a
 * pause that its cost decides, so that it takes no more than its share of the machine's CPUs; only a user who
 * moves to another moment is answered at once. */
#pragma once

#include "report/model/model.h"

struct pp_verdicts;

/* Of the machine's CPUs: a dashboard has two of these, and may slow the run it watches by less than 0.5 %. */
#define PP_VERDICTS_SHARE 0.001

/* share: of the machine's CPUs, at most, over time. Below PP_VERDICTS_SHARE they are patient: the share is
 * that of the whole process since then, also of what it does besides, so that the first one too is paid for
 * before it begins; and there are at most two a minute, from shorter replays. parts: nothing is built until a
 * part of the run is asked for. path is copied. NULL: no memory or no thread; the caller then has no verdict.
 */
struct pp_verdicts *pp_verdicts_start(const char *path, double share, int parts);
void pp_verdicts_stop(struct pp_verdicts *v);
/* The file has ended or changed: build at the next opportunity, without waiting out the pause. */
void pp_verdicts_wake(struct pp_verdicts *v);

/* The part that began in [from_ns, to_ns). hurry: without waiting out the pause. Asking for the same part
 * again costs nothing. */
void pp_verdicts_ask(struct pp_verdicts *v, uint64_t from_ns, uint64_t to_ns, int hurry);

/* The same on the calling thread, part NULL: of all of the run. v: whose requests are kept for it, NULL:
 * nobody's. What is built is for a glance (report/source/source.h): no intervals, no series. */
struct pp_verdict_part {
    uint64_t from_ns, to_ns;
};
pp_status pp_verdict_of(const char *path, const struct pp_verdict_part *part, const struct pp_verdicts *v,
                        struct pp_report **out, struct pp_err *err);

/* The newest report, or NULL; stays valid until the next call. of: the part that it is of; NULL: not asked.
 * Only the thread that started it calls this. */
const struct pp_report *pp_verdicts_newest(struct pp_verdicts *v, struct pp_verdict_part *of);
