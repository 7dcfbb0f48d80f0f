/* Perfetto's protobuf trace: track events. tests/e2e/perfetto_reads_our_export.sh decodes the result with the
 * reference decoder.
 *
 * One packet sequence; names, categories and annotation names are interned in the packet that first needs
 * them. Begin and end of a span are written together: the trace processor sorts packets by time, keeping file
 * order among equals, and the walker's order (starts never go back within a track, the longer first) is what
 * makes equal times nest. Times are CLOCK_MONOTONIC, which is made the trace's clock. */
#include "report/export/export.h"
#include "report/export/out.h"
#include "report/export/tracks.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/proto.h"

/* Field numbers are those of the public protos (protos/perfetto/trace/ in the Perfetto sources). */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_FIRST_ON_SEQUENCE = 87
};
enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { DEFAULTS_CLOCK = 58 };
enum {
    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_REALTIME_ID = 1,
    CLOCK_MONOTONIC_ID = 3
};
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};
enum {
    PROCESS_PID = 1,
    PROCESS_CMDLINE = 2,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_SORT = 3,
    THREAD_NAME = 5
};
enum { COUNTER_UNIT = 3, UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3 };
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };
enum {
    EVENT_CATEGORY_IID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_DOUBLE_COUNTER = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_UINT = 3, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };

#define SEQUENCE_ID 1

/* Track numbers have only to differ within the trace. Tracks beside a thread's own have the track in the
 * upper half. */
#define PROCESS_TRACKS 0x1000000ull
#define COUNTER_TRACKS 0x2000000ull
#define DEVICE_TRACKS 0x3000000ull
#define GPU_TRACKS 0x4000000ull
#define REQUESTS_TRACK 0x5000000ull /* the parent of all of them */
#define REQUEST_TRACKS 0x5000001ull
#define THREAD_TRACKS 0x100000000ull

/* Categories of spans, interned by these numbers; their notes by place in pp_span_note_names, from 1 on. */
enum { CATEGORY_WORK = 1, CATEGORY_WAIT, CATEGORY_ERROR, CATEGORY_COUNT };
static const char *const category_names[CATEGORY_COUNT] = {
    [CATEGORY_WORK] = "work", [CATEGORY_WAIT] = "wait", [CATEGORY_ERROR] = "error"};

struct perfetto {
    struct pp_out out;
    struct pp_proto proto; /* the packet being made */
    size_t packet, part;   /* where it and its event or track begin */
    const struct pp_export_run *run;
    uint8_t interned[(PP_EXPORT_KEYS + 7) / 8]; /* by name key */
    uint64_t *tracks;                           /* per thread: bit k: track k has its descriptor */
    struct counter_track {
        char *name;
        const struct pp_thread_row *thread;
    } * counters;
    size_t n_counters, cap_counters;
    struct pp_gpu_tracks gpu;
    struct pp_request_tracks requests;
};

/* ---- packets: one begins, gets its fields, ends ---- */

static void begin_packet(struct perfetto *p)
{
    p->proto.n = 0;
    p->packet = pp_proto_begin(&p->proto, TRACE_PACKET);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE, SEQUENCE_ID);
}

/* Its event or track, and the packet. */
static pp_status end_packet(struct perfetto *p, struct pp_err *err)
{
    pp_proto_end(&p->proto, p->part);
    pp_proto_end(&p->proto, p->packet);
    if (p->proto.failed)
        return pp_out_no_memory(p->out.label, err);
    pp_out_bytes(&p->out, p->proto.buf, p->proto.n);
    return pp_out_check(&p->out, err);
}

static void intern(struct perfetto *p, unsigned kind, uint64_t iid, const char *text)
{
    size_t entry = pp_proto_begin(&p->proto, kind);
    pp_proto_uint(&p->proto, INTERNED_IID, iid);
    pp_proto_str(&p->proto, INTERNED_TEXT, text);
    pp_proto_end(&p->proto, entry);
}

/* met_first: a span whose name is met for the first time, which goes along; else NULL. */
static void begin_event(struct perfetto *p, uint64_t t_ns, unsigned type, uint64_t track, const char *name,
                        const struct pp_export_span *met_first)
{
    begin_packet(p);
    pp_proto_uint(&p->proto, PACKET_TIMESTAMP, t_ns);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    if (met_first) {
        size_t data = pp_proto_begin(&p->proto, PACKET_INTERNED);
        intern(p, INTERNED_NAME, met_first->key + 1, met_first->name);
        pp_proto_end(&p->proto, data);
    }
    p->part = pp_proto_begin(&p->proto, PACKET_TRACK_EVENT);
    pp_proto_uint(&p->proto, EVENT_TYPE, type);
    pp_proto_uint(&p->proto, EVENT_TRACK, track);
    if (name)
        pp_proto_str(&p->proto, EVENT_NAME, name);
}

/* A packet: the innermost slice of the track is over. */
static pp_status put_slice_end(struct perfetto *p, uint64_t t_ns, uint64_t track, struct pp_err *err)
{
    begin_event(p, t_ns, TYPE_END, track, NULL, NULL);
    return end_packet(p, err);
}

/* Inside an event, as the next. */
static void note_text(struct perfetto *p, const char *name, const char *text)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, name);
    pp_proto_str(&p->proto, ANNOTATION_STRING, text ? text : "");
    pp_proto_end(&p->proto, a);
}

static void note_number(struct perfetto *p, const char *name, uint64_t v)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, name);
    pp_proto_uint(&p->proto, ANNOTATION_UINT, v);
    pp_proto_end(&p->proto, a);
}

/* ---- tracks: their numbers, and the packets that describe them ---- */

/* A process is known by its first thread. t NULL: the first process. */
static uint64_t process_track(const struct perfetto *p, const struct pp_thread_row *t)
{
    const struct pp_thread_row *first = p->run->threads;
    while (t && first < t && first->pid != t->pid)
        first++;
    return PROCESS_TRACKS + (uint64_t)(first - p->run->threads);
}

static uint64_t thread_track(const struct perfetto *p, const struct pp_thread_row *t, unsigned beside)
{
    return THREAD_TRACKS * (beside + 1) + (uint64_t)(t - p->run->threads);
}

static void begin_track(struct perfetto *p, uint64_t uuid, uint64_t parent) /* parent 0: none */
{
    begin_packet(p);
    p->part = pp_proto_begin(&p->proto, PACKET_TRACK);
    pp_proto_uint(&p->proto, TRACK_UUID, uuid);
    if (parent)
        pp_proto_uint(&p->proto, TRACK_PARENT, parent);
}

static pp_status put_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name,
                           struct pp_err *err)
{
    begin_track(p, uuid, parent);
    pp_proto_str(&p->proto, TRACK_NAME, name);
    return end_packet(p, err);
}

static pp_status put_process(struct perfetto *p, const struct pp_thread_row *t, struct pp_err *err)
{
    const char *command = p->run->source->meta(p->run->source->ctx, "run", "command_line");
    begin_track(p, process_track(p, t), 0);
    size_t process = pp_proto_begin(&p->proto, TRACK_PROCESS);
    pp_proto_int(&p->proto, PROCESS_PID, pp_track_pid(t));
    pp_proto_str(&p->proto, PROCESS_NAME, p->run->program);
    if (command)
        pp_proto_str(&p->proto, PROCESS_CMDLINE, command);
    pp_proto_end(&p->proto, process);
    return end_packet(p, err);
}

/* ---- hooks ---- */

static pp_status perfetto_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                               struct pp_err *err)
{
    struct perfetto *p = *self = calloc(1, sizeof(*p));
    if (!p || !(p->tracks = calloc(run->n_threads + 1, sizeof(*p->tracks))))
        return pp_out_no_memory(place->out, err);
    p->run = run;
    pp_out_begin(&p->out, place->fd, place->out);
    p->gpu.run = run;
    begin_packet(p);
    p->part = pp_proto_begin(&p->proto, PACKET_CLOCK_SNAPSHOT);
    for (int utc = 0; utc <= (run->utc_known != 0); utc++) {
        size_t clock = pp_proto_begin(&p->proto, SNAPSHOT_CLOCKS);
        pp_proto_uint(&p->proto, CLOCK_ID, utc ? CLOCK_REALTIME_ID : CLOCK_MONOTONIC_ID);
        pp_proto_uint(&p->proto, CLOCK_TIMESTAMP, utc ? run->utc_ns : run->origin_ns);
        pp_proto_end(&p->proto, clock);
    }
    pp_proto_uint(&p->proto, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
    pp_status st = end_packet(p, err);
    if (st != PP_OK)
        return st;
    /* What a reader knows of this sequence is cleared, and it gets the names every span uses. */
    begin_packet(p);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
    pp_proto_uint(&p->proto, PACKET_FIRST_ON_SEQUENCE, 1);
    size_t defaults = pp_proto_begin(&p->proto, PACKET_DEFAULTS);
    pp_proto_uint(&p->proto, DEFAULTS_CLOCK, CLOCK_MONOTONIC_ID);
    pp_proto_end(&p->proto, defaults);
    p->part = pp_proto_begin(&p->proto, PACKET_INTERNED);
    for (unsigned i = 1; i < CATEGORY_COUNT; i++)
        intern(p, INTERNED_CATEGORY, i, category_names[i]);
    for (unsigned i = 0; i < PP_SPAN_NOTES; i++)
        intern(p, INTERNED_ANNOTATION, i + 1, pp_span_note_names[i]);
    st = end_packet(p, err);
    if (st == PP_OK && !run->n_threads)
        st = put_process(p, NULL, err);
    for (size_t i = 0; i < run->n_threads && st == PP_OK; i++)
        if (process_track(p, &run->threads[i]) == PROCESS_TRACKS + i)
            st = put_process(p, &run->threads[i], err);
    for (size_t i = 0; i < run->n_losses && st == PP_OK; i++) {
        begin_event(p, run->origin_ns, TYPE_INSTANT, process_track(p, run->threads), "lost", NULL);
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
        note_text(p, "what", run->losses[i].what);
        note_number(p, "count", run->losses[i].count);
        note_text(p, "why", run->losses[i].why);
        st = end_packet(p, err);
    }
    if (st == PP_OK && run->recovery) {
        begin_event(p, run->origin_ns, TYPE_INSTANT, process_track(p, run->threads), "recovered", NULL);
        note_text(p, "what", run->recovery);
        st = end_packet(p, err);
    }
    return st;
}

static pp_status perfetto_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct perfetto *p = self;
    begin_track(p, thread_track(p, t, 0), process_track(p, t));
    size_t thread = pp_proto_begin(&p->proto, TRACK_THREAD);
    pp_proto_int(&p->proto, THREAD_PID, pp_track_pid(t));
    pp_proto_int(&p->proto, THREAD_TID, pp_track_tid(t));
    pp_proto_int(&p->proto, THREAD_SORT, (int64_t)(t->id & INT32_MAX));
    pp_proto_str(&p->proto, THREAD_NAME, t->name);
    pp_proto_end(&p->proto, thread);
    return end_packet(p, err);
}

static pp_status perfetto_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                                struct pp_err *err)
{
    struct perfetto *p = self;
    begin_event(p, e->t_ns, TYPE_INSTANT, t ? thread_track(p, t, 0) : process_track(p, p->run->threads),
                e->kind ? e->kind : "error", NULL);
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    note_text(p, "path", e->path);
    note_text(p, "reason", e->reason);
    note_text(p, "action", e->action);
    note_number(p, "count", e->count);
    return end_packet(p, err);
}

static pp_status perfetto_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    struct perfetto *p = self;
    const struct pp_thread_row *t = c->thread ? c->thread : p->run->threads;
    pp_status st = PP_OK;
    size_t number = 0; /* a run has few counters */
    while (number < p->n_counters &&
           (strcmp(p->counters[number].name, c->name) != 0 ||
            process_track(p, p->counters[number].thread) != process_track(p, c->thread)))
        number++;
    if (number == p->n_counters) { /* a new one of this process */
        /* The unit is in the name: rss_bytes, process_cpu_ns_total. */
        char *name = strdup(c->name);
        size_t n = strlen(c->name), total = strlen("_total");
        n -= n > total && strcmp(c->name + n - total, "_total") == 0 ? total : 0;
        unsigned unit = n > 3 && strncmp(c->name + n - 3, "_ns", 3) == 0      ? UNIT_TIME_NS
                        : n > 6 && strncmp(c->name + n - 6, "_bytes", 6) == 0 ? UNIT_SIZE_BYTES
                                                                              : UNIT_COUNT;
        if (!name || !pp_grow(&p->counters, &p->cap_counters, number + 1, sizeof(*p->counters))) {
            free(name);
            return pp_out_no_memory(p->out.label, err);
        }
        p->counters[p->n_counters++] = (struct counter_track){name, c->thread};
        begin_track(p, COUNTER_TRACKS + number, t ? process_track(p, t) : 0);
        pp_proto_str(&p->proto, TRACK_NAME, name);
        size_t counter = pp_proto_begin(&p->proto, TRACK_COUNTER);
        pp_proto_uint(&p->proto, COUNTER_UNIT, unit);
        pp_proto_end(&p->proto, counter);
        st = end_packet(p, err);
    }
    if (st != PP_OK || !isfinite(c->value))
        return st;
    begin_event(p, c->t_ns, TYPE_COUNTER, COUNTER_TRACKS + number, NULL, NULL);
    pp_proto_double(&p->proto, EVENT_DOUBLE_COUNTER, c->value);
    return end_packet(p, err);
}

/* Streams lie under their device, calls under the thread that made them. */
static pp_status perfetto_gpu(void *self, const struct pp_gpu_row *row, struct pp_err *err)
{
    struct perfetto *p = self;
    struct pp_gpu_slice s;
    pp_status st = pp_gpu_tracks_place(&p->gpu, row, &s);
    if (st != PP_OK)
        return st == PP_END ? PP_OK : pp_out_no_memory(p->out.label, err);
    if (s.new_track) {
        uint64_t parent = s.device != UINT32_MAX ? DEVICE_TRACKS + s.device
                          : s.thread             ? thread_track(p, s.thread, 0)
                                                 : process_track(p, p->run->threads);
        if (s.new_device)
            st = put_track(p, DEVICE_TRACKS + s.device, 0, s.device_name, err);
        if (st == PP_OK)
            st = put_track(p, GPU_TRACKS + s.track, parent, s.track_name, err);
        if (st != PP_OK)
            return st;
    }
    begin_event(p, s.start_ns, TYPE_BEGIN, GPU_TRACKS + s.track, s.name, NULL);
    pp_proto_str(&p->proto, EVENT_CATEGORY, s.category);
    if (s.flow != PP_FLOW_NONE)
        pp_proto_fixed64(&p->proto, EVENT_FLOW, s.flow_id);
    for (size_t i = 0; i < s.n_notes; i++)
        note_number(p, s.note[i].key, s.note[i].value);
    st = end_packet(p, err);
    return st == PP_OK ? put_slice_end(p, s.end_ns, GPU_TRACKS + s.track, err) : st;
}

/* A slice for the request, and inside it one for each part of its time. */
static pp_status perfetto_request(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    struct perfetto *p = self;
    struct pp_request_slice s;
    pp_status st = PP_OK;
    if (pp_request_tracks_place(&p->requests, row, &s) != PP_OK)
        return pp_out_no_memory(p->out.label, err);
    const uint64_t track = REQUEST_TRACKS + s.track;
    if (s.new_track && !s.track)
        st = put_track(p, REQUESTS_TRACK, process_track(p, p->run->threads), "requests to storage", err);
    if (s.new_track && st == PP_OK)
        st = put_track(p, track, REQUESTS_TRACK, s.track_name, err);
    if (st != PP_OK)
        return st;
    begin_event(p, s.start_ns, TYPE_BEGIN, track, s.name, NULL);
    pp_proto_str(&p->proto, EVENT_CATEGORY, "request");
    if (s.failed)
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    for (size_t i = 0; i < s.n_notes; i++)
        note_number(p, s.note[i].key, s.note[i].value);
    if (s.dropped)
        note_number(p, "dropped", 1);
    if (s.prefix)
        note_text(p, "prefix", s.prefix);
    st = end_packet(p, err);
    for (size_t i = 0; i < s.n_parts && st == PP_OK; i++) {
        begin_event(p, s.part[i].start_ns, TYPE_BEGIN, track, pp_request_part_names[s.part[i].which], NULL);
        pp_proto_str(&p->proto, EVENT_CATEGORY, "request");
        st = end_packet(p, err);
        if (st == PP_OK)
            st = put_slice_end(p, s.part[i].end_ns, track, err);
    }
    return st == PP_OK ? put_slice_end(p, s.end_ns, track, err) : st;
}

static pp_status perfetto_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct perfetto *p = self;
    const struct pp_span *s = e->span;
    uint64_t *known = &p->tracks[e->thread - p->run->threads], track = thread_track(p, e->thread, e->track);
    uint8_t *interned = &p->interned[e->key / 8], bit = (uint8_t)(1u << e->key % 8);
    pp_status st = PP_OK;
    if (e->track && !(*known >> e->track & 1)) {
        char name[96];
        snprintf(name, sizeof(name), "%s (overlapping %u)", e->thread->name, e->track);
        st = put_track(p, track, thread_track(p, e->thread, 0), name, err);
        *known |= 1ull << e->track;
    }
    if (st != PP_OK)
        return st;
    begin_event(p, s->start_ns, TYPE_BEGIN, track, NULL, *interned & bit ? NULL : e);
    *interned |= bit;
    pp_proto_uint(&p->proto, EVENT_NAME_IID, e->key + 1);
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, e->waits ? CATEGORY_WAIT : CATEGORY_WORK);
    if (s->flags & PP_SPAN_ERROR)
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    if (e->flow != PP_FLOW_NONE)
        pp_proto_fixed64(&p->proto, e->flow == PP_FLOW_END ? EVENT_LAST_FLOW : EVENT_FLOW,
                         (uint64_t)s->batch + 1);
    struct pp_span_note notes[PP_SPAN_NOTES];
    for (size_t i = 0, n = pp_span_notes(s, notes); i < n; i++) {
        size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
        pp_proto_uint(&p->proto, ANNOTATION_NAME_IID, notes[i].which + 1);
        pp_proto_uint(&p->proto, ANNOTATION_UINT, notes[i].value);
        pp_proto_end(&p->proto, a);
    }
    st = end_packet(p, err);
    return st == PP_OK ? put_slice_end(p, e->end_ns, track, err) : st;
}

static pp_status perfetto_close(void *self, int complete, struct pp_err *err)
{
    struct perfetto *p = self;
    pp_status st = PP_OK;
    if (!p)
        return st;
    if (complete)
        st = pp_out_end(&p->out, err);
    for (size_t i = 0; i < p->n_counters; i++)
        free(p->counters[i].name);
    free(p->counters);
    free(p->tracks);
    pp_gpu_tracks_free(&p->gpu);
    free(p->requests.lane);
    pp_proto_free(&p->proto);
    free(p);
    return st;
}

const struct pp_exporter pp_export_perfetto = {
    .name = "perfetto",
    .suffixes = {".pftrace", ".perfetto-trace"},
    .next = "open %s in ui.perfetto.dev",
    .streams = 1,
    .open = perfetto_open,
    .thread = perfetto_thread,
    .error = perfetto_error,
    .counter = perfetto_counter,
    .gpu = perfetto_gpu,
    .request = perfetto_request,
    .span = perfetto_span,
    .close = perfetto_close,
};
