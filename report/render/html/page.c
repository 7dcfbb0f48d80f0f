/* The HTML report: one file that needs nothing else. Here its frame, the verdict and the headline numbers. */
#include "report/render/answer.h"
#include "report/render/html/figure.h"
#include "report/render/html/frame.h"
#include "report/render/html/parts.h"
#include "report/render/render.h"

#include <math.h>
#include <string.h>

/* ---- the verdict ---- */

struct badge {
    const char *class, *mark, *text;
};

/* Shape and word say the same as the colour. */
static struct badge badge_of(const struct pp_report_verdict *v)
{
    if (v->ceiling)
        return (struct badge){"neutral", "\xe2\x97\x86", "ceiling"};
    if (!v->level)
        return (struct badge){"neutral", "?", "inconclusive"};
    if (strcmp(v->level, "not") == 0)
        return (struct badge){"good", "\xe2\x97\x8f", "not input-bound"};
    return (struct badge){"bad", "\xe2\x96\xb2",
                          strcmp(v->level, "highly") == 0 ? "highly input-bound" : "moderately input-bound"};
}

static void put_banner(FILE *out, const struct pp_report *r)
{
    if (r->outcome && strcmp(r->outcome, "finished") == 0)
        return;
    fputs("<p class=\"banner\"><strong>This run is ", out);
    pp_html_text(out, r->outcome);
    fputs(".</strong> The numbers cover what was recorded until then.</p>\n", out);
}

/* verdict.cause_line, with the exact numbers. */
static void put_cause(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    int named = v->headline && v->cause && !isnan(v->confidence);
    if (!v->cause_line)
        return;
    fputs("<p class=\"cause\"><strong>Cause</strong> ", out);
    pp_html_text(out, named ? v->headline : v->cause_line);
    if (named) {
        fputs(", confidence ", out);
        pp_html_num(out, PP_HTML_SHARE, v->confidence, "verdict.confidence");
        if (!isnan(v->explained)) {
            fputs(", explains ", out);
            pp_html_num(out, PP_HTML_SHARE, v->explained, "verdict.explained");
            fputs(" of the wait", out);
        }
        fputs(": ", out);
        pp_html_text(out, v->cause);
    }
    fputs("</p>\n", out);
}

/* A click selects it whole: no script is needed to copy it. */
static void put_code(FILE *out, const char *lead, const char *code)
{
    if (!code)
        return;
    if (lead)
        fprintf(out, "<p class=\"or\">%s</p>\n", lead);
    fputs("<pre class=\"paste\"><code>", out);
    pp_html_text(out, code);
    fputs("</code></pre>\n", out);
}

/* As large as the finding. */
static void put_action(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_action *a = &v->action;
    char text[PP_ANSWER_TEXT];
    const char *program, *words = pp_answer_words(r, &program);
    if (!v->next_step)
        return;
    fputs("<div class=\"next\"><h2>", out);
    pp_html_text(out, v->next_step);
    fputs("</h2>\n", out);
    if (pp_answer_predicted(r, text)) {
        fputs(a->fix ? "<p class=\"gain\">Predicted with " : "<p class=\"gain\">Gain: ", out);
        pp_html_text(out, text);
        fputs("</p>\n", out);
    }
    if (pp_answer_assumes(r)) {
        fputs("<p class=\"gain\">Assumes that ", out);
        pp_html_text(out, pp_answer_assumes(r));
        fputs("</p>\n", out);
    }
    put_code(out, NULL, a->python);
    if (words) {
        fprintf(out, "<p class=\"or\">In %s: ", program);
        pp_html_text(out, words);
        fputs("</p>\n", out);
    }
    if (a->command && strncmp(a->command, "pipeprobe ", 10) == 0) {
        put_code(out, "or, with pipeprobe's loader", a->command);
    } else if (a->command) {
        fputs("<p class=\"or\">With pipeprobe's loader: ", out);
        pp_html_text(out, a->command);
        fputs("</p>\n", out);
    }
    if (pp_answer_pytorch(r)) {
        fputs("<p class=\"or\">", out);
        pp_html_text(out, pp_answer_pytorch(r));
        fputs("</p>\n", out);
    }
    fputs("</div>\n", out);
}

static void put_verdict(FILE *out, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    struct badge b = badge_of(v);
    fprintf(
        out,
        "<section class=\"verdict %s\" id=\"verdict\"><p class=\"badge\"><span aria-hidden=\"true\">%s</span> ",
        b.class, b.mark);
    pp_html_text(out, b.text);
    if (v->l1) {
        fputs(" &middot; ", out);
        pp_html_text(out, v->l1);
    }
    if (v->l2) {
        fputs(" / ", out);
        pp_html_text(out, v->l2);
    }
    fputs("</p>\n<h1>", out);
    pp_html_text(out, v->head);
    fputs("</h1>\n", out);
    put_cause(out, r);
    put_action(out, r);
    fputs("</section>\n", out);
}

/* ---- headline numbers ---- */

static void tile_begin(FILE *out, const char *name)
{
    fprintf(out, "<div class=\"tile\"><p>%s</p><p class=\"big\">", name);
}

static void put_tiles(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    fputs("<div class=\"tiles\">", out);
    tile_begin(out, "Throughput");
    if (isnan(r->samples_per_s)) { /* a foreign program's ranges carry no sample counts */
        pp_html_num(out, PP_HTML_RATE, r->batches_per_s, "batches_per_s");
        fputs("<small>batches/s</small></p></div>\n", out);
    } else {
        pp_html_num(out, PP_HTML_RATE, r->samples_per_s, "samples_per_s");
        fputs("<small>samples/s</small></p></div>\n", out);
    }
    if (!isnan(r->data_wait_share)) {
        tile_begin(out, "Data wait");
        pp_html_num(out, PP_HTML_SHARE, r->data_wait_share, "data_wait_share");
        fputs("<small>of step time</small></p></div>\n", out);
    }
    if (!isnan(r->accelerator_utilization_share)) {
        tile_begin(out, "Accelerator utilisation");
        pp_html_num(out, PP_HTML_SHARE, r->accelerator_utilization_share, "accelerator_utilization_share");
        fputs("<small>AU: steps / all time</small></p></div>\n", out);
    }
    if (!isnan(r->collective_share)) {
        tile_begin(out, "Other ranks");
        pp_html_num(out, PP_HTML_SHARE, r->collective_share, "collective_share");
        fputs("<small>of step time waited for them</small></p></div>\n", out);
    }
    if (!isnan(r->headroom_samples_per_s)) {
        tile_begin(out, "Without stalls");
        pp_html_num(out, PP_HTML_RATE, r->headroom_samples_per_s, "verdict.headroom_samples_per_s");
        fputs("<small>samples/s</small></p></div>\n", out);
    }
    if (wait) {
        tile_begin(out, "Wait, p99");
        pp_html_num(out, PP_HTML_TIME, (double)wait->p99_ns, "phases.%zu.p99_ns", (size_t)(wait - r->phases));
        fputs("<small>per batch</small></p></div>\n", out);
    }
    if (!isnan(r->first_batch_s)) {
        tile_begin(out, "First batch after");
        pp_html_num(out, PP_HTML_SECONDS, r->first_batch_s, "first_batch_s");
        fputs("<small>of the run</small></p></div>\n", out);
    }
    if (!isnan(r->cache_hit_share)) {
        tile_begin(out, "From page cache");
        pp_html_num(out, PP_HTML_SHARE, r->cache_hit_share, "cache_hit_share");
        fputs("<small>of bytes read</small></p></div>\n", out);
    }
    tile_begin(out, "Errors");
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
    fputs("</p>\n", out);
}

int pp_render_html(const struct pp_report *r, FILE *out)
{
    char subject[PP_ANSWER_TEXT];
    pp_html_page_begin(out, r->path, pp_answer_subject(r, subject));
    put_banner(out, r);
    put_verdict(out, r);
    put_tiles(out, r);
    put_run(out, r);
    pp_html_headroom(out, r);
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
    return pp_html_page_end(
        out,
        "Shares are of the steady-state window unless a caption says otherwise; a dash means not known, not zero.");
}
