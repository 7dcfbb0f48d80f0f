/* Fuzz target: the memory of another process, as the reader of Python stacks finds it. The first byte chooses
 * a version, the rest is an image of memory that repeats itself: whatever address is read, there is
 * something, so that walks go deep. Every 16th part of it is missing. */
#include "tests/fuzz/fuzz.h"

#include "collectors/stacks/frames.h"
#include "collectors/stacks/members.h"

#include <errno.h>
#include <stdlib.h>

struct image {
    const uint8_t *data;
    size_t size;
    unsigned reads;
    int claims; /* types say that they are code objects */
};

static ssize_t read_image(void *ctx, const struct iovec *here, const struct iovec *there, size_t n)
{
    struct image *m = ctx;
    ssize_t all = 0;
    m->reads++;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(uintptr_t)there[i].iov_base;
        if (there[i].iov_len != here[i].iov_len || (at >> 12 & 15) == 15) {
            errno = EFAULT;
            return all ? all : -1;
        }
        for (size_t k = 0; k < here[i].iov_len; k++)
            ((uint8_t *)here[i].iov_base)[k] = m->data[(at + k + m->reads % 3) % m->size];
        if (m->claims && here[i].iov_len == 5)
            memcpy(here[i].iov_base, "code", 5);
        all += (ssize_t)here[i].iov_len;
    }
    return all;
}

static void number(void *ctx, struct pp_codes *codes, struct pp_code *code, const char *name,
                   const char *file)
{
    code->function = pp_stack_tree_function(ctx, name, file, code->first_line);
    code->member = (int16_t)(code->arguments ? pp_codes_local(codes, code, "t") : -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pp_frames_room *room;
    struct pp_interpreter p;
    struct pp_stack_tree tree;
    struct pp_err err;
    struct pp_frame frames[PP_FRAMES_MAX];
    unsigned n;
    if (size < 1024)
        return 0;
    struct image image = {.data = data + 1, .size = size - 1, .claims = data[0] >> 7};
    const struct pp_memory memory = {.readv = read_image, .ctx = &image};
    room = room ? room : pp_frames_room_new();
    if (!room || !pp_stack_tree_init(&tree))
        abort();
    pp_status status = pp_interpreter_open(&p, memory, 0, 7 + data[0] % 9, number, &tree, &err);
    if (status && status != PP_E_NOT_FOUND && strncmp(err.text, "Python 3.", 9) != 0 &&
        strncmp(err.text, "Python ", 7) != 0)
        abort(); /* a refusal is a sentence */
    for (unsigned i = 0; !status && i < p.threads; i++)
        for (unsigned k = 0; k < 3; k++)
            if (pp_frames_read(room, &p.codes, &p.thread[i].stack, k * PP_CODE_SURE_NS, frames, &n) <=
                    PP_FRAMES_CUT &&
                (!n || n > PP_FRAMES_MAX))
                abort();
    if (!status)
        pp_interpreter_threads(&p);
    pp_interpreter_close(&p);
    pp_stack_tree_free(&tree);
    return 0;
}

/* Words that lead to each other, for each version. */
int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const uint64_t sizes[] = {1200, 4096, 9000, 16384};
    if (i >= 4 * 9)
        return 0;
    *size = sizes[i % 4] + 1;
    *data = calloc(1, *size);
    (*data)[0] = (uint8_t)(0x80 | i / 4);
    for (size_t at = 1; at + 8 <= *size; at += 8) {
        uint64_t word = at * 8 * (at % 5) % 30000 & ~UINT64_C(7);
        memcpy(*data + at, &word, 8);
    }
    return 1;
}
