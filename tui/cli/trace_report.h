/* cli/trace_report.h: the report of another profiler's trace: imported into a temporary recording, which is
 * removed. */
#ifndef PP_CLI_TRACE_REPORT_H
#define PP_CLI_TRACE_REPORT_H

#include "report/model/model.h"

/* As pp_report_build, of a trace that has a pp_import_trace_format. The temporary file is in $TMPDIR, else
 * /tmp, and goes when a signal ends the process, too. */
pp_status pp_trace_report(const char *path, struct pp_report **out, struct pp_err *err);

#endif
