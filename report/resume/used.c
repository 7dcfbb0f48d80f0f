#include "report/resume/used.h"
#include "probe/base/array.h"
#include "probe/base/err.h"

struct noting {
    struct resume_used *row;
    size_t n, room;
    int no_memory, lost;
};

static int note_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct noting *t = ctx;
    for (size_t i = 0; i < n && !t->no_memory; i++) {
        const struct pp_span *s = &spans[i];
        int of_sample = s->sample != PP_NO_SAMPLE && !(s->flags & PP_SPAN_COUNT);
        if (s->batch == PP_NO_BATCH ||
            (!of_sample && s->phase != PP_PHASE_DATA_WAIT && s->phase != PP_PHASE_EPOCH_BOUNDARY))
            continue;
        if (pp_grow(&t->row, &t->room, t->n + 1, sizeof(*t->row)))
            t->row[t->n++] = (struct resume_used){s->batch, s->epoch, of_sample ? s->sample : PP_NO_SAMPLE};
        else
            t->no_memory = 1;
    }
    return t->no_memory;
}

PP_BY_BOTH(by_sample, struct resume_used, batch, sample)

static void note_loss(void *ctx, const char *what, uint64_t n, const char *why)
{
    struct noting *t = ctx;
    t->lost |= n && what && strcmp(what, "spans") == 0;
}

pp_status resume_used_read(const struct pp_source *source, struct resume_used **rows, size_t *n, int *lost,
                           struct pp_err *err)
{
    const struct pp_wanted wanted = {.columns = PP_COLUMN_PHASE | PP_COLUMN_BATCH | PP_COLUMN_FLAGS |
                                                PP_COLUMN_SAMPLE | PP_COLUMN_EPOCH};
    struct noting t = {0};
    uint64_t bad = 0;
    pp_status st = source->each_chunk(source->ctx, &wanted, note_spans, &t, &bad, err);
    if (st == PP_OK)
        st = source->each_loss(source->ctx, note_loss, &t, err);
    if (st == PP_OK && t.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s", source->path);
    if (t.n)
        qsort(t.row, t.n, sizeof(*t.row), by_sample);
    *rows = t.row;
    *n = t.n;
    *lost |= t.lost || bad > 0;
    return st;
}
