#include "report/replay/costs_impl.h"

#include <stdlib.h>

int pp_stream_reads_add(struct pp_stream_reads *r, const struct pp_stream_read *read)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 4096;
        struct pp_stream_read *grown = realloc(r->at, room * sizeof(*grown));
        if (!grown)
            return 0;
        r->at = grown;
        r->room = room;
    }
    r->at[r->n++] = *read;
    return 1;
}

void pp_stream_reads_free(struct pp_stream_reads *r)
{
    free(r->at);
    *r = (struct pp_stream_reads){0};
}

static int compare(const struct pp_stream_read *x, uint64_t sample, uint32_t epoch)
{
    if (x->epoch != epoch)
        return x->epoch < epoch ? -1 : 1;
    return (x->sample > sample) - (x->sample < sample);
}

static int by_sample(const void *a, const void *b)
{
    const struct pp_stream_read *x = a, *y = b;
    return compare(x, y->sample, y->epoch);
}

static const struct pp_stream_read *find(const struct pp_stream_reads *r, const struct pp_cost_sample *x)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&r->at[middle], x->sample, x->epoch) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && compare(&r->at[low], x->sample, x->epoch) == 0 ? &r->at[low] : NULL;
}

/* The reader is whose reads they are: no worker reads slower than another. */
static void take_read(struct pp_cost_sample *x, const struct pp_stream_read *r)
{
    x->read_start_ns = r->start_ns;
    x->read_end_ns = r->end_ns;
    x->read_blocked = r->blocked;
    x->read_cpu = r->cpu;
    x->read_wake = r->wake;
    x->retry_blocked = r->retry;
    x->bytes = r->bytes;
    x->worker = r->thread;
    x->hit = r->hit;
    x->hit_known = r->hit_known;
}

void pp_stream_reads_join(struct pp_stream_reads *r, struct pp_costs *c)
{
    size_t kept = 0;
    if (r->n)
        qsort(r->at, r->n, sizeof(*r->at), by_sample);
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_stream_read *read = find(r, &c->samples[i]);
        if (!read)
            continue;
        c->samples[kept] = c->samples[i];
        take_read(&c->samples[kept++], read);
    }
    c->n = kept;
}
