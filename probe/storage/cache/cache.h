/* storage/cache/cache.h: a storage that wraps another one and keeps what samples and streams read of it in a
 * directory of a local disk: a slow storage is read once, and from then on as a local file is.
 *
 * What is kept is what was asked for: a range of an object, or a whole one, so that no byte is fetched that
 * no sample needs. Kept with it are name, ETag (or Last-Modified; of local files time, size and inode) and
 * size: an object that has changed is fetched again. The version is asked for once per object and run where
 * that is a request, else at each read. Objects whose storage gives no version are never kept. Reads that
 * are for no sample (indexes, headers) pass through; so do errors and everything else.
 *
 * Bytes that are not exactly those that were stored are fetched again (cache_segment.h): a failure of the
 * cache is never a failure of a read. A recording has the counters of cache_tally.h. */
#ifndef PP_STORAGE_CACHE_CACHE_H
#define PP_STORAGE_CACHE_CACHE_H

#include "probe/storage/cache/cache_policy.h"
#include "probe/storage/storage.h"

#define PP_CACHE_LEAST_BYTES ((uint64_t)1 << 20)

struct pp_cache_opts {
    const char *dir;
    uint64_t bytes; /* on disk, at least PP_CACHE_LEAST_BYTES */
    enum pp_cache_policy_id policy;
};

/* Takes inner over: it is detached with *out, or now on failure. place: of the data set. o NULL: *out is
 * inner. The directory is opened here; failures are those of pp_cache_dir_open. */
pp_status pp_storage_wrap_cache(struct pp_storage *inner, const char *place, const struct pp_cache_opts *o,
                                struct pp_storage **out, struct pp_err *err);

#endif
