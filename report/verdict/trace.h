/* report/verdict/trace.h: what may be concluded from a trace that another profiler wrote (collectors/import).
 * Most see the trainer's process, for a few steps, and no worker: whether the trainer waits and how much can
 * be told, and whether batches are made on its own thread; not whether workers are slow for storage, for CPU
 * work or for want of workers. DFTracer sees the workers' calls of files: storage may be named, what else
 * workers do may not. JAX's and TensorFlow's have the stages of tf.data, but no CPUs. */
#ifndef PP_REPORT_VERDICT_TRACE_H
#define PP_REPORT_VERDICT_TRACE_H

#include "report/verdict/verdict.h"

/* Why nothing names the trainer's waits, as a reason; NULL: something does. *next_step is what would tell. */
const char *pp_trace_unnamed(const struct pp_facts *f, struct pp_arena *arena, const char **next_step);
/* Likewise, where the few steps of a trace leave open which level the stall has: its 95 % interval holds the
 * limit of input-bound. */
const char *pp_trace_few_steps(const struct pp_facts *f, struct pp_arena *arena, const char **next_step);

/* What to do for more steps in the trace. */
const char *pp_trace_more_steps(const struct pp_facts *f);

/* The cause is not in the trace: the reason, and the command that records it. */
const char *pp_trace_blind(const struct pp_facts *f, struct pp_arena *arena, const char **next_step);

/* Of a trainer that hardly waits: what the trace shows besides, behind that sentence; "" for nothing. */
const char *pp_trace_besides(const struct pp_facts *f, struct pp_arena *arena);

#endif
