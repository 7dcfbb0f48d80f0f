#include "collectors/import/events.h"

#include "collectors/import/scan.h"
#include "probe/base/err.h"

#include <ctype.h>

enum kind { TEXT, TIME, COUNT };
struct field {
    const char *key;
    enum kind kind;
    size_t at, room; /* room: of a text */
    unsigned has;
};

#define TEXT_FIELD(key, member) \
    { \
        key, TEXT, offsetof(struct pp_event, member), sizeof(((struct pp_event *)0)->member), 0 \
    }
#define FIELD(key, kind, member, bit) \
    { \
        key, kind, offsetof(struct pp_event, member), 0, bit \
    }

static const struct field fields[] = {
    TEXT_FIELD("ph", ph),
    TEXT_FIELD("name", name),
    TEXT_FIELD("cat", cat),
    TEXT_FIELD("pid", pid),
    TEXT_FIELD("tid", tid),
    FIELD("ts", TIME, ts_ns, PP_HAS_TS),
    FIELD("dur", TIME, dur_ns, PP_HAS_DUR),
};

/* Of "args". torch.profiler has written "Bytes" and "bytes", "Device Id" and "device". */
static const struct field args[] = {
    TEXT_FIELD("name", label),
    TEXT_FIELD("value", value),
    TEXT_FIELD("ppid", ppid),
    FIELD("ret", COUNT, ret, PP_HAS_RET),
    FIELD("bytes", COUNT, bytes, PP_HAS_BYTES),
    FIELD("Bytes", COUNT, bytes, PP_HAS_BYTES),
    FIELD("correlation", COUNT, correlation, PP_HAS_CORRELATION),
    FIELD("stream", COUNT, stream, PP_HAS_STREAM),
    FIELD("device", COUNT, device, PP_HAS_DEVICE),
    FIELD("context", COUNT, context, PP_HAS_CONTEXT),
};

struct reading {
    struct pp_scan scan;
    const struct pp_event_sink *sink;
    struct pp_events_read *out;
    struct pp_event event;
    int stopped, any_events;
};

static int is_over(enum pp_token t)
{
    return t == PP_SCAN_END || t == PP_SCAN_CUT || t == PP_SCAN_BAD;
}

/* The members of an object that has been begun; those of "args" with them. */
static enum pp_token take_members(struct reading *r, const struct field *table, size_t n)
{
    enum pp_token t;
    while ((t = pp_scan_next(&r->scan)) == PP_SCAN_KEY) {
        const struct field *f = NULL;
        int nested = table == fields && strcmp(r->scan.text, "args") == 0;
        for (size_t i = 0; i < n && !f; i++)
            f = strcmp(table[i].key, r->scan.text) == 0 ? &table[i] : NULL;
        t = pp_scan_next(&r->scan);
        if (nested && t == PP_SCAN_OBJECT) {
            t = take_members(r, args, sizeof(args) / sizeof(*args));
        } else if (f && (t == PP_SCAN_STRING || t == PP_SCAN_NUMBER_TOKEN)) {
            /* A number may stand in quotes. */
            char *to = (char *)&r->event + f->at, *end = r->scan.text;
            int64_t ns;
            errno = 0;
            uint64_t count = f->kind == COUNT ? strtoull(r->scan.text, &end, 10) : 0;
            if (f->kind == TEXT)
                snprintf(to, f->room, "%s", r->scan.text);
            else if (f->kind == TIME && pp_scan_us(r->scan.text, &ns))
                memcpy(to, &ns, sizeof(ns)), r->event.has |= f->has;
            else if (f->kind == COUNT && isdigit((unsigned char)r->scan.text[0]) && !*end && errno == 0)
                memcpy(to, &count, sizeof(count)), r->event.has |= f->has;
        } else {
            pp_scan_skip(&r->scan, t);
        }
        if ((is_over(t) || is_over(r->scan.ended)) && r->scan.ended != PP_SCAN_END)
            return r->scan.ended;
    }
    return t;
}

static enum pp_token take_event(struct reading *r)
{
    memset(&r->event, 0, sizeof(r->event));
    enum pp_token t = take_members(r, fields, sizeof(fields) / sizeof(*fields));
    if (t != PP_SCAN_OBJECT_END)
        return t;
    r->out->events++;
    r->stopped = r->sink->event(r->sink->ctx, &r->event) != 0;
    return t;
}

/* The elements of the array of events. */
static void take_events(struct reading *r)
{
    enum pp_token t;
    r->any_events = 1;
    r->stopped = !r->sink->event;
    while (!r->stopped && (t = pp_scan_next(&r->scan)) != PP_SCAN_ARRAY_END) {
        if (t == PP_SCAN_OBJECT)
            t = take_event(r);
        else if (!is_over(t))
            r->out->odd++, pp_scan_skip(&r->scan, t);
        if (r->scan.ended != PP_SCAN_END)
            return;
    }
}

/* A value of the top level, and what is below it: "a", "a.b"; elements of an array have its name. */
static void take_value(struct reading *r, const char *name, enum pp_token t)
{
    char below[160];
    if (t == PP_SCAN_STRING || t == PP_SCAN_NUMBER_TOKEN || t == PP_SCAN_WORD) {
        if (r->sink->value)
            r->stopped |= r->sink->value(r->sink->ctx, name, r->scan.text) != 0;
        return;
    }
    enum pp_token end = t == PP_SCAN_OBJECT ? PP_SCAN_OBJECT_END : PP_SCAN_ARRAY_END;
    while (!is_over(t) && !r->stopped && (t = pp_scan_next(&r->scan)) != end && !is_over(t)) {
        int fits = (size_t)snprintf(below, sizeof(below), "%s", name) < sizeof(below);
        if (t == PP_SCAN_KEY) {
            fits = (size_t)snprintf(below, sizeof(below), "%s.%s", name, r->scan.text) < sizeof(below);
            t = pp_scan_next(&r->scan);
        }
        if (fits)
            take_value(r, below, t);
        else
            pp_scan_skip(&r->scan, t);
        if (r->scan.ended != PP_SCAN_END)
            return;
    }
}

pp_status pp_events_read(const char *path, const struct pp_event_sink *sink, struct pp_events_read *out,
                         struct pp_err *err)
{
    struct pp_bytes *bytes;
    memset(out, 0, sizeof(*out));
    pp_status status = pp_bytes_open(path, &bytes, err);
    if (status != PP_OK)
        return status;
    struct reading r = {.scan = {.bytes = bytes, .ended = PP_SCAN_END},
                        .sink = sink,
                        .out = out,
                        .any_events = sink->lines};
    enum pp_token t = sink->lines ? PP_SCAN_END : pp_scan_next(&r.scan);
    if (t == PP_SCAN_ARRAY)
        take_events(&r);
    /* Lines are values one after the other: events, or the array in which they begin. */
    for (int more = sink->lines; more; more = !r.stopped && r.scan.ended == PP_SCAN_END) {
        r.scan.begun = r.scan.depth != 0;
        enum pp_token value = pp_scan_next(&r.scan);
        if (value == PP_SCAN_ARRAY)
            take_events(&r);
        else if (value == PP_SCAN_OBJECT)
            take_event(&r);
        else if (!is_over(value))
            out->odd++;
    }
    while (t == PP_SCAN_OBJECT && !r.stopped && r.scan.ended == PP_SCAN_END &&
           pp_scan_next(&r.scan) == PP_SCAN_KEY) {
        char name[64];
        snprintf(name, sizeof(name), "%.63s", r.scan.text);
        enum pp_token value = pp_scan_next(&r.scan);
        if (value == PP_SCAN_ARRAY && strcmp(name, "traceEvents") == 0)
            take_events(&r);
        else
            take_value(&r, name, value);
    }

    /* Cut: the bytes end inside of a value; of a gzip file its own end tells why. */
    const char *why;
    enum pp_bytes_end end = pp_bytes_ended(bytes, &why);
    /* outside of all values, or directly in an array */
    int between = sink->lines && r.scan.ended == PP_SCAN_CUT &&
                  (!r.scan.begun || (r.scan.depth == 1 && !(r.scan.in_object & 1)));
    out->at = r.scan.before + (uint64_t)(r.scan.at - r.scan.run);
    if (!r.stopped && r.scan.ended != PP_SCAN_END && !(between && end == PP_BYTES_WHOLE)) {
        out->cut = r.scan.ended == PP_SCAN_CUT && !why;
        out->ended = out->cut ? "it ends inside of an event" : why ? why : r.scan.why;
    }
    if (!r.any_events && !r.stopped)
        status = pp_fail(err, PP_E_CORRUPT, "%s has no \"traceEvents\": %s", path,
                         out->ended ? out->ended : "it is JSON of another kind");
    pp_bytes_close(bytes);
    return status;
}
