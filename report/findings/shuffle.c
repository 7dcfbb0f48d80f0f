#include "report/findings/shuffle.h"

#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "probe/sampler/shuffle_quality.h"
#include "report/rules/remedies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 40 };
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

struct pp_shuffle_pass *pp_shuffle_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_shuffle_pass *p = calloc(1, sizeof(*p));
    (void)tl;
    if (!p)
        return NULL;
    const char *lease = source->meta(source->ctx, "config", "lease"),
               *resume = source->meta(source->ctx, "config", "resume"),
               *stream = source->meta(source->ctx, "config", "stream");
    double batch = pp_source_number(source, "config", "batch_size", 0);
    p->source = source;
    p->id.text = "stream_shard";
    p->first.text = "stream_shard_first";
    p->streamed = stream && strcmp(stream, "true") == 0;
    p->leased = lease && lease[0];
    p->resumed = resume && resume[0];
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

static int begin_shard(struct pp_shuffle_pass *p, uint64_t first)
{
    if (first == 0) { /* of an epoch */
        end_batch(p);
        p->n = 0;
        p->out = 0;
    }
    if (p->n && first <= p->shards[p->n - 1].first)
        return 0; /* a shard without a sample */
    if (p->n == MOST_SHARDS)
        return 0;
    if (p->n == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        struct shard *grown = realloc(p->shards, room * sizeof(*grown));
        if (!grown)
            return 1;
        p->shards = grown;
        p->room = room;
    }
    if (p->n) {
        p->sizes += first - p->shards[p->n - 1].first;
        p->sized++;
    }
    p->shards[p->n++] = (struct shard){.id = p->pending, .first = first, .batch = UINT32_MAX};
    return 0;
}

/* The shard of a sample, and its number in the order read. Of the shards begun the last few are looked at
 * first: the buffer holds samples of those. */
static struct shard *shard_of(struct pp_shuffle_pass *p, uint64_t sample, uint64_t *number)
{
    if (p->leased) {
        for (size_t i = p->n; i-- > 0;)
            if (p->shards[i].id == sample >> PLACE_BITS) {
                *number = p->shards[i].first + (sample & ((UINT64_C(1) << PLACE_BITS) - 1));
                return &p->shards[i];
            }
        return NULL;
    }
    size_t low = 0, high = p->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->shards[middle].first <= sample)
            low = middle;
        else
            high = middle;
    }
    *number = sample;
    return p->n && p->shards[low].first <= sample ? &p->shards[low] : NULL;
}

static void visit(struct pp_shuffle_pass *p, const struct pp_span *s)
{
    uint64_t number;
    struct shard *shard = shard_of(p, s->sample, &number);
    if (!shard)
        return;
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

int pp_shuffle_chunk(struct pp_shuffle_pass *p, uint32_t thread, const struct pp_span *spans, size_t n)
{
    (void)thread; /* one thread has these counters, the reader, and its spans come in their order */
    if (!p->streamed || !p->batch_size)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_READ && p->n && s->sample != PP_NO_SAMPLE &&
            !(s->flags & (PP_SPAN_COUNT | PP_SPAN_UNFINISHED | PP_SPAN_ERROR | PP_SPAN_RETRY)))
            visit(p, s);
        else if (pp_counter_is(&p->id, p->source, s))
            p->pending = s->bytes;
        else if (pp_counter_is(&p->first, p->source, s) && begin_shard(p, s->bytes))
            return 1;
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

void pp_findings_of_shuffle(const struct pp_shuffle_seen *s, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "stream-shuffle";
    char mean[CELL], most[CELL], batch[CELL], enough[CELL], bytes[CELL], part[CELL];
    struct pp_shuffle_quality q;
    if (!s->streamed)
        return;
    if (s->unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, s->unknown);
        return;
    }
    double samples = s->shard_samples * s->shards;
    pp_shuffle_quality(&(struct pp_shuffle_setup){.samples = samples,
                                                  .shards = s->shards,
                                                  .buffer = s->buffer,
                                                  .batch = s->batch,
                                                  .class_run = NAN,
                                                  .class_same = NAN},
                       &q);
    int found = s->own_shard >= q.full_own_shard + 1 && s->buffer < samples;
    double needed = fmin(q.enough_buffer, samples);
    const char *advice = found ? pp_arena_printf(arena, "; a shuffle buffer of %s samples (%s) is enough",
                                                 pp_text_count(enough, CELL, needed),
                                                 pp_text_bytes(bytes, CELL, needed * s->sample_bytes))
                               : "";
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            "a sample has %.1f others of its own shard in its batch of %s (%.1f in a full shuffle), %s of a batch is of one shard, and a sample comes %s places from its stored one (at most %s)%s",
            s->own_shard, pp_text_count(batch, CELL, s->batch), q.full_own_shard,
            pp_text_percent(part, CELL, s->largest_share), pp_text_count(mean, CELL, round(s->mean_places)),
            pp_text_count(most, CELL, s->most_places), advice));
    f->next_step = found ? pp_remedies[PP_REMEDY_SHUFFLE].sentence : NULL;
    pp_finding_number(f, "own_shard_samples", s->own_shard);
    pp_finding_number(f, "own_shard_samples_full", q.full_own_shard);
    pp_finding_number(f, "largest_shard_share", s->largest_share);
    pp_finding_number(f, "mean_places", s->mean_places);
    pp_finding_number(f, "most_places", s->most_places);
    pp_finding_number(f, "shuffle_buffer", s->buffer);
    pp_finding_number(f, "enough_buffer", needed);
    pp_finding_number(f, "enough_buffer_bytes", needed * s->sample_bytes);
}
