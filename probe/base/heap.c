#include "probe/base/heap.h"

#include <malloc.h>
#include <sys/mman.h>

#define BLOCK_MAX (32 << 20) /* glibc's limit of M_MMAP_THRESHOLD */
#define PAGE 4096
#define LARGE_PAGE ((size_t)2 << 20)

void pp_heap_keep(void)
{
    mallopt(M_MMAP_THRESHOLD, BLOCK_MAX);
    mallopt(M_TRIM_THRESHOLD, 2 * BLOCK_MAX);
}

void pp_heap_warm(size_t bytes)
{
    free(pp_heap_zeroed(bytes, 1));
}

/* calloc leaves pages that come fresh from the system untouched; those are zero, so writing a zero changes
 * nothing. */
void *pp_heap_zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);
    for (size_t at = 0; p && at < n * size; at += PAGE)
        ((volatile char *)p)[at] = 0;
    return p;
}

void *pp_heap_table(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes < LARGE_PAGE || bytes > SIZE_MAX - LARGE_PAGE)
        return calloc(n, size);
    bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *p = aligned_alloc(LARGE_PAGE, bytes);
    if (p) {
        madvise(p, bytes, MADV_HUGEPAGE); /* asked for: without them it only takes longer */
        memset(p, 0, bytes);
    }
    return p;
}
