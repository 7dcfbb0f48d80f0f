#include "collectors/attach/order_files.h"

#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_BYTES (UINT64_C(4) << 30) /* of one session: 16 processes that fill theirs */

static int64_t pid_of(const char *name)
{
    const char *digits = name + strlen(PP_ORDER_FILE_PREFIX);
    size_t n = strspn(digits, "0123456789");
    return n > 0 && n < 10 && !digits[n] ? strtoll(digits, NULL, 10) : -1;
}

/* 0: damaged. *left: bytes that may still be read, of all files. */
static int read_blocks(int fd, int64_t pid, uint64_t size, uint64_t *left, pp_order_block_fn *fn, void *ctx)
{
    uint8_t *list = malloc(PP_ORDER_BYTES);
    uint64_t at = 0;
    int sound = list != NULL;
    size = size < PP_ORDER_FILE_BYTES ? size : PP_ORDER_FILE_BYTES;
    if (size > *left)
        return free(list), 0;
    *left -= size;
    while (sound && at < size) {
        struct pp_order_block b;
        sound = pp_io_pread_full(fd, &b, sizeof(b), (off_t)at) == (ssize_t)sizeof(b) &&
                b.magic == PP_ORDER_MAGIC && b.bytes <= PP_ORDER_BYTES && b.batches && b.batches <= b.bytes &&
                pp_io_pread_full(fd, list, b.bytes, (off_t)(at + sizeof(b))) == (ssize_t)b.bytes;
        if (sound)
            fn(ctx, pid, &b, list);
        at += sizeof(b) + b.bytes;
    }
    free(list);
    return sound;
}

static int read_file(int dir, const char *name, uint64_t *left, pp_order_block_fn *fn, void *ctx)
{
    struct stat st;
    int fd = pp_io_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    int64_t pid = pid_of(name);
    int sound = fd >= 0 && pid >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                read_blocks(fd, pid, (uint64_t)st.st_size, left, fn, ctx);
    if (fd >= 0)
        close(fd);
    return sound;
}

struct pp_session_taken pp_order_files_take(const char *path, pp_order_block_fn *fn, void *ctx)
{
    struct pp_session_taken t = {0};
    uint64_t left = ALL_BYTES;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, PP_ORDER_FILE_PREFIX, strlen(PP_ORDER_FILE_PREFIX)) != 0)
            continue;
        if (fn && t.taken + t.unsound == PP_SESSION_FILES_MAX) {
            t.too_many++;
        } else if (fn) {
            int sound = read_file(dirfd(d), e->d_name, &left, fn, ctx);
            t.taken += sound;
            t.unsound += !sound;
        }
        unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    return t;
}
