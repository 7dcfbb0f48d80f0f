/* The table of workers, the one that is selected, and the batch that was waited for longest. */
#include "probe/base/text.h"
#include "tui/dash/panel.h"

#include <time.h>

/* ---- table ---- */

enum column {
    COL_STATE,
    COL_RATE,
    COL_BUSY,
    COL_WAITING,
    COL_ERRORS,
    COL_QUEUE,
    COL_CPU,
    COL_AGE,
    COL_LONGEST,
    COLUMNS
};
static const struct {
    const char *title;
    int width, sort; /* sort: enum pp_sort, or -1 */
} columns[COLUMNS] = {
    [COL_STATE] = {"state", 13, -1},
    [COL_RATE] = {"samples/s", 10, PP_SORT_RATE},
    [COL_BUSY] = {"busy", 6, PP_SORT_BUSY},
    [COL_WAITING] = {"waiting", 7, PP_SORT_WAITING},
    [COL_ERRORS] = {"errors", 6, PP_SORT_ERRORS},
    [COL_QUEUE] = {"CPU wait", 10, PP_SORT_RUN_QUEUE},
    [COL_CPU] = {"cpu", 6, -1},
    [COL_AGE] = {"age", 8, PP_SORT_AGE},
    [COL_LONGEST] = {"longest", 8, PP_SORT_LONGEST},
};
/* The sample in hand stands last and takes what is left: on screens of WITH_FILE columns and more, numbers go
 * for its sake. */
enum { NAME = 14, FILE_LEAST = 12, WITH_FILE = 90 };

static const char *cell_text(const struct pp_live_worker *w, int column, char *t)
{
    const struct pp_phase_info *info = pp_phase_info(w->state);
    switch ((enum column)column) {
    case COL_STATE: return info ? info->name : "-";
    case COL_RATE: return pp_text_rate(t, PP_CELL, w->samples_per_s);
    case COL_BUSY: return pp_short_share(t, PP_CELL, w->busy);
    case COL_WAITING: return pp_short_share(t, PP_CELL, w->waiting);
    case COL_ERRORS: return pp_text_count(t, PP_CELL, (double)w->errors);
    case COL_QUEUE: return pp_short_share(t, PP_CELL, w->run_queue);
    case COL_CPU: return pp_short_share(t, PP_CELL, w->cpu);
    case COL_LONGEST: return pp_text_duration(t, PP_CELL, w->max_ns);
    case COL_AGE: return pp_text_duration(t, PP_CELL, w->sample_age_ns);
    case COLUMNS: break;
    }
    return "";
}

void pp_panel_workers(const struct pp_canvas *c)
{
    struct pp_rows rows;
    pp_rows_of(c->s, c->m, &rows);
    int room = c->box.rows - 2, selected = c->s->selected[c->s->view],
        top = pp_list_top(selected, rows.n, room);
    pp_heading(c, "Workers by %s: %d%s", pp_sort_names[c->s->sort % PP_SORTS], rows.n,
               rows.n > room ? ", some not shown" : "");
    int sort = c->s->sort % PP_SORTS, last = NAME, end[COLUMNS], shown = 0;
    int most = c->box.cols - (c->box.cols >= WITH_FILE ? FILE_LEAST : 0);
    for (; shown < COLUMNS && last + columns[shown].width + 1 <= most; shown++) /* those that fit */
        end[shown] = last = last + columns[shown].width + 1;
    const char *arrow = c->s->invert ? "^" : "v";
    pp_put(c, 1, 0, PP_STYLE_STRONG, "worker%s%s", sort == PP_SORT_NAME ? " " : "",
           sort == PP_SORT_NAME ? arrow : "");
    for (int k = 0; k < shown; k++) {
        char t[PP_CELL];
        snprintf(t, sizeof(t), "%s%s", columns[k].sort == sort ? arrow : "", columns[k].title);
        pp_put_right(c, 1, end[k], PP_STYLE_STRONG, t);
    }
    if (c->box.cols >= WITH_FILE)
        pp_put(c, 1, last + 2, PP_STYLE_STRONG, "in hand");
    for (int i = 0; i < room && top + i < rows.n; i++) {
        int row = i + 2;
        const struct pp_live_worker *w = &c->m->snap->workers[rows.index[top + i]];
        const struct pp_report *r = c->m->report;
        const char *name = w->name, *number = strrchr(w->name, ' ');
        char t[PP_CELL], text[400];
        /* Of several loaders each has a worker 0: "0 val_loader". */
        for (size_t k = 0; r && r->n_loaders > 1 && number && name == w->name && k < r->n_workers; k++)
            if (r->workers[k].thread == w->thread && r->workers[k].loader) {
                snprintf(t, sizeof(t), "%.3s %.13s", number + 1, r->workers[k].loader);
                name = t;
            }
        pp_put(c, row, 0, w->errors ? PP_STYLE_WARN : PP_STYLE_PLAIN, "%.*s", NAME, name);
        for (int k = 0; k < shown; k++)
            pp_put_right(c, row, end[k], PP_STYLE_PLAIN, cell_text(w, k, t));
        /* Path of the sample in hand, its end when there is no room for all: that is where the name is. */
        if (w->path)
            snprintf(text, sizeof(text), "%s", w->path);
        else
            snprintf(text, sizeof(text), w->sample == UINT64_MAX ? "-" : "sample %llu",
                     (unsigned long long)w->sample);
        int over = (int)strlen(text) - (c->box.cols - last - 2);
        if (c->box.cols >= WITH_FILE)
            pp_put(c, row, last + 2, PP_STYLE_PLAIN, "%s%s", over > 0 ? ".." : "",
                   text + (over > 0 ? over + 2 : 0));
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, i + 2, PP_STYLE_SELECTED);
    }
    if (rows.n == 0)
        pp_put(c, 2, 0, PP_STYLE_PLAIN,
               c->s->filter[0] ? "no worker matches the filter" : "no worker recorded yet");
}

/* ---- the selected one ---- */

void pp_panel_worker(const struct pp_canvas *c)
{
    const struct pp_live_snapshot *snap = c->m->snap;
    struct pp_rows rows;
    char a[PP_CELL], b[PP_CELL];
    pp_rows_of(c->s, c->m, &rows);
    int selected = c->s->selected[c->s->view];
    if (selected >= rows.n)
        return;
    const struct pp_live_worker *w = &snap->workers[rows.index[selected]];
    const struct pp_phase_info *info = pp_phase_info(w->state);
    pp_heading(c, "%s", w->name);
    pp_put(c, 1, 0, PP_STYLE_PLAIN, "most of the last second in %s: %s",
           info ? info->name : "nothing recorded", info ? info->text : "");
    if (w->sample == UINT64_MAX)
        pp_put(c, 2, 0, PP_STYLE_PLAIN, "no current sample");
    else
        pp_put(c, 2, 0, PP_STYLE_PLAIN, "current: sample %llu, for %s%s%s", (unsigned long long)w->sample,
               pp_text_duration(a, sizeof(a), w->sample_age_ns), w->path ? ": " : "", w->path ? w->path : "");
    pp_put(c, 3, 0, PP_STYLE_PLAIN, "longest span %s, errors since the start %s",
           pp_text_duration(a, sizeof(a), w->max_ns), pp_text_count(b, sizeof(b), (double)w->errors));
    int row = 4;
    for (size_t i = snap->n_events; i-- > 0 && row < c->box.rows;)
        if (strstr(snap->events[i].text, w->name))
            pp_put(c, row++, 0, PP_STYLE_PLAIN, "%s  %s", pp_clock_of_run(a, snap, snap->events[i].t_ns),
                   snap->events[i].text);
}

/* ---- batch ---- */

static void draw_bar(const struct pp_canvas *c, int row, const struct pp_live_bar *b)
{
    /* A letter per phase: the picture can be read without colour. */
    static const char letters[PP_PHASE_COUNT] = {
        [PP_PHASE_SAMPLER] = 's',    [PP_PHASE_DISPATCH_WAIT] = '.', [PP_PHASE_READ] = 'R',
        [PP_PHASE_DECODE] = 'D',     [PP_PHASE_TRANSFORM] = 'T',     [PP_PHASE_COLLATE] = 'C',
        [PP_PHASE_SLOT_WAIT] = '.',  [PP_PHASE_PUT_WAIT] = '.',      [PP_PHASE_DATA_WAIT] = 'W',
        [PP_PHASE_H2D] = 'H',        [PP_PHASE_DEVICE_SYNC] = 'Y',   [PP_PHASE_STEP] = 'S',
        [PP_PHASE_RETRY] = 'r',      [PP_PHASE_GET_WAIT] = '.',      [PP_PHASE_EPOCH_BOUNDARY] = 'W',
        [PP_PHASE_COLLECTIVE] = 'A', [PP_PHASE_PIN] = 'P',           [PP_PHASE_LEASE] = 'l',
        [PP_PHASE_LEASE_WAIT] = '.', [PP_PHASE_GPU_DECODE] = 'G',
    };
    enum pp_style style = PP_STYLE_PLAIN;
    switch (pp_phase_info(b->phase)->colour) {
    case PP_COLOUR_IO: style = PP_STYLE_BLOCKED; break;
    case PP_COLOUR_CPU: style = PP_STYLE_CPU; break;
    case PP_COLOUR_COPY: style = PP_STYLE_QUEUED; break;
    case PP_COLOUR_STALL:
    case PP_COLOUR_FAULT: style = PP_STYLE_BAD; break;
    case PP_COLOUR_COMPUTE: style = PP_STYLE_FILL; break;
    case PP_COLOUR_IDLE:
    case PP_COLOUR_OTHER: break;
    }
    const struct pp_live_snapshot *s = c->m->snap;
    int cols = c->box.cols - NAME - 2;
    double all = (double)(s->batch_to_ns - s->batch_from_ns),
           from = (double)(b->start_ns - s->batch_from_ns) / all, to = from + (double)b->dur_ns / all;
    int first = (int)(from * cols), last = (int)ceil(to * cols);
    char mark[2] = {b->phase < PP_PHASE_COUNT && letters[b->phase] ? letters[b->phase] : '?', '\0'};
    first = first > cols - 1 ? cols - 1 : first;
    last = last <= first ? first + 1 : last > cols ? cols : last;
    pp_bar(c, row, NAME + 2 + first, last - first, style, mark);
}

void pp_panel_batch(const struct pp_canvas *c)
{
    const struct pp_live_snapshot *s = c->m->snap;
    char a[PP_CELL], b[PP_CELL];
    /* The worker whose work on the batch ended last: what the trainer waited for. */
    uint64_t latest = 0;
    uint32_t threads[64], n = 0, slowest = UINT32_MAX;
    for (size_t i = 0; i < s->n_bars; i++) {
        const struct pp_phase_info *info = pp_phase_info(s->bars[i].phase);
        uint64_t end = s->bars[i].start_ns + s->bars[i].dur_ns;
        if (info && info->lane == PP_LANE_WORKER && info->kind == PP_KIND_WORK && end > latest) {
            latest = end;
            slowest = s->bars[i].thread;
        }
    }
    const char *missing = NULL;
    for (size_t i = 0; i < c->m->n_facts; i++)
        if (strcmp(c->m->facts[i].key, "detail") == 0 && strcmp(c->m->facts[i].value, "rollup") == 0)
            missing = "The batch's worker spans were not recorded: --detail rollup keeps sums per second.";
    int room = c->box.rows - 2;
    if (s->n_bars == 0 || s->batch_to_ns <= s->batch_from_ns || room < 1) {
        pp_heading(c, "Batch");
        pp_wrap(
            c, 1, room, c->box.cols, PP_STYLE_PLAIN,
            missing
                ? missing
                : "the trainer did not wait in this second; [ and ] select another second, { and } a stall");
        return;
    }
    pp_heading(c, "Batch %u: the trainer waited %s for it; %s from first to last", s->batch,
               pp_text_duration(a, sizeof(a), (double)s->batch_wait_ns),
               pp_text_duration(b, sizeof(b), (double)(s->batch_to_ns - s->batch_from_ns)));
    for (size_t i = 0; i < s->n_bars; i++) {
        uint32_t row = 0;
        while (row < n && threads[row] != s->bars[i].thread)
            row++;
        if (row == n && n < sizeof(threads) / sizeof(*threads)) {
            threads[n++] = s->bars[i].thread;
            const char *name = NULL;
            for (size_t k = 0; k < s->n_workers && !name; k++)
                if (s->workers[k].thread == s->bars[i].thread)
                    name = s->workers[k].name;
            pp_phase p = s->bars[i].phase;
            if (!name)
                name = p == PP_PHASE_H2D || p == PP_PHASE_PIN || p == PP_PHASE_GET_WAIT ||
                               p == PP_PHASE_PUT_WAIT
                           ? "copy lane"
                           : "trainer";
            pp_put(c, (int)row < room ? (int)row + 1 : -1, 0,
                   s->bars[i].thread == slowest ? PP_STYLE_STRONG : PP_STYLE_PLAIN, "%c %.*s",
                   s->bars[i].thread == slowest ? '>' : ' ', NAME - 1, name);
        }
        if (row < n && (int)row < room)
            draw_bar(c, (int)row + 1, &s->bars[i]);
    }
    if (missing)
        pp_wrap(c, (int)n + 1, room - (int)n, c->box.cols, PP_STYLE_WARN, missing);
    pp_wrap(c, c->box.rows - 1, 1, c->box.cols, PP_STYLE_PLAIN,
            "> last  R read  D decode  T transform  C collate  H h2d  W data wait  S step  . waits");
}

/* ---- lists ----
 *
 * Lists of text: events, errors, facts about the run. */

/* In the overview the newest few, elsewhere a list to move in. */
void pp_panel_events(const struct pp_canvas *c)
{
    struct pp_dash_state s = *c->s;
    struct pp_rows rows;
    int in_overview = s.view == PP_VIEW_OVERVIEW;
    if (in_overview) {
        s.view = PP_VIEW_EVENTS;
        s.filter[0] = '\0'; /* there it is the workers that are filtered */
    }
    pp_rows_of(&s, c->m, &rows);
    int room = c->box.rows - 1, selected = in_overview ? -1 : s.selected[s.view],
        top = in_overview ? 0 : pp_list_top(selected, rows.n, room);
    pp_heading(c, "%s, newest first: %d", s.view == PP_VIEW_ERRORS ? "Errors" : "Events", rows.n);
    for (int i = 0; i < room && top + i < rows.n; i++) {
        int row = i + 1;
        const struct pp_live_event *e = &c->m->snap->events[rows.index[top + i]];
        char t[PP_CELL];
        pp_put_right(c, row, 7, PP_STYLE_PLAIN, pp_clock_of_run(t, c->m->snap, e->t_ns));
        int col = pp_put(c, row, 8,
                         e->kind == PP_LIVE_ERROR                                   ? PP_STYLE_BAD
                         : e->kind == PP_LIVE_STALL || e->kind == PP_LIVE_STRAGGLER ? PP_STYLE_WARN
                                                                                    : PP_STYLE_PLAIN,
                         "%-10s", pp_live_event_names[e->kind]) +
                  1;
        if (e->count > 1 && (e->kind == PP_LIVE_ERROR || e->kind == PP_LIVE_STALL))
            col = pp_put(c, row, col, PP_STYLE_PLAIN, "%llu times, ", (unsigned long long)e->count);
        pp_put(c, row, col, PP_STYLE_PLAIN, "%s", e->text);
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, i + 1, PP_STYLE_SELECTED);
    }
    if (rows.n == 0)
        pp_put(c, 1, 0, PP_STYLE_PLAIN, s.filter[0] ? "none matches the filter" : "none yet");
}

/* A number with its unit as people read it: times and sizes in their own units, counts with separators, "1
 * thread". */
static const char *fact_text(const struct pp_live_fact *f, char *buf, size_t size)
{
    double v = f->numeric ? atof(f->value) : NAN;
    size_t n = strlen(f->key), unit = strlen(f->unit);
    char count[PP_CELL];
    if (isnan(v)) {
        snprintf(buf, size, "%s%s%s", f->value, f->unit[0] ? " " : "", f->unit);
        return buf;
    }
    if (n > 7 && strcmp(f->key + n - 7, "_utc_ns") == 0 && v > 0 && v < 1e19) {
        time_t at = (time_t)(v / 1e9);
        struct tm tm;
        if (gmtime_r(&at, &tm) && strftime(buf, size, "%Y-%m-%d %H:%M:%S UTC", &tm))
            return buf;
    }
    if (strcmp(f->unit, "ns") == 0)
        return pp_text_duration(buf, size, v);
    if (strcmp(f->unit, "bytes") == 0)
        return pp_text_bytes(buf, size, v);
    if (fabs(v - round(v)) < 1e-9 && fabs(v) < 1e15)
        pp_text_count(count, sizeof(count), v);
    else
        snprintf(count, sizeof(count), "%.4g", v);
    int one = fabs(v - 1) < 1e-9 && unit > 2 && f->unit[unit - 1] == 's',
        es = one && unit > 4 && strcmp(f->unit + unit - 4, "ches") == 0;
    snprintf(buf, size, "%s%s%.*s", count, unit ? " " : "", (int)unit - (es ? 2 : one), f->unit);
    return buf;
}

/* Of the report of the whole run: the largest gain first. */
void pp_panel_lines(const struct pp_canvas *c)
{
    enum { SHARE = 6, HALF = 20, CPU = 27, TEXT = 29 };
    const struct pp_report *r = c->m->report;
    struct pp_rows rows;
    pp_rows_of(c->s, c->m, &rows);
    int room = c->box.rows - 2, selected = c->s->selected[c->s->view],
        top = pp_list_top(selected, rows.n, room);
    pp_heading(c, "Lines and operations of the job's code, by Python stacks");
    if (rows.n == 0) {
        pp_wrap(c, 1, c->box.rows - 1, c->box.cols, PP_STYLE_PLAIN,
                c->s->filter[0]        ? "none matches the filter"
                : !r                   ? "computing ..."
                : r->why_no_ops        ? r->why_no_ops
                : isnan(r->op_samples) ? "This recording has no Python stacks."
                                       : "No line of the loader's code was seen in the stall.");
        return;
    }
    pp_put(c, 1, 0, PP_STYLE_PLAIN, " stall   half gains    CPU  line");
    for (int i = 0; i < room && top + i < rows.n; i++) {
        const struct pp_report_op *op = &r->ops[rows.index[top + i]];
        char t[PP_CELL];
        pp_put_right(c, i + 2, SHARE, PP_STYLE_PLAIN, pp_short_share(t, sizeof(t), op->share));
        pp_put_right(c, i + 2, HALF, PP_STYLE_STRONG, pp_text_gain(t, sizeof(t), op->gain, NAN, NAN));
        pp_put_right(c, i + 2, CPU, PP_STYLE_PLAIN, pp_short_share(t, sizeof(t), op->cpu_share));
        pp_put(c, i + 2, TEXT, PP_STYLE_PLAIN, "%s%s%s%s%s", op->name, op->place ? ", " : "",
               op->place ? op->place : "", op->loader ? ", " : "", op->loader ? op->loader : "");
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, i + 2, PP_STYLE_SELECTED);
    }
}

void pp_panel_environment(const struct pp_canvas *c)
{
    enum { SECTION = 12, KEY = 24 };
    struct pp_rows rows;
    char text[200];
    pp_rows_of(c->s, c->m, &rows);
    int room = c->box.rows - 1, selected = c->s->selected[c->s->view],
        top = pp_list_top(selected, rows.n, room);
    int key = c->box.cols >= 70 ? SECTION : 0;
    pp_heading(c, "Run, configuration, environment");
    for (int i = 0; i < room && top + i < rows.n; i++) {
        const struct pp_live_fact *f = &c->m->facts[rows.index[top + i]];
        if (key)
            pp_put(c, i + 1, 0, PP_STYLE_PLAIN, "%s", f->section);
        pp_put(c, i + 1, key, PP_STYLE_STRONG, "%.*s", KEY - 1, f->key);
        pp_put(c, i + 1, key + KEY, PP_STYLE_PLAIN, "%s", fact_text(f, text, sizeof(text)));
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, i + 1, PP_STYLE_SELECTED);
    }
}

/* The what-if view: knobs on the left, what the recording would have done with them below. */

enum { RECORDED = 27, MOVED = 37, HELP = 39, ANSWER_ROWS = 3 };

int pp_whatif_list(int rows)
{
    return 2 + (rows > ANSWER_ROWS + 3 ? ANSWER_ROWS : 1);
}

void pp_panel_whatif(const struct pp_canvas *c)
{
    struct pp_rows rows;
    pp_rows_of(c->s, c->m, &rows);
    int answer = c->box.rows > ANSWER_ROWS + 3 ? ANSWER_ROWS : 1, list = pp_whatif_list(c->box.rows),
        room = c->box.rows - list;
    int selected = c->s->selected[c->s->view], top = pp_list_top(selected, rows.n, room);
    pp_heading(c, "What-if: the recording replayed with other knobs");
    const struct pp_predicted *a = c->m->predicted;
    char set[256], now[PP_CELL], then[PP_CELL], low[PP_CELL], high[PP_CELL], wait[PP_CELL], gain[48],
        text[512];
    pp_knobs_text(c->s, c->m, set, sizeof(set));
    if (!a || strcmp(a->set, set) != 0) {
        pp_put(c, 1, 0, PP_STYLE_PLAIN, "computing ...");
    } else if (a->status != PP_OK) {
        pp_wrap(c, 1, answer, c->box.cols, PP_STYLE_WARN, a->why);
    } else if (!set[0]) {
        pp_put(c, 1, 0, PP_STYLE_PLAIN, "recorded: %s samples/s; + and - change a knob",
               pp_text_rate(now, sizeof(now), a->measured));
    } else {
        snprintf(text, sizeof(text), "%s samples/s (80 %% interval %s to %s) instead of %s: %s, stall %s",
                 pp_text_predicted(then, sizeof(then), a->p.samples_per_s),
                 pp_text_predicted(low, sizeof(low), a->p.low),
                 pp_text_predicted(high, sizeof(high), a->p.high),
                 pp_text_rate(now, sizeof(now), a->measured),
                 pp_text_gain(gain, sizeof(gain), a->p.gain, a->p.gain_low, a->p.gain_high),
                 pp_short_share(wait, sizeof(wait), a->p.data_wait_share));
        pp_wrap(c, 1, answer, c->box.cols, PP_STYLE_STRONG, text);
    }
    pp_put(c, 1 + answer, 0, PP_STYLE_STRONG, "knob");
    pp_put_right(c, 1 + answer, RECORDED, PP_STYLE_STRONG, "recorded");
    pp_put_right(c, 1 + answer, MOVED, PP_STYLE_STRONG, "now");
    for (int i = 0; i < room && top + i < rows.n; i++) {
        int row = list + i, knob = rows.index[top + i], step = c->s->knob[knob];
        const char *help = pp_dash_knob(knob)->help;
        pp_put(c, row, 0, step ? PP_STYLE_STRONG : PP_STYLE_PLAIN, "%s", pp_dash_knob(knob)->name);
        pp_put_right(c, row, RECORDED, PP_STYLE_PLAIN, pp_knob_text(c->m, knob, 0, now, sizeof(now)));
        if (step)
            pp_put_right(c, row, MOVED, PP_STYLE_STRONG, pp_knob_text(c->m, knob, step, now, sizeof(now)));
        pp_put(c, row, HELP, PP_STYLE_PLAIN, "%.*s", (int)strcspn(help, ";"), help);
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, row, PP_STYLE_SELECTED);
    }
}
