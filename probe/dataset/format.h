/* dataset/format.h: what a data set format is made of. A format is one file and one row in formats.c: it says
 * which places are its own, which options it has, and how samples are read. Included by the files of
 * probe/dataset and by code that registers a format or goes through the table.
 *
 * The opener (dataset.c) attaches the storage, looks at what lies at the place, asks each format's probe for
 * a score, and opens with the best. A format's data set embeds struct pp_dataset as its first member, is
 * allocated by open with calloc, and is released by pp_dataset_close, which calls ops->close (releases what
 * the format holds, copes with a half-built object), detaches the storage and frees it. See the skeleton at
 * the end. */
#pragma once

#include "probe/base/opts.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/options.h"
#include "probe/storage/storage.h"

/* Sentences about defects of the data that did not stop the open ("shard-000003.tar ends
 * in the middle"), kept with the data set until they are asked for. One thread at a time. */

struct pp_warnings {
    char **text;       /* owned; zero-initialise the struct */
    size_t n, dropped; /* dropped: beyond the limit of 255, or without memory */
};

/* Best effort: without memory the sentence is only counted. */
void pp_warn(struct pp_warnings *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends; from is empty afterwards. */
void pp_warnings_move(struct pp_warnings *to, struct pp_warnings *from);
void pp_warnings_free(struct pp_warnings *w);

/* What is to be opened. A format may take root and listing over (and leave them zeroed); the opener frees
 * what is left. */
struct pp_dataset_place {
    const struct pp_dataset_format *format; /* whose hook is called */
    const struct pp_dataset_opts *opts;
    const struct pp_dataset_options *options; /* opts->options, or the defaults */
    const char *spec;                         /* as the user wrote it: a path, a range of shards, ... */
    struct pp_storage *storage;               /* NULL for a format with no_place */
    struct pp_place_info info;  /* of spec taken literally; PP_PLACE_MISSING: nothing is called so */
    struct pp_object root;      /* of a directory: open, and what lies directly in it */
    struct pp_listing *listing; /* dataset_walk.h */
    const struct pp_foreign
        *foreign; /* what the first bytes of an object say that it is (foreign.h), else its
                   * name; NULL: nothing, or a name of images, tokens or tar files says enough */
};

struct pp_dataset_ops {
    /* index is below len; c is for the storage (NULL: read for no sample) */
    pp_status (*read)(const struct pp_dataset *d, uint64_t index, const struct pp_read_context *c,
                      struct pp_sample *s, struct pp_err *err);
    void (*path)(const struct pp_dataset *d, uint64_t index, char *buf, size_t size);
    /* The label that read would give, from memory; NULL: it is not known before a sample is read */
    int64_t (*label)(const struct pp_dataset *d, uint64_t index);
    void (*describe)(const struct pp_dataset *d, char *buf, size_t size);
    uint64_t (*footprint)(const struct pp_dataset *d);
    /* Opens a stream over d, which outlives it; opts have a world_size of at least 1 and a rank below it.
     * NULL: d is read by index alone. */
    pp_status (*stream)(const struct pp_dataset *d, const struct pp_stream_opts *opts, struct pp_stream **out,
                        struct pp_err *err);
    void (*close)(struct pp_dataset *d); /* NULL: there is nothing more to release */
};

/* A format's stream embeds struct pp_stream as its first member and is allocated by its opener, which sets
 * ops. The contracts are those of pp_stream_next, pp_stream_cursor and pp_stream_close (dataset.h); close
 * frees it. */
struct pp_stream_ops {
    pp_status (*next)(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size,
                      struct pp_err *err);
    void (*cursor)(const struct pp_stream *st, struct pp_stream_cursor *out);
    void (*close)(struct pp_stream *st);
    int (*begun)(struct pp_stream *st, uint64_t *shard, uint64_t *first); /* NULL: never any */
};

struct pp_stream {
    const struct pp_stream_ops *ops;
};

struct pp_dataset {
    const struct pp_dataset_ops *ops;
    const struct pp_dataset_format *format; /* the opener fills these two */
    struct pp_storage *storage;
    uint64_t len;
    enum pp_content content; /* images, unless its format says another */
    struct pp_warnings warnings;
};

struct pp_shard_files; /* shard_names.h */

struct pp_dataset_format {
    const char *name;   /* stored in recordings: "webdataset" */
    const char *help;   /* what a place of this format is: ".tar shards" */
    const char *noun;   /* what its options are for: "tar shards"; NULL: it has none */
    const char *shares; /* options of other formats that it takes too: "feature index-dir"; NULL: none */
    int no_place;       /* the spec names nothing in a storage: probe is not asked */
    const struct pp_shard_files *files; /* its places are such files; NULL: or others */
    const void *kind;                   /* the format's own, for hooks that several formats share */

    /* How sure the format is that place is its own: 0 no, 100 beyond doubt; a guess by suffix is 60 to 80.
     * With 0 it may say in why what is wrong with a place that is nearly its own. */
    int (*probe)(const struct pp_dataset_place *place, struct pp_err *why);
    /* *out is set as soon as the data set has its ops: on failure the opener closes what is there.
     * PP_E_EMPTY: nothing of this format is here, and the format with the next lower score is tried. */
    pp_status (*open)(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err);

    /* The rows of its options, with their offsets in struct pp_dataset_options (options.h). A format that is
     * registered has its own struct, of opts_size bytes (pp_dataset_options_of), and offsets within it. */
    size_t opts_size;
    const struct pp_opt *opts; /* which samples there are: for all commands; ends with name NULL */
    /* How they are streamed: for `run` alone; NULL: not at all. The first row is the flag that asks for it,
     * and the others mean nothing without it. */
    const struct pp_opt *stream_opts;
    /* what no single row can; may be NULL */
    pp_status (*check)(const struct pp_dataset_options *o, struct pp_err *err);
};

/* clang-format off */
/* A new format is one file and one row in formats.c:
 *
 *   static const struct pp_opt lmdb_rows[] = {{.name = "key", .offset = offsetof(struct pp_dataset_options, key), ...}, {.name = NULL}};
 *   static int lmdb_probe(...)        80 for *.mdb, and for a directory whose listing holds some
 *   static pp_status lmdb_open(...)   reads the tree through place->storage, fills ops and len
 *   static pp_status lmdb_read(...)   pp_sample_reserve, then pp_object_read_at with the context that was handed in
 *   const struct pp_dataset_format pp_format_lmdb = {.name = "lmdb", .help = ".mdb files", .opts = lmdb_rows, ...};
 *
 * Files of columns (Parquet) are a row at the end of dataset_columns.c and a reader in probe/columns (columns/table.h).
 */
/* clang-format on */

/* The i-th format, in the order of options; NULL behind the last. */
const struct pp_dataset_format *pp_dataset_format_at(size_t i);

/* A .probe of formats whose files are known by their names and by what they begin with, which foreign.c says:
 * such a file, a directory, a pattern or a list of them. */
int pp_files_probe(const struct pp_dataset_place *place, struct pp_err *why);

/* Names under which a column of whole numbers is the label, in the order in which they are asked; ends with
 * NULL. */
extern const char *const pp_label_names[];

/* Adds a format that is not in the table of formats.c (a plug-in, a test); f lives as long as the process.
 * Before any thread opens a data set, and before option tables are made of its rows. -1: more than 8. */
int pp_dataset_format_register(const struct pp_dataset_format *f);
