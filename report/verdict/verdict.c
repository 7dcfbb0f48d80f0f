#include "report/verdict/verdict.h"

#include "report/verdict/causes.h"

#include "probe/base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct judge {
    const struct pp_facts *facts;
    struct pp_arena *arena;
    struct pp_report_verdict *out;
};

enum { LAWS = 3 };
static const enum pp_metric law_metrics[LAWS] = {PP_METRIC_LAW_UTILISATION, PP_METRIC_LAW_SERVICE,
                                                 PP_METRIC_LAW_LITTLE};
static const char *const law_where_names[LAWS] = {"law_utilisation_where", "law_service_where",
                                                  "law_little_where"};

static const char *owner_name(const struct pp_facts *f)
{
    const struct pp_phase_info *info = pp_phase_info(f->owner);
    return info ? info->name : "the hand-off";
}

/* The value of {name} (len bytes), and of {name|one|many} the value with the word that fits its number: "1
 * worker", "8 workers". NULL for a name that is none, so that a wrong rule shows in its text. */
static const char *value_of(const struct pp_facts *f, const char *name, size_t len, char *buf, size_t size)
{
    char text[96], value[48];
    snprintf(text, sizeof(text), "%.*s", (int)len, name);
    char *one = strchr(text, '|'), *many = one ? strchr(one + 1, '|') : NULL;
    if (many)
        *one++ = *many++ = '\0';
    if (strcmp(text, "owner") == 0)
        return owner_name(f);
    for (int k = 0; k < LAWS; k++)
        if (strcmp(text, law_where_names[k]) == 0)
            return f->law_where[k] ? f->law_where[k] : "";
    if (strcmp(text, "gpu_not_measured") == 0)
        return f->gpu_not_measured;
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        if (strcmp(pp_metric_infos[m].name, text) == 0) {
            pp_unit_text(pp_metric_infos[m].unit, f->metric[m], value, sizeof(value));
            snprintf(buf, size, "%s%s%s", value, many ? " " : "",
                     !many               ? ""
                     : f->metric[m] == 1 ? one
                                         : many);
            return buf;
        }
    return NULL;
}

/* A rule's sentence with its values filled in. */
static const char *fill(const struct judge *j, const char *sentence)
{
    char text[640], value[96];
    size_t at = 0;
    for (const char *p = sentence; *p && at + 1 < sizeof(text);) {
        size_t len = strcspn(p + 1, "}");
        const char *v = *p == '{' ? value_of(j->facts, p + 1, len, value, sizeof(value)) : NULL;
        if (!v) {
            text[at++] = *p++;
            continue;
        }
        int n = snprintf(text + at, sizeof(text) - at, "%s", v);
        at = at + (size_t)n < sizeof(text) ? at + (size_t)n : sizeof(text) - 1;
        p += len + 2;
    }
    text[at] = '\0';
    return pp_arena_copy(j->arena, text);
}

static void add_evidence(const struct judge *j, enum pp_metric m, const char *threshold, int supports)
{
    struct pp_report_verdict *v = j->out;
    char value[48];
    if (v->evidences == sizeof(v->evidence) / sizeof(v->evidence[0]) || isnan(j->facts->metric[m]))
        return;
    v->evidence[v->evidences++] = (struct pp_report_evidence){
        .name = pp_metric_infos[m].text,
        .value = pp_arena_copy(j->arena, pp_unit_text(pp_metric_infos[m].unit, j->facts->metric[m], value,
                                                      sizeof(value))),
        .threshold = threshold,
        .supports = supports,
    };
}

/* ---- may anything be said ---- */

static const struct pp_guard_rule *failing_guard(const struct pp_facts *f)
{
    for (size_t i = 0; i < pp_guard_rules_n; i++) {
        const struct pp_guard_rule *g = &pp_guard_rules[i];
        double v = f->metric[g->metric];
        if (!(g->at_least ? v >= g->limit : v <= g->limit) && !(g->if_known && isnan(v)))
            return g;
    }
    return NULL;
}

/* The guard's reason and remedy, unless what kept the batches from coming is known: then running longer would
 * not help. */
static void judge_inconclusive(const struct judge *j, const struct pp_guard_rule *g)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    char limit[48];
    v->l0 = "inconclusive";
    v->reason = fill(j, g->reason);
    v->next_step = g->remedy;
    if (!f->has_steady_state && f->failed) {
        v->reason = "the run failed before a steady state was reached";
        v->next_step = "Fix the failure: its message names it, and the errors list the files.";
    } else if (!f->has_steady_state) {
        v->reason = "the recording ends before a steady state was reached";
    } else if (g->metric == PP_METRIC_BATCHES && f->only_first_batches) {
        v->reason = "an epoch has one batch, so every wait is an epoch boundary and cannot be judged";
        v->next_step = "Use more data, or a smaller --batch-size.";
    }
    v->sentence = pp_arena_printf(j->arena, "INCONCLUSIVE: %s", v->reason);
    pp_unit_text(pp_metric_infos[g->metric].unit, g->limit, limit, sizeof(limit));
    add_evidence(j, g->metric,
                 pp_arena_printf(j->arena, "%s %s is needed: %s", g->at_least ? "at least" : "at most", limit,
                                 g->source),
                 -1);
}

/* ---- what the owner is bound by ---- */

/* Where the trainer hardly waits, what stretches its steps is a want of CPU. Without an owner of the stalls,
 * the replay may still know it. */
static const struct pp_cause_rule *find_cause(const struct pp_facts *f)
{
    if (f->starved_alone) /* what little wait there is has owners of its own, which are none of this */
        return pp_cause_of_starving(f);
    if (!f->owner_known && !f->starved)
        return NULL;
    const struct pp_cause_rule *cause = pp_cause_first(f, pp_cause_rules_replay, pp_cause_rules_replay_n);
    return cause ? cause : pp_cause_first(f, pp_cause_rules_shares, pp_cause_rules_shares_n);
}

static void show_cause(const struct judge *j, const struct pp_cause_rule *rule)
{
    if (j->facts->owner_known)
        add_evidence(j, PP_METRIC_OWNER_SHARE,
                     pp_arena_printf(j->arena, "%s has the largest part", owner_name(j->facts)), 1);
    for (int k = 0; k < PP_CONDITIONS_MOST && rule->when[k].compare != PP_NO_CONDITION; k++) {
        const struct pp_condition *c = &rule->when[k];
        char limit[64];
        add_evidence(j, c->metric,
                     pp_arena_printf(j->arena, "%s: %s", pp_condition_text(c, limit, sizeof(limit)),
                                     c->source),
                     1);
    }
}

/* The laws that hold (one that does not is what made the verdict inconclusive), and which bound the
 * throughput is nearest to. */
static void show_laws(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    if (f->bound)
        add_evidence(j, PP_METRIC_BOUND,
                     pp_arena_printf(j->arena, "of the limit of %s at the recorded cost; the nearest bound",
                                     f->bound),
                     0);
    for (size_t i = 0; i < pp_guard_rules_n; i++)
        for (int k = 0; k < LAWS; k++)
            if (pp_guard_rules[i].metric == law_metrics[k] &&
                f->metric[law_metrics[k]] <= pp_guard_rules[i].limit) {
                char limit[48];
                pp_unit_text(PP_UNIT_SHARE, pp_guard_rules[i].limit, limit, sizeof(limit));
                add_evidence(j, law_metrics[k],
                             pp_arena_printf(j->arena, "<= %s: the recording is consistent", limit), 0);
            }
}

/* Metrics that did not decide, without a threshold. */
static void show_context(const struct judge *j)
{
    static const enum pp_metric context[] = {PP_METRIC_COLLECTIVE,  PP_METRIC_OWNER_CPU,
                                             PP_METRIC_OWNER_DELAY, PP_METRIC_OWNER_BLOCKED,
                                             PP_METRIC_SATURATION,  PP_METRIC_WORKER_IDLE};
    for (size_t i = 0; i < sizeof(context) / sizeof(*context); i++) {
        int shown = 0;
        for (size_t k = 0; k < j->out->evidences; k++)
            shown |= j->out->evidence[k].name == pp_metric_infos[context[i]].text;
        if (!shown)
            add_evidence(j, context[i], NULL, 0);
    }
    add_evidence(j, PP_METRIC_BATCHES, NULL, 0);
}

static const char *missing_signals(const struct pp_facts *f)
{
    if (f->starved_alone)
        return "the replay that would separate own threads from other processes does not reproduce the run";
    if (!f->owner_known)
        return "the recording has no worker spans during the stalls";
    if (isnan(f->metric[PP_METRIC_OWNER_BLOCKED]))
        return "CPU time and run-queue delay were not recorded";
    return "the number of usable CPUs was not recorded";
}

/* Chance that the true share lies on the same side of the threshold as the measured one (normal
 * approximation). */
static double side_confidence(double share, double se, double threshold)
{
    if (!(se > 0))
        return isnan(se) ? NAN : 1;
    return 0.5 * erfc(-fabs(share - threshold) / se / sqrt(2));
}

static void judge_ceiling(const struct judge *j)
{
    const struct pp_cause_rule *cause = find_cause(j->facts);
    struct pp_report_verdict *v = j->out;
    const char *who = j->facts->owner_known ? fill(j, isnan(j->facts->metric[PP_METRIC_OWNER_CPU])
                                                          ? " (owner: {owner})"
                                                          : " (owner: {owner}, {cpu} CPU)")
                                            : "";
    v->l0 = "inconclusive";
    v->ceiling = 1;
    v->reason = "the trainer had no step (--step none), so there is no wait to judge";
    v->sentence = pp_arena_printf(
        j->arena, "CEILING %s%s; %s", fill(j, "{rate} samples/s with {workers|worker|workers}"), who,
        fill(
            j,
            "a trainer step shorter than {batch_time} per batch of {batch_size} would wait; give --step-ms to judge your job"));
    v->next_step = cause ? fill(j, pp_remedies[cause->remedy].sentence)
                         : "Give --step-ms, the time of one training step, to judge your job.";
    add_evidence(j, PP_METRIC_RATE, NULL, 1);
    add_evidence(j, PP_METRIC_BATCH_TIME, NULL, 1);
    if (cause) {
        v->l1 = cause->l1;
        v->l2 = cause->l2;
        show_cause(j, cause);
    }
    show_context(j);
}

/* "STORAGE-BOUND (latency)". */
static const char *headline(const struct judge *j)
{
    const struct pp_report_verdict *v = j->out;
    char class[24];
    size_t n = 0;
    for (; v->l1[n] && n + 1 < sizeof(class); n++)
        class[n] = (char)toupper((unsigned char)v->l1[n]);
    class[n] = '\0';
    return pp_arena_printf(j->arena, "%s-BOUND%s%s%s", class, v->l2 ? " (" : "", v->l2 ? v->l2 : "",
                           v->l2 ? ")" : "");
}

static int is_held(const struct pp_facts *f, const struct pp_level_rule *level)
{
    return level->held && f->metric[PP_METRIC_COLLECTIVE] >= PP_LEAST_SHARE;
}

static const char *words_of(const struct pp_facts *f, const struct pp_level_rule *level)
{
    return is_held(f, level) ? level->held_words : level->words;
}

/* The class, then how much is lost, then what holds the batches up; a cause's own sentence repeats the class.
 */
static const char *with_cause(const struct judge *j, const struct pp_level_rule *level, const char *lost,
                              const struct pp_cause_rule *cause)
{
    const struct pp_report_verdict *v = j->out;
    const char *why = fill(j, cause->sentence);
    char confidence[48] = "";
    size_t n = strlen(cause->l1);
    if (strncmp(why, cause->l1, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        why += n + 2;
    if (!isnan(v->confidence))
        pp_text_percent(confidence, sizeof(confidence), v->confidence);
    return pp_arena_printf(j->arena, "%s%s%s: %s (%s); %s", v->headline, confidence[0] ? ", confidence " : "",
                           confidence, lost, words_of(j->facts, level), why);
}

static void judge_level(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    const struct pp_level_rule *level = pp_level_rules;
    while (f->metric[PP_METRIC_DATA_WAIT] < level->at_least)
        level++;
    int bound = level->at_least > 0;
    double boundary = f->metric[PP_METRIC_BOUNDARY], moderate = pp_level_moderate->at_least;
    v->l0 = level->l0;
    v->level = level->level;
    v->confidence = side_confidence(f->metric[PP_METRIC_DATA_WAIT], f->data_wait_se, moderate);
    int stretched = level->stretched && f->starved;
    v->exposed_share = f->metric[PP_METRIC_DATA_WAIT];
    int held = is_held(f, level);
    const char *lost = fill(j, held ? level->held : stretched ? level->stretched : level->sentence);
    v->sentence = pp_arena_printf(j->arena, "%s: %s", words_of(f, level), lost);
    add_evidence(j, PP_METRIC_DATA_WAIT, level->threshold, 1);
    if (held || stretched)
        add_evidence(j, PP_METRIC_WAIT_ITSELF, NULL, 1);
    else if (f->metric[PP_METRIC_STRETCH] >= PP_LEAST_SHARE)
        add_evidence(j, PP_METRIC_STRETCH, "counted separately: no remedy gains 15 % in the replay", 0);
    if (boundary >= moderate)
        add_evidence(j, PP_METRIC_BOUNDARY, "counted separately: neither steady state nor training",
                     bound ? 0 : -1);
    const struct pp_cause_rule *outside = bound ? NULL
                                                : pp_cause_first(f, pp_outside_rules, pp_outside_rules_n);
    if (outside) {
        v->l0 = "input-bound";
        v->level = pp_level_moderate->level;
        v->l1 = outside->l1;
        v->l2 = outside->l2;
        v->confidence = v->exposed_share = NAN;
        v->sentence = pp_arena_printf(
            j->arena, "INPUT-BOUND outside the steady state (inside it the trainer waits %s); %s",
            fill(j, "{data_wait}"), fill(j, outside->sentence));
        v->next_step = fill(j, pp_remedies[outside->remedy].sentence);
        show_cause(j, outside);
        add_evidence(j, PP_METRIC_BATCHES, NULL, 0);
        return;
    }
    if (!bound) {
        if (boundary >= pp_level_rules[0].at_least)
            v->sentence = pp_arena_printf(
                j->arena, "%s; %s", v->sentence,
                fill(j, "but epoch boundaries and checkpoints take {boundary} of the time"));
        v->next_step = fill(
            j,
            "The input pipeline keeps up: no change to it can gain more than about {data_wait}. Optimise the step itself.");
        add_evidence(j, PP_METRIC_BATCHES, NULL, 0);
        return;
    }
    const struct pp_cause_rule *cause = find_cause(f);
    if (cause) {
        v->l1 = cause->l1;
        v->l2 = cause->l2;
        v->confidence *= f->owner_known ? fmin(f->metric[PP_METRIC_OWNER_SHARE], 1) : 1;
        v->headline = cause->l1 ? headline(j) : NULL; /* NULL: the rule that says what was not measured */
        v->sentence = cause->l1 ? with_cause(j, level, lost, cause)
                                : pp_arena_printf(j->arena, "%s; %s", v->sentence, fill(j, cause->sentence));
        v->next_step = fill(j, pp_remedies[cause->remedy].sentence);
        show_cause(j, cause);
    } else {
        v->reason = missing_signals(f);
        v->sentence = pp_arena_printf(j->arena, "%s; the cause is not established: %s", v->sentence,
                                      v->reason);
        v->next_step =
            f->starved_alone
                ? "Record longer, or again without background load on these CPUs."
                : "Record again with CPU accounting on a machine that has /proc/thread-self/schedstat.";
    }
    show_context(j);
}

void pp_verdict_judge(const struct pp_facts *facts, struct pp_arena *arena, struct pp_report_verdict *out)
{
    struct judge j = {.facts = facts, .arena = arena, .out = out};
    memset(out, 0, sizeof(*out));
    out->confidence = out->exposed_share = NAN;
    const struct pp_guard_rule *guard = failing_guard(facts);
    if (guard)
        judge_inconclusive(&j, guard);
    else if (!facts->has_step)
        judge_ceiling(&j);
    else
        judge_level(&j);
    show_laws(&j);
    pp_causes_reject(facts, arena, out);
}
