/* report/live/live_impl.h: the history behind live.h, shared by the files that open it and join threads to
 * lanes (live.c), add up and tell what happened (live_rollups.c), read spans (live_near.c), sum up
 * (live_snapshot.c) and look ahead (live_outlook.c). */
#pragma once

#include "collectors/store/reader.h"
#include "report/live/live.h"
#include "report/source/lanes.h"

#include <sys/types.h>

#define LIVE_SECOND_NS UINT64_C(1000000000)

/* Samples transformed, decoded and read; the last work that there is counts them. */
enum { LIVE_WORKS = 1 + PP_PHASE_TRANSFORM - PP_PHASE_READ };
static inline void live_count_work(uint64_t work_n[LIVE_WORKS], unsigned phase, uint64_t n)
{
    if (phase >= PP_PHASE_READ && phase <= PP_PHASE_TRANSFORM)
        work_n[PP_PHASE_TRANSFORM - phase] += n;
}
static inline uint64_t live_samples(const uint64_t work_n[LIVE_WORKS])
{
    return work_n[0] ? work_n[0] : work_n[1] ? work_n[1] : work_n[2];
}

/* What one thread spent in one phase, of spans that ended in one second. */
struct live_part {
    uint32_t thread;
    uint32_t phase;
    uint64_t n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes;
};

struct live_second {
    struct live_part *parts;
    uint32_t n, cap;
    /* of all parts, so that a curve of many seconds need not go through them */
    uint64_t wait_ns, step_ns; /* of the trainer */
    uint64_t work_n[LIVE_WORKS];
    uint64_t open_wait_ns; /* of a wait of the trainer's that had not ended when the recorder looked */
    uint64_t cache_hit_bytes;
    uint32_t waits[PP_LIVE_WAIT_BOUNDS + 1]; /* as in pp_live_totals */
};

/* A lane: a thread, or worker processes that follow each other, with the id of the first. */
struct live_thread {
    uint32_t id;
    pp_lane lane;
    char name[32];
    int64_t pid;
    uint64_t dropped;
};

/* A thread of the recording: its lane, and when it recorded. */
struct live_place {
    uint32_t id;
    size_t row; /* of the lane */
    struct pp_lane_life life;
};

/* What was seen of a lane in the spans around the second looked at. */
struct live_seen {
    uint64_t sample, sample_start_ns, end_ns;
    /* what it was in when the recorder looked; open_ns 0: it did not */
    uint64_t open_ns, open_since_ns, open_sample;
    pp_phase open_phase;
    char path[320];
};

struct live_error {
    uint64_t t_ns, count;
    uint32_t thread;
    uint32_t kind; /* of pp_live_totals.errors */
};

/* A reading of NVML. */
struct live_gpu {
    uint64_t t_ns;
    enum pp_live_gpu what;
    float value;
};

/* What the machine's collectors said at one look; NAN: not yet, or never. X(symbol, counter) */
#define LIVE_METER_MAP(X) \
    X(CPU_USER, "machine_cpu_user_ns_total") \
    X(CPU_NICE, "machine_cpu_nice_ns_total") \
    X(CPU_SYSTEM, "machine_cpu_system_ns_total") \
    X(CPU_IDLE, "machine_cpu_idle_ns_total") \
    X(CPU_IOWAIT, "machine_cpu_iowait_ns_total") \
    X(CPU_STEAL, "machine_cpu_steal_ns_total") \
    X(DISK_READ, "machine_disk_read_bytes_total") \
    X(DISK_WRITE, "machine_disk_write_bytes_total") \
    X(NET_RX, "machine_net_rx_bytes_total") \
    X(NET_TX, "machine_net_tx_bytes_total")
enum live_meter {
#define LIVE_METER_ENUM(sym, name) LIVE_##sym,
    LIVE_METER_MAP(LIVE_METER_ENUM)
#undef LIVE_METER_ENUM
        LIVE_METERS
};
struct live_meters {
    uint64_t t_ns;
    double value[LIVE_METERS];
};

/* Sums of a phase over the whole run, to tell what is unusual. */
struct live_usual {
    uint64_t n, total_ns;
};

struct pp_live {
    char *path;
    dev_t dev;
    ino_t ino;
    int deleted;
    int64_t changed_ns; /* newest modification time (wall clock) of the file or its log, as last seen */
    uint64_t last_change_mono_ns, looked_mono_ns;
    int64_t second_id, error_id, counter_id, chunk_id; /* read up to here */
    uint64_t open_ns;                                  /* likewise of open phases */

    uint64_t origin_ns, ended_ns; /* 0: not known */
    enum pp_live_state state;
    char host[64];
    struct pp_live_fact *facts;
    size_t n_facts;
    double batch_size, workers, prefetch, copy_buffers;
    int ends_epochs; /* epoch_boundary is the end of an epoch, as PyTorch has it, and brings no batch */
    struct pp_live_rank rank;
    struct pp_live_totals totals;

    struct live_thread *threads; /* lanes */
    size_t n_threads;
    struct live_place *places; /* per thread of the recording */
    size_t n_places;
    uint64_t base_s; /* second[0] */
    struct live_second *seconds;
    size_t n_seconds, cap_seconds;
    unsigned char *stalled; /* per second, 0 or 1: looking for a stall goes over hours of them */
    size_t cap_stalled;
    int no_memory;

    struct live_usual usual[PP_PHASE_COUNT];
    struct pp_live_event *events;
    size_t n_events, cap_events;
    struct live_error *errors;
    size_t n_errors, cap_errors;
    struct live_gpu *gpu; /* as they came */
    size_t n_gpu, cap_gpu;
    struct live_meters *meters; /* likewise */
    size_t n_meters, cap_meters;

    /* around the second looked at */
    struct pp_reader *reader; /* of the newest refresh, for the look that follows it; NULL: none */
    int without_bars;
    uint64_t near_s;        /* UINT64_MAX: nothing read */
    struct live_seen *seen; /* per lane */
    uint16_t queue_name[8];
    char queue_text[8][24];
    double queue_sum[8], queue_n[8];
    size_t n_queues;
    uint32_t batch;
    uint64_t batch_wait_ns, batch_from_ns, batch_to_ns;
    struct pp_live_bar *bars;
    size_t n_bars, cap_bars;

    /* The last snapshot, what it was asked for, and whether it still says what there is: most frames show
     * what the one before did. */
    struct pp_live_snapshot last;
    unsigned last_window_s;
    int last_holds;
    struct pp_live_stage *stages;
    size_t cap_stages;
    struct pp_live_worker *worker_rows;
};

/* Whether a span of the trainer's in this phase is one batch taken. */
static inline int live_takes_batch(const struct pp_live *l, unsigned phase)
{
    return phase == PP_PHASE_DATA_WAIT || (phase == PP_PHASE_EPOCH_BOUNDARY && !l->ends_epochs);
}
/* The row of a thread's lane, or -1. */
long live_thread_row(const struct pp_live *l, uint32_t id);
/* Makes room for one more of size bytes in *array; 0: no memory, remembered in l. */
int live_room(struct pp_live *l, void *array, size_t n, size_t *cap, size_t size);
/* What was recorded in second s: nothing, where it is not of the run. */
static inline const struct live_second *live_second_at(const struct pp_live *l, uint64_t s)
{
    static const struct live_second none;
    return s >= l->base_s && s - l->base_s < l->n_seconds ? &l->seconds[s - l->base_s] : &none;
}
/* Share of second s that the trainer waited; NAN without a trainer in it. */
double live_wait_share(const struct pp_live *l, uint64_t s);

/* live_outlook.c: parts of a snapshot, after its queues and workers. */
void live_put_debt(const struct pp_live *l, struct pp_live_snapshot *out);
void live_put_hang(const struct pp_live *l, struct pp_live_snapshot *out);
void live_put_meters(const struct pp_live *l, unsigned window_s, struct pp_live_snapshot *out);

/* live_rollups.c: rows of the store, of which each comes once; ctx: the pp_live. */
void live_add_part(void *ctx, const struct pp_second_row *row);
void live_add_error(void *ctx, const struct pp_error_row *row);
void live_add_open_phase(void *ctx, const struct pp_open_phase_row *row);
void live_add_counter(void *ctx, uint64_t t_ns, const char *name, double value);

/* Reads the spans around second s, unless that was done already. */
pp_status live_near(struct pp_live *l, uint64_t s, struct pp_err *err);
void live_near_forget(struct pp_live *l);
