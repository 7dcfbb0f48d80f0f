/* stacks/members.h: which object of a process is which member of a transform, as the hooks noted it in the
 * session directory (ops-PID): a line per object, "ADDRESS\tPATH\tCLASS\tARGUMENTS", the address in hex. The
 * file is the job's: an ordinary one, of bounded size, whose texts are made plain. */
#pragma once

#include "collectors/store/rows.h"

#include <time.h>

/* What the samples of a recording have in common, each once and with a number from 1 on: functions, frames in
 * the trie of stacks, members of transforms. Bounded: what finds no room gets 0. Numbers and texts stay until
 * the tree is freed; rows are appended, so that a writer takes what is new since its last look. For one
 * thread at a time. */

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

/* ---- the members that a process noted ---- */

#define PP_MEMBERS_MAX 1024 /* of a process */

struct pp_members {
    struct pp_member {
        uint64_t at;
        uint32_t op; /* of the tree */
    } * row;         /* by address */
    size_t n;
    struct timespec read; /* when the file was written that they are from */
};

/* Reads the file of the process, if there is one that is newer than what is known. */
void pp_members_read(struct pp_members *m, struct pp_stack_tree *tree, const char *session_dir, int64_t pid);
/* The op that this object is; 0: none. */
uint32_t pp_members_op(const struct pp_members *m, uint64_t at);
void pp_members_free(struct pp_members *m);
/* Removes the files of all processes, and the one by which the hooks are asked for them. */
void pp_members_files_remove(const char *session_dir);

/* The local of a function in which a Compose holds the member that it is running; NULL: none. name:
 * qualified, before Python 3.11 its last part alone. */
const char *pp_members_local(const char *name, const char *file);
