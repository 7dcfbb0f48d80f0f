/* device/cuda_bandwidth.h: how fast this machine copies to its GPU, by kind of memory and size: what
 * `pipeprobe doctor` shows. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#define PP_BANDWIDTH_MEMORIES 3
#define PP_BANDWIDTH_SIZES 4

struct pp_bandwidth {
    size_t size[PP_BANDWIDTH_SIZES];
    const char *memory[PP_BANDWIDTH_MEMORIES]; /* "pageable", "pinned", "write-combined" */
    double bytes_per_s[PP_BANDWIDTH_MEMORIES]
                      [PP_BANDWIDTH_SIZES]; /* of the fastest of several copies; 0: could not be measured */
};

/* Takes under a second, 64 MiB on the device and 64 MiB of each kind of memory in turn. Uses the first
 * device, as runs do. */
pp_status pp_cuda_bandwidth(struct pp_bandwidth *out, struct pp_err *err);
