/* Folded stacks, for flamegraph.pl, inferno and speedscope: "thread;outermost;...;innermost N"; of a
 * recording without stacks "thread;phase N". N is microseconds: samples of the first seconds stand for less
 * than later ones. */
#include "report/export/out.h"
#include "report/export/stack_sums.h"

/* Neither what parts frames nor what ends a line. */
static void put_name(struct pp_out *o, const char *name)
{
    for (; *name; name++)
        pp_out_char(o, *name == ';' || *name == '\n' || *name == '\r' ? ':' : *name);
}

static pp_status folded_write(const struct pp_stack_sums *s, struct pp_err *err)
{
    struct pp_out out;
    pp_out_begin(&out, s->fd, s->label);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct pp_stack_sum *row = &s->rows[i];
        uint32_t path[PP_STACK_LONGEST];
        size_t n = pp_stack_sums_path(s, row, path);
        put_name(&out, row->thread->name);
        for (size_t k = 0; k < n; k++) {
            const struct pp_stack_location *l = &s->locations[path[k]];
            pp_out_char(&out, ';');
            put_name(&out, l->name);
            if (!l->file[0])
                continue;
            pp_out_str(&out, " (");
            put_name(&out, l->file);
            pp_out_char(&out, ':');
            pp_out_uint(&out, l->line);
            pp_out_char(&out, ')');
        }
        pp_out_char(&out, ' ');
        pp_out_uint(&out, row->ns / 1000);
        pp_out_char(&out, '\n');
    }
    return pp_out_end(&out, err);
}

const struct pp_exporter pp_export_folded = {
    .name = "folded",
    .suffixes = {".folded"},
    .next = "flamegraph.pl %s > flame.svg",
    .streams = 1,
    .open = pp_stack_sums_open,
    .span = pp_stack_sums_span,
    .stacks = folded_write,
    .close = pp_stack_sums_close,
};
