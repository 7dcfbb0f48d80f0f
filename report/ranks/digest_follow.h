/* report/ranks/digest_follow.h: the digest of a recording that is still written, again and again. A look
 * reads what came since the one before, and costs as much as that; digests of any series of looks are that of
 * one look at all of it. What a look cannot have is what takes a whole report: the rank's own verdict, which
 * pp_digest_read has when the recording is complete.
 *
 * The last batch of a look is left to the next one, as it may go on. The file is opened for each look and
 * closed again, as by report/live. One thread. */
#ifndef PP_REPORT_RANKS_DIGEST_FOLLOW_H
#define PP_REPORT_RANKS_DIGEST_FOLLOW_H

#include "report/ranks/digest.h"

struct pp_digest_follow;

/* Reads nothing yet. NULL: no memory. */
struct pp_digest_follow *pp_digest_follow_new(const char *path);
void pp_digest_follow_free(struct pp_digest_follow *f);

/* The digest of what was recorded before until_ns (CLOCK_MONOTONIC of the recording; UINT64_MAX: all there
 * is). now_utc_ns: the row says that it holds until then; 0: until the last span. *ended (may be NULL): the
 * recording has its end, or was killed. PP_E_USAGE: it is of no rank, PP_E_EMPTY, PP_E_NOT_FOUND: there is
 * none yet. Zero- initialised *out. */
pp_status pp_digest_follow_look(struct pp_digest_follow *f, uint64_t until_ns, uint64_t now_utc_ns,
                                struct pp_digest *out, int *ended, struct pp_err *err);

#endif
