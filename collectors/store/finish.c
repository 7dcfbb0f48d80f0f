/* The end of a run's file: plain rows from the chunks, indexes, one ordinary database file. */
#include "collectors/store/store.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <signal.h>

#define ROWS_PER_TRANSACTION 200000u
#define ROW_BYTES 60u

enum { LEAVE_TRIES = 50, LEAVE_PAUSE_MS = 20 };

struct rows {
    struct pp_store *store;
    sqlite3_stmt *insert, *counter;
    uint64_t total, written, in_transaction;
    uint64_t keep_below; /* a batch is kept when its hash is below; UINT64_MAX: all are */
};

static pp_status walk_chunks(struct rows *r)
{
    struct pp_store *store = r->store;
    sqlite3_stmt *st = NULL;
    pp_status status = PP_OK;
    int code = sqlite3_prepare_v2(store->db, "SELECT thread, body FROM chunk ORDER BY id", -1, &st, NULL);
    while (code == SQLITE_OK && !status && (code = sqlite3_step(st)) == SQLITE_ROW) {
        size_t n;
        uint32_t thread = (uint32_t)sqlite3_column_int64(st, 0);
        const struct pp_span *spans = pp_chunk_decode(store->codec, sqlite3_column_blob(st, 1),
                                                      (size_t)sqlite3_column_bytes(st, 1), &n);
        /* One that does not decode: the reader reports it. */
        for (size_t i = 0; spans && i < n && !status; i++) {
            const struct pp_span *s = &spans[i];
            int counter = s->phase == PP_PHASE_COUNTER, counts = s->flags & PP_SPAN_COUNT;
            /* Whole batches stay together; spans without a batch go by the second they started in. */
            uint64_t group = s->batch != PP_NO_BATCH ? s->batch : 1ull << 40 | s->start_ns / 1000000000u;
            int kept = r->keep_below == UINT64_MAX || pp_mix64(group + 0x9e3779b97f4a7c15u) < r->keep_below;
            if (!kept && !(counter && !store->max_bytes))
                continue;
            r->written += !counter;
            sqlite3_stmt *row = counter ? r->counter : r->insert;
            if (counter)
                pp_row_bind(row, PP_ROW(v_int(s->start_ns), v_int(s->name), v_int(s->bytes)));
            else
                pp_row_bind(row, PP_ROW(v_int(thread), v_int(s->phase), v_int(s->start_ns), v_int(s->dur_ns),
                                        v_int(s->epoch), v_unless(s->batch, PP_NO_BATCH),
                                        v_if(!counts && s->sample != PP_NO_SAMPLE, s->sample),
                                        v_if(counts, s->sample), v_int(s->bytes),
                                        v_if(s->flags & PP_SPAN_HAS_CPU, s->cpu_ns),
                                        v_if(s->flags & PP_SPAN_HAS_DELAY, s->run_delay_ns),
                                        v_if(s->flags & PP_SPAN_HAS_CACHE, s->cache_hit_kib),
                                        v_unless(s->name, 0), v_int(s->flags)));
            int inserted = sqlite3_step(row) == SQLITE_DONE;
            sqlite3_reset(row);
            if (!inserted) {
                status = pp_store_fail(store, "cannot write plain span rows to");
            } else if (++r->in_transaction == ROWS_PER_TRANSACTION) {
                r->in_transaction = 0;
                status = pp_store_flush(store);
                status = status ? status : pp_store_begin(store);
            }
        }
        code = SQLITE_OK;
    }
    if (!status && code != SQLITE_DONE)
        status = pp_store_fail(store, "cannot read spans back from");
    sqlite3_finalize(st);
    return status;
}

static pp_status write_plain_rows(struct pp_store *s)
{
    struct rows r = {.store = s,
                     .keep_below = UINT64_MAX,
                     .total = (uint64_t)pp_db_number(s->db, "SELECT sum(n) FROM chunk", 0)};
    if (r.total > s->max_rows)
        r.keep_below = (uint64_t)((double)s->max_rows / (double)r.total * 0x1p64);
    pp_status status = pp_store_begin(s);
    /* Rows of an attempt that was killed half way are not trusted. Counters carried by spans are told from
     * the monitor's by name. */
    if (!status &&
        sqlite3_exec(s->db, "DELETE FROM span; DELETE FROM counter WHERE name IN (SELECT text FROM name)",
                     NULL, NULL, NULL) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write plain span rows to");
    if (!status &&
        (sqlite3_prepare_v2(
             s->db,
             "INSERT INTO span(thread, phase, start_ns, dur_ns, epoch, batch, sample, samples, bytes, cpu_ns, run_delay_ns,"
             " cache_hit_kib, name, flags) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
             -1, &r.insert, NULL) != SQLITE_OK ||
         sqlite3_prepare_v2(
             s->db,
             "INSERT INTO counter(t_ns, name, value) VALUES(?1, coalesce((SELECT text FROM name WHERE id = ?2), 'counter ' || ?2), ?3)",
             -1, &r.counter, NULL) != SQLITE_OK))
        status = pp_store_fail(s, "cannot write plain span rows to");
    if (!status)
        status = walk_chunks(&r);
    sqlite3_finalize(r.insert);
    sqlite3_finalize(r.counter);
    if (status)
        return status;
    pp_store_put_meta(s, "run", "spans", (double)r.total);
    pp_store_put_meta(s, "run", "span_rows", (double)r.written);
    if (r.keep_below != UINT64_MAX) {
        char why[160];
        snprintf(
            why, sizeof(why),
            "table span is a sample of whole batches, at most about %llu rows; the chunks hold every span",
            (unsigned long long)s->max_rows);
        status = pp_store_put_loss(s, "span_rows", r.total - r.written, why);
    }
    return status ? status : pp_store_flush(s);
}

pp_status pp_store_finish(struct pp_store *s, struct pp_err *err)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = s->db ? pp_store_flush(s) : PP_E_USAGE;
    if (status && !s->failure.code) {
        pp_fail(err, status, "%s is already finished", s->path);
        goto out;
    }
    if (!status) {
        if (pp_rollup_gave_up_batches(s->rollup))
            pp_store_put_loss(s, "rollup_batch", 0,
                              "batches arrived too fast for the roll-ups; the spans hold them");
        if (s->over_bytes)
            pp_store_put_loss(s, "spans", s->over_bytes, "the file had reached its --max-bytes");
        status = pp_store_flush(s);
    }
    if (!status)
        status = pp_store_check_place(s);
    /* Rows go through the rollback journal: the log would write each page twice. A live reader may keep the
     * log alive; then they do. */
    if (!status) {
        pp_store_end_checkpoints(s);
        sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        sqlite3_busy_timeout(s->db, 200);
        /* Leaving the log takes the whole file for a moment, and SQLite asks for it only once. Our own live
         * readers (report/live) have the file open for milliseconds at a time, so asking again soon finds a
         * gap; one that holds on keeps its log. A full disk does not pass by. */
        for (int i = 0; i < LEAVE_TRIES && !pp_db_journal_mode(s->db, "delete"); i++) {
            int code = sqlite3_errcode(s->db) & 0xff;
            if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_LOCKED)
                break;
            sqlite3_sleep(LEAVE_PAUSE_MS);
        }
        /* Plain rows take what is left of the limit: about 60 bytes each, with their index. */
        uint64_t used = pp_db_bytes(s->db),
                 rows = used < s->max_bytes ? (s->max_bytes - used) / ROW_BYTES : 0;
        if (s->max_bytes && rows < s->max_rows)
            s->max_rows = rows;
        status = write_plain_rows(s);
    }
    if (!status && sqlite3_exec(s->db, pp_schema_finish, NULL, NULL, NULL) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write indexes to");
    if (s->lost || s->index_cut)
        pp_fail(err, status, "%s", s->failure.text);
    else if (status && (s->failure.code == PP_E_CORRUPT || pp_db_check_file(s->path, NULL) != PP_OK))
        /* Another program that overwrote the file in place, by its name, took more than this transaction. */
        pp_fail(
            err, status,
            "%s (another program has written into the file: what was recorded can be lost; record again to a path that nothing else writes)",
            s->failure.text);
    else if (status)
        pp_fail(err, status, "%s (the %llu committed spans stay readable)", s->failure.text,
                (unsigned long long)pp_db_number(s->db, "SELECT sum(n) FROM chunk", 0));
    pp_store_release_db(s);
out:
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- the log's way into the file ---- */

struct pp_checkpoint {
    struct pp_checkpoint_opts opts;
    char *path;
    pthread_t thread;
    int made;             /* the thread; only the committing thread asks */
    pthread_mutex_t lock; /* of the next three */
    pthread_cond_t changed;
    int wanted, failed, stop;
    uint64_t cpu_ns; /* __atomic */
};

static void *checkpoint_main(void *arg)
{
    struct pp_checkpoint *c = arg;
    pthread_setname_np(pthread_self(), "pp-checkpoint");
    sqlite3 *db = NULL;
    int failed = sqlite3_open_v2(c->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
                     SQLITE_OK ||
                 sqlite3_exec(db, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0", NULL, NULL,
                              NULL) != SQLITE_OK;
    pthread_mutex_lock(&c->lock);
    c->failed = failed;
    while (!c->stop && !c->failed) {
        if (!c->wanted) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        c->wanted = 0;
        pthread_mutex_unlock(&c->lock);
        sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        __atomic_store_n(&c->cpu_ns, pp_thread_cpu_ns(), __ATOMIC_RELAXED);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    sqlite3_close(db);
    return NULL;
}

static int on_commit(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct pp_checkpoint *c = ctx;
    int asked = 0;
    if (pages < c->opts.from)
        return SQLITE_OK;
    if (pages < c->opts.most) { /* else a thread that was asked as well would be in the way */
        pthread_mutex_lock(&c->lock);
        c->wanted = asked = !c->failed;
        pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->lock);
    }
    if (asked && !c->made) {
        sigset_t all, before;
        sigfillset(&all); /* signals are for the program's own threads */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        c->made = asked = pthread_create(&c->thread, NULL, checkpoint_main, c) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!asked)
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK; /* the commit succeeded, whatever became of its log */
}

struct pp_checkpoint *pp_checkpoint_new(const struct pp_checkpoint_opts *opts)
{
    struct pp_checkpoint *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->opts = *opts;
    c->path = strdup(opts->path);
    if (!c->path) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    sqlite3_wal_hook(opts->db, on_commit, c);
    return c;
}

uint64_t pp_checkpoint_cpu_ns(const struct pp_checkpoint *c)
{
    return c ? __atomic_load_n(&c->cpu_ns, __ATOMIC_RELAXED) : 0;
}

void pp_checkpoint_free(struct pp_checkpoint *c)
{
    if (!c)
        return;
    sqlite3_wal_autocheckpoint(c->opts.db, c->opts.from); /* takes the place of the hook */
    if (c->made) {
        pthread_mutex_lock(&c->lock);
        c->stop = 1;
        pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->path);
    free(c);
}
