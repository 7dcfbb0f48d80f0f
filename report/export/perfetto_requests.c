#include "report/export/perfetto.h"

#include "probe/base/err.h"

static pp_status put_request_track(struct perfetto *p, const struct pp_request_slice *s, struct pp_err *err)
{
    pp_status st = s->track
                       ? PP_OK
                       : perfetto_put_track(p, REQUESTS_TRACK, perfetto_process_track(p, p->run->threads),
                                            "requests to storage", err);
    return st == PP_OK ? perfetto_put_track(p, REQUEST_TRACKS + s->track, REQUESTS_TRACK, s->track_name, err)
                       : st;
}

static pp_status put_part(struct perfetto *p, const struct pp_request_slice *s, size_t i, struct pp_err *err)
{
    size_t packet = perfetto_begin_at(p, s->part[i].start_ns),
           event = perfetto_begin_event(p, TYPE_BEGIN, REQUEST_TRACKS + s->track);
    pp_proto_str(&p->proto, EVENT_NAME, pp_request_part_names[s->part[i].which]);
    pp_proto_str(&p->proto, EVENT_CATEGORY, "request");
    pp_proto_end(&p->proto, event);
    pp_status st = perfetto_end(p, packet, err);
    return st == PP_OK ? perfetto_put_end(p, s->part[i].end_ns, REQUEST_TRACKS + s->track, err) : st;
}

static pp_status put_whole(struct perfetto *p, const struct pp_request_slice *s, struct pp_err *err)
{
    size_t packet = perfetto_begin_at(p, s->start_ns),
           event = perfetto_begin_event(p, TYPE_BEGIN, REQUEST_TRACKS + s->track);
    pp_proto_str(&p->proto, EVENT_NAME, s->name);
    pp_proto_str(&p->proto, EVENT_CATEGORY, "request");
    if (s->failed)
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    for (size_t i = 0; i < s->n_notes; i++)
        perfetto_note_number(p, s->note[i].key, s->note[i].value);
    if (s->dropped)
        perfetto_note_number(p, "dropped", 1);
    if (s->prefix)
        perfetto_note_text(p, "prefix", s->prefix);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

pp_status perfetto_put_request(struct perfetto *p, const struct pp_request_row *row, struct pp_err *err)
{
    struct pp_request_slice s;
    pp_status st = pp_request_tracks_place(&p->requests, row, &s);
    if (st != PP_OK)
        return pp_fail(err, st, "exporting to %s: out of memory", p->out.label);
    if (s.new_track)
        st = put_request_track(p, &s, err);
    if (st == PP_OK)
        st = put_whole(p, &s, err);
    for (size_t i = 0; i < s.n_parts && st == PP_OK; i++)
        st = put_part(p, &s, i, err);
    return st == PP_OK ? perfetto_put_end(p, s.end_ns, REQUEST_TRACKS + s.track, err) : st;
}
