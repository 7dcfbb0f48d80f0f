#include "tui/dash/layout.h"

enum { VIEW_HELP = PP_VIEW_COUNT };

/* least: rows without which it says little, unless it wants fewer. drop: which goes first, the highest; 0:
 * never. */
struct place {
    int view;
    enum pp_panel panel;
    int least, drop, grows;
};

#define DETAIL(view, panel) \
    {view, PP_PANEL_VERDICT, 1, 0, 0}, {view, PP_PANEL_STATUS, 1, 0, 0}, {view, panel, 3, 0, 1}, \
    { \
        view, PP_PANEL_FOOTER, 1, 0, 0 \
    }

/* clang-format off */
static const struct place places[] = {
    {PP_VIEW_OVERVIEW, PP_PANEL_VERDICT, 2, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_STATUS, 1, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_METERS, 1, 4, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_PIPELINE, 4, 0, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_WORKERS, 4, 1, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_HISTORY, 3, 2, 0},
    {PP_VIEW_OVERVIEW, PP_PANEL_EVENTS, 2, 3, 1},
    {PP_VIEW_OVERVIEW, PP_PANEL_FOOTER, 1, 0, 0},
    DETAIL(PP_VIEW_STAGES, PP_PANEL_STAGES),
    DETAIL(PP_VIEW_BATCH, PP_PANEL_BATCH),
    DETAIL(PP_VIEW_LINES, PP_PANEL_LINES),
    DETAIL(PP_VIEW_ERRORS, PP_PANEL_EVENTS),
    DETAIL(PP_VIEW_EVENTS, PP_PANEL_EVENTS),
    DETAIL(PP_VIEW_ENVIRONMENT, PP_PANEL_ENVIRONMENT),
    DETAIL(PP_VIEW_WHATIF, PP_PANEL_WHATIF),
    {PP_VIEW_WORKERS, PP_PANEL_VERDICT, 1, 0, 0},
    {PP_VIEW_WORKERS, PP_PANEL_STATUS, 1, 0, 0},
    {PP_VIEW_WORKERS, PP_PANEL_WORKERS, 3, 0, 1},
    {PP_VIEW_WORKERS, PP_PANEL_WORKER, 4, 1, 0},
    {PP_VIEW_WORKERS, PP_PANEL_FOOTER, 1, 0, 0},
    {VIEW_HELP, PP_PANEL_HELP, 3, 0, 1},
    {VIEW_HELP, PP_PANEL_FOOTER, 1, 0, 0},
};
/* clang-format on */
enum { PLACES = sizeof(places) / sizeof(places[0]) };

struct plan {
    const struct place *place[PP_PANEL_COUNT];
    int rows[PP_PANEL_COUNT];
    int n, beside; /* index of the panel that stands beside the one before it, or -1 */
};

/* Rows that the plan takes; a panel beside another takes none of its own. */
static int rows_of(const struct plan *p)
{
    int sum = 0;
    for (int i = 0; i < p->n; i++)
        sum += i == p->beside ? 0 : p->rows[i];
    return sum;
}

static void find_beside(struct plan *p, int cols)
{
    p->beside = -1;
    for (int i = 1; i < p->n && cols >= PP_COLS_WIDE; i++)
        if (p->place[i]->panel == PP_PANEL_EVENTS && p->place[i - 1]->panel == PP_PANEL_HISTORY)
            p->beside = i;
}

static void drop_one(struct plan *p, int cols)
{
    int worst = -1;
    for (int i = 0; i < p->n; i++)
        if (p->place[i]->drop && (worst < 0 || p->place[i]->drop > p->place[worst]->drop))
            worst = i;
    if (worst < 0)
        return;
    p->n--;
    for (int i = worst; i < p->n; i++) {
        p->place[i] = p->place[i + 1];
        p->rows[i] = p->rows[i + 1];
    }
    find_beside(p, cols);
}

size_t pp_layout(int rows, int cols, enum pp_view view, int help, const int want[PP_PANEL_COUNT],
                 struct pp_placed *out)
{
    struct plan p = {.n = 0};
    int shown = help ? VIEW_HELP : (int)view;
    if (rows < 1 || cols < 1)
        return 0;
    if (rows < PP_ROWS_NEEDED || cols < PP_COLS_NEEDED) {
        out[0] = (struct pp_placed){PP_PANEL_TOO_SMALL, {0, 0, rows, cols}};
        return 1;
    }
    for (int i = 0; i < PLACES; i++) {
        if (places[i].view == shown && (places[i].panel != PP_PANEL_METERS || want[PP_PANEL_METERS] > 0)) {
            int least = places[i].least, wish = want[places[i].panel];
            p.rows[p.n] = wish > 0 && wish < least && !places[i].grows ? wish : least;
            p.place[p.n++] = &places[i];
        }
    }
    find_beside(&p, cols);
    while (rows_of(&p) > rows) {
        int before = p.n;
        drop_one(&p, cols);
        if (p.n == before)
            break; /* what never goes fits into PP_ROWS_NEEDED */
    }
    int left = rows - rows_of(&p), grows = 0;
    for (int i = 0; i < p.n; i++) {
        int wish = want[p.place[i]->panel];
        if (p.place[i]->panel == PP_PANEL_VERDICT && p.place[i]->view != PP_VIEW_OVERVIEW && wish > rows / 4)
            wish = rows / 4; /* another view was opened for its own panel */
        int more = i == p.beside ? 0 : wish - p.rows[i];
        more = more < 0 ? 0 : more > left ? left : more;
        p.rows[i] += more;
        left -= more;
        if (p.place[i]->grows)
            grows = i;
        else if (!grows && p.place[i]->panel == PP_PANEL_PIPELINE)
            grows = i; /* when the one that grows was dropped */
    }
    if (grows && grows == p.beside)
        grows--;
    p.rows[grows] += left;
    if (p.beside > 0)
        p.rows[p.beside] = p.rows[p.beside - 1];
    int row = 0;
    for (int i = 0; i < p.n; i++) {
        out[i] = (struct pp_placed){p.place[i]->panel, {row, 0, p.rows[i], cols}};
        if (i == p.beside) {
            int half = cols / 2;
            out[i - 1].box.cols = half - 1; /* a blank column between them */
            out[i].box = (struct pp_box){out[i - 1].box.row, half, out[i - 1].box.rows, cols - half};
        } else {
            row += p.rows[i];
        }
    }
    return (size_t)p.n;
}
