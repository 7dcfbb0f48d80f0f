#include "report/export/chrome.h"

#include "probe/base/err.h"

static void put_slice(struct chrome *c, int64_t tid, const char *name, const uint64_t from_to[2], int failed)
{
    uint64_t ts_ns = from_to[0] > c->run->origin_ns ? from_to[0] - c->run->origin_ns : 0;
    chrome_begin_event(c, 'X', chrome_pid_of(c->run->threads), tid);
    chrome_put_time(c, ",\"ts\":", ts_ns);
    chrome_put_time(c, ",\"dur\":", from_to[1] - from_to[0]);
    pp_out_str(&c->out, failed ? ",\"cat\":\"request,error\",\"name\":" : ",\"cat\":\"request\",\"name\":");
    chrome_put_quoted(c, name);
}

/* The parts follow their request: of equal starts the longer comes first. */
pp_status chrome_put_request(struct chrome *c, const struct pp_request_row *row, struct pp_err *err)
{
    struct pp_request_slice s;
    int n = 0;
    pp_status st = pp_request_tracks_place(&c->requests, row, &s);
    if (st != PP_OK)
        return pp_fail(err, st, "exporting to %s: out of memory", c->out.label);
    int64_t tid = REQUEST_TRACKS + s.track;
    if (s.new_track)
        chrome_put_name(c, "thread_name", chrome_pid_of(c->run->threads), tid, s.track_name);
    put_slice(c, tid, s.name, (const uint64_t[]){s.start_ns, s.end_ns}, s.failed);
    for (size_t i = 0; i < s.n_notes; i++)
        chrome_put_arg(c, &n, s.note[i].key, s.note[i].value);
    if (s.dropped)
        chrome_put_arg(c, &n, "dropped", 1);
    if (s.prefix) { /* the first argument is there: bytes always are */
        pp_out_str(&c->out, ",\"prefix\":");
        chrome_put_quoted(c, s.prefix);
    }
    pp_out_str(&c->out, "}}");
    for (size_t i = 0; i < s.n_parts; i++) {
        put_slice(c, tid, pp_request_part_names[s.part[i].which],
                  (const uint64_t[]){s.part[i].start_ns, s.part[i].end_ns}, 0);
        pp_out_char(&c->out, '}');
    }
    return chrome_check(c, err);
}
