#include "report/ranks/judge.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/rules/limits.h"
#include "report/stats/order.h"

/* ---- of the rank in a row ---- */

/* What a rank takes, on average; a phase: of its workers' time in it, per sample. */
enum value {
    /* per step */
    OWN = PP_PHASE_COUNT, /* without the wait for the others */
    WHOLE,
    WAIT,
    SYNC,
    STEP,
    WAIT_DELAY, /* it was ready and had no CPU */
    STEP_DELAY,
    /* per sample: of all its workers' phases, and how much of that they are ready and have no CPU */
    WORK,
    WORK_DELAY,
    EXCHANGE
};
enum { LEAST_SAMPLED = 8 }; /* of a rank's waits for the others */

static const pp_phase making[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE};

static double per(uint64_t ns, uint64_t n)
{
    return n ? (double)ns / (double)n : 0;
}

static double value_of(const struct judge *j, size_t row, unsigned what)
{
    const struct pp_rank_row *r = &j->d->rows[row];
    double all = 0;
    switch (what) {
    case OWN: return per(r->wait_ns + r->sync_ns + (j->met ? r->step_ns : 0), r->steps);
    case WHOLE: return per(r->wait_ns + r->sync_ns + r->step_ns + r->collective_ns, r->steps);
    case WAIT: return per(r->wait_ns, r->steps);
    case SYNC: return per(r->sync_ns, r->steps);
    case STEP: return per(r->step_ns, r->steps);
    case WAIT_DELAY: return per(r->wait_delay_ns, r->steps);
    case STEP_DELAY: return per(r->step_delay_ns, r->steps);
    case WORK_DELAY: return per(r->work_delay_ns, r->samples);
    case WORK:
        for (size_t i = 0; i < sizeof(making) / sizeof(*making); i++)
            all += value_of(j, row, making[i]);
        return all;
    case EXCHANGE:
        /* Of its waits for the others the part in which threads that exchange with them lack a CPU. A rank
         * that comes early waits long, and what its threads lack meanwhile holds up no rank: parts of the
         * wait are compared, not times. Of too few samples no mean is taken. */
        if (r->sampled_exchanges < LEAST_SAMPLED || !r->collective_ns || !r->exchanges)
            return 0;
        return fmin(per(r->exchange_delay_ns, r->sampled_exchanges) / per(r->collective_ns, r->exchanges), 1);
    default: return per(r->work_ns[what], r->samples);
    }
}

/* The median of all ranks but one. NAN: there is no other. */
static double median_but(const struct judge *j, size_t but, unsigned what)
{
    size_t n = 0;
    for (size_t i = 0; i < j->d->n_rows; i++)
        if (i != but)
            j->sorted[n++] = value_of(j, i, what);
    pp_stats_sort(j->sorted, n);
    return pp_stats_median_sorted(j->sorted, n);
}

/* Of throughput, were a step shorter by saved_ns. NAN where less than a tenth of it would be left: the ranks
 * that waited had their batches ready, and how fast their loaders can follow one another was not seen. */
static double gain_of(double step_ns, double saved_ns)
{
    return step_ns > 0 && saved_ns <= 0.9 * step_ns ? step_ns / (step_ns - saved_ns) - 1 : NAN;
}

/* ---- what is compared ---- */

static const struct pp_rank_top *top_of(const struct judge *j, const struct pp_rank_step *s)
{
    return j->met ? &s->own : &s->input;
}

/* ---- why the slow one is slow: what it spends more time on than the median rank does ---- */

/* Of a rank, over the median one of the others. */
static double more_of(const struct judge *j, size_t row, unsigned what)
{
    return value_of(j, row, what) - median_but(j, row, what);
}

/* Of the slow one; 0 where it has less. */
static double excess_of(const struct judge *j, unsigned what)
{
    return fmax(more_of(j, j->slow, what), 0);
}

/* Per step: of the time that the exchange takes this rank, what the median rank's threads do not lack. */
static double exchange_excess(const struct judge *j, size_t row)
{
    return fmax(more_of(j, row, EXCHANGE), 0) * per(j->d->rows[row].collective_ns, j->d->rows[row].steps);
}

static void judge_why(struct judge *j)
{
    static const struct {
        pp_phase phase;
        enum value value;
    } own[] = {{PP_PHASE_DATA_WAIT, WAIT}, {PP_PHASE_DEVICE_SYNC, SYNC}, {PP_PHASE_STEP, STEP}};
    struct pp_ranks *r = j->r;
    double of_work = 0;
    /* What of the gap its threads were ready for and had no CPU: its trainer, and of the wait for data as
     * much as that is of what its workers take longer. */
    double work = excess_of(j, WORK), wait = excess_of(j, WAIT),
           lacks = work > 0 ? fmin(excess_of(j, WORK_DELAY) / work, 1) : 0;
    double woken_late = fmin(excess_of(j, WAIT_DELAY), wait);
    j->trainer_delay_ns = woken_late + (j->met ? excess_of(j, STEP_DELAY) : 0);
    j->worker_delay_ns = (wait - woken_late) * lacks;
    r->cpu_wait_ns = j->trainer_delay_ns + j->worker_delay_ns + j->exchange_ns;
    r->cpu_wait_share = r->gap_ns > 0 ? fmin(r->cpu_wait_ns / r->gap_ns, 1) : NAN;
    if (r->cpu_wait_share >= PP_RANKS_MOST_OF_GAP) {
        r->cause = PP_RANKS_CONTENDED;
        r->cause_ns = r->cpu_wait_ns;
        r->cause_share = r->cpu_wait_share;
        /* What a step is shorter by when the threads that exchange with the others have their CPUs too; all
         * of them wait for that as they do for the last one to come. */
        r->exchange_delay_ns = exchange_excess(j, j->slow);
        r->gain_share = gain_of(r->step_ns, j->saved_ns + r->exchange_delay_ns);
        r->lost_ns += r->exchange_delay_ns;
        r->lost_share = r->step_ns > 0 ? r->lost_ns / r->step_ns : NAN;
        r->lost_rank_s += r->exchange_delay_ns / 1e9 * (double)j->n_steps * (double)(j->d->n_rows - 1);
        return;
    }
    for (size_t i = 0; i < (j->met ? 3u : 2u); i++) {
        double more = more_of(j, j->slow, own[i].value);
        if (more >= PP_RANKS_MOST_OF_GAP * r->gap_ns && !r->cause) {
            r->cause = pp_phase_info(own[i].phase)->name;
            r->cause_ns = more;
            r->cause_share = fmin(more / r->gap_ns, 1);
        }
    }
    for (size_t i = 0; i < sizeof(making) / sizeof(*making); i++)
        of_work += excess_of(j, making[i]);
    if (!r->cause || strcmp(r->cause, pp_phase_info(PP_PHASE_DATA_WAIT)->name) != 0 || !(of_work > 0))
        return;
    for (size_t i = 0; i < sizeof(making) / sizeof(*making); i++) {
        double own_ns = value_of(j, j->slow, making[i]), median = median_but(j, j->slow, making[i]);
        if (own_ns - median >= PP_RANKS_MOST_OF_GAP * of_work) {
            r->input_cause = pp_phase_info(making[i])->name;
            r->input_cause_ns = own_ns;
            r->input_median_ns = median;
        }
    }
}

/* ---- which steps, and who is last ---- */

static size_t row_of(const struct judge *j, int64_t rank)
{
    size_t n = PP_BEFORE(j->d->n_rows, i, j->d->rows[i].rank <= rank);
    return n ? n - 1 : 0;
}

static void count_last(struct judge *j)
{
    struct pp_ranks *r = j->r;
    double lost = 0, saved = 0, n = (double)j->d->n_rows;
    for (size_t i = 0; i < j->n_steps; i++) {
        const struct pp_rank_top *t = top_of(j, j->step[i]);
        j->last[row_of(j, t->rank)]++;
        lost += n * (double)t->max_ns - (double)t->sum_ns;
        saved += (double)(t->max_ns - t->second_ns);
    }
    for (size_t i = 0; i < r->n_rows; i++)
        r->rows[i].last_share = (double)j->last[i] / (double)j->n_steps;
    for (size_t i = 1; i < r->n_rows; i++)
        if (r->rows[i].last_share > r->rows[j->slow].last_share)
            j->slow = i;
    r->last_rank = r->rows[j->slow].rank;
    r->last_share = r->rows[j->slow].last_share;
    r->step_ns = median_but(j, r->n_rows, WHOLE);
    r->lost_ns = lost / (double)j->n_steps / (n - 1);
    r->lost_share = r->step_ns > 0 ? r->lost_ns / r->step_ns : NAN;
    r->lost_rank_s = lost / 1e9;
    j->saved_ns = saved / (double)j->n_steps;
    r->gain_share = gain_of(r->step_ns, j->saved_ns);
}

#define CHANGED_AFTER 0.75 /* last in that part of the steps after the cut, */
#define CHANGED_BY 0.4     /* and by so much more often than before, */
#define CHANGED_Z 5.0      /* and by so many standard errors, were it alike on both sides */

/* Since when it is last: the cut that parts the steps best. Returns the share of steps that it is last in
 * since then; NAN: from the beginning on. */
static double date_it(struct judge *j)
{
    int64_t rank = j->d->rows[j->slow].rank;
    double all = (double)j->last[j->slow], before = 0, best = CHANGED_Z, n = (double)j->n_steps;
    double p = all / n, error = sqrt(p * (1 - p)), share = NAN;
    size_t at = 0;
    for (size_t i = 0; i < j->n_steps && error > 0; i++) {
        double k = (double)i, b = i ? before / k : 0, a = (all - before) / (n - k),
               z = (a - b) * sqrt(k * (n - k) / n) / error;
        if (i >= PP_RANKS_LEAST_STEPS && n - k >= PP_RANKS_LEAST_STEPS && a >= CHANGED_AFTER &&
            a - b >= CHANGED_BY && z > best) {
            best = z;
            share = a;
            at = i;
        }
        before += top_of(j, j->step[i])->rank == rank;
    }
    if (!at)
        return NAN;
    j->r->since_step = j->step[at]->number;
    uint64_t first = j->step[0]->end_utc_ns, then = j->step[at]->end_utc_ns;
    j->r->since_s = first && then > first ? (double)(then - first) / 1e9 : NAN;
    return share;
}

/* ---- which kind ---- */

/* The row's rank is on the machine of the slow one. */
static int is_beside(const struct judge *j, size_t row)
{
    const char *a = j->d->rows[row].host, *b = j->d->rows[j->slow].host;
    return a && b && strcmp(a, b) == 0;
}

/* The ranks of the slow one's machine are all slow, at least half as much, and there are others. */
static int is_node(const struct judge *j)
{
    size_t here = 0, there = 0;
    double median, n = 0, slow = value_of(j, j->slow, OWN);
    for (size_t i = 0; i < j->d->n_rows; i++)
        if (is_beside(j, i))
            here++;
        else
            j->sorted[there++] = value_of(j, i, OWN);
    if (here < 2 || !there)
        return 0;
    pp_stats_sort(j->sorted, there);
    median = pp_stats_median_sorted(j->sorted, there);
    for (size_t i = 0; i < j->d->n_rows; i++)
        if (is_beside(j, i))
            n += value_of(j, i, OWN) - median >= (slow - median) / 2;
    return slow > median && n == (double)here;
}

/* What tells the kinds apart; *exchange: row of the rank that others wait for when it is there, which need
 * not come late. */
static void measure_kind(struct judge *j, size_t *exchange)
{
    struct pp_ranks *r = j->r;
    double *m = j->fact, since = date_it(j), apart, exchange_ns = 0;
    *exchange = j->slow;
    if (j->met) {
        /* The rank that all others wait for within the exchange: its threads that carry it lack CPUs, and no
         * other rank's. */
        size_t at = 0;
        double more = 0;
        for (size_t i = 1; i < j->d->n_rows; i++)
            at = value_of(j, i, EXCHANGE) > value_of(j, at, EXCHANGE) ? i : at;
        double usual = median_but(j, at, EXCHANGE);
        for (size_t i = 0; i < j->d->n_rows; i++)
            more += fmax(value_of(j, i, EXCHANGE) - usual, 0);
        if (value_of(j, at, EXCHANGE) - usual >= PP_MOST_MEETINGS * more) {
            *exchange = at;
            exchange_ns = exchange_excess(j, at);
        }
    }
    r->gap_ns = more_of(j, j->slow, OWN);
    apart = more_of(j, j->slow, WHOLE);
    m[PP_RANKS_FACT_LOST_SHARE] = r->lost_share;
    m[PP_RANKS_FACT_LAST_SINCE] = isnan(since) ? r->last_share : since;
    /* Of all that is lost to waiting, the part in steps that the slow one was last in. */
    double its = 0, all = 0, n = (double)j->d->n_rows;
    for (size_t i = 0; i < j->n_steps; i++) {
        const struct pp_rank_top *t = top_of(j, j->step[i]);
        double lost = n * (double)t->max_ns - (double)t->sum_ns;
        all += lost;
        its += row_of(j, t->rank) == j->slow ? lost : 0;
    }
    m[PP_RANKS_FACT_BLAME] = all > 0 ? its / all : 0;
    m[PP_RANKS_FACT_APART] = apart;
    m[PP_RANKS_FACT_APART_OF_GAP] = r->gap_ns > 0 ? apart / r->gap_ns : NAN;
    m[PP_RANKS_FACT_NODE] = is_node(j) ? 1 : NAN;
    double share = 0;
    for (size_t i = 0; i < j->d->n_rows; i++)
        if (is_beside(j, i))
            share += j->r->rows[i].last_share;
    m[PP_RANKS_FACT_NODE_SHARE] = share;
    m[PP_RANKS_FACT_EXCHANGE_SHARE] = exchange_ns / r->step_ns;
    m[PP_RANKS_FACT_WAIT_SHARE] = median_but(j, r->n_rows, WAIT) / r->step_ns;
}

/* Of a rank or machine that is slow: what it costs, and why. */
static void judge_slow(struct judge *j, const struct pp_rule *rule, size_t exchange)
{
    struct pp_ranks *r = j->r;
    if (pp_rule_asks(rule, PP_RANKS_FACT_EXCHANGE_SHARE)) {
        j->slow = exchange;
        j->exchange_ns = j->fact[PP_RANKS_FACT_EXCHANGE_SHARE] * r->step_ns;
        r->gap_ns = excess_of(j, OWN) + j->exchange_ns;
        r->since_step = r->since_s = NAN;
    }
    if (r->kind == PP_RANKS_STRAGGLER) {
        /* A single rank is mended in the steps that it is last in, and in no others. */
        double saved = 0;
        for (size_t i = 0; i < j->n_steps; i++) {
            const struct pp_rank_top *t = top_of(j, j->step[i]);
            saved += row_of(j, t->rank) == j->slow ? (double)(t->max_ns - t->second_ns) : 0;
        }
        j->saved_ns = saved / (double)j->n_steps;
        j->r->gain_share = gain_of(j->r->step_ns, j->saved_ns);
    }
    judge_why(j);
    r->straggler_rank = r->kind == PP_RANKS_NODE ? NAN : r->rows[j->slow].rank;
    r->straggler_host = r->rows[j->slow].host;
    r->straggler_gpu = r->kind == PP_RANKS_NODE ? NULL : r->rows[j->slow].gpu;
    r->straggler_file = r->rows[j->slow].file;
}

/* ---- the document ---- */

static double known(int64_t v)
{
    return v < 0 ? NAN : (double)v;
}

/* The rows, and what they say of the job as a whole. */
static void set_rows(struct judge *j)
{
    struct pp_ranks *r = j->r;
    struct pp_arena *a = &r->arena;
    j->met = 1;
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const struct pp_rank_row *in = &j->d->rows[i];
        r->job = r->job ? r->job : pp_arena_copy(a, in->job);
        r->launcher = r->launcher ? r->launcher : pp_arena_copy(a, in->launcher);
        r->attempt = isnan(r->attempt) ? known(in->attempt) : r->attempt;
        r->world_size = isnan(r->world_size) ? known(in->world_size) : r->world_size;
        j->met &= in->met;
    }
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const struct pp_rank_row *in = &j->d->rows[i];
        r->rows[r->n_rows++] = (struct pp_ranks_row){
            .rank = known(in->rank),
            .local_rank = known(in->local_rank),
            .node = known(in->node),
            .exit_code = NAN,
            .host = pp_arena_copy(a, in->host),
            .gpu = pp_arena_copy(a, in->gpu),
            .file = pp_arena_copy(a, in->file),
            .outcome = pp_arena_copy(a, in->outcome),
            .subject = pp_arena_copy(a, in->subject),
            .l0 = pp_arena_copy(a, in->l0),
            .l1 = pp_arena_copy(a, in->l1),
            .l2 = pp_arena_copy(a, in->l2),
            .sentence = pp_arena_copy(a, in->sentence),
            .samples_per_s = in->samples_per_s,
            .data_wait_share = in->data_wait_share,
            .collective_share = in->collective_share,
            .last_share = NAN,
            .own_ns = value_of(j, i, OWN),
            .wait_ns = value_of(j, i, WAIT),
            .sync_ns = value_of(j, i, SYNC),
            .step_ns = value_of(j, i, STEP),
            .collective_ns = in->met ? per(in->collective_ns, j->d->rows[i].steps) : NAN,
            .until = judge_moment(a, in->until_utc_ns, "%Y-%m-%dT%H:%M:%SZ"),
            .running = in->running,
            .clock_offset_ns = NAN,
            .clock_error_ns = NAN,
            .steps = in->steps,
            .lost_spans = in->lost_spans,
            .first_by_ns = in->first_by_ns ? (double)in->first_by_ns : NAN,
        };
    }
}

/* A judgement without steps (run --ranks that failed) has no histograms. */
static double percentile(const struct pp_digest *d, enum pp_digest_hist of, double q)
{
    return d->hists && d->hists[of].count ? (double)pp_hist_quantile(&d->hists[of], q) : NAN;
}

void pp_ranks_price(struct pp_ranks *r, double gpu_hour)
{
    double seconds = (double)r->compared_steps * r->step_ns / 1e9;
    r->gpu_hour = gpu_hour > 0 ? gpu_hour : NAN;
    r->lost_cost_per_day = seconds > 0 ? 24 * r->gpu_hour * r->lost_rank_s / seconds : NAN;
}

pp_status pp_ranks_judge(const struct pp_digest *d, struct pp_ranks *out, struct pp_err *err)
{
    *out = (struct pp_ranks){0};
    ranks_forget_numbers(pp_ranks_fields, out);
    struct judge j = {.d = d, .r = out};
    pp_status st = PP_OK;
    out->rows = pp_arena_alloc(&out->arena, (d->n_rows + 1) * sizeof(*out->rows));
    j.sorted = calloc(d->n_rows + 1, sizeof(*j.sorted));
    j.last = calloc(d->n_rows + 1, sizeof(*j.last));
    j.step = calloc(d->n_steps + 1, sizeof(*j.step));
    j.ahead_ns = calloc(d->n_rows + 1, sizeof(*j.ahead_ns));
    int filled = 0;
    if (!out->rows || !j.sorted || !j.last || !j.step || !j.ahead_ns)
        goto out;
    set_rows(&j);
    if (!judge_clocks(&j))
        goto out;
    /* Steps that every rank has. */
    for (size_t i = 0; i < j.d->n_steps; i++)
        if (j.d->steps[i].ranks == j.d->n_rows)
            j.step[j.n_steps++] = &j.d->steps[i];
    out->compared_steps = j.n_steps;
    judge_recordings(&j);
    size_t exchange = 0;
    if (d->n_rows >= 2 && j.n_steps >= PP_RANKS_LEAST_STEPS) {
        count_last(&j);
        out->collective_steps = j.met ? (double)j.n_steps : NAN;
        measure_kind(&j, &exchange);
    }
    /* The first rule that holds, by its code the kind. */
    const struct pp_values v = judge_values(&j);
    const struct pp_rule *rule = pp_rules_first(pp_ranks_rules, pp_ranks_rules_n, &v);
    int kind = -1;
    for (const struct pp_rule *at = pp_ranks_rules; at <= rule; at++)
        kind += at->l1 != NULL;
    j.r->kind = (enum pp_ranks_kind)kind;
    j.r->kind_name = pp_ranks_kind_words[kind];
    if (out->kind == PP_RANKS_STRAGGLER || out->kind == PP_RANKS_APART || out->kind == PP_RANKS_NODE)
        judge_slow(&j, rule, exchange);
    else
        out->since_step = out->since_s = NAN;
    out->own_p50_ns = percentile(d, PP_DIGEST_OWN, 0.5);
    out->own_p99_ns = percentile(d, PP_DIGEST_OWN, 0.99);
    out->wait_p50_ns = percentile(d, PP_DIGEST_INPUT, 0.5);
    out->wait_p99_ns = percentile(d, PP_DIGEST_INPUT, 0.99);
    judge_words(&j, rule);
    filled = judge_map(&j);
    pp_ranks_price(out, 0);
out:
    if (!filled || pp_arena_failed(&out->arena))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu ranks", d->n_rows);
    free(j.sorted);
    free(j.last);
    free(j.step);
    free(j.ahead_ns);
    return st;
}

pp_status pp_ranks_complete(struct pp_ranks *r, const int *exit_code, size_t n, struct pp_err *err)
{
    struct pp_ranks_row *rows = pp_arena_alloc(&r->arena, n * sizeof(*rows));
    if (!rows)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu ranks", n);
    for (size_t i = 0, k = 0; i < n; i++) {
        if (k < r->n_rows && r->rows[k].rank == (double)i) {
            rows[i] = r->rows[k++];
        } else {
            rows[i] = (struct pp_ranks_row){0};
            ranks_forget_numbers(pp_ranks_row_fields, &rows[i]);
            rows[i].rank = (double)i;
        }
        rows[i].exit_code = exit_code[i];
    }
    r->rows = rows;
    r->n_rows = n;
    return PP_OK;
}

void pp_ranks_free(struct pp_ranks *r)
{
    pp_arena_free(&r->arena);
    *r = (struct pp_ranks){0};
}
