#include "collectors/attach/order_files.h"

#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_BYTES (UINT64_C(4) << 30) /* of one session: 16 processes that fill theirs */

/* Texts one behind the other, n of them, that fill the bytes. */
static int are_texts(const uint8_t *at, size_t bytes, int n)
{
    for (; n > 0 && bytes; n--) {
        size_t length = strnlen((const char *)at, bytes) + 1;
        if (length > bytes)
            return 0;
        at += length;
        bytes -= length;
    }
    return !n && !bytes;
}

/* The block at `at` into b and list; 0: there is none, and the rest of the window is empty. -1: damaged. */
static int read_block(int fd, uint64_t at, uint64_t size, struct pp_order_block *b, uint8_t *list)
{
    const size_t times = sizeof(struct pp_state_times);
    uint64_t window = at + PP_ORDER_BYTES - at % PP_ORDER_BYTES, end = size < window ? size : window;
    int sound = 0; /* by its kind */
    *b = (struct pp_order_block){0};
    if (at + sizeof(*b) > window)
        return 0;
    if (at + sizeof(*b) > end || pp_io_pread_full(fd, b, sizeof(*b), (off_t)at) != (ssize_t)sizeof(*b))
        return -1;
    if (!b->magic)
        return 0;
    if (b->bytes > end - at - sizeof(*b) ||
        pp_io_pread_full(fd, list, b->bytes, (off_t)(at + sizeof(*b))) != (ssize_t)b->bytes)
        return -1;
    switch (b->magic) {
    case PP_ORDER_MAGIC: sound = b->batches && b->batches <= b->bytes; break;
    case PP_USE_MAGIC: sound = !b->bytes && b->samples <= b->batches; break;
    case PP_FACT_MAGIC: sound = are_texts(list, b->bytes, 2); break;
    case PP_STATE_MAGIC:
        sound = b->bytes > times && are_texts(list + times, b->bytes - times, PP_STATE_TEXTS);
        break;
    case PP_CONTENT_MAGIC: sound = b->samples && b->bytes / 16 == b->samples && b->bytes % 16 == 0; break;
    }
    return sound ? 1 : -1;
}

/* 0: no file of blocks, or it ends in a damaged one. *left: bytes that may still be read, of all files. */
static int read_file(int dir, const char *name, uint64_t *left, pp_order_block_fn *fn, void *ctx)
{
    struct stat st;
    uint8_t *list = malloc(PP_ORDER_BYTES);
    int fd = pp_io_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    int64_t pid = pp_session_file_pid(name, PP_ORDER_FILE_PREFIX);
    uint64_t size = 0;
    int sound = list && fd >= 0 && pid >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (sound)
        size = (uint64_t)st.st_size < PP_ORDER_FILE_BYTES ? (uint64_t)st.st_size : PP_ORDER_FILE_BYTES;
    sound &= size <= *left;
    *left -= sound ? size : 0;
    for (uint64_t at = 0; sound && at < size;) {
        struct pp_order_block b;
        int found = read_block(fd, at, size, &b, list);
        sound = found >= 0;
        if (found > 0)
            fn(ctx, pid, &b, list);
        at = found > 0 ? at + sizeof(b) + b.bytes : at + PP_ORDER_BYTES - at % PP_ORDER_BYTES;
    }
    free(list);
    if (fd >= 0)
        close(fd);
    return sound;
}

struct pp_session_taken pp_order_files_take(const char *path, enum pp_session_files then,
                                            pp_order_block_fn *fn, void *ctx)
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
        if (then == PP_FILES_GO)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    return t;
}
