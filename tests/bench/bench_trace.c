/* What recording costs: ns per span on the hot path, spans per second into SQLite, bytes per span. One table; a few seconds.
 * Numbers of one run on one machine: compare rows with each other, not with another machine's. */
#include "collectors/drain.h"

#include "probe/base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAPS = 400000, RUNS = 5, STREAM_SPANS = 40000000 };

typedef void body_fn(struct pp_thread *t, uint64_t n);

static void laps(struct pp_thread *t, uint64_t n)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE};
    pp_lap_start(t);
    for (uint64_t i = 0; i < n; i++) {
        lap.batch = (uint32_t)(i >> 6);
        pp_lap_end(t, PP_PHASE_DECODE, &lap);
    }
}

static void begin_end(struct pp_thread *t, uint64_t n)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE};
    for (uint64_t i = 0; i < n; i++) {
        lap.batch = (uint32_t)(i >> 6);
        pp_lap_start(t);
        pp_lap_end(t, PP_PHASE_DECODE, &lap);
    }
}

static double best_of(body_fn *body, struct pp_session *s, struct pp_thread *t, uint64_t n)
{
    static struct pp_span sink[4096];
    double best = 1e18;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start = pp_now_ns();
        body(t, n);
        double ns = (double)(pp_now_ns() - start) / (double)n;
        best = ns < best ? ns : best;
        while (s && pp_ring_peek(s, pp_thread_id(t), sink, 4096)) {
        }
        if (s)
            pp_ring_release(s, pp_thread_id(t));
    }
    return best;
}

static void die(const char *what, const struct pp_err *err)
{
    fprintf(stderr, "bench_trace: %s: %s\n", what, err->text);
    exit(4);
}

static double hot_path(body_fn *body, int resources, uint64_t n)
{
    struct pp_session *s;
    struct pp_err err;
    if (pp_session_open(&(struct pp_session_opts){.ring_spans = LAPS + 1, .resources = resources}, &s, &err))
        die("session", &err);
    double ns = best_of(body, s, pp_thread_register(s, PP_LANE_WORKER, "bench"), n);
    pp_session_close(s, 0);
    return ns;
}

struct stream {
    struct pp_session *session;
    uint64_t spans;
};

/* A producer that goes as fast as nothing is lost: it looks at the fill every 4096 spans and waits above three quarters. */
static void *stream(void *arg)
{
    struct stream *s = arg;
    struct pp_thread *t = pp_thread_register(s->session, PP_LANE_WORKER, "stream");
    struct pp_lap lap = {.sample = PP_NO_SAMPLE};
    pp_lap_start(t);
    for (uint64_t i = 0; i < s->spans; i++) {
        lap.batch = (uint32_t)(i >> 10);
        pp_lap_end(t, i & 1 ? PP_PHASE_DECODE : PP_PHASE_READ, &lap);
        while (i % 4096 == 0 && pp_session_fill(s->session) > 0.75)
            usleep(100);
    }
    return NULL;
}

static void sustained(int producers)
{
    char path[] = "/tmp/pp-bench-XXXXXX.sqlite";
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
    struct pp_drain_stats stats;
    struct pp_store_cost cost;
    struct pp_err err;
    pthread_t thread[8];
    int fd = mkstemps(path, 7);
    if (fd < 0)
        return;
    close(fd);
    if (pp_session_open(&(struct pp_session_opts){.ring_spans = 1 << 17}, &session, &err) || pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &store, &err)
        || pp_drain_start(&(struct pp_drain_opts){.session = session, .store = store}, &drain, &err))
        die("drain", &err);
    struct stream s = {session, STREAM_SPANS / (uint64_t)producers};
    uint64_t start = pp_now_ns();
    for (int i = 0; i < producers; i++)
        pthread_create(&thread[i], NULL, stream, &s);
    for (int i = 0; i < producers; i++)
        pthread_join(thread[i], NULL);
    pp_drain_stop(drain, &stats);
    double seconds = (double)(pp_now_ns() - start) / 1e9;
    pp_store_cost(store, &cost);
    printf("%d producer%s into SQLite, lean    %8.2f M spans/s   lost %llu   drain CPU %.1f ns/span   %.2f B/span\n", producers, producers > 1 ? "s" : " ",
           (double)stats.spans / seconds / 1e6, (unsigned long long)stats.dropped, (double)stats.cpu_ns / (double)stats.spans, (double)cost.chunk_bytes / (double)cost.spans);
    pp_store_close(store);
    pp_session_close(session, 0);
    unlink(path);
}

int main(void)
{
    printf("recording, best of %d runs of %d spans\n", RUNS, LAPS);
    printf("off (NULL thread)                 %8.2f ns/span\n", best_of(laps, NULL, NULL, LAPS * 10));
    printf("lap, times only                   %8.2f ns/span\n", hot_path(laps, 0, LAPS));
    printf("begin + end, times only           %8.2f ns/span\n", hot_path(begin_end, 0, LAPS));
    printf("lap, CPU time and run delay       %8.2f ns/span\n", hot_path(laps, 1, LAPS / 10));
    setenv("PIPEPROBE_CLOCK", "monotonic", 1);
    printf("lap, times only, clock_gettime    %8.2f ns/span\n", hot_path(laps, 0, LAPS));
    unsetenv("PIPEPROBE_CLOCK");
    sustained(1);
    sustained(2);
    return 0;
}
