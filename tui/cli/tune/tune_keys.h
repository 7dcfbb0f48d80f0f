/* tui/cli/tune/tune_keys.h: the arguments of a DataLoader that tune changes from outside, as one table: how
 * they are written for --try and for the job's hooks, what PyTorch calls them, and which knob of the replay
 * predicts them. */
#ifndef PP_TUI_CLI_TUNE_TUNE_KEYS_H
#define PP_TUI_CLI_TUNE_TUNE_KEYS_H

#include <pipeprobe/status.h>

#include <stddef.h>

enum tune_key { TUNE_WORKERS, TUNE_PREFETCH, TUNE_PIN, TUNE_PERSISTENT, TUNE_IN_ORDER, TUNE_KEYS };

struct tune_key_row {
    const char *name, *argument; /* "workers", "num_workers" */
    int from, to;                /* of its values; 0 and 1: False and True */
    const char *knob;            /* of pp_knobs_set, with a place for the value; NULL: no replay knows it */
    int predicted;               /* the only value that the replay predicts; -1: any */
};
extern const struct tune_key_row tune_keys[TUNE_KEYS];

/* Values by key; -1: as the job has it. */
struct tune_set {
    int value[TUNE_KEYS];
};
/* "workers=8,prefetch=4", "in_order=0". PP_E_USAGE: a key or a value that there is not. */
pp_status tune_set_parse(const char *text, struct tune_set *set, struct pp_err *err);
/* The change that a fix of the report stands for: its knob ("fewer-workers") and value. 0: it is no argument
 * of a DataLoader. */
int tune_set_of_fix(const char *knob, const char *to, struct tune_set *set);
int tune_set_equal(const struct tune_set *a, const struct tune_set *b);

enum { TUNE_TEXT = 192 };
/* "workers=8,prefetch=4" */
char *tune_set_words(const struct tune_set *set, char text[TUNE_TEXT]);
/* "num_workers=8, prefetch_factor=4" */
char *tune_set_arguments(const struct tune_set *set, char text[TUNE_TEXT]);
/* "8", "True" */
char *tune_value(enum tune_key key, int value, char *text, size_t size);
/* -1: no such key */
int tune_key_of(const char *name, size_t length);

#endif
