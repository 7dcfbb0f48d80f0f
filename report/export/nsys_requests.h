/* export/nsys_requests.h: requests to remote storages as NVTX ranges, on threads that stand for the
 * connections: a range per request, and inside it one per part of its time. */
#ifndef PP_EXPORT_NSYS_REQUESTS_H
#define PP_EXPORT_NSYS_REQUESTS_H

#include "report/export/nsys.h"

struct nsys_requests;

/* ranges: of NVTX_EVENTS, borrowed, as nsys.c lays them out. *out is to be freed also after a failure. */
pp_status nsys_requests_open(struct nsys_db *d, const struct pp_export_run *run, struct nsys_rows *ranges,
                             struct nsys_requests **out, struct pp_err *err);
pp_status nsys_requests_put(struct nsys_requests *n, const struct pp_request_row *row, struct pp_err *err);
void nsys_requests_free(struct nsys_requests *n); /* NULL is fine */

#endif
