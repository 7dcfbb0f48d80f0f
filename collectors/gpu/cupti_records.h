/* collectors/gpu/cupti_records.h: a CUPTI record as a row of the store. No state but what is passed; the
 * pump's thread calls. */
#pragma once

#include "collectors/gpu/cupti_abi.h"
#include "collectors/store/writer.h"

/* CUPTI's clock against CLOCK_MONOTONIC at two moments; between them the offset moves in a line, outside it
 * stays. */
struct pp_cupti_anchor {
    uint64_t t_ns;     /* CLOCK_MONOTONIC */
    int64_t offset_ns; /* to be added to CUPTI's time */
    uint64_t error_ns;
};
uint64_t pp_cupti_to_monotonic(const struct pp_cupti_anchor *before, const struct pp_cupti_anchor *after,
                               uint64_t cupti_ns);

/* What a record became. */
enum pp_cupti_outcome { PP_CUPTI_ROW, PP_CUPTI_BATCH, PP_CUPTI_IGNORED };

/* Fills *row (times still CUPTI's), or *correlation and *batch. A record whose times are unknown (0) is
 * ignored: it was not measured. */
enum pp_cupti_outcome pp_cupti_read(const struct pp_cupti_api_table *t, const struct pp_cupti_record *r,
                                    struct pp_store_gpu *row, uint32_t *correlation, uint64_t *batch);
