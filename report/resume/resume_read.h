/* report/resume/resume_read.h: a recording of a PyTorch job as a run (sequence.h): which batches its process
 * took and trained on (batch_use), of which samples (sample_order, else batch_content), why in that order
 * (iteration_fact), and where it saved and restored (state_event).
 *
 * Of a recording of `pipeprobe run` the spans say it: batches that its trainer waited for, and their samples.
 *
 * Batches of all loaders that were trained on count, iteration by iteration: a job may make a loader for each
 * epoch. Where no backward was seen, those of the loader that gave most. */
#pragma once

#include "report/resume/sequence.h"
#include <pipeprobe/status.h>

/* Of *out, `hashing` is read. As taken: pp_resume_finish it with the lag of the uninterrupted run. path is
 * kept, not copied. What is not known of its samples is out->unknown, and PP_OK. Free with pp_resume_free,
 * also after a failure. */
pp_status pp_resume_read(const char *path, struct pp_resume_run *out, struct pp_err *err);
