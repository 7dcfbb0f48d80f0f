/* report/resume/used.h: which samples a recording of `pipeprobe run` has in which batch, by its spans. */
#pragma once

#include "report/source/source.h"

/* A sample in a batch; the last row of a batch that the trainer took is PP_NO_SAMPLE. */
struct resume_used {
    uint32_t batch, epoch;
    uint64_t sample;
};

/* By batch, then by sample; a sample that two spans have is there twice. *lost is set where spans are missing
 * or damaged. Free *rows, also after a failure. */
pp_status resume_used_read(const struct pp_source *source, struct resume_used **rows, size_t *n, int *lost,
                           struct pp_err *err);
