/* store/reader.h: the reading side of the door. Everything in report/ and tui/ learns about a run through
 * this, live or afterwards, own machine or another's. A reader belongs to one thread. Damaged, foreign,
 * truncated or newer files give a clear error, never a crash.
 *
 * A reader never writes: not into the file, and not beside it, but for SQLite's shared memory (-shm) where a
 * recorder of the same user made it. tests/e2e/reading_never_writes.sh holds that none of its objects reaches
 * one that does. */
#pragma once

#include "collectors/store/amend.h"
#include "collectors/store/columns.h"
#include "collectors/store/rows.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

struct pp_reader;

/* PP_E_NOT_FOUND, PP_E_EMPTY, PP_E_CORRUPT (not SQLite, damaged, cut short, tables that are no ordinary
 * ones), PP_E_UNSUPPORTED (SQLite, but not ours; a pipe beside it), PP_E_VERSION (newer).
 *
 * A file may come from anywhere. Its rows are data and its schema runs nothing: views, triggers, virtual
 * tables and generated columns are not used. A query that takes more steps, bytes or spans than a file of
 * this size can hold ends with PP_E_CORRUPT. A journal or a log that is another user's, or that names other
 * files, is left alone; pp_reader_each_loss says so. */
pp_status pp_reader_open(const char *path, struct pp_reader **out, struct pp_err *err);
void pp_reader_close(struct pp_reader *r);
/* 1: the file says that it is a recording (of any version, sound or not); cheap. */
int pp_reader_is_recording(const char *path);

/* What belongs to a recording and is not in its file. why.code PP_OK: nothing. */
struct pp_missing {
    uint64_t spans;
    struct pp_err why;
};
/* What a program does with a file before it is read: the front hall recovers (pp_recording_recover,
 * store/recover.h). Called by every pp_reader_open, in its thread. A failure is that of pp_reader_open. What
 * it puts into *missing, which says "nothing" before, is told by pp_reader_each_loss. */
typedef pp_status pp_before_reading_fn(const char *path, struct pp_missing *missing, struct pp_err *err);
/* Once, before other threads are there. NULL, as at the start: files are read as they are. */
void pp_reader_set_before(pp_before_reading_fn *fn);

/* NULL when absent. Strings belong to the reader and live until it is closed. */
const char *pp_reader_meta(struct pp_reader *r, const char *section, const char *key);
/* Returns 0 and leaves *value alone when absent or not a number. */
int pp_reader_meta_num(struct pp_reader *r, const char *section, const char *key, double *value);
/* In the order written. value is text; unit may be NULL; numeric says that it was stored as a number. */
typedef void pp_meta_fn(void *ctx, const char *key, const char *value, const char *unit, int numeric);
pp_status pp_reader_each_meta(struct pp_reader *r, const char *section, pp_meta_fn *fn, void *ctx,
                              struct pp_err *err);

struct pp_thread_row {
    uint32_t id;
    pp_lane lane;
    const char *name;
    int64_t pid, tid;
    uint64_t recorded, dropped;
};
/* The array lives as long as the reader; asking again brings its rows up to date, or begins a longer one. */
size_t pp_reader_threads(struct pp_reader *r, const struct pp_thread_row **rows);
const char *pp_reader_name(struct pp_reader *r, uint16_t id);
/* What is asked above has no status of its own. PP_OK: all threads can be read; of names that cannot,
 * pp_reader_each_loss says so afterwards. For whoever judges: without threads every span is nobody's. */
pp_status pp_reader_check(struct pp_reader *r, struct pp_err *err);

/* All spans, chunk by chunk: n spans of one thread, in recorded order; chunks of different threads
 * interleave. The array is valid during the call. A non-zero return stops the walk. Chunks whose checksum
 * fails are skipped and counted in *bad_chunks (may be NULL). */
typedef int pp_spans_fn(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n);
pp_status pp_reader_each_chunk(struct pp_reader *r, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks,
                               struct pp_err *err);

/* What a walk is about: what it leaves out costs little. Zero: everything. */
struct pp_wanted {
    unsigned columns; /* enum pp_column, or'ed: the fields of a span that are looked at; of the others some
                         are 0. 0: all */
    uint64_t from_ns, to_ns; /* only chunks that hold something of [from_ns, to_ns]; to_ns 0: no limit */
    const uint32_t *thread;  /* of this one alone; NULL: of all */
};
/* The same for what is wanted; NULL: everything. */
pp_status pp_reader_each_chunk_of(struct pp_reader *r, const struct pp_wanted *wanted, pp_spans_fn *fn,
                                  void *ctx, uint64_t *bad_chunks, struct pp_err *err);

/* When the spans of a chunk begin and end, of chunks written after *last_id (0: all), which is moved on.
 * Cheap: no chunk is opened. */
typedef void pp_chunk_end_fn(void *ctx, uint32_t thread, uint64_t first_start_ns, uint64_t last_end_ns);
pp_status pp_reader_each_chunk_end_after(struct pp_reader *r, int64_t *last_id, pp_chunk_end_fn *fn,
                                         void *ctx, struct pp_err *err);

/* The roll-up: what ended in one second of CLOCK_MONOTONIC on one thread, per phase. Several parts of one
 * (second, thread, phase) may come; they add up. samples: what its spans stand for, which may be many each; n
 * where they have no numbers. hist is valid during the call. */
struct pp_second_row {
    uint64_t second, n, samples, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib;
    uint32_t thread;
    unsigned phase;
    const uint8_t *hist;
    size_t hist_bytes;
};
typedef void pp_second_fn(void *ctx, const struct pp_second_row *row);
/* The parts written after *last_id (0: all), which is moved on: a live view reads each part once. */
pp_status pp_reader_each_second_after(struct pp_reader *r, int64_t *last_id, pp_second_fn *fn, void *ctx,
                                      struct pp_err *err);
/* How many of a part's durations were ns or longer; one that is shorter by less than 0.8 % may be counted in.
 * Of a damaged blob, those before the damage. */
uint64_t pp_second_at_least(const struct pp_second_row *s, uint64_t ns);

struct pp_error_row {
    uint64_t t_ns, sample;
    uint32_t thread, batch;
    const char *path, *kind, *action, *reason;
    uint64_t count; /* 1, or how many the row stands for */
};
typedef void pp_error_fn(void *ctx, const struct pp_error_row *row);
/* Those written after *last_id (0: all), which is moved on; all with last_id NULL. */
pp_status pp_reader_each_error(struct pp_reader *r, int64_t *last_id, pp_error_fn *fn, void *ctx,
                               struct pp_err *err);

struct pp_queue_row {
    const char *name;
    uint64_t capacity, puts, gets, put_wait_ns, get_wait_ns;
    double mean_depth, share_empty, share_full;
};
typedef void pp_queue_fn(void *ctx, const struct pp_queue_row *row);
pp_status pp_reader_each_queue(struct pp_reader *r, pp_queue_fn *fn, void *ctx, struct pp_err *err);

typedef void pp_counter_fn(void *ctx, uint64_t t_ns, const char *name, double value);
/* Of those written after *last_id, as for errors. */
pp_status pp_reader_each_counter(struct pp_reader *r, int64_t *last_id, pp_counter_fn *fn, void *ctx,
                                 struct pp_err *err);

/* What the GPU did, in the order stored; absent values as in struct pp_store_gpu. None in a file without
 * CUPTI. */
struct pp_gpu_row {
    const char *kind, *name, *source, *target; /* but for kind NULL when absent */
    uint64_t start_ns, dur_ns, bytes;
    uint32_t batch, correlation, device, context, stream, thread; /* UINT32_MAX when absent */
    int asynchronous, result;                                     /* -1 when absent */
};
/* In the order of their starts, of equal starts the longer first. */
typedef void pp_gpu_fn(void *ctx, const struct pp_gpu_row *row);
pp_status pp_reader_each_gpu(struct pp_reader *r, pp_gpu_fn *fn, void *ctx, struct pp_err *err);

/* What threads were in when they were looked at, with t_ns in [from_ns, to_ns], in order of t_ns. A file from
 * before this table has none. */
struct pp_open_phase_row {
    uint64_t t_ns, since_ns, sample; /* PP_NO_SAMPLE: none */
    uint32_t thread, batch;          /* PP_NO_BATCH: none */
    unsigned phase;
    const char *path; /* of the sample; NULL: not known; valid during the call */
};
typedef void pp_open_phase_fn(void *ctx, const struct pp_open_phase_row *row);
pp_status pp_reader_each_open_phase(struct pp_reader *r, uint64_t from_ns, uint64_t to_ns,
                                    pp_open_phase_fn *fn, void *ctx, struct pp_err *err);

/* Requests to remote storages that began in [from_ns, to_ns), in the order in which they ended, or in which
 * they began; none where data are local, or in a file from before this table. Rows whose times cannot be are
 * left out. wanted NULL: all of them, as they ended. */
struct pp_request_wanted {
    uint64_t from_ns, to_ns; /* to_ns 0: to the end */
    int by_start;
    uint64_t from_id; /* the row of this number, and those after it; 0: all */
};
typedef void pp_request_fn(void *ctx, const struct pp_request_row *row);
pp_status pp_reader_each_request(struct pp_reader *r, const struct pp_request_wanted *wanted,
                                 pp_request_fn *fn, void *ctx, struct pp_err *err);
/* The number of the oldest row that there is: a long run keeps its newest. 0: there is none. Cheap. */
pp_status pp_reader_first_request(struct pp_reader *r, uint64_t *id, struct pp_err *err);

/* Python stacks: all functions, all members of transforms, all frames, then all samples, each table by rising
 * id and samples as stored. Ids are the file's: a frame may name what there is not. Texts are valid during
 * the call. None in a file without them, or from before these tables. */
struct pp_stack_walk {
    void *ctx, *sample_ctx; /* of samples alone */
    void (*function)(void *ctx, const struct pp_stack_function_row *row);
    void (*op)(void *ctx, const struct pp_stack_op_row *row);
    void (*frame)(void *ctx, const struct pp_stack_row *row);
    void (*sample)(void *ctx, const struct pp_stack_sample_row *row);
};
pp_status pp_reader_each_stack(struct pp_reader *r, const struct pp_stack_walk *to, struct pp_err *err);

/* What the job's threads did: all threads, then all looks in the order stored. Texts are valid during the
 * call. None in a file without them, or from before these tables. */
struct pp_thread_walk {
    void *ctx;
    void (*thread)(void *ctx, const struct pp_native_thread_row *row);
    void (*look)(void *ctx, const struct pp_thread_look_row *row);
};
pp_status pp_reader_each_thread_look(struct pp_reader *r, const struct pp_thread_walk *to,
                                     struct pp_err *err);

typedef void pp_loss_fn(void *ctx, const char *what, uint64_t count, const char *why);
pp_status pp_reader_each_loss(struct pp_reader *r, pp_loss_fn *fn, void *ctx, struct pp_err *err);

/* Which samples a DataLoader asked for, in the order stored; none but for a PyTorch job. Of one epoch of one
 * loader alone (only: its pid, loader and epoch), or of all, then without lists. Lists are valid during the
 * call. */
typedef void pp_order_fn(void *ctx, const struct pp_order_row *row);
pp_status pp_reader_each_order(struct pp_reader *r, const struct pp_order_row *only, pp_order_fn *fn,
                               void *ctx, struct pp_err *err);

/* What became of a job's batches, why they came in that order, when state was saved and restored, and hashes
 * of their samples, each in the order stored (rows.h); states by process and time. None in a file from before
 * these tables; hashes only where they were asked for. */
typedef void pp_use_fn(void *ctx, const struct pp_use_row *row);
typedef void pp_fact_fn(void *ctx, const struct pp_fact_row *row);
typedef void pp_state_fn(void *ctx, const struct pp_state_row *row);
typedef void pp_content_fn(void *ctx, const struct pp_content_row *row);
pp_status pp_reader_each_use(struct pp_reader *r, pp_use_fn *fn, void *ctx, struct pp_err *err);
pp_status pp_reader_each_fact(struct pp_reader *r, pp_fact_fn *fn, void *ctx, struct pp_err *err);
pp_status pp_reader_each_state(struct pp_reader *r, pp_state_fn *fn, void *ctx, struct pp_err *err);
pp_status pp_reader_each_content(struct pp_reader *r, pp_content_fn *fn, void *ctx, struct pp_err *err);

/* What running predictions for real gave; none where nothing was proved, or by an older version. Texts are
 * valid during the call. */
typedef void pp_proof_fn(void *ctx, const struct pp_proof_row *row);
pp_status pp_reader_each_proof(struct pp_reader *r, pp_proof_fn *fn, void *ctx, struct pp_err *err);
