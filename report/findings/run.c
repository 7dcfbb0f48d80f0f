/* Of the run and its order: stalls at an interval, the first batch, boundaries of epochs, the last rank, and
 * the prefetched batches. */
#include "report/findings/findings.h"

#include "report/rules/limits.h"

enum { LEAST_BUFFER = 4 }; /* batches */

static void measure_first_batch(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_timeline *tl = from->timeline;
    const struct pp_report *r = from->report;
    double *m = f->number, first = r->first_batch_s;
    if (isnan(first)) {
        f->text[PP_FINDING_FIRST_UNKNOWN] = "the trainer's wait for a batch was not recorded";
        return;
    }
    double opening = (double)(tl->startup_ns[PP_LANE_MAIN] + tl->startup_ns[PP_LANE_TRAINER]) / 1e9,
           workers = (double)(tl->startup_ns[PP_LANE_WORKER] + tl->startup_ns[PP_LANE_READER] +
                              tl->first_start_ns) /
                     1e9,
           sampler = (double)tl->first_sampler_ns / 1e9, gather = (double)tl->gather_ns / 1e9,
           program = pp_timeline_program_s(tl, first),
           rest = fmax(first - opening - workers - sampler - gather - program, 0);
    const double parts[] = {
        [PP_FIRST_PROGRAM] = program, [PP_FIRST_OPENING] = opening, [PP_FIRST_WORKERS] = workers,
        [PP_FIRST_RANKS] = gather,    [PP_FIRST_BATCH] = rest,      [PP_FIRST_SAMPLER] = sampler};
    size_t most = 0;
    for (size_t i = 1; i < sizeof(parts) / sizeof(*parts); i++)
        most = parts[i] > parts[most] ? i : most;
    m[PP_FINDING_FIRST_BATCH] = first;
    m[PP_FINDING_FIRST_SHARE] = r->duration_s > 0 ? first / r->duration_s : NAN;
    if (from->given_length && r->window_s >= PP_LEAST_WINDOW_S)
        m[PP_FINDING_FIRST_SHARE_OF_GIVEN] = m[PP_FINDING_FIRST_SHARE];
    m[PP_FINDING_FIRST_PROGRAM] = program;
    m[PP_FINDING_FIRST_OPENING] = opening;
    m[PP_FINDING_FIRST_WORKERS] = workers;
    m[PP_FINDING_FIRST_SAMPLER] = sampler;
    m[PP_FINDING_FIRST_REST] = rest;
    m[PP_FINDING_FIRST_PART] = (double)most;
    m[PP_FINDING_FIRST_PART_TIME] = parts[most];
}

/* Workers that start again for every epoch say so by a start-up, or are others behind each boundary. */
static void measure_boundaries(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_timeline *tl = from->timeline;
    const struct pp_restarts *k = &from->checks->patterns.restarts;
    double *m = f->number, window_s = from->report->window_s, n = (double)tl->boundaries;
    m[PP_FINDING_LOADER_AGAIN] = pp_source_yes(from->source, "config", "loader_made_again");
    if (!tl->boundaries || !(window_s >= PP_LEAST_WINDOW_S)) {
        f->text[PP_FINDING_BOUNDARIES_UNKNOWN] = tl->boundaries ? "the steady state was shorter than 1 s"
                                                                : "no epoch began in the steady state";
        return;
    }
    double usual = tl->judged_batches ? (double)pp_timeline_exposed_ns(tl) / (double)tl->judged_batches : 0,
           mean = (double)tl->epoch_ns / n, beyond = fmax(mean - usual, 0),
           restart = tl->restarts ? (double)tl->restart_ns / (double)tl->restarts : 0;
    m[PP_FINDING_BOUNDARIES] = n;
    m[PP_FINDING_BOUNDARY_WAIT] = mean / 1e9;
    m[PP_FINDING_BOUNDARY_LONGEST] = (double)tl->epoch_max_ns / 1e9;
    m[PP_FINDING_BOUNDARY_USUAL] = usual / 1e9;
    m[PP_FINDING_BOUNDARY_SHARE] = beyond * n / (window_s * 1e9);
    m[PP_FINDING_BOUNDARY_RESTART] = tl->restarts ? restart / 1e9 : NAN;
    m[PP_FINDING_BOUNDARY_RESTARTS] = restart > beyond / 2 ||
                                      (k->started_again && k->generations > tl->boundaries);
}

/* Slices of the whole run tell how many batches were ready. */
static void measure_debt(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_report *r = from->report;
    double *m = f->number, peak = 0, full_at = NAN, times = 0;
    int known = 0;
    for (size_t i = 0; i < r->n_slices; i++)
        if (!isnan(r->slices[i].ready_batches)) {
            known = 1;
            peak = fmax(peak, r->slices[i].ready_batches);
        }
    if (!known || !r->has_step || !from->timeline->has_steady_state) {
        f->text[PP_FINDING_DEBT_UNKNOWN] = "how many batches were ready for the trainer was not recorded";
        return;
    }
    for (size_t i = 0; i < r->n_slices && peak >= LEAST_BUFFER; i++) {
        const struct pp_report_slice *s = &r->slices[i];
        if (s->ready_batches >= peak / 2) {
            full_at = s->end_s;
        } else if (s->ready_batches < fmax(1, peak / 10) && s->wait_share >= PP_LEAST_SHARE &&
                   !isnan(full_at) && s->end_s <= r->window_end_s) {
            if (times++ < 1) {
                m[PP_FINDING_DEBT_FIRST] = s->start_s;
                m[PP_FINDING_DEBT_TOOK] = fmax(s->start_s - full_at, 0);
            }
            full_at = NAN; /* until it has been full again */
        }
    }
    m[PP_FINDING_DEBT_TIMES] = times;
    m[PP_FINDING_DEBT_MOST] = peak;
    m[PP_FINDING_DEBT_LASTS] = r->batches_per_s > 0 ? peak / r->batches_per_s : NAN;
}

void pp_measure_run(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_report *r = from->report;
    const struct pp_periodic *p = &from->checks->periodic;
    const struct pp_ranks *k = &from->checks->ranks;
    double *m = f->number;
    m[PP_FINDING_STALL] = r->data_wait_share;
    m[PP_FINDING_STALL_OR_ALL] = isnan(r->data_wait_share) ? 1 : r->data_wait_share;
    m[PP_FINDING_READ_SHARE] = 0; /* of the threads that read: the workers, or the shard reader */
    for (size_t i = r->n_phases; i-- > 0;)
        if (r->phases[i].phase == PP_PHASE_READ)
            m[PP_FINDING_READ_SHARE] = r->phases[i].share;
    m[PP_FINDING_JUDGED_BATCHES] = (double)from->timeline->n_cycles;
    f->text[PP_FINDING_PERIODIC_UNKNOWN] = p->measured ? NULL : "fewer than 20 batches in steady state";
    if (p->measured && p->found) {
        m[PP_FINDING_PERIODIC] = 1;
        m[PP_FINDING_PERIOD] = p->period_ns / 1e9;
        m[PP_FINDING_PERIOD_BATCHES] = round(p->period_batches);
        m[PP_FINDING_PERIODIC_STALL] = p->stall_ns / 1e9;
        m[PP_FINDING_PERIODIC_STALLS] = (double)p->stalls;
        m[PP_FINDING_PERIODIC_EXPECTED] = (double)p->expected;
        m[PP_FINDING_PERIODIC_SHARE] = p->share;
        m[PP_FINDING_PERIODIC_PHASE] = p->phase;
        f->text[PP_FINDING_PERIODIC_THREADS] = p->in_trainer ? "trainer" : "workers";
        m[PP_FINDING_PERIODIC_BETWEEN] = p->between_share;
        m[PP_FINDING_PERIODIC_PHASE_SHARE] = p->phase_share;
        m[PP_FINDING_PSI_IO_SHARE] = p->psi_io_share;
        f->text[PP_FINDING_PSI_IO] = p->psi_io_share >= 0.5 ? "tasks waited for I/O (PSI)" : NULL;
        m[PP_FINDING_PERIODIC_P] = p->p;
    }
    measure_first_batch(from, f);
    const struct pp_timeline *tl = from->timeline;
    int trained = tl->part == PP_PART_TRAINED;
    if (trained || tl->part == PP_PART_EMPTIED) {
        double s = (double)tl->untrained_ns / 1e9;
        m[trained ? PP_FINDING_UNTRAINED : PP_FINDING_READ_AHEAD] = (double)tl->untrained;
        m[PP_FINDING_UNTRAINED_TIME] = s;
        m[PP_FINDING_UNTRAINED_SHARE] = r->duration_s > 0 ? s / r->duration_s : NAN;
    }
    measure_boundaries(from, f);
    measure_debt(from, f);
    if (!k->meetings) {
        f->text[PP_FINDING_LATE_UNKNOWN] = tl->collective_ns
                                               ? "the last rank of each collective step was not recorded"
                                               : "the run has no other ranks (--collective)";
        return;
    }
    m[PP_FINDING_LATE_RANK] = k->last_rank;
    m[PP_FINDING_LATE_SHARE] = k->last_share;
    m[PP_FINDING_LATE_OWN] = k->rank;
    m[PP_FINDING_LATE_OWN_SHARE] = k->own_share;
    m[PP_FINDING_LATE_STEPS] = (double)k->meetings;
    m[PP_FINDING_LATE_WAIT] = pp_timeline_share(tl, tl->collective_ns);
    f->text[PP_FINDING_LATE_IS_THIS] = k->rank == k->last_rank ? "this rank" : NULL;
}
