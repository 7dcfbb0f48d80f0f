#include "report/resume/compare.h"
#include "probe/base/err.h"
#include "report/rules/remedies.h"

struct judging {
    const struct pp_resume_input *in;
    struct pp_resume *out;
    struct pp_resume_answer *answer; /* of the chain in hand */
    double number[PP_RESUME_FACT_COUNT];
    const char *text[PP_RESUME_FACT_COUNT];
    int no_memory;
};

static void forget_facts(struct judging *j)
{
    for (size_t i = 0; i < PP_RESUME_FACT_COUNT; i++) {
        j->number[i] = NAN;
        j->text[i] = NULL;
    }
}

/* ---- what is said ---- */

/* r: what went wrong; NULL: none of its lines is told. */
static void name_culprit(struct judging *j, const struct pp_resume_run *r)
{
    struct pp_resume_answer *a = j->answer;
    const struct pp_values v = {pp_resume_facts, PP_RESUME_FACT_COUNT, j->number, j->text};
    int all;
    const struct pp_rule *rule = pp_rules_first(pp_resume_rules, pp_resume_culprits_n, &v), *coded = rule;
    if (!rule)
        return;
    while (!coded->l1) /* another rule of the same culprit */
        coded--;
    a->culprit = coded->l1;
    a->culprit_sentence = pp_rules_fill(rule->said, &v, &j->out->arena);
    /* "sampler_epoch 0, sampler_epoch_before 1": those of the rule's facts that are known; all: each is. */
    const char *list = NULL;
    all = rule->shows != NULL;
    for (const char *p = rule->shows; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        char name[40], value[64];
        unsigned fact = pp_fact_find(&v, p, strcspn(p, " "));
        if (!pp_fact_is_known(&v, fact)) {
            all = 0;
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, " "), p);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        list = pp_arena_printf(&j->out->arena, "%s%s%s %s", list ? list : "", list ? ", " : "", name,
                               j->text[fact] ? j->text[fact] : pp_fact_value(&v, fact, value, sizeof(value)));
    }
    a->evidence = list;
    a->confidence = all ? "facts" : "pattern";
    a->fix = pp_remedies[rule->remedy].sentence;
    for (size_t i = 0; r && i < r->iterations && !a->line; i++)
        a->line = r->iteration[i].line;
}

/* untold: why nothing can be told; NULL: it can. */
static void conclude(struct judging *j, const char *untold)
{
    j->text[PP_RESUME_FACT_WHY] = untold;
    const struct pp_values v = {pp_resume_facts, PP_RESUME_FACT_COUNT, j->number, j->text};
    const struct pp_rule *kinds = pp_resume_rules + pp_resume_culprits_n,
                         *rule = pp_rules_first(kinds, PP_RESUME_KINDS, &v);
    j->answer->kind = (enum pp_resume_kind)(rule - kinds);
    j->answer->kind_name = rule->l1;
    j->answer->sentence = pp_rules_fill(rule->said, &v, &j->out->arena);
}

/* ---- what can be told at all ---- */

static const char *missing_of(struct judging *j, const struct pp_resume_start *s, const char *of, int resumed)
{
    for (size_t i = 0; i < s->ranks; i++)
        if (s->rank[i].unknown && !(resumed && s->rank[i].idle))
            return pp_arena_printf(&j->out->arena, "It cannot be told: of %s %s.", of, s->rank[i].unknown);
    return NULL;
}

size_t pp_resume_first_unlike(const struct pp_resume_start *a, const struct pp_resume_start *b)
{
    size_t first = PP_RESUME_NOWHERE;
    for (size_t r = 0; r < a->ranks && r < b->ranks; r++)
        for (size_t k = 0; k < a->rank[r].n && k < b->rank[r].n && k < first; k++)
            if (a->rank[r].batch[k].order != b->rank[r].batch[k].order)
                first = k;
    return first;
}

void pp_resume_note_bytes(struct pp_resume_start *a, const struct pp_resume_start *b)
{
    for (size_t r = 0; r < a->ranks && r < b->ranks; r++)
        for (size_t k = 0; k < a->rank[r].n && k < b->rank[r].n; k++) {
            const struct pp_resume_batch *x = &a->rank[r].batch[k], *y = &b->rank[r].batch[k];
            a->rank[r].bytes_vary |= x->order == y->order && x->files == y->files && x->content &&
                                     y->content && x->content != y->content;
        }
}

/* The order is not reproducible even without a kill: why. NULL: it is, but perhaps for the files that stand
 * behind the numbers, which is a fault that every resume has as well. */
static const char *unlike_of(struct judging *j, const struct pp_resume_start *b, const char *who)
{
    size_t first = pp_resume_first_unlike(&j->in->control[0], b);
    return first == PP_RESUME_NOWHERE
               ? NULL
               : pp_arena_printf(
                     &j->out->arena,
                     "It cannot be told: the order is not reproducible even without a kill. %s differs from the uninterrupted run in batch %zu.",
                     who, first);
}

/* ---- a chain ---- */

static void fill_answer(struct judging *j, const struct pp_resume_start *s, const struct resume_compared *c)
{
    struct pp_resume_answer *a = j->answer;
    const struct pp_resume_run *control = &j->in->control[0].rank[c->rank];
    size_t behind = 0, due = pp_resume_spot_of(control, c->from).iteration;
    for (size_t i = 0; i < control->iterations; i++)
        behind += i > due && control->iteration[i].n && control->iteration[i].first < c->from + c->compared;
    a->resumed_at = j->number[PP_RESUME_FACT_RESUMED_AT] = (double)c->from;
    a->compared = j->number[PP_RESUME_FACT_COMPARED] = (double)c->compared;
    a->epochs_behind = (double)behind;
    j->number[PP_RESUME_FACT_EPOCHS_BEHIND] = behind ? (double)behind : NAN;
    if (c->first == PP_RESUME_NOWHERE)
        return;
    struct pp_resume_spot at = pp_resume_spot_of(control, c->first);
    size_t begins = at.iteration < control->iterations ? control->iteration[at.iteration].first : control->n;
    a->first = j->number[PP_RESUME_FACT_FIRST] = (double)c->first;
    a->first_epoch = j->number[PP_RESUME_FACT_FIRST_EPOCH] = (double)at.iteration;
    a->first_in_epoch = j->number[PP_RESUME_FACT_FIRST_IN_EPOCH] = (double)(c->first - begins);
    a->rank = (double)s->rank[c->rank].rank;
    a->repeated = c->repeated;
    a->left_out = c->left_out;
    j->number[PP_RESUME_FACT_REPEATED] = c->repeated > 0 ? c->repeated : NAN;
    j->number[PP_RESUME_FACT_LEFT_OUT] = c->left_out > 0 ? c->left_out : NAN;
    if (c->repeated + c->left_out > 0) {
        a->counted_to = (double)c->until;
        /* "the end of epoch 1": behind so many batches. */
        const char *until = c->until >= control->n && control->finished ? "the end of the training" : NULL;
        for (size_t i = 0; i < control->iterations && !until; i++) {
            const struct pp_resume_iteration *it = &control->iteration[i];
            if (it->n && it->first + it->n == c->until && (it->ended || i + 1 < control->iterations))
                until = pp_arena_printf(&j->out->arena, "the end of epoch %zu", i);
        }
        j->text[PP_RESUME_FACT_UNTIL] = until ? until
                                              : pp_arena_printf(&j->out->arena, "batch %zu", c->until);
    }
    j->text[PP_RESUME_FACT_WHO] = s->ranks != j->in->control[0].ranks
                                      ? "the ranks together have"
                                      : pp_arena_printf(&j->out->arena, "rank %lld has",
                                                        (long long)s->rank[c->rank].rank);
    const char *again = NULL;
    for (size_t i = 0; i < control->iterations && !again; i++)
        if (control->iteration[i].first > c->last && control->iteration[i].first < c->from + c->compared)
            again = pp_arena_printf(&j->out->arena, "Epoch %zu", i);
    j->text[PP_RESUME_FACT_RIGHT_AGAIN] = again;
    j->text[PP_RESUME_FACT_HOW_FAILED] = s->failed;
}

/* A start that should go on behind `from` batches, or behind `before` of them, or between. 1: it does. */
static int judge_start(struct judging *j, const struct pp_resume_start *s, size_t *from, size_t before,
                       int how)
{
    const struct pp_resume_start *control = &j->in->control[0];
    struct resume_compared c, other;
    int worlds = control->ranks != s->ranks, late = !worlds && how & PP_RESUME_LATE,
        in_save = how & PP_RESUME_TORN;
    if (!s->ranks || (!s->rank[0].n && s->rank[0].failed)) {
        const char *how_failed = s->failed ? s->failed : "failed";
        j->answer->resumed_at = (double)*from;
        j->number[PP_RESUME_FACT_FAILED] = j->number[PP_RESUME_FACT_IN_SAVE] = 1;
        if (in_save)
            name_culprit(j, NULL);
        conclude(j, pp_arena_printf(&j->out->arena, "%s: before its first batch the resumed run %s.",
                                    in_save ? "Not exact" : "It cannot be told", how_failed));
        j->answer->kind = in_save ? PP_RESUME_DIFFERS : PP_RESUME_UNTOLD;
        j->answer->kind_name = pp_resume_rules[pp_resume_culprits_n + j->answer->kind].l1;
        return 0;
    }
    int ok = (worlds ? resume_compare_worlds : resume_compare)(control, s, *from, &c);
    for (size_t at = before; ok && c.first != PP_RESUME_NOWHERE && at < *from; at = late ? at + 1 : *from) {
        if (late && !(s->rank[0].n && at < control->rank[0].n &&
                      control->rank[0].batch[at].order == s->rank[0].batch[0].order))
            continue;
        ok = (worlds ? resume_compare_worlds : resume_compare)(control, s, at, &other);
        if (ok && other.first == PP_RESUME_NOWHERE) {
            c = other;
            *from = at;
            j->answer->older = 1;
        }
    }
    j->no_memory |= !ok;
    if (!ok)
        return 0;
    fill_answer(j, s, &c);
    int at_end = control->rank[0].finished && s->rank[0].finished; /* there is nothing left to do */
    if (c.first == PP_RESUME_NOWHERE) {
        const char *why =
            s->failed
                ? pp_arena_printf(&j->out->arena,
                                  "It cannot be told: %zu batches of the resumed run are right, then it %s.",
                                  c.compared, s->failed)
            : c.compared > 0 || at_end
                ? NULL
                : "It cannot be told: behind the checkpoint there is no batch that both runs have.";
        conclude(j, why);
        return !why;
    }
    forget_facts(j);
    resume_measure(control, s, &c, &j->out->arena, j->number, j->text);
    if (!isnan(j->number[PP_RESUME_FACT_RESTART]) && s->rank[c.rank].restored == 0) {
        conclude(
            j,
            "It cannot be told: the resumed run loaded no checkpoint and began at batch 0. It does not resume by itself: give the command that does with --resume-with.");
        return 0;
    }
    if (s->rank[c.rank].restored == 1)
        j->text[PP_RESUME_FACT_RESTORED] = "a checkpoint";
    name_culprit(j, &s->rank[c.rank]);
    fill_answer(j, s, &c);
    j->number[PP_RESUME_FACT_RANK] = (double)s->rank[c.rank].rank;
    conclude(j, NULL);
    return 0;
}

static void judge_chain(struct judging *j, const struct pp_resume_chain *chain)
{
    const struct pp_resume_start *control = &j->in->control[0];
    size_t from = 0;
    const char *why = chain->why ? chain->why : missing_of(j, control, "the uninterrupted run", 0);
    for (size_t s = 0; s < chain->starts && !why; s++)
        why = missing_of(j, &chain->start[s], s ? "a resumed run" : "the run that was killed", s > 0);
    if (!why && chain->start[0].ranks != control->ranks)
        why = "It cannot be told: the run that was killed has other ranks than the uninterrupted one.";
    for (size_t s = 1; s < chain->starts && !why; s++)
        if (control->rank[0].hashed && chain->start[s].ranks != control->ranks)
            why =
                "It cannot be told: digests have hashes of batches, which are others at another number of ranks. Name the recordings.";
    if (!why)
        why = unlike_of(j, &chain->start[0], "The run that was killed");
    if (chain->starts)
        j->answer->killed_at = chain->start[0].ranks ? (double)chain->start[0].rank[0].n : NAN;
    if (!why && chain->starts && !pp_resume_saved(&chain->start[0], &(size_t){0}, &(size_t){0}))
        why =
            "It cannot be told: no checkpoint was seen before the kill. A job that saves in its training thread, with torch.save, is seen.";
    if (!why && chain->starts < 2)
        why = "It cannot be told: nothing was resumed.";
    if (why) {
        conclude(j, why);
        return;
    }
    for (size_t s = 1; s < chain->starts && !j->no_memory; s++) {
        size_t saved = 0, before = 0;
        int how = pp_resume_saved(&chain->start[s - 1], &saved, &before);
        forget_facts(j);
        j->answer->resume = (double)s;
        j->answer->killed_at = (double)(from +
                                        (chain->start[s - 1].ranks ? chain->start[s - 1].rank[0].n : 0));
        before += from;
        from += how ? saved : 0;
        if (!judge_start(j, &chain->start[s], &from, how ? before : from, how))
            return;
    }
}

/* ---- all of them ---- */

static void sum_up(struct judging *j)
{
    struct pp_resume *out = j->out;
    const struct pp_resume_answer *said = NULL;
    out->exact = out->differing = out->untold = 0;
    for (size_t i = 0; i < out->answers; i++) {
        const struct pp_resume_answer *a = &out->answer[i];
        out->exact += a->kind == PP_RESUME_EXACT;
        out->differing += a->kind == PP_RESUME_DIFFERS;
        out->untold += a->kind == PP_RESUME_UNTOLD;
        /* What differs is worse than what is not known. */
        if (!said || (a->kind == PP_RESUME_DIFFERS && said->kind != PP_RESUME_DIFFERS) ||
            (a->kind == PP_RESUME_UNTOLD && said->kind == PP_RESUME_EXACT))
            said = a;
    }
    out->said = said;
    out->kind = said ? said->kind : PP_RESUME_UNTOLD;
    out->kind_name = said ? said->kind_name : "cannot-be-told";
    out->sentence =
        j->in->why ? j->in->why
        : !said    ? "It cannot be told: nothing was resumed."
        : said->kind == PP_RESUME_EXACT && out->answers > 1
            ? pp_arena_printf(
                  &out->arena,
                  "Exact: after each of %zu kills the resumed run goes on with the samples that the uninterrupted one has.",
                  out->answers)
            : said->sentence;
    int bytes_vary = 0;
    for (size_t r = 0; j->in->controls && r < j->in->control[0].ranks; r++)
        bytes_vary |= j->in->control[0].rank[r].bytes_vary;
    out->note =
        bytes_vary
            ? "the bytes of samples differ between two uninterrupted runs as well (augmentation is not seeded), and are not compared"
            : "losses and weights are not compared, only samples, their order and their ranks";
}

pp_status pp_resume_judge(const struct pp_resume_input *in, struct pp_resume *out, struct pp_err *err)
{
    struct judging j = {.in = in, .out = out};
    *out = (struct pp_resume){.ranks = in->controls ? (double)in->control[0].ranks : NAN};
    out->answer = pp_arena_alloc(&out->arena, (in->chains + 1) * sizeof(*out->answer));
    const char *unlike = NULL;
    for (size_t i = 0; out->answer && i < in->chains && !j.no_memory; i++) {
        j.answer = &out->answer[out->answers++];
        *j.answer = (struct pp_resume_answer){.name = in->chain[i].name, .kill = in->chain[i].kill};
        for (double *number = &j.answer->resume; number <= &j.answer->counted_to; number++)
            *number = NAN;
        forget_facts(&j);
        if (in->controls > 1)
            unlike = unlike_of(&j, &in->control[1], "A second uninterrupted run");
        if (unlike)
            conclude(&j, unlike);
        else
            judge_chain(&j, &in->chain[i]);
    }
    if (out->answer)
        sum_up(&j);
    return j.no_memory || pp_arena_failed(&out->arena)
               ? pp_fail(err, PP_E_NO_MEMORY, "no memory to compare the runs")
               : PP_OK;
}
