#include "collectors/attach/reads/calls.h"

#include <dlfcn.h>

struct reads_real real;
__thread struct pp_reads reads_counted __attribute__((tls_model("initial-exec")));
__thread int reads_inside __attribute__((tls_model("initial-exec")));
atomic_int reads_has_counted;

SHOWN struct pp_reads *pipeprobe_reads_of_thread(void);

struct pp_reads *pipeprobe_reads_of_thread(void)
{
    return &reads_counted;
}

#if defined(__x86_64__)
#define CONDITIONS "GLIBC_2.3.2"
#else
#define CONDITIONS "GLIBC_2.17"
#endif

__attribute__((constructor)) void reads_find_real(void)
{
#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
    REAL_LIST(FIND)
#undef FIND
#define FIND(name) \
    if (!(*(void **)&real.name = dlvsym(RTLD_NEXT, #name, CONDITIONS))) \
        *(void **)&real.name = dlsym(RTLD_NEXT, #name);
    CONDITION_LIST(FIND)
#undef FIND
}

/* A CPU clock is a system call, as the read is. A call this short ran all the time, near enough; of a longer
 * one the CPU time is what has passed since the clock was read last, less the time before the call. */
#define SHORT_NS 30000u

void reads_count(enum pp_read_class as, uint64_t from_ns, uint64_t to_ns, ssize_t bytes)
{
    struct pp_reads *c = &reads_counted;
    uint64_t wall_ns = to_ns - from_ns, ran_ns = wall_ns;
    c->ns += wall_ns;
    c->class_ns[as] += wall_ns;
    if (c->counting > 1 && wall_ns >= SHORT_NS) {
        uint64_t cpu_ns = pp_thread_cpu_ns(), before_ns = from_ns - c->at_ns;
        ran_ns = cpu_ns - c->at_cpu_ns;
        c->at_ns = to_ns;
        c->at_cpu_ns = cpu_ns;
        ran_ns = ran_ns > before_ns ? ran_ns - before_ns : 0;
    }
    if (c->counting > 1)
        c->cpu_ns += ran_ns < wall_ns ? ran_ns : wall_ns;
    c->bytes += bytes > 0 ? (uint64_t)bytes : 0;
    c->calls++;
    /* The CPU clock at each: a loop that loads in the thread that trains has few calls. */
    if (c->counting > 2) {
        c->last_ns = to_ns;
        c->last_cpu_ns = pp_thread_cpu_ns();
        if (!c->first_ns) {
            c->first_ns = from_ns;
            c->first_cpu_ns = c->last_cpu_ns - c->cpu_ns;
        }
        if (bytes == OPENED) {
            c->opened_ns = from_ns;
            c->opens++;
        }
    }
}

/* A call on a descriptor that is over now. */
void reads_count_on(enum fd_kind kind, uint64_t from_ns, ssize_t bytes)
{
    if (kind != FD_LOCAL && kind != FD_POLLED)
        reads_count(kind == FD_SOCKET ? PP_READ_SOCKET
                    : kind == FD_PIPE ? PP_READ_PIPE
                                      : PP_READ_FILE,
                    from_ns, pp_now_ns(), bytes);
}
