/* What /proc says of a process: texts of other programs, real and hostile; and this process itself. */
#include "collectors/attach/watch.h"
#include "probe/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void stat_is_read(void **state)
{
    static const char tail[] = " 7 1 1 0 -1 4194304 100 0 2 0 150 50 0 0 20 0 3 0 98765 1000 10";
    static const struct {
        const char *head, *name;
        char state;
    } cases[] = {
        {"42 (python3) S", "python3", 'S'},
        {"42 (a) R 1 (b) D", "a) R 1 (b", 'D'}, /* a name may hold anything */
        {"42 (with space) Z", "with space", 'Z'},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_watch_look look = {0};
        char text[256];
        strcpy(text, cases[i].head);
        strcat(text, tail);
        assert_int_equal(pp_watch_parse_stat(text, 100, &look), 1);
        assert_int_equal(look.pid, 42);
        assert_int_equal(look.parent, 7);
        assert_int_equal(look.started, 98765);
        assert_string_equal(look.name, cases[i].name);
        assert_int_equal(look.state, cases[i].state);
        assert_true(fabs(look.cpu_s - 2) < 1e-9);
    }
}

static void what_is_no_stat_is_refused(void **state)
{
    static const char *const texts[] = {"", "42", "42 (a", "42 a) S 7", ")42(", "(a) S", "42 (a) S 7 1 1"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pp_watch_look look = {0};
        assert_int_equal(pp_watch_parse_stat(texts[i], 100, &look), 0);
    }
}

#define WORDS(text) text, sizeof(text)
static void children_are_told_apart(void **state)
{
    static const char job[] = "python3\0train.py", server[] = "multiprocessing.forkserver";
    const struct pp_watch_look python = {.name = "python3"}, torch = {.name = "pt_data_worker"};
    (void)state;
    assert_int_equal(pp_watch_kind_of(&python, WORDS(job), WORDS(job)), PP_WATCH_WORKER);
    assert_int_equal(pp_watch_kind_of(&torch, WORDS("x"), WORDS(job)), PP_WATCH_WORKER);
    assert_int_equal(pp_watch_kind_of(&python,
                                      WORDS("python3\0-c\0from multiprocessing.spawn import spawn_main"),
                                      WORDS(job)),
                     PP_WATCH_WORKER);
    assert_int_equal(pp_watch_kind_of(&python,
                                      WORDS("python3\0-c\0from multiprocessing.forkserver import main"),
                                      WORDS(job)),
                     PP_WATCH_SERVER);
    assert_int_equal(pp_watch_kind_of(&python,
                                      WORDS("python3\0-c\0from multiprocessing.forkserver import main"),
                                      WORDS(server)),
                     PP_WATCH_WORKER);
    assert_int_equal(pp_watch_kind_of(&python,
                                      WORDS("python3\0-c\0from multiprocessing.resource_tracker import main"),
                                      WORDS(job)),
                     PP_WATCH_HELPER);
    assert_int_equal(pp_watch_kind_of(&python, WORDS("sh\0-c\0nvidia-smi"), WORDS(job)), PP_WATCH_OTHER);
    assert_int_equal(pp_watch_kind_of(&python, "", 0, "", 0), PP_WATCH_OTHER);
}

static void this_process_is_seen(void **state)
{
    struct pp_watch_look look;
    struct pp_err err;
    char command[4096];
    int64_t child[8], self = getpid();
    int hold[2];
    (void)state;
    assert_int_equal(pp_watch_look(self, &look), 1);
    assert_int_equal(look.parent, getppid());
    assert_true(pp_watch_command(self, command, sizeof(command)) > 0);
    assert_non_null(strstr(command, "test_watch"));
    assert_int_equal(pp_watch_check(self, &err), PP_E_USAGE); /* it is no Python */
    assert_int_equal(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        close(hold[1]);
        _exit((int)read(hold[0], &c, 1));
    }
    close(hold[0]);
    assert_int_equal(pp_watch_children(&self, 1, child, 8), 1);
    assert_int_equal(child[0], pid);
    close(hold[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(pp_watch_check(pid, &err), PP_E_SYSTEM); /* it has ended, and has not been waited for */
    assert_int_equal(pp_watch_children(&self, 1, child, 8), 0);
    waitpid(pid, NULL, 0);
    assert_int_equal(pp_watch_look(pid, &look), 0);
    assert_int_equal(pp_watch_check(pid, &err), PP_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_is_read),
        cmocka_unit_test(what_is_no_stat_is_refused),
        cmocka_unit_test(children_are_told_apart),
        cmocka_unit_test(this_process_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
