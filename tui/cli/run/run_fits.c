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

/* Whether one of the words of a list is the name. */
static int has_word(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = words; at && (at = strstr(at, name)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return 1;
    return 0;
}

static int takes(const struct pp_dataset_format *own, const struct pp_dataset_format *f, const char *option)
{
    return own == f || (own && has_word(own->shares, option));
}

pp_status run_fits_dataset(const struct pp_opt_set *set, const struct pp_dataset *d, const char *path,
                           struct pp_err *err)
{
    static const char *const of_images[] = {"transform", "dtype", "exif-rotate"};
    const char *format = pp_dataset_format_name(d);
    const struct pp_dataset_format *f, *own = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(of_images) / sizeof(*of_images); i++)
        if (typed(set, of_images[i]) && pp_dataset_content(d) != PP_CONTENT_IMAGE)
            return fail_unfit(of_images[i], "images", d, path, err);
    for (; (f = pp_dataset_format_at(n)); n++)
        if (strcmp(f->name, format) == 0)
            own = f;
    while (n-- > 0) {
        f = pp_dataset_format_at(n);
        for (const struct pp_opt *o = f->opts; o && o->name; o++)
            if (!takes(own, f, o->name) && typed(set, o->name))
                return fail_unfit(o->name, f->noun, d, path, err);
    }
    return PP_OK;
}
