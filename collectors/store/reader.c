#include "collectors/store/reader.h"

#include "collectors/store/chunk.h"
#include "collectors/store/db.h"
#include "collectors/store/recover.h"
#include "collectors/store/rollup.h"

#include "probe/base/err.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 5000

/* Strings handed out live as long as the reader: they are kept once each. */
struct kept {
    struct kept *next;
    char text[];
};

/* The threads, and the shorter lists before. */
struct thread_list {
    struct thread_list *smaller;
    size_t cap;
    struct pp_thread_row rows[];
};

struct pp_reader {
    sqlite3 *db;
    char *path;
    struct pp_chunk_codec *codec;
    struct kept *kept;
    struct thread_list *threads;
    struct pp_err unrecovered; /* code != PP_OK: why spans still wait in ring files */
    uint64_t waiting;          /* how many */
};

static const char *keep(struct pp_reader *r, const char *text)
{
    if (!text)
        return NULL;
    for (struct kept *k = r->kept; k; k = k->next)
        if (strcmp(k->text, text) == 0)
            return k->text;
    struct kept *k = malloc(sizeof(*k) + strlen(text) + 1);
    if (!k)
        return NULL;
    strcpy(k->text, text);
    k->next = r->kept;
    r->kept = k;
    return k->text;
}

static int answers(sqlite3 *db)
{
    return sqlite3_exec(db, "SELECT count(*) FROM meta; SELECT max(id) FROM chunk", NULL, NULL, NULL) == SQLITE_OK;
}

/* A percent-encoded file: URI, for the immutable option. */
static void file_uri(const char *path, char *uri, size_t size)
{
    size_t n = (size_t)snprintf(uri, size, "file:");
    for (const char *p = path; *p && n + 32 < size; p++)
        n += (size_t)snprintf(uri + n, size - n, strchr("?#% ", *p) ? "%%%02X" : "%c", (unsigned char)*p);
    snprintf(uri + n, size - n, "?immutable=1");
}

/* A write that was cut off in the middle left a journal: only a connection that may write can put the pages back. */
static void roll_back(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        answers(db);
    sqlite3_close(db);
}

/* On a read-only medium a write-ahead log cannot be attached to; what is in the main file is still readable as it stands. */
static pp_status open_db(struct pp_reader *r, struct pp_err *err)
{
    char journal[PATH_MAX];
    if ((size_t)snprintf(journal, sizeof(journal), "%s-journal", r->path) < sizeof(journal) && access(journal, F_OK) == 0)
        roll_back(r->path);
    if (sqlite3_open_v2(r->path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        sqlite3_extended_result_codes(r->db, 1);
        sqlite3_busy_timeout(r->db, BUSY_MS);
        if (answers(r->db))
            return PP_OK;
    }
    int code = sqlite3_errcode(r->db) & 0xff;
    if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
        char uri[PATH_MAX + 64];
        file_uri(r->path, uri, sizeof(uri));
        sqlite3_close(r->db);
        r->db = NULL;
        if (sqlite3_open_v2(uri, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL) == SQLITE_OK && answers(r->db))
            return PP_OK;
    }
    return pp_db_fail(r->db, err, "cannot read", r->path);
}

pp_status pp_reader_open(const char *path, struct pp_reader **out, struct pp_err *err)
{
    int live;
    *out = NULL;
    if (pp_store_only_rings(path, &live)) {
        uint64_t spans;
        pp_status made = live ? pp_fail(err, PP_E_EMPTY, "%s is being recorded without a collector; its spans are in %s.rings and can be read when the program has ended", path, path)
                              : pp_store_recover(path, &spans, err);
        if (made)
            return made;
    }
    pp_status status = pp_db_check_file(path, err);
    if (status)
        return status;
    struct pp_reader *r = calloc(1, sizeof(*r));
    if (!r || !(r->path = strdup(path)) || !(r->codec = pp_chunk_codec_new())) {
        pp_reader_close(r);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    }
    pp_store_recover(path, &r->waiting, &r->unrecovered); /* a failure is told by pp_reader_each_loss */
    status = open_db(r, err);
    if (status) {
        pp_reader_close(r);
        return status;
    }
    *out = r;
    return PP_OK;
}

void pp_reader_close(struct pp_reader *r)
{
    if (!r)
        return;
    sqlite3_close(r->db);
    while (r->kept) {
        struct kept *k = r->kept;
        r->kept = k->next;
        free(k);
    }
    while (r->threads) {
        struct thread_list *list = r->threads;
        r->threads = list->smaller;
        free(list);
    }
    pp_chunk_codec_free(r->codec);
    free(r->path);
    free(r);
}

/* One query from prepare to finalise: row() until the end, an error of SQLite as a status. */
struct query {
    struct pp_reader *r;
    sqlite3_stmt *st;
    int code;
};

static struct query query(struct pp_reader *r, const char *sql)
{
    struct query q = {.r = r};
    q.code = sqlite3_prepare_v2(r->db, sql, -1, &q.st, NULL);
    return q;
}

static int row(struct query *q)
{
    if (q->code == SQLITE_OK || q->code == SQLITE_ROW)
        q->code = sqlite3_step(q->st);
    return q->code == SQLITE_ROW;
}

static pp_status end(struct query *q, struct pp_err *err)
{
    pp_status status = q->code == SQLITE_DONE || q->code == SQLITE_ROW ? PP_OK : pp_db_fail(q->r->db, err, "cannot read", q->r->path);
    sqlite3_finalize(q->st);
    return status;
}

static const char *text_or_null(struct query *q, int i)
{
    return (const char *)sqlite3_column_text(q->st, i);
}

static const char *text(struct query *q, int i)
{
    const char *t = text_or_null(q, i);
    return t ? t : "";
}

static uint64_t num(struct query *q, int i)
{
    return (uint64_t)sqlite3_column_int64(q->st, i);
}

static uint64_t num_or(struct query *q, int i, uint64_t none)
{
    return sqlite3_column_type(q->st, i) == SQLITE_NULL ? none : num(q, i);
}

static struct query meta_query(struct pp_reader *r, const char *section, const char *key)
{
    struct query q = query(r, "SELECT value FROM meta WHERE section = ? AND key = ?");
    sqlite3_bind_text(q.st, 1, section, -1, SQLITE_STATIC);
    sqlite3_bind_text(q.st, 2, key, -1, SQLITE_STATIC);
    return q;
}

const char *pp_reader_meta(struct pp_reader *r, const char *section, const char *key)
{
    struct query q = meta_query(r, section, key);
    const char *value = row(&q) ? keep(r, text(&q, 0)) : NULL;
    end(&q, NULL);
    return value;
}

static int is_number(struct query *q, int i)
{
    int type = sqlite3_column_type(q->st, i);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

int pp_reader_meta_num(struct pp_reader *r, const char *section, const char *key, double *value)
{
    struct query q = meta_query(r, section, key);
    int there = row(&q) && is_number(&q, 0);
    if (there)
        *value = sqlite3_column_double(q.st, 0);
    end(&q, NULL);
    return there;
}

pp_status pp_reader_each_meta(struct pp_reader *r, const char *section, pp_meta_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, "SELECT key, value, unit FROM meta WHERE section = ? ORDER BY rowid");
    sqlite3_bind_text(q.st, 1, section, -1, SQLITE_STATIC);
    while (row(&q)) {
        int numeric = is_number(&q, 1);
        const char *key = text(&q, 0), *value = text(&q, 1);
        fn(ctx, key, value, text_or_null(&q, 2), numeric);
    }
    return end(&q, err);
}

static pp_lane lane_of(const char *name)
{
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        if (strcmp(pp_lane_name((pp_lane)lane), name) == 0)
            return (pp_lane)lane;
    return PP_LANE_MAIN;
}

/* Room for twice as many. The list before stays where it is: whoever asked for it may still read it. */
static int grow_threads(struct pp_reader *r)
{
    size_t cap = r->threads ? r->threads->cap * 2 : 16;
    struct thread_list *grown = malloc(sizeof(*grown) + cap * sizeof(grown->rows[0]));
    if (!grown)
        return 0;
    *grown = (struct thread_list){.smaller = r->threads, .cap = cap};
    if (r->threads)
        memcpy(grown->rows, r->threads->rows, r->threads->cap * sizeof(grown->rows[0]));
    r->threads = grown;
    return 1;
}

size_t pp_reader_threads(struct pp_reader *r, const struct pp_thread_row **rows)
{
    size_t n = 0;
    struct query q = query(r, "SELECT id, lane, name, pid, tid, recorded, dropped FROM thread ORDER BY id");
    while (row(&q)) {
        if ((!r->threads || n == r->threads->cap) && !grow_threads(r))
            break;
        const char *name = keep(r, text(&q, 2));
        r->threads->rows[n++] = (struct pp_thread_row){
            .id = (uint32_t)num(&q, 0), .lane = lane_of(text(&q, 1)), .name = name ? name : "", .pid = (int64_t)num(&q, 3),
            .tid = (int64_t)num(&q, 4), .recorded = num(&q, 5), .dropped = num(&q, 6),
        };
    }
    end(&q, NULL);
    *rows = r->threads ? r->threads->rows : NULL;
    return n;
}

const char *pp_reader_name(struct pp_reader *r, uint16_t id)
{
    struct query q = query(r, "SELECT text FROM name WHERE id = ?");
    sqlite3_bind_int(q.st, 1, id);
    const char *name = row(&q) ? keep(r, text(&q, 0)) : NULL;
    end(&q, NULL);
    return name;
}

/* The spans of the chunk in the current row, or NULL when its checksum or its format does not hold. */
static const struct pp_span *chunk_in(struct query *q, size_t *n)
{
    const uint8_t *body = sqlite3_column_blob(q->st, 5);
    size_t size = (size_t)sqlite3_column_bytes(q->st, 5);
    uint64_t stated = num(q, 3);
    if (!body || pp_chunk_checksum((uint32_t)num(q, 1), num(q, 2), stated, body, size) != num(q, 4))
        return NULL;
    const struct pp_span *spans = pp_chunk_decode(q->r->codec, body, size, n);
    return spans && *n == stated ? spans : NULL;
}

/* Rows id, thread, seq0, n, checksum, body of q, until the end or until fn says stop; *last_id follows. */
static pp_status walk_chunks(struct query *q, int64_t *last_id, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    uint64_t bad = 0;
    int stop = 0;
    while (!stop && row(q)) {
        size_t n;
        const struct pp_span *spans = chunk_in(q, &n);
        *last_id = (int64_t)num(q, 0);
        if (spans)
            stop = fn(ctx, (uint32_t)num(q, 1), spans, n);
        else
            bad++;
    }
    if (bad_chunks)
        *bad_chunks = bad;
    return end(q, err);
}

pp_status pp_reader_each_chunk_after(struct pp_reader *r, int64_t *last_id, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    struct query q = query(r, "SELECT id, thread, seq0, n, checksum, body FROM chunk WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    return walk_chunks(&q, last_id, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_chunk_between(struct pp_reader *r, uint64_t from_ns, uint64_t to_ns, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    int64_t id = 0;
    struct query q = query(r, "SELECT id, thread, seq0, n, checksum, body FROM chunk WHERE last_end_ns >= ? AND first_start_ns <= ? ORDER BY +id"); /* +: by the index, then sorted */
    sqlite3_bind_int64(q.st, 1, (sqlite3_int64)from_ns);
    sqlite3_bind_int64(q.st, 2, (sqlite3_int64)to_ns);
    return walk_chunks(&q, &id, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_chunk(struct pp_reader *r, pp_spans_fn *fn, void *ctx, uint64_t *bad_chunks, struct pp_err *err)
{
    int64_t from = 0;
    return pp_reader_each_chunk_after(r, &from, fn, ctx, bad_chunks, err);
}

pp_status pp_reader_each_error_after(struct pp_reader *r, int64_t *last_id, pp_error_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, "SELECT t_ns, thread, batch, sample, path, kind, action, reason, count, id FROM error WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    while (row(&q)) {
        struct pp_error_row e = {
            .t_ns = num(&q, 0), .thread = (uint32_t)num_or(&q, 1, UINT32_MAX), .batch = (uint32_t)num_or(&q, 2, PP_NO_BATCH),
            .sample = num_or(&q, 3, PP_NO_SAMPLE), .path = text_or_null(&q, 4), .kind = text(&q, 5), .action = text(&q, 6), .reason = text_or_null(&q, 7), .count = num(&q, 8),
        };
        *last_id = (int64_t)num(&q, 9);
        fn(ctx, &e);
    }
    return end(&q, err);
}

pp_status pp_reader_each_error(struct pp_reader *r, pp_error_fn *fn, void *ctx, struct pp_err *err)
{
    int64_t from = 0;
    return pp_reader_each_error_after(r, &from, fn, ctx, err);
}

pp_status pp_reader_each_queue(struct pp_reader *r, pp_queue_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, "SELECT name, capacity, puts, gets, put_wait_ns, get_wait_ns, mean_depth, share_empty, share_full FROM queue ORDER BY rowid");
    while (row(&q)) {
        struct pp_queue_row w = {
            .name = text(&q, 0), .capacity = num(&q, 1), .puts = num(&q, 2), .gets = num(&q, 3), .put_wait_ns = num(&q, 4), .get_wait_ns = num(&q, 5),
            .mean_depth = sqlite3_column_double(q.st, 6), .share_empty = sqlite3_column_double(q.st, 7), .share_full = sqlite3_column_double(q.st, 8),
        };
        fn(ctx, &w);
    }
    return end(&q, err);
}

pp_status pp_reader_each_counter_after(struct pp_reader *r, int64_t *last_id, pp_counter_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, "SELECT t_ns, name, value, id FROM counter WHERE id > ? ORDER BY id");
    sqlite3_bind_int64(q.st, 1, *last_id);
    while (row(&q)) {
        *last_id = (int64_t)num(&q, 3);
        fn(ctx, num(&q, 0), text(&q, 1), sqlite3_column_double(q.st, 2));
    }
    return end(&q, err);
}

pp_status pp_reader_each_counter(struct pp_reader *r, pp_counter_fn *fn, void *ctx, struct pp_err *err)
{
    int64_t from = 0;
    return pp_reader_each_counter_after(r, &from, fn, ctx, err);
}

static uint32_t id_or_none(const struct query *q, int column)
{
    return sqlite3_column_type(q->st, column) == SQLITE_NULL ? UINT32_MAX : (uint32_t)sqlite3_column_int64(q->st, column);
}

static int int_or_absent(const struct query *q, int column)
{
    return sqlite3_column_type(q->st, column) == SQLITE_NULL ? -1 : sqlite3_column_int(q->st, column);
}

static int has_table(struct pp_reader *r, const char *name, pp_status *status, struct pp_err *err)
{
    struct query known = query(r, "SELECT 1 FROM sqlite_master WHERE name = ?");
    sqlite3_bind_text(known.st, 1, name, -1, SQLITE_STATIC);
    int there = row(&known);
    *status = end(&known, err);
    return there;
}

pp_status pp_reader_each_open_phase(struct pp_reader *r, uint64_t from_ns, uint64_t to_ns, pp_open_phase_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!has_table(r, "open_phase", &status, err) || status)
        return status;
    struct query q = query(r, "SELECT t_ns, thread, phase, batch, sample, since_ns, path FROM open_phase WHERE t_ns >= ? AND t_ns <= ? ORDER BY t_ns, thread");
    sqlite3_bind_int64(q.st, 1, (sqlite3_int64)from_ns);
    sqlite3_bind_int64(q.st, 2, to_ns > INT64_MAX ? INT64_MAX : (sqlite3_int64)to_ns);
    while (row(&q))
        fn(ctx, &(struct pp_open_phase_row){.t_ns = num(&q, 0), .thread = (uint32_t)num(&q, 1), .phase = (unsigned)num(&q, 2), .batch = (uint32_t)num_or(&q, 3, PP_NO_BATCH),
                                            .sample = num_or(&q, 4, PP_NO_SAMPLE), .since_ns = num(&q, 5), .path = text_or_null(&q, 6)});
    return end(&q, err);
}

pp_status pp_reader_each_gpu(struct pp_reader *r, pp_gpu_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!has_table(r, "gpu_batch", &status, err) || status) /* a file from before these tables */
        return status;
    struct query q = query(r, "SELECT g.kind, g.name, g.source, g.target, g.start_ns, g.dur_ns, g.bytes, b.batch, g.correlation, g.device, g.context, g.stream, g.thread,"
                              " g.asynchronous, g.result FROM gpu g LEFT JOIN gpu_batch b ON b.correlation = g.correlation ORDER BY g.id");
    while (row(&q))
        fn(ctx, &(struct pp_gpu_row){.kind = text(&q, 0), .name = text_or_null(&q, 1), .source = text_or_null(&q, 2), .target = text_or_null(&q, 3), .start_ns = num(&q, 4),
                                     .dur_ns = num(&q, 5), .bytes = num(&q, 6), .batch = id_or_none(&q, 7), .correlation = id_or_none(&q, 8), .device = id_or_none(&q, 9),
                                     .context = id_or_none(&q, 10), .stream = id_or_none(&q, 11), .thread = id_or_none(&q, 12), .asynchronous = int_or_absent(&q, 13),
                                     .result = int_or_absent(&q, 14)});
    return end(&q, err);
}

pp_status pp_reader_each_loss(struct pp_reader *r, pp_loss_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, "SELECT what, count, why FROM loss ORDER BY rowid");
    while (row(&q))
        fn(ctx, text(&q, 0), num(&q, 1), text(&q, 2));
    if (r->unrecovered.code)
        fn(ctx, "spans in ring files", r->waiting, r->unrecovered.text);
    return end(&q, err);
}

static double number_or_nan(struct query *q, int i)
{
    return is_number(q, i) ? sqlite3_column_double(q->st, i) : NAN;
}

pp_status pp_reader_each_proof(struct pp_reader *r, pp_proof_fn *fn, void *ctx, struct pp_err *err)
{
    pp_status status;
    if (!has_table(r, "proof", &status, err) || status) /* recorded by an older version */
        return status;
    struct query q = query(r, "SELECT kind, change, value, base_samples_per_s, predicted_samples_per_s, predicted_low, predicted_high, measured_samples_per_s, measured_low,"
                              " measured_high, rounds, ballast_cpus, recording FROM proof ORDER BY rowid");
    while (row(&q))
        fn(ctx, &(struct pp_proof_row){
                    .kind = text(&q, 0), .change = text(&q, 1), .value = text(&q, 2), .base = number_or_nan(&q, 3), .predicted = number_or_nan(&q, 4),
                    .predicted_low = number_or_nan(&q, 5), .predicted_high = number_or_nan(&q, 6), .measured = number_or_nan(&q, 7), .measured_low = number_or_nan(&q, 8),
                    .measured_high = number_or_nan(&q, 9), .rounds = num(&q, 10), .ballast_cpus = number_or_nan(&q, 11), .recording = text_or_null(&q, 12),
                });
    return end(&q, err);
}

/* Rows second, thread, phase, sums, hist, rowid of q; *last_id follows. */
static pp_status walk_seconds(struct query *q, int64_t *last_id, pp_second_fn *fn, void *ctx, struct pp_err *err)
{
    while (row(q)) {
        struct pp_second_row s = {
            .second = num(q, 0), .thread = (uint32_t)num(q, 1), .phase = (unsigned)num(q, 2), .n = num(q, 3), .total_ns = num(q, 4),
            .max_ns = num(q, 5), .cpu_ns = num(q, 6), .run_delay_ns = num(q, 7), .bytes = num(q, 8), .cache_hit_kib = num(q, 9),
            .hist = sqlite3_column_blob(q->st, 10), .hist_bytes = (size_t)sqlite3_column_bytes(q->st, 10),
        };
        *last_id = (int64_t)num(q, 11);
        fn(ctx, &s);
    }
    return end(q, err);
}

#define SECOND_COLUMNS "SELECT second, thread, phase, n, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, hist, rowid FROM rollup_second"

pp_status pp_reader_each_second(struct pp_reader *r, uint64_t from_second, pp_second_fn *fn, void *ctx, struct pp_err *err)
{
    int64_t id = 0;
    struct query q = query(r, SECOND_COLUMNS " WHERE second >= ? ORDER BY rowid");
    sqlite3_bind_int64(q.st, 1, (sqlite3_int64)from_second);
    return walk_seconds(&q, &id, fn, ctx, err);
}

pp_status pp_reader_each_second_after(struct pp_reader *r, int64_t *last_id, pp_second_fn *fn, void *ctx, struct pp_err *err)
{
    struct query q = query(r, SECOND_COLUMNS " WHERE rowid > ? ORDER BY rowid");
    sqlite3_bind_int64(q.st, 1, *last_id);
    return walk_seconds(&q, last_id, fn, ctx, err);
}

static const uint8_t *get_varint(const uint8_t *p, const uint8_t *stop, uint32_t *out)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 32 && p < stop; shift += 7) {
        v |= (uint32_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *out = v;
            return p;
        }
    }
    return NULL;
}

/* The next bucket that is not empty; NULL for a damaged blob. */
static const uint8_t *next_bucket(const uint8_t *p, const uint8_t *stop, uint64_t *bucket, uint32_t *count)
{
    uint32_t step;
    p = get_varint(p, stop, &step);
    p = p ? get_varint(p, stop, count) : NULL;
    if (!p)
        return NULL;
    *bucket += step;
    return *bucket < PP_HIST_BUCKETS ? p : NULL;
}

int pp_second_hist(const struct pp_second_row *s, struct pp_hist *into)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, total = 0;
    uint32_t count;
    while (p && p < stop) {
        p = next_bucket(p, stop, &bucket, &count);
        if (!p)
            return 0;
        into->bucket[bucket] += count;
        total += count;
    }
    if (total != s->n)
        return 0;
    if (total && into->min > s->max_ns)
        into->min = 0; /* the least value is not stored; 0 keeps quantiles inside their bucket */
    into->count += total;
    into->sum += s->total_ns;
    into->max = s->max_ns > into->max ? s->max_ns : into->max;
    return 1;
}

uint64_t pp_second_at_least(const struct pp_second_row *s, uint64_t ns)
{
    const uint8_t *p = s->hist, *stop = p + s->hist_bytes;
    uint64_t bucket = 0, low, high, n = 0;
    uint32_t count;
    while (p && p < stop && (p = next_bucket(p, stop, &bucket, &count))) {
        pp_rollup_bucket_range((uint32_t)bucket, &low, &high);
        n += high >= ns ? count : 0;
    }
    return n;
}
