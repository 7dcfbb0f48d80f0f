/* report/findings/checks.h: secondary checks of a recording, in one pass: operational laws (laws.h),
 * periodicity (periodic.h), sample order (visits.h), patterns of workers (patterns.h), and ranks. */
#ifndef PP_REPORT_FINDINGS_CHECKS_H
#define PP_REPORT_FINDINGS_CHECKS_H

#include "report/findings/laws.h"
#include "report/findings/memory.h"
#include "report/findings/patterns.h"
#include "report/findings/periodic.h"
#include "report/findings/visits.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* The ranks of a data-parallel run, as one rank's recording has them. The trainer records two counters after
 * each collective step (loader/trainer.c): collective_last_rank, and collective_others_ns, what the step took
 * the other ranks. */
struct pp_ranks {
    uint64_t
        meetings; /* of the steady state; 0: no collective step was recorded, or not who came last to it */
    uint32_t last_rank; /* who came last most often */
    double last_share;  /* in this part of the meetings */
    double own_share;   /* this rank came last in that part; NAN: which rank this is was not recorded */
    double rank;        /* this one, and how many there are; NAN: not recorded */
    double world_size;
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

struct pp_checks_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory.
 * end comes after that of the tally, and after the rows of r are there; it accepts NULL and frees the pass.
 */
struct pp_checks_pass *pp_checks_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_checks_chunk(struct pp_checks_pass *p, uint32_t thread, const struct pp_span *spans,
                    size_t n); /* non-zero: no memory */
pp_status pp_checks_end(struct pp_checks_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                        struct pp_arena *arena, struct pp_checks *out, struct pp_err *err);

/* counters.c: what counters of collectors/record came to in the steady state, in one walk:
 * requests to remote storages, the cache over a storage (run --cache), and pages that files of columns
 * (Parquet) had to decode for samples. A counter without readings is 0, and one that goes back.
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
/* Bytes that go from process to process over those of the batches' tensors, 1 or more; NAN: not recorded. */
double pp_handed_factor(const struct pp_handed_use *u);

/* leases.c: a rank that leases its shards (run --lease): how many it had, what became of them, and how long
 * its reader waited for those of other ranks. Spans lease and lease_wait of the reader, and what the run
 * stored of its leases at its end. */

struct pp_leases_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
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

struct pp_shuffle_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_shuffle_pass *pp_shuffle_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_shuffle_chunk(struct pp_shuffle_pass *p, uint32_t thread, const struct pp_span *spans,
                     size_t n); /* non-zero: no memory */
void pp_shuffle_end(struct pp_shuffle_pass *p, struct pp_shuffle_seen *out);

/* device_decode.c: a run whose JPEGs the GPU decodes (spans gpu_decode of a device lane, by the device's
 * events): how much of the decoding has left the CPU, whether the decoder is saturated, what it costs the
 * step, and what is copied.
 *
 * Steps beside decoding are compared with steps apart from it: those of whose time 75 % or more, and 25 % or
 * less, fell into decoding; where there are none apart, with what a step of fixed work takes alone. Memory:
 * 16 bytes per step and batch of the window, of the first million each. */

struct pp_device_decode_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_device_decode_pass *pp_device_decode_begin(const struct pp_source *source,
                                                     const struct pp_timeline *timeline);
/* non-zero: no memory */
int pp_device_decode_chunk(struct pp_device_decode_pass *p, uint32_t thread, const struct pp_span *spans,
                           size_t n);
void pp_device_decode_end(struct pp_device_decode_pass *p, struct pp_device_decode_use *out);

#endif
