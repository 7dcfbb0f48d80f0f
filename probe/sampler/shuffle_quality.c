#include "probe/sampler/shuffle_quality.h"

#include "probe/base/std.h"

#define FORCED 0.20318786997997995 /* the root of f = exp(-2 (1 - f)) below 1 */
enum { STEPS = 128, LAGS = 16 };

/* T in units of B: STEPS equal parts of [0, 2), and 2 itself. */
struct times {
    double at[STEPS + 1], weight[STEPS + 1];
};

/* The chance that two outputs so far apart are of one block of that length. */
static double same_block(const struct times *t, double buffer, double block, double lag)
{
    double sum = 0;
    for (int i = 0; i <= STEPS; i++)
        for (int k = 0; k <= STEPS; k++) {
            double apart = fabs(lag + buffer * (t->at[i] - t->at[k]));
            sum += apart < block ? t->weight[i] * t->weight[k] * (1 - apart / block) : 0;
        }
    return sum;
}

struct shape {
    const struct times *t;
    double block, batch, samples, full; /* full: others of the own shard, fully shuffled */
};

/* Of two samples of a batch, a lag l occurs in b - l of the b (b - 1) / 2 pairs. */
static double own_shard(const struct shape *s, double buffer)
{
    double sum = 0, weights = 0;
    if (buffer >= s->samples)
        return s->full;
    for (int i = 0; i < LAGS; i++) {
        double lag = 1 + (s->batch - 1) * (i + 0.5) / LAGS, weight = fmax(s->batch - lag, 0);
        sum += weight * same_block(s->t, buffer, s->block, lag);
        weights += weight;
    }
    double same = weights > 0 ? sum / weights : same_block(s->t, buffer, s->block, 1);
    return fmax(s->full, (s->batch - 1) * same);
}

void pp_shuffle_quality(const struct pp_shuffle_setup *s, struct pp_shuffle_quality *out)
{
    struct times t;
    double buffer = fmax(s->buffer, 1), block = s->samples / s->shards;
    int full = buffer >= s->samples;
    double h = 1 - FORCED, step = 2.0 / STEPS;
    for (int i = 0; i < STEPS; i++) {
        t.at[i] = (i + 0.5) * step;
        t.weight[i] = exp(-h * i * step) - exp(-h * (i + 1) * step);
    }
    t.at[STEPS] = 2;
    t.weight[STEPS] = FORCED;
    struct shape shape = {&t, block, s->batch, s->samples,
                          s->samples > 1 ? (s->batch - 1) * (block - 1) / (s->samples - 1) : 0};
    /* The smallest buffer with less than one other of the own shard more than a full shuffle gives. */
    double low = 1, high = own_shard(&shape, 1) < shape.full + 1 ? 1 : s->samples;
    while (high - low > 1 && high / low > 1.005) {
        double middle = fmax(floor(sqrt(low * high)), low + 1); /* below high, and never low again */
        if (own_shard(&shape, middle) < shape.full + 1)
            high = middle;
        else
            low = middle;
    }
    *out = (struct pp_shuffle_quality){
        .most_places = full         ? s->samples - 1
                       : buffer > 1 ? buffer
                                    : 0,
        .spread_places = full         ? s->samples / 3
                         : buffer > 1 ? 2 * buffer * (exp(FORCED - 1) - FORCED) / (1 - FORCED)
                                      : 0,
        .own_shard = own_shard(&shape, buffer),
        .full_own_shard = shape.full,
        .class_run = NAN,
        .full_class_run = NAN,
        .enough_buffer = ceil(high),
    };
    if (!(s->class_run > 0) || !(s->class_same < 1))
        return;
    /* Shards in random order cut a run that goes on in the next one. */
    double p = full ? 0 : same_block(&t, buffer > 1 ? buffer : 0, fmin(s->class_run, block), 1);
    out->full_class_run = 1 / (1 - s->class_same);
    out->class_run = 1 / fmax((1 - p) * (1 - s->class_same), 1 / s->samples);
}
