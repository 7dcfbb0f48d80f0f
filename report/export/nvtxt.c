/* NVTXT, the text form that Nsight's ImportNvtxt turns into an .nsys-rep for its GUI.
 *
 * Learnt from the importer itself, for the format has no description: positional fields are declared by
 * "@Kind, field...", constants follow as "Name = value"; times are nanoseconds but pass through a double,
 * hence count from the run's start; an empty range (start == end) is skipped, hence lasts 1 ns; backslashes
 * in a message are literal, so a quote cannot be escaped and becomes an apostrophe; payloads and categories
 * are accepted and dropped, so they are not written. Counters have no place in it. */
#include "report/export/export.h"
#include "report/export/nsight.h"
#include "report/export/out.h"
#include "report/export/out.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <stdlib.h>

struct nvtxt {
    struct pp_out out;
    const struct pp_export_run *run;
    char colour[256][14]; /* by phase, with the comma before and the line's end */
};

static void put_message(struct pp_out *o, const char *s)
{
    pp_out_str(o, ", \"");
    for (; *s; s++)
        pp_out_char(o, *s == '"' ? '\'' : (unsigned char)*s < ' ' ? ' ' : *s);
    pp_out_char(o, '"');
}

static void put_field(struct pp_out *o, uint64_t v)
{
    pp_out_str(o, ", ");
    pp_out_uint(o, v);
}

static void put_marker(struct nvtxt *n, uint64_t t_ns, const struct pp_thread_row *t, const char *message)
{
    static const struct pp_thread_row no_thread;
    const struct pp_thread_row *at = t ? t : n->run->n_threads ? n->run->threads : &no_thread;
    pp_out_str(&n->out, "Marker");
    put_field(&n->out, t_ns - n->run->origin_ns);
    put_field(&n->out, pp_nsight_pid(at));
    put_field(&n->out, pp_nsight_tid(at));
    put_message(&n->out, message);
    pp_out_str(&n->out, n->colour[PP_PHASE_RETRY]);
}

static pp_status nvtxt_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                            struct pp_err *err)
{
    struct nvtxt *n = *self = malloc(sizeof(*n));
    char text[512];
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", place->out);
    n->run = run;
    for (unsigned i = 0; i < 256; i++)
        snprintf(n->colour[i], sizeof(n->colour[i]), ", 0x%08x\n", (unsigned)pp_nsight_colour(i));
    pp_out_begin(&n->out, place->fd, place->out);
    pp_out_str(&n->out, "# pipeprobe: nanoseconds from the start of the run\n"
                        "SetFileDisplayName, pipeprobe\n"
                        "@RangeStartEnd, Start, End, ProcessId, ThreadId, Message, Color\nTimeBase = Manual\n"
                        "@Marker, Time, ProcessId, ThreadId, Message, Color\nTimeBase = Manual\n"
                        "@NameOsThread, ProcessId, ThreadId, Message\n");
    for (size_t i = 0; i < run->n_losses; i++) {
        snprintf(text, sizeof(text), "lost: %llu %s: %s", (unsigned long long)run->losses[i].count,
                 run->losses[i].what, run->losses[i].why);
        put_marker(n, run->origin_ns, NULL, text);
    }
    if (run->recovery)
        put_marker(n, run->origin_ns, NULL, run->recovery);
    return PP_OK;
}

static pp_status nvtxt_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct nvtxt *n = self;
    pp_out_str(&n->out, "NameOsThread");
    put_field(&n->out, pp_nsight_pid(t));
    put_field(&n->out, pp_nsight_tid(t));
    put_message(&n->out, t->name);
    pp_out_char(&n->out, '\n');
    return pp_out_check(&n->out, err);
}

static pp_status nvtxt_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                             struct pp_err *err)
{
    struct nvtxt *n = self;
    char text[512];
    snprintf(text, sizeof(text), "error %s: %s: %s", e->kind ? e->kind : "?", e->path ? e->path : "?",
             e->reason ? e->reason : "");
    put_marker(n, e->t_ns, t, text);
    return pp_out_check(&n->out, err);
}

static pp_status nvtxt_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct nvtxt *n = self;
    uint64_t start = e->span->start_ns - n->run->origin_ns, end = e->end_ns - n->run->origin_ns;
    pp_out_str(&n->out, "RangeStartEnd");
    put_field(&n->out, start);
    put_field(&n->out, end > start ? end : start + 1);
    put_field(&n->out, pp_nsight_pid(e->thread));
    put_field(&n->out, pp_nsight_tid(e->thread));
    put_message(&n->out, e->name);
    pp_out_str(&n->out, n->colour[e->span->phase]);
    return pp_out_check(&n->out, err);
}

static pp_status nvtxt_close(void *self, int complete, struct pp_err *err)
{
    struct nvtxt *n = self;
    pp_status st = n && complete ? pp_out_end(&n->out, err) : PP_OK;
    free(n);
    return st;
}

const struct pp_exporter pp_export_nvtxt = {
    .name = "nvtxt",
    .suffixes = {".nvtxt"},
    .next =
        "ImportNvtxt --cmd create -n %s -o NAME.nsys-rep   (in the directory of nsys-ui; see docs/reference/exports.md)",
    .streams = 1,
    .open = nvtxt_open,
    .thread = nvtxt_thread,
    .error = nvtxt_error,
    .span = nvtxt_span,
    .close = nvtxt_close,
};
