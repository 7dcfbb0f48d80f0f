/* import/events.h: a file of Chrome's trace events, event by event: `{"traceEvents":[...]}`, or the bare
 * array, or one event a line (DFTracer). Beside the events the values of the top level, by their names
 * ("distributedInfo.rank"). Source: "Trace Event Format" (the Chromium project's document); what
 * torch.profiler makes of it: libkineto/src/output_json.cpp. */
#pragma once

#include "collectors/import/bytes.h"

/* Bits of pp_event.has. */
enum {
    PP_HAS_TS = 1 << 0,
    PP_HAS_DUR = 1 << 1,
    PP_HAS_BYTES = 1 << 2,
    PP_HAS_CORRELATION = 1 << 3,
    PP_HAS_STREAM = 1 << 4,
    PP_HAS_DEVICE = 1 << 5,
    PP_HAS_CONTEXT = 1 << 6,
    PP_HAS_RET = 1 << 7
};

/* One event. Texts are cut to their room; "": absent. pid and tid are texts because writers of traces have
 * both. */
struct pp_event {
    unsigned has;
    char ph[4], name[256], cat[40], pid[40], tid[48];
    int64_t ts_ns, dur_ns; /* in the trace they are microseconds, whatever displayTimeUnit says */
    uint64_t bytes, correlation, stream, device, context;
    uint64_t ret;                          /* what a call returned */
    char label[128], value[128], ppid[24]; /* args.name and args.value, of ph M; args.ppid */
};

/* Non-zero from a function ends the reading. */
struct pp_event_sink {
    int (*event)(void *ctx, const struct pp_event *e); /* NULL: the reading ends where events begin */
    int (*value)(void *ctx, const char *name, const char *value); /* may be NULL */
    void *ctx;
    int lines; /* events follow each other, a line each, in an array that need not end, or none (DFTracer) */
};

struct pp_events_read {
    uint64_t events;   /* whole ones */
    uint64_t odd;      /* elements that are no events */
    uint64_t at;       /* bytes of the unpacked text */
    const char *ended; /* NULL: the trace is whole; else how it ended, for a sentence */
    int cut;           /* ended as a killed writer leaves it */
};

/* PP_E_CORRUPT where not even the beginning is such a trace. */
pp_status pp_events_read(const char *path, const struct pp_event_sink *sink, struct pp_events_read *out,
                         struct pp_err *err);
