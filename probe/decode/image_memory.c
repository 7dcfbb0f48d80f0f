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

int pp_image_budget_allows(struct pp_image_budget *b, size_t size)
{
    if (!b || !b->limit || (b->held <= b->limit && size <= b->limit - b->held))
        return 1;
    b->refused = size < SIZE_MAX - b->held ? b->held + size : SIZE_MAX;
    return 0;
}

static void take(struct pp_image_budget *b, size_t size)
{
    if (b)
        b->held += size;
}

static void give_back(struct pp_image_budget *b, size_t size)
{
    if (b)
        b->held -= size;
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
    take(a->budget, size);
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
    give_back(a->budget, a->held_bytes);
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
        if (!pp_image_budget_allows(a->budget, size))
            return NULL;
        /* Growth ahead of need may not spend what is left. */
        size_t left = a->budget && a->budget->limit ? a->budget->limit - a->budget->held : SIZE_MAX;
        c = add_chunk(a, size > grow || grow > left ? size : grow);
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
    pp_buffer_free(b);
    if (!pp_image_budget_allows(b->budget, round_up(size)))
        return -1;
    if (b->budget && b->budget->limit && capacity > b->budget->limit - b->budget->held)
        capacity = round_up(size);
    uint8_t *data = aligned_alloc(PP_MEMORY_ALIGN, capacity);
    if (!data)
        return -1;
    take(b->budget, capacity);
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
    give_back(b->budget, b->capacity);
    b->data = NULL;
    b->capacity = 0;
}
