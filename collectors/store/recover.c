#include "collectors/store/recover.h"

#include "collectors/store/beside.h"
#include "collectors/store/log_vfs.h"
#include "collectors/store/rings.h"
#include "collectors/store/schema_check.h"
#include "collectors/store/store.h"
#include "probe/base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 4096u

static pp_status declare_thread(struct pp_store *s, struct pp_ring_file *ring)
{
    char why[128];
    ring->name[sizeof(ring->name) - 1] = '\0';
    pp_status status = pp_store_thread(s, &(struct pp_store_thread){
                                              .id = ring->thread,
                                              .lane = ring->lane < PP_LANE_COUNT ? (pp_lane)ring->lane
                                                                                 : PP_LANE_MAIN,
                                              .name = ring->name,
                                              .pid = ring->pid,
                                              .tid = ring->tid,
                                              .recorded = ring->head,
                                              .dropped = ring->dropped,
                                          });
    if (!status && ring->dropped) {
        snprintf(why, sizeof(why), "the ring of thread %s was full", ring->name);
        status = pp_store_loss(s, "spans", ring->dropped, why);
    }
    return status;
}

/* Puts the records at [i, ...) of a ring, as spans, into piece: those that hold together, in order. Returns
 * how many positions were read, 0: none could be; *n is the spans. */
static uint64_t read_piece(const struct pp_rings *r, int fd, const struct pp_ring_file *ring, uint64_t i,
                           struct pp_span *piece, size_t *n)
{
    struct pp_clock_reader clock = pp_clock_reader(r->file);
    uint64_t at = i & (ring->capacity - 1), room = ring->capacity - at;
    room = room < PIECE ? room : PIECE;
    room = room < ring->head - i ? room : ring->head - i;
    size_t bytes = (size_t)room * sizeof(*piece);
    *n = 0;
    if (pp_rings_read(fd, piece, bytes, sizeof(*ring) + at * sizeof(*piece)) != (ssize_t)bytes)
        return 0;
    for (uint64_t k = 0; k < room; k++) {
        struct pp_span record = piece[k];
        pp_ring_record_to_span(&clock, &record, &piece[*n]);
        *n += pp_span_is_sound(&piece[*n]);
    }
    return room;
}

/* Appends the positions of a ring from that of the thread's next chunk on, but for damaged records, which are
 * counted. These take their positions before the others, so that the last one appended is at head - 1: a
 * second recovery sees that all are taken. */
static pp_status append_ring(struct pp_store *s, const struct pp_rings *r, int fd,
                             const struct pp_ring_file *ring, struct pp_span *piece, uint64_t *spans)
{
    pp_status status = PP_OK;
    uint64_t read, sound = 0, from = s->pending[ring->thread].seq;
    size_t n;
    for (uint64_t i = from; i < ring->head; i += read, sound += n)
        if (!(read = read_piece(r, fd, ring, i, piece, &n)))
            return PP_E_IO;
    uint64_t damaged = ring->head - from - sound;
    s->pending[ring->thread].seq = from + damaged;
    *spans += sound;
    for (uint64_t i = from; i < ring->head && !status; i += read) {
        if (!(read = read_piece(r, fd, ring, i, piece, &n)))
            return PP_E_IO;
        status = n ? pp_store_append(s, ring->thread, piece, n) : PP_OK;
    }
    return damaged && !status
               ? pp_store_loss(s, "spans", damaged, "their records in the ring files are damaged")
               : status;
}

/* What the thread had begun when it was cut off. It comes after all that is in the ring, so its positions lie
 * beyond head: a second recovery sees that they are taken. */
static pp_status append_unfinished(struct pp_store *s, const struct pp_rings *r,
                                   const struct pp_ring_file *ring, uint64_t *spans)
{
    struct pp_span open[PP_OPEN_SPANS_MAX];
    struct pp_clock_reader clock = pp_clock_reader(r->file);
    unsigned found = pp_ring_open_spans(ring, &clock, pp_session_last_seen_ns(r->file), open), n = 0;
    for (unsigned i = 0; i < found; i++)
        if (pp_span_is_sound(&open[i]))
            open[n++] = open[i];
    *spans += n;
    return n ? pp_store_append(s, ring->thread, open, n) : PP_OK;
}

static pp_status append_rings(struct pp_store *s, const struct pp_rings *r, uint64_t *spans)
{
    struct pp_span *piece = malloc(PIECE * sizeof(*piece));
    pp_status status = piece ? PP_OK : PP_E_NO_MEMORY;
    for (uint32_t i = 0; i < pp_rings_threads(r) && !status; i++) {
        struct pp_ring_file ring;
        int fd = pp_rings_open_ring(r, i, &ring);
        if (fd < 0)
            continue;
        struct pp_store_pending *p = &s->pending[i];
        uint64_t from = p->seq > ring.tail ? p->seq : ring.tail;
        if (from <= ring.head) {
            p->seq = from;
            status = declare_thread(s, &ring);
            if (!status)
                status = append_ring(s, r, fd, &ring, piece, spans);
            if (!status)
                status = append_unfinished(s, r, &ring, spans);
        }
        close(fd);
    }
    free(piece);
    return status;
}

static pp_status append_names(struct pp_store *s, struct pp_session_file *f)
{
    pp_status status = PP_OK;
    for (uint16_t i = 1; i < PP_NAMES_MAX && !status; i++) {
        if (f->name[i].state != PP_SLOT_READY)
            continue;
        f->name[i].text[PP_NAME_BYTES - 1] = '\0';
        status = pp_store_name(s, i, f->name[i].text);
    }
    return status;
}

static int is_fresh(struct pp_store *s)
{
    sqlite3_stmt *st = NULL;
    int fresh = sqlite3_prepare_v2(s->db, "SELECT 1 FROM chunk LIMIT 1", -1, &st, NULL) == SQLITE_OK &&
                sqlite3_step(st) == SQLITE_DONE;
    sqlite3_finalize(st);
    return fresh;
}

static int same_run(struct pp_store *s, uint64_t session_id)
{
    sqlite3_stmt *st = NULL;
    char want[24];
    int same = 0, named = 0;
    snprintf(want, sizeof(want), "%016llx", (unsigned long long)session_id);
    if (sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE section = 'run' AND key = 'session_id'", -1,
                           &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        named = 1;
        same = text && strcmp(text, want) == 0;
    }
    sqlite3_finalize(st);
    /* Killed before it could say whose it is: then there is nothing in it yet. */
    return same || (!named && is_fresh(s));
}

static pp_status name_session(struct pp_store *s, uint64_t session_id)
{
    char id[24];
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)session_id);
    return pp_store_meta_text(s, "run", "session_id", id);
}

/* The recorder had no collector, or was killed before there was a file. */
static pp_status create_missing(const char *path, const struct pp_rings *r, struct pp_store **out,
                                struct pp_err *err)
{
    pp_status status = pp_store_create(&(struct pp_store_opts){.path = path,
                                                               .session_id = r->file->session_id},
                                       out, err);
    if (!status)
        status = pp_store_meta_text(*out, "run", "tool", "libpipeprobe");
    if (!status)
        status = pp_store_meta_num(*out, "run", "started_mono_ns", (double)r->file->created_ns, "ns");
    return status;
}

static pp_recover_files_fn *take_files;

void pp_recover_set_files(pp_recover_files_fn *fn)
{
    take_files = fn;
}

static pp_status carry_over(struct pp_store *s, const struct pp_rings *r, uint64_t *spans, struct pp_err *err)
{
    char said[128];
    if (!same_run(s, r->file->session_id))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the ring files in %s belong to another run than %s; remove them, or restore the file they belong to",
            r->dir, s->path);
    uint64_t n = 0;
    pp_status status = name_session(s, r->file->session_id);
    if (!status)
        status = append_names(s, r->file);
    if (!status)
        status = pp_store_stated(s, r->file->stated);
    if (!status)
        status = append_rings(s, r, &n);
    if (!status && take_files)
        take_files(s, r->dir);
    snprintf(said, sizeof(said), "recovered %llu spans from the ring files of a killed run",
             (unsigned long long)n);
    if (!status)
        status = pp_store_meta_num(s, "run", "recovered_spans", (double)n, "spans");
    if (!status)
        status = pp_store_meta_text(s, "run", "recovery", said);
    if (!status)
        status = pp_store_commit(s, err);
    else
        pp_fail(err, status, "cannot recover the spans in %s: %s", r->dir,
                s->failure.code ? s->failure.text : pp_status_text(status));
    if (!status)
        *spans = n;
    return status;
}

/* There is no file at path, but a recording session beside it; *live: a process still records into it. */
static int only_rings(const char *path, int *live)
{
    struct pp_rings r;
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return 0;
    enum pp_rings_found found = pp_rings_open(path, &r);
    pp_rings_close(&r);
    *live = found == PP_RINGS_LIVE;
    return found == PP_RINGS_LIVE || found == PP_RINGS_DEAD;
}

/* The rings may have come with a file from elsewhere: appending to it must do nothing else. */
static pp_status check_resumable(const char *path, struct pp_err *err)
{
    char real[PATH_MAX];
    struct pp_err why = {.code = PP_OK};
    pp_status status = pp_db_check_file(path, err);
    if (status)
        return status;
    pp_beside_real(path, real);
    status = pp_beside_may_write(real, &why);
    return status ? pp_fail(err, status, "the spans in %s.rings are not in the report: %s", path, why.text)
                  : PP_OK;
}

pp_status pp_store_recover(const char *path, uint64_t *spans, struct pp_err *err)
{
    struct pp_rings r;
    struct pp_store *s = NULL;
    pp_status status = PP_OK;
    *spans = 0;
    switch (pp_rings_open(path, &r)) {
    case PP_RINGS_ABSENT:
    case PP_RINGS_LIVE: goto out;
    case PP_RINGS_UNREADABLE:
        status = pp_fail(
            err, PP_E_CORRUPT,
            "the ring files in %s.rings are not a readable recording session; their spans are not in the report",
            path);
        goto out;
    case PP_RINGS_FOREIGN:
        status = pp_fail(
            err, PP_E_ACCESS,
            "the ring files in %s.rings belong to another user, or others may write there: their spans are not in the report",
            path);
        goto out;
    case PP_RINGS_DEAD: break;
    }
    *spans = pp_rings_waiting(&r);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        status = create_missing(path, &r, &s, err);
    } else {
        status = check_resumable(path, err);
        if (!status)
            status = pp_store_resume(path, &s, err);
    }
    if (!status)
        status = carry_over(s, &r, spans, err);
    if (status)
        goto out;
    /* Killed in here, we start over next time and append nothing. Without the rows, say on a full disk, the
     * chunks hold everything. */
    pp_store_finish(s, NULL);
    pp_rings_remove(&r);
out:
    pp_store_close(s);
    pp_rings_close(&r);
    return status;
}

/* A write that was cut off in the middle left a journal: only a connection that may write can put the pages
 * back. A journal that is not ours to roll back stays, and the reader says so. */
static void roll_back(const char *path)
{
    char real[PATH_MAX];
    struct pp_err why = {.code = PP_OK};
    sqlite3 *db = NULL;
    pp_beside_real(path, real);
    if (pp_beside_look(real, "-journal") == PP_BESIDE_ABSENT ||
        pp_beside_may_roll_back(real, &why) != PP_OK || pp_beside_may_write(real, &why) != PP_OK)
        return;
    if (sqlite3_open_v2(real, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, pp_log_vfs()) == SQLITE_OK) {
        pp_schema_distrust(db);
        sqlite3_exec(db, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    }
    sqlite3_close(db);
}

pp_status pp_recording_recover(const char *path, struct pp_missing *missing, struct pp_err *err)
{
    int live;
    if (only_rings(path, &live)) {
        if (!live)
            return pp_store_recover(path, &missing->spans, err);
        return pp_fail(
            err, PP_E_EMPTY,
            "%s is being recorded without a collector; its spans are in %s.rings and can be read when the program has ended",
            path, path);
    }
    if (pp_db_check_file(path, NULL) != PP_OK)
        return PP_OK; /* no recording: its reader says so */
    pp_store_recover(path, &missing->spans, &missing->why);
    roll_back(path);
    return PP_OK;
}
