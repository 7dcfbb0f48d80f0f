#include "collectors/store/reader_impl.h"

#include "collectors/store/chunk.h"
#include "collectors/store/vfs.h"

#include <fcntl.h>
#include <search.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 5000

static pp_before_reading_fn *before_reading;

/* The threads that were handed out, and the shorter lists before. */
struct reader_threads {
    struct reader_threads *smaller;
    size_t cap;
    struct pp_thread_row rows[];
};

void pp_reader_set_before(pp_before_reading_fn *fn)
{
    before_reading = fn;
}

/* ---- what reading a file may cost ---- */

/* Pages of a crafted file may point at the same pages again, so that a few kilobytes are rows without end. */
static int costs_too_much(void *ctx)
{
    struct pp_reader *r = ctx;
    uint64_t before = r->cpu_ns;
    r->cpu_ns = pp_thread_cpu_ns();
    return !pp_allowance_take(&r->may[PP_ALLOWED_STEPS], PP_DB_STEPS * PP_DB_STEP_BYTES) ||
           !pp_allowance_take(&r->may[PP_ALLOWED_CPU], r->cpu_ns - before);
}

void reader_allow(struct pp_reader *r)
{
    for (int kind = PP_ALLOWED_STEPS; kind <= PP_ALLOWED_CPU; kind++)
        r->may[kind] = pp_allowance_of(kind, r->bytes);
    r->cpu_ns = pp_thread_cpu_ns();
}

static uint64_t bytes_of(const char *path, const char *suffix)
{
    char name[PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

pp_status reader_fail(struct pp_reader *r, int code, struct pp_err *err)
{
    if (code != SQLITE_INTERRUPT)
        return pp_db_fail(r->db, err, "cannot read", r->path);
    int kind = PP_ALLOWED_CPU; /* of what there is no more */
    while (kind > PP_ALLOWED_STEPS && r->may[kind].left)
        kind--;
    return pp_allowance_fail(&r->may[kind], r->path, err);
}

/* ---- opening ---- */

/* A writer that finishes the file locks it for a moment. By the clock, and not by the sum of sleeps that
 * SQLite asked for, which are shortened (read_vfs.c). */
static int wait_for_writer(void *since, int tries)
{
    uint64_t now = pp_now_ns(), *from = since;
    if (!tries)
        *from = now;
    if (now - *from > BUSY_MS * UINT64_C(1000000))
        return 0;
    pp_sleep_until_ns(now + 2000000);
    return 1;
}

/* One way of opening; the connection is there to ask for the failure. */
static pp_status open_as(struct pp_reader *r, const char *real, const char *option, struct pp_err *err)
{
    sqlite3_close(r->db);
    r->db = NULL;
    pp_status status = pp_read_open(real, option, r->path, &r->db, err);
    if (status)
        return status;
    sqlite3_busy_handler(r->db, wait_for_writer, &r->busy_since_ns);
    reader_allow(r);
    sqlite3_progress_handler(r->db, PP_DB_STEPS, costs_too_much, r);
    status = pp_schema_check_read(r->db, r->path, err);
    /* No count(*), which SQLite does in one step however many pages there seem to be. */
    if (!status && sqlite3_exec(r->db, "SELECT 1 FROM meta LIMIT 1; SELECT max(id) FROM chunk", NULL, NULL,
                                NULL) != SQLITE_OK)
        status = reader_fail(r, sqlite3_errcode(r->db) & 0xff, err);
    return status;
}

/* Shared memory of SQLite (-shm) is used where it is there and ours: then a writer may be at work, and this
 * is what keeps the two apart. Else the file is read with what is in its log, and nothing is made for it. On
 * a medium where that fails, and beside a journal that is not rolled back, what is in the main file is still
 * readable as it stands. */
static pp_status open_db(struct pp_reader *r, struct pp_err *err)
{
    char real[PATH_MAX];
    pp_beside_real(r->path, real);
    pp_status status = pp_beside_check(real, err);
    if (status)
        return status;
    r->bytes = bytes_of(real, "") + bytes_of(real, "-wal");

    int ours = pp_beside_look(real, "") == PP_BESIDE_OURS,
        shared = ours && pp_beside_look(real, "-shm") == PP_BESIDE_OURS,
        foreign_log = ours && pp_beside_look(real, "-wal") == PP_BESIDE_FOREIGN;
    if (!foreign_log)
        status = open_as(r, real, shared ? "" : "?private_index=1", err);
    int code = foreign_log ? SQLITE_CANTOPEN : sqlite3_errcode(r->db) & 0xff;
    if (!foreign_log && !(status && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)))
        return status;

    /* Why the log or journal beside the file is not rolled back, for the report. */
    struct pp_err why = {.code = PP_OK};
    if (pp_beside_may_roll_back(real, &why) != PP_OK)
        pp_fail(
            &r->as_it_stands, PP_E_ACCESS,
            "a transaction was cut off and its journal was left as it is: %s; the file was read as it stands, and may contradict itself",
            why.text);
    else if (bytes_of(real, "-wal"))
        pp_fail(&r->as_it_stands, PP_E_ACCESS,
                "the write-ahead log cannot be read; what is in it is not shown");
    return open_as(r, real, "?immutable=1", err);
}

pp_status pp_reader_open(const char *path, struct pp_reader **out, struct pp_err *err)
{
    struct pp_missing missing = {.why.code = PP_OK};
    *out = NULL;
    pp_status status = before_reading ? before_reading(path, &missing, err) : PP_OK;
    if (!status)
        status = pp_db_check_file(path, err);
    if (status)
        return status;
    struct pp_reader *r = calloc(1, sizeof(*r));
    if (!r || !(r->path = strdup(path)) || !(r->codec = pp_chunk_codec_new())) {
        pp_reader_close(r);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    }
    r->missing = missing;
    status = open_db(r, err);
    if (status) {
        pp_reader_close(r);
        return status;
    }
    *out = r;
    return PP_OK;
}

int pp_reader_is_recording(const char *path)
{
    uint8_t h[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is = fd >= 0 && pread(fd, h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
             memcmp(h, "SQLite format 3", 16) == 0 && pp_be32(h + 68) == PP_STORE_APPLICATION_ID;
    if (fd >= 0)
        close(fd);
    return is;
}

void pp_reader_close(struct pp_reader *r)
{
    if (!r)
        return;
    sqlite3_close(r->db);
    tdestroy(r->kept, free);
    while (r->threads) {
        struct reader_threads *list = r->threads;
        r->threads = list->smaller;
        free(list);
    }
    pp_chunk_codec_free(r->codec);
    free(r->path);
    free(r);
}

/* ---- what a recording says of itself: meta, threads, names ---- */

static int by_content(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Strings handed out live as long as the reader: they are kept once each. */
static const char *keep(struct pp_reader *r, const char *text)
{
    char **known = text ? tfind(text, &r->kept, by_content) : NULL;
    if (!text || known)
        return known ? *known : NULL;
    char *copy = strdup(text);
    if (copy && !tsearch(copy, &r->kept, by_content)) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* Ends a query whose caller is told of no error: it is kept for the report. */
static void end_unsaid(struct query *q)
{
    query_end(q, q->r->unread.code ? NULL : &q->r->unread);
}

pp_status pp_reader_check(struct pp_reader *r, struct pp_err *err)
{
    struct query threads = reader_query(r, "SELECT id FROM thread");
    while (query_row(&threads)) {
    }
    pp_status status = query_end(&threads, err);
    struct query names = reader_query(r, "SELECT id FROM name");
    while (query_row(&names)) {
    }
    end_unsaid(&names);
    return status;
}

#define META_VALUE "SELECT value FROM meta WHERE section = ? AND key = ?"

const char *pp_reader_meta(struct pp_reader *r, const char *section, const char *key)
{
    struct query q = reader_query_of(r, META_VALUE, PP_ROW(v_text(section), v_text(key)));
    const char *value = query_row(&q) ? keep(r, col_text(&q, 0)) : NULL;
    end_unsaid(&q);
    return value;
}

int pp_reader_meta_num(struct pp_reader *r, const char *section, const char *key, double *value)
{
    struct query q = reader_query_of(r, META_VALUE, PP_ROW(v_text(section), v_text(key)));
    int there = query_row(&q) && col_is_number(&q, 0);
    if (there)
        *value = sqlite3_column_double(q.st, 0);
    end_unsaid(&q);
    return there;
}

pp_status pp_reader_each_meta(struct pp_reader *r, const char *section, pp_meta_fn *fn, void *ctx,
                              struct pp_err *err)
{
    struct query q = reader_query_of(r, "SELECT key, value, unit FROM meta WHERE section = ? ORDER BY rowid",
                                     PP_ROW(v_text(section)));
    while (query_row(&q)) {
        int numeric = col_is_number(&q, 1);
        const char *key = col_text(&q, 0), *value = col_text(&q, 1);
        fn(ctx, key, value, col_text_or_null(&q, 2), numeric);
    }
    return query_end(&q, err);
}

size_t pp_reader_threads(struct pp_reader *r, const struct pp_thread_row **rows)
{
    size_t n = 0;
    struct query q = reader_query(
        r, "SELECT id, lane, name, pid, tid, recorded, dropped FROM thread ORDER BY id");
    while (query_row(&q)) {
        if (!pp_thread_id_is_sound(col_num(&q, 0)))
            continue;
        if (!r->threads || n == r->threads->cap) {
            /* The list before stays where it is: a caller that asked for it may still read it. */
            size_t cap = r->threads ? r->threads->cap * 2 : 16;
            struct reader_threads *grown = malloc(sizeof(*grown) + cap * sizeof(grown->rows[0]));
            if (!grown)
                break;
            *grown = (struct reader_threads){.smaller = r->threads, .cap = cap};
            if (r->threads)
                memcpy(grown->rows, r->threads->rows, r->threads->cap * sizeof(grown->rows[0]));
            r->threads = grown;
        }
        const char *lane = col_text(&q, 1), *name = keep(r, col_text(&q, 2));
        pp_lane known = 0;
        while (known < PP_LANE_COUNT && strcmp(pp_lane_name(known), lane) != 0)
            known++;
        r->threads->rows[n++] = (struct pp_thread_row){
            .id = (uint32_t)col_num(&q, 0),
            .lane = known < PP_LANE_COUNT ? known : PP_LANE_MAIN,
            .name = name ? name : "",
            .pid = (int64_t)col_num(&q, 3),
            .tid = (int64_t)col_num(&q, 4),
            .recorded = col_num(&q, 5),
            .dropped = col_num(&q, 6),
        };
    }
    end_unsaid(&q);
    *rows = r->threads ? r->threads->rows : NULL;
    return n;
}

const char *pp_reader_name(struct pp_reader *r, uint16_t id)
{
    struct query q = reader_query_of(r, "SELECT text FROM name WHERE id = ?", PP_ROW(v_int(id)));
    const char *name = query_row(&q) ? keep(r, col_text(&q, 0)) : NULL;
    end_unsaid(&q);
    return name;
}
