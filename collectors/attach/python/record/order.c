/* Which samples the job's samplers gave, and the other blocks of the process's order file (order_file.h). All
 * of it under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"
#include "collectors/attach/order_file.h"
#include "probe/base/guard.h"
#include "probe/base/sample_list.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    uint8_t *buf;       /* a window of the file, mapped; NULL: none */
    size_t used, block; /* of the window: up to where it is filled; where the block at hand begins */
    off_t at;           /* of the window in the file */
    struct pp_order_block head;
    const struct record_iteration *it; /* whose it is; NULL: there is none */
    int closed;                        /* another block lies behind it: it does not grow */
    uint64_t last;
    size_t before; /* of the batch that is begun: where it begins, and the sample before it */
    uint64_t last_before;
    uint32_t n, left; /* its samples, and those to come */
    uint64_t forks;   /* of the process whose window it is: a child has nothing of it to write */
    void (*before_unmap)(int goes_on);
    int off;
} order;

static void stop(const char *why)
{
    char text[160];
    snprintf(text, sizeof(text), "the samples of batches are not recorded from here on: %s", why);
    record_note(text);
    order.off = 1;
}

/* The block at hand is complete in the file after every batch, however the process ends: what stands in a
 * mapped file is the kernel's. */
static void put_head(void)
{
    if (!order.closed)
        order.head.bytes = (uint32_t)(order.used - order.block - sizeof(order.head));
    atomic_signal_fence(memory_order_release); /* the list stands there before the head says so */
    memcpy(order.buf + order.block, &order.head, sizeof(order.head));
}

static int open_file(void)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/" PP_ORDER_FILE_PREFIX "%d", record_dir(), (int)getpid());
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

static void unmap_window(int goes_on)
{
    if (order.buf && order.before_unmap && order.forks == record_forks())
        order.before_unmap(goes_on);
    if (order.buf) {
        pp_guard_remove(order.buf);
        munmap(order.buf, PP_ORDER_BYTES);
    }
    order.buf = NULL;
    order.it = NULL;
}

/* At the end of the process, too: gives back what the last window has not used. A killed one leaves zeros. */
__attribute__((destructor)) static void close_window(void)
{
    int mine = order.buf && order.forks == record_forks() && record_dir(), fd = mine ? open_file() : -1;
    if (fd >= 0) {
        (void)!ftruncate(fd, order.at + (off_t)order.used);
        close(fd);
    }
    unmap_window(0);
}

void record_order_forget(const struct record_iteration *it)
{
    if (order.it == it)
        order.it = NULL;
}

/* So many bytes of a window. 0: they are not to be had. */
static int has_room(uint64_t need)
{
    struct stat st;
    struct rlimit limit;
    record_before_leave(close_window);
    if (order.forks != record_forks()) { /* forked, or another session */
        unmap_window(0);
        order.forks = record_forks();
    }
    if (order.off || need > PP_ORDER_BYTES || !record_dir())
        return 0;
    if (order.buf && order.used + need > PP_ORDER_BYTES)
        unmap_window(1);
    if (order.buf)
        return 1;
    /* The next window of the file, behind what is in it. Its bytes are reserved: a full disk is an error
     * here, and no SIGBUS in a store. */
    int fd = open_file(), e = fd < 0 || fstat(fd, &st) ? errno : 0;
    if (!e) {
        order.at = (st.st_size + PP_ORDER_BYTES - 1) / PP_ORDER_BYTES * PP_ORDER_BYTES;
        e = getrlimit(RLIMIT_FSIZE, &limit) == 0 && (rlim_t)order.at + PP_ORDER_BYTES > limit.rlim_cur
                ? EFBIG /* else SIGXFSZ */
                : 0;
    }
    if (!e && (uint64_t)order.at + PP_ORDER_BYTES > PP_ORDER_FILE_BYTES) {
        stop("256 MiB of what is known of them are");
    } else if (e || (e = posix_fallocate(fd, order.at, PP_ORDER_BYTES))) {
        stop(strerror(e));
    } else {
        void *p = mmap(NULL, PP_ORDER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, order.at);
        order.buf = p == MAP_FAILED ? NULL : p;
        if (!order.buf)
            stop(strerror(errno));
        else
            pp_guard_add(order.buf, PP_ORDER_BYTES);
    }
    order.used = 0;
    order.it = NULL;
    if (fd >= 0)
        close(fd);
    return order.buf != NULL;
}

void *record_order_block(uint32_t magic, size_t bytes, const struct pp_order_block *head, const void *behind)
{
    struct pp_order_block b = *head;
    if (!has_room(sizeof(b) + bytes))
        return NULL;
    uint8_t *at = order.buf + order.used;
    b.magic = 0;
    b.bytes = (uint32_t)bytes;
    if (bytes)
        memcpy(at + sizeof(b), behind, bytes);
    memcpy(at, &b, sizeof(b));
    atomic_signal_fence(memory_order_release); /* all of it stands there before the magic says so */
    memcpy(at, &magic, sizeof(magic));
    order.used += sizeof(b) + bytes;
    order.closed = 1;
    return at;
}

void record_order_before_unmap(void (*fn)(int goes_on))
{
    order.before_unmap = fn;
}

/* Room for a batch of n, in a block of the iteration. 0: none is to be had. */
static int make_room(const struct record_iteration *it, uint64_t n)
{
    if (!has_room(sizeof(order.head) + (n + 1) * PP_SAMPLE_LIST_NUMBER))
        return 0;
    /* A block has samples in each of its batches, or in none. */
    if (order.it != it || order.closed ||
        order.head.first_batch + order.head.batches != it->first_batch + it->sent ||
        !order.head.samples != !n) {
        order.it = it;
        order.closed = 0;
        order.block = order.used;
        order.used += sizeof(order.head);
        order.last = 0;
        order.head = (struct pp_order_block){.magic = PP_ORDER_MAGIC,
                                             .loader = it->loader,
                                             .epoch = it->epoch,
                                             .first_batch = it->first_batch + it->sent};
    }
    return 1;
}

int record_order_batch(const struct record_iteration *it, uint64_t n)
{
    if (!make_room(it, n))
        return 0;
    order.before = order.used;
    order.last_before = order.last;
    uint8_t *end = pp_sample_list_put_batch(order.buf + order.used, n);
    order.used = (size_t)(end - order.buf);
    order.n = order.left = (uint32_t)n;
    return 1;
}

void record_order_sample(uint64_t sample)
{
    order.used = (size_t)(pp_sample_list_put(order.buf + order.used, sample, &order.last) - order.buf);
    if (order.left && --order.left == 0) {
        order.head.batches++;
        order.head.samples += order.n;
        put_head();
    }
}

void record_order_unknown(const struct record_iteration *it, int begun)
{
    if (begun) {
        order.used = order.before;
        order.last = order.last_before;
    }
    if (!make_room(it, 0))
        return;
    order.used = (size_t)(pp_sample_list_put_batch(order.buf + order.used, UINT64_MAX) - order.buf);
    order.head.batches++;
    put_head();
}

/* Its newest block of the window says so; those of other loaders may lie behind it. */
void record_order_end(const struct record_iteration *it)
{
    struct pp_order_block b;
    uint8_t *newest = NULL;
    if (!order.buf || order.forks != record_forks())
        return;
    for (size_t at = 0; at + sizeof(b) <= order.used; at += sizeof(b) + b.bytes) {
        memcpy(&b, order.buf + at, sizeof(b));
        if (b.magic == PP_ORDER_MAGIC && b.loader == it->loader && b.epoch == it->epoch)
            newest = order.buf + at;
    }
    if (newest)
        memcpy(newest + offsetof(struct pp_order_block, flags), &(uint32_t){PP_ORDER_ENDED}, sizeof(b.flags));
    if (order.it == it)
        order.it = NULL;
}
