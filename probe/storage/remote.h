/* storage/remote.h: objects behind HTTP requests, for the storages that are made of them (web.c: http and
 * https; s3.c: buckets). What they share is here: ranged reads that are verified, the ETag of an object that
 * must stay the same, redirects, what a status means, retries. A kind says how a name becomes a request.
 *
 * An object is opened without a request. The first one that asks for it learns its size and ETag; from then
 * on an answer with another ETag is PP_E_CORRUPT. If a server ignores ranges, objects up to 64 MiB are
 * downloaded whole and kept in memory, 512 MiB in all.
 *
 * Retries: a read for a sample (pp_read.context) is made once, and the loader makes it again; any other
 * request up to PP_REMOTE_TRIES times, with pp_storage_retry_wait_ns between. */
#pragma once

#include "probe/net/http.h"
#include "probe/storage/storage.h"

enum { PP_REMOTE_TRIES = 5, PP_REMOTE_REDIRECTS = 5, PP_REMOTE_TEXT = 12288 };

/* What is asked for. */
struct pp_remote_ask {
    const char *name;     /* as a user writes it: "s3://BUCKET/KEY" */
    const char *query;    /* of a listing, encoded and sorted; NULL: the object itself */
    const char *moved;    /* the URL that a redirect led to; NULL */
    const char *if_match; /* an ETag; NULL */
};

/* The request that it becomes. text holds what header points to. */
struct pp_remote_call {
    char url[PP_HTTP_URL];
    const char *header[PP_HTTP_HEADERS];
    char text[PP_REMOTE_TEXT];
    int netrc;
    char signer[128]; /* id of the keys that it is signed with; "": not signed */
};

struct pp_remote_kind {
    pp_status (*prepare)(void *state, const struct pp_remote_ask *ask, struct pp_remote_call *call,
                         struct pp_err *err);
    /* 1: something was learned from a refusal (credentials, region), and the same is to be asked again; NULL:
     * never */
    int (*learn)(void *state, const struct pp_remote_ask *ask, const struct pp_remote_call *call,
                 const struct pp_http_answer *a);
    /* What the answer says besides its status ("AccessDenied: ..."), or "". NULL: nothing. */
    void (*explain)(const struct pp_remote_call *call, const struct pp_http_answer *a, char *out,
                    size_t size);
};

/* A storage of a kind embeds this as its first member. */
struct pp_remote {
    struct pp_storage base;
    const struct pp_remote_kind *kind;
    void *state; /* the kind's */
    struct pp_http *http;
    uint64_t kept; /* bytes of objects kept in memory; atomic */
};

/* base.ops and base.flags are the caller's. */
pp_status pp_remote_begin(struct pp_remote *r, const struct pp_remote_kind *kind, void *state,
                          struct pp_err *err);
void pp_remote_end(struct pp_remote *r);

/* Whole bodies that are wanted in one piece, such as a page of a listing. */
struct pp_remote_body {
    uint8_t *bytes;          /* from malloc */
    size_t size, cap, limit; /* more than limit is PP_E_CORRUPT */
};
/* With retries. attempt as in struct pp_open. The caller frees body->bytes, also after a failure. */
pp_status pp_remote_fetch(const struct pp_remote *r, const struct pp_remote_ask *ask, const char *attempt,
                          struct pp_remote_body *body, struct pp_err *err);

/* A new object, of name or DIR/name. pp_remote_close frees it. */
pp_status pp_remote_object(struct pp_object *out, const struct pp_object *dir, const char *name,
                           struct pp_err *err);
const char *pp_remote_name(const struct pp_object *o);
/* name, or DIR/name; from malloc */
char *pp_remote_join(const struct pp_object *dir, const char *name);

/* The hooks that every kind has in common. */
pp_status pp_remote_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                         const char *attempt, struct pp_place_info *out, struct pp_err *err);
pp_status pp_remote_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                         struct pp_err *err);
pp_status pp_remote_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err);
pp_status pp_remote_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                               struct pp_err *err);
void pp_remote_close(struct pp_object *o);
