/* cli/import_files.h: the traces that operands of `import` name: files, and the traces in directories, one
 * per rank. */
#ifndef PP_CLI_IMPORT_FILES_H
#define PP_CLI_IMPORT_FILES_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

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

#endif
