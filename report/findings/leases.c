#include "report/findings/checks.h"

#include "report/findings/findings.h"

/* Stretches of time, rising; those that hardly part are one. */
enum { STRETCHES = 4096 };
#define HARDLY_NS UINT64_C(5000000)

struct stretches {
    struct stretch {
        uint64_t from_ns, to_ns;
    } of[STRETCHES];
    size_t n;
};

struct pp_leases_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct pp_lease_use use;
    struct stretches waits, boundaries; /* of the reader; of the trainer */
    uint32_t epoch;                     /* of the trainer's last wait, and one more; 0: none */
};

struct pp_leases_pass *pp_leases_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_leases_pass *p = calloc(1, sizeof(*p));
    if (p) {
        p->source = source;
        p->tl = tl;
    }
    return p;
}

void pp_leases_chunk(struct pp_leases_pass *p, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        struct stretches *x = NULL;
        /* The wait for an epoch's first batch. */
        if (s->phase == PP_PHASE_EPOCH_BOUNDARY || s->phase == PP_PHASE_DATA_WAIT) {
            if (s->phase == PP_PHASE_EPOCH_BOUNDARY || (p->epoch && s->epoch + 1u != p->epoch))
                x = &p->boundaries;
            p->epoch = s->epoch + 1u;
        }
        if (s->phase == PP_PHASE_LEASE) {
            p->use.looks++;
            p->use.looks_ns += (double)s->dur_ns;
        } else if (s->phase == PP_PHASE_LEASE_WAIT) {
            p->use.wait_ns += (double)s->dur_ns;
            p->use.longest_ns = fmax(p->use.longest_ns, (double)s->dur_ns);
            x = &p->waits;
        }
        if (!x)
            continue;
        uint64_t end = s->start_ns + s->dur_ns;
        struct stretch *last = x->n ? &x->of[x->n - 1] : NULL;
        if (last && s->start_ns >= last->from_ns && s->start_ns <= last->to_ns + HARDLY_NS)
            last->to_ns = end > last->to_ns ? end : last->to_ns;
        else if (x->n < STRETCHES)
            x->of[x->n++] = (struct stretch){s->start_ns, end};
    }
}

void pp_leases_end(struct pp_leases_pass *p, struct pp_lease_use *out)
{
    *out = (struct pp_lease_use){0};
    if (!p)
        return;
    *out = p->use;
    out->run_ns = p->tl->spans ? (double)(p->tl->last_ns - p->tl->first_ns) : NAN;
    out->taken = pp_source_number(p->source, "result", "leases", NAN);
    out->stolen = pp_source_number(p->source, "result", "leases_stolen", NAN);
    out->lost = pp_source_number(p->source, "result", "leases_lost", NAN);
    /* Both rise by time, as each is of one thread. */
    for (size_t i = 0, k = 0; i < p->waits.n && k < p->boundaries.n;) {
        const struct stretch *x = &p->waits.of[i], *y = &p->boundaries.of[k];
        uint64_t from = x->from_ns > y->from_ns ? x->from_ns : y->from_ns,
                 to = x->to_ns < y->to_ns ? x->to_ns : y->to_ns;
        out->epoch_wait_ns += to > from ? (double)(to - from) : 0;
        i += x->to_ns <= y->to_ns;
        k += x->to_ns > y->to_ns;
    }
    out->holder = p->source->meta(p->source->ctx, "result", "leases_holder");
    free(p);
}

void pp_measure_leases(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_lease_use *u = &from->checks->leases;
    double *m = f->number;
    if (!u->looks)
        return;
    m[PP_FINDING_LEASE_LOOKS] = (double)u->looks;
    if (isnan(u->taken))
        f->text[PP_FINDING_LEASE_UNKNOWN] =
            "the run was killed before it could store how many shards it leased";
    m[PP_FINDING_LEASES] = u->taken;
    m[PP_FINDING_LEASES_STOLEN] = u->stolen;
    m[PP_FINDING_LEASES_STOLEN_ANY] = u->stolen > 0 ? u->stolen : NAN;
    m[PP_FINDING_LEASES_LOST] = u->lost;
    m[PP_FINDING_LEASES_LOST_ANY] = u->lost > 0 ? u->lost : NAN;
    m[PP_FINDING_LEASE_WAIT] = u->wait_ns / 1e9;
    m[PP_FINDING_LEASE_WAIT_SHARE] = u->wait_ns / u->run_ns;
    m[PP_FINDING_LEASE_LONGEST] = u->longest_ns / 1e9;
    m[PP_FINDING_LEASE_EPOCH_WAIT] = u->epoch_wait_ns / 1e9;
    m[PP_FINDING_LEASE_LOOKING] = u->looks_ns / 1e9;
    f->text[PP_FINDING_LEASE_HOLDER] = u->holder;
}
