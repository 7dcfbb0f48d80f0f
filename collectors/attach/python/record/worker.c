#include "collectors/attach/python/record/record.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORTH_CPU_NS 50000u      /* a sample shorter than this does not pay for two CPU clocks (0.5 us) */
#define WORTH_HELPERS_NS 500000u /* nor one shorter than this for four more (2 us), of threads beside it */
#define SAMPLE_COST_NS 300.0     /* what recording one sample costs (docs/results/performance.md) */
#define COST_SHARE 0.0025        /* of a sample's time, that it may cost */
#define EVERY_MAX 1000u
#define RINGS_LOOKED_FOR 4   /* at this batch of a worker: by then it has its clients */
#define RINGS_LOOKED_AT 4096 /* descriptors */

/* ---- a batch ---- */

struct record_local *record_worker_here(void)
{
    struct record_local *l = record_here();
    if (l && l->slot < 0 && !record_lane_open(&l->worker.lane, PP_LANE_WORKER, "worker 0"))
        return NULL;
    return l && l->worker.lane.trace ? l : NULL;
}

void record_worker_begin(struct record_local *l, int worker, int64_t parent_pid, uint64_t base_seed)
{
    struct record_worker *w = &l->worker;
    char name[32];
    l->slot = worker;
    w->base_seed = base_seed;
    w->round = 0;
    snprintf(name, sizeof(name), "worker %d", worker);
    if (!record_lane_open(&w->lane, PP_LANE_WORKER, name))
        return;
    w->parent_pid = parent_pid;
    w->looked = 0;
    w->batch = PP_NO_BATCH;
    w->at = record_now(&w->lane, 1);
}

/* A batch is detailed when that costs little beside its samples, else every so many are. */
static void begin_batch(struct record_worker *w, uint64_t samples)
{
    double cost = w->sample_ns > 0 ? SAMPLE_COST_NS / (COST_SHARE * w->sample_ns) : 1;
    uint32_t every = cost <= 1 ? 1 : cost > EVERY_MAX ? EVERY_MAX : (uint32_t)cost + 1;
    char target[32];
    struct dirent *e;
    w->place = 0;
    w->detailed = w->batches_seen++ % every == 0 || w->fingerprints || record_process.content;
    w->n_files = 0;
    w->batch_samples = samples;
    if (w->batches_seen != RINGS_LOOKED_FOR)
        return;
    /* What goes through a ring is no call of libc's, and its time is part of the phase that waits for it. */
    DIR *d = opendir("/proc/self/fd");
    for (int n = 0; d && n < RINGS_LOOKED_AT && (e = readdir(d)); n++) {
        ssize_t got = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
        target[got > 0 ? got : 0] = '\0';
        if (strcmp(target, "anon_inode:[io_uring]") == 0) {
            record_note("samples are made with io_uring: what is read by it is not timed as reads");
            break;
        }
    }
    if (d)
        closedir(d);
}

/* A span of the batch in work, until now; the next one begins there. */
static void put_of_batch(struct record_worker *w, pp_phase phase, const struct record_mark *from,
                         const struct record_mark *until, unsigned flags)
{
    struct record_about about = {.sample = flags & PP_SPAN_COUNT ? w->batch_samples : PP_NO_SAMPLE,
                                 .batch = w->batch,
                                 .epoch = w->epoch,
                                 .flags = (uint16_t)flags};
    record_put(&w->lane, phase, from, until, &about);
    w->at = *until;
}

void record_batch_begin(struct record_local *l, uint64_t index, uint64_t samples)
{
    struct record_worker *w = &l->worker;
    struct record_mark now = record_now(&w->lane, 1);
    /* With the first task of an iteration: by then the loader has said what its workers' seed is. */
    if (!w->looked) {
        w->row = record_iteration_find(w->parent_pid, w->base_seed, w->round);
        w->looked = w->row || !w->joined_late;
        if (!w->row && !w->joined_late)
            record_note("a worker did not find its iteration: its batches have no numbers");
        w->first_batch = w->row ? w->row->first_batch : PP_NO_BATCH;
        w->epoch = (uint16_t)(w->row ? w->row->epoch : 0);
    }
    w->batch = w->first_batch == PP_NO_BATCH ? PP_NO_BATCH : w->first_batch + (uint32_t)index;
    put_of_batch(w, PP_PHASE_DISPATCH_WAIT, &w->at, &now, 0);
    w->in_batch = 1;
    begin_batch(w, samples);
}

void record_batch_begin_here(struct record_local *l, const struct record_mark *now, uint64_t samples)
{
    l->worker.at = *now;
    begin_batch(&l->worker, samples);
}

void record_collate(struct record_local *l, const struct record_mark *from, uint64_t samples, int failed)
{
    struct record_worker *w = &l->worker;
    struct record_mark now = record_now(&w->lane, 1);
    if (samples && samples < w->batch_samples) { /* a stream that ends in a batch: it comes short */
        if (l->slot >= 0 && w->row)
            record_short_add(w->row, w->batch - w->first_batch, samples);
        else if (w->making)
            w->making->length[w->making->taken % RECORD_LENGTHS] = (uint32_t)samples;
        w->batch_samples = samples;
    }
    /* The samples of a batch that was not detailed are one span that says how many they were. */
    if (!w->detailed)
        put_of_batch(w, PP_PHASE_TRANSFORM, &w->at, from, PP_SPAN_COUNT);
    /* What samples waited that were not worth a look is none of it. */
    w->lane.delay_ns = from->delay_ns;
    put_of_batch(w, PP_PHASE_COLLATE, from, &now, failed ? PP_SPAN_ERROR : 0);
}

void record_batch_put(struct record_local *l, const struct record_mark *from,
                      const struct record_handed *handed)
{
    struct record_worker *w = &l->worker;
    if (!w->in_batch) /* the worker's answer to being told to begin anew */
        return;
    w->in_batch = 0;
    double of_all = handed->measured ? (double)handed->tensors / (double)handed->measured : 0;
    struct record_mark now = record_now(&w->lane, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE,
                                 .batch = w->batch,
                                 .epoch = w->epoch,
                                 .bytes = (uint64_t)((double)handed->bytes * of_all)};
    record_put(&w->lane, PP_PHASE_PUT_WAIT, from, &now, &about);
    w->at = now;
    if (handed->storage_bytes > handed->bytes)
        record_count(&w->lane, "handed_extra_bytes",
                     (uint64_t)((double)(handed->storage_bytes - handed->bytes) * of_all));
    /* Where other threads of the worker computed for its batch: how long, and how many there are. */
    struct stat tasks;
    if (!w->helper_cpu_ns)
        return;
    record_count(&w->lane, "helper_cpu_ns", w->helper_cpu_ns);
    w->helper_cpu_ns = 0;
    if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2) /* a directory has a link of each in it */
        record_count(&w->lane, "worker_threads", tasks.st_nlink - 2);
}

/* ---- a sample ---- */

/* CPU time of the process's other threads so far. */
static uint64_t cpu_of_others(void)
{
    uint64_t own = pp_thread_cpu_ns(), all = pp_process_cpu_ns();
    return all > own ? all - own : 0;
}

void record_sample_begin(struct record_local *l)
{
    static int noted;
    struct record_sample *s = &l->sample;
    struct record_worker *w = &l->worker;
    s->decode_stamps = s->decode_cpu_ns = s->decode_pixels = s->collate_stamps = s->collate_cpu_ns = 0;
    s->decoded = NULL;
    s->decode_read = (struct pp_reads){0};
    s->timing = 0;
    /* Also where the library was left out on purpose: then the report says so once. */
    if (s->reads == &s->own_reads && !__atomic_exchange_n(&noted, 1, __ATOMIC_RELAXED))
        record_note("reads are not timed"); /* the words that report/findings/hooks.c knows */
    /* It begins where the one before, or a wait, ended: that moment was looked at. */
    int follows = l->slot >= 0 || (l->consumer.taking && w->place) || l->loop.making;
    if (!follows || !w->worth_cpu || !w->at.cpu_ns)
        w->at = record_now(&w->lane, w->worth_cpu);
    /* Of a pool's thread the others are no helpers: they make samples of their own. */
    s->others_cpu_ns = w->sample_ns >= WORTH_HELPERS_NS && !l->loop.making ? cpu_of_others() : 0;
    if (s->reads)
        *s->reads = (struct pp_reads){.counting = w->worth_cpu ? 2 : 1,
                                      .identifying = record_process.content != RECORD_CONTENT_NONE,
                                      .at_ns = pp_now_ns(),
                                      .at_cpu_ns = w->at.cpu_ns};
}

/* A part of a sample: its length, and how much of it the thread ran. */
struct part {
    pp_phase phase;
    uint64_t stamps, wall_ns, cpu_ns, bytes;
};

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The run delay of a sample is read once, at its end; its parts have it by the time in which they did not
 * run. */
static void put_parts(struct record_worker *w, const struct part *part, size_t n, struct record_about about)
{
    uint64_t at = w->at.stamp, wall_ns = 0, cpu_ns = 0, idle_ns = 0, delay_ns = 0;
    for (size_t i = 0; i < n; i++) {
        wall_ns += part[i].wall_ns;
        cpu_ns += part[i].cpu_ns;
        idle_ns += difference(part[i].wall_ns, part[i].cpu_ns);
    }
    int has_delay = w->at.cpu_ns && record_run_delay(&w->lane, wall_ns, cpu_ns, 0, &delay_ns);
    double share = idle_ns ? (double)delay_ns / (double)idle_ns : 0;
    for (size_t i = 0; i < n; i++) {
        struct pp_span s = {.start_ns = at,
                            .dur_ns = part[i].stamps,
                            .sample = about.sample,
                            .bytes = part[i].bytes,
                            .batch = about.batch,
                            .epoch = about.epoch,
                            .flags = about.flags,
                            .phase = (uint8_t)part[i].phase};
        if (w->at.cpu_ns) {
            s.cpu_ns = part[i].cpu_ns;
            s.run_delay_ns = (uint64_t)((share < 1 ? share : 1) *
                                        (double)difference(part[i].wall_ns, part[i].cpu_ns));
            s.flags |= (uint16_t)(PP_SPAN_HAS_CPU | (has_delay ? PP_SPAN_HAS_DELAY : 0));
        }
        pp_span_put_stamped(w->lane.trace, &s);
        at += part[i].stamps;
    }
}

/* While its thread waited for them, others of the process and its children computed for the sample: that is
 * work of the part, at most all of its time. */
static void credit_helpers(const struct record_sample *s, struct record_worker *w, struct part *part,
                           size_t n)
{
    uint64_t others = s->others_cpu_ns ? difference(cpu_of_others(), s->others_cpu_ns) : 0,
             left = others + (s->reads ? s->reads->child_cpu_ns : 0);
    w->helper_cpu_ns += left;
    for (size_t i = 0; i < n; i++) {
        int waits = part[i].phase == PP_PHASE_READ || part[i].phase == PP_PHASE_RETRY;
        uint64_t idle = waits ? 0 : difference(part[i].wall_ns, part[i].cpu_ns);
        part[i].cpu_ns += at_most(left, idle);
        left -= at_most(left, idle);
    }
}

/* The parts were added up while the sample was in work, in no order; they are laid end to end in its time. */
void record_sample_end(struct record_local *l, uint64_t sample, int many, int failed)
{
    struct record_sample *s = &l->sample;
    struct record_worker *w = &l->worker;
    const struct pp_reads none = {0}, *r = s->reads ? s->reads : &none;
    struct record_mark now = record_now(&w->lane, w->worth_cpu);
    struct record_about about = {.sample = sample,
                                 .batch = w->batch,
                                 .epoch = w->epoch,
                                 .flags = (uint16_t)((failed ? PP_SPAN_ERROR : 0) |
                                                     (many ? PP_SPAN_COUNT : 0))};
    struct part part[5];
    size_t n = 0;
    if (s->reads)
        s->reads->counting = 0;
    if (!now.cpu_ns)
        w->at.cpu_ns = 0;
    struct part rest = {.phase = PP_PHASE_TRANSFORM,
                        .stamps = now.stamp - w->at.stamp,
                        .wall_ns = pp_thread_stamps_ns(w->lane.trace, w->at.stamp, now.stamp),
                        .cpu_ns = now.cpu_ns - w->at.cpu_ns};
    uint64_t wall_ns = rest.wall_ns;
    double stamps_per_ns = wall_ns ? (double)rest.stamps / (double)wall_ns : 1;
    if (r->calls)
        part[n++] = (struct part){.phase = PP_PHASE_READ,
                                  .wall_ns = r->ns,
                                  .cpu_ns = r->cpu_ns,
                                  .bytes = r->bytes};
    if (r->backoff_ns)
        part[n++] = (struct part){.phase = PP_PHASE_RETRY, .wall_ns = r->backoff_ns};
    if (s->decode_stamps)
        part[n++] = (struct part){
            .phase = PP_PHASE_DECODE,
            .wall_ns = difference(pp_thread_stamps_ns(w->lane.trace, 0, s->decode_stamps), s->decode_read.ns),
            .cpu_ns = difference(s->decode_cpu_ns, s->decode_read.cpu_ns),
            .bytes = 3 * s->decode_pixels};
    if (s->collate_stamps)
        part[n++] = (struct part){.phase = PP_PHASE_COLLATE,
                                  .wall_ns = pp_thread_stamps_ns(w->lane.trace, 0, s->collate_stamps),
                                  .cpu_ns = s->collate_cpu_ns};
    for (size_t i = 0; i < n; i++) {
        struct part *p = &part[i];
        p->wall_ns = at_most(p->wall_ns, rest.wall_ns);
        p->stamps = at_most((uint64_t)((double)p->wall_ns * stamps_per_ns), rest.stamps);
        p->cpu_ns = at_most(p->cpu_ns, rest.cpu_ns);
        rest.stamps -= p->stamps;
        rest.wall_ns -= p->wall_ns;
        rest.cpu_ns -= p->cpu_ns;
    }
    part[n++] = rest;
    if (w->at.cpu_ns)
        credit_helpers(s, w, part, n);
    put_parts(w, part, n, about);
    double each_ns = (double)wall_ns / (double)(many && sample ? sample : 1);
    if (record_process.content && !many)
        record_content_files(l, r->identity);
    record_requests(many ? PP_NO_SAMPLE : sample, w->epoch);
    w->sample_took_ns = many ? 0 : wall_ns;
    w->place++;
    w->sample_ns = w->sample_ns > 0 ? 0.9 * w->sample_ns + 0.1 * each_ns : each_ns;
    w->worth_cpu = wall_ns >= WORTH_CPU_NS;
    w->at = now;
}

void record_loaded(struct record_local *l, const struct record_mark *from, const struct record_mark *to,
                   const struct pp_reads *reads, uint64_t delay_ns)
{
    struct record_worker *w = &l->worker;
    struct record_about about = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    if (!record_lane_open(&w->lane, PP_LANE_WORKER, "worker 0"))
        return;
    uint64_t wall_ns = pp_thread_stamps_ns(w->lane.trace, from->stamp, to->stamp),
             stamps = to->stamp - from->stamp, cpu_ns = to->cpu_ns - from->cpu_ns;
    struct part part[2] = {{.phase = PP_PHASE_READ,
                            .wall_ns = at_most(reads->ns, wall_ns),
                            .cpu_ns = at_most(reads->cpu_ns, cpu_ns),
                            .bytes = reads->bytes}};
    part[0].stamps = (uint64_t)((double)stamps * ((double)part[0].wall_ns / (double)(wall_ns ? wall_ns : 1)));
    part[1] = (struct part){.phase = PP_PHASE_TRANSFORM,
                            .stamps = stamps - part[0].stamps,
                            .wall_ns = wall_ns - part[0].wall_ns,
                            .cpu_ns = cpu_ns - part[0].cpu_ns};
    w->at = *from;
    w->lane.delay_ns = l->consumer.lane.delay_ns > delay_ns ? l->consumer.lane.delay_ns - delay_ns : 0;
    put_parts(w, part, 2, about);
    w->at = *to;
}

/* ---- the thread that pins memory ---- */

void record_pin_begin(struct record_local *l)
{
    l->pin.first_batch = PP_NO_BATCH;
    if (record_lane_open(&l->pin.lane, PP_LANE_COPY, "pin memory"))
        l->pin.at = record_now(&l->pin.lane, 1);
}

void record_pin_moves(struct record_pin *p, enum record_pin_state state, pp_phase phase)
{
    record_put_since(&p->lane, phase, &p->at, p->batch, p->epoch);
    p->state = state;
}
