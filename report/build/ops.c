#include "report/build/parts.h"

#include "probe/base/text.h"
#include "report/rules/advice.h"
#include "report/verdict/action.h"
#include "report/verdict/loader_words.h"
#include "report/verdict/verdict_rules.h"

#define LISTED 0.02 /* of the stall or of all work */
#define WORTH_REPLAYING 0.04
#define A_CAUSE 0.1 /* of the stall */
#define HALF 0.5
#define LEAST_READ 0.05  /* of an op that reads what a sample needs: it is still called */
#define MORE_MOST_S 3600 /* s: with as many missing, what little was seen is said */
#define ASKED_MOST_S 300 /* s: a longer recording is not asked for to name a line */
#define NARROWEST 0.003  /* of the flame graph: two pixels */
enum { REPLAYED = 8, OFFERED = 4, FLAMES = 600, CELL = 40, TEXT = 400 };

/* ---- rows ---- */

static int by_gain(const void *a, const void *b)
{
    const struct pp_report_op *x = a, *y = b;
    double gx = isnan(x->gain) ? -1 : x->gain, gy = isnan(y->gain) ? -1 : y->gain;
    return gx != gy ? (gx < gy) - (gx > gy) : (x->share < y->share) - (x->share > y->share);
}

static void list_ops(const struct pp_costs *c, int replayed, struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_ops *o = &c->ops;
    int several = 0, predicted = 0;
    for (size_t i = 0; i < o->n_loaders; i++)
        several |= !o->loaders[i].judged;
    for (size_t i = 0; i < o->n_ops && r->n_ops < PP_REPORT_OPS; i++) {
        const struct pp_op *op = &o->ops[i];
        if (op->share < LISTED && op->share_all < LISTED)
            continue;
        const struct pp_ops_loader *of = &o->loaders[op->loader];
        const struct pp_report_loader *loader = several ? pp_loaders_find(r, of->pid, of->loader) : NULL;
        struct pp_report_op *to = pp_arena_push(arena, (void **)&r->ops, &r->n_ops, sizeof(*to));
        if (!to)
            return;
        *to = (struct pp_report_op){.name = pp_arena_copy(arena, op->name),
                                    .place = pp_arena_copy(arena, op->place),
                                    .path = pp_arena_copy(arena, op->path),
                                    .callee = pp_arena_copy(arena, op->callee),
                                    .word = pp_arena_copy(arena, op->word),
                                    .loader = !loader        ? NULL
                                              : loader->name ? loader->name
                                                             : loader->place,
                                    .advice = pp_op_advice_find(op->code),
                                    .judged = of->judged,
                                    .of_batch = op->of_batch,
                                    .is_lock = pp_costs_is_lock(op),
                                    .samples = op->n,
                                    .share = op->share,
                                    .low = op->share_low,
                                    .high = op->share_high,
                                    .share_all = op->share_all,
                                    .cpu_share = op->n > 0 ? op->cpu / op->n : NAN};
        to->gain = to->gain_low = to->gain_high = NAN;
        if (replayed && !to->is_lock && fmax(op->share, op->share_all) >= WORTH_REPLAYING &&
            predicted++ < REPLAYED) {
            struct pp_knobs k = pp_knobs_none();
            struct pp_prediction p;
            struct pp_err why;
            pp_op_scale(&k, c, op, HALF);
            /* CPU time that was not read is not zero */
            if (pp_whatif(c, &k, &p, &why) == PP_OK && (p.gain >= PP_WORTH_SAYING || op->of_batch ||
                                                        !(c->work_unread_ns > HALF * c->work_wall_ns))) {
                to->gain = p.gain;
                to->gain_low = p.gain_low;
                to->gain_high = p.gain_high;
            }
        }
        int followed = c->whole_batches && to->advice && strcmp(to->advice, PP_ADVICE_BY_BATCH) == 0;
        if (!(to->gain >= PP_WORTH_SAYING) || followed)
            to->advice = NULL;
    }
    if (r->n_ops)
        qsort(r->ops, r->n_ops, sizeof(*r->ops), by_gain);
}

/* ---- the flame graph ---- */

/* Sums of each frame with those that it called; what is too narrow is none. Frames stand behind their
 * callers, and each begins where the one before it, of the same caller, has ended. */
static void list_flame(const struct pp_ops *o, struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_stacks *s = &o->stacks;
    size_t n = s->n_frames;
    double *sum = calloc(4 * n + 1, sizeof(*sum)), *all = sum + n, *at = all + n, *at_all = at + n,
           whole = o->unnamed, whole_all = 0, root = 0, root_all = 0;
    for (size_t i = n; sum && i > 0; i--) {
        uint32_t parent = s->frames[i - 1].parent;
        sum[i - 1] += o->frame_weight[i - 1];
        all[i - 1] += o->frame_n[i - 1];
        *(parent != PP_STACK_NONE ? &sum[parent] : &whole) += sum[i - 1];
        *(parent != PP_STACK_NONE ? &all[parent] : &whole_all) += all[i - 1];
    }
    for (size_t i = 0; sum && i < n && whole_all > 0 && r->n_flame < FLAMES; i++) {
        const struct pp_stack_frame *f = &s->frames[i];
        double *from = f->parent != PP_STACK_NONE ? &at[f->parent] : &root,
               *from_all = f->parent != PP_STACK_NONE ? &at_all[f->parent] : &root_all;
        at[i] = *from;
        at_all[i] = *from_all;
        *from += sum[i];
        *from_all += all[i];
        double width = whole > 0 ? sum[i] / whole : 0, width_all = all[i] / whole_all;
        if (fmax(width, width_all) < NARROWEST)
            continue;
        struct pp_report_flame *to = pp_arena_push(arena, (void **)&r->flame, &r->n_flame, sizeof(*to));
        if (to)
            *to = (struct pp_report_flame){.name = pp_arena_printf(arena, "%.80s",
                                                                   s->functions[f->function].name),
                                           .place = pp_arena_printf(arena, "%.160s:%u",
                                                                    s->functions[f->function].file, f->line),
                                           .depth = f->depth,
                                           .start = whole > 0 ? at[i] / whole : 0,
                                           .width = width,
                                           .start_all = at_all[i] / whole_all,
                                           .width_all = width_all};
    }
    free(sum);
}

/* ---- changes ---- */

static const char *with_place(const struct pp_report_op *op, const char *before, const char *after,
                              struct pp_arena *arena)
{
    const char *place = op->place ? op->place : op->path;
    return place ? pp_arena_printf(arena, "%s%s%s%s", op->name, before, place, after) : op->name;
}

static void offer_ops(const struct pp_costs *c, struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    struct pp_report_fix *changes = pp_arena_alloc(arena, (v->n_fixes + OFFERED) * sizeof(*changes));
    size_t n = v->n_fixes;
    if (!changes)
        return;
    if (n)
        memcpy(changes, v->fixes, n * sizeof(*changes));
    for (size_t i = 0; i < r->n_ops && n < v->n_fixes + OFFERED; i++) {
        const struct pp_report_op *op = &r->ops[i];
        if (!(op->gain >= PP_WORTH_SAYING))
            continue;
        const char *half = pp_arena_printf(arena, "half of %s", with_place(op, " (", ")", arena));
        changes[n++] = (struct pp_report_fix){
            .remedy = &pp_remedies[PP_REMEDY_OP],
            .knob = pp_remedies[PP_REMEDY_OP].knob,
            .to = "half",
            .text = op->advice ? pp_arena_printf(arena, "%s: %s", half, op->advice) : half,
            .set = pp_arena_printf(arena, "op=%s:0.5", op->word),
            .change = half,
            .effort = PP_AN_AMOUNT,
            .gain = op->gain,
            .low = op->gain_low,
            .high = op->gain_high,
            .samples_per_s = c->made_per_batch > 0 ? NAN : pp_whatif_measured(c) * (1 + op->gain)};
    }
    v->fixes = changes;
    v->n_fixes = n;
}

void pp_ops_tell(const struct pp_costs *c, int replayed, struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_ops *o = &c->ops;
    r->op_samples = o->n_ops || o->step_n > 0 ? o->weighted : NAN;
    for (size_t i = 0; o->steps_known && i < o->n_steps && r->n_step_lines < PP_REPORT_OPS; i++) {
        const struct pp_op_step *s = &o->steps[i];
        struct pp_report_step_line *to = s->share >= LISTED ? pp_arena_push(arena, (void **)&r->step_lines,
                                                                            &r->n_step_lines, sizeof(*to))
                                                            : NULL;
        if (to)
            *to = (struct pp_report_step_line){pp_arena_copy(arena, s->name),
                                               pp_arena_copy(arena, s->place),
                                               pp_arena_copy(arena, s->callee),
                                               s->share,
                                               s->share_low,
                                               s->share_high,
                                               s->cpu / s->n};
    }
    if (r->verdict.remedy == &pp_remedies[PP_REMEDY_SAMPLER] && pp_op_step_is_told(&o->draws))
        r->verdict.next_step = pp_arena_printf(arena, "%s Most of it: %s, %s.", r->verdict.next_step,
                                               o->draws.name, o->draws.place);
    if (!o->n_ops)
        return;
    if (o->missing_s > 0)
        r->why_no_ops = o->missing_s < ASKED_MOST_S
                            ? pp_arena_printf(
                                  arena,
                                  "record %.0f s more: the report then names the lines that cost the stall",
                                  o->missing_s)
                            : "the trainer waited too seldom for the batches whose stacks were seen";
    if (o->missing_s > 0 && o->missing_s < MORE_MOST_S)
        return;
    list_ops(c, replayed, arena, r);
    list_flame(o, arena, r);
    if (replayed)
        offer_ops(c, arena, r);
}

/* ---- the cause ---- */

/* A sentence has four numbers: a name with more than one is said without its arguments. */
static const char *named(const struct pp_report_op *op, size_t may_have, struct pp_arena *arena)
{
    size_t n = 0;
    for (const char *p = op->name; *p; p++)
        n += *p >= '0' && *p <= '9' && !(p > op->name && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == '.'));
    const char *name = n > may_have ? pp_arena_printf(arena, "%.*s", (int)strcspn(op->name, "("), op->name)
                                    : op->name;
    const char *place = op->place ? op->place : op->path;
    return place ? pp_arena_printf(arena, "%s, %s,", name, place) : name;
}

/* What is known of the op; else what the verdict knew of data set or batch; else what holds for any. */
static const char *advice_on(const struct pp_report_op *op, const struct pp_report_verdict *v, int now)
{
    int of_library = strstr(op->name, " in ") != NULL; /* and not of what holds the data */
    int knows = now && v->next_step &&
                ((v->remedy == &pp_remedies[PP_REMEDY_SAMPLE_HELD] && !of_library) ||
                 v->remedy == &pp_remedies[PP_REMEDY_BY_BATCH] ||
                 v->remedy == &pp_remedies[PP_REMEDY_COLLATE]);
    return op->advice ? op->advice : knows ? v->next_step : pp_op_advice_any;
}

/* The op of the judged loader whose half gains most; *second: the next one, which it cannot be told from. */
static const struct pp_report_op *hottest(const struct pp_report *r, const struct pp_report_op **second)
{
    const struct pp_report_op *first = NULL, *largest = NULL;
    *second = NULL;
    for (size_t i = 0; i < r->n_ops; i++)
        if (r->ops[i].judged && r->ops[i].share >= A_CAUSE && !first)
            first = &r->ops[i];
    for (size_t i = 0; first && i < r->n_ops; i++)
        if (&r->ops[i] != first && r->ops[i].judged && (!largest || r->ops[i].share > largest->share))
            largest = &r->ops[i];
    if (largest && largest->high >= first->low && largest->share >= A_CAUSE)
        *second = largest;
    return first;
}

/* Of a job whose input keeps up, or whose step waits for a CPU. Of a GPU's, waiting lines say nothing. */
static void name_step(struct pp_report *r, int waits, int beside, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_step_line *s = r->step_lines;
    char share[CELL];
    if (!r->n_step_lines || s->low < PP_LARGE_LINE || r->gpu || v->outside || r->ended_remedy)
        return;
    const char *line = pp_arena_printf(arena, "What takes most of a step: %s, %s, %s",
                                       s->callee ? s->callee : s->name, s->place,
                                       pp_text_share(share, CELL, s->share));
    if (r->n_step_lines > 1 && s[1].low >= PP_LARGE_LINE)
        line = pp_arena_printf(arena, "%s; then %s, %s, %s", line, s[1].callee ? s[1].callee : s[1].name,
                               s[1].place, pp_text_share(share, CELL, s[1].share));
    /* A line that mostly waits, and takes more than the step waits for a CPU, is what to change. */
    int stands_first = s->cpu_share < HALF && s->low > v->stretched;
    if (strcmp(v->l0, "not-input-bound") == 0)
        v->next_step = pp_arena_printf(arena, "%s %s.",
                                       stands_first ? "Batches come in time. Optimise the step itself."
                                                    : v->next_step,
                                       line);
    else if (strcmp(v->l0, "cpu-starved") == 0 && (!v->then || beside))
        v->then = pp_arena_printf(arena, "%s%s%s.",
                                  v->then ? v->then
                                  : waits ? ""
                                          : "the step itself.",
                                  v->then || !waits ? " " : "", line);
}

/* The cause that the rules have for such an op, were it the first. */
static const char *cause_of(const struct pp_report_op *op, const struct pp_report *r)
{
    enum pp_remedy_id remedy = op->of_batch                        ? PP_REMEDY_COLLATE
                               : op->path || pp_loader_words_of(r) ? PP_REMEDY_AUGMENT
                                                                   : PP_REMEDY_SAMPLE_CODE;
    size_t i = 0;
    while (i + 1 < pp_cause_rules_replay_n && pp_cause_rules_replay[i].remedy != remedy)
        i++;
    return pp_cause_rules_replay[i].l2;
}

/* 1: the op stands beside others' load, as what the job itself can do. */
static int name_op(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_op *second, *op = hottest(r, &second);
    char share[CELL], gain[CELL];
    const struct pp_remedy *asked = v->remedy;
    int now = asked && (pp_remedy_is_done_by(asked, "work") || asked == &pp_remedies[PP_REMEDY_WHAT_BLOCKS]),
        beside = op && !v->then && v->l2 && strcmp(v->l2, "cpu-contended") == 0 &&
                 (op->gain >= PP_WORTH_SAYING ||
                  (isnan(op->gain) && op->low >= HALF && r->data_wait_share >= pp_level_rules[0].at_least));
    int then = beside || (v->then && v->then_l1 && strcmp(v->then_l1, "transform") == 0);
    if (!op || !v->cause || r->why_no_ops)
        return 0;
    if (asked == &pp_remedies[PP_REMEDY_READ_AHEAD] && op->low >= HALF)
        v->next_step = pp_arena_printf(arena, "%s Its pages are touched in %s.", v->next_step,
                                       with_place(op, ", ", "", arena));
    pp_text_share(share, CELL, op->share + (second ? second->share : 0));
    if (!now && !then) { /* another arrangement hides it, and leaves its work to do */
        if (v->then_l1 && op->low + (second ? second->low : 0) >= HALF) /* beside a cause of the input */
            v->then = pp_arena_printf(arena, "%s Or make %s%s%s cheaper: %s of the stall.%s%s", v->then,
                                      with_place(op, " (", ")", arena), second ? " and " : "",
                                      second ? with_place(second, " (", ")", arena) : "", share,
                                      op->advice ? " " : "", op->advice ? op->advice : "");
        return 0;
    }
    pp_text_gain(gain, CELL, op->gain, NAN, NAN);
    const char *gains = op->gain >= PP_WORTH_SAYING ? pp_arena_printf(arena, "; half of %s gains %s",
                                                                      second ? "the first" : "it", gain)
                                                    : "";
    const char *who = second
                          ? pp_arena_printf(arena, "%s and %s", named(op, 0, arena), named(second, 0, arena))
                          : named(op, 1, arena),
               *are = second || strstr(op->name, " and ") ? "are" : "is",
               *cause = pp_arena_printf(arena, "%s %s %s of the stall%s", who, are, share, gains);
    const char *step = pp_arena_printf(arena, "Make %s cheaper. %s", with_place(op, " (", ")", arena),
                                       advice_on(op, v, now));
    if (!now) {
        v->then_l1 = beside ? v->l1 : v->then_l1; /* the job's own, which stays to be done */
        v->then_l2 = beside ? cause_of(op, r) : v->then_l2;
        v->then = pp_arena_printf(arena, "%s. %s", cause, step);
        return beside;
    }
    int by_batch = v->remedy == &pp_remedies[PP_REMEDY_BY_BATCH];
    v->cause = by_batch ? pp_arena_printf(arena, "samples are made one by one. %s", cause) : cause;
    if (v->action.fix)
        return 0;
    if (!by_batch || (op->advice && !op->of_batch && strcmp(op->advice, PP_ADVICE_BY_BATCH) != 0)) {
        v->remedy = &pp_remedies[PP_REMEDY_OP];
        v->next_step = step;
    }
    v->action.amount = pp_arena_printf(arena, "op=%s:0.5", op->word);
    v->action.candidate = NULL;
    return 0;
}

void pp_ops_speak(struct pp_report *r, struct pp_arena *arena)
{
    int waits = r->data_wait_share >= PP_LEAST_SHARE && strcmp(r->verdict.l0, "cpu-starved") == 0;
    /* Where the step waits for a CPU: what the workers have them for. */
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_op *most = NULL;
    char share[CELL];
    for (size_t i = 0; i < r->n_ops && v->stretched > 0; i++)
        most = most && most->share_all >= r->ops[i].share_all ? most : &r->ops[i];
    if (most && most->share_all >= 0.5 && !r->why_no_ops)
        v->next_step = pp_arena_printf(arena, "%s Most of the workers' time: %s, %s.", v->next_step,
                                       with_place(most, ", ", "", arena),
                                       pp_text_share(share, CELL, most->share_all));
    if (!waits)
        name_step(r, 0, 0, arena);
    /* Where the lock is taken that workers wait for. */
    size_t lock = 0;
    while (lock < r->n_ops && !(r->ops[lock].is_lock && r->ops[lock].judged))
        lock++;
    int beside = 0;
    if (v->remedy == &pp_remedies[PP_REMEDY_HOLD_LESS] && lock < r->n_ops && !r->why_no_ops)
        v->next_step = pp_arena_printf(arena, "%s It is taken in %s.", v->next_step,
                                       with_place(&r->ops[lock], ", ", "", arena));
    else
        beside = name_op(r, arena);
    if (waits)
        name_step(r, 1, beside, arena);
}

#define ELSE_LEAST 0.15 /* gain of the other way, and */
#define ELSE_PART 0.33  /* of the chosen one's */

void pp_ops_other_way(struct pp_report *r, struct pp_arena *arena)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_report_fix *chosen = v->action.fix, *best = NULL;
    const struct pp_report_op *second, *op = hottest(r, &second);
    const struct pp_report_fix *unsure = chosen ? NULL : v->action.candidate;
    int sets = chosen && chosen->effort == 0,
        surer = unsure && unsure->effort == 0 && op && op->gain_low > 0; /* than a setting that may lose */
    double least = fmax(ELSE_LEAST, chosen ? ELSE_PART * chosen->gain : 0);
    char gain[CELL], share[CELL], rate[CELL];
    int of_others = v->l2 && strcmp(v->l2, "cpu-contended") == 0, /* whose gains are of less load */
        said = v->action.depends && !v->action.amount;            /* with what it depends on */
    if (v->then || of_others || said || !v->l1 || !v->next_step)
        return;
    /* Changes in the code whose cost was seen; half of a line is another thing. */
    static const enum pp_remedy_id seen[] = {PP_REMEDY_UNPICKLE_LESS,      PP_REMEDY_SAMPLER,
                                             PP_REMEDY_REMOTE_CONNECTIONS, PP_REMEDY_REMOTE_ASK_ONCE,
                                             PP_REMEDY_REMOTE_HOST,        PP_REMEDY_LARGER_SHARDS};
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        int is_code = 0;
        for (size_t k = 0; k < sizeof(seen) / sizeof(*seen); k++)
            is_code |= f->effort == 1 && f->remedy == &pp_remedies[seen[k]];
        if (f != chosen && (sets ? is_code : f->is_argument && f->effort == 0 && !pp_loader_words_of(r)) &&
            f->low > 0 && f->advice != PP_ADVICE_NO && f->gain >= least && (!best || f->gain > best->gain))
            best = f;
    }
    if (best)
        v->other = pp_arena_printf(arena, "%s: %s%s%s", best->change,
                                   isnan(best->samples_per_s)
                                       ? ""
                                       : pp_text_predicted(rate, CELL, best->samples_per_s),
                                   isnan(best->samples_per_s) ? "" : " samples/s, ",
                                   pp_text_gain(gain, CELL, best->gain, best->low, best->high));
    else if ((sets || surer) && op && !r->why_no_ops && op->gain >= least)
        v->other = pp_arena_printf(arena,
                                   "Make %s cheaper: it is %s of the stall, and half of it gains %s.%s%s",
                                   with_place(op, " (", ")", arena), pp_text_share(share, CELL, op->share),
                                   pp_text_gain(gain, CELL, op->gain, NAN, NAN), op->advice ? " " : "",
                                   op->advice ? op->advice : "");
}

/* What is read for nothing costs the op its work, too: all of that at most, and a half for sure. */
void pp_ops_read_less(const struct pp_costs *c, struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    const struct pp_remedy *row = &pp_remedies[PP_REMEDY_READ_LESS];
    const struct pp_report_op *second, *op = hottest(r, &second);
    struct pp_report_finding *read = NULL;
    struct pp_knobs k = pp_knobs_none();
    struct pp_prediction p;
    struct pp_err why;
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].next_step && strcmp(r->findings[i].next_step, row->sentence) == 0)
            read = &r->findings[i];
    if (!read || !op || op->path || op->low < HALF || op->advice || v->remedy != &pp_remedies[PP_REMEDY_OP])
        return; /* a member of a transform reads nothing */
    pp_op_scale(&k, c, pp_ops_find(&c->ops, op->word, strlen(op->word)), LEAST_READ);
    if (!((isnan(op->gain_low) ? op->gain : op->gain_low) > 0) || /* a glance has no intervals */
        pp_whatif(c, &k, &p, &why) != PP_OK)
        return;
    pp_changes_put_first(
        &(struct pp_report_fix){.remedy = row,
                                .knob = pp_remedies[PP_REMEDY_OP].knob,
                                .to = "what a sample needs",
                                .text = row->sentence,
                                .set = pp_arena_printf(arena, "op=%s:%g", op->word, LEAST_READ),
                                .change = pp_arena_printf(arena, "%s reads only what a sample needs",
                                                          op->name),
                                .effort = 1,
                                .gain = p.gain,
                                .low = op->gain_low,
                                .high = p.gain_high,
                                .samples_per_s = c->made_per_batch > 0 ? NAN : p.samples_per_s,
                                .assumes = "half of its work at least is what it reads for nothing",
                                .advice = PP_ADVICE_DO},
        arena, v);
    v->remedy = row;
    v->next_step = pp_arena_printf(arena, "Make %s cheaper. %s", with_place(op, " (", ")", arena),
                                   row->sentence);
    v->action = (struct pp_report_action){.fix = v->fixes, .words = pp_action_plain(row->pytorch, arena)};
    read->next_step = NULL;
}
