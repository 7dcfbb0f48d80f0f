/* store/index_guard.h: the index of the write-ahead log (FILE-shm) is a file that SQLite maps. Another
 * program that truncates it would end ours with SIGBUS. Guarded, its pages become zeros of this process
 * (base/guard.h): SQLite finds an index that is none, or parts of one, so that nothing may be written by it
 * from then on. The log itself is whole, and whoever opens it next makes the index anew.
 *
 * For the file systems of this room (log_vfs.h, read_vfs.h), whose files have room behind them. */
#ifndef PP_STORE_INDEX_GUARD_H
#define PP_STORE_INDEX_GUARD_H

#include <sqlite3.h>

/* Bytes behind an open file that pp_index_guard needs. */
int pp_index_guard_bytes(void);
/* An open main database file, and the place behind it: its maps of the index are guarded from here on. */
void pp_index_guard(sqlite3_file *file, void *behind);
/* 1: the index was cut, as far as this process has met it. 0 also for a database without a guard. */
int pp_index_was_cut(sqlite3 *db);

#endif
