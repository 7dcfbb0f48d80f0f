/* The dashboard on a recorded run (made_run.h), without a terminal: the model it shows, keys as if typed, a
 * frame as text. One copy per test program; setup and teardown belong to its group. */
#ifndef PP_TESTS_SUPPORT_DASH_FIXTURE_H
#define PP_TESTS_SUPPORT_DASH_FIXTURE_H

#include "tests/support/made_run.h"

#include "tui/dash/draw.h"

static struct made_run *run;
static struct pp_live *live;
static struct pp_live_snapshot snap;
static const struct pp_report_fix fix = {.knob = "workers",
                                         .to = "8",
                                         .text = "Use more workers.",
                                         .gain = 0.09,
                                         .low = 0.05,
                                         .high = 0.11,
                                         .samples_per_s = 173};
static struct pp_report report = {
    .outcome = "finished",
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
            .sentence =
                "STORAGE-BOUND (latency), 87 % sure: the trainer waits 8.4 % of its step time for data (MODERATELY input-bound); meanwhile read takes 62 % of the workers' time and is blocked 94 % of it",
            .next_step =
                "More reads in flight (--workers, --prefetch) when latency holds them up; a faster tier, a cache or packed shards when bandwidth does.",
        },
};
static struct pp_dash_model model = {.path = "runs/run.sqlite", .snap = &snap, .report = &report};

static inline void look(const struct pp_dash_state *s)
{
    assert_int_equal(pp_live_at(live, pp_dash_at(s), pp_windows[s->window], &snap, NULL), PP_OK);
}

static inline struct pp_dash_state keys(struct pp_dash_state s, const char *typed)
{
    for (; *typed; typed++) {
        s = pp_dash_key(s, *typed, &model);
        look(&s);
    }
    return s;
}

static inline int setup(void **state)
{
    run = made_begin();
    made_seconds(run, 0, MADE_SECONDS);
    made_finish(run);
    assert_int_equal(pp_live_open(run->path, &live, NULL), PP_OK);
    model.facts = pp_live_facts(live, &model.n_facts);
    struct pp_dash_state s = pp_dash_start();
    look(&s);
    return 0;
}

static inline int teardown(void **state)
{
    pp_live_close(live);
    made_free(run);
    return 0;
}

/* The frame of this size; the caller frees it. */
static inline char *print(int rows, int cols, enum pp_glyph_set glyphs, int color,
                          const struct pp_dash_state *s)
{
    struct pp_grid g = {0};
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    assert_true(pp_grid_resize(&g, rows, cols));
    pp_draw(&g, glyphs, s, &model);
    assert_int_equal(pp_grid_print(&g, color, f), 0);
    fclose(f);
    pp_grid_free(&g);
    return out;
}

#endif
