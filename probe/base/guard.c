#include "probe/base/guard.h"

#include <pipeprobe/ring.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* A ring per thread, and the session's and the processes' files. */
enum { MAPPINGS = PP_THREADS_MAX + 64 };

static struct mapping {
    uintptr_t at; /* atomic; 0: free. bytes is written before and read after it */
    size_t bytes;
    int cut;
} mappings[MAPPINGS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list; the handler takes none */
static struct sigaction before;
static size_t page_bytes;
static unsigned count, used;        /* used: entries that have ever been in use */
static unsigned free_from, removed; /* no free entry is before free_from; the next to be removed is often
                                       behind the last one */
static uint64_t cuts;

/* The first one from entry i on; what two have added is there twice. */
static struct mapping *mapping_from(unsigned i, uintptr_t address)
{
    unsigned n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    for (; i < n; i++) {
        uintptr_t at = __atomic_load_n(&mappings[i].at, __ATOMIC_ACQUIRE);
        if (at && address >= at && address - at < mappings[i].bytes)
            return &mappings[i];
    }
    return NULL;
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr, page = address & ~(uintptr_t)(page_bytes - 1);
    struct mapping *m = info->si_code == BUS_ADRERR ? mapping_from(0, address) : NULL;
    /* The page alone: those that were mended before keep what has been stored since. Two threads that meet
     * here give the same. */
    if (m && mmap((void *)page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1, 0) != MAP_FAILED) {
        if (!__atomic_exchange_n(&m->cut, 1, __ATOMIC_RELAXED))
            __atomic_fetch_add(&cuts, 1, __ATOMIC_RELAXED);
        while ((m = mapping_from((unsigned)(m - mappings) + 1, address)))
            __atomic_store_n(&m->cut, 1, __ATOMIC_RELAXED);
    } else if (before.sa_flags & SA_SIGINFO) { /* from here on as if we were not there */
        before.sa_sigaction(sig, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(sig);
    } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
        /* The default, and ignoring what cannot be ignored, end the process with this signal when the
         * instruction is tried again. One that a process sent is not raised again by it. */
        struct sigaction ends = {.sa_handler = SIG_DFL};
        sigaction(sig, &ends, NULL);
        if (info->si_code <= 0)
            raise(sig);
    }
    errno = saved;
}

void pp_guard_lock(void)
{
    pthread_mutex_lock(&lock);
}

void pp_guard_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void pp_guard_add(void *at, size_t bytes)
{
    pp_guard_lock();
    unsigned i = free_from;
    while (i < used && mappings[i].at)
        i++;
    free_from = i;
    if (i < MAPPINGS) {
        mappings[i].bytes = bytes;
        mappings[i].cut = 0;
        __atomic_store_n(&mappings[i].at, (uintptr_t)at, __ATOMIC_RELEASE);
        if (i == used)
            __atomic_store_n(&used, i + 1, __ATOMIC_RELEASE);
        if (count++ == 0) {
            struct sigaction ours = {.sa_sigaction = on_bus,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
            sigemptyset(&ours.sa_mask);
            page_bytes = (size_t)sysconf(_SC_PAGESIZE);
            if (sigaction(SIGBUS, NULL, &before) == 0)
                sigaction(SIGBUS, &ours, NULL);
        }
    }
    pp_guard_unlock();
}

void pp_guard_remove(void *at)
{
    pp_guard_lock();
    for (unsigned k = 0; at && k < used; k++) {
        unsigned i = (removed + k) % used;
        if (mappings[i].at != (uintptr_t)at)
            continue;
        removed = i;
        free_from = i < free_from ? i : free_from;
        __atomic_store_n(&mappings[i].at, 0, __ATOMIC_RELEASE);
        if (--count == 0) {
            struct sigaction now;
            if (sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
                now.sa_sigaction == on_bus)
                sigaction(SIGBUS, &before, NULL);
        }
        break;
    }
    pp_guard_unlock();
}

int pp_guard_was_cut(const void *at)
{
    const struct mapping *m = mapping_from(0, (uintptr_t)at);
    return m && __atomic_load_n(&m->cut, __ATOMIC_RELAXED);
}

uint64_t pp_guard_cuts(void)
{
    return __atomic_load_n(&cuts, __ATOMIC_RELAXED);
}
