/* HDF5 files: a row, by the first dimension of a dataset, is a sample. */
#include "probe/dataset/dataset_columns.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"

static int is_hdf5(const char *name)
{
    return pp_has_suffix(name, ".h5") || pp_has_suffix(name, ".hdf5") || pp_has_suffix(name, ".he5");
}

static const struct pp_shard_files hdf5_files = {".h5", is_hdf5};

static const struct pp_columns_kind hdf5_kind = {
    .what = "HDF5",
    .nouns = "HDF5",
    .files = &hdf5_files,
    .open = pp_hdf5_open,
};

static pp_status hdf5_open(struct pp_dataset_place *place, const void *opts, struct pp_dataset **out,
                           struct pp_err *err)
{
    (void)opts;
    return pp_columns_open(place, &hdf5_kind, out, err);
}

static int hdf5_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    (void)why;
    return pp_columns_probe(place, &hdf5_kind);
}

const struct pp_dataset_format pp_format_hdf5 = {
    .name = "hdf5",
    .help = ".h5 files",
    .shares = "feature",
    .probe = hdf5_probe,
    .open = hdf5_open,
};
