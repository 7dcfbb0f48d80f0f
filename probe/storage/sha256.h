/* storage/sha256.h: SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), for signing requests. No allocation,
 * any thread. */
#ifndef PP_STORAGE_SHA256_H
#define PP_STORAGE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { PP_SHA256_SIZE = 32, PP_SHA256_HEX = 2 * PP_SHA256_SIZE + 1 };

struct pp_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

/* begin -> add, any number of times -> end */
void pp_sha256_begin(struct pp_sha256 *s);
void pp_sha256_add(struct pp_sha256 *s, const void *bytes, size_t size);
void pp_sha256_end(struct pp_sha256 *s, uint8_t out[PP_SHA256_SIZE]);

struct pp_bytes {
    const void *at;
    size_t size;
};
/* out may be the key's own bytes. */
void pp_hmac_sha256(struct pp_bytes key, struct pp_bytes text, uint8_t out[PP_SHA256_SIZE]);

void pp_sha256_hex(const uint8_t digest[PP_SHA256_SIZE], char out[PP_SHA256_HEX]);

#endif
