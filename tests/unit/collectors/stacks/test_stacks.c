/* Stacks of real Python processes, of every version that there is on this machine: names, lines, threads, and
 * what is refused. */
/* # idle */
#include "collectors/stacks/process.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Lines are counted from here. */
static const char script[] = "import os, sys, threading, time\n"                           /* 1 */
                             "class Größe:\n"                                              /* 2 */
                             "    def leaf(self, n):\n"                                    /* 3 */
                             "        s = 0\n"                                             /* 4 */
                             "        for i in range(n):\n"                                /* 5 */
                             "            s ^= i\n"                                        /* 6 */
                             "        return s\n"                                          /* 7 */
                             "def down(n):\n"                                              /* 8 */
                             "    if n:\n"                                                 /* 9 */
                             "        return down(n - 1)\n"                                /* 10 */
                             "    g = Größe()\n"                                           /* 11 */
                             "    while True:\n"                                           /* 12 */
                             "        g.leaf(200)\n"                                       /* 13 */
                             "def pool():\n"                                               /* 14 */
                             "    while True:\n"                                           /* 15 */
                             "        time.sleep(9)\n"                                     /* 16 */
                             "threading.Thread(target=pool, daemon=True).start()\n"        /* 17 */
                             "if len(sys.argv) > 1 and os.fork(): os.wait(); sys.exit()\n" /* 18 */
                             "os.write(1, b'%d\\n' % os.getpid())\n"                       /* 19 */
                             "down(12)\n";                                                 /* 20 */

struct job {
    pid_t pid, python; /* what was started; what says that it runs */
    int out;
};

static struct job start(const char *interpreter, const char *argument)
{
    int pipes[2];
    char line[32] = "";
    size_t n = 0;
    assert_int_equal(pipe(pipes), 0);
    struct job j = {.pid = fork(), .out = pipes[0]};
    if (!j.pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        dup2(pipes[1], 1);
        execl(interpreter, interpreter, "-W", "ignore", "-c", script, argument, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    while (n < sizeof(line) - 1 && read(j.out, line + n, 1) == 1 && line[n] != '\n')
        n++;
    j.python = atoi(line);
    return j;
}

static void end(const struct job *j)
{
    kill(-j->pid, SIGKILL);
    waitpid(j->pid, NULL, 0);
    close(j->out);
}

static struct pp_stack_processes with_room(struct pp_stack_tree *tree)
{
    assert_true(pp_stack_tree_init(tree));
    return (struct pp_stack_processes){.tree = tree,
                                       .room = pp_frames_room_new(),
                                       .session_dir = "/nowhere",
                                       .id_offset = pp_process_id_offset()};
}

/* Looks at it until it is open or refused. */
static struct pp_stack_process *look_at(struct pp_stack_processes *all, int64_t pid)
{
    struct pp_stack_process *p = pp_process_new(pid);
    for (uint64_t i = 0, now = pp_now_ns(); i < 20 && p->state == PP_PROCESS_STARTING; i++) {
        assert_true(pp_process_look(all, p, now + i * UINT64_C(3000000000)));
        usleep(50000);
    }
    return p;
}

static const char *name_of(const struct pp_stack_tree *tree, const struct pp_frame *f)
{
    return f->function ? tree->functions[f->function - 1].function : "-";
}

/* The stack of the main thread is <module>:20, down:10 twelve times, down:13, perhaps leaf: of 100 readings
 * at least 97. */
static void expect_main(struct pp_stack_processes *all, struct pp_stack_process *p, unsigned i)
{
    struct pp_frame f[PP_FRAMES_MAX];
    unsigned n, right = 0, whole = 0;
    for (int k = 0; k < 100; k++) {
        usleep(500);
        enum pp_frames_result r = pp_frames_read(all->room, &p->python.codes, &p->python.thread[i].stack,
                                                 pp_now_ns(), f, &n);
        if ((r != PP_FRAMES_READ && r != PP_FRAMES_CUT) || n < 13)
            continue;
        int is_right = strcmp(name_of(all->tree, &f[n - 1]), "<module>") == 0 && f[n - 1].line == 20;
        for (unsigned d = 2; d <= 13; d++)
            is_right &= strcmp(name_of(all->tree, &f[n - d]), "down") == 0 && f[n - d].line == 10;
        if (n == 15) {
            const char *leaf = name_of(all->tree, &f[0]);
            is_right &= strcmp(leaf, p->python.layout.minor >= 11 ? "Größe.leaf" : "leaf") == 0 &&
                        f[0].line >= 3 && f[0].line <= 7 && f[1].line == 13;
            whole++;
        }
        right += is_right && n <= 15;
    }
    if (right < 97 || whole < 50)
        fail_msg("%u of 100 readings are right, %u whole", right, whole);
}

static void expect_process(const char *interpreter, const char *argument)
{
    struct pp_stack_tree tree;
    struct pp_stack_processes all = with_room(&tree);
    struct job j = start(interpreter, argument);
    struct pp_frame f[PP_FRAMES_MAX];
    unsigned n, mains = 0, pools = 0;
    assert_true(j.python > 0);
    struct pp_stack_process *p = look_at(&all, j.python);
    if (p->state != PP_PROCESS_OPEN)
        fail_msg("%s: %d %s", interpreter, p->state, p->why_not);
    printf("%s: Python 3.%u%s\n", interpreter, p->python.layout.minor, argument ? ", forked" : "");
    for (unsigned i = 0; i < p->threads; i++) {
        if (p->python.thread[i].is_main) {
            mains++;
            assert_int_equal(p->thread[i].tid, j.python);
            expect_main(&all, p, i);
            continue;
        }
        assert_int_equal(pp_frames_read(all.room, &p->python.codes, &p->python.thread[i].stack, pp_now_ns(),
                                        f, &n),
                         PP_FRAMES_READ);
        assert_string_equal(name_of(&tree, &f[0]), "pool");
        assert_int_equal(f[0].line, 16);
        assert_true(p->thread[i].tid > 0 && p->thread[i].tid != j.python);
        assert_int_equal(pp_process_thread_state(p, i), 'S');
        (void)pp_process_thread_is_still(p, i);
        p->thread[i].state = 'S';
        assert_true(pp_process_thread_is_still(p, i)); /* it sleeps for nine seconds */
        pools++;
    }
    assert_int_equal(mains, 1);
    assert_int_equal(pools, argument ? 0 : 1); /* fork takes the thread that forks along, and no other */
    assert_false(pp_process_is_still(p));
    end(&j);
    /* A forked one is somebody else's child, who waits for it when he has time. */
    for (uint64_t i = 1; pp_process_look(&all, p, pp_now_ns() + i * UINT64_C(10000000000)) && i < 100; i++)
        usleep(20000);
    assert_true(p->state != PP_PROCESS_OPEN || kill(j.python, 0) != 0);
    pp_process_free(&all, p);
    assert_int_equal(all.state_files, 0);
    free(all.room);
    pp_stack_tree_free(&tree);
}

/* Debian's, pyenv's, unpacked ones. */
static const char *const patterns[] = {"/usr/bin/python3", "/usr/local/bin/python3",
                                       "/root/.pyenv/versions/3.*/bin/python3",
                                       "build/venvs/python3.1*/usr/bin/python3.1?"};

/* An unpacked one may be of a newer C library. */
static int can_run(const char *python)
{
    char command[512];
    snprintf(command, sizeof(command), "'%s' -c '' 2>&1", python);
    return system(command) == 0;
}

static void each_python_is_read(void **state)
{
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        glob_t g;
        if (glob(patterns[i], 0, NULL, &g) == 0)
            for (size_t k = 0; k < g.gl_pathc; k++) {
                const char *minor = strstr(g.gl_pathv[k], "versions/3.");
                if (minor && (atoi(minor + 11) < 8 || strchr(minor, 't') != strstr(minor, "thon")))
                    continue;
                if (!can_run(g.gl_pathv[k])) {
                    printf("# %s cannot be run here\n", g.gl_pathv[k]);
                    continue;
                }
                expect_process(g.gl_pathv[k], NULL);
                expect_process(g.gl_pathv[k], "fork");
                found++;
            }
        globfree(&g);
    }
    assert_true(found > 0);
}

static void what_is_no_python_is_refused(void **state)
{
    struct pp_stack_tree tree;
    struct pp_stack_processes all = with_room(&tree);
    pid_t pid = fork();
    if (!pid) {
        execl("/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    struct pp_stack_process *p = look_at(&all, pid);
    assert_int_equal(p->state, PP_PROCESS_REFUSED);
    assert_string_equal(p->why_not, "");
    pp_process_free(&all, p);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    free(all.room);
    pp_stack_tree_free(&tree);
}

/* ---- layouts ---- */

static void expect_refused(const uint64_t words[PP_LAYOUT_WORDS], unsigned minor, const char *part)
{
    struct pp_layout l;
    struct pp_err err = {.code = PP_OK};
    assert_int_equal(pp_layout_of(words, minor, &l, &err), PP_E_UNSUPPORTED);
    if (!strstr(err.text, part))
        fail_msg("%s", err.text);
}

static void versions_that_are_not_known_are_refused(void **state)
{
    uint64_t words[PP_LAYOUT_WORDS] = {0};
    struct pp_layout l;
    struct pp_err err;
    expect_refused(words, 7, "Python 3.7 is too old");
    expect_refused(words, 0, "is not a version");
    expect_refused(words, 13, "Python 3.13 is not a version"); /* it says so itself, and this one does not */
    for (unsigned minor = 8; minor <= 12; minor++) {
        assert_int_equal(pp_layout_of(words, minor, &l, &err), PP_OK);
        assert_int_equal(l.minor, minor);
    }
    memcpy(words, "xdebugpy", 8);
    words[1] = 0x03100000;
    expect_refused(words, 11, "Python 3.16 is not a version");
    words[1] = 0x030e00f0;
    expect_refused(words, 14, "Python 3.14 is laid out otherwise");
    words[2] = 1;
    expect_refused(words, 14, "Python 3.14 is a free-threaded build");
}

/* ---- what samples have in common ---- */

static void numbers_are_given_once_and_bounded(void **state)
{
    struct pp_stack_tree t;
    char name[32];
    assert_true(pp_stack_tree_init(&t));
    uint32_t f = pp_stack_tree_function(&t, "f", "a.py", 3), g = pp_stack_tree_function(&t, "f", "b.py", 3);
    assert_true(f == 1 && g == 2);
    assert_int_equal(pp_stack_tree_function(&t, "f", "a.py", 3), f);
    uint32_t top = pp_stack_tree_frame(&t, 0, f, 4, 0), under = pp_stack_tree_frame(&t, top, g, 5, 1);
    assert_int_equal(pp_stack_tree_frame(&t, top, g, 5, 1), under);
    assert_true(pp_stack_tree_frame(&t, top, g, 5, 0) != under);
    assert_int_equal(t.frames[under - 1].parent, top);
    for (unsigned i = 0; i < PP_TREE_FUNCTIONS + 10; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        uint32_t id = pp_stack_tree_function(&t, name, "c.py", 0);
        assert_true(id ? id == i + 3 : i >= PP_TREE_FUNCTIONS - 2);
    }
    for (unsigned i = 0; i < PP_TREE_FRAMES + 10; i++)
        pp_stack_tree_frame(&t, under, f, i, 0);
    assert_int_equal(t.n_frames, PP_TREE_FRAMES);
    assert_int_equal(pp_stack_tree_frame(&t, 0, f, 4, 0), top);
    pp_stack_tree_free(&t);
}

static void members_are_read_from_a_file(void **state)
{
    struct pp_stack_tree t;
    struct pp_members m = {0};
    char dir[] = "/tmp/pp-members-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    assert_true(pp_stack_tree_init(&t));
    pp_members_read(&m, &t, dir, 7);
    assert_int_equal(pp_members_op(&m, 16), 0);
    snprintf(path, sizeof(path), "%s/ops-7", dir);
    FILE *f = fopen(path, "w");
    fputs(
        "7f20\tdataset.transform.transforms[0]\tBlur\tradius=2\n7f10\tdataset.transform.transforms[1]\tFl\033ip\t\n"
        "no address\tp\tc\ta\n7f30\tonly a path\n\n7f40\t\t\t\n",
        f);
    fclose(f);
    pp_members_read(&m, &t, dir, 7);
    uint32_t blur = pp_members_op(&m, 0x7f20), flip = pp_members_op(&m, 0x7f10);
    assert_true(blur && flip && blur != flip && !pp_members_op(&m, 0x7f30) && !pp_members_op(&m, 0));
    assert_string_equal(t.ops[blur - 1].class, "Blur");
    assert_string_equal(t.ops[blur - 1].arguments, "radius=2");
    assert_string_equal(t.ops[flip - 1].class, "Fl?ip");
    assert_string_equal(pp_members_local("Compose.__call__", "/x/torchvision/transforms/transforms.py"), "t");
    assert_string_equal(pp_members_local("__call__", "/x/torchvision/transforms/transforms.py"), "t");
    assert_null(pp_members_local("__call__", "/job/transforms.py"));
    pp_members_files_remove(dir);
    assert_int_not_equal(access(path, F_OK), 0);
    rmdir(dir);
    pp_members_free(&m);
    pp_stack_tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_python_is_read),
        cmocka_unit_test(what_is_no_python_is_refused),
        cmocka_unit_test(versions_that_are_not_known_are_refused),
        cmocka_unit_test(numbers_are_given_once_and_bounded),
        cmocka_unit_test(members_are_read_from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
