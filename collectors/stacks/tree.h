/* stacks/tree.h: what the samples of a recording have in common, each once and with a number from 1 on:
 * functions, frames in the trie of stacks, members of transforms. Bounded: what finds no room gets 0. Numbers
 * and texts stay until the tree is freed; rows are appended, so that a writer takes what is new since its
 * last look. For one thread at a time. */
#ifndef PP_STACKS_TREE_H
#define PP_STACKS_TREE_H

#include "collectors/store/rows.h"

#include <stddef.h>
#include <stdint.h>

#define PP_TREE_FUNCTIONS 16384u
#define PP_TREE_FRAMES 65536u
#define PP_TREE_OPS 4096u

struct pp_stack_tree {
    struct pp_stack_function_row *functions;
    struct pp_stack_row *frames;
    struct pp_stack_op_row *ops;
    size_t n_functions, n_frames, n_ops;
    size_t function_cap, frame_cap, op_cap;
    uint32_t *function_index, *frame_index; /* numbers by hash; twice as many as there can be */
};

/* 0: no memory. */
int pp_stack_tree_init(struct pp_stack_tree *t);
void pp_stack_tree_free(struct pp_stack_tree *t);
uint32_t pp_stack_tree_function(struct pp_stack_tree *t, const char *name, const char *file,
                                uint32_t first_line);
uint32_t pp_stack_tree_frame(struct pp_stack_tree *t, uint32_t parent, uint32_t function, uint32_t line,
                             uint32_t op);
uint32_t pp_stack_tree_op(struct pp_stack_tree *t, const char *path, const char *class,
                          const char *arguments);

#endif
