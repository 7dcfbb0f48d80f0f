/* report/build/build.h: makes the report model of a recording: source -> measure -> replay -> verdict ->
 * findings -> one pp_report (report/model/model.h), which every renderer shows and none computes. */
#pragma once

#include "report/model/model.h"

struct pp_source;

/* Everything in the report lives until pp_report_free. Two passes over the spans, and what two batches need;
 * memory grows with threads and batches, not with spans.
 *
 * What it looks for in the meta sections ("-" and "_" in keys are the same):
 *   run          session_id, outcome (absent: the run was killed), recovery (what was put back then),
 *                started_mono_ns, ended_mono_ns
 *   config       all of it is shown; step ("none": a ceiling run), batch_size, pageable
 *   chosen       notes on config keys of the same name
 *   environment  all of it is shown; usable_cpus
 *   result       samples, batches, errors, retries, recorder_cpu_ns, span_cost_ns (measured cost of one
 *                span on the hot path) */
pp_status pp_report_build(const char *path, struct pp_report **out, struct pp_err *err);
/* The same about the DataLoader of that name (pp_source_judge); NULL: the one that the recording chose. */
pp_status pp_report_build_of(const char *path, const char *loader, struct pp_report **out,
                             struct pp_err *err);
/* The same without the opening. The source is not needed afterwards. */
pp_status pp_report_from(const struct pp_source *source, struct pp_report **out, struct pp_err *err);
/* States what an hour of a GPU costs: the report says then what the wait costs in a day. 0: not stated. */
void pp_report_price(struct pp_report *r, double gpu_hour);
void pp_report_free(struct pp_report *r);

/* What `report` and `run` exit with: 3 when there was too little to judge; 0 for a verdict or a ceiling. */
int pp_report_exit_code(const struct pp_report *r);
