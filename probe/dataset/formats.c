/* The table of formats, and their options in one block. */
#include "probe/base/err.h"
#include "probe/dataset/format.h"

#include <assert.h>

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

/* Where the options of a registered format are: behind those of the ones that were registered before it. */
static size_t offset_of(const struct pp_dataset_format *f)
{
    size_t at = 0;
    for (size_t i = 0; more[i] != f; i++)
        at += (more[i]->opts_size + ALIGN - 1) / ALIGN * ALIGN;
    assert(at + f->opts_size <= sizeof(((struct pp_dataset_options *)0)->registered));
    return offsetof(struct pp_dataset_options, registered) + at;
}

void *pp_dataset_options_of(const struct pp_dataset_options *o, const struct pp_dataset_format *f)
{
    return (unsigned char *)o + offset_of(f);
}

struct pp_opt *pp_dataset_options_rows(struct pp_opt *to, size_t first, size_t last, int streaming,
                                       size_t offset)
{
    const struct pp_dataset_format *f;
    for (size_t i = first; i <= last && (f = pp_dataset_format_at(i)); i++) {
        const struct pp_opt *const rows[] = {streaming ? f->stream_opts : NULL, f->opts};
        size_t at = offset + (i < TABLE ? 0 : offset_of(f));
        for (size_t k = 0; k < 2; k++)
            for (const struct pp_opt *row = rows[k]; row && row->name; row++, to++) {
                *to = *row;
                to->offset += at;
            }
    }
    return to;
}

pp_status pp_dataset_options_check(const struct pp_dataset_options *o, struct pp_err *err)
{
    const struct pp_dataset_format *f;
    pp_status st = PP_OK;
    for (size_t i = 0; st == PP_OK && (f = pp_dataset_format_at(i)); i++)
        if (f->check)
            st = f->check(o, err);
    return st;
}
