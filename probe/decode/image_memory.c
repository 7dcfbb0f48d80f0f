#include "probe/decode/image_memory.h"

#include <stdlib.h>

#define FIRST_CHUNK_BYTES ((size_t)256 << 10)

struct pp_image_arena_chunk {
    struct pp_image_arena_chunk *next;
    size_t size, used; /* of data */
    _Alignas(PP_MEMORY_ALIGN) uint8_t data[];
};

static size_t round_up(size_t size)
{
    return (size + PP_MEMORY_ALIGN - 1) & ~(size_t)(PP_MEMORY_ALIGN - 1);
}

static struct pp_image_arena_chunk *add_chunk(struct pp_image_arena *a, size_t size)
{
    struct pp_image_arena_chunk *c = aligned_alloc(PP_MEMORY_ALIGN, sizeof(*c) + size);
    if (!c)
        return NULL;
    c->next = a->head;
    c->size = size;
    c->used = 0;
    a->head = c;
    a->held_bytes += size;
    a->grown++;
    return c;
}

static void drop_chunks(struct pp_image_arena *a)
{
    while (a->head) {
        struct pp_image_arena_chunk *c = a->head;
        a->head = c->next;
        free(c);
    }
    a->held_bytes = 0;
}

void *pp_image_arena_alloc(struct pp_image_arena *a, size_t size)
{
    struct pp_image_arena_chunk *c = a->head;
    if (size > SIZE_MAX / 4)
        return NULL;
    size = round_up(size ? size : 1);
    if (!c || c->size - c->used < size) {
        size_t grow = a->held_bytes > FIRST_CHUNK_BYTES ? round_up(a->held_bytes) : FIRST_CHUNK_BYTES;
        c = add_chunk(a, size > grow ? size : grow);
        if (!c)
            return NULL;
    }
    void *p = c->data + c->used;
    c->used += size;
    return p;
}

void pp_image_arena_reset(struct pp_image_arena *a)
{
    size_t held = a->held_bytes;
    if (!a->head)
        return;
    if (held > PP_KEEP_BYTES) {
        drop_chunks(a);
    } else if (a->head->next) {
        drop_chunks(a);
        add_chunk(a, round_up(held));
    } else {
        a->head->used = 0;
    }
}

void pp_image_arena_free(struct pp_image_arena *a)
{
    drop_chunks(a);
}

int pp_buffer_reserve(struct pp_buffer *b, size_t size)
{
    if (size <= b->capacity)
        return 0;
    if (size > SIZE_MAX / 4)
        return -1;
    /* An eighth more, so that a run of slightly larger images does not grow it every time. */
    size_t capacity = round_up(size + size / 8);
    uint8_t *data = aligned_alloc(PP_MEMORY_ALIGN, capacity);
    if (!data)
        return -1;
    free(b->data);
    b->data = data;
    b->capacity = capacity;
    b->grown++;
    return 0;
}

void pp_buffer_trim(struct pp_buffer *b)
{
    if (b->capacity > PP_KEEP_BYTES)
        pp_buffer_free(b);
}

void pp_buffer_free(struct pp_buffer *b)
{
    free(b->data);
    b->data = NULL;
    b->capacity = 0;
}
