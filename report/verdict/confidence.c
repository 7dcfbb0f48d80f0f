#include "report/verdict/verdict.h"

/* Fitted by `lab --fit` (tests/lab/reliability.h) on the 230 verdicts of 242 labelled runs of 2.5 s, odd and
 * even seeds 1 to 10, 22 November 2026, 2 CPUs of which other processes used 0 to 1.9. Isotonic, at least 50
 * verdicts a row; the share is (right + 1/2) / (all + 1), so that none is certain. Jobs that others wrote are
 * harder: where the field jobs (tests/field/reliability.py, 28 November 2026, alone and beside load; right is
 * the whole cause) have a lower share, a row has that one. */
const struct pp_confidence_row pp_confidence_rows[] = {
    {0.000, 0.763}, /* lab: 43 of 56; field: 30 of 39 */
    {0.855, 0.954}, /* lab: 174 of 174; field: 51 of 53 */
};
const size_t pp_confidence_rows_n = sizeof(pp_confidence_rows) / sizeof(*pp_confidence_rows);

static double lead(const struct pp_facts *f, double explained)
{
    static const enum pp_metric weights[] = {PP_METRIC_W_STORAGE,   PP_METRIC_W_ERRORS, PP_METRIC_W_LOCK,
                                             PP_METRIC_W_WORK,      PP_METRIC_W_COPY,   PP_METRIC_W_SYNC,
                                             PP_METRIC_W_COLLECTIVE};
    double best = NAN, next = 0;
    for (size_t i = 0; i < sizeof(weights) / sizeof(*weights); i++) {
        double w = f->metric[weights[i]];
        if (isnan(w))
            continue;
        next = isnan(best) || w > best ? (isnan(best) ? 0 : best) : fmax(next, w);
        best = isnan(best) ? w : fmax(best, w);
    }
    double ahead = isnan(best) ? fmin(explained, 1) : best - next;
    return isnan(ahead) ? 0.5 : 0.5 + 0.5 * ahead;
}

enum factor { SIDE, LEAD, FIDELITY, CLEAR, FACTORS };

void pp_confidence_judge(const struct pp_facts *f, const struct pp_rule *cause, int bound,
                         struct pp_report_verdict *v)
{
    static const char *const words[FACTORS] = {"the wait is close to 5 % of the time",
                                               "another cause weighs nearly as much",
                                               "the replay does not reproduce the run well",
                                               "other processes use the CPUs"};
    double fidelity = isnan(f->replay_error) ? 0 : fmax(1 - fabs(f->replay_error) / PP_MOST_REPLAY_ERROR, 0),
           se = f->data_wait_se, off = fabs(f->metric[PP_METRIC_DATA_WAIT] - pp_level_moderate->at_least);
    int about_cpus = cause &&
                     (cause->relief.compare != PP_NO_CONDITION || pp_rule_asks(cause, PP_METRIC_G_WORKERS));
    if (f->trace) /* calibrated on recordings */
        return;
    double others = f->metric[PP_METRIC_CONTENDED], with_workers = f->metric[PP_METRIC_G_CPUS_WORKERS],
           gain = fmax(f->metric[PP_METRIC_G_CPUS], 0), clear = 1;
    if (bound && about_cpus)
        clear -= 0.5 * (isnan(others) ? 0.5 : fmin(others, 1));
    if (bound && about_cpus && pp_rule_asks(cause, PP_METRIC_CONTENDED) && !isnan(with_workers)) {
        double workers = fmax((1 + with_workers) / (1 + gain) - 1, 0);
        clear *= gain + workers > 0 ? gain / (gain + workers) : 1;
    }
    const double factor[FACTORS] = {
        /* the chance that the true share lies on the same side of the threshold as the measured one */
        [SIDE] = se > 0      ? 1 - 0.5 * erfc(off / se / sqrt(2))
                 : isnan(se) ? NAN
                             : 1,
        [LEAD] = cause && bound ? lead(f, v->explained) : 1,
        [FIDELITY] = cause && bound ? 0.8 + 0.2 * fidelity : 1,
        [CLEAR] = clear};
    v->confidence_score = factor[SIDE] * factor[LEAD] * factor[FIDELITY] * factor[CLEAR];
    v->confidence = pp_confidence_of(v->confidence_score);
    v->certainty = isnan(v->confidence)               ? NULL
                   : v->confidence >= PP_NEAR_CERTAIN ? "near certain"
                   : v->confidence >= 0.7             ? "likely"
                                                      : "unclear";
    v->doubt = NULL;
    if (!(v->confidence < PP_NEAR_CERTAIN))
        return;
    enum factor least = SIDE;
    for (enum factor i = SIDE; i < FACTORS; i++)
        least = factor[i] < factor[least] ? i : least;
    v->doubt = least == FIDELITY && isnan(f->replay_error) ? "no replay could check it"
               : factor[least] < 1                         ? words[least]
                                                           : NULL;
}

double pp_confidence_of(double score)
{
    double right = isnan(score) ? NAN : pp_confidence_rows[0].right;
    for (size_t i = 0; i < pp_confidence_rows_n && score >= pp_confidence_rows[i].score; i++)
        right = pp_confidence_rows[i].right;
    return right;
}
