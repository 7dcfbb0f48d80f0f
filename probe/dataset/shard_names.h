/* dataset/shard_names.h: from what a user writes to the list of shards: brace ranges as WebDataset's
 * braceexpand and the shell have them (shard-{000000..000009}.tar, {train,val}-{0..3}.tar), globs,
 * comma-separated lists of these, and directories that hold shards. */
#pragma once

#include "probe/storage/storage.h"

/* What is a shard in a directory. */
struct pp_shard_files {
    const char *what;            /* "TFRecord": how its row of foreign.c begins; NULL: the names say enough */
    const char *noun;            /* ".tar" */
    const char *suffixes;        /* of their names, as pp_has_suffix takes them; NULL: `is` says */
    int (*is)(const char *name); /* where suffixes do not tell; NULL: they do */
    const char *in_pattern;      /* what a pattern or a list of them contains; NULL: it ends as they do */
};
extern const struct pp_shard_files pp_tar_files, pp_tfrecord_files;

struct pp_shard_names {
    const struct pp_storage *storage; /* borrowed: what is asked for directories and patterns */
    const struct pp_shard_files *files;
    char **path;
    size_t n, cap;
};

/* Whether a name is one of them. */
int pp_shard_files_has(const struct pp_shard_files *files, const char *name);
/* .tfrecord, .tfrecords, .tfrec, also with their number behind: train.tfrecord-00001-of-00128 */
int pp_is_tfrecord(const char *name);
/* 1 when spec can only mean tar shards: braces, a list, a glob, or the ending of a tar file, also packed. */
int pp_is_shard_spec(const char *spec);

/* Order: as written; within a glob or a directory by bytes. A spec that names an existing file is taken
 * literally. Does not look whether the files exist, except through globs and directories. PP_E_USAGE for
 * broken braces or more than 2^20 shards, PP_E_NOT_FOUND for a glob or directory without such files. Free
 * with pp_shard_names_free, also after a failure. */
pp_status pp_shard_names(const struct pp_storage *storage, const char *spec,
                         const struct pp_shard_files *files, struct pp_shard_names *out, struct pp_err *err);
void pp_shard_names_free(struct pp_shard_names *names);
