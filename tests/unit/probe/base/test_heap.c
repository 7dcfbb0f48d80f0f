/* Memory that is there before it is needed: counted in minor page faults of this thread. */
#include "probe/base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES(bytes) ((long)(bytes) / 4096)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* has an allocator of its own, and shadow memory that faults when ours is only read */
#else
#define SANITIZED 0
#endif

static long faults(void)
{
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_THREAD, &u), 0);
    return u.ru_minflt;
}

static void test_zeroed_is_zero_and_resident(void **state)
{
    size_t n = 100003, bytes = n * 8;
    unsigned char *p = pp_heap_zeroed(n, 8);
    assert_non_null(p);
    long before = faults();
    for (size_t i = 0; i < bytes; i++)
        assert_true(p[i] == 0);
    memset(p, 1, bytes);
    assert_true(SANITIZED || faults() - before < PAGES(bytes) / 10);
    free(p);
    (void)state;
}

#if SANITIZED
static void skipped(void **state)
{
    puts("# skip: a sanitizer's allocator is not glibc's");
    skip();
    (void)state;
}
#define test_zeroed_refuses_what_overflows skipped
#define test_warm skipped
#else
static void test_zeroed_refuses_what_overflows(void **state)
{
    volatile size_t most = SIZE_MAX; /* volatile: the compiler would rather warn */
    assert_null(pp_heap_zeroed(most, 2));
    (void)state;
}

/* Many blocks, allocated, written and freed over and over, as a drain does: no page comes from the system
 * again. */
static void test_warm(void **state)
{
    enum { BLOCKS = 24, ROUNDS = 20 };
    static const size_t block = 200000;
    char *p[BLOCKS];
    pp_heap_keep();
    pp_heap_warm(8u << 20);
    long before = faults();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            p[i] = malloc(block);
            assert_non_null(p[i]);
            memset(p[i], round, block);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(p[i]);
    }
    assert_true(faults() - before < PAGES(BLOCKS * block) / 10);
    (void)state;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_is_zero_and_resident),
        cmocka_unit_test(test_zeroed_refuses_what_overflows),
        cmocka_unit_test(test_warm),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
