#include "collectors/stacks/frames.h"

#include "probe/base/err.h"

#define TOP_BYTES 1024u /* of the innermost frames, which are pictured twice */
#define BOTH_BYTES \
    4096u              /* a stack of no more is pictured twice as a whole: each part costs a microsecond \
                        */
#define TOP_FRAMES 24u /* the same of heap frames */
#define FAR_MAX 48u    /* places of one reading where frames lie elsewhere: generators, older chunks */
#define PAGE_BYTES 4096u
#define STATE_BYTES 512
#define TRIES 6 /* the first one of a thread only finds where its parts lie */
#define PARTS_MAX (PP_FRAMES_MAX + TOP_FRAMES + 8)
#define OWNER_C_STACK 3 /* from here on a frame of the interpreter itself, without code */
#define OWNER_MAX 4

struct walked {
    uint64_t at, code, instruction;
    const uint8_t *bytes;
    size_t size; /* of bytes */
};

/* What was copied of one moment. */
struct picture {
    uint64_t head;
    const uint8_t *chunk; /* or, of heap frames, `frames` of PP_FRAME_BYTES each, as thread->heap has them */
    size_t chunk_bytes;
};

struct pp_frames_room {
    uint8_t first[PP_FRAMES_MAX * PP_FRAME_BYTES], second[PP_FRAMES_MAX * PP_FRAME_BYTES];
    struct walked a[PP_FRAMES_MAX], b[PP_FRAMES_MAX];
    struct {
        uint64_t at;
        size_t size;
        uint8_t bytes[PAGE_BYTES + PP_FRAME_BYTES];
    } far[FAR_MAX];
    unsigned far_n;
    struct iovec here[PARTS_MAX], there[PARTS_MAX];
    size_t parts, bytes;
};

_Static_assert(PP_CHUNK_BYTES <= PP_FRAMES_MAX * PP_FRAME_BYTES, "a chunk fits into a picture");

struct pp_frames_room *pp_frames_room_new(void)
{
    return calloc(1, sizeof(struct pp_frames_room));
}

static void want(struct pp_frames_room *room, void *to, size_t size, uint64_t at)
{
    room->here[room->parts] = (struct iovec){.iov_base = to, .iov_len = size};
    room->there[room->parts++] = pp_memory_part(at, size);
    room->bytes += size;
}

static int get_wanted(struct pp_frames_room *room, struct pp_memory *m)
{
    size_t parts = room->parts, bytes = room->bytes;
    room->parts = room->bytes = 0;
    m->calls++;
    errno = EFAULT; /* what a part that is missing leaves as it was */
    return m->readv(m->ctx, room->here, room->there, parts) == (ssize_t)bytes;
}

/* ---- walking ---- */

/* In the picture; else read once for both: in an older chunk those that called it lie below it, so that its
 * page is read from its beginning on. */
static const uint8_t *frame_at(struct pp_frames_room *room, struct pp_codes *codes,
                               const struct pp_thread_stack *thread, const struct picture *p, uint64_t at,
                               uint32_t *hint, size_t *size)
{
    const struct pp_layout *l = codes->layout;
    const size_t before = at & (PAGE_BYTES - 1), least = l->frame_locals + 8u;
    if (pp_layout_has_heap_frames(l)) {
        for (uint32_t i = *hint; i < thread->heap_n; i++)
            if (thread->heap[i] == at) {
                *hint = i + 1;
                *size = PP_FRAME_BYTES;
                return p->chunk + (size_t)i * PP_FRAME_BYTES;
            }
    } else if (at >= thread->chunk && at - thread->chunk < p->chunk_bytes &&
               p->chunk_bytes - (at - thread->chunk) >= least) {
        *size = p->chunk_bytes - (at - thread->chunk);
        return p->chunk + (at - thread->chunk);
    }
    unsigned k = 0;
    while (k < room->far_n && (at < room->far[k].at || at - room->far[k].at + least > room->far[k].size))
        k++;
    if (k == FAR_MAX)
        return NULL;
    if (k == room->far_n) {
        uint8_t *to = room->far[k].bytes;
        /* One at the end of a mapping may have fewer bytes behind it. */
        size_t after = pp_memory_get(codes->memory, to, before + PP_FRAME_BYTES, at - before) ? PP_FRAME_BYTES
                       : pp_memory_get(codes->memory, to, before + least, at - before)        ? least
                                                                                              : 0;
        if (!after)
            return NULL;
        room->far[k].at = at - before;
        room->far[k].size = before + after;
        room->far_n++;
    }
    *size = room->far[k].size - (size_t)(at - room->far[k].at);
    return room->far[k].bytes + (at - room->far[k].at);
}

/* From the head through the picture: how many frames, -1: they do not fit together. */
static int walk(struct pp_frames_room *room, struct pp_codes *codes, const struct pp_thread_stack *thread,
                const struct picture *p, struct walked *w)
{
    const struct pp_layout *l = codes->layout;
    const int on_heap = pp_layout_has_heap_frames(l);
    unsigned depth = 0;
    uint32_t hint = 0;
    uint64_t at = p->head;
    for (unsigned steps = 0; at; steps++) {
        size_t size;
        if (steps == 2 * PP_FRAMES_MAX || depth == PP_FRAMES_MAX)
            return -1;
        const uint8_t *f = at & 7 ? NULL : frame_at(room, codes, thread, p, at, &hint, &size);
        if (!f)
            return -1;
        uint64_t previous = pp_word_at(f, l->frame_previous);
        int owner = on_heap ? 0 : f[l->frame_owner];
        /* A heap frame without references waits to be used again. */
        if (owner > OWNER_MAX || previous == at || (on_heap && (int64_t)pp_word_at(f, 0) <= 0))
            return -1;
        if (owner < OWNER_C_STACK)
            w[depth++] = (struct walked){at, pp_layout_object(l, pp_word_at(f, l->frame_code)),
                                         on_heap ? pp_half_at(f, l->frame_instruction)
                                                 : pp_word_at(f, l->frame_instruction),
                                         f, size};
        at = previous;
    }
    return (int)depth;
}

/* ---- what a frame says ---- */

static uint64_t local(const struct pp_layout *l, const struct walked *w, int number)
{
    size_t at = l->frame_locals + 8u * (size_t)number;
    return at + 8 <= w->size ? pp_layout_object(l, pp_word_at(w->bytes, at)) : 0;
}

/* 0: no code, or an instruction outside of it. */
static int fill(struct pp_codes *codes, const struct walked *w, uint64_t now_ns, struct pp_frame *out)
{
    const struct pp_layout *l = codes->layout;
    struct pp_code *code = pp_codes_get(codes, w->code, now_ns);
    int64_t offset;
    if (!code)
        return 0;
    if (pp_layout_has_heap_frames(l))
        offset = (int64_t)(int32_t)w->instruction * (l->minor >= 10 ? 2 : 1);
    else
        offset = (int64_t)(w->instruction - w->code - l->code_instructions);
    if (offset < -2 || offset >= (int64_t)code->bytes) {
        pp_codes_forget(codes, code); /* another function may have its address now */
        return 0;
    }
    *out = (struct pp_frame){code->function, pp_code_line(l, code, (int32_t)(offset < 0 ? 0 : offset)),
                             code->arguments ? local(l, w, 0) : 0,
                             code->member >= 0 ? local(l, w, code->member) : 0};
    return 1;
}

/* ---- one reading ---- */

enum outcome { WHOLE, MOVED, ELSEWHERE, BROKEN, EMPTY };

/* From 3.11 on: frames lie in chunks of the thread's own stack. */
static enum outcome read_chunk(struct pp_frames_room *room, struct pp_codes *codes, struct pp_thread_stack *t,
                               int *na, int *nb)
{
    const struct pp_layout *l = codes->layout;
    uint64_t frame[PP_CFRAMES] = {0}, frame_again[PP_CFRAMES] = {0}, head = 0, head_again = 0,
             chunk[3] = {0}; /* its begin, used, end */
    size_t size = 0, low = 0;
    uint8_t state[STATE_BYTES]; /* of the thread: where its chunk and its innermost frame are */
    uint16_t from = l->thread_frame < l->thread_chunk ? l->thread_frame : l->thread_chunk;
    size_t span = (size_t)(l->thread_frame + l->thread_chunk - 2 * from) + sizeof(chunk);
    if (span > sizeof(state))
        return BROKEN;
    want(room, state, span, t->at + from);
    for (unsigned i = 0; i < PP_CFRAMES && t->cframe[i]; i++)
        want(room, &frame[i], 8, t->cframe[i] + l->cframe_frame);
    if (t->chunk) {
        uint64_t used = t->top - t->chunk;
        size = used + TOP_BYTES < t->room ? (size_t)used + TOP_BYTES : t->room;
        low = used > BOTH_BYTES ? (size_t)(used - TOP_BYTES) & ~(size_t)63 : 0;
        want(room, room->first + low, size - low, t->chunk + low);
        want(room, room->second + low, size - low, t->chunk + low);
    }
    for (unsigned i = 0; i < PP_CFRAMES && t->cframe[i]; i++)
        want(room, &frame_again[i], 8, t->cframe[i] + l->cframe_frame);
    want(room, &head_again, 8, t->at + l->thread_frame);
    if (low)
        want(room, room->first, low, t->chunk);
    int is_read = get_wanted(room, codes->memory), knew = t->chunk != 0;
    if (is_read) {
        head = pp_word_at(state, l->thread_frame - from);
        memcpy(chunk, state + l->thread_chunk - from, sizeof(chunk));
    }
    unsigned at = 0; /* of the cframe that the head leads to */
    while (l->has_cframe && at < PP_CFRAMES && t->cframe[at] != head)
        at++;
    int fits = knew && chunk[0] == t->chunk && chunk[1] >= chunk[0] && chunk[1] - chunk[0] <= size &&
               at < PP_CFRAMES;
    if (!is_read && errno == ESRCH)
        return BROKEN;
    if (!is_read) {
        *t = (struct pp_thread_stack){.at = t->at};
        return knew ? ELSEWHERE : BROKEN; /* what was known of it has gone */
    }
    if (!head || !chunk[0])
        return EMPTY;
    if (chunk[1] < chunk[0] || chunk[2] < chunk[1] || chunk[1] - chunk[0] > PP_CHUNK_BYTES) {
        *t = (struct pp_thread_stack){.at = t->at};
        return BROKEN;
    }
    t->chunk = chunk[0];
    t->top = chunk[1];
    t->room = chunk[2] - chunk[0] < PP_CHUNK_BYTES ? (uint32_t)(chunk[2] - chunk[0]) : PP_CHUNK_BYTES;
    if (l->has_cframe && at == PP_CFRAMES) {
        memmove(t->cframe + 1, t->cframe, (PP_CFRAMES - 1) * sizeof(*t->cframe));
        t->cframe[0] = head;
    }
    if (!fits)
        return ELSEWHERE;
    if (l->has_cframe && !frame[at])
        return EMPTY;
    memcpy(room->second, room->first, low);
    struct picture a = {l->has_cframe ? frame[at] : head, room->first, size},
                   b = {l->has_cframe ? frame_again[at] : head_again, room->second, size};
    room->far_n = 0;
    *na = walk(room, codes, t, &a, room->a);
    *nb = walk(room, codes, t, &b, room->b);
    return head != head_again || *na < 0 || *nb < 0 ? MOVED : WHOLE;
}

/* Up to 3.10: a chain of objects; those of the last time are copied again. */
static enum outcome read_heap(struct pp_frames_room *room, struct pp_codes *codes, struct pp_thread_stack *t,
                              int *na, int *nb)
{
    const struct pp_layout *l = codes->layout;
    const uint32_t top = t->heap_n < TOP_FRAMES ? t->heap_n : TOP_FRAMES, part = l->frame_instruction + 4u;
    uint64_t head = 0, head_again = 0;
    if (!t->heap && !(t->heap = calloc(PP_FRAMES_MAX, sizeof(*t->heap))))
        return BROKEN;
    want(room, &head, 8, t->at + l->thread_frame);
    for (uint32_t i = 0; i < top; i++)
        want(room, room->first + i * PP_FRAME_BYTES, PP_FRAME_BYTES, t->heap[i]);
    for (uint32_t i = 0; i < top; i++)
        want(room, room->second + i * PP_FRAME_BYTES, part, t->heap[i]);
    want(room, &head_again, 8, t->at + l->thread_frame);
    for (uint32_t i = top; i < t->heap_n; i++)
        want(room, room->first + i * PP_FRAME_BYTES, PP_FRAME_BYTES, t->heap[i]);
    int is_read = get_wanted(room, codes->memory), knew = t->heap_n != 0;
    if (!is_read && (errno == ESRCH || !knew))
        return BROKEN;
    if (!is_read) {
        t->heap_n = 0;
        return ELSEWHERE;
    }
    if (!head)
        return EMPTY;
    memcpy(room->second + (size_t)top * PP_FRAME_BYTES, room->first + (size_t)top * PP_FRAME_BYTES,
           (size_t)(t->heap_n - top) * PP_FRAME_BYTES);
    struct picture a = {.head = head, .chunk = room->first}, b = {.head = head_again, .chunk = room->second};
    room->far_n = 0;
    *na = walk(room, codes, t, &a, room->a);
    *nb = walk(room, codes, t, &b, room->b);
    /* A frame that was read by itself was not pictured twice, but a chain that both have is right. */
    int all_known = room->far_n == 0;
    if (*nb >= 0) {
        t->heap_n = (uint32_t)*nb;
        for (int i = 0; i < *nb; i++)
            t->heap[i] = room->b[i].at;
    }
    return *na < 0 || *nb < 0 ? MOVED : all_known ? WHOLE : ELSEWHERE;
}

enum pp_frames_result pp_frames_read(struct pp_frames_room *room, struct pp_codes *codes,
                                     struct pp_thread_stack *thread, uint64_t now_ns,
                                     struct pp_frame frames[PP_FRAMES_MAX], unsigned *n)
{
    const int on_heap = pp_layout_has_heap_frames(codes->layout);
    int na = -1, nb = -1, same = 0;
    *n = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        na = nb = -1;
        enum outcome o = (on_heap ? read_heap : read_chunk)(room, codes, thread, &na, &nb);
        if (o == BROKEN)
            return PP_FRAMES_GONE;
        if (o == EMPTY)
            return PP_FRAMES_NONE;
        /* Chunks that lay elsewhere hold nothing of this picture; heap frames were read one by one. */
        if ((o == ELSEWHERE && !on_heap) || na < 0 || nb < 0)
            continue;
        /* How many frames both walks have, counted from the outermost one. */
        const struct walked *a = room->a, *b = room->b;
        for (same = 0; same < na && same < nb; same++) {
            const struct walked *x = &a[na - 1 - same], *y = &b[nb - 1 - same];
            if (x->at != y->at || x->code != y->code || x->instruction != y->instruction)
                break;
        }
        /* The innermost is one call that went on between them: either line of it was true. */
        if (na == nb && same == na - 1 && a[0].at == b[0].at && a[0].code == b[0].code)
            same = na;
        if (o == WHOLE && same == na && same == nb)
            break;
    }
    if (na < 0 || nb < 0)
        return PP_FRAMES_TORN;
    for (int i = 0; i < same; i++) {
        if (!fill(codes, &room->a[na - same + i], now_ns, &frames[i]))
            return PP_FRAMES_TORN;
    }
    *n = (unsigned)same;
    return !same ? PP_FRAMES_TORN : same < na || same < nb ? PP_FRAMES_CUT : PP_FRAMES_READ;
}

/* ---- the interpreter's threads ---- */

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

unsigned pp_interpreter_threads(struct pp_interpreter *p)
{
    struct pp_interpreter_thread before[PP_INTERPRETER_THREADS];
    const struct pp_layout *l = &p->layout;
    const unsigned n = p->threads;
    memcpy(before, p->thread, n * sizeof(*before));
    p->threads = 0;
    uint64_t interpreter = pp_memory_word(&p->memory, p->runtime + l->head), next_one;
    for (int i = 0; interpreter && !(interpreter & 7) && i < INTERPRETERS; i++, interpreter = next_one) {
        next_one = pp_memory_word(&p->memory, interpreter + l->next);
        uint64_t at = pp_memory_word(&p->memory, interpreter + l->threads), next = 0;
        for (; at && !(at & 7) && p->threads < PP_INTERPRETER_THREADS; at = next) {
            struct pp_interpreter_thread t = {.stack = {.at = at}};
            next = 0;
            struct iovec here[3] = {{&next, 8}, {&t.id, 8}, {&t.native, 8}},
                         there[3] = {pp_memory_part(at + l->thread_next, 8),
                                     pp_memory_part(at + l->thread_id, 8),
                                     pp_memory_part(at + l->thread_native, 8)};
            size_t parts = l->thread_native ? 3 : 2;
            p->memory.calls++;
            if (p->memory.readv(p->memory.ctx, here, there, parts) != (ssize_t)(8 * parts))
                break;
            t.is_main = !next_one && !next; /* a new one is put before the others */

            /* One that stays keeps what is known of its stack. */
            unsigned k = 0;
            while (k < n && before[k].stack.at != t.stack.at)
                k++;
            if (k < n) {
                t.stack = before[k].stack;
                before[k].stack = (struct pp_thread_stack){0};
            }
            p->thread[p->threads++] = t;
        }
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
