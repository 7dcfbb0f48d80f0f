/* storage/url.h: URLs as users write them. Pure functions, any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* "https", without "://"; case does not count */
int pp_url_has_scheme(const char *place, const char *scheme);

/* PP_E_USAGE, without repeating them, for user:password@ and for a query that is a credential (a presigned
 * URL): places are stored in recordings and stand in error messages. Each word of a list is looked at. */
pp_status pp_url_check(const char *place, struct pp_err *err);

/* Percent-encodes what may not stand in a URL, and leaves the rest, existing escapes among it, as it is. -1:
 * longer than size. */
int pp_url_tidy(const char *url, char *out, size_t size);

/* The parts of an encoded URL, pointing into it; query without its "?", and empty when there is none. -1: it
 * is none. */
struct pp_url {
    const char *host; /* with its port */
    size_t host_size;
    const char *path; /* from the first slash on; "/" when there is none */
    size_t path_size;
    const char *query;
    size_t query_size;
};
int pp_url_split(const char *url, struct pp_url *out);
