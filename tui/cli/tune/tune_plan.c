#include "tui/cli/tune/tune.h"
#include "report/build/build.h"
#include "report/replay/whatif.h"
#include "report/source/source.h"

#define WORTH_A_RUN 0.03

/* Takes out of set what the loader does not take, or has already; *refused says why. NULL: nothing is left,
 * or the candidate was added before. */
static struct tune_candidate *add_candidate(struct tune_session *s, struct tune_set set, FILE *notes,
                                            const char **refused)
{
    const struct tune_loader *l = s->loader;
    char value[16];
    int left = 0;
    if (s->candidates == TUNE_CANDIDATES_MAX)
        return NULL;
    *refused = NULL;
    for (int k = 0; k < PP_KNOBS_TUNED; k++) {
        if (set.value[k] < 0)
            continue;
        /* Known before anything is run; the hooks in the job have the last word. */
        const char *why = NULL;
        if (k == PP_KNOB_NUM_WORKERS && l->iterable && !l->sharded && l->value[PP_KNOB_NUM_WORKERS] < 2)
            why = "its IterableDataset does not call get_worker_info: each worker would give every sample";
        else if (k == PP_KNOB_IN_ORDER && !l->has_in_order)
            why = "the job's torch has no in_order (2.6 and later have)";
        else if ((k == PP_KNOB_PREFETCH_FACTOR || k == PP_KNOB_PERSISTENT_WORKERS || k == PP_KNOB_IN_ORDER) &&
                 (set.value[PP_KNOB_NUM_WORKERS] >= 0 ? set.value[PP_KNOB_NUM_WORKERS]
                                                      : l->value[PP_KNOB_NUM_WORKERS]) < 1)
            why = "it needs num_workers > 0";
        *refused = why ? why : *refused;
        if (!why && l->value[k] == set.value[k])
            why = "the job has it already";
        if (why && notes)
            fprintf(notes, "left out   %s=%s: %s\n", pp_knob_rows[k].name,
                    tune_value(k, set.value[k], value, sizeof(value)), why);
        if (why)
            set.value[k] = -1;
        left += !why;
    }
    if (!left)
        return NULL;
    for (int i = 0; i < s->candidates; i++)
        if (memcmp(&s->candidate[i].set, &set, sizeof(set)) == 0)
            return NULL;
    struct tune_candidate *c = &s->candidate[s->candidates++];
    *c = (struct tune_candidate){.set = set, .predicted = {NAN, NAN, NAN}, .measured = {NAN, NAN, NAN}};
    tune_set_text(&set, TUNE_ARGUMENTS, c->words);
    return c;
}

/* ---- as asked ---- */

pp_status tune_predict(const struct tune_session *s, struct tune_candidate *c, int n, struct pp_err *err)
{
    struct pp_source source;
    struct pp_timeline timeline = {0};
    struct pp_costs costs = {0};
    struct pp_knobs knobs;
    struct pp_prediction p;
    struct pp_err ignored;
    pp_status st = pp_source_open(s->baseline.path, &source, err);
    if (st == PP_OK)
        st = pp_timeline_build(&source, &timeline, err);
    if (st == PP_OK)
        st = pp_costs_read(&source, &timeline, &costs, err);
    if (st == PP_OK)
        st = pp_whatif_calibrate(&costs, err);
    for (int i = 0; st == PP_OK && i < n; i++) {
        char text[48], value[16];
        int known = 1; /* to the replay: every change of the set */
        knobs = pp_knobs_none();
        for (int k = 0; k < PP_KNOBS_TUNED && known; k++) {
            if (c[i].set.value[k] < 0)
                continue;
            snprintf(text, sizeof(text), "%s=%s", pp_knob_rows[k].name,
                     tune_value(k, c[i].set.value[k], value, sizeof(value)));
            known = pp_knobs_set(&knobs, &costs, text, &ignored) == PP_OK;
        }
        if (!known)
            continue;
        st = pp_whatif(&costs, &knobs, &p, err);
        if (st == PP_OK)
            c[i].predicted = (struct tune_gain){p.gain, p.gain_low, p.gain_high};
    }
    pp_costs_free(&costs);
    pp_timeline_free(&timeline);
    pp_source_close(&source);
    return st;
}

pp_status tune_plan(struct tune_session *s, const struct pp_opt_list *tries, FILE *notes, struct pp_err *err)
{
    struct pp_report *report = NULL;
    struct tune_set set;
    const char *refused;
    char words[TUNE_TEXT], predicted[64];
    pp_status st = pp_report_build(s->baseline.path, &report, err);
    if (st == PP_OK) {
        snprintf(s->verdict, sizeof(s->verdict), "%s",
                 report->verdict.sentence ? report->verdict.sentence : "");
        snprintf(s->advice, sizeof(s->advice), "%s",
                 report->verdict.next_step ? report->verdict.next_step : "");
        pp_answer(report, PP_ANSWER_PREDICTED, s->advice_gain); /* in buf, "" for nothing */
        s->inconclusive = strcmp(report->verdict.l0, "inconclusive") == 0;
    }
    s->is_other = s->baseline.loaders.judged >= 0 &&
                  s->loader != &s->baseline.loaders.loader[s->baseline.loaders.judged];
    size_t n = st == PP_OK && !tries->n && !s->is_other ? report->verdict.n_fixes : 0;
    for (size_t i = 0; i < n && s->candidates < TUNE_FIXES_MAX; i++) {
        const struct pp_report_fix *f = &report->verdict.fixes[i];
        if (!(f->gain >= WORTH_A_RUN) || !f->set || tune_set_parse(f->set, &set, NULL) != PP_OK)
            continue;
        struct tune_gain gain = {f->gain, f->low, f->high};
        struct tune_candidate *c = add_candidate(s, set, notes, &refused);
        if (c)
            c->predicted = gain;
        else if (refused && !s->left_out[0])
            snprintf(s->left_out, sizeof(s->left_out), "%s is predicted to gain %s, but %s",
                     tune_set_text(&set, TUNE_ARGUMENTS, words),
                     tune_percent(&gain, predicted, sizeof(predicted)), refused);
    }
    for (int i = 0; i < tries->n && st == PP_OK; i++) {
        st = tune_set_parse(tries->item[i], &set, err);
        if (st == PP_OK)
            add_candidate(s, set, notes, &refused);
    }
    if (st == PP_OK && tries->n && s->candidates && !s->is_other) {
        struct pp_err why; /* a recording that cannot be replayed is measured all the same */
        if (tune_predict(s, s->candidate, s->candidates, &why) != PP_OK && notes)
            fprintf(notes, "predicted  nothing: %s\n", why.text);
    }
    pp_report_free(report);
    return st;
}
