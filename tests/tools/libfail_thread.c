/* libfail_thread.so, for LD_PRELOAD: from the $FAIL_THREAD-th on (1: the first), every pthread_create of the
 * process named $FAIL_THREAD_IN fails with EAGAIN, as at a limit on threads (ulimit -u). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong created;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    const char *from = getenv("FAIL_THREAD"), *in = getenv("FAIL_THREAD_IN");
    typeof(&pthread_create) real = (typeof(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
    unsigned long number = ++created;
    if (from && in && strcmp(in, program_invocation_short_name) == 0 && number >= strtoul(from, NULL, 10))
        return EAGAIN;
    return real(thread, attr, start, arg);
}
