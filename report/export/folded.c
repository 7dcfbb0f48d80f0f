/* Folded stacks, for flamegraph.pl, inferno and speedscope: "thread;outermost;...;innermost N", N samples; of
 * a recording without stacks "thread;phase N", N microseconds. */
#include "report/export/out.h"
#include "report/export/stack_sums.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

struct folded {
    struct pp_stack_sums sums;
    struct pp_out out;
};

static pp_status folded_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                             struct pp_err *err)
{
    struct folded *f = *self = calloc(1, sizeof(*f));
    if (!f)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", place->out);
    pp_out_begin(&f->out, place->fd, place->out);
    return pp_stack_sums_begin(&f->sums, run, err);
}

static pp_status folded_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    (void)err;
    pp_stack_sums_span(&((struct folded *)self)->sums, e);
    return PP_OK;
}

/* Neither what parts frames nor what ends a line. */
static void put_name(struct pp_out *o, const char *name)
{
    for (; *name; name++)
        pp_out_char(o, *name == ';' || *name == '\n' || *name == '\r' ? ':' : *name);
}

static void put_row(struct folded *f, const struct pp_stack_sum *row)
{
    uint32_t path[PP_STACK_LONGEST];
    size_t n = pp_stack_sums_path(&f->sums, row, path);
    put_name(&f->out, row->thread->name);
    for (size_t i = 0; i < n; i++) {
        const struct pp_stack_location *l = &f->sums.locations[path[i]];
        pp_out_char(&f->out, ';');
        put_name(&f->out, l->name);
        if (!l->file[0])
            continue;
        pp_out_str(&f->out, " (");
        put_name(&f->out, l->file);
        pp_out_char(&f->out, ':');
        pp_out_uint(&f->out, l->line);
        pp_out_char(&f->out, ')');
    }
    pp_out_char(&f->out, ' ');
    pp_out_uint(&f->out, f->sums.of_phases ? row->ns / 1000 : row->n);
    pp_out_char(&f->out, '\n');
}

static pp_status folded_close(void *self, int complete, struct pp_err *err)
{
    struct folded *f = self;
    pp_status st = PP_OK;
    if (f && complete)
        st = pp_stack_sums_end(&f->sums, err);
    for (size_t i = 0; f && complete && st == PP_OK && i < f->sums.n_rows; i++)
        put_row(f, &f->sums.rows[i]);
    if (f && complete && st == PP_OK)
        st = pp_out_end(&f->out, err);
    if (f)
        pp_stack_sums_free(&f->sums);
    free(f);
    return st;
}

const struct pp_exporter pp_export_folded = {
    .name = "folded",
    .suffixes = {".folded"},
    .next = "flamegraph.pl %s > flame.svg",
    .streams = 1,
    .open = folded_open,
    .span = folded_span,
    .close = folded_close,
};
