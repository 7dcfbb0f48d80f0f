/* Fuzz target: a session whose shared memory another process of the recorded program writes into while it is
 * drained: the beginning of the session file, two slots of its table of names, and a ring. The recorder takes
 * what it finds twice, as the drain does, and the recording must be one that can be read. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/trace/drain_side.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 512, NAMES = 2 * sizeof(struct pp_name_slot), RING_SPANS = 16 };
enum {
    RING = sizeof(struct pp_ring_file) + RING_SPANS * sizeof(struct pp_span),
    WHOLE = HEAD + NAMES + RING
};

static const off_t last_names = sizeof(struct pp_session_file) - NAMES;

static struct pp_session *begin(void)
{
    struct pp_session *s = NULL;
    struct pp_err err;
    if (pp_session_open(&(struct pp_session_opts){.dir = scratch_path("live.rings"),
                                                  .ring_spans = RING_SPANS},
                        &s, &err) != PP_OK)
        abort();
    struct pp_thread *t = pp_thread_register(s, PP_LANE_WORKER, "worker 0");
    pp_name_intern(s, "custom");
    pp_lap_start(t);
    for (uint32_t i = 0; i < 6; i++)
        pp_lap_end(t, PP_PHASE_DECODE, &(struct pp_lap){.batch = i / 2, .sample = i});
    pp_span_begin(t, PP_PHASE_CHECKPOINT, NULL);
    return s;
}

/* A ring of a thread that has ended has no name any more once its spans are stored. */
static void at(const char *name, off_t offset, void *data, size_t size, int write)
{
    int fd = open(scratch_path(name), O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && write)
        return;
    ssize_t n = write ? pwrite(fd, data, size, offset) : pread(fd, data, size, offset);
    if (n != (ssize_t)size)
        abort();
    close(fd);
}

/* Input and files, either way. */
static void exchange(uint8_t *input, int write)
{
    at("live.rings/session", 0, input, HEAD, write);
    at("live.rings/session", last_names, input + HEAD, NAMES, write);
    at("live.rings/ring-0000", 0, input + HEAD + NAMES, RING, write);
}

static size_t read_ring(void *ctx, struct pp_span *out, size_t max)
{
    return pp_ring_read(ctx, out, max);
}

static void drain(struct pp_session *s, struct pp_store *store)
{
    uint32_t threads = pp_session_threads(s);
    uint64_t moved = 0;
    char name[PP_NAME_BYTES];
    struct pp_span open[PP_OPEN_SPANS_MAX];
    struct pp_err err;
    if (threads > PP_THREADS_MAX)
        abort();
    pp_session_anchor(s);
    double fill = pp_session_fill(s);
    if (!(fill >= 0 && fill <= 1))
        abort();
    for (uint16_t i = 1; i < PP_NAMES_MAX; i++)
        if (pp_session_name(s, i, name))
            pp_store_name(store, i, name);
    for (uint32_t i = 0; i < threads && i < 4; i++) {
        struct pp_ring_info info;
        pp_session_ring_info(s, i, &info);
        if (!info.pid)
            continue;
        pp_store_thread(store, &(struct pp_store_thread){.id = i,
                                                         .lane = info.lane,
                                                         .name = info.name,
                                                         .pid = info.pid,
                                                         .tid = info.tid,
                                                         .recorded = info.recorded,
                                                         .dropped = info.dropped});
        struct pp_ring_reader r = pp_ring_reader(s, i);
        if (r.left > RING_SPANS)
            abort();
        pp_store_append_from(store, i, read_ring, &r, &moved);
        pp_ring_open_now(s, i, pp_now_ns(), open);
        pp_store_append(store, i, open, pp_ring_unfinished(s, i, pp_now_ns(), open, PP_OPEN_SPANS_MAX));
    }
    if (pp_store_commit(store, &err) != PP_OK)
        abort();
    for (uint32_t i = 0; i < threads && i < 4; i++)
        pp_ring_release(s, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t input[WHOLE];
    struct pp_store *store = NULL;
    struct pp_reader *r = NULL;
    struct pp_err err;
    struct pp_session *s = begin();
    exchange(input, 0);
    memcpy(input, data, size < WHOLE ? size : WHOLE);
    if (pp_store_create(&(struct pp_store_opts){.path = scratch_path("live.sqlite"), .force = 1}, &store,
                        &err) != PP_OK)
        abort();
    exchange(input, 1);
    drain(s, store);
    exchange(input, 1);
    drain(s, store);
    if (pp_store_finish(store, &err) != PP_OK)
        abort();
    pp_store_close(store);
    pp_session_close(s, 0);
    if (pp_reader_open(scratch_path("live.sqlite"), &r, &err) != PP_OK)
        abort();
    pp_reader_close(r);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    if (i >= 1)
        return 0;
    struct pp_session *s = begin();
    *size = WHOLE;
    *data = calloc(1, WHOLE);
    exchange(*data, 0);
    pp_session_close(s, 0);
    struct pp_name_slot slot = {.state = PP_SLOT_READY};
    memset(slot.text, 'n', sizeof(slot.text)); /* without an end, at the end of the file */
    memcpy(*data + HEAD, &slot, sizeof(slot));
    memcpy(*data + HEAD + sizeof(slot), &slot, sizeof(slot));
    return 1;
}
