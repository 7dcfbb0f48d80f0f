/* The public API's run: a session beside the file to be, made or joined, and the collector that fills the
 * file. */
#include "probe/trace/collector.h"
#include "probe/trace/drain_side.h"
#include "probe/trace/join.h"
#include "probe/trace/presence.h"
#include "probe/trace/session.h"

#include "probe/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_NS 200000000u /* a session file without a lock may be one that is just being made */
#define RETRY_NS 5000000u
#define FINISH_NS 30000000000ull

struct pp_recorder {
    struct pp_session *session;
    int presence; /* inherited by forked children: the run goes on until they have gone too */
    struct pp_err note;
    char path[PATH_MAX - 64], dir[PATH_MAX];
};

/* ---- names ---- */

/* Absolute, for the collector and for a program that changes its directory. */
static pp_status set_paths(struct pp_recorder *r, const char *path, struct pp_err *err)
{
    char dir_copy[PATH_MAX], base_copy[PATH_MAX], dir[PATH_MAX];
    if (!path || !*path || path[strlen(path) - 1] == '/' || strlen(path) >= sizeof(dir_copy))
        return pp_fail(err, PP_E_USAGE, "a run needs a file name, such as run.sqlite%s%s",
                       path && *path ? ", not " : "", path ? path : "");
    snprintf(dir_copy, sizeof(dir_copy), "%s", path);
    snprintf(base_copy, sizeof(base_copy), "%s", path);
    const char *parent = dirname(dir_copy);
    if (!realpath(parent, dir))
        return pp_fail_errno(err, errno, "cannot record into %s: its directory", path);
    if ((size_t)snprintf(r->path, sizeof(r->path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir,
                         basename(base_copy)) >= sizeof(r->path))
        return pp_fail(err, PP_E_USAGE, "the name of the run is too long: %s", path);
    snprintf(r->dir, sizeof(r->dir), "%s.rings", r->path);
    if (access(dir, W_OK | X_OK) != 0)
        return pp_fail_errno(err, errno, "cannot record into %s: its directory", path);
    return PP_OK;
}

/* ---- making or joining ---- */

/* Whether a recorder or a collector holds the session's lock. */
static int session_live(const char *dir)
{
    char path[PATH_MAX + 16];
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, dir);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int live = fd >= 0 && fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return live;
}

static int session_there(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, dir);
    return access(path, F_OK) == 0;
}

static pp_status join(struct pp_recorder *r, struct pp_err *err)
{
    pp_status status = pp_session_join(r->dir, &r->session, err);
    if (status)
        return status;
    r->presence = pp_presence_enter(r->dir);
    if (r->presence >= 0)
        return PP_OK;
    status = pp_fail_errno(err, errno, "cannot join the recording session %s", r->dir);
    pp_session_close(r->session, 1);
    r->session = NULL;
    return status;
}

static pp_status make(struct pp_recorder *r, const struct pp_open_opts *o, struct pp_err *err)
{
    pp_status status = pp_session_open(&(struct pp_session_opts){.dir = r->dir,
                                                                 .ring_spans = o->ring_spans,
                                                                 .resources = o->resources},
                                       &r->session, err);
    if (status)
        return status;
    r->presence = pp_presence_enter(r->dir);
    if (r->presence < 0) {
        status = pp_fail_errno(err, errno, "cannot record into %s", r->path);
        pp_session_close(r->session, 0);
        r->session = NULL;
        return status;
    }
    if (o->replace)
        unlink(r->path);
    if (o->collector && !*o->collector)
        pp_fail(&r->note, PP_E_INCONCLUSIVE,
                "no collector was requested; the spans stay in %s until the run is opened", r->dir);
    else if (pp_collector_start(o->collector, r->path, pp_session_lock_fd(r->session), &r->note) == PP_OK)
        pp_session_hand_over(r->session);
    return PP_OK;
}

/* Two processes may open at the same moment: the one that makes the session file first has the run, the
 * other comes here again and joins. */
static pp_status make_or_join(struct pp_recorder *r, const struct pp_open_opts *o, struct pp_err *err)
{
    uint64_t give_up = pp_now_ns() + SETTLE_NS;
    for (;;) {
        pp_status status;
        if (session_live(r->dir)) {
            status = join(r, err);
            if (status == PP_OK)
                return status;
        } else if (!session_there(r->dir)) {
            if (!o->replace && access(r->path, F_OK) == 0)
                return pp_fail(err, PP_E_EXISTS,
                               "%s already exists; choose another name, or allow replacing it", r->path);
            status = make(r, o, err);
            if (status != PP_E_EXISTS)
                return status;
        } else {
            status = pp_fail(
                err, PP_E_EXISTS,
                "%s holds the recording of a killed run; recover it with `pipeprobe report %s`, choose another name, or allow replacing it",
                r->dir, r->path);
            if (pp_now_ns() >= give_up && o->replace) {
                pp_session_discard(
                    r->dir); /* what a killed run left is worthless once its name is given to another */
                give_up = pp_now_ns() + SETTLE_NS;
            }
        }
        if (pp_now_ns() >= give_up)
            return status;
        pp_sleep_until_ns(pp_now_ns() + RETRY_NS);
    }
}

pp_status pp_open(const char *path, const struct pp_open_opts *opts, struct pp_recorder **out,
                  struct pp_err *err)
{
    static const struct pp_open_opts defaults;
    *out = NULL;
    struct pp_recorder *r = calloc(1, sizeof(*r));
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record");
    r->presence = -1;
    pp_status status = set_paths(r, path, err);
    if (status == PP_OK)
        status = make_or_join(r, opts ? opts : &defaults, err);
    if (status != PP_OK) {
        free(r);
        return status;
    }
    const struct pp_open_opts *o = opts ? opts : &defaults;
    const uint32_t said[PP_STATED] = {[PP_STATED_WORKERS] = o->workers,
                                      [PP_STATED_BATCH_SIZE] = o->batch_size,
                                      [PP_STATED_PREFETCH] = o->prefetch};
    pp_session_state_loader(r->session, said);
    *out = r;
    return PP_OK;
}

const char *pp_open_note(const struct pp_recorder *r)
{
    return r && r->note.code != PP_OK ? r->note.text : NULL;
}

/* ---- recording ---- */

struct pp_thread *pp_thread_open(struct pp_recorder *r, pp_lane lane, const char *name)
{
    if (!r)
        return NULL;
    pp_session_anchor(r->session); /* without a collector nothing else does */
    return pp_thread_register(r->session, (unsigned)lane < PP_LANE_COUNT ? lane : PP_LANE_MAIN, name);
}

uint16_t pp_name(struct pp_recorder *r, const char *text)
{
    return r ? pp_name_intern(r->session, text) : 0;
}

/* ---- the end ---- */

/* The file may have been deleted or replaced. SQLite's header, and our number in it
 * (docs/reference/file-format.md). */
static int file_is_ours(const char *path)
{
    static const unsigned char number[] = {0x70, 0x70, 0x72, 0x31};
    unsigned char head[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int ours = fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
               memcmp(head, "SQLite format 3", 16) == 0 && memcmp(head + 68, number, sizeof(number)) == 0;
    if (fd >= 0)
        close(fd);
    return ours;
}

/* The collector removes the session directory as its last act. */
static pp_status wait_for_file(const struct pp_recorder *r, struct pp_err *err)
{
    uint64_t until = pp_now_ns() + FINISH_NS;
    while (session_there(r->dir)) {
        if (!session_live(r->dir) && session_there(r->dir))
            return pp_fail(
                err, PP_E_INCONCLUSIVE,
                "the collector of %s has ended; the spans in its ring files are recovered when the run is opened",
                r->path);
        if (pp_now_ns() >= until)
            return pp_fail(err, PP_E_TRANSIENT, "%s is still being finished", r->path);
        pp_sleep_until_ns(pp_now_ns() + RETRY_NS);
    }
    return file_is_ours(r->path)
               ? PP_OK
               : pp_fail(
                     err, PP_E_IO,
                     "%s was deleted, moved or replaced during the recording; record again to a path that nothing else writes",
                     r->path);
}

pp_status pp_close(struct pp_recorder *r, struct pp_err *err)
{
    pp_status status = PP_OK;
    if (!r)
        return PP_OK;
    int alone = r->note.code != PP_OK;
    pp_session_retire_all(r->session);
    pp_session_anchor(r->session);
    close(r->presence);
    int last = !pp_presence_any(r->dir);
    uint64_t ringless = pp_session_unregistered(r->session);
    if (last)
        pp_session_wake(r->session);
    /* The rings are the collector's or the next reader's, never ours to remove. */
    pp_session_hand_over(r->session);
    pp_session_close(r->session, 1);
    if (alone)
        status = pp_fail(err, PP_E_INCONCLUSIVE, "%s", r->note.text);
    else if (last)
        status = wait_for_file(r, err);
    if (status == PP_OK && last && ringless)
        status = pp_fail(
            err, PP_E_NO_SPACE,
            "%llu threads of %s got no ring and are not recorded; free some space or inodes there, or open it with smaller ring_spans",
            (unsigned long long)ringless, r->path);
    free(r);
    return status;
}
