/* stacks/members.h: which object of a process is which member of a transform, as the hooks noted it in the
 * session directory (ops-PID): a line per object, "ADDRESS\tPATH\tCLASS\tARGUMENTS", the address in hex. The
 * file is the job's: an ordinary one, of bounded size, whose texts are made plain. */
#ifndef PP_STACKS_MEMBERS_H
#define PP_STACKS_MEMBERS_H

#include "collectors/stacks/tree.h"

#include <time.h>

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
/* The hooks note members while this file is there. Without it: no names, and no more. */
void pp_members_ask(const char *session_dir);
/* Removes it and the files of all processes. */
void pp_members_files_remove(const char *session_dir);

/* The local of a function in which a Compose holds the member that it is running; NULL: none. name:
 * qualified, before Python 3.11 its last part alone. */
const char *pp_members_local(const char *name, const char *file);
/* 1: a thread of multiprocessing's own runs in it, which feeds a queue or hands on what is shared. */
int pp_members_is_helper(const char *name, const char *file);

#endif
