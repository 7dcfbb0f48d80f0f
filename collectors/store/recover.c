#include "collectors/store/recover.h"

#include "collectors/store/rings.h"
#include "collectors/store/store.h"
#include "collectors/store/vfs.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <unistd.h>

#define PIECE 4096u

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
    if (pp_io_pread_full(fd, piece, bytes, (off_t)(sizeof(*ring) + at * sizeof(*piece))) != (ssize_t)bytes)
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

/* The thread of a ring, what is in it, and what it had begun when it was cut off. */
static pp_status append_thread(struct pp_store *s, const struct pp_rings *r, int fd,
                               struct pp_ring_file *ring, struct pp_span *piece, uint64_t *spans)
{
    struct pp_span open[PP_OPEN_SPANS_MAX];
    struct pp_clock_reader clock = pp_clock_reader(r->file);
    struct pp_store_pending *p = &s->pending[ring->thread];
    char why[128];
    p->seq = p->seq > ring->tail ? p->seq : ring->tail;
    if (p->seq > ring->head)
        return PP_OK;
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
    if (!status)
        status = append_ring(s, r, fd, ring, piece, spans);
    if (status)
        return status;
    /* What it had begun comes after all that is in the ring, so its positions lie beyond head: a second
     * recovery sees that they are taken. */
    unsigned found = pp_ring_open_spans(ring, &clock, pp_session_last_seen_ns(r->file), open), n = 0;
    for (unsigned i = 0; i < found; i++)
        if (pp_span_is_sound(&open[i]))
            open[n++] = open[i];
    *spans += n;
    return n ? pp_store_append(s, ring->thread, open, n) : PP_OK;
}

static int same_run(struct pp_store *s, const char *session_id)
{
    sqlite3_stmt *st = NULL;
    int same = 0, named = 0;
    if (sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE section = 'run' AND key = 'session_id'", -1,
                           &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        named = 1;
        same = text && strcmp(text, session_id) == 0;
    }
    sqlite3_finalize(st);
    /* Killed before it could say whose it is: then there is nothing in it yet. */
    return same || (!named && pp_db_number(s->db, "SELECT NOT EXISTS(SELECT 1 FROM chunk)", 0));
}

static pp_recover_files_fn *store_files;

void pp_recover_set_files(pp_recover_files_fn *fn)
{
    store_files = fn;
}

static pp_status carry_over(struct pp_store *s, const struct pp_rings *r, uint64_t *spans, struct pp_err *err)
{
    char said[128], id[24];
    struct pp_session_file *f = r->file;
    uint64_t n = 0;
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)f->session_id);
    if (!same_run(s, id))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the ring files in %s belong to another run than %s; remove them, or restore the file they belong to",
            r->dir, s->path);
    pp_status status = pp_store_meta_text(s, "run", "session_id", id);
    for (uint16_t i = 1; i < PP_NAMES_MAX && !status; i++) {
        if (f->name[i].state != PP_SLOT_READY)
            continue;
        f->name[i].text[PP_NAME_BYTES - 1] = '\0';
        status = pp_store_name(s, i, f->name[i].text);
    }
    if (!status)
        status = pp_store_stated(s, f->stated);
    struct pp_span *piece = status ? NULL : malloc(PIECE * sizeof(*piece));
    if (!status && !piece)
        status = PP_E_NO_MEMORY;
    for (uint32_t i = 0; i < f->threads && !status; i++) {
        struct pp_ring_file ring;
        int fd = pp_rings_open_ring(r, i, &ring);
        if (fd < 0)
            continue;
        status = append_thread(s, r, fd, &ring, piece, &n);
        close(fd);
    }
    free(piece);
    if (!status && store_files)
        store_files(s, r->dir);
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

/* The rings may have come with a file from elsewhere: appending to it must do nothing else. */
static pp_status open_to_append(const char *path, const struct pp_rings *r, struct pp_store **out,
                                struct pp_err *err)
{
    char real[PATH_MAX];
    struct pp_err why = {.code = PP_OK};
    if (access(path, F_OK) == 0 || errno != ENOENT) {
        pp_status status = pp_db_check_file(path, err);
        if (status)
            return status;
        pp_beside_real(path, real);
        status = pp_beside_may_write(real, &why);
        return status
                   ? pp_fail(err, status, "the spans in %s.rings are not in the report: %s", path, why.text)
                   : pp_store_resume(path, out, err);
    }
    /* The recorder had no collector, or was killed before there was a file. */
    pp_status status = pp_store_create(&(struct pp_store_opts){.path = path,
                                                               .session_id = r->file->session_id},
                                       out, err);
    if (!status)
        status = pp_store_meta_text(*out, "run", "tool", "libpipeprobe");
    if (!status)
        status = pp_store_meta_num(*out, "run", "started_mono_ns", (double)r->file->created_ns, "ns");
    return status;
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
    uint64_t n = 0; /* spans that no commit has */
    for (uint32_t i = 0; i < r.file->threads; i++) {
        struct pp_ring_file ring;
        int fd = pp_rings_open_ring(&r, i, &ring);
        if (fd < 0)
            continue;
        n += ring.head - ring.tail;
        close(fd);
    }
    *spans = n;
    status = open_to_append(path, &r, &s, err);
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

pp_status pp_recording_recover(const char *path, struct pp_missing *missing, struct pp_err *err)
{
    char real[PATH_MAX];
    struct pp_err why = {.code = PP_OK};
    sqlite3 *db = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) { /* perhaps there is a recording session beside it */
        struct pp_rings r;
        enum pp_rings_found found = pp_rings_open(path, &r);
        pp_rings_close(&r);
        if (found == PP_RINGS_DEAD)
            return pp_store_recover(path, &missing->spans, err);
        if (found == PP_RINGS_LIVE)
            return pp_fail(
                err, PP_E_EMPTY,
                "%s is being recorded without a collector; its spans are in %s.rings and can be read when the program has ended",
                path, path);
    }
    if (pp_db_check_file(path, NULL) != PP_OK)
        return PP_OK; /* no recording: its reader says so */
    pp_store_recover(path, &missing->spans, &missing->why);
    /* A write that was cut off in the middle left a journal: only a connection that may write can put the
     * pages back. A journal that is not ours to roll back stays, and the reader says so. */
    pp_beside_real(path, real);
    if (pp_beside_look(real, "-journal") == PP_BESIDE_ABSENT ||
        pp_beside_may_roll_back(real, &why) != PP_OK || pp_beside_may_write(real, &why) != PP_OK)
        return PP_OK;
    if (sqlite3_open_v2(real, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, pp_log_vfs()) == SQLITE_OK) {
        pp_schema_distrust(db);
        sqlite3_exec(db, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    }
    sqlite3_close(db);
    return PP_OK;
}
