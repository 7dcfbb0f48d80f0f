#include "collectors/attach/watch.h"

#include "collectors/system/counters.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 512 /* of a process whose run delay is read */
#define COMMAND_MAX 4096

int pp_watch_parse_stat(const char *text, double ticks_per_s, struct pp_watch_look *out)
{
    long long pid, parent;
    unsigned long long user, system, started;
    /* The name is between the first ( and the last ), and may hold either. */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || sscanf(text, "%lld", &pid) != 1)
        return 0;
    if (sscanf(close + 1,
               " %c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
               &out->state, &parent, &user, &system, &started) != 5)
        return 0;
    out->pid = pid;
    out->parent = parent;
    out->started = started;
    out->cpu_s = (double)(user + system) / ticks_per_s;
    snprintf(out->name, sizeof(out->name), "%.*s", (int)(close - open - 1), open + 1);
    return 1;
}

static int read_stat(int64_t pid, struct pp_watch_look *out)
{
    char text[1024];
    return pp_io_text(text, sizeof(text), "/proc/%lld/stat", (long long)pid) > 0 &&
           pp_watch_parse_stat(text, (double)sysconf(_SC_CLK_TCK), out);
}

int pp_watch_look(int64_t pid, struct pp_watch_look *out)
{
    char text[512];
    memset(out, 0, sizeof(*out));
    if (!read_stat(pid, out))
        return 0;
    /* Of each thread there is: the second number of its schedstat, in ns. */
    char path[64], file[384], line[128];
    unsigned long long ran, waited, sum = 0;
    int threads = 0;
    snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && threads < THREADS_MAX && (e = readdir(d));) {
        snprintf(file, sizeof(file), "%s/%s/schedstat", path, e->d_name);
        if (e->d_name[0] != '.' && pp_io_text(line, sizeof(line), "%s", file) > 0 &&
            sscanf(line, "%llu %llu", &ran, &waited) == 2) {
            sum += waited;
            threads++;
        }
    }
    if (d)
        closedir(d);
    out->delay_s = threads ? (double)sum / 1e9 : NAN;
    if (pp_io_text(out->wait, sizeof(out->wait), "/proc/%lld/wchan", (long long)pid) < 0 ||
        strcmp(out->wait, "0") == 0)
        out->wait[0] = '\0';
    if (pp_io_text(text, sizeof(text), "/proc/%lld/io", (long long)pid) <= 0 ||
        !pp_counters_find(text, NULL, "rchar:", &out->read_bytes))
        out->read_bytes = NAN;
    if (isnan(out->read_bytes) || !pp_counters_find(text, NULL, "read_bytes:", &out->storage_bytes))
        out->storage_bytes = NAN;
    return 1;
}

/* ---- which processes ---- */

size_t pp_watch_children(const int64_t *parents, size_t n, int64_t *out, size_t max)
{
    struct pp_watch_look look;
    size_t found = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && found < max && (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0]) || !read_stat(strtoll(e->d_name, NULL, 10), &look))
            continue;
        for (size_t i = 0; i < n; i++)
            if (look.parent == parents[i] && look.state != 'Z') {
                out[found++] = look.pid;
                break;
            }
    }
    if (d)
        closedir(d);
    return found;
}

size_t pp_watch_command(int64_t pid, char *buf, size_t size)
{
    ssize_t n = pp_io_text(buf, size, "/proc/%lld/cmdline", (long long)pid);
    return n > 0 ? (size_t)n : 0;
}

static int holds(const char *command, size_t n, const char *word)
{
    return memmem(command, n, word, strlen(word)) != NULL;
}

enum pp_watch_kind pp_watch_kind_of(const struct pp_watch_look *look, const char *command, size_t n,
                                    const char *parents, size_t parents_n)
{
    if (strncmp(look->name, "pt_data_worker", 14) == 0 || holds(command, n, "multiprocessing.spawn"))
        return PP_WATCH_WORKER;
    if (holds(command, n, "multiprocessing.resource_tracker") ||
        holds(command, n, "multiprocessing.semaphore_tracker"))
        return PP_WATCH_HELPER;
    if (holds(command, n, "multiprocessing.forkserver"))
        return holds(parents, parents_n, "multiprocessing.forkserver") ? PP_WATCH_WORKER : PP_WATCH_SERVER;
    /* Forked: the same words, until it starts another program. */
    return n && n == parents_n && memcmp(command, parents, n) == 0 ? PP_WATCH_WORKER : PP_WATCH_OTHER;
}

/* ---- checking ---- */

/* Whether it is a Python interpreter, by its executable or its first word. */
static int is_python(int64_t pid)
{
    char path[64], name[2][PATH_MAX > COMMAND_MAX ? PATH_MAX : COMMAND_MAX] = {"", ""};
    snprintf(path, sizeof(path), "/proc/%lld/exe", (long long)pid);
    ssize_t n = readlink(path, name[0], sizeof(name[0]) - 1);
    name[0][n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            pp_watch_command(pid, name[1], COMMAND_MAX);
        const char *slash = strrchr(name[i], '/');
        if (strncmp(slash ? slash + 1 : name[i], "python", 6) == 0)
            return 1;
    }
    return 0;
}

pp_status pp_watch_check(int64_t pid, struct pp_err *err)
{
    struct pp_watch_look look;
    char text[512];
    struct stat st;
    const long long id = pid;
    snprintf(text, sizeof(text), "/proc/%lld", id);
    if (stat(text, &st) != 0 || !read_stat(pid, &look))
        return pp_fail(err, PP_E_NOT_FOUND, "there is no process %lld here", id);
    if (look.state == 'Z' || look.state == 'X')
        return pp_fail(err, PP_E_SYSTEM,
                       "process %lld has ended; its parent, process %lld, has not yet taken note", id,
                       (long long)look.parent);
    if (pp_io_text(text, sizeof(text), "/proc/%lld/io", (long long)pid) < 0 &&
        (errno == EACCES || errno == EPERM))
        return pp_fail(err, PP_E_ACCESS,
                       "process %lld belongs to user %u; run pipeprobe attach as that user%s", id,
                       (unsigned)st.st_uid,
                       geteuid() ? " or as root"
                                 : ": root may not look into it here (ptrace_scope, a container)");
    if (is_python(pid))
        return PP_OK;
    int64_t level[64] = {pid}, below[64], child = 0; /* a Python that it has started */
    size_t n = 1;
    for (int depth = 0; depth < 4 && n && !child; depth++) {
        n = pp_watch_children(level, n, below, 64);
        for (size_t i = 0; i < n && !child; i++)
            child = is_python(below[i]) ? below[i] : 0;
        memcpy(level, below, sizeof(level));
    }
    if (child)
        return pp_fail(
            err, PP_E_USAGE,
            "process %lld is %s and not a Python interpreter; process %lld, which it started, is one", id,
            look.name, (long long)child);
    return pp_fail(err, PP_E_USAGE, "process %lld is %s and not a Python interpreter", id, look.name);
}
