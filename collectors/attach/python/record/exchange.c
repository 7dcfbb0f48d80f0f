/* How long the process's other threads were ready and had no CPU: gloo and MPI carry in threads of their own
 * what the trainer waits for. Read at the begin and the end of a collective, twice a second at most, so that
 * no descriptors are kept in a program that is not ours. */
#include "collectors/attach/python/record/record.h"
#include "probe/trace/run_delay.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define EVERY_NS UINT64_C(500000000)
#define REST 2000 /* times what the first look of two costs: at most 0.1 % of a CPU */
enum { THREADS_MAX = 64 };

/* Of the one thread that trains, under the interpreter's lock. */
static struct {
    uint64_t next_ns, before_ns, from_ns;
    int looked;
} exchange;

/* 0: it cannot be read. */
static int delay_of_others(uint64_t *out)
{
    char path[300];
    long own = syscall(SYS_gettid);
    int threads = 0;
    DIR *d = opendir("/proc/self/task");
    *out = 0;
    for (struct dirent *e; d && threads < THREADS_MAX && (e = readdir(d));) {
        uint64_t ns;
        if (!isdigit((unsigned char)e->d_name[0]) || strtol(e->d_name, NULL, 10) == own)
            continue;
        snprintf(path, sizeof(path), "%s/schedstat", e->d_name);
        int fd = openat(dirfd(d), path, O_RDONLY | O_CLOEXEC);
        if (pp_run_delay_read(fd, &ns)) {
            *out += ns;
            threads++;
        }
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
    return threads > 0;
}

void record_exchange_begin(void)
{
    uint64_t now = pp_now_ns(), cpu_ns;
    exchange.looked = 0;
    if (now < exchange.next_ns)
        return;
    cpu_ns = pp_thread_cpu_ns(); /* on a busy CPU a look takes long, and costs no more */
    exchange.looked = delay_of_others(&exchange.before_ns);
    uint64_t rest = (pp_thread_cpu_ns() - cpu_ns) * REST;
    exchange.next_ns = now + (rest > EVERY_NS ? rest : EVERY_NS);
    exchange.from_ns = pp_now_ns();
}

/* Several threads may lack a CPU at once, and none holds the wait up for longer than it took. */
void record_exchange_end(struct record_local *l)
{
    uint64_t after, took = pp_now_ns() - exchange.from_ns;
    if (exchange.looked && delay_of_others(&after)) {
        uint64_t delay = after > exchange.before_ns ? after - exchange.before_ns : 0;
        record_count(&l->consumer.lane, "exchange_delay_ns", delay < took ? delay : took);
    }
    exchange.looked = 0;
}
