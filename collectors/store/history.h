/* store/history.h: values over time, in a small SQLite file of its own: one point per measured version, one
 * value per metric. It is apart from the runs, which come and go; it is not the runs' door, but SQL stays in
 * this room. A history belongs to one thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_history;

/* create: make the file when it is not there; without it PP_E_NOT_FOUND. PP_E_CORRUPT, PP_E_UNSUPPORTED
 * (another SQLite file), PP_E_VERSION. */
pp_status pp_history_open(const char *path, int create, struct pp_history **out, struct pp_err *err);
void pp_history_close(struct pp_history *h); /* NULL is fine */

struct pp_history_value {
    const char *metric; /* key of the metric, with its unit */
    double median;
    size_t runs;
};
struct pp_history_point {
    int64_t utc_s;      /* when it was measured */
    const char *label;  /* a commit, a version */
    const char *series; /* points with the same text are of one machine and work, and may stand in one line */
    const struct pp_history_value *value;
    size_t n_values;
};
/* All or nothing; a label that this series has already is PP_E_EXISTS. */
pp_status pp_history_add(struct pp_history *h, const struct pp_history_point *p, struct pp_err *err);

/* One value of one series after the other, oldest first; series in order of their first point. */
struct pp_history_row {
    const char *series, *label, *metric;
    int64_t utc_s;
    double median;
    size_t runs;
};
typedef void pp_history_fn(void *ctx, const struct pp_history_row *row);
pp_status pp_history_each(struct pp_history *h, const char *metric, pp_history_fn *fn, void *ctx,
                          struct pp_err *err);
