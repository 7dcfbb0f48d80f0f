/* SQLite in the shape of `nsys export --type sqlite`, so that `nsys stats` and `nsys analyze` read a run of
 * ours.
 *
 * Each span is an NVTX range of our domain: push/pop where the thread's spans nest, start/end where they
 * overlap; text through StringIds (a registered string), category = phase, payload = batch. Times are
 * relative: the reports index them in 32-bit floats. Copies of a run on a CUDA device are CUPTI rows too;
 * those of the host stand-in never, for no GPU did them. What each report needs was found by dropping columns
 * in turn; docs/reference/exports.md has it. */
#include "report/export/export.h"
#include "report/export/nsight.h"
#include "report/export/nsys.h"
#include "report/export/nsys_gpu.h"
#include "report/export/nsys_requests.h"
#include "report/export/place.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICE_ID 0
#define CONTEXT_ID 1
#define STREAM_ID 7 /* CUDA's first stream that is not the default one, as nsys numbers them */

#define RANGES \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, rangeId, category, color, text, globalTid, endGlobalTid, textId, domainId, uint64Value) VALUES"
#define RANGE "(?,?,?,?,?,?,NULL,?,NULL,?,?,?)"
#define CALL "(?,?,0,?,?,?,0)"

struct nsys {
    struct nsys_db db;
    const struct pp_export_run *run;
    struct nsys_rows ranges, calls, copies;
    sqlite3_stmt *counter;
    int64_t range_id, correlation_id;
    uint32_t string_of[PP_EXPORT_KEYS]; /* 0: not yet */
    uint32_t call_name;
    struct nsys_gpu *gpu;           /* NULL: CUPTI recorded nothing */
    struct nsys_requests *requests; /* NULL: there were none */
};

/* ---- what the file says about itself ---- */

static pp_status put_versions(struct nsys *n, struct pp_err *err)
{
    static const char *const rows[][2] = {
        {"EXPORT_PRODUCT_NAME", "pipeprobe"}, {"EXPORT_PRODUCT_VERSION", PP_VERSION},
        {"EXPORT_SCHEMA_VERSION", "3.0.0"},   {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
        {"EXPORT_SCHEMA_VERSION_MINOR", "0"}, {"EXPORT_SCHEMA_VERSION_MICRO", "0"},
    };
    static const char *const inserts[] = {"INSERT INTO EXPORT_META_DATA(name, value) VALUES(?,?)",
                                          "INSERT INTO META_DATA_EXPORT(name, value) VALUES(?,?)"};
    pp_status st = PP_OK;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t k = 0; k < 2 && st == PP_OK; k++)
            st = nsys_row(&n->db, err, inserts[k], "ss", rows[i][0], rows[i][1]);
    return st;
}

static pp_status put_session(struct nsys *n, struct pp_err *err)
{
    const struct pp_export_run *run = n->run;
    int64_t duration = nsys_time(n->run, run->end_ns);
    char utc[64] = "", local[64] = "";
    time_t seconds = (time_t)(run->utc_ns / 1000000000u);
    struct tm tm;
    pp_status st = nsys_row(
        &n->db, err, "INSERT INTO ANALYSIS_DETAILS(globalVid, duration, startTime, stopTime) VALUES(?,?,0,?)",
        "iii", (int64_t)1 << 48, duration, duration);
    if (st != PP_OK || !run->utc_known)
        return st;
    if (gmtime_r(&seconds, &tm))
        strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (localtime_r(&seconds, &tm))
        strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S%z", &tm);
    return nsys_row(
        &n->db, err,
        "INSERT INTO TARGET_INFO_SESSION_START_TIME(utcEpochNs, utcTime, localTime) VALUES(?,?,?)", "iss",
        (int64_t)run->utc_ns, utc, local);
}

struct meta {
    struct nsys *n;
    const char *section;
    pp_status status;
    struct pp_err *err;
};

static void put_meta(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct meta *m = ctx;
    const char *sql =
        numeric ? "INSERT INTO pipeprobe_meta(section, key, value, unit) VALUES(?,?,CAST(? AS NUMERIC),?)"
                : "INSERT INTO pipeprobe_meta(section, key, value, unit) VALUES(?,?,?,?)";
    if (m->status == PP_OK)
        m->status = nsys_row(&m->n->db, m->err, sql, "ssss", m->section, key, value, unit);
    if (m->status == PP_OK && value && strcmp(m->section, "environment") == 0)
        m->status = nsys_row(
            &m->n->db, m->err,
            "INSERT INTO TARGET_INFO_SYSTEM_ENV(globalVid, devStateName, name, value) VALUES(?,'pipeprobe',?,?)",
            "iss", (int64_t)1 << 48, key, value);
}

static pp_status put_all_meta(struct nsys *n, struct pp_err *err)
{
    static const char *const sections[] = {"run", "config", "environment", "result"};
    const struct pp_source *src = n->run->source;
    pp_status st = PP_OK;
    for (size_t i = 0; i < 4 && st == PP_OK; i++) {
        struct meta m = {.n = n, .section = sections[i], .err = err};
        st = src->each_meta(src->ctx, sections[i], put_meta, &m, err);
        if (st == PP_OK)
            st = m.status;
    }
    for (size_t i = 0; i < n->run->n_losses && st == PP_OK; i++)
        st = nsys_row(&n->db, err, "INSERT INTO pipeprobe_loss(what, count, why) VALUES(?,?,?)", "sis",
                      n->run->losses[i].what, (int64_t)n->run->losses[i].count, n->run->losses[i].why);
    return st;
}

/* ---- opening ---- */

static pp_status prepare_device(struct nsys *n, struct pp_err *err)
{
    pp_status st = nsys_rows_open(&n->db, &n->calls, NSYS_INTO_CALLS, CALL, err);
    if (st == PP_OK)
        st = nsys_rows_open(&n->db, &n->copies, NSYS_INTO_COPIES, NSYS_COPY_ROW, err);
    if (st == PP_OK)
        st = nsys_string(&n->db, "cudaMemcpyAsync", &n->call_name, err);
    if (st == PP_OK)
        st = nsys_device(&n->db, n->run->device_name, DEVICE_ID, err);
    return st;
}

static pp_status nsys_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                           struct pp_err *err)
{
    struct nsys *n = *self = calloc(1, sizeof(*n));
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", place->out);
    n->run = run;
    pp_status st = nsys_db_open(&n->db, place->path, place->out, run->device_rows || run->gpu_rows, err);
    if (st == PP_OK)
        st = nsys_rows_open(&n->db, &n->ranges, RANGES, RANGE, err);
    if (st == PP_OK)
        st = nsys_prepare(&n->db,
                          "INSERT INTO pipeprobe_counter(time_ns, name, globalTid, value) VALUES(?,?,?,?)",
                          &n->counter, err);
    if (st == PP_OK && run->gpu_rows)
        st = nsys_gpu_open(&n->db, run, &n->gpu, err);
    else if (st == PP_OK && run->device_rows)
        st = prepare_device(n, err);
    if (st == PP_OK && run->requests)
        st = nsys_requests_open(&n->db, run, &n->ranges, &n->requests, err);
    if (st == PP_OK)
        st = put_versions(n, err);
    if (st == PP_OK)
        st = put_session(n, err);
    return st == PP_OK ? put_all_meta(n, err) : st;
}

/* ---- processes and threads ---- */

/* Exactly one domain row per process: reports join ranges with it, two would double every count. */
static pp_status put_process(struct nsys *n, const struct pp_thread_row *t, struct pp_err *err)
{
    pp_status st = nsys_row(&n->db, err, "INSERT INTO PROCESSES(globalPid, pid, name) VALUES(?,?,?)", "iis",
                            nsys_global_pid(t), (int64_t)pp_nsight_pid(t), n->run->program);
    if (st == PP_OK)
        st = nsys_text_event(&n->db, nsys_global_tid(t),
                             &(struct nsys_text_event){.type = NSYS_DOMAIN, .text = "pipeprobe"}, err);
    for (unsigned i = 1; i < PP_PHASE_COUNT && st == PP_OK; i++)
        if (i != PP_PHASE_COUNTER && pp_phase_info(i))
            st = nsys_text_event(&n->db, nsys_global_tid(t),
                                 &(struct nsys_text_event){.type = NSYS_CATEGORY,
                                                           .category = (int)i,
                                                           .text = pp_phase_info(i)->name},
                                 err);
    return st;
}

/* The main thread trains, too: it is known by two names, and reports that join the names would count its rows
 * twice. The later one counts. */
static int named_later(const struct pp_export_run *run, const struct pp_thread_row *t)
{
    for (const struct pp_thread_row *u = t + 1; u < run->threads + run->n_threads; u++)
        if (nsys_global_tid(u) == nsys_global_tid(t))
            return 1;
    return 0;
}

static pp_status nsys_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct nsys *n = self;
    int first = 1;
    pp_status st = PP_OK;
    for (const struct pp_thread_row *u = n->run->threads; u < t; u++)
        first &= nsys_global_pid(u) != nsys_global_pid(t);
    if (first)
        st = put_process(n, t, err);
    if (st != PP_OK || named_later(n->run, t))
        return st;
    return nsys_name_thread(&n->db, nsys_global_tid(t), t->name, err);
}

static pp_status nsys_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                            struct pp_err *err)
{
    struct nsys *n = self;
    const struct pp_thread_row *at = t ? t : n->run->threads;
    char text[512];
    if (!at)
        return PP_OK;
    snprintf(text, sizeof(text), "error %s: %s: %s", e->kind ? e->kind : "?", e->path ? e->path : "?",
             e->reason ? e->reason : "");
    const struct nsys_text_event mark = {.start = nsys_time(n->run, e->t_ns),
                                         .type = NSYS_MARK,
                                         .text = text};
    return nsys_text_event(&n->db, nsys_global_tid(at), &mark, err);
}

static pp_status nsys_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    struct nsys *n = self;
    if (!isfinite(c->value))
        return PP_OK;
    sqlite3_bind_int64(n->counter, 1, nsys_time(n->run, c->t_ns));
    sqlite3_bind_text(n->counter, 2, c->name, -1, SQLITE_TRANSIENT);
    if (c->thread)
        sqlite3_bind_int64(n->counter, 3, nsys_global_tid(c->thread));
    else
        sqlite3_bind_null(n->counter, 3);
    sqlite3_bind_double(n->counter, 4, c->value);
    return nsys_step(&n->db, n->counter, err);
}

static pp_status put_gpu_row(void *self, const struct pp_gpu_row *row, struct pp_err *err)
{
    struct nsys *n = self;
    return n->gpu ? nsys_gpu_put(n->gpu, row, err)
                  : PP_OK; /* NULL: they began after the scan, the file is being written */
}

static pp_status put_request_row(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    struct nsys *n = self;
    return n->requests ? nsys_requests_put(n->requests, row, err)
                       : PP_OK; /* NULL: they began after the scan, the file is being written */
}

/* ---- spans ---- */

/* The call that issued the copy was made at the start of the span. When it returned is known for pageable
 * memory alone, where it is with the copy; an asynchronous call gets the least length reports accept, 1 ns,
 * rather than a made-up one. */
static pp_status put_copy(struct nsys *n, const struct pp_export_span *e, int64_t start, int64_t end,
                          struct pp_err *err)
{
    int64_t pinned = n->run->pinned, id = ++n->correlation_id;
    int64_t memory = pinned < 0 ? NSYS_MEMORY_UNKNOWN : pinned ? NSYS_MEMORY_PINNED : NSYS_MEMORY_PAGEABLE;
    if (end <= start)
        end = start + 1; /* gputrace divides by the duration */
    const int64_t call[] = {start, pinned == 0 ? end : start + 1, nsys_global_tid(e->thread), id,
                            n->call_name};
    const int64_t copy[] = {start,
                            end,
                            DEVICE_ID,
                            CONTEXT_ID,
                            STREAM_ID,
                            id,
                            nsys_global_pid(e->thread),
                            nsys_number(e->span->bytes),
                            NSYS_COPY_HTOD,
                            memory,
                            NSYS_MEMORY_DEVICE};
    pp_status st = nsys_rows_put(&n->db, &n->calls, call, err);
    return st == PP_OK ? nsys_rows_put(&n->db, &n->copies, copy, err) : st;
}

static pp_status nsys_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct nsys *n = self;
    uint32_t *string = &n->string_of[e->key];
    pp_status st = *string ? PP_OK : nsys_string(&n->db, e->name, string, err);
    if (st != PP_OK)
        return st;
    int64_t start = nsys_time(n->run, e->span->start_ns), end = nsys_time(n->run, e->end_ns);
    const int64_t range[] = {start,
                             end,
                             e->track ? NSYS_START_END : NSYS_PUSH_POP,
                             e->track ? ++n->range_id : NSYS_NULL,
                             e->span->phase,
                             pp_nsight_colour(e->span->phase),
                             nsys_global_tid(e->thread),
                             *string,
                             NSYS_DOMAIN_ID,
                             e->span->batch == PP_NO_BATCH ? NSYS_NULL : (int64_t)e->span->batch};
    st = nsys_rows_put(&n->db, &n->ranges, range, err);
    if (st == PP_OK && e->span->phase == PP_PHASE_H2D && n->run->device_rows && !n->gpu &&
        !(e->span->flags & PP_SPAN_ERROR))
        st = put_copy(n, e, start, end, err);
    return st;
}

static pp_status flush(struct nsys *n, struct pp_err *err)
{
    pp_status st = nsys_rows_flush(&n->db, &n->ranges, err);
    if (st == PP_OK)
        st = nsys_rows_flush(&n->db, &n->calls, err);
    if (st == PP_OK)
        st = nsys_rows_flush(&n->db, &n->copies, err);
    return st == PP_OK && n->gpu ? nsys_gpu_flush(n->gpu, err) : st;
}

static pp_status nsys_close(void *self, int complete, struct pp_err *err)
{
    struct nsys *n = self;
    pp_status st = PP_OK;
    if (!n)
        return st;
    if (complete)
        st = flush(n, err);
    nsys_rows_close(&n->ranges);
    nsys_rows_close(&n->calls);
    nsys_rows_close(&n->copies);
    sqlite3_finalize(n->counter);
    nsys_gpu_free(n->gpu);
    nsys_requests_free(n->requests);
    if (complete && st == PP_OK)
        st = nsys_db_finish(&n->db, err);
    nsys_db_close(&n->db);
    free(n);
    return st;
}

const struct pp_exporter pp_export_nsys = {
    .name = "nsys",
    .suffixes = {".sqlite"},
    .next = "nsys stats --report nvtxsum,nvtxppsum %s   (2023 and newer: nvtx_sum,nvtx_pushpop_sum)",
    .open = nsys_open,
    .thread = nsys_thread,
    .error = nsys_error,
    .counter = nsys_counter,
    .gpu = put_gpu_row,
    .request = put_request_row,
    .span = nsys_span,
    .close = nsys_close,
};
