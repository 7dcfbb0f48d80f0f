/* The functions with which clients of storages ask and wait: sockets, names, children, locks of threads that
 * fetch. */
#include "collectors/attach/reads/calls.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- sending, connecting, looking names up ---- */

/* -1: it is in a later buffer. */
static int first_of(const struct iovec *v)
{
    return v->iov_len ? *(const unsigned char *)v->iov_base : -1;
}

/* What is sent is looked at once the kernel has taken it, and only where its first byte says what it is. */
#define SENDING(NAME, ARGUMENTS, FIRST, CALL) \
    SHOWN ssize_t NAME ARGUMENTS \
    { \
        if (__builtin_expect(is_off(), 1) || fds_kind(fd) != FD_SOCKET) \
            return CALL; \
        uint64_t from = pp_now_ns(); \
        int looks = requests_sending(fd, from); \
        ssize_t out = CALL; \
        if (looks && out > 0) \
            requests_sent(fd, FIRST, from); \
        if (reads_counted.counting) \
            reads_count_on(FD_SOCKET, from, 0); \
        return out; \
    }
SENDING(write, (int fd, const void *data, size_t n), *(const unsigned char *)data,
        real.write ? real.write(fd, data, n) : (ssize_t)syscall(SYS_write, fd, data, n))
SENDING(writev, (int fd, const struct iovec *v, int n), first_of(v),
        real.writev ? real.writev(fd, v, n) : (ssize_t)syscall(SYS_writev, fd, v, n))
SENDING(send, (int fd, const void *data, size_t n, int flags), *(const unsigned char *)data,
        REAL(send)(fd, data, n, flags))
SENDING(sendto, (int fd, const void *data, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t size),
        *(const unsigned char *)data, REAL(sendto)(fd, data, n, flags, to, size))
SENDING(sendmsg, (int fd, const struct msghdr *m, int flags), first_of(m->msg_iov),
        REAL(sendmsg)(fd, m, flags))

/* Also in a process that counts nothing yet: its children may use the connection. */
SHOWN int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t size)
{
    int type = 0, before = errno;
    socklen_t n = sizeof(type);
    /* A stream of the internet. Of datagrams (resolvers, metrics) nothing is known. */
    int is_stream = !reads_inside && fds_kind(fd) == FD_SOCKET &&
                    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_STREAM;
    errno = before;
    if (!is_stream)
        return REAL(connect)(fd, to, size);
    uint64_t from = pp_now_ns();
    int out = REAL(connect)(fd, to, size), error = errno;
    if (out == 0 || error == EINPROGRESS || error == EINTR) {
        /* The connection is made, or is being made: the address is one. */
        struct sockaddr_in6 at = {0}; /* of the internet's addresses the larger */
        memcpy(&at, to.__sockaddr__, size < sizeof(at) ? size : sizeof(at));
        if (at.sin6_family == AF_INET || at.sin6_family == AF_INET6)
            requests_connect(fd, (const struct sockaddr *)&at, from);
    }
    if (is_counting())
        reads_count_on(FD_SOCKET, from, 0);
    errno = error;
    return out;
}

SHOWN int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                      struct addrinfo **found)
{
    if (reads_inside || !node)
        return REAL(getaddrinfo)(node, service, hints, found);
    int counts = is_counting();
    uint64_t from = pp_now_ns();
    reads_inside++;
    int out = REAL(getaddrinfo)(node, service, hints, found);
    reads_inside--;
    uint64_t to = pp_now_ns();
    if (out == 0) {
        reads_lock();
        names_keep(node, *found, to - from);
        reads_unlock();
    }
    if (counts)
        reads_count(PP_READ_SOCKET, from, to, 0);
    return out;
}

/* ---- waiting for descriptors ---- */

/* FD_SOCKET or FD_PIPE if one is among them, else FD_LOCAL; also where the call failed, as with an array that
 * is none. */
static enum fd_kind kind_of_polled(int out, const struct pollfd *p, nfds_t n)
{
    if (out < 0)
        return FD_LOCAL;
    for (nfds_t i = 0; i < n; i++) {
        enum fd_kind kind = fds_kind(p[i].fd);
        if (p[i].fd >= 0 && (kind == FD_SOCKET || kind == FD_PIPE))
            return kind;
    }
    return FD_LOCAL;
}

static enum fd_kind kind_of_sets(int n, const fd_set *r, const fd_set *w)
{
    for (int fd = 0; fd < n && fd < FD_SETSIZE; fd++) {
        int ready = (r && FD_ISSET(fd, r)) || (w && FD_ISSET(fd, w));
        enum fd_kind kind = ready ? fds_kind(fd) : FD_LOCAL;
        if (kind == FD_SOCKET || kind == FD_PIPE)
            return kind;
    }
    return FD_LOCAL;
}

#define POLLING(NAME, ARGUMENTS, VALUES, KIND) \
    static int counted_##NAME ARGUMENTS \
    { \
        COUNTED(int, REAL(NAME) VALUES, KIND, 0); \
    } \
    SHOWN_AS(NAME, counted_##NAME);
POLLING(poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), kind_of_polled(out, p, n))
POLLING(ppoll, (struct pollfd * p, nfds_t n, const struct timespec *limit, const sigset_t *mask),
        (p, n, limit, mask), kind_of_polled(out, p, n))
POLLING(epoll_wait, (int ep, struct epoll_event *event, int n, int ms), (ep, event, n, ms),
        fds_kind_known(ep) == FD_POLLED ? FD_SOCKET : FD_LOCAL)
POLLING(epoll_pwait, (int ep, struct epoll_event *event, int n, int ms, const sigset_t *mask),
        (ep, event, n, ms, mask), fds_kind_known(ep) == FD_POLLED ? FD_SOCKET : FD_LOCAL)
CHECKED(int, __poll_chk, (struct pollfd * p, nfds_t n, int ms, size_t room), n, room / sizeof(*p),
        counted_poll(p, n, ms))

/* Sleeping until a refused request is made again. */
#define SLEEPING(CALL) \
    if (!is_counting() || !requests_are_refused()) \
        return CALL; \
    uint64_t from = pp_now_ns(); \
    int out = CALL; \
    reads_counted.backoff_ns += pp_now_ns() - from; \
    return out

/* Of what is ready: the sets are changed by the call, and before it they may be none. Without sets it sleeps,
 * as Python did before 3.11. */
SHOWN int select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *limit)
{
    if (!n && limit) {
        SLEEPING(REAL(select)(0, NULL, NULL, NULL, limit));
    }
    COUNTED(int, REAL(select)(n, r, w, x, limit), out > 0 ? kind_of_sets(n, r, w) : FD_LOCAL, 0);
}

SHOWN int epoll_ctl(int ep, int what, int fd, struct epoll_event *event)
{
    enum fd_kind kind = is_off() || what != EPOLL_CTL_ADD ? FD_UNKNOWN : fds_kind(fd);
    if (kind == FD_SOCKET || kind == FD_PIPE)
        fds_set(ep, FD_POLLED);
    return REAL(epoll_ctl)(ep, what, fd, event);
}

/* ---- sleeping ---- */

SHOWN int nanosleep(const struct timespec *time, struct timespec *left)
{
    SLEEPING(REAL(nanosleep)(time, left));
}

SHOWN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    SLEEPING(REAL(clock_nanosleep)(clock, flags, time, left));
}

/* ---- waiting for a child ---- */

/* What it computed is work of the sample, in whichever way its end was waited for. */
static void take_from(uint64_t *ns, uint64_t *left_ns)
{
    uint64_t part = *left_ns < *ns ? *left_ns : *ns;
    *ns -= part;
    *left_ns -= part;
    reads_counted.ns -= part;
}

static pid_t counted_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    uint64_t from = pp_now_ns();
    pid_t out = REAL(wait4)(pid, status, options, usage);
    reads_count(PP_READ_CHILD, from, pp_now_ns(), 0);
    if (out > 0) {
        uint64_t cpu_ns = (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
                          (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
        reads_counted.child_cpu_ns += cpu_ns;
        take_from(&reads_counted.class_ns[PP_READ_CHILD], &cpu_ns);
        take_from(&reads_counted.class_ns[PP_READ_PIPE], &cpu_ns);
    }
    return out;
}

SHOWN pid_t waitpid(pid_t pid, int *status, int options)
{
    struct rusage usage;
    return is_counting() ? counted_wait4(pid, status, options, &usage) : REAL(waitpid)(pid, status, options);
}

SHOWN pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    struct rusage own;
    return is_counting() ? counted_wait4(pid, status, options, usage ? usage : &own)
                         : REAL(wait4)(pid, status, options, usage);
}

/* ---- waiting for a lock ---- */

/* Python's threads wait in such steps for the interpreter, while one of them may fetch something. */
#define INTERPRETER_NS INT64_C(5000000)

/* limit is of one of two clocks, which are years apart. */
static int is_for_interpreter(const struct timespec *limit)
{
    int64_t left = (int64_t)(limit->tv_sec * INT64_C(1000000000)) + limit->tv_nsec - (int64_t)pp_now_ns();
    if (left > INT64_C(1000000) * 1000000000)
        left += (int64_t)pp_now_ns() - (int64_t)pp_clock_of(CLOCK_REALTIME);
    return left <= INTERPRETER_NS;
}

/* A call that waits for OBJECT; where it PASSES, it is forwarded and nothing else. */
#define LOCKING(NAME, ARGUMENTS, VALUES, OBJECT, PASSES) \
    SHOWN int NAME ARGUMENTS \
    { \
        if (!is_counting() || (PASSES) || !requests_lock_begin(OBJECT, pp_now_ns())) \
            return REAL(NAME) VALUES; \
        int out = REAL(NAME) VALUES, error = errno; \
        requests_lock_end(pp_now_ns()); \
        errno = error; \
        return out; \
    }
LOCKING(sem_wait, (sem_t * s), (s), s, 0)
LOCKING(sem_timedwait, (sem_t * s, const struct timespec *limit), (s, limit), s, 0)
LOCKING(sem_clockwait, (sem_t * s, clockid_t clock, const struct timespec *limit), (s, clock, limit), s, 0)
LOCKING(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m), c, 0)
LOCKING(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *limit),
        (c, m, limit), c, is_for_interpreter(limit))
LOCKING(pthread_cond_clockwait,
        (pthread_cond_t * c, pthread_mutex_t *m, clockid_t clock, const struct timespec *limit),
        (c, m, clock, limit), c, 0)

/* One that ends such a wait. */
#define FREEING(NAME, TYPE) \
    SHOWN int NAME(TYPE *object) \
    { \
        requests_lock_free(object); \
        return REAL(NAME)(object); \
    }
FREEING(sem_post, sem_t)
FREEING(pthread_cond_signal, pthread_cond_t)
FREEING(pthread_cond_broadcast, pthread_cond_t)
