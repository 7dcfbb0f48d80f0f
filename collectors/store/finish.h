/* store/finish.h: the write-ahead log goes into the database on a thread of its own. A checkpoint waits
 * for the disk (twice: SQLite syncs the log, then the database), a tenth of a second or, on a slow disk,
 * seconds; the drain, were it to wait, would empty no ring meanwhile. Private to collectors/store. */
#ifndef PP_COLLECTORS_STORE_FINISH_H
#define PP_COLLECTORS_STORE_FINISH_H

#include <pipeprobe/status.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct pp_checkpoint;

/* When a commit on db leaves at least `from` pages in the log, the thread is asked (it and its connection are
 * made the first time). A log that gets to `most` all the same, or a thread that could not be made, has the
 * committing thread do it, as SQLite does by itself. A failed checkpoint loses nothing: the log stays, and is
 * tried again at the next commit. */
struct pp_checkpoint_opts {
    sqlite3 *db;      /* borrowed, outlives this */
    const char *path; /* of the database; copied */
    int from, most;   /* pages */
};

/* NULL: no memory; SQLite's own checkpoints stay as they were. */
struct pp_checkpoint *pp_checkpoint_new(const struct pp_checkpoint_opts *opts);
uint64_t pp_checkpoint_cpu_ns(const struct pp_checkpoint *c); /* of the thread so far; from any thread */
/* Waits for a checkpoint that is under way; db has SQLite's own again, at opts.from pages. NULL is fine. */
void pp_checkpoint_free(struct pp_checkpoint *c);

#endif
