#include "collectors/attach/inject/inject.h"

#include "probe/base/clock.h"
#include "probe/trace/join.h"
#include "probe/trace/run_delay.h"

/* ---- CPU time and run-queue delay of a range ---- */

#define WORTH_NS 50000u /* a reading costs up to 0.8 us, two are needed: 3 % of this */
/* As the recorder: less wall time than this beyond CPU time is not worth a look at schedstat */
#define UNEXPLAINED_NS 20000u

/* The clocks are read of ranges that stand for a phase, unless the last of that phase on this thread lasted
 * under 50 us: the process's CPU clock where other threads do the work. Reading it lets the kernel take the
 * CPU away where the time slice is over. What the thread then waits must not be run delay of the range, whose
 * stamps do not hold it: at the beginning (inject_push) the CPU clock is read before the delay, at the end
 * (put_range) behind it. */

/* ---- spans ---- */

/* A payload that is a whole number names the batch; else it is that of the range around. */
static uint32_t batch_of(const struct inject_thread *t, const struct nvtx_attributes *a)
{
    uint32_t otherwise = t && t->depth ? t->stack[t->depth - 1].batch : PP_NO_BATCH;
    double d;
    if (!a)
        return otherwise;
    switch (a->payload_type) {
    case NVTX_PAYLOAD_U64:
    case NVTX_PAYLOAD_I64: /* a negative number is a large unsigned one */
        return a->payload.u64 < PP_NO_BATCH ? (uint32_t)a->payload.u64 : otherwise;
    case NVTX_PAYLOAD_U32:
    case NVTX_PAYLOAD_I32:
        return a->payload.u32 <= INT32_MAX || a->payload_type == NVTX_PAYLOAD_U32 ? a->payload.u32
                                                                                  : otherwise;
    case NVTX_PAYLOAD_DOUBLE:
    case NVTX_PAYLOAD_FLOAT:
        d = a->payload_type == NVTX_PAYLOAD_DOUBLE ? a->payload.d : (double)a->payload.f;
        return d >= 0 && d < PP_NO_BATCH && floor(d) == d ? (uint32_t)d : otherwise;
    default: return otherwise;
    }
}

static void put_range(struct inject_thread *t, const struct open_range *r, uint64_t end, uint16_t flags)
{
    struct pp_span s = {
        .start_ns = r->start,
        .dur_ns = end - r->start,
        .sample = PP_NO_SAMPLE,
        .batch = r->batch,
        .name = r->label.name,
        .phase = r->label.phase,
        .flags = flags,
    };
    if (r->label.phase != PP_PHASE_USER) {
        struct pp_span own = s; /* without what others computed */
        uint64_t now = 0, wall_ns = pp_thread_stamps_ns(t->trace, r->start, end);
        own.phase = PP_PHASE_USER;
        t->accounts.brief[r->label.phase] = wall_ns < WORTH_NS;
        if (r->measured) {
            int delayed = wall_ns > UNEXPLAINED_NS && r->measured & PP_SPAN_HAS_DELAY,
                read = delayed && pp_run_delay_read(t->accounts.delay.fd, &now) && now >= r->run_delay_ns;
            s.cpu_ns = (r->label.of_process ? pp_process_cpu_ns() : pp_thread_cpu_ns()) - r->cpu_ns;
            if (r->label.of_process && s.cpu_ns > wall_ns) /* of several threads: some ran all the time */
                s.cpu_ns = wall_ns;
            s.flags |= r->measured;
            if (read && wall_ns > s.cpu_ns + UNEXPLAINED_NS)
                s.run_delay_ns = now - r->run_delay_ns;
            else if (delayed && !read)
                s.flags &= (uint16_t)~PP_SPAN_HAS_DELAY;
        }
        if (r->label.of_process) {
            inject_put_of_process(&s);
            s = own;
        } else if (r->label.phase != PP_PHASE_COLLECTIVE) { /* which autograd's threads launch as well: it
                                                               says nothing of a thread's place */
            inject_lane(t, pp_phase_info(r->label.phase)->lane);
        }
    }
    pp_span_put_stamped(t->trace, &s);
}

void inject_mark(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return;
    struct label label = inject_label_of(domain, a, text, wide);
    label.phase = PP_PHASE_USER; /* a moment is no part of a phase */
    struct open_range r = {.start = pp_thread_stamp(t->trace), .batch = batch_of(t, a), .label = label};
    put_range(t, &r, r.start, 0);
    inject_leave();
}

/* ---- push and pop: a stack per thread and domain, kept as one stack whose entries name their domain ---- */

static int level_in(const struct inject_thread *t, unsigned domain)
{
    int n = 0;
    for (unsigned i = 0; i < t->depth; i++)
        n += t->stack[i].domain == domain;
    return n;
}

/* A phase inside itself (`decode` around `decode_jpeg`) counts once: the inner range keeps its name alone. */
int inject_push(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return -1;
    struct label label = inject_label_of(domain, a, text, wide);
    int level = level_in(t, domain);
    if (t->depth == INJECT_DEPTH_MAX) {
        t->beyond++;
        INJECT_COUNT(too_deep);
        inject_leave();
        return level;
    }
    if (label.phase != PP_PHASE_USER && t->in_phase[label.phase])
        label.phase = PP_PHASE_USER;
    if (label.phase != PP_PHASE_USER)
        t->in_phase[label.phase]++;
    struct open_range *r = &t->stack[t->depth];
    r->batch = batch_of(t, a);
    r->domain = domain;
    r->label = label;
    r->measured = 0;
    if (label.phase != PP_PHASE_USER && !t->accounts.brief[label.phase]) {
        r->measured = PP_SPAN_HAS_CPU;
        r->cpu_ns = label.of_process ? pp_process_cpu_ns() : pp_thread_cpu_ns();
        if (pp_run_delay_read(t->accounts.delay.fd, &r->run_delay_ns))
            r->measured |= PP_SPAN_HAS_DELAY;
    }
    r->start = pp_thread_stamp(t->trace);
    t->depth++;
    inject_leave();
    return level;
}

int inject_pop(unsigned domain)
{
    struct inject_thread *t = inject_enter();
    if (!t)
        return -1;
    uint64_t now = pp_thread_stamp(t->trace);
    unsigned i = t->beyond ? 0 : t->depth;
    while (i && t->stack[i - 1].domain != domain)
        i--;
    int level = -1; /* popped more than pushed: NVTX answers with a negative level */
    if (i) {
        struct open_range r = t->stack[i - 1];
        memmove(&t->stack[i - 1], &t->stack[i], (t->depth - i) * sizeof(t->stack[0]));
        t->depth--;
        if (r.label.phase != PP_PHASE_USER)
            t->in_phase[r.label.phase]--;
        if (r.start)
            put_range(t, &r, now, 0);
    }
    if (i || t->beyond)
        level = level_in(t, domain);
    t->beyond -= t->beyond > 0;
    inject_leave();
    return level;
}

void inject_unfinished(struct inject_thread *t)
{
    uint64_t now = pp_thread_stamp(t->trace);
    while (t->depth) {
        const struct open_range *r = &t->stack[--t->depth];
        if (r->start)
            put_range(t, r, now, PP_SPAN_UNFINISHED);
    }
    memset(t->in_phase, 0, sizeof(t->in_phase));
}

/* ---- start and end: ids of the process ---- */

enum { SLOT_FREE, SLOT_CLAIMED, SLOT_OPEN };

/* An id is turn * INJECT_OPEN_MAX + slot, turn from 1 on, so that a stale id never ends another range. */
static struct started {
    uint32_t state; /* atomic */
    uint32_t turn;
    uint64_t fork_count;
    uint64_t next_id; /* the next tool's */
    struct open_range range;
} started[INJECT_OPEN_MAX];
static uint32_t search_from; /* atomic; a hint */

uint64_t inject_start(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide,
                      uint64_t next_id)
{
    struct inject_thread *t = inject_enter();
    struct label label = t ? inject_label_of(domain, a, text, wide) : (struct label){.phase = PP_PHASE_USER};
    struct started *s = NULL; /* a free one, claimed */
    uint64_t id = 0;
    uint32_t from = __atomic_fetch_add(&search_from, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < INJECT_OPEN_MAX && !s; i++) {
        struct started *at = &started[(from + i) % INJECT_OPEN_MAX];
        uint32_t is = __atomic_load_n(&at->state, __ATOMIC_RELAXED);
        /* What was started before a fork was the parent's. */
        int stale = is == SLOT_OPEN && at->fork_count != inject_fork_count();
        /* acquire: pairs with the release that freed the slot */
        if ((is == SLOT_FREE || stale) &&
            __atomic_compare_exchange_n(&at->state, &is, SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            s = at;
    }
    if (s) {
        s->turn++;
        s->fork_count = inject_fork_count();
        s->next_id = next_id;
        s->range = (struct open_range){.start = t ? pp_thread_stamp(t->trace) : 0,
                                       .label = label,
                                       .batch = batch_of(t, a)};
        id = (uint64_t)s->turn * INJECT_OPEN_MAX + (uint64_t)(s - started);
        __atomic_store_n(&s->state, SLOT_OPEN, __ATOMIC_RELEASE); /* pairs with the acquire in slot_of */
    } else {
        INJECT_COUNT(too_many);
    }
    if (t)
        inject_leave();
    return id;
}

static struct started *slot_of(uint64_t id)
{
    struct started *s = &started[id % INJECT_OPEN_MAX];
    int open = id && __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) ==
                         SLOT_OPEN; /* pairs with the release in inject_start */
    return open && s->turn == id / INJECT_OPEN_MAX && s->fork_count == inject_fork_count() ? s : NULL;
}

/* The span lies in the ring of the thread that ends the range: no other may write there. */
static void end_started(struct inject_thread *t, struct started *s, uint16_t flags)
{
    uint32_t is = SLOT_OPEN;
    uint64_t now = t ? pp_thread_stamp(t->trace) : 0;
    if (!__atomic_compare_exchange_n(&s->state, &is, SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    struct open_range r = s->range;
    __atomic_store_n(&s->state, SLOT_FREE, __ATOMIC_RELEASE); /* pairs with the acquire in inject_start */
    if (t && r.start)
        put_range(t, &r, now, flags);
}

void inject_end(uint64_t id)
{
    struct inject_thread *t = inject_enter();
    struct started *s = slot_of(id);
    if (s)
        end_started(t, s, 0);
    if (t)
        inject_leave();
}

void inject_unfinished_started(struct inject_thread *t)
{
    for (uint32_t i = 0; i < INJECT_OPEN_MAX; i++)
        if (started[i].fork_count == inject_fork_count())
            end_started(t, &started[i], PP_SPAN_UNFINISHED);
}

uint64_t inject_next_id(uint64_t id)
{
    struct started *s = slot_of(id);
    return s ? s->next_id : 0;
}
