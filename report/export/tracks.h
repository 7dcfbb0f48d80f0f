/* export/tracks.h: where a timeline draws spans, the GPU's work and requests, and what it says there; for the
 * formats whose viewers have tracks. */
#pragma once

#include "report/export/export.h"

/* The numbers that a viewer shows, also where the recording has none. t NULL: of no thread. */
static inline int64_t pp_track_pid(const struct pp_thread_row *t)
{
    return t && t->pid > 0 ? t->pid : 1;
}
static inline int64_t pp_track_tid(const struct pp_thread_row *t)
{
    return !t ? 1 : t->tid > 0 ? t->tid : (int64_t)t->id + 1;
}

/* ---- spans: the tracks of one thread, in which they nest ----
 *
 * Timeline formats draw a thread as a stack: a span lies inside the one above it or beside it. What overlaps
 * in part (copies in flight at the same time) or comes late (a foreign range recorded after the thousands it
 * encloses) gets a track beside the thread's own instead of a wrong duration. Memory per thread: a stack per
 * track that was ever needed. */
struct pp_tracks {
    struct pp_track *track;
    size_t n, cap;
};

/* More spans of one thread than this in flight at once share the last track, drawn overlapping */
#define PP_TRACKS_MAX 64

/* Track of the span [start, end). *ok is cleared when there is no memory. The caller frees t->track. */
unsigned pp_tracks_place(struct pp_tracks *t, uint64_t start_ns, uint64_t end_ns, int *ok);

/* A number that is told of a slice. */
struct pp_slice_note {
    const char *key;
    uint64_t value;
};
enum { PP_SLICE_NOTES = 7 };

/* What is noted of a span beside its name: which, and how many. */
enum pp_span_note_id {
    PP_NOTE_BATCH,
    PP_NOTE_SAMPLE,
    PP_NOTE_SAMPLES,
    PP_NOTE_BYTES,
    PP_NOTE_CPU,
    PP_NOTE_RUN_DELAY,
    PP_NOTE_CACHE_HIT,
    PP_NOTE_EPOCH,
    PP_NOTE_WARMUP,
    PP_NOTE_UNFINISHED,
    PP_SPAN_NOTES
};
extern const char *const pp_span_note_names[PP_SPAN_NOTES];
struct pp_span_note {
    unsigned which;
    uint64_t value;
};
size_t pp_span_notes(const struct pp_span *s, struct pp_span_note note[PP_SPAN_NOTES]);

/* ---- what CUPTI recorded ----
 *
 * A track per stream of a device (kernels, copies, memsets), one per thread for its calls of the driver, one
 * per context for waits on it, one for CUPTI's own overhead. What overlaps on one of them in part gets a
 * track beside it, as spans do. Categories, and flows from a call to the work done for it, are those that
 * Kineto, PyTorch's profiler, made customary in chrome://tracing and Perfetto. */
/* Zero-initialised but for run. */
struct pp_gpu_tracks {
    const struct pp_export_run *run; /* borrowed */
    struct pp_gpu_lane *lane;
    size_t n, cap;
    uint64_t devices; /* a bit each, that was met */
};

/* A row as it is drawn. Its strings are valid as long as the row and this. */
struct pp_gpu_slice {
    uint64_t start_ns, end_ns;
    const char *name, *category;
    char text[96];     /* what name may point to */
    enum pp_flow flow; /* START: a call; STEP: what was done for it; by correlation */
    uint64_t flow_id;  /* no batch has it */
    struct pp_slice_note note[PP_SLICE_NOTES];
    size_t n_notes;

    unsigned track;                     /* its number, which no other track of the run has */
    unsigned beside;                    /* 0, or the how many-th beside the track of that name */
    int new_track, new_device;          /* met for the first time */
    uint32_t device;                    /* UINT32_MAX: the track is of the process */
    const struct pp_thread_row *thread; /* that called; NULL: none that the recording knows */
    char track_name[96];                /* of a new track: "stream 7", "pp-copy (CUDA calls)" */
    char device_name[160];              /* of a new device: "GPU 0: NVIDIA H100 ..." */
};

void pp_gpu_tracks_free(struct pp_gpu_tracks *t);
/* Rows come in the order of their starts. PP_END: a kind of row that is not drawn; PP_E_NO_MEMORY. */
pp_status pp_gpu_tracks_place(struct pp_gpu_tracks *t, const struct pp_gpu_row *row,
                              struct pp_gpu_slice *out);

/* ---- requests to remote storages ----
 *
 * A track per address that was connected to. Requests that are under way together lie on tracks beside it,
 * which are as many as there were connections at a time. A request encloses the parts of its time, in their
 * order; parts that took no time are left out. {0}: no request yet. */
struct pp_request_tracks {
    struct pp_request_lane *lane;
    size_t n, cap;
};

enum {
    PP_REQUEST_PARTS = 6,     /* queue, resolve, connect, tls, first byte, transfer */
    PP_REQUEST_STATUSES = 601 /* 0: no answer, or none of HTTP's; up to 599; 600: a storage model answered */
};

/* A row as it is drawn. Its strings are valid as long as the row and this. */
struct pp_request_slice {
    uint64_t start_ns, end_ns;
    char name[32];   /* "GET 206", "no answer" */
    unsigned status; /* below PP_REQUEST_STATUSES: stands for the name */
    int failed;      /* refused, or without an answer, and not because another one was quicker */
    struct {
        unsigned which; /* below PP_REQUEST_PARTS: pp_request_part_names */
        uint64_t start_ns, end_ns;
    } part[PP_REQUEST_PARTS];
    size_t n_parts;
    struct pp_slice_note note[PP_SLICE_NOTES]; /* sample, epoch, bytes, cpu_ns, try, hedge */
    size_t n_notes;
    const char *prefix; /* of the object's name; NULL: not known */
    int dropped;        /* another request for the same bytes was quicker */

    unsigned track;      /* its number, which no other track of requests has */
    int new_track;       /* met for the first time */
    char track_name[96]; /* of a new track: "requests to 10.0.0.7:443", "... (overlapping 1)" */
};

extern const char *const pp_request_part_names[PP_REQUEST_PARTS];

/* Rows come in the order of their starts. PP_E_NO_MEMORY. */
pp_status pp_request_tracks_place(struct pp_request_tracks *t, const struct pp_request_row *row,
                                  struct pp_request_slice *out);
