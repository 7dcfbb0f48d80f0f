/* report/source/stacks.h: the Python stacks of a recording, checked: what names what there is, no frame is
 * its own ancestor, and samples stand by thread and time. A recording is a stranger's file: rows that do not
 * hold together are left out and counted. */
#pragma once

#include "probe/base/arena.h"
#include "report/source/source.h"

#define PP_STACK_NONE UINT32_MAX
enum { PP_STACK_DEEPEST = 1024 }; /* frames below are left out */

struct pp_stack_function {
    uint32_t id, first_line;
    const char *name, *file; /* as the job sees it */
};
struct pp_stack_member {
    uint32_t id;
    const char *path, *class, *arguments;
};
/* parent, function and op are places in the arrays below; parent and op may be PP_STACK_NONE. A parent's
 * place is below its children's. */
struct pp_stack_frame {
    uint32_t id, parent, function, line, op;
    uint32_t depth; /* 0: outermost */
};
struct pp_stack_sample {
    uint64_t t_ns;
    uint32_t thread, frame; /* frame: a place; the innermost one */
    char state;             /* 'R', 'S', ...; 0: not known */
    uint8_t flags;          /* enum pp_stack_flag */
};

struct pp_stacks {
    struct pp_stack_function *functions;
    struct pp_stack_member *members;
    struct pp_stack_frame *frames;
    struct pp_stack_sample *samples; /* by thread, then by time */
    size_t n_functions, n_members, n_frames, n_samples;
    uint64_t left_out; /* rows */
    struct pp_arena arena;
};

/* All zero where there are none. Memory: what the tables have, at most a few times the file. Free with
 * pp_stacks_free, also after a failure. */
pp_status pp_stacks_read(const struct pp_source *source, struct pp_stacks *out, struct pp_err *err);
void pp_stacks_free(struct pp_stacks *s);
/* Again, after a sample was given to another thread. */
void pp_stacks_order(struct pp_stacks *s);
/* The samples of a thread in [from_ns, to_ns): where they begin; *n: how many. */
size_t pp_stacks_between(const struct pp_stacks *s, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                         size_t *n);
