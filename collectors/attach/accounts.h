/* collectors/attach/accounts.h: the descriptor that a recorded thread reads its run-queue delay from, kept
 * safe in a process that is not ours. One thread. */
#ifndef PP_COLLECTORS_ATTACH_ACCOUNTS_H
#define PP_COLLECTORS_ATTACH_ACCOUNTS_H

#include <sys/types.h>

struct pp_accounts {
    int fd; /* the thread's schedstat; -1: not to be had */
    dev_t dev;
    ino_t ino;
};

/* Opens that of the calling thread. */
void pp_accounts_open(struct pp_accounts *a);
/* A program may close descriptors it does not know and open its own: closes only the file that was opened. */
void pp_accounts_close(struct pp_accounts *a);

#endif
