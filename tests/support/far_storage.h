/* tests/support/far_storage.h: a storage that stands for a remote one: objects whose bytes follow from
 * number, version and offset, so that any byte read through whatever lies above it can be checked; it counts
 * what it is asked for. Names are "obj-N". */
#pragma once

#include "probe/storage/storage.h"

enum { FAR_OBJECTS = 64 };

struct far {
    struct pp_storage base; /* request_bytes and scope may be set */
    uint64_t size[FAR_OBJECTS];
    int64_t version[FAR_OBJECTS]; /* 0: the object has none */
    unsigned delay_us;            /* of a read */
    int reads, stats;             /* atomic */
};

/* All objects have this size, and version 1. Lives as long as the caller's. */
void far_begin(struct far *f, uint64_t size);
/* Whether bytes are those of the object from offset on. */
int far_is(unsigned object, int64_t version, uint64_t offset, const uint8_t *bytes, size_t n);
