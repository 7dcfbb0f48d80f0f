/* Running a foreign program: what it is told, what comes back, and that signals reach it. */
#include "collectors/attach/launch.h"
#include "probe/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/pp-launch-XXXXXX";

static char *in_dir(const char *name)
{
    static char path[64];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void make_file(const char *name, const char *text, mode_t mode)
{
    FILE *out = fopen(in_dir(name), "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(in_dir(name), mode), 0);
}

static int run_env(char *const *argv, const char *const *env)
{
    struct pp_launch l;
    struct pp_err err;
    pp_launch_begin(&l);
    int code = pp_launch_start(&l, argv, env, &err);
    if (!code)
        code = pp_launch_wait(&l);
    pp_launch_end(&l);
    return code;
}

static int run_sh(const char *script)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    return run_env(argv, NULL);
}

static void exit_statuses(void **state)
{
    assert_int_equal(run_sh("exit 0"), 0);
    assert_int_equal(run_sh("exit 7"), 7);
    assert_int_equal(run_sh("exit 255"), 255);
    assert_int_equal(run_sh("kill -9 $$"), 128 + SIGKILL);
    assert_int_equal(run_sh("kill -15 $$"), 128 + SIGTERM);
    assert_int_equal(run_sh("kill -11 $$"), 128 + SIGSEGV);
}

static void finding(void **state)
{
    static const struct {
        const char *program;
        int code;
        const char *says;
    } rows[] = {
        {"sh", 0, ""},
        {"/bin/sh", 0, ""},
        {"no-such-program-here", 127, "in PATH"},
        {"/no/such/program", 127, "program not found"},
        {"", 127, "program not found"},
        {"/etc/passwd", 126, "cannot be executed"},
        {"/tmp", 126, "directory"},
        {"/etc/passwd/x", 127, "program not found"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err;
        pp_err_clear(&err);
        if (pp_launch_find(rows[i].program, &err) != rows[i].code || !strstr(err.text, rows[i].says))
            fail_msg("%s: \"%s\"", rows[i].program, err.text);
    }
    char *saved = strdup(getenv("PATH"));
    struct pp_err err;
    make_file("plain", "program not found", 0644);
    setenv("PATH", dir, 1);
    assert_int_equal(pp_launch_find("plain", &err), 126);
    assert_int_equal(pp_launch_find("sh", &err), 127);
    setenv("PATH", saved, 1);
    free(saved);
}

static void starting_fails_with_a_code(void **state)
{
    char *missing[] = {(char *)"/no/such/program", NULL}, *plain[] = {(char *)"/etc/passwd", NULL};
    assert_int_equal(run_env(missing, NULL), 127);
    assert_int_equal(run_env(plain, NULL), 126);
    make_file("bad-interpreter", "#!/no/such/interpreter\n", 0755);
    char *bad[] = {in_dir("bad-interpreter"), NULL};
    assert_int_equal(run_env(bad, NULL), 127);
    make_file("no-interpreter", "exit $1\n", 0755);
    char *script[] = {in_dir("no-interpreter"), (char *)"9", NULL};
    assert_int_equal(run_env(script, NULL), 9);
}

static void the_environment_is_ours_with_additions(void **state)
{
    static const char *const env[] = {"PP_LAUNCH_A=new", "PP_LAUNCH_B=two words=3", NULL};
    char *argv[] = {
        (char *)"sh", (char *)"-c",
        (char
             *)"[ \"$PP_LAUNCH_A\" = new ] && [ \"$PP_LAUNCH_B\" = 'two words=3' ] && [ \"$PP_LAUNCH_AB\" = kept ]",
        NULL};
    setenv("PP_LAUNCH_A", "old", 1);
    setenv("PP_LAUNCH_AB", "kept", 1);
    assert_int_equal(run_env(argv, env), 0);
    assert_string_equal(getenv("PP_LAUNCH_A"), "old");
}

/* Passed on: what somebody sends to us alone. */
static void signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct pp_launch l;
        struct pp_err err;
        char script[160];
        int status;
        snprintf(script, sizeof(script), "trap 'exit 42' %d; : >%s; while :; do sleep 0.01; done", signals[i],
                 in_dir("ready"));
        char *argv[] = {(char *)"sh", (char *)"-c", script, NULL};
        unlink(in_dir("ready"));
        pp_launch_begin(&l);
        assert_int_equal(pp_launch_start(&l, argv, NULL, &err), 0);
        pid_t sender = fork();
        if (sender == 0) {
            while (access(in_dir("ready"), F_OK) != 0)
                usleep(1000);
            _exit(kill(getppid(), signals[i]) != 0);
        }
        assert_int_equal(pp_launch_wait(&l), 42);
        int is_the_programs = signals[i] == SIGUSR1 || signals[i] == SIGUSR2;
        assert_int_equal(l.signalled, is_the_programs ? 0 : signals[i]);
        assert_int_equal(l.killed_by, 0);
        pp_launch_end(&l);
        assert_int_equal(waitpid(sender, &status, 0), sender);
        assert_int_equal(status, 0);
    }
}

static void masks_and_handlers_are_as_before(void **state)
{
    sigset_t before, after;
    struct sigaction child;
    signal(SIGCHLD, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(run_sh("exit 3"), 3); /* although our parent ignored SIGCHLD */
    /* and so does the program: bit 16 of what it ignores */
    char *ignores[] = {(char *)"grep", (char *)"-Eq", (char *)"^SigIgn:.*[13579bdf][0-9a-f]{4}$",
                       (char *)"/proc/self/status", NULL};
    assert_int_equal(run_env(ignores, NULL), 0);
    char *absent[] = {(char *)"/no/such/program", NULL};
    assert_int_equal(run_env(absent, NULL), PP_LAUNCH_NOT_FOUND);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_memory_equal(&before, &after, sizeof(unsigned long));
    sigaction(SIGCHLD, NULL, &child);
    assert_ptr_equal(child.sa_handler, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    /* the program's mask is ours of before: a blocked SIGTERM would let it sleep */
    assert_int_equal(run_sh("kill -TERM $$; sleep 5"), 128 + SIGTERM);
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(finding),
        cmocka_unit_test(starting_fails_with_a_code),
        cmocka_unit_test(the_environment_is_ours_with_additions),
        cmocka_unit_test(signals_are_passed_on),
        cmocka_unit_test(masks_and_handlers_are_as_before),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
