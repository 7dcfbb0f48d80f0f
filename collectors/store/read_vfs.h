/* store/read_vfs.h: SQLite's own file system for a reader of files from elsewhere: it opens them to read
 * only, opens nothing that is not a regular file, and creates and deletes nothing beside them. SQLite itself
 * would, with a connection that is read-only: a -wal and -shm beside a file in WAL mode, and it deletes a
 * journal of an empty file.
 *
 * With "private_index=1" in its URI, a file in WAL mode is read without -shm: SQLite makes the index of the
 * log in memory, as it does for a -shm that it may not write (SQLITE_READONLY_CANTINIT). That is for a log
 * that no live writer shares with us; nothing then keeps a writer from moving the log into the file
 * meanwhile. Temporary files of a large sort are SQLite's own. For collectors/store, and collectors/import.
 */
#ifndef PP_STORE_READ_VFS_H
#define PP_STORE_READ_VFS_H

/* For sqlite3_open_v2, by any thread; NULL: it could not be made, and nothing is to be opened. */
const char *pp_read_vfs(void);

#endif
