/* collectors/attach/reads/fds.h: what descriptors lead to, and which requests their sockets are in.
 *
 * A number is used again after it was closed, and libc closes some where nobody sees it: what is known of a
 * number goes with close, dup2 and connect, and a socket has requests only where its connect was seen. So
 * accepted and listening sockets have none, nor has the meeting point of the ranks (MASTER_PORT).
 *
 * Any thread. Requests are guarded by one lock, held for some ten instructions; a signal handler that
 * interrupts its holder finds `inside` set and is only forwarded. */
#pragma once

#include "collectors/attach/reads/reads.h"

#include <sys/socket.h>

enum { FDS_MAX = 8192 }; /* descriptors above it are files */

enum fd_kind {
    FD_UNKNOWN,
    FD_FILE,
    FD_SOCKET,
    FD_LOCAL,
    FD_PIPE,
    FD_POLLED /* an epoll with a socket or a pipe */
};

extern __thread struct pp_reads reads_counted
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* This thread is within a call of ours: what it calls meanwhile is forwarded and nothing else. */
extern __thread int reads_inside __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum fd_kind fds_kind(int fd);       /* asks the kernel once; keeps errno */
enum fd_kind fds_kind_known(int fd); /* does not ask */
void fds_set(int fd, enum fd_kind kind);
void fds_forget(int fd); /* its request ends */

/* ---- requests: requests.c ---- */

/* A stream of the internet is being connected since then; the socket's address and what looking its name up
 * took (names.h). */
void requests_connect(int fd, const struct sockaddr *to, uint64_t now_ns);
/* Bytes are about to be sent. 1: what they are their first byte says (-1: unknown), with requests_sent once
 * the kernel has taken them. */
int requests_sending(int fd, uint64_t now_ns);
void requests_sent(int fd, int first, uint64_t from_ns);
/* These bytes came, of which the first stand at data. */
void requests_received(int fd, const void *data, size_t bytes, uint64_t now_ns);
/* The last answer that this thread got refused its request: it sleeps until it asks again. */
int requests_are_refused(void);
void requests_closed(int fd);

/* The thread that counts waits for a lock: at its begin (0: another one does, and this wait is not looked
 * at); a thread of this process is about to end a wait for it; and at its end: how much of it answers to
 * requests of other threads took is counted, and their bytes. None where the thread that ended it had read no
 * answer: a lock of other processes, while a logger sends. */
int requests_lock_begin(const void *object, uint64_t now_ns);
void requests_lock_free(const void *object);
void requests_lock_end(uint64_t now_ns);

/* ---- names of hosts: names.c ---- */

struct addrinfo;
/* These addresses were looked up by this name, which took so long. The lock of requests is held. */
void names_keep(const char *name, const struct addrinfo *found, uint64_t took_ns);
/* "name:port" of an address, and what is to be added to the first connection to it. 0: it is no place to read
 * from. The lock of requests is held. */
int names_find(const struct sockaddr *of, char *out, size_t size, uint64_t *took_ns);

void reads_lock(void);
void reads_unlock(void);
