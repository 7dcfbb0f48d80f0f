/* Token files: a flat array of token ids, mapped. Sample i is window tokens from position i * (window - 1):
 * windows overlap by one token, so that every token but the first is once a target of next-token prediction.
 * The tail shorter than a window is left out. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_ops.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* <linux/mman.h>, since Linux 5.14; the headers of the build machine may be older than the kernel run on. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

struct tokens {
    struct pp_dataset base;
    char *path;
    uint8_t *map;
    size_t map_size;
    size_t page;
    int cache_visible; /* mincore tells the truth only to who may write the file (Linux 5.2); to others
                          everything looks cached */
    uint64_t data_offset, count, window;
    int token_bytes;
};

static struct tokens *tokens_of(const struct pp_dataset *d)
{
    return (struct tokens *)d;
}

static uint64_t stride_of(const struct tokens *t)
{
    return t->window > 1 ? t->window - 1 : 1;
}

static uint64_t offset_of(const struct tokens *t, uint64_t index)
{
    return t->data_offset + index * stride_of(t) * (unsigned)t->token_bytes;
}

/* Bytes of [first, first + size) that are in the page cache, page by page. */
static size_t cached_bytes(const struct tokens *t, uint64_t first, size_t size)
{
    unsigned char resident[256];
    size_t hit = 0;
    for (uint64_t at = first & ~(uint64_t)(t->page - 1); at < first + size;) {
        uint64_t pages = (first + size - at + t->page - 1) / t->page;
        if (pages > sizeof(resident))
            pages = sizeof(resident);
        if (mincore(t->map + at, pages * t->page, resident) != 0)
            return hit;
        for (uint64_t i = 0; i < pages; i++, at += t->page) {
            uint64_t from = at > first ? at : first;
            uint64_t to = at + t->page < first + size ? at + t->page : first + size;
            if (resident[i] & 1)
                hit += to - from;
        }
    }
    return hit;
}

/* Brings the window into memory here, so that the wait for the disk falls into the read and not into whoever
 * touches the bytes first, and so that a file that was cut meanwhile is an error and not a SIGBUS. */
static pp_status populate(const struct tokens *t, uint64_t first, size_t size, struct pp_err *err)
{
    uint64_t from = first & ~(uint64_t)(t->page - 1);
    if (madvise(t->map + from, first + size - from, MADV_POPULATE_READ) == 0)
        return PP_OK;
    if (errno == EFAULT || errno == EHWPOISON)
        return pp_fail(err, PP_E_IO, "cannot read %s at byte %llu: the file was cut off or its medium failed",
                       t->path, (unsigned long long)first);
    for (uint64_t at = from; at < first + size; at += t->page) /* a kernel before 5.14 */
        (void)*(volatile const uint8_t *)(t->map + at);
    return PP_OK;
}

static pp_status tokens_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s,
                             struct pp_err *err)
{
    const struct tokens *t = tokens_of(d);
    uint64_t first = offset_of(t, index);
    size_t size = t->window * (size_t)t->token_bytes;
    s->cache_known = t->cache_visible;
    s->cache_hit_bytes = t->cache_visible ? cached_bytes(t, first, size) : 0;
    pp_status st = populate(t, first, size, err);
    s->data = t->map + first;
    s->size = st == PP_OK ? size : 0;
    return st;
}

static void tokens_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    snprintf(buf, size, "%s@%llu", tokens_of(d)->path, (unsigned long long)offset_of(tokens_of(d), index));
}

static void tokens_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct tokens *t = tokens_of(d);
    char tokens[32], windows[32];
    pp_text_count(tokens, sizeof(tokens), (double)t->count);
    pp_text_count(windows, sizeof(windows), (double)d->len);
    snprintf(buf, size, "token file, %s tokens of %d bytes in %s windows of %llu", tokens, t->token_bytes,
             windows, (unsigned long long)t->window);
}

static uint64_t tokens_footprint(const struct pp_dataset *d)
{
    return sizeof(struct tokens) + malloc_usable_size(tokens_of(d)->path);
}

static void tokens_close(struct pp_dataset *d)
{
    struct tokens *t = tokens_of(d);
    if (t->map)
        munmap(t->map, t->map_size);
    free(t->path);
}

static const struct pp_dataset_ops tokens_ops = {
    .kind = PP_DATASET_TOKENS,
    .content = PP_CONTENT_TOKENS,
    .sequential = 1,
    .read = tokens_read,
    .path = tokens_path,
    .describe = tokens_describe,
    .footprint = tokens_footprint,
    .close = tokens_close,
};

/* ---- open ---- */

static pp_status layout_npy(struct tokens *t, int fd, struct pp_err *err)
{
    struct pp_npy npy;
    uint8_t *head = malloc(PP_NPY_HEAD);
    if (!head)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", t->path);
    ssize_t n = pp_io_pread_full(fd, head, PP_NPY_HEAD, 0);
    pp_status st = n < 0 ? pp_fail_errno(err, errno, "cannot read %s", t->path)
                         : pp_npy_parse(head, (size_t)n, t->map_size, t->path, &npy, err);
    free(head);
    if (st != PP_OK)
        return st;
    t->data_offset = npy.data_offset;
    t->count = npy.items;
    t->token_bytes = npy.item_bytes;
    return PP_OK;
}

static pp_status layout_bin(struct tokens *t, int token_bytes, struct pp_err *err)
{
    t->token_bytes = token_bytes ? token_bytes : 2;
    if (t->token_bytes != 2 && t->token_bytes != 4)
        return pp_fail(err, PP_E_USAGE,
                       "tokens of %d bytes are unknown: they are 2 (uint16) or 4 (uint32) bytes long",
                       t->token_bytes);
    t->count = t->map_size / (unsigned)t->token_bytes;
    unsigned left = (unsigned)(t->map_size % (unsigned)t->token_bytes);
    if (left)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s is %zu bytes long, which is %u more than a whole number of %d-byte tokens: it was cut off, or its tokens have another size",
            t->path, t->map_size, left, t->token_bytes);
    return PP_OK;
}

static pp_status count_windows(struct tokens *t, struct pp_err *err)
{
    uint64_t window_bytes;
    if (__builtin_mul_overflow(t->window, (uint64_t)t->token_bytes, &window_bytes) || t->count < t->window)
        return pp_fail(err, PP_E_EMPTY, "%s holds %llu tokens, fewer than one window of %llu", t->path,
                       (unsigned long long)t->count, (unsigned long long)t->window);
    t->base.len = (t->count - t->window) / stride_of(t) + 1;
    return PP_OK;
}

static pp_status map_file(struct tokens *t, int fd, const struct stat *info, struct pp_err *err)
{
    t->map = mmap(NULL, t->map_size, PROT_READ, MAP_SHARED, fd, 0);
    if (t->map == MAP_FAILED) {
        t->map = NULL;
        return pp_fail_errno(err, errno, "cannot map %s (%zu bytes)", t->path, t->map_size);
    }
    t->page = (size_t)sysconf(_SC_PAGESIZE);
    t->cache_visible = info->st_uid == geteuid() || access(t->path, W_OK) == 0;
    return PP_OK;
}

pp_status pp_tokens_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    pp_status st;
    struct stat info;
    int fd = -1;
    struct tokens *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t || !(t->path = strdup(opts->spec))) {
        free(t);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", opts->spec);
    }
    t->base.ops = &tokens_ops;
    t->window = opts->window ? opts->window : 1025;
    fd = pp_io_open(t->path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &info) != 0) {
        st = pp_fail_errno(err, errno, "cannot open the token file %s", t->path);
        goto out;
    }
    if (!S_ISREG(info.st_mode) || info.st_size == 0) {
        st = pp_fail(err, info.st_size == 0 ? PP_E_EMPTY : PP_E_UNSUPPORTED, "the token file %s %s", t->path,
                     S_ISREG(info.st_mode) ? "has 0 bytes" : "is not a regular file");
        goto out;
    }
    t->map_size = (size_t)info.st_size;
    st = pp_has_suffix(t->path, ".npy") ? layout_npy(t, fd, err) : layout_bin(t, opts->token_bytes, err);
    if (st == PP_OK)
        st = count_windows(t, err);
    if (st == PP_OK)
        st = map_file(t, fd, &info, err);
out:
    if (fd >= 0)
        close(fd);
    if (st != PP_OK)
        pp_dataset_close(&t->base);
    else
        *out = &t->base;
    return st;
}
