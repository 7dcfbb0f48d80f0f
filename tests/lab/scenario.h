/* tests/lab/scenario.h: a labelled stall: how to run it, what is wrong with it, and which knobs mend
 * it. One file of samples/scenarios each:
 *
 *   [scenario] row (of the plan of scenarios, docs/internals/scenarios.md)
 *   [truth]    l0, l1, l2 (alternatives apart by |), fix (names of knobs, the ones that may be best),
 *              remedy (the knob that being without the injected faults is)
 *   [run]      options, and what mild, medium and severe add to them
 *
 * Among the options, @cpus and @4cpus stand for numbers; @ballast=N (spinning processes beside the run) and
 * @quota=CPUS (a control group) are made by the harness, since no option of the loader makes them. With
 * @ranks=N and @rank=R the run is N processes that meet after every step (--collective): the faults are the
 * last rank's alone, the recording and the knob that is turned are those of rank R. */
#pragma once

#include <pipeprobe/status.h>

#include <stddef.h>

enum { SCENARIO_LEVELS = 3 };

struct scenario {
    char name[48];
    int row;
    char l0[24], l1[40], l2[64], fix[96], remedy[24];
    char options[320], level[SCENARIO_LEVELS][160];
};

/* Reads every *.ini of a directory, by row. The array is the caller's to free. */
pp_status scenarios_read(const char *dir, struct scenario **out, size_t *n, struct pp_err *err);
/* Whether text holds word, the words being apart by '|' or spaces. "" holds nothing. */
int scenario_lists(const char *text, const char *word);

/* A knob turned for real: an intervention. */
struct intervention {
    const char *knob;
    char options[96]; /* put after the scenario's own, where the last of an option counts; "" with
                         without_faults */
    char set[48];     /* the same as a knob of the what-if, or "" where there is none */
    int without_faults;
};
enum { INTERVENTIONS_MAX = 12 };
/* Every single knob that differs from what the scenario has, the remedy included. Returns how many. */
int scenario_interventions(const struct scenario *s, int level, struct intervention out[INTERVENTIONS_MAX]);

struct scenario_run {
    int level;
    unsigned seed;
    double seconds;
    const struct intervention *turned; /* NULL: as it is */
    const char *file;                  /* the recording */
    double *outside_cpus; /* filled, if not NULL: CPUs that neither the run nor the harness used meanwhile */
};
/* Runs `pipeprobe run` as a child. PP_E_UNSUPPORTED: this machine cannot make the cause (no control group to
 * write to). PP_E_INTERRUPTED: Ctrl-C ended it, and from then on no other is begun. */
int scenario_interrupted(void);
pp_status scenario_execute(const struct scenario *s, const struct scenario_run *r, struct pp_err *err);
