/* export/nsys_gpu.h: what CUPTI recorded of a run, in the tables nsys writes it to: copies, memsets, kernels,
 * synchronisations and the driver's calls, joined by correlation ids as they were. Without such records the
 * exporter makes copies of h2d spans instead (nsys.c). */
#ifndef PP_EXPORT_NSYS_GPU_H
#define PP_EXPORT_NSYS_GPU_H

#include "report/export/export.h"
#include "report/export/nsys.h"

struct nsys_gpu;

/* Borrows d and run until the free. */
pp_status nsys_gpu_open(struct nsys_db *d, const struct pp_export_run *run, struct nsys_gpu **out,
                        struct pp_err *err);
/* A row of a kind that nsys has no table for (overhead has no thread) is passed over. */
pp_status nsys_gpu_put(struct nsys_gpu *g, const struct pp_gpu_row *row, struct pp_err *err);
pp_status nsys_gpu_flush(struct nsys_gpu *g, struct pp_err *err); /* the last rows, before the commit */
void nsys_gpu_free(struct nsys_gpu *g);                           /* NULL is fine */

#endif
