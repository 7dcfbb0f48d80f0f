/* Nsight Systems' SQLite export (`nsys export -t sqlite`), of any schema: every table and column may be
 * absent. Ranges are NVTX's: those that torch.autograd.profiler.emit_nvtx() and `nsys --pytorch` make carry
 * torch.profiler's names, with ", op_id = 17" behind them; others mean what a map says (--map). Our own
 * exports name their phases by category. */
#include "collectors/import/import.h"
#include "collectors/store/db.h"
#include "collectors/store/row.h"
#include "collectors/store/vfs.h"
#include "probe/base/allowance.h"

#include <sqlite3.h>
#include <sys/stat.h>

/* ---- another program's database ----
 *
 * Read by name of table and column. What the store's reader holds against a stranger's file holds here: its
 * file system, read only; no view, trigger, virtual table or generated column runs; reading that takes more
 * steps, pages or bytes of text than a file of that size can need ends. One thread at a time. */

struct pp_foreign_db {
    sqlite3 *db;
    const char *path; /* borrowed */
    struct pp_allowance allowed;
};

enum { PAGE_COSTS = 160, COLUMNS_MOST = 24 }; /* bytes, of a page that is fetched once more */

static int count_steps(void *ctx)
{
    struct pp_foreign_db *d = ctx;
    return !pp_allowance_take(&d->allowed, PP_DB_STEPS * PP_DB_STEP_BYTES);
}

static pp_status fail_read(struct pp_foreign_db *d, struct pp_err *err)
{
    if ((sqlite3_errcode(d->db) & 0xff) == SQLITE_INTERRUPT)
        return pp_allowance_fail(&d->allowed, d->path, err);
    return pp_db_fail(d->db, err, "cannot read", d->path);
}

/* PP_OK: a row; PP_END: none any more. */
static pp_status foreign_db_step(struct pp_foreign_db *d, sqlite3_stmt *st, struct pp_err *err)
{
    int code = sqlite3_step(st), n = code == SQLITE_ROW ? sqlite3_data_count(st) : 0, pages = 0, most;
    uint64_t bytes = 0;
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? PP_END : fail_read(d, err);
    /* A row that is asked for again and again may hold megabytes, which the handler above does not see. */
    for (int i = 0; i < n; i++)
        if (sqlite3_column_type(st, i) == SQLITE_TEXT || sqlite3_column_type(st, i) == SQLITE_BLOB)
            bytes += (uint64_t)sqlite3_column_bytes(st, i);
    for (int kind = SQLITE_DBSTATUS_CACHE_HIT; kind <= SQLITE_DBSTATUS_CACHE_MISS; kind++)
        if (sqlite3_db_status(d->db, kind, &pages, &most, 1) == SQLITE_OK)
            bytes += (uint64_t)pages * PAGE_COSTS;
    return pp_allowance_take(&d->allowed, bytes) ? PP_OK : pp_allowance_fail(&d->allowed, d->path, err);
}

/* A statement that reads these columns (names with blanks between them) of an ordinary table, in the order of
 * the file; a column the table lacks is NULL in every row. *out NULL with PP_OK: there is no such table. */
static pp_status foreign_db_select(struct pp_foreign_db *d, const char *table, const char *columns,
                                   sqlite3_stmt **out, struct pp_err *err)
{
    char names[COLUMNS_MOST][32], sql[1024];
    sqlite3_stmt *st = NULL;
    unsigned there = 0;
    int n = 0, kind = 0; /* kind: 1 an ordinary table, 0 no such, -1 something else of that name */
    pp_status status;
    *out = NULL;
    for (const char *p = columns; *p && n < COLUMNS_MOST; p += strcspn(p, " "), p += strspn(p, " "), n++)
        snprintf(names[n], sizeof(names[n]), "%.*s", (int)strcspn(p, " "), p);
    if (sqlite3_prepare_v2(d->db, "SELECT type, rootpage FROM sqlite_master WHERE name = ?", -1, &st, NULL) !=
        SQLITE_OK)
        return fail_read(d, err);
    pp_row_bind(st, PP_ROW(v_text(table)));
    while ((status = foreign_db_step(d, st, err)) == PP_OK) {
        const char *type = (const char *)sqlite3_column_text(st, 0);
        kind = !kind && type && strcmp(type, "table") == 0 && sqlite3_column_int64(st, 1) > 0 ? 1 : -1;
    }
    sqlite3_finalize(st);
    status = status == PP_END ? PP_OK : status;
    if (status == PP_OK && kind < 0)
        status = pp_fail(err, PP_E_CORRUPT,
                         "%s: its %s is not an ordinary table; it was changed, and is not read", d->path,
                         table);
    if (status != PP_OK || !kind)
        return status;
    /* Bits of the wanted columns that are there, as ordinary ones. */
    snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", table);
    if (sqlite3_prepare_v2(d->db, sql, -1, &st, NULL) != SQLITE_OK)
        return fail_read(d, err);
    while ((status = foreign_db_step(d, st, err)) == PP_OK) {
        const char *name = (const char *)sqlite3_column_text(st, 1);
        for (int i = 0; name && i < n && sqlite3_column_int(st, 6) == 0; i++)
            there |= strcmp(name, names[i]) == 0 ? 1u << i : 0;
    }
    sqlite3_finalize(st);
    status = status == PP_END ? PP_OK : status;
    snprintf(sql, sizeof(sql), "SELECT ");
    for (int i = 0; i < n; i++)
        snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), there >> i & 1 ? "%s\"%s\"" : "%sNULL",
                 i ? ", " : "", names[i]);
    snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " FROM main.\"%s\"", table);
    if (status == PP_OK && sqlite3_prepare_v2(d->db, sql, -1, out, NULL) != SQLITE_OK)
        status = fail_read(d, err);
    return status;
}

/* attach/namemap.h */
static const char known_names[] = "ProfilerStep* = step\n"
                                  "enumerate(DataLoader)#* = data_wait\n"
                                  "enumerate(DataPipe)#* = data_wait\n"
                                  "*DataLoader*__next__* = data_wait\n"
                                  "*train_dataloader_next* = data_wait\n"
                                  "*training_step* = step\n"
                                  "train_step* = step\n"
                                  "data_wait = data_wait\n"
                                  "step = step\n";

enum { DOMAINS = 256, TEXT = 256, CACHE = 4096 };
/* eventType; the second of each is that of ranges which were imported from a text (NVTXT) */
enum {
    THREAD_NAME = 39,
    PUSH_POP = 59,
    START_END = 60,
    PUSH_POP_TEXT = 70,
    START_END_TEXT = 71,
    DOMAIN_ROW = 75
};

struct cached {
    int64_t id;
    int any;
    char text[TEXT];
};

struct nsys {
    struct pp_foreign_db db;
    struct pp_imported *im;
    struct pp_import_facts *facts;
    struct pp_import_names names;
    sqlite3_stmt *string; /* the row of an id; NULL: no StringIds */
    sqlite3_blob *text;
    struct cached cache[CACHE];
    char domain[DOMAINS][64]; /* by domainId; "": the default, or not named */
};

/* ---- texts ---- */

/* The text of a column (-1: none), or of the row of StringIds that another one names; "" where there is none.
 * Of a text of megabytes the bytes that are kept are read, and no others. */
static pp_status string_of(struct nsys *n, sqlite3_stmt *st, int text, int i, char *to, struct pp_err *err)
{
    const char *own = text >= 0 ? (const char *)sqlite3_column_text(st, text) : NULL;
    int64_t id = sqlite3_column_int64(st, i);
    pp_status status = PP_OK;
    snprintf(to, TEXT, "%.*s", TEXT - 1, own ? own : "");
    if (to[0] || sqlite3_column_type(st, i) == SQLITE_NULL || !n->string)
        return PP_OK;
    struct cached *c = &n->cache[(uint64_t)id % CACHE];
    if (!c->any || c->id != id) {
        *c = (struct cached){.id = id};
        sqlite3_bind_int64(n->string, 1, id);
        status = foreign_db_step(&n->db, n->string, err);
        if (status == PP_OK) {
            int64_t row = sqlite3_column_int64(n->string, 0);
            int code = n->text ? sqlite3_blob_reopen(n->text, row)
                               : sqlite3_blob_open(n->db.db, "main", "StringIds", "value", row, 0, &n->text);
            int size = code == SQLITE_OK ? sqlite3_blob_bytes(n->text) : 0;
            if (size > 0)
                code = sqlite3_blob_read(n->text, c->text, size < TEXT ? size : TEXT - 1, 0);
            if (code != SQLITE_OK) { /* a number, which is no name, or damaged */
                status = code == SQLITE_ERROR ? PP_OK : fail_read(&n->db, err);
                sqlite3_blob_close(n->text);
                n->text = NULL;
            }
        }
        status = status == PP_END ? PP_OK : status;
        c->any = status == PP_OK;
        sqlite3_reset(n->string);
    }
    snprintf(to, TEXT, "%s", c->text);
    return status;
}

/* ---- rows ---- */

/* kind: of a row of the GPU. */
typedef pp_status row_fn(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind, struct pp_err *err);

/* globalTid: hw | vm | pid | tid, 8, 8, 24 and 24 bits. */
static uint32_t thread_of(struct nsys *n, uint64_t global)
{
    char pid[24], tid[24];
    snprintf(pid, sizeof(pid), "%llu", (unsigned long long)(global >> 24 & 0xffffff));
    snprintf(tid, sizeof(tid), "%llu", (unsigned long long)(global & 0xffffff));
    return pp_imported_thread(n->im, pid, tid);
}

#define DOMAIN_COLUMNS "eventType domainId text textId"
static pp_status take_domain(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind,
                             struct pp_err *err)
{
    char text[TEXT];
    int64_t id = sqlite3_column_int64(st, 1);
    if (sqlite3_column_int(st, 0) != DOMAIN_ROW || id < 0 || id >= DOMAINS)
        return PP_OK;
    pp_status status = string_of(n, st, 2, 3, text, err);
    snprintf(n->domain[id], sizeof(n->domain[id]), "%.63s", text);
    return status;
}

#define RANGE_COLUMNS "start end eventType category text textId globalTid domainId uint64Value"
static pp_status take_range(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind,
                            struct pp_err *err)
{
    char name[TEXT];
    struct pp_span s = {.sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
    int type = sqlite3_column_int(st, 2);
    int64_t start = sqlite3_column_int64(st, 0), end = sqlite3_column_int64(st, 1),
            domain = sqlite3_column_int64(st, 7);
    n->facts->events++;
    int is_range = type == PUSH_POP || type == START_END || type == PUSH_POP_TEXT || type == START_END_TEXT;
    if (type != THREAD_NAME && (!is_range || sqlite3_column_type(st, 1) == SQLITE_NULL))
        return PP_OK;
    pp_status status = string_of(n, st, 4, 5, name, err);
    if (type == THREAD_NAME) {
        if (name[0])
            pp_imported_thread_name(n->im, thread_of(n, (uint64_t)sqlite3_column_int64(st, 6)), name);
        return status;
    }
    /* Without the numbers of emit_nvtx(), which make every name another. */
    static const char *const numbers[] = {", seq = ", ", op_id = ", ", sizes = "};
    int by_torch = 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        char *at = strstr(name, numbers[i]);
        if (at)
            *at = '\0';
        by_torch |= at != NULL;
    }
    const char *domain_name = domain >= 0 && domain < DOMAINS ? n->domain[domain] : "";
    int own = strcmp(domain_name, "pipeprobe") == 0, category = sqlite3_column_int(st, 3);
    pp_phase phase = own && pp_phase_info((unsigned)category) &&
                             pp_namemap_find(n->names.user, domain_name, name, NULL) == PP_PHASE_USER
                         ? (pp_phase)category
                         : pp_import_phase(&n->names, domain_name, name, NULL);
    if (status != PP_OK || (phase == PP_PHASE_USER && (by_torch || strcmp(domain_name, "NCCL") == 0)))
        return status;
    if (end < start || !pp_imported_time(n->im, start, &s.start_ns)) {
        n->facts->odd_times += end < start;
        return PP_OK;
    }
    s.dur_ns = (uint64_t)end - (uint64_t)start;
    s.phase = (uint8_t)phase;
    s.name = phase == PP_PHASE_USER || phase == PP_PHASE_DATA_WAIT ? pp_imported_name(n->im, name) : 0;
    if (own && sqlite3_column_type(st, 8) == SQLITE_INTEGER &&
        (uint64_t)sqlite3_column_int64(st, 8) < PP_NO_BATCH) {
        s.batch = (uint32_t)sqlite3_column_int64(st, 8);
        n->facts->numbered |= phase == PP_PHASE_STEP;
    }
    if (phase != PP_PHASE_USER && strncmp(domain_name, "DALI", strlen("DALI")) == 0)
        n->facts->module = "nvidia.dali";
    if (strstr(name, "DataLoaderIter"))
        pp_import_note_loader(n->facts, name);
    pp_imported_span(n->im, thread_of(n, (uint64_t)sqlite3_column_int64(st, 6)), &s, PP_ROLE_NONE);
    return PP_OK;
}

static pp_status take_thread(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind,
                             struct pp_err *err)
{
    char name[TEXT];
    pp_status status = string_of(n, st, -1, 0, name, err);
    if (name[0])
        pp_imported_thread_name(n->im, thread_of(n, (uint64_t)sqlite3_column_int64(st, 1)), name);
    return status;
}

static pp_status take_session(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind,
                              struct pp_err *err)
{
    n->facts->utc_ns = sqlite3_column_int64(st, 0);
    return PP_OK;
}

/* ---- the GPU ---- */

/* Of these columns the first six are the same for all kinds. */
#define COPY_COLUMNS "start end correlationId deviceId streamId globalPid bytes srcKind dstKind"
#define KERNEL_COLUMNS "start end correlationId deviceId streamId globalPid shortName"
#define SYNC_COLUMNS "start end correlationId deviceId streamId globalPid syncType"
#define CALL_COLUMNS "start end correlationId globalTid globalTid globalTid nameId"

static pp_status take_gpu(struct nsys *n, sqlite3_stmt *st, enum pp_import_gpu_kind kind, struct pp_err *err)
{
    static const uint8_t memories[] = {PP_MEMORY_PAGEABLE, PP_MEMORY_PINNED, PP_MEMORY_DEVICE};
    static const char *const syncs[] = {"", "event synchronize", "stream wait event", "stream synchronize",
                                        "context synchronize"};
    int64_t start = sqlite3_column_int64(st, 0), end = sqlite3_column_int64(st, 1);
    uint64_t number = (uint64_t)sqlite3_column_int64(st, 6);
    char name[TEXT];
    pp_status status = PP_OK;
    struct pp_import_gpu g = {.kind = (uint8_t)kind,
                              .correlation = sqlite3_column_type(st, 2) == SQLITE_NULL
                                                 ? UINT32_MAX
                                                 : (uint32_t)sqlite3_column_int64(st, 2),
                              .device = (uint16_t)sqlite3_column_int(st, 3),
                              .stream = (uint32_t)sqlite3_column_int64(st, 4),
                              .thread = UINT32_MAX,
                              .process = (uint32_t)((uint64_t)sqlite3_column_int64(st, 5) >> 24 & 0xffffff),
                              .asynchronous = -1};
    n->facts->events++;
    if (end < start || !pp_imported_time(n->im, start, &g.start_ns))
        return PP_OK;
    g.dur_ns = (uint64_t)end - (uint64_t)start;
    if (kind == PP_IMPORT_MEMCPY) {
        uint64_t from = (uint64_t)sqlite3_column_int64(st, 7), to = (uint64_t)sqlite3_column_int64(st, 8);
        g.bytes = number;
        g.source = sqlite3_column_type(st, 7) != SQLITE_NULL && from < 3 ? memories[from] : PP_MEMORY_NONE;
        g.target = sqlite3_column_type(st, 8) != SQLITE_NULL && to < 3 ? memories[to] : PP_MEMORY_NONE;
    } else if (kind == PP_IMPORT_SYNC) {
        g.name = number < 5 ? pp_imported_name(n->im, syncs[number]) : 0;
    } else { /* a kernel, or a call */
        status = string_of(n, st, -1, 6, name, err);
        if (kind == PP_IMPORT_CALL) {
            g.device = UINT16_MAX;
            g.stream = UINT32_MAX;
            g.thread = thread_of(n, (uint64_t)sqlite3_column_int64(st, 3));
        }
        g.name = pp_imported_name(n->im, name);
    }
    pp_imported_gpu(n->im, &g);
    return status;
}

static const struct {
    const char *table, *columns;
    row_fn *fn;
    enum pp_import_gpu_kind kind;
} tables[] = {
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", take_session, 0},
    {"ThreadNames", "nameId globalTid", take_thread, 0},
    {"NVTX_EVENTS", DOMAIN_COLUMNS, take_domain, 0},
    {"NVTX_EVENTS", RANGE_COLUMNS, take_range, 0},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", COPY_COLUMNS, take_gpu, PP_IMPORT_MEMCPY},
    {"CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_COLUMNS, take_gpu, PP_IMPORT_KERNEL},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", SYNC_COLUMNS, take_gpu, PP_IMPORT_SYNC},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", CALL_COLUMNS, take_gpu, PP_IMPORT_CALL},
};

/* ---- the file ---- */

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct nsys *n = calloc(1, sizeof(*n));
    sqlite3_stmt *strings = NULL;
    struct stat st = {0};
    if (!n)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    n->im = im;
    n->facts = pp_imported_facts(im);
    n->facts->collectives_wait = n->facts->processes = 1;
    n->facts->steps_are = "an NVTX range such as ProfilerStep#N, or one that --map calls step";
    n->facts->waits_are = "enumerate(DataLoader)#..., or a range that --map calls data_wait";
    n->facts->instead =
        "record again with nsys profile --pytorch=autograd-nvtx or torch.autograd.profiler.emit_nvtx()";
    pp_status status = pp_import_names_open(&n->names, map, known_names, 0, path, err);
    n->db.path = path;
    if (status == PP_OK && (strlen(path) >= PATH_MAX || stat(path, &st) != 0 || !S_ISREG(st.st_mode)))
        status = pp_fail(err, PP_E_NOT_FOUND, "%s is no file that can be read", path);
    if (status == PP_OK) /* nothing beside it is looked at */
        status = pp_read_open(path, "?immutable=1", path, &n->db.db, err);
    if (status == PP_OK) {
        n->db.allowed = pp_allowance_of(PP_ALLOWED_FOREIGN, (uint64_t)st.st_size);
        sqlite3_progress_handler(n->db.db, PP_DB_STEPS, count_steps, &n->db);
    }
    if (status == PP_OK)
        status = foreign_db_select(&n->db, "StringIds", "value id", &strings, err);
    if (status == PP_OK && strings &&
        sqlite3_prepare_v2(n->db.db, "SELECT rowid FROM main.StringIds WHERE id = ?", -1, &n->string, NULL) !=
            SQLITE_OK)
        n->string = NULL; /* without its columns: names stay empty */
    sqlite3_finalize(strings);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && status == PP_OK; i++) {
        sqlite3_stmt *rows;
        status = foreign_db_select(&n->db, tables[i].table, tables[i].columns, &rows, err);
        if (status == PP_OK && rows) {
            while (status == PP_OK && (status = foreign_db_step(&n->db, rows, err)) == PP_OK)
                status = tables[i].fn(n, rows, tables[i].kind, err);
            sqlite3_finalize(rows);
            status = status == PP_END ? PP_OK : status;
        }
    }
    sqlite3_blob_close(n->text);
    sqlite3_finalize(n->string);
    sqlite3_close(n->db.db);
    pp_import_names_close(&n->names);
    free(n);
    return status;
}

/* Its schema is on the first pages. */
static int probe(const struct pp_import_head *head)
{
    static const char *const words[] = {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_",
                                        "TARGET_INFO_SESSION_START_TIME"};
    int found = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        found |= memmem(head->data, head->size, words[i], strlen(words[i])) != NULL;
    return head->size > 16 && memcmp(head->data, "SQLite format 3", 15) == 0 && found;
}

const struct pp_importer pp_importer_nsys = {
    .name = "nsys",
    .what = "Nsight Systems, .sqlite (nsys export -t sqlite)",
    .probe = probe,
    .read = read_trace,
};
