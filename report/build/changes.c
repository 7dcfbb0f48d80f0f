#include "report/build/parts.h"

#include "probe/base/text.h"
#include "report/replay/nvjpeg.h"
#include "report/source/rows.h"
#include "report/verdict/action.h"
#include "report/verdict/loader_words.h"

/* ---- what was replayed ---- */

void pp_changes_list(const struct pp_diagnosis *d, struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    struct pp_report_fix *changes = NULL;
    const char *inner = pp_loaders_inner(r);
    v->late_samples_per_s = NAN;
    if (!d->replayed) {
        v->why_no_fixes = d->why_not.text[0] ? pp_arena_copy(arena, d->why_not.text) : NULL;
        return;
    }
    for (int i = 0; i < d->signals.fixes; i++) {
        const struct pp_fix *f = &d->signals.fix[i];
        char assumes[PP_NVJPEG_TEXT];
        int arg = pp_knob_is_argument(f->set);
        const char *assumed = pp_nvjpeg_assumes(&f->knobs, assumes);
        assumed = assumed ? assumed : pp_whatif_assumes(&f->p, assumes, sizeof(assumes));
        if (pp_loader_words_lack(pp_loader_words_of(r), f->knob))
            continue;
        struct pp_report_fix *to = pp_arena_push(arena, (void **)&changes, &v->n_fixes, sizeof(*to));
        if (!to)
            return;
        *to = (struct pp_report_fix){.remedy = &pp_remedies[f->remedy],
                                     .knob = f->knob,
                                     .to = pp_arena_copy(arena, f->to),
                                     .text = f->text,
                                     .set = pp_arena_copy(arena, f->set),
                                     .is_argument = arg,
                                     .change = pp_arena_printf(arena, "%.*s",
                                                               arg ? (int)sizeof(f->set)
                                                                   : (int)strcspn(f->text, ":"),
                                                               arg ? f->set : f->text),
                                     .effort = f->cost,
                                     .gain = f->p.gain,
                                     .low = f->p.gain_low,
                                     .high = f->p.gain_high,
                                     .samples_per_s = isnan(r->samples_per_s) ? NAN : f->p.samples_per_s,
                                     .assumes = pp_arena_copy(arena, assumed)};
        if (inner && strcmp(f->knob, "workers") == 0) { /* that setting alone fails */
            to->remedy = &pp_remedies[PP_REMEDY_INNER_LOADER];
            to->change = "workers of the training loader that make the samples";
            to->set = NULL;
            to->is_argument = 0;
        }
        v->fixes = changes;
        if (!isnan(d->signals.metric[PP_METRIC_CONTENDED_AT]) && !isnan(r->samples_per_s))
            v->late_samples_per_s = f->p.samples_per_s / (1 + f->p.gain);
    }
}

/* ---- what is left out ---- */

#define OFF 0.02 /* as a replay's interval has it (replay/whatif.c), with the spread that follows */
#define SPREAD (1.28 * 1.414)

void pp_changes_put_first(const struct pp_report_fix *fix, struct pp_arena *arena,
                          struct pp_report_verdict *v)
{
    struct pp_report_fix *fixes = pp_arena_alloc(arena, (v->n_fixes + 1) * sizeof(*fixes));
    if (!fixes)
        return;
    fixes[0] = *fix;
    if (v->n_fixes)
        memcpy(fixes + 1, v->fixes, v->n_fixes * sizeof(*fixes));
    v->fixes = fixes;
    v->n_fixes++;
}

void pp_changes_leave_out(const struct pp_timeline *t, const struct pp_op_step *code, struct pp_arena *arena,
                          struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    double part = (double)t->gap_ns / 1e9 / r->window_s;
    int named = pp_op_step_is_told(code);
    double share = named && v->remedy != &pp_remedies[PP_REMEDY_MAKE_ONCE] ? code->share : 1,
           low = named ? code->share_low : 1,
           base = v->late_samples_per_s > 0 ? v->late_samples_per_s : r->samples_per_s;
    const struct pp_remedy *row = &pp_remedies[PP_REMEDY_BETWEEN];
    if ((v->remedy != row && v->remedy != &pp_remedies[PP_REMEDY_MAKE_ONCE]) || !(part > 0 && part < 1))
        return;
    /* Relative standard error of the pace without gaps, as a ratio estimator over cycles (Cochran, Sampling
     * Techniques, eq. 6.13), from one long gap to the next; NAN: there are less than two. */
    double x = 0, sum_x = 0, sum_b = 0, xx = 0, xb = 0, bb = 0, n = 0;
    const struct pp_gap *from = NULL, *last = NULL;
    for (size_t i = 0; i < t->n_gaps; last = &t->gaps[i++]) {
        const struct pp_gap *g = &t->gaps[i];
        x += last ? (double)(g->start_ns - last->end_ns) : 0;
        double b = from ? (double)(g->batches - from->batches) : 0;
        if (!pp_gap_is_long(t, i))
            continue;
        if (b > 0)
            sum_x += x, sum_b += b, xx += x * x, xb += x * b, bb += b * b, n++;
        from = b > 0 || !from ? g : from;
        x = b > 0 || n == 0 ? 0 : x;
    }
    double pace = sum_x / sum_b, var = (xx - 2 * pace * xb + pace * pace * bb) * n / (n - 1),
           off = OFF + SPREAD * (n < 2 ? NAN : sqrt(fmax(var, 0)) / sum_x);
    pp_changes_put_first(&(struct pp_report_fix){.remedy = v->remedy,
                                                 .knob = row->knob,
                                                 .to = "none",
                                                 .text = row->offer,
                                                 .change = named
                                                               ? pp_arena_printf(arena,
                                                                                 "without %s between epochs",
                                                                                 code->name)
                                                               : "without the time between epochs",
                                                 .effort = 1,
                                                 .gain = 1 / (1 - part * share) - 1,
                                                 .low = 1 / (1 - part * low) / (1 + off) - 1,
                                                 .high = 1 / (1 - part) * (1 + off) - 1,
                                                 .samples_per_s = base / (1 - part * share)},
                         arena, v);
}

/* ---- what is advised ---- */

/* The best change that does what the next step says, a setting before what needs work when it gains half as
 * much; where none gains, the best of all. They come ranked. Of an amount no number is promised, nor that of
 * another change in its place: *amount is then what to try in the what-if. Of those that may gain nothing the
 * best is the candidate. */
static const struct pp_report_fix *choose_change(const struct pp_report *r,
                                                 const struct pp_report_fix **candidate, const char **amount)
{
    const struct pp_report_verdict *v = &r->verdict;
    static const struct {
        pp_phase phase;
        const char *set;
    } rows[] = {{PP_PHASE_DECODE, "decode=0.7"},
                {PP_PHASE_TRANSFORM, "transform=0.7"},
                {PP_PHASE_COLLATE, "collate=0.7"}};
    const struct pp_report_fix *best = NULL, *done = NULL, *unsure = NULL;
    const struct pp_remedy *sized = NULL; /* what is done is an amount of it */
    uint64_t most = 0;
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        int is_amount = f->effort == PP_AN_AMOUNT, said = pp_remedy_is_done_by(v->remedy, f->knob);
        if (!(f->gain >= PP_WORTH_SAYING) || (f->remedy && f->remedy->only_listed))
            continue;
        if (!is_amount && !pp_action_is_sure(f)) {
            unsure = unsure ? unsure : f;
            continue;
        }
        if (said && !is_amount && (!done || (done->effort && !f->effort && f->gain >= done->gain / 2)))
            done = f;
        if (said && is_amount && f->remedy)
            sized = f->remedy;
        best = best || is_amount ? best : f;
    }
    *amount = sized && !done ? sized->amount : NULL;
    /* Of the work that could be less, the phase that takes the most. */
    for (size_t i = 0;
         *amount && sized == &pp_remedies[PP_REMEDY_LESS_WORK] && i < sizeof(rows) / sizeof(*rows); i++) {
        const struct pp_report_phase *p = pp_report_find_phase(r, rows[i].phase);
        if (p && p->total_ns > most)
            most = p->total_ns, *amount = rows[i].set;
    }
    best = done ? done : *amount || v->remedy->looks_first ? NULL : best;
    *candidate = best || *amount || v->remedy->looks_first ? NULL : unsure;
    return best;
}

/* Both set the same argument. */
static int sets_the_same(const char *set, const char *other)
{
    size_t n = strcspn(set, "=");
    return strncmp(set, other, n) == 0 && other[n] == '=';
}

/* Where it gains nothing and no other change does either, the measured shares point to what the replay
 * denies: nothing is advised but to measure. */
static void doubt(struct pp_report_verdict *v, struct pp_arena *arena)
{
    const struct pp_report_fix *best = NULL;
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        if (!pp_remedy_is_done_by(v->remedy, f->knob))
            continue;
        if (f->gain >= PP_WORTH_SAYING || f->effort == PP_AN_AMOUNT)
            return;
        best = !best || f->gain > best->gain ? f : best;
    }
    if (!best || v->remedy->looks_first)
        return;
    v->next_step = pp_arena_printf(
        arena, "Measure before you change anything: a replay of this run gains less than 3 %% with %s.",
        best->change);
    v->remedy = NULL;
}

void pp_changes_advise(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_fix *candidate = NULL, *chosen = NULL;
    struct pp_report_fix *ordered = pp_arena_alloc(arena, (v->n_fixes + 1) * sizeof(*ordered));
    size_t n = 0;
    if (!ordered)
        return;
    v->action = (struct pp_report_action){0};
    if ((v->l1 || v->outside) && v->remedy)
        chosen = choose_change(r, &candidate, &v->action.amount);
    const char *sentence = chosen && chosen->remedy ? chosen->remedy->sentence : NULL;
    if (chosen && (v->remedy->knob || v->remedy->by) && !pp_remedy_is_done_by(v->remedy, chosen->knob) &&
        sentence && !strchr(sentence, '{')) {
        /* Where nothing that the verdict's remedy could set gains, the next step is that of the change which
         * does. */
        if (chosen->remedy == &pp_remedies[PP_REMEDY_OTHER_LOAD] && !v->then) {
            v->then_l1 = v->l1; /* the job's own, which stays to be done */
            v->then_l2 = v->l2;
            v->then = v->next_step;
        }
        v->remedy = chosen->remedy;
        v->next_step = sentence;
    }
    if (!chosen && v->l1 && v->remedy && !candidate && !v->action.amount)
        doubt(v, arena);
    for (int place = -1; place <= PP_ADVICE_NO; place++) /* the chosen one before the others to do */
        for (size_t i = 0; i < v->n_fixes; i++) {
            const struct pp_report_fix *f = &v->fixes[i];
            int same = chosen && f->set && *f->set && chosen->set && sets_the_same(f->set, chosen->set),
                sure = chosen && pp_action_is_sure(f) && f->effort != PP_AN_AMOUNT &&
                       !(f->remedy && f->remedy->only_listed);
            /* Of those that set the same argument a report advises one. */
            enum pp_advice advice = f == chosen                             ? PP_ADVICE_DO
                                    : !(f->gain >= PP_WORTH_SAYING) || same ? PP_ADVICE_NO
                                    : sure                                  ? PP_ADVICE_DO
                                                                            : PP_ADVICE_MEASURE;
            if (place != (f == chosen ? -1 : (int)advice))
                continue;
            ordered[n] = *f;
            ordered[n].advice = advice;
            v->action.fix = f == chosen ? &ordered[n] : v->action.fix;
            v->action.candidate = f == candidate ? &ordered[n] : v->action.candidate;
            n++;
        }
    v->fixes = ordered;
}

void pp_changes_agree(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const char *set = v->action.fix ? v->action.fix->set : NULL;
    /* Workers that wait in step get no batch ahead: what others say of a larger prefetch does not hold. More
     * workers gain nothing where the storage is at its limit. */
    int in_step = 0, full = v->l2 && v->l1 && strcmp(v->l1, "storage") == 0 &&
                            (strcmp(v->l2, "bandwidth") == 0 || strcmp(v->l2, "iops-limit") == 0 ||
                             strcmp(v->l2, "throttled") == 0);
    for (size_t i = 0; i < r->n_findings; i++) {
        struct pp_report_finding *f = &r->findings[i];
        int lockstep = strcmp(f->kind, "lockstep-waits") == 0;
        in_step |= lockstep && f->state == PP_FINDING_FOUND;
        if (lockstep && f->next_step && v->remedy == &pp_remedies[PP_REMEDY_HOLD_LESS])
            f->next_step = "Leave the workers as they are: more of them only wait longer for the lock.";
        if (full && lockstep && f->next_step)
            f->next_step = "Leave the workers as they are: the storage is at its limit, and more of "
                           "them get no more from it.";
    }
    for (size_t i = 0; in_step && i < r->n_findings; i++) {
        struct pp_report_finding *f = &r->findings[i];
        f->next_step = f->next_step && f->remedy->in_step ? f->remedy->in_step : f->next_step;
    }
    if (in_step && v->remedy && v->remedy->in_step && v->next_step &&
        strcmp(v->next_step, v->remedy->sentence) == 0)
        v->next_step = v->remedy->in_step;
    for (size_t i = 0; i < r->n_findings; i++) {
        const char **step = &r->findings[i].next_step;
        if (*step && set && strcmp(set, "num_workers=0") == 0)
            *step = r->findings[i].remedy->of_workers ? NULL
                    : r->findings[i].remedy->in_step  ? r->findings[i].remedy->in_step
                                                      : *step;
        if (*step && v->remedy == &pp_remedies[PP_REMEDY_MAKE_ONCE] &&
            strcmp(*step, pp_remedies[PP_REMEDY_BETWEEN].sentence) == 0)
            *step = v->next_step; /* it is the same time */
        for (size_t k = 0; k < v->n_fixes && *step; k++) {
            const struct pp_report_fix *f = &v->fixes[k];
            const char *advice = f->remedy ? f->remedy->sentence : NULL;
            if (f->advice == PP_ADVICE_NO && advice && strcmp(*step, advice) == 0)
                *step = pp_arena_printf(arena, "Nothing for now: in a replay %s gains %.0f %%.", f->change,
                                        fmax(round(100 * f->gain), 0));
        }
    }
}

/* ---- changes one after the other ---- */

#define WORTH_A_STEP 1.05 /* of the rate before it */

/* All so far, and that one; 0: together they cannot be replayed. */
static int set_all(const struct pp_costs *costs, const struct pp_report_verdict *v, const char *set,
                   struct pp_knobs *k)
{
    struct pp_err ignored = {0};
    *k = pp_knobs_none();
    for (size_t i = 0; i < v->n_path; i++)
        if (pp_knobs_set_all(k, costs, v->path[i].set, &ignored) != PP_OK)
            return 0;
    return pp_knobs_set_all(k, costs, set, &ignored) == PP_OK;
}

void pp_path_find(const struct pp_costs *costs, struct pp_report_verdict *v)
{
    double rate = pp_whatif_measured(costs);
    while (v->n_path < PP_REPORT_STEPS) {
        struct pp_err ignored = {0};
        struct pp_knobs k;
        struct pp_prediction p;
        /* The setting with the highest rate beside those so far; NULL: none is worth a step. */
        const char *set = NULL;
        double best_rate = rate * WORTH_A_STEP;
        for (size_t i = 0; i < v->n_fixes; i++) {
            const struct pp_report_fix *f = &v->fixes[i];
            double with, share;
            int taken = 0;
            for (size_t at = 0; f->is_argument && at < v->n_path; at++)
                taken |= sets_the_same(f->set, v->path[at].set);
            if (!f->is_argument || f->effort != 0 || taken || !set_all(costs, v, f->set, &k) ||
                pp_whatif_rate(costs, &k, &with, &share, &ignored) != PP_OK || !(with >= best_rate))
                continue;
            set = f->set;
            best_rate = with;
        }
        if (!set || !set_all(costs, v, set, &k) || pp_whatif(costs, &k, &p, &ignored) != PP_OK ||
            !(p.gain_low > 0))
            return;
        v->path[v->n_path++] = (struct pp_report_step){.set = set,
                                                       .gain = p.gain,
                                                       .low = p.gain_low,
                                                       .high = p.gain_high,
                                                       .samples_per_s = costs->made_per_batch > 0
                                                                            ? NAN
                                                                            : p.samples_per_s};
        rate = p.samples_per_s;
    }
}

/* ---- names in the advice ---- */

enum { NAMED = 3, TEXT = 400 };

void pp_neighbours_name(struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    char key[32], text[TEXT] = "";
    int moves_others = v->remedy == &pp_remedies[PP_REMEDY_OTHER_LOAD] ||
                       v->remedy == &pp_remedies[PP_REMEDY_OTHER_LOAD_OR_QUOTA] ||
                       v->remedy == &pp_remedies[PP_REMEDY_OTHER_LOAD_THEN_WORKERS];
    for (int i = 1; moves_others && v->next_step && i <= NAMED; i++) {
        snprintf(key, sizeof(key), "other_process_%d", i);
        const struct pp_report_pair *p = pp_rows_find(r->environment, r->n_environment, key);
        if (p && p->value)
            pp_text_add(text, TEXT, "%s%.120s", text[0] ? "; " : "", p->value);
    }
    if (text[0])
        v->next_step = pp_arena_printf(arena, "%s The largest: %s.", v->next_step, text);
}
