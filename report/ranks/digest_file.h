/* report/ranks/digest_file.h: digests as files, for `pipeprobe merge`: what a job of any number of ranks
 * comes to, in some hundred bytes per rank and some tens per step. Equal digests are equal files.
 *
 *     "ppdigest" u32 version (4), u64 XXH3 of the body, then the body: numbers as LEB128, texts as length and
 *     bytes, a double as the 8 bytes of its bits. Log2 of a slice's seconds. Rows: count, then each by the
 *     table of columns in digest_file.c, its slices, its epochs and the ends of its collectives. Steps:
 *     count, then each as what it adds to the one before. Histograms: least, greatest, sum, then their filled
 *     buckets.
 *
 * A digest is a stranger's file: it is refused with a sentence when anything in it does not fit, and takes no
 * more memory than a few times its size. */
#ifndef PP_REPORT_RANKS_DIGEST_FILE_H
#define PP_REPORT_RANKS_DIGEST_FILE_H

#include "report/ranks/digest.h"

/* 1: the file begins as one; what cannot be opened does not. */
int pp_digest_is_file(const char *path);
/* *out as pp_digest_read. */
pp_status pp_digest_load(const char *path, struct pp_digest *out, struct pp_err *err);
/* Appears whole or not at all. */
pp_status pp_digest_store(const struct pp_digest *d, const char *path, struct pp_err *err);

#endif
