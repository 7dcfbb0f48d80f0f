/* dataset/dataset_columns.h: data sets of files whose rows are samples and whose bytes lie by column. What
 * differs is a kind: Parquet, Arrow, HDF5 (dataset_parquet.c, ...), each with a reader of probe/columns. */
#ifndef PP_DATASET_DATASET_COLUMNS_H
#define PP_DATASET_DATASET_COLUMNS_H

#include "probe/columns/table.h"
#include "probe/dataset/dataset.h"
#include "probe/dataset/shard_names.h"

struct pp_dataset_place;

struct pp_columns_kind {
    const char *what;  /* "Parquet", for sentences and descriptions */
    const char *nouns; /* of the table of foreign files, with commas: what its files are told by */
    const struct pp_shard_files *files;
    pp_table_opener *open;
};

/* The .open of such a format, and its .probe: files of the kind, a directory of them, a range of them. */
pp_status pp_columns_open(const struct pp_dataset_place *place, const struct pp_columns_kind *kind,
                          struct pp_dataset **out, struct pp_err *err);
int pp_columns_probe(const struct pp_dataset_place *place, const struct pp_columns_kind *kind);

/* Names under which a column of whole numbers is the label, in the order in which they are asked; ends with
 * NULL. */
extern const char *const pp_label_names[];

#endif
