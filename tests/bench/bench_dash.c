/* What a frame of the dashboard costs on a run that goes on, one minute, one hour, ten hours and a day after
 * its start: goal <= 5 ms at any length, and
 * <= 1 % of a core at four frames a second. A frame is what the loop does between two keys (dash.c): looking
 * at the file, the snapshot, drawing. Every fourth one finds a new second, as recorded: committed once a
 * second, with the spans of eight busy workers. Threads beside the display (the verdict, the verdict and
 * what-if) and the terminal are in watch.sh, which measures the whole program. */
#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "tui/dash/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    WORKERS = 8,
    SAMPLES_PER_S = 250 /* per worker */,
    STEPS_PER_S = 25,
    DENSE_S = 20,
    WATCHED_S = 25,
    FRAMES_PER_S = 4,
    LOOKS_PER_S = 2
};
#define SECOND_NS UINT64_C(1000000000)
#define T0 (1000 * SECOND_NS)

static void span(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t start_ns, uint64_t dur_ns,
                 uint64_t sample)
{
    pp_store_append(s, thread,
                    &(struct pp_span){.start_ns = start_ns,
                                      .dur_ns = dur_ns,
                                      .phase = (uint8_t)phase,
                                      .sample = sample,
                                      .batch = (uint32_t)(start_ns / (SECOND_NS / STEPS_PER_S)),
                                      .cpu_ns = dur_ns / 2,
                                      .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY},
                    1);
}

/* One second of the run. Every phase is in each; samples: how many per worker: roll-ups and chunks are what
 * grows with the length of a run, not how much is in each. */
static void add_second(struct pp_store *s, unsigned second, unsigned samples)
{
    static const pp_phase phases[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE,
                                      PP_PHASE_SLOT_WAIT};
    uint64_t t = T0 + second * SECOND_NS, each = SECOND_NS / samples, step = SECOND_NS / STEPS_PER_S;
    for (uint32_t i = 1; i <= WORKERS; i++)
        for (unsigned k = 0; k < samples; k++)
            for (unsigned p = 0; p < 5; p++)
                span(s, i, phases[p], t + k * each + p * (each / 5), each / 5,
                     ((uint64_t)second * samples + k) * WORKERS + i);
    for (unsigned k = 0; k < STEPS_PER_S; k++) {
        span(s, 0, PP_PHASE_DATA_WAIT, t + k * step, step / 10, k);
        span(s, 0, PP_PHASE_STEP, t + k * step + step / 10, step / 2, k);
    }
    pp_store_commit(s, NULL);
}

static struct pp_store *make(const char *path, unsigned seconds)
{
    struct pp_store *s = NULL;
    if (pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, NULL) != PP_OK)
        exit(1);
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_num(s, "config", "workers", WORKERS, "threads");
    pp_store_meta_num(s, "config", "batch_size", WORKERS * SAMPLES_PER_S / STEPS_PER_S, "samples");
    pp_store_meta_num(s, "config", "prefetch", 2, "batches");
    pp_store_meta_num(s, "config", "copy_buffers", 2, "batches");
    pp_store_meta_num(s, "environment", "usable_cpus", WORKERS, "CPUs");
    for (uint32_t i = 0; i <= WORKERS; i++)
        pp_store_thread(s, &(struct pp_store_thread){.id = i,
                                                     .lane = i ? PP_LANE_WORKER : PP_LANE_TRAINER,
                                                     .name = i ? "pp-worker" : "pp-trainer"});
    for (unsigned second = 0; second < seconds; second++)
        add_second(s, second, second + DENSE_S < seconds ? 1 : SAMPLES_PER_S);
    return s;
}

struct watched {
    struct pp_live *live;
    struct pp_live_snapshot snap;
    struct pp_grid grid;
    double wall_ms[WATCHED_S * FRAMES_PER_S], cpu_s;
    int n;
};

static void frame(struct watched *w, const char *path, int looks)
{
    struct pp_dash_state state = pp_dash_start;
    struct pp_dash_model model = {.path = path, .snap = &w->snap};
    uint64_t wall = pp_now_ns(), cpu = pp_thread_cpu_ns();
    if (looks)
        pp_live_refresh(w->live, NULL, NULL);
    pp_live_at(w->live, UINT64_MAX, pp_windows[state.window], &w->snap, NULL);
    pp_grid_resize(&w->grid, 40, 120);
    pp_draw(&w->grid, PP_GLYPHS_BLOCK, &state, &model);
    w->cpu_s += (double)(pp_thread_cpu_ns() - cpu) / 1e9;
    w->wall_ms[w->n++] = (double)(pp_now_ns() - wall) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *path, unsigned seconds)
{
    static struct watched w;
    struct rusage used;
    struct pp_store *store = make(path, seconds);
    uint64_t began = pp_now_ns();
    memset(&w, 0, sizeof(w));
    if (pp_live_open(path, &w.live, NULL) != PP_OK ||
        pp_live_at(w.live, UINT64_MAX, 5, &w.snap, NULL) != PP_OK)
        exit(1);
    double open_ms = (double)(pp_now_ns() - began) / 1e6;
    for (unsigned second = 0; second < WATCHED_S; second++) {
        add_second(store, seconds + second, SAMPLES_PER_S);
        for (int i = 0; i < FRAMES_PER_S; i++)
            frame(&w, path, i % (FRAMES_PER_S / LOOKS_PER_S) == 0);
    }
    began = pp_now_ns();
    pp_live_at(w.live, w.snap.last_s / 2 + w.snap.first_s / 2, 300, &w.snap,
               NULL); /* somewhere else: its spans have to be read */
    double jump_ms = (double)(pp_now_ns() - began) / 1e6, sum = 0;
    qsort(w.wall_ms, (size_t)w.n, sizeof(*w.wall_ms), by_value);
    for (int i = 0; i < w.n; i++)
        sum += w.wall_ms[i];
    getrusage(RUSAGE_SELF, &used); /* the most so far: lengths rise */
    printf("%6u s  %8.1f  %8.3f  %8.3f  %8.3f  %8.2f  %10.2f  %8.0f\n", seconds, open_ms, sum / w.n,
           w.wall_ms[w.n * 95 / 100], w.wall_ms[w.n - 1], jump_ms, 100 * w.cpu_s / WATCHED_S,
           (double)used.ru_maxrss / 1024);
    pp_grid_free(&w.grid);
    pp_live_close(w.live);
    pp_store_close(store);
}

/* A knob turned in the what-if view until its answer is there, interval included, beside the display: goal <
 * 100 ms. The recording is read before. */
static void measure_whatif(const char *path)
{
    static const char *const asked[] = {"",         "decode=0.5", "decode=0.8",          "transform=0.5",
                                        "step=0.8", "step=1.25",  "storage-latency=0.5", "decode=1.25",
                                        "cache=0.5"};
    enum { ASKED = sizeof(asked) / sizeof(*asked) };
    struct pp_predictor *p = pp_predictor_start(path);
    struct pp_predicted answer = {.set = "none"};
    double ms[ASKED] = {0};
    for (int i = 0; i < ASKED; i++) {
        uint64_t began = pp_now_ns();
        while (!pp_predictor_ask(p, asked[i], &answer) || strcmp(answer.set, asked[i]) != 0)
            usleep(500);
        ms[i] = (double)(pp_now_ns() - began) / 1e6;
    }
    qsort(ms + 1, ASKED - 1, sizeof(*ms), by_value);
    printf(
        "\nwhat if: first look %.0f ms; a knob turned: median %.1f ms, worst %.1f ms (goal < 100 ms)%s%s\n",
        ms[0], ms[1 + (ASKED - 1) / 2], ms[ASKED - 1], answer.status == PP_OK ? "" : ": ",
        answer.status == PP_OK ? "" : answer.why);
    pp_predictor_stop(p);
}

/* bench_dash [--quick]: the shortest run alone. */
int main(int argc, char **argv)
{
    static const unsigned lengths[] = {60, 3600, 36000, 86400};
    size_t n = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 1 : sizeof(lengths) / sizeof(*lengths);
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    char dir[] = "/tmp/pp-bench-dash-XXXXXX", path[64], name[80];
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    printf("%8s  %8s  %8s  %8s  %8s  %8s  %10s  %8s\n", "run", "open, ms", "frame, ms", "p95", "worst",
           "jump, ms", "% of a core", "MiB");
    for (size_t i = 0; i < n; i++) {
        measure(path, lengths[i]);
        if (i == 0)
            measure_whatif(path);
        for (size_t k = 0; k < sizeof(tails) / sizeof(*tails); k++) {
            snprintf(name, sizeof(name), "%s%s", path, tails[k]);
            unlink(name);
        }
    }
    rmdir(dir);
    printf("goals: frame <= 5 ms on a run of any length, <= 1 %% of a core at 4 frames/s\n");
    return 0;
}
