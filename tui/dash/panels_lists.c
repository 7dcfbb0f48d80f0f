/* Lists of text: events, errors, facts about the run. */
#include "tui/dash/panel.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        double at_s = ((double)e->t_ns - (double)c->m->snap->origin_ns) / 1e9;
        pp_put_right(c, row, 7, PP_STYLE_PLAIN, pp_clock_text(t, sizeof(t), at_s));
        int col = pp_put(c, row, 8,
                         e->kind == PP_LIVE_ERROR                                   ? PP_STYLE_BAD
                         : e->kind == PP_LIVE_STALL || e->kind == PP_LIVE_STRAGGLER ? PP_STYLE_WARN
                                                                                    : PP_STYLE_PLAIN,
                         "%-10s", pp_live_event_name(e->kind)) +
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
    enum { SHARE = 6, HALF = 20, CPU = 27, NAME = 29 };
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
        pp_put(c, i + 2, NAME, PP_STYLE_PLAIN, "%s%s%s%s%s", op->name, op->place ? ", " : "",
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

static void draw_knob(const struct pp_canvas *c, int row, int i)
{
    char t[PP_CELL];
    int step = c->s->knob[i];
    pp_put(c, row, 0, step ? PP_STYLE_STRONG : PP_STYLE_PLAIN, "%s", pp_dash_knob(i)->name);
    pp_put_right(c, row, RECORDED, PP_STYLE_PLAIN, pp_knob_text(c->m, i, 0, t, sizeof(t)));
    if (step)
        pp_put_right(c, row, MOVED, PP_STYLE_STRONG, pp_knob_text(c->m, i, step, t, sizeof(t)));
    const char *help = pp_dash_knob(i)->help;
    pp_put(c, row, HELP, PP_STYLE_PLAIN, "%.*s", (int)strcspn(help, ";"), help);
}

static int answer_rows(int rows)
{
    return rows > ANSWER_ROWS + 3 ? ANSWER_ROWS : 1;
}

int pp_whatif_list(int rows)
{
    return 2 + answer_rows(rows);
}

void pp_panel_whatif(const struct pp_canvas *c)
{
    struct pp_rows rows;
    pp_rows_of(c->s, c->m, &rows);
    int answer = answer_rows(c->box.rows), list = pp_whatif_list(c->box.rows), room = c->box.rows - list;
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
                 pp_text_rate(then, sizeof(then), a->p.samples_per_s),
                 pp_text_rate(low, sizeof(low), a->p.low), pp_text_rate(high, sizeof(high), a->p.high),
                 pp_text_rate(now, sizeof(now), a->measured),
                 pp_text_gain(gain, sizeof(gain), a->p.gain, a->p.gain_low, a->p.gain_high),
                 pp_short_share(wait, sizeof(wait), a->p.data_wait_share));
        pp_wrap(c, 1, answer, c->box.cols, PP_STYLE_STRONG, text);
    }
    pp_put(c, 1 + answer, 0, PP_STYLE_STRONG, "knob");
    pp_put_right(c, 1 + answer, RECORDED, PP_STYLE_STRONG, "recorded");
    pp_put_right(c, 1 + answer, MOVED, PP_STYLE_STRONG, "now");
    for (int i = 0; i < room && top + i < rows.n; i++) {
        draw_knob(c, list + i, rows.index[top + i]);
        if (top + i == selected)
            pp_grid_style(c->grid, &c->box, list + i, PP_STYLE_SELECTED);
    }
}
