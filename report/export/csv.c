/* CSV (RFC 4180): one row per span, in stored order; a header with the unit in each name; an empty cell is
 * unknown, 0 is zero. A text that a spreadsheet would take for a formula gets an apostrophe before it: names
 * of ranges and threads are not ours. */
#include "report/export/export.h"
#include "report/export/out.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

static const char header[] =
    "thread,lane,pid,tid,phase,kind,name,start_ns,dur_ns,epoch,batch,sample,samples,bytes,cpu_ns,run_delay_ns,cache_hit_kib,"
    "error,retry,unfinished,warmup\n";

static pp_status csv_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                          struct pp_err *err)
{
    struct pp_out *o = *self = malloc(sizeof(*o));
    if (!o)
        return pp_out_no_memory(place->out, err);
    pp_out_begin(o, place->fd, place->out);
    pp_out_str(o, header);
    return PP_OK;
}

static void text_cell(struct pp_out *o, const char *s)
{
    int formula = pp_text_is_formula(s);
    if (!formula && !strpbrk(s, ",\"\r\n")) {
        pp_out_str(o, s);
    } else {
        pp_out_str(o, formula ? "\"'" : "\"");
        for (; *s; s++) {
            if (*s == '"')
                pp_out_char(o, '"');
            pp_out_char(o, *s);
        }
        pp_out_char(o, '"');
    }
    pp_out_char(o, ',');
}

static void uint_cell(struct pp_out *o, int known, uint64_t v)
{
    if (known)
        pp_out_uint(o, v);
    pp_out_char(o, ',');
}

static pp_status csv_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct pp_out *o = self;
    const struct pp_span *s = e->span;
    const struct pp_thread_row *t = e->thread;
    const struct pp_phase_info *info = pp_phase_info(s->phase);
    int counts = (s->flags & PP_SPAN_COUNT) != 0;
    text_cell(o, t->name);
    text_cell(o, pp_lane_name(t->lane));
    uint_cell(o, t->pid > 0, (uint64_t)t->pid);
    uint_cell(o, t->tid > 0, (uint64_t)t->tid);
    text_cell(o, info ? info->name : "");
    text_cell(o, e->waits ? "wait" : "work");
    text_cell(o, s->name ? e->name : "");
    uint_cell(o, 1, s->start_ns);
    uint_cell(o, 1, s->dur_ns);
    uint_cell(o, 1, s->epoch);
    uint_cell(o, s->batch != PP_NO_BATCH, s->batch);
    uint_cell(o, !counts && s->sample != PP_NO_SAMPLE, s->sample);
    uint_cell(o, counts, s->sample);
    uint_cell(o, 1, s->bytes);
    uint_cell(o, s->flags & PP_SPAN_HAS_CPU, s->cpu_ns);
    uint_cell(o, s->flags & PP_SPAN_HAS_DELAY, s->run_delay_ns);
    uint_cell(o, s->flags & PP_SPAN_HAS_CACHE, s->cache_hit_kib);
    static const unsigned flags[] = {PP_SPAN_ERROR, PP_SPAN_RETRY, PP_SPAN_UNFINISHED, PP_SPAN_WARMUP};
    for (int i = 0; i < 4; i++) {
        pp_out_char(o, s->flags & flags[i] ? '1' : '0');
        pp_out_char(o, i < 3 ? ',' : '\n');
    }
    return pp_out_check(o, err);
}

static pp_status csv_close(void *self, int complete, struct pp_err *err)
{
    pp_status st = self && complete ? pp_out_end(self, err) : PP_OK;
    free(self);
    return st;
}

const struct pp_exporter pp_export_csv = {
    .name = "csv",
    .suffixes = {".csv"},
    .streams = 1,
    .open = csv_open,
    .span = csv_span,
    .close = csv_close,
};
