#include "probe/base/heap.h"

#include <malloc.h>
#include <stdlib.h>

#define BLOCK_MAX (32 << 20) /* glibc's limit of M_MMAP_THRESHOLD */
#define PAGE 4096

static void touch(void *p, size_t bytes)
{
    for (volatile char *c = p, *end = c + bytes; c < end; c += PAGE)
        *c = 0;
}

void pp_heap_keep(void)
{
    mallopt(M_MMAP_THRESHOLD, BLOCK_MAX);
    mallopt(M_TRIM_THRESHOLD, 2 * BLOCK_MAX);
}

void pp_heap_warm(size_t bytes)
{
    void *p = malloc(bytes);
    if (p)
        touch(p, bytes);
    free(p);
}

/* calloc leaves pages that come fresh from the system untouched; those are zero, so writing a zero changes nothing. */
void *pp_heap_zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (p)
        touch(p, n * size);
    return p;
}
