/* Parquet files: a row is a sample. Hugging Face's image columns ({bytes, path}) are the bytes within. */
#include "probe/dataset/dataset_columns.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"

static int is_parquet(const char *name)
{
    return pp_has_suffix(name, ".parquet") || pp_has_suffix(name, ".pq");
}

static const struct pp_shard_files parquet_files = {".parquet", is_parquet};

static const struct pp_columns_kind parquet_kind = {
    .what = "Parquet",
    .nouns = "Parquet",
    .files = &parquet_files,
    .open = pp_parquet_open,
};

static pp_status parquet_open(struct pp_dataset_place *place, const void *opts, struct pp_dataset **out,
                              struct pp_err *err)
{
    (void)opts;
    return pp_columns_open(place, &parquet_kind, out, err);
}

static int parquet_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    (void)why;
    return pp_columns_probe(place, &parquet_kind);
}

const struct pp_dataset_format pp_format_parquet = {
    .name = "parquet",
    .help = ".parquet files",
    .shares = "feature",
    .probe = parquet_probe,
    .open = parquet_open,
};
