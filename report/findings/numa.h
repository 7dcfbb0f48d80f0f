/* report/findings/numa.h: whether the workers may run on the NUMA node of the GPU that the job copies to,
 * from what the recording says of both (collectors/system/topology.h).
 *
 * For pipeprobe's own loader it is the device that it used. Of another job it is only known where all GPUs of
 * the machine are on one node. */
#ifndef PP_REPORT_FINDINGS_NUMA_H
#define PP_REPORT_FINDINGS_NUMA_H

#include "report/findings/checks.h"

/* gpu-node: of a recording from a machine of several nodes, on which the GPU's is known; of no other. */
void pp_findings_of_numa(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r);

#endif
