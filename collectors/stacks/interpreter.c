#include "collectors/stacks/interpreter.h"

#include "probe/base/err.h"

#include <errno.h>
#include <stdlib.h>

#define INTERPRETERS 16

pp_status pp_interpreter_open(struct pp_interpreter *p, struct pp_memory memory, uint64_t runtime,
                              unsigned minor, pp_code_new_fn *on_new, void *ctx, struct pp_err *err)
{
    uint64_t words[PP_LAYOUT_WORDS];
    *p = (struct pp_interpreter){.memory = memory, .runtime = runtime};
    if (!pp_memory_get(&p->memory, words, sizeof(words), runtime))
        return errno == EPERM || errno == EACCES || errno == ENOSYS
                   ? pp_fail(err, PP_E_ACCESS, "its memory may not be read")
                   : pp_fail(err, PP_E_NOT_FOUND, "its Python is starting or ending");
    pp_status status = pp_layout_of(words, minor, &p->layout, err);
    if (status)
        return status;
    p->codes = (struct pp_codes){.memory = &p->memory, .layout = &p->layout, .on_new = on_new, .ctx = ctx};
    return pp_interpreter_threads(p) ? PP_OK
                                     : pp_fail(err, PP_E_NOT_FOUND, "its Python is starting or ending");
}

/* One that stays keeps what is known of its stack. */
static void keep_thread(struct pp_interpreter *p, struct pp_interpreter_thread *before, unsigned n,
                        struct pp_interpreter_thread found)
{
    unsigned i = 0;
    while (i < n && before[i].stack.at != found.stack.at)
        i++;
    if (i < n) {
        found.stack = before[i].stack;
        before[i].stack = (struct pp_thread_stack){0};
    }
    p->thread[p->threads++] = found;
}

static void walk_threads(struct pp_interpreter *p, struct pp_interpreter_thread *before, unsigned n,
                         uint64_t interpreter, int is_last)
{
    const struct pp_layout *l = &p->layout;
    uint64_t at = pp_memory_word(&p->memory, interpreter + l->threads);
    while (at && !(at & 7) && p->threads < PP_INTERPRETER_THREADS) {
        struct pp_interpreter_thread t = {.stack = {.at = at}};
        uint64_t next = 0;
        struct iovec here[3] = {{&next, 8}, {&t.id, 8}, {&t.native, 8}},
                     there[3] = {pp_memory_part(at + l->thread_next, 8), pp_memory_part(at + l->thread_id, 8),
                                 pp_memory_part(at + l->thread_native, 8)};
        size_t parts = l->thread_native ? 3 : 2;
        p->memory.calls++;
        if (p->memory.readv(p->memory.ctx, here, there, parts) != (ssize_t)(8 * parts))
            break;
        t.is_main = is_last && !next; /* a new one is put before the others */
        keep_thread(p, before, n, t);
        at = next;
    }
}

unsigned pp_interpreter_threads(struct pp_interpreter *p)
{
    struct pp_interpreter_thread before[PP_INTERPRETER_THREADS];
    const unsigned n = p->threads;
    memcpy(before, p->thread, n * sizeof(*before));
    p->threads = 0;
    uint64_t at = pp_memory_word(&p->memory, p->runtime + p->layout.head);
    for (int i = 0; at && !(at & 7) && i < INTERPRETERS; i++) {
        uint64_t next = pp_memory_word(&p->memory, at + p->layout.next);
        walk_threads(p, before, n, at, !next);
        at = next;
    }
    for (unsigned i = 0; i < n; i++)
        free(before[i].stack.heap);
    return p->threads;
}

int pp_interpreter_check(struct pp_interpreter *p, struct pp_frames_room *room, uint64_t now_ns)
{
    struct pp_frame frames[PP_FRAMES_MAX];
    unsigned n;
    int is_seen = 0;
    for (unsigned i = 0; i < p->threads; i++)
        for (int tries = 0; tries < 8; tries++) {
            enum pp_frames_result r = pp_frames_read(room, &p->codes, &p->thread[i].stack, now_ns, frames,
                                                     &n);
            if (r == PP_FRAMES_READ || r == PP_FRAMES_CUT)
                return 1;
            if (r != PP_FRAMES_TORN)
                break;
            is_seen = 1;
        }
    return is_seen ? 0 : -1;
}

void pp_interpreter_close(struct pp_interpreter *p)
{
    for (unsigned i = 0; i < p->threads; i++)
        free(p->thread[i].stack.heap);
    p->threads = 0;
    pp_codes_free(&p->codes);
}
