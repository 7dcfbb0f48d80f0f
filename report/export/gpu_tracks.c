#include "report/export/gpu_tracks.h"

#include "report/export/tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MOST_DEVICES 64u
#define MOST_LANES 1024u          /* a made-up file may have any number: those beyond share the last */
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

void pp_gpu_tracks_begin(struct pp_gpu_tracks *t, const struct pp_export_run *run)
{
    *t = (struct pp_gpu_tracks){.run = run};
}

void pp_gpu_tracks_free(struct pp_gpu_tracks *t)
{
    for (size_t i = 0; i < t->n; i++)
        pp_tracks_free(&t->lane[i].tracks);
    free(t->lane);
    *t = (struct pp_gpu_tracks){0};
}

/* ---- lanes ---- */

static struct pp_gpu_lane lane_of(const struct kind *k, const struct pp_gpu_row *r)
{
    struct pp_gpu_lane lane = {
        .kind = k->lane, .device = NONE, .context = NONE, .stream = NONE, .thread = NONE};
    if (k->lane == STREAM)
        lane.device = r->device, lane.context = r->context, lane.stream = r->stream;
    if (k->lane == WAITS)
        lane.context = r->context;
    if (k->lane == CALLS)
        lane.thread = r->thread;
    return lane;
}

static int same_lane(const struct pp_gpu_lane *a, const struct pp_gpu_lane *b)
{
    return a->kind == b->kind && a->device == b->device && a->context == b->context &&
           a->stream == b->stream && a->thread == b->thread;
}

/* NULL without memory. A run has a dozen. */
static struct pp_gpu_lane *find_lane(struct pp_gpu_tracks *t, const struct pp_gpu_lane *wanted)
{
    for (size_t i = 0; i < t->n; i++)
        if (same_lane(&t->lane[i], wanted))
            return &t->lane[i];
    if (t->n == MOST_LANES)
        return &t->lane[t->n - 1];
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct pp_gpu_lane *more = realloc(t->lane, cap * sizeof(*more));
        if (!more)
            return NULL;
        t->lane = more;
        t->cap = cap;
    }
    t->lane[t->n] = *wanted;
    return &t->lane[t->n++];
}

/* The main thread trains, too: it is known by two names, of which the later counts. */
static const struct pp_thread_row *thread_of(const struct pp_export_run *run, uint32_t os_thread)
{
    for (size_t i = run->n_threads; os_thread != NONE && i > 0; i--)
        if (run->threads[i - 1].tid == (int64_t)os_thread)
            return &run->threads[i - 1];
    return NULL;
}

/* Streams of the device's first context go by their number alone. */
static int has_namesake(const struct pp_gpu_tracks *t, const struct pp_gpu_lane *lane)
{
    for (const struct pp_gpu_lane *l = t->lane; l < lane; l++)
        if (l->kind == STREAM && l->device == lane->device && l->stream == lane->stream)
            return 1;
    return 0;
}

static const char *numbered(char *out, size_t size, const char *word, uint32_t id)
{
    if (id == NONE)
        snprintf(out, size, "no %s", word);
    else
        snprintf(out, size, "%s %u", word, id);
    return out;
}

static void name_track(const struct pp_gpu_tracks *t, const struct pp_gpu_lane *lane,
                       struct pp_gpu_slice *out)
{
    const size_t size = sizeof(out->track_name);
    char a[32], b[32];
    int n = 0;
    switch (lane->kind) {
    case STREAM:
        n = snprintf(out->track_name, size, "%s", numbered(a, sizeof(a), "stream", lane->stream));
        if (has_namesake(t, lane))
            n += snprintf(out->track_name + n, size - (size_t)n, " of %s",
                          numbered(b, sizeof(b), "context", lane->context));
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

static void meet_device(struct pp_gpu_tracks *t, struct pp_gpu_slice *out)
{
    const char *name = t->run->device_name;
    if (out->device >= MOST_DEVICES) {
        out->device = NONE;
        return;
    }
    out->new_device = !(t->devices >> out->device & 1);
    t->devices |= UINT64_C(1) << out->device;
    if (out->new_device)
        snprintf(out->device_name, sizeof(out->device_name), "GPU %u%s%.140s", out->device, name ? ": " : "",
                 name ? name : "");
}

/* ---- slices ---- */

static int on_host(const char *memory)
{
    return strcmp(memory, "pageable") == 0 || strcmp(memory, "pinned") == 0;
}

/* "Memcpy HtoD (pinned -> device)" */
static void name_copy(const struct pp_gpu_row *r, struct pp_gpu_slice *out)
{
    if (!r->source || !r->target)
        return;
    snprintf(out->text, sizeof(out->text), "Memcpy %cto%c (%.24s -> %.24s)", on_host(r->source) ? 'H' : 'D',
             on_host(r->target) ? 'H' : 'D', r->source, r->target);
    out->name = out->text;
}

static void add_note(struct pp_gpu_slice *out, const char *key, int there, uint64_t value)
{
    if (!there)
        return;
    out->note[out->n_notes].key = key;
    out->note[out->n_notes++].value = value;
}

static void add_notes(const struct pp_gpu_row *r, struct pp_gpu_slice *out)
{
    int moves = strcmp(r->kind, "memcpy") == 0 || strcmp(r->kind, "memset") == 0;
    add_note(out, "batch", r->batch != NONE, r->batch);
    add_note(out, "bytes", moves, r->bytes);
    add_note(out, "asynchronous", r->asynchronous >= 0, (uint64_t)r->asynchronous);
    add_note(out, "correlation", r->correlation != NONE, r->correlation);
    add_note(out, "context", r->context != NONE, r->context);
    add_note(out, "stream", r->stream != NONE, r->stream);
    add_note(out, "result", r->result >= 0, (uint64_t)r->result);
}

static const struct kind *kind_of(const struct pp_gpu_row *r)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].kind, r->kind) == 0)
            return &kinds[i];
    return NULL;
}

pp_status pp_gpu_tracks_place(struct pp_gpu_tracks *t, const struct pp_gpu_row *r, struct pp_gpu_slice *out)
{
    const struct kind *k = kind_of(r);
    int ok = 1;
    if (!k)
        return PP_END;
    struct pp_gpu_lane wanted = lane_of(k, r), *lane = find_lane(t, &wanted);
    if (!lane)
        return PP_E_NO_MEMORY;
    memset(out, 0, sizeof(*out));
    out->start_ns = r->start_ns;
    out->end_ns = r->dur_ns < UINT64_MAX - r->start_ns ? r->start_ns + r->dur_ns : UINT64_MAX;
    out->name = r->name ? r->name : k->unnamed;
    out->category = k->category;
    if (k->lane == STREAM && !r->name)
        name_copy(r, out);
    if (r->correlation != NONE) {
        out->flow = k->flow;
        out->flow_id = FLOWS | r->correlation;
    }
    add_notes(r, out);
    out->beside = pp_tracks_place(&lane->tracks, out->start_ns, out->end_ns, &ok);
    if (!ok)
        return PP_E_NO_MEMORY;
    out->track = (unsigned)(lane - t->lane) * PP_TRACKS_MAX + out->beside;
    out->device = lane->device;
    out->thread = lane->kind == CALLS ? thread_of(t->run, lane->thread) : NULL;
    out->new_track = !(lane->known >> out->beside & 1);
    lane->known |= UINT64_C(1) << out->beside;
    if (out->device != NONE)
        meet_device(t, out);
    if (out->new_track)
        name_track(t, lane, out);
    return PP_OK;
}
