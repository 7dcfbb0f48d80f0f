/* device/pages.h: ordinary memory for batches, for devices whose own allocator is not asked. Any thread. */
#ifndef PP_DEVICE_PAGES_H
#define PP_DEVICE_PAGES_H

#include <pipeprobe/status.h>

#include <stddef.h>

/* Zero-filled and touched, in huge pages where the kernel has them: workers write whole slots through it, and
 * 4 KiB pages would cost them a TLB miss every page. */
pp_status pp_pages_map(size_t size, void **out, struct pp_err *err);
void pp_pages_unmap(void *p, size_t size); /* NULL is fine */

#endif
