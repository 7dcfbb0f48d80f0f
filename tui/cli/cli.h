/* cli/cli.h: the front hall. Each command is one file holding one table entry; main.c finds it by name. Here,
 * and only here, a status becomes a message and an exit code. Results go to stdout, everything else to
 * stderr. */
#pragma once

#include "probe/base/opts.h"
#include <pipeprobe/status.h>

/* Rows of a table that a command has beside its options, for the man page: row(i) is 0 after the last. */
struct pp_command_rows {
    const char *title; /* "KEYS" */
    int (*row)(size_t i, const char **name, const char **other_name,
               const char **text); /* other_name may be NULL */
};

struct pp_command {
    const char *name;
    const char *summary; /* one line for `pipeprobe --help` */
    const char *usage;   /* "run DATASET [options]" */
    const struct pp_opt *opts;
    const char *notes;                  /* a few lines for --help, or NULL */
    const char *examples[2];            /* two real command lines; shown last in --help */
    const struct pp_command_rows *rows; /* a section of its own in the man page, or NULL */
    /* Options are parsed into a struct of so many bytes, all 0 before, for act. It sets *code, 0 before,
     * where the exit code of a success is another; a failure is told in the command's name. fields, operands
     * and *err are borrowed: they are gone when it has returned. */
    size_t fields;
    pp_status (*act)(void *fields, const char **operands, int n, int *code, struct pp_err *err);
    /* In its place, for a command that takes more than options and operands: argv[0] is the command's name;
     * returns the exit code. */
    int (*run)(int argc, char **argv);
};

/* Every command, in the order of `pipeprobe --help`; main.c makes its table of it. Each row: the heading that
 * it stands under. */
/* clang-format off */
#define PP_COMMANDS(X) \
    X(exec, "Record")              \
    X(run, "Record")               \
    X(attach, "Record")            \
    X(import, "Record")            \
    X(report, "Read a recording")  \
    X(answer, "Read a recording")  \
    X(top, "Read a recording")     \
    X(whatif, "Read a recording")  \
    X(explain, "Read a recording") \
    X(ranks, "Read a recording")   \
    X(merge, "Read a recording")   \
    X(patch, "Prove a change")     \
    X(tune, "Prove a change")      \
    X(verify, "Prove a change")    \
    X(resume_test, "Prove a change") \
    X(compare, "Prove a change")   \
    X(ci, "Prove a change")        \
    X(history, "Prove a change")   \
    X(export, "Hand it on")        \
    X(skill, "Hand it on")         \
    X(metrics, "Hand it on")       \
    X(plan, "Data sets")           \
    X(pack, "Data sets")           \
    X(doctor, "This machine")      \
    X(selftest, "This machine")
/* clang-format on */

#define PP_COMMAND_DECLARE(name, heading) extern const struct pp_command pp_cmd_##name;
PP_COMMANDS(PP_COMMAND_DECLARE)
extern const struct pp_command pp_cmd_drain; /* started by programs that record, never by hand: on no list */

/* Prints "pipeprobe COMMAND: sentence" to stderr and returns the exit code of err->code. */
int pp_cli_fail(const struct pp_command *cmd, const struct pp_err *err);
/* A line: at a terminal, or where COLUMNS says how wide it is read, wrapped between words. */
void pp_cli_say(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Parses and does what the command does; returns the exit code. */
int pp_cli_run(const struct pp_command *cmd, int argc, char **argv);
/* Likewise, and so each line that it prints, but not those of a JSON document. */
int pp_cli_run_lines(const struct pp_command *cmd, int argc, char **argv);
/* Before a command does what to a job: text is shown and the answer asked for; yes: no question, quiet: nor
 * text. */
enum { PP_ASK_TEXT = 8192 };
pp_status pp_cli_ask(const char *what, const char *text, int yes, int quiet, struct pp_err *err);
/* Prints "LABEL      text" to stderr, with what could deceive a terminal escaped: it names files. */
void pp_cli_note(const char *label, const char *text);
/* Parses with cmd->opts; handles --help (prints to stdout) and usage errors. Returns -1 to go on, else the
 * exit code. operands: at least argc + 1 entries, ended by NULL; argv itself where its other words are not
 * needed any more. */
int pp_cli_parse(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                 const char **operands, int *n_operands);
/* Likewise, of a command whose own words end at "--". The operands are left in argv; *job: the words behind
 * it, which are the job's; NULL: there are none. */
int pp_cli_parse_job(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                     int *n_operands, char ***job);

/* pp_opts_program_at, for options by all names that pp_cli_parse takes. */
int pp_cli_program_at(struct pp_opt_set *set, int argc, char **argv);

/* A line to out for each variable of environment (as environ, ends with NULL) that begins with PIPEPROBE_ and
 * is neither an option of one of the commands (ending with NULL) nor a variable that pipeprobe has besides,
 * with the nearest one that is; and for each of the latter whose value changes nothing. Spelled wrong, it
 * would do nothing, silently. Returns how many there were. */
int pp_cli_mistyped(const struct pp_command *const *commands, char *const *environment, FILE *out);

/* What --help prints. commands is main.c's table, ended by NULL. all: every option, grouped;
 * else what most people need, on one screen. */
void pp_help_all(const struct pp_command *const *commands, FILE *out);
void pp_help_command(const struct pp_command *cmd, FILE *out, int all);

/* The words (ending with NULL) with blanks between them, as somebody can paste them into a shell: each quoted
 * where a POSIX shell would take it for something else, cut at size with "...". A word with control
 * characters or what could deceive a terminal (pp_text_plain) is shown with these escaped: it is safe to
 * print, and no longer the word. Returns text. */
char *pp_shell_words(char *const *words, char *text, size_t size);
/* "; did you mean NAME?" of the nearest of names (ending with NULL), or "". buf: 128 bytes. */
const char *pp_did_you_mean(char *buf, const char *word, const char *const *names);
int pp_is_directory(const char *path);
/* Whether path has this suffix, and something before it. */
int pp_ends_in(const char *path, const char *suffix);
/* The length of path without ".sqlite". */
int pp_stem(const char *path);

enum pp_color {
    PP_COLOR_AUTO,
    PP_COLOR_ALWAYS,
    PP_COLOR_NEVER
}; /* --color; NO_COLOR and TERM=dumb mean never under auto */
/* The words of --sampler, in the order of enum pp_sampler_kind. */
extern const struct pp_opt_choice pp_cli_samplers[];
/* The classes of --sampler stratified: of the file (--classes), else the data set's labels (d may be NULL).
 * *out is freed by the caller. */
struct pp_dataset;
pp_status pp_cli_classes(const char *path, const struct pp_dataset *d, uint64_t n, int64_t **out,
                         struct pp_err *err);
/* The words of --color. */
extern const struct pp_opt_choice pp_cli_colors[];
int pp_cli_use_color(enum pp_color when, FILE *out);
int pp_cli_columns(FILE *out); /* terminal width; when it is none, that of COLUMNS, and without it 80 */
enum { PP_HELP_COLUMNS = 80 }; /* of a page, at most: longer lines are no easier to read */

/* One line on stderr that is rewritten in place, only when stderr is a terminal and quiet is off. */
struct pp_progress {
    int on, width, shown;
};
void pp_progress_begin(struct pp_progress *p, int quiet);
void pp_progress_line(struct pp_progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The parts in order of importance, two blanks apart; one that does not fit into the line is left out whole,
 * and so is an empty one. */
void pp_progress_parts(struct pp_progress *p, const char *const *part, size_t n);
void pp_progress_clear(struct pp_progress *p); /* before any other output to stderr */
/* For opening a data set (pp_dataset_opts.progress): "WHAT: 12 of 100". ctx is a struct pp_progress; non-zero
 * when the command was interrupted. */
int pp_progress_opening(void *ctx, const char *what, uint64_t done, uint64_t total);
