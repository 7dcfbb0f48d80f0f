#include "tui/dash/draw.h"

#include "tui/dash/panel.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* want NULL: a row. list: rows above the list that the user moves in; 0: there is none. */
static const struct {
    pp_panel_draw *draw;
    pp_panel_want *want;
    int list;
} panels[PP_PANEL_COUNT] = {
    [PP_PANEL_VERDICT] = {pp_panel_verdict, pp_want_verdict},
    [PP_PANEL_STATUS] = {pp_panel_status, NULL},
    [PP_PANEL_PIPELINE] = {pp_panel_pipeline, pp_want_pipeline},
    [PP_PANEL_WORKERS] = {pp_panel_workers, pp_want_workers, 2},
    [PP_PANEL_HISTORY] = {pp_panel_history, NULL},
    [PP_PANEL_EVENTS] = {pp_panel_events, NULL, 1},
    [PP_PANEL_STAGES] = {pp_panel_stages, NULL, 2},
    [PP_PANEL_WORKER] = {pp_panel_worker, NULL},
    [PP_PANEL_BATCH] = {pp_panel_batch, NULL},
    [PP_PANEL_ENVIRONMENT] = {pp_panel_environment, NULL, 1},
    [PP_PANEL_WHATIF] = {pp_panel_whatif, NULL},
    [PP_PANEL_HELP] = {pp_panel_help, NULL},
    [PP_PANEL_FOOTER] = {pp_panel_footer, NULL},
    [PP_PANEL_TOO_SMALL] = {pp_panel_too_small, NULL},
};

/* Rows for panels whose wish depends on nothing: a heading and two rows of each curve; a handful of events;
 * facts about a worker. */
static int fixed_want(enum pp_panel p)
{
    return p == PP_PANEL_HISTORY ? 5 : p == PP_PANEL_EVENTS ? 6 : p == PP_PANEL_WORKER ? 7 : 1;
}

size_t pp_draw_layout(int rows, int cols, const struct pp_dash_state *s, const struct pp_dash_model *m,
                      struct pp_placed *out)
{
    int want[PP_PANEL_COUNT];
    for (int p = 0; p < PP_PANEL_COUNT; p++)
        want[p] = panels[p].want ? panels[p].want(s, m, cols) : fixed_want((enum pp_panel)p);
    return pp_layout(rows, cols, s->view, s->help, want, out);
}

void pp_draw(struct pp_grid *g, enum pp_glyph_set glyphs, const struct pp_dash_state *s,
             const struct pp_dash_model *m)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    g->ascii = glyphs == PP_GLYPHS_ASCII;
    size_t n = pp_draw_layout(g->rows, g->cols, s, m, placed);
    for (size_t i = 0; i < n; i++)
        panels[placed[i].panel].draw(&(struct pp_canvas){
            .grid = g, .box = placed[i].box, .glyphs = &pp_glyph_sets[glyphs], .s = s, .m = m});
}

int pp_list_begins(enum pp_panel panel, const struct pp_box *box)
{
    return panel == PP_PANEL_WHATIF ? pp_whatif_list(box->rows) : panels[panel].list;
}

/* ---- what panels share ---- */

int pp_put(const struct pp_canvas *c, int row, int col, enum pp_style style, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return pp_grid_put(c->grid, &c->box, row, col, style, text);
}

void pp_put_right(const struct pp_canvas *c, int row, int end, enum pp_style style, const char *text)
{
    pp_grid_put(c->grid, &c->box, row, end - pp_grid_columns(c->grid, text), style, text);
}

/* Of text, what leaves room for dots in `cols` columns and ends with a word. */
static int words_within(const char *text, int cols)
{
    int n = cols > 4 ? cols - 4 : 0;
    while (n > 0 && text[n] != ' ')
        n--;
    return n;
}

void pp_heading(const struct pp_canvas *c, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (pp_grid_columns(c->grid, text) > c->box.cols)
        snprintf(text + words_within(text, c->box.cols), 5, " ...");
    int col = pp_grid_put(c->grid, &c->box, 0, 0, PP_STYLE_TITLE, text) + 1;
    for (; col < c->box.cols; col++)
        pp_grid_put(c->grid, &c->box, 0, col, PP_STYLE_PLAIN, c->glyphs->rule);
}

int pp_wrap(const struct pp_canvas *c, int row, int rows, int cols, int indent, enum pp_style style,
            const char *text)
{
    int lines = 0;
    while (*text) {
        int room = cols - indent, left = (int)strlen(text), n = left;
        room = room < 1 ? 1 : room;
        if (left > room) { /* after the last blank that fits; within a word that is longer than a line */
            for (n = room; n > 0 && text[n] != ' '; n--) {
            }
            n = n > 0 ? n : room;
        }
        if (c && lines < rows) {
            int last = lines == rows - 1 && n < left,
                shown = last && n > room - 4 ? words_within(text, room) : n;
            pp_put(c, row + lines, indent, style, "%.*s%s", shown, text, last ? " ..." : "");
        }
        lines++;
        text += n;
        text += strspn(text, " ");
    }
    return lines;
}

void pp_bar(const struct pp_canvas *c, int row, int col, int cols, enum pp_style style, const char *mark)
{
    for (int i = 0; i < cols; i++)
        pp_grid_put(c->grid, &c->box, row, col + i, style, mark);
}

int pp_list_top(int selected, int n, int rows)
{
    int top = selected - rows / 2;
    top = top > n - rows ? n - rows : top;
    return top < 0 ? 0 : top;
}

char *pp_short_share(char *buf, size_t size, double share)
{
    if (!isfinite(share))
        snprintf(buf, size, "-");
    else if (share > 0 && share < 0.01)
        snprintf(buf, size, "<1 %%");
    else
        snprintf(buf, size, "%.0f %%", share * 100);
    return buf;
}

char *pp_short_time(char *buf, size_t size, double ns)
{
    return pp_text_duration(buf, size, ns);
}

char *pp_clock_text(char *buf, size_t size, double seconds)
{
    long s = isfinite(seconds) && seconds > 0 && seconds < 1e9 ? (long)seconds : 0;
    if (s >= 3600)
        snprintf(buf, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, size, "%ld:%02ld", s / 60, s % 60);
    return buf;
}
