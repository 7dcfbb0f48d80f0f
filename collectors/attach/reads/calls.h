/* collectors/attach/reads/calls.h: what each interposed function does: forward the call to libc's, and count
 * it where this thread counts. reading.c has the functions that read and open, waiting.c those that send,
 * connect and wait. */
#pragma once

#include "collectors/attach/reads/fds.h"

#include "probe/base/clock.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
/* libc has the function under this name. A call of an exported one may be another library's that is in front:
 * what two names share is no exported one. */
#define SHOWN_AS(name, function) extern __typeof__(function) name __attribute__((alias(#function))) SHOWN

/* ---- the real ones: looked up once, before main ---- */

/* clang-format off */
/* libc's names; the types are theirs. */
#define REAL_LIST(X) \
    X(read) X(pread64) X(readv) X(preadv64) X(fread) X(openat64) X(fopen64) X(recv) X(recvfrom) X(recvmsg) \
    X(write) X(writev) X(send) X(sendto) X(sendmsg) X(poll) X(ppoll) X(select) X(epoll_wait) X(epoll_pwait) \
    X(epoll_ctl) X(connect) X(close) X(dup2) X(dup3) X(getaddrinfo) X(waitpid) X(wait4) X(sem_wait) \
    X(sem_timedwait) X(sem_clockwait) X(sem_post) X(pthread_cond_clockwait) X(nanosleep) X(clock_nanosleep) \
    X(setuid) X(setreuid) X(setresuid) X(chroot) X(unshare) X(setns)
/* Of these libc has two, and gives the older one to who asks for none. */
#define CONDITION_LIST(X) \
    X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_signal) X(pthread_cond_broadcast)
/* clang-format on */

extern struct reads_real {
#define MEMBER(name) __typeof__(name) *name;
    REAL_LIST(MEMBER) CONDITION_LIST(MEMBER)
#undef MEMBER
} real __attribute__((visibility("hidden")));

void reads_find_real(void);

/* Another library's constructor may come before ours. One that libc lacks was nobody's to call. */
#define REAL(name) (*(__builtin_expect(real.name != NULL, 1) ? real.name : (reads_find_real(), real.name)))

/* ---- counting ---- */

extern atomic_int reads_has_counted __attribute__((visibility("hidden"))); /* a thread of this process */

/* Whether a call is forwarded and nothing else: no thread here counts, or it is a call within ours. */
static inline int is_off(void)
{
    if (__builtin_expect(!reads_counted.counting, 1))
        return !atomic_load_explicit(&reads_has_counted, memory_order_relaxed) || reads_inside;
    atomic_store_explicit(&reads_has_counted, 1, memory_order_relaxed);
    return reads_inside;
}

static inline int is_counting(void)
{
    return __builtin_expect(reads_counted.counting, 0) && !is_off();
}

#define OPENED ((ssize_t)-2) /* in the place of bytes: the call has opened a file */

/* A call that is over; and one on a descriptor, over now. */
void reads_count(enum pp_read_class as, uint64_t from_ns, uint64_t to_ns, ssize_t bytes);
void reads_count_on(enum fd_kind kind, uint64_t from_ns, ssize_t bytes);

/* CALL forwards. Only the thread that counts is looked at; what it returned, in bytes, is BYTES of `out`. */
#define COUNTED(TYPE, CALL, KIND, BYTES) \
    if (!is_counting()) \
        return CALL; \
    uint64_t from = pp_now_ns(); \
    TYPE out = CALL; \
    reads_count_on(KIND, from, BYTES); \
    return out

/* What a program built with checks calls: N, the size of the buffer, is looked at first, as libc does. */
extern void __chk_fail(void) __attribute__((noreturn));
#define CHECKED(TYPE, NAME, ARGUMENTS, N, ROOM, CALL) \
    SHOWN TYPE NAME ARGUMENTS; \
    TYPE NAME ARGUMENTS \
    { \
        if (N > ROOM) \
            __chk_fail(); \
        return CALL; \
    }
