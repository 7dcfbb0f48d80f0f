/* Fuzz target: the files of a cache. The input is a segment, which another process may have been killed at,
 * or which was damaged or made up; the first byte is the policy. Whatever it holds, the bytes that are read
 * through the cache are those of the storage, also after it was written on. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "probe/storage/cache/cache.h"
#include "tests/support/far_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OBJECTS = 6, SIZE = 3000 };

static const char marker[] = "pipeprobe cache 1 0123456789abcdef\n",
                  segment[] = "cache/segment-0000000000000001", next[] = "cache/segment-0000000000000002";

static void begin(struct far *f)
{
    far_begin(f, SIZE);
    if (mkdir(scratch_path("cache"), 0700) != 0 && access(scratch_path("cache"), F_OK) != 0)
        abort();
    scratch_write(scratch_path("cache/pipeprobe-cache"), (const uint8_t *)marker, sizeof(marker) - 1);
    chmod(scratch_path("cache/pipeprobe-cache"), 0600);
    unlink(scratch_path(segment));
    unlink(scratch_path(next));
}

/* Ranges and whole objects, some of which are in the segment of the seed. */
static void read_all(struct far *f, enum pp_cache_policy_id policy, unsigned first)
{
    struct pp_storage *s;
    struct pp_cache_opts o = {.dir = scratch_path("cache"), .bytes = PP_CACHE_LEAST_BYTES, .policy = policy};
    const struct pp_read_context context = {.epoch = 0};
    if (pp_storage_wrap_cache(&f->base, "obj-", &o, &s, NULL) != PP_OK)
        abort();
    for (unsigned i = first; i < first + OBJECTS; i++) {
        char name[16];
        uint8_t buf[SIZE];
        struct pp_object object;
        snprintf(name, sizeof(name), "obj-%u", i);
        struct pp_read r = {.name = name,
                            .context = &context,
                            .offset = i,
                            .size = 700,
                            .buf = buf,
                            .cap = SIZE},
                       whole = {.name = name, .context = &context};
        if (pp_storage_open(s, &(struct pp_open){.name = name}, &object, NULL) != PP_OK ||
            pp_object_read_at(&object, &r, NULL) != PP_OK || r.got != 700 || !far_is(i, 1, i, r.data, 700))
            abort();
        pp_object_close(&object);
        if (pp_storage_read_whole(s, NULL, &whole, NULL) != PP_OK || whole.got != SIZE ||
            !far_is(i, 1, 0, whole.data, SIZE))
            abort();
        free(whole.buf);
    }
    pp_storage_detach(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct far f;
    if (size == 0)
        return 0;
    begin(&f);
    scratch_write(scratch_path(segment), data + 1, size - 1);
    chmod(scratch_path(segment), 0600);
    enum pp_cache_policy_id policy = (enum pp_cache_policy_id)(data[0] % PP_CACHE_POLICIES);
    read_all(&f, policy, 3);
    read_all(&f, policy, 0);
    return 0;
}

/* A closed segment, the same without its table, and one whose last entry is cut. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    struct far f;
    if (i >= 3)
        return 0;
    begin(&f);
    read_all(&f, PP_CACHE_KEEP, 0);
    uint8_t *bytes = scratch_read(scratch_path(segment), size);
    *data = malloc(*size + 1);
    if (!*data)
        abort();
    (*data)[0] = (uint8_t)i;
    memcpy(*data + 1, bytes, *size);
    free(bytes);
    *size += 1;
    *size -= i == 0 ? 0 : i == 1 ? 100 : 2000;
    return 1;
}
