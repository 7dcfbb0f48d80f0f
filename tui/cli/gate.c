#include "tui/cli/gate.h"
#include "probe/base/err.h"
#include "report/ci/outputs.h"
#include "report/compare/render.h"
#include "tui/cli/output.h"

enum { TEXT, MARKDOWN, JSON, PAGE };
const struct pp_opt_choice gate_formats[] = {
    {"text", NULL},
    {"md", NULL},
    {"json", NULL},
    {NULL, NULL},
};

/* ---- settings ---- */

static pp_status unknown_metric(const char *option, const char *name, struct pp_err *err)
{
    char near[128];
    pp_did_you_mean(near, name, pp_cmp_keys);
    return pp_fail(err, PP_E_USAGE, "--%s: unknown metric '%s'%s", option, name,
                   *near ? near : "; 'pipeprobe compare --help' lists them");
}

/* "METRIC=5%"; without METRIC of all timings. */
static pp_status set_threshold(const char *text, struct pp_compare_opts *out, struct pp_err *err)
{
    const char *equals = strchr(text, '='), *percent = equals ? equals + 1 : text;
    char name[64], number[32];
    size_t n = strlen(percent);
    double v;
    snprintf(number, sizeof(number), "%.*s", (int)(n && percent[n - 1] == '%' ? n - 1 : n), percent);
    if (n >= sizeof(number) || pp_parse_double(number, &v) != PP_OK || !(v >= 0) || v > 10000)
        return pp_fail(err, PP_E_USAGE,
                       "--threshold: '%s' is not a percentage; write '5%%' or 'samples_per_s=5%%'", percent);
    if (equals) {
        snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
        int id = pp_cmp_find(name);
        if (id < 0)
            return unknown_metric("threshold", name, err);
        out->threshold[id] = v / 100;
        return PP_OK;
    }
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (pp_cmp_metrics[i].kind != PP_CMP_COUNT)
            out->threshold[i] = v / 100;
    return PP_OK;
}

pp_status gate_settings(const struct gate_opts *g, const char **allow, struct pp_compare_opts *out,
                        struct pp_err *err)
{
    const char *names[64] = {"all"};
    char near[128];
    int n = 1;
    pp_status st = PP_OK;
    for (const struct pp_same_field *f = pp_same_fields; f->name && n < 63; f++)
        names[n++] = f->name;
    pp_compare_defaults(out);
    out->alpha = g->alpha;
    out->refuse_below_noise = g->noise_check;
    /* what is for all first, so that "--threshold samples_per_s=2 --threshold 5" is not a matter of order */
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < g->threshold.n && st == PP_OK; i++)
            if ((strchr(g->threshold.item[i], '=') != NULL) == named)
                st = set_threshold(g->threshold.item[i], out, err);
    for (int i = 0; i < g->ungate.n && st == PP_OK; i++) {
        int id = pp_cmp_find(g->ungate.item[i]);
        if (strcmp(g->ungate.item[i], "verdict") == 0)
            out->gate_verdict = 0;
        else if (id >= 0)
            out->gated[id] = 0;
        else
            st = unknown_metric("ungate", g->ungate.item[i], err);
    }
    for (int i = 0; i < g->allow_env.n && st == PP_OK; i++) {
        int k = 0;
        allow[i] = g->allow_env.item[i];
        while (k < n && strcmp(names[k], allow[i]) != 0)
            k++;
        if (k == n)
            st = pp_fail(err, PP_E_USAGE, "--allow-env: unknown field '%s'%s", allow[i],
                         pp_did_you_mean(near, allow[i], names));
    }
    allow[g->allow_env.n] = NULL;
    out->allow = allow;
    return st;
}

/* ---- outputs ---- */

enum output { OUT_MARKDOWN, OUT_JUNIT, OUT_OPENMETRICS, OUT_BENCHMARK, OUT_MAIN, OUTPUTS };

/* One form of the answer into a stream; strict and looks come from the options. */
struct answer {
    const struct gate_opts *g;
    const struct pp_compare *c;
    enum output output;
};

/* NULL: it is not asked for. */
static const char *path_of(const struct gate_opts *g, enum output output)
{
    const char *const paths[OUTPUTS] = {g->markdown, g->junit, g->openmetrics, g->benchmark,
                                        g->output ? g->output : "-"};
    return paths[output];
}

/* That of --format, else of the file's suffix; -1: nothing is written under that suffix. */
static int format_of(const struct gate_opts *g)
{
    static const char *const ends[] = {[TEXT] = ".txt", [MARKDOWN] = ".md", [JSON] = ".json"};
    const char *name = g->output ? basename(g->output) : "";
    if (g->page && pp_ends_in(name, ".html"))
        return PAGE;
    if (g->json || g->format != TEXT)
        return g->json ? JSON : g->format;
    for (int i = TEXT; i <= JSON; i++)
        if (pp_ends_in(name, ends[i]))
            return i;
    return *name && strchr(name + 1, '.') ? -1 : TEXT;
}

static int write_output(void *ctx, FILE *out)
{
    const struct answer *a = ctx;
    const struct gate_opts *g = a->g;
    switch (a->output) {
    case OUT_MARKDOWN: return pp_compare_markdown(a->c, out);
    case OUT_JUNIT: return pp_ci_junit(a->c, g->strict, out);
    case OUT_OPENMETRICS: return pp_ci_openmetrics(a->c, out);
    case OUT_BENCHMARK: return pp_ci_benchmark(a->c, out);
    default: break;
    }
    int format = format_of(g);
    if (format == PAGE)
        return pp_compare_html(a->c, g->page[0], g->page[1], out);
    if (format == JSON)
        return pp_fields_json(pp_compare_fields, a->c, out);
    if (format == MARKDOWN)
        return pp_compare_markdown(a->c, out);
    /* a file is read elsewhere: 80 columns, and no colour unless asked for */
    int file = !pp_output_is_stdout(g->output),
        color = file ? g->color == PP_COLOR_ALWAYS : pp_cli_use_color((enum pp_color)g->color, out);
    return pp_compare_text(a->c, out, color, file ? 80 : pp_cli_columns(out));
}

pp_status gate_check_outputs(const struct gate_opts *g, struct pp_err *err)
{
    pp_status st = PP_OK;
    if (!g->page && g->output && pp_ends_in(g->output, ".html"))
        st = pp_fail(
            err, PP_E_USAGE,
            "the page of a comparison is drawn by pipeprobe compare: -o FILE.md, .json or .txt in the place of %s",
            g->output);
    else if (format_of(g) < 0)
        st = pp_fail(err, PP_E_USAGE,
                     "--output %s: a comparison is written as .txt, .md or .json%s; or give --format",
                     g->output, g->page ? ", or .html as a page" : "");
    for (int i = 0; i < OUTPUTS && st == PP_OK; i++)
        st = pp_output_check(path_of(g, (enum output)i), g->force, err);
    return st;
}

pp_status gate_write(const struct gate_opts *g, const struct pp_compare *c, struct pp_err *err)
{
    struct answer answer = {.g = g, .c = c};
    const char *actions = getenv("GITHUB_ACTIONS"), *summary = getenv("GITHUB_STEP_SUMMARY");
    pp_status st = PP_OK;
    for (int i = 0; i < OUTPUTS && st == PP_OK; i++) {
        answer.output = (enum output)i;
        if (path_of(g, answer.output))
            st = pp_output_write(path_of(g, answer.output), "comparison", write_output, &answer, err);
    }
    if (st == PP_OK)
        pp_output_say(g->output, c->sentence);
    if (st == PP_OK && summary && summary[0]) { /* GitHub's file, which the steps of a job share */
        FILE *out = fopen(summary, "ae");
        int failed = !out || pp_compare_markdown(c, out) != 0;
        failed |= out && fclose(out) != 0;
        if (failed)
            st = pp_fail_errno(err, errno, "the job summary %s cannot be written", summary);
    }
    if (st == PP_OK && actions && strcmp(actions, "true") == 0)
        pp_ci_annotations(c, stderr);
    return st;
}

int gate_fail(const struct pp_command *cmd, const struct gate_opts *g, const struct pp_err *err)
{
    int code = pp_cli_fail(cmd, err);
    return g->strict && code == pp_status_exit_code(PP_E_INCONCLUSIVE) ? 1 : code;
}
