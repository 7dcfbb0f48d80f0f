#include "probe/columns/flat.h"

static int holds(const struct pp_flat *f, size_t at, size_t n)
{
    return at <= f->size && n <= f->size - at;
}

int64_t pp_flat_read(const struct pp_flat *f, size_t at, unsigned bytes)
{
    uint64_t v = 0;
    if (!holds(f, at, bytes))
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)f->bytes[at + i] << 8 * i;
    if (bytes < 8 && v >> (bytes * 8 - 1))
        v |= UINT64_MAX << bytes * 8;
    return (int64_t)v;
}

/* u32 forward from its own place. */
static size_t follow(const struct pp_flat *f, size_t at)
{
    size_t to = holds(f, at, 4) ? at + (uint32_t)pp_flat_read(f, at, 4) : 0;
    return to != at && holds(f, to, 4) ? to : 0;
}

size_t pp_flat_root(const struct pp_flat *f)
{
    return follow(f, 0);
}

/* Where field id of a table lies: its vtable, found by a signed distance back, has a u16 for each field. */
static size_t field(const struct pp_flat *f, size_t table, int id)
{
    if (!table || !holds(f, table, 4))
        return 0;
    int64_t vtable = (int64_t)table - pp_flat_read(f, table, 4);
    size_t slot = 4 + 2 * (size_t)id;
    if (vtable < 0 || !holds(f, (size_t)vtable, 4) ||
        slot + 2 > (uint16_t)pp_flat_read(f, (size_t)vtable, 2) || !holds(f, (size_t)vtable, slot + 2))
        return 0;
    size_t offset = (uint16_t)pp_flat_read(f, (size_t)vtable + slot, 2);
    return offset ? table + offset : 0;
}

size_t pp_flat_refer(const struct pp_flat *f, size_t table, int id)
{
    size_t at = field(f, table, id);
    return at ? follow(f, at) : 0;
}

int64_t pp_flat_number(const struct pp_flat *f, size_t table, int id, unsigned bytes, int64_t otherwise)
{
    size_t at = field(f, table, id);
    return at && holds(f, at, bytes) ? pp_flat_read(f, at, bytes) : otherwise;
}

size_t pp_flat_vector(const struct pp_flat *f, size_t vector, size_t bytes, size_t *first)
{
    *first = vector + 4;
    if (!vector || !holds(f, vector, 4))
        return 0;
    size_t n = (uint32_t)pp_flat_read(f, vector, 4);
    return n <= (f->size - *first) / bytes ? n : 0;
}

size_t pp_flat_element(const struct pp_flat *f, size_t first, size_t i)
{
    return follow(f, first + i * 4);
}
