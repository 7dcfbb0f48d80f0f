/* The HTML report: one file that needs nothing else. Here its frame, the verdict and the headline numbers. */
#include "report/render/answer.h"

#include "probe/base/text.h"
#include "report/render/html/parts.h"
#include "report/render/render.h"

/* ---- the verdict ---- */

/* As large as the finding. A click selects the line to paste whole: no script is needed to copy it. */
static void put_action(FILE *out, const struct pp_report *r)
{
    static const enum pp_answer_part parts[] = {PP_ANSWER_COST,  PP_ANSWER_PREDICTED, PP_ANSWER_ASSUMES,
                                                PP_ANSWER_CODE,  PP_ANSWER_WORDS,     PP_ANSWER_COMMAND,
                                                PP_ANSWER_OTHER, PP_ANSWER_PYTORCH,   PP_ANSWER_THEN};
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

static void put_tiles(FILE *out, const struct pp_report *r)
{
    const struct pp_report_phase *wait = pp_report_find_phase(r, PP_PHASE_DATA_WAIT);
    double lacks = r->starved_s > 0 && !r->verdict.outside && !(r->collective_share >= 0.005)
                       ? pp_report_rest_share(r)
                       : NAN; /* as the first sentence says it */
    const char *all = r->boundary_s > 0 ? "between boundaries" : "of the time";
    int counted = !isnan(r->samples_per_s);
    char p99[64] = "", text[64];
    if (wait)
        snprintf(p99, sizeof(p99), "phases.%zu.p99_ns", (size_t)(wait - r->phases));
    const struct {
        const char *name;
        enum pp_html_form form;
        double value;
        const char *key, *of;
    } shown[] = {
        /* a foreign program's ranges carry no sample counts */
        {"Throughput", PP_HTML_RATE, counted ? r->samples_per_s : r->batches_per_s,
         counted ? "samples_per_s" : "batches_per_s", counted ? "samples/s" : "batches/s"},
        {"Waits for data", PP_HTML_SHARE, r->data_wait_share, "data_wait_share", all},
        {"Waits for a CPU", PP_HTML_SHARE, lacks, NULL, all},
        {"Accelerator utilisation", PP_HTML_SHARE, r->accelerator_utilization_share,
         "accelerator_utilization_share", "AU: steps / all time"},
        {"Other ranks", PP_HTML_SHARE, r->collective_share, "collective_share", "of the time waited for"},
        {"Without waits", PP_HTML_PREDICTED, r->headroom_samples_per_s, "verdict.headroom_samples_per_s",
         "samples/s"},
        {"Wait, p99", PP_HTML_TIME, wait ? (double)wait->p99_ns : NAN, p99, "per batch"},
        {"First batch after", PP_HTML_SECONDS, r->first_batch_s, "first_batch_s", "of the run"},
        {"From page cache", PP_HTML_SHARE, r->cache_hit_share, "cache_hit_share", "of bytes read"},
    };
    fputs("<div class=\"tiles\">", out);
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
        if (i && isnan(shown[i].value)) /* the throughput is there in any case */
            continue;
        fprintf(out, "<div class=\"tile\"><p>%s</p><p class=\"big\">", shown[i].name);
        if (shown[i].key)
            pp_html_num(out, shown[i].form, shown[i].value, "%s", shown[i].key);
        else /* the document has no such number */
            fputs(pp_text_percent(text, sizeof(text), shown[i].value), out);
        fprintf(out, "<small>%s</small></p></div>\n", shown[i].of);
    }
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
    pp_html_recording(out, r);
    return pp_html_page_end(
        out,
        "Shares are of the steady-state window unless a caption says otherwise; a dash means not known, not zero.");
}

/* ---- style ---- */

/* Light or dark, as the reader's system is set; paper is light. The colours are Okabe and Ito's and Tol's,
 * which the colour-blind can tell apart. Waiting is hatched, idling thin, other batches pale. Every picture
 * has its table. */
const char pp_html_style
    [] = ":root{--bg:#fcfcfb;--card:#fff;--ink:#1c2024;--soft:#5b6470;--line:#e3e5e8;--rail:#eef0f2;--step:#3f78b5;--wait:#d9730d;--wait2:#f3b173;--lack:#b3314b;--lack2:#efc4cc;--sync:#aa4499;--apart:#b9bec5;--h2d:#117f63;"
         "--read:#56b4e9;--decode:#ddaa33;--transform:#8c6d1f;--collate:#777e88;--fault:#b3314b;--gain:#7fb0de;--good:#117f63;--bad:#b85c00;--neutral:#5b6470;--veil:#fcfcfb;--mark:#1c2024;"
         "--h1:#dbe7f3;--h2:#a9c7e4;--h3:#74a3d0;--h4:#3f78b5;--h5:#1f4d80}\n"
         "@media (prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1b1f23;--ink:#e6e8ea;--soft:#9aa4af;--line:#2c3238;--rail:#23282d;--step:#5b9bd9;--wait:#f0913a;--wait2:#7d4a1c;--lack:#e0788c;--lack2:#5c2a35;--sync:#cf7fc0;"
         "--apart:#5a626b;--h2d:#3db38f;--read:#7cc7f2;--decode:#e3bb55;--transform:#b08d3c;--collate:#98a1ab;--fault:#e0607a;--gain:#35618c;--good:#3db38f;--bad:#f0913a;--neutral:#9aa4af;--veil:#14171a;"
         "--mark:#e6e8ea;--h1:#1e2c3a;--h2:#264766;--h3:#32679a;--h4:#5b9bd9;--h5:#b5d5f3}}\n"
         "*{box-sizing:border-box}\n"
         "body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',sans-serif;-webkit-text-size-adjust:100%}\n"
         "header,main,footer{max-width:1000px;margin:0 auto;padding:0 24px}\n"
         "header{display:flex;gap:16px;align-items:baseline;padding-top:28px;padding-bottom:12px}\n"
         ".brand{margin:0;font-weight:650;letter-spacing:.01em}\n"
         ".file{margin:0;color:var(--soft);font-size:13px;overflow-wrap:anywhere}\n"
         ".banner{margin:0 0 12px;padding:10px 16px;border:1px solid var(--bad);border-radius:8px}\n"
         ".verdict{margin:4px 0 0;padding:24px 28px;background:var(--card);border:1px solid var(--line);border-left:5px solid var(--neutral);border-radius:10px}\n"
         ".verdict.good{border-left-color:var(--good)}.verdict.bad{border-left-color:var(--bad)}\n"
         ".badge{margin:0;font-size:12.5px;font-weight:650;letter-spacing:.05em;text-transform:uppercase;color:var(--neutral)}\n"
         ".good .badge{color:var(--good)}.bad .badge{color:var(--bad)}\n"
         "h1{margin:8px 0 10px;font-size:22px;line-height:1.35;font-weight:600;text-wrap:pretty}\n"
         "h2{margin:0;font-size:17px;font-weight:620}h3{margin:22px 0 0;font-size:15px;font-weight:620}\n"
         ".cause{margin:0}.cause strong{margin-right:6px}.next{margin:16px 0 0;padding-top:14px;border-top:1px solid var(--line)}.label{color:var(--soft);font-weight:650;margin-right:4px}.next h2{font-size:22px;line-height:1.35;font-weight:600;text-wrap:pretty}.gain{margin:6px 0 0}\n"
         ".paste{margin:12px 0 0;padding:11px 14px;background:var(--rail);border:1px solid var(--line);border-radius:8px;font:13.5px/1.5 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;user-select:all;-webkit-user-select:all;cursor:copy}\n"
         ".paste code{font:inherit}.or{margin:10px 0 0;font-size:13.5px;color:var(--soft)}dl{margin:4px 0 0;font-size:14px}dt{font-weight:620;margin-top:8px}dd{margin:0}\n"
         ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(106px,1fr));gap:12px;margin:16px 0 0}\n"
         ".tile{padding:12px 14px;background:var(--card);border:1px solid var(--line);border-radius:10px}\n"
         ".tile p{margin:0;font-size:12px;color:var(--soft)}.tile .big{margin:2px 0 0;color:var(--ink);font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}\n"
         ".tile small{display:block;font-size:12px;font-weight:400;color:var(--soft)}\n"
         ".run{margin:14px 2px 0;font-size:13px;color:var(--soft)}\n"
         "section{margin:36px 0 0}\n"
         ".cap{margin:2px 0 12px;max-width:88ch;font-size:13.5px;color:var(--soft);text-wrap:pretty}.sub{margin:10px 0 4px;font-size:13px;color:var(--soft)}.none{color:var(--soft)}\n"
         ".plot,.axis{display:grid;grid-template-columns:46px 1fr;column-gap:8px;margin-top:2px}.plot.rows,.axis.rows{grid-template-columns:108px 1fr}\n"
         ".y{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:11.5px;line-height:1;color:var(--soft)}\n"
         ".names{display:grid;text-align:right;font-size:11.5px;color:var(--soft)}.names span{height:16px;line-height:16px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n"
         ".roomy .names span{height:24px;line-height:24px}.names .crit{font-weight:650;color:var(--ink)}\n"
         "svg{display:block;width:100%}svg.tall{height:130px}svg.low{height:52px}svg.thin{height:18px}svg.closer{height:72px}svg.spent{height:28px}.thinrow{margin-top:6px}.thinrow .y{justify-content:center}svg.full{height:100%}svg.defs{position:absolute;width:0;height:0}\n"
         "svg.tall,svg.low,svg.thin,svg.closer,svg.spent,svg.full{background:var(--rail);border-radius:3px}.h{position:relative;min-width:0}\n"
         ".x{position:relative;height:20px;margin-left:54px;font-size:11.5px;color:var(--soft)}.axis .x{grid-column:2;margin-left:0}\n"
         ".x span{position:absolute;top:4px;transform:translateX(-50%);white-space:nowrap}.x span:first-child{transform:none}.x .end{transform:translateX(-100%)}.x b{font-weight:650;color:var(--ink)}\n"
         ".ruler{position:relative;height:17px;margin-left:54px;font-size:11px;line-height:15px}.ruler a{position:absolute;height:15px;text-align:center;color:var(--soft);text-decoration:none;background:var(--rail);border-left:1px solid var(--bg)}.ruler a:hover,.ruler a:focus-visible{background:var(--line);color:var(--ink)}\n"
         ".legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0 0;font-size:12.5px;color:var(--soft)}.key{display:inline-flex;align-items:center;gap:6px}.chip{width:12px;height:12px;border-radius:2px}\n"
         ".step{fill:var(--step)}.wait{fill:url(#hatch)}.wait-bg{fill:var(--wait2)}.wait-fg{fill:var(--wait)}.starved{fill:url(#lack)}.lack-bg{fill:var(--lack2)}.lack-fg{fill:var(--lack)}.sync{fill:var(--sync)}.apart{fill:var(--apart)}.h2d{fill:var(--h2d)}.read{fill:var(--read)}\n"
         ".decode{fill:var(--decode)}.transform{fill:var(--transform)}.collate{fill:var(--collate)}.fault{fill:var(--fault)}.idle{fill:var(--apart)}.fill{fill:var(--step);opacity:.75}.gain{fill:var(--gain)}\n"
         ".other{fill-opacity:.28;stroke:currentColor;stroke-opacity:.35;vector-effect:non-scaling-stroke}.veil{fill:var(--veil);opacity:.62}.waited{fill:var(--wait2);opacity:.35}.mark{fill:var(--mark)}\n"
         ".grid{fill:var(--line)}.area{fill:var(--step);fill-opacity:.3;stroke:var(--step);vector-effect:non-scaling-stroke;stroke-width:1.5}.band{fill:var(--gain);opacity:.5}\n"
         ".line{fill:none;stroke:var(--step);stroke-width:2;vector-effect:non-scaling-stroke}.line-key{fill:var(--step)}.hover{fill:transparent}.hover:hover{fill:var(--ink);opacity:.1}.rail{fill:var(--rail)}\n"
         ".heat0{fill:var(--rail)}.heat1{fill:var(--h1)}.heat2{fill:var(--h2)}.heat3{fill:var(--h3)}.heat4{fill:var(--h4)}.heat5{fill:var(--h5)}\n"
         ".q{position:absolute;padding:0 5px;font-size:12px;line-height:18px;font-weight:600;background:var(--card);border-radius:3px;margin-left:4px;white-space:nowrap}.q.left{margin:0 4px 0 0}\n"
         ".bars{display:grid;gap:8px;margin-bottom:10px}.bar{display:grid;grid-template-columns:168px 1fr 64px;gap:8px;align-items:center;font-size:13px}.what{text-align:right;color:var(--soft)}.track{height:22px}.v{font-weight:600;font-variant-numeric:tabular-nums}\n"
         ".flame{position:relative;margin:12px 0;overflow:hidden}.fl{position:absolute;height:17px;line-height:17px;padding:0 3px;box-sizing:border-box;font-size:11.5px;overflow:hidden;white-space:nowrap;border-right:1px solid var(--card);background:var(--h2)}.fl1{background:var(--h1)}.fl2{background:var(--h3)}.fl3{background:var(--rail)}\n"
         "ul{margin:4px 0 0;padding-left:20px;font-size:13.5px;color:var(--soft)}\n"
         "details{margin:12px 0 0}summary{cursor:pointer;font-size:13px;color:var(--soft)}summary:focus-visible{outline:2px solid var(--step);outline-offset:2px}\n"
         ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;margin-top:6px;font-size:13px;font-variant-numeric:tabular-nums}\n"
         "th,td{padding:4px 12px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}thead th{font-size:12px;color:var(--soft);white-space:nowrap;vertical-align:bottom}\n"
         ".n{text-align:right;white-space:nowrap}td:last-child,th:last-child{padding-right:0}.path{overflow-wrap:anywhere;min-width:14em}.inbar{width:22%;min-width:80px}.inbar svg{height:8px;margin-top:7px}\n"
         "tbody th,td:first-child{white-space:nowrap}td:nth-child(2){white-space:nowrap}.na{color:var(--soft)}.note{color:var(--soft)}\n"
         "footer{margin-top:44px;padding-top:14px;padding-bottom:32px;font-size:12.5px;color:var(--soft)}\n"
         /* tiles in full rows: the first takes the place of those that the last row lacks */
         "@media (min-width:941px){.tiles:has(>:nth-child(8)){grid-template-columns:repeat(4,minmax(0,1fr))}.tiles:has(>:nth-child(9)){grid-template-columns:repeat(5,minmax(0,1fr))}.tile:first-child:nth-last-child(9){grid-column:span 2}}\n"
         "@media (min-width:561px) and (max-width:940px){.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}.tile:first-child:nth-last-child(4n+1){grid-column:1/-1}\n"
         ".tile:first-child:nth-last-child(4n+2){grid-column:span 3}.tile:first-child:nth-last-child(4n+3){grid-column:span 2}}\n"
         "@media (max-width:560px){.tiles{grid-template-columns:repeat(3,minmax(0,1fr));gap:8px}.tile{padding:10px}.tile:first-child:nth-last-child(3n+1){grid-column:1/-1}.tile:first-child:nth-last-child(3n+2){grid-column:span 2}}\n"
         "@media (max-width:560px){header,main,footer{padding-left:14px;padding-right:14px}.verdict{padding:18px 16px}h1{font-size:19px}.plot.rows,.axis.rows{grid-template-columns:76px 1fr}.plot,.axis{grid-template-columns:38px 1fr}\n"
         ".x,.ruler{margin-left:46px}.bar{grid-template-columns:1fr 60px}.what{grid-column:1/-1;text-align:left}.tile .big{font-size:18px}.plot.rows .names{font-size:10.5px}.next h2{font-size:19px}\n"
         "thead{display:none}.scroll{overflow-x:visible}tbody tr{display:grid;grid-template-columns:1fr 1fr;column-gap:16px;padding:7px 0;border-bottom:1px solid var(--line)}tbody th,tbody td,tbody td:nth-child(2){display:block;border:0;padding:1px 0;white-space:normal;min-width:0;overflow-wrap:anywhere}\n"
         "tbody th,td:not(.n){grid-column:1/-1}tbody th+td:nth-child(2):last-child{grid-column:1/-1}tbody td.n{display:flex;justify-content:space-between;gap:8px;white-space:normal}td.n span{white-space:nowrap}td[data-h]:not(.n)::before{content:attr(data-h) ' ';color:var(--soft)}td.n[data-h]::before{content:attr(data-h);color:var(--soft);text-align:left}tbody td:empty{display:none}.inbar{width:auto}\n"
         ".x span:nth-child(even){display:none}header{flex-direction:column;gap:0}}\n"
         "@media print{:root{--bg:#fff;--veil:#fff}body{font-size:10pt}section{margin-top:22px}.verdict,.tiles,.tile,.bars,.plot,tr,li{break-inside:avoid}.cap,.sub,h2,h3{break-inside:avoid}h2,h3,.cap,.sub,summary,thead,.plot{break-after:avoid}.axis,.legend{break-before:avoid}td,th{padding-top:2px;padding-bottom:2px}"
         "details::details-content{content-visibility:visible;block-size:auto}.scroll{overflow:visible}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";
