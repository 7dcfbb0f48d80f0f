/* storage/sigv4.h: AWS Signature Version 4 of a request without a body to speak of (docs.aws.amazon.com,
 * "Create a signed AWS API request"). libcurl has a signer too, whose 7.88 neither sorts a query nor encodes
 * a path; here the caller hands in both as they are sent. Pure functions, any thread; tested with AWS's
 * published examples. */
#ifndef PP_STORAGE_SIGV4_H
#define PP_STORAGE_SIGV4_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* SHA-256 of no bytes at all */
#define PP_SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct pp_aws_keys {
    char id[128], secret[256], token[8192]; /* token: "" unless they are temporary */
};

struct pp_sigv4_header {
    const char *name;  /* lower case */
    const char *value; /* without space around it */
};

struct pp_sigv4 {
    const char *method;
    const char *path;                     /* encoded, from the first slash on */
    const char *query;                    /* encoded, each key with its "=", sorted; "" for none */
    const struct pp_sigv4_header *header; /* that are signed, sorted by name: host and x-amz-date at least */
    size_t headers;
    const char *payload; /* SHA-256 of the body in hex, or UNSIGNED-PAYLOAD */
    const char *date;    /* the value of x-amz-date */
    const char *region, *service;
};

enum { PP_SIGV4_DATE = 17 }; /* "20130524T000000Z" */
void pp_sigv4_date(time_t now, char out[PP_SIGV4_DATE]);

/* The value of the Authorization header. -1: longer than size. */
int pp_sigv4_sign(const struct pp_sigv4 *s, const struct pp_aws_keys *keys, char *out, size_t size);

/* Storage/sha256.h: SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), for signing requests. No allocation,
 * any thread. */

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
