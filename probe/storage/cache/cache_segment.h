/* storage/cache/cache_segment.h: the files of a cache. A segment is written by one process, front to back:
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
 * an entry or a table are none. That the directory is the user's own is for cache_dir.h. Numbers are as the
 * machine has them; a cache does not travel. Any thread. */
#ifndef PP_STORAGE_CACHE_SEGMENT_H
#define PP_STORAGE_CACHE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

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

/* What a cache holds, in memory: a hash table from the key of an entry to where
 * it lies, 32 bytes each. A key that was asked for or evicted in this run stays in it without an entry, so
 * that a first request is told from one that was made room for. The caller locks. */

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
    struct pp_cache_slot *slot;
    size_t size, used; /* size: a power of 2, or 0 */
    int forgot;        /* keys without entries were dropped to make room */
};

/* As pp_cache_key gives it: never 0. */
static inline uint64_t pp_cache_slot_key(uint64_t key)
{
    return key ? key : 1;
}

struct pp_cache_slot *pp_cache_index_find(const struct pp_cache_index *x, uint64_t key);
/* That, or a new one with no flags; NULL: no memory, or 6 million are there. Other slots may move. */
struct pp_cache_slot *pp_cache_index_put(struct pp_cache_index *x, uint64_t key);
/* Entries of the segment are gone; those that were there get these flags. Returns how many. */
size_t pp_cache_index_drop(struct pp_cache_index *x, uint16_t segment, unsigned flags);
void pp_cache_index_free(struct pp_cache_index *x);

#endif
