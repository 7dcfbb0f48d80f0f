#include "tui/cli/run/run_fits.h"

#include "probe/base/err.h"
#include "tui/cli/run/run_opts.h"

static int typed(const struct pp_opt_set *set, const char *name)
{
    return run_opt_source(set, name) == PP_OPT_GIVEN;
}

enum { IMAGES = 1, TOKENS = 2, SHARDS = 4 };

static unsigned what_is(const struct pp_dataset *d)
{
    return (pp_dataset_content(d) == PP_CONTENT_TOKENS ? TOKENS : IMAGES) |
           (pp_dataset_kind(d) == PP_DATASET_SHARDS ? SHARDS : 0);
}

pp_status run_fits_dataset(const struct pp_opt_set *set, const struct pp_dataset *d, const char *path,
                           struct pp_err *err)
{
    static const struct {
        const char *option, *name;
        unsigned needs;
    } rows[] = {
        {"transform", "images", IMAGES},        {"dtype", "images", IMAGES},
        {"exif-rotate", "images", IMAGES},      {"window", "token files", TOKENS},
        {"token-bytes", "token files", TOKENS}, {"index-dir", "tar shards", SHARDS},
    };
    unsigned is = what_is(d);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (typed(set, rows[i].option) && !(is & rows[i].needs))
            return pp_fail(err, PP_E_USAGE, "--%s is for %s, and %s is of kind %s; leave it out",
                           rows[i].option, rows[i].name, path, pp_dataset_kind_name(pp_dataset_kind(d)));
    return PP_OK;
}
