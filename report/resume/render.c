#include "probe/base/text.h"
#include "report/resume/resume.h"

/* ---- JUnit ---- */

int pp_resume_junit(void *resume, FILE *out)
{
    const struct pp_resume *r = resume;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"pipeprobe resume-test\" tests=\"%zu\" failures=\"%.0f\" skipped=\"%.0f\">\n",
            r->answers + !r->answers, r->differing, r->untold + !r->answers);
    if (!r->answers) {
        fputs("  <testcase classname=\"resume\" name=\"uninterrupted\"><skipped message=\"", out);
        pp_text_put_xml(r->sentence, out);
        fputs("\"></skipped></testcase>\n", out);
    }
    for (size_t i = 0; i < r->answers; i++) {
        const struct pp_resume_answer *a = &r->answer[i];
        fputs("  <testcase classname=\"resume\" name=\"", out);
        pp_text_put_xml(a->name, out);
        fputs("\">", out);
        if (a->kind != PP_RESUME_EXACT) {
            fputs(a->kind == PP_RESUME_DIFFERS ? "<failure message=\"" : "<skipped message=\"", out);
            pp_text_put_xml(a->sentence, out);
            fputs("\">", out);
            for (size_t k = 0; a->culprit && k < 4; k++) { /* "restarted: It begins again. h.py:4" */
                const char *const text[] = {a->culprit, a->culprit_sentence, a->line, a->fix};
                pp_text_put_xml(text[k], out);
                fputs(!text[k] || k == 3 ? "" : k == 0 ? ": " : "\n", out);
            }
            fputs(a->kind == PP_RESUME_DIFFERS ? "</failure>" : "</skipped>", out);
        }
        fputs("</testcase>\n", out);
    }
    fputs("</testsuite>\n", out);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* ---- for people ---- */

void pp_resume_text(const struct pp_resume *r, FILE *out)
{
    const struct pp_resume_answer *a = r->said;
    fprintf(out, "%s\n", r->sentence);
    if (a && a->culprit) {
        fprintf(out, "%-9s %s. %s\n", "Culprit:", a->culprit, a->culprit_sentence);
        fprintf(out, "%-9s %s%s%s\n", "Told by:",
                a->evidence ? "what the job's objects held: " : "the pattern of the samples alone",
                a->evidence ? a->evidence : "",
                a->evidence && a->confidence[0] == 'p' ? ", and by the samples" : "");
        if (a->line)
            fprintf(out, "%-9s %s\n", "Line:", a->line);
        fprintf(out, "%-9s %s\n", "Change:", a->fix);
    }
    for (size_t i = 0; i < r->answers; i++) {
        fprintf(out, "%-9s ", i ? "" : "Kills:");
        /* "k2 in epoch 1: killed behind batch 38, resumed behind 35, not-exact (sampler-epoch)" */
        const struct pp_resume_answer *told = &r->answer[i];
        char n[32];
        fprintf(out, "%s%s%s: ", told->name, told->kill ? ", " : "", told->kill ? told->kill : "");
        if (!isnan(told->killed_at))
            fprintf(out, "killed behind %s, ",
                    pp_text_counted(n, sizeof(n), told->killed_at, "batch", "batches"));
        if (!isnan(told->resumed_at))
            fprintf(out, "resumed behind %s%s, ", pp_text_count(n, sizeof(n), told->resumed_at),
                    told->older ? " (an older state)" : "");
        fprintf(out, "%s%s%s%s", told->kind_name, told->culprit ? " (" : "",
                told->culprit ? told->culprit : "", told->culprit ? ")" : "");
        if (!isnan(told->repeated))
            fprintf(out, " from batch %.0f on, %.0f too often, %.0f left out", told->first, told->repeated,
                    told->left_out);
        fputc('\n', out);
    }
    fprintf(out, "%-9s %s\n", "Note:", r->note);
}

int pp_resume_markdown(void *resume, FILE *out)
{
    const struct pp_resume *r = resume;
    const struct pp_resume_answer *a = r->said;
    fprintf(out, "### pipeprobe resume-test: %s\n\n%s\n\n", r->kind_name, r->sentence);
    if (a && a->culprit)
        fprintf(out, "**%s**%s%s%s: %s\n\n*Change:* %s\n\n", a->culprit, a->line ? " (`" : "",
                a->line ? a->line : "", a->line ? "`)" : "", a->culprit_sentence, a->fix);
    if (r->answers)
        fputs(
            "| kill | killed behind | resumed behind | answer | first that differs | too often | left out |\n|---|---|---|---|---|---|---|\n",
            out);
    for (size_t i = 0; i < r->answers; i++) {
        char killed[32], resumed[32], first[32], often[32], left[32];
        const struct pp_resume_answer *k = &r->answer[i];
        fprintf(out, "| %s%s%s | %s | %s | %s%s%s | %s | %s | %s |\n", k->name, k->kill ? ", " : "",
                k->kill ? k->kill : "", pp_text_count(killed, sizeof(killed), k->killed_at),
                pp_text_count(resumed, sizeof(resumed), k->resumed_at), k->kind_name, k->culprit ? ": " : "",
                k->culprit ? k->culprit : "", pp_text_count(first, sizeof(first), k->first),
                pp_text_count(often, sizeof(often), k->repeated),
                pp_text_count(left, sizeof(left), k->left_out));
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
