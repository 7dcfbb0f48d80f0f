#include "tests/support/hostile_schema.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS_MAX 24
#define SQL_MAX 8192

static const char *const tables[] = {
    "meta",         "chunk",         "thread",         "name",           "error",       "queue",
    "counter",      "loss",          "rollup_second",  "open_phase",     "gpu",         "gpu_batch",
    "request",      "request_place", "span",           "rollup_batch",   "proof",       "sample_order",
    "phase",        "gpu_clock",     "stack_function", "stack",          "stack_op",    "stack_thread",
    "stack_sample", "stack_rollup",  "batch_use",      "iteration_fact", "state_event", "batch_content",
};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

/* {t} a table, {c} one of its columns, {all} all of them, {v} a value, {as} `VALUE AS column` for all, {o}
 * another table. */
#define REPLACE "ALTER TABLE {t} RENAME TO {t}_before; CREATE VIEW {t} AS "
#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
#define DISGUISE "PRAGMA writable_schema=1; UPDATE sqlite_master SET "
static const struct {
    const char *name, *as, *sql;
} kinds[] = {
    {"endless view", "i", REPLACE ENDLESS "{as} FROM n"},
    {"view of huge texts", "hex(zeroblob(300000000))", REPLACE "SELECT {as}"},
    {"view of printf", "printf('%.*c', 300000000, 'x')", REPLACE "SELECT {as}"},
    {"view that is a cross join", "1",
     REPLACE
     "SELECT {as} FROM sqlite_master a, sqlite_master b, sqlite_master c, sqlite_master d, sqlite_master e, sqlite_master f,"
     " sqlite_master g, sqlite_master h"},
    {"view of the table", "1", REPLACE "SELECT {all} FROM {t}_before"},
    {"view of itself", "1", REPLACE "SELECT {all} FROM {t}"},
    {"view that is called a table", "i",
     DISGUISE "sql = 'CREATE VIEW {t} AS " ENDLESS "{as} FROM n' WHERE name = '{t}'"},
    {"virtual table", "1",
     "ALTER TABLE {t} RENAME TO {t}_before; CREATE VIRTUAL TABLE {t} USING fts5({all}); INSERT INTO {t} SELECT {all} FROM {t}_before"},
    {"virtual table that is called a table", "1",
     DISGUISE "sql = 'CREATE VIRTUAL TABLE {t} USING fts5({all})' WHERE name = '{t}'"},
    {"generated column", "1",
     "ALTER TABLE {t} RENAME COLUMN {c} TO before; ALTER TABLE {t} ADD COLUMN {c} AS (hex(zeroblob(400000000))) VIRTUAL"},
    {"dropped table", "1", "DROP TABLE {t}"},
    {"dropped column", "1", "ALTER TABLE {t} RENAME COLUMN {c} TO before"},
    {"table without types", "1",
     "ALTER TABLE {t} RENAME TO {t}_before; CREATE TABLE {t}({all}); INSERT INTO {t} SELECT {all} FROM {t}_before"},
    {"table without keys, rows eight times", "1",
     "ALTER TABLE {t} RENAME TO {t}_before; CREATE TABLE {t}({all}); INSERT INTO {t} SELECT {all} FROM {t}_before;"
     "INSERT INTO {t} SELECT {all} FROM {t}; INSERT INTO {t} SELECT {all} FROM {t}; INSERT INTO {t} SELECT {all} FROM {t}"},
    {"value", "1",
     "ALTER TABLE {t} RENAME TO {t}_before; CREATE TABLE {t}({all}); INSERT INTO {t} SELECT {all} FROM {t}_before; UPDATE {t} SET {c} = {v}"},
    {"no rows", "1", "DELETE FROM {t}"},
    {"pages of another table", "1",
     DISGUISE "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = '{o}') WHERE name = '{t}'"},
    {"pages of the schema", "1", DISGUISE "rootpage = 1 WHERE name = '{t}'"},
    {"trigger", "1",
     "CREATE TRIGGER x AFTER INSERT ON {t} BEGIN INSERT INTO meta SELECT 'x', hex(randomblob(9)), NULL, NULL; DELETE FROM loss; END"},
    {"index of an expression", "1", "CREATE INDEX x ON {t}(hex({c}))"},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const char *const values[] = {
    "NULL",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967295",
    "65536",
    "1e308",
    "'nan'",
    "x'00ff'",
    "hex(zeroblob(50000))",
    "zeroblob(length(CAST(rowid AS TEXT)))",
};
enum { VALUES = sizeof(values) / sizeof(*values) };

size_t hostile_kinds(void)
{
    return KINDS;
}

size_t hostile_tables(void)
{
    return TABLES;
}

const char *hostile_kind_name(size_t kind)
{
    return kinds[kind % KINDS].name;
}

const char *hostile_table_name(size_t table)
{
    return tables[table % TABLES];
}

static int columns_of(sqlite3 *db, const char *table, char names[COLUMNS_MAX][48])
{
    char sql[96];
    sqlite3_stmt *st = NULL;
    int n = 0;
    snprintf(sql, sizeof(sql), "PRAGMA table_info(%s)", table);
    sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    while (n < COLUMNS_MAX && sqlite3_step(st) == SQLITE_ROW)
        snprintf(names[n++], sizeof(names[0]), "%s", (const char *)sqlite3_column_text(st, 1));
    sqlite3_finalize(st);
    return n;
}

static void list(char *out, size_t size, const char *as, char names[COLUMNS_MAX][48], int n)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s%s%s", i ? ", " : "", as, *as ? " AS " : "",
                               names[i]);
}

static void fill_in(char *out, size_t size, const char *sql, const char *const from[][2])
{
    size_t at = 0;
    while (*sql && at + 1 < size) {
        int i = 0;
        while (from[i][0] && strncmp(sql, from[i][0], strlen(from[i][0])) != 0)
            i++;
        if (from[i][0]) {
            at += (size_t)snprintf(out + at, size - at, "%s", from[i][1]);
            sql += strlen(from[i][0]);
        } else {
            out[at++] = *sql++;
        }
    }
    out[at < size ? at : size - 1] = '\0';
}

int hostile_change(const char *path, size_t kind, size_t table, size_t column, size_t value)
{
    sqlite3 *db = NULL;
    char names[COLUMNS_MAX][48], all[1024], as[2048], sql[SQL_MAX];
    const char *t = tables[table % TABLES];
    int done = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        int n = columns_of(db, t, names);
        list(all, sizeof(all), "", names, n);
        list(as, sizeof(as), kinds[kind % KINDS].as, names, n);
        const char *const from[][2] = {
            {"{t}", t},
            {"{c}", n ? names[column % (size_t)n] : "x"},
            {"{all}", all},
            {"{as}", as},
            {"{v}", values[value % VALUES]},
            {"{o}", tables[value % TABLES]},
            {NULL, NULL},
        };
        fill_in(sql, sizeof(sql), kinds[kind % KINDS].sql, from);
        sqlite3_exec(db, "PRAGMA legacy_alter_table=1; PRAGMA journal_mode=memory; PRAGMA synchronous=0",
                     NULL, NULL, NULL);
        done = n && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    }
    sqlite3_close(db);
    return done;
}

/* ---- a tree of pages without end ---- */

static void put(uint8_t *at, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

/* An interior page of a table, every cell of which leads to the same child. */
static void fill_interior(uint8_t *page, size_t size, uint32_t child)
{
    enum { HEADER = 12, CELL = 5, CELLS = 300 };
    memset(page, 0, size);
    page[0] = 5;
    put(page + 3, CELLS, 2);
    put(page + 5, (uint32_t)(size - CELL * CELLS), 2);
    put(page + 8, child, 4);
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t at = (uint32_t)(size - CELL * (i + 1));
        put(page + HEADER + 2 * i, at, 2);
        put(page + at, child, 4);
        page[at + 4] = 127; /* a rowid */
    }
}

static uint32_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    uint32_t v = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        v = (uint32_t)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return v;
}

int hostile_endless_tree(const char *path, const char *table)
{
    enum { LEVELS = 6 };
    char sql[200];
    uint8_t header[4], *page = NULL;
    sqlite3 *db = NULL;
    int ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;
    snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_master WHERE name = '%s'", table);
    uint32_t child = number(db, sql), size = number(db, "PRAGMA page_size"),
             pages = number(db, "PRAGMA page_count");
    snprintf(sql, sizeof(sql),
             "PRAGMA writable_schema=1; UPDATE sqlite_master SET rootpage = %u WHERE name = '%s'",
             pages + LEVELS, table);
    ok = ok && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && child && size;
    sqlite3_close(db);
    int fd = ok ? open(path, O_RDWR | O_CLOEXEC) : -1;
    page = ok ? malloc(size) : NULL;
    for (uint32_t i = 0; page && fd >= 0 && ok && i < LEVELS; i++, child = pages + i) {
        fill_interior(page, size, child);
        ok = pwrite(fd, page, size, (off_t)size * (pages + i)) == (ssize_t)size;
    }
    put(header, pages + LEVELS, 4);
    ok = ok && page && fd >= 0 && pwrite(fd, header, sizeof(header), 28) == (ssize_t)sizeof(header);
    if (fd >= 0)
        close(fd);
    free(page);
    return ok;
}
