/* report/resume/sequence.h: what one process of a training job trained on, batch by batch, and behind which
 * batches it saved. Pure: whoever reads a recording (resume_read.h), or a test, says what was taken.
 *
 * A sample is a token: its number, or for a data set without numbers a hash of its content.
 *
 * A wrapper may take `lag` batches ahead of the one that it gives to the loop (accelerate: 1): backward is
 * then seen behind the take of a later batch. What was taken and not trained on (a loop that drops batches on
 * its way to the old place, batches that a prefetching wrapper had at the end) is no part of the sequence. */
#pragma once

#include "probe/base/std.h"

enum { PP_RESUME_TOKENS = 1 << 27, PP_RESUME_ITERATIONS = 1 << 16 }; /* of a process, at the most */

struct pp_resume_batch {
    size_t first;                  /* of the run's tokens */
    uint32_t n, iteration, number; /* number: over the process, of all loaders */
    uint32_t marks;                /* backwards that were seen of all batches, up to the next take */
    int trained;                   /* backward was seen between its take and the next one */
    uint64_t order, set;           /* of its tokens, filled by pp_resume_finish */
    uint64_t files;                /* of the files of its samples, likewise; 0: not known */
    uint64_t content;              /* of its bytes; 0: not known */
};

/* What is known of an iteration of the loader; a number NAN, a fingerprint 0, a text NULL: not known. */
struct pp_resume_iteration {
    size_t first, n;                         /* batches of the run */
    size_t first_token, tokens;              /* likewise */
    uint32_t given;                          /* batches that it began to give, trained on or not */
    int ended;                               /* it had no more */
    double sampler_epoch, workers, prefetch; /* from here to line: words, which pack as they are */
    uint64_t rng, base_seed;
    char *line; /* "train.py:44"; the run's own */
};

/* A checkpoint, behind so many batches of the run. */
enum { PP_RESUME_TORN = 1 /* the process was killed in it */, PP_RESUME_LATE = 2 /* of what was before */ };
struct pp_resume_save {
    size_t batches;
    int at_end, how; /* the iteration had ended; PP_RESUME_* */
};

struct pp_resume_run {
    const char *path; /* whoever read it keeps it */
    int64_t rank, world;
    struct pp_resume_batch *batch;
    size_t n, batch_room;
    uint64_t *token, *file; /* file: a hash of what was read for the sample; 0: not known */
    size_t tokens, token_room, file_room;
    struct pp_resume_iteration *iteration;
    size_t iterations, iteration_room;
    struct pp_resume_save *save;
    size_t saves, save_room;
    int stream;          /* samples have no numbers */
    int hashing;         /* to be packed: batches are hashed as they are taken, and no tokens are kept */
    int hashed;          /* the token of a batch is its hash: samples are not known (pp_resume_unpack) */
    int bytes_vary;      /* from one uninterrupted run to the next: they are not compared */
    int finished;        /* the job ended by itself, and well */
    int failed;          /* it ended by itself with an error */
    int restored;        /* it loaded a checkpoint; -1: not known */
    int persistent;      /* workers stay from epoch to epoch; of a recording alone */
    int idle;            /* it came to its end and took no batch */
    double buffer;       /* of a shuffled stream; NAN: none, or not known */
    char *checkpoint;    /* path of the newest whole one; the run's own */
    const char *unknown; /* why nothing is known of its samples; NULL: it is */
};

/* An iteration begins. NULL: no memory, or too many. */
struct pp_resume_iteration *pp_resume_iterate(struct pp_resume_run *r);
/* A batch of the newest iteration was taken; its n tokens and files (NULL: not known) are copied; without
 * tokens it has one, which is batch->order, and its file is batch->files. 0: no memory, or too many. */
int pp_resume_take(struct pp_resume_run *r, const struct pp_resume_batch *batch, const uint64_t *tokens,
                   const uint64_t *files);
/* A checkpoint was written here. 0: no memory. */
int pp_resume_save_here(struct pp_resume_run *r, int at_end, int how);
/* Where several batches are taken for each mark (accumulation, of which only the optimizer's step is seen),
 * all of them were trained on. Before the lag is asked for. */
void pp_resume_spread(struct pp_resume_run *r);
/* How many batches a wrapper takes ahead, from a run from the beginning. */
uint32_t pp_resume_lag(const struct pp_resume_run *r);
/* Behind the last of them: leaves the batches that were trained on, and hashes them. An iteration that gave
 * batches and none to be trained on (one that is only looked at, one that is dropped as done) is no epoch;
 * one that came to its end without a batch is. */
void pp_resume_finish(struct pp_resume_run *r, uint32_t lag);
/* Of a job's ranks, which are finished, one run: step k has the batches k of all of them. 0: no memory. */
int pp_resume_merge(const struct pp_resume_run *ranks, size_t n, struct pp_resume_run *out);
/* Of a run that is `hashing`, as bytes, for digests: of each batch a hash in place of its samples; 20 to 40
 * bytes. Before it is finished. NULL, and *n is 0: nothing is known of it, or no memory. */
uint8_t *pp_resume_pack(const struct pp_resume_run *r, size_t *n);
/* A stranger's bytes; takes at most some 30 times as much memory. 0: they do not fit, or no memory. Free with
 * pp_resume_free, also then. */
int pp_resume_unpack(const uint8_t *bytes, size_t n, struct pp_resume_run *out);
void pp_resume_free(struct pp_resume_run *r);

uint64_t pp_resume_mix(uint64_t token);
