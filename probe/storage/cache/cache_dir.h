/* storage/cache/cache_dir.h: the directory of a cache: whose it is, what may lie in it, and the lock under
 * which segments come and go.
 *
 *   DIR/pipeprobe-cache       "pipeprobe cache 1 SEED": without it the directory is none of ours; flock(2)
 *                             on it guards which segments there are
 *   DIR/segment-NUMBER        cache_segment.h; its writer holds a flock on it
 *
 * Only files of these names are ever removed. The directory must belong to the user and be closed to writes
 * of others; so must each segment, which is a plain file with one name. Any thread; lock and unlock are for
 * one thread at a time. */
#ifndef PP_STORAGE_CACHE_DIR_H
#define PP_STORAGE_CACHE_DIR_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_cache_dir {
    int fd, marker;
    int read_only;
    uint64_t seed;
    char *path; /* for sentences */
};

/* Makes it, or its marker, when there is none. PP_E_ACCESS: it is another user's, or open to others.
 * PP_E_EXISTS: it holds files, and none of them is the marker. PP_E_VERSION, PP_E_CORRUPT: the marker. */
pp_status pp_cache_dir_open(const char *path, struct pp_cache_dir *out, struct pp_err *err);
void pp_cache_dir_close(struct pp_cache_dir *d); /* zeros, or half opened, is fine */

/* 0: it, or its marker, was removed or replaced. */
int pp_cache_dir_is_there(const struct pp_cache_dir *d);
/* 0: locked. -1: another process held it for a second. */
int pp_cache_dir_lock(const struct pp_cache_dir *d);
void pp_cache_dir_unlock(const struct pp_cache_dir *d);

/* A descriptor of a segment, to read or, with write, to go on writing. -1: it is not there, or not ours. */
int pp_cache_dir_segment(const struct pp_cache_dir *d, uint64_t number, int write);
/* A new one, locked by this descriptor. -1: errno says why. */
int pp_cache_dir_make_segment(const struct pp_cache_dir *d, uint64_t number);
void pp_cache_dir_remove_segment(const struct pp_cache_dir *d, uint64_t number);
/* The numbers of all segments, in order, to be freed by the caller. -1: the directory cannot be listed. */
int pp_cache_dir_list(const struct pp_cache_dir *d, uint64_t **numbers, size_t *n);

#endif
