#include "probe/base/sample_list.h"

static uint8_t *put(uint8_t *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *out++ = (uint8_t)(v | 0x80);
    *out++ = (uint8_t)v;
    return out;
}

uint8_t *pp_sample_list_put_batch(uint8_t *out, uint64_t n)
{
    return put(out, n + 1);
}

uint8_t *pp_sample_list_put_unknown(uint8_t *out)
{
    return put(out, 0);
}

uint8_t *pp_sample_list_put(uint8_t *out, uint64_t sample, uint64_t *last)
{
    uint64_t d = sample - *last;
    *last = sample;
    return put(out, d << 1 ^ (uint64_t)((int64_t)d >> 63));
}

static int get(struct pp_sample_list *l, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; l->at < l->end && shift < 64; shift += 7) {
        uint8_t byte = *l->at++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return 1;
    }
    l->damaged = 1;
    return 0;
}

int pp_sample_list_next(struct pp_sample_list *l, uint64_t *sample)
{
    uint64_t d;
    if (!l->left || l->damaged || !get(l, &d))
        return 0;
    l->left--;
    l->last += d >> 1 ^ -(d & 1);
    *sample = l->last;
    return 1;
}

int pp_sample_list_batch(struct pp_sample_list *l, uint64_t *n)
{
    uint64_t v, sample;
    while (pp_sample_list_next(l, &sample)) {
    }
    if (l->damaged || l->at == l->end || !get(l, &v))
        return 0;
    *n = v ? v - 1 : UINT64_MAX;
    l->left = v ? v - 1 : 0;
    return 1;
}
