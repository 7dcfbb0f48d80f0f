#include "report/export/chrome.h"

#include "probe/base/err.h"

/* A device is a process, its streams are threads of it; calls are beside the thread that made them. */
static int64_t pid_of_slice(const struct chrome *c, const struct pp_gpu_slice *s)
{
    return s->device != UINT32_MAX ? DEVICES + s->device
                                   : chrome_pid_of(s->thread ? s->thread : c->run->threads);
}

static void put_flow(struct chrome *c, const struct pp_gpu_slice *s, uint64_t ts_ns)
{
    chrome_begin_event(c, s->flow == PP_FLOW_START ? 's' : 'f', pid_of_slice(c, s), GPU_TRACKS + s->track);
    chrome_put_time(c, ",\"ts\":", ts_ns);
    pp_out_str(
        &c->out,
        ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":"); /* Kineto's name for it: from a call to the GPU */
    pp_out_uint(&c->out, s->flow_id);
    pp_out_str(&c->out, s->flow == PP_FLOW_START ? "}" : ",\"bp\":\"e\"}");
}

static void put_slice(struct chrome *c, const struct pp_gpu_slice *s)
{
    uint64_t ts_ns = s->start_ns > c->run->origin_ns ? s->start_ns - c->run->origin_ns : 0;
    int n = 0;
    chrome_begin_event(c, 'X', pid_of_slice(c, s), GPU_TRACKS + s->track);
    chrome_put_time(c, ",\"ts\":", ts_ns);
    chrome_put_time(c, ",\"dur\":", s->end_ns - s->start_ns);
    pp_out_str(&c->out, ",\"cat\":\"");
    pp_out_str(&c->out, s->category);
    pp_out_str(&c->out, "\",\"name\":");
    chrome_put_quoted(c, s->name);
    for (size_t i = 0; i < s->n_notes; i++)
        chrome_put_arg(c, &n, s->note[i].key, s->note[i].value);
    pp_out_str(&c->out, n ? "}}" : "}");
    if (s->flow != PP_FLOW_NONE)
        put_flow(c, s, ts_ns);
}

pp_status chrome_put_gpu(struct chrome *c, const struct pp_gpu_row *row, struct pp_err *err)
{
    struct pp_gpu_slice s;
    pp_status st = pp_gpu_tracks_place(&c->gpu, row, &s);
    if (st != PP_OK)
        return st == PP_END ? PP_OK : pp_fail(err, st, "exporting to %s: out of memory", c->out.label);
    if (s.new_device)
        chrome_put_name(c, "process_name", pid_of_slice(c, &s), 0, s.device_name);
    if (s.new_track)
        chrome_put_name(c, "thread_name", pid_of_slice(c, &s), GPU_TRACKS + s.track, s.track_name);
    put_slice(c, &s);
    return chrome_check(c, err);
}
