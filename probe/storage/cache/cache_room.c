/* Storing entries, and the room for them. */
#include "probe/storage/cache/cache_ring.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL_NS 1000000000u /* so long is not asked again whether there is room */

enum { LEAST_ENTRIES = 1, TAKEN = 100 };

/* ---- policies ---- */

static int oldest_victim(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    for (size_t i = 0; i < n; i++)
        if (!c[i].busy)
            return (int)i;
    return -1;
}

/* Second chance: twice round at most, for the first round clears what it passes. */
static int unused_victim(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    size_t first = 0;
    while (first < n && c[first].number <= *hand)
        first++;
    for (size_t k = 0; k < 2 * n; k++) {
        size_t i = (first + k) % n;
        if (c[i].busy)
            continue;
        *hand = c[i].number;
        if (!c[i].used)
            return (int)i;
        c[i].used = 0;
    }
    return -1;
}

static int stale_victim(struct pp_cache_candidate *c, size_t n, uint64_t *hand)
{
    for (size_t i = 0; i < n; i++)
        if (!c[i].busy && c[i].stale)
            return (int)i;
    return -1;
}

const struct pp_cache_policy pp_cache_policies[PP_CACHE_POLICIES] = {
    [PP_CACHE_KEEP] = {"keep", "what is read each epoch stays; the rest is not stored", stale_victim},
    [PP_CACHE_CLOCK] = {"clock", "the segment goes that was not read for the longest, about", unused_victim},
    [PP_CACHE_FIFO] = {"fifo", "the oldest segment goes", oldest_victim},
};

/* ---- the own segment ---- */

static void stop_storing(struct pp_cache_ring *r, int e, const char *what)
{
    r->stopped = 1;
    if (e == ENOSPC || e == EDQUOT || e == EFBIG)
        pp_cache_say(
            "the cache %s: %s, so nothing more is stored in it; free some space, or lower --cache-bytes",
            r->dir.path, e == EFBIG ? "the limit of file sizes was reached (ulimit -f)" : "the disk is full");
    else
        pp_cache_say("the cache %s: %s%s%s, so nothing more is stored in it", r->dir.path, what,
                     e ? ": " : "", e ? strerror(e) : "");
}

/* It goes on being read; its flock is given back, so that another process may go on writing it. table: what
 * its table takes; 0: it has none. */
static void leave_own(struct pp_cache_ring *r, uint64_t table)
{
    struct pp_cache_segment *s = r->own;
    flock(s->fd, LOCK_UN);
    pthread_mutex_lock(&r->lock);
    s->own = 0;
    s->closed = table > 0;
    s->size = s->walked + table;
    s->mtime_ns = 0;
    pp_cache_unref(s);
    pthread_mutex_unlock(&r->lock);
    r->own = NULL;
    r->n_rows = 0;
}

static int is_removed(struct pp_cache_ring *r)
{
    pthread_mutex_lock(&r->lock);
    int removed = r->own->dead;
    pthread_mutex_unlock(&r->lock);
    return removed;
}

void pp_cache_close_own(struct pp_cache_ring *r)
{
    struct pp_cache_segment *s = r->own;
    if (!s)
        return;
    struct pp_cache_file f = {.fd = s->fd, .seed = r->dir.seed};
    uint64_t table = 0;
    if (!is_removed(r) && lseek(s->fd, (off_t)s->walked, SEEK_SET) >= 0) {
        if (pp_cache_write_table(&f, s->walked, r->rows, r->n_rows) == 0)
            table = pp_cache_table_size(r->n_rows);
        else if (ftruncate(s->fd, (off_t)s->walked) != 0)
            table = 0; /* half a table is none: the heads are walked */
    }
    leave_own(r, table);
}

static int keep_row(void *ctx, const struct pp_cache_row *row)
{
    struct pp_cache_ring *r = ctx;
    if (!pp_grow(&r->rows, &r->rows_cap, r->n_rows + 1, sizeof(*r->rows)))
        return -1;
    r->rows[r->n_rows++] = *row;
    return 0;
}

/* ---- making room; the directory's lock is held ---- */

PP_BY_POINTER(by_number, struct pp_cache_segment, number)

/* What lies there, the oldest first. */
struct census {
    struct pp_cache_segment *of[PP_CACHE_SEGMENTS];
    struct pp_cache_candidate candidate[PP_CACHE_SEGMENTS];
    size_t n;
    uint64_t bytes, last;
};

static void take_census(struct pp_cache_ring *r, struct census *c)
{
    c->n = c->bytes = c->last = 0;
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++)
        if (r->segment[i].fd >= 0 && !r->segment[i].dead)
            c->of[c->n++] = &r->segment[i];
    qsort(c->of, c->n, sizeof(c->of[0]), by_number);
    for (size_t i = 0; i < c->n; i++) {
        struct pp_cache_segment *s = c->of[i];
        int busy = s->own || (!s->closed && flock(s->fd, LOCK_SH | LOCK_NB) != 0);
        if (!busy && !s->closed)
            flock(s->fd, LOCK_UN);
        c->candidate[i] = (struct pp_cache_candidate){
            .number = s->number,
            .busy = busy,
            .used = s->used,
            .stale = (!s->here && !s->used) || s->epoch + 2 <= r->epochs,
        };
        c->bytes += busy && s->size < r->segment_bytes ? r->segment_bytes : s->size;
        c->last = s->number;
    }
}

static void evict(struct pp_cache_ring *r, struct census *c, int victim)
{
    for (size_t i = 0; i < c->n; i++)
        c->of[i]->used = c->candidate[i].used;
    pp_cache_dir_remove_segment(&r->dir, c->of[victim]->number);
    pp_cache_retire(r, c->of[victim], PP_CACHE_EVICTED);
}

/* The bytes that a new segment may take, at least `need`; 0: there is no room. */
static uint64_t make_room(struct pp_cache_ring *r, uint64_t need, struct census *c)
{
    for (;;) {
        take_census(r, c);
        uint64_t left = c->bytes < r->bytes ? r->bytes - c->bytes : 0;
        if (left >= r->segment_bytes && c->n < PP_CACHE_SEGMENTS_USED)
            return r->segment_bytes;
        int victim = r->policy->victim(c->candidate, c->n, &r->hand);
        if (victim < 0)
            return left >= need && c->n < PP_CACHE_SEGMENTS_USED ? left : 0;
        evict(r, c, victim);
    }
}

/* One that its writer left, with a quarter of its room: it is written on. */
static int write_on(struct pp_cache_ring *r, struct census *c, uint64_t need)
{
    uint64_t left = c->bytes < r->bytes ? r->bytes - c->bytes : 0;
    for (size_t i = c->n; i-- > 0;) {
        struct pp_cache_segment *s = c->of[i];
        struct stat was, now;
        uint64_t at = PP_CACHE_SEGMENT_HEAD,
                 limit = s->size + left < r->segment_bytes ? s->size + left : r->segment_bytes,
                 least = s->walked + (need > r->segment_bytes / 4 ? need : r->segment_bytes / 4);
        int closed, fd = -1;
        if (c->candidate[i].busy || limit < least || (fd = pp_cache_dir_segment(&r->dir, s->number, 1)) < 0)
            continue;
        struct pp_cache_file f = {.fd = fd, .seed = r->dir.seed};
        r->n_rows = 0;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &now) == 0 && fstat(s->fd, &was) == 0 &&
            now.st_ino == was.st_ino && pp_cache_walk(&f, s->size, &at, &closed, keep_row, r) == 0 &&
            at == s->walked && ftruncate(fd, (off_t)at) == 0) {
            int seen = s->fd;
            if (dup3(fd, seen, O_CLOEXEC) == seen) { /* readers go on with the number that they have */
                close(fd);
                s->own = 1;
                s->closed = 0;
                s->size = s->walked;
                s->refs++;
                r->own = s;
                r->own_limit = limit;
                return 1;
            }
        }
        close(fd);
        r->n_rows = 0;
    }
    return 0;
}

static int begin_segment(struct pp_cache_ring *r, uint64_t number, uint64_t limit)
{
    struct pp_cache_segment_head h;
    int fd = -1, e = EEXIST;
    for (int i = 0; fd < 0 && e == EEXIST && i < TAKEN; i++) { /* a name that is taken is by no segment */
        number += i > 0;
        fd = pp_cache_dir_make_segment(&r->dir, number);
        e = fd < 0 ? errno : 0;
    }
    pp_cache_make_segment_head(&h, number, r->dir.seed);
    if (fd >= 0 && pp_io_write_full(fd, &h, sizeof(h)) != 0) {
        e = errno;
        pp_cache_dir_remove_segment(&r->dir, number);
        close(fd);
        fd = -1;
    }
    struct pp_cache_segment *s = fd >= 0 ? pp_cache_new_segment(r, number, fd) : NULL;
    if (!s) {
        if (fd >= 0)
            close(fd);
        stop_storing(r, fd >= 0 ? ENFILE : e, "no segment can be made");
        return 0;
    }
    s->own = 1;
    s->refs = 1;
    s->size = PP_CACHE_SEGMENT_HEAD;
    r->own = s;
    r->own_limit = limit;
    r->n_rows = 0;
    return 1;
}

void pp_cache_trim(struct pp_cache_ring *r)
{
    struct census *c = malloc(sizeof(*c));
    int victim = 0;
    if (!c || r->dir.read_only || pp_cache_dir_lock(&r->dir) != 0) {
        free(c);
        return;
    }
    pthread_mutex_lock(&r->lock);
    for (take_census(r, c); c->bytes > r->bytes && victim >= 0; take_census(r, c)) {
        uint64_t hand = 0;
        victim = pp_cache_policies[PP_CACHE_FIFO].victim(c->candidate, c->n, &hand);
        if (victim >= 0)
            evict(r, c, victim);
    }
    pthread_mutex_unlock(&r->lock);
    pp_cache_dir_unlock(&r->dir);
    free(c);
}

/* ---- storing ---- */

static int append_entry(struct pp_cache_ring *r, const struct pp_cache_id *id, const void *bytes,
                        size_t length)
{
    struct {
        struct pp_cache_head head;
        char name[PP_CACHE_NAME];
    } h;
    struct pp_cache_segment *s = r->own;
    pp_cache_make_head(&h.head, id, bytes, (uint32_t)length, r->dir.seed);
    memcpy(h.name, id->name, id->name_size);
    struct pp_cache_row row = {.key = h.head.key,
                               .version = id->version,
                               .place = id->place,
                               .at8 = (uint32_t)(s->walked / 8),
                               .length = (uint32_t)length};
    if (keep_row(r, &row) != 0)
        return -1;
    if (lseek(s->fd, (off_t)s->walked, SEEK_SET) < 0 ||
        pp_io_write_full(s->fd, &h, sizeof(h.head) + id->name_size) != 0 ||
        pp_io_write_full(s->fd, bytes, length) != 0) {
        int e = errno;
        r->n_rows--;
        if (ftruncate(s->fd, (off_t)s->walked) != 0) /* then it is no entry by its length or hash */
            s->size = s->walked;
        stop_storing(r, e, "writing failed");
        return -1;
    }
    pthread_mutex_lock(&r->lock);
    s->walked += pp_cache_entry_size(id->name_size, length);
    s->size = s->walked;
    s->here += length;
    s->epoch = r->epochs;
    if (!s->dead)
        pp_cache_enter_row(r, s, &row, PP_CACHE_STORED | PP_CACHE_CHECKED);
    pthread_mutex_unlock(&r->lock);
    return 0;
}

/* 1: the own segment takes an entry of this size; another may have to be begun. */
static int has_room(struct pp_cache_ring *r, uint64_t entry)
{
    if (r->own && is_removed(r))
        leave_own(r, 0);
    if (r->own && r->own->walked + entry + pp_cache_table_size(r->n_rows + 1) <= r->own_limit)
        return 1;
    pp_cache_close_own(r);
    uint64_t need = PP_CACHE_SEGMENT_HEAD + entry + pp_cache_table_size(LEAST_ENTRIES), limit = 0;
    int made = 0;
    if (pp_now_ns() < r->full_until_ns && r->full_epoch == r->epochs)
        return 0;
    struct census *c = malloc(sizeof(*c));
    if (!c)
        return 0;
    if (!pp_cache_dir_is_there(&r->dir)) {
        stop_storing(r, 0, "it was removed");
    } else if (pp_cache_dir_lock(&r->dir) != 0) {
        r->full_until_ns = pp_now_ns() + FULL_NS;
        r->full_epoch = r->epochs;
    } else {
        pthread_mutex_lock(&r->lock);
        pp_cache_look_around(r, 1);
        take_census(r, c);
        made = write_on(r, c, need);
        if (!made && (limit = make_room(r, need, c)) > 0)
            made = begin_segment(r, c->last + 1, limit);
        if (!made && !r->stopped) {
            r->full_until_ns = pp_now_ns() + FULL_NS;
            r->full_epoch = r->epochs;
        }
        pthread_mutex_unlock(&r->lock);
        pp_cache_dir_unlock(&r->dir);
    }
    free(c);
    return made;
}

void pp_cache_ring_store(struct pp_cache_ring *r, const struct pp_cache_id *id, const void *bytes,
                         size_t length)
{
    uint64_t entry = pp_cache_entry_size(id->name_size, length);
    int kept = 0;
    if (id->name_size <= PP_CACHE_NAME && length <= UINT32_MAX &&
        PP_CACHE_SEGMENT_HEAD + entry + pp_cache_table_size(1) <= r->segment_bytes) {
        pthread_mutex_lock(&r->storing);
        kept = !r->stopped && has_room(r, entry) && append_entry(r, id, bytes, length) == 0;
        pthread_mutex_unlock(&r->storing);
    }
    if (!kept)
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_UNKEPT, 1);
}
