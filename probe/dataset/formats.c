/* The table of formats, and their options in one block. */
#include "probe/base/err.h"
#include "probe/dataset/format.h"
#include "probe/dataset/options.h"

#include <assert.h>
#include <string.h>

extern const struct pp_dataset_format pp_format_folder, pp_format_synthetic, pp_format_shards,
    pp_format_tfrecord, pp_format_mds, pp_format_parquet, pp_format_arrow, pp_format_hdf5, pp_format_tokens;

/* In the order in which --help shows their options, and an error lists them. */
static const struct pp_dataset_format *const table[] = {
    &pp_format_synthetic, &pp_format_folder, &pp_format_shards, &pp_format_tfrecord, &pp_format_mds,
    &pp_format_parquet,   &pp_format_arrow,  &pp_format_hdf5,   &pp_format_tokens,
};

enum { TABLE = sizeof(table) / sizeof(*table), MORE = 8, ALIGN = 16 };

static const struct pp_dataset_format *more[MORE];
static size_t n_more;

int pp_dataset_format_register(const struct pp_dataset_format *f)
{
    if (n_more == MORE)
        return -1;
    more[n_more++] = f;
    return 0;
}

const struct pp_dataset_format *pp_dataset_format_at(size_t i)
{
    return i < TABLE ? table[i] : i < TABLE + n_more ? more[i - TABLE] : NULL;
}

/* ---- options ---- */

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t offset_of(const struct pp_dataset_format *f)
{
    const struct pp_dataset_format *before;
    size_t at = 0;
    for (size_t i = 0; (before = pp_dataset_format_at(i)) != f; i++)
        at += aligned(before->opts_size);
    assert(at + f->opts_size <= sizeof(struct pp_dataset_options));
    return at;
}

void *pp_dataset_options_of(const struct pp_dataset_options *o, const struct pp_dataset_format *f)
{
    return (unsigned char *)o->bytes + offset_of(f);
}

static struct pp_opt *append(struct pp_opt *to, const struct pp_opt *rows, size_t offset)
{
    for (; rows && rows->name; rows++, to++) {
        *to = *rows;
        to->offset += offset;
    }
    return to;
}

struct pp_opt *pp_dataset_options_rows(struct pp_opt *to, size_t first, size_t last, int streaming,
                                       size_t offset)
{
    const struct pp_dataset_format *f;
    for (size_t i = first; i <= last && (f = pp_dataset_format_at(i)); i++) {
        if (streaming)
            to = append(to, f->stream_opts, offset + offset_of(f));
        to = append(to, f->opts, offset + offset_of(f));
    }
    return to;
}

pp_status pp_dataset_options_check(const struct pp_dataset_options *o, struct pp_err *err)
{
    const struct pp_dataset_format *f;
    pp_status st = PP_OK;
    for (size_t i = 0; st == PP_OK && (f = pp_dataset_format_at(i)); i++)
        if (f->check)
            st = f->check(pp_dataset_options_of(o, f), err);
    return st;
}

const char *pp_dataset_options_made(const struct pp_dataset_options *o, const char **format)
{
    const struct pp_dataset_format *f;
    for (size_t i = 0; (f = pp_dataset_format_at(i)); i++) {
        const char *spec = f->made_spec ? f->made_spec(pp_dataset_options_of(o, f)) : NULL;
        if (spec) {
            *format = f->name;
            return spec;
        }
    }
    *format = NULL;
    return NULL;
}
