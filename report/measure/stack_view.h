/* report/measure/stack_view.h: what the frames of Python stacks are: the user's code, a library's, or none
 * that is worth a name; and where in a stack the making of a sample begins. By file and function name alone:
 * a recording has no sources. */
#pragma once

#include "report/source/stacks.h"

enum pp_code_kind {
    PP_CODE_USER,
    PP_CODE_LIBRARY, /* site-packages, the standard library */
    PP_CODE_FOLDED,  /* generated and frozen code, comprehensions, our own hooks: the caller's line stands for
                      * it
                      */
};

enum { PP_ASKS_FETCH, PP_ASKS_ITEM, PP_ASKS_NEXT };

/* Of a frame with those that called it; PP_STACK_NONE: there is none. */
struct pp_frame_view {
    uint32_t entry;          /* by which samples are asked for: fetch, or the innermost data set below it */
    uint32_t user;           /* outermost frame of the user's code below entry */
    uint32_t member;         /* outermost frame of the innermost member of a transform (its op) */
    uint32_t above;          /* this frame, or the next outer one, that is not folded */
    uint8_t kind;            /* enum pp_code_kind */
    uint8_t works, collates; /* below a fetch, or what stands for it; of it: in the collate function */
    uint8_t asks;            /* entry: PP_ASKS_* */
};

/* One for each frame, in the arena; what holds other members, and data sets, are no members here. NULL: no
 * memory. */
struct pp_frame_view *pp_stack_view(const struct pp_stacks *s, struct pp_arena *arena);
enum pp_code_kind pp_code_kind(const struct pp_stack_function *f);
/* "Blur.__call__" of a qualified name: without what encloses a local function, and at most its class. */
const char *pp_function_short(const char *name);
/* A library's own helper, as Module._wrapped_call_impl or what a decorator puts around a function, of which
 * nobody has heard who calls it. */
int pp_function_is_private(const char *name);
/* "augment.py" */
const char *pp_file_short(const char *file);
/* "numpy" of ".../site-packages/numpy/_core/fromnumeric.py", "gzip" of ".../python3.11/gzip.py", `length`
 * bytes; length 0: it is the user's. */
const char *pp_file_package(const char *file, int *length);
/* The outermost frame of that kind from `outer` to `frame`, which it calls; PP_STACK_NONE: there is none. */
uint32_t pp_stack_first(const struct pp_stacks *s, const struct pp_frame_view *v, uint32_t outer,
                        uint32_t frame, enum pp_code_kind kind);
/* The next frame of the user's code below `outer` on the way to `frame`; PP_STACK_NONE: there is none. */
uint32_t pp_stack_next_user(const struct pp_stacks *s, const struct pp_frame_view *v, uint32_t outer,
                            uint32_t frame);
