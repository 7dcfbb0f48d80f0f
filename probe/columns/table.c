#include "probe/columns/table.h"
#include "probe/base/array.h"
#include "probe/columns/pages.h"
#include "probe/net/http.h"

void pp_value_release(struct pp_value *v)
{
    if (v->page)
        pp_pages_put(v->pages, v->page);
    free(v->hold);
    v->page = NULL;
    v->hold = NULL;
}

void pp_table_close(struct pp_table *t)
{
    if (!t)
        return;
    t->ops->close(t);
    for (size_t i = 0; i < t->columns; i++)
        free(t->column[i].name);
    free(t->column);
    for (int i = 0; i < PP_TABLE_STRIPES; i++)
        pthread_mutex_destroy(&t->stripe[i]);
    pp_object_close(&t->place.object);
    free(t);
}

void *pp_table_new(size_t size, const struct pp_table_ops *ops, const struct pp_table_place *place,
                   struct pp_err *err)
{
    struct pp_table *t = calloc(1, size);
    if (!t) {
        struct pp_object object = place->object;
        pp_object_close(&object);
        pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->path);
        return NULL;
    }
    t->ops = ops;
    t->place = *place;
    for (int i = 0; i < PP_TABLE_STRIPES; i++)
        pthread_mutex_init(&t->stripe[i], NULL);
    return t;
}

pp_status pp_table_read(const struct pp_table_place *place, struct pp_read *r, struct pp_err *err)
{
    struct pp_object opened = {0};
    const struct pp_object *o = &place->object;
    pp_status st = PP_OK;
    r->name = place->path;
    if (place->opening && pp_http_is_interrupted())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    /* what is behind the end of the file is asked for, and not touched */
    uint64_t within = r->offset < place->size ? place->size - r->offset : 0;
    if (place->opening && !pp_allowance_take(place->opening, r->size < within ? r->size : within))
        return pp_allowance_fail(place->opening, place->path, err);
    if (!o->storage) {
        st = pp_storage_open(place->storage, &(struct pp_open){.name = place->path, .attempt = "open"},
                             &opened, err);
        o = &opened;
    }
    if (st == PP_OK)
        st = pp_object_read_at(o, r, err);
    pp_object_close(&opened);
    return st;
}

struct pp_column *pp_table_add_column(struct pp_table *t, const char *name)
{
    char *copy = NULL;
    if (t->columns == PP_TABLE_COLUMNS ||
        !pp_grow(&t->column, &t->room, t->columns + 1, sizeof(*t->column)) || !(copy = strdup(name)))
        return NULL;
    struct pp_column *c = &t->column[t->columns++];
    *c = (struct pp_column){.name = copy};
    return c;
}

void pp_column_set_type(struct pp_column *c, const char *of, const char *other)
{
    static const char *const numbers[] = {"uint", "int", "float"};
    if (other)
        snprintf(c->type, sizeof(c->type), "%s%s", of, other);
    else if (c->kind == PP_COLUMN_BYTES)
        snprintf(c->type, sizeof(c->type), "%s%s", of, c->is_text ? "string" : "binary");
    else
        snprintf(c->type, sizeof(c->type), "%s%s%u", of, numbers[c->number], c->width * 8);
}
