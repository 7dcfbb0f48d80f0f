/* The walker's source that is a stored run: each call goes to the reader. */
#include "report/export/export.h"

static const char *meta(void *ctx, const char *section, const char *key)
{
    return pp_reader_meta(ctx, section, key);
}

static int meta_num(void *ctx, const char *section, const char *key, double *value)
{
    return pp_reader_meta_num(ctx, section, key, value);
}

static pp_status each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_meta(ctx, section, fn, fn_ctx, err);
}

static size_t threads(void *ctx, const struct pp_thread_row **rows)
{
    return pp_reader_threads(ctx, rows);
}

static const char *name(void *ctx, uint16_t id)
{
    return pp_reader_name(ctx, id);
}

static pp_status each_chunk(void *ctx, pp_spans_fn *fn, void *fn_ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    return pp_reader_each_chunk(ctx, fn, fn_ctx, bad_chunks, err);
}

static pp_status each_error(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_error(ctx, fn, fn_ctx, err);
}

static pp_status each_counter(void *ctx, pp_counter_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_counter(ctx, fn, fn_ctx, err);
}

static pp_status each_gpu(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_gpu(ctx, fn, fn_ctx, err);
}

static pp_status each_loss(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err)
{
    return pp_reader_each_loss(ctx, fn, fn_ctx, err);
}

void pp_export_from_reader(struct pp_reader *r, const char *path, struct pp_export_source *out)
{
    *out = (struct pp_export_source){.ctx = r, .path = path, .meta = meta, .meta_num = meta_num, .each_meta = each_meta, .threads = threads,
                                     .name = name, .each_chunk = each_chunk, .each_error = each_error, .each_counter = each_counter,
                                     .each_gpu = each_gpu, .each_loss = each_loss};
}
