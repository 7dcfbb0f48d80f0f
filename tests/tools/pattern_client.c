/* pattern_client RUN.sqlite PATTERN: a data loader of somebody's own, recorded through libpipeprobe, that
 * does what people ask about by name:
 *
 *   lockstep    4 workers deal the batches as PyTorch does (batch b to worker b % 4), all equally slow
 *   slow        the same, but fast, and worker 0 takes four times as long
 *   fast        the same, and the trainer never waits
 *   restarts    2 workers, begun again for each of 4 epochs
 *   keeps       2 workers for all 4 epochs
 *   hangs       2 workers, of which one reads for ever from batch 40 on; the program is to be killed
 *   leaks       2 worker processes, of which one keeps 1 MiB of each batch
 *   steady      2 worker processes that keep nothing
 *   drains      4 workers far ahead of the trainer, that become too slow after 2 s
 *
 * A worker has up to PREFETCH batches in flight. */
#include <pipeprobe/pipeprobe.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MOST = 4, BATCHES_MOST = 4096, BATCH = 4 };

static const struct pattern {
    const char *name;
    unsigned workers, prefetch, epochs, batches; /* batches: of an epoch */
    unsigned make_us, step_us;
    int anew, processes;
} patterns[] = {
    {"lockstep", 4, 2, 1, 120, 60000, 3000, 0, 0}, {"slow", 4, 2, 1, 160, 8000, 4000, 0, 0},
    {"fast", 4, 2, 1, 300, 4000, 6000, 0, 0},      {"restarts", 2, 2, 4, 60, 4000, 6000, 1, 0},
    {"keeps", 2, 2, 4, 60, 4000, 6000, 0, 0},      {"hangs", 2, 2, 1, 4000, 4000, 6000, 0, 0},
    {"leaks", 2, 2, 1, 1200, 4000, 20000, 0, 1},   {"steady", 2, 2, 1, 1200, 4000, 20000, 0, 1},
    {"drains", 4, 40, 1, 500, 4000, 20000, 0, 0},
};

/* Shared with worker processes. */
struct board {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned taken; /* batches, in order */
    unsigned char ready[BATCHES_MOST];
};

static const struct pattern *pattern;
static struct pp_recorder *recorder;
static struct board *board;
static uint64_t begun_ns;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int is(const char *name)
{
    return strcmp(pattern->name, name) == 0;
}

static unsigned make_us(unsigned worker, unsigned batch)
{
    if (is("slow") && worker == 0)
        return 4 * pattern->make_us;
    if (is("drains") && now_ns() - begun_ns > 2000000000u)
        return 40 * pattern->make_us;
    if (is("hangs") && worker == 1 && batch > 40)
        return UINT32_MAX;
    return pattern->make_us;
}

static void keep(unsigned worker)
{
    enum { KEPT = 1 << 20 };
    static char *volatile last; /* a compiler leaves out what has no effect */
    char *kept = is("leaks") && worker == 1 ? malloc(KEPT) : NULL;
    if (kept)
        memset(kept, 1, KEPT);
    last = kept;
    (void)last;
}

static void work(unsigned worker, unsigned first, unsigned end)
{
    char name[16];
    snprintf(name, sizeof(name), "worker-%u", worker);
    struct pp_thread *t = pp_thread_open(recorder, PP_LANE_WORKER, name);
    if (is("restarts"))
        usleep(250000);   /* imports */
    if (is("lockstep")) { /* all begin at one moment, also where one had to wait for a CPU */
        uint64_t at = begun_ns + 200000000u;
        struct timespec until = {.tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    for (unsigned b = first + worker; b < end; b += pattern->workers) {
        unsigned us = make_us(worker, b), ahead = pattern->workers * pattern->prefetch;
        pthread_mutex_lock(&board->lock);
        while (b >= board->taken + ahead)
            pthread_cond_wait(&board->changed, &board->lock);
        pthread_mutex_unlock(&board->lock);
        struct pp_lap lap = {.batch = b,
                             .epoch = (uint16_t)(b / pattern->batches),
                             .sample = b * BATCH,
                             .bytes = 64 << 10};
        pp_span_begin(t, PP_PHASE_READ, &lap);
        if (us == UINT32_MAX)
            pause();
        usleep(us);
        keep(worker);
        pp_span_end(t, 0, 0);
        pp_span_begin(t, PP_PHASE_COLLATE, &lap);
        pp_span_end(t, 0, 0);
        pthread_mutex_lock(&board->lock);
        board->ready[b] = 1;
        pthread_cond_broadcast(&board->changed);
        pthread_mutex_unlock(&board->lock);
    }
    pp_thread_retire(t);
}

/* ---- workers as threads or processes ---- */

struct start {
    unsigned worker, first, end;
};

static void *thread_main(void *arg)
{
    struct start *s = arg;
    work(s->worker, s->first, s->end);
    return NULL;
}

struct started {
    struct start what[WORKERS_MOST];
    pthread_t thread[WORKERS_MOST];
    pid_t pid[WORKERS_MOST];
};

static void start_workers(struct started *s, unsigned first, unsigned end)
{
    for (unsigned w = 0; w < pattern->workers; w++) {
        s->what[w] = (struct start){w, first, end};
        if (!pattern->processes) {
            pthread_create(&s->thread[w], NULL, thread_main, &s->what[w]);
        } else if ((s->pid[w] = fork()) == 0) {
            work(w, first, end);
            _exit(0);
        }
    }
}

static void join_workers(const struct started *s)
{
    for (unsigned w = 0; w < pattern->workers; w++) {
        if (pattern->processes)
            waitpid(s->pid[w], NULL, 0);
        else
            pthread_join(s->thread[w], NULL);
    }
}

static void train(struct pp_thread *t, unsigned first, unsigned end)
{
    uint16_t depth = pp_name(recorder, "queue_ready_batches");
    for (unsigned b = first; b < end; b++) {
        struct pp_lap lap = {.batch = b,
                             .epoch = (uint16_t)(b / pattern->batches),
                             .sample = BATCH,
                             .flags = PP_SPAN_COUNT};
        unsigned ready = 0;
        pp_span_begin(t, PP_PHASE_DATA_WAIT, &lap);
        pthread_mutex_lock(&board->lock);
        while (!board->ready[b])
            pthread_cond_wait(&board->changed, &board->lock);
        board->taken = b + 1;
        for (unsigned k = b + 1; k < end; k++)
            ready += board->ready[k];
        pthread_cond_broadcast(&board->changed);
        pthread_mutex_unlock(&board->lock);
        pp_span_end(t, 0, 0);
        pp_counter_put(t, depth, ready);
        pp_span_begin(t, PP_PHASE_STEP, &lap);
        usleep(pattern->step_us);
        pp_span_end(t, 0, 0);
    }
}

static int make_board(void)
{
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 0;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&c);
    pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
    return pthread_mutex_init(&board->lock, &m) == 0 && pthread_cond_init(&board->changed, &c) == 0;
}

int main(int argc, char **argv)
{
    struct pp_err err;
    struct started started;
    for (size_t i = 0; argc == 3 && i < sizeof(patterns) / sizeof(*patterns); i++)
        pattern = strcmp(argv[2], patterns[i].name) == 0 ? &patterns[i] : pattern;
    if (!pattern) {
        fprintf(stderr, "usage: pattern_client RUN.sqlite PATTERN\npatterns:");
        for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
            fprintf(stderr, " %s", patterns[i].name);
        fputc('\n', stderr);
        return 2;
    }
    if (!make_board() || pp_open(argv[1], &(struct pp_open_opts){.replace = 1}, &recorder, &err) != PP_OK) {
        fprintf(stderr, "not recorded: %s\n", err.text);
        return 1;
    }
    begun_ns = now_ns();
    unsigned all = pattern->epochs * pattern->batches;
    struct pp_thread *t = NULL;
    for (unsigned e = 0; e < pattern->epochs; e++) {
        unsigned first = e * pattern->batches, end = first + pattern->batches;
        if (pattern->anew)
            start_workers(&started, first, end);
        else if (e == 0)
            start_workers(&started, 0, all);
        if (!t)
            t = pp_thread_open(recorder, PP_LANE_TRAINER, "trainer");
        train(t, first, end);
        if (pattern->anew || e + 1 == pattern->epochs)
            join_workers(&started);
    }
    pp_thread_retire(t);
    if (pp_close(recorder, &err) != PP_OK)
        fprintf(stderr, "note: %s\n", err.text);
    return 0;
}
