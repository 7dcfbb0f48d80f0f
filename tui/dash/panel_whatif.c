/* The what-if view: knobs on the left, what the recording would have done with them below. */
#include "tui/dash/panel.h"

#include "probe/base/text.h"
#include "tui/dash/knobs.h"

#include <string.h>

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
    char set[256], now[PP_CELL], then[PP_CELL], low[PP_CELL], high[PP_CELL], wait[PP_CELL], text[512];
    pp_knobs_text(c->s, c->m, set, sizeof(set));
    if (!a || strcmp(a->set, set) != 0) {
        pp_put(c, 1, 0, PP_STYLE_PLAIN, "computing ...");
    } else if (a->status != PP_OK) {
        pp_wrap(c, 1, answer, c->box.cols, PP_STYLE_WARN, a->why);
    } else if (!set[0]) {
        pp_put(c, 1, 0, PP_STYLE_PLAIN, "recorded: %s samples/s; + and - change a knob",
               pp_text_rate(now, sizeof(now), a->measured));
    } else {
        snprintf(
            text, sizeof(text),
            "%s samples/s (80 %% interval %s to %s) instead of %s: %+.0f %% (%+.0f to %+.0f), data wait %s",
            pp_text_rate(then, sizeof(then), a->p.samples_per_s), pp_text_rate(low, sizeof(low), a->p.low),
            pp_text_rate(high, sizeof(high), a->p.high), pp_text_rate(now, sizeof(now), a->measured),
            a->p.gain * 100, a->p.gain_low * 100, a->p.gain_high * 100,
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
