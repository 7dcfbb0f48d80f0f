/* The HTML report: one file that needs nothing else. Here its frame, the verdict and the headline numbers. */
#include "report/render/answer.h"
#include "report/render/html/parts.h"
#include "report/render/render.h"

#include <math.h>
#include <string.h>

/* ---- the verdict ---- */

/* As large as the finding. A click selects the line to paste whole: no script is needed to copy it. */
static void put_action(FILE *out, const struct pp_report *r)
{
    static const enum pp_answer_part parts[] = {PP_ANSWER_COST,   PP_ANSWER_PREDICTED, PP_ANSWER_ASSUMES,
                                                PP_ANSWER_CODE,   PP_ANSWER_WORDS,     PP_ANSWER_COMMAND,
                                                PP_ANSWER_PYTORCH};
    char text[PP_ANSWER_TEXT];
    if (!r->verdict.next_step)
        return;
    pp_html_in(out, "<div class=\"next\"><h2><span class=\"label\">Do</span> ", r->verdict.next_step,
               "</h2>\n");
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const char *said = pp_answer(r, parts[i], text);
        int is_line = parts[i] == PP_ANSWER_CODE;
        if (said && parts[i] == PP_ANSWER_COMMAND && strncmp(said, "pipeprobe ", 10) == 0) {
            fputs("<p class=\"or\">or, with pipeprobe's loader</p>\n", out);
            is_line = 1;
        }
        if (said && is_line) {
            pp_html_in(out, "<pre class=\"paste\"><code>", said, "</code></pre>\n");
        } else if (said) {
            int is_gain = parts[i] == PP_ANSWER_PREDICTED || parts[i] == PP_ANSWER_ASSUMES;
            fprintf(out, "<p class=\"%s\">%s", is_gain ? "gain" : "or", pp_answer_lead(r, parts[i]));
            pp_html_in(out, "", said, "</p>\n");
        }
    }
    const char *explain = pp_answer(r, PP_ANSWER_EXPLAIN, text);
    if (explain)
        pp_html_in(out, "<p class=\"or\">What this cause means, and what would refute it: <code>", explain,
                   "</code></p>\n");
    fputs("</div>\n", out);
}

static void put_verdict(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    /* Shape and word say the same as the colour. */
    const char *class = "bad", *mark = "\xe2\x96\xb2", *badge = "moderately input-bound";
    if (v->ceiling)
        class = "neutral", mark = "\xe2\x97\x86", badge = "ceiling";
    else if (!v->level)
        class = "neutral", mark = "?", badge = "inconclusive";
    else if (strcmp(v->level, "not") == 0)
        class = "good", mark = "\xe2\x97\x8f", badge = "not input-bound";
    else if (v->headline)
        badge = v->headline;
    else if (strcmp(v->level, "highly") == 0)
        badge = "highly input-bound";
    if (!r->outcome || strcmp(r->outcome, "finished") != 0) {
        char text[PP_ANSWER_TEXT];
        if (r->ended)
            pp_html_in(out, "<p class=\"banner\">", pp_answer(r, PP_ANSWER_OUTCOME, text), "</p>\n");
        else
            pp_html_in(out, "<p class=\"banner\"><strong>This run is ", r->outcome,
                       ".</strong> The numbers cover what was recorded until then.</p>\n");
    }
    fprintf(
        out,
        "<section class=\"verdict %s\" id=\"verdict\"><p class=\"badge\"><span aria-hidden=\"true\">%s</span> ",
        class, mark);
    pp_html_text(out, badge);
    if (!v->headline) {
        pp_html_in(out, " &middot; ", v->l1, "");
        pp_html_in(out, " / ", v->l2, "");
    }
    pp_html_in(out, " &middot; ", v->headline ? v->certainty : NULL, "");
    pp_html_in(out, "</p>\n<h1>", v->head, "</h1>\n");
    char first[PP_ANSWER_TEXT];
    pp_html_in(out, "<p class=\"cause\"><strong>First</strong> ", pp_answer(r, PP_ANSWER_FIRST, first),
               "</p>\n");
    pp_html_in(out, "<p class=\"cause\"><strong>Cause</strong> ", v->cause_line, "</p>\n");
    pp_html_in(out, "<p class=\"cause\"><strong>In the wait</strong> ", v->parts, "</p>\n");
    put_action(out, r);
    fputs("</section>\n", out);
}

/* ---- headline numbers ---- */

static void put_tile(FILE *out, const char *name, enum pp_html_form form, double value, const char *key,
                     const char *of)
{
    fprintf(out, "<div class=\"tile\"><p>%s</p><p class=\"big\">", name);
    pp_html_num(out, form, value, "%s", key);
    fprintf(out, "<small>%s</small></p></div>\n", of);
}

static void put_tiles(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    size_t starved = 0;
    while (starved < r->n_spent && r->spent[starved].kind != PP_SPENT_CPU)
        starved++;
    int lacks = starved < r->n_spent && r->spent[starved].share >= 0.005;
    char cpu_key[64];
    snprintf(cpu_key, sizeof(cpu_key), "spent.%zu.share", starved);
    const struct {
        const char *name;
        enum pp_html_form form;
        double value;
        const char *key, *of;
    } shown[] = {
        {"Waits for data", PP_HTML_SHARE, r->data_wait_share, "data_wait_share",
         r->boundary_s > 0 ? "between boundaries" : "of the time"},
        {"Waits for a CPU", PP_HTML_SHARE, lacks ? r->spent[starved].share : NAN, cpu_key, "of the time"},
        {"Accelerator utilisation", PP_HTML_SHARE, r->accelerator_utilization_share,
         "accelerator_utilization_share", "AU: steps / all time"},
        {"Other ranks", PP_HTML_SHARE, r->collective_share, "collective_share", "of the time waited for"},
        {"Without waits", PP_HTML_RATE, r->headroom_samples_per_s, "verdict.headroom_samples_per_s",
         "samples/s"},
        {"Wait, p99", PP_HTML_TIME, wait ? (double)wait->p99_ns : NAN, NULL, "per batch"},
        {"First batch after", PP_HTML_SECONDS, r->first_batch_s, "first_batch_s", "of the run"},
        {"From page cache", PP_HTML_SHARE, r->cache_hit_share, "cache_hit_share", "of bytes read"},
    };
    char key[64] = "";
    if (wait)
        snprintf(key, sizeof(key), "phases.%zu.p99_ns", (size_t)(wait - r->phases));
    fputs("<div class=\"tiles\">", out);
    if (isnan(r->samples_per_s)) /* a foreign program's ranges carry no sample counts */
        put_tile(out, "Throughput", PP_HTML_RATE, r->batches_per_s, "batches_per_s", "batches/s");
    else
        put_tile(out, "Throughput", PP_HTML_RATE, r->samples_per_s, "samples_per_s", "samples/s");
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        if (!isnan(shown[i].value))
            put_tile(out, shown[i].name, shown[i].form, shown[i].value, shown[i].key ? shown[i].key : key,
                     shown[i].of);
    fputs("<div class=\"tile\"><p>Errors</p><p class=\"big\">", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->errors, "error_count");
    fputs("<small>", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->retries, "retry_count");
    fputs(" retries</small></p></div>\n</div>\n", out);
}

static void put_run(FILE *out, const struct pp_report *r)
{
    fputs("<p class=\"run\">", out);
    pp_html_num(out, PP_HTML_SECONDS, r->duration_s, "duration_s");
    fputs(" run, ", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->batches, "batches");
    fputs(" batches, ", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->samples, "samples");
    fputs(" samples, ", out);
    pp_html_num(out, PP_HTML_COUNT, (double)r->epochs, "epochs");
    fputs(r->epochs == 1 ? " epoch. " : " epochs. ", out);
    if (r->window_batches) {
        fputs(r->has_steady_state ? "Judged on the steady state: "
                                  : "No steady state was reached; numbers are of all batches: ",
              out);
        pp_html_num(out, PP_HTML_COUNT, (double)r->window_batches, "window.batches");
        fputs(" batches, ", out);
        pp_html_num(out, PP_HTML_COUNT, (double)r->window_samples, "window.samples");
        fputs(" samples in ", out);
        pp_html_num(out, PP_HTML_SECONDS, r->window_s, "window.duration_s");
        if (r->boundary_s > 0) {
            fputs(", ", out);
            pp_html_num(out, PP_HTML_SECONDS, r->boundary_s, "window.boundary_s");
            fputs(" of it at epoch boundaries and checkpoints", out);
        }
        fputs(".", out);
    }
    if (r->n_slices)
        fputs(r->subject_kind == PP_SUBJECT_JOB ? " All times are since the job started."
                                                : " All times are since the run started.",
              out);
    fputs("</p>\n", out);
}

int pp_render_html(const struct pp_report *r, FILE *out)
{
    char subject[PP_ANSWER_TEXT];
    pp_html_page_begin(out, r->path, pp_answer(r, PP_ANSWER_SUBJECT, subject));
    put_verdict(out, r);
    put_tiles(out, r);
    put_run(out, r);
    pp_html_spent(out, r);
    pp_html_headroom(out, r);
    pp_html_ops(out, r);
    pp_html_findings(out, r);
    pp_html_proofs(out, r);
    pp_html_curves(out, r);
    pp_html_steps(out, r);
    pp_html_queues(out, r);
    pp_html_workers(out, r);
    pp_html_wait_cdf(out, r);
    pp_html_waterfalls(out, r);
    pp_html_errors(out, r);
    pp_html_evidence(out, r);
    pp_html_phases(out, r);
    pp_html_gpu(out, r);
    pp_html_decode(out, r);
    pp_html_environment(out, r);
    pp_html_recording(out, r);
    pp_html_made(out, r);
    return pp_html_page_end(
        out,
        "Shares are of the steady-state window unless a caption says otherwise; a dash means not known, not zero.");
}
