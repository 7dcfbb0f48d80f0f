#include "probe/columns/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_value_release(struct pp_value *v)
{
    if (v->release)
        v->release(v->hold, v->pages);
    v->release = NULL;
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
    pp_object_close(&t->place.object);
    free(t);
}

struct pp_column *pp_table_add_column(struct pp_table *t, const char *name)
{
    if (t->columns == PP_TABLE_COLUMNS)
        return NULL;
    if ((t->columns & (t->columns - 1)) == 0) { /* 0, 1, 2, 4, ...: full */
        size_t cap = t->columns ? t->columns * 2 : 1;
        struct pp_column *grown = realloc(t->column, cap * sizeof(*grown));
        if (!grown)
            return NULL;
        t->column = grown;
    }
    char *copy = strdup(name);
    if (!copy)
        return NULL;
    struct pp_column *c = &t->column[t->columns++];
    *c = (struct pp_column){.name = copy};
    return c;
}

const char *pp_column_number_name(const struct pp_column *c, char *buf, size_t size)
{
    static const char *const names[] = {"uint", "int", "float"};
    snprintf(buf, size, "%s%u", names[c->number], c->width * 8);
    return buf;
}
