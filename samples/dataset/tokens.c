#include "probe/base/rng.h"
#include "samples/dataset/extras.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define VOCABULARY 50257 /* GPT-2's, the usual reason for uint16 tokens */

static int ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && strcmp(s + n - m, tail) == 0;
}

/* NumPy format 1.0: magic, version, header length, a Python dict padded with blanks so that data starts at a
 * multiple of 64. */
static int write_npy_header(FILE *f, uint64_t n)
{
    char dict[118];
    uint8_t lead[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof dict, 0};
    int len = snprintf(dict, sizeof dict, "{'descr': '<u2', 'fortran_order': False, 'shape': (%llu,), }",
                       (unsigned long long)n);
    memset(dict + len, ' ', sizeof dict - (size_t)len);
    dict[sizeof dict - 1] = '\n';
    return fwrite(lead, 1, sizeof lead, f) == sizeof lead && fwrite(dict, 1, sizeof dict, f) == sizeof dict;
}

static int write_values(FILE *f, uint64_t n, uint64_t seed)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, STREAM_TOKENS);
    uint8_t block[8192];
    while (n > 0) {
        size_t k = n < sizeof block / 2 ? (size_t)n : sizeof block / 2;
        for (size_t i = 0; i < k; i++) {
            /* Log-uniform rank: frequency falls as 1 / rank (Zipf). */
            unsigned token = (unsigned)exp(pp_rng_unit(&r) * log(VOCABULARY)) % VOCABULARY;
            block[2 * i] = (uint8_t)token; /* little-endian whatever the machine */
            block[2 * i + 1] = (uint8_t)(token >> 8);
        }
        if (fwrite(block, 2, k, f) != k)
            return 0;
        n -= k;
    }
    return 1;
}

pp_status write_tokens(const char *path, uint64_t n, uint64_t seed, struct pp_err *err)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return pp_fail_errno(err, errno, "cannot create %s", path);
    int ok = (!ends_with(path, ".npy") || write_npy_header(f, n)) && write_values(f, n, seed);
    if (fclose(f) != 0 || !ok)
        return pp_fail_errno(err, errno, "cannot write %s", path);
    return PP_OK;
}
