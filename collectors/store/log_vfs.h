/* store/log_vfs.h: SQLite's own file system but for three things: the write-ahead log is written in large
 * pieces, nothing is deleted but a log or a journal, and the log's index is guarded (index_guard.h).
 *
 * SQLite writes two pieces per page of a transaction, 24 bytes that say which page it is and the page. Each
 * is a system call and a page of the kernel's cache to look up: 6 us a page where 64 KiB at a time take 1.2
 * (ext4), which a recorder that is pressed hard pays for every thousand spans.
 *
 * Only pages that do not end a transaction wait, and whatever else is asked of the log takes them along: when
 * a COMMIT has succeeded its pages have gone to the base's xWrite, all of them and in order. A write that
 * fails later than it was asked for therefore fails within its own transaction. */
#ifndef PP_STORE_LOG_VFS_H
#define PP_STORE_LOG_VFS_H

/* For sqlite3_open_v2, by any thread: its name, or NULL, which is SQLite's own. It stands on what is the
 * default when it is first asked for. */
const char *pp_log_vfs(void);

#endif
