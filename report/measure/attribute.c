#include "report/measure/attribute.h"

#include <math.h>
#include <string.h>

static const struct pp_split *stalled(const struct pp_tally *t, pp_lane lane, pp_phase phase)
{
    static const struct pp_split none;
    return t->phase[lane][phase] ? &t->phase[lane][phase]->stalled : &none;
}

static double stall_ns(const struct pp_timeline *tl)
{
    const struct pp_stall *last = tl->n_stalls ? &tl->stalls[tl->n_stalls - 1] : NULL;
    return last ? (double)(last->before_ns + (last->end_ns - last->start_ns)) : 0;
}

/* Of the lane's thread-time during the stalls. */
static double share_of_lane(const struct pp_timeline *tl, const struct pp_tally *t, pp_lane lane, double ns)
{
    double all = stall_ns(tl) * (lane == PP_LANE_WORKER ? t->stalled_workers : (double)t->lane_threads[lane]);
    return all > 0 ? ns / all : NAN;
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

/* The trainer's own waiting, of all that it waits for. */
static void own_trainer(struct pp_owner *o, const struct pp_timeline *tl, const struct pp_tally *t,
                        pp_phase phase, uint64_t ns)
{
    const struct pp_tally_phase *waited = t->phase[PP_LANE_TRAINER][phase];
    o->known = 1;
    o->lane = PP_LANE_TRAINER;
    o->phase = phase;
    o->share = (double)ns / (double)pp_timeline_exposed_ns(tl);
    if (waited)
        o->split = waited->inside;
}

static pp_phase largest_of_workers(const struct pp_tally *t)
{
    static const pp_phase stages[] = {PP_PHASE_READ,    PP_PHASE_DECODE,  PP_PHASE_TRANSFORM,
                                      PP_PHASE_COLLATE, PP_PHASE_SAMPLER, PP_PHASE_RETRY};
    pp_phase best = PP_PHASE_NONE;
    double most = 0;
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        double ns = stalled(t, PP_LANE_WORKER, stages[i])->total_ns;
        if (ns > most) {
            most = ns;
            best = stages[i];
        }
    }
    return best;
}

static int mostly(double share)
{
    return share >= PP_ATTRIBUTE_MOST;
}

void pp_attribute(const struct pp_timeline *all, const struct pp_tally *t, struct pp_owner *out)
{
    const struct pp_timeline judged = pp_timeline_of_judged(all), *tl = &judged;
    double idle_ns = stalled(t, PP_LANE_WORKER, PP_PHASE_SLOT_WAIT)->total_ns +
                     stalled(t, PP_LANE_WORKER, PP_PHASE_DISPATCH_WAIT)->total_ns;
    memset(out, 0, sizeof(*out));
    out->share = NAN;
    out->worker_idle = share_of_lane(tl, t, PP_LANE_WORKER, idle_ns);
    out->copy_busy = share_of_lane(tl, t, PP_LANE_COPY, stalled(t, PP_LANE_COPY, PP_PHASE_H2D)->total_ns);
    out->pin_busy = share_of_lane(tl, t, PP_LANE_COPY, stalled(t, PP_LANE_COPY, PP_PHASE_PIN)->total_ns);
    out->decode_busy = share_of_lane(tl, t, PP_LANE_COPY,
                                     stalled(t, PP_LANE_COPY, PP_PHASE_GPU_DECODE)->total_ns);
    double named = 0;
    for (unsigned phase = 0; phase < PP_PHASE_COUNT && !isnan(out->worker_idle); phase++) {
        out->phase_share[phase] = share_of_lane(tl, t, PP_LANE_WORKER,
                                                stalled(t, PP_LANE_WORKER, (pp_phase)phase)->total_ns);
        named += out->phase_share[phase];
    }
    out->unnamed = isnan(out->worker_idle) ? NAN : fmax(1 - named, 0);
    double reader_busy = share_of_lane(tl, t, PP_LANE_READER,
                                       stalled(t, PP_LANE_READER, PP_PHASE_READ)->total_ns);

    double lease_wait = share_of_lane(tl, t, PP_LANE_READER,
                                      stalled(t, PP_LANE_READER, PP_PHASE_LEASE_WAIT)->total_ns);

    if (tl->collective_ns > tl->wait_ns && tl->collective_ns > tl->sync_ns) {
        own_trainer(out, tl, t, PP_PHASE_COLLECTIVE, tl->collective_ns);
    } else if (tl->sync_ns > tl->wait_ns) {
        own_trainer(out, tl, t, PP_PHASE_DEVICE_SYNC, tl->sync_ns);
    } else if (isnan(out->worker_idle)) {
        return; /* nothing stalled, or no worker spans */
    } else if (!mostly(out->worker_idle)) {
        own(out, tl, t, PP_LANE_WORKER, largest_of_workers(t));
        out->known = out->phase != PP_PHASE_NONE; /* without spans of work there is nothing to judge */
    } else if (mostly(out->decode_busy)) {
        own(out, tl, t, PP_LANE_COPY, PP_PHASE_GPU_DECODE);
    } else if (mostly(out->copy_busy)) {
        own(out, tl, t, PP_LANE_COPY, PP_PHASE_H2D);
    } else if (mostly(out->pin_busy)) {
        own(out, tl, t, PP_LANE_COPY, PP_PHASE_PIN);
    } else if (mostly(reader_busy)) {
        own(out, tl, t, PP_LANE_READER, PP_PHASE_READ);
    } else if (mostly(lease_wait)) {
        own(out, tl, t, PP_LANE_READER, PP_PHASE_LEASE_WAIT);
    } else {
        out->known = 1;
        out->lane = PP_LANE_WORKER;
        out->share = out->worker_idle;
    }
}
