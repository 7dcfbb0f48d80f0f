/* A loader annotated with NVTX, for the tests of `pipeprobe exec`: nvtx_client MODE... runs each mode in
 * turn.
 *   train=N     N steps: the trainer waits 3 ms and works 1 ms per batch, two worker threads decode
 *   fork=N      N forked children, ten ranges each         spawn=N   the same in a new program
 *   burn=N      N ranges of 4 ms of CPU time or more
 *   push=N      N ranges, as fast as they go               names     a thread name, a domain, registered
 *                                                          strings, a mark
 *   sleep=MS    waits                                      trap      exits 42 on SIGTERM and SIGUSR1, 43
 *                                                          on SIGINT
 *   kill=SIG    sends itself a signal                      exit=N    exits with N
 *   quiet       makes no NVTX call                         cat       copies standard input to standard
 *                                                          output */
#include "tests/tools/tiny_nvtx.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void *worker(void *arg)
{
    long steps = *(long *)arg;
    struct nvtx_attributes a = tiny_text("decode_jpeg");
    a.payload_type = NVTX_PAYLOAD_I64;
    for (long i = 0; i < steps; i++) {
        tiny_push("load_image");
        tiny_pop();
        a.payload.i64 = i;
        tiny_push_ex(&a);
        sleep_ms(2);
        tiny_pop();
    }
    return NULL;
}

static void train(long steps)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, &steps);
    struct nvtx_attributes wait = tiny_text("next_batch"), step = tiny_text("train_step");
    wait.payload_type = step.payload_type = NVTX_PAYLOAD_U64;
    for (long i = 0; i < steps; i++) {
        wait.payload.u64 = step.payload.u64 = (uint64_t)i;
        tiny_push_ex(&wait);
        sleep_ms(3);
        tiny_pop();
        tiny_push_ex(&step);
        sleep_ms(1);
        tiny_pop();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

/* Without a system call in the range. */
static void burn(long n)
{
    for (long i = 0; i < n; i++) {
        tiny_push("decode_jpeg");
        for (volatile int k = 0; k < 20000000; k++) {
        }
        tiny_pop();
    }
}

static void push(long n)
{
    for (long i = 0; i < n; i++) {
        tiny_push("range");
        tiny_pop();
    }
}

static void forks(long n)
{
    for (long i = 0; i < n; i++) {
        if (fork() == 0) {
            push(10);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}

static void spawns(const char *self, long n)
{
    char *argv[] = {(char *)self, (char *)"push=10", NULL};
    for (long i = 0; i < n; i++) {
        pid_t pid;
        if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0)
            waitpid(pid, NULL, 0);
    }
}

static void names(void)
{
    tiny_name_thread((uint32_t)syscall(SYS_gettid), "the trainer");
    void *d = tiny_domain("lib");
    struct nvtx_attributes a = tiny_handle(tiny_register(d, "registered"));
    tiny_domain_push(d, &a);
    tiny_domain_pop(d);
    tiny_mark("epoch done");
}

static void on_signal(int sig)
{
    _exit(sig == SIGINT ? 43 : 42);
}

static void cat(void)
{
    for (int c; (c = getchar()) != EOF;)
        putchar(c);
}

int main(int argc, char **argv)
{
    int attached = argc > 1 && strcmp(argv[1], "quiet") != 0 && tiny_attach();
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        long n = equals ? atol(equals + 1) : 0;
        if (!strncmp(argv[i], "train=", 6))
            train(n);
        else if (!strncmp(argv[i], "fork=", 5))
            forks(n);
        else if (!strncmp(argv[i], "spawn=", 6))
            spawns(argv[0], n);
        else if (!strncmp(argv[i], "push=", 5))
            push(n);
        else if (!strncmp(argv[i], "burn=", 5))
            burn(n);
        else if (!strncmp(argv[i], "sleep=", 6))
            sleep_ms(n);
        else if (!strncmp(argv[i], "kill=", 5))
            kill(getpid(), (int)n);
        else if (!strncmp(argv[i], "exit=", 5))
            exit((int)n);
        else if (!strcmp(argv[i], "names"))
            names();
        else if (!strcmp(argv[i], "cat"))
            cat();
        else if (!strcmp(argv[i], "attached"))
            printf("%d\n", attached);
        else if (!strcmp(argv[i], "trap"))
            signal(SIGTERM, on_signal), signal(SIGUSR1, on_signal), signal(SIGINT, on_signal);
        else if (strcmp(argv[i], "quiet") != 0)
            return 99;
    }
    return 0;
}
