#include "report/export/nsys_gpu.h"

#include "probe/base/err.h"
#include "report/export/nsight.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MOST_DEVICES 64u
enum table { MEMCPY, MEMSET, KERNEL, CALL, SYNC, TABLES };
enum { CLASS_DRIVER = 1 };

#define DEVICE_COLUMNS "start, end, deviceId, contextId, streamId, correlationId, globalPid, "
#define DEVICE_VALUES "?,?,?,?,?,?,?,"
enum { DEVICE_SHARED = 7, MOST_OWN = 4 };

static const struct {
    const char *into, *row;
} inserts[TABLES] = {
    [MEMCPY] = {NSYS_INTO_COPIES, NSYS_COPY_ROW},
    [MEMSET] = {"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET(" DEVICE_COLUMNS "bytes) VALUES",
                "(" DEVICE_VALUES "?)"},
    [KERNEL] = {"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(" DEVICE_COLUMNS
                "demangledName, shortName, mangledName) VALUES",
                "(" DEVICE_VALUES "?,?,?)"},
    [CALL] = {NSYS_INTO_CALLS, "(?,?,?,?,?,?,?)"},
    [SYNC] = {"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(" DEVICE_COLUMNS "syncType) VALUES",
              "(" DEVICE_VALUES "?)"},
};

struct name {
    char *text;
    uint32_t id;
};

struct nsys_gpu {
    struct nsys_db *db; /* borrowed */
    const struct pp_export_run *run;
    struct nsys_rows rows[TABLES];
    struct name *names; /* of calls and kernels: some dozens */
    size_t n_names;
    uint64_t devices; /* a bit each, that TARGET_INFO_GPU has */
};

pp_status nsys_gpu_open(struct nsys_db *d, const struct pp_export_run *run, struct nsys_gpu **out,
                        struct pp_err *err)
{
    pp_status st = PP_OK;
    struct nsys_gpu *g = *out = calloc(1, sizeof(*g));
    if (!g)
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", d->label);
    g->db = d;
    g->run = run;
    for (int i = 0; i < TABLES && st == PP_OK; i++)
        st = nsys_rows_open(d, &g->rows[i], inserts[i].into, inserts[i].row, err);
    return st;
}

pp_status nsys_gpu_flush(struct nsys_gpu *g, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (int i = 0; i < TABLES && st == PP_OK; i++)
        st = nsys_rows_flush(g->db, &g->rows[i], err);
    return st;
}

void nsys_gpu_free(struct nsys_gpu *g)
{
    if (!g)
        return;
    for (int i = 0; i < TABLES; i++)
        nsys_rows_close(&g->rows[i]);
    for (size_t i = 0; i < g->n_names; i++)
        free(g->names[i].text);
    free(g->names);
    free(g);
}

/* ---- names, devices, threads ---- */

static pp_status name_id(struct nsys_gpu *g, const char *text, int64_t *id, struct pp_err *err)
{
    text = text ? text : "?";
    for (size_t i = 0; i < g->n_names; i++)
        if (strcmp(g->names[i].text, text) == 0) {
            *id = g->names[i].id;
            return PP_OK;
        }
    struct name *more = realloc(g->names, (g->n_names + 1) * sizeof(*more));
    if (more)
        g->names = more;
    if (!more || !(more[g->n_names].text = strdup(text)))
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", g->db->label);
    g->n_names++;
    pp_status st = nsys_string(g->db, text, &more[g->n_names - 1].id, err);
    *id = more[g->n_names - 1].id;
    return st;
}

static pp_status know_device(struct nsys_gpu *g, uint32_t device, struct pp_err *err)
{
    if (device >= MOST_DEVICES || g->devices >> device & 1)
        return PP_OK;
    g->devices |= UINT64_C(1) << device;
    return nsys_device(g->db, g->run->device_name, device, err);
}

/* A thread that the recording does not know is of the process that does the others. */
static int64_t thread_of(const struct nsys_gpu *g, uint32_t os_thread)
{
    const struct pp_export_run *run = g->run;
    for (size_t i = 0; i < run->n_threads; i++)
        if (run->threads[i].tid == (int64_t)os_thread)
            return nsys_global_tid(&run->threads[i]);
    return nsys_process(run) | pp_nsight_number(os_thread == NONE ? 0 : os_thread, 0);
}

/* ---- values ---- */

static int64_t memory_kind(const char *text)
{
    static const char *const names[] = {"pageable", "pinned",        "device",        "array",
                                        "managed",  "device static", "managed static"}; /* in nsys' order */
    for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0)
            return (int64_t)i;
    return NSYS_MEMORY_UNKNOWN;
}

static int on_host(int64_t kind)
{
    return kind == NSYS_MEMORY_PAGEABLE || kind == NSYS_MEMORY_PINNED;
}

static int64_t copy_kind(int64_t from, int64_t to)
{
    if (from == NSYS_MEMORY_UNKNOWN || to == NSYS_MEMORY_UNKNOWN)
        return NSYS_COPY_UNKNOWN;
    return on_host(from) ? on_host(to) ? NSYS_COPY_HTOH : NSYS_COPY_HTOD
           : on_host(to) ? NSYS_COPY_DTOH
                         : NSYS_COPY_DTOD;
}

static int64_t sync_type(const char *text)
{
    static const char *const names[] = {"event synchronize", "stream wait event", "stream synchronize",
                                        "context synchronize"};
    for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0)
            return (int64_t)i + 1;
    return 0;
}

/* nsys' columns are NOT NULL: what CUPTI did not tell is 0. */
static int64_t known(uint32_t id)
{
    return id == NONE ? 0 : id;
}

/* ---- rows ---- */

/* The columns that all tables of the device begin with, and those of each table's own. */
static pp_status put_device_row(struct nsys_gpu *g, enum table table, const struct pp_gpu_row *r,
                                const int64_t *own, size_t n_own, struct pp_err *err)
{
    int64_t start = nsys_time(g->run, r->start_ns), end = nsys_time(g->run, r->start_ns + r->dur_ns);
    int64_t values[DEVICE_SHARED + MOST_OWN] = {start,
                                                end > start
                                                    ? end
                                                    : start + 1, /* gputrace divides by the duration */
                                                known(r->device),
                                                known(r->context),
                                                known(r->stream),
                                                known(r->correlation),
                                                nsys_process(g->run)};
    memcpy(values + DEVICE_SHARED, own, n_own * sizeof(*own));
    pp_status st = know_device(g, known(r->device), err);
    return st == PP_OK ? nsys_rows_put(g->db, &g->rows[table], values, err) : st;
}

static pp_status put_copy(struct nsys_gpu *g, const struct pp_gpu_row *r, struct pp_err *err)
{
    int64_t from = memory_kind(r->source), to = memory_kind(r->target);
    return put_device_row(g, MEMCPY, r,
                          (const int64_t[]){nsys_number(r->bytes), copy_kind(from, to), from, to}, 4, err);
}

static pp_status put_kernel(struct nsys_gpu *g, const struct pp_gpu_row *r, struct pp_err *err)
{
    int64_t name;
    pp_status st = name_id(g, r->name, &name, err);
    return st == PP_OK ? put_device_row(g, KERNEL, r, (const int64_t[]){name, name, name}, 3, err) : st;
}

static pp_status put_call(struct nsys_gpu *g, const struct pp_gpu_row *r, struct pp_err *err)
{
    int64_t name, start = nsys_time(g->run, r->start_ns);
    pp_status st = name_id(g, r->name, &name, err);
    if (st != PP_OK)
        return st;
    const int64_t values[] = {start,
                              nsys_time(g->run, r->start_ns + r->dur_ns),
                              CLASS_DRIVER,
                              thread_of(g, r->thread),
                              known(r->correlation),
                              name,
                              r->result < 0 ? 0 : r->result};
    return nsys_rows_put(g->db, &g->rows[CALL], values, err);
}

pp_status nsys_gpu_put(struct nsys_gpu *g, const struct pp_gpu_row *r, struct pp_err *err)
{
    if (strcmp(r->kind, "memcpy") == 0)
        return put_copy(g, r, err);
    if (strcmp(r->kind, "memset") == 0)
        return put_device_row(g, MEMSET, r, (const int64_t[]){nsys_number(r->bytes)}, 1, err);
    if (strcmp(r->kind, "kernel") == 0)
        return put_kernel(g, r, err);
    if (strcmp(r->kind, "api") == 0)
        return put_call(g, r, err);
    if (strcmp(r->kind, "sync") == 0)
        return put_device_row(g, SYNC, r, (const int64_t[]){sync_type(r->name)}, 1, err);
    return PP_OK;
}
