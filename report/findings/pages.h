/* report/findings/pages.h: what files of columns (Parquet) had to decode for the samples of the steady state,
 * from the counters of collectors/record/counters.c.
 *
 * A page is decoded whole. An epoch in order uses all of it; a random one uses one row of it, and decodes it
 * again for the next. The amplification is the bytes decoded over the bytes of the samples. HDF5 is read
 * by a library with one lock: its utilisation, and the threads that wait for it. */
#ifndef PP_REPORT_FINDINGS_PAGES_H
#define PP_REPORT_FINDINGS_PAGES_H

#include "report/findings/checks.h"

pp_status pp_pages_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                         struct pp_pages_use *out, struct pp_err *err);

#endif
