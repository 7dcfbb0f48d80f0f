/* storage/cache/cache_ring.h: the entries of a cache directory: found, read, stored, evicted.
 *
 *   find -> (sized buffer) -> take                       a hit
 *   enter -> (read from the storage) -> store -> leave   a miss; a second reader of the same waits in enter
 *
 * Any number of processes share a directory. Each writes a segment of its own, which it owns (flock) until
 * the segment is full; all read all: what another process has written since is seen within 100 ms of a miss.
 * Segments come and go under the lock of the directory, and together take opts.bytes at most, by what each
 * process was told; a segment goes as a whole. When a process is killed, its segment is read up to the last
 * whole entry, and the next process goes on writing it.
 *
 * What goes wrong with the directory later (full disk, removed, no lock) ends storing for this process with
 * pp_cache_say, and reads go on. Any thread; open and close are the owner's. cache_ring.c finds and reads,
 * cache_room.c stores and makes room. */
#ifndef PP_STORAGE_CACHE_RING_H
#define PP_STORAGE_CACHE_RING_H

#include "probe/storage/cache/cache.h"
#include "probe/storage/cache/cache_dir.h"
#include "probe/storage/cache/cache_segment.h"

#include <pthread.h>

struct pp_io_cached;
struct pp_cache_ring;

/* place: of the data set, as pp_cache_place takes it. Segments of other data sets make room first. */
pp_status pp_cache_ring_open(const struct pp_cache_opts *o, const char *place, struct pp_cache_ring **out,
                             struct pp_err *err);
void pp_cache_ring_close(struct pp_cache_ring *r); /* NULL is fine */

struct pp_cache_found {
    struct pp_cache_row row;
    uint16_t segment;
    int checked; /* of a whole object: its server gave row.version in this run */
};

/* 1: there is an entry, to be taken or passed. With id->version not 0 an entry of another one is none, and
 * is forgotten. epoch: of the read. */
int pp_cache_ring_find(struct pp_cache_ring *r, const struct pp_cache_id *id, uint64_t epoch,
                       struct pp_cache_found *out);
/* 1: buf has the row.length bytes. 0: they are not what was written, and the entry is forgotten. */
int pp_cache_ring_take(struct pp_cache_ring *r, const struct pp_cache_found *f, const struct pp_cache_id *id,
                       void *buf, struct pp_io_cached *cached);
void pp_cache_ring_pass(struct pp_cache_ring *r, const struct pp_cache_found *f);
/* The server said that the whole object of this key has that version. An entry of another is forgotten. */
void pp_cache_ring_check(struct pp_cache_ring *r, uint64_t key, uint64_t version);

/* A reader that is about to ask the storage. */
struct pp_cache_flight {
    uint64_t key;
    struct pp_cache_flight *next;
};
/* 0: *f is under way until leave. 1: another was, and has ended: find again. */
int pp_cache_ring_enter(struct pp_cache_ring *r, uint64_t key, struct pp_cache_flight *f);
void pp_cache_ring_leave(struct pp_cache_ring *r, struct pp_cache_flight *f);

/* Keeps a copy, if there is room. */
void pp_cache_ring_store(struct pp_cache_ring *r, const struct pp_cache_id *id, const void *bytes,
                         size_t length);

/* What pp_cache_trouble gives: the first sentence stays until pp_cache_begin_counts, which also sets all
 * counters to 0, and which opening calls. */
void pp_cache_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pp_cache_begin_counts(void);

/* Counts a read of length bytes that has ended well (cache.h: pp_cache_counters). */
void pp_cache_ring_count(struct pp_cache_ring *r, uint64_t key, uint64_t length, int hit);

/* ---- between cache_ring.c and cache_room.c ---- */

enum { PP_CACHE_SEGMENTS = 1024, PP_CACHE_SEGMENTS_USED = 512 };

struct pp_cache_segment {
    int fd;                        /* -1: the place is free */
    uint64_t number, size, walked; /* entries up to walked are known */
    int own, closed, dead, used, listed;
    unsigned refs;    /* readers; one that is dead is closed by the last */
    uint64_t here;    /* bytes of entries of this run's data set */
    int64_t epoch;    /* of this run, from 0, that it was last read in */
    int64_t mtime_ns; /* a reader sets it, so that other processes see that it is of use */
    uint64_t touched_ns;
};

struct pp_cache_ring {
    struct pp_cache_dir dir;
    const struct pp_cache_policy *policy;
    uint64_t bytes, segment_bytes, place;
    /* guarded by lock */
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct pp_cache_index index;
    struct pp_cache_segment segment[PP_CACHE_SEGMENTS];
    struct pp_cache_flight *flights;
    unsigned waiting;
    int64_t epochs; /* begun in this run, less 1 */
    uint64_t epoch, looked_ns;
    int has_epoch;
    /* guarded by storing, which is taken before the directory's lock, and that before lock */
    pthread_mutex_t storing;
    int stopped; /* nothing is stored any more */
    struct pp_cache_segment *own;
    struct pp_cache_row *rows; /* of own */
    size_t n_rows, rows_cap;
    uint64_t own_limit, hand, full_until_ns;
    int64_t full_epoch;
};

/* With lock held. Brings segments and index up to what the directory holds now. may_remove: the directory's
 * lock is held, and a file that is no segment is removed. */
void pp_cache_look_around(struct pp_cache_ring *r, int may_remove);
/* With lock held. Its entries are gone. */
void pp_cache_retire(struct pp_cache_ring *r, struct pp_cache_segment *s, unsigned flags);
void pp_cache_unref(struct pp_cache_segment *s);
/* With lock held. The index has the entry from now on. 0: no memory. */
int pp_cache_enter_row(struct pp_cache_ring *r, struct pp_cache_segment *s, const struct pp_cache_row *row,
                       unsigned flags);
/* A free place for a segment; NULL: none. */
struct pp_cache_segment *pp_cache_new_segment(struct pp_cache_ring *r, uint64_t number, int fd);
struct pp_cache_file pp_cache_file_of(const struct pp_cache_ring *r, const struct pp_cache_segment *s);
/* Ends the own segment with its table. */
void pp_cache_close_own(struct pp_cache_ring *r);
/* At open: a limit that was lowered holds. */
void pp_cache_trim(struct pp_cache_ring *r);

#endif
