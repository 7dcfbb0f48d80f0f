/* storage/model.h: a storage that wraps another one and lets as much time pass for each read as a request to
 * a storage of some kind would take: a first byte from a log-normal distribution, then the bytes at the rate
 * of one connection. For planning without a cloud (--like). The figures are assumptions, and no measurement:
 * they stand in the recording and in every report of it.
 *
 * Reads do not compete with each other: as with an object store, more at a time are answered as quickly. Only
 * reads take time; looking for names, opening and listing do not. */
#pragma once

#include "probe/storage/storage.h"

struct pp_storage_model {
    const char *name;                  /* "s3" */
    double first_p50_ms, first_p99_ms; /* to the first byte */
    double bytes_per_s;                /* of one connection */
    const char *text;                  /* the same in words, for help and reports */
};

extern const struct pp_storage_model pp_storage_models[]; /* behind the last one without a name */

/* ns to the first byte of the read numbered `draw`: the same for the same number. */
double pp_storage_model_first_ns(const struct pp_storage_model *m, uint64_t draw);

/* PP_E_USAGE: inner is made of requests itself. Takes inner over, as pp_storage_wrap_faults does. m NULL:
 * *out is inner. */
pp_status pp_storage_wrap_model(struct pp_storage *inner, const struct pp_storage_model *m,
                                struct pp_storage **out, struct pp_err *err);
