/* report/measure/ops_group.h: samples of Python stacks as operations (see ops.h): what groups them (ops.c),
 * and what names them (ops_names.c). Texts are of the operations' arena. */
#pragma once

#include "report/measure/ops_join.h"
#include "report/measure/stack_view.h"

/* Of the samples whose innermost frame it is, of one loader. */
struct frame_sum {
    double n, cpu, weight, weight2, waited_for;
};

/* What an op is told by: a member of a transform; a line of the user's code; else a function of a library. */
enum op_kind { OP_MEMBER, OP_LINE, OP_LIBRARY };
struct op_key {
    enum op_kind kind;
    uint32_t what, line; /* member or function */
    uint32_t frame;      /* where it begins on this stack; not compared */
    int of_batch;
};

struct grouping {
    struct pp_ops *out;
    const struct pp_stacks *s;
    const struct pp_frame_view *v;
    const struct pp_ops_joined *joined;
    struct frame_sum *sum; /* by frame */
    struct op_key *key;    /* by frame with samples; of the loader in hand */
    double each[2];        /* how many samples of mean weight one stands for; [1]: one of the dense seconds */
    unsigned depth;
    int whole; /* all lines of a function below __getitem__ are one op: too few samples were seen of each */
};

enum { VOTES = 64 };
/* What has most of an op: few different ones in all, and the rest is not looked at. */
struct votes {
    struct {
        uint32_t a, b;
        double n;
    } row[VOTES];
    size_t n;
};
/* Its place; VOTES: it is not looked at. */
size_t pp_ops_vote(struct votes *v, uint32_t a, uint32_t b, double n);
/* Of those of one function, or of all (PP_STACK_NONE): whose n is largest. SIZE_MAX: there is none. */
size_t pp_ops_most_of(const struct votes *v, uint32_t function);

/* "train.py:31"; line 0: "train.py" */
const char *pp_ops_place(const struct grouping *g, uint32_t function, uint32_t line);
const char *pp_ops_name(const struct grouping *g, uint32_t function);
/* As one writes it: "numpy.all"; a method's name has its class. */
const char *pp_ops_library_name(const struct grouping *g, uint32_t function);
/* Names, place and code of operation `op` of those from first_op on; op_of: of each frame. */
void pp_ops_describe(const struct grouping *g, size_t first_op, const uint32_t *op_of, size_t op,
                     const struct op_key *key);
/* draws of ops, whose samples are whole: what is in __iter__ of the class, "module.Class". */
void pp_ops_find_draws(struct pp_ops *ops, const char *sampler);
