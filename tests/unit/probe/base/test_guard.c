/* The guard of mapped files: what is cut is mended and counted, and every other SIGBUS stays as it was. Each
 * case is a child process, for most of them end. */
#include "probe/base/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 8 * 4096, FINE = 77 };

static volatile sig_atomic_t theirs;

static void on_bus(int sig)
{
    theirs++;
}

/* A mapped file; *fd stays open. */
static volatile char *map_file(int *fd)
{
    char name[] = "/tmp/pp-test-guard-XXXXXX";
    *fd = mkstemp(name);
    unlink(name);
    if (*fd < 0 || ftruncate(*fd, BYTES) != 0)
        _exit(1);
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (p == MAP_FAILED)
        _exit(2);
    return p;
}

static void cut_is_mended(void)
{
    int fd;
    volatile char *p = map_file(&fd);
    pp_guard_add((void *)p, BYTES);
    p[0] = p[BYTES - 1] = 1;
    if (ftruncate(fd, 4096) != 0)
        _exit(3);
    p[BYTES - 1] = 2; /* from here on the pages behind the first are our own */
    p[5000] = 3;
    if (p[0] != 1 || p[BYTES - 1] != 2 || p[5000] != 3 || pp_guard_cuts() != 1)
        _exit(4);
    if (!pp_guard_was_cut((void *)(p + 100)) || pp_guard_was_cut(&fd))
        _exit(5);
    if (ftruncate(fd, 0) != 0)
        _exit(6);
    p[0] = 4;
    _exit(p[0] == 4 && p[1] == 0 && pp_guard_cuts() == 1 ? FINE : 7);
}

static void handler_goes_with_the_last(void)
{
    int fd[2];
    struct sigaction now, mine = {.sa_handler = on_bus};
    volatile char *p = map_file(&fd[0]), *q = map_file(&fd[1]);
    sigaction(SIGBUS, &mine, NULL);
    pp_guard_add((void *)p, BYTES);
    pp_guard_add((void *)q, BYTES);
    raise(SIGBUS); /* not ours: passed on */
    pp_guard_remove((void *)p);
    pp_guard_remove((void *)p);
    sigaction(SIGBUS, NULL, &now);
    if (theirs != 1 || now.sa_handler == on_bus)
        _exit(3);
    pp_guard_remove((void *)q);
    sigaction(SIGBUS, NULL, &now);
    _exit(now.sa_handler == on_bus ? FINE : 4);
}

static void ignored_stays_ignored(void)
{
    int fd;
    signal(SIGBUS, SIG_IGN);
    pp_guard_add((void *)map_file(&fd), BYTES);
    raise(SIGBUS);
    _exit(FINE);
}

static void sent_by_itself(void)
{
    int fd;
    pp_guard_add((void *)map_file(&fd), BYTES);
    raise(SIGBUS);
    _exit(FINE);
}

static void of_a_mapping_of_its_own(void)
{
    int fd[2];
    pp_guard_add((void *)map_file(&fd[0]), BYTES);
    volatile char *p = map_file(&fd[1]);
    if (ftruncate(fd[1], 0) != 0)
        _exit(3);
    p[0] = 1;
    _exit(FINE);
}

static int status_of(void (*body)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGBUS, SIG_DFL); /* a sanitizer's */
        body();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void what_is_cut_is_mended(void **state)
{
    assert_int_equal(status_of(cut_is_mended), FINE);
}

static void others_keep_their_sigbus(void **state)
{
    assert_int_equal(status_of(handler_goes_with_the_last), FINE);
    assert_int_equal(status_of(ignored_stays_ignored), FINE);
    assert_int_equal(status_of(sent_by_itself), 128 + SIGBUS);
    assert_int_equal(status_of(of_a_mapping_of_its_own), 128 + SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_cut_is_mended),
        cmocka_unit_test(others_keep_their_sigbus),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
