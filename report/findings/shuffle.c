#include "report/findings/checks.h"

#include "probe/base/array.h"
#include "report/findings/findings.h"

#include "probe/sampler/shuffle_quality.h"

enum { MOST_SHARDS = 1 << 22 }; /* what a recording may claim */

#define PLACE_BITS 32 /* of a leased sample's number: dataset.h */

struct shard {
    uint64_t id, first;    /* first: the number of its first sample in the order read */
    uint32_t batch, count; /* the batch it was last in, and how many of its samples that has */
};

struct pp_shuffle_pass {
    const struct pp_source *source;
    struct pp_counter_id id, first;
    int streamed, leased, resumed;
    uint64_t batch_size;
    struct shard *shards; /* begun in this epoch */
    size_t n, room;
    uint64_t pending;      /* the shard whose first number comes next */
    uint64_t out;          /* samples of the epoch that were handed out */
    uint64_t sizes, sized; /* samples and number of the shards that were read to the end */
    double visits, places, most, others, largest, batches, bytes;
    uint32_t in_batch, top;
};

struct pp_shuffle_pass *pp_shuffle_begin(const struct pp_source *source)
{
    struct pp_shuffle_pass *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    double batch = pp_source_number(source, "config", "batch_size", 0);
    p->source = source;
    p->id.text = "stream_shard";
    p->first.text = "stream_shard_first";
    p->streamed = pp_source_is(source, "stream", "true");
    p->leased = pp_source_has(source, "lease");
    p->resumed = pp_source_has(source, "resume");
    p->batch_size = batch >= 1 && batch < 1e9 ? (uint64_t)batch : 0;
    return p;
}

static void end_batch(struct pp_shuffle_pass *p)
{
    if (p->in_batch) {
        p->largest += (double)p->top / p->in_batch;
        p->batches++;
    }
    p->in_batch = p->top = 0;
}

static void visit(struct pp_shuffle_pass *p, const struct pp_span *s)
{
    /* Its shard, and its number in the order read. Of the shards begun the last few are looked at first: the
     * buffer holds samples of those. */
    uint64_t number = s->sample;
    size_t begun = p->n;
    if (p->leased)
        while (begun > 0 && p->shards[begun - 1].id != s->sample >> PLACE_BITS)
            begun--;
    else
        begun = PP_BEFORE(p->n, i, p->shards[i].first <= s->sample);
    if (!begun)
        return;
    struct shard *shard = &p->shards[begun - 1];
    if (p->leased)
        number = shard->first + (s->sample & ((UINT64_C(1) << PLACE_BITS) - 1));
    uint32_t batch = (uint32_t)(p->out / p->batch_size);
    double apart = fabs((double)p->out - (double)number);
    if (p->out % p->batch_size == 0)
        end_batch(p);
    if (shard->batch != batch) {
        shard->batch = batch;
        shard->count = 0;
    }
    p->others += 2.0 * shard->count++; /* it has those before it, and each of them has it */
    p->top = shard->count > p->top ? shard->count : p->top;
    p->in_batch++;
    p->out++;
    p->visits++;
    p->places += apart;
    p->most = fmax(p->most, apart);
    p->bytes += (double)s->bytes;
}

/* One thread has these counters, the reader, and its spans come in their order. */
int pp_shuffle_chunk(struct pp_shuffle_pass *p, const struct pp_span *spans, size_t n)
{
    if (!p->streamed || !p->batch_size)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        int of_first = 0;
        if (s->phase == PP_PHASE_READ && p->n && s->sample != PP_NO_SAMPLE &&
            !(s->flags & (PP_SPAN_COUNT | PP_SPAN_UNFINISHED | PP_SPAN_ERROR | PP_SPAN_RETRY)))
            visit(p, s);
        else if (pp_counter_is(&p->id, p->source, s))
            p->pending = s->bytes;
        else
            of_first = pp_counter_is(&p->first, p->source, s);
        if (!of_first)
            continue;
        if (s->bytes == 0) { /* of an epoch */
            end_batch(p);
            p->n = 0;
            p->out = 0;
        }
        if ((p->n && s->bytes <= p->shards[p->n - 1].first) || p->n == MOST_SHARDS)
            continue; /* a shard without a sample */
        if (!pp_grow(&p->shards, &p->room, p->n + 1, sizeof(*p->shards)))
            return 1;
        if (p->n) {
            p->sizes += s->bytes - p->shards[p->n - 1].first;
            p->sized++;
        }
        p->shards[p->n++] = (struct shard){.id = p->pending, .first = s->bytes, .batch = UINT32_MAX};
    }
    return 0;
}

void pp_shuffle_end(struct pp_shuffle_pass *p, struct pp_shuffle_seen *out)
{
    *out = (struct pp_shuffle_seen){0};
    if (!p)
        return;
    out->streamed = p->streamed;
    end_batch(p);
    out->batch = (double)p->batch_size;
    out->buffer = fmax(pp_source_number(p->source, "config", "shuffle_buffer", 0), 1);
    out->shards = pp_source_number(p->source, "config", "stream_shards", NAN);
    out->shard_samples = p->sized ? (double)p->sizes / (double)p->sized : NAN;
    out->visits = p->visits;
    out->most_places = p->most;
    out->mean_places = p->visits > 0 ? p->places / p->visits : NAN;
    out->own_shard = p->visits > 0 ? p->others / p->visits : NAN;
    out->largest_share = p->batches > 0 ? p->largest / p->batches : NAN;
    out->sample_bytes = p->visits > 0 ? p->bytes / p->visits : NAN;
    out->unknown = p->resumed ? "the run went on in the middle of an epoch (--resume)"
                   : !(p->visits > 0) || !(out->shards > 0) ? "no span of the shard reader names a sample"
                   : !p->sized                              ? "no shard was read to its end"
                                                            : NULL;
    free(p->shards);
    free(p);
}

void pp_measure_shuffle(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_shuffle_seen *s = &from->checks->shuffle;
    struct pp_shuffle_quality q;
    double *m = f->number, samples = s->shard_samples * s->shards;
    if (!s->streamed)
        return;
    m[PP_FINDING_SHUFFLE_STREAMED] = 1;
    f->text[PP_FINDING_SHUFFLE_UNKNOWN] = s->unknown;
    if (s->unknown)
        return;
    pp_shuffle_quality(&(struct pp_shuffle_setup){.samples = samples,
                                                  .shards = s->shards,
                                                  .buffer = s->buffer,
                                                  .batch = s->batch,
                                                  .class_run = NAN,
                                                  .class_same = NAN},
                       &q);
    double enough = fmin(q.enough_buffer, samples);
    m[PP_FINDING_SHUFFLE_OWN] = s->own_shard;
    m[PP_FINDING_SHUFFLE_FULL] = q.full_own_shard;
    m[PP_FINDING_SHUFFLE_MORE] = s->own_shard - q.full_own_shard;
    m[PP_FINDING_SHUFFLE_LARGEST] = s->largest_share;
    m[PP_FINDING_SHUFFLE_MEAN_PLACES] = s->mean_places;
    m[PP_FINDING_SHUFFLE_MOST_PLACES] = s->most_places;
    m[PP_FINDING_SHUFFLE_BUFFER] = s->buffer;
    m[PP_FINDING_SHUFFLE_BUFFER_SHARE] = s->buffer / samples;
    m[PP_FINDING_SHUFFLE_ENOUGH] = enough;
    m[PP_FINDING_SHUFFLE_ENOUGH_BYTES] = enough * s->sample_bytes;
    m[PP_FINDING_SHUFFLE_BATCH] = s->batch;
}
