#include "report/export/tracks.h"

#include "probe/base/array.h"

/* ---- spans ---- */

#define DEPTH_MAX 32

struct pp_track {
    uint64_t last_start_ns;
    uint64_t end_ns[DEPTH_MAX]; /* of the spans still open, outermost first */
    unsigned depth;
};

unsigned pp_tracks_place(struct pp_tracks *t, uint64_t start_ns, uint64_t end_ns, int *ok)
{
    /* Open spans end in the order inside out, so that those over at start_ns are on top. They go only when
     * the span is taken: one that is refused here may be followed by an earlier one. */
    for (size_t i = 0; i < t->n; i++) {
        struct pp_track *to = &t->track[i];
        unsigned depth = to->depth;
        while (depth && to->end_ns[depth - 1] <= start_ns)
            depth--;
        if (start_ns < to->last_start_ns || depth == DEPTH_MAX || (depth && end_ns > to->end_ns[depth - 1]))
            continue;
        to->last_start_ns = start_ns;
        to->end_ns[depth] = end_ns;
        to->depth = depth + 1;
        return (unsigned)i;
    }
    if (t->n == PP_TRACKS_MAX)
        return PP_TRACKS_MAX - 1;
    if (!pp_grow(&t->track, &t->cap, t->n + 1, sizeof(*t->track))) {
        *ok = 0;
        return 0;
    }
    t->track[t->n] = (struct pp_track){.last_start_ns = start_ns, .end_ns = {end_ns}, .depth = 1};
    return (unsigned)t->n++;
}

static void add_note(struct pp_slice_note *notes, size_t *n, const char *key, int known, uint64_t value)
{
    if (known)
        notes[(*n)++] = (struct pp_slice_note){key, value};
}

/* ---- spans ---- */

const char *const pp_span_note_names[PP_SPAN_NOTES] = {
    [PP_NOTE_BATCH] = "batch",
    [PP_NOTE_SAMPLE] = "sample",
    [PP_NOTE_SAMPLES] = "samples",
    [PP_NOTE_BYTES] = "bytes",
    [PP_NOTE_CPU] = "cpu_ns",
    [PP_NOTE_RUN_DELAY] = "run_delay_ns",
    [PP_NOTE_CACHE_HIT] = "cache_hit_kib",
    [PP_NOTE_EPOCH] = "epoch",
    [PP_NOTE_WARMUP] = "warmup",
    [PP_NOTE_UNFINISHED] = "unfinished",
};

size_t pp_span_notes(const struct pp_span *s, struct pp_span_note note[PP_SPAN_NOTES])
{
    int counts = (s->flags & PP_SPAN_COUNT) != 0;
    const struct {
        int known;
        uint64_t value;
    } rows[PP_SPAN_NOTES] = {
        [PP_NOTE_BATCH] = {s->batch != PP_NO_BATCH, s->batch},
        [PP_NOTE_SAMPLE] = {!counts && s->sample != PP_NO_SAMPLE, s->sample},
        [PP_NOTE_SAMPLES] = {counts, s->sample},
        [PP_NOTE_BYTES] = {s->bytes != 0, s->bytes},
        [PP_NOTE_CPU] = {(s->flags & PP_SPAN_HAS_CPU) != 0, s->cpu_ns},
        [PP_NOTE_RUN_DELAY] = {(s->flags & PP_SPAN_HAS_DELAY) != 0, s->run_delay_ns},
        [PP_NOTE_CACHE_HIT] = {(s->flags & PP_SPAN_HAS_CACHE) != 0, s->cache_hit_kib},
        [PP_NOTE_EPOCH] = {s->epoch != 0, s->epoch},
        [PP_NOTE_WARMUP] = {(s->flags & PP_SPAN_WARMUP) != 0, 1},
        [PP_NOTE_UNFINISHED] = {(s->flags & PP_SPAN_UNFINISHED) != 0, 1},
    };
    size_t n = 0;
    for (unsigned i = 0; i < PP_SPAN_NOTES; i++)
        if (rows[i].known)
            note[n++] = (struct pp_span_note){i, rows[i].value};
    return n;
}

/* ---- what CUPTI recorded ---- */

#define NONE UINT32_MAX
#define MOST_DEVICES 64u
#define MOST_GPU_LANES 1024u      /* a made-up file may have any number: those beyond share the last */
#define FLOWS (UINT64_C(1) << 40) /* beyond any batch */

enum lane_kind { STREAM, CALLS, WAITS, OVERHEAD };

static const struct kind {
    const char *kind, *category, *unnamed;
    enum lane_kind lane;
    enum pp_flow flow;
} kinds[] = {
    {"kernel", "kernel", "kernel", STREAM, PP_FLOW_STEP},
    {"memcpy", "gpu_memcpy", "Memcpy", STREAM, PP_FLOW_STEP},
    {"memset", "gpu_memset", "Memset", STREAM, PP_FLOW_STEP},
    {"api", "cuda_driver", "call", CALLS, PP_FLOW_START},
    {"sync", "cuda_sync", "synchronize", WAITS, PP_FLOW_NONE},
    {"overhead", "overhead", "overhead", OVERHEAD, PP_FLOW_NONE},
};

struct pp_gpu_lane {
    enum lane_kind kind;
    uint32_t device, context, stream, thread; /* NONE where they do not tell lanes of this kind apart */
    struct pp_tracks tracks;
    uint64_t known; /* a bit per track that was handed out */
};

void pp_gpu_tracks_free(struct pp_gpu_tracks *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->lane[i].tracks.track);
    free(t->lane);
    *t = (struct pp_gpu_tracks){0};
}

static const char *numbered(char *out, size_t size, const char *word, uint32_t id)
{
    if (id == NONE)
        snprintf(out, size, "no %s", word);
    else
        snprintf(out, size, "%s %u", word, id);
    return out;
}

static void name_gpu_track(const struct pp_gpu_tracks *t, const struct pp_gpu_lane *lane,
                           struct pp_gpu_slice *out)
{
    const size_t size = sizeof(out->track_name);
    char a[32];
    int n = 0, namesake = 0;
    switch (lane->kind) {
    case STREAM:
        n = snprintf(out->track_name, size, "%s", numbered(a, sizeof(a), "stream", lane->stream));
        for (const struct pp_gpu_lane *l = t->lane; l < lane; l++)
            namesake |= l->kind == STREAM && l->device == lane->device && l->stream == lane->stream;
        if (namesake) /* streams of the device's first context go by their number alone */
            n += snprintf(out->track_name + n, size - (size_t)n, " of %s",
                          numbered(a, sizeof(a), "context", lane->context));
        break;
    case CALLS:
        n = snprintf(out->track_name, size, "%.60s (CUDA calls)",
                     out->thread ? out->thread->name : numbered(a, sizeof(a), "thread", lane->thread));
        break;
    case WAITS:
        n = snprintf(out->track_name, size, "CUDA synchronization of %s",
                     numbered(a, sizeof(a), "context", lane->context));
        break;
    case OVERHEAD: n = snprintf(out->track_name, size, "CUPTI overhead");
    }
    if (out->beside)
        snprintf(out->track_name + n, size - (size_t)n, " (overlapping %u)", out->beside);
}

static char side_of(const char *memory)
{
    return strcmp(memory, "pageable") == 0 || strcmp(memory, "pinned") == 0 ? 'H' : 'D';
}

static void fill_gpu_slice(const struct kind *k, const struct pp_gpu_row *r, struct pp_gpu_slice *out)
{
    int moves = strcmp(r->kind, "memcpy") == 0 || strcmp(r->kind, "memset") == 0;
    memset(out, 0, sizeof(*out));
    out->start_ns = r->start_ns;
    out->end_ns = r->dur_ns < UINT64_MAX - r->start_ns ? r->start_ns + r->dur_ns : UINT64_MAX;
    out->name = r->name ? r->name : k->unnamed;
    out->category = k->category;
    if (k->lane == STREAM && !r->name && r->source && r->target) {
        snprintf(out->text, sizeof(out->text), "Memcpy %cto%c (%.24s -> %.24s)", side_of(r->source),
                 side_of(r->target), r->source, r->target);
        out->name = out->text;
    }
    if (r->correlation != NONE) {
        out->flow = k->flow;
        out->flow_id = FLOWS | r->correlation;
    }
    add_note(out->note, &out->n_notes, "batch", r->batch != NONE, r->batch);
    add_note(out->note, &out->n_notes, "bytes", moves, r->bytes);
    add_note(out->note, &out->n_notes, "asynchronous", r->asynchronous >= 0, (uint64_t)r->asynchronous);
    add_note(out->note, &out->n_notes, "correlation", r->correlation != NONE, r->correlation);
    add_note(out->note, &out->n_notes, "context", r->context != NONE, r->context);
    add_note(out->note, &out->n_notes, "stream", r->stream != NONE, r->stream);
    add_note(out->note, &out->n_notes, "result", r->result >= 0, (uint64_t)r->result);
}

pp_status pp_gpu_tracks_place(struct pp_gpu_tracks *t, const struct pp_gpu_row *r, struct pp_gpu_slice *out)
{
    const struct kind *k = kinds, *end = kinds + sizeof(kinds) / sizeof(*kinds);
    int ok = 1;
    while (k < end && strcmp(k->kind, r->kind) != 0)
        k++;
    if (k == end)
        return PP_END;
    struct pp_gpu_lane wanted = {
        .kind = k->lane, .device = NONE, .context = NONE, .stream = NONE, .thread = NONE};
    if (k->lane == STREAM)
        wanted.device = r->device, wanted.context = r->context, wanted.stream = r->stream;
    if (k->lane == WAITS)
        wanted.context = r->context;
    if (k->lane == CALLS)
        wanted.thread = r->thread;
    struct pp_gpu_lane *lane = t->lane; /* a run has a dozen */
    while (lane < t->lane + t->n &&
           (lane->kind != wanted.kind || lane->device != wanted.device || lane->context != wanted.context ||
            lane->stream != wanted.stream || lane->thread != wanted.thread))
        lane++;
    if (lane == t->lane + t->n && t->n == MOST_GPU_LANES) {
        lane--;
    } else if (lane == t->lane + t->n) {
        if (!pp_grow(&t->lane, &t->cap, t->n + 1, sizeof(*t->lane)))
            return PP_E_NO_MEMORY;
        lane = &t->lane[t->n++];
        *lane = wanted;
    }
    fill_gpu_slice(k, r, out);
    out->beside = pp_tracks_place(&lane->tracks, out->start_ns, out->end_ns, &ok);
    if (!ok)
        return PP_E_NO_MEMORY;
    out->track = (unsigned)(lane - t->lane) * PP_TRACKS_MAX + out->beside;
    out->device = lane->device;
    /* The main thread trains, too: it is known by two names, of which the later counts. */
    for (size_t i = 0; i < t->run->n_threads && lane->kind == CALLS && lane->thread != NONE; i++)
        if (t->run->threads[i].tid == (int64_t)lane->thread)
            out->thread = &t->run->threads[i];
    out->new_track = !(lane->known >> out->beside & 1);
    lane->known |= UINT64_C(1) << out->beside;
    if (out->device >= MOST_DEVICES) {
        out->device = NONE;
    } else {
        const char *name = t->run->device_name;
        out->new_device = !(t->devices >> out->device & 1);
        t->devices |= UINT64_C(1) << out->device;
        if (out->new_device)
            snprintf(out->device_name, sizeof(out->device_name), "GPU %u%s%.140s", out->device,
                     name ? ": " : "", name ? name : "");
    }
    if (out->new_track)
        name_gpu_track(t, lane, out);
    return PP_OK;
}

/* ---- requests to remote storages ---- */

#define MOST_REQUEST_LANES 256u /* a made-up file may have any number: those beyond share the last */

const char *const pp_request_part_names[PP_REQUEST_PARTS] = {"queue", "resolve",    "connect",
                                                             "tls",   "first byte", "transfer"};

struct pp_request_lane {
    char address[56];
    uint64_t end_ns[PP_TRACKS_MAX]; /* of the last request on each track */
    unsigned tracks;
};

static void fill_request_slice(const struct pp_request_row *r, struct pp_request_slice *out)
{
    enum { MODELLED = PP_REQUEST_STATUSES - 1 };
    const uint64_t ns[PP_REQUEST_PARTS] = {r->queue_ns, r->resolve_ns,    r->connect_ns,
                                           r->tls_ns,   r->first_byte_ns, r->transfer_ns};
    int modelled = (r->flags & PP_REQUEST_ROW_MODEL) != 0;
    memset(out, 0, sizeof(*out));
    out->prefix = r->prefix && r->prefix[0] ? r->prefix : NULL;
    out->dropped = (r->flags & PP_REQUEST_ROW_DROPPED) != 0;
    out->status = modelled ? MODELLED : r->status < MODELLED ? r->status : 0;
    out->failed = !out->dropped && !modelled && (out->status == 0 || out->status >= 400);
    if (modelled)
        snprintf(out->name, sizeof(out->name), "modelled read");
    else if (out->status)
        snprintf(out->name, sizeof(out->name), "GET %u", out->status);
    else
        snprintf(out->name, sizeof(out->name), "no answer");

    out->start_ns = out->end_ns = r->start_ns;
    for (unsigned i = 0; i < PP_REQUEST_PARTS; i++) {
        if (ns[i] == 0)
            continue;
        out->part[out->n_parts].which = i;
        out->part[out->n_parts].start_ns = out->end_ns;
        out->part[out->n_parts++].end_ns = out->end_ns += ns[i];
    }
    add_note(out->note, &out->n_notes, "sample", r->sample != PP_NO_SAMPLE, r->sample);
    add_note(out->note, &out->n_notes, "epoch", r->epoch != UINT32_MAX, r->epoch);
    add_note(out->note, &out->n_notes, "bytes", 1, r->bytes);
    add_note(out->note, &out->n_notes, "cpu_ns", 1, r->cpu_ns);
    add_note(out->note, &out->n_notes, "try", 1, (uint64_t)r->attempt + 1);
    add_note(out->note, &out->n_notes, "hedge", (r->flags & PP_REQUEST_ROW_HEDGE) != 0, 1);
}

pp_status pp_request_tracks_place(struct pp_request_tracks *t, const struct pp_request_row *r,
                                  struct pp_request_slice *out)
{
    const char *address = r->address ? r->address : "";
    const size_t longest = sizeof(t->lane->address);
    size_t at = 0;
    unsigned beside = 0;
    while (at < t->n && strncmp(t->lane[at].address, address, longest - 1) != 0)
        at++;
    if (at == t->n && t->n == MOST_REQUEST_LANES)
        at--;
    if (at == t->n) {
        if (!pp_grow(&t->lane, &t->cap, t->n + 1, sizeof(*t->lane)))
            return PP_E_NO_MEMORY;
        t->lane[t->n] = (struct pp_request_lane){0};
        snprintf(t->lane[t->n++].address, longest, "%s", address);
    }
    struct pp_request_lane *lane = &t->lane[at];
    fill_request_slice(r, out);

    /* Requests that are under way together never lie within each other, as spans of a thread do. */
    while (beside < lane->tracks && lane->end_ns[beside] > out->start_ns)
        beside++;
    out->new_track = beside == lane->tracks && beside < PP_TRACKS_MAX;
    lane->tracks += (unsigned)out->new_track;
    if (beside == PP_TRACKS_MAX)
        beside--;
    if (out->end_ns > lane->end_ns[beside])
        lane->end_ns[beside] = out->end_ns;

    out->track = (unsigned)at * PP_TRACKS_MAX + beside;
    if (out->new_track) {
        const size_t size = sizeof(out->track_name);
        int n = lane->address[0] ? snprintf(out->track_name, size, "requests to %s", lane->address)
                                 : snprintf(out->track_name, size, "requests");
        if (beside)
            snprintf(out->track_name + n, size - (size_t)n, " (overlapping %u)", beside);
    }
    return PP_OK;
}
