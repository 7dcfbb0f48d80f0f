#include "report/compare/load.h"

#include "probe/base/err.h"
#include "collectors/store/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* span.epoch has 16 bits; a run with more would count two as one, so nothing is said of it */
#define EPOCHS 65536

struct tally {
    uint64_t bytes, batches, samples, errors;
};

struct walk {
    struct tally *epoch;
    unsigned last;  /* the last epoch of which the trainer saw a batch */
    unsigned first; /* the first */
    int any;
    const struct pp_thread_row *threads;
    size_t n_threads;
};

static int on_trainer(const struct walk *w, uint32_t thread)
{
    for (size_t i = 0; i < w->n_threads; i++)
        if (w->threads[i].id == thread)
            return w->threads[i].lane == PP_LANE_TRAINER;
    return 0;
}

static int delivers(const struct pp_span *s)
{
    return (s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY) && s->batch != PP_NO_BATCH;
}

static int add_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct walk *w = ctx;
    int trainer = on_trainer(w, thread);
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        struct tally *t = &w->epoch[s->epoch];
        t->bytes += s->phase == PP_PHASE_READ ? s->bytes : 0;
        t->errors += (s->flags & PP_SPAN_ERROR) != 0;
        if (!trainer || !delivers(s))
            continue;
        t->batches++;
        t->samples += s->flags & PP_SPAN_COUNT ? s->sample : 0;
        w->first = !w->any || s->epoch < w->first ? s->epoch : w->first;
        w->last = !w->any || s->epoch > w->last ? s->epoch : w->last;
        w->any = 1;
    }
    return 0;
}

static int is(const char *text, const char *want)
{
    return text && strcmp(text, want) == 0;
}

static void sum(struct pp_reader *r, const struct walk *w, struct pp_epoch_counts *out)
{
    const char *resumed = pp_reader_meta(r, "config", "resume");
    if (!w->any)
        return;
    int begun_before = resumed && resumed[0], ended = is(pp_reader_meta(r, "result", "ended_by"), "epochs");
    unsigned from = w->first + (begun_before ? 1 : 0); /* it began in the middle */
    unsigned to = w->last + (ended ? 1 : 0);
    out->whole = ended && !begun_before;
    for (unsigned e = from; e < to; e++) {
        const struct tally *t = &w->epoch[e];
        if (!t->batches)
            continue;
        out->bytes += (double)t->bytes;
        out->batches += (double)t->batches;
        out->samples += (double)t->samples;
        out->errors += (double)t->errors;
        out->epochs++;
    }
}

pp_status pp_count_epochs(const char *path, struct pp_epoch_counts *out, struct pp_err *err)
{
    struct walk w = {.epoch = calloc(EPOCHS, sizeof(struct tally))};
    struct pp_reader *r = NULL;
    uint64_t bad_chunks = 0;
    double epoch = 0;
    *out = (struct pp_epoch_counts){.lossless = 1, .opens = NAN, .reads = NAN};
    pp_status st = w.epoch ? pp_reader_open(path, &r, err)
                           : pp_fail(err, PP_E_NO_MEMORY, "no memory to count the epochs of %s", path);
    if (st != PP_OK)
        goto out;
    w.n_threads = pp_reader_threads(r, &w.threads);
    st = pp_reader_each_chunk(r, add_spans, &w, &bad_chunks, err);
    if (st != PP_OK)
        goto out;
    out->lossless = bad_chunks == 0;
    for (size_t i = 0; i < w.n_threads; i++)
        out->lossless &= w.threads[i].dropped == 0;
    if (!pp_reader_meta_num(r, "result", "opens", &out->opens) ||
        !pp_reader_meta_num(r, "result", "reads", &out->reads))
        out->opens = out->reads = NAN;
    if (!pp_reader_meta_num(r, "result", "epoch", &epoch) || epoch < EPOCHS - 1)
        sum(r, &w, out);
out:
    pp_reader_close(r);
    free(w.epoch);
    return st;
}
