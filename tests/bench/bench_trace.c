/* What recording costs: ns per span on the hot path, spans per second into SQLite, bytes per span. One table;
 * a few seconds. Numbers of one run on one machine: compare rows with each other, not with another machine's.
 */
#include "collectors/record/drain.h"

#include "probe/base/heap.h"
#include "probe/trace/stamp.h"
#include "tests/tools/ring_peek.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A run takes half a millisecond: on a busy machine, too, some runs are not interrupted. A rest is between
 * them: where someone else has the core's other hardware thread, spells of some ten milliseconds go at half
 * the speed. A thread's ring is the one a program gets, 64 Ki spans. */
enum { LAPS = 40000, RUNS = 50, REST_NS = 4000000, STREAM_SPANS = 40000000 };

typedef void body_fn(struct pp_thread *t, uint64_t n);

static void laps(struct pp_thread *t, uint64_t n)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE};
    pp_lap_start(t);
    for (uint64_t i = 0; i < n; i++) {
        lap.batch = (uint32_t)(i >> 6);
        __asm__ volatile("" : "+r"(t)); /* whether t is NULL is asked again each time */
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

static void spans(struct pp_thread *t, uint64_t n)
{
    struct pp_lap lap = {.sample = PP_NO_SAMPLE};
    for (uint64_t i = 0; i < n; i++) {
        lap.batch = (uint32_t)(i >> 6);
        pp_span_begin(t, PP_PHASE_DECODE, &lap);
        pp_span_end(t, 0, 0);
    }
}

/* What the clocks alone cost: the lap reads one stamp, a span two. */
static void stamps(struct pp_thread *t, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        pp_stamp_now(PP_HAVE_TSC);
}

static void monotonic_stamps(struct pp_thread *t, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        pp_stamp_now(0);
}

static double best_of(body_fn *body, struct pp_session *s, struct pp_thread *t, uint64_t n)
{
    static struct pp_span sink[4096];
    double best = 1e18;
    for (int run = 0; run < RUNS; run++) {
        pp_sleep_until_ns(pp_now_ns() + REST_NS);
        uint64_t start = pp_now_ns();
        body(t, n);
        double ns = (double)(pp_now_ns() - start) / (double)n;
        best = ns < best ? ns : best;
        while (s && ring_peek(s, pp_thread_id(t), sink, 4096)) {
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
    if (pp_session_open(&(struct pp_session_opts){.resources = resources}, &s, &err))
        die("session", &err);
    double ns = best_of(body, s, pp_thread_register(s, PP_LANE_WORKER, "bench"), n);
    pp_session_close(s, 0);
    return ns;
}

/* What a thread pays once: its ring is made, and its memory is there before the first span. */
static void registering(void)
{
    struct pp_session *s;
    struct pp_err err;
    double best = 1e18;
    if (pp_session_open(NULL, &s, &err))
        die("session", &err);
    for (int i = 0; i < RUNS / 5; i++) {
        uint64_t start = pp_now_ns();
        pp_thread_register(s, PP_LANE_WORKER, "bench");
        double us = (double)(pp_now_ns() - start) / 1e3;
        best = us < best ? us : best;
    }
    printf("a thread registers, once          %8.0f us         (a ring of 64 Ki spans, 4 MiB, in memory)\n",
           best);
    pp_session_close(s, 0);
}

/* ---- spans per second ---- */

/* What records: all NULL when nothing does. */
struct recording {
    char path[40];
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
};

static void start_recording(struct recording *r, size_t ring_spans)
{
    struct pp_err err;
    *r = (struct recording){.path = "/tmp/pp-bench-XXXXXX.sqlite"};
    int fd = mkstemps(r->path, 7);
    if (fd < 0) {
        perror("bench_trace: /tmp");
        exit(4);
    }
    close(fd);
    if (pp_session_open(&(struct pp_session_opts){.ring_spans = ring_spans}, &r->session, &err) ||
        pp_store_create(&(struct pp_store_opts){.path = r->path, .force = 1}, &r->store, &err) ||
        pp_drain_start(&(struct pp_drain_opts){.session = r->session, .store = r->store}, &r->drain, &err))
        die("drain", &err);
}

static void drop_recording(struct recording *r)
{
    pp_store_close(r->store);
    pp_session_close(r->session, 0);
    if (r->session)
        unlink(r->path);
}

struct stream {
    struct pp_session *session;
    uint64_t spans;
};

/* A producer that goes as fast as nothing is lost: it looks at the fill every 4096 spans and waits above
 * three quarters. */
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
    struct recording r;
    struct pp_drain_stats stats;
    pthread_t thread[8];
    start_recording(&r, 1 << 17);
    struct stream s = {r.session, STREAM_SPANS / (uint64_t)producers};
    uint64_t start = pp_now_ns();
    for (int i = 0; i < producers; i++)
        pthread_create(&thread[i], NULL, stream, &s);
    for (int i = 0; i < producers; i++)
        pthread_join(thread[i], NULL);
    pp_drain_stop(r.drain, &stats);
    double seconds = (double)(pp_now_ns() - start) / 1e9;
    struct pp_store_progress wrote = pp_store_progress(r.store);
    printf(
        "%d producer%s into SQLite, lean    %8.2f M spans/s   lost %llu   drain CPU %.1f ns/span   %.2f B/span\n",
        producers, producers > 1 ? "s" : " ", (double)stats.spans / seconds / 1e6,
        (unsigned long long)stats.dropped, (double)stats.cpu_ns / (double)stats.spans,
        (double)wrote.chunk_bytes / (double)wrote.spans);
    drop_recording(&r);
}

/* ---- what recording takes from a machine that has nothing to spare ---- */

enum { PHASE_NS = 10000, WINDOW_NS = 950000000, SETTLE_NS = 50000000, ROUNDS = 15, THREADS = 2 };

struct busy {
    uint64_t phases; /* read while the thread counts: __atomic */
    uint64_t work;
    pthread_t id;
    clockid_t cpu;
    struct pp_session *session;
    const int *stop;
    char pad[128]; /* the threads do not share a line */
};

/* Dependent arithmetic, so that nothing overlaps with the recording. */
static uint64_t toil(uint64_t x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static void *busy(void *arg)
{
    struct busy *b = arg;
    volatile uint64_t sink = 1;
    uint64_t phases = 0;
    struct pp_thread *t = pp_thread_register(b->session, PP_LANE_WORKER, "busy"); /* no session: off */
    pp_lap_start(t);
    while (!__atomic_load_n(b->stop, __ATOMIC_RELAXED)) {
        sink = toil(sink, b->work);
        pp_lap_end(t, PP_PHASE_DECODE, &(struct pp_lap){.sample = phases, .batch = (uint32_t)(phases >> 6)});
        __atomic_store_n(&b->phases, ++phases, __ATOMIC_RELAXED);
    }
    pp_thread_retire(t);
    return NULL;
}

/* How far everything is at one moment. */
struct mark {
    double ns, phases, cpu_ns, busy_cpu_ns, faults,
        switches; /* cpu_ns: of the process; busy_cpu_ns: of the threads with phases */
};

static struct mark look(const struct busy *b)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    struct mark m = {.ns = (double)pp_now_ns(),
                     .cpu_ns = (double)pp_process_cpu_ns(),
                     .faults = (double)u.ru_minflt,
                     .switches = (double)(u.ru_nvcsw + u.ru_nivcsw)};
    for (int i = 0; i < THREADS; i++) {
        m.phases += (double)__atomic_load_n(&b[i].phases, __ATOMIC_RELAXED);
        m.busy_cpu_ns += (double)pp_clock_of(b[i].cpu);
    }
    return m;
}

struct window {
    double rate; /* phases per second of both threads */
    double busy_ns,
        other_ns; /* CPU time per phase: of the threads that have them, of all others of the process */
    double faults, switches; /* per second, of the process */
};

/* The threads have registered and the drain has its memory when the window begins: what is measured is a run
 * that goes on, not the making of two rings of 8 MiB, which a run does once (registering() has its cost).
 * What the drain does for the phases of the window it does within the window: it is stopped, and so commits,
 * before the window ends (and with them those of SETTLE_NS before it). */
static struct window busy_window(int on, uint64_t work)
{
    struct recording r = {.session = NULL};
    struct busy b[THREADS];
    int stop = 0;
    if (on)
        start_recording(&r, 1 << 17);
    for (int i = 0; i < THREADS; i++) {
        b[i] = (struct busy){.work = work, .session = r.session, .stop = &stop};
        if (pthread_create(&b[i].id, NULL, busy, &b[i]) || pthread_getcpuclockid(b[i].id, &b[i].cpu)) {
            fprintf(stderr, "bench_trace: cannot start a thread\n");
            exit(4);
        }
    }
    for (int i = 0; i < THREADS; i++)
        while (!__atomic_load_n(&b[i].phases, __ATOMIC_RELAXED)) /* on a busy machine a ring takes its time */
            pp_sleep_until_ns(pp_now_ns() + 1000000);
    pp_sleep_until_ns(pp_now_ns() + SETTLE_NS);
    struct mark from = look(b);
    pp_sleep_until_ns((uint64_t)from.ns + WINDOW_NS);
    pp_drain_stop(r.drain, NULL);
    struct mark to = look(b);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(b[i].id, NULL);
    drop_recording(&r);
    double seconds = (to.ns - from.ns) / 1e9, phases = to.phases - from.phases,
           busy_cpu_ns = to.busy_cpu_ns - from.busy_cpu_ns;
    return (struct window){
        .rate = phases / seconds,
        .busy_ns = busy_cpu_ns / phases,
        .other_ns = (to.cpu_ns - from.cpu_ns - busy_cpu_ns) / phases,
        .faults = (to.faults - from.faults) / seconds,
        .switches = (to.switches - from.switches) / seconds,
    };
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_size);
    return v[ROUNDS / 2];
}

static void show_rounds(const char *what, const char *goal, double *v)
{
    double middle = median(v);
    printf("%-42s %6.2f %%   %s   range %.2f .. %.2f, middle half %.2f .. %.2f, over %d rounds\n", what,
           middle, goal, v[0], v[ROUNDS - 1], v[ROUNDS / 4], v[ROUNDS - 1 - ROUNDS / 4], ROUNDS);
}

/* Off, on, on, off in each round: what drifts within a round falls on both. What the two offs differ by is
 * what this machine alone does. The CPU time of the process tells apart who pays, and leaves out what other
 * programs take. */
static void saturated(void)
{
    double lost[ROUNDS], noise[ROUNDS], cpu[ROUNDS], cpu_noise[ROUNDS], busy_ns[ROUNDS], other_ns[ROUNDS],
        faults[ROUNDS], faults_off[ROUNDS], switches[ROUNDS], switches_off[ROUNDS];
    volatile uint64_t sink = toil(1, 1000000);
    uint64_t start = pp_thread_cpu_ns();
    sink = toil(sink, 10000000);
    uint64_t work = (uint64_t)(PHASE_NS * 1e7 / (double)(pp_thread_cpu_ns() - start));
    for (int i = 0; i < ROUNDS; i++) {
        struct window off = busy_window(0, work), on = busy_window(1, work), on2 = busy_window(1, work),
                      off2 = busy_window(0, work);
        double off_ns = off.busy_ns + off.other_ns, off2_ns = off2.busy_ns + off2.other_ns;
        lost[i] = 100 * (1 - (on.rate + on2.rate) / (off.rate + off2.rate));
        noise[i] = 100 * (1 - off2.rate / off.rate);
        busy_ns[i] = (on.busy_ns + on2.busy_ns - off.busy_ns - off2.busy_ns) / 2;
        other_ns[i] = (on.other_ns + on2.other_ns - off.other_ns - off2.other_ns) / 2;
        cpu[i] = 100 * 2 * (busy_ns[i] + other_ns[i]) / (off_ns + off2_ns);
        cpu_noise[i] = 100 * (off2_ns / off_ns - 1);
        faults[i] = (on.faults + on2.faults) / 2;
        faults_off[i] = (off.faults + off2.faults) / 2;
        switches[i] = (on.switches + on2.switches) / 2;
        switches_off[i] = (off.switches + off2.switches) / 2;
    }
    show_rounds("overhead, 2 threads, 10 us phases", "<= 0.5", lost);
    show_rounds("  the same of off against off", "      ", noise);
    show_rounds("  in CPU time of the process", "      ", cpu);
    show_rounds("  the same of off against off", "      ", cpu_noise);
    printf(
        "  a phase costs its thread %.1f ns, the drain %.1f ns; page faults %.0f/s (off %.0f), context switches %.0f/s (off %.0f)\n",
        median(busy_ns), median(other_ns), median(faults), median(faults_off), median(switches),
        median(switches_off));
}

static void hot(void)
{
    printf("recording, best of %d runs of %d spans\n", RUNS, LAPS);
    printf("off (NULL thread)                 %8.2f ns/span   <= 1\n", best_of(laps, NULL, NULL, LAPS));
    printf("lap, times only                   %8.2f ns/span   <= 13\n", hot_path(laps, 0, LAPS));
    printf("both stamps + record              %8.2f ns/span   <= 25\n", hot_path(begin_end, 0, LAPS));
    printf("pp_span_begin + pp_span_end       %8.2f ns/span   (what is open survives a kill)\n",
           hot_path(spans, 0, LAPS));
    printf("of which one stamp                %8.2f ns%s\n", best_of(stamps, NULL, NULL, LAPS),
           PP_HAVE_TSC ? " (rdtsc)" : "");
    printf("lap, CPU time and run delay       %8.2f ns/span\n", hot_path(laps, 1, LAPS / 10));
    setenv("PIPEPROBE_CLOCK", "monotonic", 1);
    printf("lap, times only, clock_gettime    %8.2f ns/span\n", hot_path(laps, 0, LAPS));
    unsetenv("PIPEPROBE_CLOCK");
    printf("of which one stamp                %8.2f ns (clock_gettime)\n",
           best_of(monotonic_stamps, NULL, NULL, LAPS));
    registering();
}

static void stream_into_sqlite(void)
{
    sustained(1);
    sustained(2);
}

/* bench_trace [PART]: all parts, or one. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } part[] = {{"hot", hot}, {"stream", stream_into_sqlite}, {"saturated", saturated}};
    int ran = 0;
    pp_heap_keep(); /* as pipeprobe does */
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
        if (argc < 2 || strcmp(argv[1], part[i].name) == 0) {
            part[i].run();
            ran = 1;
        }
    if (!ran)
        fprintf(stderr, "bench_trace: there is no part %s; give hot, stream or saturated\n", argv[1]);
    return ran ? 0 : 2;
}
