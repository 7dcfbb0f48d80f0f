#include "report/export/perfetto.h"

#include "probe/base/err.h"

enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_SEQUENCE = 10,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
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
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };

#define SEQUENCE_ID 1

static const char *const annotation_names[] = {"",      "batch",      "sample",       "samples",
                                               "bytes", "cpu_ns",     "run_delay_ns", "cache_hit_kib",
                                               "epoch", "unfinished", "warmup"};
static const char *const category_names[] = {"", "work", "wait", "error"};

size_t perfetto_begin(struct perfetto *p)
{
    p->proto.n = 0;
    size_t packet = pp_proto_begin(&p->proto, TRACE_PACKET);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE, SEQUENCE_ID);
    return packet;
}

size_t perfetto_begin_at(struct perfetto *p, uint64_t t_ns)
{
    size_t packet = perfetto_begin(p);
    pp_proto_uint(&p->proto, PACKET_TIMESTAMP, t_ns);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    return packet;
}

pp_status perfetto_end(struct perfetto *p, size_t packet, struct pp_err *err)
{
    pp_proto_end(&p->proto, packet);
    if (p->proto.failed)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", p->out.label);
    pp_out_bytes(&p->out, p->proto.buf, p->proto.n);
    return pp_out_check(&p->out, err);
}

void perfetto_intern(struct perfetto *p, unsigned kind, uint64_t iid, const char *text)
{
    size_t entry = pp_proto_begin(&p->proto, kind);
    pp_proto_uint(&p->proto, INTERNED_IID, iid);
    pp_proto_str(&p->proto, INTERNED_TEXT, text);
    pp_proto_end(&p->proto, entry);
}

static void put_clock(struct perfetto *p, unsigned id, uint64_t t_ns)
{
    size_t clock = pp_proto_begin(&p->proto, SNAPSHOT_CLOCKS);
    pp_proto_uint(&p->proto, CLOCK_ID, id);
    pp_proto_uint(&p->proto, CLOCK_TIMESTAMP, t_ns);
    pp_proto_end(&p->proto, clock);
}

static pp_status put_clocks(struct perfetto *p, struct pp_err *err)
{
    size_t packet = perfetto_begin(p), snapshot = pp_proto_begin(&p->proto, PACKET_CLOCK_SNAPSHOT);
    put_clock(p, CLOCK_MONOTONIC_ID, p->run->origin_ns);
    if (p->run->utc_known)
        put_clock(p, CLOCK_REALTIME_ID, p->run->utc_ns);
    pp_proto_uint(&p->proto, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
    pp_proto_end(&p->proto, snapshot);
    return perfetto_end(p, packet, err);
}

/* Clears what a reader knows of this sequence, and hands it the few names every span uses. */
static pp_status put_first(struct perfetto *p, struct pp_err *err)
{
    size_t packet = perfetto_begin(p), part;
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
    pp_proto_uint(&p->proto, PACKET_FIRST_ON_SEQUENCE, 1);
    part = pp_proto_begin(&p->proto, PACKET_DEFAULTS);
    pp_proto_uint(&p->proto, DEFAULTS_CLOCK, CLOCK_MONOTONIC_ID);
    pp_proto_end(&p->proto, part);
    part = pp_proto_begin(&p->proto, PACKET_INTERNED);
    for (unsigned i = 1; i < CATEGORY_COUNT; i++)
        perfetto_intern(p, INTERNED_CATEGORY, i, category_names[i]);
    for (unsigned i = 1; i < NOTE_COUNT; i++)
        perfetto_intern(p, INTERNED_ANNOTATION, i, annotation_names[i]);
    pp_proto_end(&p->proto, part);
    return perfetto_end(p, packet, err);
}

size_t perfetto_begin_event(struct perfetto *p, unsigned type, uint64_t track)
{
    size_t event = pp_proto_begin(&p->proto, PACKET_TRACK_EVENT);
    pp_proto_uint(&p->proto, EVENT_TYPE, type);
    pp_proto_uint(&p->proto, EVENT_TRACK, track);
    return event;
}

pp_status perfetto_put_end(struct perfetto *p, uint64_t t_ns, uint64_t track, struct pp_err *err)
{
    size_t packet = perfetto_begin_at(p, t_ns), event = perfetto_begin_event(p, TYPE_END, track);
    pp_proto_end(&p->proto, event);
    return perfetto_end(p, packet, err);
}

void perfetto_note(struct perfetto *p, unsigned name, uint64_t v)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_uint(&p->proto, ANNOTATION_NAME_IID, name);
    pp_proto_uint(&p->proto, ANNOTATION_UINT, v);
    pp_proto_end(&p->proto, a);
}

void perfetto_note_text(struct perfetto *p, const char *name, const char *text)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, name);
    pp_proto_str(&p->proto, ANNOTATION_STRING, text ? text : "");
    pp_proto_end(&p->proto, a);
}

void perfetto_note_number(struct perfetto *p, const char *name, uint64_t v)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, name);
    pp_proto_uint(&p->proto, ANNOTATION_UINT, v);
    pp_proto_end(&p->proto, a);
}

pp_status perfetto_put_head(struct perfetto *p, struct pp_err *err)
{
    pp_status st = put_clocks(p, err);
    return st == PP_OK ? put_first(p, err) : st;
}
