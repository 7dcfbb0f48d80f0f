#include "tui/cli/gate.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "report/ci/outputs.h"
#include "report/compare/render.h"
#include "tui/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT, MARKDOWN, JSON };
const struct pp_opt_choice gate_formats[] = {
    {"text", NULL},
    {"md", NULL},
    {"json", NULL},
    {NULL, NULL},
};

/* ---- settings ---- */

static pp_status unknown_metric(const char *option, const char *name, struct pp_err *err)
{
    const char *near = pp_nearest(name, pp_cmp_keys);
    return pp_fail(err, PP_E_USAGE, "--%s: unknown metric '%s'%s%s%s", option, name,
                   near ? "; did you mean " : "; 'pipeprobe compare --help' lists them", near ? near : "",
                   near ? "?" : "");
}

/* "5%" or "5": percent. */
static pp_status parse_percent(const char *text, double *share, struct pp_err *err)
{
    char copy[32];
    size_t n = strlen(text);
    double v;
    snprintf(copy, sizeof(copy), "%.*s", (int)(n && text[n - 1] == '%' ? n - 1 : n), text);
    if (n >= sizeof(copy) || pp_parse_double(copy, &v) != PP_OK || !(v >= 0) || v > 10000)
        return pp_fail(err, PP_E_USAGE,
                       "--threshold: '%s' is not a percentage; write '5%%' or 'samples_per_s=5%%'", text);
    *share = v / 100;
    return PP_OK;
}

static pp_status set_threshold(const char *text, struct pp_compare_opts *out, struct pp_err *err)
{
    const char *equals = strchr(text, '=');
    char name[64];
    double share = 0;
    pp_status st = parse_percent(equals ? equals + 1 : text, &share, err);
    if (st != PP_OK)
        return st;
    if (equals) {
        snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
        int id = pp_cmp_find(name);
        if (id < 0)
            return unknown_metric("threshold", name, err);
        out->threshold[id] = share;
        return PP_OK;
    }
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (pp_cmp_metrics[i].kind != PP_CMP_COUNT)
            out->threshold[i] = share;
    return PP_OK;
}

static pp_status ungate(const char *name, struct pp_compare_opts *out, struct pp_err *err)
{
    int id = pp_cmp_find(name);
    if (strcmp(name, "verdict") == 0)
        out->gate_verdict = 0;
    else if (id >= 0)
        out->gated[id] = 0;
    else
        return unknown_metric("ungate", name, err);
    return PP_OK;
}

static pp_status check_field(const char *name, struct pp_err *err)
{
    const char *names[64] = {"all"};
    int n = 1;
    for (const struct pp_same_field *f = pp_same_fields; f->name && n < 63; f++)
        names[n++] = f->name;
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return PP_OK;
    const char *near = pp_nearest(name, names);
    return pp_fail(err, PP_E_USAGE, "--allow-env: unknown field '%s'%s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

pp_status gate_settings(const struct gate_opts *g, const char **allow, struct pp_compare_opts *out,
                        struct pp_err *err)
{
    pp_status st = PP_OK;
    pp_compare_defaults(out);
    out->alpha = g->alpha;
    out->refuse_below_noise = g->noise_check;
    /* what is for all first, so that "--threshold samples_per_s=2 --threshold 5" is not a matter of order */
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < g->threshold.n && st == PP_OK; i++)
            if ((strchr(g->threshold.item[i], '=') != NULL) == named)
                st = set_threshold(g->threshold.item[i], out, err);
    for (int i = 0; i < g->ungate.n && st == PP_OK; i++)
        st = ungate(g->ungate.item[i], out, err);
    for (int i = 0; i < g->allow_env.n && st == PP_OK; i++) {
        st = check_field(g->allow_env.item[i], err);
        allow[i] = g->allow_env.item[i];
    }
    allow[g->allow_env.n] = NULL;
    out->allow = allow;
    return st;
}

/* ---- outputs ---- */

/* One form of the answer into a stream; strict and looks come from the options. */
typedef int writer(const struct gate_opts *g, const struct pp_compare *c, FILE *out);

static int write_main(const struct gate_opts *g, const struct pp_compare *c, FILE *out)
{
    if (g->json || g->format == JSON)
        return pp_compare_json(c, out);
    if (g->format == MARKDOWN)
        return pp_compare_markdown(c, out);
    /* a file is read elsewhere: 80 columns, and no colour unless asked for */
    int file = !pp_output_is_stdout(g->output),
        color = file ? g->color == PP_COLOR_ALWAYS : pp_cli_use_color((enum pp_color)g->color, out);
    return pp_compare_text(c, out, color, file ? 80 : pp_cli_columns(out));
}

static int write_markdown(const struct gate_opts *g, const struct pp_compare *c, FILE *out)
{
    return pp_compare_markdown(c, out);
}

static int write_junit(const struct gate_opts *g, const struct pp_compare *c, FILE *out)
{
    return pp_ci_junit(c, g->strict, out);
}

static int write_openmetrics(const struct gate_opts *g, const struct pp_compare *c, FILE *out)
{
    return pp_ci_openmetrics(c, out);
}

static int write_benchmark(const struct gate_opts *g, const struct pp_compare *c, FILE *out)
{
    return pp_ci_benchmark(c, out);
}

struct output {
    const char *path;
    writer *write;
};

#define OUTPUTS 5
static void outputs_of(const struct gate_opts *g, struct output *o)
{
    o[0] = (struct output){g->markdown, write_markdown};
    o[1] = (struct output){g->junit, write_junit};
    o[2] = (struct output){g->openmetrics, write_openmetrics};
    o[3] = (struct output){g->benchmark, write_benchmark};
    o[4] = (struct output){g->output ? g->output : "-", write_main};
}

pp_status gate_check_outputs(const struct gate_opts *g, struct pp_err *err)
{
    struct output o[OUTPUTS];
    pp_status st = PP_OK;
    outputs_of(g, o);
    for (int i = 0; i < OUTPUTS && st == PP_OK; i++)
        st = pp_output_check(o[i].path, g->force, err);
    return st;
}

/* The whole document in memory first: a file is there complete or not at all. *text is the caller's to free.
 */
static pp_status to_memory(const struct gate_opts *g, const struct pp_compare *c, const struct output *o,
                           char **text, size_t *size, struct pp_err *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    int failed = !out || o->write(g, c, out) != 0;
    failed |= out && fclose(out) != 0;
    return failed ? pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", o->path) : PP_OK;
}

static pp_status write_file(const struct gate_opts *g, const struct pp_compare *c, const struct output *o,
                            struct pp_err *err)
{
    char *text;
    size_t size = 0;
    pp_status st = to_memory(g, c, o, &text, &size, err);
    if (st == PP_OK)
        st = pp_output_write(o->path, text, size, err);
    free(text);
    return st;
}

static pp_status write_stdout(const struct gate_opts *g, const struct pp_compare *c, const struct output *o,
                              struct pp_err *err)
{
    return o->write(g, c, stdout) == 0
               ? PP_OK
               : pp_fail_errno(err, errno, "cannot write the comparison to standard output");
}

/* The summary is GitHub's file, shared by the steps of a job: appended to. */
static pp_status append_summary(const struct gate_opts *g, const struct pp_compare *c, struct pp_err *err)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    char *text;
    size_t size = 0;
    if (!path || !path[0])
        return PP_OK;
    pp_status st = to_memory(g, c, &(struct output){path, write_markdown}, &text, &size, err);
    int fd = st == PP_OK ? pp_io_open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (st == PP_OK && (fd < 0 || pp_io_write_full(fd, text, size) != 0))
        st = pp_fail_errno(err, errno, "the job summary %s cannot be written", path);
    if (fd >= 0)
        close(fd);
    free(text);
    return st;
}

pp_status gate_write(const struct gate_opts *g, const struct pp_compare *c, struct pp_err *err)
{
    struct output o[OUTPUTS];
    const char *actions = getenv("GITHUB_ACTIONS");
    pp_status st = PP_OK;
    outputs_of(g, o);
    for (int i = 0; i < OUTPUTS && st == PP_OK; i++)
        if (o[i].path)
            st = pp_output_is_stdout(o[i].path) ? write_stdout(g, c, &o[i], err)
                                                : write_file(g, c, &o[i], err);
    if (st == PP_OK)
        st = append_summary(g, c, err);
    if (st == PP_OK && actions && strcmp(actions, "true") == 0)
        pp_ci_annotations(c, stderr);
    return st;
}

int gate_fail(const struct pp_command *cmd, const struct gate_opts *g, const struct pp_err *err)
{
    int code = pp_cli_fail(cmd, err);
    return g->strict && code == pp_status_exit_code(PP_E_INCONCLUSIVE) ? 1 : code;
}
