/* report/findings/memory.h: processes whose private memory (else, their anonymous memory) grows and goes on
 * growing, from the counters of collectors/system/memory.c.
 *
 * The first third of a process' readings is left out: buffers fill, caches warm. The rest is divided into 8
 * blocks of equal time; the growth from block to block has a mean and a spread, and its 95 % interval is
 * Student's for 7 differences. A steady slope has a narrow one; a single step, a sawtooth or noise has one
 * that reaches zero. A process grows when the lower end is above zero and the slope times the time watched is
 * 16 MiB or more.
 * Private memory grows too where each block has more of it than the one before, by a quarter of the mean or
 * more.
 *
 * Memory: some 200 bytes for each of up to PP_MEMORY_SERIES processes; those beyond are not looked at. */
#ifndef PP_REPORT_FINDINGS_MEMORY_H
#define PP_REPORT_FINDINGS_MEMORY_H

#include "report/source/source.h"

enum { PP_MEMORY_SERIES = 2048 };

struct pp_memory_growth {
    const char *unknown; /* why nothing is known; NULL: it is */
    size_t processes;    /* that were watched for long enough */
    size_t growing;
    int64_t pid;                         /* the fastest */
    double per_s, low_per_s, high_per_s; /* of that one, bytes */
    double copied; /* of that growth, the share that is copies of pages shared before; NAN: not recorded */
    double private_bytes, anon_bytes; /* of that one at the end, where its private memory is known; NAN */
    double all_per_s;                 /* of all that grow */
    double free_bytes;                /* available when the run began, less what all grew; NAN: not known */
    double full_s;                    /* at this rate; NAN */
};

/* Two walks over the counters. */
pp_status pp_memory_check(const struct pp_source *source, struct pp_memory_growth *out, struct pp_err *err);

#endif
