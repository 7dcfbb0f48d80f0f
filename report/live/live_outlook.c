/* What is about to go wrong, and what the machine does beside the run: buffer debt, a hung worker, meters. */
#include "report/live/live_impl.h"
#include "probe/base/array.h"

#define DEBT_S 5        /* over which production is held against consumption, at most */
#define DEBT_LEAST 2.0  /* batches by which it fell behind: less is the grain of counting */
#define DEBT_SPREAD 1.5 /* and so many square roots of the batches taken */
#define DEBT_FAR_S 60.0 /* later than that, more will have changed than the buffer */
#define HANG_NS (2 * LIVE_SECOND_NS)
#define HANG_TIMES 20                         /* the mean of its phase */
#define HANG_UNUSUAL_NS (10 * LIVE_SECOND_NS) /* where no work of the phase has ended yet */
#define METER_FRESH_NS (3 * LIVE_SECOND_NS)

static int is_work(unsigned phase)
{
    const struct pp_phase_info *info = pp_phase_info(phase);
    return info && info->kind == PP_KIND_WORK;
}

/* ---- buffer debt ---- */

/* Whether workers, or readers, were at work for half of the second or more. A buffer that empties while they
 * are idle is that of an epoch, or a run, that ends. */
static int at_work(const struct pp_live *l, uint64_t s)
{
    static const pp_lane lanes[] = {PP_LANE_WORKER, PP_LANE_READER};
    const struct live_second *sec = live_second_at(l, s);
    for (int k = 0; k < 2; k++) {
        double busy_ns = 0, threads = 0;
        for (uint32_t i = 0; i < sec->n; i++) {
            long row = live_thread_row(l, sec->parts[i].thread);
            if (row >= 0 && l->threads[row].lane == lanes[k] && is_work(sec->parts[i].phase))
                busy_ns += (double)sec->parts[i].total_ns;
        }
        for (size_t i = 0; i < l->n_threads; i++) {
            const struct live_seen *seen = l->seen ? &l->seen[i] : NULL;
            if (l->threads[i].lane != lanes[k])
                continue;
            threads++;
            if (seen && seen->open_ns >= seen->open_since_ns + LIVE_SECOND_NS &&
                is_work(seen->open_phase)) /* ends later, and is no part yet */
                busy_ns += (double)LIVE_SECOND_NS;
        }
        if (threads > 0 && busy_ns >= 0.5 * threads * (double)LIVE_SECOND_NS)
            return 1;
    }
    return 0;
}

/* The newest seconds say most about the next ones, and few seconds have few batches: the shortest time in
 * which the buffer lost more batches than counting them may (as of independent arrivals, 1.5 standard
 * deviations). */
void live_put_debt(const struct pp_live *l, struct pp_live_snapshot *out)
{
    double made = 0, taken = 0, depth = NAN, lasts = NAN;
    for (size_t i = 0; i < out->n_queues; i++)
        if (strncmp(out->queues[i].name, "ready", 5) == 0)
            depth = out->queues[i].depth;
    if (isnan(depth) || out->at_s < out->first_s + DEBT_S) /* the run's first seconds fill the buffer */
        return;
    out->buffered_batches = depth;
    for (int s = 1; s <= DEBT_S; s++) {
        /* Batches that the workers finished and the trainer took in a second. A batch is finished by its
         * collate; where there is none, by its last sample. */
        const struct live_second *sec = live_second_at(l, (out->at_s + 1 - (uint64_t)s));
        double collated = 0;
        for (uint32_t i = 0; i < sec->n; i++) {
            const struct live_part *p = &sec->parts[i];
            long row = live_thread_row(l, p->thread);
            if (row < 0)
                continue;
            if (l->threads[row].lane == PP_LANE_TRAINER)
                taken += live_takes_batch(l, p->phase) ? (double)p->n : 0;
            else if (p->phase == PP_PHASE_COLLATE)
                collated += (double)p->n;
        }
        made += l->usual[PP_PHASE_COLLATE].n ? collated : (double)live_samples(sec->work_n) / l->batch_size;
        out->buffer_drain_per_s = (taken - made) / s;
        if (taken - made < DEBT_LEAST + DEBT_SPREAD * sqrt(taken))
            continue;
        lasts = depth / out->buffer_drain_per_s;
        break;
    }
    if (depth > 0 && lasts <= DEBT_FAR_S && at_work(l, out->at_s) &&
        !(live_wait_share(l, out->at_s) >= PP_LIVE_STALL_SHARE))
        out->buffer_lasts_s = lasts;
}

/* ---- a worker that hangs ---- */

void live_put_hang(const struct pp_live *l, struct pp_live_snapshot *out)
{
    out->hung_worker = -1;
    for (size_t k = 0; l->seen && k < out->n_workers; k++) {
        long row = live_thread_row(l, out->workers[k].thread);
        const struct live_seen *seen = row >= 0 ? &l->seen[row] : NULL;
        if (!seen || !seen->open_ns || seen->open_ns < seen->open_since_ns ||
            seen->open_phase < PP_PHASE_READ || seen->open_phase > PP_PHASE_COLLATE)
            continue;
        const struct live_usual *u = &l->usual[seen->open_phase];
        uint64_t ns = seen->open_ns - seen->open_since_ns,
                 least = u->n ? u->total_ns / u->n * HANG_TIMES : HANG_UNUSUAL_NS;
        if (ns < HANG_NS || ns < least || (out->hung_worker >= 0 && (double)ns <= out->hung_ns))
            continue;
        out->hung_worker = (long)k;
        out->hung_phase = seen->open_phase;
        out->hung_ns = (double)ns;
        out->hung_since_ns = seen->open_since_ns;
    }
}

/* ---- meters ---- */

/* Growth per second from one look to the other; NAN: not known, or a counter that began anew. */
static double growth(const struct live_meters *from, const struct live_meters *to, enum live_meter what)
{
    double grown = to->value[what] - from->value[what], s = (double)(to->t_ns - from->t_ns) / 1e9;
    return grown >= 0 && s > 0 ? grown / s : NAN;
}

void live_put_meters(const struct pp_live *l, unsigned window_s, struct pp_live_snapshot *out)
{
    uint64_t until = (out->at_s + 1) * LIVE_SECOND_NS, reach = (window_s < 2 ? 2 : window_s) * LIVE_SECOND_NS;
    size_t before = PP_BEFORE(l->n_meters, i, l->meters[i].t_ns < until); /* they come in order of time */
    if (before < 2 || l->meters[before - 1].t_ns + METER_FRESH_NS < until)
        return;
    const struct live_meters *to = &l->meters[before - 1], *from = to - 1;
    for (size_t i = before - 1; i-- > 0 && l->meters[i].t_ns + reach >= to->t_ns;)
        from = &l->meters[i];
    double cpu = 0;
    for (int i = LIVE_CPU_USER; i <= LIVE_CPU_STEAL; i++)
        cpu += growth(from, to, (enum live_meter)i);
    double idle = growth(from, to, LIVE_CPU_IDLE) + growth(from, to, LIVE_CPU_IOWAIT);
    out->cpu_busy = cpu > 0 ? fmin(fmax(1 - idle / cpu, 0), 1) : NAN;
    out->disk_bytes_per_s = growth(from, to, LIVE_DISK_READ) + growth(from, to, LIVE_DISK_WRITE);
    out->net_bytes_per_s = growth(from, to, LIVE_NET_RX) + growth(from, to, LIVE_NET_TX);
    out->disk_most_bytes_per_s = fmax(out->disk_bytes_per_s, 1);
    out->net_most_bytes_per_s = fmax(out->net_bytes_per_s, 1);
    for (size_t i = 1; i < before; i++) {
        const struct live_meters *a = &l->meters[i - 1], *b = a + 1;
        out->disk_most_bytes_per_s = fmax(out->disk_most_bytes_per_s,
                                          growth(a, b, LIVE_DISK_READ) + growth(a, b, LIVE_DISK_WRITE));
        out->net_most_bytes_per_s = fmax(out->net_most_bytes_per_s,
                                         growth(a, b, LIVE_NET_RX) + growth(a, b, LIVE_NET_TX));
    }
}
