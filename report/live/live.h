/* report/live/live.h: a run as it grows. Live is replay of a growing file: the same history answers "now" and
 * "at second 90", so a dashboard needs one code path. Fed from the store's roll-ups, of which each part is
 * read once; spans are read only around the second that is looked at.
 *
 * The file is opened for each refresh and closed again: a recorder that ends can leave one ordinary file only
 * while no other process has it open. A pp_live belongs to one thread. Quantities not known are NAN. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

struct pp_live;

/* RUNNING: as far as the file says. KILLED: no outcome was written, nothing comes any more, and its process
 * is not on this host. The recorder writes the others. */
enum pp_live_state { PP_LIVE_RUNNING, PP_LIVE_FINISHED, PP_LIVE_INTERRUPTED, PP_LIVE_FAILED, PP_LIVE_KILLED };
extern const char *const pp_live_state_names[]; /* "running", ... */

/* One phase on the threads of one lane, over the window. */
struct pp_live_stage {
    pp_phase phase;
    pp_lane lane;
    unsigned threads; /* in the lane */
    uint64_t n, max_ns;
    double per_s, mean_ns, bytes_per_s;
    double share;                   /* of the lane's thread-time */
    double cpu, run_queue, blocked; /* of this phase's time, adding up to 1; NAN: not measured */
};

struct pp_live_worker {
    uint32_t thread;
    pp_lane lane; /* worker or reader */
    const char *name;
    pp_phase state; /* what took most of the second looked at; what it was in, when nothing ended there;
                       PP_PHASE_NONE: neither is known */
    double samples_per_s, busy, waiting, cpu, run_queue; /* shares of wall time */
    uint64_t errors;                                     /* since the start */
    uint64_t sample;  /* the one in hand when the recorder looked, once in that second; without such a look,
                       * the last one that a span ended with;  or PP_NO_SAMPLE */
    const char *path; /* of that sample; NULL: not known */
    double sample_age_ns; /* since that sample's first span; NAN when sample is not known */
    double max_ns;        /* longest single piece of work in the window */
};

struct pp_live_queue {
    char name[24];
    double depth;      /* mean over the second looked at, read whenever the trainer takes a batch */
    uint64_t capacity; /* 0: not known */
};

enum pp_live_event_kind {
    PP_LIVE_ERROR,
    PP_LIVE_STRAGGLER,
    PP_LIVE_STALL,
    PP_LIVE_EPOCH,
    PP_LIVE_CHECKPOINT,
    PP_LIVE_EVENT_KINDS
};
extern const char *const pp_live_event_names[PP_LIVE_EVENT_KINDS]; /* "error", "straggler", ... */

struct pp_live_event {
    uint64_t t_ns, count;
    enum pp_live_event_kind kind;
    char text[200];
};

/* A span of the batch whose wait was the longest of the second looked at. */
struct pp_live_bar {
    uint32_t thread;
    pp_phase phase;
    uint64_t start_ns, dur_ns;
};

/* A second counts as stalled when the trainer waited this share of it or more (XProf: highly input-bound). */
#define PP_LIVE_STALL_SHARE 0.20
#define PP_LIVE_SERIES 512

/* What NVML told: X(symbol, name of the counter, in JSON too). */
#define PP_LIVE_GPU_MAP(X) \
    X(UTILIZATION, "gpu_utilization_percent") \
    X(MEMORY, "gpu_memory_used_bytes") \
    X(PCIE_RX, "gpu_pcie_rx_bytes_per_s")
enum pp_live_gpu {
#define PP_LIVE_GPU_ENUM(sym, name) PP_LIVE_GPU_##sym,
    PP_LIVE_GPU_MAP(PP_LIVE_GPU_ENUM)
#undef PP_LIVE_GPU_ENUM
        PP_LIVE_GPUS
};

struct pp_live_snapshot {
    enum pp_live_state state;
    int deleted;              /* the file is gone; what was read stays */
    double quiet_s;           /* since the file last changed */
    uint64_t origin_ns;       /* start of the run */
    uint64_t first_s, last_s; /* complete seconds of CLOCK_MONOTONIC there are; last_s < first_s: none yet */
    uint64_t at_s;            /* the one looked at: the last of the window */
    uint64_t stall_before_s,
        stall_after_s; /* where the nearest other stretch of stalled seconds begins; at_s: there is none */
    double window_s;   /* of it, how much the run covers */

    double samples_per_s;                                        /* finished by the workers */
    double batches_per_s, wait_share, step_ns, read_bytes_per_s; /* of the trainer */
    double accelerator_utilization;                              /* of the window: the steps' share of time */
    uint64_t errors, dropped;                                    /* since the start */
    double stalled_ns; /* how long the trainer had been in one wait when the recorder looked at the second's
                          end; 0: in none, or not known */
    uint64_t workers_n;
    /* Buffer debt: prefetched batches, by how many per second they became fewer over the last 1 to 5 s, and
     * how long they last at that rate until the trainer stalls; NAN: not known; buffer_lasts_s also when they
     * do not become fewer, last longer than a minute, or the trainer waits already. */
    double buffered_batches, buffer_drain_per_s, buffer_lasts_s;
    /* The worker that has been longest in one piece of work, beyond what its phase takes; -1: none. */
    long hung_worker;
    pp_phase hung_phase;
    double hung_ns;
    uint64_t hung_since_ns;
    double cpu_busy, disk_bytes_per_s, net_bytes_per_s; /* of the whole machine over the window; read and
                                                           written; NAN: not known */
    double disk_most_bytes_per_s, net_most_bytes_per_s; /* between two looks of the collectors, up to then */
    double gpu[PP_LIVE_GPUS]; /* NVML's newest reading by then, of the last 3 s; NAN: none */

    struct pp_live_stage *stages;
    size_t n_stages;
    struct pp_live_worker *workers;
    size_t n_workers;
    struct pp_live_queue queues[8];
    size_t n_queues;
    const struct pp_live_event *events;
    size_t n_events; /* up to at_s, oldest first */
    float wait_series[PP_LIVE_SERIES],
        rate_series[PP_LIVE_SERIES]; /* per second, the last one is at_s; NAN: no data */
    size_t n_series;

    uint32_t batch; /* of the bars, or PP_NO_BATCH */
    uint64_t batch_wait_ns, batch_from_ns, batch_to_ns;
    struct pp_live_bar *bars;
    size_t n_bars;
};

/* Reads what is there. Failures as pp_reader_open. */
pp_status pp_live_open(const char *path, struct pp_live **out, struct pp_err *err);
void pp_live_close(struct pp_live *l);
/* Snapshots have no bars from now on: they are most of what a look reads. */
void pp_live_without_bars(struct pp_live *l);
/* Reads what came since; *changed (may be NULL) says whether anything did. After a failure what was read
 * before stays. A file replaced by another run is read from its beginning. */
pp_status pp_live_refresh(struct pp_live *l, int *changed, struct pp_err *err);

/* The run as it was at the end of second at_s (UINT64_MAX: the newest), over window_s seconds up to there.
 * Everything in *out belongs to l and lives until its next call. */
pp_status pp_live_at(struct pp_live *l, uint64_t at_s, unsigned window_s, struct pp_live_snapshot *out,
                     struct pp_err *err);

/* Sums since the start of the run, for monitoring: they only grow while a pp_live is open. cache_hit_bytes is
 * 0 also where the file system does not tell. Waits of the trainer by their length: waits[i] took at most
 * pp_live_wait_bounds_s[i], waits[PP_LIVE_WAIT_BOUNDS] longer (to within 0.8 % of the bound). */
enum { PP_LIVE_WAIT_BOUNDS = 5, PP_LIVE_ERROR_KINDS = 8 };
extern const double pp_live_wait_bounds_s[PP_LIVE_WAIT_BOUNDS];
struct pp_live_total {
    uint64_t n, total_ns, bytes;
};
struct pp_live_totals {
    struct pp_live_total phase[PP_LANE_COUNT][PP_PHASE_COUNT];
    uint64_t waits[PP_LIVE_WAIT_BOUNDS + 1];
    uint64_t work_n[3];       /* samples transformed, decoded, read */
    double samples, batches;  /* finished by the workers, taken by the trainer; samples NAN: not known */
    uint64_t cache_hit_bytes; /* of what was read */
    uint64_t dropped;         /* spans that found their ring full */
    struct pp_live_error_kind {
        char name[32]; /* "": not used; the last one stands for all that have no other place: "other" */
        uint64_t count;
    } errors[PP_LIVE_ERROR_KINDS];
};
/* Of what was read up to now; of a running run also of the second that is being written. */
const struct pp_live_totals *pp_live_totals(const struct pp_live *l);
/* Adds what second s (of CLOCK_MONOTONIC) brought, for a walk over the seconds of a run. */
void pp_live_totals_add(const struct pp_live *l, uint64_t s, struct pp_live_totals *sum);

/* Which rank of its job the recording is of, and on which node; each -1: not known. */
struct pp_live_rank {
    long rank, node;
};
struct pp_live_rank pp_live_rank(const struct pp_live *l);

/* Facts of the run as stored: sections "run", "rank", "config" and "environment". They live until the next
 * refresh. */
struct pp_live_fact {
    char section[16], key[48], value[160], unit[16];
    int numeric; /* value was stored as a number */
};
const struct pp_live_fact *pp_live_facts(const struct pp_live *l, size_t *n);
/* The one of that name among n of them; NULL: there is none. */
const struct pp_live_fact *pp_live_fact_of(const struct pp_live_fact *facts, size_t n, const char *section,
                                           const char *key);
