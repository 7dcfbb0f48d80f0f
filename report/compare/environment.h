/* compare/environment.h: may these runs be compared at all? A declared table of fields that must be equal. */
#ifndef PP_COMPARE_ENVIRONMENT_H
#define PP_COMPARE_ENVIRONMENT_H

#include "report/compare/run.h"

/* What a difference means: never comparable without --allow-env, for different reasons. */
enum pp_same {
    PP_SAME_MACHINE, /* between sides: not comparable unless allowed */
    PP_SAME_WORK,    /* likewise: other data or another trainer, so the numbers are of another question */
};

struct pp_same_field {
    const char *name;
    enum pp_same what;
    double tolerance; /* relative, for numbers; 0: equal as text */
    const char *text;
};

/* The table, ending with name == NULL. */
extern const struct pp_same_field pp_same_fields[];

struct pp_difference {
    const char *name;        /* of the table, or of the runs' field */
    const char *base, *head; /* values, owned by the runs; "unknown" when one side lacks it */
    const char *base_path, *head_path;
};

/* Finds the fields of the table in which any run differs from the first of b, at most max; allow (may be
 * NULL) ends with NULL and names fields to be left out, "all" for every one. Returns how many. Both sides
 * have at least one run. */
size_t pp_differences(const struct pp_runs *a, const struct pp_runs *b, const char *const *allow,
                      struct pp_difference *out, size_t max);

/* Options ("config.") that differ between the first runs of both and are not in the table: what was changed
 * on purpose. */
size_t pp_config_changes(const struct pp_run *a, const struct pp_run *b, struct pp_difference *out,
                         size_t max);

/* Runs of one side must be repetitions of each other: 1 and the first option that differs among them, or 0.
 */
int pp_unrepeated(const struct pp_runs *side, struct pp_difference *out);

/* A short text that is the same for runs of the same machine, work and options: "AMD EPYC, 2 CPUs,
 * image-folder [8f3a12cd]". Kernel and library versions are not part of it: when they change a history, it is
 * to show. buf of at least 128 bytes. */
void pp_series_name(const struct pp_run *r, char *buf, size_t size);

#endif
