/* base/io.h: file I/O as the house does it: whole reads and writes, EINTR handled, and one place where tests
 * inject faults (every call asks pp_io_fault first; off, that is one relaxed load of a zero). */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>
#include <sys/types.h>

/* All return -1 with errno set, as the calls they wrap. */
int pp_io_open(const char *path, int flags, unsigned mode); /* O_CLOEXEC is added */
int pp_io_openat(int dirfd, const char *path, int flags);
ssize_t pp_io_read(int fd, void *buf, size_t n);                 /* one read, retried on EINTR */
ssize_t pp_io_pread_full(int fd, void *buf, size_t n, off_t at); /* until n bytes or end of file */
int pp_io_write_full(int fd, const void *buf, size_t n);
int pp_io_fsync(int fd);

/* What pp_io_pread_cached found out about the page cache. */
struct pp_io_cached {
    int known;        /* 0: the file system does not answer RWF_NOWAIT */
    size_t hit_bytes; /* came from the page cache without waiting */
};
/* pread_full that first asks for what the page cache holds (preadv2 RWF_NOWAIT) and then reads the rest
 * blocking. hit_bytes is a lower bound: the cached bytes before the first that was not. */
ssize_t pp_io_pread_cached(int fd, void *buf, size_t n, off_t at, struct pp_io_cached *cached);

/* A file that was read whole. */
struct pp_io_file {
    uint8_t *buf; /* cap bytes, grown geometrically by realloc; the caller frees, or reads the next into it */
    size_t cap, size;
    size_t limit; /* 0: none; a larger file is not begun with */
    struct pp_io_cached cached;
};
/* Reads a whole regular file of unknown size into f->buf; *f begins as zeros. An empty file is PP_OK with
 * size 0. PP_E_TRANSIENT for EIO/ESTALE, PP_E_UNSUPPORTED for a directory, pipe or device (never hangs on
 * one), and for a file larger than f->limit, with f->size set to how large it is. */
pp_status pp_io_read_file(int dirfd, const char *path, struct pp_io_file *f, struct pp_err *err);

/* The text of a small file that the kernel makes, as those of /proc and /sys: what fits into size, with a NUL
 * behind it. The path is a format. Returns how many bytes; -1 with errno, and "". Not counted, no fault is
 * injected; a pipe is not waited for. */
ssize_t pp_io_text(char *text, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* Its first line without the newline; 0: there is none. */
int pp_io_line(char *line, size_t size, const char *path);
/* CPU time of the machine that was not idle, and all of it, in clock ticks since boot. 0: not to be had. */
int pp_io_machine_ticks(double *busy, double *all);

/* Writes path atomically: temporary file beside it, fsync, rename. */
pp_status pp_io_write_atomic(const char *path, const void *buf, size_t n, struct pp_err *err);
/* The same; without sync for a file that is written again in a moment: a reader sees the old one or the new
 * one, and the disk is not made to wait. */
pp_status pp_io_replace(const char *path, const void *buf, size_t n, int sync, struct pp_err *err);

/* What the calling thread has asked of files since it began. A read is one call above, however often the
 * kernel is asked for it, so that neither the page cache nor a signal changes the number. */
struct pp_io_tally {
    uint64_t opens, reads;
};
struct pp_io_tally pp_io_tally(void);

/* Tests only: the nth call (1-based; 0: none, only count) of the kinds in mask fails with err_no, once or
 * from then on. mask 0: off. Arm it before threads start and read the count after joining them. */
enum { PP_IO_FAULT_OPEN = 1, PP_IO_FAULT_READ = 2, PP_IO_FAULT_WRITE = 4, PP_IO_FAULT_FSYNC = 8 };
void pp_io_fault(unsigned mask, uint64_t nth, int err_no, int sticky);
uint64_t pp_io_fault_calls(void); /* calls counted since pp_io_fault */

/* The kernel raises SIGXFSZ, which ends the process, where a file would grow over its limit; ignored, the
 * write fails with EFBIG and becomes a sentence. A handler that is installed stays. A program that is
 * started afterwards is to get the default back where pp_io_ignores_file_size_signal() is 1. */
void pp_io_ignore_file_size_signal(void);
int pp_io_ignores_file_size_signal(void);

/* A system library that is opened when it is needed and not before: linked with, it would be
 * loaded by every pipeprobe that does not need it. */

struct pp_library_call {
    const char *name;
    void **at;
};

/* The first of names (ends with NULL) that can be opened and has all calls, n of them; it stays open. Returns
 * whether there is one. */
int pp_library_open(const char *const *names, const struct pp_library_call *calls, size_t n);
