/* The rows of the roll-ups. */
#include "collectors/store/rollup_impl.h"

#include "collectors/store/db.h"

#include <string.h>

#define ROWS_AT_ONCE 32 /* a statement's set-up costs as much as some rows of it */

/* Files of version 1 have one row per batch and phase. */
static int prepare_batch(sqlite3 *db, int rows, sqlite3_stmt **out)
{
    static const char row[] = "(?,?,?,?,?,?,?,?,?,?,?)";
    char sql[1024 + ROWS_AT_ONCE * sizeof(row)] = "INSERT INTO rollup_batch VALUES";
    for (int i = 0; i < rows; i++)
        strcat(strcat(sql, i ? "," : ""), row);
    if (pp_db_version(db) < 2) /* 0: it could not be read, and this fails where it is not so */
        strcat(
            sql,
            " ON CONFLICT(batch, phase) DO UPDATE SET n = n + excluded.n,"
            " samples = samples + excluded.samples, total_ns = total_ns + excluded.total_ns, max_ns = max(max_ns, excluded.max_ns),"
            " cpu_ns = cpu_ns + excluded.cpu_ns, run_delay_ns = run_delay_ns + excluded.run_delay_ns, bytes = bytes + excluded.bytes,"
            " first_start_ns = min(first_start_ns, excluded.first_start_ns), last_end_ns = max(last_end_ns, excluded.last_end_ns)");
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

int pp_rollup_prepare(struct pp_rollup *r)
{
    int code = sqlite3_prepare_v3(r->db, "INSERT INTO rollup_second VALUES(?,?,?,?,?,?,?,?,?,?,?)", -1,
                                  SQLITE_PREPARE_PERSISTENT, &r->second, NULL);
    if (code == SQLITE_OK)
        code = prepare_batch(r->db, 1, &r->batch);
    return code == SQLITE_OK ? prepare_batch(r->db, ROWS_AT_ONCE, &r->many_batches) : code;
}

void pp_rollup_finalize(struct pp_rollup *r)
{
    sqlite3_finalize(r->second);
    sqlite3_finalize(r->batch);
    sqlite3_finalize(r->many_batches);
}

static uint8_t *put_varint(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* The histogram in bucket order; it is empty afterwards. */
static size_t encode_hist(struct phase_part *p, uint8_t *blob)
{
    uint8_t *out = blob;
    uint32_t last = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++) {
        for (uint64_t left = p->touched[word]; left; left &= left - 1) {
            uint32_t b = word * 64 + (uint32_t)__builtin_ctzll(left);
            out = put_varint(out, b - last);
            out = put_varint(out, p->bucket[b]);
            last = b;
            p->bucket[b] = 0;
        }
        p->touched[word] = 0;
    }
    return (size_t)(out - blob);
}

static int run(sqlite3_stmt *st)
{
    int code = sqlite3_step(st);
    int reset = sqlite3_reset(st);
    return code == SQLITE_DONE ? reset : code;
}

static void bind_all(sqlite3_stmt *st, int first, const uint64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(st, first + i, (sqlite3_int64)v[i]);
}

int pp_rollup_put_phase(struct pp_rollup *r, unsigned phase)
{
    struct phase_part *p = r->phase[phase];
    const struct sums *s = &p->sums;
    bind_all(r->second, 1,
             (const uint64_t[]){r->second_start_ns / SECOND_NS, r->thread, phase, s->n, s->total_ns,
                                s->max_ns, s->cpu_ns, s->run_delay_ns, s->bytes, s->cache_hit_kib},
             10);
    sqlite3_bind_blob(r->second, 11, r->blob, (int)encode_hist(p, r->blob), SQLITE_STATIC);
    memset(&p->sums, 0, sizeof(p->sums));
    return run(r->second);
}

static void bind_batch(sqlite3_stmt *st, int row, const struct batch_part *b)
{
    const struct sums *s = &b->sums;
    const uint64_t column[] = {b->key >> 8, b->key & 0xff,     s->n,          s->samples,
                               s->total_ns, s->max_ns,         s->cpu_ns,     s->run_delay_ns,
                               s->bytes,    s->first_start_ns, s->last_end_ns};
    enum { COLUMNS = sizeof(column) / sizeof(column[0]) };
    bind_all(st, 1 + row * COLUMNS, column, COLUMNS);
}

int pp_rollup_put_batches(struct pp_rollup *r)
{
    int code = SQLITE_OK;
    for (size_t i = 0, rows; i < r->n_batches && code == SQLITE_OK; i += rows) {
        rows = r->n_batches - i < ROWS_AT_ONCE ? 1 : ROWS_AT_ONCE;
        sqlite3_stmt *st = rows == 1 ? r->batch : r->many_batches;
        for (size_t k = 0; k < rows; k++)
            bind_batch(st, (int)k, &r->batches[i + k]);
        code = run(st);
    }
    return code;
}

int pp_rollup_delete_batches(struct pp_rollup *r)
{
    return sqlite3_exec(r->db, "DELETE FROM rollup_batch", NULL, NULL, NULL);
}
