/* dash/job.h: the ranks of a job while they record: all recordings of a directory, one row each, the rank
 * that the others wait for on top. As lines, as one frame, or on the terminal, where Enter opens a rank's own
 * dashboard.
 *
 * Worst first: by the share of its time that a rank does not wait for the others, where that is recorded,
 * else by its wait for data. */
#pragma once

#include "tui/dash/dash.h"

#include <pipeprobe/status.h>

enum { PP_JOB_RANKS = 256 }; /* of a directory; more of them are counted, and not shown */

/* Whether dir has the recordings of two ranks at least. */
int pp_job_is(const char *dir);

/* o->path is the directory; view and at_ns do not count. */
pp_status pp_job_screen(const struct pp_dash_opts *o, struct pp_err *err);
/* A line per interval; o->json: one JSON object per rank and interval, with its rank and the time (t_utc_s),
 * for logs and other programs. */
pp_status pp_job_lines(const struct pp_dash_opts *o, FILE *out, struct pp_err *err);
/* json: a document of schema pipeprobe.top.ranks/1. */
pp_status pp_job_once(const struct pp_dash_opts *o, int json, FILE *out, struct pp_err *err);
