#include "probe/device/ops.h"

#include "probe/base/err.h"

pp_status pp_device_open(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err)
{
    *out = NULL;
    if (!opts->kind || !strcmp(opts->kind, "auto")) {
        struct pp_err why;
        pp_err_clear(&why);
        if (pp_device_cuda.open(opts, out, &why) == PP_OK)
            return PP_OK;
        pp_status st = pp_device_host.open(opts, out, err);
        if (st == PP_OK)
            snprintf((*out)->passed_over, sizeof((*out)->passed_over), "%s", why.text);
        return st;
    }
    if (!strcmp(opts->kind, pp_device_cuda.kind))
        return pp_device_cuda.open(opts, out, err);
    if (!strcmp(opts->kind, pp_device_host.kind))
        return pp_device_host.open(opts, out, err);
    return pp_fail(err, PP_E_UNSUPPORTED, "--device %s: use auto, cuda or host", opts->kind);
}

void pp_device_close(struct pp_device *d)
{
    if (d)
        d->ops->close(d);
}

void pp_device_info(const struct pp_device *d, struct pp_device_info *out)
{
    *out = (struct pp_device_info){.kind = d->ops->kind, .runs_steps = d->ops->step_start != NULL};
    d->ops->info(d, out);
    out->passed_over = d->passed_over[0] ? d->passed_over : NULL;
}

pp_status pp_device_alloc(struct pp_device *d, size_t size, void **out, struct pp_err *err)
{
    *out = NULL;
    return d->ops->alloc(d, size, out, err);
}

void pp_device_free(struct pp_device *d, void *p, size_t size)
{
    if (d->ops->free)
        d->ops->free(d, p, size);
    else
        pp_pages_unmap(p, size);
}

pp_status pp_device_copy_start(struct pp_device *d, const void *src, size_t size, uint64_t *ticket,
                               struct pp_err *err)
{
    return d->ops->copy_start(d, src, size, ticket, err);
}

pp_status pp_device_copy_wait(struct pp_device *d, uint64_t ticket, struct pp_err *err)
{
    return d->ops->copy_wait(d, ticket, err);
}

void pp_device_watch(struct pp_device *d, const struct pp_device_watch *w)
{
    d->watch = *w;
}

void pp_device_begin(struct pp_device *d, uint64_t batch)
{
    if (d->watch.begin)
        d->watch.begin(d->watch.ctx, batch);
}

void pp_device_end(struct pp_device *d)
{
    if (d->watch.end)
        d->watch.end(d->watch.ctx);
}

pp_status pp_device_step_start(struct pp_device *d, uint64_t ns, struct pp_err *err)
{
    if (!d->ops->step_start)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the %s device runs no steps; use --device cuda, or --step sleep", d->ops->kind);
    return d->ops->step_start(d, ns, err);
}

pp_status pp_device_step_wait(struct pp_device *d, struct pp_err *err)
{
    return d->ops->step_wait ? d->ops->step_wait(d, err) : PP_OK;
}

pp_status pp_device_sync(struct pp_device *d, struct pp_err *err)
{
    return d->ops->sync(d, err);
}
