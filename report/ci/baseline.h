/* ci/baseline.h: repeated runs kept in a file, as what later runs are compared with: raw values of every run,
 * where their time went, their verdicts, and the fingerprint of the machine and the work. JSON, schema
 * pipeprobe.baseline/1 (docs/baseline.schema.json), small enough to live in a repository. */
#pragma once

#include "report/compare/run.h"

struct pp_baseline_about {
    char label[128];      /* a commit or a date, as given to --label; may be empty */
    char created_utc[32]; /* "2026-11-20T12:00:00Z" */
    char version[32];     /* of pipeprobe */
};

/* Whether a file looks like one: its first character that is no white space is '{'; 0 if it is unreadable. */
int pp_baseline_is(const char *path);

/* Replaces path atomically. The runs are the caller's and must have passed pp_compare_check_side: a baseline
 * never holds an unfinished run. */
pp_status pp_baseline_write(const char *path, const struct pp_runs *runs,
                            const struct pp_baseline_about *about, struct pp_err *err);

/* PP_E_NOT_FOUND, PP_E_CORRUPT (no JSON, or not as the schema says), PP_E_UNSUPPORTED (another document),
 * PP_E_VERSION (another version of the schema), PP_E_EMPTY (no runs). Metrics that this version does not know
 * are skipped. *out is to be freed with pp_runs_free, also after a failure. about may be NULL. */
pp_status pp_baseline_read(const char *path, struct pp_runs *out, struct pp_baseline_about *about,
                           struct pp_err *err);
