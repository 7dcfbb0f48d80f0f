#include "probe/device/ops.h"

#include "probe/base/err.h"

#include <string.h>

pp_status pp_device_open(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err)
{
    const char *kind = opts->kind ? opts->kind : "auto";
    *out = NULL;
    if (!strcmp(kind, "auto") || !strcmp(kind, pp_device_host->kind))
        return pp_device_host->open(opts, out, err);
    return pp_fail(err, PP_E_UNSUPPORTED, "--device %s: this build knows the host device only; try --device host", kind);
}

void pp_device_close(struct pp_device *d)
{
    if (d)
        d->ops->close(d);
}

void pp_device_info(const struct pp_device *d, struct pp_device_info *out)
{
    d->ops->info(d, out);
}

pp_status pp_device_alloc(struct pp_device *d, size_t size, void **out, struct pp_err *err)
{
    *out = NULL;
    return d->ops->alloc(d, size, out, err);
}

void pp_device_free(struct pp_device *d, void *p, size_t size)
{
    d->ops->free(d, p, size);
}

pp_status pp_device_copy_start(struct pp_device *d, const void *src, size_t size, uint64_t *ticket, struct pp_err *err)
{
    return d->ops->copy_start(d, src, size, ticket, err);
}

pp_status pp_device_copy_wait(struct pp_device *d, uint64_t ticket, struct pp_err *err)
{
    return d->ops->copy_wait(d, ticket, err);
}

pp_status pp_device_sync(struct pp_device *d, struct pp_err *err)
{
    return d->ops->sync(d, err);
}
