#include "collectors/attach/order_files.h"

#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_BYTES (UINT64_C(4) << 30) /* of one session: 16 processes that fill theirs */

/* 0: no file of blocks, or it ends in a damaged one. *left: bytes that may still be read, of all files. */
static int read_file(int dir, const char *name, uint64_t *left, pp_order_block_fn *fn, void *ctx)
{
    struct stat st;
    uint8_t *list = malloc(PP_ORDER_BYTES);
    int fd = pp_io_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    int64_t pid = pp_session_file_pid(name, PP_ORDER_FILE_PREFIX);
    uint64_t at = 0, size = 0;
    int sound = list && fd >= 0 && pid >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (sound)
        size = (uint64_t)st.st_size < PP_ORDER_FILE_BYTES ? (uint64_t)st.st_size : PP_ORDER_FILE_BYTES;
    sound &= size <= *left;
    *left -= sound ? size : 0;
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
