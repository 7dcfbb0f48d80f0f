#include "collectors/store/reader_impl.h"

#include "collectors/store/chunk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 5000

static pp_before_reading_fn *before_reading;

void pp_reader_set_before(pp_before_reading_fn *fn)
{
    before_reading = fn;
}

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

/* On a read-only medium a write-ahead log or a journal cannot be attached to; what is in the main file is
 * still readable as it stands. */
static pp_status open_db(struct pp_reader *r, struct pp_err *err)
{
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
