/* libmalloccount.so: preloaded, counts calls that ask the allocator for memory and writes the number into the file named by
 * MALLOC_COUNT_FILE at exit. Two runs of different length then tell the allocations per image, start-up cancelled out. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own entry points: unlike dlsym(RTLD_NEXT) they need no allocation to be found. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong calls;

static void count(void)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); /* a statistic: it orders nothing */
}

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count();
    return __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

__attribute__((destructor)) static void write_count(void)
{
    unsigned long n = atomic_load(&calls);
    const char *path = getenv("MALLOC_COUNT_FILE");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu\n", n);
        fclose(f);
    }
}
