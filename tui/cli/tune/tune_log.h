/* tui/cli/tune/tune_log.h: what the hooks in the job wrote of its DataLoaders (collectors/attach/python/
 * pipeprobe_override.py): with which arguments they were made, when they were iterated, and what was
 * changed. One line per fact, fields apart by tabs. The job can write anything into the file: it is read up
 * to a limit, and a line that does not fit is passed over. */
#ifndef PP_TUI_CLI_TUNE_TUNE_LOG_H
#define PP_TUI_CLI_TUNE_TUNE_LOG_H

#include "report/replay/knobs.h"

#include <sys/types.h>

/* ---- arguments of a DataLoader ----
 *
 * The arguments of a DataLoader that tune changes from outside (the first rows of
 * report/replay/knobs.h) as sets of values: how they are written for --try, for the job's hooks and to paste.
 */

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

/* Loaders made with the same arguments, for they have the same role: a script may make one per epoch. */
struct tune_loader {
    unsigned made, count; /* the first one's place in the order of creation, from 0; how many there are */
    int iterable, sharded, has_in_order;
    int value[PP_KNOBS_TUNED];               /* as the job made it */
    long batch;                              /* 0: none, or not known */
    double samples;                          /* likewise; from the recording */
    double epochs;                           /* begun */
    char dataset[128], order[96], like[224]; /* like: what they have in common, as the hooks say it */
};

enum { TUNE_PIDS_MAX = 64, TUNE_LOADERS_MAX = 32, TUNE_ROWS_MAX = 256 };

struct tune_log {
    struct tune_loader loader[TUNE_LOADERS_MAX];
    size_t loaders, made; /* of different arguments; in all, in the process that made most */
    struct {
        long pid, row;
        size_t loader;
    } row[TUNE_ROWS_MAX]; /* loaders of the recording, and which of these each is */
    size_t rows;
    int judged; /* of loader: the one that the recording's report is about; -1: not known */
    pid_t pid[TUNE_PIDS_MAX];
    size_t pids;                  /* processes that made one */
    unsigned set[PP_KNOBS_TUNED]; /* how many loaders were made with the key changed */
    unsigned left[PP_KNOBS_TUNED];
    char why[PP_KNOBS_TUNED][192]; /* of the last one left */
    char trouble[192];             /* an error in the hooks; "": none */
};

/* PP_E_IO, ... when there is no such file; an empty one is fine. */
pp_status tune_log_read(const char *path, struct tune_log *log, struct pp_err *err);
/* Which of the loaders a row of the recording ("4711.0", struct pp_report_loader) is; -1: none. */
int tune_log_loader_of(const struct tune_log *log, const char *row);
/* The one made as the number-th (from 1); 0: the one that the report is about, or where that is not known the
 * one with most epochs. NULL: none was iterated, or there is no such number. */
const struct tune_loader *tune_log_choose(const struct tune_log *log, long number);

#endif
