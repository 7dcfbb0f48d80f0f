/* SQLite in the shape of `nsys export --type sqlite`, so that `nsys stats` and `nsys analyze` read a run of
 * ours.
 *
 * Each span is an NVTX range of our domain: push/pop where the thread's spans nest, start/end where they
 * overlap; text through StringIds (a registered string), category = phase, payload = batch. Times are
 * relative: the reports index them in 32-bit floats. What CUPTI recorded is in the tables nsys writes it to,
 * joined by correlation ids as it was; without such records the copies of a run on a CUDA device are made of
 * its h2d spans; those of the host stand-in never, for no GPU did them. Requests to remote storages are
 * ranges on threads that stand for the connections. What each report needs was found by dropping columns in
 * turn; docs/reference/exports.md has it. */
#include "report/export/export.h"
#include "report/export/nsys_db.h"
#include "report/export/out.h"
#include "report/export/tracks.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#include <time.h>

/* Of copies that are made of spans. */
#define DEVICE_ID 0
#define CONTEXT_ID 1
#define STREAM_ID 7 /* CUDA's first stream that is not the default one, as nsys numbers them */
enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1 };

#define NONE UINT32_MAX
#define MOST_DEVICES 64u
#define MACHINE ((int64_t)1 << 48) /* hw 8 | vm 8 | pid 24 | tid 24 bits; the only virtual machine is 1 */

/* Beyond the phases, and the threads without a number. */
enum { REQUEST_CATEGORY = 1000, REQUEST_THREADS = 1 << 22 };

#define DEVICE_COLUMNS "start, end, deviceId, contextId, streamId, correlationId, globalPid, "
#define DEVICE_VALUES "?,?,?,?,?,?,?,"
enum { DEVICE_SHARED = 7, MOST_OWN = 4 };

enum table { RANGES, COPIES, MEMSETS, KERNELS, CALLS, SYNCS, TABLES };

static const struct {
    const char *into, *row;
} inserts[TABLES] = {
    [RANGES] = {"INSERT INTO NVTX_EVENTS(start, end, eventType, rangeId, category, color, text, globalTid, "
                "endGlobalTid, textId, domainId, uint64Value) VALUES",
                "(?,?,?,?,?,?,NULL,?,NULL,?,?,?)"},
    [COPIES] = {"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(" DEVICE_COLUMNS
                "bytes, copyKind, srcKind, dstKind, copyCount) VALUES",
                "(" DEVICE_VALUES "?,?,?,?,1)"},
    [MEMSETS] = {"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET(" DEVICE_COLUMNS "bytes) VALUES",
                 "(" DEVICE_VALUES "?)"},
    [KERNELS] = {"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(" DEVICE_COLUMNS
                 "demangledName, shortName, mangledName) VALUES",
                 "(" DEVICE_VALUES "?,?,?)"},
    [CALLS] = {"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, "
               "nameId, returnValue) VALUES",
               "(?,?,?,?,?,?,?)"},
    [SYNCS] = {"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(" DEVICE_COLUMNS "syncType) VALUES",
               "(" DEVICE_VALUES "?)"},
};

struct nsys {
    struct nsys_db db;
    const struct pp_export_run *run;
    struct nsys_rows rows[TABLES]; /* those of the device only where it has rows */
    sqlite3_stmt *counter;
    int64_t range_id, correlation_id;
    uint32_t span_name[PP_EXPORT_KEYS]; /* in StringIds, as the next three; 0: not yet */
    uint32_t request_name[PP_REQUEST_STATUSES], part_name[PP_REQUEST_PARTS];
    uint32_t copy_call;
    struct gpu_name {
        char *text;
        uint32_t id;
    } * gpu_names; /* of calls and kernels: some dozens */
    size_t n_gpu_names, cap_gpu_names;
    uint64_t devices; /* a bit each, that TARGET_INFO_GPU has */
    struct pp_request_tracks requests;
};

/* ---- values ---- */

/* nsys packs pid and tid into 24 bits each. Linux numbers stay below 2^22; a thread whose number is unknown
 * or does not fit is numbered above them by its id, so that no two threads fall together. */
static uint32_t packed_number(int64_t os_number, uint32_t id)
{
    return os_number > 0 && os_number < 1 << 22 ? (uint32_t)os_number
                                                : (1u << 22) + id % ((1u << 24) - (1u << 22));
}

static int64_t global_pid(const struct pp_thread_row *t)
{
    return MACHINE | (int64_t)packed_number(t->pid, 0) << 24;
}

static int64_t global_tid(const struct pp_thread_row *t)
{
    return global_pid(t) | packed_number(t->tid, t->id + 1);
}

/* 0xAARRGGBB of a phase: the colour roles of phases.def. */
static uint32_t colour_of(unsigned phase)
{
    static const uint32_t argb[] = {
        [PP_COLOUR_OTHER] = 0xff8c8c8c, [PP_COLOUR_COMPUTE] = 0xff2e9e4f, [PP_COLOUR_IO] = 0xff1f77b4,
        [PP_COLOUR_CPU] = 0xffe08a1e,   [PP_COLOUR_COPY] = 0xff8e5fc7,    [PP_COLOUR_STALL] = 0xffd62728,
        [PP_COLOUR_IDLE] = 0xffc7c7c7,  [PP_COLOUR_FAULT] = 0xffe377c2,
    };
    const struct pp_phase_info *info = pp_phase_info(phase);
    return argb[info && (unsigned)info->colour < sizeof(argb) / sizeof(*argb) ? info->colour
                                                                              : PP_COLOUR_OTHER];
}

/* The process that device rows and requests belong to: a run drives its device from one. */
static int64_t process_of(const struct pp_export_run *run)
{
    return run->n_threads ? global_pid(&run->threads[0]) : MACHINE;
}

/* What a damaged recording may hold and SQLite's integers cannot is cut to what they can; one below, since an
 * end may have to be one above its start. */
static int64_t number(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX - 1;
}

/* Since the start of the run: the reports index times in 32-bit floats. */
static int64_t time_of(const struct nsys *n, uint64_t t_ns)
{
    return number(t_ns > n->run->origin_ns ? t_ns - n->run->origin_ns : 0);
}

/* nsys' columns are NOT NULL: what CUPTI did not tell is 0. */
static int64_t known(uint32_t id)
{
    return id == NONE ? 0 : id;
}

/* The place of a text in a list; unknown where it has none. */
static int64_t place_of(const char *const *names, size_t n, const char *text, int64_t unknown)
{
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return (int64_t)i;
    return unknown;
}

/* ---- rows that several hooks write ---- */

/* A row of NVTX_EVENTS that names something: ranges go the fast way. category 0: none. */
static pp_status put_text_event(struct nsys *n, int64_t tid, int64_t start, int type, unsigned category,
                                const char *text, struct pp_err *err)
{
    return nsys_row(&n->db, err,
                    "INSERT INTO NVTX_EVENTS(start, eventType, category, globalTid, domainId, text) "
                    "VALUES(?,?,nullif(?,0),?,?,?)",
                    "iiiiis", start, (int64_t)type, (int64_t)category, tid, (int64_t)NSYS_DOMAIN_ID, text);
}

static pp_status name_thread(struct nsys *n, int64_t tid, const char *name, struct pp_err *err)
{
    uint32_t id;
    pp_status st = nsys_string(&n->db, name, &id, err);
    if (st == PP_OK)
        st = nsys_row(&n->db, err, "INSERT INTO ThreadNames(nameId, priority, globalTid) VALUES(?,0,?)", "ii",
                      (int64_t)id, tid);
    return st == PP_OK ? put_text_event(n, tid, 0, NSYS_THREAD_NAME, 0, name, err) : st;
}

static pp_status put_device(struct nsys *n, uint32_t id, struct pp_err *err)
{
    const char *name = n->run->device_name;
    return nsys_row(&n->db, err, "INSERT INTO TARGET_INFO_GPU(vmId, id, name, cuDevice) VALUES(?,?,?,?)",
                    "iisi", MACHINE, (int64_t)id, name ? name : "CUDA device", (int64_t)id);
}

/* ---- open: what the file says about itself ---- */

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
        m->status = nsys_row(&m->n->db, m->err,
                             "INSERT INTO TARGET_INFO_SYSTEM_ENV(globalVid, devStateName, name, value) "
                             "VALUES(?,'pipeprobe',?,?)",
                             "iss", MACHINE, key, value);
}

/* The session, and what the recording says of it. */
static pp_status put_session(struct nsys *n, struct pp_err *err)
{
    static const char *const sections[] = {"run", "config", "environment", "result"};
    const struct pp_export_run *run = n->run;
    const struct pp_source *src = run->source;
    int64_t duration = time_of(n, run->end_ns);
    char utc[64] = "", local[64] = "";
    time_t seconds = (time_t)(run->utc_ns / 1000000000u);
    struct tm tm;
    pp_status st = nsys_row(
        &n->db, err, "INSERT INTO ANALYSIS_DETAILS(globalVid, duration, startTime, stopTime) VALUES(?,?,0,?)",
        "iii", MACHINE, duration, duration);
    if (gmtime_r(&seconds, &tm))
        strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (localtime_r(&seconds, &tm))
        strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S%z", &tm);
    if (st == PP_OK && run->utc_known)
        st = nsys_row(
            &n->db, err,
            "INSERT INTO TARGET_INFO_SESSION_START_TIME(utcEpochNs, utcTime, localTime) VALUES(?,?,?)", "iss",
            (int64_t)run->utc_ns, utc, local);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && st == PP_OK; i++) {
        struct meta m = {.n = n, .section = sections[i], .err = err};
        st = src->each_meta(src->ctx, sections[i], put_meta, &m, err);
        if (st == PP_OK)
            st = m.status;
    }
    for (size_t i = 0; i < run->n_losses && st == PP_OK; i++)
        st = nsys_row(&n->db, err, "INSERT INTO pipeprobe_loss(what, count, why) VALUES(?,?,?)", "sis",
                      run->losses[i].what, (int64_t)run->losses[i].count, run->losses[i].why);
    return st;
}

static pp_status nsys_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                           struct pp_err *err)
{
    struct nsys *n = *self = calloc(1, sizeof(*n));
    int device = run->device_rows || run->gpu_rows;
    if (!n)
        return pp_out_no_memory(place->out, err);
    n->run = run;
    pp_status st = nsys_db_open(&n->db, place->path, place->out, device, err);
    for (int i = 0; i < TABLES && st == PP_OK; i++)
        if (i == RANGES || device)
            st = nsys_rows_open(&n->db, &n->rows[i], inserts[i].into, inserts[i].row, err);
    if (st == PP_OK)
        st = nsys_prepare(&n->db,
                          "INSERT INTO pipeprobe_counter(time_ns, name, globalTid, value) VALUES(?,?,?,?)",
                          &n->counter, err);
    if (st == PP_OK && run->device_rows && !run->gpu_rows) {
        st = nsys_string(&n->db, "cudaMemcpyAsync", &n->copy_call, err);
        if (st == PP_OK)
            st = put_device(n, DEVICE_ID, err);
    }
    if (st == PP_OK && run->requests)
        st = put_text_event(n, process_of(run), 0, NSYS_CATEGORY, REQUEST_CATEGORY, "request", err);
    if (st == PP_OK) {
        static const char *const rows[][2] = {
            {"EXPORT_PRODUCT_NAME", "pipeprobe"}, {"EXPORT_PRODUCT_VERSION", PP_VERSION},
            {"EXPORT_SCHEMA_VERSION", "3.0.0"},   {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
            {"EXPORT_SCHEMA_VERSION_MINOR", "0"}, {"EXPORT_SCHEMA_VERSION_MICRO", "0"},
        };
        static const char *const into[] = {"INSERT INTO EXPORT_META_DATA(name, value) VALUES(?,?)",
                                           "INSERT INTO META_DATA_EXPORT(name, value) VALUES(?,?)"};
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            for (size_t k = 0; k < 2 && st == PP_OK; k++)
                st = nsys_row(&n->db, err, into[k], "ss", rows[i][0], rows[i][1]);
    }
    return st == PP_OK ? put_session(n, err) : st;
}

/* ---- threads, errors, counters ---- */

static pp_status nsys_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct nsys *n = self;
    const struct pp_export_run *run = n->run;
    int first = 1, named_later = 0;
    pp_status st = PP_OK;
    for (const struct pp_thread_row *u = run->threads; u < t; u++)
        first &= global_pid(u) != global_pid(t);
    if (first) {
        st = nsys_row(&n->db, err, "INSERT INTO PROCESSES(globalPid, pid, name) VALUES(?,?,?)", "iis",
                      global_pid(t), (int64_t)packed_number(t->pid, 0), run->program);
        if (st == PP_OK) /* one a process: reports join ranges with it, two would double every count */
            st = put_text_event(n, global_tid(t), 0, NSYS_DOMAIN, 0, "pipeprobe", err);
        for (unsigned i = 1; i < PP_PHASE_COUNT && st == PP_OK; i++)
            if (i != PP_PHASE_COUNTER && pp_phase_info(i))
                st = put_text_event(n, global_tid(t), 0, NSYS_CATEGORY, i, pp_phase_info(i)->name, err);
    }
    /* The main thread trains, too: it is known by two names, and reports that join the names would count its
     * rows twice. The later one counts. */
    for (const struct pp_thread_row *u = t + 1; u < run->threads + run->n_threads; u++)
        named_later |= global_tid(u) == global_tid(t);
    return st == PP_OK && !named_later ? name_thread(n, global_tid(t), t->name, err) : st;
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
    return put_text_event(n, global_tid(at), time_of(n, e->t_ns), NSYS_MARK, 0, text, err);
}

static pp_status nsys_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    struct nsys *n = self;
    if (!isfinite(c->value))
        return PP_OK;
    sqlite3_bind_int64(n->counter, 1, time_of(n, c->t_ns));
    sqlite3_bind_text(n->counter, 2, c->name, -1, SQLITE_TRANSIENT);
    if (c->thread)
        sqlite3_bind_int64(n->counter, 3, global_tid(c->thread));
    else
        sqlite3_bind_null(n->counter, 3);
    sqlite3_bind_double(n->counter, 4, c->value);
    return nsys_step(&n->db, n->counter, err);
}

/* ---- what CUPTI recorded ---- */

static pp_status gpu_name(struct nsys *n, const char *text, int64_t *id, struct pp_err *err)
{
    text = text ? text : "?";
    for (size_t i = 0; i < n->n_gpu_names; i++)
        if (strcmp(n->gpu_names[i].text, text) == 0) {
            *id = n->gpu_names[i].id;
            return PP_OK;
        }
    char *kept = strdup(text);
    if (!kept || !pp_grow(&n->gpu_names, &n->cap_gpu_names, n->n_gpu_names + 1, sizeof(*n->gpu_names))) {
        free(kept);
        return pp_out_no_memory(n->db.label, err);
    }
    struct gpu_name *name = &n->gpu_names[n->n_gpu_names++];
    name->text = kept;
    pp_status st = nsys_string(&n->db, text, &name->id, err);
    *id = name->id;
    return st;
}

/* The columns that all tables of the device begin with, and those of each table's own. */
static pp_status put_device_row(struct nsys *n, enum table table, const struct pp_gpu_row *r,
                                const int64_t *own, size_t n_own, struct pp_err *err)
{
    int64_t start = time_of(n, r->start_ns), end = time_of(n, r->start_ns + r->dur_ns);
    uint32_t device = r->device == NONE ? 0 : r->device;
    pp_status st = PP_OK;
    if (end <= start)
        end = start + 1; /* gputrace divides by the duration */
    int64_t values[DEVICE_SHARED + MOST_OWN] = {
        start, end, device, known(r->context), known(r->stream), known(r->correlation), process_of(n->run)};
    memcpy(values + DEVICE_SHARED, own, n_own * sizeof(*own));
    if (device < MOST_DEVICES && !(n->devices >> device & 1)) {
        n->devices |= UINT64_C(1) << device;
        st = put_device(n, device, err);
    }
    return st == PP_OK ? nsys_rows_put(&n->db, &n->rows[table], values, err) : st;
}

/* A row of a kind that nsys has no table for (overhead has no thread) is passed over. */
static pp_status nsys_gpu(void *self, const struct pp_gpu_row *r, struct pp_err *err)
{
    static const char *const memories[] = {
        "pageable", "pinned",        "device",        "array",
        "managed",  "device static", "managed static"}; /* in nsys' order */
    static const char *const syncs[] = {"unknown", "event synchronize", "stream wait event",
                                        "stream synchronize", "context synchronize"};
    struct nsys *n = self;
    int64_t name = 0;
    if (!n->run->gpu_rows)
        return PP_OK; /* they began after the scan: the file is being written */
    if (strcmp(r->kind, "memcpy") == 0) {
        const size_t n_memories = sizeof(memories) / sizeof(*memories);
        int64_t from = place_of(memories, n_memories, r->source, NSYS_MEMORY_UNKNOWN);
        int64_t to = place_of(memories, n_memories, r->target, NSYS_MEMORY_UNKNOWN);
        int from_host = from <= NSYS_MEMORY_PINNED, to_host = to <= NSYS_MEMORY_PINNED;
        int64_t kind = from == NSYS_MEMORY_UNKNOWN || to == NSYS_MEMORY_UNKNOWN ? NSYS_COPY_UNKNOWN
                       : from_host && to_host                                   ? NSYS_COPY_HTOH
                       : from_host                                              ? NSYS_COPY_HTOD
                       : to_host                                                ? NSYS_COPY_DTOH
                                                                                : NSYS_COPY_DTOD;
        return put_device_row(n, COPIES, r, (const int64_t[]){number(r->bytes), kind, from, to}, 4, err);
    }
    if (strcmp(r->kind, "memset") == 0)
        return put_device_row(n, MEMSETS, r, (const int64_t[]){number(r->bytes)}, 1, err);
    if (strcmp(r->kind, "sync") == 0) {
        int64_t type = place_of(syncs, sizeof(syncs) / sizeof(*syncs), r->name, 0);
        return put_device_row(n, SYNCS, r, &type, 1, err);
    }
    int is_kernel = strcmp(r->kind, "kernel") == 0;
    if (!is_kernel && strcmp(r->kind, "api") != 0)
        return PP_OK;
    pp_status st = gpu_name(n, r->name, &name, err);
    if (st != PP_OK)
        return st;
    if (is_kernel)
        return put_device_row(n, KERNELS, r, (const int64_t[]){name, name, name}, 3, err);
    const struct pp_export_run *run = n->run;
    const struct pp_thread_row *t = run->threads, *end = run->threads + run->n_threads;
    while (t < end && t->tid != (int64_t)r->thread)
        t++;
    /* A thread that the recording does not know is of the process that does the others. */
    int64_t tid = t < end ? global_tid(t) : process_of(run) | packed_number(known(r->thread), 0);
    const int64_t call[] = {time_of(n, r->start_ns),
                            time_of(n, r->start_ns + r->dur_ns),
                            CLASS_DRIVER,
                            tid,
                            known(r->correlation),
                            name,
                            r->result < 0 ? 0 : r->result};
    return nsys_rows_put(&n->db, &n->rows[CALLS], call, err);
}

/* ---- requests to remote storages ---- */

/* A range of a request or of a part of it; its name's number in StringIds is kept at *id. */
static pp_status put_request_range(struct nsys *n, int64_t tid, const uint64_t from_to[2], const char *name,
                                   uint32_t *id, int64_t payload, struct pp_err *err)
{
    pp_status st = *id ? PP_OK : nsys_string(&n->db, name, id, err);
    const int64_t values[] = {time_of(n, from_to[0]),
                              time_of(n, from_to[1]),
                              NSYS_PUSH_POP,
                              NSYS_NULL,
                              REQUEST_CATEGORY,
                              colour_of(PP_PHASE_READ),
                              tid,
                              *id,
                              NSYS_DOMAIN_ID,
                              payload};
    return st == PP_OK ? nsys_rows_put(&n->db, &n->rows[RANGES], values, err) : st;
}

static pp_status nsys_request(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    struct nsys *n = self;
    struct pp_request_slice s;
    pp_status st = PP_OK;
    if (!n->run->requests)
        return PP_OK; /* they began after the scan: the file is being written */
    if (pp_request_tracks_place(&n->requests, row, &s) != PP_OK)
        return pp_out_no_memory(n->db.label, err);
    int64_t tid = process_of(n->run) | packed_number(0, REQUEST_THREADS + s.track);
    int64_t sample = row->sample == PP_NO_SAMPLE ? NSYS_NULL : number(row->sample);
    if (s.new_track)
        st = name_thread(n, tid, s.track_name, err);
    if (st == PP_OK)
        st = put_request_range(n, tid, (const uint64_t[]){s.start_ns, s.end_ns}, s.name,
                               &n->request_name[s.status], sample, err);
    for (size_t i = 0; i < s.n_parts && st == PP_OK; i++)
        st = put_request_range(n, tid, (const uint64_t[]){s.part[i].start_ns, s.part[i].end_ns},
                               pp_request_part_names[s.part[i].which], &n->part_name[s.part[i].which],
                               NSYS_NULL, err);
    return st;
}

/* ---- spans ---- */

static pp_status nsys_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct nsys *n = self;
    uint32_t *name = &n->span_name[e->key];
    pp_status st = *name ? PP_OK : nsys_string(&n->db, e->name, name, err);
    if (st != PP_OK)
        return st;
    int64_t start = time_of(n, e->span->start_ns), end = time_of(n, e->end_ns);
    const int64_t range[] = {start,
                             end,
                             e->track ? NSYS_START_END : NSYS_PUSH_POP,
                             e->track ? ++n->range_id : NSYS_NULL,
                             e->span->phase,
                             colour_of(e->span->phase),
                             global_tid(e->thread),
                             *name,
                             NSYS_DOMAIN_ID,
                             e->span->batch == PP_NO_BATCH ? NSYS_NULL : (int64_t)e->span->batch};
    st = nsys_rows_put(&n->db, &n->rows[RANGES], range, err);
    if (st == PP_OK && e->span->phase == PP_PHASE_H2D && n->run->device_rows && !n->run->gpu_rows &&
        !(e->span->flags & PP_SPAN_ERROR)) {
        /* The call that issued the copy was made at the start of the span. When it returned is known for
         * pageable memory alone, where it is with the copy; an asynchronous call gets the least length
         * reports accept, 1 ns, rather than a made-up one. */
        int64_t pinned = n->run->pinned, id = ++n->correlation_id;
        int64_t memory = pinned < 0 ? NSYS_MEMORY_UNKNOWN
                         : pinned   ? NSYS_MEMORY_PINNED
                                    : NSYS_MEMORY_PAGEABLE;
        if (end <= start)
            end = start + 1; /* gputrace divides by the duration */
        const int64_t call[] = {
            start, pinned == 0 ? end : start + 1, CLASS_RUNTIME, global_tid(e->thread), id, n->copy_call, 0};
        const int64_t copy[] = {start,
                                end,
                                DEVICE_ID,
                                CONTEXT_ID,
                                STREAM_ID,
                                id,
                                global_pid(e->thread),
                                number(e->span->bytes),
                                NSYS_COPY_HTOD,
                                memory,
                                NSYS_MEMORY_DEVICE};
        st = nsys_rows_put(&n->db, &n->rows[CALLS], call, err);
        if (st == PP_OK)
            st = nsys_rows_put(&n->db, &n->rows[COPIES], copy, err);
    }
    return st;
}

static pp_status nsys_close(void *self, int complete, struct pp_err *err)
{
    struct nsys *n = self;
    pp_status st = PP_OK;
    if (!n)
        return st;
    for (int i = 0; i < TABLES; i++) {
        if (complete && st == PP_OK)
            st = nsys_rows_flush(&n->db, &n->rows[i], err);
        sqlite3_finalize(n->rows[i].many);
        sqlite3_finalize(n->rows[i].one);
        free(n->rows[i].pending);
    }
    sqlite3_finalize(n->counter);
    if (complete && st == PP_OK)
        st = nsys_db_finish(&n->db, err);
    sqlite3_close_v2(n->db.db);
    for (size_t i = 0; i < n->n_gpu_names; i++)
        free(n->gpu_names[i].text);
    free(n->gpu_names);
    free(n->requests.lane);
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
    .gpu = nsys_gpu,
    .request = nsys_request,
    .span = nsys_span,
    .close = nsys_close,
};
