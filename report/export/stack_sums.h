/* report/export/stack_sums.h: what the profile formats (folded, speedscope, pprof) are made of: each stack of
 * each thread with how often it was seen. Of a recording without Python stacks, phases stand for them, with
 * the time that the thread spent in each. */
#pragma once

#include "report/export/export.h"
#include "report/source/stacks.h"

struct pp_stack_location {
    const char *name, *file; /* file: "" where there is none */
    uint32_t line;           /* 0: not known */
};

struct pp_stack_sum {
    const struct pp_thread_row *thread; /* of the run */
    uint32_t leaf;                      /* a frame's place, or a phase */
    uint64_t n, ns;                     /* times seen, or spans; and how long */
};

enum { PP_STACK_LONGEST = PP_STACK_DEEPEST + 1 };

struct pp_stack_sums {
    const struct pp_export_run *run;
    int fd; /* written to, by this name; borrowed */
    const char *label;
    struct pp_stacks stacks;
    int of_phases;
    struct pp_stack_location *locations;
    size_t n_locations;
    uint32_t *location;        /* of each frame; of phases, of each phase */
    struct pp_stack_sum *rows; /* by thread */
    size_t n_rows, room;
    uint64_t *phase_ns, *phase_n; /* by thread and phase, while spans come */
};

/* What these exporters have in common. All rows are there when close calls the exporter's `stacks`. */
pp_status pp_stack_sums_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                             struct pp_err *err);
pp_status pp_stack_sums_span(void *self, const struct pp_export_span *e, struct pp_err *err);
pp_status pp_stack_sums_close(void *self, int complete, struct pp_err *err);
/* The locations of a row, the outermost first; returns how many. */
size_t pp_stack_sums_path(const struct pp_stack_sums *s, const struct pp_stack_sum *row,
                          uint32_t path[PP_STACK_LONGEST]);
