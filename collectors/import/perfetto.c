/* Perfetto's protocol buffers that `pipeprobe export --to perfetto` wrote: track events of one packet
 * sequence, whose names, categories and annotations are numbers that a packet gives a name before the first
 * one uses them. The end of a span stands in the packet after its begin. Field numbers are those of the
 * public protos (protos/perfetto/trace/ in the Perfetto sources).
 *
 * Other writers' traces are not taken: a track event says nothing of a DataLoader. */
#include "collectors/import/fields.h"
#include "collectors/import/import.h"
#include "collectors/import/own.h"

#include "probe/base/err.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };
enum { PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_EVENT = 11, PACKET_INTERNED = 12, PACKET_TRACK = 60 };
enum { CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, ID_REALTIME = 1, ID_MONOTONIC = 3 };
enum { TRACK_UUID = 1, TRACK_THREAD = 4, TRACK_PARENT = 5, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_NOTE = 3, ENTRY_IID = 1, ENTRY_TEXT = 2 };
enum { EVENT_CATEGORY = 3, EVENT_NOTE = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, NOTE_NAME = 1, NOTE_UINT = 3 };

enum { NAMES = 1 << 17, CATEGORIES = 16, NOTES = 64, TRACKS = 1 << 14 };

/* What is noted of a span, as the export calls it. */
static const struct note {
    const char *name;
    unsigned has;
    size_t at; /* of the number in the event */
} known_notes[] = {
    {"batch", PP_HAS_BATCH, offsetof(struct pp_event, batch)},
    {"sample", PP_HAS_SAMPLE, offsetof(struct pp_event, sample)},
    {"samples", PP_HAS_SAMPLES, offsetof(struct pp_event, samples)},
    {"bytes", PP_HAS_BYTES, offsetof(struct pp_event, bytes)},
    {"cpu_ns", PP_HAS_CPU, offsetof(struct pp_event, cpu_ns)},
    {"run_delay_ns", PP_HAS_DELAY, offsetof(struct pp_event, run_delay_ns)},
    {"cache_hit_kib", PP_HAS_CACHE, offsetof(struct pp_event, cache_hit_kib)},
    {"epoch", PP_HAS_EPOCH, offsetof(struct pp_event, epoch)},
    {"unfinished", PP_HAS_UNFINISHED, offsetof(struct pp_event, unfinished)},
    {"warmup", PP_HAS_WARMUP, offsetof(struct pp_event, warmup)},
};

struct track {
    uint64_t uuid; /* 0: this place is free */
    uint32_t thread;
};

struct perfetto {
    struct pp_imported *im;
    struct pp_import_facts *facts;
    const struct pp_namemap *user;
    struct pp_own_name names[NAMES]; /* by number; phase 0: not known */
    uint8_t is_span[CATEGORIES];     /* by number: work or wait */
    const struct note *notes[NOTES]; /* by number; NULL: none that is known */
    struct track tracks[TRACKS];     /* a hash, open */
    size_t n_tracks;
    struct pp_event open; /* a span whose end is still to come */
    struct pp_own_name open_name;
    uint64_t open_track; /* 0: none */
};

/* A packet, and the event in it. */
struct packet {
    uint64_t t_ns;
    uint64_t type, track, name;
    int is_event, is_span;
    struct pp_event e;
};

static int is_message(const struct pp_fields *f, uint32_t number)
{
    return f->number == number && f->wire == PP_WIRE_BYTES;
}

static int is_number(const struct pp_fields *f, uint32_t number)
{
    return f->number == number && f->wire == PP_WIRE_VARINT;
}

/* ---- tracks ---- */

/* The place of a track: its own, or the free one where it belongs. */
static struct track *place_of(struct perfetto *p, uint64_t uuid)
{
    uint64_t at = (uuid * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    while (p->tracks[at % TRACKS].uuid && p->tracks[at % TRACKS].uuid != uuid)
        at++;
    return &p->tracks[at % TRACKS];
}

static uint32_t thread_of(struct perfetto *p, uint64_t uuid)
{
    const struct track *t = place_of(p, uuid);
    return uuid && t->uuid ? t->thread : PP_IMPORT_NO_THREAD;
}

static void note_track(struct perfetto *p, uint64_t uuid, uint32_t thread)
{
    struct track *t = place_of(p, uuid);
    if (!uuid || thread == PP_IMPORT_NO_THREAD || t->uuid || 2 * p->n_tracks >= TRACKS)
        return;
    *t = (struct track){uuid, thread};
    p->n_tracks++;
}

static uint32_t read_thread(struct perfetto *p, struct pp_fields *f)
{
    char pid[24] = "", tid[24] = "", name[64] = "";
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_number(f, THREAD_PID))
            snprintf(pid, sizeof(pid), "%lld", (long long)f->value);
        else if (is_number(f, THREAD_TID))
            snprintf(tid, sizeof(tid), "%lld", (long long)f->value);
        else if (is_message(f, THREAD_NAME))
            pp_fields_text(f, name, sizeof(name));
    }
    if (f->ended)
        return PP_IMPORT_NO_THREAD;
    uint32_t thread = pp_imported_thread(p->im, pid, tid);
    pp_imported_thread_name(p->im, thread, name);
    return thread;
}

/* A thread's own track, or one beside it for spans that overlap, whose parent it is. */
static void read_track(struct perfetto *p, struct pp_fields *f)
{
    uint64_t uuid = 0, parent = 0;
    uint32_t thread = PP_IMPORT_NO_THREAD;
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_number(f, TRACK_UUID))
            uuid = f->value;
        else if (is_number(f, TRACK_PARENT))
            parent = f->value;
        else if (is_message(f, TRACK_THREAD))
            thread = read_thread(p, f);
    }
    note_track(p, uuid, thread == PP_IMPORT_NO_THREAD ? thread_of(p, parent) : thread);
}

/* ---- names ---- */

static void note_name(struct perfetto *p, uint32_t kind, uint64_t iid, const char *text)
{
    if (kind == INTERNED_NAME && iid < NAMES)
        p->names[iid] = pp_own_name_of(p->im, p->user, text);
    if (kind == INTERNED_CATEGORY && iid < CATEGORIES)
        p->is_span[iid] = strcmp(text, "work") == 0 || strcmp(text, "wait") == 0;
    for (size_t i = 0; kind == INTERNED_NOTE && iid < NOTES && i < sizeof(known_notes) / sizeof(*known_notes);
         i++)
        if (strcmp(text, known_notes[i].name) == 0)
            p->notes[iid] = &known_notes[i];
}

static void read_names(struct perfetto *p, struct pp_fields *f)
{
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        uint32_t kind = f->number;
        uint64_t iid = 0;
        char text[256] = "";
        if (f->wire != PP_WIRE_BYTES)
            continue;
        pp_fields_enter(f);
        while (pp_fields_next(f)) {
            if (is_number(f, ENTRY_IID))
                iid = f->value;
            else if (is_message(f, ENTRY_TEXT))
                pp_fields_text(f, text, sizeof(text));
        }
        if (!f->ended && iid)
            note_name(p, kind, iid, text);
    }
}

/* ---- events ---- */

static void read_note(struct perfetto *p, struct pp_fields *f, struct pp_event *e)
{
    uint64_t iid = 0, value = 0;
    int told = 0;
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_number(f, NOTE_NAME))
            iid = f->value;
        if (is_number(f, NOTE_UINT)) {
            value = f->value;
            told = 1;
        }
    }
    const struct note *n = iid < NOTES ? p->notes[iid] : NULL;
    if (!n || !told || f->ended)
        return;
    memcpy((char *)e + n->at, &value, sizeof(value));
    e->has |= n->has;
}

static void read_event(struct perfetto *p, struct pp_fields *f, struct packet *k)
{
    k->is_event = 1;
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_message(f, EVENT_NOTE))
            read_note(p, f, &k->e);
        else if (is_number(f, EVENT_CATEGORY))
            k->is_span |= f->value < CATEGORIES && p->is_span[f->value];
        else if (is_number(f, EVENT_TYPE))
            k->type = f->value;
        else if (is_number(f, EVENT_NAME))
            k->name = f->value;
        else if (is_number(f, EVENT_TRACK))
            k->track = f->value;
    }
}

static void begin_span(struct perfetto *p, const struct packet *k)
{
    if (p->open_track) /* it never ended */
        p->facts->odd_times++;
    p->open_track = k->is_span && k->name < NAMES && p->names[k->name].phase ? k->track : 0;
    p->open_name = p->names[p->open_track ? k->name : 0];
    p->open = k->e;
    p->open.ts_ns = (int64_t)k->t_ns;
}

static void end_span(struct perfetto *p, const struct packet *k)
{
    if (!p->open_track || k->track != p->open_track)
        return;
    if (k->t_ns > INT64_MAX || (int64_t)k->t_ns < p->open.ts_ns || p->open.ts_ns < 0) {
        p->facts->odd_times++;
    } else {
        p->open.dur_ns = (int64_t)k->t_ns - p->open.ts_ns;
        pp_own_span(p->im, thread_of(p, k->track), p->open_name, &p->open);
    }
    p->open_track = 0;
}

/* ---- the file ---- */

/* What the two clocks said at one moment tells the UTC of time zero. */
static void read_clocks(struct perfetto *p, struct pp_fields *f)
{
    int64_t utc = 0, mono = 0;
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        uint64_t id = 0, at = 0;
        if (!is_message(f, CLOCKS_CLOCK))
            continue;
        pp_fields_enter(f);
        while (pp_fields_next(f)) {
            if (is_number(f, CLOCK_ID))
                id = f->value;
            else if (is_number(f, CLOCK_TIMESTAMP))
                at = f->value;
        }
        if (id == ID_REALTIME && at <= INT64_MAX)
            utc = (int64_t)at;
        if (id == ID_MONOTONIC && at <= INT64_MAX)
            mono = (int64_t)at;
    }
    if (utc > mono && !f->ended)
        p->facts->utc_ns = utc - mono;
}

static void read_packet(struct perfetto *p, struct pp_fields *f)
{
    struct packet k = {.t_ns = UINT64_MAX};
    pp_fields_enter(f);
    while (pp_fields_next(f)) {
        if (is_number(f, PACKET_TIMESTAMP))
            k.t_ns = f->value;
        else if (is_message(f, PACKET_CLOCKS))
            read_clocks(p, f);
        else if (is_message(f, PACKET_INTERNED))
            read_names(p, f);
        else if (is_message(f, PACKET_TRACK))
            read_track(p, f);
        else if (is_message(f, PACKET_EVENT))
            read_event(p, f, &k);
    }
    if (f->ended || !k.is_event)
        return;
    p->facts->events++;
    if (k.type == TYPE_BEGIN)
        begin_span(p, &k);
    else if (k.type == TYPE_END)
        end_span(p, &k);
}

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct perfetto *p = calloc(1, sizeof(*p));
    struct pp_bytes *bytes = NULL;
    struct pp_fields f;
    pp_status status = p ? pp_bytes_open(path, &bytes, err)
                         : pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    if (status == PP_OK) {
        p->im = im;
        p->facts = pp_imported_facts(im);
        p->facts->collectives_wait = 1;
        p->user = map;
        pp_fields_begin(&f, bytes);
        while (pp_fields_next(&f))
            if (is_message(&f, TRACE_PACKET))
                read_packet(p, &f);
        p->facts->ended = f.ended;
        p->facts->ended_at = pp_fields_at(&f);
    }
    pp_bytes_close(bytes);
    free(p);
    return status;
}

/* A packet, and in one of the first the names of what only we note. */
static int probe(const struct pp_import_head *head)
{
    static const char *const words[] = {"run_delay_ns", "cache_hit_kib", "batch"};
    int found = head->size && head->data[0] == (TRACE_PACKET << 3 | PP_WIRE_BYTES);
    for (size_t i = 0; found && i < sizeof(words) / sizeof(*words); i++)
        found = memmem(head->data, head->size, words[i], strlen(words[i])) != NULL;
    return found;
}

const struct pp_importer pp_importer_perfetto = {
    .name = "pipeprobe",
    .what = "pipeprobe export --to perfetto",
    .probe = probe,
    .read = read_trace,
};
