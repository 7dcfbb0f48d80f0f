#include "collectors/attach/python/record.h"

#include "probe/base/clock.h"
#include "probe/trace/join.h"
#include "probe/trace/run_delay.h"

#include <stdio.h>

/* As the recorder: less wall time beyond CPU time is not worth a look at schedstat */
#define UNEXPLAINED_NS 20000u
#define WORTH_CPU_NS 50000u  /* a sample shorter than this does not pay for two CPU clocks (0.5 us) */
#define SAMPLE_COST_NS 300.0 /* what recording one sample costs (docs/results/performance.md) */
#define COST_SHARE 0.0025    /* of a sample's time, that it may cost */
#define EVERY_MAX 1000u

/* ---- one span ---- */

struct record_mark record_now(const struct record_lane *lane, int with_cpu)
{
    struct record_mark m = {.stamp = pp_thread_stamp(lane->trace)};
    if (with_cpu)
        m.cpu_ns = pp_thread_cpu_ns();
    return m;
}

struct record_mark record_now_delayed(const struct record_lane *lane)
{
    struct record_mark m = record_now(lane, 1);
    if (!pp_run_delay_read(lane->accounts.fd, &m.delay_ns))
        m.delay_ns = 0;
    return m;
}

/* Run delay since the last look, when the wall time beyond the CPU time is worth one. known: that of now, if
 * it has been read. */
static int run_delay(struct record_lane *lane, uint64_t wall_ns, uint64_t cpu_ns, uint64_t known,
                     uint64_t *out)
{
    uint64_t now = known;
    *out = 0;
    if (!known && wall_ns <= cpu_ns + UNEXPLAINED_NS)
        return 1;
    if (!known && !pp_run_delay_read(lane->accounts.fd, &now))
        return 0;
    if (lane->delay_ns && now > lane->delay_ns)
        *out = now - lane->delay_ns;
    lane->delay_ns = now > lane->delay_ns ? now : lane->delay_ns;
    return 1;
}

struct pp_span record_span(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                           const struct record_mark *to, const struct record_about *about)
{
    struct pp_span s = {.start_ns = from->stamp,
                        .dur_ns = to->stamp - from->stamp,
                        .sample = about->sample,
                        .bytes = about->bytes,
                        .batch = about->batch,
                        .epoch = about->epoch,
                        .flags = about->flags,
                        .phase = (uint8_t)phase};
    if (from->cpu_ns && to->cpu_ns) {
        s.cpu_ns = to->cpu_ns - from->cpu_ns;
        s.flags |= PP_SPAN_HAS_CPU;
        if (run_delay(lane, pp_thread_stamps_ns(lane->trace, from->stamp, to->stamp), s.cpu_ns, to->delay_ns,
                      &s.run_delay_ns))
            s.flags |= PP_SPAN_HAS_DELAY;
    }
    return s;
}

void record_put(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                const struct record_mark *to, const struct record_about *about)
{
    struct pp_span s = record_span(lane, phase, from, to, about);
    pp_span_put_stamped(lane->trace, &s);
}

/* ---- a worker ---- */

/* With the first task of an iteration: by then the loader has said what its workers' seed is. */
static void find_iteration(struct record_local *l)
{
    if (l->found)
        return;
    l->found = 1;
    l->row = record_iteration_find(l->parent_pid, l->base_seed, l->round);
    l->found = l->row || !l->late;
    if (!l->row && !l->late)
        record_note("a worker did not find its iteration: its batches have no numbers");
    l->first_batch = l->row ? l->row->first_batch : PP_NO_BATCH;
    l->epoch = (uint16_t)(l->row ? l->row->epoch : 0);
}

void record_worker_begin(struct record_local *l, int worker, int64_t parent_pid, uint64_t base_seed)
{
    char name[32];
    l->slot = worker;
    l->base_seed = base_seed;
    l->round = 0;
    snprintf(name, sizeof(name), "worker %d", worker);
    if (!record_lane_open(&l->worker, PP_LANE_WORKER, name))
        return;
    l->parent_pid = parent_pid;
    l->found = 0;
    l->batch = PP_NO_BATCH;
    l->at = record_now(&l->worker, 1);
}

void record_worker_resume(struct record_local *l)
{
    l->round++;
    l->found = 0;
    l->batch = PP_NO_BATCH;
}

void record_worker_end(struct record_local *l)
{
    record_lane_close(&l->worker);
}

/* A batch is detailed when that costs little beside its samples, else every so many are. */
static void choose_detail(struct record_local *l)
{
    double every = l->sample_ns > 0 ? SAMPLE_COST_NS / (COST_SHARE * l->sample_ns) : 1;
    l->every = every <= 1 ? 1 : every > EVERY_MAX ? EVERY_MAX : (uint32_t)every + 1;
    l->detailed = l->batches_seen++ % l->every == 0 || l->prints;
}

void record_batch_begin(struct record_local *l, uint64_t index, uint64_t samples)
{
    struct record_mark now = record_now(&l->worker, 1);
    find_iteration(l);
    l->batch = l->first_batch == PP_NO_BATCH ? PP_NO_BATCH : l->first_batch + (uint32_t)index;
    record_put(&l->worker, PP_PHASE_DISPATCH_WAIT, &l->at, &now,
               &(struct record_about){.sample = PP_NO_SAMPLE, .batch = l->batch, .epoch = l->epoch});
    l->at = now;
    choose_detail(l);
    l->batch_samples = samples;
    l->in_batch = 1;
}

void record_batch_begin_here(struct record_local *l, const struct record_mark *now, uint64_t samples)
{
    choose_detail(l);
    l->batch_samples = samples;
    l->at = *now;
}

/* The samples of a batch that was not detailed, as one span that says how many they were. */
static void put_undetailed(struct record_local *l, const struct record_mark *until)
{
    if (l->detailed)
        return;
    struct record_about about = {.sample = l->batch_samples,
                                 .batch = l->batch,
                                 .epoch = l->epoch,
                                 .flags = PP_SPAN_COUNT};
    record_put(&l->worker, PP_PHASE_TRANSFORM, &l->at, until, &about);
    l->at = *until;
}

/* A stream that ends in a batch: fewer samples than were asked for. */
static void came_short(struct record_local *l, uint64_t samples)
{
    if (l->slot >= 0 && l->row)
        record_short_add(l->row, l->batch - l->first_batch, samples);
    else if (l->taken)
        l->taken->length[l->taken->taken % RECORD_LENGTHS] = (uint32_t)samples;
    l->batch_samples = samples;
}

void record_collate(struct record_local *l, const struct record_mark *from, uint64_t samples, int failed)
{
    struct record_mark now = record_now(&l->worker, 1);
    if (samples && samples < l->batch_samples)
        came_short(l, samples);
    put_undetailed(l, from);
    record_put(&l->worker, PP_PHASE_COLLATE, from, &now,
               &(struct record_about){.sample = PP_NO_SAMPLE,
                                      .batch = l->batch,
                                      .epoch = l->epoch,
                                      .flags = failed ? PP_SPAN_ERROR : 0});
    l->at = now;
}

void record_batch_put(struct record_local *l, const struct record_mark *from)
{
    if (!l->in_batch) /* the worker's answer to being told to begin anew */
        return;
    l->in_batch = 0;
    struct record_mark now = record_now(&l->worker, 1);
    record_put(&l->worker, PP_PHASE_PUT_WAIT, from, &now,
               &(struct record_about){.sample = PP_NO_SAMPLE, .batch = l->batch, .epoch = l->epoch});
    l->at = now;
}

/* ---- a sample ---- */

void record_sample_begin(struct record_local *l)
{
    l->decode_stamps = l->decode_cpu_ns = l->decode_pixels = 0;
    l->decoded = NULL;
    l->decode_read = (struct pp_reads){0};
    l->timing = 0;
    if (l->slot < 0 || !l->worth_cpu || !l->at.cpu_ns)
        l->at = record_now(&l->worker, l->worth_cpu);
    if (l->reads)
        *l->reads = (struct pp_reads){.counting = l->worth_cpu ? 2 : 1,
                                      .at_ns = pp_now_ns(),
                                      .at_cpu_ns = l->at.cpu_ns};
}

/* A part of a sample: its length, and how much of it the thread ran. */
struct part {
    pp_phase phase;
    uint64_t stamps, wall_ns, cpu_ns, bytes;
};

/* What of it is not CPU time. */
static uint64_t idle_ns(const struct part *p)
{
    return p->wall_ns > p->cpu_ns ? p->wall_ns - p->cpu_ns : 0;
}

/* The run delay of a sample is read once, at its end; its parts have it by the time in which they did not
 * run. */
static void put_parts(struct record_local *l, const struct part *part, size_t n, struct record_about about)
{
    struct record_lane *lane = &l->worker;
    uint64_t at = l->at.stamp, wall_ns = 0, cpu_ns = 0, idle = 0, delay = 0;
    for (size_t i = 0; i < n; i++) {
        wall_ns += part[i].wall_ns;
        cpu_ns += part[i].cpu_ns;
        idle += idle_ns(&part[i]);
    }
    int has_delay = l->at.cpu_ns && run_delay(lane, wall_ns, cpu_ns, 0, &delay);
    double share = idle ? (double)delay / (double)idle : 0;
    for (size_t i = 0; i < n; i++) {
        struct pp_span s = {.start_ns = at,
                            .dur_ns = part[i].stamps,
                            .sample = about.sample,
                            .bytes = part[i].bytes,
                            .batch = about.batch,
                            .epoch = about.epoch,
                            .flags = about.flags,
                            .phase = (uint8_t)part[i].phase};
        if (l->at.cpu_ns) {
            s.cpu_ns = part[i].cpu_ns;
            s.run_delay_ns = (uint64_t)((share < 1 ? share : 1) * (double)idle_ns(&part[i]));
            s.flags |= (uint16_t)(PP_SPAN_HAS_CPU | (has_delay ? PP_SPAN_HAS_DELAY : 0));
        }
        pp_span_put_stamped(lane->trace, &s);
        at += part[i].stamps;
    }
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The parts were added up while the sample was in work, in no order; they are laid end to end over its time.
 */
void record_sample_end(struct record_local *l, uint64_t sample, int many, int failed)
{
    const struct pp_reads none = {0}, *r = l->reads ? l->reads : &none;
    struct record_mark now = record_now(&l->worker, l->worth_cpu);
    struct record_about about = {.sample = sample,
                                 .batch = l->batch,
                                 .epoch = l->epoch,
                                 .flags = (uint16_t)((failed ? PP_SPAN_ERROR : 0) |
                                                     (many ? PP_SPAN_COUNT : 0))};
    struct part part[3];
    size_t n = 0;
    if (l->reads)
        l->reads->counting = 0;
    if (!now.cpu_ns)
        l->at.cpu_ns = 0;
    struct part rest = {.phase = PP_PHASE_TRANSFORM,
                        .stamps = now.stamp - l->at.stamp,
                        .wall_ns = pp_thread_stamps_ns(l->worker.trace, l->at.stamp, now.stamp),
                        .cpu_ns = now.cpu_ns - l->at.cpu_ns};
    uint64_t wall_ns = rest.wall_ns;
    double stamps_per_ns = wall_ns ? (double)rest.stamps / (double)wall_ns : 1;
    struct part read = {.phase = PP_PHASE_READ, .wall_ns = r->ns, .cpu_ns = r->cpu_ns, .bytes = r->bytes};
    struct part decode = {.phase = PP_PHASE_DECODE,
                          .wall_ns = less(pp_thread_stamps_ns(l->worker.trace, 0, l->decode_stamps),
                                          l->decode_read.ns),
                          .cpu_ns = less(l->decode_cpu_ns, l->decode_read.cpu_ns),
                          .bytes = 3 * l->decode_pixels};
    struct part *const told[] = {r->calls ? &read : NULL, l->decode_stamps ? &decode : NULL};
    for (size_t i = 0; i < 2; i++) {
        struct part *p = told[i];
        if (!p)
            continue;
        p->wall_ns = at_most(p->wall_ns, rest.wall_ns);
        p->stamps = at_most((uint64_t)((double)p->wall_ns * stamps_per_ns), rest.stamps);
        p->cpu_ns = at_most(p->cpu_ns, rest.cpu_ns);
        rest.stamps -= p->stamps;
        rest.wall_ns -= p->wall_ns;
        rest.cpu_ns -= p->cpu_ns;
        part[n++] = *p;
    }
    part[n++] = rest;
    put_parts(l, part, n, about);
    double each_ns = (double)wall_ns / (double)(many && sample ? sample : 1);
    l->sample_ns = l->sample_ns > 0 ? 0.9 * l->sample_ns + 0.1 * each_ns : each_ns;
    l->worth_cpu = wall_ns >= WORTH_CPU_NS;
    l->at = now;
}

/* ---- the thread that takes the batches ---- */

void record_workers_started(struct record_iteration *it)
{
    struct record_local *l = it->made.stamp && it->session == record_session() ? record_local() : NULL;
    struct record_about first = {.sample = PP_NO_SAMPLE,
                                 .batch = it->first_batch,
                                 .epoch = (uint16_t)it->epoch};
    if (!l || l != it->made_by || l->taking || !record_taker_is_open(l))
        return;
    struct record_mark now = record_now_delayed(&l->trainer);
    if (l->step_from.stamp && it->made.stamp > l->step_from.stamp)
        record_taker_put(l, PP_PHASE_STEP, &l->step_from, &it->made, &l->step);
    record_taker_put(l, PP_PHASE_STARTUP, &it->made, &now, &first);
    l->step_from.stamp = it->made.stamp = 0;
}

void record_take_begin(struct record_local *l, struct record_iteration *it, struct record_mark *from)
{
    *from = record_now(&l->trainer, 1);
    if (l->step_from.stamp)
        record_taker_put(l, PP_PHASE_STEP, &l->step_from, from, &l->step);
    l->step_from.stamp = l->taker.get_from.stamp = 0;
    l->unpickle_stamps = l->unpickle_tensors = 0;
    /* A loader without workers makes the batch in this thread. */
    l->taken = it;
    l->first_batch = it->first_batch;
    l->batch = it->first_batch + it->taken;
    l->epoch = (uint16_t)it->epoch;
}

void record_depth(struct record_local *l, uint64_t batches)
{
    if (l->taker.role != RECORD_PREFETCHES)
        record_count(&l->trainer, "queue_ready_batches", batches);
}

/* Of the batch that was just taken: as its index said, or by the loader's arguments, where the last one of an
 * epoch may be short. */
static uint64_t samples_of(const struct record_iteration *it)
{
    uint64_t before = (it->batches - 1) * it->batch_size;
    uint32_t ago = it->sent - it->given;
    uint64_t came = record_short_find(it, it->given);
    if (came)
        return came;
    if (ago && ago <= RECORD_LENGTHS && it->length[it->given % RECORD_LENGTHS])
        return it->length[it->given % RECORD_LENGTHS];
    return it->batches && it->taken == it->batches && it->samples > before &&
                   it->samples < before + it->batch_size
               ? it->samples - before
               : it->batch_size;
}

void record_unpickled(struct record_local *l, const struct record_mark *from, uint64_t tensors)
{
    l->unpickle_tensors += tensors;
    l->unpickle_stamps += record_now(&l->trainer, 0).stamp - from->stamp;
}

void record_take_end(struct record_local *l, struct record_iteration *it, const struct record_mark *from,
                     int got)
{
    struct record_mark now = record_now(&l->trainer, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH, .epoch = (uint16_t)it->epoch};
    if (got > 0) {
        uint64_t samples;
        it->taken++;
        l->taker.ended = 0;
        about.batch = it->first_batch + it->given;
        samples = samples_of(it);
        if (samples) {
            about.sample = samples;
            about.flags = PP_SPAN_COUNT;
        }
        l->step_from = now;
        l->step = about;
        record_holds(l, &about);
    } else if (got == 0) {
        it->ended = 1;
        l->taker.ended = 1;
    } else {
        about.flags = PP_SPAN_ERROR;
    }
    record_taker_put(l, got ? PP_PHASE_DATA_WAIT : PP_PHASE_EPOCH_BOUNDARY, from, &now, &about);
    if (got <= 0)
        return;
    record_gpu_batch(l, about.batch);
    if (l->taker.role == RECORD_PREFETCHES)
        return;
    record_loader_waited(it, pp_thread_stamps_ns(l->trainer.trace, from->stamp, now.stamp));
    if (!l->unpickle_stamps)
        return;
    record_count(&l->trainer, "unpickle_ns",
                 pp_thread_stamps_ns(l->trainer.trace, now.stamp - l->unpickle_stamps, now.stamp));
    if (l->unpickle_tensors)
        record_count(&l->trainer, "unpickle_tensors", l->unpickle_tensors);
}

/* ---- within a step: checkpoints, and waits for other ranks ---- */

/* From from until now the thread was in phase; the step, if one is running, was interrupted by it. */
static void interrupted(struct record_local *l, const struct record_mark *from, pp_phase phase, int failed)
{
    struct record_mark now = record_now(&l->trainer, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE,
                                 .batch = l->step_from.stamp ? l->step.batch : PP_NO_BATCH,
                                 .epoch = l->step.epoch,
                                 .flags = failed ? PP_SPAN_ERROR : 0};
    record_taker_put(l, phase, from, &now, &about);
    if (!l->step_from.stamp)
        return;
    l->step_from = now; /* the rest of the step; its samples have been counted */
    l->step.sample = PP_NO_SAMPLE;
    l->step.flags = 0;
}

void record_save_begin(struct record_local *l, struct record_mark *from)
{
    *from = record_now(&l->trainer, 1);
    if (l->step_from.stamp)
        record_taker_put(l, PP_PHASE_STEP, &l->step_from, from, &l->step);
}

void record_save_end(struct record_local *l, const struct record_mark *from, int failed)
{
    interrupted(l, from, PP_PHASE_CHECKPOINT, failed);
}

void record_waited(struct record_local *l, const struct record_mark *from, int failed)
{
    if (from->stamp <= l->step_from.stamp)
        return;
    record_taker_put(l, PP_PHASE_STEP, &l->step_from, from, &l->step);
    interrupted(l, from, PP_PHASE_COLLECTIVE, failed);
}

/* ---- the thread that pins memory ---- */

void record_pin_begin(struct record_local *l)
{
    l->first_batch = PP_NO_BATCH;
    if (record_lane_open(&l->copy, PP_LANE_COPY, "pin memory"))
        l->copy_at = record_now(&l->copy, 1);
}

static struct record_about about_batch(const struct record_local *l)
{
    return (struct record_about){.sample = PP_NO_SAMPLE, .batch = l->batch, .epoch = l->epoch};
}

void record_pin_got(struct record_local *l, uint32_t batch)
{
    struct record_mark now = record_now(&l->copy, 1);
    l->batch = batch;
    l->in_batch = 1;
    struct record_about about = about_batch(l);
    record_put(&l->copy, PP_PHASE_GET_WAIT, &l->copy_at, &now, &about);
    l->copy_at = now;
}

/* The put may be tried again while the queue is full: its wait began at the first one. */
void record_pinned(struct record_local *l)
{
    if (l->in_batch != 1)
        return;
    struct record_mark now = record_now(&l->copy, 1);
    struct record_about about = about_batch(l);
    record_put(&l->copy, PP_PHASE_PIN, &l->copy_at, &now, &about);
    l->copy_at = now;
    l->in_batch = 2;
}

void record_pin_put(struct record_local *l)
{
    if (l->in_batch != 2)
        return;
    struct record_mark now = record_now(&l->copy, 1);
    struct record_about about = about_batch(l);
    record_put(&l->copy, PP_PHASE_PUT_WAIT, &l->copy_at, &now, &about);
    l->copy_at = now;
    l->in_batch = 0;
}
