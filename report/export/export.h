/* export/export.h: a stored run in another tool's format. One walker, many exporters.
 *
 *   source (a stored run, or a test's arrays) -> walker (scan, order, tracks, flows) -> exporter (a
 *     table of functions) -> place
 *
 * The walker passes over the spans twice: the scan learns what a header has to say (time range, phases
 * present, threads), the second pass delivers. Memory is bounded by one chunk and by what is per thread, per
 * name and per loss, never by the number of spans. The output appears under its name only when it is complete
 * (out.h). Exporters compute no meaning: they spell what the walker hands them. */
#pragma once

#include "report/source/source.h"

struct pp_export_place;

struct pp_export_loss {
    char *what, *why;
    uint64_t count;
};

/* Which part a span plays in the flow that follows its batch from worker over copy lane to trainer. */
enum pp_flow { PP_FLOW_NONE, PP_FLOW_START, PP_FLOW_STEP, PP_FLOW_END };

struct pp_exporter;
struct pp_stack_sums;

/* What is known before the first span is delivered. Belongs to the walker and is valid from open to close. */
struct pp_export_run {
    const struct pp_source *source;
    const struct pp_exporter *to; /* of a walk */
    uint64_t origin_ns; /* CLOCK_MONOTONIC of the earliest thing stored: relative times count from here */
    uint64_t end_ns;    /* of the latest */
    uint64_t utc_ns;    /* CLOCK_REALTIME at origin_ns, for what it was stored as (a double: 256 ns steps) */
    int utc_known;
    uint64_t spans;    /* to be delivered; counters are not among them */
    uint64_t gpu_rows; /* what CUPTI recorded */
    uint64_t requests; /* to remote storages */
    uint64_t phase_spans[256];
    enum pp_flow phase_flow[256];
    struct pp_thread_row *threads; /* every thread that spans name, in the order of their ids; one the file
                                      does not declare is "thread N" */
    size_t n_threads;
    struct pp_export_loss *losses; /* as every report shows them, and chunks that cannot be read */
    size_t n_losses;
    uint64_t damaged_chunks; /* one of the losses */
    char program[64]; /* what the processes are called: "pipeprobe", or the program that was run by exec */
    const char *recovery; /* NULL, or "recovered 12 spans from the ring files of a killed run" */
    int device_rows; /* copies went to a CUDA device, or to the fixture that stands in for one in tests */
    int pinned;      /* batch memory was page-locked: 1, 0; -1 unknown */
    const char *device_name; /* NULL: unknown */
};

struct pp_export_span {
    const struct pp_span *span;
    const struct pp_thread_row *thread;
    const char *name; /* interned name, or that of the phase */
    uint32_t key;     /* stands for name in tables: below PP_EXPORT_KEYS */
    int waits;        /* the phase is waiting, not work */
    uint64_t end_ns;  /* >= start_ns */
    enum pp_flow flow;
    /* 0: the spans of the thread's track 0 nest or follow one another. A span that overlaps them is on track
     * 1, 2, ... where the same holds. Within a track starts never go back; among equal starts the longer
     * comes first. */
    unsigned track;
};
#define PP_EXPORT_KEYS (256u + 65536u)

/* A value at a time; thread is NULL when the process as a whole was measured. */
struct pp_export_counter {
    const struct pp_thread_row *thread;
    const char *name;
    uint64_t t_ns;
    double value;
};

/* One format. Calls come as open, thread*, error*, counter*, gpu*, request*, then spans with counters between
 * them, close. A hook that is NULL means the format has no place for it. */
struct pp_exporter {
    const char *name;
    const char *suffixes[3]; /* of file names; the first is what a default name gets */
    const char *next;        /* what to do with the result, %s standing for its name; NULL: nothing to say */
    int streams; /* writes place->fd from front to back; else it makes the file place->path itself */
    /* *self is passed to close even when open fails; it may then be NULL. */
    pp_status (*open)(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                      struct pp_err *err);
    pp_status (*thread)(void *self, const struct pp_thread_row *t, struct pp_err *err);
    pp_status (*error)(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                       struct pp_err *err);
    pp_status (*counter)(void *self, const struct pp_export_counter *c, struct pp_err *err);
    pp_status (*gpu)(void *self, const struct pp_gpu_row *row,
                     struct pp_err *err); /* row and its strings: during the call */
    pp_status (*request)(void *self, const struct pp_request_row *row,
                         struct pp_err *err); /* likewise; by their starts */
    pp_status (*span)(void *self, const struct pp_export_span *s, struct pp_err *err);
    pp_status (*stacks)(const struct pp_stack_sums *s, struct pp_err *err); /* of those of stack_sums.h */
    /* Completes the output when complete is set, and frees self (NULL is fine). */
    pp_status (*close)(void *self, int complete, struct pp_err *err);
};

/* The formats: X(name, what it is for). pp_exporters, --to and its help follow from this list. */
/* clang-format off */
#define PP_EXPORT_FORMATS(X)                                                  \
    X(nsys, "Nsight Systems' SQLite: nsys stats, nsys analyze")               \
    X(perfetto, "protobuf: ui.perfetto.dev, trace_processor")                 \
    X(chrome, "trace events in JSON: chrome://tracing, ui.perfetto.dev")      \
    X(csv, "one row per span, units in the header")                           \
    X(folded, "stacks, or phases, of each thread: flamegraph.pl")             \
    X(speedscope, "the same: speedscope.app")                                 \
    X(pprof, "the same: pprof, go tool pprof")
/* clang-format on */

#define PP_EXPORT_DECLARE(name, help) extern const struct pp_exporter pp_export_##name;
PP_EXPORT_FORMATS(PP_EXPORT_DECLARE)
#undef PP_EXPORT_DECLARE
extern const struct pp_exporter *const pp_exporters[]; /* in the order of the list; ends with NULL */

/* That of the longest suffix; NULL when there is none. */
const struct pp_exporter *pp_exporter_by_suffix(const char *path);

struct pp_export_opts {
    const char *out; /* a file name, or "-" for standard output */
    int force;       /* replace what is there */
    int no_flows;    /* batches of several ranks have the same numbers: none is followed */
    /* After each chunk; non-zero stops the export (PP_E_INTERRUPTED). NULL is fine. */
    int (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

struct pp_export_result {
    uint64_t spans, counters, errors;
    uint64_t gpu_rows; /* what the GPU did, in formats with a place for it */
    uint64_t requests; /* to remote storages, likewise */
    uint64_t losses; /* loss rows carried along or, in formats without a place for them, only counted here */
    uint64_t damaged_chunks; /* of the recording: their spans are missing; one more of the losses, and not a
                                row of the recording's own */
    uint64_t overlapping;    /* spans that went to a track of their own */
};

/* Nothing is left behind when it fails. result may be NULL. */
pp_status pp_export(const struct pp_source *source, const struct pp_exporter *to,
                    const struct pp_export_opts *opts, struct pp_export_result *result, struct pp_err *err);

/* The same, into a format's hooks with a place the caller made: for tests of the walker. */
pp_status pp_export_walk(const struct pp_source *source, const struct pp_exporter *to,
                         const struct pp_export_opts *opts, struct pp_export_place *place,
                         struct pp_export_result *result, struct pp_err *err);

/* The walker's first pass: everything of struct pp_export_run. For those that walk by themselves
 * (otlp_traces.c). */
pp_status pp_scan(const struct pp_source *source, struct pp_export_run *run, struct pp_err *err);
/* Of run->threads; every thread that spans name is there after the scan. NULL: there is none. */
const struct pp_thread_row *pp_scan_thread(const struct pp_export_run *run, uint32_t id);
void pp_scan_free(struct pp_export_run *run);

/* start + duration, without running over. */
static inline uint64_t pp_span_end(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns < s->start_ns ? UINT64_MAX : s->start_ns + s->dur_ns;
}
