/* dash/state.h: what the user has chosen, as plain data, and how a key changes it: a pure function of (state,
 * key, model). */
#pragma once

#include "report/live/live.h"
#include "report/model/model.h"
#include "report/replay/knobs.h"
#include "report/replay/whatif.h"

/* Predictions of the recording under other knobs (report/replay/whatif.h), computed on a thread of its own:
 * one takes up to tenths of a second. */

/* The answer to one question. */
struct pp_predicted {
    char set[256]; /* the question: "workers=4 decode=0.8" */
    pp_status status;
    char why[256];   /* when it could not be answered */
    double measured; /* samples/s of the recording */
    struct pp_prediction p;
};

struct pp_predictor;

/* path is copied. NULL: no memory or no thread. */
struct pp_predictor *pp_predictor_start(const char *path);
void pp_predictor_stop(struct pp_predictor *p);
/* Asks, unless that was the question before, and fetches the newest answer there is (perhaps to an earlier
 * question). 0: none yet. */
int pp_predictor_ask(struct pp_predictor *p, const char *set, struct pp_predicted *out);

/* Everything a frame is drawn from, put together by the loop (dash.c) or by a test. Borrowed pointers. */
struct pp_dash_model {
    const char *path;
    const struct pp_live_snapshot *snap;
    const struct pp_report *report; /* of the whole run; NULL: not there yet */
    const struct pp_report *moment; /* of [moment_from_ns, moment_to_ns), the time that is looked at; NULL:
                                       none, or not there yet */
    uint64_t moment_from_ns, moment_to_ns;
    const struct pp_predicted *predicted; /* NULL: not asked, or not answered yet */
    const char *trouble;                  /* why the file could not be read just now; NULL: it could */
    const struct pp_live_fact *facts;
    size_t n_facts;
};

enum pp_view {
    PP_VIEW_OVERVIEW,
    PP_VIEW_STAGES,
    PP_VIEW_WORKERS,
    PP_VIEW_BATCH,
    PP_VIEW_LINES,
    PP_VIEW_ERRORS,
    PP_VIEW_EVENTS,
    PP_VIEW_ENVIRONMENT,
    PP_VIEW_WHATIF,
    PP_VIEW_COUNT
};
extern const char *const pp_view_names[PP_VIEW_COUNT];

/* FOLLOW: the newest second. HOLD: at_s stands. PLAY: at_s moves on at a speed. */
enum pp_mode { PP_MODE_FOLLOW, PP_MODE_HOLD, PP_MODE_PLAY };
enum pp_input { PP_INPUT_NONE, PP_INPUT_SEARCH, PP_INPUT_FILTER, PP_INPUT_SEEK };

enum { PP_DASH_KNOBS = 24 }; /* at most (knobs.h) */

struct pp_dash_state {
    enum pp_view view, before;
    int selected[PP_VIEW_COUNT]; /* a row; drawing keeps it within what there is */
    int page_rows;               /* of PgUp and PgDn */
    int help, help_row;          /* shown instead of the view; the row it is moved to */
    enum pp_mode mode, resume;   /* resume: what comes after HOLD */
    uint64_t at_s;               /* when not FOLLOW */
    uint64_t play_ns;            /* of a second that PLAY has gone into */
    int speed;                   /* index into pp_speeds */
    int window;                  /* index into pp_windows */
    int sort, invert;
    int knob[PP_DASH_KNOBS]; /* steps each was moved by; 0: as recorded */
    enum pp_input input;
    char line[64]; /* being typed */
    char search[64], filter[64];
    char message[96];       /* until the next key */
    int quit, dump, redraw; /* asked for; the loop does it and clears it */
};

extern const double pp_speeds[];    /* seconds of the run per second */
extern const unsigned pp_windows[]; /* seconds */
enum { PP_SPEEDS = 7, PP_SPEED_ONE = 2, PP_WINDOWS = 5, PP_WINDOW_FIVE = 1 };

extern const struct pp_dash_state pp_dash_start;
struct pp_dash_state pp_dash_key(struct pp_dash_state s, int key, const struct pp_dash_model *m);
/* Time goes by: a replay moves on, and follows when it has reached the newest second. */
struct pp_dash_state pp_dash_tick(struct pp_dash_state s, uint64_t elapsed_ns, const struct pp_dash_model *m);

/* The knobs of the what-if view (report/replay/knobs.h: those with a step): how far each has been moved, as
 * the text that the prediction is asked with. Pure (predict.c). */

/* The i-th of them; NULL after the last. There are PP_DASH_KNOBS at most. */
const struct pp_knob *pp_dash_knob(int i);

/* Value of knob i after `step` moves, as shown and asked ("4", "0.64"); the recorded one at step 0; "-": the
 * recording does not say what it was (another program's run), so it cannot be turned. */
const char *pp_knob_text(const struct pp_dash_model *m, int i, int step, char *buf, size_t size);
/* Moves a step, and stays where the value would leave its range. */
int pp_knob_move(const struct pp_dash_model *m, int i, int step, int by);
/* "num_workers=4 decode=0.8" of the knobs that were moved; "" for none. */
const char *pp_knobs_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size);

/* ---- keys ----
 *
 * The one table of keys. The reducer, the help overlay, docs/guide/dashboard.md and the tests
 * follow from it. */

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
    PP_KEY_CLICK /* with --mouse; pp_screen_key says where it was */
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
    PP_DO_ROW, /* arg: which, or the last one where there are fewer */
    PP_DO_DETAIL,
    PP_DO_PAUSE,
    PP_DO_STEP,
    PP_DO_STALL,
    PP_DO_SPEED,
    PP_DO_FOLLOW,
    PP_DO_WINDOW,
    PP_DO_SORT,
    PP_DO_INVERT,
    PP_DO_INPUT, /* arg: enum pp_input */
    PP_DO_SEARCH_NEXT,
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
