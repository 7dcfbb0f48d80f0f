/* storage/storage.h: where bytes come from. One interface over file systems, buckets and whatever else holds
 * objects by name; the formats under probe/dataset read through it and know of no file descriptor.
 *
 *   attach(place) -> stat / list / match: what is there -> open -> info, read_at or borrow -> close -> detach
 *
 * A storage is a row of the table in storage.c: one file, one struct pp_storage_ops. A storage may wrap
 * another one (faults, a cache): it forwards what it does not change. See the skeleton at the end.
 *
 * Threads: stat, open, info, read_at, borrow, read_whole, list and match may be called by any thread at once
 * on one storage, and read_at and borrow on one object. attach, detach and close are the owner's. Memory:
 * reads allocate nothing once the caller's buffer is large enough. A struct pp_object is plain data, held by
 * value. Units: bytes, and nanoseconds for versions. Errors: whole sentences ("cannot open the shard x.tar:
 * No such file or directory"). PP_E_TRANSIENT: the same call may succeed later (EIO, ESTALE, a busy server),
 * and the loader tries it again. PP_E_NOT_FOUND, PP_E_ACCESS: as they
 * say. PP_E_UNSUPPORTED: not an object, or the storage cannot do this. A storage whose requests travel
 * retries those that are for no sample (remote.h): an index is not given up for one busy answer. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_storage;
struct pp_storage_ops;

enum pp_storage_flag {
    PP_STORAGE_LOCAL = 1,      /* names are paths of this machine: files can be kept beside an object */
    PP_STORAGE_PAGE_CACHE = 2, /* reads can say what came from the page cache */
    PP_STORAGE_LISTS = 4,      /* list works */
    PP_STORAGE_BORROWS = 8,    /* borrow works: bytes can be had without a copy */
};

/* What lies at a name. */
enum pp_place_kind {
    PP_PLACE_MISSING,
    PP_PLACE_OBJECT,
    PP_PLACE_DIRECTORY,
    PP_PLACE_OTHER /* pipe, device */
};

#define PP_SIZE_UNKNOWN UINT64_MAX /* it takes reading to the end to know */

struct pp_place_info {
    enum pp_place_kind kind;
    uint64_t size;   /* of an object, or PP_SIZE_UNKNOWN */
    int64_t version; /* differs when the content may: modification time in ns, hash of an ETag */
    uint64_t id[2];  /* which one it is, whatever name led there (device, inode); both 0: the storage has no
                        links */
};

/* An opened object or directory. Zero-initialise; storage NULL: not open. */
struct pp_object {
    const struct pp_storage *storage;
    int64_t handle; /* these two are the storage's own */
    void *state;
};

enum pp_open_how {
    PP_OPEN_DIRECTORY = 1,  /* to list it, and to open names relative to it */
    PP_OPEN_SEQUENTIAL = 2, /* will be read from front to back: read ahead */
    PP_OPEN_BORROW = 4,     /* borrow will be called; ignored where the storage cannot */
};

struct pp_open {
    const struct pp_object *dir; /* that name is relative to; NULL: name is whole, as a user writes it */
    const char *name;
    unsigned how;        /* enum pp_open_how */
    const char *attempt; /* for the sentence "cannot ATTEMPT NAME: why": "open the shard" */
};

/* On whose behalf a sample is read: what an injected fault is decided by. */
struct pp_read_context {
    uint64_t epoch, sample;
    int worker, attempt; /* attempt: 0 for the first */
};

struct pp_read {
    /* asked */
    const char *name; /* of the object, for the sentence of a failure */
    const char *part; /* what of it is read there (a member's key), for the same; NULL: none */
    uint64_t offset;  /* not for read_whole */
    size_t size;      /* not for read_whole */
    const struct pp_read_context *context; /* NULL: not for a sample (an index, a header, a stream) */
    uint8_t *buf; /* the caller's, from malloc. read_at: size bytes at least; read_whole grows it
                   * geometrically by realloc, also when it then fails; borrow does not use it */
    size_t cap;   /* bytes of buf */
    size_t limit; /* read_whole: a larger object is not begun with, and is PP_E_UNSUPPORTED; 0: none */
    /* answered, valid with PP_OK */
    const uint8_t *data;    /* buf, or what was borrowed */
    size_t got;             /* less than size only at the end of the object */
    int cache_known;        /* whether the next line is known */
    size_t cache_hit_bytes; /* came from the page cache without waiting: a lower bound */
    int64_t version;        /* read_whole: of the object, as in pp_place_info; 0: its answer did not say */
    uint64_t id[2];         /* likewise */
};

/* One entry of a directory. */
struct pp_entry {
    const char *name; /* valid during the call */
    enum {
        PP_ENTRY_OBJECT,
        PP_ENTRY_DIRECTORY,
        PP_ENTRY_UNTOLD /* stat knows, and costs a round trip */
    } kind;
};
/* Anything but PP_OK ends the listing and is returned. */
typedef pp_status pp_entry_fn(void *ctx, const struct pp_entry *e, struct pp_err *err);

/* ---- for users ---- */

/* The storage whose accepts scores highest for place (a path or URL as a user writes it, also a pattern or a
 * list of them). PP_E_USAGE when there is none. The caller detaches it, after closing what was opened through
 * it; detach(NULL) is fine. */
pp_status pp_storage_attach(const char *place, struct pp_storage **out, struct pp_err *err);
void pp_storage_detach(struct pp_storage *s);

/* How long the calling thread should wait before it makes its last failed call again: backoff_ns, and after a
 * failure of a remote storage a random time between half and all of that, of 100 ms at least, or as long as
 * the server asked for (Retry-After, up to 30 s). */
uint64_t pp_storage_retry_wait_ns(uint64_t backoff_ns);

/* What lies at name. attempt: as in struct pp_open. Nothing there is PP_E_NOT_FOUND with kind
 * PP_PLACE_MISSING. */
pp_status pp_storage_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err);
/* *out is closed (storage NULL) on failure. */
pp_status pp_storage_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err);
/* Whole objects of unknown size, opened, read and closed in as few requests as the storage can. r->name is
 * relative to dir, and is what the sentence says. An object of 0 bytes is PP_OK with got 0. */
pp_status pp_storage_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                struct pp_err *err);
/* Every name that a shell pattern matches, in any order. PP_E_NOT_FOUND when there is none. */
pp_status pp_storage_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                           struct pp_err *err);

/* name: for the sentence of a failure. */
pp_status pp_object_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                         struct pp_err *err);
pp_status pp_object_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err);
/* As read_at, but data points into memory of the storage that lives until the object is closed. Only with
 * PP_STORAGE_BORROWS and PP_OPEN_BORROW. The bytes are there when it returns: what waits for the medium waits
 * here. */
pp_status pp_object_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err);
/* What lies directly in a directory, in any order, without "." and "..". */
pp_status pp_object_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                         struct pp_err *err);
void pp_object_close(struct pp_object *o); /* one that is not open is fine */

/* ---- for storages ---- */

/* A storage embeds this as its first member. */
struct pp_storage {
    const struct pp_storage_ops *ops;
    unsigned flags;       /* enum pp_storage_flag */
    size_t request_bytes; /* what one request may as well bring, because asking takes longer than bringing it;
                             0: requests are cheap */
    const char *scope;    /* which store, where names do not say it (the endpoint of s3://); NULL: they do */
    struct pp_storage *inner; /* that it is over, owned; NULL: none */
};

static inline unsigned pp_storage_flags(const struct pp_storage *s)
{
    return s->flags;
}

static inline size_t pp_storage_request_bytes(const struct pp_storage *s)
{
    return s->request_bytes;
}

struct pp_storage_ops {
    const char *name; /* "posix" */
    const char *help; /* what places it is for: "paths of this machine" */
    /* 0: not a place of this storage; else the higher the surer, 100 at most (a scheme of its own such as
     * s3://). */
    int (*accepts)(const char *place); /* NULL: by its schemes alone, of which it is sure */
    const char *schemes[2];
    pp_status (*attach)(const char *place, struct pp_storage **out, struct pp_err *err);
    void (*detach)(struct pp_storage *s); /* inner is detached behind it; NULL: free */

    /* Of a storage over another one each may be NULL: then it is the inner one's, and so are the objects. */
    pp_status (*stat)(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                      const char *attempt, struct pp_place_info *out, struct pp_err *err);
    pp_status (*open)(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                      struct pp_err *err);
    void (*close)(struct pp_object *o);
    pp_status (*info)(const struct pp_object *o, const char *name, struct pp_place_info *out,
                      struct pp_err *err);
    pp_status (*read_at)(const struct pp_object *o, struct pp_read *r, struct pp_err *err);

    /* NULL: the inner one's, or not to be had, or (read_whole) done by open, info, read_at and close */
    pp_status (*borrow)(const struct pp_object *o, struct pp_read *r, struct pp_err *err);
    pp_status (*read_whole)(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                            struct pp_err *err);
    pp_status (*list)(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                      struct pp_err *err);
    pp_status (*match)(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                       struct pp_err *err);
};

/* An object that the inner storage opened as its own again, and reading a whole one there; dir: NULL, or of
 * the outer storage. */
struct pp_object pp_inner_object(const struct pp_object *o);
pp_status pp_inner_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                              struct pp_err *err);

/* Adds a storage that is not in the table of storage.c (a plug-in, a test): ops live as long as the process.
 * Before any thread attaches. -1: more than 8. */
int pp_storage_register(const struct pp_storage_ops *ops);

/* For the next pp_storage_retry_wait_ns of this thread: a request of a remote storage failed, and its server
 * asked for so many seconds (0: it did not). */
void pp_storage_note_retry_after(unsigned seconds);
/* What a remote storage says as its request_bytes: 30 ms at 80 MB/s are 2.4 MB. */
enum { PP_REQUEST_BYTES = 4 << 20 };

/* Makes r->buf hold size bytes: for read_whole. */
pp_status pp_read_reserve(struct pp_read *r, size_t size, struct pp_err *err);
/* "NAME: needs N MiB, limit M MiB; ...": size is over r->limit. */
pp_status pp_read_fail_limit(const struct pp_read *r, uint64_t size, struct pp_err *err);

/* clang-format off */
/* A new storage is one file and one row in storage.c:
 *
 *   static pp_status s3_attach(...)      connects lazily; place may be a pattern or a list: only scheme and host matter here
 *   static pp_status s3_stat(...)        HEAD; a prefix with anything below it is a directory
 *   static pp_status s3_open(...)        asks nothing; handle and state are this file's own
 *   static pp_status s3_info(...)        HEAD, or PP_SIZE_UNKNOWN where the server does not say
 *   static pp_status s3_read_at(...)     a ranged GET into r->buf; 503 and a dropped connection are PP_E_TRANSIENT
 *   static pp_status s3_read_whole(...)  one GET without HEAD; pp_read_reserve once the answer says its length
 *   static pp_status s3_list(...)        by prefix with a delimiter, page after page
 *   const struct pp_storage_ops pp_storage_s3 = {.name = "s3", .help = "buckets: s3://BUCKET/PREFIX", .schemes = {"s3"}, ...};
 *
 * One over another (fault.c is the example) sets inner and leaves out what it does not change. A storage that is not in the table (one made by a format, a wrapper) needs neither accepts nor attach. */
/* clang-format on */
