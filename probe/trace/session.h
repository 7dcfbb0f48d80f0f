/* trace/session.h: what session.c, slot.c, thread.c and drain_side.c share about a session in this process.
 * Private to probe/trace. */
#pragma once

#include "probe/trace/stamp.h"
#include "probe/trace/trace.h"

#include <pthread.h>

/* One recording thread of this process. Only that thread touches it, but for the fork handler of a child,
 * where no other thread lives. */
struct pp_thread {
    struct pp_ring_file *ring;
    struct pp_span *slots;
    uint64_t mask;
    uint64_t head;                 /* the producer's own copy of ring->head */
    uint64_t check_at;             /* head at which the fill must be looked at again */
    uint64_t straight_until;       /* laps before this head need nothing but a tick and their record
                                      (record_settle); 0: none do. The one comparison of the hot path */
    uint64_t stamp;                /* last lap stamp in ticks; 0: none yet */
    uint64_t cpu_ns, run_delay_ns; /* readings that belong to it */
    uint32_t open; /* spans begun; the producer's copy of ring->open, which knows PP_OPEN_SPANS_MAX of them */
    uint32_t expected; /* value of open just after pp_lap_expect; 0: nothing is expected */
    struct {
        uint64_t cpu_ns, run_delay_ns; /* readings at its beginning */
    } opened[PP_OPEN_SPANS_MAX];
    int recording; /* atomic; 0 after retire, and for every handle a forked child inherited */
    int tsc, resources;
    int schedstat_fd; /* /proc/thread-self/schedstat, -1: not available */
    uint32_t id;
    struct pp_session *session;
    struct pp_thread *next; /* of this process's handles */
};

/* A ring as this process has it mapped; ring == NULL: not mapped (yet). */
struct pp_ring_map {
    struct pp_ring_file *ring;
    size_t bytes;
    uint64_t handed_out; /* records, by pp_ring_read, so far */
    int emptied; /* its thread has retired, all is released, and the space of its records was given back */
};

struct pp_session {
    struct pp_session_file *file;
    char *dir;
    int lock_fd;           /* holds the owner's lock, a collector inherits it; -1: not this process's */
    uint32_t seen_threads; /* atomic: the most that pp_session_threads has seen */
    int owner;             /* 0 in a forked child: closing leaves the files alone */
    pthread_mutex_t lock;  /* map, handles, sync; never taken on the recording path */
    struct pp_thread *handles;
    struct pp_stamp_sync sync;
    struct pp_session *next; /* of this process's sessions, for the fork handler */
    struct pp_ring_map map[PP_THREADS_MAX];
};

/* From now on another process reads the clock pair and removes the files. */
void pp_session_hand_over(struct pp_session *s);
/* What the program says of its loader, for what has not been said yet (drain_side.h reads it). */
void pp_session_state_loader(struct pp_session *s, const uint32_t said[PP_STATED]);
/* Whether session_fd, a session's file, is not the one there any more: the directory was made anew and is
 * another session's. -1: whichever is there is its own. */
int pp_session_is_anothers(const char *dir, int session_fd);
/* Removes what a session left in its directory, unless it is another's, and that if nothing else is in it. */
void pp_session_discard(const char *dir, int session_fd);

/* Reserves the blocks of a file before it is mapped, for a store into a hole on a full disk is a SIGBUS in
 * somebody's training job; maps it, shared and guarded; makes it first. 0 or an errno. */
int pp_session_reserve(int fd, size_t bytes);
int pp_session_map_file(int fd, size_t bytes, void **out);
int pp_session_make_file(const char *path, size_t bytes, void **out);
void pp_session_unmap(void *at, size_t bytes); /* NULL is fine */
/* Another process's file is checked before it is believed: the ring of a thread, mapped at r. */
int pp_ring_believable(const struct pp_session *s, const struct pp_ring_file *r, size_t bytes,
                       uint32_t thread);

/* slot.c: the retiring thread's last step; its slot may be taken over from here on. */
void pp_slot_leave(struct pp_session *s, uint32_t id);

/* Puts the session on the list that the fork handlers walk; pp_session_close takes it off. */
void pp_session_enlist(struct pp_session *s);
