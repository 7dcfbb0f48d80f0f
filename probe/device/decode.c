#include "probe/device/decode.h"

#include "probe/base/err.h"
#include "probe/device/ops.h"

pp_status pp_device_decode_open(struct pp_device *d, const struct pp_device_decode_opts *opts,
                                struct pp_err *err)
{
    if (!d->ops->decode)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the %s device decodes nothing; JPEG is decoded on a CUDA device%s%s", d->ops->kind,
                       d->passed_over[0] ? ": " : "", d->passed_over);
    return d->ops->decode->open(d, opts, err);
}

void pp_device_decode_info(const struct pp_device *d, struct pp_device_decode_info *out)
{
    *out = (struct pp_device_decode_info){0};
    d->ops->decode->info(d, out);
}

pp_status pp_device_parser_create(struct pp_device *d, struct pp_device_parser **out, struct pp_err *err)
{
    return d->ops->decode->parser_create(d, out, err);
}

int pp_device_parser_accepts(struct pp_device_parser *p, const uint8_t *data, size_t size,
                             struct pp_device_region *region)
{
    return p->ops->parser_accepts(p, data, size, region);
}

void pp_device_parser_destroy(struct pp_device_parser *p)
{
    if (p)
        p->ops->parser_destroy(p);
}

pp_status pp_device_decode_start(struct pp_device *d, struct pp_device_image *images, size_t n,
                                 uint64_t *ticket, struct pp_err *err)
{
    return d->ops->decode->start(d, images, n, ticket, err);
}

pp_status pp_device_decode_settle(struct pp_device *d, uint64_t ticket, struct pp_err *err)
{
    return d->ops->decode->settle(d, ticket, err);
}

pp_status pp_device_decode_pixels(struct pp_device *d, uint64_t ticket, size_t i, uint8_t *to,
                                  struct pp_err *err)
{
    return d->ops->decode->pixels(d, ticket, i, to, err);
}

pp_status pp_device_decode_finish(struct pp_device *d, uint64_t ticket, const struct pp_device_rows *rows,
                                  struct pp_err *err)
{
    return d->ops->decode->finish(d, ticket, rows, err);
}

pp_status pp_device_decode_wait(struct pp_device *d, uint64_t ticket, struct pp_device_decode_times *out,
                                struct pp_err *err)
{
    return d->ops->decode->wait(d, ticket, out, err);
}

void pp_device_decode_trim(struct pp_device *d)
{
    d->ops->decode->trim(d);
}

pp_status pp_device_decode_read(struct pp_device *d, uint64_t ticket, void *to, size_t size,
                                struct pp_err *err)
{
    return d->ops->decode->read(d, ticket, to, size, err);
}
