/* store/recover.h: what a killed run left in its ring files ("<path>.rings", written by probe/trace), carried
 * into its SQLite file.
 *
 * A span is safe once it is in a ring: the mapping survives the process. Each chunk says which positions of
 * its thread's ring it holds, and a ring frees a position only after the commit, so appending from max(seq0 +
 * n) on loses nothing and doubles nothing, however often it is interrupted. */
#ifndef PP_STORE_RECOVER_H
#define PP_STORE_RECOVER_H

#include <pipeprobe/status.h>

#include <stdint.h>

/* 1: there is no file at path, but a recording session beside it; *live: somebody still records into it. */
int pp_store_only_rings(const char *path, int *live);

/* Does nothing (PP_OK, *spans = 0) without ring files or while a live process records into them. Otherwise
 * appends what is missing (to a new file where there is none), writes meta run.recovered_spans and
 * run.recovery, writes the plain rows, then removes the ring files. Called by pp_reader_open. On failure the
 * ring files stay for the next attempt and *spans is how many spans wait in them. PP_E_UNSUPPORTED: they
 * belong to another run. */
pp_status pp_store_recover(const char *path, uint64_t *spans, struct pp_err *err);

#endif
