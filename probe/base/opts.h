/* base/opts.h: option tables. A command declares its options once; parsing, --help, config files, PIPEPROBE_*
 * environment, the nearest-name suggestion and the stored configuration all follow from the table. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum pp_opt_type {
    PP_OPT_FLAG, /* int: --name sets 1, --no-name sets 0; with choices --name=CHOICE sets 1, 2, ... */
    PP_OPT_INT,  /* int64_t, in [min, max]; suffixes k M G T (1000) and Ki Mi Gi Ti; "1.5M" is whole, hence
                    fine */
    PP_OPT_SIZE, /* uint64_t bytes, suffixes as INT, "KB" and "KiB" too */
    PP_OPT_DURATION, /* uint64_t ns; "30" is seconds; "250ms", "1.5s", "2m", "1h", "10us", "2m05s" */
    PP_OPT_DOUBLE,   /* double in [min, max] */
    PP_OPT_STRING,   /* const char * */
    PP_OPT_CHOICE,   /* int index into choices; with length_offset also "NAME:DURATION" */
    PP_OPT_LIST,     /* struct pp_opt_list: may be given several times */
};

struct pp_opt_choice {
    const char *name, *help;
};

struct pp_opt_list {
    const char *item[32];
    int n;
};

struct pp_opt {
    const char *name; /* long name without dashes */
    char letter;      /* short form, or 0 */
    enum pp_opt_type type;
    size_t offset;    /* of the field in the command's option struct */
    double min, max;  /* in the field's unit, for all numeric types; both 0: no range; max may be INFINITY */
    const char *arg;  /* "N", "FILE", ... for help; NULL for flags */
    const char *dflt; /* default as the user would type it; NULL: field is left as it is; "auto" is accepted
                         where auto_value is set */
    int has_auto;     /* the word "auto" is accepted and stores -1 (INT) */
    const struct pp_opt_choice *choices; /* ends with {NULL, NULL} */
    size_t length_offset; /* CHOICE: of a uint64_t that a DURATION after the name is stored in, as ns; 0: none
                             is taken */
    const char *group;    /* heading in --help; NULL: as the row before */
    const char *help;     /* one line */
    int advanced;         /* left out of the short help */
};

/* Where a value came from, for the stored configuration. */
enum pp_opt_source { PP_OPT_DEFAULT, PP_OPT_CONFIG, PP_OPT_ENV, PP_OPT_GIVEN };

enum { PP_OPTS_MAX = 96 }; /* rows of a table */

struct pp_opt_set {
    const struct pp_opt *table; /* ends with name == NULL */
    void *fields;
    const char *command; /* whose options: a heading of the config file, and for sentences */
    /* Other names that options go by ("num_workers" for --workers): the option's name, and *value (NULL: none
     * was given) as it is given to that; NULL: no option has that name. May be NULL. */
    const char *(*also)(const char *name, const char **value);
    unsigned char source[PP_OPTS_MAX]; /* enum pp_opt_source per row, filled by parse */
};

/* Applies defaults, then the config file ($XDG_CONFIG_HOME/pipeprobe/config: "name = value" lines under
 * [command]), then PIPEPROBE_NAME variables, then argv[1..]. "--name=value", "--name value", "-nvalue", "--"
 * are understood; operands are collected in argv order into operands (NULL-terminated, caller's array of argc
 * + 1). In names '_' is '-'. PP_E_USAGE with a sentence naming the nearest option. Strings point into argv,
 * the environment or memory kept for the life of the process (a config file's values hang on one list: parse
 * from one thread). A FLAG reads 1/true/yes/on and 0/false/no/off from file and environment. A LIST given by
 * a stronger source replaces what a weaker one gave. A table has at most PP_OPTS_MAX rows. */
pp_status pp_opts_parse(struct pp_opt_set *set, int argc, char **argv, const char **operands, int *n_operands,
                        struct pp_err *err);

/* Of a command that runs a program: the index of "--" or of the first word that is neither an option nor an
 * option's value; argc: there is none. */
int pp_opts_program_at(const struct pp_opt_set *set, int argc, char **argv);

/* The headings a config file may have, ending with NULL, kept by the caller: any other is a typo and said so.
 * Before the first parse; NULL: any. */
void pp_opts_sections(const char *const *names);

/* The variable of the environment that option `name` is read from, into buf: PIPEPROBE_BATCH_SIZE for
 * "batch-size". */
char *pp_opt_variable(char *buf, size_t size, const char *name);

/* Prints the option part of --help, aligned, at most `columns` wide (60 at least): all of it, grouped, or
 * what most people need, on one screen: without advanced rows, groups and the explanation of choices. Returns
 * how many rows that leaves out; where it would leave out none, all is printed. */
int pp_opts_help(const struct pp_opt *table, FILE *out, int columns, int all);

/* The value of row i as the user would type it, into buf; lists as words apart by a space. */
const char *pp_opts_value(const struct pp_opt_set *set, int i, char *buf, size_t size);

/* Nearest candidate by edit distance (Damerau), or NULL when nothing is near enough. names ends with NULL. */
const char *pp_nearest(const char *word, const char *const *names);

/* The parsers by themselves, for spec strings such as --synthetic n=10k,size=500x375. PP_E_USAGE: not of the
 * form; PP_E_UNSUPPORTED: too large for the type. Then *out is left alone. */
pp_status pp_parse_int(const char *text, int64_t *out);
pp_status pp_parse_size(const char *text, uint64_t *out);
pp_status pp_parse_duration(const char *text, uint64_t *out_ns);
pp_status pp_parse_double(const char *text, double *out);
