/* import/imported_impl.h: the insides of a pp_imported, for imported.c, assemble.c and write.c. */
#pragma once

#include "collectors/import/imported.h"

struct import_span {
    struct pp_span s;
    uint32_t thread;
    uint32_t role;
};

struct import_thread {
    char pid[40], tid[48], name[64];
    uint64_t spans, steps, waits;
    uint32_t lanes[PP_LANE_COUNT]; /* spans by the lane of their phase */
    uint32_t id;                   /* in the recording; PP_IMPORT_NO_THREAD: it has no spans */
};

struct import_process {
    char pid[40], parent[40];
};

enum { IMPORT_BUCKETS = 8192 }; /* of the hashes of threads and names; more than twice as many as either */

struct pp_imported {
    struct pp_import_facts facts;
    struct import_thread *threads;
    size_t n_threads, threads_room;
    uint64_t seed;                      /* of both hashes (base/hash.h) */
    uint32_t thread_of[IMPORT_BUCKETS]; /* 1 + index; 0: free */
    struct import_process *processes;   /* whose parents are known */
    size_t n_processes, processes_room;
    char *names[PP_IMPORT_NAMES + 1];
    size_t n_names;
    uint16_t name_of[IMPORT_BUCKETS];
    struct import_span *spans;
    size_t n_spans, spans_room;
    struct pp_import_gpu *gpu;
    size_t n_gpu, gpu_room;
    uint64_t lost_ranges, lost_calls, lost_spans, lost_gpu, other_gpu, lost_threads, lost_names,
        dropped_waits;
    int64_t origin_ns;
    int has_origin, no_memory;
    uint32_t trainer;        /* index of its thread */
    uint64_t *step_start_ns; /* by batch, of the assembled ones */
    size_t n_steps;
};

/* Room for n + 1 of size bytes (pp_grow); 0: there is no memory, now or before. */
int pp_import_room(struct pp_imported *im, void *array, size_t n, size_t *room, size_t size);
/* "pageable", ..., by enum pp_import_memory; NULL: of none. */
extern const char *const pp_import_memories[];

static inline uint64_t import_end_of(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns;
}
