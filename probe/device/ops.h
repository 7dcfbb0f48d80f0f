/* device/ops.h: the table of functions a device brings; see device.h for what each promises. */
#pragma once

#include "probe/device/device.h"

#include <pipeprobe/status.h>

struct pp_device_ops {
    const char *kind; /* --device NAME */
    const char *text; /* one line for help */
    pp_status (*open)(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err);
    void (*close)(struct pp_device *d);
    void (*info)(const struct pp_device *d, struct pp_device_info *out);
    pp_status (*alloc)(struct pp_device *d, size_t size, void **out, struct pp_err *err);
    void (*free)(struct pp_device *d, void *p, size_t size); /* NULL: by pp_pages_unmap */
    pp_status (*copy_start)(struct pp_device *d, const void *src, size_t size, uint64_t *ticket,
                            struct pp_err *err);
    pp_status (*copy_wait)(struct pp_device *d, uint64_t ticket, struct pp_err *err);
    /* Both NULL: it runs no steps. */
    pp_status (*step_start)(struct pp_device *d, uint64_t ns, struct pp_err *err);
    pp_status (*step_wait)(struct pp_device *d, struct pp_err *err);
    pp_status (*sync)(struct pp_device *d, struct pp_err *err);
};

/* Every implementation embeds this first. */
struct pp_device {
    const struct pp_device_ops *ops;
    struct pp_device_watch watch;
    char passed_over[sizeof(((struct pp_err *)0)->text)]; /* device.c's: see pp_device_info */
};

extern const struct pp_device_ops pp_device_host, pp_device_cuda;

/* Ordinary memory for batches, for devices whose own allocator is not asked: zero-filled and touched, in huge
 * pages where the kernel has them, for workers write whole slots through it, and 4 KiB pages would cost them
 * a TLB miss every page. Any thread. */
pp_status pp_pages_map(size_t size, void **out, struct pp_err *err);
void pp_pages_unmap(void *p, size_t size); /* NULL is fine */
