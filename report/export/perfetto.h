/* export/perfetto.h: what the rooms of the Perfetto exporter share. Private to perfetto*.c.
 *
 *   perfetto.c the exporter: spans, counters, errors, losses -> perfetto_tracks.c tracks, perfetto_gpu.c
 *     what the GPU did, perfetto_requests.c requests to storages -> perfetto_packet.c packets
 *
 * Field numbers are those of the public protos (protos/perfetto/trace/ in the Perfetto sources). */
#ifndef PP_EXPORT_PERFETTO_H
#define PP_EXPORT_PERFETTO_H

#include "report/export/export.h"
#include "report/export/gpu_tracks.h"
#include "report/export/request_tracks.h"
#include "report/export/out.h"
#include "probe/base/proto.h"

enum { PACKET_TIMESTAMP = 8, PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12, PACKET_TRACK = 60 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3 };
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

/* Track numbers have only to differ within the trace. Tracks beside a thread's own have the track in the
 * upper half. */
#define PROCESS_TRACKS 0x1000000ull
#define COUNTER_TRACKS 0x2000000ull
#define DEVICE_TRACKS 0x3000000ull
#define GPU_TRACKS 0x4000000ull
#define REQUESTS_TRACK 0x5000000ull /* the parent of all of them */
#define REQUEST_TRACKS 0x5000001ull
#define THREAD_TRACKS 0x100000000ull

/* Annotations and categories of spans, interned by these numbers. */
enum {
    NOTE_BATCH = 1,
    NOTE_SAMPLE,
    NOTE_SAMPLES,
    NOTE_BYTES,
    NOTE_CPU,
    NOTE_DELAY,
    NOTE_CACHE,
    NOTE_EPOCH,
    NOTE_UNFINISHED,
    NOTE_WARMUP,
    NOTE_COUNT
};
enum { CATEGORY_WORK = 1, CATEGORY_WAIT, CATEGORY_ERROR, CATEGORY_COUNT };

struct counter_track {
    char *name;
    const struct pp_thread_row *thread;
};

struct perfetto {
    struct pp_out out;
    struct pp_proto proto; /* the packet being made */
    const struct pp_export_run *run;
    uint8_t interned[(PP_EXPORT_KEYS + 7) / 8]; /* by name key */
    uint64_t *tracks;                           /* per thread: bit k: track k has its descriptor */
    struct counter_track *counters;
    size_t n_counters;
    struct pp_gpu_tracks gpu;
    struct pp_request_tracks requests;
};

/* ---- perfetto_packet.c: a packet begins, gets its fields, ends ---- */
size_t perfetto_begin(struct perfetto *p);
size_t perfetto_begin_at(struct perfetto *p, uint64_t t_ns);
pp_status perfetto_end(struct perfetto *p, size_t packet, struct pp_err *err);
/* Inside a packet: an event on a track. End it with pp_proto_end. */
size_t perfetto_begin_event(struct perfetto *p, unsigned type, uint64_t track);
pp_status perfetto_put_end(struct perfetto *p, uint64_t t_ns, uint64_t track,
                           struct pp_err *err); /* a packet: the innermost slice of the track is over */
void perfetto_intern(struct perfetto *p, unsigned kind, uint64_t iid, const char *text);
/* Inside an event. */
void perfetto_note(struct perfetto *p, unsigned iid, uint64_t v);
void perfetto_note_text(struct perfetto *p, const char *name, const char *text);
void perfetto_note_number(struct perfetto *p, const char *name, uint64_t v);
/* What a trace opens with: its clocks, and the names every span uses. */
pp_status perfetto_put_head(struct perfetto *p, struct pp_err *err);

/* ---- perfetto_tracks.c: numbers of tracks, and the packets that describe them ---- */
uint64_t perfetto_thread_track(const struct perfetto *p, const struct pp_thread_row *t, unsigned beside);
uint64_t perfetto_process_track(const struct perfetto *p,
                                const struct pp_thread_row *t); /* NULL: the first */
pp_status perfetto_put_processes(struct perfetto *p, struct pp_err *err);
pp_status perfetto_put_thread(struct perfetto *p, const struct pp_thread_row *t, struct pp_err *err);
pp_status perfetto_put_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name,
                             struct pp_err *err); /* parent 0: none */
pp_status perfetto_put_counter_track(struct perfetto *p, size_t number, struct pp_err *err);

/* ---- perfetto_gpu.c ---- */
pp_status perfetto_put_gpu(struct perfetto *p, const struct pp_gpu_row *row, struct pp_err *err);

/* ---- perfetto_requests.c ---- */
pp_status perfetto_put_request(struct perfetto *p, const struct pp_request_row *row, struct pp_err *err);

#endif
