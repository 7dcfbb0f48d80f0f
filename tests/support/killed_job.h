/* Made jobs that are killed and resumed, rank by rank: the uninterrupted run, the one that a kill ended, and
 * the one that went on, rightly or wrongly. */
#pragma once

#include "report/resume/resume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MOST = 4, JOBS = 60 };

/* What a job does at its resume. */
enum how {
    RIGHT,       /* the rest of the epoch */
    RIGHT_DROPS, /* takes batches from the epoch's beginning, and drops them */
    RESTARTS,
    EARLY,    /* two batches of elsewhere, then the right place */
    EARLY_0,  /* two large ones, of the beginning of all */
    EARLY_NO, /* one, and there are no workers that could have been ahead */
    BACK,     /* two batches too early */
    OVER_END, /* in the next epoch, behind its first batches */
    EPOCH_0,  /* the sampler's epoch counts from 0, at the right place */
    EPOCH_NEXT,
    TWICE,   /* the resumed epoch is right, the next one has its order again */
    TWICE_0, /* both have epoch 0's */
    NEW_ORDER,
    NEW_LATER,
    LATER_0,       /* later ones have the orders from epoch 0 on */
    LATER_SAMPLER, /* and the sampler says so */
    PREFETCHED,
    SKIPS_MORE,
    BEGINS_EPOCH,
    SHORT,
    STICKS,
    DROPS_EPOCH,
    OTHER_FILES,
    OTHER_BYTES,
    OTHER_TAIL,
    OTHER_WORKERS,
    OTHER_DROPPED, /* and what is dropped as used are other samples */
    BUFFER,
    WRONG_WORLD,
    RIGHT_WORLD,
    RANK_OF_0,
    TORN,
    HOWS
};

struct job {
    uint64_t n, seed;           /* samples of a rank and epoch */
    uint32_t b, epochs, every;  /* samples of a batch; batches from save to save */
    uint32_t ranks, lag, alike; /* alike: epochs from the first on that have its order */
    size_t kill;
};

/* Random numbers of a job: set the seed first. */
extern uint64_t job_seed;
uint32_t job_draw(uint32_t below);
/* With epochs, saves and a kill that suit what happens at the resume. */
struct job job_random(enum how how);
/* Sample k of the order of that name. */
uint64_t job_sample(const struct job *j, uint64_t order, uint32_t rank, uint64_t k);
size_t job_epoch_batches(const struct job *j);

/* A run as it is written. */
struct writing {
    const struct job *j;
    struct pp_resume_run *run;
    uint32_t rank, files, bytes;
    size_t taken; /* batches of the epoch */
    int trained;  /* on the one before */
};
struct pp_resume_run job_new_run(uint32_t rank, uint32_t world);
struct pp_resume_iteration *job_begin(struct writing *w);
void job_take(struct writing *w, const uint64_t *sample, uint32_t n, int trained);
/* Samples [from, to) of the order; drop: those before are taken and dropped. Stops behind `most` batches. */
size_t job_put_epoch(struct writing *w, uint64_t order, uint64_t from, int drop, size_t most, size_t saved);
/* The job from its beginning, up to `most` batches. */
void job_put_run(struct writing *w, size_t most);
/* Batches before the right place. */
uint32_t job_stale(enum how how);
/* Behind c batches. */
void job_put_resumed(struct writing *w, enum how how, size_t c);

/* The uninterrupted run (0), the killed one (1) and the resumed one (2), of each rank. */
extern struct pp_resume_run job_runs[3][RANKS_MOST];
extern const char *job_failed; /* how the resumed run did */
void job_forget(void);         /* all three */
/* What is said of runs of `ranks` ranks, resumed on `then`: of the one kill, and of all. */
const struct pp_resume_answer *job_judge(uint32_t ranks, uint32_t then);
extern struct pp_resume job_answers;
/* Fills the first two; how many batches the newest checkpoint is behind. */
size_t job_put_before(const struct job *j);
/* Samples used too often and left out behind batch c, by their uses in the two runs. */
void job_count(double *repeated, double *left, size_t c, uint32_t ranks);
