/* store/writer.h: the writing side of the door between measuring and reading: one run = one SQLite file
 * (schema.sql).
 *
 * While the run goes, spans are appended as columnar, checksummed chunks in WAL mode (plain rows cost 12-33x
 * more, see docs/reference/file-format.md); pp_store_finish writes the plain `span` table from them and
 * leaves one ordinary file. Thread safety: every call takes the store's own lock; the loader's threads may
 * report errors while the drain appends (and then may wait for a commit to end). After the first failure
 * nothing more is written: every call returns that failure, the run goes on. */
#pragma once

#include "collectors/store/rows.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/ring.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

struct pp_store;

/* What is kept as spans, see store.h; each keeps less than the one before. */
enum pp_detail { PP_DETAIL_SAMPLE, PP_DETAIL_BATCH, PP_DETAIL_ROLLUP };

struct pp_store_opts {
    const char *path;
    int force;           /* replace an existing file; without it an existing path is PP_E_EXISTS */
    uint64_t session_id; /* not 0: "<path>.rings" holds the live session of that id, which is the one to be
                            stored here */
    uint64_t max_rows;   /* plain span rows written at finish; 0: 5 million. Beyond it, whole batches are
                            sampled and the file says so */
    enum pp_detail detail;
    uint64_t max_bytes; /* of the file; 0: no limit. At half of it details go to batch, at three quarters to
                           roll-ups, at all of it spans are counted as lost */
};

/* Makes the file, in a directory that exists, in the place of an empty one or, with force, of any. Of several
 * who want the name at the same moment exactly one gets it, the others PP_E_EXISTS; ring files "<path>.rings"
 * left by an earlier run of that name are removed, so create the store before the session. PP_E_EXISTS also
 * while another process records into it. Where a write-ahead log does not work, commits go through a rollback
 * journal and the file says so. SIGXFSZ is ignored from here on if it has no handler. */
pp_status pp_store_create(const struct pp_store_opts *opts, struct pp_store **out, struct pp_err *err);
/* Finishes what is open, without the rows if finish was not called; frees. NULL is fine. */
void pp_store_close(struct pp_store *s);

/* The recording never began: its file goes when it is closed, unless it was lost, while the name is still
 * ours. */
void pp_store_discard(struct pp_store *s);

/* One (section, key) -> value; written again it replaces. Sections: "run" (tool, version, started_utc_ns,
 * started_mono_ns, ended_mono_ns, command_line, outcome), "config" (every option as used), "environment" (the
 * fingerprint), "result" (loader totals). unit may be NULL ("ns", "bytes", "samples/s"). */
pp_status pp_store_meta_text(struct pp_store *s, const char *section, const char *key, const char *value);
pp_status pp_store_meta_num(struct pp_store *s, const char *section, const char *key, double value,
                            const char *unit);
/* What a program said of its loader (pipeprobe/ring.h), as rows of section "config"; 0: no row. */
pp_status pp_store_stated(struct pp_store *s, const uint32_t said[PP_STATED]);

/* Threads must be declared before their spans are appended; declared again, the row is replaced (final
 * counts). */
struct pp_store_thread {
    uint32_t id;
    pp_lane lane;
    const char *name;
    int64_t pid, tid;
    uint64_t recorded, dropped;
};
pp_status pp_store_thread(struct pp_store *s, const struct pp_store_thread *t);
/* No span of the thread will come any more: the memory its spans waited in goes. */
void pp_store_thread_ended(struct pp_store *s, uint32_t id);
pp_status pp_store_name(struct pp_store *s, uint16_t id, const char *name); /* interned names and counters */

/* Keeps less from here on (never more): why is a clause for the report, "the rings filled faster than they
 * could be stored". */
pp_status pp_store_lower_detail(struct pp_store *s, enum pp_detail detail, const char *why);

/* Appends n spans of one thread, in start order as recorded. A chunk is cut every some thousand spans and at
 * commit. */
pp_status pp_store_append(struct pp_store *s, uint32_t thread, const struct pp_span *spans, size_t n);
/* The same without a copy in between: source fills out with up to max spans (1 at least) and says how many;
 * fewer than max ends it. It is called with the store's lock held. *appended counts them. */
typedef size_t pp_span_source(void *ctx, struct pp_span *out, size_t max);
pp_status pp_store_append_from(struct pp_store *s, uint32_t thread, pp_span_source *source, void *ctx,
                               uint64_t *appended);
pp_status pp_store_commit(struct pp_store *s,
                          struct pp_err *err); /* after OK, everything appended survives a kill */
/* 1: a commit has failed, and nothing will be written any more. Any thread, without waiting for one that
 * commits.
 */
int pp_store_failed(const struct pp_store *s);

/* Errors are data: one row each, up to 100,000; beyond that they are counted in the last row by kind. */
struct pp_store_error {
    uint64_t t_ns;
    uint32_t thread;
    uint32_t batch;
    uint64_t sample;
    const char *path;
    const char *kind;   /* pp_status_name of the cause: "corrupt", "io", ...; "warning": met when the data set
                           was opened */
    const char *action; /* "skipped", "substituted", "failed", "retried"; "noted" for a warning */
    const char *reason; /* the sentence */
};
pp_status pp_store_error(struct pp_store *s, const struct pp_store_error *e);

/* Queues are measured by their owner, exactly (time-weighted), and written once at the end of the run. */
struct pp_store_queue {
    const char *name;
    uint64_t capacity, puts, gets, put_wait_ns, get_wait_ns;
    double mean_depth;              /* time-weighted */
    double share_empty, share_full; /* of observed time */
};
pp_status pp_store_queue(struct pp_store *s, const struct pp_store_queue *q);

/* Counters sampled by the monitor: process CPU, RSS, I/O, queue depths, PSI. name says the unit
 * ("rss_bytes"). */
pp_status pp_store_counter(struct pp_store *s, uint64_t t_ns, const char *name, double value);

/* One thing the GPU did, or the CPU did for it, as CUPTI tells it. Times are CLOCK_MONOTONIC already. */
#define PP_GPU_NONE UINT32_MAX
struct pp_store_gpu {
    const char *kind; /* "memcpy", "memset", "kernel", "api", "sync", "overhead" */
    uint64_t start_ns, dur_ns;
    uint32_t correlation; /* joins what was called with what was done for it; PP_GPU_NONE: as below */
    uint32_t device, context, stream;
    uint32_t thread;             /* "api": the kernel's id of the thread that called */
    uint64_t bytes;              /* memcpy, memset */
    const char *source, *target; /* memcpy: "pageable", "pinned", "device", ...; else NULL */
    int asynchronous;            /* memcpy: 1, 0; else -1 */
    const char *name;            /* of kernel, call, synchronisation or overhead; NULL: none */
    int result;                  /* "api": what the call returned; else -1 */
};
pp_status pp_store_gpu(struct pp_store *s, const struct pp_store_gpu *g);
/* The records of this correlation belong to batch. */
pp_status pp_store_gpu_batch(struct pp_store *s, uint32_t correlation, uint64_t batch);
/* At t_ns of CLOCK_MONOTONIC, CUPTI's clock plus offset_ns was that, give or take error_ns: what the records'
 * times were converted with. */
pp_status pp_store_gpu_clock(struct pp_store *s, uint64_t t_ns, int64_t offset_ns, uint64_t error_ns);

/* What a thread was in at t_ns, although it had not ended: since_ns, its beginning. The newest 262,144 stay;
 * under PP_DETAIL_ROLLUP none is kept. */
struct pp_store_open_phase {
    uint64_t t_ns, since_ns, sample; /* sample: PP_NO_SAMPLE for none */
    uint32_t thread, batch;          /* batch: PP_NO_BATCH for none */
    unsigned phase;
    const char *path; /* of the sample; NULL: not known */
};
pp_status pp_store_open_phase(struct pp_store *s, const struct pp_store_open_phase *o);

/* A request to a remote storage, and where requests of its place go. The newest 262,144 stay; under
 * PP_DETAIL_ROLLUP none is kept. */
pp_status pp_store_request(struct pp_store *s, const struct pp_request_row *r);
pp_status pp_store_request_place(struct pp_store *s, uint32_t id, const char *address, const char *prefix);

/* Python stacks (rows.h), in this order: functions, frames, then samples of them. The newest
 * PP_STORE_STACK_SAMPLES samples stay; what is older goes into stack_rollup, of which as many rows stay.
 * Under PP_DETAIL_ROLLUP no sample is kept. */
pp_status pp_store_stack_function(struct pp_store *s, const struct pp_stack_function_row *f);
pp_status pp_store_stack(struct pp_store *s, const struct pp_stack_row *frame);
pp_status pp_store_stack_op(struct pp_store *s, const struct pp_stack_op_row *op);
pp_status pp_store_stack_sample(struct pp_store *s, const struct pp_stack_sample_row *sample);
/* The number by which samples name a thread of the kernel: that of its row in `thread` where it records
 * spans, else a new one with a row in stack_thread. UINT32_MAX: no thread of that process has recorded yet,
 * or there are too many. Ask again later: a thread may record its first span after its first sample. */
pp_status pp_store_stack_thread(struct pp_store *s, int64_t pid, int64_t tid, uint32_t *thread);

/* What the threads of the job's processes did at one moment (rows.h), and who they are. The newest 65,536
 * looks stay; under PP_DETAIL_ROLLUP none is kept. */
pp_status pp_store_native_thread(struct pp_store *s, const struct pp_native_thread_row *t);
pp_status pp_store_thread_look(struct pp_store *s, const struct pp_thread_look_row *look);

/* Which samples batches had; with max_bytes a quarter of it at the most, the rest is a loss. */
pp_status pp_store_order(struct pp_store *s, const struct pp_order_row *o);
/* What became of batches, why they came in that order, and what their samples were (rows.h). Lists of hashes
 * count as lists of samples do; a state of the same process and t_ns takes the place of the one before. */
pp_status pp_store_use(struct pp_store *s, const struct pp_use_row *u);
pp_status pp_store_fact(struct pp_store *s, const struct pp_fact_row *f);
pp_status pp_store_state(struct pp_store *s, const struct pp_state_row *e);
pp_status pp_store_content(struct pp_store *s, const struct pp_content_row *c);

/* What was lost or left out: (what, how many, why); shown by every report. */
pp_status pp_store_loss(struct pp_store *s, const char *what, uint64_t count, const char *why);

/* Writes the remaining chunks, the plain rows, the roll-ups and views; checkpoints; journal_mode=DELETE;
 * closes the database. On failure (disk full) what was committed stays readable and err says what is missing.
 * The store is still to be passed to pp_store_close. */
pp_status pp_store_finish(struct pp_store *s, struct pp_err *err);

/* What was written so far, and how it stands. */
struct pp_store_progress {
    uint64_t spans, chunks, chunk_bytes;
    uint64_t checkpoint_cpu_ns; /* of the thread that moves the log into the database */
    enum pp_detail detail;
    int lost; /* a commit found the file deleted, moved or replaced. That was its failure; nothing is under
                 the file's name to be read */
};
struct pp_store_progress pp_store_progress(struct pp_store *s);
/* Of the library that writes the file. */
const char *pp_store_sqlite_version(void);
