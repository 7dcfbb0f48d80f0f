#include "report/render/answer.h"

#include "probe/base/text.h"

#include <ctype.h>

enum { CELL = 40 };

#define add(buf, ...) pp_text_add(buf, PP_ANSWER_TEXT, __VA_ARGS__)

static const char *say_outcome(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    char time[CELL], count[CELL], word[24];
    size_t n = 0;
    if (!r->outcome || strcmp(r->outcome, "finished") == 0)
        return NULL;
    for (; r->outcome[n] && n + 1 < sizeof(word); n++)
        word[n] = (char)toupper((unsigned char)r->outcome[n]);
    word[n] = '\0';
    if (r->ended) {
        const char *next = r->verdict.next_step, *remedy = r->ended_remedy;
        buf[0] = '\0';
        add(buf, "%s after %s, in %s", word,
            pp_text_counted(count, CELL, (double)r->batches, "batch", "batches"),
            pp_text_duration(time, CELL, r->duration_s * 1e9));
        if (r->exit_status > 0 && r->exit_status <= 128) /* else the signal is named */
            add(buf, ", exit status %.0f", r->exit_status);
        add(buf, ": %s.", r->ended);
        if (remedy && !(next && strcmp(next, remedy) == 0)) /* which the verdict says */
            add(buf, " %s", remedy);
        return buf;
    }
    snprintf(buf, PP_ANSWER_TEXT, "%s%s after %s: the numbers cover what was recorded until then.", word,
             strcmp(r->outcome, "unfinished") == 0 ? " (killed, or still running)" : "",
             pp_text_duration(time, CELL, r->duration_s * 1e9));
    return buf;
}

const char *pp_answer_change(const struct pp_report_fix *f, char buf[PP_ANSWER_TEXT])
{
    if (f->change)
        return f->change;
    snprintf(buf, PP_ANSWER_TEXT, "%s \xe2\x86\x92 %s", f->knob, f->to);
    return buf;
}

static const char *say_predicted(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_fix *f = v->action.fix;
    char rate[CELL], text[PP_ANSWER_TEXT];
    buf[0] = '\0';
    if (f) {
        add(buf, "%s: ", pp_answer_change(f, text));
        int counted = !isnan(f->samples_per_s);
        add(buf, "%s %s/s",
            pp_text_predicted(rate, CELL, counted ? f->samples_per_s : r->batches_per_s * (1 + f->gain)),
            counted ? "samples" : "batches");
        if (v->late_samples_per_s > 0)
            add(buf, " instead of the %s since then", pp_text_rate(rate, CELL, v->late_samples_per_s));
        add(buf, ", ");
        add(buf, "%s", pp_text_gain(text, sizeof(text), f->gain, f->low, f->high));
        return buf;
    }
    if (v->action.depends) {
        add(buf, "%s", v->action.depends);
        return buf;
    }
    if ((f = v->action.candidate)) {
        add(buf, "uncertain. Best guess: %s, ", pp_answer_change(f, text));
        add(buf, "%s", pp_text_gain(text, sizeof(text), f->gain, f->low, f->high));
        return buf;
    }
    if (!v->l1 || !v->why_no_fixes)
        return NULL;
    add(buf, "not predicted: %s", v->why_no_fixes);
    return buf;
}

size_t pp_answer_evidence(const struct pp_report *r, const struct pp_report_evidence *e[PP_ANSWER_EVIDENCE])
{
    const struct pp_report_verdict *v = &r->verdict;
    size_t n = 0,
           first = !isnan(v->exposed_share) || (v->outside && r->data_wait_share > 0); /* the head has it */
    for (int rank = 0; rank < 3; rank++) /* what decided; what is most of its kind; the rest */
        for (size_t i = first; i < v->evidences && n < PP_ANSWER_EVIDENCE; i++) {
            const struct pp_report_evidence *x = &v->evidence[i];
            int own_rank = x->supports != 0 ? 0 : x->amount >= 0.5 && x->amount <= 1.0 ? 1 : 2;
            if (v->parts && strcmp(x->name, "largest part of the stall") == 0)
                continue; /* the parts say it */
            if (own_rank == rank && x->kind == PP_EVIDENCE_MEASURED &&
                strncmp(x->name, "of it:", 6) != 0) /* the head has the parts too */
                e[n++] = x;
        }
    return n;
}

static const char *say_errors(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    char count[CELL];
    if (r->n_error_kinds == 0 && r->errors == 0 && r->retries == 0)
        return NULL;
    buf[0] = '\0';
    add(buf, "%s", pp_text_count(count, CELL, (double)r->errors));
    if (r->error_files)
        add(buf, " in %s%s file%s", r->more_error_files ? "at least " : "",
            pp_text_count(count, CELL, (double)r->error_files), r->error_files == 1 ? "" : "s");
    for (size_t i = 0; i < r->n_error_kinds && i < 4; i++)
        add(buf, "%s%s %s, %s", i ? "; " : " (", pp_text_count(count, CELL, (double)r->error_kinds[i].count),
            r->error_kinds[i].kind, r->error_kinds[i].action);
    add(buf, "%s", r->n_error_kinds > 4 ? "; ...)" : r->n_error_kinds ? ")" : "");
    if (r->retries)
        add(buf, ", %s", pp_text_counted(count, CELL, (double)r->retries, "retry", "retries"));
    for (size_t i = 0; i < r->n_error_kinds; i++) /* of the data set as a whole */
        if (strcmp(r->error_kinds[i].kind, "warning") == 0 && r->error_kinds[i].example_reason)
            add(buf, "; %s", r->error_kinds[i].example_reason);
    return buf;
}

const char *pp_answer_proof(const struct pp_report_proof *p, char buf[PP_ANSWER_TEXT])
{
    char predicted[CELL], measured[CELL];
    buf[0] = '\0';
    if (strcmp(p->kind, "headroom") == 0)
        add(buf, "loader infinitely fast");
    else
        add(buf, "%s -> %s", p->change, p->value);
    add(buf, ": predicted %s, measured %s samples/s, off by %+.1f %%",
        pp_text_rate(predicted, CELL, p->predicted), pp_text_rate(measured, CELL, p->measured),
        100 * p->error);
    return buf;
}

static const char *say_losses(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    char count[CELL];
    buf[0] = '\0';
    for (size_t i = 0; i < r->n_losses; i++)
        if (r->losses[i].count)
            add(buf, "%s%s %s: %s", buf[0] ? "; " : "",
                pp_text_count(count, CELL, (double)r->losses[i].count),
                r->losses[i].what ? r->losses[i].what : "records",
                r->losses[i].why ? r->losses[i].why : "unknown why");
    return buf[0] ? buf : NULL;
}

static const char *say_decode(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    const struct pp_report_decode *d = r->decode;
    char count[CELL];
    if (!d)
        return NULL;
    buf[0] = '\0';
    add(buf, "back end %s of %s", d->backend ? d->backend : "?", d->library ? d->library : "nvJPEG");
    if (d->engines >= 1)
        add(buf, " (%.0f engine%s of %.0f core%s)", d->engines, d->engines >= 2 ? "s" : "", d->cores,
            d->cores >= 2 ? "s" : "");
    if (!isnan(d->images))
        add(buf, ": %s", pp_text_counted(count, CELL, d->images, "image", "images"));
    if (d->regions > 0)
        add(buf, ", %s of them only where the crop is", pp_text_count(count, CELL, d->regions));
    if (d->refused > 0)
        add(buf, ", and %s that the CPU decoded after all", pp_text_count(count, CELL, d->refused));
    if (d->too_large > 0)
        add(buf, ", and %s that the GPU's memory has no room for", pp_text_count(count, CELL, d->too_large));
    if (d->difference_mean >= 0)
        add(buf, "; pixels are off libjpeg-turbo's by %.2f of 255 on average, %.0f at most",
            d->difference_mean, d->difference_max);
    if (d->passed_over)
        add(buf, "; %s", d->passed_over);
    if (d->gave_up)
        add(buf, "; given up during the run: %s", d->gave_up);
    if (d->lost)
        add(buf, "; the GPU was lost during the run: %s", d->lost);
    if (d->judged_part)
        add(buf, "; verdict and steady state are of the part %s that", d->judged_part);
    return buf;
}

static const char *say_gpu_gone(const struct pp_report *r, char buf[PP_ANSWER_TEXT])
{
    const struct pp_report_decode *d = r->decode;
    char part[CELL];
    if (!d || (!d->lost && !d->gave_up))
        return NULL;
    buf[0] = '\0';
    add(buf, "%s",
        d->lost ? "lost during the run, which went on without it" : "gave up decoding during the run");
    if (d->judged_part)
        add(buf, " (judged: the %s %s that)", pp_text_duration(part, CELL, r->window_s * 1e9),
            d->judged_part);
    add(buf, ": %s", d->lost ? d->lost : d->gave_up);
    return buf;
}

/* Training sees other samples than its author thinks; NULL: it does not. */
static const struct pp_report_finding *of_the_samples(const struct pp_report *r)
{
    static const char *const kinds[] = {"samples-repeated", "samples-skipped", "epoch-order"};
    for (size_t i = 0; i < r->n_findings; i++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            if (r->findings[i].state == PP_FINDING_FOUND && strcmp(r->findings[i].kind, kinds[k]) == 0)
                return &r->findings[i];
    return NULL;
}

/* In sentences, and what to do if it is one; or those behind the first by name. */
static const char *say_findings(const struct pp_report *r, int briefly, char buf[PP_ANSWER_TEXT])
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_finding *only = NULL;
    size_t n = 0;
    const struct pp_report_finding *first = of_the_samples(r); /* which is said before the cause */
    buf[0] = '\0';
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pp_report_finding *f = &r->findings[i];
        /* It names the same as the verdict: by its advice, or as workers that are equally slow deliver
         * together. */
        int is_verdict = (v->next_step && f->next_step && strcmp(v->next_step, f->next_step) == 0) ||
                         (v->l1 && strcmp(v->l1, "transform") == 0 && strcmp(f->kind, "lockstep-waits") == 0);
        if (f->state != PP_FINDING_FOUND || f == first || is_verdict)
            continue;
        only = f;
        add(buf, "%s%s",
            !n         ? ""
            : !briefly ? "; "
            : n == 1   ? ". Found too: "
                       : ", ",
            n && briefly ? f->kind : f->sentence);
        n++;
    }
    if (n == 1 && only->next_step) /* of several, the next steps are in the full report */
        add(buf, ". %s", only->next_step);
    else if (n > 1 && briefly)
        add(buf, " (pipeprobe explain NAME)");
    return n ? buf : NULL;
}

const char *pp_answer(const struct pp_report *r, enum pp_answer_part part, char buf[PP_ANSWER_TEXT])
{
    const struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_action *a = &v->action;
    const struct pp_report_finding *f;
    char rate[CELL];
    switch (part) {
    case PP_ANSWER_SUBJECT: snprintf(buf, PP_ANSWER_TEXT, "%.300s: %.600s", r->path, r->subject); return buf;
    case PP_ANSWER_OUTCOME: return say_outcome(r, buf);
    case PP_ANSWER_GPU_GONE: return say_gpu_gone(r, buf);
    case PP_ANSWER_HEAD: return v->head;
    case PP_ANSWER_COST:
        if (isnan(r->wait_cost_per_day))
            return NULL;
        snprintf(buf, PP_ANSWER_TEXT, "%s a day for each GPU, at %.2f an hour",
                 pp_text_rate(rate, CELL, r->wait_cost_per_day), r->gpu_hour);
        return buf;
    case PP_ANSWER_FIRST:
        if (!(f = of_the_samples(r)))
            return NULL;
        snprintf(buf, PP_ANSWER_TEXT, "%.600s%s%.400s", f->sentence, f->next_step ? ". " : "",
                 f->next_step ? f->next_step : "");
        return buf;
    case PP_ANSWER_CAUSE: return v->cause_line;
    case PP_ANSWER_DO: return v->next_step;
    case PP_ANSWER_PREDICTED: return say_predicted(r, buf);
    case PP_ANSWER_THEN: return v->then;
    case PP_ANSWER_OTHER: return v->other;
    case PP_ANSWER_ASSUMES: return a->fix ? a->fix->assumes : NULL;
    case PP_ANSWER_CODE:
        if (!a->python || !a->at)
            return a->python;
        snprintf(buf, PP_ANSWER_TEXT, "%s  # %s", a->python, a->at);
        return buf;
    case PP_ANSWER_WORDS: return a->dali ? a->dali : a->words;
    case PP_ANSWER_COMMAND: return a->command;
    case PP_ANSWER_PYTORCH:
        return r->pytorch && v->l0 && strcmp(v->l0, "not-input-bound") != 0 ? r->pytorch->sentence : NULL;
    case PP_ANSWER_EXPLAIN:
        if (!v->headline || !v->l1 || !v->l2)
            return NULL;
        snprintf(buf, PP_ANSWER_TEXT, "pipeprobe explain %s/%s", v->l1, v->l2);
        return buf;
    case PP_ANSWER_FINDINGS: return say_findings(r, 0, buf);
    case PP_ANSWER_FIRST_FINDING: return say_findings(r, 1, buf);
    case PP_ANSWER_ERRORS: return say_errors(r, buf);
    case PP_ANSWER_LOSSES: return say_losses(r, buf);
    case PP_ANSWER_DECODE: return say_decode(r, buf);
    }
    return NULL;
}

const char *pp_answer_lead(const struct pp_report *r, enum pp_answer_part part)
{
    const struct pp_report_action *a = &r->verdict.action;
    switch (part) {
    case PP_ANSWER_PREDICTED: return "Gain: ";
    case PP_ANSWER_THEN: return "Then, the job's own: ";
    case PP_ANSWER_OTHER: return "Or: ";
    case PP_ANSWER_ASSUMES: return "Assumes that ";
    case PP_ANSWER_COST: return "The wait costs ";
    case PP_ANSWER_WORDS: return a->dali ? "In DALI: " : "How: ";
    case PP_ANSWER_COMMAND: return "With pipeprobe's loader: ";
    default: return "";
    }
}
