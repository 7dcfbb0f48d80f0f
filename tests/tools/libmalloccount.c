/* libmalloccount.so: preloaded, counts calls that ask the allocator for memory and writes two numbers into
 * the file named by MALLOC_COUNT_FILE at exit: all calls, and those of the loader's worker threads. Two runs
 * of different length then tell the allocations per image, start-up cancelled out. Workers are known by their
 * name at the time of the call, which a thread may set late. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* glibc's own entry points: unlike dlsym(RTLD_NEXT) they need no allocation to be found. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static const char worker_prefix[] = "pp-worker-";
static atomic_ulong calls, worker_calls;

static void count(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    int worker = strncmp(name, worker_prefix, sizeof worker_prefix - 1) == 0;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); /* statistics: they order nothing */
    if (worker)
        atomic_fetch_add_explicit(&worker_calls, 1, memory_order_relaxed);
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
    unsigned long all = atomic_load(&calls),
                  workers = atomic_load(&worker_calls); /* before fopen, which allocates */
    const char *path = getenv("MALLOC_COUNT_FILE");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu %lu\n", all, workers);
        fclose(f);
    }
}
