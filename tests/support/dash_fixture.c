#include <math.h>
#include "tests/support/dash_fixture.h"

struct made_run *dash_run;
struct pp_live *dash_live;

struct pp_live_snapshot dash_snap;

static const struct pp_report_fix fix = {.knob = "workers",
                                         .to = "8",
                                         .text = "Use more workers.",
                                         .change = "num_workers=8",
                                         .gain = 0.09,
                                         .low = 0.05,
                                         .high = 0.11,
                                         .samples_per_s = 173};

static struct pp_report_op ops[] = {
    {.name = "Blur(radius=2)", .place = "augment.py:29", .share = 0.61, .cpu_share = 0.97, .gain = 0.31},
    {.name = "Birds.__getitem__",
     .place = "train.py:12",
     .loader = "val_loader",
     .share = 0.08,
     .cpu_share = 0.02,
     .gain = NAN},
};
struct pp_report dash_report = {
    .ops = ops,
    .n_ops = 2,
    .outcome = "finished",
    .data_wait_share = 0.084,
    .verdict =
        {
            .l0 = "input-bound",
            .l1 = "storage",
            .l2 = "latency",
            .level = "moderately",
            .confidence = 0.87,
            .exposed_share = 0.084,
            .fixes = &fix,
            .n_fixes = 1,
            .headline = "STORAGE-BOUND (latency)",
            .action = {.fix = &fix},
            .cause = "during the stalls read takes 62 % of the workers' time and is blocked for 94 % of it",
            .sentence =
                "The trainer stalls 8.4 % of the time: 160 samples/s. STORAGE-BOUND (latency), confidence 87 %: during the stalls read takes 62 % of the workers' time and is blocked for 94 % of it",
            .next_step =
                "For latency: more reads in flight (--workers, --prefetch). For bandwidth: a faster tier, a cache or packed shards.",
        },
};

struct pp_dash_model dash_model = {.path = "runs/run.sqlite", .snap = &dash_snap, .report = &dash_report};

void dash_look(const struct pp_dash_state *s)
{
    uint64_t at_s = s->mode == PP_MODE_FOLLOW ? UINT64_MAX : s->at_s;
    assert_int_equal(pp_live_at(dash_live, at_s, pp_windows[s->window], &dash_snap, NULL), PP_OK);
}

struct pp_dash_state dash_press(struct pp_dash_state s, const char *typed)
{
    for (; *typed; typed++) {
        s = pp_dash_key(s, *typed, &dash_model);
        dash_look(&s);
    }
    return s;
}

int dash_setup(void **state)
{
    dash_run = made_begin();
    made_seconds(dash_run, 0, MADE_SECONDS);
    made_finish(dash_run);
    assert_int_equal(pp_live_open(dash_run->path, &dash_live, NULL), PP_OK);
    dash_model.facts = pp_live_facts(dash_live, &dash_model.n_facts);
    struct pp_dash_state s = pp_dash_start;
    dash_look(&s);
    return 0;
}

int dash_teardown(void **state)
{
    pp_live_close(dash_live);
    made_free(dash_run);
    return 0;
}

char *dash_print(int rows, int cols, enum pp_glyph_set glyphs, int color, const struct pp_dash_state *s)
{
    struct pp_grid g = {0};
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    assert_true(pp_grid_resize(&g, rows, cols));
    pp_draw(&g, glyphs, s, &dash_model);
    assert_int_equal(pp_grid_print(&g, color, f), 0);
    fclose(f);
    pp_grid_free(&g);
    return out;
}
