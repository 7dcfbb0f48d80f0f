/* Fuzz target: what a killed run left beside its file. The input is the session file (its first 4 KiB matter)
 * and one ring file; the SQLite file they belong to is sound. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "collectors/store/reader.h"
#include "collectors/store/recover.h"

#include <pipeprobe/ring.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SESSION_PART 4096u

static uint8_t *sound_file, *sound_session;
static size_t file_size, session_size;

static void prepare(void)
{
    if (sound_file)
        return;
    pp_reader_set_before(pp_recording_recover);
    scratch_run(scratch_path("sound.sqlite"), 0);
    sound_file = scratch_read(scratch_path("sound.sqlite"), &file_size);
    sound_session = scratch_read(scratch_path("sound.sqlite.rings/session"), &session_size);
}

static int count(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    *(uint64_t *)ctx += n;
    return 0;
}

/* The session file is long and mostly zero: only its beginning is mutated. */
static void write_session(const uint8_t *data, size_t size)
{
    static uint8_t *copy;
    if (!copy)
        copy = malloc(session_size);
    memcpy(copy, sound_session, session_size);
    memcpy(copy, data, size < session_size ? size : session_size);
    scratch_write(scratch_path("run.sqlite.rings/session"), copy, session_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_reader *r = NULL;
    struct pp_err err;
    uint64_t n = 0;
    prepare();
    size_t session = size < SESSION_PART ? size : SESSION_PART;
    mkdir(scratch_path("run.sqlite.rings"), 0700);
    unlink(scratch_path("run.sqlite-journal"));
    scratch_write(scratch_path("run.sqlite"), sound_file, file_size);
    write_session(data, session);
    scratch_write(scratch_path("run.sqlite.rings/ring-0000"), data + session, size - session);
    if (pp_reader_open(scratch_path("run.sqlite"), &r, &err) != PP_OK)
        abort(); /* the file itself is sound */
    if (pp_reader_each_chunk(r, count, &n, NULL, &err) != PP_OK || n < 6)
        abort(); /* what was committed stays */
    pp_reader_close(r);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    size_t ring_size;
    if (i >= 1)
        return 0;
    prepare();
    uint8_t *ring = scratch_read(scratch_path("sound.sqlite.rings/ring-0000"), &ring_size);
    *size = SESSION_PART + ring_size;
    *data = malloc(*size);
    memcpy(*data, sound_session, SESSION_PART);
    memcpy(*data + SESSION_PART, ring, ring_size);
    free(ring);
    return 1;
}
