#include "tui/dash/keys.h"

#include "tui/dash/state.h"

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
    {'H', {PP_KEY_HOME}, "H", "Home", PP_DO_FIRST, 0, "first row"},
    {'L', {PP_KEY_END}, "L", "End", PP_DO_LAST, 0, "last row"},
    {'z', {PP_KEY_ENTER}, "z", "Enter", PP_DO_DETAIL, 0, "zoom in: workers, then their events"},
    {'p', {' '}, "p", "Space", PP_DO_PAUSE, 0, "pause and resume the display; the recording continues"},
    {'[', {'h', PP_KEY_LEFT}, "[", "h, Left", PP_DO_STEP, -1, "a second back"},
    {']', {'l', PP_KEY_RIGHT}, "]", "l, Right", PP_DO_STEP, 1, "a second on"},
    {'{', {0}, "{", NULL, PP_DO_STALL, -1, "to the previous stall (seconds with 20 % of data wait or more)"},
    {'}', {0}, "}", NULL, PP_DO_STALL, 1, "to the next stall"},
    {'<', {','}, "<", ",", PP_DO_SPEED, -1, "replay slower"},
    {'>', {'.'}, ">", ".", PP_DO_SPEED, 1, "replay faster"},
    {':', {0}, ":", NULL, PP_DO_SEEK, 0, "go to a time since the start (90, 1m30s)"},
    {'f', {0}, "f", NULL, PP_DO_FOLLOW, 0, "follow the newest second"},
    {'t', {0}, "t", NULL, PP_DO_WINDOW, 0, "window of rates and shares in seconds: 1, 5, 15, 60, 300"},
    {'s', {0}, "s", NULL, PP_DO_SORT, 0, "sort workers by the next column"},
    {'S', {'I'}, "S", "I", PP_DO_INVERT, 0, "reverse the sort order"},
    {'/', {0}, "/", NULL, PP_DO_SEARCH, 0, "search: go to the next row with this text"},
    {'N', {0}, "N", NULL, PP_DO_SEARCH_NEXT, 0, "to the next match"},
    {'\\', {0}, "\\", NULL, PP_DO_FILTER, 0, "filter: only rows with this text; empty: all"},
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
