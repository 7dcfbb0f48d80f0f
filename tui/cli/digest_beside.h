/* cli/digest_beside.h: `pipeprobe merge --beside` beside run or exec of a rank, or of a launcher: the digest
 * of what is recorded here, written anew each minute into a directory that outlives the machine. A process of
 * its own, as the metrics are (metrics/beside.h): it shares no lock, no thread and no CPU account with what
 * is measured. Its standard input is a socket with the names of the recordings, one a line, whose end is the
 * end of all: also when we are killed.
 *
 * A failure of it is a sentence and nothing else. */
#pragma once

#include "probe/base/opts.h"
#include <pipeprobe/status.h>
#include <sys/types.h>

struct digest_opts {
    const char *directory; /* NULL: not asked for */
    uint64_t every_ns;
};

/* at: offset of a struct digest_opts in the command's. */
/* clang-format off */
#define DIGEST_OPT_ROWS(at, also_advanced) \
    {.name = "digest-to", .advanced = also_advanced, .type = PP_OPT_STRING, \
     .offset = (at) + offsetof(struct digest_opts, directory), .arg = "DIR", .group = "Ranks", \
     .help = "write a digest of the ranks there, every minute and at the end"}, \
    {.name = "digest-every", .advanced = 1, .type = PP_OPT_DURATION, \
     .offset = (at) + offsetof(struct digest_opts, every_ns), .arg = "TIME", .dflt = "1m", .min = 1e8, \
     .max = 86400e9, .help = "instead of every minute"}
/* clang-format on */

struct digest_beside {
    pid_t pid; /* 0: none */
    int names; /* socket */
    const char *label;
    char path[4096];
};

/* recording: of one rank, after which the digest is called; or, with of_host, of a launcher: then the
 * machine's name stands before it. Makes the directory if its parent is there. Nothing where nothing is asked
 * for; label is kept. */
void digest_beside_start(struct digest_beside *b, const struct digest_opts *o, const char *recording,
                         int of_host, const char *label);
/* Another recording; from any thread. */
void digest_beside_add(const struct digest_beside *b, const char *recording);
/* The recordings are complete: the last digest is made while we go on. */
void digest_beside_finish(struct digest_beside *b);
/* Waits for that, a minute at most, and says where it is. */
void digest_beside_end(struct digest_beside *b, int quiet);
