/* The thread slots of a session: a thread that registers gets one, with a ring. Slots are claimed in shared
 * memory, because other processes of the session register too.
 *
 * A job whose workers start anew in every epoch may start them for months, and slots are numbered. From
 * PP_THREADS_ONCE on a thread therefore goes on where one of its lane and name has ended: in the same ring
 * file, behind the last record. To the collector it is the same thread, of another process than before. */
#include "probe/base/utf8.h"
#include "probe/trace/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring_name {
    char text[sizeof(((struct pp_ring_file *)0)->name)];
};

/* FNV-1a of lane and name, where PP_SLOT_KIND leaves room for it. */
static uint32_t key_of(uint32_t lane, const char *name)
{
    uint32_t hash = (2166136261u ^ lane) * 16777619u;
    for (size_t i = 0; i < sizeof(struct ring_name) && name[i]; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash & ~PP_SLOT_KIND(UINT32_MAX);
}

/* ---- a slot of its own ---- */

static struct pp_ring_file *make_ring(struct pp_session *s, uint32_t id, pp_lane lane,
                                      const struct ring_name *name)
{
    char path[PATH_MAX + 32];
    void *p = NULL;
    const uint64_t spans = __atomic_load_n(&s->file->ring_spans,
                                           __ATOMIC_RELAXED); /* other processes write there */
    size_t bytes = sizeof(struct pp_ring_file) + spans * sizeof(struct pp_span);
    snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, s->dir, id);
    if (!spans || spans > PP_RING_SPANS_MAX || (spans & (spans - 1)) ||
        pp_session_make_file(path, bytes, &p) != 0)
        return NULL;
    struct pp_ring_file *r = p;
    r->abi = PP_RING_ABI;
    r->file_bytes_header = sizeof(*r);
    r->session_id = s->file->session_id;
    r->capacity = spans;
    r->pid = getpid();
    r->tid = (int64_t)syscall(SYS_gettid);
    r->thread = id;
    r->lane = (uint32_t)lane;
    memcpy(r->name, name->text, sizeof(r->name));
    memcpy(r->magic, PP_RING_MAGIC, sizeof(r->magic));
    s->map[id] = (struct pp_ring_map){.ring = r, .bytes = bytes};
    return r;
}

/* ---- the slot of one that has ended ---- */

/* The newest of its lane and name, so that the times of two threads of one name overlap only where they ran
 * at once. Acquire: pairs with the releases in pp_slot_leave and pp_ring_release. */
static struct pp_ring_file *take_over(struct pp_session *s, pp_lane lane, const struct ring_name *name,
                                      uint32_t *id)
{
    uint32_t key = key_of((uint32_t)lane, name->text);
    uint32_t threads = __atomic_load_n(&s->file->threads, __ATOMIC_ACQUIRE);
    struct pp_ring_file *r = NULL;
    for (uint32_t i = threads < PP_THREADS_MAX ? threads : PP_THREADS_MAX; i-- > PP_THREADS_ONCE && !r;) {
        uint32_t *state = &s->file->thread_state[i], was = __atomic_load_n(state, __ATOMIC_RELAXED);
        if ((was != (key | PP_SLOT_ENDED) && was != (key | PP_SLOT_EMPTY)) ||
            !__atomic_compare_exchange_n(state, &was, PP_SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        /* Of a claimed slot: its ring, mapped in this process, with its blocks reserved again. NULL: it is
         * not what it should be, or there is no room. Where this process has it mapped already, as one that
         * also drains does, the mapping stays. */
        struct pp_ring_map *m = &s->map[i];
        struct stat st;
        char path[PATH_MAX + 32];
        void *p = NULL;
        snprintf(path, sizeof(path), "%s/" PP_RING_FILE_FORMAT, s->dir, i);
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) {
            r = NULL;
        } else {
            int sound = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(*m->ring);
            size_t bytes = sound ? (size_t)st.st_size : 0;
            if (m->ring)
                sound = sound && bytes == m->bytes && pp_session_reserve(fd, bytes) == 0;
            else if (sound && (sound = pp_session_map_file(fd, bytes, &p) == 0) &&
                     pp_ring_believable(s, p, bytes, i))
                *m = (struct pp_ring_map){.ring = p, .bytes = bytes};
            else if (sound)
                pp_session_unmap(p, bytes);
            close(fd);
            r = sound ? m->ring : NULL;
        }
        if (r && !(r->lane == (uint32_t)lane && strncmp(r->name, name->text, sizeof(r->name)) == 0))
            r = NULL;
        *id = i;
        if (!r)
            __atomic_store_n(state, was, __ATOMIC_RELEASE);
    }
    if (!r)
        return NULL;
    __atomic_store_n(&r->pid, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&r->tid, (int64_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    __atomic_store_n(&r->taken_over, r->taken_over + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&r->retired, 0, __ATOMIC_RELEASE);
    return r;
}

void pp_slot_leave(struct pp_session *s, uint32_t id)
{
    const struct pp_ring_file *r = s->map[id].ring;
    if (id >= PP_THREADS_ONCE) /* release: pairs with the acquires in take_over and drain_side.c */
        __atomic_store_n(&s->file->thread_state[id], key_of(r->lane, r->name) | PP_SLOT_ENDED,
                         __ATOMIC_RELEASE);
}

/* ---- registering ---- */

struct pp_thread *pp_thread_register(struct pp_session *s, pp_lane lane, const char *name)
{
    struct ring_name called = {.text = ""};
    struct pp_thread *t = NULL;
    void *p = NULL;
    uint32_t id;
    if (!s)
        return NULL;
    pp_utf8_copy(called.text, sizeof(called.text), name ? name : "");
    pthread_mutex_lock(&s->lock);
    struct pp_ring_file *r = take_over(s, lane, &called, &id);
    if (!r) {
        id = __atomic_load_n(&s->file->threads, __ATOMIC_RELAXED);
        while (id < PP_THREADS_MAX && !__atomic_compare_exchange_n(&s->file->threads, &id, id + 1, 0,
                                                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        }
        r = id < PP_THREADS_MAX ? make_ring(s, id, lane, &called) : NULL;
    }
    if (r && posix_memalign(&p, 64, sizeof(*t)) == 0) {
        t = p;
        *t = (struct pp_thread){
            .ring = r,
            .slots = (struct pp_span *)(void *)(r + 1),
            .mask = (s->map[id].bytes - sizeof(*r)) / sizeof(struct pp_span) - 1,
            .head = r->head,
            .check_at = r->head, /* with the first record it looks how much room there is */
            .recording = 1,
            .tsc = s->file->clock == PP_CLOCK_TSC,
            .resources = (int)s->file->resources,
            .schedstat_fd = -1,
            .id = id,
            .session = s,
            .next = s->handles,
        };
        if (t->resources)
            t->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        s->handles = t;
    }
    if (id < PP_THREADS_MAX) /* release: pairs with the acquire in ring_of, which maps the file */
        __atomic_store_n(&s->file->thread_state[id], t ? PP_SLOT_READY : PP_SLOT_FAILED, __ATOMIC_RELEASE);
    if (!t)
        __atomic_fetch_add(&s->file->unregistered, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&s->lock);
    return t;
}
