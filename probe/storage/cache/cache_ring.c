#include "probe/storage/cache/cache_ring.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <sys/stat.h>
#include <unistd.h>

#define LOOK_AFTER_MISS_NS 100000000u
#define LOOK_AFTER_HIT_NS 1000000000u
#define TOUCH_NS 1000000000u

/* ---- segments ---- */

struct pp_cache_segment *pp_cache_new_segment(struct pp_cache_ring *r, uint64_t number, int fd)
{
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++)
        if (r->segment[i].fd < 0) {
            r->segment[i] = (struct pp_cache_segment){
                .fd = fd, .number = number, .walked = PP_CACHE_SEGMENT_HEAD, .epoch = r->epochs, .listed = 1};
            return &r->segment[i];
        }
    return NULL;
}

void pp_cache_unref(struct pp_cache_segment *s)
{
    if (--s->refs == 0 && s->dead) {
        close(s->fd);
        s->fd = -1;
    }
}

void pp_cache_retire(struct pp_cache_ring *r, struct pp_cache_segment *s, unsigned flags)
{
    uint64_t dropped = 0;
    for (size_t i = 0; i < r->index.size; i++) {
        struct pp_cache_slot *slot = &r->index.slot[i];
        if (!(slot->flags & PP_CACHE_STORED) || slot->segment != (uint16_t)(s - r->segment))
            continue;
        slot->flags = (uint16_t)((slot->flags & PP_CACHE_SEEN) | flags);
        dropped++;
    }
    if (flags & PP_CACHE_EVICTED)
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_EVICTED, dropped);
    s->dead = 1;
    s->refs++;
    pp_cache_unref(s);
}

int pp_cache_enter_row(struct pp_cache_ring *r, struct pp_cache_segment *s, const struct pp_cache_row *row,
                       unsigned flags)
{
    struct pp_cache_slot *slot = pp_cache_index_put(&r->index, row->key);
    if (!slot)
        return 0;
    slot->version = row->version;
    slot->at8 = row->at8;
    slot->length = row->length;
    slot->segment = (uint16_t)(s - r->segment);
    slot->flags = (uint16_t)((slot->flags & PP_CACHE_SEEN) | flags);
    return 1;
}

struct walk {
    struct pp_cache_ring *r;
    struct pp_cache_segment *s;
};

static int take_row(void *ctx, const struct pp_cache_row *row)
{
    struct walk *w = ctx;
    if (!pp_cache_enter_row(w->r, w->s, row, PP_CACHE_STORED))
        return 1;
    if (row->place == w->r->place)
        w->s->here += row->length;
    return 0;
}

/* What has been written since, and whether another process has read it. */
static void renew(struct pp_cache_ring *r, struct pp_cache_segment *s)
{
    struct stat st;
    struct walk w = {r, s};
    if (s->own || fstat(s->fd, &st) != 0)
        return;
    int64_t mtime = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    if (s->mtime_ns && s->mtime_ns != mtime) {
        s->used = 1;
        s->epoch = r->epochs;
    }
    s->mtime_ns = mtime;
    if (s->closed && s->size != (uint64_t)st.st_size && s->size > 0)
        s->closed = 0; /* its table made way for entries: another process writes on */
    s->size = (uint64_t)st.st_size;
    if (!s->closed && s->size > s->walked) {
        struct pp_cache_file f = {.fd = s->fd, .seed = r->dir.seed};
        pp_cache_walk(&f, s->size, &s->walked, &s->closed, take_row, &w);
    }
}

void pp_cache_look_around(struct pp_cache_ring *r, int may_remove)
{
    uint64_t *number, held = 0;
    size_t n;
    r->looked_ns = pp_now_ns();
    if (pp_cache_dir_list(&r->dir, &number, &n) != 0)
        n = 0;
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++)
        r->segment[i].listed = 0;
    for (size_t i = n > PP_CACHE_SEGMENTS_USED ? n - PP_CACHE_SEGMENTS_USED : 0; i < n; i++) {
        struct pp_cache_segment *s = NULL;
        for (size_t k = 0; !s && k < PP_CACHE_SEGMENTS; k++)
            if (r->segment[k].fd >= 0 && !r->segment[k].dead && r->segment[k].number == number[i])
                s = &r->segment[k];
        if (!s) {
            int fd = pp_cache_dir_segment(&r->dir, number[i], 0);
            struct pp_cache_file f = {.fd = fd, .seed = r->dir.seed};
            int is_one = fd >= 0 && pp_cache_check_segment(&f, number[i]);
            s = is_one ? pp_cache_new_segment(r, number[i], fd) : NULL;
            if (fd >= 0 && may_remove && !is_one)
                pp_cache_dir_remove_segment(&r->dir, number[i]);
            if (fd >= 0 && !s)
                close(fd);
        }
        if (s) {
            s->listed = 1;
            renew(r, s);
        }
    }
    free(number);
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++) {
        struct pp_cache_segment *s = &r->segment[i];
        if (s->fd >= 0 && !s->dead && !s->listed)
            pp_cache_retire(r, s, PP_CACHE_EVICTED);
        else if (s->fd >= 0 && !s->dead)
            held += s->size;
    }
    pp_count_set(&pp_cache_counters, PP_CACHE_COUNT_HELD_BYTES, held);
}

/* ---- opening ---- */

pp_status pp_cache_ring_open(const struct pp_cache_opts *o, const char *place, struct pp_cache_ring **out,
                             struct pp_err *err)
{
    struct pp_cache_ring *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open the cache %s", o->dir);
    pp_status st = pp_cache_dir_open(o->dir, &r->dir, err);
    if (st != PP_OK) {
        free(r);
        return st;
    }
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++)
        r->segment[i].fd = -1;
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->storing, NULL);
    pthread_cond_init(&r->landed, NULL);
    r->policy = &pp_cache_policies[o->policy];
    r->bytes = o->bytes;
    /* So many that evicting one costs little, so few that all can be open, and each large enough for a piece
     * of a stream (4 MiB) once the cache is. */
    uint64_t size = o->bytes / 128, least = o->bytes / 8;
    if (least > (uint64_t)16 << 20)
        least = (uint64_t)16 << 20;
    if (size < least)
        size = least;
    r->segment_bytes = size < PP_CACHE_SEGMENT_MOST / 2 ? size : PP_CACHE_SEGMENT_MOST / 2;
    r->place = pp_cache_place(place);
    r->full_epoch = -1;
    pp_cache_begin_counts();
    pp_count_set(&pp_cache_counters, PP_CACHE_COUNT_LIMIT_BYTES, o->bytes);
    if (r->dir.read_only) {
        r->stopped = 1;
        pp_cache_say("the cache %s cannot be written: it is read, and nothing is stored in it", o->dir);
    }
    pp_cache_look_around(r, 0);
    pp_cache_trim(r);
    *out = r;
    return PP_OK;
}

void pp_cache_ring_close(struct pp_cache_ring *r)
{
    if (!r)
        return;
    pp_cache_close_own(r);
    for (size_t i = 0; i < PP_CACHE_SEGMENTS; i++)
        if (r->segment[i].fd >= 0)
            close(r->segment[i].fd);
    free(r->index.slot);
    pp_cache_dir_close(&r->dir);
    pthread_cond_destroy(&r->landed);
    pthread_mutex_destroy(&r->storing);
    pthread_mutex_destroy(&r->lock);
    free(r->rows);
    free(r);
}

/* ---- hits ---- */

static struct pp_cache_slot *stored(struct pp_cache_ring *r, const struct pp_cache_id *id)
{
    struct pp_cache_slot *s = pp_cache_index_find(&r->index, pp_cache_key(id));
    if (!s || !(s->flags & PP_CACHE_STORED))
        return NULL;
    if (!id->version || s->version == id->version)
        return s;
    s->flags &= PP_CACHE_SEEN;
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_CHANGED, 1);
    return NULL;
}

int pp_cache_ring_find(struct pp_cache_ring *r, const struct pp_cache_id *id, uint64_t epoch,
                       struct pp_cache_found *out)
{
    pthread_mutex_lock(&r->lock);
    r->epochs += r->has_epoch && epoch > r->epoch;
    if (!r->has_epoch || epoch > r->epoch)
        r->epoch = epoch;
    r->has_epoch = 1;
    struct pp_cache_slot *s = stored(r, id);
    if (pp_now_ns() - r->looked_ns > (s ? LOOK_AFTER_HIT_NS : LOOK_AFTER_MISS_NS)) {
        pp_cache_look_around(r, 0);
        s = stored(r, id);
    }
    if (s) {
        *out = (struct pp_cache_found){
            .row = {.key = s->key, .version = s->version, .at8 = s->at8, .length = s->length},
            .segment = s->segment,
            .checked = (s->flags & PP_CACHE_CHECKED) != 0};
        r->segment[s->segment].refs++;
    }
    pthread_mutex_unlock(&r->lock);
    return s != NULL;
}

void pp_cache_ring_pass(struct pp_cache_ring *r, const struct pp_cache_found *f)
{
    pthread_mutex_lock(&r->lock);
    pp_cache_unref(&r->segment[f->segment]);
    pthread_mutex_unlock(&r->lock);
}

int pp_cache_ring_take(struct pp_cache_ring *r, const struct pp_cache_found *f, const struct pp_cache_id *id,
                       void *buf, struct pp_io_cached *cached)
{
    struct pp_cache_segment *s = &r->segment[f->segment];
    struct pp_cache_file file = {.fd = s->fd, .seed = r->dir.seed};
    enum pp_cache_got got = pp_cache_read_entry(&file, &f->row, id, buf, cached);
    pthread_mutex_lock(&r->lock);
    if (got == PP_CACHE_GOT) {
        /* With lock held: other processes are told that the segment is of use. */
        struct stat st;
        uint64_t now = pp_now_ns();
        s->used = 1;
        s->epoch = r->epochs;
        if (!s->own && !r->dir.read_only && !(now - s->touched_ns < TOUCH_NS)) {
            s->touched_ns = now;
            if (futimens(s->fd, NULL) == 0 && fstat(s->fd, &st) == 0)
                s->mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
        }
    }
    struct pp_cache_slot *slot = got == PP_CACHE_GOT ? NULL : pp_cache_index_find(&r->index, f->row.key);
    if (slot && (slot->flags & PP_CACHE_STORED) && slot->segment == f->segment && slot->at8 == f->row.at8)
        slot->flags &= PP_CACHE_SEEN;
    pp_cache_unref(s);
    pthread_mutex_unlock(&r->lock);
    if (got == PP_CACHE_DAMAGED)
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_DAMAGED, 1);
    return got == PP_CACHE_GOT;
}

void pp_cache_ring_check(struct pp_cache_ring *r, uint64_t key, uint64_t version)
{
    pthread_mutex_lock(&r->lock);
    struct pp_cache_slot *s = pp_cache_index_find(&r->index, key);
    int there = s && (s->flags & PP_CACHE_STORED);
    if (there && s->version == version) {
        s->flags |= PP_CACHE_CHECKED;
    } else if (there) {
        s->flags &= PP_CACHE_SEEN;
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_CHANGED, 1);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- misses ---- */

int pp_cache_ring_enter(struct pp_cache_ring *r, uint64_t key, struct pp_cache_flight *f)
{
    uint64_t from = 0;
    *f = (struct pp_cache_flight){.key = key};
    pthread_mutex_lock(&r->lock);
    for (const struct pp_cache_flight *other = r->flights; other;) {
        if (other->key != key) {
            other = other->next;
            continue;
        }
        from = from ? from : pp_now_ns();
        r->waiting++;
        pthread_cond_wait(&r->landed, &r->lock);
        r->waiting--;
        other = r->flights;
    }
    if (!from) {
        f->next = r->flights;
        r->flights = f;
    }
    pthread_mutex_unlock(&r->lock);
    if (from) {
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_COALESCED, 1);
        pp_count(&pp_cache_counters, PP_CACHE_COUNT_WAIT_NS, pp_now_ns() - from);
    }
    return from != 0;
}

void pp_cache_ring_leave(struct pp_cache_ring *r, struct pp_cache_flight *f)
{
    pthread_mutex_lock(&r->lock);
    struct pp_cache_flight **at = &r->flights;
    while (*at && *at != f)
        at = &(*at)->next;
    if (*at)
        *at = f->next;
    if (r->waiting)
        pthread_cond_broadcast(&r->landed);
    pthread_mutex_unlock(&r->lock);
}

void pp_cache_ring_count(struct pp_cache_ring *r, uint64_t key, uint64_t length, int hit)
{
    int first = 0, again = 0;
    pthread_mutex_lock(&r->lock);
    struct pp_cache_slot *s = pp_cache_index_put(&r->index, key);
    if (s) {
        first = !(s->flags & PP_CACHE_SEEN);
        again = !hit && (s->flags & PP_CACHE_EVICTED);
        s->flags = (uint16_t)((s->flags | PP_CACHE_SEEN) & ~PP_CACHE_EVICTED);
    }
    pthread_mutex_unlock(&r->lock);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_REQUESTS, 1);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_BYTES, length);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_DATA_BYTES, first ? length : 0);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_COLD, first && !hit);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_AGAIN, again);
    pp_count(&pp_cache_counters, hit ? PP_CACHE_COUNT_HITS : PP_CACHE_COUNT_FETCHED_BYTES, hit ? 1 : length);
    pp_count(&pp_cache_counters, PP_CACHE_COUNT_HIT_BYTES, hit ? length : 0);
}
