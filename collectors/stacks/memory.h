/* stacks/memory.h: memory of another process, read while it runs. What is read is believed of that process
 * alone, and nothing of it is trusted: every address may be wrong, every length too large. Tests read an
 * image in its place. */
#pragma once

#include "probe/base/std.h"

#include <sys/types.h>
#include <sys/uio.h>

struct pp_memory {
    /* As process_vm_readv: copies the parts in their order, returns the bytes copied, fewer from the first
     * one that is not there; -1 and errno: none. */
    ssize_t (*readv)(void *ctx, const struct iovec *here, const struct iovec *there, size_t n);
    void *ctx;
    uint64_t calls;
};

/* Of a process; ctx is (void *)(intptr_t)pid. */
ssize_t pp_memory_of_process(void *ctx, const struct iovec *here, const struct iovec *there, size_t n);

static inline struct iovec pp_memory_part(uint64_t at, size_t size)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = size}; /* NOLINT: an address of it */
}

/* 1: all of it was there. */
static inline int pp_memory_get(struct pp_memory *m, void *buf, size_t size, uint64_t at)
{
    struct iovec here = {.iov_base = buf, .iov_len = size}, there = pp_memory_part(at, size);
    m->calls++;
    return m->readv(m->ctx, &here, &there, 1) == (ssize_t)size;
}

static inline uint64_t pp_memory_word(struct pp_memory *m, uint64_t at)
{
    uint64_t word = 0;
    return pp_memory_get(m, &word, sizeof(word), at) ? word : 0;
}

/* Fields of what was copied, which need not be aligned. */
static inline uint64_t pp_word_at(const uint8_t *bytes, size_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static inline uint32_t pp_half_at(const uint8_t *bytes, size_t offset)
{
    uint32_t half;
    memcpy(&half, bytes + offset, sizeof(half));
    return half;
}
