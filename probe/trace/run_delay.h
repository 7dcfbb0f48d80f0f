/* trace/run_delay.h: how long a thread was runnable without running: the second field of its
 * /proc/thread-self/schedstat. */
#pragma once

#include "probe/base/std.h"

#include <unistd.h>

/* fd: the file opened by the thread, or -1. Nanoseconds since the thread began into *out; 0 when it cannot be
 * read. About 550 ns. */
static inline int pp_run_delay_read(int fd, uint64_t *out)
{
    char text[96];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
    ssize_t i = 0;
    while (i < n && text[i] != ' ')
        i++;
    if (i + 1 >= n)
        return 0;
    uint64_t v = 0;
    for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(text[i] - '0');
    *out = v;
    return 1;
}

/* Of what was waited since the last look, the part that can be of a span: it neither ran nor waited longer
 * than it lasted. The rest is of the time before it, or of the moment of the look. */
static inline uint64_t pp_run_delay_within(uint64_t waited_ns, uint64_t wall_ns, uint64_t cpu_ns)
{
    uint64_t most = wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
    return waited_ns < most ? waited_ns : most;
}
