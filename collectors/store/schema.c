/* The schema of a run's file; docs/reference/file-format.md describes every column. A change that an older
 * reader would misread raises PP_STORE_VERSION. */
#include "collectors/store/db.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#define PROOF_TABLE \
    "CREATE TABLE IF NOT EXISTS proof(kind TEXT NOT NULL, change TEXT NOT NULL, value TEXT NOT NULL, base_samples_per_s REAL, predicted_samples_per_s REAL," \
    " predicted_low REAL, predicted_high REAL, measured_samples_per_s REAL, measured_low REAL, measured_high REAL, rounds INTEGER NOT NULL, ballast_cpus REAL," \
    " recording TEXT);"

const char pp_schema_empty_proof[] = PROOF_TABLE "DELETE FROM proof;";

const char pp_schema_tables[] =
    "CREATE TABLE meta(section TEXT NOT NULL, key TEXT NOT NULL, value, unit TEXT, UNIQUE(section, key));"
    "CREATE TABLE phase(id INTEGER PRIMARY KEY, name TEXT NOT NULL, lane TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE TABLE thread(id INTEGER PRIMARY KEY, lane TEXT NOT NULL, name TEXT NOT NULL, pid INTEGER, tid INTEGER,"
    " recorded INTEGER NOT NULL, dropped INTEGER NOT NULL);"
    "CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    /* body and checksum: store/chunk.h */
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq0 INTEGER NOT NULL, n INTEGER NOT NULL,"
    " first_start_ns INTEGER NOT NULL, last_end_ns INTEGER NOT NULL, checksum INTEGER NOT NULL, body BLOB NOT NULL, next_seq INTEGER);"
    /* A live view asks for the chunks of a moment, however long the run. */
    "CREATE INDEX chunk_by_end ON chunk(last_end_ns, first_start_ns);"
    "CREATE TABLE span(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, phase INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
    " dur_ns INTEGER NOT NULL, epoch INTEGER NOT NULL, batch INTEGER, sample INTEGER, samples INTEGER, bytes INTEGER NOT NULL,"
    " cpu_ns INTEGER, run_delay_ns INTEGER, cache_hit_kib INTEGER, name INTEGER, flags INTEGER NOT NULL);"
    "CREATE TABLE error(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, thread INTEGER, batch INTEGER, sample INTEGER, path TEXT,"
    " kind TEXT NOT NULL, action TEXT NOT NULL, reason TEXT, count INTEGER NOT NULL DEFAULT 1);"
    "CREATE TABLE queue(name TEXT PRIMARY KEY, capacity INTEGER, puts INTEGER, gets INTEGER, put_wait_ns INTEGER, get_wait_ns INTEGER,"
    " mean_depth REAL, share_empty REAL, share_full REAL);"
    "CREATE TABLE counter(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL);"
    /* What the GPU did; batch by correlation: v_gpu. Empty without CUPTI. */
    "CREATE TABLE gpu(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, start_ns INTEGER NOT NULL, dur_ns INTEGER NOT NULL, correlation INTEGER,"
    " device INTEGER, context INTEGER, stream INTEGER, thread INTEGER, bytes INTEGER, source TEXT, target TEXT, asynchronous INTEGER, name TEXT, result INTEGER);"
    "CREATE TABLE gpu_batch(correlation INTEGER PRIMARY KEY, batch INTEGER NOT NULL);"
    "CREATE TABLE gpu_clock(t_ns INTEGER NOT NULL, offset_ns INTEGER NOT NULL, error_ns INTEGER NOT NULL);"
    /* What each thread was in, looked at once a second; the newest rows of a long run. since_ns: when it
       began. */
    "CREATE TABLE open_phase(t_ns INTEGER NOT NULL, thread INTEGER NOT NULL, phase INTEGER NOT NULL, batch INTEGER, sample INTEGER, since_ns INTEGER NOT NULL,"
    " path TEXT, PRIMARY KEY(t_ns, thread)) WITHOUT ROWID;"
    /* What the samplers of a PyTorch job gave; list: probe/base/sample_list.h. */
    "CREATE TABLE sample_order(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, loader INTEGER NOT NULL, epoch INTEGER NOT NULL, first_batch INTEGER NOT NULL,"
    " batches INTEGER NOT NULL, samples INTEGER NOT NULL, ended INTEGER NOT NULL, list BLOB NOT NULL);"
    /* What of it was trained on, why the order was as it was, when state was saved and restored, what the
       samples were. */
    "CREATE TABLE batch_use(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, loader INTEGER NOT NULL, epoch INTEGER NOT NULL, first_batch INTEGER NOT NULL,"
    " batches INTEGER NOT NULL, trained INTEGER NOT NULL, step INTEGER NOT NULL);"
    "CREATE TABLE iteration_fact(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, loader INTEGER NOT NULL, epoch INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);"
    "CREATE TABLE state_event(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, t_ns INTEGER NOT NULL, dur_ns INTEGER, action TEXT NOT NULL, via TEXT NOT NULL, path TEXT,"
    " place TEXT, value TEXT, iterations INTEGER NOT NULL, batch INTEGER, step INTEGER NOT NULL, UNIQUE(pid, t_ns));"
    "CREATE TABLE batch_content(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, batch INTEGER NOT NULL, samples INTEGER NOT NULL, content BLOB NOT NULL, files BLOB NOT NULL);"
    /* Requests to remote storages; the newest of a long run. The times are parts of one stretch, in this
       order. */
    "CREATE TABLE request(id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, queue_ns INTEGER NOT NULL, resolve_ns INTEGER NOT NULL, connect_ns INTEGER NOT NULL,"
    " tls_ns INTEGER NOT NULL, first_byte_ns INTEGER NOT NULL, transfer_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL, bytes INTEGER NOT NULL, status INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, epoch INTEGER, sample INTEGER, flags INTEGER NOT NULL, place INTEGER);"
    "CREATE TABLE request_place(id INTEGER PRIMARY KEY, address TEXT NOT NULL, prefix TEXT NOT NULL);"
    /* Python stacks of the job's threads, read once in a while: samples of a trie, the newest of a long run,
       and the older ones summed. */
    "CREATE TABLE stack_function(id INTEGER PRIMARY KEY, function TEXT NOT NULL, file TEXT NOT NULL, first_line INTEGER NOT NULL);"
    "CREATE TABLE stack(id INTEGER PRIMARY KEY, parent INTEGER, function INTEGER NOT NULL, line INTEGER, op INTEGER);"
    "CREATE TABLE stack_op(id INTEGER PRIMARY KEY, path TEXT NOT NULL, class TEXT NOT NULL, arguments TEXT NOT NULL);"
    "CREATE TABLE stack_thread(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, tid INTEGER NOT NULL);"
    "CREATE TABLE stack_sample(t_ns INTEGER NOT NULL, thread INTEGER NOT NULL, stack INTEGER NOT NULL, state TEXT, flags INTEGER NOT NULL);"
    "CREATE TABLE stack_rollup(minute INTEGER NOT NULL, thread INTEGER NOT NULL, stack INTEGER NOT NULL, state TEXT, n INTEGER NOT NULL);"
    /* What the threads of the job's processes did, looked at from outside; a character of states per thread
       (rows.h). */
    "CREATE TABLE native_thread(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT NOT NULL);"
    "CREATE TABLE thread_look(t_ns INTEGER NOT NULL, states TEXT NOT NULL);"
    "CREATE TABLE loss(what TEXT NOT NULL, count INTEGER NOT NULL, why TEXT NOT NULL);" PROOF_TABLE
    /* Both roll-ups grow with the chunks, in the same transactions, and hold parts: sum over (second, thread,
     * phase), over (batch, phase). A row that is appended costs a third of one looked up and changed. */
    "CREATE TABLE rollup_second(second INTEGER NOT NULL, thread INTEGER NOT NULL, phase INTEGER NOT NULL, n INTEGER NOT NULL,"
    " total_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL, run_delay_ns INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " cache_hit_kib INTEGER NOT NULL, hist BLOB NOT NULL, samples INTEGER);"
    "CREATE TABLE rollup_batch(batch INTEGER NOT NULL, phase INTEGER NOT NULL, n INTEGER NOT NULL, samples INTEGER NOT NULL,"
    " total_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL, run_delay_ns INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " first_start_ns INTEGER NOT NULL, last_end_ns INTEGER NOT NULL);"

    "CREATE VIEW v_span AS SELECT s.id, t.name AS thread, t.lane, p.name AS phase, p.kind, s.start_ns, s.dur_ns, s.epoch, s.batch, s.sample,"
    " s.samples, s.bytes, s.cpu_ns, s.run_delay_ns, s.cache_hit_kib, n.text AS name, s.flags"
    " FROM span s LEFT JOIN thread t ON t.id = s.thread LEFT JOIN phase p ON p.id = s.phase LEFT JOIN name n ON n.id = s.name;"
    "CREATE VIEW v_phase_summary AS SELECT p.name AS phase, p.lane, p.kind, sum(r.n) AS count, sum(r.total_ns) / 1e9 AS total_s,"
    " sum(r.total_ns) / 1e6 / sum(r.n) AS mean_ms, max(r.max_ns) / 1e6 AS max_ms, sum(r.cpu_ns) / 1e9 AS cpu_s,"
    " sum(r.run_delay_ns) / 1e9 AS run_delay_s, sum(r.bytes) AS bytes"
    " FROM rollup_second r LEFT JOIN phase p ON p.id = r.phase GROUP BY r.phase ORDER BY total_s DESC;"
    "CREATE VIEW v_worker AS SELECT t.id AS thread, t.name, p.name AS phase, p.kind, sum(r.n) AS count, sum(r.total_ns) / 1e9 AS total_s,"
    " sum(r.cpu_ns) / 1e9 AS cpu_s, sum(r.run_delay_ns) / 1e9 AS run_delay_s, sum(r.bytes) AS bytes"
    " FROM rollup_second r JOIN thread t ON t.id = r.thread LEFT JOIN phase p ON p.id = r.phase WHERE t.lane IN ('worker', 'reader')"
    " GROUP BY r.thread, r.phase ORDER BY t.id, total_s DESC;"
    "CREATE VIEW v_second AS SELECT r.second, p.name AS phase, p.kind, sum(r.n) AS count, sum(r.total_ns) / 1e9 AS total_s, sum(r.bytes) AS bytes"
    " FROM rollup_second r LEFT JOIN phase p ON p.id = r.phase GROUP BY r.second, r.phase;"
    "CREATE VIEW v_batch AS SELECT r.batch, max(r.samples) AS samples,"
    " sum(CASE WHEN p.name = 'data_wait' THEN r.total_ns END) / 1e6 AS data_wait_ms,"
    " sum(CASE WHEN p.name = 'h2d' THEN r.total_ns END) / 1e6 AS h2d_ms,"
    " sum(CASE WHEN p.name = 'device_sync' THEN r.total_ns END) / 1e6 AS device_sync_ms,"
    " sum(CASE WHEN p.name = 'step' THEN r.total_ns END) / 1e6 AS step_ms,"
    " sum(CASE WHEN p.name = 'read' THEN r.total_ns END) / 1e6 AS read_ms,"
    " sum(CASE WHEN p.name = 'decode' THEN r.total_ns END) / 1e6 AS decode_ms,"
    " sum(CASE WHEN p.name = 'transform' THEN r.total_ns END) / 1e6 AS transform_ms,"
    " max(CASE WHEN p.name = 'read' THEN r.max_ns END) / 1e6 AS slowest_read_ms,"
    " max(CASE WHEN p.name = 'decode' THEN r.max_ns END) / 1e6 AS slowest_decode_ms,"
    " sum(CASE WHEN p.name = 'collective' THEN r.total_ns END) / 1e6 AS collective_ms"
    " FROM (SELECT batch, phase, sum(samples) AS samples, sum(total_ns) AS total_ns, max(max_ns) AS max_ns FROM rollup_batch GROUP BY batch, phase) r"
    " LEFT JOIN phase p ON p.id = r.phase GROUP BY r.batch;"
    "CREATE VIEW v_stall AS SELECT batch, data_wait_ms, step_ms, read_ms, decode_ms, transform_ms, h2d_ms, slowest_read_ms, slowest_decode_ms"
    " FROM v_batch WHERE data_wait_ms > 0 ORDER BY data_wait_ms DESC;"
    "CREATE VIEW v_gpu AS SELECT g.id, b.batch, g.kind, g.name, g.start_ns, g.dur_ns, g.correlation, g.device, g.context, g.stream, g.thread, g.bytes, g.source, g.target,"
    " g.asynchronous, g.result FROM gpu g LEFT JOIN gpu_batch b ON b.correlation = g.correlation;"
    "CREATE VIEW v_gpu_summary AS SELECT kind, name, source, count(*) AS count, sum(dur_ns) / 1e9 AS total_s, sum(dur_ns) / 1e6 / count(*) AS mean_ms,"
    " max(dur_ns) / 1e6 AS max_ms, sum(bytes) AS bytes FROM gpu GROUP BY kind, name, source ORDER BY total_s DESC;"
    "CREATE VIEW v_request AS SELECT r.id, r.start_ns, (r.queue_ns + r.resolve_ns + r.connect_ns + r.tls_ns + r.first_byte_ns + r.transfer_ns) / 1e6 AS total_ms,"
    " r.queue_ns / 1e6 AS queue_ms, r.resolve_ns / 1e6 AS resolve_ms, r.connect_ns / 1e6 AS connect_ms, r.tls_ns / 1e6 AS tls_ms,"
    " r.first_byte_ns / 1e6 AS first_byte_ms, r.transfer_ns / 1e6 AS transfer_ms, r.cpu_ns / 1e6 AS cpu_ms, r.bytes, r.status, r.attempt, r.epoch, r.sample,"
    " r.flags, p.address, p.prefix FROM request r LEFT JOIN request_place p ON p.id = r.place;"
    "CREATE VIEW v_request_summary AS SELECT p.address, p.prefix, r.status, count(*) AS count, sum(r.bytes) AS bytes, avg(r.first_byte_ns) / 1e6 AS mean_first_byte_ms,"
    " max(r.first_byte_ns) / 1e6 AS max_first_byte_ms, avg(r.transfer_ns) / 1e6 AS mean_transfer_ms, sum(r.flags & 1) AS connections"
    " FROM request r LEFT JOIN request_place p ON p.id = r.place GROUP BY r.place, r.status ORDER BY count DESC;"
    /* Each stack that was seen with the frames above it; a function that calls itself counts once. */
    "CREATE VIEW v_stack_line AS WITH RECURSIVE seen AS (SELECT stack, sum(n) AS n, sum(n * (state = 'R')) AS cpu FROM (SELECT stack, state, 1 AS n FROM stack_sample"
    " UNION ALL SELECT stack, state, n FROM stack_rollup) GROUP BY stack), up(leaf, id, parent, function, line) AS (SELECT s.stack, t.id, t.parent, t.function, t.line FROM seen s JOIN stack t"
    " ON t.id = s.stack UNION SELECT u.leaf, t.id, t.parent, t.function, t.line FROM up u JOIN stack t ON t.id = u.parent)"
    " SELECT f.function, f.file, l.line, sum(s.n) AS samples, sum(s.n * l.self) AS self, sum(s.cpu) AS on_cpu FROM"
    " (SELECT leaf, function, line, max(id = leaf) AS self FROM up GROUP BY leaf, function, line) l JOIN seen s ON s.stack = l.leaf"
    " JOIN stack_function f ON f.id = l.function GROUP BY l.function, l.line ORDER BY self DESC, samples DESC;"
    "CREATE VIEW v_stack_op AS WITH RECURSIVE seen AS (SELECT stack, sum(n) AS n, sum(n * (state = 'R')) AS cpu FROM (SELECT stack, state, 1 AS n FROM stack_sample"
    " UNION ALL SELECT stack, state, n FROM stack_rollup) GROUP BY stack), up(leaf, parent, op) AS (SELECT s.stack, t.parent, t.op FROM seen s JOIN stack t"
    " ON t.id = s.stack UNION SELECT u.leaf, t.parent, t.op FROM up u JOIN stack t ON t.id = u.parent)"
    " SELECT o.id, o.path, o.class, o.arguments, sum(s.n) AS samples, sum(s.cpu) AS on_cpu FROM (SELECT DISTINCT leaf, op FROM up WHERE op IS NOT NULL) l"
    " JOIN seen s ON s.stack = l.leaf JOIN stack_op o ON o.id = l.op GROUP BY o.id ORDER BY samples DESC;"
    /* Shares of the looks at which the thread was there. */
    "CREATE VIEW v_native_thread AS SELECT t.id, t.pid, t.tid, t.name, count(*) AS looks, avg(l.s = 'R') AS computes, avg(l.s = 'W') AS ready, avg(l.s IN ('r', 'D')) AS reads,"
    " avg(l.s = 'n') AS network, avg(l.s IN ('f', 'g', 'p')) AS waits, avg(l.s = 's') AS sleeps FROM native_thread t JOIN (SELECT n.id, substr(k.states, n.id, 1) AS s"
    " FROM native_thread n, thread_look k) l ON l.id = t.id WHERE l.s NOT IN ('', '-') GROUP BY t.id ORDER BY computes + ready + reads + network DESC;"
    /* path and reason of one and the same row: the first of its kind */
    "CREATE VIEW v_error AS SELECT g.kind, g.action, g.count, e.path AS example_path, e.reason AS example_reason, g.files"
    " FROM (SELECT kind, action, sum(count) AS count, count(DISTINCT path) AS files, min(id) AS first FROM error GROUP BY kind, action) g"
    " JOIN error e ON e.id = g.first ORDER BY g.count DESC;"
    "CREATE VIEW v_error_file AS SELECT g.path, g.kind, g.action, g.visits, e.reason"
    " FROM (SELECT path, kind, action, sum(count) AS visits, min(id) AS first FROM error WHERE path IS NOT NULL GROUP BY path, kind, action) g"
    " JOIN error e ON e.id = g.first ORDER BY g.visits DESC, g.path;";

const char pp_schema_finish[] =
    "CREATE INDEX IF NOT EXISTS span_by_batch ON span(batch) WHERE batch IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS rollup_by_second ON rollup_second(second);"
    "CREATE INDEX IF NOT EXISTS rollup_by_batch ON rollup_batch(batch, phase);";

/* ---- what a file may hold ---- */

#define LENGTH_MAX (8 << 20) /* a chunk of 65,536 spans that do not compress has 6.3 MB */

void pp_schema_distrust(sqlite3 *db)
{
    static const struct {
        int option, on;
    } options[] = {
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        sqlite3_db_config(db, options[i].option, options[i].on, NULL);
    sqlite3_drop_modules(db, NULL); /* what a virtual table would be made of */
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100);
}

/* The columns that a reader asks for. */
static const struct {
    const char *name;
    int required;
    const char *columns;
} tables[] = {
    {"meta", 1, "section key value unit"},
    {"chunk", 1, "id thread seq0 n first_start_ns last_end_ns checksum body"},
    {"thread", 0, "id lane name pid tid recorded dropped"},
    {"name", 0, "id text"},
    {"error", 0, "id t_ns thread batch sample path kind action reason count"},
    {"queue", 0, "name capacity puts gets put_wait_ns get_wait_ns mean_depth share_empty share_full"},
    {"counter", 0, "id t_ns name value"},
    {"loss", 0, "what count why"},
    {"rollup_second", 0,
     "second thread phase n total_ns max_ns cpu_ns run_delay_ns bytes cache_hit_kib hist"},
    {"open_phase", 0, "t_ns thread phase batch sample since_ns path"},
    {"sample_order", 0, "id pid loader epoch first_batch batches samples ended list"},
    {"batch_use", 0, "id pid loader epoch first_batch batches trained step"},
    {"iteration_fact", 0, "id pid loader epoch key value"},
    {"state_event", 0, "id pid t_ns dur_ns action via path place value iterations batch step"},
    {"batch_content", 0, "id pid batch samples content files"},
    {"request", 0,
     "id start_ns queue_ns resolve_ns connect_ns tls_ns first_byte_ns transfer_ns cpu_ns bytes status attempt epoch sample flags place"},
    {"request_place", 0, "id address prefix"},
    {"stack_function", 0, "id function file first_line"},
    {"stack", 0, "id parent function line op"},
    {"stack_op", 0, "id path class arguments"},
    {"stack_thread", 0, "id pid tid"},
    {"stack_sample", 0, "t_ns thread stack state flags"},
    {"stack_rollup", 0, "minute thread stack state n"},
    {"native_thread", 0, "id pid tid name"},
    {"thread_look", 0, "t_ns states"},
    {"gpu", 0,
     "id kind start_ns dur_ns correlation device context stream thread bytes source target asynchronous name result"},
    {"gpu_batch", 0, "correlation batch"},
    {"proof", 0,
     "kind change value base_samples_per_s predicted_samples_per_s predicted_low predicted_high measured_samples_per_s"
     " measured_low measured_high rounds ballast_cpus recording"},
};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

static const char *text(sqlite3_stmt *st, int column)
{
    const char *t = (const char *)sqlite3_column_text(st, column);
    return t ? t : "";
}

static pp_status fail_not_a_table(const char *path, const char *name, struct pp_err *err)
{
    return pp_fail(
        err, PP_E_CORRUPT,
        "%s is no recording as pipeprobe writes it: its %s is not an ordinary table; it was changed, and is not read",
        path, name);
}

/* No hidden or generated column among those of table i, and all that are read. */
static pp_status check_columns(sqlite3 *db, const char *path, int i, struct pp_err *err)
{
    char sql[64];
    sqlite3_stmt *st = NULL;
    pp_status status = PP_OK;
    int found = 0;
    snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", tables[i].name);
    int code = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    while (code == SQLITE_OK && !status && (code = sqlite3_step(st)) == SQLITE_ROW) {
        found += pp_text_has_word(tables[i].columns, text(st, 1));
        if (sqlite3_column_int(st, 6) != 0)
            status = fail_not_a_table(path, tables[i].name, err);
        code = SQLITE_OK;
    }
    if (!status && code != SQLITE_DONE)
        status = pp_db_fail(db, err, "cannot read", path);
    sqlite3_finalize(st);
    int words = 1;
    for (const char *at = tables[i].columns; *at; at++)
        words += *at == ' ';
    if (!status && found != words)
        status = pp_fail(err, PP_E_CORRUPT, "%s is damaged: its table %s lacks columns that a recording has",
                         path, tables[i].name);
    return status;
}

pp_status pp_schema_check_read(sqlite3 *db, const char *path, struct pp_err *err)
{
    int there[TABLES] = {0};
    sqlite3_stmt *st = NULL;
    pp_status status = PP_OK;
    int code = sqlite3_prepare_v2(db, "SELECT name, type, rootpage FROM sqlite_master", -1, &st, NULL);
    while (code == SQLITE_OK && !status && (code = sqlite3_step(st)) == SQLITE_ROW) {
        int i = 0;
        while (i < TABLES && sqlite3_stricmp(text(st, 0), tables[i].name) != 0)
            i++;
        if (i < TABLES &&
            (there[i]++ || strcmp(text(st, 1), "table") != 0 || sqlite3_column_int64(st, 2) <= 0))
            status = fail_not_a_table(path, tables[i].name, err);
        code = SQLITE_OK;
    }
    if (!status && code != SQLITE_DONE)
        status = pp_db_fail(db, err, "cannot read", path);
    sqlite3_finalize(st);
    for (int i = 0; i < TABLES && !status; i++) {
        if (there[i])
            status = check_columns(db, path, i, err);
        else if (tables[i].required)
            status = pp_fail(err, PP_E_CORRUPT, "%s is damaged: it has no table %s", path, tables[i].name);
    }
    return status;
}

/* Type, name and words of each thing in the schema of db are looked up in that of ours. */
pp_status pp_schema_check_write(sqlite3 *db, const char *path, struct pp_err *err)
{
    sqlite3 *ours = NULL;
    sqlite3_stmt *st = NULL, *known = NULL;
    int code = sqlite3_open(":memory:", &ours);
    if (code == SQLITE_OK)
        code = sqlite3_exec(ours, pp_schema_tables, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(ours, pp_schema_finish, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, "SELECT type, name, tbl_name, sql FROM sqlite_master", -1, &st, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            ours,
            "SELECT 1 FROM sqlite_master WHERE type = ? AND name = ? AND tbl_name = ? AND coalesce(sql, '') = ?",
            -1, &known, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
        sqlite3_reset(known);
        for (int i = 0; i < 4; i++)
            sqlite3_bind_text(known, i + 1, text(st, i), -1, SQLITE_TRANSIENT);
        code = sqlite3_step(known) == SQLITE_ROW ? SQLITE_OK : SQLITE_MISMATCH;
    }
    sqlite3_finalize(st);
    sqlite3_finalize(known);
    sqlite3_close(ours);
    return code == SQLITE_DONE
               ? PP_OK
               : pp_fail(err, PP_E_UNSUPPORTED,
                         "the tables of %s are not those that this version of pipeprobe writes", path);
}
