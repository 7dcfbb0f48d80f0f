/* WebDataset: tar shards. A sample is the run of members with one key, of which one is an image. */
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/shard_names.h"

extern const struct pp_dataset_format pp_format_shards; /* at the end */

static const struct pp_shard_kind tar_kind = {
    .what = "tar archive",
    .piece = "member",
    .left_out =
        "%s: %u key%s no usable image (.jpg .jpeg .png .webp, below 4 GiB, not a link, not sparse) and %s left out",
    .files = &pp_tar_files,
    .build = pp_shard_index_build,
    .streams = 1,
};

static pp_status shards_open(struct pp_dataset_place *place, const void *opts, struct pp_dataset **out,
                             struct pp_err *err)
{
    const struct pp_shards_opts *o = opts;
    return pp_shards_open(
        place, &(struct pp_shards_how){.kind = &tar_kind, .index_dir = o->index_dir, .stream = o->stream},
        out, err);
}

/* A directory of shards and nothing else is beyond doubt; among other things they count when no format finds
 * more. */
static int shards_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    const struct pp_listing *l = place->listing;
    if (place->info.kind != PP_PLACE_DIRECTORY)
        return pp_is_shard_spec(place->spec) ? 60 : 0;
    for (size_t i = 0; i < l->others.n; i++)
        if (pp_is_shard(l->others.bytes + l->others.at[i]))
            return l->images.n == 0 && l->subdirs.n == 0 ? 90 : 10;
    return 0;
}

/* ---- options ---- */

struct pp_shards_opts *pp_shards_opts(const struct pp_dataset_options *o)
{
    return pp_dataset_options_of(o, &pp_format_shards);
}

/* clang-format off */
static const struct pp_opt stream_opts[] = {
    {.name = "stream", .type = PP_OPT_FLAG, .offset = offsetof(struct pp_shards_opts, stream), .dflt = "0",
     .help = "tar shards: read in order, shuffle in a buffer"},
    {.name = "shuffle-buffer", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_shards_opts, shuffle_buffer), .min = 0,
     .max = 1e8, .arg = "N", .dflt = "1000", .help = "size of the shuffle buffer in samples (--stream)"},
    {.name = "shuffle-shards", .advanced = 1, .type = PP_OPT_FLAG, .offset = offsetof(struct pp_shards_opts, shuffle_shards), .dflt = "1",
     .help = "shuffle the shards' order too (--stream)"},
    {.name = NULL},
};
static const struct pp_opt shards_opts[] = {
    {.name = "index-dir", .advanced = 1, .type = PP_OPT_STRING, .offset = offsetof(struct pp_shards_opts, index_dir), .arg = "DIR",
     .help = "directory of shard indexes (default: ~/.cache/pipeprobe)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_shards = {
    .name = "webdataset",
    .help = ".tar shards",
    .noun = "tar shards",
    .probe = shards_probe,
    .open = shards_open,
    .opts_size = sizeof(struct pp_shards_opts),
    .opts = shards_opts,
    .stream_opts = stream_opts,
};
