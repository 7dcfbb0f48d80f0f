/* Folded stacks, for flamegraph.pl, inferno and speedscope: "thread;outermost;...;innermost N", N samples; of
 * a recording without stacks "thread;phase N", N microseconds. */
#include "report/export/out.h"
#include "report/export/stack_sums.h"

/* Neither what parts frames nor what ends a line. */
static void put_name(struct pp_out *o, const char *name)
{
    for (; *name; name++)
        pp_out_char(o, *name == ';' || *name == '\n' || *name == '\r' ? ':' : *name);
}

static void put_row(struct pp_out *o, const struct pp_stack_sums *s, const struct pp_stack_sum *row)
{
    uint32_t path[PP_STACK_LONGEST];
    size_t n = pp_stack_sums_path(s, row, path);
    put_name(o, row->thread->name);
    for (size_t i = 0; i < n; i++) {
        const struct pp_stack_location *l = &s->locations[path[i]];
        pp_out_char(o, ';');
        put_name(o, l->name);
        if (!l->file[0])
            continue;
        pp_out_str(o, " (");
        put_name(o, l->file);
        pp_out_char(o, ':');
        pp_out_uint(o, l->line);
        pp_out_char(o, ')');
    }
    pp_out_char(o, ' ');
    pp_out_uint(o, s->of_phases ? row->ns / 1000 : row->n);
    pp_out_char(o, '\n');
}

static pp_status folded_write(const struct pp_stack_sums *s, struct pp_err *err)
{
    struct pp_out out;
    pp_out_begin(&out, s->fd, s->label);
    for (size_t i = 0; i < s->n_rows; i++)
        put_row(&out, s, &s->rows[i]);
    return pp_out_end(&out, err);
}

static pp_status folded_close(void *self, int complete, struct pp_err *err)
{
    return pp_stack_sums_close(self, complete, folded_write, err);
}

const struct pp_exporter pp_export_folded = {
    .name = "folded",
    .suffixes = {".folded"},
    .next = "flamegraph.pl %s > flame.svg",
    .streams = 1,
    .open = pp_stack_sums_open,
    .span = pp_stack_sums_span,
    .close = folded_close,
};
