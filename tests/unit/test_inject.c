/* The injection library, loaded the way NVIDIA's header loads it: each scenario is this program run again as a process of its own, with a session that
 * the test opened; the test then looks at the rings. Assertions inside a scenario are its exit status. */
#include "collectors/inject/process_file.h"
#include "collectors/namemap.h"
#include "probe/base/err.h"
#include "probe/trace/drain_side.h"
#include "tests/tools/tiny_nvtx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pipeprobe/ring.h>

/* ---- the scenarios, in a process of their own ------------------------------------------------------------------------------------------ */

#define MUST(x) do { if (!(x)) { fprintf(stderr, "scenario: line %d: %s\n", __LINE__, #x); _exit(1); } } while (0)

static uint32_t my_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void every_call(void)
{
    struct nvtx_attributes a = tiny_text("with payload");
    MUST(tiny_push("outer") == 0);
    MUST(tiny_push("inner") == 1);
    MUST(tiny_pop() == 1);
    tiny_mark("a mark");
    MUST(tiny_push_wide(L"gr\u00fc\u00df \u4f60 \U0001f600") == 1);
    MUST(tiny_pop() == 1);
    MUST(tiny_pop() == 0);
    MUST(tiny_pop() < 0);
    void *d = tiny_domain("dom"), *e = tiny_domain("other"), *s = tiny_register(d, "registered");
    MUST(d && e && d != e && s && tiny_resource(d) && tiny_domain("dom") == d);
    /* each domain has a stack of its own */
    struct nvtx_attributes h = tiny_handle(s), in_e = tiny_text("in other");
    MUST(tiny_domain_push(d, &h) == 0);
    MUST(tiny_domain_push(e, &in_e) == 0);
    MUST(tiny_domain_push(d, &h) == 1);
    MUST(tiny_domain_pop(d) == 1);
    MUST(tiny_domain_pop(d) == 0);
    MUST(tiny_domain_pop(e) == 0);
    uint64_t one = tiny_start("one"), two = tiny_domain_start(d, &a);
    MUST(one && two && one != two);
    tiny_end(one);
    tiny_end(one); /* stale: nothing happens */
    tiny_domain_end(d, two);
    tiny_end(0);
    tiny_end(12345678901234u);
    tiny_domain_destroy(e);
    MUST(tiny_push(NULL) == 0);
    MUST(tiny_pop() == 0);
    a.size = 8; /* older than anything known: no message to be found in it */
    MUST(tiny_push_ex(&a) == 0);
    MUST(tiny_pop() == 0);
}

static void payloads(void)
{
    struct nvtx_attributes a = tiny_text("p");
#define WITH(type, field, value) a.payload_type = type, a.payload.u64 = 0, a.payload.field = value, tiny_push_ex(&a), tiny_pop()
    WITH(NVTX_PAYLOAD_U64, u64, 7);
    WITH(NVTX_PAYLOAD_I64, i64, 8);
    WITH(NVTX_PAYLOAD_DOUBLE, d, 9);
    WITH(NVTX_PAYLOAD_U32, u32, 10);
    WITH(NVTX_PAYLOAD_I32, i32, 11);
    WITH(NVTX_PAYLOAD_FLOAT, f, 12);
    WITH(NVTX_PAYLOAD_U64, u64, 1ull << 40);
    WITH(NVTX_PAYLOAD_I64, i64, -1);
    WITH(NVTX_PAYLOAD_DOUBLE, d, 1.5);
    WITH(NVTX_PAYLOAD_DOUBLE, d, -2);
    WITH(NVTX_PAYLOAD_DOUBLE, d, __builtin_nan(""));
    WITH(NVTX_PAYLOAD_I32, i32, -3);
    WITH(NVTX_PAYLOAD_NONE, u64, 5);
    a.payload_type = NVTX_PAYLOAD_U64, a.payload.u64 = 42;
    tiny_push_ex(&a);
    tiny_push("inherits");
    tiny_pop();
    tiny_pop();
}

static uint64_t crossing;

static void *thread_main(void *arg)
{
    int i = (int)(intptr_t)arg;
    char name[32];
    snprintf(name, sizeof(name), "loader-%d", i);
    tiny_name_thread(my_tid(), name);
    for (int k = 0; k < 500; k++) {
        tiny_push(k % 2 ? "odd" : "even");
        tiny_pop();
    }
    if (i == 0)
        tiny_end(crossing);
    tiny_push("left open at the thread's end");
    return NULL;
}

static void threads(void)
{
    pthread_t t[8];
    crossing = tiny_start("crossing");
    for (int i = 0; i < 8; i++)
        MUST(pthread_create(&t[i], NULL, thread_main, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
}

static void forks(void)
{
    int status;
    tiny_push("around the fork");
    uint64_t id = tiny_start("started before");
    pid_t pid = fork();
    if (pid == 0) {
        tiny_push("in the child");
        tiny_pop();
        MUST(tiny_pop() == 0); /* the parent's to record */
        tiny_end(id);
        tiny_push("second child range");
        tiny_pop();
        pid = fork();
        if (pid == 0) {
            tiny_push("in the grandchild");
            tiny_pop();
            _exit(0);
        }
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    pid = fork();
    if (pid == 0)
        _exit(0); /* without an event: no ring */
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    tiny_end(id);
    tiny_pop();
}

static void forks_among_threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&t[i], NULL, thread_main, (void *)(intptr_t)(i + 1)) == 0);
    for (int i = 0; i < 20; i++) {
        int status;
        char name[32];
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20);
            snprintf(name, sizeof(name), "child %d", i);
            tiny_push(name);
            tiny_pop();
            syscall(SYS_exit_group, 0); /* past the thread sanitizer, which would miss the joins of the parent's threads */
        }
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void killed(void)
{
    for (int i = 0; i < 100; i++) {
        tiny_push("before the kill");
        tiny_pop();
    }
    tiny_push("open at the kill");
    kill(getpid(), SIGKILL);
}

static void unfinished(void)
{
    tiny_push("open at exit");
    tiny_start("started at exit");
}

static void many_names(void)
{
    char name[64];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "iteration %d of epoch %d", i, i / 100);
        tiny_push(name);
        tiny_pop();
    }
}

static void deep(void)
{
    for (int i = 0; i < 200; i++)
        MUST(tiny_push("deep") == (i < 128 ? i : 128));
    for (int i = 0; i < 200; i++)
        tiny_pop();
    MUST(tiny_push("again") == 0);
    MUST(tiny_pop() == 0);
}

static void many_open(void)
{
    static uint64_t id[5000];
    int refused = 0;
    for (int i = 0; i < 5000; i++)
        refused += !(id[i] = tiny_start("open"));
    MUST(refused == 5000 - 4096);
    for (int i = 0; i < 5000; i++)
        tiny_end(id[i]);
    MUST((id[0] = tiny_start("after")));
    tiny_end(id[0]);
}

static void *ringless_main(void *arg)
{
    struct nvtx_attributes a = tiny_text("unheard");
    for (int i = 0; i < 3; i++) {
        tiny_push_ex(&a);
        tiny_mark("unheard");
        tiny_pop();
    }
    uint64_t id = tiny_start("unheard");
    tiny_name_thread(my_tid(), "unheard");
    tiny_end(id);
    return NULL;
}

/* A file-size limit keeps their rings from being made, as the end of the session's thread table would. */
static void without_a_ring(void)
{
    pthread_t t;
    tiny_push("heard");
    tiny_pop();
    MUST(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, RLIM_INFINITY}) == 0);
    for (int i = 0; i < 2; i++) {
        MUST(pthread_create(&t, NULL, ringless_main, NULL) == 0);
        MUST(pthread_join(t, NULL) == 0);
    }
}

static void mapped(void)
{
    struct nvtx_attributes a = tiny_text("decode_batch");
    a.payload_type = NVTX_PAYLOAD_U32, a.payload.u32 = 3;
    void *d = tiny_domain("lib");
    struct nvtx_attributes read = tiny_text("io");
    tiny_domain_push(d, &read);
    tiny_domain_pop(d);
    tiny_push_ex(&a);
    tiny_push("decode_jpeg"); /* inside a decode: counts once */
    tiny_pop();
    tiny_pop();
    for (int k = 0; k < 2; k++) {
        tiny_push(k ? "decode_again" : "decode_long");
        for (volatile int i = 0; i < 3000000; i++) {
        }
        tiny_pop();
    }
    tiny_push("decode_asleep");
    usleep(20000);
    tiny_pop();
    tiny_push("decode_brief");
    tiny_pop();
    tiny_push("decode_after_brief");
    tiny_pop();
    tiny_push("io"); /* the map names it in the domain alone */
    tiny_pop();
    tiny_mark("decode_mark");
    tiny_end(tiny_start("decode_started"));
}

static void *trainer_main(void *arg)
{
    tiny_push("decode_here_too");
    tiny_pop();
    tiny_push("wait");
    tiny_pop();
    tiny_push("decode_here_too");
    tiny_pop();
    return NULL;
}

static void lanes(void)
{
    pthread_t t;
    tiny_push("something");
    tiny_pop();
    MUST(pthread_create(&t, NULL, trainer_main, NULL) == 0);
    pthread_join(t, NULL);
}

static void on_alarm(int sig)
{
    int saved_errno = errno;
    tiny_push("from a signal handler");
    tiny_pop();
    errno = saved_errno;
}

static void signals(void)
{
    struct sigaction sa = {.sa_handler = on_alarm};
    struct itimerval often = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50}, never = {0};
    char name[32];
    on_alarm(SIGALRM); /* the thread's ring and the name are made here: memory is not to be had in a handler */
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 30000; i++) {
        snprintf(name, sizeof(name), "n%d", i % 700); /* some take the lock */
        tiny_push(name);
        tiny_pop();
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

static void keeps_errno(void)
{
    errno = EXDEV;
    tiny_push("first");
    tiny_push("second");
    tiny_pop();
    tiny_name_thread(my_tid(), "errno");
    tiny_pop();
    MUST(errno == EXDEV);
}

static void two_clients(void)
{
    nvtx_initialize *init = (nvtx_initialize *)dlsym(dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY), "InitializeInjectionNvtx2");
    MUST(init);
    MUST(!init(NULL));
    /* another shared object with NVTX v2, whose table is shorter */
    memset(tiny_core2_fn, 0, sizeof(tiny_core2_fn));
    tiny_core2_n = CORE2_SLOTS - 1;
    MUST(init(tiny_export));
    MUST(tiny_core2_fn[CORE2_DOMAIN_DESTROY] && !tiny_core2_fn[CORE2_INITIALIZE]);
    /* a slot may be missing */
    tiny_core[CORE_MARK_A] = NULL;
    tiny_core_fn[CORE_MARK_A] = NULL;
    MUST(init(tiny_export) && !tiny_core_fn[CORE_MARK_A]);
    MUST(tiny_push("one state") == 0);
    MUST(tiny_pop() == 0);
}

static void chained(void)
{
    MUST(tiny_push("a") == 100); /* levels and ids: the other tool's levels, our ids */
    MUST(tiny_push_wide(L"the other tool does not take this one") == 1);
    MUST(tiny_core_fn[CORE_POP]);
    MUST(tiny_pop() == 50);
    MUST(tiny_pop() == 50);
    void *d = tiny_domain("dom"), *s = tiny_register(d, "registered"), *own = tiny_register(d, "again");
    struct nvtx_attributes h = tiny_handle(s);
    MUST(d && s && own == s);
    MUST(tiny_domain_push(d, &h) == 201);
    MUST(tiny_domain_pop(d) == 60);
    uint64_t id = tiny_start("range");
    MUST(id && id != 7000);
    tiny_end(id);
    tiny_mark("m");
}

static void without_a_session(void)
{
    MUST(!tiny_attach());
    MUST(!tiny_core_fn[CORE_PUSH_A] && tiny_push("nothing") == -2);
}

static const struct {
    const char *name;
    void (*run)(void);
    int attach;
} scenarios[] = {
    {"every_call", every_call, 1}, {"payloads", payloads, 1}, {"threads", threads, 1}, {"forks", forks, 1},
    {"forks_among_threads", forks_among_threads, 1}, {"killed", killed, 1}, {"unfinished", unfinished, 1}, {"many_names", many_names, 1},
    {"deep", deep, 1}, {"many_open", many_open, 1}, {"without_a_ring", without_a_ring, 1}, {"mapped", mapped, 1}, {"lanes", lanes, 1}, {"signals", signals, 1},
    {"keeps_errno", keeps_errno, 1}, {"two_clients", two_clients, 1}, {"chained", chained, 1}, {"without_a_session", without_a_session, 0},
};

static int run_scenario(const char *name)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (strcmp(scenarios[i].name, name) != 0)
            continue;
        if (scenarios[i].attach)
            MUST(tiny_attach());
        scenarios[i].run();
        return 0;
    }
    return 2;
}

/* ---- running one and looking at what it left ------------------------------------------------------------------------------------------------ */

struct seen {
    struct pp_span span;
    struct pp_ring_info thread;
    char name[PP_NAME_BYTES];
};

struct result {
    struct pp_session *session;
    char dir[64];
    struct seen *seen;
    size_t n;
    struct pp_process_file process[64];
    size_t processes;
    int status;
};

static char here[PATH_MAX]; /* build/VARIANT/tests/unit */

static char *beside(const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/../../%s", here, name);
    return path;
}

static void read_rings(struct result *r)
{
    static struct pp_span piece[4096];
    for (uint32_t t = 0; t < pp_session_threads(r->session); t++) {
        struct pp_ring_info info;
        size_t n;
        pp_session_ring_info(r->session, t, &info);
        while ((n = pp_ring_peek(r->session, t, piece, 4096))) {
            r->seen = realloc(r->seen, (r->n + n) * sizeof(*r->seen));
            assert_non_null(r->seen);
            for (size_t i = 0; i < n; i++) {
                struct seen *s = &r->seen[r->n++];
                const char *name = pp_session_name(r->session, piece[i].name);
                *s = (struct seen){.span = piece[i], .thread = info};
                snprintf(s->name, sizeof(s->name), "%s", name ? name : "");
            }
        }
    }
}

/* Reads the process files, and removes what the session itself does not know of. */
static void read_processes(struct result *r)
{
    char path[PATH_MAX];
    DIR *d = opendir(r->dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", r->dir, e->d_name);
        if (strncmp(e->d_name, PP_PROCESS_FILE_PREFIX, strlen(PP_PROCESS_FILE_PREFIX)) == 0) {
            int fd = open(path, O_RDONLY);
            assert_true(r->processes < 64);
            assert_int_equal(read(fd, &r->process[r->processes], sizeof(r->process[0])), sizeof(r->process[0]));
            r->processes++;
            close(fd);
            unlink(path);
        } else if (strcmp(e->d_name, PP_MAP_FILE_NAME) == 0) {
            unlink(path);
        }
    }
    closedir(d);
}

static struct result *run_with(const char *scenario, const char *map, const char *next, size_t ring_spans)
{
    struct pp_err err;
    char path[128];
    struct result *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    strcpy(r->dir, "/tmp/pp-inject-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    pp_err_clear(&err);
    if (pp_session_open(&(struct pp_session_opts){.dir = r->dir, .ring_spans = ring_spans}, &r->session, &err) != PP_OK)
        fail_msg("%s", err.text);
    if (map) {
        snprintf(path, sizeof(path), "%s/%s", r->dir, PP_MAP_FILE_NAME);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(map, out);
        fclose(out);
    }
    pid_t pid = fork();
    if (pid == 0) {
        alarm(120);
        setenv("NVTX_INJECTION64_PATH", beside("libpipeprobe_inject.so"), 1);
        setenv("PIPEPROBE_SESSION", r->dir, 1);
        if (next)
            setenv("PIPEPROBE_NEXT_INJECTION", next, 1);
        execl("/proc/self/exe", "test_inject", "--scenario", scenario, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &r->status, 0), pid);
    read_rings(r);
    read_processes(r);
    return r;
}

static struct result *run(const char *scenario)
{
    struct result *r = run_with(scenario, NULL, NULL, 65536);
    if (r->status)
        fail_msg("scenario %s: wait status %x", scenario, r->status);
    return r;
}

static void done(struct result *r)
{
    pp_session_close(r->session, 0);
    assert_int_equal(access(r->dir, F_OK), -1);
    free(r->seen);
    free(r);
}

static size_t count(const struct result *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += strcmp(r->seen[i].name, name) == 0;
    return n;
}

static const struct seen *find(const struct result *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->seen[i].name, name) == 0)
            return &r->seen[i];
    fail_msg("no span called \"%s\" among %zu", name, r->n);
    return NULL;
}

static int inside(const struct seen *inner, const struct seen *outer)
{
    return inner->span.start_ns >= outer->span.start_ns && inner->span.start_ns + inner->span.dur_ns <= outer->span.start_ns + outer->span.dur_ns;
}

/* ---- tests -------------------------------------------------------------------------------------------------------------------------------------- */

static void ranges_marks_domains(void **state)
{
    struct result *r = run("every_call");
    assert_int_equal(r->n, 11);
    assert_true(inside(find(r, "inner"), find(r, "outer")));
    assert_true(inside(find(r, "a mark"), find(r, "outer")));
    assert_int_equal(find(r, "a mark")->span.dur_ns, 0);
    assert_int_equal(count(r, "grüß 你 😀"), 1);
    assert_int_equal(count(r, "dom:registered"), 2);
    assert_int_equal(count(r, "other:in other"), 1);
    assert_true(inside(find(r, "dom:registered"), find(r, "other:in other"))); /* the inner of the two comes first */
    assert_int_equal(count(r, "one"), 1);
    assert_int_equal(count(r, "dom:with payload"), 1);
    assert_int_equal(count(r, ""), 2);
    for (size_t i = 0; i < r->n; i++) {
        assert_int_equal(r->seen[i].span.phase, PP_PHASE_USER);
        assert_int_equal(r->seen[i].span.flags, 0);
        assert_true(r->seen[i].span.sample == PP_NO_SAMPLE && r->seen[i].span.batch == PP_NO_BATCH);
        assert_true(r->seen[i].span.dur_ns < 10000000000u);
    }
    assert_int_equal(pp_session_threads(r->session), 1);
    assert_int_equal(r->processes, 1);
    assert_int_equal(r->process[0].pid, r->seen[0].thread.pid);
    assert_int_equal(r->process[0].parent_pid, getpid());
    assert_non_null(strstr(r->process[0].command, "--scenario every_call"));
    assert_int_equal(r->process[0].clients, 1);
    done(r);
}

static void whole_payloads_are_batches(void **state)
{
    static const uint32_t want[] = {7, 8, 9, 10, 11, 12, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, 42, 42};
    struct result *r = run("payloads");
    assert_int_equal(r->n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < r->n; i++)
        assert_int_equal(r->seen[i].span.batch, want[i]);
    done(r);
}

static void each_thread_has_its_ring(void **state)
{
    struct result *r = run("threads");
    size_t of[16] = {0}, named = 0;
    assert_int_equal(count(r, "odd") + count(r, "even"), 8 * 500);
    assert_int_equal(count(r, "crossing"), 1);
    assert_int_equal(count(r, "left open at the thread's end"), 8);
    assert_int_equal(pp_session_threads(r->session), 9);
    for (size_t i = 0; i < r->n; i++) {
        of[r->seen[i].thread.thread]++;
        if (strcmp(r->seen[i].name, "left open at the thread's end") == 0)
            assert_int_equal(r->seen[i].span.flags, PP_SPAN_UNFINISHED);
        assert_int_equal(r->seen[i].thread.retired, 1);
    }
    for (int i = 0; i < 8; i++) {
        char name[32];
        snprintf(name, sizeof(name), "loader-%d", i);
        for (uint32_t t = 0; t < 9; t++) {
            struct pp_ring_info info;
            pp_session_ring_info(r->session, t, &info);
            named += strcmp(info.name, name) == 0;
        }
    }
    assert_int_equal(named, 8);
    for (int t = 1; t < 9; t++)
        assert_true(of[t] == 501 || of[t] == 502);
    done(r);
}

static void forked_children_have_theirs(void **state)
{
    struct result *r = run("forks");
    const struct seen *child = find(r, "in the child"), *parent = find(r, "around the fork");
    assert_int_equal(r->n, 5);
    assert_int_equal(count(r, "started before"), 1);
    assert_int_equal(pp_session_threads(r->session), 3);
    assert_int_equal(r->processes, 3);
    assert_int_not_equal(child->thread.pid, parent->thread.pid);
    assert_int_equal(find(r, "second child range")->thread.pid, child->thread.pid);
    assert_int_not_equal(find(r, "in the grandchild")->thread.pid, child->thread.pid);
    assert_int_equal(find(r, "started before")->thread.pid, parent->thread.pid);
    assert_true(inside(child, parent));
    done(r);
}

static void forks_while_threads_record(void **state)
{
    struct result *r = run("forks_among_threads");
    assert_int_equal(count(r, "odd") + count(r, "even"), 4 * 500);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "child %d", i);
        assert_int_equal(count(r, name), 1);
    }
    done(r);
}

static void a_kill_loses_only_what_is_open(void **state)
{
    struct result *r = run_with("killed", NULL, NULL, 256);
    assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGKILL);
    assert_int_equal(r->n, 100);
    assert_int_equal(count(r, "before the kill"), 100);
    done(r);
}

static void what_is_open_at_exit_is_unfinished(void **state)
{
    struct result *r = run("unfinished");
    assert_int_equal(r->n, 2);
    assert_int_equal(find(r, "open at exit")->span.flags, PP_SPAN_UNFINISHED);
    assert_int_equal(find(r, "started at exit")->span.flags, PP_SPAN_UNFINISHED);
    done(r);
}

static void endless_names_become_one(void **state)
{
    struct result *r = run("many_names");
    assert_int_equal(r->n, 5000);
    assert_int_equal(count(r, "iteration 17 of epoch 0"), 1);
    assert_true(count(r, "iteration # of epoch #") > 4000);
    assert_int_equal(count(r, ""), 0);
    assert_int_equal(r->process[0].unnamed, 0);
    done(r);
}

static void too_much_is_counted(void **state)
{
    struct result *r = run("deep");
    assert_int_equal(count(r, "deep"), 128);
    assert_int_equal(count(r, "again"), 1);
    assert_int_equal(r->process[0].too_deep, 72);
    done(r);
    r = run("many_open");
    assert_int_equal(count(r, "open"), 4096);
    assert_int_equal(count(r, "after"), 1);
    assert_int_equal(r->process[0].too_many, 5000 - 4096);
    done(r);
}

static void a_thread_without_a_ring_is_left_alone(void **state)
{
    struct result *r = run("without_a_ring");
    assert_int_equal(count(r, "heard"), 1);
    assert_int_equal(r->n, 1);
    assert_int_equal(pp_session_unregistered(r->session), 2);
    assert_true(r->process[0].unthreaded >= 2 * 9);
    done(r);
}

static void a_full_ring_drops_and_counts(void **state)
{
    struct pp_ring_info info;
    struct result *r = run_with("many_names", NULL, NULL, 1024);
    assert_int_equal(r->status, 0);
    pp_session_ring_info(r->session, 0, &info);
    assert_int_equal(info.dropped, 5000 - 1024);
    assert_int_equal(r->n, 1024);
    done(r);
}

static void a_map_gives_phases(void **state)
{
    struct result *r = run_with("mapped", "decode* = decode\nlib:io = read\n", NULL, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(find(r, "lib:io")->span.phase, PP_PHASE_READ);
    assert_int_equal(find(r, "io")->span.phase, PP_PHASE_USER);
    assert_int_equal(find(r, "decode_batch")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(find(r, "decode_batch")->span.batch, 3);
    assert_int_equal(find(r, "decode_jpeg")->span.phase, PP_PHASE_USER);
    assert_int_equal(find(r, "decode_jpeg")->span.batch, 3);
    assert_int_equal(find(r, "decode_again")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(find(r, "decode_started")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(find(r, "decode_mark")->span.phase, PP_PHASE_USER);
    const struct pp_span *busy = &find(r, "decode_again")->span;
    const struct pp_span *asleep = &find(r, "decode_asleep")->span;
    int delay = access("/proc/thread-self/schedstat", R_OK) == 0 ? PP_SPAN_HAS_DELAY : 0;
    assert_int_equal(busy->flags, PP_SPAN_HAS_CPU | delay);
    assert_true(busy->cpu_ns > 100000 && busy->cpu_ns < busy->dur_ns + 1000000);
    assert_true(busy->run_delay_ns < busy->dur_ns + 1000000);
    assert_int_equal(asleep->flags, PP_SPAN_HAS_CPU | delay);
    assert_true(asleep->cpu_ns < asleep->dur_ns / 4);
    assert_int_equal(find(r, "decode_after_brief")->span.flags, 0); /* not worth measuring */
    assert_int_equal(find(r, "decode_started")->span.flags, 0); /* it may end on another thread */
    struct pp_ring_info info;
    pp_session_ring_info(r->session, 0, &info);
    assert_int_equal(info.lane, PP_LANE_WORKER);
    done(r);
}

static void lanes_follow_the_phases(void **state)
{
    struct result *r = run_with("lanes", "decode* = decode\nwait = data_wait\n", NULL, 1024);
    struct pp_ring_info first, trainer;
    assert_int_equal(r->status, 0);
    pp_session_ring_info(r->session, 0, &first);
    pp_session_ring_info(r->session, 1, &trainer);
    assert_int_equal(first.lane, PP_LANE_MAIN);
    assert_int_equal(trainer.lane, PP_LANE_TRAINER);
    done(r);
}

static void a_broken_map_is_no_map(void **state)
{
    struct result *r = run_with("lanes", "decode* == == nonsense\n", NULL, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(count(r, "decode_here_too"), 2);
    assert_int_equal(find(r, "wait")->span.phase, PP_PHASE_USER);
    done(r);
}

static void signal_handlers_are_survived(void **state)
{
    struct result *r = run("signals");
    size_t own = 0;
    for (size_t i = 0; i < r->n; i++)
        own += r->seen[i].name[0] == 'n';
    assert_int_equal(own, 30000);
    assert_true(r->n > own);
    done(r);
}

static void errno_is_left_alone(void **state)
{
    struct result *r = run("keeps_errno");
    assert_int_equal(r->n, 2);
    assert_string_equal(r->seen[0].thread.name, "errno");
    done(r);
}

static void clients_share_one_state(void **state)
{
    struct result *r = run("two_clients");
    assert_int_equal(count(r, "one state"), 1);
    assert_int_equal(r->process[0].clients, 3);
    done(r);
}

static void another_tool_sees_everything_too(void **state)
{
    char log[] = "/tmp/pp-fake-XXXXXX", line[256] = "", tool[PATH_MAX + 64];
    close(mkstemp(log));
    setenv("FAKE_TOOL_LOG", log, 1);
    snprintf(tool, sizeof(tool), "%s", beside("tests/tools/libfake_tool.so"));
    struct result *r = run_with("chained", NULL, tool, 1024);
    assert_int_equal(r->status, 0);
    FILE *in = fopen(log, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    fclose(in);
    unlink(log);
    unsetenv("FAKE_TOOL_LOG");
    assert_string_equal(line, "pushes 2 pops 3 starts 1 ends 1 marks 1 domains 1 strings 2 wrong 0\n");
    assert_int_equal(r->process[0].chained, 1);
    assert_int_equal(count(r, "a"), 1);
    assert_int_equal(count(r, "the other tool does not take this one"), 1);
    assert_int_equal(count(r, "range"), 1);
    assert_int_equal(count(r, "m"), 1);
    assert_int_equal(r->n, 5);
    done(r);
}

static void another_tool_that_does_not_load(void **state)
{
    struct result *r = run_with("keeps_errno", NULL, "/nonexistent/tool.so", 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    assert_int_equal(r->process[0].chained, 2);
    done(r);
    char tool[PATH_MAX + 64];
    snprintf(tool, sizeof(tool), "%s", beside("tests/tools/libfake_tool.so"));
    setenv("FAKE_TOOL_REFUSES", "1", 1);
    r = run_with("keeps_errno", NULL, tool, 1024);
    unsetenv("FAKE_TOOL_REFUSES");
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    assert_int_equal(r->process[0].chained, 2);
    done(r);
    snprintf(tool, sizeof(tool), "%s", beside("libpipeprobe_inject.so")); /* ourselves: once is enough */
    r = run_with("keeps_errno", NULL, tool, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    done(r);
}

static void without_a_session_it_steps_back(void **state)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NVTX_INJECTION64_PATH", beside("libpipeprobe_inject.so"), 1);
        if (state && *state)
            setenv("PIPEPROBE_SESSION", *state, 1);
        else
            unsetenv("PIPEPROBE_SESSION");
        execl("/proc/self/exe", "test_inject", "--scenario", "without_a_session", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_session_that_is_none(void **state)
{
    char dir[] = "/tmp/pp-inject-XXXXXX", path[64];
    void *as = dir;
    assert_non_null(mkdtemp(dir));
    without_a_session_it_steps_back(&as); /* empty */
    snprintf(path, sizeof(path), "%s/session", dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("not a session", out);
    fclose(out);
    without_a_session_it_steps_back(&as);
    assert_int_equal(truncate(path, sizeof(struct pp_session_file)), 0);
    without_a_session_it_steps_back(&as); /* the right size, the wrong bytes */
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--scenario") == 0)
        return run_scenario(argv[2]);
    ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);
    if (n > 0)
        here[n] = '\0', *strrchr(here, '/') = '\0';
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_marks_domains), cmocka_unit_test(whole_payloads_are_batches), cmocka_unit_test(each_thread_has_its_ring),
        cmocka_unit_test(forked_children_have_theirs), cmocka_unit_test(forks_while_threads_record), cmocka_unit_test(a_kill_loses_only_what_is_open),
        cmocka_unit_test(what_is_open_at_exit_is_unfinished), cmocka_unit_test(endless_names_become_one), cmocka_unit_test(too_much_is_counted),
        cmocka_unit_test(a_thread_without_a_ring_is_left_alone), cmocka_unit_test(a_full_ring_drops_and_counts), cmocka_unit_test(a_map_gives_phases), cmocka_unit_test(lanes_follow_the_phases),
        cmocka_unit_test(a_broken_map_is_no_map), cmocka_unit_test(signal_handlers_are_survived), cmocka_unit_test(errno_is_left_alone),
        cmocka_unit_test(clients_share_one_state), cmocka_unit_test(another_tool_sees_everything_too), cmocka_unit_test(another_tool_that_does_not_load),
        cmocka_unit_test(without_a_session_it_steps_back), cmocka_unit_test(a_session_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
