/* report/replay/whatif.h: what a recorded run would have done with other knobs: the recorded costs (costs.h),
 * changed as the knobs say, replayed (replay.h).
 *
 * A prediction is the measured rate times replay(knobs) / replay(as recorded), so that what the replay does
 * not model cancels. Its interval holds the spread over resampled batches (bootstrap), the range of the CPU
 * capacity, and how far replay(as recorded) is from the measured rate. */
#ifndef PP_REPORT_REPLAY_WHATIF_H
#define PP_REPORT_REPLAY_WHATIF_H

#include "report/replay/costs.h"

/* Images that a GPU decodes (nvjpeg.h). */
struct pp_gpu_decode {
    double per_s, low_per_s, high_per_s; /* images/s, and the interval; 0: decoding stays on the CPU */
    double floor_ns, low_floor_ns, high_floor_ns; /* of a batch, however small */
    double part;                                  /* of the images, that it takes */
    double copied;                                /* bytes of a batch over the recorded ones */
    int published;                                /* 1: the rate is; 0: it was stated */
    int counted;                                  /* part is of the recording, and no assumption */
};

/* Multipliers are 1 and counts 0 where nothing changes: see pp_knobs_none. */
struct pp_knobs {
    int workers, prefetch, copy_buffers; /* 0: as recorded */
    int order;                           /* 0: as recorded, 1: in order, 2: as finished */
    double batch;                        /* samples; 0: as recorded */
    double cpus;                         /* 0: as recorded */
    int alone;                           /* 1: the run has the CPUs to itself */
    double read, bandwidth; /* multiplier of blocked read time; bytes/s of all reads together, 0: no limit
                               beyond what was recorded */
    int inflight;           /* reads of a worker at a time; 0: as recorded */
    double first_byte;      /* multiplier of the time to the first byte of requests */
    double stream;          /* bytes/s of a connection; 0: as recorded */
    double hedge;       /* requests slower than this quantile are made twice; 0: none more than recorded */
    double shard_bytes; /* of a stream's shards; 0: as recorded (shards.h) */
    int kept;           /* 1: no request opens a connection */
    int even_hosts;     /* 1: no host is slower than the others */
    double cached;      /* share of the reads served from the page cache, 0..1 */
    double decode, transform, collate; /* multipliers of CPU time */
    struct pp_gpu_decode gpu_decode;
    double unpickle;      /* multiplier of the time in which the trainer unpickles batches */
    double unpickle_most; /* the most that it may be; 0: it is what it is */
    double step;          /* multiplier of the trainer's own time */
    double step_ns;       /* or that time; 0: as the multiplier says */
    int step_stated; /* 1: the multiplier holds at any batch size; 0: with another one a step is taken to grow
                        in proportion besides */
    double device_decode;     /* multiplier on the copy lane's waiting for the device's decoder */
    double copy, sync, retry; /* multipliers; sync 0: no step waits for the device */
    double collective; /* multiplier of what a step takes the other ranks; 0: they are never waited for */
    int pinned;        /* 1: copies cost no CPU, and do not block a PyTorch job's steps */
    int persistent;    /* 1: PyTorch's workers stay for all epochs */
    int unlocked;      /* 1: workers do not exclude each other */
    int even_workers;  /* 1: no worker is slower than the median one */
    int even_samples;  /* 1: no sample costs more than three times the median one */
};
struct pp_knobs pp_knobs_none(void);

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
/* One replay: the ratio of the predicted rate to the replay as recorded times the measured rate; quick, no
 * interval. */
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

/* "workers=8", "cache=warm", ... into knobs, given what was recorded. PP_E_USAGE for what is no knob;
 * PP_E_UNSUPPORTED, with the reason, for what a replay cannot know. */
pp_status pp_knobs_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err);
/* One line per knob for --help; NULL after the last. */
const char *pp_knobs_help(int i, const char **name, const char **values);

#endif
