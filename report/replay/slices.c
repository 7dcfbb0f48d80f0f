#include "report/replay/link.h"

#include "report/stats/order.h"

#define TOGETHER_NS 5e6           /* ends of reads that were let go together */
#define HELD_NS (2 * TOGETHER_NS) /* a read that was blocked so long was held */
#define MOSTLY 0.7                /* of the workers' time is spent in reads: nothing else paces them */
#define PARTLY 0.4                /* where what each slice lets through shows it: beside other load */
#define SLICE_SPREAD 0.25 /* the throttle waits for whole slices, and for what the bytes beyond them take */
enum { FEWEST_SLICES = 10 };

/* As the kernel's block throttle has it (blkio.throttle, io.max: slices of about 100 ms): a read that has to
 * wait is let go at the end of a slice, whenever it began, and the slices are as long as each other. Most of
 * the time blocked is spent that way, and most of the workers' time: where only some reads are held up, now
 * and then, it is an outage. Whether a read hit the page cache is not asked: one that storage answered in a
 * fraction of a millisecond may look like a hit, and hits not of the quota make its slices uneven. */
struct slices {
    size_t n;
    double *ns, *reads, *bytes; /* from the end of the slice before to the end of this one */
    double *quick;              /* of those reads, not held */
    double *begun_ns;           /* from the end of the slice before to the start of the read it held */
    double held_ns, blocked_ns, starts_off, ends_off, together;
};

/* Held reads whose ends lie close together are let go by one slice. room: of each array, at least c->n. */
static void cut_slices(const struct pp_costs *c, const struct pp_cost_sample **order, struct slices *s)
{
    double let_go = NAN, reads = 0, bytes = 0, quick = 0;
    for (size_t i = 0; i < c->n; i++)
        s->blocked_ns += c->samples[i].read_blocked;
    for (size_t from = 0, to; from < c->n; from = to) {
        const struct pp_cost_sample *first = NULL;
        size_t held = 0;
        double starts = 0, ends = 0, ns = 0, held_reads = 0, held_bytes = 0;
        for (to = from;
             to < c->n &&
             (to == from || (double)(order[to]->read_end_ns - order[to - 1]->read_end_ns) < TOGETHER_NS) &&
             !(held && order[to]->read_blocked < HELD_NS);
             to++) {
            const struct pp_cost_sample *x = order[to];
            if (x->read_blocked < HELD_NS) {
                reads++;
                quick++;
                bytes += x->bytes;
                continue;
            }
            first = first ? first : x;
            starts += fabs((double)x->read_start_ns - (double)first->read_start_ns);
            ends += (double)(x->read_end_ns - first->read_end_ns);
            ns += x->read_blocked;
            held_reads++;
            held_bytes += x->bytes;
            held++;
        }
        if (!held)
            continue;
        s->held_ns += ns;
        if (held > 1) {
            s->together += ns;
            s->starts_off += starts;
            s->ends_off += ends;
        }
        if (!isnan(let_go)) {
            s->ns[s->n] = (double)first->read_end_ns - let_go;
            s->begun_ns[s->n] = fmax((double)first->read_start_ns - let_go, 0);
            s->reads[s->n] = reads, s->bytes[s->n] = bytes, s->quick[s->n] = quick;
            s->n++;
        }
        let_go = (double)first->read_end_ns;
        reads = held_reads, bytes = held_bytes, quick = 0; /* what is let go uses up the next slice */
    }
}

static double middle_of(const double *from, const double *per, size_t n, double off, float *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (float)fabs((per ? from[i] / per[i] : from[i]) - off);
    return pp_stats_middle(v, n);
}

#define USUAL 0.9 /* of the slices: the rest was cut wrong, where a thread woke up late */

/* Mean distance from the median, as a part of it, of the usual ones; per: of the ratio. */
static double spread_of(const double *x, const double *per, size_t n, float *v)
{
    double middle = middle_of(x, per, n, 0, v);
    middle_of(x, per, n, middle, v); /* leaves the distances in order */
    size_t usual = (size_t)ceil(USUAL * (double)n);
    double sum = 0;
    for (size_t i = 0; i < usual; i++)
        sum += v[i];
    return middle > 0 ? (usual ? sum / (double)usual : 0) / middle : INFINITY;
}

/* How far the sum of x over the slices strays from a straight line over time (least squares), in means of x:
 * what is rationed stays near it, and of the other kind every read of another size adds up. */
static double strays(const double *x, const double *ns, size_t n)
{
    double t = 0, y = 0, st = 0, sy = 0, stt = 0, sty = 0, syy = 0;
    for (size_t i = 0; i < n; i++) {
        t += ns[i], y += x[i];
        st += t, sy += y, stt += t * t, sty += t * y, syy += y * y;
    }
    double k = (double)n, vt = stt - st * st / k, cov = sty - st * sy / k, vy = syy - sy * sy / k;
    return y > 0 && vt > 0 ? sqrt(fmax(vy - cov * cov / vt, 0) / k) / (y / k) : INFINITY;
}

#define FEWEST_QUICK 1 /* in a slice, before the quota is used up */
#define RATION_SPREAD 0.25
#define BEGUN_SPREAD 0.05 /* and twice that of what is rationed */

/* A slice lets through so much, however long the workers take to use it up: the number of reads, or of bytes,
 * is even, and the moment at which the next read finds nothing left is not. Where it is that moment which is
 * even, reads are held up at certain times (an outage); where no read is quick, they are slow by themselves;
 * then it shows only by several workers' reads that began at different times and are let go together. */
enum pp_ration pp_slices_ration(const struct pp_costs *c, const struct pp_cost_sample **order, float *v)
{
    enum pp_ration ration = PP_NO_RATION;
    double *room = calloc(5 * c->n + 1, sizeof(*room));
    if (!room)
        return PP_NO_RATION; /* nothing is claimed */
    struct slices s = {.ns = room,
                       .reads = room + c->n,
                       .bytes = room + 2 * c->n,
                       .quick = room + 3 * c->n,
                       .begun_ns = room + 4 * c->n};
    cut_slices(c, order, &s);
    double in_reads = s.blocked_ns / (c->workers * c->window_ns);
    if (s.n >= FEWEST_SLICES && s.held_ns >= MOSTLY * s.blocked_ns && in_reads >= PARTLY &&
        spread_of(s.ns, NULL, s.n, v) < SLICE_SPREAD) {
        double begun = spread_of(s.begun_ns, NULL, s.n, v), quick = middle_of(s.quick, NULL, s.n, 0, v),
               reads = spread_of(s.reads, s.ns, s.n, v), bytes = spread_of(s.bytes, s.ns, s.n, v),
               even = fmin(reads, bytes);
        int used_up = quick >= FEWEST_QUICK && even < RATION_SPREAD && begun > fmax(BEGUN_SPREAD, 2 * even),
            together = in_reads >= MOSTLY && s.together >= MOSTLY * s.held_ns &&
                       s.starts_off >= 4 * s.ends_off;
        /* from slice to slice, and over all of them: either alone is close where few reads differ much */
        int of_bytes = bytes * strays(s.bytes, s.ns, s.n) < reads * strays(s.reads, s.ns, s.n);
        if (used_up || together)
            ration = of_bytes ? PP_RATION_OF_BYTES : PP_RATION_OF_READS;
    }
    free(room);
    return ration;
}
