#include "report/source/one_loader.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>

struct reading {
    struct pp_other_batches *out;
    size_t room;
    long long pid;
    unsigned loader;
    int has_own, has_other, no_memory;
};

static void on_order(void *ctx, const struct pp_order_row *row)
{
    struct reading *r = ctx;
    struct pp_other_batches *o = r->out;
    int own = row->pid == r->pid && row->loader == r->loader;
    r->has_own |= own;
    r->has_other |= !own;
    if (!pp_grow(&o->range, &r->room, o->n + 1, sizeof(*o->range))) {
        r->no_memory = 1;
        return;
    }
    o->range[o->n++] = (struct pp_batch_range){
        .from = row->first_batch,
        .to = row->batches < UINT32_MAX - row->first_batch ? row->first_batch + row->batches : UINT32_MAX,
        .loader = row->loader,
        .other = !own,
        .pid = row->pid,
    };
}

static void on_loader(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    ++*(size_t *)ctx;
}

static int by_from(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

pp_status pp_other_batches_read(const struct pp_source *source, struct pp_other_batches *out,
                                struct pp_err *err)
{
    struct reading r = {.out = out};
    size_t loaders = 0;
    const char *own = source->meta(source->ctx, "config", "dataloader");
    *out = (struct pp_other_batches){0};
    if (!own || sscanf(own, "%lld.%u", &r.pid, &r.loader) != 2 || !source->each_order || !source->each_meta)
        return PP_OK;
    pp_status st = source->each_meta(source->ctx, "loader", on_loader, &loaders, err);
    if (st == PP_OK && loaders > 1)
        st = source->each_order(source->ctx, NULL, on_order, &r, err);
    if (st == PP_OK && r.no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the DataLoaders of %s", source->path);
    if (st != PP_OK || !r.has_own || !r.has_other)
        out->n = 0;
    if (out->n)
        qsort(out->range, out->n, sizeof(*out->range), by_from);
    return st;
}

struct pp_batch_range *pp_other_batches_find(const struct pp_other_batches *o, uint32_t batch)
{
    size_t low = 0, high = o->n; /* the last range that begins at or before it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->range[middle].from <= batch)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && batch < o->range[low - 1].to ? &o->range[low - 1] : NULL;
}

int pp_other_batches_has(const struct pp_other_batches *o, uint32_t batch)
{
    const struct pp_batch_range *range = pp_other_batches_find(o, batch);
    return range && range->other;
}

void pp_other_batches_free(struct pp_other_batches *o)
{
    free(o->range);
    *o = (struct pp_other_batches){0};
}
