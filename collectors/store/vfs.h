/* store/vfs.h: SQLite's own file system with some things changed, once for a recorder and once for a reader.
 * For collectors/store, and collectors/import. */
#pragma once

#include <pipeprobe/status.h>
#include <sqlite3.h>

/* ---- log_vfs.c ----
 *
 * For a recorder: the write-ahead log is written in large pieces, nothing is deleted but a log or a journal,
 * and the log's index is guarded.
 *
 * SQLite writes two pieces per page of a transaction, 24 bytes that say which page it is and the page. Each
 * is a system call and a page of the kernel's cache to look up: 6 us a page where 64 KiB at a time take 1.2
 * (ext4), which a recorder that is pressed hard pays for every thousand spans.
 *
 * Only pages that do not end a transaction wait, and whatever else is asked of the log takes them along: when
 * a COMMIT has succeeded its pages have gone to the base's xWrite, all of them and in order. A write that
 * fails later than it was asked for therefore fails within its own transaction. *
 * For sqlite3_open_v2, by any thread: its name, or NULL, which is SQLite's own. It stands on what is the
 * default when it is first asked for. */
const char *pp_log_vfs(void);

/* ---- read_vfs.c ----
 *
 * For a reader of files from elsewhere: it opens them to read only, opens nothing that is not a regular file,
 * and creates and deletes nothing beside them. SQLite itself would, with a connection that is read-only: a
 * -wal and -shm beside a file in WAL mode, and it deletes a journal of an empty file.
 *
 * With "private_index=1" in its URI, a file in WAL mode is read without -shm: SQLite makes the index of the
 * log in memory, as it does for a -shm that it may not write (SQLITE_READONLY_CANTINIT). That is for a log
 * that no live writer shares with us; nothing then keeps a writer from moving the log into the file
 * meanwhile. Temporary files of a large sort are SQLite's own.
 *
 * A connection by it, whose schema is distrusted; option: "" or the URI's "?..."; path: for sentences. Any
 * thread. The caller closes *db, also after a failure. */
pp_status pp_read_open(const char *real, const char *option, const char *path, sqlite3 **db,
                       struct pp_err *err);

/* ---- index_guard.c, for both ----
 *
 * The index of the write-ahead log (FILE-shm) is a file that SQLite maps. Another program that truncates it
 * would end ours with SIGBUS. Guarded, its pages become zeros of this process (base/guard.h): SQLite finds an
 * index that is none, or parts of one, so that nothing may be written by it from then on. The log itself is
 * whole, and whoever opens it next makes the index anew. */

/* Bytes behind an open file that pp_index_guard needs; own, where what is there without it needs more. */
int pp_index_guard_bytes(int own);
/* An open main database file, and the place behind it: its maps of the index are guarded from here on. */
void pp_index_guard(sqlite3_file *file, void *behind);
/* 1: the index was cut, as far as this process has met it. 0 also for a database without a guard. */
int pp_index_was_cut(sqlite3 *db);
