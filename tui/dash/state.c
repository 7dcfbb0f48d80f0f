#include "tui/dash/state.h"

#include "probe/base/opts.h"
#include "tui/dash/rows.h"

#define SECOND_NS 1000000000u

const double pp_speeds[PP_SPEEDS] = {0.25, 0.5, 1, 2, 5, 20, 60};
const unsigned pp_windows[PP_WINDOWS] = {1, 5, 15, 60, 300};

const char *const pp_view_names[PP_VIEW_COUNT] = {"overview", "stages", "workers",     "batch",  "lines",
                                                  "errors",   "events", "environment", "what-if"};

const struct pp_dash_state pp_dash_start = {.page_rows = 10,
                                            .speed = PP_SPEED_ONE,
                                            .window = PP_WINDOW_FIVE,
                                            .resume = PP_MODE_FOLLOW};

static void go_to_view(struct pp_dash_state *s, enum pp_view v)
{
    if (v != s->view)
        s->before = s->view;
    s->view = v;
    s->help = 0;
}

static void hold_at(struct pp_dash_state *s, uint64_t at_s)
{
    s->mode = PP_MODE_HOLD;
    s->resume = PP_MODE_PLAY;
    s->at_s = at_s;
    s->play_ns = 0;
}

static void pause_or_go_on(struct pp_dash_state *s, const struct pp_live_snapshot *snap)
{
    if (s->mode == PP_MODE_HOLD) {
        s->mode = s->resume;
        if (s->mode == PP_MODE_PLAY && s->at_s >= snap->last_s && snap->state != PP_LIVE_RUNNING)
            s->at_s = snap->first_s; /* at its end there is only the beginning to go on to */
        return;
    }
    s->resume = s->mode;
    /* A run that has ended has nothing newer to go on to: it is played again. */
    if (s->mode == PP_MODE_FOLLOW && snap->state != PP_LIVE_RUNNING)
        s->resume = PP_MODE_PLAY;
    s->mode = PP_MODE_HOLD;
    s->at_s = snap->at_s;
    s->play_ns = 0;
}

/* To the next row with the text, around the end; rows are those of the filter. */
static void search(struct pp_dash_state *s, const struct pp_dash_model *m)
{
    struct pp_rows rows;
    pp_rows_of(s, m, &rows);
    for (int i = 1; s->search[0] && i <= rows.n; i++) {
        int at = (s->selected[s->view] + i) % rows.n;
        if (pp_row_has(s->view, m, rows.index[at], s->search)) {
            s->selected[s->view] = at;
            return;
        }
    }
    snprintf(s->message, sizeof(s->message), "'%.40s' is not found in this view", s->search);
}

static void type(struct pp_dash_state *s, int key, const struct pp_dash_model *m)
{
    size_t n = strlen(s->line);
    if (key == PP_KEY_ESC) {
        s->input = PP_INPUT_NONE;
    } else if (key == PP_KEY_ENTER) {
        switch (s->input) {
        case PP_INPUT_SEARCH:
            snprintf(s->search, sizeof(s->search), "%s", s->line);
            search(s, m);
            break;
        case PP_INPUT_FILTER:
            snprintf(s->filter, sizeof(s->filter), "%s", s->line);
            s->selected[s->view] = 0;
            break;
        case PP_INPUT_SEEK: {
            uint64_t ns;
            if (pp_parse_duration(s->line, &ns) != PP_OK) {
                snprintf(s->message, sizeof(s->message), "'%.40s' is not a time; try 90 or 1m30s", s->line);
            } else {
                uint64_t at = (m->snap->origin_ns + (ns < UINT64_MAX / 2 ? ns : UINT64_MAX / 2)) / SECOND_NS;
                hold_at(s, at < m->snap->first_s  ? m->snap->first_s
                           : at > m->snap->last_s ? m->snap->last_s
                                                  : at);
            }
        } break;
        case PP_INPUT_NONE: break;
        }
        s->input = PP_INPUT_NONE;
    } else if (key == PP_KEY_BACKSPACE && n > 0) {
        s->line[n - 1] = '\0';
    } else if (key >= 0x20 && key < 0x7f && n + 1 < sizeof(s->line)) {
        s->line[n] = (char)key, s->line[n + 1] = '\0';
    }
}

static void turn_knob(struct pp_dash_state *s, const struct pp_dash_model *m, int by)
{
    struct pp_rows rows;
    pp_rows_of(s, m, &rows);
    char recorded[PP_KNOB_TEXT];
    int selected = s->selected[s->view];
    if (s->view != PP_VIEW_WHATIF || selected >= rows.n) {
        snprintf(s->message, sizeof(s->message), "knobs are in the what-if view (W)");
        return;
    }
    int i = rows.index[selected], moved = by ? pp_knob_move(m, i, s->knob[i], by) : 0;
    if (by && moved == s->knob[i])
        snprintf(s->message, sizeof(s->message),
                 strcmp(pp_knob_text(m, i, 0, recorded, sizeof(recorded)), "-") == 0
                     ? "%s was not recorded: it cannot be changed"
                     : "%s is at its limit",
                 pp_dash_knob(i)->name);
    s->knob[i] = moved;
}

static void act(struct pp_dash_state *s, const struct pp_key *k, const struct pp_dash_model *m)
{
    switch (k->action) {
    case PP_DO_NOTHING: break;
    case PP_DO_QUIT: s->quit = 1; break;
    case PP_DO_HELP: s->help = !s->help; break;
    case PP_DO_BACK: /* from the help to the view that it covers */
        go_to_view(s, s->help ? s->view : s->view != s->before ? s->before : PP_VIEW_OVERVIEW);
        break;
    case PP_DO_NEXT_VIEW: go_to_view(s, (enum pp_view)((s->view + 1) % PP_VIEW_COUNT)); break;
    case PP_DO_VIEW: go_to_view(s, (enum pp_view)k->arg); break;
    case PP_DO_MOVE:
    case PP_DO_PAGE: {
        int *row = s->help ? &s->help_row : &s->selected[s->view],
            by = k->action == PP_DO_PAGE ? k->arg * s->page_rows : k->arg;
        *row = by < 0 && *row < -by ? 0 : *row + by;
    } break;
    case PP_DO_ROW: s->selected[s->view] = k->arg; break;
    case PP_DO_DETAIL:
        if (s->view == PP_VIEW_OVERVIEW)
            s->selected[PP_VIEW_WORKERS] = s->selected[PP_VIEW_OVERVIEW];
        go_to_view(s, s->view == PP_VIEW_OVERVIEW  ? PP_VIEW_WORKERS
                      : s->view == PP_VIEW_WORKERS ? PP_VIEW_EVENTS
                                                   : s->view);
        break;
    case PP_DO_PAUSE: pause_or_go_on(s, m->snap); break;
    case PP_DO_STEP:
        if (k->arg < 0 ? m->snap->at_s > m->snap->first_s : m->snap->at_s < m->snap->last_s)
            hold_at(s, k->arg < 0 ? m->snap->at_s - 1 : m->snap->at_s + 1);
        else
            snprintf(s->message, sizeof(s->message),
                     k->arg < 0 ? "this is the first second" : "this is the newest complete second");
        break;
    case PP_DO_STALL: {
        uint64_t at = k->arg < 0 ? m->snap->stall_before_s : m->snap->stall_after_s;
        if (at != m->snap->at_s)
            hold_at(s, at);
        else
            snprintf(s->message, sizeof(s->message),
                     "no %s stall (seconds in a row with %.0f %% of data wait or more)",
                     k->arg < 0 ? "earlier" : "later", PP_LIVE_STALL_SHARE * 100);
    } break;
    case PP_DO_SPEED: {
        int speed = s->speed + k->arg;
        s->speed = speed < 0 ? 0 : speed >= PP_SPEEDS ? PP_SPEEDS - 1 : speed;
        snprintf(s->message, sizeof(s->message), "replay speed %gx", pp_speeds[s->speed]);
    } break;
    case PP_DO_FOLLOW: s->mode = PP_MODE_FOLLOW; break;
    case PP_DO_WINDOW: s->window = (s->window + 1) % PP_WINDOWS; break;
    case PP_DO_SORT: s->sort++; break;
    case PP_DO_INVERT: s->invert = !s->invert; break;
    case PP_DO_INPUT:
        s->input = (enum pp_input)k->arg;
        snprintf(s->line, sizeof(s->line), "%s", s->input == PP_INPUT_FILTER ? s->filter : "");
        break;
    case PP_DO_SEARCH_NEXT: search(s, m); break;
    case PP_DO_KNOB: turn_knob(s, m, k->arg); break;
    case PP_DO_DUMP: s->dump = 1; break;
    case PP_DO_REDRAW: s->redraw = 1; break;
    }
}

struct pp_dash_state pp_dash_key(struct pp_dash_state s, int key, const struct pp_dash_model *m)
{
    const struct pp_key *k = pp_key_find(key);
    s.message[0] = '\0';
    if (s.input != PP_INPUT_NONE)
        type(&s, key, m);
    else if (k)
        act(&s, k, m);
    else if (key > 0x20 && key < 0x7f)
        snprintf(s.message, sizeof(s.message), "unknown key %c; ? lists the keys", key);
    /* What is selected stays inside a list that may have become shorter. */
    struct pp_rows rows;
    int *row = &s.selected[s.view];
    pp_rows_of(&s, m, &rows);
    *row = *row >= rows.n ? rows.n - 1 : *row;
    *row = *row < 0 ? 0 : *row;
    s.help_row = s.help_row >= (int)pp_keys_n ? (int)pp_keys_n - 1 : s.help_row;
    return s;
}

struct pp_dash_state pp_dash_tick(struct pp_dash_state s, uint64_t elapsed_ns, const struct pp_dash_model *m)
{
    if (s.mode != PP_MODE_PLAY)
        return s;
    s.play_ns += (uint64_t)((double)elapsed_ns * pp_speeds[s.speed]);
    s.at_s += s.play_ns / SECOND_NS;
    s.play_ns %= SECOND_NS;
    if (s.at_s >= m->snap->last_s)
        s.mode = PP_MODE_FOLLOW;
    return s;
}

/* ---- keys ---- */

const struct pp_key pp_keys[] = {
    {'q', {0}, "q", NULL, PP_DO_QUIT, 0, "quit"},
    {'?', {PP_KEY_F1}, "?", "F1", PP_DO_HELP, 0, "this help"},
    {'o', {0}, "o", NULL, PP_DO_VIEW, PP_VIEW_OVERVIEW, "overview: pipeline, workers, history, events"},
    {'g', {0}, "g", NULL, PP_DO_VIEW, PP_VIEW_STAGES, "stages, with percentiles"},
    {'w', {0}, "w", NULL, PP_DO_VIEW, PP_VIEW_WORKERS, "workers"},
    {'b', {0}, "b", NULL, PP_DO_VIEW, PP_VIEW_BATCH, "the batch with the longest wait, as a waterfall"},
    {'c', {0}, "c", NULL, PP_DO_VIEW, PP_VIEW_LINES, "code: the lines and operations that cost the stall"},
    {'e', {0}, "e", NULL, PP_DO_VIEW, PP_VIEW_ERRORS, "errors"},
    {'v', {0}, "v", NULL, PP_DO_VIEW, PP_VIEW_EVENTS, "all events"},
    {'i', {0}, "i", NULL, PP_DO_VIEW, PP_VIEW_ENVIRONMENT, "configuration and environment of the run"},
    {'W', {0}, "W", NULL, PP_DO_VIEW, PP_VIEW_WHATIF, "what-if: change a knob, see the predicted throughput"},
    {'+', {'='}, "+", "=", PP_DO_KNOB, 1, "increase the knob"},
    {'-', {0}, "-", NULL, PP_DO_KNOB, -1, "decrease the knob"},
    {'0', {0}, "0", NULL, PP_DO_KNOB, 0, "reset the knob to its recorded value"},
    {'n', {PP_KEY_TAB}, "n", "Tab", PP_DO_NEXT_VIEW, 0, "next view"},
    {'x', {PP_KEY_ESC}, "x", "Esc", PP_DO_BACK, 0, "back to the previous view; never quits"},
    {'k', {PP_KEY_UP, PP_KEY_WHEEL_UP}, "k", "Up, wheel", PP_DO_MOVE, -1, "up"},
    {'j', {PP_KEY_DOWN, PP_KEY_WHEEL_DOWN}, "j", "Down, wheel", PP_DO_MOVE, 1, "down"},
    {'K', {PP_KEY_PAGE_UP}, "K", "PgUp", PP_DO_PAGE, -1, "page up"},
    {'J', {PP_KEY_PAGE_DOWN}, "J", "PgDn", PP_DO_PAGE, 1, "page down"},
    {'H', {PP_KEY_HOME}, "H", "Home", PP_DO_ROW, 0, "first row"},
    {'L', {PP_KEY_END}, "L", "End", PP_DO_ROW, 1 << 20, "last row"},
    {'z', {PP_KEY_ENTER}, "z", "Enter", PP_DO_DETAIL, 0, "zoom in: workers, then their events"},
    {'p', {' '}, "p", "Space", PP_DO_PAUSE, 0, "pause and resume the display; the recording continues"},
    {'[', {'h', PP_KEY_LEFT}, "[", "h, Left", PP_DO_STEP, -1, "a second back"},
    {']', {'l', PP_KEY_RIGHT}, "]", "l, Right", PP_DO_STEP, 1, "a second on"},
    {'{', {0}, "{", NULL, PP_DO_STALL, -1, "to the previous stall (seconds with 20 % of data wait or more)"},
    {'}', {0}, "}", NULL, PP_DO_STALL, 1, "to the next stall"},
    {'<', {','}, "<", ",", PP_DO_SPEED, -1, "replay slower"},
    {'>', {'.'}, ">", ".", PP_DO_SPEED, 1, "replay faster"},
    {':', {0}, ":", NULL, PP_DO_INPUT, PP_INPUT_SEEK, "go to a time since the start (90, 1m30s)"},
    {'f', {0}, "f", NULL, PP_DO_FOLLOW, 0, "follow the newest second"},
    {'t', {0}, "t", NULL, PP_DO_WINDOW, 0, "window of rates and shares in seconds: 1, 5, 15, 60, 300"},
    {'s', {0}, "s", NULL, PP_DO_SORT, 0, "sort workers by the next column"},
    {'S', {'I'}, "S", "I", PP_DO_INVERT, 0, "reverse the sort order"},
    {'/', {0}, "/", NULL, PP_DO_INPUT, PP_INPUT_SEARCH, "search: go to the next row with this text"},
    {'N', {0}, "N", NULL, PP_DO_SEARCH_NEXT, 0, "to the next match"},
    {'\\', {0}, "\\", NULL, PP_DO_INPUT, PP_INPUT_FILTER, "filter: only rows with this text; empty: all"},
    {'d', {0}, "d", NULL, PP_DO_DUMP, 0, "save the screen and its numbers to files"},
    {'r', {12}, "r", "Ctrl-L", PP_DO_REDRAW, 0, "redraw the screen"},
};
const size_t pp_keys_n = sizeof(pp_keys) / sizeof(pp_keys[0]);

const struct pp_key *pp_key_find(int key)
{
    for (size_t i = 0; key && i < pp_keys_n; i++)
        if (pp_keys[i].key == key || pp_keys[i].alias[0] == key || pp_keys[i].alias[1] == key)
            return &pp_keys[i];
    return NULL;
}
