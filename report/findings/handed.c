#include "report/findings/handed.h"

#include <math.h>
#include <string.h>

static const struct row {
    const char *name;
    size_t offset;
} rows[] = {
    {"sampler_ns", offsetof(struct pp_handed_use, sampler_ns)},
};

struct walk {
    struct pp_handed_use *out;
    uint64_t start_ns, end_ns;
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    if (t_ns < w->start_ns || t_ns > w->end_ns || !isfinite(value) || value < 0)
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            *(double *)((char *)w->out + rows[i].offset) += value;
}

pp_status pp_handed_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                          struct pp_handed_use *out, struct pp_err *err)
{
    struct walk w = {out, start_ns, end_ns};
    *out = (struct pp_handed_use){0};
    return source->each_counter ? source->each_counter(source->ctx, on_counter, &w, err) : PP_OK;
}
