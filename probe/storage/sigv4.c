#include "probe/storage/aws.h"

#include "probe/base/bytes.h"

#define ALGORITHM "AWS4-HMAC-SHA256"

void pp_sigv4_date(time_t now, char out[PP_SIGV4_DATE])
{
    struct tm t;
    gmtime_r(&now, &t);
    strftime(out, PP_SIGV4_DATE, "%Y%m%dT%H%M%SZ", &t);
}

static void add_text(struct pp_sha256 *h, const char *text, const char *end)
{
    pp_sha256_add(h, text, strlen(text));
    pp_sha256_add(h, end, strlen(end));
}

static void derive(uint8_t key[PP_SHA256_SIZE], const char *text)
{
    pp_hmac_sha256((struct pp_bytes){key, PP_SHA256_SIZE}, (struct pp_bytes){text, strlen(text)}, key);
}

int pp_sigv4_sign(const struct pp_sigv4 *s, const struct pp_aws_keys *keys, char *out, size_t size)
{
    char scope[192], text[512], request[PP_SHA256_HEX], signature[PP_SHA256_HEX], names[512] = "";
    uint8_t key[PP_SHA256_SIZE];
    size_t n = 0;
    struct pp_sha256 h;
    uint8_t digest[PP_SHA256_SIZE];
    for (size_t i = 0; i < s->headers && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ";" : "", s->header[i].name);
    h = pp_sha256_initial;
    add_text(&h, s->method, "\n");
    add_text(&h, s->path, "\n");
    add_text(&h, s->query, "\n");
    for (size_t i = 0; i < s->headers; i++) {
        add_text(&h, s->header[i].name, ":");
        add_text(&h, s->header[i].value, "\n");
    }
    add_text(&h, "\n", names);
    add_text(&h, "\n", s->payload);
    pp_sha256_end(&h, digest);
    pp_sha256_hex(digest, request);
    int scoped = snprintf(scope, sizeof(scope), "%.8s/%s/%s/aws4_request", s->date, s->region, s->service);
    if (scoped >= (int)sizeof(scope) || n >= sizeof(names))
        return -1;
    snprintf(text, sizeof(text), ALGORITHM "\n%s\n%s\n%s", s->date, scope, request);
    /* The key of one day, region and service. */
    char first[sizeof(keys->secret) + 4];
    int first_size = snprintf(first, sizeof(first), "AWS4%s", keys->secret);
    pp_hmac_sha256((struct pp_bytes){first, (size_t)first_size}, (struct pp_bytes){s->date, 8}, key);
    derive(key, s->region);
    derive(key, s->service);
    derive(key, "aws4_request");
    explicit_bzero(first, sizeof(first));
    derive(key, text);
    pp_sha256_hex(key, signature);
    int written = snprintf(out, size, ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s", keys->id,
                           scope, names, signature);
    return written >= 0 && (size_t)written < size ? 0 : -1;
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t K[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
                               0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
                               0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
                               0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
                               0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
                               0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
                               0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
                               0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
                               0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
                               0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
                               0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

const struct pp_sha256 pp_sha256_initial = {.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};

static uint32_t rotated(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

void pp_sha256_add(struct pp_sha256 *s, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size > 0) {
        size_t held = s->bytes & 63, n = 64 - held < size ? 64 - held : size;
        memcpy(s->block + held, from, n);
        s->bytes += n;
        from += n;
        size -= n;
        if (held + n == 64) {
            uint32_t w[16], v[8];
            for (int t = 0; t < 16; t++)
                w[t] = pp_be32(s->block + 4 * t);
            memcpy(v, s->state, sizeof(v));
            for (int t = 0; t < 64; t++) {
                /* From the 16th word on, the message schedule of 6.2.2 in a window of 16 words. */
                uint32_t a = w[(t + 1) & 15], b = w[(t + 14) & 15];
                w[t & 15] += t < 16 ? 0
                                    : (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[(t + 9) & 15] +
                                          (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
                uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
                uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                uint32_t one = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) + choice +
                               K[t] + w[t & 15];
                uint32_t two = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) + majority;
                memmove(v + 1, v, 7 * sizeof(*v));
                v[4] += one;
                v[0] = one + two;
            }
            for (int i = 0; i < 8; i++)
                s->state[i] += v[i];
        }
    }
}

void pp_sha256_end(struct pp_sha256 *s, uint8_t out[PP_SHA256_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(s->bytes * 8 >> (56 - 8 * i));
    pp_sha256_add(s, padding, 1 + (119 - (s->bytes & 63)) % 64);
    pp_sha256_add(s, length, sizeof(length));
    for (int i = 0; i < PP_SHA256_SIZE; i++)
        out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void pp_hmac_sha256(struct pp_bytes key, struct pp_bytes text, uint8_t out[PP_SHA256_SIZE])
{
    struct pp_sha256 s;
    uint8_t inner[64] = {0}, outer[64];
    if (key.size > sizeof(inner)) {
        s = pp_sha256_initial;
        pp_sha256_add(&s, key.at, key.size);
        pp_sha256_end(&s, inner);
    } else {
        memcpy(inner, key.at, key.size);
    }
    for (int i = 0; i < 64; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    s = pp_sha256_initial;
    pp_sha256_add(&s, inner, sizeof(inner));
    pp_sha256_add(&s, text.at, text.size);
    pp_sha256_end(&s, out);
    s = pp_sha256_initial;
    pp_sha256_add(&s, outer, sizeof(outer));
    pp_sha256_add(&s, out, PP_SHA256_SIZE);
    pp_sha256_end(&s, out);
}

void pp_sha256_hex(const uint8_t digest[PP_SHA256_SIZE], char out[PP_SHA256_HEX])
{
    for (int i = 0; i < PP_SHA256_SIZE; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[PP_SHA256_HEX - 1] = '\0';
}
