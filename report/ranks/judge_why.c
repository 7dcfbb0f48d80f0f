/* Why the slow one is slow: what it spends more time on than the median rank does. */
#include "report/ranks/judge.h"

#include "report/rules/limits.h"

#include <math.h>
#include <string.h>

enum { LEAST_SAMPLED = 8 }; /* of a rank's waits for the others */

/* ---- of a rank ---- */

#define WORK_OF(symbol, phase) \
    static double symbol(const struct judge *j, size_t row) \
    { \
        const struct pp_rank_row *r = &j->d->rows[row]; \
        return r->samples ? (double)r->work_ns[phase] / (double)r->samples : 0; \
    }
WORK_OF(read_of, PP_PHASE_READ)
WORK_OF(decode_of, PP_PHASE_DECODE)
WORK_OF(transform_of, PP_PHASE_TRANSFORM)
WORK_OF(collate_of, PP_PHASE_COLLATE)

/* What its workers take per sample, and how much of that they are ready and have no CPU. */
static double work_of(const struct judge *j, size_t row)
{
    return read_of(j, row) + decode_of(j, row) + transform_of(j, row) + collate_of(j, row);
}

static double work_delay_of(const struct judge *j, size_t row)
{
    const struct pp_rank_row *r = &j->d->rows[row];
    return r->samples ? (double)r->work_delay_ns / (double)r->samples : 0;
}

static double wait_delay_of(const struct judge *j, size_t row)
{
    return judge_per_step(j, row, j->d->rows[row].wait_delay_ns);
}

static double step_delay_of(const struct judge *j, size_t row)
{
    return judge_per_step(j, row, j->d->rows[row].step_delay_ns);
}

/* Of its waits for the others the part in which threads that exchange with them lack a CPU. A rank that comes
 * early waits long, and what its threads lack meanwhile holds up no rank: parts of the wait are compared, not
 * times. Of too few samples no mean is taken. */
static double exchange_of(const struct judge *j, size_t row)
{
    const struct pp_rank_row *r = &j->d->rows[row];
    if (r->sampled_exchanges < LEAST_SAMPLED || !r->collective_ns || !r->exchanges)
        return 0;
    double each = (double)r->exchange_delay_ns / (double)r->sampled_exchanges,
           wait = (double)r->collective_ns / (double)r->exchanges;
    return fmin(each / wait, 1);
}

/* Of the slow one, over the median rank; 0 where it has less. */
static double excess_of(const struct judge *j, judge_value_fn *value)
{
    return fmax(value(j, j->slow) - judge_median_but(j, j->slow, value), 0);
}

/* What of the gap its threads were ready for and had no CPU: its trainer, and of the wait for data as much as
 * that is of what its workers take longer. */
static void count_contention(struct judge *j)
{
    struct pp_ranks *r = j->r;
    double work = excess_of(j, work_of), wait = excess_of(j, judge_wait_of),
           of_work = work > 0 ? fmin(excess_of(j, work_delay_of) / work, 1) : 0;
    double woken_late = fmin(excess_of(j, wait_delay_of), wait);
    j->trainer_delay_ns = woken_late + (j->met ? excess_of(j, step_delay_of) : 0);
    j->worker_delay_ns = (wait - woken_late) * of_work;
    r->cpu_wait_ns = j->trainer_delay_ns + j->worker_delay_ns + j->exchange_ns;
    r->cpu_wait_share = r->gap_ns > 0 ? fmin(r->cpu_wait_ns / r->gap_ns, 1) : NAN;
}

/* Per step: of the time that the exchange takes this rank, the part that the median rank's threads do not
 * lack. */
static double exchange_excess(const struct judge *j, size_t row)
{
    double usual = judge_median_but(j, row, exchange_of);
    return fmax(exchange_of(j, row) - usual, 0) * judge_per_step(j, row, j->d->rows[row].collective_ns);
}

double judge_exchange(const struct judge *j, size_t *row)
{
    double usual, all = 0;
    size_t at = 0;
    for (size_t i = 1; i < j->d->n_rows; i++)
        at = exchange_of(j, i) > exchange_of(j, at) ? i : at;
    usual = judge_median_but(j, at, exchange_of);
    for (size_t i = 0; i < j->d->n_rows; i++)
        all += fmax(exchange_of(j, i) - usual, 0);
    if (!(exchange_of(j, at) - usual >= PP_MOST_MEETINGS * all))
        return 0;
    *row = at;
    return exchange_excess(j, at);
}

void judge_why(struct judge *j)
{
    static const struct {
        pp_phase phase;
        judge_value_fn *value;
    } own[] = {{PP_PHASE_DATA_WAIT, judge_wait_of},
               {PP_PHASE_DEVICE_SYNC, judge_sync_of},
               {PP_PHASE_STEP, judge_step_of}},
      work[] = {{PP_PHASE_READ, read_of},
                {PP_PHASE_DECODE, decode_of},
                {PP_PHASE_TRANSFORM, transform_of},
                {PP_PHASE_COLLATE, collate_of}};
    struct pp_ranks *r = j->r;
    double of_work = 0;
    count_contention(j);
    if (r->cpu_wait_share >= PP_RANKS_MOST_OF_GAP) {
        r->cause = PP_RANKS_CONTENDED;
        r->cause_ns = r->cpu_wait_ns;
        r->cause_share = r->cpu_wait_share;
        /* What a step is shorter by when the threads that exchange with the others have their CPUs too; all
         * of them wait for that as they do for the last one to come. */
        r->exchange_delay_ns = exchange_excess(j, j->slow);
        r->gain_share = judge_gain(r->step_ns, j->saved_ns + r->exchange_delay_ns);
        r->lost_ns += r->exchange_delay_ns;
        r->lost_share = r->step_ns > 0 ? r->lost_ns / r->step_ns : NAN;
        r->lost_rank_s += r->exchange_delay_ns / 1e9 * (double)j->n_steps * (double)(j->d->n_rows - 1);
        return;
    }
    for (size_t i = 0; i < (j->met ? 3u : 2u); i++) {
        double more = own[i].value(j, j->slow) - judge_median_but(j, j->slow, own[i].value);
        if (more >= PP_RANKS_MOST_OF_GAP * r->gap_ns && !r->cause) {
            r->cause = pp_phase_info(own[i].phase)->name;
            r->cause_ns = more;
            r->cause_share = fmin(more / r->gap_ns, 1);
        }
    }
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
        of_work += fmax(work[i].value(j, j->slow) - judge_median_but(j, j->slow, work[i].value), 0);
    if (!r->cause || strcmp(r->cause, pp_phase_info(PP_PHASE_DATA_WAIT)->name) != 0 || !(of_work > 0))
        return;
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++) {
        double own_ns = work[i].value(j, j->slow), median = judge_median_but(j, j->slow, work[i].value);
        if (own_ns - median >= PP_RANKS_MOST_OF_GAP * of_work) {
            r->input_cause = pp_phase_info(work[i].phase)->name;
            r->input_cause_ns = own_ns;
            r->input_median_ns = median;
        }
    }
}
