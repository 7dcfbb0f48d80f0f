/* cli/rank_files.h: the operands of `ranks` and `merge`: directories, recordings of ranks, and digests. */
#pragma once

#include "report/ranks/digest.h"
#include <pipeprobe/status.h>

/* Reads all of them into one digest, in a tree of merges; one recording at a time is open. Of a directory
 * what is of no rank is left out and named on stderr; elsewhere it is an error. output: in a directory it is
 * no operand, the digest that an earlier merge wrote there; NULL: there is none, and no hashes of batches are
 * read. Traces of another profiler, one of each rank, may stand in place of recordings, but not beside them.
 * Free *out with pp_digest_free. */
pp_status pp_rank_files_read(const char *const *operands, int n, const char *output, struct pp_digest *out,
                             struct pp_err *err);

/* The same operands one by one. named: as a file, not as what lies in a directory. */
typedef pp_status pp_rank_file_fn(void *ctx, const char *path, int named, struct pp_err *err);
pp_status pp_rank_files_each(const char *const *operands, int n, pp_rank_file_fn *fn, void *ctx,
                             struct pp_err *err);
/* What fn makes of a file that it cannot use: PP_OK, left out and said, where that was not named. */
pp_status pp_rank_file_leave_out(pp_status st, int named, const struct pp_err *err);

/* The traces that operands of `import` name: files, and the traces in directories, one per rank. */

struct import_trace {
    char *path;
    int64_t rank, world_size; /* world_size: of the job, or how many traces there are; both -1: of no rank */
    char **more; /* further files of the same trace: of a format of which each process writes one */
    size_t n_more;
};

/* In the order of their ranks. Several traces are of a rank each, by what they say, else by "rank3" in their
 * names, else in the order of their names. Free with import_files_free, also after a failure. */
pp_status import_files_find(const char *const *operands, int n, struct import_trace **out, size_t *n_out,
                            struct pp_err *err);
void import_files_free(struct import_trace *traces, size_t n);
