#include "report/export/nsys_requests.h"

#include "probe/base/err.h"
#include "report/export/nsight.h"
#include "report/export/request_tracks.h"

#include <stdlib.h>

enum { CATEGORY = 1000, THREADS = 1 << 22 }; /* beyond the phases, and the threads without a number */

struct nsys_requests {
    struct nsys_db *db; /* borrowed, as what follows */
    const struct pp_export_run *run;
    struct nsys_rows *ranges;
    struct pp_request_tracks tracks;
    uint32_t name[PP_REQUEST_STATUSES], part[PP_REQUEST_PARTS]; /* in StringIds; 0: not yet */
};

pp_status nsys_requests_open(struct nsys_db *d, const struct pp_export_run *run, struct nsys_rows *ranges,
                             struct nsys_requests **out, struct pp_err *err)
{
    struct nsys_requests *n = *out = calloc(1, sizeof(*n));
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", d->label);
    n->db = d;
    n->run = run;
    n->ranges = ranges;
    return nsys_text_event(
        d, nsys_process(run),
        &(struct nsys_text_event){.type = NSYS_CATEGORY, .category = CATEGORY, .text = "request"}, err);
}

void nsys_requests_free(struct nsys_requests *n)
{
    if (n)
        pp_request_tracks_free(&n->tracks);
    free(n);
}

static int64_t thread_of(const struct nsys_requests *n, unsigned track)
{
    return nsys_process(n->run) | pp_nsight_number(0, THREADS + track);
}

struct range {
    unsigned track;
    uint64_t start_ns, end_ns;
    uint32_t string;
    int64_t payload;
};

static pp_status put_range(struct nsys_requests *n, const struct range *r, struct pp_err *err)
{
    const int64_t values[] = {nsys_time(n->run, r->start_ns),
                              nsys_time(n->run, r->end_ns),
                              NSYS_PUSH_POP,
                              NSYS_NULL,
                              CATEGORY,
                              pp_nsight_colour(PP_PHASE_READ),
                              thread_of(n, r->track),
                              r->string,
                              NSYS_DOMAIN_ID,
                              r->payload};
    return nsys_rows_put(n->db, n->ranges, values, err);
}

/* Its number in StringIds is kept at *id. */
static pp_status know_string(struct nsys_requests *n, const char *text, uint32_t *id, struct pp_err *err)
{
    return *id ? PP_OK : nsys_string(n->db, text, id, err);
}

static pp_status put_part(struct nsys_requests *n, const struct pp_request_slice *s, size_t i,
                          struct pp_err *err)
{
    uint32_t *id = &n->part[s->part[i].which];
    pp_status st = know_string(n, pp_request_part_names[s->part[i].which], id, err);
    const struct range r = {s->track, s->part[i].start_ns, s->part[i].end_ns, *id, NSYS_NULL};
    return st == PP_OK ? put_range(n, &r, err) : st;
}

static pp_status put_whole(struct nsys_requests *n, const struct pp_request_slice *s, uint64_t sample,
                           struct pp_err *err)
{
    uint32_t *id = &n->name[s->status];
    pp_status st = know_string(n, s->name, id, err);
    const struct range r = {s->track, s->start_ns, s->end_ns, *id,
                            sample == PP_NO_SAMPLE ? NSYS_NULL : nsys_number(sample)};
    return st == PP_OK ? put_range(n, &r, err) : st;
}

pp_status nsys_requests_put(struct nsys_requests *n, const struct pp_request_row *row, struct pp_err *err)
{
    struct pp_request_slice s;
    pp_status st = pp_request_tracks_place(&n->tracks, row, &s);
    if (st != PP_OK)
        return pp_fail(err, st, "exporting to %s: out of memory", n->db->label);
    if (s.new_track)
        st = nsys_name_thread(n->db, thread_of(n, s.track), s.track_name, err);
    if (st == PP_OK)
        st = put_whole(n, &s, row->sample, err);
    for (size_t i = 0; i < s.n_parts && st == PP_OK; i++)
        st = put_part(n, &s, i, err);
    return st;
}
