#include "probe/columns/encodings.h"

#include "probe/base/bytes.h"

/* ---- the hybrid ---- */

static int next_run(struct pp_runs *r)
{
    uint64_t head;
    unsigned bytes = (r->width + 7) / 8;
    if (!pp_varint_get(&r->at, r->end, &head) || head >> 1 == 0)
        return -1;
    if (head & 1) {
        if (head >> 1 > UINT64_MAX / 64)
            return -1;
        r->packed = (head >> 1) * 8;
        r->bits = 0;
        r->n_bits = 0;
        return 0;
    }
    if ((size_t)(r->end - r->at) < bytes)
        return -1;
    r->run = head >> 1;
    r->value = 0;
    for (unsigned i = 0; i < bytes; i++)
        r->value |= (uint32_t)*r->at++ << 8 * i;
    return 0;
}

int pp_runs_take(struct pp_runs *r, uint32_t *out, size_t n)
{
    const uint64_t mask = ((uint64_t)1 << r->width) - 1;
    while (n > 0) {
        if (r->run == 0 && r->packed == 0 && next_run(r) != 0)
            return -1;
        uint64_t left = r->run ? r->run : r->packed;
        size_t now = left < n ? (size_t)left : n;
        if (r->run) {
            for (size_t i = 0; i < now; i++)
                out[i] = r->value;
            r->run -= now;
        } else {
            for (size_t i = 0; i < now; i++) {
                while (r->n_bits < r->width) {
                    if (r->at == r->end)
                        return -1;
                    r->bits |= (uint64_t)*r->at++ << r->n_bits;
                    r->n_bits += 8;
                }
                out[i] = (uint32_t)(r->bits & mask);
                r->bits >>= r->width;
                r->n_bits -= r->width;
            }
            r->packed -= now;
        }
        out += now;
        n -= now;
    }
    return 0;
}

/* ---- deltas ---- */

struct delta {
    const uint8_t *at, *end;
    uint64_t per_mini; /* values of a miniblock */
    uint64_t value;
};

static uint64_t from_zigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

/* `now` values of a miniblock of d->per_mini, whose padding is passed over. */
static int take_mini(struct delta *d, uint64_t least, unsigned width, int64_t *out, size_t now)
{
    uint64_t bytes = d->per_mini / 8 * width;
    if (width > 64 || bytes > (size_t)(d->end - d->at))
        return -1;
    const uint8_t *at = d->at;
    unsigned __int128 bits = 0;
    unsigned n_bits = 0;
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    for (size_t i = 0; i < now; i++) {
        while (n_bits < width) {
            bits |= (unsigned __int128)*at++ << n_bits;
            n_bits += 8;
        }
        d->value += least + ((uint64_t)bits & mask);
        out[i] = (int64_t)d->value;
        bits >>= width;
        n_bits -= width;
    }
    d->at += bytes;
    return 0;
}

int pp_delta_take(const uint8_t *bytes, size_t size, int64_t *out, size_t n, size_t *used)
{
    enum { MOST_BLOCK = 1 << 20 };
    struct delta d = {.at = bytes, .end = bytes + size};
    uint64_t block, minis, total, first, least; /* block: values of one, in miniblocks */
    if (!pp_varint_get(&d.at, d.end, &block) || !pp_varint_get(&d.at, d.end, &minis) ||
        !pp_varint_get(&d.at, d.end, &total) || !pp_varint_get(&d.at, d.end, &first))
        return -1;
    if (block == 0 || block > MOST_BLOCK || minis == 0 || block % minis != 0 || total != n)
        return -1;
    d.per_mini = block / minis;
    d.value = from_zigzag(first);
    if (d.per_mini % 8 != 0)
        return -1;
    if (n > 0)
        out[0] = (int64_t)d.value;
    for (size_t i = 1; i < n;) {
        if (!pp_varint_get(&d.at, d.end, &least) || minis > (size_t)(d.end - d.at))
            return -1;
        const uint8_t *width = d.at;
        d.at += minis;
        for (uint64_t k = 0; k < minis && i < n; k++) {
            size_t now = n - i < d.per_mini ? n - i : (size_t)d.per_mini;
            if (take_mini(&d, from_zigzag(least), width[k], out + i, now) != 0)
                return -1;
            i += now;
        }
    }
    *used = (size_t)(d.at - bytes);
    return 0;
}
