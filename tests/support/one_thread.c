/* Stands for pthread_create in the unit tests of tests/test.mk's ONE_THREAD, which ThreadSanitizer does not
 * watch. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*body)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
    fprintf(stderr, "a test of ONE_THREAD (tests/test.mk) starts a thread: take it off that list\n");
    abort();
}
