#include "report/verdict/verdict_judge.h"

#include "probe/base/text.h"

#include <ctype.h>

/* What takes the CPUs is for the most part the job's own. */
static int takes_its_own_cpus(const struct pp_facts *f)
{
    double own = f->metric[PP_METRIC_SUBPROCESSES];
    return own >= PP_LEAST_SHARE && own >= 0.5 * f->metric[PP_METRIC_CONTENDED];
}

const char *pp_judge_fill(const struct judge *j, const char *sentence)
{
    return pp_rules_fill(sentence, &j->values, j->arena);
}

void pp_judge_evidence(const struct judge *j, enum pp_metric m, const char *threshold, int supports)
{
    struct pp_report_verdict *v = j->out;
    char value[48];
    if (v->evidences == sizeof(v->evidence) / sizeof(v->evidence[0]) || isnan(j->facts->metric[m]))
        return;
    static const char owner[] = "the slow phase";
    const struct pp_fact *fact = &pp_metric_facts[m];
    const char *name = fact->text;
    int law = fact->from == PP_FROM_LAWS && m != PP_METRIC_BOUND,
        derived = m == PP_METRIC_BOUND || strncmp(fact->text, "replay:", 7) == 0; /* it is marked so */
    double phase = j->facts->metric[PP_METRIC_OWNER];
    if (strncmp(name, owner, sizeof(owner) - 1) == 0 && phase >= 0 && phase < PP_PHASE_COUNT)
        name = pp_arena_printf(j->arena, "%s%s", pp_phase_words[(int)phase], name + sizeof(owner) - 1);
    v->evidence[v->evidences++] = (struct pp_report_evidence){
        .name = name,
        .value = pp_arena_copy(j->arena, pp_fact_value(&j->values, m, value, sizeof(value))),
        .threshold = threshold,
        .supports = supports,
        .kind = law       ? PP_EVIDENCE_LAW
                : derived ? PP_EVIDENCE_DERIVED
                          : PP_EVIDENCE_MEASURED,
        .code = fact->name,
        .amount = j->facts->metric[m],
        .limit = NAN,
    };
}

/* The next step, in the words of that row, which is also where what can be pasted stands. */
void pp_judge_advise(const struct judge *j, enum pp_remedy_id id)
{
    if (takes_its_own_cpus(j->facts) && (id == PP_REMEDY_OTHER_LOAD || id == PP_REMEDY_OTHER_LOAD_OR_QUOTA ||
                                         id == PP_REMEDY_OTHER_LOAD_THEN_WORKERS))
        id = PP_REMEDY_SUBPROCESSES;
    j->out->remedy = &pp_remedies[id];
    j->out->next_step = pp_judge_fill(j, pp_remedies[id].sentence);
}

/* A next step that is no row's. */
void pp_judge_next_step(const struct judge *j, const char *text)
{
    j->out->remedy = NULL;
    j->out->next_step = text;
}

/* ---- what the owner is bound by ---- */

static int is_of(const struct pp_rule *cause, const struct pp_rule *rules, size_t n)
{
    return cause >= rules && cause < rules + n;
}

/* Where the trainer hardly waits, what stretches its steps is a want of CPU. Without an owner of the stalls,
 * the replay may still know it. */
const struct pp_rule *pp_judge_cause(const struct pp_facts *f)
{
    if (f->starved_alone) /* what little wait there is has owners of its own, which are none of this */
        return pp_cause_of_starving(f);
    const struct pp_rule *threads = pp_cause_first(f, pp_cause_rules_threads, pp_cause_rules_threads_n);
    if (isnan(f->metric[PP_METRIC_OWNER]) && !f->starved)
        return threads;
    const struct pp_rule *cause = pp_cause_first(f, pp_cause_rules_replay, pp_cause_rules_replay_n);
    cause = cause ? cause : pp_cause_first(f, pp_cause_rules_shares, pp_cause_rules_shares_n);
    int hands_over = f->metric[PP_METRIC_OWNER] == PP_PHASE_NONE || f->phase_share[PP_PHASE_PUT_WAIT] >= 0.5;
    int reads = f->metric[PP_METRIC_OWNER] == PP_PHASE_READ && f->metric[PP_METRIC_OWNER_BLOCKED] >= 0.5;
    if (threads && reads && strcmp(threads->l1, "storage") != 0) /* the reads' own spans know better */
        return cause;
    int untold = f->metric[PP_METRIC_UNNAMED] >= 1 - PP_LEAST_EXPLAINED && cause &&
                 is_of(cause, pp_cause_rules_shares, pp_cause_rules_shares_n);
    /* Time without CPU is called blocked, where how long the thread waited for a CPU is not recorded: of
     * ranges of NVTX it is not. */
    const struct pp_condition *blocked = cause ? pp_rule_asks(cause, PP_METRIC_OWNER_BLOCKED) : NULL;
    int waits = cause &&
                (pp_rule_asks(cause, PP_METRIC_W_LOCK) || pp_rule_asks(cause, PP_METRIC_BLOCKED_ELSEWHERE) ||
                 (blocked && blocked->compare == PP_AT_LEAST));
    return threads && (!cause || hands_over || untold || waits) ? threads : cause;
}

static void show_cause(const struct judge *j, const struct pp_rule *rule)
{
    static const char *const compared[] = {
        [PP_NO_CONDITION] = NULL, [PP_AT_LEAST] = ">=", [PP_BELOW] = "<", [PP_AT_MOST] = "<="};
    if (!isnan(j->facts->metric[PP_METRIC_OWNER]) && !is_of(rule, pp_outside_rules, pp_outside_rules_n))
        pp_judge_evidence(j, PP_METRIC_OWNER_SHARE, pp_judge_fill(j, "{owner}"), 1);
    for (int k = 0; k < PP_CONDITIONS_MOST && rule->when[k].compare != PP_NO_CONDITION; k++) {
        const struct pp_condition *c = &rule->when[k];
        size_t n = j->out->evidences;
        char limit[160];
        if (c->fact != PP_METRIC_OWNER) /* of which the share is shown */
            pp_judge_evidence(j, c->fact,
                              pp_arena_printf(j->arena, "%s: %s",
                                              pp_condition_text(c, pp_metric_facts, limit, sizeof(limit)),
                                              c->source),
                              1);
        if (j->out->evidences > n && c->compare <= PP_AT_MOST) {
            struct pp_report_evidence *e = &j->out->evidence[n];
            e->compare = compared[c->compare];
            e->limit = c->limit;
            if (e->amount != c->limit && strcmp(e->value, limit + strlen(compared[c->compare]) + 1) == 0)
                e->value = pp_arena_copy(j->arena, pp_unit_text(pp_metric_facts[c->fact].unit, e->amount,
                                                                limit, sizeof(limit)));
        }
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
            shown |= j->out->evidence[k].name == pp_metric_facts[context[i]].text;
        if (!shown)
            pp_judge_evidence(j, context[i], NULL, 0);
    }
    if (j->facts->metric[PP_METRIC_SUBPROCESSES] >= PP_LEAST_SHARE)
        pp_judge_evidence(j, PP_METRIC_SUBPROCESSES, "what the job started and does not record", 0);
    pp_judge_evidence(j, PP_METRIC_BATCHES, NULL, 0);
}

/* By shares of time: the part of the workers' time in the phases that the rule speaks of, without the time in
 * which they waited for a slot or for work; or the owner's part. Taking batches over is timed by itself. By
 * the replay: the cause's weight, or what its remedy gains over what there is to gain. */
static double explained_by(const struct pp_facts *f, const struct pp_rule *cause)
{
    double lost = f->metric[PP_METRIC_DATA_WAIT], sum = 0;
    if (is_of(cause, pp_cause_rules_shares, pp_cause_rules_shares_n) &&
        !pp_rule_asks(cause, PP_METRIC_HANDOVER)) {
        const struct pp_condition *owner = pp_rule_asks(cause, PP_METRIC_OWNER);
        unsigned phases = owner ? (unsigned)owner->limit : 0;
        if (!f->owner_is_worker || phases < 2)
            return fmin(f->metric[PP_METRIC_OWNER_SHARE], 1);
        for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
            sum += phases & (1u << phase) ? f->phase_share[phase] : 0;
        return fmin(sum / fmax(1 - f->metric[PP_METRIC_WORKER_IDLE], PP_LEAST_SHARE), 1);
    }
    for (enum pp_explains by = PP_EXPLAINS_ITSELF; by <= PP_EXPLAINS_BY_GAIN; by++)
        for (int k = 0; k <= PP_CONDITIONS_MOST; k++) {
            const struct pp_condition *c = k < PP_CONDITIONS_MOST ? &cause->when[k] : &cause->relief;
            double v = f->metric[c->fact];
            if (c->compare == PP_AT_LEAST && pp_metric_facts[c->fact].explains == by && !isnan(v))
                return fmin(by == PP_EXPLAINS_BY_GAIN ? v / (1 + v) / lost : v, 1);
        }
    return NAN;
}

static void judge_ceiling(const struct judge *j)
{
    const struct pp_rule *cause = pp_judge_cause(j->facts);
    struct pp_report_verdict *v = j->out;
    v->l0 = "inconclusive";
    v->ceiling = 1;
    v->reason = j->facts->own_loader ? "the trainer had no step (--step none), so there is no wait to judge"
                                     : "no step of the trainer was recorded, so there is no wait to judge";
    v->sentence = pp_arena_printf(
        j->arena, "%s%s",
        pp_judge_fill(
            j,
            "CEILING {rate} samples/s with {workers|worker|workers}. A training step shorter than {batch_time} per batch of {batch_size} would wait for data"),
        j->facts->own_loader ? ". Give --step-ms to compare it with your step" : "");
    if (cause)
        pp_judge_advise(j, cause->remedy);
    else if (j->facts->own_loader)
        v->next_step = "Give --step-ms, the time of one training step, to compare it with your step.";
    else
        pp_judge_advise(j, PP_REMEDY_ANNOTATE);
    pp_judge_evidence(j, PP_METRIC_RATE, NULL, 0);
    pp_judge_evidence(j, PP_METRIC_BATCH_TIME, NULL, 0);
    if (cause) {
        v->cause = pp_judge_fill(j, cause->said);
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
    if (strcmp(v->l0, "cpu-starved") == 0)
        return pp_arena_printf(j->arena, "CPU-STARVED%s%s%s", v->l2 ? " (" : "", v->l2 ? v->l2 : "",
                               v->l2 ? ")" : "");
    char class[24];
    size_t n = 0;
    for (; v->l1[n] && n + 1 < sizeof(class); n++)
        class[n] = (char)toupper((unsigned char)v->l1[n]);
    class[n] = '\0';
    return pp_arena_printf(j->arena, "%s-BOUND%s%s%s", class, v->l2 ? " (" : "", v->l2 ? v->l2 : "",
                           v->l2 ? ")" : "");
}

/* "transform 38 %, decode 34 %, read 20 %, other 8 %": what the workers did while the trainer waited, the
 * largest parts and the rest, so that they add up to 100. */
static const char *parts_of_wait(const struct judge *j)
{
    enum { MOST = 3 };
    const double *share = j->facts->phase_share;
    int taken[PP_PHASE_COUNT] = {0}, left = 100;
    char text[160] = "";
    if (isnan(j->facts->metric[PP_METRIC_WORKER_IDLE]) || j->facts->metric[PP_METRIC_WAIT_ITSELF] < 0.01)
        return NULL; /* so short a wait needs no parts */
    for (int n = 0; n < MOST; n++) {
        unsigned best = PP_PHASE_COUNT;
        for (unsigned i = 0; i < PP_PHASE_COUNT; i++)
            if (!taken[i] && (best == PP_PHASE_COUNT || share[i] > share[best]))
                best = i;
        int percent = (int)fmin(round(100 * share[best]), left);
        if (percent < 1)
            break;
        taken[best] = 1;
        left -= percent;
        pp_text_add(text, sizeof(text), "%s%s %d %%", n ? ", " : "", pp_phase_words[best], percent);
    }
    if (left)
        pp_text_add(text, sizeof(text), "%sother %d %%", *text ? ", " : "", left);
    return pp_arena_copy(j->arena, text);
}

/* Waits of the steady state as a share of the whole window, in which epochs begin and end besides. */
static double waits_of_all(const double *m)
{
    double between = m[PP_METRIC_BETWEEN] > 0 ? m[PP_METRIC_BETWEEN] : 0;
    return m[PP_METRIC_DATA_WAIT] * (1 - m[PP_METRIC_BOUNDARY] - between);
}

/* Copies within the steps, where they are no less than what epochs take; else what else holds. Where the
 * trainer waits in the steady state too, the larger part is the cause: boundaries of epochs are shares of the
 * window, waits of its rest. */
static const struct pp_rule *find_outside(const struct pp_facts *f, int bound)
{
    const double *m = f->metric;
    const struct pp_rule *rule = pp_cause_first(f, pp_outside_rules, pp_outside_rules_n);
    if (rule == pp_outside_rules && fmax(m[PP_METRIC_EPOCH], m[PP_METRIC_BETWEEN]) > m[PP_METRIC_COPY_BLOCKS])
        rule = pp_cause_first(f, pp_outside_rules + 1, pp_outside_rules_n - 1);
    enum pp_metric share = rule ? rule->when[0].fact : PP_METRIC_COUNT;
    double waits = waits_of_all(m);
    int larger = (share == PP_METRIC_EPOCH || share == PP_METRIC_STEP_LOCKED || share == PP_METRIC_BETWEEN ||
                  share == PP_METRIC_LEASE_EPOCH || share == PP_METRIC_COPY_BLOCKS) &&
                 m[share] > waits;
    /* what is no matter of the input is said where its waits hardly count for the whole, too */
    larger |= rule && !rule->l1 && waits < pp_level_moderate->at_least;
    return bound && !larger ? NULL : rule;
}

/* The GPU is another program's, which launches ahead: its kernels hide waits. */
static int hides(const struct pp_facts *f)
{
    return f->trace || (!f->own_loader && f->metric[PP_METRIC_GPU_TOLD] == 1);
}

#define KEEPS_UP \
    "The input pipeline keeps up: no change to it can gain more than about {data_wait}. Optimise the step itself."
#define READY \
    "Batches are made in time: the workers have nothing to do for {worker_idle} of the stalls, and no change to the input gains 15 % for sure in the replay. What is left is the hand-over of each batch; larger batches have fewer of them."
#define STEP_LACKS_CPU "Batches come in time, but the training step waits for a CPU {stretch} of the time. "
#define CROWDED_BY_ANY STEP_LACKS_CPU "Free CPUs or cheaper samples shorten it."
#define CROWDED_BY_ITSELF \
    STEP_LACKS_CPU \
    "Other processes use only {contended}: the workers and other threads of the job take the CPUs. Cheaper samples or fewer threads free them."
#define CROWDED_BY_OTHERS STEP_LACKS_CPU "Of the CPUs {contended} are used by {others}."
#define COPIES \
    "Batches come in time. Copies from pageable memory take the training thread {copy_blocks} of the time."
#define COPIES_GAIN \
    "Batches come in time. Copies from pageable memory take the training thread {copy_blocks} of the time; " \
    "from page-locked memory a gain of {g_pinned} is predicted."

/* Copies are a part of the pipeline that a trainer's waits for batches do not show. */
static const char *keeps_up(const double *m)
{
    if (m[PP_METRIC_DATA_WAIT] >= pp_level_moderate->at_least)
        return READY;
    if (m[PP_METRIC_STRETCH] >= PP_LEAST_SHARE && !(m[PP_METRIC_COPY_BLOCKS] >= m[PP_METRIC_STRETCH]))
        return m[PP_METRIC_CONTENDED] < PP_LEAST_SHARE    ? CROWDED_BY_ITSELF
               : m[PP_METRIC_CONTENDED] >= PP_LEAST_SHARE ? CROWDED_BY_OTHERS
                                                          : CROWDED_BY_ANY;
    if (!(m[PP_METRIC_COPY_BLOCKS] >= PP_LEAST_SHARE))
        return KEEPS_UP;
    return m[PP_METRIC_G_PINNED] > m[PP_METRIC_DATA_WAIT] ? COPIES_GAIN : COPIES;
}

/* Time that the input takes outside the waits of the steady state. */
static void judge_outside(const struct judge *j, const struct pp_rule *outside,
                          const struct pp_level_rule *level)
{
    struct pp_report_verdict *v = j->out;
    int bound = outside->l1 || waits_of_all(j->facts->metric) >= pp_level_moderate->at_least;
    v->l0 = bound ? "input-bound" : "not-input-bound";
    v->level = bound ? level->level : "not";
    v->l1 = outside->l1;
    v->l2 = outside->l2;
    pp_confidence_judge(j->facts, outside, 0, v);
    v->exposed_share = NAN;
    enum pp_metric share = outside->when[0].fact;
    v->outside = share == PP_METRIC_COPY_BLOCKS                 ? "in copies within its steps"
                 : share == PP_METRIC_STARTUP                   ? "before its first batch"
                 : share == PP_METRIC_STEP_LOCKED               ? "in its steps, for the interpreter's lock"
                 : pp_rule_asks(outside, PP_METRIC_ITERATOR_OF) ? "starting iterators"
                                                                : "between epochs";
    v->outside_share = j->facts->metric[share];
    v->headline = v->l1 ? headline(j) : NULL;
    v->cause = pp_judge_fill(j, outside->said);
    pp_judge_advise(j, outside->remedy);
    show_cause(j, outside);
    pp_judge_evidence(j, PP_METRIC_BATCHES, NULL, 0);
}

/* It is the trainer that waits for a CPU, for the most part, and for data as a consequence; or what hands
 * batches that are ready over to it. */
static int lacks_a_cpu(const struct pp_facts *f, const struct pp_rule *cause)
{
    const double *m = f->metric;
    const struct pp_condition *others = pp_rule_asks(cause, PP_METRIC_CONTENDED);
    int starved = f->starved && cause->relief.compare != PP_NO_CONDITION &&
                  m[PP_METRIC_STRETCH] >= m[PP_METRIC_WAIT_ITSELF];
    return starved || (others && others->compare == PP_AT_LEAST && m[PP_METRIC_OWNER] == PP_PHASE_NONE &&
                       m[PP_METRIC_WORKER_IDLE] >= PP_LEAST_EXPLAINED);
}

/* Workers that are idle while the trainer waits: it waits for the hand-over of what is ready. That is the
 * input's matter where a change to the input gains, or where more is handed over than was asked for. Where
 * the looks find threads at work meanwhile, those make the batches, and have no spans. */
static int is_ready(const struct pp_facts *f)
{
    const double *m = f->metric;
    return m[PP_METRIC_OWNER] == PP_PHASE_NONE && m[PP_METRIC_WORKER_IDLE] >= PP_LEAST_EXPLAINED &&
           m[PP_METRIC_WAIT_ITSELF] >= PP_LEAST_SHARE && m[PP_METRIC_G_INPUT] < PP_WORTH_A_FIX &&
           !(m[PP_METRIC_G_CPUS] >= PP_WORTH_A_FIX) &&
           !(m[PP_METRIC_HANDED_FACTOR] >= PP_VIEW_FACTOR && m[PP_METRIC_HANDED] >= PP_VIEW_BYTES) &&
           !pp_cause_first(f, pp_cause_rules_threads, pp_cause_rules_threads_n);
}

/* Others take the CPUs. Their going is not always in the job's hands; what is comes second. */
static void say_own(const struct judge *j)
{
    struct pp_facts own = *j->facts;
    struct pp_report_verdict *v = j->out;
    if (!own.has_own || !v->l2 || strcmp(v->l2, "cpu-contended") != 0)
        return;
    memcpy(own.metric, own.own, sizeof(own.metric));
    own.starved = own.starved_alone = 0;
    own.text[PP_METRIC_CPU_USERS] = "this job"; /* others use the rest of them */
    const double *m = own.metric;
    if (m[PP_METRIC_DATA_WAIT] < pp_level_moderate->at_least && !(m[PP_METRIC_EPOCH] >= PP_WORTH_A_FIX))
        return;
    const struct pp_rule *outside = find_outside(&own, 0), *cause = pp_judge_cause(&own),
                         *rule = outside && (!cause || m[PP_METRIC_EPOCH] > m[PP_METRIC_DATA_WAIT]) ? outside
                                                                                                    : cause;
    struct judge then = *j;
    then.facts = &own;
    then.values.number = own.metric;
    then.values.text = own.text;
    /* beside others a lane looks busy; more workers gain nothing once the others are gone */
    if (!rule || !rule->l2 ||
        (rule->remedy == PP_REMEDY_MORE_WORKERS && m[PP_METRIC_G_WORKERS] < PP_WORTH_A_FIX) ||
        (rule->relief.compare != PP_NO_CONDITION && !pp_condition_holds(&rule->relief, &then.values)))
        return;
    v->then_l1 = rule->l1;
    v->then_l2 = rule->l2;
    const char *alone = strstr(rule->said, "{busy_cpus}") || strstr(rule->said, "{idle_cpus}")
                            ? "alone on these CPUs, "
                            : "";
    v->then = pp_arena_printf(j->arena, "%s%s. %s", alone, pp_judge_fill(&then, rule->said),
                              pp_judge_fill(&then, pp_remedies[rule->remedy].sentence));
}

static void judge_level(const struct judge *j)
{
    const struct pp_facts *f = j->facts;
    struct pp_report_verdict *v = j->out;
    const struct pp_level_rule *level = pp_level_rules;
    while (f->metric[PP_METRIC_DATA_WAIT] < level->at_least || (level->at_least > 0 && is_ready(f)))
        level++;
    int bound = level->at_least > 0;
    double boundary = f->metric[PP_METRIC_BOUNDARY], moderate = pp_level_moderate->at_least;
    v->l0 = level->l0;
    v->level = level->level;
    int stretched = bound && f->starved, held = bound && f->metric[PP_METRIC_COLLECTIVE] >= PP_LEAST_SHARE;
    v->exposed_share = f->metric[PP_METRIC_DATA_WAIT];
    pp_judge_evidence(j, PP_METRIC_DATA_WAIT, level->threshold, 1);
    if (hides(f))
        pp_judge_evidence(j, PP_METRIC_GPU_IDLE, "the most that a wait can cost: kernels hide the rest", 0);
    if (held || stretched)
        pp_judge_evidence(j, PP_METRIC_WAIT_ITSELF, NULL, 1);
    else if (f->metric[PP_METRIC_STRETCH] >= PP_LEAST_SHARE)
        pp_judge_evidence(j, PP_METRIC_STRETCH, "counted separately: no remedy gains 15 % in the replay", 0);
    if (boundary >= moderate)
        pp_judge_evidence(j, PP_METRIC_BOUNDARY, "counted separately: neither steady state nor training",
                          bound ? 0 : -1);
    const struct pp_rule *outside = f->trace ? NULL : find_outside(f, bound);
    if (outside) {
        judge_outside(j, outside, bound ? level : pp_level_moderate);
        return;
    }
    if (!bound) {
        if (strncmp(keeps_up(f->metric), STEP_LACKS_CPU, strlen(STEP_LACKS_CPU)) == 0 && !f->failed)
            v->stretched = f->metric[PP_METRIC_STRETCH];
        pp_confidence_judge(f, NULL, 0, v);
        v->next_step = f->failed && f->ended_remedy
                           ? f->ended_remedy
                           : pp_arena_printf(j->arena, "%s%s", pp_judge_fill(j, keeps_up(f->metric)),
                                             hides(f) ? pp_trace_besides(f, j->arena) : "");
        if (f->metric[PP_METRIC_COPY_BLOCKS] >= PP_LEAST_SHARE)
            pp_judge_evidence(j, PP_METRIC_COPY_BLOCKS, "in the step", 0);
        pp_judge_evidence(j, PP_METRIC_BATCHES, NULL, 0);
        return;
    }
    const struct pp_rule *cause = f->trace ? pp_cause_first(f, pp_trace_rules, pp_trace_rules_n)
                                           : pp_judge_cause(f);
    int by_shares = cause && is_of(cause, pp_cause_rules_shares, pp_cause_rules_shares_n);
    if (by_shares && cause->l1 && explained_by(f, cause) < PP_LEAST_EXPLAINED) {
        pp_judge_unexplained(j);
    } else if (cause) {
        v->l1 = cause->l1;
        v->l2 = cause->l2;
        if (lacks_a_cpu(f, cause))
            v->l0 = "cpu-starved";
        v->explained = cause->l1 ? explained_by(f, cause) : NAN;
        if (cause->l1)
            pp_confidence_judge(f, cause, 1, v);
        v->parts = parts_of_wait(j);
        v->headline = cause->l1 ? headline(j) : NULL; /* NULL: the rule that says what was not measured */
        v->cause = pp_judge_fill(j, cause->said);
        pp_judge_advise(j, cause->remedy);
        say_own(j);
        show_cause(j, cause);
    } else if (f->trace) {
        const char *next_step;
        v->reason = pp_trace_blind(f, j->arena, &next_step);
        pp_judge_next_step(j, pp_arena_printf(j->arena, "%s%s", next_step, pp_trace_besides(f, j->arena)));
    } else {
        pp_judge_missing(j);
    }
    show_context(j);
}

void pp_verdict_judge(const struct pp_facts *measured, struct pp_arena *arena, struct pp_report_verdict *out)
{
    struct pp_facts f = *measured, *facts = &f;
    struct judge j = {.facts = &f, .arena = arena, .out = out, .values = pp_facts_values(&f)};
    f.text[PP_METRIC_OTHERS] = takes_its_own_cpus(&f) ? "subprocesses of the job" : "other processes";
    memset(out, 0, sizeof(*out));
    out->confidence = out->confidence_score = out->explained = out->exposed_share = out->outside_share = NAN;
    out->stretched = NAN;
    const struct pp_guard_rule *guard = pp_judge_guard(facts);
    const struct pp_rule *outside = facts->only_first_batches ? find_outside(facts, 0) : NULL;
    const char *next_step = NULL,
               *doubt = facts->trace ? pp_trace_doubt(facts, guard != NULL, arena, &next_step) : NULL;
    if (outside && pp_rule_asks(outside, PP_METRIC_ITERATOR_OF)) /* of which the guards would see no batch */
        judge_outside(&j, outside, pp_level_moderate);
    else if (doubt) { /* of a trace, whose waits are not known, or not well enough */
        out->l0 = "inconclusive";
        out->reason = doubt;
        out->sentence = pp_arena_printf(arena, "INCONCLUSIVE: %s", doubt);
        pp_judge_next_step(&j, next_step);
        pp_judge_evidence(&j, PP_METRIC_BATCHES, NULL, 0);
    } else if (guard)
        pp_judge_inconclusive(&j, guard);
    else if (!facts->has_step)
        judge_ceiling(&j);
    else
        judge_level(&j);
    /* Which bound the throughput is nearest to, and the laws that hold; one that does not is what made the
     * verdict inconclusive. */
    if (f.text[PP_METRIC_BOUND_BY])
        pp_judge_evidence(&j, PP_METRIC_BOUND,
                          pp_judge_fill(&j, "of the limit of {bound_by} at the recorded cost"), 0);
    for (size_t i = 0; i < pp_guard_rules_n; i++) {
        const struct pp_guard_rule *g = &pp_guard_rules[i];
        char limit[48];
        if (pp_metric_facts[g->metric].from == PP_FROM_LAWS && f.metric[g->metric] <= g->limit)
            pp_judge_evidence(&j, g->metric,
                              pp_arena_printf(arena, "<= %s: the recording is consistent",
                                              pp_unit_text(PP_UNIT_SHARE, g->limit, limit, sizeof(limit))),
                              0);
    }
    /* What decided goes first, in the order in which it was added; formats fold the rest away. */
    struct pp_report_evidence all[sizeof(out->evidence) / sizeof(out->evidence[0])];
    size_t n = 0;
    memcpy(all, out->evidence, sizeof(all));
    for (int decided = 1; decided >= 0; decided--)
        for (size_t i = 0; i < out->evidences; i++)
            if ((all[i].supports != 0) == decided)
                out->evidence[n++] = all[i];
    if (!facts->trace) /* of which the other causes' signals are unknown, every one */
        pp_causes_reject(facts, arena, out);
}
