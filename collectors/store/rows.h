/* store/rows.h: what the writer (writer.h) and the reader (reader.h) of a recording have in common. */
#pragma once

#include "probe/base/std.h"

/* Which samples a DataLoader asked for, as rows of table sample_order: one per stretch of batches of an epoch
 * that follow each other. */
struct pp_order_row {
    int64_t pid;
    uint32_t loader, epoch, first_batch, batches;
    uint64_t samples;
    int ended; /* the sampler had no more behind these */
    const uint8_t *list;
    size_t list_bytes; /* probe/base/sample_list.h */
};

/* Batches of an iteration that follow each other and were taken by the thread that trains, each trained on,
 * or none of them: rows of table batch_use. */
struct pp_use_row {
    int64_t pid;
    uint32_t loader, epoch, first_batch, batches;
    int trained;   /* a backward came before the next one of this loader was taken */
    uint64_t step; /* batches of all loaders that the process had trained on before the first one */
};

/* What the order of an iteration comes from: rows of table iteration_fact. Texts last for the call. */
struct pp_fact_row {
    int64_t pid;
    uint32_t loader, epoch;
    const char *key, *value;
};

/* State was saved, restored or set: rows of table state_event. NULL: not known. Texts are valid during the
 * call. */
struct pp_state_row {
    int64_t pid;
    uint64_t t_ns, dur_ns; /* UINT64_MAX: it has not ended */
    const char *action, *via, *path, *place, *value;
    uint32_t iterations; /* that had begun in the process */
    uint32_t batch;      /* that was taken last; PP_NO_BATCH: none */
    uint64_t step;       /* batches that the process had trained on */
};

/* Hashes of a batch's samples, in their order in it: a row of table batch_content. */
struct pp_content_row {
    int64_t pid; /* of the process that takes the batch */
    uint32_t batch, samples;
    const uint8_t *content, *files; /* 8 bytes of each sample, pp_content_hash; valid during the call */
};

/* Of sample i; 0: it has none. */
static inline uint64_t pp_content_hash(const uint8_t *hashes, uint32_t i)
{
    uint64_t h = 0;
    for (int k = 7; k >= 0; k--)
        h = h << 8 | hashes[8 * (size_t)i + (size_t)k];
    return h;
}

/* ---- requests to a remote storage: rows of table request ---- */

/* In the column flags; the same bits as enum pp_request_flag of probe/storage/request_log.h. */
enum pp_request_row_flag {
    PP_REQUEST_ROW_CONNECTED = 1,
    PP_REQUEST_ROW_HEDGE = 2,
    PP_REQUEST_ROW_DROPPED = 4,
    PP_REQUEST_ROW_MODEL = 8,
    PP_REQUEST_ROW_BEGINS = 16,
};

/* The parts of its time, in this order, and what came of it. */
struct pp_request_row {
    uint64_t id; /* rising, of the row; reading, not of those that are written */
    uint64_t start_ns, queue_ns, resolve_ns, connect_ns, tls_ns, first_byte_ns, transfer_ns, cpu_ns;
    uint64_t bytes;
    uint64_t sample;              /* PP_NO_SAMPLE: for none */
    uint32_t epoch;               /* UINT32_MAX: for none */
    uint32_t status;              /* of HTTP; 0: no answer */
    uint32_t attempt, flags;      /* 0 for the first; enum pp_request_row_flag */
    uint32_t place;               /* number of its address and prefix; 0: not kept apart */
    const char *address, *prefix; /* of that place; NULL: not known. Reading, valid during the call */
};

static inline uint64_t pp_request_row_ns(const struct pp_request_row *r)
{
    return r->queue_ns + r->resolve_ns + r->connect_ns + r->tls_ns + r->first_byte_ns + r->transfer_ns;
}

/* ---- Python stacks: rows of the tables stack_* ---- */

#define PP_STACKS_DENSER 4 /* times as often in the first seconds */
/* In the column flags of a sample. */
enum pp_stack_flag {
    PP_STACK_TOP_UNKNOWN = 1, /* innermost frames were moving while they were read, and are left out */
    PP_STACK_LATE = 2,  /* taken more than 5 ms after its moment: kept, a sampler that drops them is biased */
    PP_STACK_CUT = 4,   /* innermost frames are left out: too many, or too many different stacks */
    PP_STACK_DENSE = 8, /* taken PP_STACKS_DENSER times as often as later ones: stands for as much less */
};

struct pp_stack_function_row {
    uint32_t id;          /* from 1 */
    uint32_t first_line;  /* 0: not known */
    const char *function; /* its qualified name; before Python 3.11 its name */
    const char *file;     /* as the job sees it; generated code: "<...>" */
};

/* A frame and, by parent, those that called it: rows form a trie, one per (parent, function, line, op). */
struct pp_stack_row {
    uint32_t id, parent; /* from 1; parent 0: the outermost frame. A parent has its row before its children */
    uint32_t function;
    uint32_t line; /* 0: not known */
    uint32_t op;   /* the member of a transform that the frame runs; 0: none, or not known */
};

/* A member of a transform, noted inside the job: where the data set holds it, its class, what it was made
 * with. */
struct pp_stack_op_row {
    uint32_t id;                          /* from 1 */
    const char *path, *class, *arguments; /* "dataset.transform.transforms[2]", "Blur", "radius=2" */
};

/* What a thread was in at t_ns. */
struct pp_stack_sample_row {
    uint64_t t_ns;   /* CLOCK_MONOTONIC, as of spans */
    uint32_t thread; /* of table thread; PP_THREADS_MAX and above: of stack_thread, a thread without spans */
    uint32_t stack;  /* its innermost frame */
    char state;      /* of the kernel: 'R' ran or waited for a CPU, 'S', 'D', ...; 0: not known */
    uint32_t flags;  /* enum pp_stack_flag */
};

/* ---- what the threads of a job's processes do, looked at from outside ---- */

/* One character of a look for each thread. What is not listed: the thread was not there. */
#define PP_THREAD_DOES_MAP(X) \
    X(COMPUTES, 'R', "on a CPU") \
    X(READY, 'W', "ready: it has waited for a CPU longer than it ran since the last look") \
    X(READS, 'r', "in a call on a file: open, read, stat, list a directory") \
    X(FAULTS, 'D', "in a page fault or another wait that no signal ends: mostly a disk") \
    X(NETWORK, 'n', "in a call on a socket; in poll or epoll_wait that ended within the last second") \
    X(PIPE, 'p', "in a read or write of a pipe: of another process") \
    X(WAITS, 'f', "in futex: a lock, a queue, a condition") \
    X(LOCK, 'g', "in futex, for the lock of its Python's interpreter (GIL)") \
    X(SLEEPS, 's', "in a sleep") \
    X(OTHER, 'o', "in another call")

enum pp_thread_does {
#define PP_THREAD_DOES_ENUM(symbol, letter, text) PP_THREAD_##symbol = letter,
    PP_THREAD_DOES_MAP(PP_THREAD_DOES_ENUM)
#undef PP_THREAD_DOES_ENUM
        PP_THREAD_ABSENT = '-'
};

enum { PP_LOOKED_THREADS = 512 }; /* that are followed at a time */

struct pp_native_thread_row {
    uint32_t id; /* from 1: its place in the texts of looks */
    int64_t pid, tid;
    const char *name; /* of the kernel; another one of that process and name may have had the number before */
};

struct pp_thread_look_row {
    uint64_t t_ns;      /* CLOCK_MONOTONIC, as of spans */
    const char *states; /* enum pp_thread_does, of thread 1, 2, ...; at most PP_LOOKED_THREADS */
};
