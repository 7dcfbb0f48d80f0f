#include "probe/base/sample_list.h"

#include "probe/base/bytes.h"

uint8_t *pp_sample_list_put_batch(uint8_t *out, uint64_t n)
{
    return pp_varint_put(out, n + 1);
}

uint8_t *pp_sample_list_put(uint8_t *out, uint64_t sample, uint64_t *last)
{
    uint64_t d = sample - *last;
    *last = sample;
    return pp_varint_put(out, d << 1 ^ (uint64_t)((int64_t)d >> 63));
}

int pp_sample_list_next(struct pp_sample_list *l, uint64_t *sample)
{
    uint64_t d;
    if (!l->left || l->damaged)
        return 0;
    if (!pp_varint_get(&l->at, l->end, &d)) {
        l->damaged = 1;
        return 0;
    }
    l->left--;
    l->last += pp_zigzag_get(d);
    *sample = l->last;
    return 1;
}

int pp_sample_list_batch(struct pp_sample_list *l, uint64_t *n)
{
    uint64_t v, sample;
    while (pp_sample_list_next(l, &sample)) {
    }
    if (l->damaged || l->at == l->end)
        return 0;
    if (!pp_varint_get(&l->at, l->end, &v)) {
        l->damaged = 1;
        return 0;
    }
    *n = v ? v - 1 : UINT64_MAX;
    l->left = v ? v - 1 : 0;
    return 1;
}
