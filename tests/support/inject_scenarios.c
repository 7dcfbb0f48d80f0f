#include "tests/support/inject_scenarios.h"

#include "probe/base/err.h"
#include "tests/tools/tiny_nvtx.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(x) \
    do { \
        if (!(x)) { \
            fprintf(stderr, "scenario: line %d: %s\n", __LINE__, #x); \
            _exit(1); \
        } \
    } while (0)

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
#define WITH(type, field, value) \
    a.payload_type = type, a.payload.u64 = 0, a.payload.field = value, tiny_push_ex(&a), tiny_pop()
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
            syscall(SYS_exit_group,
                    0); /* past the thread sanitizer, which would miss the joins of the parent's threads */
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

/* A thread of a pool: works as long as it is told, by its own clock. */
static void *pool_main(void *ms)
{
    struct timespec t;
    double until = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
        until = until > 0 ? until : now + *(const double *)ms;
    } while (now < until);
    return NULL;
}

/* The range's work is another thread's. */
static void handed_out(const char *name, double ms)
{
    pthread_t t;
    void *d = tiny_domain("DALI");
    struct nvtx_attributes a = tiny_text(name);
    tiny_domain_push(d, &a);
    MUST(pthread_create(&t, NULL, pool_main, &ms) == 0);
    pthread_join(t, NULL);
    tiny_domain_pop(d);
}

static void *executor_main(void *name)
{
    handed_out(name, 5);
    return NULL;
}

/* Two threads hand work out in turns; then a range within another thread's. */
static void of_process(void)
{
    pthread_t t;
    struct nvtx_attributes around = tiny_text("work around");
    void *d = tiny_domain("DALI");
    handed_out("work here", 20);
    MUST(pthread_create(&t, NULL, executor_main, "work there") == 0);
    pthread_join(t, NULL);
    tiny_domain_push(d, &around);
    MUST(pthread_create(&t, NULL, executor_main, "work within") == 0);
    pthread_join(t, NULL);
    usleep(2000);
    tiny_domain_pop(d);
}

/* A batch of a DALI pipeline that decodes on the GPU, as its names are: of the executor's thread, of the
 * pool's, of the reader's. */
static void *dali_pool_main(void *names)
{
    for (const char *const *name = names; *name; name++) {
        tiny_push(*name);
        tiny_pop();
    }
    return NULL;
}

static void dali_on_gpu(void)
{
    static const char *const executor[][2] = {
        {"[DALI][CPU op] Setup readers__File", NULL},
        {"[DALI][CPU op] Run readers__File", "[DALI][DataReader] ConsumerWait #0"},
        {"[DALI][Mixed op] Setup decoders__Image", NULL},
        {"[DALI][Mixed op] Run decoders__Image", "nvimgcodecDecoderDecode"},
        {"[DALI][GPU op] Run CropMirrorNormalize", NULL},
        {"[DALI][Mixed op] Run MakeContiguous", "[DALI][MakeContiguousMixed] H2D coalesced"},
        {"[DALI][Executor] OutputTask", NULL},
    };
    static const char *const pool[] = {"decode #3", "nvjpeg_cuda_decoder process #3",
                                       "[DALI][DataReader] Prefetch #0", "[DALI][Loader] ReadOne", NULL};
    pthread_t t;
    void *d = tiny_domain("DALI");
    MUST(pthread_create(&t, NULL, dali_pool_main, (void *)pool) == 0);
    pthread_join(t, NULL);
    for (size_t i = 0; i < sizeof(executor) / sizeof(*executor); i++) {
        for (int k = 0; k < 2 && executor[i][k]; k++) {
            struct nvtx_attributes a = tiny_text(executor[i][k]);
            tiny_domain_push(d, &a);
        }
        usleep(1000);
        for (int k = 0; k < 2 && executor[i][k]; k++)
            tiny_domain_pop(d);
    }
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
    on_alarm(
        SIGALRM); /* the thread's ring and the name are made here: memory is not to be had in a handler */
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
    nvtx_initialize *init = (nvtx_initialize *)dlsym(dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY),
                                                     "InitializeInjectionNvtx2");
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
    {"every_call", every_call, 1},
    {"payloads", payloads, 1},
    {"threads", threads, 1},
    {"forks", forks, 1},
    {"forks_among_threads", forks_among_threads, 1},
    {"killed", killed, 1},
    {"unfinished", unfinished, 1},
    {"many_names", many_names, 1},
    {"deep", deep, 1},
    {"many_open", many_open, 1},
    {"without_a_ring", without_a_ring, 1},
    {"mapped", mapped, 1},
    {"lanes", lanes, 1},
    {"of_process", of_process, 1},
    {"dali_on_gpu", dali_on_gpu, 1},
    {"signals", signals, 1},
    {"keeps_errno", keeps_errno, 1},
    {"two_clients", two_clients, 1},
    {"chained", chained, 1},
    {"without_a_session", without_a_session, 0},
};

int inject_run_scenario(const char *name)
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
