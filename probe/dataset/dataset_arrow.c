/* Arrow IPC files and streams, as Hugging Face's `datasets` saves them: a row is a sample. */
#include "probe/dataset/dataset_columns.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"

#include <string.h>

/* What `datasets` leaves of earlier steps beside its data is not data. */
static int is_arrow(const char *name)
{
    const char *slash = strrchr(name, '/');
    return (pp_has_suffix(name, ".arrow") || pp_has_suffix(name, ".feather") ||
            pp_has_suffix(name, ".ipc")) &&
           strncmp(slash ? slash + 1 : name, "cache-", 6) != 0;
}

static const struct pp_shard_files arrow_files = {".arrow", is_arrow};

static const struct pp_columns_kind arrow_kind = {
    .what = "Arrow",
    .nouns = "Arrow,Arrow stream",
    .files = &arrow_files,
    .open = pp_arrow_open,
};

static pp_status arrow_open(struct pp_dataset_place *place, const void *opts, struct pp_dataset **out,
                            struct pp_err *err)
{
    (void)opts;
    return pp_columns_open(place, &arrow_kind, out, err);
}

static int arrow_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    (void)why;
    return pp_columns_probe(place, &arrow_kind);
}

const struct pp_dataset_format pp_format_arrow = {
    .name = "arrow",
    .help = ".arrow files",
    .shares = "feature",
    .probe = arrow_probe,
    .open = arrow_open,
};
