/* report/replay/whatif.h: what a recorded run would have done with other knobs: the recorded costs (costs.h),
 * changed as the knobs say, replayed (replay.h).
 *
 * A prediction is the measured rate times replay(knobs) / replay(as recorded), so that what the replay does
 * not model cancels. Its interval holds the spread over resampled batches (bootstrap), the range of the CPU
 * capacity, and how far replay(as recorded) is from the measured rate. */
#pragma once

#include "report/replay/costs.h"
#include "report/replay/knobs.h"

struct pp_prediction {
    double samples_per_s, low, high;  /* 80 % interval */
    double gain, gain_low, gain_high; /* over the measured rate: 0.4 is +40 % */
    double data_wait_share;
    double reads_waiting; /* for storage at a time, on average; a shared link's are not among them. */
    double reads_seen;    /* at a time in the recording, where the prediction takes for granted that storage
                             serves more of them as quickly (PP_PARALLEL_BEYOND); 0: it does not */
    int parts; /* in which the data set is taken to divide itself evenly, one for each worker; 0: it does not
                  divide itself, or the workers are as many as recorded */
};

/* Fits the model to the recording: what kind of storage it was (storage.h), and how many others make the
 * replay wait for CPUs as much as the recording did; fills c->cpus, c->others and c->groups, and their
 * ranges. */
pp_status pp_whatif_calibrate(struct pp_costs *c, struct pp_err *err);
/* Of a job with several DataLoaders the replay is of the one that is judged; rates, gains and waits that are
 * predicted are of the whole job all the same, and so is the measured rate that they stand beside. */
double pp_whatif_measured(const struct pp_costs *c);
/* One replay: predicted rate over the replay's as recorded, times the measured rate; quick, no interval. */
pp_status pp_whatif_rate(const struct pp_costs *c, const struct pp_knobs *k, double *samples_per_s,
                         double *data_wait_share, struct pp_err *err);
/* How far the replay as recorded is from the recording: its rate over the measured one, minus 1. */
pp_status pp_whatif_error(const struct pp_costs *c, double *error, struct pp_err *err);
/* With an 80 % interval; NAN where the costs were read at a glance. */
pp_status pp_whatif(const struct pp_costs *c, const struct pp_knobs *k, struct pp_prediction *out,
                    struct pp_err *err);

/* What a prediction takes for granted of storage, "storage serves 16 parallel reads as fast as the 2
 * recorded", or else of the data set; NULL: nothing beyond what was recorded. */
const char *pp_whatif_assumes(const struct pp_prediction *p, char *buf, size_t size);

/* What these knobs make of the recorded costs, before any queueing: means per sample, and the set-up (its
 * outages are not filled in). */
struct pp_demand {
    struct pp_replay_setup setup;
    double read_blocked_ns, bytes, reads; /* asked of storage */
    double cpu_ns;                        /* of every thread of ours */
    double worker_cpu_ns;                 /* of it, of the workers */
    double serial_ns;                     /* of it, under the one lock that workers share */
    double worker_ns;                     /* that a worker is busy or blocked */
    double reader_ns; /* likewise, of the one thread that reads a stream; 0: there is none */
    double copy_ns;   /* of a batch */
    double on_device; /* part of the samples that the device decodes */
};
void pp_whatif_demand(const struct pp_costs *c, const struct pp_knobs *k, struct pp_demand *out);

/* estimate.c: what a step of a given length needs of the loader: the computation that every team does on the
 * back of an envelope, from recorded costs.
 *
 * By operational laws alone (Denning and Buzen 1978): a step of T ns per batch of B samples takes X = B / T
 * samples per second; at D seconds of a resource per sample, X D of it are in use on average (utilisation
 * law; Little's law for what is waited for). Then one replay with as many workers as that makes, which adds
 * what averages leave out: samples that differ, order, a limited prefetch, CPUs shared with others. */

struct pp_estimate {
    double step_ns, batch_size;
    double samples_per_s, bytes_per_s;
    double read_bytes, read_blocked_ns,
        cpu_ns; /* per sample; cpu_ns of everything that is ours: read to collate, copy and step */
    double cores, usable_cores; /* CPUs in use, and those that we may use */
    double reads_waiting;       /* reads in flight, on average */
    double busy_workers;        /* on average; so many and no fewer are needed */
    double copy_share;          /* of the time of a step that its copy takes */
    double most_per_s;   /* samples/s that CPUs, copies and link (if one shows) allow, however many workers */
    const char *most_of; /* "the CPUs", "the copies to the device", "the storage's bandwidth" */
    int workers; /* the least that keeps up in the replay, or the most that were tried; 0: not replayed, no
                    number will do or it is over 256 */
    struct pp_prediction with_workers; /* with that many */
};

/* knobs: what else is changed (batch size, decode cost, ...); its step is replaced. PP_E_USAGE for a step
 * that is not positive. Costs up to a dozen replays. */
pp_status pp_estimate(const struct pp_costs *c, const struct pp_knobs *knobs, double step_ns,
                      struct pp_estimate *out, struct pp_err *err);
