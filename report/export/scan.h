/* export/scan.h: the walker's first pass: everything of struct pp_export_run. */
#ifndef PP_EXPORT_SCAN_H
#define PP_EXPORT_SCAN_H

#include "report/export/export.h"

pp_status pp_scan(const struct pp_source *source, struct pp_export_run *run, struct pp_err *err);
/* Index into run->threads; every thread that spans name is there after the scan. */
size_t pp_scan_thread(const struct pp_export_run *run, uint32_t id);
void pp_scan_free(struct pp_export_run *run);

/* start + duration, without running over. */
static inline uint64_t pp_span_end(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns < s->start_ns ? UINT64_MAX : s->start_ns + s->dur_ns;
}

#endif
