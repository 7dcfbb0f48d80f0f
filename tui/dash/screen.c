#include "tui/dash/screen.h"

#include "probe/base/err.h"

#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <wchar.h>

struct pp_screen {
    SCREEN *screen;
    int color;
    struct pp_grid shown;
};

pp_status pp_screen_open(int color, int mouse, struct pp_screen **out, struct pp_err *err)
{
    const char *term = getenv("TERM");
    *out = NULL;
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return pp_fail(err, PP_E_UNSUPPORTED, "TERM is '%s', which has no full-screen mode",
                       term ? term : "");
    struct pp_screen *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a screen");
    s->screen = newterm(NULL, stdout, stdin); /* initscr would end the process */
    if (!s->screen) {
        free(s);
        return pp_fail(err, PP_E_UNSUPPORTED, "unknown TERM '%s'; try TERM=xterm", term);
    }
    set_term(s->screen);
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    s->color = color && has_colors();
    if (s->color) {
        start_color();
        use_default_colors(); /* the terminal's own background, light or dark */
    }
    for (int i = 0; s->color && i < PP_STYLE_COUNT; i++) {
        const struct pp_style_info *p = &pp_styles[i];
        init_pair((short)(i + 1), COLORS >= 256 ? p->c256 : COLORS >= 16 ? p->c16 : p->c8, -1);
    }
    if (mouse) {
        mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
        mouseinterval(0); /* a press is told at once, not held back for a double click */
    }
    *out = s;
    return PP_OK;
}

void pp_screen_close(struct pp_screen *s)
{
    if (!s)
        return;
    endwin();
    delscreen(s->screen);
    pp_grid_free(&s->shown);
    free(s);
}

void pp_screen_size(const struct pp_screen *s, int *rows, int *cols)
{
    getmaxyx(stdscr, *rows, *cols);
}

/* Only rows that changed: most frames change a few. */
void pp_screen_show(struct pp_screen *s, const struct pp_grid *g)
{
    int anew = s->shown.rows != g->rows || s->shown.cols != g->cols;
    if (anew) {
        erase();
        if (!pp_grid_resize(&s->shown, g->rows, g->cols))
            s->shown.rows = 0; /* without memory to compare with, all rows are drawn each time */
    }
    for (int r = 0; r < g->rows; r++) {
        const struct pp_cell *row = g->cell + (size_t)r * (size_t)g->cols;
        struct pp_cell *was = s->shown.rows ? s->shown.cell + (size_t)r * (size_t)g->cols : NULL;
        int same = 0;
        while (!anew && was && same < g->cols && row[same].c == was[same].c &&
               row[same].style == was[same].style)
            same++;
        if (same == g->cols)
            continue;
        move(r, 0);
        clrtoeol();
        for (int c = 0; c < g->cols; c++) {
            wchar_t text[2] = {(wchar_t)row[c].c, 0};
            unsigned attr = pp_styles[row[c].style].attr;
            cchar_t wide;
            if (row[c].c == 0 || (row[c].c == ' ' && row[c].style == PP_STYLE_PLAIN))
                continue;
            setcchar(&wide, text,
                     (attr & PP_ATTR_BOLD ? A_BOLD : 0) | (attr & PP_ATTR_REVERSE ? A_REVERSE : 0),
                     (short)(s->color ? row[c].style + 1 : 0), NULL);
            mvadd_wch(r, c, &wide);
        }
        if (was)
            memcpy(was, row, (size_t)g->cols * sizeof(*row));
    }
    refresh();
}

void pp_screen_redraw(struct pp_screen *s)
{
    s->shown.rows = 0;
    clearok(stdscr, TRUE);
}

int pp_screen_key(struct pp_screen *s, int timeout_ms, struct pp_click *at)
{
    timeout(timeout_ms);
    int key = getch();
    if (key == KEY_RESIZE)
        s->shown.rows = 0; /* a window that shrank and grew again has lost what was there */
    MEVENT e;
    if (key != KEY_MOUSE) {
        static const struct {
            int from, to;
        } map[] = {
            {ERR, PP_KEY_NONE},
            {KEY_UP, PP_KEY_UP},
            {KEY_DOWN, PP_KEY_DOWN},
            {KEY_LEFT, PP_KEY_LEFT},
            {KEY_RIGHT, PP_KEY_RIGHT},
            {KEY_PPAGE, PP_KEY_PAGE_UP},
            {KEY_NPAGE, PP_KEY_PAGE_DOWN},
            {KEY_HOME, PP_KEY_HOME},
            {KEY_END, PP_KEY_END},
            {KEY_RESIZE, PP_KEY_RESIZE},
            {KEY_F(1), PP_KEY_F1},
            {KEY_BACKSPACE, PP_KEY_BACKSPACE},
            {'\b', PP_KEY_BACKSPACE},
            {'\r', PP_KEY_ENTER},
            {KEY_ENTER, PP_KEY_ENTER},
        };
        for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++)
            if (map[i].from == key)
                return map[i].to;
        return key < 0x100 ? key : PP_KEY_NONE;
    }
    if (getmouse(&e) != OK)
        return PP_KEY_NONE;
    if (at)
        *at = (struct pp_click){e.y, e.x};
    return e.bstate & BUTTON4_PRESSED   ? PP_KEY_WHEEL_UP
           : e.bstate & BUTTON5_PRESSED ? PP_KEY_WHEEL_DOWN
           : e.bstate & BUTTON1_PRESSED ? PP_KEY_CLICK
                                        : PP_KEY_NONE;
}
