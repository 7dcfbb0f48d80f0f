#include "report/export/request_tracks.h"

#include "report/export/tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LANES 256u /* a made-up file may have any number: those beyond share the last */

const char *const pp_request_part_names[PP_REQUEST_PARTS] = {"queue", "resolve",    "connect",
                                                             "tls",   "first byte", "transfer"};

struct pp_request_lane {
    char address[56];
    uint64_t end_ns[PP_TRACKS_MAX]; /* of the last request on each track */
    unsigned tracks;
};

void pp_request_tracks_free(struct pp_request_tracks *t)
{
    free(t->lane);
    *t = (struct pp_request_tracks){0};
}

/* NULL without memory. */
static struct pp_request_lane *find_lane(struct pp_request_tracks *t, const char *address)
{
    for (size_t i = 0; i < t->n; i++)
        if (strncmp(t->lane[i].address, address, sizeof(t->lane[i].address) - 1) == 0)
            return &t->lane[i];
    if (t->n == MOST_LANES)
        return &t->lane[t->n - 1];
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        struct pp_request_lane *more = realloc(t->lane, cap * sizeof(*more));
        if (!more)
            return NULL;
        t->lane = more;
        t->cap = cap;
    }
    t->lane[t->n] = (struct pp_request_lane){0};
    snprintf(t->lane[t->n].address, sizeof(t->lane[t->n].address), "%s", address);
    return &t->lane[t->n++];
}

/* Requests that are under way together never lie within each other, as spans of a thread do. */
static unsigned place(struct pp_request_lane *lane, const struct pp_request_slice *s, int *new_track)
{
    unsigned i = 0;
    while (i < lane->tracks && lane->end_ns[i] > s->start_ns)
        i++;
    *new_track = i == lane->tracks && i < PP_TRACKS_MAX;
    lane->tracks += (unsigned)*new_track;
    i = i < PP_TRACKS_MAX ? i : PP_TRACKS_MAX - 1;
    lane->end_ns[i] = s->end_ns > lane->end_ns[i] ? s->end_ns : lane->end_ns[i];
    return i;
}

static void name_track(const struct pp_request_lane *lane, unsigned beside, struct pp_request_slice *out)
{
    const size_t size = sizeof(out->track_name);
    int n = lane->address[0] ? snprintf(out->track_name, size, "requests to %s", lane->address)
                             : snprintf(out->track_name, size, "requests");
    if (beside)
        snprintf(out->track_name + n, size - (size_t)n, " (overlapping %u)", beside);
}

static void name_request(const struct pp_request_row *r, struct pp_request_slice *out)
{
    enum { MODELLED = PP_REQUEST_STATUSES - 1 };
    int modelled = (r->flags & PP_REQUEST_ROW_MODEL) != 0;
    out->status = modelled ? MODELLED : r->status < MODELLED ? r->status : 0;
    if (modelled)
        snprintf(out->name, sizeof(out->name), "modelled read");
    else if (out->status)
        snprintf(out->name, sizeof(out->name), "GET %u", out->status);
    else
        snprintf(out->name, sizeof(out->name), "no answer");
}

static void add_note(struct pp_request_slice *out, const char *key, int there, uint64_t value)
{
    if (!there)
        return;
    out->note[out->n_notes].key = key;
    out->note[out->n_notes++].value = value;
}

static void add_parts(const struct pp_request_row *r, struct pp_request_slice *out)
{
    const uint64_t ns[PP_REQUEST_PARTS] = {r->queue_ns, r->resolve_ns,    r->connect_ns,
                                           r->tls_ns,   r->first_byte_ns, r->transfer_ns};
    uint64_t at = r->start_ns;
    for (unsigned i = 0; i < PP_REQUEST_PARTS; i++) {
        if (ns[i] == 0)
            continue;
        out->part[out->n_parts].which = i;
        out->part[out->n_parts].start_ns = at;
        out->part[out->n_parts++].end_ns = at += ns[i];
    }
    out->end_ns = at;
}

pp_status pp_request_tracks_place(struct pp_request_tracks *t, const struct pp_request_row *r,
                                  struct pp_request_slice *out)
{
    struct pp_request_lane *lane = find_lane(t, r->address ? r->address : "");
    if (!lane)
        return PP_E_NO_MEMORY;
    memset(out, 0, sizeof(*out));
    out->start_ns = r->start_ns;
    out->prefix = r->prefix && r->prefix[0] ? r->prefix : NULL;
    out->dropped = (r->flags & PP_REQUEST_ROW_DROPPED) != 0;
    name_request(r, out);
    out->failed = !out->dropped && !(r->flags & PP_REQUEST_ROW_MODEL) &&
                  (out->status == 0 || out->status >= 400);
    add_parts(r, out);
    add_note(out, "sample", r->sample != PP_NO_SAMPLE, r->sample);
    add_note(out, "epoch", r->epoch != UINT32_MAX, r->epoch);
    add_note(out, "bytes", 1, r->bytes);
    add_note(out, "cpu_ns", 1, r->cpu_ns);
    add_note(out, "try", 1, (uint64_t)r->attempt + 1);
    add_note(out, "hedge", (r->flags & PP_REQUEST_ROW_HEDGE) != 0, 1);
    unsigned beside = place(lane, out, &out->new_track);
    out->track = (unsigned)(lane - t->lane) * PP_TRACKS_MAX + beside;
    if (out->new_track)
        name_track(lane, beside, out);
    return PP_OK;
}
