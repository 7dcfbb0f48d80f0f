/* storage/s3_page.h: names and listings of S3. Pure functions; a server's answer is a stranger's text. */
#pragma once

#include "probe/storage/storage.h"

enum { PP_S3_BUCKET = 64, PP_S3_KEY = 1025, PP_S3_TOKEN = 2049 };

struct pp_s3_name {
    char bucket[PP_S3_BUCKET], key[PP_S3_KEY]; /* key without a slash in front; "": the bucket itself */
};
/* "s3://BUCKET/KEY", taken literally. -1: not such a name, or too long. */
int pp_s3_parse_name(const char *name, struct pp_s3_name *out);
/* "BUCKET.s3.eu-west-1.amazonaws.com", "s3.dualstack.eu-west-1...", "s3.amazonaws.com", "s3-eu-west-1...":
 * what stands behind the part "s3" is a region. Other hosts of that domain are customers' (elb, execute-api,
 * ...). */
int pp_s3_is_own_host(const char *host);

/* One answer to ListObjectsV2. */
struct pp_s3_page {
    const char *prefix; /* asked for; entries are named without it, others are passed over */
    pp_entry_fn *each;
    void *ctx;
    /* answered */
    size_t entries, names;   /* names: their bytes and 16 for each, a listing's cost */
    int more;                /* there are further pages */
    char token[PP_S3_TOKEN]; /* that the next one is asked for with */
};
/* PP_E_CORRUPT: the text is no listing; else what each returned. name: for the sentence. */
pp_status pp_s3_page_parse(struct pp_s3_page *page, const char *xml, size_t size, const char *name,
                           struct pp_err *err);

/* As much XML as object stores answer with: elements and text, without attributes' meaning, entities of their
 * own or processing instructions. What is more than that ends the walk with -1. Pure functions over a bounded
 * text, any thread; a stranger's bytes: depth and lengths are bounded, nothing is allocated. */

enum { PP_XML_TEXT = 4096, PP_XML_DEPTH = 16 };

/* An element without elements inside, when it ends. parent, name: without a prefix ("s3:Key" is "Key"); text:
 * decoded, NULL when it is longer than PP_XML_TEXT. Not 0 ends the walk, and is returned. */
typedef int pp_xml_leaf_fn(void *ctx, const char *parent, const char *name, const char *text);

/* The text of the first leaf of that name; "" when there is none, or it is too long. */
void pp_xml_find(const char *xml, size_t size, const char *name, char *out, size_t out_size);
