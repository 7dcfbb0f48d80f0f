/* What native threads do, by what the kernel says of them: the call that a blocked one is in, and a collector
 * that looks at a process of this test. */
#include "collectors/stacks/process.h"
#include "collectors/stacks/threads.h"
#include "collectors/store/writer.h"
#include "probe/base/clock.h"

#include "tests/support/store_dir.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_call_says_what_a_thread_waits_for(void **state)
{
    int ends[2];
    char text[64];
    static const struct pp_python_runtime python = {.at = 0xffffff80, .size = 0x40}, none = {.at = 0};
    static const struct {
        const char *syscall;
        long number;
        uint64_t ran_ns;
        char does;
    } rows[] = {
        {"running\n", 0, 0, 'R'},        {"-1 0x7ffe 0x7f01\n", 0, 0, 'D'},
        {NULL, SYS_openat, 0, 'r'},      {NULL, SYS_pread64, 0, 'r'},
        {NULL, SYS_futex, 0, 'g'}, /* in the runtime */
        {NULL, SYS_recvfrom, 0, 'n'},    {NULL, SYS_nanosleep, 0, 's'},
        {NULL, SYS_epoll_pwait, 0, 'n'}, {NULL, SYS_epoll_pwait, UINT64_C(2000000000), 'f'},
        {NULL, SYS_sched_yield, 0, 'o'}, {"", 0, 0, 'o'},
        {"nonsense", 0, 0, 'o'},         {"999999 0x0\n", 0, 0, 'o'},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(text, sizeof(text), "%ld 0xffffff9c 0x0 0x0\n", rows[i].number);
        assert_int_equal(pp_thread_blocked_in(getpid(), rows[i].syscall ? rows[i].syscall : text,
                                              rows[i].ran_ns, &python),
                         rows[i].does);
    }
    for (int above = 0; above < 2; above++) { /* no lock of the runtime */
        snprintf(text, sizeof(text), "%ld %s 0x189\n", (long)SYS_futex, above ? "0xffffffc0" : "0xffffff7f");
        assert_int_equal(pp_thread_blocked_in(getpid(), text, 0, &python), 'f');
    }
    assert_int_equal(pipe(ends), 0);
    snprintf(text, sizeof(text), "%ld 0x%x 0x0\n", (long)SYS_read, (unsigned)ends[0]);
    assert_int_equal(pp_thread_blocked_in(getpid(), text, 0, &none), 'p');
    FILE *own = fopen("/proc/self/exe", "r");
    assert_non_null(own);
    snprintf(text, sizeof(text), "%ld 0x%x 0x0\n", (long)SYS_read, (unsigned)fileno(own));
    assert_int_equal(pp_thread_blocked_in(getpid(), text, 0, &none), 'r');
    fclose(own);
    close(ends[0]);
    close(ends[1]);
}

static void *spin(void *arg)
{
    pthread_setname_np(pthread_self(), "spins");
    for (volatile unsigned n = 0;; n++) {
    }
    return arg;
}

/* A process with a thread that computes, one that sleeps, and a child in a pipe. */
static pid_t start_job(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (fork() == 0) {
            int ends[2];
            char byte;
            if (pipe(ends) == 0)
                (void)!read(ends[0], &byte, 1);
            _exit(0);
        }
        pthread_create(&thread, NULL, spin, NULL);
        sleep(60);
        _exit(0);
    }
    return pid;
}

static pid_t job;

static size_t takers(void *ctx, int64_t *pid, size_t max)
{
    (void)ctx;
    pid[0] = job;
    return max > 0 && job ? 1 : 0;
}

static void a_process_is_looked_at(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
    struct pp_collect_opts opts = {.store = s, .takers = takers};
    struct pp_err err = {.code = PP_OK};
    void *looks;
    (void)state;
    job = start_job();
    assert_int_equal(pp_collector_threads.start(&opts, &looks, &err), PP_OK);
    for (int i = 0; i < 15; i++) {
        pp_collector_threads.poll(looks);
        usleep(200000);
    }
    pp_collector_threads.stop(looks);
    char child[64], line[64] = "";
    snprintf(child, sizeof(child), "/proc/%d/task/%d/children", (int)job, (int)job);
    FILE *f = fopen(child, "r");
    if (f) {
        (void)!fgets(line, sizeof(line), f);
        fclose(f);
    }
    if (atoi(line) > 0)
        kill(atoi(line), SIGKILL);
    kill(job, SIGKILL);
    waitpid(job, NULL, 0);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_true(store_query("SELECT count(*) FROM thread_look") >= 10);
    /* ThreadSanitizer has a thread of its own in each process. */
    assert_int_equal(store_query("SELECT count(DISTINCT pid) FROM native_thread"), 2);
    assert_int_equal(store_query("SELECT count(*) FROM native_thread WHERE name = 'spins'"), 1);
#ifndef __SANITIZE_THREAD__
    assert_int_equal(store_query("SELECT count(*) FROM native_thread"), 3);
#endif
    assert_int_equal(store_query("SELECT computes + ready > 0.9 FROM v_native_thread WHERE name = 'spins'"),
                     1);
    assert_int_equal(store_query(
                         "SELECT sum(computes + ready) < 0.5 FROM v_native_thread WHERE name <> 'spins'"),
                     1);
    assert_int_equal(store_query("SELECT value > 0 FROM meta WHERE section = 'threads' AND key = 'looks'"),
                     1);
}

static void no_process_is_no_row(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){.force = 1});
    struct pp_collect_opts opts = {.store = s, .takers = takers};
    struct pp_err err = {.code = PP_OK};
    void *looks;
    (void)state;
    job = 0;
    assert_int_equal(pp_collector_threads.start(&opts, &looks, &err), PP_OK);
    pp_collector_threads.poll(looks);
    usleep(150000);
    pp_collector_threads.stop(looks);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_int_equal(store_query(
                         "SELECT (SELECT count(*) FROM thread_look) + (SELECT count(*) FROM native_thread)"),
                     0);
}

static void a_costly_look_is_taken_less_often(void **state)
{
    const double cpus = fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1);
    struct pp_pace p = pp_pace_begin(20, 0.001, 0);
    (void)state;
    assert_true(p.period_ns == 5e7);
    pp_pace_adapt(&p, UINT64_C(6000000000), (uint64_t)(6e9 * cpus)); /* of the first time: all is new */
    assert_true(p.period_ns == 5e7);
    pp_pace_adapt(&p, UINT64_C(12000000000), (uint64_t)(7e9 * cpus));
    assert_true(p.period_ns > 5e7);
    for (uint64_t t = 18; t < 90; t += 6)
        pp_pace_adapt(&p, t * 1000000000, (uint64_t)(7e9 * cpus));
    assert_true(p.period_ns == 5e7);
    for (double share = 0.001; share < 0.005; share += 0.003) { /* 0.3 % is too much for one of them */
        p = pp_pace_begin(20, share, 0);
        pp_pace_adapt(&p, UINT64_C(6000000000), 1);
        pp_pace_adapt(&p, UINT64_C(12000000000), (uint64_t)(0.003 * 6e9 * cpus));
        assert_int_equal(p.period_ns > 5e7, share < 0.003);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_says_what_a_thread_waits_for),
        STORE_TEST(a_process_is_looked_at),
        STORE_TEST(no_process_is_no_row),
        cmocka_unit_test(a_costly_look_is_taken_less_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
