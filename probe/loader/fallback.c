#include "probe/loader/fallback.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "probe/loader/loader_impl.h"

#include <stdio.h>

pp_status pp_fallback_init(struct pp_loader *l, struct pp_err *err)
{
    struct pp_fallback *f = &l->fallback;
    if (!l->opts.decode_on_device || l->opts.decode_required)
        return PP_OK;
    pthread_mutex_init(&f->lock, NULL);
    return pp_device_open(&(struct pp_device_opts){.kind = "host"}, &f->host, err);
}

void pp_fallback_free(struct pp_loader *l)
{
    struct pp_fallback *f = &l->fallback;
    if (!f->host)
        return;
    pp_device_close(f->host);
    pthread_mutex_destroy(&f->lock);
}

struct pp_device *pp_fallback_device(const struct pp_loader *l)
{
    return pp_fallback_is_taken(&l->fallback) ? l->fallback.host : l->opts.device;
}

int pp_fallback_take(struct pp_loader *l, const struct pp_err *err)
{
    struct pp_fallback *f = &l->fallback;
    if (!f->host)
        return 0;
    pthread_mutex_lock(&f->lock);
    int first = !f->taken_ns;
    if (first) {
        snprintf(f->reason, sizeof(f->reason), "%s", err->text);
        f->taken_ns = pp_now_ns();
        atomic_store_explicit(&l->decoding.off, 1, memory_order_relaxed);
        atomic_store_explicit(&f->taken, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&f->lock);
    if (first) {
        char text[sizeof(l->fallback.reason) + 240];
        snprintf(
            text, sizeof(text),
            "--decode auto goes on without the GPU: from here on the CPU decodes, the copies are those of a simulated link, and the steps sleep; %s",
            l->fallback.reason);
        if (l->opts.events.note)
            l->opts.events.note(l->opts.events.ctx, text);
    }
    return 1;
}
