#include "collectors/system/memory.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LONGER_PER 600u /* after so many seconds the pause is a second longer */

struct memory {
    const struct pp_collect_opts *opts;
    uint64_t started_ns, next_ns;
    size_t turn;
    double page_bytes;
    int64_t pid[PP_MEMORY_PROCESSES];
};

static pp_status memory_start(const struct pp_collect_opts *opts, void **out, struct pp_err *err)
{
    struct memory *m = calloc(1, sizeof(*m));
    if (!m)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to watch processes");
    m->opts = opts;
    m->started_ns = pp_now_ns();
    m->page_bytes = (double)sysconf(_SC_PAGESIZE);
    *out = m;
    return PP_OK;
}

/* 0: the process has gone. */
static int read_anonymous(int64_t pid, double *pages)
{
    char path[48], text[128];
    unsigned long long size, resident, shared;
    snprintf(path, sizeof(path), "/proc/%lld/statm", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident < shared)
        return 0;
    *pages = (double)(resident - shared);
    return 1;
}

/* Of the file system in which PyTorch's workers put their batches. */
static void read_shared(struct pp_store *store, uint64_t now)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) != 0 || !fs.f_blocks)
        return;
    pp_store_counter(store, now, "shm_used_bytes", (double)(fs.f_blocks - fs.f_bfree) * (double)fs.f_frsize);
    pp_store_counter(store, now, "shm_left_bytes", (double)fs.f_bavail * (double)fs.f_frsize);
}

static void memory_poll(void *state)
{
    struct memory *m = state;
    uint64_t now = pp_now_ns();
    if (now < m->next_ns)
        return;
    size_t n = m->opts->processes ? m->opts->processes(m->opts->processes_ctx, m->pid, PP_MEMORY_PROCESSES)
                                  : 0,
           most = n < PP_MEMORY_READINGS ? n : PP_MEMORY_READINGS;
    read_shared(m->opts->store, now);
    for (size_t i = 0; i < most; i++) {
        char name[sizeof(PP_MEMORY_COUNTER) + 24];
        int64_t pid = m->pid[m->turn++ % n];
        double pages;
        if (!read_anonymous(pid, &pages))
            continue;
        snprintf(name, sizeof(name), PP_MEMORY_COUNTER "%lld", (long long)pid);
        pp_store_counter(m->opts->store, now, name, pages * m->page_bytes);
    }
    /* Polls come once a second: half a second less, so that one that comes early is not left out. */
    m->next_ns = now + 500000000u + (now - m->started_ns) / LONGER_PER;
}

static int memory_available(char *text, size_t size)
{
    double pages;
    int ok = read_anonymous(getpid(), &pages);
    snprintf(text, size, ok ? "/proc/PID/statm is readable" : "/proc/PID/statm cannot be read");
    return ok;
}

const struct pp_collector pp_collector_memory = {
    .name = "process memory",
    .available = memory_available,
    .start = memory_start,
    .poll = memory_poll,
    .stop = free,
};
