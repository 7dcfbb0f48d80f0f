/* What all image codecs share: the limits of a header's size, and the EXIF orientation. */
#include "probe/decode/image.h"

#include "probe/base/err.h"

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u
#define TYPE_LONG 4u
#define ENTRY_BYTES 12u

pp_status pp_image_check_size(uint64_t width, uint64_t height, struct pp_err *err)
{
    if (width == 0 || height == 0)
        return pp_fail(err, PP_E_CORRUPT, "the header claims an image of %llux%llu pixels",
                       (unsigned long long)width, (unsigned long long)height);
    if (width > PP_IMAGE_MAX_SIDE || height > PP_IMAGE_MAX_SIDE || width * height > PP_IMAGE_MAX_PIXELS)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%llux%llu pixels; at most %d on a side and 2^28 in all are decoded",
                       (unsigned long long)width, (unsigned long long)height, PP_IMAGE_MAX_SIDE);
    return PP_OK;
}

struct tiff {
    const uint8_t *data;
    size_t size;
    int big_endian;
};

/* Reads beyond the end give 0, which no caller takes for a valid offset, count or orientation. */
static uint32_t read_u16(const struct tiff *t, size_t at)
{
    if (t->size < 2 || at > t->size - 2)
        return 0;
    const uint8_t *p = t->data + at;
    return t->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t read_u32(const struct tiff *t, size_t at)
{
    uint32_t first = read_u16(t, at), second = read_u16(t, at + 2);
    return t->big_endian ? first << 16 | second : second << 16 | first;
}

int pp_exif_orientation(const uint8_t *data, size_t size)
{
    struct tiff t = {.data = data, .size = size};
    if (size < 8)
        return 1;
    t.big_endian = data[0] == 'M';
    if (data[0] != data[1] || (data[0] != 'M' && data[0] != 'I') || read_u16(&t, 2) != 42)
        return 1;

    size_t ifd = read_u32(&t, 4);
    uint32_t entries = read_u16(&t, ifd);
    int orientation = 1;
    /* A tag given twice counts by its last entry, as in PIL. */
    for (uint32_t i = 0; i < entries; i++) {
        size_t entry = ifd + 2 + (size_t)i * ENTRY_BYTES;
        if (entry + ENTRY_BYTES > size)
            break;
        if (read_u16(&t, entry) == TAG_ORIENTATION) {
            uint32_t type = read_u16(&t, entry + 2), count = read_u32(&t, entry + 4), value = 0;
            if (count == 1)
                value = type == TYPE_SHORT  ? read_u16(&t, entry + 8)
                        : type == TYPE_LONG ? read_u32(&t, entry + 8)
                                            : 0;
            orientation = value >= 1 && value <= 8 ? (int)value : 1;
        }
    }
    return orientation;
}

int pp_pixels_off_add(struct pp_pixels_off *to, const uint8_t *rgb, const struct pp_pixels *ours)
{
    int largest = 0;
    for (int y = 0; y < ours->height; y++)
        for (int x = 0; x < ours->width; x++) {
            const uint8_t *pixel = ours->data + (size_t)y * ours->stride + (size_t)x * 4;
            for (int c = 0; c < 3; c++, rgb++) {
                int off = abs(*rgb - pixel[c]);
                to->sum += (uint64_t)off;
                largest = off > largest ? off : largest;
            }
        }
    to->largest = largest > to->largest ? largest : to->largest;
    to->values += (uint64_t)ours->width * (uint64_t)ours->height * 3;
    to->images++;
    return largest;
}

#define FIRST_CHUNK_BYTES ((size_t)256 << 10)

struct pp_image_arena_chunk {
    struct pp_image_arena_chunk *next;
    size_t size, used; /* of data */
    _Alignas(PP_MEMORY_ALIGN) uint8_t data[];
};

int pp_image_budget_allows(struct pp_image_budget *b, size_t size)
{
    if (!b || !b->limit || (b->held <= b->limit && size <= b->limit - b->held))
        return 1;
    b->refused = size < SIZE_MAX - b->held ? b->held + size : SIZE_MAX;
    return 0;
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
    if (a->budget)
        a->budget->held += size;
    a->grown++;
    return c;
}

void pp_image_arena_free(struct pp_image_arena *a)
{
    while (a->head) {
        struct pp_image_arena_chunk *c = a->head;
        a->head = c->next;
        free(c);
    }
    if (a->budget)
        a->budget->held -= a->held_bytes;
    a->held_bytes = 0;
}

void *pp_image_arena_alloc(struct pp_image_arena *a, size_t size)
{
    struct pp_image_arena_chunk *c = a->head;
    if (size > SIZE_MAX / 4)
        return NULL;
    size = pp_memory_aligned(size ? size : 1);
    if (!c || c->size - c->used < size) {
        size_t grow = a->held_bytes > FIRST_CHUNK_BYTES ? pp_memory_aligned(a->held_bytes)
                                                        : FIRST_CHUNK_BYTES;
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
        pp_image_arena_free(a);
    } else if (a->head->next) {
        pp_image_arena_free(a);
        add_chunk(a, pp_memory_aligned(held));
    } else {
        a->head->used = 0;
    }
}

int pp_buffer_reserve(struct pp_buffer *b, size_t size)
{
    if (size <= b->capacity)
        return 0;
    if (size > SIZE_MAX / 4)
        return -1;
    /* An eighth more, so that a run of slightly larger images does not grow it every time. */
    size_t capacity = pp_memory_aligned(size + size / 8);
    pp_buffer_free(b);
    if (!pp_image_budget_allows(b->budget, pp_memory_aligned(size)))
        return -1;
    if (b->budget && b->budget->limit && capacity > b->budget->limit - b->budget->held)
        capacity = pp_memory_aligned(size);
    uint8_t *data = aligned_alloc(PP_MEMORY_ALIGN, capacity);
    if (!data)
        return -1;
    if (b->budget)
        b->budget->held += capacity;
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
    if (b->budget)
        b->budget->held -= b->capacity;
    b->data = NULL;
    b->capacity = 0;
}
