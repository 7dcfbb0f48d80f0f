/* store/recover.h: what a killed run left in its ring files ("<path>.rings", written by probe/trace), carried
 * into its SQLite file.
 *
 * A span is safe once it is in a ring: the mapping survives the process. Each chunk says which positions of
 * its thread's ring it holds, and a ring frees a position only after the commit, so appending from max(seq0 +
 * n) on loses nothing and doubles nothing, however often it is interrupted. */
#pragma once

#include "collectors/store/reader.h"

/* All that a recording needs before it is read, as its reader wants it done (pp_before_reading_fn): what a
 * killed run left in its ring files is appended, and a journal that it left is rolled back. A live run is not
 * touched. Where that fails the file can be read as it stands, and *missing says what is not in it; on a
 * read-only medium, say. A failure: there is nothing to be read. PP_E_EMPTY: the spans are in rings alone,
 * and are being recorded there. */
pp_status pp_recording_recover(const char *path, struct pp_missing *missing, struct pp_err *err);

struct pp_store;
/* Makes rows of what else lies in the session directory of a killed recorder, and removes it: set once,
 * before anything is read, by who knows those files. */
typedef void pp_recover_files_fn(struct pp_store *s, const char *session_dir);
void pp_recover_set_files(pp_recover_files_fn *fn);

/* Does nothing (PP_OK, *spans = 0) without ring files or while a live process records into them. Otherwise
 * appends what is missing (to a new file where there is none), writes meta run.recovered_spans and
 * run.recovery, writes the plain rows, then removes the ring files. On failure the ring files stay for the
 * next attempt and *spans is how many spans wait in them. PP_E_UNSUPPORTED: they belong to another run. */
pp_status pp_store_recover(const char *path, uint64_t *spans, struct pp_err *err);
