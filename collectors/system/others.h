/* system/others.h: the CPU time and the page faults of a recorded program's processes while they come and go:
 * a job may start new workers for every epoch. Apart: those that record (a trainer, its workers), and
 * subprocesses, which those have started and which do not. One that has ended is in the time that its parent
 * waited for (cutime and cstime of /proc/PID/stat), or counts with what was last read of it. */
#pragma once

#include "probe/base/std.h"

enum { PP_OTHERS_MAX = 256 }; /* at one time; beyond that, their CPU time is that of strangers */

struct pp_others {
    uint64_t since_ns;                 /* CLOCK_BOOTTIME: what a process used before is not counted */
    uint64_t ended_ns[2], total_ns[2]; /* of those that record, of subprocesses */
    uint64_t faults;                   /* of all, as of the last look at each */
    struct pp_other {
        int64_t pid, parent;
        int subprocess;
        uint64_t cpu_ns, children_ns; /* of those that it waited for */
        uint64_t before_ns;           /* of both, what was used before since_ns */
        uint64_t faults;              /* of its own */
    } process[PP_OTHERS_MAX];
    size_t n;
};

void pp_others_begin(struct pp_others *o);
struct pp_others_cpu {
    uint64_t recording_ns, subprocesses_ns;
    uint64_t major_faults; /* of both, that waited for storage */
    int ended;             /* none is left that records: what they used after the last look is in neither */
};
/* What they have used so far; neither less than the call before. pid: those that record now, without this
 * one. The subprocesses are found below them (/proc/PID/task/TID/children; none where the kernel has no such
 * file). */
struct pp_others_cpu pp_others_cpu(struct pp_others *o, const int64_t *pid, size_t n);
