/* cli/gate.h: the options that `compare` and `ci run` share: what is gated and how strictly, and in which
 * forms the answer is written. */
#pragma once

#include "probe/base/opts.h"
#include "report/compare/compare.h"
#include "tui/cli/cli.h"

struct gate_opts {
    double alpha;
    struct pp_opt_list threshold, ungate, allow_env;
    int noise_check, strict;
    int format, json, color, force;
    /* The runs of both sides that the page draws which -o FILE.html asks for, each NULL where it has no
     * spans; NULL: there is no page. */
    struct pp_report *const *page;
    const char *output, *markdown, *junit, *openmetrics, *benchmark;
};

extern const struct pp_opt_choice gate_formats[];

/* Rows of an option table; TYPE has a struct gate_opts named MEMBER. NOISE: default of --noise-check. */
#define GATE_AT(TYPE, MEMBER, field) .offset = offsetof(TYPE, MEMBER) + offsetof(struct gate_opts, field)
/* clang-format off */
#define GATE_OPT_ROWS(TYPE, MEMBER, NOISE) \
    {.name = "threshold", .type = PP_OPT_LIST, GATE_AT(TYPE, MEMBER, threshold), .arg = "[METRIC=]PCT", \
     .group = "Gate", .help = "regression threshold; without METRIC: of all timings (repeatable)"}, \
    {.name = "ungate", .type = PP_OPT_LIST, GATE_AT(TYPE, MEMBER, ungate), .arg = "METRIC", \
     .help = "show this metric, or 'verdict', but do not gate on it (repeatable)"}, \
    {.name = "allow-env", .type = PP_OPT_LIST, GATE_AT(TYPE, MEMBER, allow_env), .arg = "FIELD", \
     .help = "compare although this environment field differs; 'all' for any"}, \
    {.name = "strict", .type = PP_OPT_FLAG, GATE_AT(TYPE, MEMBER, strict), \
     .help = "inconclusive is a failure: exit code 1 instead of 3"}, \
    {.name = "alpha", .advanced = 1, .type = PP_OPT_DOUBLE, GATE_AT(TYPE, MEMBER, alpha), .arg = "P", \
     .min = 1e-6, .max = 0.5, .dflt = "0.01", \
     .help = "chance of a false alarm over all gated metrics together"}, \
    {.name = "noise-check", .advanced = 1, .type = PP_OPT_FLAG, GATE_AT(TYPE, MEMBER, noise_check), \
     .dflt = NOISE, .help = "refuse thresholds below the A/A noise floor of these runs"}, \
    {.name = "format", .type = PP_OPT_CHOICE, GATE_AT(TYPE, MEMBER, format), .choices = gate_formats, \
     .dflt = "text", .group = "Output", \
     .help = "text, Markdown, or one JSON document (schema pipeprobe.compare/1)"}, \
    {.name = "json", .type = PP_OPT_FLAG, GATE_AT(TYPE, MEMBER, json), .help = "the same as --format json"}, \
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, GATE_AT(TYPE, MEMBER, output), .arg = "FILE", \
     .help = "write to FILE instead of standard output"}, \
    {.name = "junit", .type = PP_OPT_STRING, GATE_AT(TYPE, MEMBER, junit), .arg = "FILE", \
     .help = "JUnit XML too"}, \
    {.name = "openmetrics", .advanced = 1, .type = PP_OPT_STRING, GATE_AT(TYPE, MEMBER, openmetrics), \
     .arg = "FILE", .help = "OpenMetrics text too (GitLab: artifacts:reports:metrics)"}, \
    {.name = "benchmark", .advanced = 1, .type = PP_OPT_STRING, GATE_AT(TYPE, MEMBER, benchmark), \
     .arg = "FILE", .help = "github-action-benchmark's customSmallerIsBetter JSON too"}, \
    {.name = "markdown", .advanced = 1, .type = PP_OPT_STRING, GATE_AT(TYPE, MEMBER, markdown), \
     .arg = "FILE", .help = "Markdown too; always written to $GITHUB_STEP_SUMMARY when set"}, \
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, GATE_AT(TYPE, MEMBER, force), \
     .help = "replace existing files"}, \
    {.name = "color", .advanced = 1, .type = PP_OPT_CHOICE, GATE_AT(TYPE, MEMBER, color), \
     .choices = pp_cli_colors, .dflt = "auto", .help = "auto: on a terminal, unless NO_COLOR is set"}
/* clang-format on */

/* The settings of the comparison; allow is the caller's room for the list, at least 33 entries, and lives as
 * long as the settings. */
pp_status gate_settings(const struct gate_opts *g, const char **allow, struct pp_compare_opts *out,
                        struct pp_err *err);

/* Before anything is measured: PP_E_EXISTS when an output already exists and --force was not given. */
pp_status gate_check_outputs(const struct gate_opts *g, struct pp_err *err);

/* Writes the answer in every form asked for: standard output or --output, the other files,
 * $GITHUB_STEP_SUMMARY, and, when GITHUB_ACTIONS is set, annotations on standard error. */
pp_status gate_write(const struct gate_opts *g, const struct pp_compare *c, struct pp_err *err);

/* The sentence on standard error and its exit code: with --strict, what is not comparable fails too. */
int gate_fail(const struct pp_command *cmd, const struct gate_opts *g, const struct pp_err *err);
