/* decode/image_memory.h: memory that a decoder keeps from one image to the next, so that a warm decode
 * allocates nothing.
 *
 * The arena serves whatever libjpeg and libpng ask for during one image and is reset before the next; after a
 * reset one chunk holds what the last image needed in several. The buffer is one growing block for pixels.
 * Both count every call they make to the system's allocator, and give memory beyond PP_KEEP_BYTES back, so
 * that one huge image does not stay with a worker for the rest of the run. What all of a decoder hold
 * together stays within its budget: an image of a few megabytes can ask for gigabytes. Not thread-safe: one
 * owner. Zeroed structs are valid and empty. */
#ifndef PP_DECODE_IMAGE_MEMORY_H
#define PP_DECODE_IMAGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define PP_KEEP_BYTES ((size_t)32 << 20)
/* A cache line, and the most libjpeg-turbo's SIMD code asks for (twice its 32 bytes) */
#define PP_MEMORY_ALIGN 64

/* Shared by the memories of one decoder. */
struct pp_image_budget {
    size_t limit;   /* 0: none */
    size_t held;    /* by all of them, and by the encoded sample */
    size_t refused; /* what would have been held after the allocation that was refused; 0: none was */
};

/* Whether size more bytes are within the budget; takes none. b may be NULL: always. */
int pp_image_budget_allows(struct pp_image_budget *b, size_t size);

struct pp_image_arena_chunk;
struct pp_image_arena {
    struct pp_image_budget *budget;    /* borrowed; NULL: none */
    struct pp_image_arena_chunk *head; /* the chunk in use; the full ones behind it */
    size_t held_bytes;
    uint64_t grown;
};

/* Aligned to PP_MEMORY_ALIGN, uninitialised; NULL when the system has no memory, or the budget no room. Valid
 * until the reset. */
void *pp_image_arena_alloc(struct pp_image_arena *a, size_t size);
void pp_image_arena_reset(struct pp_image_arena *a);
void pp_image_arena_free(struct pp_image_arena *a);

struct pp_buffer {
    struct pp_image_budget *budget; /* borrowed; NULL: none */
    uint8_t *data;
    size_t capacity;
    uint64_t grown;
};

/* At least size bytes, aligned to PP_MEMORY_ALIGN, contents lost on growth. 0, or -1 without memory or
 * room in the budget. */
int pp_buffer_reserve(struct pp_buffer *b, size_t size);
void pp_buffer_trim(struct pp_buffer *b); /* gives it back when it is larger than PP_KEEP_BYTES */
void pp_buffer_free(struct pp_buffer *b);

#endif
