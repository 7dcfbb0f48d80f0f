/* report/ranks/digest.h: what `pipeprobe ranks` keeps of a recording, and of many of them: a row per rank
 * with sums over its steps, its time in slices and its epochs; a row per step with what all ranks so far came
 * to; histograms of all steps of all ranks. The recording itself is read once and closed; memory is some
 * kilobytes per rank and PP_DIGEST_STEPS rows of steps at most, however many ranks there are.
 *
 * Digests merge: of disjoint sets of ranks, in any order and any tree, with equal results to the bit, since
 * all that is added is integers, and what is compared falls back on the lower rank (tests/unit/report/ranks).
 *
 * Steps are compared by number, not by time: ranks of a data-parallel job take the same steps in the same
 * order, so no clocks of machines need to agree. What a rank takes until it meets the others is its own time
 * of a step: wait for data, device sync and step, without the wait for the others. Of some steps a row has
 * the time at which their collective ended, by its own clock: against those of another row they say how far
 * the two clocks are apart (clock.h).
 *
 * A digest may be of a recording that has no end yet (pp_digest_follow): a row says until when it holds. */
#pragma once

#include "probe/base/arena.h"
#include "probe/base/hist.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

enum {
    PP_DIGEST_STEPS = 1 << 20,   /* of a rank; those after are not compared */
    PP_RANK_SLICES = 256,        /* of a rank at most */
    PP_RANK_EPOCHS = 256,        /* of a rank; those after are left out */
    PP_RANK_ENDS = 64 + 26 * 32, /* of a rank: of its first 64 steps, and 32 of each doubling of the number */
    PP_RANK_BATCHES = 1 << 20,   /* bytes of a rank's hashes of batches; */
    PP_JOB_BATCHES = 1 << 28     /* and of all ranks of its job together, in equal parts */
};

/* A part of the calendar's time: number * 2^slice_log2_s seconds since 1970. Aligned, so that slices of all
 * ranks, and slices of half the length, add up exactly. The longer a rank ran, the longer they are. */
struct pp_rank_slice {
    uint32_t number, steps;   /* steps that ended in it */
    uint64_t wait_ns, all_ns; /* of these: wait for data and device, and all of their time */
};

/* ready: from the end of the step before the epoch (of the start of the recording before the first one) until
 * it had the epoch's first batch. */
struct pp_rank_epoch {
    uint32_t epoch;
    uint64_t ready_ns;
};

#define PP_RANK_KILLED "killed" /* outcome: a signal ended its program, and exec finished the recording */

struct pp_rank_row {
    int64_t rank, world_size;          /* world_size, and what follows, -1: not known */
    int64_t local_rank, node, attempt; /* attempt: restarts before this one */
    const char *job, *launcher, *host, *gpu, *file, *version, *outcome, *subject; /* NULL: not known */
    const char *l0, *l1, *l2, *sentence;                                          /* its own verdict */
    const char *via; /* the digest that it was loaded from, for sentences; NULL: none */
    double samples_per_s, data_wait_share, collective_share; /* of its own steady state */
    uint64_t lost_spans;
    int met;               /* it recorded when it waited for other ranks */
    int running;           /* its recording had no end, and was still written */
    uint64_t first_by_ns;  /* its job failed, and its process ended first, so long before the next rank's; 0:
                              it did  not, or that is not known */
    uint64_t until_utc_ns; /* it has what was recorded until then, by its own clock; 0: not known */
    /* over its judged steps */
    uint64_t steps, wait_ns, sync_ns, step_ns, collective_ns;
    uint64_t wait_delay_ns,
        step_delay_ns; /* of wait, and of sync and step: its trainer was ready and had no CPU */
    uint64_t exchanges, sampled_exchanges; /* waits for other ranks, */
    uint64_t exchange_delay_ns; /* and of those sampled: other threads of its process lacked a CPU */
    /* over its steady state, of all its threads: what a sample and a batch cost */
    uint64_t samples, work_ns[PP_PHASE_COUNT];
    uint64_t work_delay_ns;       /* of its workers' time for samples and batches: ready, and without a CPU */
    struct pp_rank_slice *slices; /* rising by number */
    struct pp_rank_epoch *epochs; /* rising by epoch */
    struct pp_rank_end *ends;     /* rising by number */
    uint32_t n_slices, n_epochs, n_ends;
    const uint8_t *batches; /* hashes of them, for resume-test (report/resume/sequence.h) */
    size_t n_batches;       /* bytes; 0: they are not known, or there were too many */
};

/* When the blocking collective of a step ended, by the rank's own clock. */
struct pp_rank_end {
    uint32_t number; /* of the step */
    uint64_t utc_ns;
};
/* Whether the end of that step is kept: it depends on the number alone, so that ranks have those of the same
 * steps, however many each of them took. */
int pp_rank_end_is_kept(uint32_t number);

/* Of one kind of time, what the ranks came to in a step. */
struct pp_rank_top {
    uint64_t sum_ns, max_ns, second_ns; /* second: the longest of the other ranks; 0: there is none */
    int64_t rank;                       /* whose max_ns is; of equals the lowest */
};

struct pp_rank_step {
    uint32_t number, ranks;
    struct pp_rank_top own, input; /* input: wait for data and device sync alone */
    uint64_t end_utc_ns;           /* the earliest; 0: not known */
};

enum pp_digest_hist { PP_DIGEST_OWN, PP_DIGEST_INPUT, PP_DIGEST_HISTS };

struct pp_digest {
    struct pp_arena arena; /* its texts, slices, epochs and ends */
    struct pp_rank_row *rows;
    size_t n_rows;
    struct pp_rank_step *steps; /* rising by number */
    size_t n_steps;
    unsigned slice_log2_s; /* length of its slices */
    struct pp_hist *hists; /* PP_DIGEST_HISTS of them, over the steps of all ranks */
};

/* One step of one rank, to be added in rising order. */
struct pp_rank_own_step {
    uint32_t number;
    uint64_t own_ns, input_ns, end_utc_ns;
    uint64_t all_ns; /* with the wait for other ranks */
};

/* A digest of one rank. row and steps are copied, hashes of batches where they are not too many; its slices
 * are made from the steps. Zero-initialised *out; free with pp_digest_free. */
pp_status pp_digest_make(const struct pp_rank_row *row, const struct pp_rank_own_step *steps, size_t n,
                         struct pp_digest *out, struct pp_err *err);
/* Reads a recording. batches: its hashes of batches too, for which it is read once more. PP_E_USAGE: it is of
 * no rank; else as pp_report_build. */
pp_status pp_digest_read(const char *path, int batches, struct pp_digest *out, struct pp_err *err);
/* Adds the ranks of from. PP_E_USAGE, with into as it was: both have a rank in common, or they are of
 * different jobs, attempts or world sizes; the sentence names both files. */
pp_status pp_digest_merge(struct pp_digest *into, const struct pp_digest *from, struct pp_err *err);
void pp_digest_free(struct pp_digest *d);

/* Digests merged as they come: equal numbers of files are merged, as a counter of two
 * digits carries, so that each rank's row is copied as often as the number of files has binary digits, and no
 * more digests are held than that. One thread. */

enum { PP_PILE_LEVELS = 48 };

struct pp_digest_pile {
    struct pp_digest part[PP_PILE_LEVELS];
    uint64_t files[PP_PILE_LEVELS];
    int n;
};

/* one is the pile's from now on, whatever happens. Begin with an empty pile, {.n = 0}. As pp_digest_merge. */
pp_status pp_pile_add(struct pp_digest_pile *p, const struct pp_digest *one, struct pp_err *err);
/* All of them as one; the pile is empty then. Without any, *out has no rows. */
pp_status pp_pile_end(struct pp_digest_pile *p, struct pp_digest *out, struct pp_err *err);
void pp_pile_free(struct pp_digest_pile *p);

/* Digests as files, for `pipeprobe merge`: what a job of any number of ranks
 * comes to, in some kilobytes per rank, some tens of bytes per step, and 20 to 40 bytes for each batch of a
 * rank up to PP_RANK_BATCHES. Equal digests are equal files.
 *
 *     "ppdigest" u32 version, u64 XXH3 of the body, then the body: numbers as LEB128, texts as length and
 *     bytes, a double as the 8 bytes of its bits. Log2 of a slice's seconds. Rows: count, then each by the
 *     table of columns in digest_file.c, its slices, its epochs, the ends of its collectives and its
 *     batches. Steps:
 *     count, then each as what it adds to the one before. Histograms: least, greatest, sum, then their filled
 *     buckets.
 *
 * A digest is a stranger's file: it is refused with a sentence when anything in it does not fit, and takes no
 * more memory than a few times its size. */

/* 1: the file begins as one; what cannot be opened does not. */
int pp_digest_is_file(const char *path);
/* *out as pp_digest_read. */
pp_status pp_digest_load(const char *path, struct pp_digest *out, struct pp_err *err);
/* Appears whole or not at all. PP_E_UNSUPPORTED: it is larger than pp_digest_load reads. */
pp_status pp_digest_store(const struct pp_digest *d, const char *path, struct pp_err *err);

/* The digest of a recording that is still written, again and again. A look
 * reads what came since the one before, and costs as much as that; digests of any series of looks are that of
 * one look at all of it. What a look cannot have is what takes a whole report: the rank's own verdict, which
 * pp_digest_read has when the recording is complete.
 *
 * The last batch of a look is left to the next one, as it may go on. The file is opened for each look and
 * closed again, as by report/live. One thread. */

struct pp_digest_follow;

/* Reads nothing yet. NULL: no memory. */
struct pp_digest_follow *pp_digest_follow_new(const char *path);
void pp_digest_follow_free(struct pp_digest_follow *f);

/* The digest of what was recorded before until_ns (CLOCK_MONOTONIC of the recording; UINT64_MAX: all there
 * is). now_utc_ns: the row says that it holds until then; 0: until the last span. *ended (may be NULL): the
 * recording has its end, or was killed. PP_E_USAGE: it is of no rank, PP_E_EMPTY, PP_E_NOT_FOUND: there is
 * none yet. Zero- initialised *out. */
pp_status pp_digest_follow_look(struct pp_digest_follow *f, uint64_t until_ns, uint64_t now_utc_ns,
                                struct pp_digest *out, int *ended, struct pp_err *err);
