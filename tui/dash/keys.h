/* dash/keys.h: the one table of keys. The reducer, the help overlay, docs/guide/dashboard.md and the tests
 * follow from it. */
#ifndef PP_DASH_KEYS_H
#define PP_DASH_KEYS_H

#include <stddef.h>

/* Keys that are no character. The terminal back end translates to these. */
enum {
    PP_KEY_NONE = 0,
    PP_KEY_ENTER = '\n',
    PP_KEY_TAB = '\t',
    PP_KEY_ESC = 27,
    PP_KEY_BACKSPACE = 127,
    PP_KEY_UP = 0x1000,
    PP_KEY_DOWN,
    PP_KEY_LEFT,
    PP_KEY_RIGHT,
    PP_KEY_PAGE_UP,
    PP_KEY_PAGE_DOWN,
    PP_KEY_HOME,
    PP_KEY_END,
    PP_KEY_RESIZE,
    PP_KEY_F1,
    PP_KEY_WHEEL_UP,
    PP_KEY_WHEEL_DOWN,
    PP_KEY_CLICK /* with --mouse; where the click was: pp_screen_click */
};

enum pp_action {
    PP_DO_NOTHING,
    PP_DO_QUIT,
    PP_DO_HELP,
    PP_DO_BACK,
    PP_DO_NEXT_VIEW,
    PP_DO_VIEW, /* arg: enum pp_view */
    PP_DO_MOVE, /* arg: rows */
    PP_DO_PAGE,
    PP_DO_FIRST,
    PP_DO_LAST,
    PP_DO_DETAIL,
    PP_DO_PAUSE,
    PP_DO_STEP,
    PP_DO_STALL,
    PP_DO_SPEED,
    PP_DO_FOLLOW,
    PP_DO_SEEK,
    PP_DO_WINDOW,
    PP_DO_SORT,
    PP_DO_INVERT,
    PP_DO_SEARCH,
    PP_DO_SEARCH_NEXT,
    PP_DO_FILTER,
    PP_DO_KNOB, /* arg: steps; 0: back to as recorded */
    PP_DO_DUMP,
    PP_DO_REDRAW
};

struct pp_key {
    int key, alias[2];             /* alias 0: none */
    const char *name, *alias_name; /* as shown; alias_name may be NULL */
    enum pp_action action;
    int arg;
    const char *help;
};
extern const struct pp_key pp_keys[];
extern const size_t pp_keys_n;

/* NULL: the key does nothing. */
const struct pp_key *pp_key_find(int key);

#endif
