/* base/io: whole reads and writes, page-cache knowledge, atomic replacement, and the fault layer itself. */
#include "probe/base/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static char path[128];

static int set_up(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/pp-test-io-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/file", dir);
    return 0;
}

static int tear_down(void **state)
{
    pp_io_fault(0, 0, 0, 0);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    return rmdir(dir);
}

static int entries_in_dir(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void put(const void *bytes, size_t n)
{
    int fd = pp_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(pp_io_write_full(fd, bytes, n), 0);
    assert_int_equal(close(fd), 0);
}

static void reads_back_what_was_written(void **state)
{
    static const size_t sizes[] = {1, 511, 4096, 4097, 100000, 1 << 20};
    uint8_t *bytes = malloc(1 << 20);
    struct pp_io_file f = {0};
    struct pp_err err;
    for (size_t i = 0; i < 1 << 20; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 24);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        put(bytes, sizes[k]);
        assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
        assert_int_equal(f.size, sizes[k]);
        assert_memory_equal(f.buf, bytes, f.size);
        /* Just written, so it is cached; a file system that cannot tell must say so. */
        assert_int_equal(f.cached.hit_bytes, f.cached.known ? f.size : 0);
    }
    /* A smaller file after a larger one reuses the buffer. */
    size_t before = f.cap;
    put(bytes, 10);
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
    assert_int_equal(f.size, 10);
    assert_int_equal(f.cap, before);
    free(f.buf);
    free(bytes);
}

static void pread_stops_at_the_end(void **state)
{
    char buf[64];
    struct pp_io_cached cached;
    put("0123456789", 10);
    int fd = pp_io_open(path, O_RDONLY, 0);
    assert_int_equal(pp_io_pread_full(fd, buf, sizeof(buf), 4), 6);
    assert_memory_equal(buf, "456789", 6);
    assert_int_equal(pp_io_pread_full(fd, buf, sizeof(buf), 100), 0);
    assert_int_equal(pp_io_pread_cached(fd, buf, sizeof(buf), 7, &cached), 3);
    assert_memory_equal(buf, "789", 3);
    assert_true(cached.hit_bytes <= 3);
    close(fd);
}

static void files_of_unknown_size_are_read_to_their_end(void **state)
{
    struct pp_io_file f = {0};
    struct pp_err err;
    put("", 0);
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
    assert_int_equal(f.size, 0);
    assert_int_equal(pp_io_read_file(AT_FDCWD, "/proc/self/status", &f, &err), PP_OK);
    assert_true(f.size > 100); /* stat says 0 */
    assert_int_equal(f.cached.known, 0);
    free(f.buf);
}

static void refusals_say_what_and_why(void **state)
{
    struct pp_io_file f = {0};
    struct pp_err err;
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_E_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(pp_io_read_file(AT_FDCWD, dir, &f, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "directory"));
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_E_UNSUPPORTED); /* does not hang */
    unlink(path);
    put("x", 1);
    for (int kind = PP_IO_FAULT_OPEN; kind <= PP_IO_FAULT_READ; kind <<= 1) {
        pp_io_fault((unsigned)kind, 1, EACCES, 0);
        assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_E_ACCESS);
        pp_io_fault((unsigned)kind, 1, EIO, 0);
        assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_E_TRANSIENT);
        pp_io_fault((unsigned)kind, 1, ESTALE, 0);
        assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_E_TRANSIENT);
    }
    free(f.buf);
}

static void interrupted_and_unanswered_reads_go_on(void **state)
{
    static const int errors[] = {EINTR, EAGAIN, EOPNOTSUPP};
    struct pp_io_file f = {0};
    struct pp_err err;
    put("hello", 5);
    for (size_t i = 0; i < 3; i++) {
        pp_io_fault(PP_IO_FAULT_READ, 1, errors[i], 0);
        assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
        assert_int_equal(f.size, 5);
        assert_memory_equal(f.buf, "hello", 5);
        if (errors[i] == EAGAIN)
            assert_true(f.cached.known && f.cached.hit_bytes == 0);
        if (errors[i] == EOPNOTSUPP)
            assert_false(f.cached.known);
    }
    free(f.buf);
}

static void atomic_write_leaves_old_or_new(void **state)
{
    static const struct {
        unsigned kind;
        int err_no;
        pp_status status;
    } cases[] = {{PP_IO_FAULT_OPEN, EACCES, PP_E_ACCESS},
                 {PP_IO_FAULT_WRITE, ENOSPC, PP_E_NO_SPACE},
                 {PP_IO_FAULT_FSYNC, EIO, PP_E_TRANSIENT}};
    struct pp_err err;
    char buf[16];
    assert_int_equal(pp_io_write_atomic(path, "old", 3, &err), PP_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        pp_io_fault(cases[i].kind, 1, cases[i].err_no, 0);
        assert_int_equal(pp_io_write_atomic(path, "newer", 5, &err), cases[i].status);
        assert_int_equal(err.code, cases[i].status);
        pp_io_fault(0, 0, 0, 0);
        int fd = pp_io_open(path, O_RDONLY, 0);
        assert_int_equal(pp_io_pread_full(fd, buf, sizeof(buf), 0), 3);
        assert_memory_equal(buf, "old", 3);
        close(fd);
        assert_int_equal(entries_in_dir(), 1); /* no temporary file stays */
    }
    assert_int_equal(pp_io_write_atomic(path, "newer", 5, &err), PP_OK);
    int fd = pp_io_open(path, O_RDONLY, 0);
    assert_int_equal(pp_io_pread_full(fd, buf, sizeof(buf), 0), 5);
    close(fd);
    assert_int_equal(entries_in_dir(), 1);
    char missing[160];
    snprintf(missing, sizeof(missing), "%s/none/file", dir);
    assert_int_equal(pp_io_write_atomic(missing, "x", 1, &err), PP_E_NOT_FOUND);
}

static void fault_layer_counts_and_fails_the_nth(void **state)
{
    char c;
    put("ab", 2);
    int fd = pp_io_open(path, O_RDONLY, 0);
    for (int sticky = 0; sticky <= 1; sticky++) {
        pp_io_fault(PP_IO_FAULT_READ, 3, EIO, sticky);
        for (int call = 1; call <= 5; call++) {
            int fails = sticky ? call >= 3 : call == 3;
            assert_int_equal(pp_io_pread_full(fd, &c, 1, 0), fails ? -1 : 1);
        }
        assert_int_equal(pp_io_fault_calls(), 5);
    }
    pp_io_fault(PP_IO_FAULT_WRITE, 1, EIO, 1); /* another kind is neither counted nor failed */
    assert_int_equal(pp_io_pread_full(fd, &c, 1, 0), 1);
    assert_int_equal(pp_io_fault_calls(), 0);
    pp_io_fault(PP_IO_FAULT_READ, 0, EIO, 1); /* count only */
    assert_int_equal(pp_io_read(fd, &c, 1), 1);
    assert_int_equal(pp_io_fault_calls(), 1);
    close(fd);
}

/* One open and one read per call, whether the page cache has the bytes, the file is short of them, or a
 * signal came between. */
static void a_thread_counts_what_it_asks(void **state)
{
    uint8_t few[64];
    struct pp_io_file f = {0};
    struct pp_err err;
    put("0123456789", 10);
    struct pp_io_tally before = pp_io_tally();
    assert_int_equal(pp_io_read_file(AT_FDCWD, path, &f, &err), PP_OK);
    assert_int_equal(pp_io_tally().opens - before.opens, 1);
    assert_int_equal(pp_io_tally().reads - before.reads, 1);
    int fd = pp_io_open(path, O_RDONLY, 0);
    pp_io_fault(PP_IO_FAULT_READ, 1, EINTR, 0);
    assert_int_equal(pp_io_pread_cached(fd, few, sizeof(few), 0, &f.cached), 10);
    pp_io_fault(0, 0, 0, 0);
    assert_int_equal(pp_io_pread_full(fd, few, 4, 2), 4);
    assert_int_equal(pp_io_read(fd, few, 4), 4);
    close(fd);
    assert_true(pp_io_open("/nowhere/at/all", O_RDONLY, 0) < 0); /* asking costs, with or without success */
    assert_int_equal(pp_io_tally().opens - before.opens, 3);
    assert_int_equal(pp_io_tally().reads - before.reads, 4);
    free(f.buf);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_back_what_was_written),
        TEST(pread_stops_at_the_end),
        TEST(files_of_unknown_size_are_read_to_their_end),
        TEST(refusals_say_what_and_why),
        TEST(interrupted_and_unanswered_reads_go_on),
        TEST(atomic_write_leaves_old_or_new),
        TEST(fault_layer_counts_and_fails_the_nth),
        TEST(a_thread_counts_what_it_asks),
    };
    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
