/* report/measure/ops.h: which operation of the transforms, which line of the user's code the stall is spent
 * in: Python stacks (report/source/stacks.h) joined with the spans.
 *
 * A sample of a worker belongs to the batch that the worker made then, and so to a loader. It weighs as much
 * of the wait as that batch cost the trainer for a moment of work: waits over work, both summed over the
 * batches from four before to four after it of the same loader, for with workers that take turns one batch
 * has all of the wait and its neighbour none, though both are as much to blame. What nobody waits for weighs
 * nothing, however hot it is. The samples of a phase weigh together what its spans do.
 *
 * The op of a sample is the innermost member of a transform (stack_op); else a line of the outermost frame of
 * the user's own code below PyTorch's fetch, passing over functions that only hand on; else what a library's
 * data set calls. Shares are binomial: samples are taken at random moments. */
#pragma once

#include "report/measure/timeline.h"
#include "report/source/stacks.h"

/* How many samples that were waited for a line needs. FEWEST: it surely has most of the stall. FEW: its share
 * can be told from the next one's, as their 80 % intervals are apart. LEAST: any other. */
enum { PP_OPS_FEWEST = 20, PP_OPS_FEW = 50, PP_OPS_LEAST = 200, PP_OPS_NEIGHBOURS = 4, PP_OPS_LOADERS = 16 };

struct pp_op {
    const char *name; /* "Blur(radius=2)", "noise", "Image.resize in Birds.__getitem__" */
    const char *word; /* "Blur", "Image.resize": for op=WORD:FACTOR; of this op alone */
    const char *path; /* where the data set holds it, "transforms[2]"; NULL: it is no member of a transform */
    const char *place; /* "augment.py:29", the line of the user's code that takes most; NULL: none is known */
    const char *callee; /* the library function that this line mostly calls; NULL: none, or name says it */
    const char *code;   /* every function and module seen in it, for remedies; separated by spaces */
    size_t loader;      /* place in loaders */
    int of_batch;       /* it is of collating, and not of making a sample */
    double n, cpu;      /* samples; of them on a CPU or waiting for one; the rest was blocked */
    double weight, weight2, waited_for;  /* waited_for: samples whose weight is not 0 */
    double share, share_low, share_high; /* of the stall, with an 80 % interval */
    double share_all;                    /* of all work of all workers */
};

struct pp_ops_loader {
    long long pid;
    unsigned loader;
    int judged;
    double n[2], cpu[2]; /* samples of work: of making samples, of collating */
    double cpus;         /* that its work used, of the window */
};

/* Lines of the training thread within its steps; or the function that has most of its time between epochs. */
struct pp_op_step {
    const char *name, *place, *callee;
    double n, cpu, share, share_low, share_high; /* of the steps' samples */
    const char *class; /* between epochs: whose constructor most of them are in; NULL: none */
};
/* Enough of its samples are seen, and surely most of them. */
static inline int pp_op_step_is_told(const struct pp_op_step *s)
{
    return s->n >= 8 && s->share_low >= 0.5;
}

struct pp_ops {
    struct pp_stacks stacks;
    struct pp_frame_view *view; /* of its frames; in the arena */
    struct pp_op *ops;          /* the largest share of the stall first */
    size_t n_ops;
    struct pp_ops_loader loaders[PP_OPS_LOADERS];
    size_t n_loaders;
    double n, weighted;       /* samples of work; how many equal ones the weights are worth (Kish) */
    double unnamed;           /* weight of phases of which no stack says what it is of */
    double missing_s;         /* how much longer to record until shares are said; 0: they are */
    struct pp_op_step *steps; /* the largest share first */
    size_t n_steps;
    double step_n;
    struct pp_op_step between;     /* the function below the loop over epochs; n 0: none was seen */
    struct pp_op_step draws;       /* the line of the job's own sampler; share: of what is in it */
    int steps_known;               /* by the same measure as missing_s */
    float *frame_n, *frame_weight; /* by innermost frame, of samples of work; for pictures */
    struct pp_arena arena;
};

/* Zero without stacks or without a steady state. One pass over the spans. Memory: 16 bytes a sample, 24 a
 * batch. Free with pp_ops_free, also after a failure. */
pp_status pp_ops_read(const struct pp_source *source, const struct pp_timeline *timeline, struct pp_ops *out,
                      struct pp_err *err);
/* The same of out->stacks and view, with the joined samples given: of work those whose phase is; `what` names
 * them in errors. All else of out is zero, but for loaders and n_loaders. */
struct pp_ops_joined;
pp_status pp_ops_group(struct pp_ops *out, const struct pp_ops_joined *joined, double window_s,
                       const char *what, struct pp_err *err);
void pp_ops_free(struct pp_ops *ops);
/* By word, path or place; NULL: there is none. */
const struct pp_op *pp_ops_find(const struct pp_ops *ops, const char *name, size_t length);
