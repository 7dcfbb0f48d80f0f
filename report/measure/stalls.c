#include "report/measure/stalls.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

/* ---- who held the batch ---- */

static const struct pp_split *stalled(const struct pp_tally *t, pp_lane lane, pp_phase phase)
{
    static const struct pp_split none;
    return t->phase[lane][phase] ? &t->phase[lane][phase]->stalled : &none;
}

/* Of the lane's thread-time during the stalls. */
static double share_of_lane(const struct pp_timeline *tl, const struct pp_tally *t, pp_lane lane, double ns)
{
    double stalled_ns = (double)pp_stalled_ns(tl->stalls, tl->n_stalls),
           all = stalled_ns * (lane == PP_LANE_WORKER ? t->stalled_workers : (double)t->lane_threads[lane]);
    return all > 0 ? ns / all : NAN;
}

static double busy(const struct pp_timeline *tl, const struct pp_tally *t, pp_lane lane, pp_phase phase)
{
    return share_of_lane(tl, t, lane, stalled(t, lane, phase)->total_ns);
}

static void own(struct pp_owner *o, const struct pp_timeline *tl, const struct pp_tally *t, pp_lane lane,
                pp_phase phase)
{
    o->known = 1;
    o->lane = lane;
    o->phase = phase;
    o->split = *stalled(t, lane, phase);
    o->share = share_of_lane(tl, t, lane, o->split.total_ns);
}

void pp_attribute(const struct pp_timeline *all, const struct pp_tally *t, struct pp_owner *out)
{
    /* What holds a batch while the workers are idle. */
    static const struct {
        pp_lane lane;
        pp_phase phase;
    } behind[] = {{PP_LANE_COPY, PP_PHASE_GPU_DECODE},
                  {PP_LANE_COPY, PP_PHASE_H2D},
                  {PP_LANE_COPY, PP_PHASE_PIN},
                  {PP_LANE_READER, PP_PHASE_READ},
                  {PP_LANE_READER, PP_PHASE_LEASE_WAIT}};
    static const pp_phase stages[] = {PP_PHASE_READ,    PP_PHASE_DECODE,  PP_PHASE_TRANSFORM,
                                      PP_PHASE_COLLATE, PP_PHASE_SAMPLER, PP_PHASE_RETRY};
    const struct pp_timeline judged = pp_timeline_of_judged(all), *tl = &judged;
    double idle_ns = stalled(t, PP_LANE_WORKER, PP_PHASE_SLOT_WAIT)->total_ns +
                     stalled(t, PP_LANE_WORKER, PP_PHASE_DISPATCH_WAIT)->total_ns;
    memset(out, 0, sizeof(*out));
    out->share = NAN;
    out->worker_idle = share_of_lane(tl, t, PP_LANE_WORKER, idle_ns);
    out->copy_busy = busy(tl, t, PP_LANE_COPY, PP_PHASE_H2D);
    out->pin_busy = busy(tl, t, PP_LANE_COPY, PP_PHASE_PIN);
    out->decode_busy = busy(tl, t, PP_LANE_COPY, PP_PHASE_GPU_DECODE);
    double named = 0;
    for (unsigned phase = 0; phase < PP_PHASE_COUNT && !isnan(out->worker_idle); phase++) {
        out->phase_share[phase] = busy(tl, t, PP_LANE_WORKER, (pp_phase)phase);
        named += out->phase_share[phase];
    }
    out->unnamed = isnan(out->worker_idle) ? NAN : fmax(1 - named, 0);
    int ranks = tl->collective_ns > tl->wait_ns && tl->collective_ns > tl->sync_ns;
    if (ranks || tl->sync_ns > tl->wait_ns) { /* the trainer's own waiting, of all that it waits for */
        out->known = 1;
        out->lane = PP_LANE_TRAINER;
        out->phase = ranks ? PP_PHASE_COLLECTIVE : PP_PHASE_DEVICE_SYNC;
        out->share = (double)(ranks ? tl->collective_ns : tl->sync_ns) / (double)pp_timeline_exposed_ns(tl);
        if (t->phase[PP_LANE_TRAINER][out->phase])
            out->split = t->phase[PP_LANE_TRAINER][out->phase]->inside;
    } else if (isnan(out->worker_idle)) {
        return; /* nothing stalled, or no worker spans */
    } else if (out->worker_idle < PP_ATTRIBUTE_MOST) {
        pp_phase largest = PP_PHASE_NONE;
        for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
            if (stalled(t, PP_LANE_WORKER, stages[i])->total_ns >
                stalled(t, PP_LANE_WORKER, largest)->total_ns)
                largest = stages[i];
        own(out, tl, t, PP_LANE_WORKER, largest);
        out->known = largest != PP_PHASE_NONE; /* without spans of work there is nothing to judge */
    } else {
        out->known = 1;
        out->lane = PP_LANE_WORKER;
        out->share = out->worker_idle;
        for (size_t i = sizeof(behind) / sizeof(*behind); i-- > 0;) /* the first that is busy stays */
            if (busy(tl, t, behind[i].lane, behind[i].phase) >= PP_ATTRIBUTE_MOST)
                own(out, tl, t, behind[i].lane, behind[i].phase);
    }
}

/* ---- what native threads did ---- */

enum { NAMED = 3, NAME = 24 };
#define WORTH_A_NAME 0.1 /* of all work */

struct walk {
    const struct pp_timeline *tl;
    const struct pp_thread_row *lanes;
    size_t n_lanes, cursor;
    struct thread {
        char name[NAME];
        int is_there, is_trainers;
        double works; /* looks */
    } thread[PP_LOOKED_THREADS];
    struct pp_thread_work *out;
};

static void take_thread(void *ctx, const struct pp_native_thread_row *row)
{
    struct walk *w = ctx;
    if (row->id < 1 || row->id > PP_LOOKED_THREADS)
        return;
    struct thread *t = &w->thread[row->id - 1];
    t->is_there = 1;
    for (size_t i = 0; i < w->n_lanes; i++)
        t->is_trainers |= w->lanes[i].lane == PP_LANE_TRAINER && w->lanes[i].tid == row->tid &&
                          w->lanes[i].pid == row->pid;
    char *plain = pp_text_plain(row->name);
    size_t n = plain ? strlen(plain) : 0;
    while (n && plain[n - 1] == ' ') /* the kernel cuts names at 15 bytes, also behind a blank */
        n--;
    pp_text_add(t->name, sizeof(t->name), "%.*s", (int)n, plain ? plain : "");
    free(plain);
}

/* Who makes the batch, at a look: those on a CPU and in files; where none is, the trainer itself, which may
 * load in its wait; where it does not, those that poll sockets, as servers and event loops do at all times.
 * 0: it does nothing. */
static int rank_of(const struct thread *t, char does)
{
    static const char work[] = {PP_THREAD_COMPUTES, PP_THREAD_READY, PP_THREAD_READS, PP_THREAD_FAULTS, '\0'};
    return !t->is_there                                   ? 0
           : strchr(work, does)                           ? 3 - t->is_trainers
           : does == PP_THREAD_NETWORK && !t->is_trainers ? 1
                                                          : 0;
}

static void take_look(void *ctx, const struct pp_thread_look_row *row)
{
    struct walk *w = ctx;
    struct pp_thread_work *o = w->out;
    if (row->t_ns < w->tl->start_ns || row->t_ns >= w->tl->end_ns)
        return;
    if (!pp_timeline_stalled_between(w->tl, row->t_ns, row->t_ns + 1, &w->cursor)) {
        int waits = 0;
        for (size_t i = 0; i < PP_LOOKED_THREADS && row->states[i]; i++)
            waits |= row->states[i] == PP_THREAD_LOCK && w->thread[i].is_trainers;
        o->steps++;
        o->step_locked += waits;
        return;
    }
    o->looks++;
    int rank = 0;
    for (size_t i = 0; i < PP_LOOKED_THREADS && row->states[i]; i++) {
        rank = rank_of(&w->thread[i], row->states[i]) > rank ? rank_of(&w->thread[i], row->states[i]) : rank;
        o->locked += row->states[i] == PP_THREAD_LOCK && !w->thread[i].is_trainers;
    }
    for (size_t i = 0; rank && i < PP_LOOKED_THREADS && row->states[i]; i++) {
        const char does = row->states[i];
        if (rank_of(&w->thread[i], does) < rank)
            continue;
        o->computes += does == PP_THREAD_COMPUTES;
        o->ready += does == PP_THREAD_READY;
        o->reads += does == PP_THREAD_READS || does == PP_THREAD_FAULTS;
        o->network += does == PP_THREAD_NETWORK;
        w->thread[i].works++;
    }
}

pp_status pp_thread_work_read(const struct pp_source *source, const struct pp_timeline *all,
                              struct pp_thread_work *out, struct pp_err *err)
{
    const struct pp_timeline judged = pp_timeline_of_judged(all);
    struct walk *w = calloc(1, sizeof(*w));
    *out = (struct pp_thread_work){0};
    if (!w)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", source->path);
    w->tl = &judged;
    w->out = out;
    w->n_lanes = source->threads(source->ctx, &w->lanes);
    int64_t trainer = 0;
    for (size_t i = 0; i < w->n_lanes; i++)
        trainer = w->lanes[i].lane == PP_LANE_TRAINER ? w->lanes[i].pid : trainer;
    int in_processes = 0; /* workers, which say themselves what they do */
    for (size_t i = 0; i < w->n_lanes; i++)
        in_processes |= w->lanes[i].lane == PP_LANE_WORKER && w->lanes[i].pid != trainer;
    pp_status st = source->each_thread_look && judged.n_stalls && !in_processes
                       ? source->each_thread_look(source->ctx,
                                                  &(struct pp_thread_walk){w, take_thread, take_look}, err)
                       : PP_OK;
    int seen = st == PP_OK && out->looks > 0;
    double work = pp_thread_work_all(out);
    for (size_t i = 0; seen && i < PP_LOOKED_THREADS; i++) /* threads of a pool often share a name */
        for (size_t k = 0; k < i && w->thread[i].works > 0; k++)
            if (strcmp(w->thread[k].name, w->thread[i].name) == 0) {
                w->thread[k].works += w->thread[i].works;
                w->thread[i].works = 0;
            }
    for (int n = 0; seen && n < NAMED; n++) {
        struct thread *most = &w->thread[0];
        for (size_t i = 1; i < PP_LOOKED_THREADS; i++)
            most = w->thread[i].works > most->works ? &w->thread[i] : most;
        if (!(most->works > WORTH_A_NAME * work))
            break;
        pp_text_add(out->names, sizeof(out->names), "%s%s", n ? ", " : "", most->name);
        most->works = 0;
    }
    if (seen) {
        out->computes /= out->looks, out->ready /= out->looks, out->reads /= out->looks;
        out->network /= out->looks, out->locked /= out->looks;
    }
    free(w);
    return st;
}
