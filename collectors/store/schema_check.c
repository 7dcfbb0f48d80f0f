#include "collectors/store/db.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <string.h>

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

static int is_word_of(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
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
        found += is_word_of(tables[i].columns, text(st, 1));
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
static int all_known(sqlite3 *db, sqlite3 *ours)
{
    sqlite3_stmt *st = NULL, *known = NULL;
    int same = 0,
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
    same = code == SQLITE_DONE;
    sqlite3_finalize(st);
    sqlite3_finalize(known);
    return same;
}

pp_status pp_schema_check_write(sqlite3 *db, const char *path, struct pp_err *err)
{
    sqlite3 *ours = NULL;
    int same = sqlite3_open(":memory:", &ours) == SQLITE_OK &&
               sqlite3_exec(ours, pp_schema_tables, NULL, NULL, NULL) == SQLITE_OK &&
               sqlite3_exec(ours, pp_schema_finish, NULL, NULL, NULL) == SQLITE_OK && all_known(db, ours);
    sqlite3_close(ours);
    return same ? PP_OK
                : pp_fail(err, PP_E_UNSUPPORTED,
                          "the tables of %s are not those that this version of pipeprobe writes", path);
}
