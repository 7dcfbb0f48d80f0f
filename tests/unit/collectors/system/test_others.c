/* CPU time and page faults of a program's processes while they come and go. */
#include "collectors/system/others.h"

#include "probe/base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static void use_cpu(uint64_t ns)
{
    while (pp_clock_of(CLOCK_PROCESS_CPUTIME_ID) < ns)
        ;
}

/* A child that uses so much, says so, and ends when it is told. */
struct child {
    pid_t pid;
    int said, tell;
};

static struct child start(uint64_t ns)
{
    int said[2], tell[2];
    char c = 0;
    assert_int_equal(pipe(said) | pipe(tell), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(tell[1]);
        use_cpu(ns);
        c = write(said[1], "x", 1) == 1;
        c = read(tell[0], &c, 1) == 0;
        _exit(0);
    }
    close(said[1]);
    close(tell[0]);
    assert_int_equal(read(said[0], &c, 1), 1);
    return (struct child){pid, said[0], tell[1]};
}

static void end(struct child *c)
{
    close(c->tell);
    close(c->said);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* By those that record. */
static uint64_t used(struct pp_others *o, const int64_t *pid, size_t n)
{
    return pp_others_cpu(o, pid, n).recording_ns;
}

/* More of them in turn than can be kept at one time: each counts, with what was last read of it. */
static void those_that_ended_count(void **state)
{
    static struct pp_others o;
    uint64_t before = 0;
    (void)state;
    pp_others_begin(&o);
    for (int i = 0; i < PP_OTHERS_MAX + 20; i++) {
        struct child c = start(MS);
        int64_t pid = c.pid;
        uint64_t now = used(&o, &pid, 1);
        assert_true(now >= before + MS);
        before = now;
        end(&c);
    }
    assert_true(used(&o, NULL, 0) >= (PP_OTHERS_MAX + 20) * MS);
    assert_int_equal(o.n, 0);
    assert_int_equal(pp_others_cpu(&o, NULL, 0).ended, 1);
    struct child c = start(MS);
    int64_t pid = c.pid;
    assert_int_equal(pp_others_cpu(&o, &pid, 1).ended, 0); /* one more has begun */
    end(&c);
}

/* The workers ended before they were read: their time is in that of the trainer. */
static void what_a_parent_waited_for_counts_once(void **state)
{
    static struct pp_others o;
    int said[2];
    char c;
    (void)state;
    pp_others_begin(&o);
    assert_int_equal(pipe(said), 0);
    pid_t trainer = fork();
    if (trainer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < 4; i++) {
            pid_t worker = fork();
            if (worker == 0) {
                use_cpu(50 * MS);
                _exit(0);
            }
            waitpid(worker, NULL, 0);
        }
        c = write(said[1], "x", 1) == 1;
        pause();
        _exit(0);
    }
    assert_int_equal(read(said[0], &c, 1), 1);
    int64_t pid = trainer;
    uint64_t now = used(&o, &pid, 1);
    assert_in_range(now, 160 * MS, 400 * MS); /* ticks of 10 ms, and the trainer's own */
    kill(trainer, SIGKILL);
    waitpid(trainer, NULL, 0);
    assert_true(used(&o, NULL, 0) == now);
    assert_true(used(&o, &pid, 1) == now);
}

/* A worker that was read, and then waited for by a trainer that was read: it is the same time. */
static void a_worker_is_not_counted_twice(void **state)
{
    static struct pp_others o;
    int to[2], from[2];
    char c = 'x';
    pid_t worker = 0;
    (void)state;
    pp_others_begin(&o);
    assert_int_equal(pipe(to) | pipe(from), 0);
    pid_t trainer = fork();
    if (trainer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((worker = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            use_cpu(300 * MS);
            c = write(from[1], &worker, sizeof(worker)) == sizeof(worker);
            pause();
            _exit(0);
        }
        c = write(from[1], &worker, sizeof(worker)) == sizeof(worker);
        c = read(to[0], &c, 1) == 1; /* both have been read */
        kill(worker, SIGKILL);
        waitpid(worker, NULL, 0);
        c = write(from[1], &worker, sizeof(worker)) == sizeof(worker);
        pause();
        _exit(0);
    }
    pid_t other = 0;
    for (int i = 0; i < 2; i++) { /* the worker says 0 when it is done */
        assert_int_equal(read(from[0], &other, sizeof(other)), sizeof(other));
        worker = other ? other : worker;
    }
    int64_t both[2] = {trainer, worker};
    uint64_t before = used(&o, both, 2);
    assert_in_range(before, 300 * MS, 450 * MS);
    assert_int_equal(write(to[1], "x", 1), 1);
    assert_int_equal(read(from[0], &other, sizeof(other)), sizeof(other));
    uint64_t after = used(&o, both, 1);
    assert_in_range(after, before, before + 60 * MS);
    assert_int_equal(o.n, 1);
    kill(trainer, SIGKILL);
    waitpid(trainer, NULL, 0);
}

/* A job that is attached to has worked for a while. */
static void what_was_used_before_does_not_count(void **state)
{
    static struct pp_others o;
    (void)state;
    struct child c = start(200 * MS);
    nanosleep(&(struct timespec){.tv_nsec = 600 * MS}, NULL);
    pp_others_begin(&o);
    int64_t pid = c.pid;
    assert_true(used(&o, &pid, 1) < 20 * MS);
    end(&c);
    assert_true(used(&o, NULL, 0) < 20 * MS);
}

/* A trainer that records, with a subprocess that does not: each has its own time, also when the subprocess
 * has been waited for. */
static void a_subprocess_is_apart(void **state)
{
    static struct pp_others o;
    int to[2], from[2];
    char c = 'x';
    (void)state;
    pp_others_begin(&o);
    assert_int_equal(pipe(to) | pipe(from), 0);
    pid_t trainer = fork();
    if (trainer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pid_t helper = fork();
        if (helper == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            use_cpu(300 * MS);
            c = write(from[1], "x", 1) == 1;
            pause();
            _exit(0);
        }
        c = read(to[0], &c, 1) == 1; /* both have been read */
        kill(helper, SIGKILL);
        waitpid(helper, NULL, 0);
        use_cpu(100 * MS);
        c = write(from[1], "x", 1) == 1;
        pause();
        _exit(0);
    }
    assert_int_equal(read(from[0], &c, 1), 1);
    int64_t pid = trainer;
    struct pp_others_cpu before = pp_others_cpu(&o, &pid, 1);
    assert_in_range(before.subprocesses_ns, 300 * MS, 400 * MS);
    assert_true(before.recording_ns < 50 * MS);
    assert_int_equal(write(to[1], "x", 1), 1);
    assert_int_equal(read(from[0], &c, 1), 1);
    struct pp_others_cpu after = pp_others_cpu(&o, &pid, 1);
    assert_true(after.subprocesses_ns == before.subprocesses_ns);
    assert_in_range(after.recording_ns, 100 * MS, 200 * MS);
    kill(trainer, SIGKILL);
    waitpid(trainer, NULL, 0);
    after = pp_others_cpu(&o, &pid, 1);
    assert_true(after.subprocesses_ns == before.subprocesses_ns);
    assert_int_equal(o.n, 0);
}

/* A trainer with one worker that has used 200 ms; both wait. */
static void start_both(int64_t both[2])
{
    int said[2];
    pid_t worker = 0;
    assert_int_equal(pipe(said), 0);
    both[0] = fork();
    if (both[0] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((worker = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            use_cpu(200 * MS);
            worker = getpid();
            _exit(write(said[1], &worker, sizeof(worker)) == sizeof(worker) ? pause() : 1);
        }
        pause();
        _exit(0);
    }
    assert_int_equal(read(said[0], &worker, sizeof(worker)), sizeof(worker));
    both[1] = worker;
}

static void end_both(const int64_t both[2])
{
    kill((pid_t)both[1], SIGKILL);
    kill((pid_t)both[0], SIGKILL);
    waitpid((pid_t)both[0], NULL, 0);
}

/* A worker that was seen before it recorded: its time is that of one that records. */
static void a_subprocess_may_come_to_record(void **state)
{
    static struct pp_others o;
    int64_t both[2];
    (void)state;
    pp_others_begin(&o);
    start_both(both);
    assert_true(pp_others_cpu(&o, both, 1).subprocesses_ns >= 200 * MS);
    struct pp_others_cpu now = pp_others_cpu(&o, both, 2);
    assert_in_range(now.recording_ns, 200 * MS, 300 * MS);
    assert_true(now.subprocesses_ns >= 200 * MS); /* never less than before */
    end_both(both);
}

/* At the end of an epoch a worker has ended its recording before it ends itself. */
static void a_worker_that_ends_is_no_subprocess(void **state)
{
    static struct pp_others o;
    int64_t both[2];
    (void)state;
    pp_others_begin(&o);
    start_both(both);
    for (size_t recording = 2; recording > 0; recording--) {
        struct pp_others_cpu now = pp_others_cpu(&o, both, recording);
        assert_in_range(now.recording_ns, 200 * MS, 300 * MS);
        assert_int_equal(now.subprocesses_ns, 0);
    }
    end_both(both);
}

/* Touches the pages of a file that is not in memory. Major faults of this process, then. */
static uint64_t touch_a_file(void)
{
    enum { PAGES = 64 };
    char path[] = "faults-XXXXXX", page[4096] = "x";
    struct rusage used;
    int fd = mkstemp(path), ok = fd >= 0;
    for (int i = 0; i < PAGES; i++)
        ok &= write(fd, page, sizeof(page)) == (ssize_t)sizeof(page);
    unlink(path);
    ok &= fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    volatile const char *at = ok ? mmap(NULL, PAGES * sizeof(page), PROT_READ, MAP_PRIVATE, fd, 0)
                                 : MAP_FAILED;
    for (size_t i = 0; at != MAP_FAILED && i < PAGES; i++)
        (void)at[i * sizeof(page)];
    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_majflt : 0;
}

/* Of a process that records, also once it has ended. */
static void page_faults_count(void **state)
{
    static struct pp_others o;
    uint64_t faults;
    int said[2];
    (void)state;
    pp_others_begin(&o);
    assert_int_equal(pipe(said), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        faults = touch_a_file();
        faults = write(said[1], &faults, sizeof(faults)) == (ssize_t)sizeof(faults);
        pause();
        _exit(0);
    }
    int64_t pid = child;
    assert_int_equal(read(said[0], &faults, sizeof(faults)), sizeof(faults));
    assert_int_equal(pp_others_cpu(&o, &pid, 1).major_faults, faults);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(pp_others_cpu(&o, &pid, 1).major_faults, faults);
    if (!faults) {
        print_message("no page fault of a file waits for storage here\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_faults_count),
        cmocka_unit_test(those_that_ended_count),
        cmocka_unit_test(what_a_parent_waited_for_counts_once),
        cmocka_unit_test(a_worker_is_not_counted_twice),
        cmocka_unit_test(what_was_used_before_does_not_count),
        cmocka_unit_test(a_subprocess_is_apart),
        cmocka_unit_test(a_subprocess_may_come_to_record),
        cmocka_unit_test(a_worker_that_ends_is_no_subprocess),
    };
    return cmocka_run_group_tests_name("others", tests, NULL, NULL);
}
