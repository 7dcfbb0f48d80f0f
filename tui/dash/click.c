#include "tui/dash/click.h"

#include "tui/dash/draw.h"
#include "tui/dash/keys.h"
#include "tui/dash/panel.h"

static uint32_t cell(const struct pp_grid *g, int row, int col)
{
    return col >= 0 && col < g->cols ? g->cell[(size_t)row * (size_t)g->cols + (size_t)col].c : ' ';
}

/* A letter that stands alone is the key; of a word, the key its hint begins with: "? help", "{ } stall". Two
 * blanks part the hints. */
static int key_under(const struct pp_grid *g, int row, int col)
{
    if (cell(g, row, col) == ' ')
        return PP_KEY_NONE;
    if (cell(g, row, col - 1) != ' ' || cell(g, row, col + 1) != ' ')
        while (col > 0 && !(cell(g, row, col - 1) == ' ' && cell(g, row, col - 2) == ' '))
            col--;
    int alone = cell(g, row, col + 1) == ' ' && cell(g, row, col) < 0x7f;
    return alone && pp_key_find((int)cell(g, row, col)) ? (int)cell(g, row, col) : PP_KEY_NONE;
}

struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    size_t n = row >= 0 && row < g->rows && col >= 0 && col < g->cols
                   ? pp_draw_layout(g->rows, g->cols, &s, m, placed)
                   : 0;
    for (size_t i = 0; i < n && s.input == PP_INPUT_NONE; i++) {
        const struct pp_box *b = &placed[i].box;
        int inside = row >= b->row && row < b->row + b->rows && col >= b->col && col < b->col + b->cols,
            list = pp_list_begins(placed[i].panel, b);
        int events_beside = s.view == PP_VIEW_OVERVIEW &&
                            placed[i].panel == PP_PANEL_EVENTS; /* there it is the workers that are chosen */
        if (inside && placed[i].panel == PP_PANEL_FOOTER && key_under(g, row, col) != PP_KEY_NONE)
            return pp_dash_key(s, key_under(g, row, col), m);
        if (inside && list && !events_beside) {
            struct pp_rows rows;
            pp_rows_of(&s, m, &rows);
            int *selected = &s.selected[s.view],
                at = pp_list_top(*selected, rows.n, b->rows - list) + row - b->row - list;
            if (row >= b->row + list && at < rows.n)
                *selected = at;
        }
    }
    return s;
}
