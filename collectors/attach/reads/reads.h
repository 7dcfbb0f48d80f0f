/* collectors/attach/reads/reads.h: what a thread waited for from outside its process while it was asked to
 * count: files, sockets, pipes, children, and helper threads that fetch for it.
 * libpipeprobe_reads.so is preloaded into a recorded job and all its children: it forwards libc's reads,
 * opens and waits, and times them in a thread that counts. It knows nothing of Python and nothing of a
 * session; in other programs it costs one test a call.
 *
 * What counts (fds.h says how descriptors are told apart):
 *   the thread that counts   every call on a file, on a socket of the internet or on a pipe, looking host
 *                            names up, connecting, and waiting for a child, less the CPU time of that child.
 *                            Sockets by path lead to other processes of the machine, and count as nothing
 *   other threads            nothing by themselves; while the thread that counts waits for a lock, the part
 *                            of that wait in which answers to their requests came in, and the bytes of these
 *
 * The extension looks both functions up by their names (dlsym); without them reads are not told apart from
 * the phase they are in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_read_class {
    PP_READ_FILE,
    PP_READ_SOCKET,
    PP_READ_PIPE,
    PP_READ_CHILD,  /* a child process is waited for */
    PP_READ_HELPER, /* a lock, until another thread's request was answered */
    PP_READ_CLASSES
};

struct pp_reads {
    /* set by the thread itself; 0: calls are forwarded and nothing else; 1: they are timed; 2: with the CPU
     * clock too; 3: and when the first and the last of them were */
    int counting;
    uint64_t ns;     /* of all classes; monotonic clock */
    uint64_t cpu_ns; /* of it */
    uint64_t bytes;  /* that they returned */
    uint64_t calls;
    uint64_t at_ns,
        at_cpu_ns; /* of counting 2: when the thread's CPU clock was read last, and what it said */
    uint64_t class_ns[PP_READ_CLASSES];
    uint64_t child_cpu_ns; /* of children that were waited for; no part of ns */
    int identifying;       /* set by the thread itself: what is read is told apart */
    uint64_t identity;     /* then: a hash of path (its last three names), offset and length of each read of a
                            * file, in their order, without programs' own files; 0: there was none */
    uint64_t backoff_ns;   /* slept after an answer that refused the request; no part of ns */
    /* of counting 3: begin of the first call, of the last that opened a file, end of the last one */
    uint64_t first_ns, opened_ns, last_ns;
    uint64_t first_cpu_ns, last_cpu_ns; /* of the thread, at the first and the last of these */
    uint64_t opens;
};

#define PP_READS_OF_THREAD "pipeprobe_reads_of_thread"

/* The calling thread's; never NULL. */
typedef struct pp_reads *pp_reads_of_thread(void);

/* Of HTTP: come back later, or an error of the server's. */
static inline int pp_reads_is_refusal(unsigned status)
{
    return status == 408 || status == 429 || status / 100 == 5;
}

/* A request that a socket was used for: what was sent at once, and what came back until something was sent
 * again. Seen from the times of calls, from the type of a TLS record, and from the status in the first line
 * of an answer of plain HTTP/1, and from no other byte: several requests on one connection at a time (HTTP/2,
 * pipelines) are one. The parts of its time follow each other. */
struct pp_read_request {
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns;
    uint64_t bytes;
    uint16_t status;   /* 0: not known, as behind TLS */
    uint8_t attempt;   /* so many before it were refused, one after the other */
    uint8_t connected; /* it opened the connection */
    char host[60];     /* "name:port", the name as it was looked up; else the address */
};

#define PP_READS_REQUESTS "pipeprobe_reads_requests"

/* At the end of a sample: what was asked for the thread that counts, and answered since; up to max. lost:
 * those for which there was no room since. */
typedef size_t pp_reads_requests(struct pp_read_request *out, size_t max, uint64_t *lost);
