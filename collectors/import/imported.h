/* import/imported.h: what a reader of traces (kineto.c, nsys.c, ...) found, in memory of fixed bounds, until
 * it is written as a recording: threads, spans, GPU activity, and what the trace says of itself.
 *
 *   reader -> pp_imported_* -> pp_imported_assemble (steps without the waits inside them) -> pp_imported_write
 *
 * Nothing is written before a trace is known to hold steps or waits. Times are those of the trace, moved so
 * that its first event lies PP_IMPORT_ORIGIN_NS after zero. One thread at a time. */
#pragma once

#include "collectors/attach/namemap.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

struct pp_store;
struct pp_imported;

#define PP_IMPORT_ORIGIN_NS (UINT64_C(3600) * 1000000000)
#define PP_IMPORT_LONGEST_NS (UINT64_C(100) * 86400 * 1000000000) /* what lies further away is no time */
enum {
    PP_IMPORT_SPANS = 500000,     /* 40 MB; beyond it they are counted as lost */
    PP_IMPORT_GPU_ROWS = 1000000, /* 48 MB; beyond it none is kept, for shares of a part would be wrong */
    PP_IMPORT_THREADS = 4096,
    PP_IMPORT_NAMES = 1000
};
#define PP_IMPORT_NO_THREAD UINT32_MAX

/* How the trainer's waits are known. */
enum pp_import_waits {
    PP_WAITS_NONE,      /* no event names one */
    PP_WAITS_LOADER,    /* the DataLoader's own events, or ranges that a map calls data_wait */
    PP_WAITS_ANNOTATED, /* ranges of the program whose names say so: "## data_load ##" */
    PP_WAITS_ELSEWHERE  /* on another thread than the steps: the trainer's own wait has no name */
};

/* What a trace says of itself, and what was left out. Texts "": not said. */
struct pp_import_facts {
    const char *source; /* run.source: "kineto" */
    char loader[64];    /* the DataLoader's iterator, "_MultiProcessingDataLoaderIter" */
    const char *module; /* of another loader, "nvidia.dali"; NULL: none is known */
    char host[128], device[128], backend[32];
    int64_t rank, world_size; /* -1: not said */
    int64_t utc_ns;           /* of the trace's time zero; 0: not known */
    int numbered;             /* the spans have batch numbers: nothing is to be assembled */
    int whole_steps;      /* a step is a whole iteration, one batch each; else a batch begins with its wait */
    int collectives_wait; /* those of the trainer's thread are waits; else only their launch is seen */
    uint64_t events;      /* of the trace */
    uint64_t fetches, steps;    /* as found, before assembling */
    uint64_t folded;            /* events that stand for many calls: their times are not known */
    uint64_t twins;             /* annotations that came twice, for the CPU and for the GPU */
    uint64_t odd_times;         /* events whose time is none, or far from the others */
    enum pp_import_waits waits; /* set by pp_imported_assemble */
    int workers;                /* it has threads that do the workers' stages; set by pp_imported_write */
    int calls;                  /* of files are spans of their own, of every process */
    int processes;              /* there may be other training processes in it */
    int stages;                 /* of tf.data: a range holds those of its inputs, on its thread */
    uint64_t lost_meanings;     /* names of events beyond those that are kept: their events are not */
    uint64_t trainer_calls;     /* of them on the trainer's thread, while it waits for data; by assemble */
    uint64_t other_trainers;    /* processes that wait for data too, and were left out; by assemble */
    const char *steps_are, *waits_are, *instead; /* for a trace without either: their names, what would help;
                                                    NULL: those of torch.profiler */
    const char *no_workers; /* why there are none, for a loss; NULL: as of a profiler of one process */
    const char *blind;      /* what the source never records, for a loss; NULL: nothing to be said */
    const char *ended;      /* how the trace ended before its end; NULL: it is whole */
    uint64_t ended_at;
};

/* Roles of a span beside its phase. */
enum pp_import_role { PP_ROLE_NONE, PP_ROLE_MAYBE_WAIT, PP_ROLE_OWN_WORK /* of assemble */ };

struct pp_import_gpu {
    uint64_t start_ns, dur_ns, bytes;
    uint32_t correlation, stream, thread; /* UINT32_MAX: none; thread: of pp_imported_thread, of a call */
    uint32_t process;                     /* 0: not known */
    uint16_t name, device;
    uint8_t kind, source, target; /* enum pp_import_gpu_kind, pp_import_memory */
    int8_t asynchronous;
};
enum pp_import_gpu_kind {
    PP_IMPORT_KERNEL,
    PP_IMPORT_MEMCPY,
    PP_IMPORT_MEMSET,
    PP_IMPORT_SYNC,
    PP_IMPORT_CALL
};
enum pp_import_memory {
    PP_MEMORY_NONE,
    PP_MEMORY_PAGEABLE,
    PP_MEMORY_PINNED,
    PP_MEMORY_DEVICE,
    PP_MEMORY_HOST
};

struct pp_imported *pp_imported_new(void);     /* NULL: no memory */
void pp_imported_free(struct pp_imported *im); /* NULL is fine */
struct pp_import_facts *pp_imported_facts(struct pp_imported *im);

/* A time of the trace in ns as one of the recording; 0: it is none. */
int pp_imported_time(struct pp_imported *im, int64_t trace_ns, uint64_t *ns);
/* The thread of these texts (numbers or not); PP_IMPORT_NO_THREAD: there are too many. */
uint32_t pp_imported_thread(struct pp_imported *im, const char *pid, const char *tid);
void pp_imported_thread_name(struct pp_imported *im, uint32_t thread, const char *name);
/* The process of this text was started by that one. */
void pp_imported_parent(struct pp_imported *im, const char *pid, const char *parent);
/* 0 where there are too many different names, and for "". */
uint16_t pp_imported_name(struct pp_imported *im, const char *name);
/* s->start_ns is a time of the recording. Without memory nothing more is kept, and assemble says so. */
void pp_imported_span(struct pp_imported *im, uint32_t thread, const struct pp_span *s,
                      enum pp_import_role role);
void pp_imported_gpu(struct pp_imported *im, const struct pp_import_gpu *g);

/* Chooses the trainer's thread, takes the waits out of its steps, numbers the batches. PP_E_EMPTY: the trace
 * has neither steps nor waits; err says what it lacks and how to get it. what: the trace, for sentences. */
pp_status pp_imported_assemble(struct pp_imported *im, const char *what, struct pp_err *err);
/* All of it into a store that is to be finished afterwards. stopped (may be NULL) is asked on the way. */
pp_status pp_imported_write(struct pp_imported *im, struct pp_store *store,
                            pp_status (*stopped)(struct pp_err *err), struct pp_err *err);
/* Of the recording: the first and the last time of what is kept. Returns UTC at the first: by the trace, else
 * as old as the file at path. */
uint64_t pp_imported_extent(const struct pp_imported *im, const char *path, uint64_t *first_ns,
                            uint64_t *last_ns);

/* ---- names and their meaning ----
 *
 * What the names of a trace's ranges mean: by the user's map, then by the format's own rows
 * (attach/namemap.h), then by what people call the range around next(), where nothing else names the wait. */

struct pp_import_names {
    const struct pp_namemap *user; /* borrowed; may be NULL */
    struct pp_namemap *known, *maybe;
};

/* Close it with pp_import_names_close, also after a failure. maybe: whether ranges that people call a wait
 * may be one. path: of the trace, for a sentence. */
pp_status pp_import_names_open(struct pp_import_names *n, const struct pp_namemap *user, const char *known,
                               int maybe, const char *path, struct pp_err *err);
void pp_import_names_close(struct pp_import_names *n);
/* PP_PHASE_USER: none. *role (may be NULL): PP_ROLE_MAYBE_WAIT where it may be a wait. */
pp_phase pp_import_phase(const struct pp_import_names *n, const char *domain, const char *name,
                         enum pp_import_role *role);

/* The part of a wait's name that says which loader it is, "...#_MultiProcessingDataLoaderIter.__next__", into
 * facts->loader. */
void pp_import_note_loader(struct pp_import_facts *facts, const char *name);
/* "Pageable", "pinned", ..., however it goes on; a letter's case does not matter. */
enum pp_import_memory pp_import_memory(const char *text);
