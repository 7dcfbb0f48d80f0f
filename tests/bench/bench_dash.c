/* What a frame of the dashboard costs on runs of one minute, one hour and one day: goal <= 5 ms at any length, and <= 1 % of a core at four frames a
 * second. A frame is what the loop does between two keys: looking at the file, the snapshot, drawing. A second's new spans are read once a second. */
#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "tui/dash/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 8, FRAMES = 200 };
#define SECOND_NS UINT64_C(1000000000)
#define T0 (1000 * SECOND_NS)

static void span(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t start_ns, uint64_t dur_ns)
{
    pp_store_append(s, thread, &(struct pp_span){.start_ns = start_ns, .dur_ns = dur_ns, .phase = (uint8_t)phase, .sample = start_ns / dur_ns, .batch = (uint32_t)(start_ns / SECOND_NS),
                                                 .cpu_ns = dur_ns / 2, .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY}, 1);
}

/* Eight workers and a trainer, every phase in every second; few spans, for the roll-ups are what grows with the length of a run. */
static void make(const char *path, unsigned seconds)
{
    struct pp_store *s = NULL;
    if (pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, NULL) != PP_OK)
        exit(1);
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    for (uint32_t i = 0; i <= WORKERS; i++)
        pp_store_thread(s, &(struct pp_store_thread){.id = i, .lane = i ? PP_LANE_WORKER : PP_LANE_TRAINER, .name = i ? "pp-worker" : "pp-trainer"});
    for (unsigned second = 0; second < seconds; second++) {
        uint64_t t = T0 + second * SECOND_NS, tenth = SECOND_NS / 10;
        for (uint32_t i = 1; i <= WORKERS; i++) {
            static const pp_phase phases[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE, PP_PHASE_SLOT_WAIT};
            for (int p = 0; p < 5; p++)
                span(s, i, phases[p], t + (uint64_t)p * tenth, tenth);
        }
        span(s, 0, PP_PHASE_DATA_WAIT, t, 3 * tenth);
        span(s, 0, PP_PHASE_STEP, t + 3 * tenth, 6 * tenth);
        if (second % 60 == 59)
            pp_store_commit(s, NULL);
    }
    pp_store_commit(s, NULL);
    pp_store_close(s);
}

static void measure(const char *path, unsigned seconds)
{
    struct pp_live *live = NULL;
    struct pp_live_snapshot snap;
    struct pp_dash_state state = pp_dash_start();
    struct pp_dash_model model = {.path = path, .snap = &snap};
    struct pp_grid grid = {0};
    uint64_t began = pp_now_ns(), sum = 0, most = 0;
    if (pp_live_open(path, &live, NULL) != PP_OK || pp_live_at(live, UINT64_MAX, 5, &snap, NULL) != PP_OK)
        exit(1);
    double open_ms = (double)(pp_now_ns() - began) / 1e6;
    for (int i = 0; i < FRAMES; i++) {
        uint64_t a = pp_now_ns();
        pp_live_refresh(live, NULL, NULL);
        pp_live_at(live, UINT64_MAX, pp_windows[state.window], &snap, NULL);
        pp_grid_resize(&grid, 40, 120);
        pp_draw(&grid, PP_GLYPHS_BLOCK, &state, &model);
        uint64_t took = pp_now_ns() - a;
        sum += took;
        most = took > most ? took : most;
    }
    began = pp_now_ns();
    pp_live_at(live, snap.last_s / 2 + snap.first_s / 2, 300, &snap, NULL); /* somewhere else: its spans have to be read */
    double jump_ms = (double)(pp_now_ns() - began) / 1e6, frame_ms = (double)sum / FRAMES / 1e6;
    printf("%8u s  %10.1f  %10.3f  %10.3f  %10.2f  %12.2f\n", seconds, open_ms, frame_ms, (double)most / 1e6, jump_ms, frame_ms * 4 / 10);
    pp_grid_free(&grid);
    pp_live_close(live);
}

int main(void)
{
    static const unsigned lengths[] = {60, 3600, 86400};
    char dir[] = "/tmp/pp-bench-dash-XXXXXX", path[64];
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    printf("%10s  %10s  %10s  %10s  %10s  %12s\n", "run", "open, ms", "frame, ms", "worst, ms", "jump, ms", "% of a core");
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        make(path, lengths[i]);
        measure(path, lengths[i]);
        unlink(path);
    }
    rmdir(dir);
    printf("goals: frame <= 5 ms on a run of any length, <= 1 %% of a core at 4 frames/s\n");
    return 0;
}
