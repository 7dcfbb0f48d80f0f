/* Perfetto's protobuf trace: track events. Field numbers are those of the public protos (protos/perfetto/trace/ in the Perfetto
 * sources); tests/e2e/export_perfetto.sh decodes the result with the reference decoder.
 *
 * One packet sequence; names, categories and annotation names are interned in the packet that first needs them. Begin and end of a span are
 * written together: the trace processor sorts packets by time, keeping file order among equals, and the walker's order (starts never
 * go back within a track, the longer first) is what makes equal times nest. Times are CLOCK_MONOTONIC, which is made the trace's clock. */
#include "report/export/export.h"
#include "report/export/out.h"
#include "report/export/place.h"
#include "report/export/proto.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };
enum { PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12,
       PACKET_SEQUENCE_FLAGS = 13, PACKET_DEFAULTS = 59, PACKET_TRACK = 60, PACKET_FIRST_ON_SEQUENCE = 87 };
enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { DEFAULTS_CLOCK = 58 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_SORT = 3, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_IID = 1, INTERNED_TEXT = 2 };
enum { EVENT_CATEGORY_IID = 3, EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK = 11, EVENT_NAME = 23,
       EVENT_DOUBLE_COUNTER = 44, EVENT_FLOW = 47, EVENT_LAST_FLOW = 48 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_UINT = 3, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };

#define SEQUENCE_ID 1
/* Track numbers have only to differ within the trace. Tracks beside a thread's own have the track in the upper half. */
#define PROCESS_TRACKS 0x1000000ull
#define COUNTER_TRACKS 0x2000000ull
#define THREAD_TRACKS 0x100000000ull

static const char *const annotation_names[] = {"", "batch", "sample", "samples", "bytes", "cpu_ns", "run_delay_ns", "cache_hit_kib", "epoch", "unfinished"};
enum { NOTE_BATCH = 1, NOTE_SAMPLE, NOTE_SAMPLES, NOTE_BYTES, NOTE_CPU, NOTE_DELAY, NOTE_CACHE, NOTE_EPOCH, NOTE_UNFINISHED, NOTE_COUNT };
enum { CATEGORY_WORK = 1, CATEGORY_WAIT, CATEGORY_ERROR, CATEGORY_COUNT };
static const char *const category_names[] = {"", "work", "wait", "error"};

struct counter_track {
    char *name;
    const struct pp_thread_row *thread;
};

struct perfetto {
    struct pp_out out;
    struct pp_proto proto;   /* the packet being made */
    const struct pp_export_run *run;
    uint8_t interned[(PP_EXPORT_KEYS + 7) / 8]; /* by name key */
    uint64_t *tracks;        /* per thread: bit k: track k has its descriptor */
    struct counter_track *counters;
    size_t n_counters;
};

/* ---- packets --------------------------------------------------------------------------------------------------------------- */

static size_t begin_packet(struct perfetto *p)
{
    p->proto.n = 0;
    size_t packet = pp_proto_begin(&p->proto, TRACE_PACKET);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE, SEQUENCE_ID);
    return packet;
}

static size_t begin_timed_packet(struct perfetto *p, uint64_t t_ns)
{
    size_t packet = begin_packet(p);
    pp_proto_uint(&p->proto, PACKET_TIMESTAMP, t_ns);
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    return packet;
}

static pp_status end_packet(struct perfetto *p, size_t packet, struct pp_err *err)
{
    pp_proto_end(&p->proto, packet);
    if (p->proto.failed)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: no memory", p->out.label);
    pp_out_bytes(&p->out, p->proto.buf, p->proto.n);
    return pp_out_check(&p->out, err);
}

static void put_interned(struct perfetto *p, unsigned kind, uint64_t iid, const char *text)
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
    size_t packet = begin_packet(p), snapshot = pp_proto_begin(&p->proto, PACKET_CLOCK_SNAPSHOT);
    put_clock(p, CLOCK_MONOTONIC_ID, p->run->origin_ns);
    if (p->run->utc_known)
        put_clock(p, CLOCK_REALTIME_ID, p->run->utc_ns);
    pp_proto_uint(&p->proto, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
    pp_proto_end(&p->proto, snapshot);
    return end_packet(p, packet, err);
}

/* Clears what a reader knows of this sequence, and hands it the few names every span uses. */
static pp_status put_first(struct perfetto *p, struct pp_err *err)
{
    size_t packet = begin_packet(p), part;
    pp_proto_uint(&p->proto, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
    pp_proto_uint(&p->proto, PACKET_FIRST_ON_SEQUENCE, 1);
    part = pp_proto_begin(&p->proto, PACKET_DEFAULTS);
    pp_proto_uint(&p->proto, DEFAULTS_CLOCK, CLOCK_MONOTONIC_ID);
    pp_proto_end(&p->proto, part);
    part = pp_proto_begin(&p->proto, PACKET_INTERNED);
    for (unsigned i = 1; i < CATEGORY_COUNT; i++)
        put_interned(p, INTERNED_CATEGORY, i, category_names[i]);
    for (unsigned i = 1; i < NOTE_COUNT; i++)
        put_interned(p, INTERNED_ANNOTATION, i, annotation_names[i]);
    pp_proto_end(&p->proto, part);
    return end_packet(p, packet, err);
}

/* ---- tracks ---------------------------------------------------------------------------------------------------------------- */

/* A process is known by its first thread. */
static size_t process_of(const struct perfetto *p, const struct pp_thread_row *t)
{
    const struct pp_thread_row *first = p->run->threads;
    while (first < t && first->pid != t->pid)
        first++;
    return (size_t)(first - p->run->threads);
}

static uint64_t thread_track(const struct perfetto *p, const struct pp_thread_row *t, unsigned track)
{
    return THREAD_TRACKS * (track + 1) + (uint64_t)(t - p->run->threads);
}

static int64_t pid_of(const struct pp_thread_row *t)
{
    return t && t->pid > 0 ? t->pid : 1;
}

static pp_status put_process(struct perfetto *p, size_t number, const struct pp_thread_row *t, struct pp_err *err)
{
    const char *command = p->run->source->meta(p->run->source->ctx, "run", "command_line");
    size_t packet = begin_packet(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), process;
    pp_proto_uint(&p->proto, TRACK_UUID, PROCESS_TRACKS + number);
    process = pp_proto_begin(&p->proto, TRACK_PROCESS);
    pp_proto_int(&p->proto, PROCESS_PID, pid_of(t));
    pp_proto_str(&p->proto, PROCESS_NAME, p->run->program);
    if (command)
        pp_proto_str(&p->proto, PROCESS_CMDLINE, command);
    pp_proto_end(&p->proto, process);
    pp_proto_end(&p->proto, track);
    return end_packet(p, packet, err);
}

static pp_status put_thread(struct perfetto *p, const struct pp_thread_row *t, struct pp_err *err)
{
    size_t packet = begin_packet(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), thread;
    pp_proto_uint(&p->proto, TRACK_UUID, thread_track(p, t, 0));
    pp_proto_uint(&p->proto, TRACK_PARENT, PROCESS_TRACKS + process_of(p, t));
    thread = pp_proto_begin(&p->proto, TRACK_THREAD);
    pp_proto_int(&p->proto, THREAD_PID, pid_of(t));
    pp_proto_int(&p->proto, THREAD_TID, t->tid > 0 ? t->tid : (int64_t)t->id + 1);
    pp_proto_int(&p->proto, THREAD_SORT, (int64_t)(t->id & INT32_MAX));
    pp_proto_str(&p->proto, THREAD_NAME, t->name);
    pp_proto_end(&p->proto, thread);
    pp_proto_end(&p->proto, track);
    return end_packet(p, packet, err);
}

static pp_status put_track_beside(struct perfetto *p, const struct pp_thread_row *t, unsigned number, struct pp_err *err)
{
    char name[96];
    size_t packet = begin_packet(p), track = pp_proto_begin(&p->proto, PACKET_TRACK);
    snprintf(name, sizeof(name), "%s (overlapping %u)", t->name, number);
    pp_proto_uint(&p->proto, TRACK_UUID, thread_track(p, t, number));
    pp_proto_uint(&p->proto, TRACK_PARENT, thread_track(p, t, 0));
    pp_proto_str(&p->proto, TRACK_NAME, name);
    pp_proto_end(&p->proto, track);
    return end_packet(p, packet, err);
}

/* The unit is in the name: rss_bytes, process_cpu_ns_total. */
static unsigned unit_of(const char *name)
{
    size_t n = strlen(name), total = strlen("_total");
    if (n > total && strcmp(name + n - total, "_total") == 0)
        n -= total;
    if (n > 3 && strncmp(name + n - 3, "_ns", 3) == 0)
        return UNIT_TIME_NS;
    return n > 6 && strncmp(name + n - 6, "_bytes", 6) == 0 ? UNIT_SIZE_BYTES : UNIT_COUNT;
}

static pp_status put_counter_track(struct perfetto *p, size_t number, struct pp_err *err)
{
    const struct counter_track *c = &p->counters[number];
    const struct pp_thread_row *t = c->thread ? c->thread : p->run->threads;
    size_t packet = begin_packet(p), track = pp_proto_begin(&p->proto, PACKET_TRACK), counter;
    pp_proto_uint(&p->proto, TRACK_UUID, COUNTER_TRACKS + number);
    if (t)
        pp_proto_uint(&p->proto, TRACK_PARENT, PROCESS_TRACKS + process_of(p, t));
    pp_proto_str(&p->proto, TRACK_NAME, c->name);
    counter = pp_proto_begin(&p->proto, TRACK_COUNTER);
    pp_proto_uint(&p->proto, COUNTER_UNIT, unit_of(c->name));
    pp_proto_end(&p->proto, counter);
    pp_proto_end(&p->proto, track);
    return end_packet(p, packet, err);
}

/* ---- events ---------------------------------------------------------------------------------------------------------------- */

static size_t begin_event(struct perfetto *p, unsigned type, uint64_t track)
{
    size_t event = pp_proto_begin(&p->proto, PACKET_TRACK_EVENT);
    pp_proto_uint(&p->proto, EVENT_TYPE, type);
    pp_proto_uint(&p->proto, EVENT_TRACK, track);
    return event;
}

static void note(struct perfetto *p, unsigned name, uint64_t v)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_uint(&p->proto, ANNOTATION_NAME_IID, name);
    pp_proto_uint(&p->proto, ANNOTATION_UINT, v);
    pp_proto_end(&p->proto, a);
}

static void note_text(struct perfetto *p, const char *name, const char *text)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, name);
    pp_proto_str(&p->proto, ANNOTATION_STRING, text ? text : "");
    pp_proto_end(&p->proto, a);
}

static void note_count(struct perfetto *p, uint64_t count)
{
    size_t a = pp_proto_begin(&p->proto, EVENT_ANNOTATION);
    pp_proto_str(&p->proto, ANNOTATION_NAME, "count");
    pp_proto_uint(&p->proto, ANNOTATION_UINT, count);
    pp_proto_end(&p->proto, a);
}

static uint64_t process_track(const struct perfetto *p, const struct pp_thread_row *t)
{
    return PROCESS_TRACKS + (t ? process_of(p, t) : 0);
}

static pp_status put_loss(struct perfetto *p, const struct pp_export_loss *l, struct pp_err *err)
{
    size_t packet = begin_timed_packet(p, p->run->origin_ns), event = begin_event(p, TYPE_INSTANT, process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, "lost");
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    note_text(p, "what", l->what);
    note_count(p, l->count);
    note_text(p, "why", l->why);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
}

static pp_status put_recovery(struct perfetto *p, struct pp_err *err)
{
    size_t packet = begin_timed_packet(p, p->run->origin_ns), event = begin_event(p, TYPE_INSTANT, process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, "recovered");
    note_text(p, "what", p->run->recovery);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
}

static pp_status perfetto_open(const struct pp_export_run *run, struct pp_export_place *place, void **self, struct pp_err *err)
{
    struct perfetto *p = *self = calloc(1, sizeof(*p));
    if (!p || !(p->tracks = calloc(run->n_threads + 1, sizeof(*p->tracks))))
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: no memory", place->out);
    p->run = run;
    pp_out_begin(&p->out, place->fd, place->out);
    pp_status st = put_clocks(p, err);
    if (st == PP_OK)
        st = put_first(p, err);
    for (size_t i = 0; i < run->n_threads && st == PP_OK; i++)
        if (process_of(p, &run->threads[i]) == i)
            st = put_process(p, i, &run->threads[i], err);
    if (st == PP_OK && !run->n_threads)
        st = put_process(p, 0, NULL, err);
    for (size_t i = 0; i < run->n_losses && st == PP_OK; i++)
        st = put_loss(p, &run->losses[i], err);
    if (st == PP_OK && run->recovery)
        st = put_recovery(p, err);
    return st;
}

static pp_status perfetto_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    return put_thread(self, t, err);
}

static pp_status perfetto_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t, struct pp_err *err)
{
    struct perfetto *p = self;
    size_t packet = begin_timed_packet(p, e->t_ns);
    size_t event = begin_event(p, TYPE_INSTANT, t ? thread_track(p, t, 0) : process_track(p, p->run->threads));
    pp_proto_str(&p->proto, EVENT_NAME, e->kind ? e->kind : "error");
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    note_text(p, "path", e->path);
    note_text(p, "reason", e->reason);
    note_text(p, "action", e->action);
    note_count(p, e->count);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
}

/* Number of the counter's track; n_counters when it has none yet. A run has few counters. */
static size_t find_counter(const struct perfetto *p, const struct pp_export_counter *c)
{
    size_t i = 0;
    while (i < p->n_counters && (strcmp(p->counters[i].name, c->name) != 0 || process_track(p, p->counters[i].thread) != process_track(p, c->thread)))
        i++;
    return i;
}

static pp_status add_counter(struct perfetto *p, const struct pp_export_counter *c, struct pp_err *err)
{
    struct counter_track *more = realloc(p->counters, (p->n_counters + 1) * sizeof(*more));
    char *name = more ? strdup(c->name) : NULL;
    if (more)
        p->counters = more;
    if (!name)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: no memory", p->out.label);
    more[p->n_counters++] = (struct counter_track){.name = name, .thread = c->thread};
    return put_counter_track(p, p->n_counters - 1, err);
}

static pp_status perfetto_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    struct perfetto *p = self;
    size_t number = find_counter(p, c), packet, event;
    pp_status st = number == p->n_counters ? add_counter(p, c, err) : PP_OK;
    if (st != PP_OK || !isfinite(c->value))
        return st;
    packet = begin_timed_packet(p, c->t_ns);
    event = begin_event(p, TYPE_COUNTER, COUNTER_TRACKS + number);
    pp_proto_double(&p->proto, EVENT_DOUBLE_COUNTER, c->value);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
}

/* The name of a span goes along with its first use. */
static void intern_name(struct perfetto *p, const struct pp_export_span *e)
{
    uint8_t *byte = &p->interned[e->key / 8], bit = (uint8_t)(1u << e->key % 8);
    if (*byte & bit)
        return;
    size_t data = pp_proto_begin(&p->proto, PACKET_INTERNED);
    put_interned(p, INTERNED_NAME, e->key + 1, e->name);
    pp_proto_end(&p->proto, data);
    *byte |= bit;
}

static void put_notes(struct perfetto *p, const struct pp_span *s)
{
    if (s->batch != PP_NO_BATCH)
        note(p, NOTE_BATCH, s->batch);
    if (s->flags & PP_SPAN_COUNT)
        note(p, NOTE_SAMPLES, s->sample);
    else if (s->sample != PP_NO_SAMPLE)
        note(p, NOTE_SAMPLE, s->sample);
    if (s->bytes)
        note(p, NOTE_BYTES, s->bytes);
    if (s->flags & PP_SPAN_HAS_CPU)
        note(p, NOTE_CPU, s->cpu_ns);
    if (s->flags & PP_SPAN_HAS_DELAY)
        note(p, NOTE_DELAY, s->run_delay_ns);
    if (s->flags & PP_SPAN_HAS_CACHE)
        note(p, NOTE_CACHE, s->cache_hit_kib);
    if (s->epoch)
        note(p, NOTE_EPOCH, s->epoch);
    if (s->flags & PP_SPAN_UNFINISHED)
        note(p, NOTE_UNFINISHED, 1);
}

static pp_status put_span_begin(struct perfetto *p, const struct pp_export_span *e, uint64_t track, struct pp_err *err)
{
    const struct pp_span *s = e->span;
    size_t packet = begin_timed_packet(p, s->start_ns), event;
    intern_name(p, e);
    event = begin_event(p, TYPE_BEGIN, track);
    pp_proto_uint(&p->proto, EVENT_NAME_IID, e->key + 1);
    pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, e->waits ? CATEGORY_WAIT : CATEGORY_WORK);
    if (s->flags & PP_SPAN_ERROR)
        pp_proto_uint(&p->proto, EVENT_CATEGORY_IID, CATEGORY_ERROR);
    if (e->flow != PP_FLOW_NONE)
        pp_proto_fixed64(&p->proto, e->flow == PP_FLOW_END ? EVENT_LAST_FLOW : EVENT_FLOW, (uint64_t)s->batch + 1);
    put_notes(p, s);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
}

static pp_status perfetto_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct perfetto *p = self;
    uint64_t *known = &p->tracks[e->thread - p->run->threads], track = thread_track(p, e->thread, e->track);
    pp_status st = PP_OK;
    if (e->track && !(*known >> e->track & 1)) {
        st = put_track_beside(p, e->thread, e->track, err);
        *known |= 1ull << e->track;
    }
    if (st == PP_OK)
        st = put_span_begin(p, e, track, err);
    if (st != PP_OK)
        return st;
    size_t packet = begin_timed_packet(p, e->end_ns), event = begin_event(p, TYPE_END, track);
    pp_proto_end(&p->proto, event);
    return end_packet(p, packet, err);
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
    .span = perfetto_span,
    .close = perfetto_close,
};
