#include "report/ci/outputs.h"

#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/compare/render.h"

/* "throughput worse by 11.3 % (+8.1 .. +13.2): 1,337 -> 1,203, p 0.003"; of a count that does not vary,
 * "reads +0.4 %: 1,000 -> 1,004, an exact count". */
static void say_metric(const struct pp_compare_metric *m, char *buf, size_t size)
{
    const struct pp_cmp_metric *row = &pp_cmp_metrics[m->id];
    char base[32], head[32], text[80], p[32];
    const char *worse = pp_compare_worse_text(text, sizeof(text), m);
    int at = snprintf(buf, size, "%s %s%s: %s -> %s, ", row->title, m->exact ? "" : "worse by ",
                      worse + (!m->exact && worse[0] == '+'),
                      pp_cmp_value_text(base, sizeof(base), row, m->base_median),
                      pp_cmp_value_text(head, sizeof(head), row, m->head_median));
    if (m->exact)
        snprintf(buf + at, size - (size_t)at, "an exact count");
    else
        snprintf(buf + at, size - (size_t)at, "p %s", pp_compare_p_text(p, sizeof(p), m));
}

/* ---- GitHub annotations ---- */

/* What a workflow command would end at: docs.github.com, "Workflow commands": %, CR and LF are
 * percent-encoded. */
static void put_command(const char *level, const char *title, const char *text, FILE *out)
{
    fprintf(out, "::%s title=pipeprobe %s::", level, title);
    for (; *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n')
            fprintf(out, "%%%02X", (unsigned)*text);
        else
            fputc(*text, out);
    fputc('\n', out);
}

int pp_ci_annotations(const struct pp_compare *c, FILE *out)
{
    char text[320];
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        if (!m->gated)
            continue;
        say_metric(m, text, sizeof(text));
        if (m->answer == PP_REGRESSED)
            put_command("error", "regression", text, out);
        else if (m->answer == PP_INCONCLUSIVE) {
            snprintf(text, sizeof(text), "%s: %s", pp_cmp_metrics[m->id].title, m->reason);
            put_command("warning", "inconclusive", text, out);
        }
    }
    if (c->verdict.changed || c->verdict.answer == PP_INCONCLUSIVE)
        put_command(c->verdict.answer == PP_REGRESSED && c->opts.gate_verdict ? "error" : "warning",
                    "verdict", c->verdict.sentence, out);
    if (c->answer == PP_REGRESSED && c->attribution[0])
        put_command("error", "attribution", c->attribution, out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- JUnit ---- */

static void put_case(const char *name, enum pp_answer answer, int strict, const char *what,
                     const char *reason, FILE *out)
{
    int failed = answer == PP_REGRESSED || (strict && answer == PP_INCONCLUSIVE);
    fprintf(out, "    <testcase classname=\"pipeprobe\" name=\"%s\"", name);
    if (answer == PP_NOT_REGRESSED) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n      ", out);
    if (failed)
        fprintf(out, "<failure type=\"%s\" message=\"", pp_answer_names[answer]);
    else
        fputs("<skipped message=\"", out);
    pp_text_put_xml(answer == PP_REGRESSED ? what : reason, out);
    fputs("\"/>\n    </testcase>\n", out);
}

int pp_ci_junit(const struct pp_compare *c, int strict, FILE *out)
{
    size_t cases = c->opts.gate_verdict != 0, absent = 0;
    size_t failures = c->regressed + (strict ? c->inconclusive : 0), skipped = strict ? 0 : c->inconclusive;
    char text[320];
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        cases += c->metric[i].gated != 0;
        absent += c->metric[i].gated && c->metric[i].answer == PP_NOT_MEASURED;
    }
    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
        cases, failures, skipped + absent);
    fprintf(out,
            "  <testsuite name=\"pipeprobe\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
            cases, failures, skipped + absent);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (c->metric[i].gated) {
            say_metric(&c->metric[i], text, sizeof(text));
            put_case(pp_cmp_metrics[i].key, c->metric[i].answer, strict, text, c->metric[i].reason, out);
        }
    if (c->opts.gate_verdict)
        put_case("verdict_class", c->verdict.answer, strict, c->verdict.sentence, c->verdict.sentence, out);
    fputs("    <system-out>", out);
    pp_text_put_xml(c->sentence, out);
    if (c->attribution[0]) {
        fputs("; ", out);
        pp_text_put_xml(c->attribution, out);
    }
    fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- OpenMetrics ---- */

static void put_family(const char *name, const char *unit, const char *help, FILE *out)
{
    fprintf(out, "# TYPE %s gauge\n", name);
    if (unit)
        fprintf(out, "# UNIT %s %s\n", name, unit);
    fprintf(out, "# HELP %s %s\n", name, help);
}

static void put_share_family(const struct pp_compare *c, const char *name, const char *help, size_t member,
                             FILE *out)
{
    put_family(name, "ratio", help, out);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        double v = *(const double *)((const char *)&c->metric[i] + member);
        if (!isnan(v))
            fprintf(out, "%s{metric=\"%s\"} %.17g\n", name, pp_cmp_metrics[i].key, v);
    }
}

int pp_ci_openmetrics(const struct pp_compare *c, FILE *out)
{
    put_family("pipeprobe_median", NULL, "Median over the runs, in the unit of the metric name.", out);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const char *key = pp_cmp_metrics[i].key;
        if (!isnan(c->metric[i].base_median))
            fprintf(out, "pipeprobe_median{metric=\"%s\",side=\"base\"} %.17g\n", key,
                    c->metric[i].base_median);
        if (!isnan(c->metric[i].head_median))
            fprintf(out, "pipeprobe_median{metric=\"%s\",side=\"head\"} %.17g\n", key,
                    c->metric[i].head_median);
    }
    put_share_family(c, "pipeprobe_times_worse_ratio", "Ratio of medians, above 1 is worse.",
                     offsetof(struct pp_compare_metric, ratio), out);
    put_share_family(c, "pipeprobe_threshold_ratio", "Regression threshold.",
                     offsetof(struct pp_compare_metric, threshold), out);
    put_share_family(c, "pipeprobe_noise_floor_ratio", "Difference of the same command measured twice.",
                     offsetof(struct pp_compare_metric, noise_floor), out);
    put_family("pipeprobe_regressed", NULL, "1 regressed, 0 not, NaN inconclusive or not measured.", out);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        enum pp_answer a = c->metric[i].answer;
        fprintf(out, "pipeprobe_regressed{metric=\"%s\"} %s\n", pp_cmp_metrics[i].key,
                a == PP_REGRESSED       ? "1"
                : a == PP_NOT_REGRESSED ? "0"
                                        : "NaN");
    }
    put_family("pipeprobe_runs", NULL, "Runs compared.", out);
    fprintf(out, "pipeprobe_runs{side=\"base\"} %zu\npipeprobe_runs{side=\"head\"} %zu\n# EOF\n", c->n_base,
            c->n_head);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- github-action-benchmark ---- */

int pp_ci_benchmark(const struct pp_compare *c, FILE *out)
{
    struct pp_json j;
    char text[320];
    pp_json_begin(&j, out, 2);
    pp_json_array(&j);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const struct pp_cmp_metric *row = &pp_cmp_metrics[i];
        if (isnan(m->head_median) || row->better == PP_CMP_SAME)
            continue;
        int turned = row->better == PP_CMP_HIGHER;
        const char *unit = turned ? "s/sample" : pp_cmp_unit_names[row->unit];
        say_metric(m, text, sizeof(text));
        pp_json_object(&j);
        pp_json_put_str(&j, "name", turned ? "seconds per sample" : row->key);
        pp_json_put_str(&j, "unit", unit[0] ? unit : "count");
        pp_json_put_num(&j, "value", turned ? 1 / m->head_median : m->head_median);
        pp_json_put_str(&j, "extra", text);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    return pp_json_end(&j);
}
