/* Which samples the job's samplers gave, block by block into the process's order file (order_file.h). All of
 * it under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"

#include "collectors/attach/order_file.h"
#include "probe/base/sample_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uint8_t *buf;       /* blocks; the last one grows */
    size_t used, block; /* block: where it begins */
    struct pp_order_block head;
    const struct record_iteration *it; /* whose it is; NULL: there is none */
    uint64_t last, written;
    size_t before; /* of the batch that is begun: where it begins, and the sample before it */
    uint64_t last_before;
    uint32_t n;     /* its samples */
    uint64_t forks; /* of the process that filled the buffer: a child has nothing of it to write */
    int off;
} order;

static void stop(const char *why)
{
    char text[160];
    snprintf(text, sizeof(text), "the samples of batches are not recorded from here on: %s", why);
    record_note(text);
    order.off = 1;
    free(order.buf);
    order.buf = NULL;
    order.used = 0;
    order.it = NULL;
}

/* The block at hand is complete in the buffer after every batch. */
static void put_head(void)
{
    order.head.bytes = (uint32_t)(order.used - order.block - sizeof(order.head));
    memcpy(order.buf + order.block, &order.head, sizeof(order.head));
}

/* At the end of the process, too. */
__attribute__((destructor)) static void flush(void)
{
    char path[PATH_MAX + 32];
    size_t done = 0;
    if (!order.used || order.forks != record_forks() || !record_dir())
        return;
    snprintf(path, sizeof(path), "%s/" PP_ORDER_FILE_PREFIX "%d", record_dir(), (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    while (fd >= 0 && done < order.used) {
        ssize_t n = write(fd, order.buf + done, order.used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    int failed = done < order.used, why = errno;
    if (fd >= 0)
        close(fd);
    order.written += order.used;
    order.used = 0;
    order.it = NULL;
    if (failed)
        stop(strerror(why));
    else if (order.written > PP_ORDER_FILE_BYTES - PP_ORDER_BYTES)
        stop("256 MiB of them are");
}

void record_order_forget(const struct record_iteration *it)
{
    if (order.it == it)
        order.it = NULL;
}

/* Room for a batch of n, in a block of the iteration. 0: none is to be had. */
static int make_room(const struct record_iteration *it, uint64_t n)
{
    uint64_t need = sizeof(order.head) + (n + 1) * PP_SAMPLE_LIST_NUMBER;
    record_before_leave(flush);
    if (order.forks != record_forks()) { /* forked, or another session */
        order.used = 0;
        order.it = NULL;
        order.written = 0;
        order.forks = record_forks();
    }
    if (order.off || need > PP_ORDER_BYTES || !(order.buf = order.buf ? order.buf : malloc(PP_ORDER_BYTES)))
        return 0;
    if (order.used + need > PP_ORDER_BYTES)
        flush();
    if (order.off)
        return 0;
    /* A block has samples in each of its batches, or in none. */
    if (order.it != it || order.head.first_batch + order.head.batches != it->first_batch + it->sent ||
        !order.head.samples != !n) {
        order.it = it;
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
    order.n = (uint32_t)n;
    return 1;
}

void record_order_sample(uint64_t sample)
{
    order.used = (size_t)(pp_sample_list_put(order.buf + order.used, sample, &order.last) - order.buf);
}

void record_order_batch_end(void)
{
    order.head.batches++;
    order.head.samples += order.n;
    put_head();
}

void record_order_undo(void)
{
    order.used = order.before;
    order.last = order.last_before;
}

void record_order_unknown(const struct record_iteration *it)
{
    if (!make_room(it, 0))
        return;
    order.used = (size_t)(pp_sample_list_put_unknown(order.buf + order.used) - order.buf);
    order.head.batches++;
    put_head();
}

void record_order_end(const struct record_iteration *it)
{
    if (order.it != it || !order.used || order.forks != record_forks() || order.off)
        return;
    order.head.flags |= PP_ORDER_ENDED;
    put_head();
    flush();
}
