#include "collectors/attach/python_process.h"

#include "collectors/attach/python_runtime.h"
#include "collectors/attach/watch.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <unistd.h>

#define COOKIE "xdebugpy"
#define LOOK_NOW 32u    /* the breaker's bit that is for requests from outside (_PY_EVAL_PLEASE_STOP_BIT) */
#define PATH_BYTES 512u /* of the script's path, in all versions so far */
#define INTERPRETERS 64 /* that are looked through for the main one */
#define WORDS_MAX 128   /* of the table */

/* The table is a row of 64-bit words, of which these are the same in all versions: */
enum {
    COOKIE_AT,
    VERSION,
    FREE_THREADED,
    INTERPRETERS_HEAD = 5,
    INTERPRETER_ID = 7,
    INTERPRETER_NEXT,
    MAIN_THREAD = 10
};
/* and these begin where the version has put its last group: */
enum { BREAKER, SUPPORT, ENABLED, PENDING, SCRIPT, SCRIPT_SIZE, GROUP_WORDS };

/* Include/internal/pycore_debug_offsets.h of each version, counted. */
static const struct layout {
    unsigned minor, group;
} layouts[] = {{14, 89}, {15, 105}};

/* ---- memory of the other process ---- */

static int read_memory(const struct pp_python *p, void *buf, size_t size, uint64_t at)
{
    return pread(p->memory, buf, size, (off_t)at) == (ssize_t)size;
}

static int write_memory(const struct pp_python *p, const void *buf, size_t size, uint64_t at)
{
    return pwrite(p->memory, buf, size, (off_t)at) == (ssize_t)size;
}

static pp_status fail_denied(int64_t pid, struct pp_err *err)
{
    char why[160];
    int scope = pp_python_denied(pid, why, sizeof(why));
    return pp_fail(err, PP_E_ACCESS, "process %lld: its memory may not be written from here (%s); %s",
                   (long long)pid, why,
                   scope >= 3 ? "start the job under pipeprobe exec" : "run pipeprobe attach as root");
}

/* The order counts: what executes a set-user-ID program before the memory is opened is seen by its status,
 * and what does so later has another memory. */
static pp_status open_memory(struct pp_python *p, struct pp_err *err)
{
    char path[64], text[4096];
    unsigned real, effective, saved, files;
    snprintf(path, sizeof(path), "/proc/%lld/mem", (long long)p->pid);
    p->memory = pp_io_open(path, O_RDWR, 0);
    if (p->memory < 0)
        return errno == EPERM || errno == EACCES
                   ? fail_denied(p->pid, err)
                   : pp_fail(err, PP_E_NOT_FOUND, "process %lld has ended", (long long)p->pid);
    pp_io_text(text, sizeof(text), "/proc/%lld/status", (long long)p->pid);
    const char *line = strstr(text, "\nUid:");
    int said = line && sscanf(line, " Uid: %u %u %u %u", &real, &effective, &saved, &files) == 4;
    /* -1: it has ended, or is another user's in part, as a set-user-ID program is. */
    p->user = said && real == effective && real == saved && real == files ? (int64_t)real : -1;
    return p->user >= 0 ? PP_OK
                        : pp_fail(err, PP_E_ACCESS,
                                  "process %lld runs with the rights of two users, and is not entered",
                                  (long long)p->pid);
}

static int is_same_process(const struct pp_python *p)
{
    struct pp_watch_look look;
    return pp_watch_look(p->pid, &look) && look.started == p->started && look.state != 'Z';
}

/* ---- what it says ---- */

static pp_status fail_too_old(int64_t pid, unsigned minor, struct pp_err *err)
{
    char name[32] = "a Python older than 3.13";
    if (minor)
        snprintf(name, sizeof(name), "Python 3.%u", minor);
    return pp_fail(err, PP_E_UNSUPPORTED,
                   "process %lld runs %s, and only Python 3.14 and later take hooks while they run",
                   (long long)pid, name);
}

static const struct layout *layout_of(const uint64_t *table, struct pp_python *p, struct pp_err *err)
{
    const struct layout *found = NULL;
    const long long pid = p->pid;
    p->major = (unsigned)(table[VERSION] >> 24) & 0xff;
    p->minor = (unsigned)(table[VERSION] >> 16) & 0xff;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (p->major == 3 && p->minor == layouts[i].minor)
            found = &layouts[i];
    const uint64_t *group = found ? table + found->group : NULL;
    if (p->major == 3 && p->minor < layouts[0].minor)
        (void)fail_too_old(pid, p->minor, err);
    else if (!found)
        (void)pp_fail(err, PP_E_UNSUPPORTED,
                      "process %lld runs Python %u.%u, which this pipeprobe does not know", pid, p->major,
                      p->minor);
    else if (table[FREE_THREADED])
        (void)
            pp_fail(err, PP_E_UNSUPPORTED,
                    "process %lld runs a free-threaded Python %u.%u, which cannot load the hooks; a build of "
                    "Python with the GIL can",
                    pid, p->major, p->minor);
    else if (group[SCRIPT_SIZE] != PATH_BYTES || group[PENDING] > PATH_BYTES || group[SCRIPT] > PATH_BYTES)
        (void)pp_fail(err, PP_E_UNSUPPORTED,
                      "process %lld runs a Python %u.%u that is laid out otherwise than its release: a "
                      "pre-release, or one that was changed",
                      pid, p->major, p->minor);
    else
        return found;
    return NULL;
}

/* The one with the number 0 is the main one. */
static uint64_t main_interpreter(const struct pp_python *p, uint64_t table_at, const uint64_t *table)
{
    uint64_t at = 0, id = 1;
    if (!read_memory(p, &at, sizeof(at), table_at + table[INTERPRETERS_HEAD]))
        return 0;
    for (int i = 0; i < INTERPRETERS && at; i++) {
        if (!read_memory(p, &id, sizeof(id), at + table[INTERPRETER_ID]))
            return 0;
        if (id == 0)
            return at;
        if (!read_memory(p, &at, sizeof(at), at + table[INTERPRETER_NEXT]))
            return 0;
    }
    return 0;
}

pp_status pp_python_find(int64_t pid, struct pp_python *out, struct pp_err *err)
{
    uint64_t table[WORDS_MAX] = {0}, thread = 0;
    int enabled = 0;
    struct pp_watch_look look;
    *out = (struct pp_python){.pid = pid, .user = -1, .memory = -1};
    if (!pp_watch_look(pid, &look))
        return pp_fail(err, PP_E_NOT_FOUND, "process %lld has ended", (long long)pid);
    out->started = look.started;
    const struct pp_python_runtime runtime = pp_python_runtime_find(pid);
    const uint64_t at = runtime.at;
    const unsigned minor = runtime.minor;
    if (minor && minor < layouts[0].minor)
        return fail_too_old(pid, minor, err);
    if (runtime.is_denied)
        return fail_denied(pid, err);
    if (!at)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "process %lld: no Python was found in it; its file may have been replaced since it started",
            (long long)pid);
    pp_status opened = open_memory(out, err);
    if (opened != PP_OK)
        return opened;
    if (!read_memory(out, table, sizeof(table), at))
        return fail_too_old(pid, minor, err);
    if (memcmp(&table[COOKIE_AT], COOKIE, sizeof(table[0])) != 0)
        return fail_too_old(pid, minor, err);
    const struct layout *layout = layout_of(table, out, err);
    if (!layout)
        return PP_E_UNSUPPORTED;
    const uint64_t *group = table + layout->group;
    uint64_t interpreter = main_interpreter(out, at, table);
    if (!interpreter || !read_memory(out, &thread, sizeof(thread), interpreter + table[MAIN_THREAD]) ||
        !thread)
        return pp_fail(err, PP_E_UNSUPPORTED, "process %lld: its Python is starting or ending",
                       (long long)pid);
    if (!read_memory(out, &enabled, sizeof(enabled), interpreter + group[ENABLED]) || enabled != 1)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "process %lld has remote debugging switched off: by PYTHON_DISABLE_REMOTE_DEBUG, -X "
                       "disable-remote-debug, or when its Python was built",
                       (long long)pid);
    out->script = thread + group[SUPPORT] + group[SCRIPT];
    out->script_size = group[SCRIPT_SIZE];
    out->pending = thread + group[SUPPORT] + group[PENDING];
    out->breaker = thread + group[BREAKER];
    return PP_OK;
}

/* ---- asking ---- */

pp_status pp_python_ask(const struct pp_python *p, const char *script, struct pp_err *err)
{
    const int yes = 1;
    uint64_t breaker;
    const long long pid = p->pid;
    size_t size = strlen(script) + 1;
    if (size > p->script_size)
        return pp_fail(err, PP_E_UNSUPPORTED, "the path is longer than the %llu bytes that Python takes: %s",
                       (unsigned long long)p->script_size - 1, script);
    if (!is_same_process(p))
        return pp_fail(err, PP_E_NOT_FOUND, "process %lld has ended", pid);
    if (pp_python_is_asked(p))
        return pp_fail(err, PP_E_SYSTEM,
                       "process %lld has been asked by another debugger and has not answered yet", pid);
    if (!write_memory(p, script, size, p->script) || !write_memory(p, &yes, sizeof(yes), p->pending) ||
        !read_memory(p, &breaker, sizeof(breaker), p->breaker))
        return pp_fail(err, PP_E_SYSTEM, "process %lld has ended", pid);
    breaker |= LOOK_NOW;
    return write_memory(p, &breaker, sizeof(breaker), p->breaker)
               ? PP_OK
               : pp_fail(err, PP_E_SYSTEM, "process %lld has ended", pid);
}

int pp_python_is_asked(const struct pp_python *p)
{
    int pending = 0;
    return read_memory(p, &pending, sizeof(pending), p->pending) && pending == 1;
}

void pp_python_withdraw(const struct pp_python *p)
{
    const int no = 0;
    if (is_same_process(p) && pp_python_is_asked(p))
        (void)write_memory(p, &no, sizeof(no), p->pending);
}

void pp_python_close(struct pp_python *p)
{
    if (p->memory >= 0)
        close(p->memory);
    p->memory = -1;
}
