#include "collectors/store/reader_impl.h"

#include "collectors/store/chunk.h"
#include "collectors/store/recover.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 5000

static int answers(sqlite3 *db)
{
    return sqlite3_exec(db, "SELECT count(*) FROM meta; SELECT max(id) FROM chunk", NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* A percent-encoded file: URI, for the immutable option. */
static void file_uri(const char *path, char *uri, size_t size)
{
    size_t n = (size_t)snprintf(uri, size, "file:");
    for (const char *p = path; *p && n + 32 < size; p++)
        n += (size_t)snprintf(uri + n, size - n, strchr("?#% ", *p) ? "%%%02X" : "%c", (unsigned char)*p);
    snprintf(uri + n, size - n, "?immutable=1");
}

/* A write that was cut off in the middle left a journal: only a connection that may write can put the pages
 * back. */
static void roll_back(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        answers(db);
    sqlite3_close(db);
}

/* On a read-only medium a write-ahead log cannot be attached to; what is in the main file is still readable
 * as it stands. */
static pp_status open_db(struct pp_reader *r, struct pp_err *err)
{
    char journal[PATH_MAX];
    if ((size_t)snprintf(journal, sizeof(journal), "%s-journal", r->path) < sizeof(journal) &&
        access(journal, F_OK) == 0)
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
        if (sqlite3_open_v2(uri, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                            NULL) == SQLITE_OK &&
            answers(r->db))
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
        pp_status made =
            live
                ? pp_fail(
                      err, PP_E_EMPTY,
                      "%s is being recorded without a collector; its spans are in %s.rings and can be read when the program has ended",
                      path, path)
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
    reader_free_kept(r);
    pp_chunk_codec_free(r->codec);
    free(r->path);
    free(r);
}

struct query reader_query(struct pp_reader *r, const char *sql)
{
    struct query q = {.r = r};
    q.code = sqlite3_prepare_v2(r->db, sql, -1, &q.st, NULL);
    return q;
}

pp_status query_end(struct query *q, struct pp_err *err)
{
    pp_status status = q->code == SQLITE_DONE || q->code == SQLITE_ROW
                           ? PP_OK
                           : pp_db_fail(q->r->db, err, "cannot read", q->r->path);
    query_forget_row(q);
    sqlite3_finalize(q->st);
    return status;
}

int reader_has_table(struct pp_reader *r, const char *name, pp_status *status, struct pp_err *err)
{
    struct query known = reader_query(r, "SELECT 1 FROM sqlite_master WHERE name = ?");
    sqlite3_bind_text(known.st, 1, name, -1, SQLITE_STATIC);
    int there = query_row(&known);
    *status = query_end(&known, err);
    return there;
}
