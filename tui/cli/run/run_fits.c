#include "tui/cli/run/run_fits.h"

#include "probe/base/err.h"
#include "probe/dataset/format.h"
#include "tui/cli/run/run_opts.h"

#include <string.h>

static int typed(const struct pp_opt_set *set, const char *name)
{
    return run_opt_source(set, name) == PP_OPT_GIVEN;
}

static pp_status fail_unfit(const char *option, const char *what_for, const struct pp_dataset *d,
                            const char *path, struct pp_err *err)
{
    return pp_fail(err, PP_E_USAGE, "--%s is for %s, and %s is of kind %s; leave it out", option, what_for,
                   path, pp_dataset_format_name(d));
}

pp_status run_fits_dataset(const struct pp_opt_set *set, const struct pp_dataset *d, const char *path,
                           struct pp_err *err)
{
    static const char *const of_images[] = {"transform", "dtype", "exif-rotate"};
    const char *format = pp_dataset_format_name(d);
    const struct pp_dataset_format *f;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(of_images) / sizeof(*of_images); i++)
        if (typed(set, of_images[i]) && pp_dataset_content(d) != PP_CONTENT_IMAGE)
            return fail_unfit(of_images[i], "images", d, path, err);
    while (pp_dataset_format_at(n))
        n++;
    while (n-- > 0) {
        f = pp_dataset_format_at(n);
        for (const struct pp_opt *o = f->opts; o && o->name; o++)
            if (strcmp(f->name, format) != 0 && typed(set, o->name))
                return fail_unfit(o->name, f->noun, d, path, err);
    }
    return PP_OK;
}
