#include "collectors/attach/python_runtime.h"

#include "collectors/attach/elf_section.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *pp_python_map_line(char *line, uint64_t *start)
{
    unsigned long long from, offset;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%*x %*s %llx %*s %*s %n", &from, &offset, &at) != 2 || !at || offset)
        return NULL;
    char *path = line + at;
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || !strstr(slash, "python"))
        return NULL;
    *start = from;
    return path;
}

/* "python3.11" in the file's name: what follows it; NULL: it has none. */
static const char *after_minor(const char *path, unsigned long *minor)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *found = strstr(name, "python3.");
    char *end = NULL;
    *minor = found ? strtoul(found + strlen("python3."), &end, 10) : 0;
    return found && end > found + strlen("python3.") && *minor < 1000 ? end : NULL;
}

struct pp_python_runtime pp_python_runtime_find(int64_t pid)
{
    struct pp_python_runtime r = {.at = 0};
    char path[64], line[PATH_MAX + 128], inside[PATH_MAX + 64];
    unsigned long minor;
    uint64_t start, distance;
    snprintf(path, sizeof(path), "/proc/%lld/maps", (long long)pid);
    FILE *f = fopen(path, "re");
    r.is_denied = !f && (errno == EACCES || errno == EPERM);
    while (f && !r.at && fgets(line, sizeof(line), f)) {
        const char *of = pp_python_map_line(line, &start);
        int fd = -1;
        if (of) { /* seen as the process sees it, which may have another root */
            snprintf(inside, sizeof(inside), "/proc/%lld/root%s", (long long)pid, of);
            fd = pp_io_open(inside, O_RDONLY | O_NONBLOCK, 0);
            fd = fd >= 0 ? fd : pp_io_open(of, O_RDONLY | O_NONBLOCK, 0);
        }
        const char *rest = of ? after_minor(of, &minor) : NULL;
        if (rest) {
            r.minor = (unsigned)minor;
            r.is_debug = *rest == 'd';
        }
        if (fd >= 0 && (pp_elf_section(fd, ".PyRuntime", &distance, &r.size) ||
                        (rest && minor < 10 && pp_elf_symbol(fd, "_PyRuntime", &distance, &r.size))))
            r.at = start + distance;
        if (fd >= 0)
            close(fd);
    }
    r.is_denied |= f && ferror(f) && (errno == EACCES || errno == EPERM);
    if (f)
        fclose(f);
    return r;
}

int pp_python_denied(int64_t pid, char *why, size_t size)
{
    char text[16] = "", path[64];
    struct stat st;
    int fd = pp_io_open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY, 0);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    int scope = atoi(text);
    /* The kernel gives what a process that must not be looked into has in /proc to root. */
    snprintf(path, sizeof(path), "/proc/%lld", (long long)pid);
    int is_others = stat(path, &st) == 0 && st.st_uid != geteuid();
    snprintf(why, size, "%s",
             scope >= 3   ? "kernel.yama.ptrace_scope is 3: no process may"
             : scope == 2 ? "kernel.yama.ptrace_scope is 2: only root may"
             : scope == 1 ? "kernel.yama.ptrace_scope is 1: only root and its own parent may"
             : is_others  ? "it is another user's, or has forbidden that others read its memory"
                          : "the right to trace it, CAP_SYS_PTRACE in a container, is missing");
    return scope;
}
