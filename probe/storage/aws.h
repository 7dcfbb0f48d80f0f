/* storage/aws.h: whose requests to a bucket are: region, endpoint, and credentials, found where AWS's own
 * tools find them. In this order: AWS_NO_SIGN_REQUEST=YES (anonymous); AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; a web identity (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN:
 * EKS); the profile of AWS_PROFILE, or "default", in ~/.aws/credentials and ~/.aws/config; a container's
 * endpoint (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI: ECS, EKS); the instance's (EC2, unless
 * AWS_EC2_METADATA_DISABLED=true). With none of these requests are anonymous.
 *
 * Temporary credentials are fetched anew 5 minutes before they end, and when a server says that they have.
 * Secrets are in memory alone: no message, recording or environment of a child has them. Any thread. */
#pragma once

#include "probe/net/http.h"

#include <time.h>

/* AWS Signature Version 4 of a request without a body to speak of (docs.aws.amazon.com, "Create a signed AWS
 * API request"). libcurl has a signer too, whose 7.88 neither sorts a query nor encodes a path; here the
 * caller hands in both as they are sent. Pure functions, any thread; tested with AWS's published examples. */

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

/* SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), for signing requests. No allocation, any thread. */

enum { PP_SHA256_SIZE = 32, PP_SHA256_HEX = 2 * PP_SHA256_SIZE + 1 };

struct pp_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

/* begin -> add, any number of times -> end */
extern const struct pp_sha256 pp_sha256_initial; /* of no bytes */
void pp_sha256_add(struct pp_sha256 *s, const void *bytes, size_t size);
void pp_sha256_end(struct pp_sha256 *s, uint8_t out[PP_SHA256_SIZE]);

struct pp_bytes {
    const void *at;
    size_t size;
};
/* out may be the key's own bytes. */
void pp_hmac_sha256(struct pp_bytes key, struct pp_bytes text, uint8_t out[PP_SHA256_SIZE]);

void pp_sha256_hex(const uint8_t digest[PP_SHA256_SIZE], char out[PP_SHA256_HEX]);

/* ---- credentials and places ---- */

struct pp_aws;

/* http: borrowed. PP_E_USAGE for a profile that is named and not there, or of a kind that is not read. */
pp_status pp_aws_open(struct pp_http *http, struct pp_aws **out, struct pp_err *err);
void pp_aws_close(struct pp_aws *a);

struct pp_aws_place {
    char region[64];    /* "us-east-1" where nothing says */
    char endpoint[512]; /* "http://host:9000", or "" for AWS's own */
};
const struct pp_aws_place *pp_aws_place(const struct pp_aws *a);

/* *keys has an empty id when requests are to be anonymous. Fetches what is not there or about to end. */
pp_status pp_aws_keys(struct pp_aws *a, struct pp_aws_keys *keys, struct pp_err *err);
/* The server refused the keys with this id as having ended. 1: others can be had. */
int pp_aws_expire(struct pp_aws *a, const char *id);

/* The answer of a container's or instance's endpoint. -1: it holds none, and keys are empty. ends: seconds
 * since 1970; 0: never. For aws.c and tests. */
int pp_aws_parse_json(const char *text, size_t size, struct pp_aws_keys *keys, time_t *ends);
/* "2026-11-23T05:00:00Z", with or without a fraction; 0: not a time. */
time_t pp_aws_parse_time(const char *text);

/* The profile files of AWS (~/.aws/credentials, ~/.aws/config), of which a value is wanted: lines
 * "[NAME]" and "key = value", comments from "#" or ";". Pure function over a bounded text, any thread. */

/* The value of key in the sections called name, or, as ~/.aws/config has them, "profile NAME". 1: found; 0:
 * not there, or longer than the room for it, or with a control character. key NULL: whether there is such a
 * section. */
int pp_ini_get(const char *text, size_t size, const char *name, const char *key, char *out, size_t out_size);
