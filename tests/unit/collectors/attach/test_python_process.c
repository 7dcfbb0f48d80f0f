/* Requests to a Python in another process, against a child of this program that looks like one: the table at
 * the beginning of .PyRuntime, an interpreter, its main thread. */
#include "collectors/attach/python_process.h"
#include "collectors/attach/python_runtime.h"
#include "probe/base/err.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct thread {
    char before[40];
    uint64_t breaker;
    char between[24];
    struct {
        int32_t pending;
        char script[512];
    } support;
};

struct interpreter {
    char before[16];
    uint64_t id;
    struct interpreter *next;
    struct thread *main;
    int32_t enabled;
};

static struct {
    uint64_t table[128];
    struct interpreter *head;
} runtime __attribute__((section(".PyRuntime"), used)) = {.table = {1}};

static struct thread main_thread;
static struct interpreter main_interpreter, newer;

enum { IN_314 = 89, IN_315 = 105 };

static void make(unsigned minor, int group)
{
    uint64_t *t = runtime.table;
    memset(&runtime, 0, sizeof(runtime));
    memset(&main_thread, 0, sizeof(main_thread));
    memcpy(t, "xdebugpy", 8);
    t[1] = 3u << 24 | (uint64_t)minor << 16 | 0x1f0;
    t[5] = offsetof(__typeof__(runtime), head);
    t[7] = offsetof(struct interpreter, id);
    t[8] = offsetof(struct interpreter, next);
    t[10] = offsetof(struct interpreter, main);
    t[group] = offsetof(struct thread, breaker);
    t[group + 1] = offsetof(struct thread, support);
    t[group + 2] = offsetof(struct interpreter, enabled);
    t[group + 3] = 0;
    t[group + 4] = 4;
    t[group + 5] = sizeof(main_thread.support.script);
    runtime.head = &newer;
    newer = (struct interpreter){.id = 1, .next = &main_interpreter};
    main_interpreter = (struct interpreter){.main = &main_thread, .enabled = 1};
    main_thread.breaker = 0x700; /* its upper bits are a version, and stay */
}

/* ---- children ---- */

static pid_t begin(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* As an interpreter does: when it is told to look, it takes the flag away and does what the path says. */
static pid_t begin_answering(const char *expected)
{
    pid_t pid = fork();
    if (pid == 0) {
        volatile struct thread *t = &main_thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (t->breaker == 0x700)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        int right = t->support.pending == 1 && t->breaker == 0x720 &&
                    strcmp(main_thread.support.script, expected) == 0;
        t->support.pending = 0;
        _exit(right ? 0 : 1);
    }
    assert_true(pid > 0);
    return pid;
}

static void a_request_arrives(void **state)
{
    static const struct {
        unsigned minor;
        int group;
    } cases[] = {{14, IN_314}, {15, IN_315}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pp_python p;
        struct pp_err err;
        int status = -1;
        make(cases[i].minor, cases[i].group);
        pid_t pid = begin_answering("/a/script.py");
        assert_int_equal(pp_python_find(pid, &p, &err), PP_OK);
        assert_int_equal(p.minor, cases[i].minor);
        assert_int_equal(pp_python_ask(&p, "/a/script.py", &err), PP_OK);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(pp_python_is_asked(&p), 0);
        assert_int_equal(pp_python_ask(&p, "/a/script.py", &err), PP_E_NOT_FOUND);
        pp_python_withdraw(&p);
    }
}

static void a_request_is_taken_back(void **state)
{
    struct pp_python p;
    struct pp_err err;
    char path[600];
    (void)state;
    make(14, IN_314);
    pid_t pid = begin();
    assert_int_equal(pp_python_find(pid, &p, &err), PP_OK);
    memset(path, 'a', sizeof(path));
    path[512] = '\0'; /* 512 bytes, and no room for the end */
    assert_int_equal(pp_python_ask(&p, path, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "511 bytes"));
    assert_int_equal(pp_python_is_asked(&p), 0);
    path[511] = '\0';
    assert_int_equal(pp_python_ask(&p, path, &err), PP_OK);
    assert_int_equal(pp_python_is_asked(&p), 1);
    assert_int_equal(pp_python_ask(&p, "/b.py", &err), PP_E_SYSTEM);
    assert_non_null(strstr(err.text, "another debugger"));
    pp_python_withdraw(&p);
    assert_int_equal(pp_python_is_asked(&p), 0);
    assert_int_equal(pp_python_ask(&p, "/b.py", &err), PP_OK);
    end(pid);
}

/* ---- what is refused, with which words ---- */

static void no_cookie(void)
{
    memset(runtime.table, 0, 8);
}
static void older(void)
{
    runtime.table[1] = 0x030d00f0;
}
static void newer_one(void)
{
    runtime.table[1] = 0x031000f0;
}
static void another_major(void)
{
    runtime.table[1] = 0x040e00f0;
}
static void free_threaded(void)
{
    runtime.table[2] = 1;
}
static void shifted(void)
{
    memmove(&runtime.table[IN_314 + 1], &runtime.table[IN_314], 6 * sizeof(uint64_t));
}
static void switched_off(void)
{
    main_interpreter.enabled = 0;
}
static void starting(void)
{
    runtime.head = NULL;
}
static void lost(void)
{
    runtime.head = (struct interpreter *)16;
}
static void in_a_ring(void)
{
    newer.next = &newer;
}
static void without_thread(void)
{
    main_interpreter.main = NULL;
}

static void others_are_refused(void **state)
{
    static const struct {
        void (*change)(void);
        const char *says;
    } cases[] = {
        {no_cookie, "runs a Python older than 3.13, and only Python 3.14 and later take hooks"},
        {older, "runs Python 3.13, and only Python 3.14"},
        {newer_one, "runs Python 3.16, which this pipeprobe does not know"},
        {another_major, "runs Python 4.14, which this pipeprobe does not know"},
        {free_threaded, "runs a free-threaded Python 3.14, which cannot load the hooks"},
        {shifted, "laid out otherwise than its release"},
        {switched_off, "has remote debugging switched off: by PYTHON_DISABLE_REMOTE_DEBUG"},
        {starting, "is starting or ending"},
        {lost, "is starting or ending"},
        {in_a_ring, "is starting or ending"},
        {without_thread, "is starting or ending"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_python p;
        struct pp_err err;
        make(14, IN_314);
        cases[i].change();
        pid_t pid = begin();
        assert_int_equal(pp_python_find(pid, &p, &err), PP_E_UNSUPPORTED);
        end(pid);
        if (!strstr(err.text, cases[i].says))
            print_error("%s\n", err.text);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

/* A process that may not read others' memory is refused by the kernel, here as a container's filter does it.
 */
static void missing_rights_are_said(void **state)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDWR, 0, 1), /* as /proc/PID/mem is opened */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    int status = -1;
    (void)state;
    make(14, IN_314);
    pid_t pid = begin(), asker = fork();
    if (asker == 0) {
        struct pp_python p;
        struct pp_err err;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(77);
        pp_status st = pp_python_find(pid, &p, &err);
        _exit(st == PP_E_ACCESS && strstr(err.text, "may not be written from here") ? 0 : 1);
    }
    waitpid(asker, &status, 0);
    end(pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        puts("# skip: no filter of system calls can be set here");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_process_without_python_is_said(void **state)
{
    struct pp_python p;
    struct pp_err err;
    pid_t pid = fork();
    (void)state;
    if (pid == 0) {
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    pp_status st = PP_OK;
    for (int i = 0; i < 2000 && (i == 0 || st == PP_OK); i++) { /* until it is sleep */
        st = pp_python_find(pid, &p, &err);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_int_not_equal(st, PP_OK);
    end(pid);
    assert_int_equal(pp_python_find(pid, &p, &err), PP_E_NOT_FOUND);
}

/* ---- a process that becomes another program ---- */

/* This program as "PATH victim IN OUT NEXT" looks like a Python, says with which rights it runs, and becomes
 * NEXT when it is told so. Its addresses are the same in every process. */
static int be_victim(char **argv)
{
    int in = atoi(argv[2]), out = atoi(argv[3]);
    uint32_t user = geteuid();
    char told;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    make(14, IN_314);
    if (write(out, &user, sizeof(user)) == sizeof(user) && read(in, &told, 1) == 1 && argv[4][0])
        execl(argv[4], argv[4], "victim", argv[2], argv[3], argv[4], (char *)NULL);
    return 1;
}

struct victim {
    pid_t pid;
    int in, out; /* to and from it */
};

static uint32_t await_victim(const struct victim *v)
{
    uint32_t user = UINT32_MAX;
    assert_int_equal(read(v->out, &user, sizeof(user)), sizeof(user));
    return user;
}

/* As user, of whom it becomes next. */
static struct victim begin_victim(uid_t user, const char *next)
{
    int in[2], out[2];
    char in_word[16], out_word[16];
    assert_int_equal(pipe(in) | pipe(out), 0);
    snprintf(in_word, sizeof(in_word), "%d", in[0]);
    snprintf(out_word, sizeof(out_word), "%d", out[1]);
    pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        close(out[0]);
        if ((user == geteuid() || setuid(user) == 0) && personality(ADDR_NO_RANDOMIZE) >= 0)
            execl(next, next, "victim", in_word, out_word, next, (char *)NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    close(in[0]);
    close(out[1]);
    return (struct victim){pid, in[1], out[0]};
}

static void end_victim(const struct victim *v)
{
    end(v->pid);
    close(v->in);
    close(v->out);
}

/* It keeps its number, its start time, and here the addresses too: what was found is of the program before.
 */
static void a_program_executed_since_is_not_written_into(void **state)
{
    struct pp_python before, after;
    struct pp_err err;
    (void)state;
    struct victim v = begin_victim(geteuid(), "/proc/self/exe");
    await_victim(&v);
    assert_int_equal(pp_python_find(v.pid, &before, &err), PP_OK);
    assert_int_equal(write(v.in, "x", 1), 1);
    await_victim(&v);
    assert_int_not_equal(pp_python_ask(&before, "/a/script.py", &err), PP_OK);
    assert_int_equal(pp_python_find(v.pid, &after, &err), PP_OK);
    assert_true(before.script == after.script && before.started == after.started);
    assert_int_equal(pp_python_is_asked(&after), 0);
    assert_int_equal(pp_python_ask(&after, "/a/script.py", &err), PP_OK);
    pp_python_close(&before);
    pp_python_close(&after);
    end_victim(&v);
}

/* Root is asked to attach to a user's job, which then executes a set-user-ID program of root. */
static void a_set_user_id_program_is_not_entered(void **state)
{
    enum { NOBODY = 65534 };
    char dir[] = "/var/tmp/pp-victim-XXXXXX", path[64], command[256];
    struct pp_python before, after;
    struct pp_err err;
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/python", dir);
    snprintf(command, sizeof(command), "cp /proc/%d/exe %s && chmod 755 %s %s", getpid(), path, dir, path);
    assert_int_equal(system(command), 0);
    struct victim v = begin_victim(NOBODY, path);
    assert_int_equal(await_victim(&v), NOBODY);
    if (pp_python_find(v.pid, &before, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(before.user, NOBODY);
    assert_int_equal(chmod(path, 04755), 0);
    assert_int_equal(write(v.in, "x", 1), 1);
    uint32_t user = await_victim(&v);
    pp_status asked = pp_python_ask(&before, "/a/script.py", &err),
              found = pp_python_find(v.pid, &after, &err);
    pp_python_close(&before);
    pp_python_close(&after);
    end_victim(&v);
    unlink(path);
    rmdir(dir);
    if (user != 0) {
        puts("# skip: set-user-ID programs have no effect here");
        skip();
    }
    assert_int_not_equal(asked, PP_OK);
    assert_int_equal(found, PP_E_ACCESS);
    assert_non_null(strstr(err.text, "runs with the rights of two users, and is not entered"));
}

/* ---- names ---- */

static void mappings_of_python_are_found(void **state)
{
    static const struct {
        const char *line, *path;
        uint64_t start;
    } cases[] = {
        {"55d0c0a00000-55d0c0a01000 r--p 00000000 fe:01 77 /usr/bin/python3.14\n", "/usr/bin/python3.14",
         0x55d0c0a00000},
        {"7f0000000000-7f0000001000 r--p 00000000 fe:01 7    /a b/libpython3.15.so.1.0\n",
         "/a b/libpython3.15.so.1.0", 0x7f0000000000},
        {"7f0000000000-7f0000001000 r-xp 00001000 fe:01 7 /usr/bin/python3.14\n", NULL,
         0}, /* not the first */
        {"7f0000000000-7f0000001000 r--p 00000000 fe:01 7 /usr/lib/python3/x.so\n", NULL, 0},
        {"7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n", NULL, 0},
        {"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]\n", NULL, 0},
        {"python", NULL, 0},
        {"", NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        uint64_t start = 0;
        snprintf(line, sizeof(line), "%s", cases[i].line);
        const char *path = pp_python_map_line(line, &start);
        if (cases[i].path)
            assert_string_equal(path, cases[i].path);
        else
            assert_null(path);
        assert_int_equal(start, cases[i].start);
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "victim") == 0)
        return be_victim(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_arrives),
        cmocka_unit_test(a_request_is_taken_back),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(missing_rights_are_said),
        cmocka_unit_test(a_process_without_python_is_said),
        cmocka_unit_test(a_program_executed_since_is_not_written_into),
        cmocka_unit_test(a_set_user_id_program_is_not_entered),
        cmocka_unit_test(mappings_of_python_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
