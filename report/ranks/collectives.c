#include "report/ranks/digest_pass.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/source/source.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

struct times {
    struct time {
        uint64_t start_ns, end_ns;
    } * at;
    size_t n, room;
    int no_memory;
};

static void add(struct times *t, uint64_t start_ns, uint64_t dur_ns)
{
    if (t->n == MOST || t->no_memory)
        return;
    t->no_memory = !pp_grow(&t->at, &t->room, t->n + 1, sizeof(*t->at));
    if (!t->no_memory)
        t->at[t->n++] = (struct time){start_ns, start_ns + dur_ns};
}

static int on_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct times *t = ctx;
    for (size_t i = 0; i < n; i++)
        if (spans[i].phase == PP_PHASE_COLLECTIVE)
            add(t, spans[i].start_ns, spans[i].dur_ns);
    return t->no_memory;
}

/* ncclKernel_AllReduce_RING_LL_Sum_float, since 2.19 ncclDevKernel_AllReduce_Sum_f32_RING_LL; RCCL has the
 * same. */
static void on_gpu(void *ctx, const struct pp_gpu_row *row)
{
    if (row->name && strcmp(row->kind, "kernel") == 0 &&
        (strncmp(row->name, "ncclDevKernel", 13) == 0 || strncmp(row->name, "ncclKernel", 10) == 0))
        add(ctx, row->start_ns, row->dur_ns);
}

PP_BY(by_start, struct time, start_ns)

pp_status pp_collectives_cover(const struct pp_source *source, struct pp_covered_step *steps, size_t n,
                               int *any, struct pp_err *err)
{
    struct times t = {NULL, 0, 0, 0};
    uint64_t bad;
    pp_status st = PP_OK;
    *any = 0;
    if (!source->meta(source->ctx, "run", "source"))
        return PP_OK;
    st = source->each_chunk(source->ctx, NULL, on_chunk, &t, &bad, err);
    if (st == PP_OK && !t.n && source->each_gpu)
        st = source->each_gpu(source->ctx, on_gpu, &t, err);
    if (st == PP_OK && t.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the collectives of %s", source->path);
    if (st == PP_OK) {
        *any = t.n > 0;
        /* Disjoint: several at once cover their time once. */
        size_t kept = 0;
        if (t.n)
            qsort(t.at, t.n, sizeof(*t.at), by_start);
        for (size_t i = 0; i < t.n; i++) {
            struct time *last = kept ? &t.at[kept - 1] : NULL;
            if (last && t.at[i].start_ns <= last->end_ns)
                last->end_ns = t.at[i].end_ns > last->end_ns ? t.at[i].end_ns : last->end_ns;
            else
                t.at[kept++] = t.at[i];
        }
        t.n = kept;
        for (size_t i = 0, k = 0; i < n; i++) {
            struct pp_covered_step *s = &steps[i];
            while (k < t.n && t.at[k].end_ns <= s->start_ns)
                k++;
            for (size_t m = k; m < t.n && t.at[m].start_ns < s->end_ns; m++) {
                uint64_t from = t.at[m].start_ns > s->start_ns ? t.at[m].start_ns : s->start_ns,
                         to = t.at[m].end_ns < s->end_ns ? t.at[m].end_ns : s->end_ns;
                s->covered_ns += to > from ? to - from : 0;
            }
        }
    }
    free(t.at);
    return st;
}
