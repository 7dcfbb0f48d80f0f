#include "probe/trace/drain_side.h"

#include "probe/base/guard.h"
#include "probe/trace/session.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Records that reading asks for beforehand: a page of them, for the processor's own reading ahead ends with
 * the page. */
#define AHEAD 64u

uint32_t pp_session_threads(const struct pp_session *s)
{
    if (!s)
        return 0;
    /* Threads that were seen once stay, whatever becomes of the file. */
    uint32_t *seen = &((struct pp_session *)s)->seen_threads, now;
    now = __atomic_load_n(&s->file->threads, __ATOMIC_ACQUIRE);
    if (now <= PP_THREADS_MAX && now > __atomic_load_n(seen, __ATOMIC_RELAXED))
        __atomic_store_n(seen, now, __ATOMIC_RELAXED);
    return __atomic_load_n(seen, __ATOMIC_RELAXED);
}

uint64_t pp_session_unregistered(const struct pp_session *s)
{
    return s ? __atomic_load_n(&s->file->unregistered, __ATOMIC_RELAXED) : 0;
}

struct pp_session_facts pp_session_facts(const struct pp_session *s)
{
    struct pp_session_facts facts = {.id = s->file->session_id,
                                     .owner_pid = s->file->owner_pid,
                                     .created_ns = s->file->created_ns};
    for (int i = 0; i < PP_STATED; i++) /* pairs with the exchange in pp_session_state_loader */
        facts.stated[i] = __atomic_load_n(&s->file->stated[i], __ATOMIC_RELAXED);
    return facts;
}

const char *pp_session_name(const struct pp_session *s, uint16_t name, char out[PP_NAME_BYTES])
{
    out[0] = '\0';
    if (!s || name >= PP_NAMES_MAX)
        return NULL;
    const struct pp_name_slot *slot = &s->file->name[name];
    if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != PP_SLOT_READY)
        return NULL;
    memcpy(out, slot->text, PP_NAME_BYTES);
    out[PP_NAME_BYTES - 1] = '\0';
    return out;
}

/* The ring of a thread, mapped on first sight when another process made it; NULL while it is being made or
 * when it could not be. The entry never moves once set, so the caller may use it unlocked. */
static struct pp_ring_map *ring_of(struct pp_session *s, uint32_t thread)
{
    char path[PATH_MAX + 32];
    struct stat st;
    int fd = -1;
    if (!s || thread >= PP_THREADS_MAX)
        return NULL;
    pthread_mutex_lock(&s->lock);
    struct pp_ring_map *m = &s->map[thread];
    uint32_t kind = m->ring ? 0
                            : PP_SLOT_KIND(__atomic_load_n(&s->file->thread_state[thread], __ATOMIC_ACQUIRE));
    if (!m->ring && (kind == PP_SLOT_READY || kind == PP_SLOT_ENDED || kind == PP_SLOT_EMPTY)) {
        snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, s->dir, thread);
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(struct pp_ring_file)) {
        size_t bytes = (size_t)st.st_size;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED)
            pp_guard_add(p, bytes);
        if (p != MAP_FAILED && pp_ring_believable(s, p, bytes, thread))
            *m = (struct pp_ring_map){.ring = p, .bytes = bytes};
        else if (p != MAP_FAILED)
            pp_session_unmap(p, bytes);
    }
    if (fd >= 0)
        close(fd);
    m = m->ring ? m : NULL;
    pthread_mutex_unlock(&s->lock);
    return m;
}

void pp_session_ring_info(const struct pp_session *s, uint32_t thread, struct pp_ring_info *out)
{
    *out = (struct pp_ring_info){.thread = thread};
    struct pp_ring_map *m = ring_of((struct pp_session *)s, thread);
    if (!m)
        return;
    const struct pp_ring_file *r = m->ring;
    out->lane = (pp_lane)r->lane;
    snprintf(out->name, sizeof(out->name), "%.31s", r->name);
    out->pid = __atomic_load_n(&r->pid, __ATOMIC_RELAXED); /* another thread's, when that takes over */
    out->tid = __atomic_load_n(&r->tid, __ATOMIC_RELAXED);
    out->taken_over = __atomic_load_n(&r->taken_over, __ATOMIC_RELAXED);
    out->retired = (int)__atomic_load_n(&r->retired, __ATOMIC_ACQUIRE);
    out->recorded = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
    out->read = m->handed_out;
    out->dropped = __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);
}

static void to_spans(struct pp_clock_reader *clock, const struct pp_span *restrict from,
                     struct pp_span *restrict to, size_t n)
{
    struct pp_clock_reader c = *clock; /* in registers */
    for (const struct pp_span *stop = from + n; from < stop; from++, to++) {
        __builtin_prefetch(from + AHEAD); /* beyond the ring's end there is nothing to be had, and no harm */
        pp_ring_record_to_span(&c, from, to);
    }
    *clock = c;
}

/* Of the mapping: what the file says may be gone with the file. */
static uint64_t capacity_of(const struct pp_ring_map *m)
{
    return (m->bytes - sizeof(struct pp_ring_file)) / sizeof(struct pp_span);
}

struct pp_ring_reader pp_ring_reader(struct pp_session *s, uint32_t thread)
{
    struct pp_ring_reader r = {.map = ring_of(s, thread)};
    if (!r.map)
        return r;
    r.left = __atomic_load_n(&r.map->ring->head, __ATOMIC_ACQUIRE) -
             r.map->handed_out;      /* pairs with the release in record_publish */
    if (r.left > capacity_of(r.map)) /* the file was cut: there is nothing in it any more */
        r.left = 0;
    pp_session_anchor(s);
    r.clock = pp_clock_reader(s->file);
    return r;
}

size_t pp_ring_read(struct pp_ring_reader *r, struct pp_span *out, size_t max)
{
    size_t n = r->left < max ? (size_t)r->left : max;
    if (!n)
        return 0;
    const struct pp_ring_file *ring = r->map->ring;
    const struct pp_span *slots = (const struct pp_span *)(const void *)(ring + 1);
    const uint64_t capacity = capacity_of(r->map);
    for (size_t done = 0, run; done < n;
         done += run) { /* at most two runs: up to the ring's end, and from its start */
        uint64_t at = (r->map->handed_out + done) & (capacity - 1);
        run = capacity - at < n - done ? (size_t)(capacity - at) : n - done;
        to_spans(&r->clock, slots + at, out + done, run);
    }
    if (pp_guard_was_cut(ring)) { /* zeros were read for spans */
        r->left = 0;
        return 0;
    }
    r->map->handed_out += n;
    r->left -= n;
    return n;
}

void pp_ring_release(struct pp_session *s, uint32_t thread)
{
    struct pp_ring_map *m = ring_of(s, thread);
    if (!m)
        return;
    __atomic_store_n(&m->ring->tail, m->handed_out,
                     __ATOMIC_RELEASE); /* pairs with the acquire in look_for_room */
    /* The records of a ring whose thread has retired and whose spans are stored are of no more use, and where
     * no thread takes over nor is its name, for a job may start workers for days. Their pages go, on disk and
     * in memory; where the file system cannot do that they stay until the session ends. Its header stays
     * mapped here. */
    char path[PATH_MAX + 32], *records = (char *)m->ring + sizeof(*m->ring);
    size_t bytes = m->bytes - sizeof(*m->ring);
    if (m->emptied || !__atomic_load_n(&m->ring->retired, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&m->ring->head, __ATOMIC_ACQUIRE) != m->handed_out)
        return;
    if (thread >= PP_THREADS_ONCE) {
        /* Of a slot that may be taken over: claimed while its pages go, for they would go from under the
         * records of a newcomer. It can have been taken over and left again since it was read. */
        uint32_t *state = &s->file->thread_state[thread], was = __atomic_load_n(state, __ATOMIC_RELAXED);
        if (PP_SLOT_KIND(was) == PP_SLOT_ENDED &&
            __atomic_compare_exchange_n(state, &was, PP_SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            if (__atomic_load_n(&m->ring->head, __ATOMIC_ACQUIRE) == m->handed_out) {
                madvise(records, bytes, MADV_REMOVE);
                was = (was & ~PP_SLOT_KIND(UINT32_MAX)) | PP_SLOT_EMPTY;
            }
            __atomic_store_n(state, was, __ATOMIC_RELEASE); /* pairs with the acquire in take_over */
        }
        return;
    }
    m->emptied = 1;
    madvise(records, bytes, MADV_REMOVE);
    snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, s->dir, thread);
    if (!pp_session_is_anothers(s->dir, s->lock_fd))
        unlink(path);
}

int pp_ring_is_over(struct pp_session *s, uint32_t thread)
{
    struct pp_ring_map *m = ring_of(s, thread);
    return m && __atomic_load_n(&m->ring->retired, __ATOMIC_ACQUIRE) &&
           (thread < PP_THREADS_ONCE ||
            PP_SLOT_KIND(__atomic_load_n(&s->file->thread_state[thread], __ATOMIC_ACQUIRE)) == PP_SLOT_EMPTY);
}

size_t pp_ring_unfinished(struct pp_session *s, uint32_t thread, uint64_t end_ns, struct pp_span *out,
                          size_t max)
{
    struct pp_span open[PP_OPEN_SPANS_MAX];
    struct pp_ring_map *m = ring_of(s, thread);
    if (!m ||
        !__atomic_load_n(&m->ring->open, __ATOMIC_ACQUIRE)) /* pairs with the release in record_set_open */
        return 0;
    struct pp_clock_reader clock = pp_clock_reader(s->file);
    size_t n = pp_ring_open_spans(m->ring, &clock, end_ns, open);
    n = n < max ? n : max;
    memcpy(out, open, n * sizeof(*out));
    return n;
}

/* The producer writes the slot without asking who reads it: it is copied between two looks at head and open,
 * and taken when neither moved. Each field is whole by itself; a lap that was skipped moves neither, and may
 * leave the fields of two neighbours. Not for the race detector, which cannot know. */
__attribute__((no_sanitize("thread"))) static int copy_open(const struct pp_ring_file *r,
                                                            struct pp_open_span *out)
{
    for (int tries = 0; tries < 3; tries++) {
        uint64_t head = __atomic_load_n(&r->head,
                                        __ATOMIC_ACQUIRE); /* pairs with the release in record_publish */
        uint32_t open = __atomic_load_n(&r->open,
                                        __ATOMIC_ACQUIRE); /* pairs with the release in record_set_open */
        if (open == 0 || open > PP_OPEN_SPANS_MAX)
            return 0;
        const struct pp_open_span *o = &r->opened[open - 1];
        out->start = o->start, out->sample = o->sample, out->ends_at = o->ends_at, out->batch = o->batch,
        out->epoch = o->epoch;
        out->name = o->name, out->flags = o->flags, out->phase = o->phase, out->stamp = o->stamp;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&r->head, __ATOMIC_RELAXED) == head &&
            __atomic_load_n(&r->open, __ATOMIC_RELAXED) == open)
            return !(out->ends_at && head >= out->ends_at);
    }
    return 0;
}

int pp_ring_open_now(struct pp_session *s, uint32_t thread, uint64_t now_ns, struct pp_span *out)
{
    struct pp_ring_map *m = ring_of(s, thread);
    struct pp_open_span o;
    if (!m || !copy_open(m->ring, &o))
        return 0;
    struct pp_clock_reader clock = pp_clock_reader(s->file);
    uint64_t start = o.stamp == PP_STAMP_TICKS ? pp_clock_read(&clock, o.start) : o.start;
    *out = (struct pp_span){
        .start_ns = start,
        .dur_ns = now_ns > start ? now_ns - start : 0,
        .sample = o.sample,
        .batch = o.batch,
        .epoch = o.epoch,
        .name = o.name,
        .phase = o.phase,
        .flags = (uint16_t)(o.flags | PP_SPAN_UNFINISHED),
    };
    return 1;
}

double pp_session_fill(const struct pp_session *s)
{
    double fullest = 0;
    uint32_t n = pp_session_threads(s);
    for (uint32_t i = 0; i < n; i++) {
        struct pp_ring_map *m = ring_of((struct pp_session *)s, i);
        if (!m)
            continue;
        /* head may run ahead between the two loads, tail cannot: the drain is its only writer */
        uint64_t tail = __atomic_load_n(&m->ring->tail, __ATOMIC_RELAXED);
        uint64_t held = __atomic_load_n(&m->ring->head, __ATOMIC_RELAXED) - tail;
        double fill = (double)held / (double)capacity_of(m);
        if (held <= capacity_of(m) && fill > fullest) /* more is damage, and nothing to hurry for */
            fullest = fill;
    }
    return fullest;
}

void pp_session_anchor(struct pp_session *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->owner)
        pp_stamp_anchor(s->file, &s->sync);
    pthread_mutex_unlock(&s->lock);
}

int pp_session_wait(struct pp_session *s, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                          .tv_nsec = (long)(timeout_ns % 1000000000u)};
    if (__atomic_load_n(&s->file->wake, __ATOMIC_ACQUIRE) == 0)
        syscall(SYS_futex, &s->file->wake, FUTEX_WAIT, 0, &ts, NULL, 0);
    return (int)__atomic_exchange_n(&s->file->wake, 0,
                                    __ATOMIC_ACQUIRE); /* pairs with the release in pp_session_wake */
}
