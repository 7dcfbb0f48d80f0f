/* tui/cli/tune/tune_keys.h: the arguments of a DataLoader that tune changes from outside (the first rows of
 * report/replay/knobs.h) as sets of values: how they are written for --try, for the job's hooks and to paste.
 */
#ifndef PP_TUI_CLI_TUNE_TUNE_KEYS_H
#define PP_TUI_CLI_TUNE_TUNE_KEYS_H

#include "report/replay/knobs.h"

/* Values by knob, 0 and 1 of a switch; -1: as the job has it. */
struct tune_set {
    int value[PP_KNOBS_TUNED];
};
/* "workers=8,prefetch=4", "in_order=False". PP_E_USAGE: a key or a value that there is not. */
pp_status tune_set_parse(const char *text, struct tune_set *set, struct pp_err *err);
/* A change of the report as it is set ("num_workers=8"). 0: it is no argument that tune sets. */
int tune_set_of_change(const char *change, struct tune_set *set);
int tune_set_equal(const struct tune_set *a, const struct tune_set *b);

enum { TUNE_TEXT = 192 };
/* "num_workers=8,in_order=0" */
char *tune_set_words(const struct tune_set *set, char text[TUNE_TEXT]);
/* "num_workers=8, in_order=False" */
char *tune_set_arguments(const struct tune_set *set, char text[TUNE_TEXT]);
/* "8", "True" */
char *tune_value(int knob, int value, char *text, size_t size);
/* Its place in the set; -1: it is none of them. */
int tune_key_of(const char *name, size_t length);

#endif
