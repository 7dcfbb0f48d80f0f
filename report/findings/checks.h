/* report/findings/checks.h: secondary checks of a recording, in one pass: operational laws (laws.c),
 * periodicity (periodic.c), sample order (visits.h), patterns of workers (patterns.c), and ranks.
 *
 * Each that looks at spans is a pass over all of them, after the timeline, and of the same calls: begin, NULL
 * without memory; every chunk, non-zero without memory; end, after the tally's, which accepts NULL, frees the
 * pass and fills out. */
#pragma once

#include "probe/base/arena.h"
#include "report/findings/visits.h"
#include "report/measure/tally.h"
#include "report/measure/timeline.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* Operational laws that every recording obeys, whatever the pipeline does; one that does not contradicts
 * itself and is not judged.
 *
 * - Utilisation law (U = X S <= 1; Denning and Buzen, The Operational Analysis of Queueing Network Models,
 * 1978): a thread cannot spend the same time twice, nor have more CPU time and run-queue delay than time; all
 * threads together cannot have more CPU time than the usable CPUs give.
 * - Service-rate law (X <= servers / demand) with flow balance: as many samples leave the workers as the
 * trainer gets, up to what can be in flight, and no lane delivers more than its threads could at the cost
 * they recorded.
 * - Little's law (N = X R): the depth that each queue measured itself is that which follows from when the
 * spans say batches came and went.
 *
 * A check whose two sides were not both recorded (no queues, less detail, no batch numbers, a foreign loader
 * whose prefetch is not known) is left out. */

enum pp_law { PP_LAW_UTILISATION, PP_LAW_SERVICE, PP_LAW_LITTLE, PP_LAWS };

struct pp_laws {
    double off[PP_LAWS];        /* by how much it is broken at worst, as a share; NAN: not checked */
    const char *where[PP_LAWS]; /* what disagrees there, in the arena; "" when not checked */
    double bound_share;         /* throughput over the tightest service-rate bound; NAN: none known */
    const char *bound; /* "the workers", "the trainer", "the copy lane", "the CPUs"; NULL: none known */
};

struct pp_laws_pass *pp_laws_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_laws_chunk(struct pp_laws_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
void pp_laws_end(struct pp_laws_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                 struct pp_arena *arena, struct pp_laws *out);

/* What workers do that people ask about by name, in one pass over the spans:
 *
 * - Lockstep waits: "every num_workers-th batch is slow". Workers that begin together and are equally slow
 *   deliver together: the trainer waits for the first of W batches and finds the others ready. A wait is
 *   long from half of what it would be if one batch in W had all of the waiting. The pattern is there when
 *   at least 10 distances between neighbouring long waits were seen, 70 % of them are exactly W batches, and
 *   the long waits hold 60 % of the waiting. Waits at random with the same rate have that distance with a
 *   chance of (1/W)(1 - 1/W)^(W-1) <= 0.25 each: 10 distances pass by chance less than once in 280, and
 *   40 distances never. One worker that is slower than the others gives the same rhythm: it is told by the
 *   time that each worker takes per batch.
 *   In a trace of another profiler the number of workers is not known, and the rhythm tells it: the least W
 *   from 2 to 32 for which 4 or more long waits are all exactly W batches apart and hold 80 % of the waiting.
 *   By chance that happens once in 64 for each W.
 * - Restarts: generations of workers. A worker that begins after all of the generation before have ended
 *   begins the next one. Two generations may be a training and a validation loader; workers restart when
 *   there are three, or two in two epochs, or when they record a start-up for a batch.
 * - Hangs: work that was open when the recording ended, or that took far longer than work of its phase
 *   usually does.
 *
 * Memory: 8 bytes per batch of the window up to PP_PATTERN_BATCHES, and 80 per thread. */

enum { PP_PATTERN_BATCHES = 1 << 20 };

struct pp_lockstep {
    const char *unknown; /* why nothing is known; NULL: it is */
    int found,
        inferred; /* inferred: a trace of another profiler does not tell the workers; the rhythm does */
    unsigned workers;
    size_t long_waits, distances, in_step; /* in_step: distances of exactly `workers` batches */
    double long_share;                     /* of the waiting: the long waits */
    double slowest; /* time per batch of the slowest worker over the median worker's; NAN: not known */
    uint32_t slowest_thread;
};

struct pp_restarts {
    const char *unknown;
    size_t generations, threads; /* threads: workers in all */
    size_t started_again;        /* beyond the first generation */
    double gap_ns; /* from the last work of a generation to the first work of the next, all gaps */
};

struct pp_hang {
    int measured, found, open; /* open: when the recording ended */
    uint32_t thread;
    pp_phase phase;
    uint64_t start_ns, dur_ns, sample; /* PP_NO_SAMPLE */
    double usual_ns;                   /* median of its phase; NAN: none ended */
    size_t others;                     /* workers that hung as well */
};

struct pp_patterns {
    struct pp_lockstep lockstep;
    struct pp_restarts restarts;
    struct pp_hang hang;
};

struct pp_patterns_pass *pp_patterns_begin(const struct pp_source *source,
                                           const struct pp_timeline *timeline);
int pp_patterns_chunk(struct pp_patterns_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
void pp_patterns_end(struct pp_patterns_pass *p, const struct pp_tally *tally, struct pp_patterns *out);

/* Stalls that come again at a fixed interval, and what else happens then: "every
 * 312 s, 4.1 s: coincides with checkpoint spans".
 *
 * A cycle is the time from the end of one batch's step to the end of the next one's, whatever passed in it. A
 * stall is a cycle that takes half as long again as the median one; neighbours are one stall. Whether the
 * stalls have a period is told by stats/periodicity.h; the finding asks beside that for 1 % of the window's
 * time, the least that shows in the throughput. What coincides is what takes more of the time in those stalls
 * than outside of them: a phase of the trainer's first; when that is its wait for data, the phase of the
 * workers; a checkpoint span of whatever thread; and the system's own account of tasks that wait for I/O
 * (PSI). */

struct pp_periodic {
    int measured; /* 0: too few batches to tell */
    int found;
    double period_ns, stall_ns; /* stall_ns: mean time beyond the median cycle */
    double period_batches;      /* cycles from stall to stall; of an interval in time, as many of median
                                 * length as fit into it, stall included */
    double share;               /* of the window: all these stalls */
    size_t stalls, expected;    /* expected: from the first to the last, had none been missing */
    double p;
    int in_trainer;       /* phase is the trainer's own, and not its wait */
    pp_phase phase;       /* PP_PHASE_NONE: nothing recorded takes more time then */
    double phase_share;   /* of the stalls: its time beyond what it takes elsewhere */
    double between_share; /* of the stalls: of the trainer, in no span between epochs */
    double psi_io_share;  /* tasks waiting for I/O, beyond elsewhere; NAN: no PSI */
};

struct pp_periodic_pass *pp_periodic_begin(const struct pp_source *source,
                                           const struct pp_timeline *timeline);
int pp_periodic_chunk(struct pp_periodic_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
pp_status pp_periodic_end(struct pp_periodic_pass *p, const struct pp_source *source, struct pp_periodic *out,
                          struct pp_err *err);

/* Processes whose private memory (else, their anonymous memory) grows and goes on growing, from the counters
 * of collectors/system/memory.c.
 *
 * The first third of a process' readings is left out: buffers fill, caches warm. The rest is divided into 8
 * blocks of equal time; the growth from block to block has a mean and a spread, and its 95 % interval is
 * Student's for 7 differences. A steady slope has a narrow one; a single step, a sawtooth or noise has one
 * that reaches zero. A process grows when the lower end is above zero and the slope times the time watched is
 * 16 MiB or more.
 * Private memory grows too where each block has more of it than the one before, by a quarter of the mean or
 * more.
 *
 * Memory: some 200 bytes for each of up to PP_MEMORY_SERIES processes; those beyond are not looked at. */

enum { PP_MEMORY_SERIES = 2048 };

struct pp_memory_growth {
    const char *unknown; /* why nothing is known; NULL: it is */
    size_t processes;    /* that were watched for long enough */
    size_t growing;
    int64_t pid;                         /* the fastest */
    double per_s, low_per_s, high_per_s; /* of that one, bytes */
    double copied; /* of that growth, the share that is copies of pages shared before; NAN: not recorded */
    double private_bytes, anon_bytes; /* of that one at the end, where its private memory is known; NAN */
    double all_per_s;                 /* of all that grow */
    double free_bytes;                /* available when the run began, less what all grew; NAN: not known */
    double full_s;                    /* at this rate; NAN */
};

/* Two walks over the counters. */
pp_status pp_memory_check(const struct pp_source *source, struct pp_memory_growth *out, struct pp_err *err);

/* The ranks of a data-parallel run, as one rank's recording has them. The trainer records two counters after
 * each collective step (loader/trainer.c): collective_last_rank, and collective_others_ns, what the step took
 * the other ranks. */
struct pp_ranks {
    uint64_t meetings;  /* of the steady state; 0: no collective step was recorded, or not who came last */
    uint32_t last_rank; /* who came last most often */
    double last_share;  /* in this part of the meetings */
    double own_share;   /* this rank came last in that part; NAN: which rank this is was not recorded */
    double rank;        /* this one; NAN: not recorded */
};

/* Requests to remote storages between two readings of their counters (counters.c). */
struct pp_remote_use {
    int recorded;        /* there were any */
    const char *unknown; /* why nothing is known of the steady state; NULL: it is */
    double watched_ns;
    double requests, failed, throttled, retries, connections, bytes;
    double busy_ns, resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns;
};

/* The cache over a storage, likewise (counters.c). */
struct pp_cache_use {
    int recorded;        /* there was one */
    const char *unknown; /* as above */
    double requests, hits, cold, coalesced, evicted, again, changed, damaged;
    double bytes, hit_bytes, page_bytes, fetched_bytes, wait_ns;
    double data_bytes, limit_bytes, held_bytes; /* at the end */
};

/* Shards that the ranks of a run lease (leases.c). */
struct pp_lease_use {
    uint64_t looks; /* spans `lease`: asked for a shard, with one or without; 0: shards are not leased */
    double looks_ns, wait_ns, longest_ns, run_ns;
    double epoch_wait_ns;       /* of wait_ns: while the trainer waited for the first batch of an epoch */
    const char *holder;         /* rank that held most of what was waited for; NULL: not known */
    double taken, stolen, lost; /* NAN: the run was killed */
};

/* Pages and chunks that were decoded for samples (counters.c). */
struct pp_pages_use {
    int recorded;
    const char *unknown;
    double watched_ns;
    double samples, used_bytes, decoded, decoded_bytes, decode_ns, lock_ns, lock_held_ns;
};

/* What a PyTorch job's hooks counted in the steady state (hooks.c); sums. */
struct pp_handed_use {
    double sampler_ns; /* in the trainer's waits: its samplers drew */
    double extra_bytes,
        tensors; /* behind the batches' tensors, beyond what these have; tensors of batches that came */
    double shm_used_most, shm_left; /* of /dev/shm: the most used; the least left, NAN: not recorded */
    double read_bytes, made;        /* of samples that were recorded one by one, and how many these are */
    double put_bytes, puts;         /* of the batches' tensors, as the workers put them; batches */
    double factor; /* bytes that go from process to process over those, 1 or more; NAN: not recorded */
};

/* JPEGs that the GPU decodes, in the steady state (device_decode.c). */
struct pp_device_decode_use {
    double batches, images; /* decoded there; batches 0: none are */
    double busy_ns;         /* of the device's decoder */
    double cpu_decode_ns;   /* of the workers, in all */
    double copies, copied_bytes;
    double beside, apart; /* steps beside decoding and apart from it, and how long they take */
    double beside_ns, apart_ns, difference_se_ns, beside_se_ns;
};

/* The order of a streamed run, as it was (shuffle.c). */
struct pp_shuffle_seen {
    int streamed;                         /* 0: the run was none */
    const char *unknown;                  /* why nothing is known; NULL: it is */
    double visits, batch, buffer, shards; /* shards: of one rank in an epoch */
    double shard_samples, sample_bytes;   /* means */
    double most_places, mean_places;      /* between where a sample is stored and where it came */
    double own_shard;                     /* others of its own shard in its batch: mean number */
    double largest_share;                 /* of a batch: the shard with most of its samples; mean */
};

struct pp_checks {
    struct pp_laws laws;
    struct pp_periodic periodic;
    struct pp_visits visits;
    struct pp_patterns patterns;
    struct pp_memory_growth memory;
    struct pp_remote_use remote;
    struct pp_cache_use cache;
    struct pp_lease_use leases;
    struct pp_pages_use pages;
    struct pp_handed_use handed;
    struct pp_shuffle_seen shuffle;
    struct pp_device_decode_use device_decode;
    struct pp_ranks ranks;
    double origin_ns; /* when the run began */
};

/* end: after the rows of r are there. */
struct pp_checks_pass *pp_checks_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_checks_chunk(struct pp_checks_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
pp_status pp_checks_end(struct pp_checks_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_arena *arena, struct pp_checks *out, struct pp_err *err);

/* counters.c: what counters of collectors/record came to in the steady state, in one walk: requests to remote
 * storages, the cache over a storage (run --cache), and pages that files of columns (Parquet) had to decode
 * for samples. A counter without readings is 0, and one that goes back.
 *
 * - Requests in flight are the time of all requests over the time they were counted in (Little's law). A
 *   trainer that waits a share w of its time would take its batches 1 / (1 - w) times as fast; as requests
 *   take no less time for that, as many times more have to be in flight.
 * - No policy can hit more of a set that is read once per epoch than cache bytes over data bytes: each epoch
 *   asks for all of it. That is the attainable rate, beside the measured one.
 * - A page is decoded whole. An epoch in order uses all of it; a random one uses one row of it, and decodes
 * it
 *   again for the next. The amplification is the bytes decoded over the bytes of the samples. HDF5 is read by
 *   a library with one lock: its utilisation, and the threads that wait for it. */
pp_status pp_counters_check(const struct pp_source *source, const struct pp_timeline *timeline,
                            struct pp_checks *out, struct pp_err *err);

/* hooks.c: what the hooks of a PyTorch job count per batch: what its samplers draw for in the trainer's
 * waits, and what its workers hand over. Each counter stands for what came since the one before, so that they
 * add up. */

/* One walk over the counters of the window. */
pp_status pp_handed_check(const struct pp_source *source, const struct pp_timeline *tl,
                          const struct pp_tally *tally, struct pp_handed_use *out, struct pp_err *err);

/* leases.c: a rank that leases its shards (run --lease): how many it had, what became of them, and how long
 * its reader waited for those of other ranks. Spans lease and lease_wait of the reader, and what the run
 * stored of its leases at its end. */

struct pp_leases_pass *pp_leases_begin(const struct pp_source *source, const struct pp_timeline *timeline);
void pp_leases_chunk(struct pp_leases_pass *p, const struct pp_span *spans, size_t n);
void pp_leases_end(struct pp_leases_pass *p, struct pp_lease_use *out);

/* shuffle.c: how good the shuffle of a streamed run was (run --stream), from the order in which the reader
 * handed the samples out. Its counters stream_shard and stream_shard_first say which shard begins with which
 * number, and the span of a sample has its number; so that of each sample are known the places between its
 * stored one and the one it came at, and the others of its shard in its batch.
 *
 * A full shuffle, and the buffer that would be enough, follow from the shards' size and number by the
 * formulas of sampler/shuffle_quality.h, which `plan --stream` prints before a run. Memory: 20 bytes per
 * shard. */

struct pp_shuffle_pass *pp_shuffle_begin(const struct pp_source *source);
int pp_shuffle_chunk(struct pp_shuffle_pass *p, const struct pp_span *spans, size_t n);
void pp_shuffle_end(struct pp_shuffle_pass *p, struct pp_shuffle_seen *out);

/* device_decode.c: a run whose JPEGs the GPU decodes (spans gpu_decode of a device lane, by the device's
 * events): how much of the decoding has left the CPU, whether the decoder is saturated, what it costs the
 * step, and what is copied.
 *
 * Steps beside decoding are compared with steps apart from it: those of whose time 75 % or more, and 25 % or
 * less, fell into decoding; where there are none apart, with what a step of fixed work takes alone. Memory:
 * 16 bytes per step and batch of the window, of the first million each. */

struct pp_device_decode_pass *pp_device_decode_begin(const struct pp_source *source,
                                                     const struct pp_timeline *timeline);
int pp_device_decode_chunk(struct pp_device_decode_pass *p, uint32_t thread, const struct pp_span *spans,
                           size_t n);
void pp_device_decode_end(struct pp_device_decode_pass *p, struct pp_device_decode_use *out);
