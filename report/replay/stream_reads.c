#include "report/replay/costs_impl.h"

#include "probe/base/array.h"

PP_BY_BOTH(by_sample, struct pp_stream_read, epoch, sample)

void pp_stream_reads_join(struct pp_stream_reads *r, struct pp_costs *c)
{
    size_t kept = 0;
    if (r->n)
        qsort(r->at, r->n, sizeof(*r->at), by_sample);
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_stream_read key = {.sample = c->samples[i].sample, .epoch = c->samples[i].epoch};
        size_t first = PP_BEFORE(r->n, k, by_sample(&r->at[k], &key) < 0);
        const struct pp_stream_read *read = first < r->n ? &r->at[first] : NULL;
        if (!read || by_sample(read, &key) != 0)
            continue;
        c->samples[kept] = c->samples[i];
        /* The reader is whose reads they are: no worker reads slower than another. */
        struct pp_cost_sample *x = &c->samples[kept++];
        x->read_start_ns = read->start_ns;
        x->read_end_ns = read->end_ns;
        x->read_blocked = read->blocked;
        x->read_cpu = read->cpu;
        x->read_wake = read->wake;
        x->retry_blocked = read->retry;
        x->bytes = read->bytes;
        x->worker = read->thread;
        x->hit = read->hit;
        x->hit_known = read->hit_known;
    }
    c->n = kept;
}
