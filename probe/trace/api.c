/* The public API's run: a session beside the file to be, made or joined, and the collector that fills the
 * file. */
#include "probe/trace/drain_side.h"
#include "probe/trace/join.h"
#include "probe/trace/session.h"

#include "probe/base/err.h"

#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_NS 200000000u /* a session file without a lock may be one that is just being made */
#define RETRY_NS 5000000u
#define FINISH_NS 30000000000ull
#define READY_NS 10000000000ull
#ifndef PP_BINDIR
#define PP_BINDIR "/usr/local/bin"
#endif

extern char **environ;

struct pp_recorder {
    struct pp_session *session;
    int presence; /* inherited by forked children: the run goes on until they have gone too */
    struct pp_err note;
    char path[PATH_MAX - 64], dir[PATH_MAX];
};

/* ---- the collector ---- */

static int spawn(const char *program, char *const *argv, char **env, int lock_fd, int ready_fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, defaults;
    int e = posix_spawn_file_actions_init(&actions);
    if (e)
        return e;
    e = posix_spawnattr_init(&attr);
    if (e) {
        posix_spawn_file_actions_destroy(&actions);
        return e;
    }
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int fd = 0; fd < 3 && !e; fd++)
        e = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    /* The numbers handed over may themselves be 3 and 4: both were moved above beforehand. */
    if (!e)
        e = posix_spawn_file_actions_adddup2(&actions, lock_fd, PP_COLLECTOR_LOCK_FD);
    if (!e)
        e = posix_spawn_file_actions_adddup2(&actions, ready_fd, PP_COLLECTOR_READY_FD);
    if (!e)
        e = posix_spawnp(pid, program, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return e;
}

static int spawn_any(const char *program, const char *path, int lock_fd, int ready_fd, pid_t *pid)
{
    const char *asked = program ? program : getenv("PIPEPROBE_COLLECTOR");
    const char *const candidates[] = {asked && *asked ? asked : "pipeprobe",
                                      asked && *asked ? NULL : PP_BINDIR "/pipeprobe"};
    /* What is preloaded or injected into the program is not for the collector, and its allocator settings
     * neither. */
    static const char *const left_out[] = {"LD_PRELOAD=", "LD_AUDIT=", "NVTX_INJECTION64_PATH=",
                                           "CUDA_INJECTION64_PATH=", "PIPEPROBE_SESSION="};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = malloc((n + 1) * sizeof(*env));
    for (size_t i = 0; env && i < n; i++) {
        int drop = 0;
        for (size_t k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++)
            drop |= strncmp(environ[i], left_out[k], strlen(left_out[k])) == 0;
        if (!drop)
            env[kept++] = environ[i];
    }
    if (env)
        env[kept] = NULL;
    int e = ENOMEM;
    for (size_t i = 0; env && i < 2 && candidates[i]; i++) {
        char *const argv[] = {(char *)candidates[i], (char *)"drain",      (char *)"--lock-fd",
                              (char *)"3",           (char *)"--ready-fd", (char *)"4",
                              (char *)"--",          (char *)path,         NULL};
        e = spawn(candidates[i], argv, env, lock_fd, ready_fd, pid);
        if (!e)
            break;
    }
    free(env);
    return e;
}

/* Reads until the other end is closed; 0 when it was not in time. */
static int read_answer(int fd, char *text, size_t size)
{
    uint64_t until = pp_now_ns() + READY_NS;
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now = pp_now_ns();
        int ready = now < until ? poll(&p, 1, (int)((until - now) / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        ssize_t got = read(fd, text + n, size - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || n + (size_t)got == size - 1) {
            text[n + (size_t)(got > 0 ? got : 0)] = '\0';
            return 1;
        }
        n += (size_t)got;
    }
    text[n] = '\0';
    return 0;
}

/* Starts `pipeprobe drain` beside this program. It inherits the session's lock, so that the session stays
 * locked for as long as either of them lives, detaches itself, and says in one line when it is ready, which
 * is waited for (10 s at most). program NULL: $PIPEPROBE_COLLECTOR, "pipeprobe" in PATH, the installed one.
 * path: absolute, of the run. On failure err says why; nothing is left running. */
static pp_status start_collector(const char *program, const char *path, int lock_fd, struct pp_err *err)
{
    char answer[sizeof(err->text)];
    const int above = PP_COLLECTOR_READY_FD + 1; /* the numbers that the collector finds them under */
    int ends[2] = {-1, -1}, lock = -1, ready = -1, e = 0;
    pp_status status = PP_OK;
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 || (lock = fcntl(lock_fd, F_DUPFD_CLOEXEC, above)) < 0 ||
        (ready = fcntl(ends[1], F_DUPFD_CLOEXEC, above)) < 0)
        e = errno;
    if (!e)
        e = spawn_any(program, path, lock, ready, &pid);
    if (ends[1] >= 0)
        close(ends[1]);
    if (ready >= 0)
        close(ready);
    if (lock >= 0)
        close(lock);
    if (e) {
        status = pp_fail(
            err, e == ENOENT ? PP_E_NOT_FOUND : PP_E_SYSTEM,
            "no collector for %s: cannot run `%s drain`: %s; the spans stay in ring files until the run is opened",
            path, program ? program : "pipeprobe", strerror(e));
        goto out;
    }
    int answered = read_answer(ends[0], answer, sizeof(answer));
    /* What was spawned has detached the collector and ended. A program that reaps all its children may have
     * been faster. */
    if (answered)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    else
        kill(pid, SIGKILL), waitpid(pid, NULL, 0);
    if (!answered)
        status = pp_fail(
            err, PP_E_SYSTEM,
            "no collector for %s: it did not become ready in time; the spans stay in ring files until the run is opened",
            path);
    else if (strcmp(answer, PP_COLLECTOR_READY) != 0)
        status = pp_fail(err, PP_E_SYSTEM,
                         "no collector for %s: %s; the spans stay in ring files until the run is opened",
                         path, answer[0] ? answer : "it ended without a message");
out:
    if (ends[0] >= 0)
        close(ends[0]);
    return status;
}

/* ---- making or joining ---- */

static int session_there(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, dir);
    return access(path, F_OK) == 0;
}

/* The session, made or joined, with this process present in it; a new one with its collector. */
static pp_status enter(struct pp_recorder *r, const struct pp_open_opts *o, int joins, struct pp_err *err)
{
    pp_status status = joins ? pp_session_join(r->dir, &r->session, err)
                             : pp_session_open(&(struct pp_session_opts){.dir = r->dir,
                                                                         .ring_spans = o->ring_spans,
                                                                         .resources = o->resources},
                                               &r->session, err);
    if (status)
        return status;
    r->presence = pp_presence_enter(r->dir);
    if (r->presence < 0) {
        status = joins ? pp_fail_errno(err, errno, "cannot join the recording session %s", r->dir)
                       : pp_fail_errno(err, errno, "cannot record into %s", r->path);
        pp_session_close(r->session, joins);
        r->session = NULL;
        return status;
    }
    if (joins)
        return PP_OK;
    if (o->replace)
        unlink(r->path);
    if (o->collector && !*o->collector)
        pp_fail(&r->note, PP_E_INCONCLUSIVE,
                "no collector was requested; the spans stay in %s until the run is opened", r->dir);
    else if (start_collector(o->collector, r->path, r->session->lock_fd, &r->note) == PP_OK)
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
        if (pp_session_file_is_locked(r->dir, PP_SESSION_FILE_NAME)) {
            status = enter(r, o, 1, err);
            if (status == PP_OK)
                return status;
        } else if (!session_there(r->dir)) {
            if (!o->replace && access(r->path, F_OK) == 0)
                return pp_fail(err, PP_E_EXISTS,
                               "%s already exists; choose another name, or allow replacing it", r->path);
            status = enter(r, o, 0, err);
            if (status != PP_E_EXISTS)
                return status;
        } else {
            status = pp_fail(
                err, PP_E_EXISTS,
                "%s holds the recording of a killed run; recover it with `pipeprobe report %s`, choose another name, or allow replacing it",
                r->dir, r->path);
            if (pp_now_ns() >= give_up && o->replace) {
                /* What a killed run left is worthless once its name is given to another. */
                pp_session_discard(r->dir, -1);
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
    const struct pp_open_opts *o = opts ? opts : &defaults;
    char dir_copy[PATH_MAX], base_copy[PATH_MAX], dir[PATH_MAX];
    *out = NULL;
    struct pp_recorder *r = calloc(1, sizeof(*r));
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record");
    r->presence = -1;
    /* Paths are absolute, for the collector and for a program that changes its directory. */
    pp_status status = PP_OK;
    if (!path || !*path || path[strlen(path) - 1] == '/' || strlen(path) >= sizeof(dir_copy)) {
        status = pp_fail(err, PP_E_USAGE, "a run needs a file name, such as run.sqlite%s%s",
                         path && *path ? ", not " : "", path ? path : "");
    } else {
        snprintf(dir_copy, sizeof(dir_copy), "%s", path);
        snprintf(base_copy, sizeof(base_copy), "%s", path);
        if (!realpath(dirname(dir_copy), dir))
            status = pp_fail_errno(err, errno, "cannot record into %s: its directory", path);
        else if ((size_t)snprintf(r->path, sizeof(r->path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir,
                                  basename(base_copy)) >= sizeof(r->path))
            status = pp_fail(err, PP_E_USAGE, "the name of the run is too long: %s", path);
        else if (access(dir, W_OK | X_OK) != 0)
            status = pp_fail_errno(err, errno, "cannot record into %s: its directory", path);
        snprintf(r->dir, sizeof(r->dir), "%s.rings", r->path);
    }
    if (status == PP_OK)
        status = make_or_join(r, o, err);
    if (status != PP_OK) {
        free(r);
        return status;
    }
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

/* The collector removes the session directory as its last act. The file may have been deleted or replaced
 * meanwhile: SQLite's header, and our number in it (docs/reference/file-format.md). */
static pp_status wait_for_file(const struct pp_recorder *r, struct pp_err *err)
{
    static const unsigned char number[] = {0x70, 0x70, 0x72, 0x31};
    unsigned char head[72];
    uint64_t until = pp_now_ns() + FINISH_NS;
    while (session_there(r->dir)) {
        if (!pp_session_file_is_locked(r->dir, PP_SESSION_FILE_NAME) && session_there(r->dir))
            return pp_fail(
                err, PP_E_INCONCLUSIVE,
                "the collector of %s has ended; the spans in its ring files are recovered when the run is opened",
                r->path);
        if (pp_now_ns() >= until)
            return pp_fail(err, PP_E_TRANSIENT, "%s is still being finished", r->path);
        pp_sleep_until_ns(pp_now_ns() + RETRY_NS);
    }
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    int ours = fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
               memcmp(head, "SQLite format 3", 16) == 0 && memcmp(head + 68, number, sizeof(number)) == 0;
    if (fd >= 0)
        close(fd);
    return ours
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
    /* Retires every handle of this process. Its threads must have stopped recording. */
    for (struct pp_thread *t = r->session->handles; t; t = t->next)
        pp_thread_retire(t);
    pp_session_anchor(r->session);
    close(r->presence);
    int last = !pp_session_file_is_locked(r->dir, PP_PRESENCE_FILE_NAME);
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
