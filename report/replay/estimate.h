/* report/replay/estimate.h: what a step of a given length needs of the loader: the computation that every
 * team does on the back of an envelope, from recorded costs.
 *
 * By operational laws alone (Denning and Buzen 1978): a step of T ns per batch of B samples takes X = B / T
 * samples per second; at D seconds of a resource per sample, X D of it are in use on average (utilisation
 * law; Little's law for what is waited for). Then one replay with as many workers as that makes, which adds
 * what averages leave out: samples that differ, order, a limited prefetch, CPUs shared with others. */
#ifndef PP_REPORT_REPLAY_ESTIMATE_H
#define PP_REPORT_REPLAY_ESTIMATE_H

#include "report/replay/whatif.h"

struct pp_estimate {
    double step_ns, batch_size;
    double samples_per_s, bytes_per_s;
    double read_bytes, read_blocked_ns,
        cpu_ns; /* per sample; cpu_ns of everything that is ours: read to collate, copy and step */
    double cores, usable_cores; /* CPUs in use, and those that we may use */
    double reads_waiting;       /* reads in flight, on average */
    double busy_workers;        /* on average; so many and no fewer are needed */
    double copy_share;          /* of the time of a step that its copy takes */
    double
        most_per_s; /* samples/s that CPUs, copies and link (where one shows) allow, however many workers */
    const char *most_of; /* "the CPUs", "the copies to the device", "the storage's bandwidth" */
    int workers; /* the least that keeps up in the replay, or the most that were tried; 0: not replayed, no
                    number will do or it is over 256 */
    struct pp_prediction with_workers; /* with that many */
};

/* knobs: what else is changed (batch size, decode cost, ...); its step is replaced. PP_E_USAGE for a step
 * that is not positive. Costs up to a dozen replays. */
pp_status pp_estimate(const struct pp_costs *c, const struct pp_knobs *knobs, double step_ns,
                      struct pp_estimate *out, struct pp_err *err);

#endif
