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
#pragma once

#include "probe/storage/cache/cache.h"

#include <pipeprobe/status.h>
#include <pthread.h>

/* The directory of a cache: whose it is, what may lie in it, and the lock under which segments come and go.
 *
 *   DIR/pipeprobe-cache       "pipeprobe cache 1 SEED": without it the directory is none of ours; flock(2)
 *                             on it guards which segments there are
 *   DIR/segment-NUMBER        cache_segment.c; its writer holds a flock on it
 *
 * Only files of these names are ever removed. The directory must belong to the user and be closed to writes
 * of others; so must each segment, which is a plain file with one name. Any thread; lock and unlock are for
 * one thread at a time. */

struct pp_cache_dir {
    int fd, marker;
    int read_only;
    uint64_t seed;
    char *path; /* for sentences */
};

/* Makes it, or its marker, when there is none. PP_E_ACCESS: it is another user's, or open to others.
 * PP_E_EXISTS: it holds files, and none of them is the marker. PP_E_VERSION, PP_E_CORRUPT: the marker. */
pp_status pp_cache_dir_open(const char *path, struct pp_cache_dir *out, struct pp_err *err);
void pp_cache_dir_close(struct pp_cache_dir *d); /* zeros, or half opened, is fine */

/* 0: it, or its marker, was removed or replaced. */
int pp_cache_dir_is_there(const struct pp_cache_dir *d);
/* 0: locked. -1: another process held it for a second. */
int pp_cache_dir_lock(const struct pp_cache_dir *d);
void pp_cache_dir_unlock(const struct pp_cache_dir *d);

/* A descriptor of a segment, to read or, with write, to go on writing. -1: it is not there, or not ours. */
int pp_cache_dir_segment(const struct pp_cache_dir *d, uint64_t number, int write);
/* A new one, locked by this descriptor. -1: errno says why. */
int pp_cache_dir_make_segment(const struct pp_cache_dir *d, uint64_t number);
void pp_cache_dir_remove_segment(const struct pp_cache_dir *d, uint64_t number);
/* The numbers of all segments, in order, to be freed by the caller. -1: the directory cannot be listed. */
int pp_cache_dir_list(const struct pp_cache_dir *d, uint64_t **numbers, size_t *n);

/* The files of a cache. A segment is written by one process, front to back:
 *
 *   head of the segment | entry | entry | ... | table of its entries, once it is full or closed
 *   entry = head | name of the object | bytes; the next one begins at a multiple of 8
 *
 * Nothing in it is taken on trust. The head of an entry has an XXH3 of itself and the name, and one of the
 * bytes, so that whatever a kill, a full disk or a power loss leaves is told from an entry: a walk ends at
 * the first head that is none, and bytes are compared with their hash each time that they are read. The
 * table has a hash too; without a sound one the heads are walked. It is for speed alone: who reads an entry
 * reads its head.
 *
 * Every hash is seeded with a random number of the cache's own: bytes of a stranger's object that look like
 * an entry or a table are none. That the directory is the user's own is for cache_dir.c. Numbers are as the
 * machine has them; a cache does not travel. Any thread. */

enum { PP_CACHE_NAME = 2048 };    /* bytes of a name at most; an object with a longer one is not kept */
#define PP_CACHE_WHOLE UINT64_MAX /* as asked: the whole object, of whatever size */
#define PP_CACHE_SEGMENT_MOST ((uint64_t)16 << 30) /* a larger file is none */

/* What an entry is of. */
struct pp_cache_id {
    const char *name; /* of the object, with its store's */
    size_t name_size;
    uint64_t offset, asked; /* bytes [offset, offset + asked), or PP_CACHE_WHOLE */
    uint64_t version;       /* of the object: ETag and size; not a part of the key */
    uint64_t place;         /* the data set that it was read for: pp_cache_place */
};

struct pp_cache_file {
    int fd;
    uint64_t seed; /* of the cache */
};

/* Of name, offset and asked; never 0. */
uint64_t pp_cache_key(const struct pp_cache_id *id);
/* Of a place as a user writes it, without what it has of a pattern: the same for all shards of a folder. */
uint64_t pp_cache_place(const char *place);

/* Where an entry lies, as a table has it. */
struct pp_cache_row {
    uint64_t key, version, place;
    uint32_t at8;    /* offset of its head in 8 bytes */
    uint32_t length; /* of its bytes */
};

struct pp_cache_head {
    uint32_t magic;
    uint16_t name_size, zero;
    uint64_t check; /* XXH3 of what follows, and of the name */
    uint64_t key, version, place, offset, asked;
    uint64_t sum; /* XXH3 of the bytes */
    uint32_t length, zero2;
};

struct pp_cache_segment_head {
    char magic[8];
    uint64_t number;      /* a later segment has a larger one */
    uint64_t zero, check; /* XXH3 of what is before it */
};

enum { PP_CACHE_SEGMENT_HEAD = sizeof(struct pp_cache_segment_head) };

/* What an entry takes. */
uint64_t pp_cache_entry_size(size_t name_size, uint64_t length);
/* What the table of so many entries takes. */
uint64_t pp_cache_table_size(uint64_t entries);

/* The head of a new segment, and of a new entry. bytes: length of them. */
void pp_cache_make_segment_head(struct pp_cache_segment_head *out, uint64_t number, uint64_t seed);
void pp_cache_make_head(struct pp_cache_head *out, const struct pp_cache_id *id, const void *bytes,
                        uint32_t length, uint64_t seed);

/* 1: the file begins as a segment does, with this number. */
int pp_cache_check_segment(const struct pp_cache_file *f, uint64_t number);

/* Each entry from *at on, in order; *at is then behind the last. A return that is not 0 ends it, and is
 * returned. size: of the file. *closed: there is a table, and *at is where it begins. */
typedef int pp_cache_row_fn(void *ctx, const struct pp_cache_row *row);
int pp_cache_walk(const struct pp_cache_file *f, uint64_t size, uint64_t *at, int *closed,
                  pp_cache_row_fn *each, void *ctx);

/* Writes the table of n entries where the descriptor's position is. -1: errno says why. */
int pp_cache_write_table(const struct pp_cache_file *f, uint64_t at, const struct pp_cache_row *rows,
                         uint64_t n);

/* How reading an entry can end. */
enum pp_cache_got {
    PP_CACHE_GOT,     /* buf has its bytes */
    PP_CACHE_DAMAGED, /* it is not what the row says, or its bytes are not those that were written */
    PP_CACHE_ANOTHER  /* it is sound, and of another name: two names with one key */
};
struct pp_io_cached;
/* buf: row->length bytes. */
enum pp_cache_got pp_cache_read_entry(const struct pp_cache_file *f, const struct pp_cache_row *row,
                                      const struct pp_cache_id *id, void *buf, struct pp_io_cached *cached);

/* What a cache holds, in memory: a hash table from the key of an entry to where it lies, 32 bytes each. A key
 * that was asked for or evicted in this run stays in it without an entry, so that a first request is told
 * from one that was made room for. The caller locks. */

enum pp_cache_flag {
    PP_CACHE_STORED = 1,  /* at8, length, version and segment are of an entry */
    PP_CACHE_SEEN = 2,    /* asked for in this run */
    PP_CACHE_CHECKED = 4, /* of a whole object: its server gave this version in this run */
    PP_CACHE_EVICTED = 8  /* it was stored, and made room in this run */
};

struct pp_cache_slot {
    uint64_t key; /* 0: empty */
    uint64_t version;
    uint32_t at8, length;
    uint16_t segment, flags;
};

struct pp_cache_index {
    struct pp_cache_slot *slot; /* owned; from malloc */
    size_t size, used;          /* size: a power of 2, or 0 */
    int forgot;                 /* keys without entries were dropped to make room */
};

struct pp_cache_slot *pp_cache_index_find(const struct pp_cache_index *x, uint64_t key); /* key: never 0 */
/* That, or a new one with no flags; NULL: no memory, or 6 million are there. Other slots may move. */
struct pp_cache_slot *pp_cache_index_put(struct pp_cache_index *x, uint64_t key);

/* ---- finding, reading, storing ---- */

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
/* With lock held. Its entries are gone; their keys get these flags. */
void pp_cache_retire(struct pp_cache_ring *r, struct pp_cache_segment *s, unsigned flags);
void pp_cache_unref(struct pp_cache_segment *s);
/* With lock held. The index has the entry from now on. 0: no memory. */
int pp_cache_enter_row(struct pp_cache_ring *r, struct pp_cache_segment *s, const struct pp_cache_row *row,
                       unsigned flags);
/* A free place for a segment; NULL: none. */
struct pp_cache_segment *pp_cache_new_segment(struct pp_cache_ring *r, uint64_t number, int fd);
/* Ends the own segment with its table. */
void pp_cache_close_own(struct pp_cache_ring *r);
/* At open: a limit that was lowered holds. */
void pp_cache_trim(struct pp_cache_ring *r);
