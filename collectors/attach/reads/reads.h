/* collectors/attach/reads/reads.h: what a thread read from files while it was asked to count.
 * libpipeprobe_reads.so is preloaded into a recorded job and all its children: it forwards libc's reads and
 * opens, and times them in a thread that counts. It knows nothing of Python and nothing of a session; in
 * other programs it costs one test a call.
 *
 * The extension looks the function up by its name (dlsym); without it reads are not told apart from the phase
 * they are in. */
#ifndef PP_COLLECTORS_ATTACH_READS_READS_H
#define PP_COLLECTORS_ATTACH_READS_READS_H

#include <stdint.h>

struct pp_reads {
    /* set by the thread itself; 0: calls are forwarded and nothing else; 1: they are timed; 2: with the CPU
     * clock too */
    int counting;
    uint64_t ns;     /* in open, read and their like; monotonic clock */
    uint64_t cpu_ns; /* of it */
    uint64_t bytes;  /* that they returned */
    uint64_t calls;
    uint64_t at_ns,
        at_cpu_ns; /* of counting 2: when the thread's CPU clock was read last, and what it said */
};

#define PP_READS_OF_THREAD "pipeprobe_reads_of_thread"

/* The calling thread's; never NULL. */
typedef struct pp_reads *pp_reads_of_thread(void);

#endif
