/* The pipeline as stages with queues between them, the table of stages, and the history as curves. */
#include "tui/dash/panel.h"

#include "probe/base/text.h"
#include "probe/base/utf8.h"

/* ---- pipeline ---- */

/* A line of the pipeline: a stage or a queue. rank: the highest goes first when rows are short. */
struct line {
    const struct pp_live_stage *stage;
    const struct pp_live_queue *queue;
    int rank;
};
enum { LINES = 64, SMALL_SHARE_PERCENT = 1 };

/* The most telling that fit into rows. */
static int lines_of(const struct pp_live_snapshot *snap, int rows, struct line *line)
{
    int n = 0;
    for (size_t i = 0; i < snap->n_stages && n < LINES - 1; i++) {
        const struct pp_live_stage *g = &snap->stages[i];
        int last_of_lane = i + 1 == snap->n_stages || g[1].lane != g->lane;
        /* The queue that a lane fills; "free_slots" runs the other way and shows as slot_wait. */
        const char *name = g->lane == PP_LANE_WORKER ? "ready" : g->lane == PP_LANE_COPY ? "device" : NULL;
        const struct pp_live_queue *q = NULL;
        for (size_t k = 0; last_of_lane && name && k < snap->n_queues && !q; k++)
            if (strncmp(snap->queues[k].name, name, strlen(name)) == 0)
                q = &snap->queues[k];
        /* What a worker works at, its retries, what the trainer waits for; a lane that idles says least. */
        int small = !(g->share * 100 >= SMALL_SHARE_PERCENT), rank = 4 + small;
        if (g->phase == PP_PHASE_DATA_WAIT || g->phase == PP_PHASE_STEP || g->phase == PP_PHASE_READ)
            rank = 0;
        else if (pp_phase_info(g->phase)->kind == PP_KIND_WORK || g->phase == PP_PHASE_RETRY ||
                 g->lane == PP_LANE_TRAINER)
            rank = small ? 3 : 1;
        line[n++] = (struct line){.stage = g, .rank = rank};
        if (q)
            line[n++] = (struct line){.queue = q, .rank = 2};
    }
    while (n > rows) {
        int worst = 0;
        for (int i = 1; i < n; i++)
            if (line[i].rank >= line[worst].rank)
                worst = i;
        memmove(&line[worst], &line[worst + 1], (size_t)(n - worst - 1) * sizeof(*line));
        n--;
    }
    return n;
}

int pp_want_pipeline(const struct pp_dash_state *s, const struct pp_dash_model *m, int cols)
{
    struct line line[LINES];
    return 1 + lines_of(m->snap, LINES, line);
}

/* Where the columns of a line begin; 0: left out. */
struct columns {
    int rate_end, mean_end, share_end, bar, bar_cols;
};

/* Cells for a share: what is there at all gets one. */
static int cells(double share, int cols)
{
    int n = isfinite(share) ? (int)(share * cols + 0.5) : 0;
    return n == 0 && share > 0.001 ? 1 : n > cols ? cols : n;
}

static void draw_stage(const struct pp_canvas *c, int row, const struct pp_live_stage *g, struct columns k)
{
    const struct pp_phase_info *info = pp_phase_info(g->phase);
    char t[PP_CELL], rate[PP_CELL + 4];
    int waits = info->kind == PP_KIND_WAIT, n = cells(g->share, k.bar_cols);
    enum pp_style style = g->phase == PP_PHASE_DATA_WAIT && g->share >= PP_LIVE_STALL_SHARE ? PP_STYLE_BAD
                          : waits                                                           ? PP_STYLE_PLAIN
                                                                                            : PP_STYLE_STRONG;
    pp_put(c, row, 0, style, "%s", info->name);
    snprintf(rate, sizeof(rate), "%s/s", pp_text_rate(t, sizeof(t), g->per_s));
    pp_put_right(c, row, k.rate_end, PP_STYLE_PLAIN, rate);
    if (k.mean_end)
        pp_put_right(c, row, k.mean_end, PP_STYLE_PLAIN, pp_text_duration(t, sizeof(t), g->mean_ns));
    pp_put_right(c, row, k.share_end, PP_STYLE_PLAIN, pp_short_share(t, sizeof(t), g->share));
    pp_bar(c, row, k.bar, k.bar_cols, PP_STYLE_PLAIN, c->glyphs->empty);
    int known = !isnan(g->cpu), cpu = known ? (int)(g->cpu * n + 0.5) : 0,
        queued = known ? (int)((g->cpu + g->run_queue) * n + 0.5) - cpu : 0;
    if (g->lane == PP_LANE_TRAINER &&
        g->phase == PP_PHASE_STEP) { /* good, whether or not the device has the CPU wait */
        cpu = n - queued;
        pp_bar(c, row, k.bar, cpu, PP_STYLE_COMPUTING, c->glyphs->cpu);
    } else if (g->lane == PP_LANE_TRAINER && waits) {
        cpu = n, queued = 0;
        pp_bar(c, row, k.bar, cpu, PP_STYLE_STARVED, c->glyphs->starved);
    } else {
        pp_bar(c, row, k.bar, cpu, PP_STYLE_CPU, c->glyphs->cpu);
    }
    pp_bar(c, row, k.bar + cpu, queued, PP_STYLE_QUEUED, c->glyphs->queued);
    pp_bar(c, row, k.bar + cpu + queued, n - cpu - queued, waits ? PP_STYLE_WAITING : PP_STYLE_BLOCKED,
           c->glyphs->blocked);
    if (c->box.cols - k.bar - k.bar_cols >= 15)
        pp_put(c, row, k.bar + k.bar_cols + 1, PP_STYLE_PLAIN, "%s x%u", pp_lane_name(g->lane), g->threads);
}

void pp_panel_pipeline(const struct pp_canvas *c)
{
    struct line line[LINES];
    struct columns k = {.rate_end = 25, .mean_end = 34, .share_end = 41, .bar = 43};
    int n = lines_of(c->m->snap, c->box.rows - 1, line);
    if (c->box.cols < 70) /* a lane's time matters more than the mean */
        k = (struct columns){.rate_end = 22, .share_end = 28, .bar = 29};
    k.bar_cols = c->box.cols - k.bar > 60 ? 60 : c->box.cols - k.bar;
    if (c->box.cols >= 70)
        pp_heading(c, "Pipeline: share of time as %s cpu, step %s lacks a CPU %s blocked %s trainer waits",
                   c->glyphs->cpu, c->glyphs->queued, c->glyphs->blocked, c->glyphs->starved);
    else
        pp_heading(c, "Pipeline %scpu %sno CPU %sblocked %swait", c->glyphs->cpu, c->glyphs->queued,
                   c->glyphs->blocked, c->glyphs->starved);
    for (int i = 0; i < n; i++)
        if (line[i].stage) {
            draw_stage(c, i + 1, line[i].stage, k);
        } else {
            int row = i + 1;
            const struct pp_live_queue *q = line[i].queue;
            char t[PP_CELL];
            double fill = q->capacity ? q->depth / (double)q->capacity : NAN;
            pp_put(c, row, 0, PP_STYLE_PLAIN, "  queue %.*s", (int)strcspn(q->name, "_"), q->name);
            snprintf(t, sizeof(t), q->capacity ? "%.1f of %llu" : "%.1f", q->depth,
                     (unsigned long long)q->capacity);
            pp_put_right(c, row, k.mean_end ? k.mean_end : k.rate_end + 1, PP_STYLE_PLAIN, t);
            pp_put_right(c, row, k.share_end, PP_STYLE_PLAIN, pp_short_share(t, sizeof(t), fill));
            pp_bar(c, row, k.bar, k.bar_cols, PP_STYLE_PLAIN, c->glyphs->empty);
            pp_bar(c, row, k.bar, cells(fill, k.bar_cols), PP_STYLE_FILL, c->glyphs->fill);
        }
    if (n == 0)
        pp_put(c, 1, 0, PP_STYLE_PLAIN, "nothing recorded yet");
}

/* ---- stages ---- */

enum stage_cell {
    ST_RATE,
    ST_MEAN,
    ST_MAX,
    ST_SHARE,
    ST_CPU,
    ST_QUEUE,
    ST_BLOCKED,
    ST_P50,
    ST_P95,
    ST_P99,
    ST_BYTES,
    ST_CELLS
};
static const struct {
    const char *title;
    int width;
} stage_cells[ST_CELLS] = {{"/s", 8},  {"mean", 8},   {"max", 8},     {"share", 6},
                           {"cpu", 6}, {"queued", 7}, {"blocked", 8}, {"p50", 8},
                           {"p95", 8}, {"p99", 8},    {"bytes/s", 10}};

static char *stage_text(const struct pp_dash_model *m, const struct pp_live_stage *g, int cell, char *t)
{
    const struct pp_report *r = m->report;
    const struct pp_report_phase *p = NULL;
    for (size_t i = 0; r && i < r->n_phases && !p; i++)
        if (r->phases[i].phase == g->phase && r->phases[i].lane == g->lane)
            p = &r->phases[i];
    switch ((enum stage_cell)cell) {
    case ST_RATE: return pp_text_rate(t, PP_CELL, g->per_s);
    case ST_MEAN: return pp_text_duration(t, PP_CELL, g->mean_ns);
    case ST_MAX: return pp_text_duration(t, PP_CELL, (double)g->max_ns);
    case ST_SHARE: return pp_short_share(t, PP_CELL, g->share);
    case ST_CPU: return pp_short_share(t, PP_CELL, g->cpu);
    case ST_QUEUE: return pp_short_share(t, PP_CELL, g->run_queue);
    case ST_BLOCKED: return pp_short_share(t, PP_CELL, g->blocked);
    case ST_P50: return pp_text_duration(t, PP_CELL, p ? (double)p->p50_ns : NAN);
    case ST_P95: return pp_text_duration(t, PP_CELL, p ? (double)p->p95_ns : NAN);
    case ST_P99: return pp_text_duration(t, PP_CELL, p ? (double)p->p99_ns : NAN);
    case ST_BYTES: return g->bytes_per_s > 0 ? pp_text_bytes(t, PP_CELL, g->bytes_per_s) : strcpy(t, "-");
    case ST_CELLS: break;
    }
    return strcpy(t, "");
}

void pp_panel_stages(const struct pp_canvas *c)
{
    enum { NAME = 15, LANE = 8 };
    struct pp_rows rows;
    pp_rows_of(c->s, c->m, &rows);
    int room = c->box.rows - 2, top = pp_list_top(c->s->selected[c->s->view], rows.n, room),
        first = c->box.cols >= 60 ? NAME + LANE : NAME;
    pp_heading(c, "Stages over %u s; p50 to p99 over the steady state of the recording",
               pp_windows[c->s->window]);
    pp_put(c, 1, 0, PP_STYLE_STRONG, "stage");
    if (first > NAME)
        pp_put(c, 1, NAME, PP_STYLE_STRONG, "lane");
    for (int k = 0, end = first; k < ST_CELLS && (end += stage_cells[k].width + 1) <= c->box.cols; k++)
        pp_put_right(c, 1, end, PP_STYLE_STRONG, stage_cells[k].title);
    for (int i = 0; i < room && top + i < rows.n; i++) {
        const struct pp_live_stage *g = &c->m->snap->stages[rows.index[top + i]];
        char t[PP_CELL];
        pp_put(c, i + 2, 0, PP_STYLE_PLAIN, "%s", pp_phase_info(g->phase)->name);
        if (first > NAME)
            pp_put(c, i + 2, NAME, PP_STYLE_PLAIN, "%s", pp_lane_name(g->lane));
        for (int k = 0, end = first; k < ST_CELLS && (end += stage_cells[k].width + 1) <= c->box.cols; k++)
            pp_put_right(c, i + 2, end, PP_STYLE_PLAIN, stage_text(c->m, g, k, t));
        if (top + i == c->s->selected[c->s->view])
            pp_grid_style(c->grid, &c->box, i + 2, PP_STYLE_SELECTED);
    }
}

/* ---- history ---- */

enum { LABEL = 20, WIDEST_SECOND = 6 };

/* Level of a value in one row of a curve that is `rows` high, row 0 being the lowest, in `levels` steps. */
static int level(double v, int row, int rows, int levels)
{
    if (!(v > 0))
        return 0;
    int all = (int)(v * rows * levels + 0.5);
    all = (all == 0 ? 1 : all) - row * levels;
    return all < 0 ? 0 : all > levels ? levels : all;
}

/* A series of the snapshot, newest last, shown right-aligned, a second in `wide` columns; full is the value
 * of a full cell. */
static void curve(const struct pp_canvas *c, int row, int rows, int wide, enum pp_style style, const float *v,
                  double full)
{
    /* Unicode, Braille Patterns: dots 7 3 2 1 stand on the left, 8 6 5 4 on the right, from the bottom up. */
    static const unsigned char up_left[] = {0, 0x40, 0x44, 0x46, 0x47},
                               up_right[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
    size_t n = c->m->snap->n_series;
    int per_cell = c->glyphs->braille && wide == 1 ? 2 : 1, cols = c->box.cols - LABEL;
    for (int col = 0; col < cols; col++)
        for (int r = 0; r < rows; r++) {
            char cell[4];
            long right = (long)n - 1 - (long)((cols - 1 - col) / wide) * per_cell,
                 left = right - per_cell + 1;
            double a = left >= 0 ? v[left] / full : 0, b = right >= 0 ? v[right] / full : 0;
            int dots = 0x2800 + up_left[level(a, r, rows, 4)] + up_right[level(b, r, rows, 4)];
            cell[pp_utf8_put((uint32_t)dots, cell)] = '\0';
            pp_grid_put(c->grid, &c->box, row + rows - 1 - r, LABEL + col, style,
                        c->glyphs->braille ? cell : c->glyphs->spark[level(b, r, rows, 8)]);
        }
}

void pp_panel_history(const struct pp_canvas *c)
{
    const struct pp_live_snapshot *s = c->m->snap;
    int rows = (c->box.rows - 1) / 2;
    double most = 0;
    char t[PP_CELL], now[PP_CELL];
    for (size_t i = 0; i < s->n_series; i++)
        if (s->rate_series[i] > most)
            most = s->rate_series[i];
    /* So that a young run fills the panel: braille has two seconds in a column at most. */
    int n = (int)s->n_series, cols = c->box.cols - LABEL, fit = n > 10 ? cols / n : cols / 10,
        wide = fit < 1               ? 1
               : fit > WIDEST_SECOND ? WIDEST_SECOND
                                     : fit;
    if (wide > 1)
        pp_heading(c, "History, a second per %d columns", wide);
    else
        pp_heading(c, "History, a second per %s", c->glyphs->braille ? "dot" : "column");
    double wait = s->n_series ? s->wait_series[s->n_series - 1] : NAN,
           rate = s->n_series ? s->rate_series[s->n_series - 1] : NAN;
    pp_put(c, 1, 0, PP_STYLE_PLAIN, "data wait %s", pp_short_share(now, sizeof(now), wait));
    if (rows > 1)
        pp_put(c, 2, 0, PP_STYLE_PLAIN, "  full: 100 %%");
    curve(c, 1, rows, wide, PP_STYLE_STARVED, s->wait_series, 1);
    pp_put(c, 1 + rows, 0, PP_STYLE_PLAIN, "samples/s %s", pp_text_rate(now, sizeof(now), rate));
    if (rows > 1)
        pp_put(c, 2 + rows, 0, PP_STYLE_PLAIN, "  full: %s", pp_text_rate(t, sizeof(t), most));
    curve(c, 1 + rows, rows, wide, PP_STYLE_CPU, s->rate_series, most > 0 ? most : 1);
}
