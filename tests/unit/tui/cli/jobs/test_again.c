/* Children and interrupts: what a child is given, how it ends, and what a signal to us does to it. */
#include "probe/base/io.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Exit code and last line of a shell's script. */
static int code_of(const char *script, enum again_group group, char *line, size_t size)
{
    char path[] = "/tmp/test_again.XXXXXX";
    int log = mkstemp(path);
    pid_t pid;
    struct again a = {.program = "sh", .in = AGAIN_NULL, .out = log, .errors = log, .group = group};
    again_add(&a, "sh", "-c", script, NULL);
    assert_int_equal(again_start(&a, &pid), 0);
    int code = again_code(again_wait(pid));
    again_last_line(path, line, size);
    close(log);
    unlink(path);
    return code;
}

static void ends_are_told_apart(void **state)
{
    char line[80];
    pid_t pid;
    struct again a = {.program = "/no/such/program"};
    assert_int_equal(code_of("exit 3", AGAIN_WITH_US, line, sizeof(line)), 3);
    assert_string_equal(line, "");
    assert_int_equal(code_of("kill -TERM $$", AGAIN_OWN_GROUP, line, sizeof(line)), 128 + SIGTERM);
    assert_int_equal(code_of("echo one; echo two >&2; echo '  '", AGAIN_OWN_SESSION, line, sizeof(line)), 0);
    assert_string_equal(line, "two");
    again_add(&a, "x", NULL);
    assert_int_equal(again_start(&a, &pid), ENOENT);
    assert_int_equal(pid, 0);
    a.failed = ENOSPC; /* the caller's own */
    assert_int_equal(again_start(&a, &pid), ENOSPC);
    assert_int_equal(again_last_line("/no/such/log", line, sizeof(line)), 0);
}

static void groups_are_as_asked(void **state)
{
    static const char own[] = "read -r pid name state parent group session rest </proc/self/stat; "
                              "echo $((group == $$)) $((session == $$))";
    char line[80];
    code_of(own, AGAIN_WITH_US, line, sizeof(line));
    assert_string_equal(line, "0 0");
    code_of(own, AGAIN_OWN_GROUP, line, sizeof(line));
    assert_string_equal(line, "1 0");
    code_of(own, AGAIN_OWN_SESSION, line, sizeof(line));
    assert_string_equal(line, "1 1");
}

/* What we ignore for ourselves is not ignored by a child, and nothing is blocked in it. */
static void a_child_has_its_signals(void **state)
{
    char line[80];
    sigset_t all;
    pp_io_ignore_file_size_signal();
    interrupt_ignore_pipe();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int group = AGAIN_WITH_US; group <= AGAIN_OWN_SESSION; group++) {
        assert_int_equal(code_of("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2 | tr '\\n' ' '", group,
                                 line, sizeof(line)),
                         0);
        unsigned long long blocked = 1, ignored = ~0ull;
        assert_int_equal(sscanf(line, "%llx %llx", &blocked, &ignored), 2);
        assert_true(blocked == 0);
        assert_true((ignored & (1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1))) == 0);
    }
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

static int hooked;

static void hook(int sig)
{
    hooked = sig;
}

static void an_interrupt_is_noted_and_passed_on(void **state)
{
    struct pp_err err;
    struct again a = {.program = "sleep"};
    pid_t pid;
    interrupt_catch(INTERRUPT_WAKES, hook);
    assert_int_equal(interrupt_status(&err), PP_OK);
    again_add(&a, "sleep", "60", NULL);
    assert_int_equal(again_start(&a, &pid), 0);
    interrupt_passes_to(pid);
    raise(SIGINT); /* a terminal would send it to the child as well */
    assert_int_equal(interrupt_asked(), SIGINT);
    assert_int_equal(hooked, SIGINT);
    assert_false(again_has_ended(&pid, NULL));
    raise(SIGTERM);
    assert_int_equal(again_code(again_wait(pid)), 128 + SIGTERM);
    interrupt_passes_no_more();
    assert_int_equal(interrupt_status(&err), PP_E_INTERRUPTED);
    assert_string_equal(err.text, "stopped by SIGTERM");
    interrupt_catch(INTERRUPT_BESIDE, NULL);
    raise(SIGINT);
    assert_int_equal(interrupt_asked(), 0);
}

static void *till_told(void *fd)
{
    char byte;
    (void)!read(*(int *)fd, &byte, 1);
    _exit(0);
}

/* Its first thread has ended: state Z, but its files and locks are held until its last thread ends. */
static void a_process_ends_with_its_last_thread(void **state)
{
    int told[2], parent = 0, group = 0;
    char text[512] = "";
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t other;
        close(told[1]);
        pthread_create(&other, NULL, till_told, &told[0]);
        pthread_exit(NULL);
    }
    for (int i = 0; i < 5000 && !strstr(text, ") Z "); i++, usleep(1000))
        pp_io_text(text, sizeof(text), "/proc/%d/stat", (int)pid);
    assert_non_null(strstr(text, ") Z "));
    assert_true(job_stat(pid, &parent, &group));
    assert_int_equal(parent, getpid());
    assert_int_equal(group, getpgrp());
    close(told[0]);
    close(told[1]);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    assert_false(job_stat(pid, &parent, &group));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(job_stat(pid, &parent, &group));
}

static void nohup_stays(void **state)
{
    signal(SIGHUP, SIG_IGN);
    interrupt_catch(0, NULL);
    raise(SIGHUP);
    assert_int_equal(interrupt_asked(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(groups_are_as_asked),
        cmocka_unit_test(a_child_has_its_signals),
        cmocka_unit_test(an_interrupt_is_noted_and_passed_on),
        cmocka_unit_test(a_process_ends_with_its_last_thread),
        cmocka_unit_test(nohup_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
