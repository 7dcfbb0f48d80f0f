#include "report/export/perfetto.h"

#include "probe/base/err.h"

/* Streams lie under their device, calls under the thread that made them. */
static pp_status put_gpu_track(struct perfetto *p, const struct pp_gpu_slice *s, struct pp_err *err)
{
    uint64_t parent = s->device != UINT32_MAX ? DEVICE_TRACKS + s->device
                      : s->thread             ? perfetto_thread_track(p, s->thread, 0)
                                              : perfetto_process_track(p, p->run->threads);
    pp_status st = s->new_device ? perfetto_put_track(p, DEVICE_TRACKS + s->device, 0, s->device_name, err)
                                 : PP_OK;
    return st == PP_OK ? perfetto_put_track(p, GPU_TRACKS + s->track, parent, s->track_name, err) : st;
}

pp_status perfetto_put_gpu(struct perfetto *p, const struct pp_gpu_row *row, struct pp_err *err)
{
    struct pp_gpu_slice s;
    pp_status st = pp_gpu_tracks_place(&p->gpu, row, &s);
    if (st != PP_OK)
        return st == PP_END ? PP_OK : pp_fail(err, st, "exporting to %s: out of memory", p->out.label);
    if (s.new_track)
        st = put_gpu_track(p, &s, err);
    if (st != PP_OK)
        return st;
    size_t packet = perfetto_begin_at(p, s.start_ns),
           event = perfetto_begin_event(p, TYPE_BEGIN, GPU_TRACKS + s.track);
    pp_proto_str(&p->proto, EVENT_NAME, s.name);
    pp_proto_str(&p->proto, EVENT_CATEGORY, s.category);
    if (s.flow != PP_FLOW_NONE)
        pp_proto_fixed64(&p->proto, EVENT_FLOW, s.flow_id);
    for (size_t i = 0; i < s.n_notes; i++)
        perfetto_note_number(p, s.note[i].key, s.note[i].value);
    pp_proto_end(&p->proto, event);
    st = perfetto_end(p, packet, err);
    return st == PP_OK ? perfetto_put_end(p, s.end_ns, GPU_TRACKS + s.track, err) : st;
}
