#include "collectors/attach/python/record/record.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE_NS \
    50000u /* waits nearer to each other than this are one: no step of a training is so short */

/* ---- the thread that takes ---- */

/* A thread of PyTorch that has had so much from queues and called no backward infers. */
#define INFERS_AFTER 16

void record_loop_put_take(struct record_local *l)
{
    struct record_loop *o = &l->loop;
    if (o->first.stamp && o->got)
        record_loop_took(l, &o->first, &o->last, 1);
    o->first.stamp = 0;
    o->got = 0;
}

int record_loop_wait_begin(struct record_local *l, int certain, struct record_mark *from)
{
    struct record_loop *o = &l->loop;
    if (o->waiting) {
        o->waiting++;
        return 1;
    }
    /* Not its own: a DataLoader's, a sample's, a process that makes for another one. */
    int aside = record_process.has_loader || l->slot >= 0 || l->consumer.taking || l->sample.depth;
    if (aside || (record_process.parent_pid && !l->consumer.trains) || record_role_of(l) != RECORD_TRAINER)
        return 0;
    int takes = !record_process.has_framework &&
                (l->consumer.trains || !record_process.has_backward || o->asked > INFERS_AFTER);
    if ((!certain && !takes) || !record_consumer_open(l))
        return 0;
    o->waiting = 1;
    *from = record_now_delayed(&l->consumer.lane);
    if (!certain && o->first.stamp &&
        (l->consumer.trains ||
         pp_thread_stamps_ns(l->consumer.lane.trace, o->last.stamp, from->stamp) < AT_ONCE_NS))
        return 1;
    record_loop_put_take(l);
    record_put_step(l, from);
    l->consumer.step_from.stamp = 0;
    o->first = *from;
    return 1;
}

void record_loop_wait_end(struct record_local *l, int certain, const struct record_mark *from, int got)
{
    struct record_loop *o = &l->loop;
    if (!o->waiting || --o->waiting) /* 0: a step was in it, and it is none */
        return;
    if (record_process.has_loader || !record_lane_is_open(&l->consumer.lane)) {
        o->first.stamp = 0;
        return;
    }
    o->last = record_now_delayed(&l->consumer.lane);
    o->waits |= got > 0;
    if (!certain) {
        o->got |= got > 0;
        return;
    }
    record_loop_took(l, from, &o->last, got);
    o->first.stamp = 0;
}

/* ---- the thread that loads what it trains on ---- */

/* It has made its batch between *from and *to. Gives the run delay since the pass before, of the time since
 * in which it did not run: the part of these moments. */
static uint64_t loaded_between(const struct record_local *l, const struct pp_reads *r,
                               const struct record_mark *now, struct record_mark *from,
                               struct record_mark *to)
{
    const struct record_lane *lane = &l->consumer.lane;
    uint64_t now_ns = pp_now_ns(), end_ns = r->last_ns;
    if (r->opens > 1 && r->opened_ns > r->first_ns) {
        uint64_t each_ns = (r->opened_ns - r->first_ns) / (r->opens - 1);
        end_ns = r->opened_ns + each_ns > end_ns ? r->opened_ns + each_ns : end_ns;
    }
    end_ns = at_most(end_ns, now_ns);
    double ran = r->last_ns > r->first_ns
                     ? (double)(r->last_cpu_ns - r->first_cpu_ns) / (double)(r->last_ns - r->first_ns)
                     : 0;
    *from = record_ago(lane, now_ns - r->first_ns);
    *to = record_ago(lane, now_ns - end_ns);
    from->cpu_ns = r->first_cpu_ns;
    to->cpu_ns = at_most(r->last_cpu_ns + (uint64_t)(ran * (double)(end_ns - r->last_ns)),
                         pp_thread_cpu_ns());
    const struct record_mark *begin = l->consumer.step_from.stamp ? &l->consumer.step_from : from;
    double idle_ns = (double)pp_thread_stamps_ns(lane->trace, from->stamp, to->stamp) -
                     (double)(to->cpu_ns - from->cpu_ns),
           all_ns = (double)pp_thread_stamps_ns(lane->trace, begin->stamp, now->stamp) -
                    (double)(now->cpu_ns - begin->cpu_ns);
    double delay_ns = lane->delay_ns && now->delay_ns > lane->delay_ns
                          ? (double)(now->delay_ns - lane->delay_ns)
                          : 0;
    double share = all_ns > 0 && idle_ns > 0 ? idle_ns / all_ns : 0;
    return (uint64_t)((share < 1 ? share : 1) * delay_ns);
}

void record_loop_trains(struct record_local *l)
{
    struct record_loop *o = &l->loop;
    if (o->waiting) /* an event loop that the whole training runs in */
        o->waiting = 0;
    else if (record_lane_is_open(&l->consumer.lane))
        record_loop_put_take(l);
    o->first.stamp = 0;
    o->asked = 0;
    struct pp_reads *r = l->sample.reads, was = *r;
    int may = !o->waits && !record_process.has_loader && !record_process.has_framework && l->slot < 0 &&
              !l->consumer.taking && !l->sample.depth && r != &l->sample.own_reads;
    if (o->loads)
        r->counting = 0; /* what is read below is ours */
    if (o->loads && may && was.calls && record_consumer_open(l)) {
        struct record_mark from, to, now = record_now_delayed(&l->consumer.lane);
        uint64_t delay_ns = loaded_between(l, &was, &now, &from, &to);
        from.delay_ns = now.delay_ns > delay_ns ? now.delay_ns - delay_ns : now.delay_ns;
        record_put_step(l, &from);
        l->consumer.step_from.stamp = 0;
        to.delay_ns = now.delay_ns;
        record_loop_took(l, &from, &to, 1);
        record_loaded(l, &from, &to, &was, delay_ns);
    }
    if (o->loads || may)
        *r = (struct pp_reads){.counting = may ? 3 : 0,
                               .at_ns = pp_now_ns(),
                               .at_cpu_ns = pp_thread_cpu_ns()};
    o->loads = may;
}

/* ---- those that make what is taken ---- */

int record_loop_is_made(void)
{
    static const struct pp_process_file *file; /* of the process that started this one, once it has one */
    static int64_t of;
    char path[PATH_MAX + 32];
    struct stat st;
    int64_t parent = record_process.parent_pid; /* 0: this one was started by none */
    if (!record_is_on() || record_process.has_loader)
        return 0;
    if (parent && of != parent) {
        snprintf(path, sizeof(path), "%s/" PP_PROCESS_FILE_PREFIX "%lld", record_process.dir,
                 (long long)parent);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *map = fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(*file)
                        ? mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
        if (fd >= 0)
            close(fd);
        if (map != MAP_FAILED) {
            file = map;
            of = parent;
        }
    }
    return record_process.own_loop ||
           (parent && of == parent && __atomic_load_n(&file->own_loop, __ATOMIC_RELAXED));
}

void record_make_pauses(struct record_local *l, int hands_over)
{
    struct record_worker *w = &l->worker;
    if (!l->loop.making)
        return;
    l->loop.making = l->sample.depth = 0;
    if (!record_lane_is_open(&w->lane))
        return;
    /* Between a put and the wait for the next task nothing was made. */
    uint64_t ns = pp_thread_stamps_ns(w->lane.trace, w->at.stamp, pp_thread_stamp(w->lane.trace));
    if (hands_over || ns >= AT_ONCE_NS)
        record_sample_end(l, PP_NO_SAMPLE, 0, 0);
    else if (l->sample.reads)
        l->sample.reads->counting = 0;
}

/* A pool that is shut down has waited for its other threads. */
static void end_maker(struct record_local *l)
{
    if (!l->loop.making && record_lane_is_open(&l->worker.lane))
        record_put_since(&l->worker.lane, PP_PHASE_DISPATCH_WAIT, &l->worker.at, PP_NO_BATCH, 0);
}

void record_make_goes_on(struct record_local *l, pp_phase phase)
{
    struct record_worker *w = &l->worker;
    int open = record_lane_is_open(&w->lane);
    if (l->loop.making || l->sample.depth || !record_loop_is_made())
        return;
    /* "pool": report/source/lanes.c joins those that follow each other */
    if (!record_lane_open(&w->lane, PP_LANE_WORKER, record_process.parent_pid ? "worker 0" : "pool"))
        return;
    if (open)
        record_put_since(&w->lane, phase, &w->at, PP_NO_BATCH, 0);
    else {
        w->batch = PP_NO_BATCH;
        w->at.cpu_ns = 0; /* there is no moment to go on from */
        l->before_end = l->before_end ? l->before_end : end_maker;
    }
    l->loop.making = l->sample.depth = 1;
    record_sample_begin(l);
}
