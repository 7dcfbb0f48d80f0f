/* store/store.h: the writer's insides. Private to collectors/store.
 *
 *     create.c    makes the file
 *     spans.c     spans of a thread into chunks, with less detail where that is wanted
 *     rows.c      everything else, a row each; batches of a job among them
 *     stacks.c    Python stacks
 *     writer.c    the lock, the transaction that both write in, its commit; the place of the file
 *     finish.c    one ordinary file
 *     recover.c   all of it for what a killed run left, which rings.c finds */
#pragma once

#include "collectors/store/chunk.h"
#include "collectors/store/db.h"
#include "collectors/store/row.h"
#include "collectors/store/writer.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/ring.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>
#include <pthread.h>
#include <sqlite3.h>

/* The write-ahead log goes into the database on a thread of its own. A checkpoint waits for the disk (twice:
 * SQLite syncs the log, then the database), a tenth of a second or, on a slow disk, seconds; the drain, were
 * it to wait, would empty no ring meanwhile. Private to collectors/store. */

struct pp_checkpoint;

/* When a commit on db leaves at least `from` pages in the log, the thread is asked (it and its connection are
 * made the first time). A log that gets to `most` all the same, or a thread that could not be made, has the
 * committing thread do it, as SQLite does by itself. A failed checkpoint loses nothing: the log stays, and is
 * tried again at the next commit. */
struct pp_checkpoint_opts {
    sqlite3 *db;      /* borrowed, outlives this */
    const char *path; /* of the database; copied */
    int from, most;   /* pages */
};

/* NULL: no memory; SQLite's own checkpoints stay as they were. */
struct pp_checkpoint *pp_checkpoint_new(const struct pp_checkpoint_opts *opts);
uint64_t pp_checkpoint_cpu_ns(const struct pp_checkpoint *c); /* of the thread so far; from any thread */
/* Waits for a checkpoint that is under way; db has SQLite's own again, at opts.from pages. NULL is fine. */
void pp_checkpoint_free(struct pp_checkpoint *c);

/* What is summed up while chunks are written, so that a live view and the report of a long run need not read
 * every span.
 *
 * Per second: parts, one per thread and phase that ended spans in that second since the last commit (more
 * when threads take turns), with a histogram of durations. Per batch: parts too, sums per phase, gathered in
 * memory until commit. A second is end_ns / 1e9 on CLOCK_MONOTONIC.
 *
 * Histogram blob: varint pairs (buckets since the one before, count) on the grid of base/hist.h (error below
 * 0.4 %), see hist_blob.h. */

struct pp_rollup;

/* Statements are prepared on db, which must outlive the roll-up. NULL: no memory or no such tables. */
struct pp_rollup *pp_rollup_new(sqlite3 *db);
void pp_rollup_free(struct pp_rollup *r);

/* Adds n spans (at least 1) of one thread, in the order recorded; their parts are written when another second
 * or thread begins, and at commit. shape: of the block they lie in; the less varies in it, the less an
 * addition costs. Returns an SQLite code. */
int pp_rollup_add(struct pp_rollup *r, uint32_t thread, const struct pp_span *spans, size_t n,
                  const struct pp_chunk_shape *shape);
/* Writes what was gathered since the last commit, so that it becomes part of the same transaction. Returns an
 * SQLite code. */
int pp_rollup_commit(struct pp_rollup *r);
/* Batches came too fast (over 4096 batch-phase pairs between two commits): per-batch sums were given up and
 * their table emptied. */
int pp_rollup_gave_up_batches(const struct pp_rollup *r);

/* ---- the writer ---- */

#define PP_STORE_CHUNK_SPANS 16384u
#define PP_STORE_MERGED_SPANS 4096u /* of which a chunk with less detail is made */
#define PP_STORE_MANY_SPANS 4096u   /* a chunk of as many is not compressed */
#define PP_STORE_ERROR_ROWS 100000u
#define PP_STORE_ERROR_KINDS 32u
#define PP_STORE_REQUESTS 262144u       /* rows kept, about 20 MB */
#define PP_STORE_OPEN_PHASES 262144u    /* rows kept: nine hours of eight threads, about 30 MB */
#define PP_STORE_STACK_SAMPLES 1000000u /* rows kept, about 20 MB: 3.5 hours of eight workers at 10 Hz */
#define PP_STORE_THREAD_LOOKS 65536u    /* rows kept: 55 minutes at 20 Hz, about 6 MB with 64 threads */
#define PP_STORE_LOG_FILES 2
/* Twice SQLite's own 4096: half as many pages take their way through the log into the file. */
#define PP_STORE_PAGE_BYTES 8192
/* From 32 MiB on a thread of its own writes the log into the database; from the second limit on the commit
 * does, which bounds the log but for what others hold it up. */
#define PP_STORE_LOG_PAGES 4096
#define PP_STORE_LOG_PAGES_MAX 16384
#define PP_STORE_MAX_ROWS 5000000u

enum pp_store_statement {
    ST_META,
    ST_THREAD,
    ST_NAME,
    ST_CHUNK,
    ST_ERROR,
    ST_ERROR_MORE,
    ST_QUEUE,
    ST_COUNTER,
    ST_LOSS,
    ST_ALWAYS, /* in every file; those below in newer ones */
    ST_GPU = ST_ALWAYS,
    ST_GPU_BATCH,
    ST_GPU_CLOCK,
    ST_OPEN_PHASE,
    ST_ORDER,
    ST_USE,
    ST_FACT,
    ST_STATE,
    ST_CONTENT,
    ST_REQUEST,
    ST_REQUEST_PLACE,
    ST_STACK_FUNCTION,
    ST_STACK,
    ST_STACK_OP,
    ST_STACK_THREAD,
    ST_STACK_SAMPLE,
    ST_NATIVE_THREAD,
    ST_THREAD_LOOK,
    ST_COUNT
};

/* Spans of one thread on their way into a chunk: the next block, or, with less detail, all that is to be
 * merged. */
struct pp_store_pending {
    struct pp_span *spans;
    size_t n, cap;
    struct pp_chunk_shape shape;    /* of spans[0..n-1] */
    struct pp_chunk_builder *chunk; /* the blocks before; NULL: none ever */
    uint64_t seq; /* of the chunk's first span: spans of this thread in chunks so far, which is also their
                     position in its ring */
    int hurried;  /* a chunk of this transaction was cut by its size */
};

/* The row that counts errors of one kind and action beyond PP_STORE_ERROR_ROWS. */
struct pp_store_more {
    char kind[32], action[32];
    sqlite3_int64 row;
};

struct pp_store {
    pthread_mutex_t lock;
    sqlite3 *db; /* NULL once finished or closed */
    char *path;
    int claim;   /* the lock on its name; -1: none */
    int discard; /* nothing is to be left of it */
    uint64_t max_rows, max_bytes, file_bytes,
        over_bytes; /* file_bytes: at the last commit; over_bytes: spans left out because of max_bytes */
    enum pp_detail detail;
    uint8_t lane[PP_THREADS_MAX]; /* pp_lane as declared */
    struct pp_store_who {
        int32_t pid, tid;
    } who[PP_THREADS_MAX]; /* as declared */
    uint32_t declared;     /* of who and lane, no more was ever used */
    sqlite3_stmt *st[ST_COUNT];
    struct pp_chunk_codec *codec;
    struct pp_rollup *rollup;
    uint32_t threads; /* of the following, no more was ever used */
    struct pp_store_pending pending[PP_THREADS_MAX];
    uint64_t error_rows;
    struct pp_store_more more[PP_STORE_ERROR_KINDS];
    size_t n_more;
    int in_transaction;
    int lost;                               /* the file is not under its name any more */
    int index_cut;                          /* FILE-shm was truncated by another program */
    uint64_t log_inode[PP_STORE_LOG_FILES]; /* of the files of the write-ahead log that we made; 0: none */
    int failed;                             /* __atomic: a commit did */
    struct pp_err failure;             /* code != PP_OK: the first failure; nothing is written after it */
    uint64_t open_phases;              /* rows it has written */
    uint64_t requests, requests_first; /* rows it has written, and those that are gone */
    uint64_t looks, looks_first;       /* at threads, likewise */
    struct pp_store_stacks *stacks;    /* stacks.c, one block; NULL: none written */
    uint64_t order_bytes;              /* of lists and hashes it has written */
    struct pp_checkpoint *checkpoint;  /* while there is a log; NULL: none, or SQLite does it in the commit */
    struct pp_store_progress progress; /* but for detail and lost */
};

/* ---- create.c ---- */

/* Opens the file of an earlier run to append to it. */
pp_status pp_store_resume(const char *path, struct pp_store **out, struct pp_err *err);
/* Removes a recording that has just been made and gives the lock on its name back; lock may be -1. */
void pp_store_unclaim(const char *path, int lock);

/* ---- writer.c ---- */

/* Takes the lock; what to answer before anything else: the store writes nothing after its first failure or
 * its end. */
pp_status pp_store_enter(struct pp_store *s);
pp_status pp_store_leave(struct pp_store *s, pp_status status); /* gives the lock back; returns status */

/* This and all below with the lock held: */
pp_status pp_store_usable(const struct pp_store *s);           /* as pp_store_enter answers */
pp_status pp_store_fail(struct pp_store *s, const char *what); /* keeps the first failure and rolls back */
pp_status pp_store_begin(struct pp_store *s);                  /* a transaction is open afterwards */
pp_status pp_store_flush(struct pp_store *s);                  /* pending spans into chunks, then COMMIT */
/* Remembers which log is ours; fails once the file has gone from its name. */
void pp_store_note_place(struct pp_store *s);
pp_status pp_store_check_place(struct pp_store *s);
void pp_store_end_checkpoints(struct pp_store *s); /* this is the only connection again */
void pp_store_release_db(struct pp_store *s);      /* finalises statements, closes the database */

/* ---- rows.c ---- */

int pp_store_prepare(struct pp_store *s, enum pp_store_statement which); /* an SQLite code */
/* Runs the statement with these values in the transaction, which it begins where there is none. */
pp_status pp_store_put_row(struct pp_store *s, enum pp_store_statement which, const struct pp_value *v,
                           int n);
/* The same, which takes the lock. */
pp_status pp_store_put_locked(struct pp_store *s, enum pp_store_statement which, const struct pp_value *v,
                              int n);
/* A function of writer.h that puts one row, of these values of its parameters. */
#define PUTS(function, parameters, statement, ...) \
    pp_status function parameters \
    { \
        return pp_store_put_locked(s, statement, PP_ROW(__VA_ARGS__)); \
    }
pp_status pp_store_put_loss(struct pp_store *s, const char *what, uint64_t count, const char *why);
void pp_store_put_meta(struct pp_store *s, const char *section, const char *key, double value);

/* ---- spans.c ---- */

pp_status pp_store_cut_chunks(struct pp_store *s); /* what waits for a chunk gets one */
/* Looks at the size and lowers the detail. Once per commit: what is appended in between is at most what the
 * rings hold. */
pp_status pp_store_mind_size(struct pp_store *s);
void pp_store_free_spans(struct pp_store *s); /* with what is pending, if the store has failed */

/* How much of what happened is kept as spans. Roll-ups are always made from every span; what is merged is
 * what goes into chunks:
 *
 *     sample  every span
 *     batch   what a thread did to single samples of a batch becomes one span per batch and phase
 *     rollup  what a thread other than a trainer did becomes one span per phase and chunk (some thousand
 *             spans, a second at most)
 *
 * A merged span starts where the first one did, lasts as long as all together (dur_ns is a sum, so is cpu_ns,
 * bytes, ...), and counts them in sample with PP_SPAN_COUNT. Errors, retries, unfinished spans and counters
 * are never merged.
 *
 * Merges in place the n spans of one thread; returns how many are left, 1 at least. No lock is needed. */
size_t pp_detail_merge(enum pp_detail detail, pp_lane lane, struct pp_span *spans, size_t n);
