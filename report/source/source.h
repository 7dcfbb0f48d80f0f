/* report/source/source.h: where the report model and the export walker get a run from: the reader's calls as
 * a table of functions, so that tests can feed a run without a file. Each entry has the contract of its
 * pp_reader_ namesake (collectors/store/reader.h). */
#pragma once

#include "collectors/store/reader.h"

enum { PP_GLANCE_SHORT = 2 };

struct pp_source {
    const char *path; /* as shown */
    void *ctx;
    int glance; /* for who looks again and again: the same verdict, but predictions without intervals, and no
                   series; PP_GLANCE_SHORT: from shorter replays, without stacks, at a third of the cost */
    struct {
        double workers, batch_size;
    } stated; /* by the user, for recordings that do not say (a foreign program's); 0: not stated */
    const char *(*meta)(void *ctx, const char *section, const char *key);
    int (*meta_num)(void *ctx, const char *section, const char *key, double *value);
    pp_status (*each_meta)(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err);
    size_t (*threads)(void *ctx, const struct pp_thread_row **rows);
    /* When each generation of worker processes after the first began, rising: an epoch each, for a recording
     * that numbers none; NULL: none did */
    size_t (*generations)(void *ctx, const uint64_t **starts_ns);
    /* Worker processes that took the place of one before: no threads of their own here; NULL: none did */
    size_t (*joined)(void *ctx);
    const char *(*name)(void *ctx, uint16_t id); /* NULL: no interned names */
    pp_status (*each_chunk)(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                            uint64_t *bad_chunks, struct pp_err *err); /* each_chunk_of */
    pp_status (*each_error)(void *ctx, pp_error_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_queue)(void *ctx, pp_queue_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_counter)(void *ctx, pp_counter_fn *fn, void *fn_ctx,
                              struct pp_err *err); /* NULL: no counters */
    pp_status (*each_gpu)(void *ctx, pp_gpu_fn *fn, void *fn_ctx,
                          struct pp_err *err); /* NULL: nothing of a GPU */
    pp_status (*each_request)(void *ctx, pp_request_fn *fn, void *fn_ctx,
                              struct pp_err *err); /* NULL: none is recorded */
    pp_status (*each_request_by_start)(void *ctx, pp_request_fn *fn, void *fn_ctx,
                                       struct pp_err *err); /* likewise */
    pp_status (*each_loss)(void *ctx, pp_loss_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_order)(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err); /* NULL: none is recorded */
    pp_status (*each_use)(void *ctx, pp_use_fn *fn, void *fn_ctx,
                          struct pp_err *err); /* NULL: as are the next three, it is not recorded */
    pp_status (*each_fact)(void *ctx, pp_fact_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_state)(void *ctx, pp_state_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_content)(void *ctx, pp_content_fn *fn, void *fn_ctx, struct pp_err *err);
    pp_status (*each_stack)(void *ctx, const struct pp_stack_walk *to,
                            struct pp_err *err); /* NULL: none is recorded */
    pp_status (*each_thread_look)(void *ctx, const struct pp_thread_walk *to,
                                  struct pp_err *err); /* NULL: none is recorded */
    pp_status (*each_proof)(void *ctx, pp_proof_fn *fn, void *fn_ctx,
                            struct pp_err *err); /* NULL: nothing was proved */
};

/* Opens a recording as a source; close it with pp_source_close, also after a failure. Worker processes that
 * follow each other in one place are one thread of it (source/lanes.h). */
pp_status pp_source_open(const char *path, struct pp_source *out, struct pp_err *err);
/* The same of a part, or otherwise than the job was. */
struct pp_source_view {
    int apart; /* every thread of every process by itself, as it was recorded: for exports */
    /* What began in [from_ns, to_ns), as if the run had been that: the dashboard's verdict of a moment. What
     * is only known of the whole run (totals, queues, losses) is absent. Reads the chunks of that time alone.
     */
    int part;
    uint64_t from_ns, to_ns;
};
pp_status pp_source_open_as(const char *path, const struct pp_source_view *view, struct pp_source *out,
                            struct pp_err *err);
void pp_source_close(struct pp_source *source);

/* From now on the recording is as if it had chosen another of its DataLoaders to be judged: the one whose
 * variable, place ("train.py:31", "src/train.py:31") or row is `loader`. PP_E_USAGE names those that there
 * are. source: of pp_source_open. */
pp_status pp_source_judge(struct pp_source *source, const char *loader, struct pp_err *err);

/* Requests that were read of the same file before (kept_requests.c) are not read again by each_request of
 * this source, which is of this thread. kept is borrowed until the source is closed; NULL: all are read. */
struct pp_kept_requests;
void pp_source_keep_requests(struct pp_source *source, struct pp_kept_requests *kept);

/* Which of n rows is the thread with this id; n: none. */
size_t pp_thread_at(const struct pp_thread_row *rows, size_t n, uint32_t id);

/* A value of the section as a number, also where it was stored as text (options as they were given);
 * otherwise, where it is absent or empty. */
double pp_source_number(const struct pp_source *source, const char *section, const char *key,
                        double otherwise);
/* A value of the section is "true" or "1"; 0 where it is absent. */
int pp_source_yes(const struct pp_source *source, const char *section, const char *key);
/* Its section config has this value; any that is not empty. */
int pp_source_is(const struct pp_source *source, const char *key, const char *value);
int pp_source_has(const struct pp_source *source, const char *key);

enum { PP_NAMES = 1024 };

/* Which of a recording's interned names is a counter's. Zero-initialise but text; each is looked up once. */
struct pp_counter_id {
    const char *text;
    uint8_t known[PP_NAMES]; /* 1: it is another's, 2: it is this one's */
};
int pp_counter_is(struct pp_counter_id *id, const struct pp_source *source, const struct pp_span *s);

/* kept_requests.c: the requests of a recording that is still written, for a verdict that is made again and
 * again: a row is read from the file once. What is handed out is what pp_reader_each_request hands out, in
 * that order, with any series of readers of one file: rows that the recorder has removed since, as it keeps
 * the newest alone, are gone here too, and a file that is another one than before, known by the newest row
 * that was read of it, is read from its beginning.
 *
 * Memory: 128 bytes a row. A file with more rows than a recorder keeps is read each time. One thread. */

struct pp_kept_requests;

/* NULL: no memory. */
struct pp_kept_requests *pp_kept_requests_new(void);
void pp_kept_requests_free(struct pp_kept_requests *k);

/* Reads what came since the last call, and hands out all there is. k NULL: reads all. PP_E_NO_MEMORY and the
 * failures of pp_reader_each_request: what was kept is dropped. */
pp_status pp_kept_requests_each(struct pp_kept_requests *k, struct pp_reader *r, pp_request_fn *fn, void *ctx,
                                struct pp_err *err);

/* How many rows were read from files since it was made. */
uint64_t pp_kept_requests_read(const struct pp_kept_requests *k);
