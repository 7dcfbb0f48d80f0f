/* import/import.h: traces that other profilers wrote, as ordinary recordings. A format is one file with a
 * struct pp_importer, and one line of PP_IMPORT_FORMATS; which one a trace has is told by its content.
 *
 * A trace is a stranger's file: time is bounded by its size, memory by imported.h, nothing is written before
 * it has been read, and nothing is run or opened because it says so. What a trace does not record is said in
 * the recording: its section "import", its losses, and run.source, by which the report knows what may be
 * concluded from it. */
#pragma once

#include "collectors/attach/namemap.h"
#include "collectors/import/imported.h"

/* The beginning of a trace, unpacked. */
struct pp_import_head {
    const char *path;
    const uint8_t *data; /* with a zero behind the last byte */
    size_t size;
};

enum { PP_IMPORT_HEAD = 64 << 10 };

struct pp_importer {
    const char *name; /* run.source */
    const char *what; /* for people: "torch.profiler (Kineto), Chrome JSON" */
    int joins;        /* the processes of a job write a file each, which become one recording */
    int (*probe)(const struct pp_import_head *head);
    /* Adds to im; map (may be NULL) names phases of the program's ranges, before the format's own rules. */
    pp_status (*read)(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                      struct pp_err *err);
};

/* In the order in which they are asked. */
/* clang-format off */
#define PP_IMPORT_FORMATS(X) \
    X(nsys)                  \
    X(dftracer)              \
    X(xplane)                \
    X(kineto)
/* clang-format on */

#define PP_IMPORT_DECLARE(name) extern const struct pp_importer pp_importer_##name;
PP_IMPORT_FORMATS(PP_IMPORT_DECLARE)
#undef PP_IMPORT_DECLARE

/* By content; PP_E_UNSUPPORTED names the formats that are known, PP_E_CORRUPT: of a trace of events nothing
 * is there. A recording of pipeprobe is none of them, and the sentence says what to do with it. */
pp_status pp_import_format(const char *path, const struct pp_importer **out, struct pp_err *err);
/* The format of path, NULL: none that is known; quiet. */
const struct pp_importer *pp_import_trace_format(const char *path);

/* Which rank of how many wrote it, by its beginning, else by its name ("rank3"); 0: it does not say. */
int pp_import_rank_of(const char *path, int64_t *rank, int64_t *world_size);

struct pp_import_opts {
    const char *output; /* the file to be written */
    int force;
    const struct pp_namemap *map; /* may be NULL */
    const char *command_line;
    int64_t rank, world_size;                 /* where the trace does not say; -1: not known */
    pp_status (*stopped)(struct pp_err *err); /* asked when all is read, while it is written and after: not
                                                 PP_OK ends the import; may be NULL */
    const char *const *more;                  /* further files of the same job, of a format that joins them */
    size_t n_more;
};
struct pp_import_result {
    const char *source, *what; /* of the format */
    uint64_t events, fetches, steps;
    enum pp_import_waits waits;
    int workers; /* threads of workers were recorded */
    uint64_t other_trainers;
    const char *ended; /* how the trace ended early; NULL: it is whole */
    uint64_t ended_at;
};
/* Reads path and writes output. On failure there is no output. */
pp_status pp_import_file(const char *path, const struct pp_import_opts *opts, struct pp_import_result *out,
                         struct pp_err *err);
