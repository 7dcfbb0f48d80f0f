/* tests/lab/neighbours.h: other load of known size beside the lab's runs: processes that want a CPU all the
 * time. A machine that is idle gives each run the load that was asked for, and none by accident. */
#pragma once

#include <pipeprobe/status.h>

#include <stddef.h>

enum { LAB_NEIGHBOURS_MOST = 64, LAB_LOADS_MOST = 16 };

/* "0,1,2" into counts, of which round k of the lab has the one at k modulo how many there are. PP_E_USAGE. */
pp_status lab_loads_parse(const char *text, int loads[LAB_LOADS_MOST], int *n, struct pp_err *err);

struct lab_neighbours {
    int pid[LAB_NEIGHBOURS_MOST];
    int n;
};
/* Starts so many, and ends those that there are; they end with the lab in any case. PP_E_SYSTEM. */
pp_status lab_neighbours_start(struct lab_neighbours *a, int n, struct pp_err *err);
void lab_neighbours_end(struct lab_neighbours *a);
