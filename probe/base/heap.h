/* base/heap.h: memory that is there before it is needed.
 *
 * A page that is first read and then written is mapped twice, and the second time every core that runs a
 * thread of the process is interrupted to forget the first. On a virtual machine with busy cores that was 0.5
 * ms a page, in the thread that writes and in the ones it interrupts. Page faults belong before the
 * measurement. */
#pragma once

#include "probe/base/std.h"

/* For programs, not libraries, once, before their threads: freed memory stays with the process instead of
 * going back to the system and being faulted in again. Blocks over 32 MiB still come and go by themselves. */
void pp_heap_keep(void);

/* Makes `bytes` (up to 32 MiB) that the calling thread will allocate next resident. Only of use after
 * pp_heap_keep; without memory nothing happens. */
void pp_heap_warm(size_t bytes);

/* Zeroed like calloc, and every page written to. free() releases it. NULL: no memory. */
void *pp_heap_zeroed(size_t n, size_t size);

/* Zeroed like calloc, for tables that are looked into all over: from 2 MiB on in large pages where the system
 * gives them, so that a look waits for memory once, not again for where the page is. free() releases it.
 * NULL: no memory. */
void *pp_heap_table(size_t n, size_t size);
