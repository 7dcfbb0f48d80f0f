/* cli/trace_report.h: another profiler's trace where a recording is expected: imported into a temporary
 * recording, which is removed, or named as what it is. The temporary file is in $TMPDIR, else /tmp, and goes
 * when a signal ends the process, too. */
#pragma once

#include "collectors/store/reader.h"
#include "report/model/model.h"
#include "report/ranks/digest.h"
#include "tui/cli/rank_files.h"

/* As pp_report_build_of, also of a trace that has a pp_import_trace_format. */
pp_status pp_report_of_file(const char *path, const char *loader, struct pp_report **out, struct pp_err *err);
/* The change of a report that has this number ("c2"), as `pipeprobe answer` gives them; NULL: there is none,
 * and err says which there are. */
const struct pp_report_fix *pp_report_change(const struct pp_report *r, const char *id, struct pp_err *err);
/* As pp_digest_read, of the trace of a rank. */
pp_status pp_trace_digest(const struct import_trace *trace, struct pp_digest *out, struct pp_err *err);

/* 1: what is there are traces, and directories of traces without a recording. */
int pp_traces_only(const char *const *operands, int n);

/* pp_recording_recover for the files of a command line (pp_reader_set_before): a trace is no recording, and
 * the sentence says what to do with it. */
pp_status pp_trace_before_reading(const char *path, struct pp_missing *missing, struct pp_err *err);
