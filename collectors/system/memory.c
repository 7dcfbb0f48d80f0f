#include "collectors/system/counters.h"

#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LONGER_PER 600u /* after so many seconds the pause is a second longer */
/* Of reading private memory: the pause behind it, in times of what it took. A short run needs its readings
 * too. */
#define PRIVATE_COST(ran_ns) ((ran_ns) < 60000000000u ? 40u : 100u)
#define PRIVATE_ROUND_NS 50000000u /* the longest round of it, but for one process */
#define PRIVATE_MOST 8e9           /* bytes: the kernel walks all pages of a process, 0.1 us each */

struct memory {
    const struct pp_collect_opts *opts;
    uint64_t started_ns, next_ns, private_ns;
    size_t turn, private_turn;
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
    char text[128];
    unsigned long long size, resident, shared;
    pp_io_text(text, sizeof(text), "/proc/%lld/statm", (long long)pid);
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || resident < shared)
        return 0;
    *pages = (double)(resident - shared);
    return 1;
}

/* Pages that a process had from its parent and wrote to are copies of its own: private, where the anonymous
 * memory stays as large as it was. Only processes that a recorded one has started are asked. */
static void read_copies(struct memory *m, uint64_t now, size_t n)
{
    uint64_t began = pp_thread_cpu_ns(), took = 0;
    if (now < m->private_ns)
        return;
    for (size_t i = 0; i < n && took < PRIVATE_ROUND_NS; i++, took = pp_thread_cpu_ns() - began) {
        char name[sizeof(PP_MEMORY_PRIVATE) + 24], text[2048];
        int64_t pid = m->pid[m->private_turn++ % n];
        long long parent = 0; /* it has gone */
        double pages, kib;
        size_t k = 0;
        pp_io_text(text, sizeof(text), "/proc/%lld/stat", (long long)pid);
        const char *end = strrchr(text, ')'); /* the name before it may be anything */
        if (!end || sscanf(end + 1, " %*c %lld", &parent) != 1)
            parent = 0;
        while (k < n && m->pid[k] != parent)
            k++;
        if (k == n || !read_anonymous(pid, &pages) || pages * m->page_bytes > PRIVATE_MOST)
            continue;
        pp_io_text(text, sizeof(text), "/proc/%lld/smaps_rollup", (long long)pid);
        const char *line = strstr(text, "\nPrivate_Dirty:");
        if (!line || sscanf(line, " Private_Dirty: %lf", &kib) != 1)
            continue;
        snprintf(name, sizeof(name), PP_MEMORY_PRIVATE "%lld", (long long)pid);
        pp_store_counter(m->opts->store, now, name, 1024 * kib);
    }
    m->private_ns = now + 500000000u + PRIVATE_COST(now - m->started_ns) * took;
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
    /* Of the file system in which PyTorch's workers put their batches. */
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) == 0 && fs.f_blocks) {
        pp_store_counter(m->opts->store, now, "shm_used_bytes",
                         (double)(fs.f_blocks - fs.f_bfree) * (double)fs.f_frsize);
        pp_store_counter(m->opts->store, now, "shm_left_bytes", (double)fs.f_bavail * (double)fs.f_frsize);
    }
    read_copies(m, now, n);
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
