#include "probe/storage/cache/cache_ring.h"

#include "probe/base/io.h"

#include <xxhash.h>

#define ENTRY_MAGIC 0x45435050u /* "PPCE" */

static const char segment_magic[8] = "PPCACHE1", table_magic[8] = "PPCTABL1";

struct table_end {
    char magic[8];
    uint64_t at, rows; /* where it begins, and how many there are */
    uint64_t check;    /* XXH3 of the rows, seeded with their number and at */
};

uint64_t pp_cache_key(const struct pp_cache_id *id)
{
    const uint64_t parts[] = {XXH3_64bits(id->name, id->name_size), id->offset, id->asked};
    uint64_t key = XXH3_64bits(parts, sizeof(parts));
    return key ? key : 1;
}

uint64_t pp_cache_place(const char *place)
{
    size_t n = strcspn(place, "{*?[,");
    while (place[n] && n > 0 && place[n - 1] != '/')
        n--;
    while (n > 1 && place[n - 1] == '/') /* DIR and DIR/ are one */
        n--;
    return XXH3_64bits(place, n);
}

uint64_t pp_cache_entry_size(size_t name_size, uint64_t length)
{
    return (sizeof(struct pp_cache_head) + name_size + length + 7) & ~(uint64_t)7;
}

uint64_t pp_cache_table_size(uint64_t entries)
{
    return entries * sizeof(struct pp_cache_row) + sizeof(struct table_end);
}

void pp_cache_make_segment_head(struct pp_cache_segment_head *out, uint64_t number, uint64_t seed)
{
    *out = (struct pp_cache_segment_head){.number = number};
    memcpy(out->magic, segment_magic, sizeof(out->magic));
    out->check = XXH3_64bits_withSeed(out, offsetof(struct pp_cache_segment_head, check), seed);
}

int pp_cache_check_segment(const struct pp_cache_file *f, uint64_t number)
{
    struct pp_cache_segment_head h;
    return pp_io_pread_full(f->fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
           memcmp(h.magic, segment_magic, sizeof(h.magic)) == 0 && h.number == number && h.zero == 0 &&
           h.check == XXH3_64bits_withSeed(&h, offsetof(struct pp_cache_segment_head, check), f->seed);
}

/* ---- heads of entries ---- */

static uint64_t check_head(const struct pp_cache_head *h, const char *name, uint64_t seed)
{
    size_t from = offsetof(struct pp_cache_head, key);
    return XXH3_64bits_withSeed((const char *)h + from, sizeof(*h) - from,
                                XXH3_64bits_withSeed(name, h->name_size, seed));
}

void pp_cache_make_head(struct pp_cache_head *out, const struct pp_cache_id *id, const void *bytes,
                        uint32_t length, uint64_t seed)
{
    *out = (struct pp_cache_head){.magic = ENTRY_MAGIC,
                                  .name_size = (uint16_t)id->name_size,
                                  .key = pp_cache_key(id),
                                  .version = id->version,
                                  .place = id->place,
                                  .offset = id->offset,
                                  .asked = id->asked,
                                  .sum = XXH3_64bits_withSeed(bytes, length, seed),
                                  .length = length};
    out->check = check_head(out, id->name, seed);
}

/* 1: a sound head lies there, and its entry within size. */
static int read_head(const struct pp_cache_file *f, uint64_t at, uint64_t size, struct pp_cache_head *h,
                     char *name)
{
    if (size < at || size - at < sizeof(*h) ||
        pp_io_pread_full(f->fd, h, sizeof(*h), (off_t)at) != (ssize_t)sizeof(*h))
        return 0;
    if (h->magic != ENTRY_MAGIC || !h->key || h->name_size > PP_CACHE_NAME || h->zero || h->zero2 ||
        size - at < sizeof(*h) + h->name_size + h->length)
        return 0;
    return pp_io_pread_full(f->fd, name, h->name_size, (off_t)(at + sizeof(*h))) == h->name_size &&
           h->check == check_head(h, name, f->seed);
}

enum pp_cache_got pp_cache_read_entry(const struct pp_cache_file *f, const struct pp_cache_row *row,
                                      const struct pp_cache_id *id, void *buf, struct pp_io_cached *cached)
{
    struct pp_cache_head h;
    char name[PP_CACHE_NAME];
    uint64_t at = (uint64_t)row->at8 * 8;
    if (!read_head(f, at, UINT64_MAX, &h, name) || h.length != row->length || h.key != row->key ||
        h.version != row->version)
        return PP_CACHE_DAMAGED;
    if (h.name_size != id->name_size || memcmp(name, id->name, id->name_size) != 0 ||
        h.offset != id->offset || h.asked != id->asked)
        return PP_CACHE_ANOTHER;
    ssize_t n = pp_io_pread_cached(f->fd, buf, h.length, (off_t)(at + sizeof(h) + h.name_size), cached);
    return n == (ssize_t)h.length && XXH3_64bits_withSeed(buf, h.length, f->seed) == h.sum ? PP_CACHE_GOT
                                                                                           : PP_CACHE_DAMAGED;
}

/* ---- tables ---- */

int pp_cache_write_table(const struct pp_cache_file *f, uint64_t at, const struct pp_cache_row *rows,
                         uint64_t n)
{
    struct table_end end = {.at = at, .rows = n};
    memcpy(end.magic, table_magic, sizeof(end.magic));
    end.check = XXH3_64bits_withSeed(rows, n * sizeof(*rows), f->seed ^ n ^ (at << 20));
    return pp_io_write_full(f->fd, rows, n * sizeof(*rows)) == 0 ? pp_io_write_full(f->fd, &end, sizeof(end))
                                                                 : -1;
}

/* The rows of a sound table at the end of the file, to be freed; NULL: there is none. */
static struct pp_cache_row *read_table(const struct pp_cache_file *f, uint64_t size, struct table_end *end)
{
    struct pp_cache_row *rows = NULL;
    if (size < PP_CACHE_SEGMENT_HEAD + sizeof(*end) ||
        pp_io_pread_full(f->fd, end, sizeof(*end), (off_t)(size - sizeof(*end))) != (ssize_t)sizeof(*end) ||
        memcmp(end->magic, table_magic, sizeof(end->magic)) != 0 || end->at > size ||
        end->at < PP_CACHE_SEGMENT_HEAD || end->rows > size / sizeof(*rows) ||
        size - end->at != pp_cache_table_size(end->rows))
        return NULL;
    size_t bytes = (size_t)end->rows * sizeof(*rows);
    rows = malloc(bytes ? bytes : 1);
    int sound = rows && pp_io_pread_full(f->fd, rows, bytes, (off_t)end->at) == (ssize_t)bytes &&
                end->check == XXH3_64bits_withSeed(rows, bytes, f->seed ^ end->rows ^ (end->at << 20));
    for (uint64_t i = 0; sound && i < end->rows; i++) {
        uint64_t at = (uint64_t)rows[i].at8 * 8;
        sound = rows[i].key && at >= PP_CACHE_SEGMENT_HEAD && at <= end->at &&
                end->at - at >= pp_cache_entry_size(0, rows[i].length);
    }
    if (sound)
        return rows;
    free(rows);
    return NULL;
}

int pp_cache_walk(const struct pp_cache_file *f, uint64_t size, uint64_t *at, int *closed,
                  pp_cache_row_fn *each, void *ctx)
{
    struct table_end end;
    struct pp_cache_head h;
    char name[PP_CACHE_NAME];
    int r = 0;
    if (size > PP_CACHE_SEGMENT_MOST)
        size = PP_CACHE_SEGMENT_MOST;
    struct pp_cache_row *rows = read_table(f, size, &end);
    *closed = rows != NULL;
    for (uint64_t i = 0; rows && r == 0 && i < end.rows; i++)
        if ((uint64_t)rows[i].at8 * 8 >= *at)
            r = each(ctx, &rows[i]);
    if (rows) {
        *at = end.at;
        free(rows);
        return r;
    }
    while (r == 0 && read_head(f, *at, size, &h, name)) {
        struct pp_cache_row row = (struct pp_cache_row){.key = h.key,
                                                        .version = h.version,
                                                        .place = h.place,
                                                        .at8 = (uint32_t)(*at / 8),
                                                        .length = h.length};
        r = each(ctx, &row);
        *at += pp_cache_entry_size(h.name_size, h.length);
    }
    return r;
}

enum { LEAST = 1 << 12, MOST = 1 << 23 };

static struct pp_cache_slot *place_of(struct pp_cache_slot *slots, size_t size, uint64_t key)
{
    size_t i = (size_t)(key ^ key >> 32) & (size - 1);
    while (slots[i].key && slots[i].key != key)
        i = (i + 1) & (size - 1);
    return &slots[i];
}

struct pp_cache_slot *pp_cache_index_find(const struct pp_cache_index *x, uint64_t key)
{
    struct pp_cache_slot *s = x->size ? place_of(x->slot, x->size, key) : NULL;
    return s && s->key ? s : NULL;
}

struct pp_cache_slot *pp_cache_index_put(struct pp_cache_index *x, uint64_t key)
{
    struct pp_cache_slot *s = pp_cache_index_find(x, key);
    if (s)
        return s;
    if (x->used + 1 > x->size / 4 * 3) {
        /* At its largest it forgets what is not stored. */
        int stored_alone = x->size >= MOST;
        size_t used = 0, size = !x->size ? LEAST : stored_alone ? MOST : 2 * x->size;
        struct pp_cache_slot *slots = calloc(size, sizeof(*slots));
        if (!slots)
            return NULL;
        for (size_t i = 0; i < x->size; i++) {
            const struct pp_cache_slot *old = &x->slot[i];
            if (!old->key || (stored_alone && !(old->flags & PP_CACHE_STORED)))
                continue;
            *place_of(slots, size, old->key) = *old;
            used++;
        }
        free(x->slot);
        *x = (struct pp_cache_index){slots, size, used, x->forgot || stored_alone};
        if (x->used + 1 > x->size / 4 * 3)
            return NULL;
    }
    s = place_of(x->slot, x->size, key);
    *s = (struct pp_cache_slot){.key = key};
    x->used++;
    return s;
}
