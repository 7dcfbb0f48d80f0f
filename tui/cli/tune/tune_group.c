#include "tui/cli/tune/tune_group.h"

#include "probe/base/io.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVIRONMENT_MAX = 8 << 20 };

/* Of /proc/PID/stat; the name in parentheses may hold anything. 0: it is gone, or a zombie. */
static int read_stat(pid_t pid, int *parent, int *group)
{
    char path[40], text[512], state = 'Z';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in)
        fclose(in);
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    return after && sscanf(after + 1, " %c %d %d", &state, parent, group) == 3 && state != 'Z' &&
           state != 'X';
}

/* The variable, with the end of its value or of its first line behind it. */
static int has_mark(pid_t pid, const char *mark)
{
    char path[40];
    size_t n = strlen(mark);
    struct pp_io_file f = {.limit = ENVIRONMENT_MAX};
    struct pp_err err;
    int found = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (pp_io_read_file(AT_FDCWD, path, &f, &err) == PP_OK)
        for (const char *at = (char *)f.buf, *end = at + f.size; at < end && !found;
             at += strnlen(at, (size_t)(end - at)) + 1)
            found = (size_t)(end - at) > n && memcmp(at, mark, n) == 0 && (!at[n] || at[n] == '\n');
    free(f.buf);
    return found;
}

typedef int member_fn(void *ctx, pid_t pid, pid_t parent);

/* Every living one but the leader, until fn says 1. */
static void each_member(const struct tune_group *g, int marked_as_well, member_fn *fn, void *ctx)
{
    DIR *d = opendir("/proc");
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        int parent = 0, group = 0;
        if (pid > 0 && pid != g->leader && read_stat(pid, &parent, &group) &&
            (group == g->leader || (marked_as_well && has_mark(pid, g->mark))) && fn(ctx, pid, parent))
            break;
    }
    closedir(d);
}

struct asked {
    pid_t leader, found;
    int sig, count;
};

static int take_child(void *ctx, pid_t pid, pid_t parent)
{
    struct asked *a = ctx;
    a->found = parent == a->leader ? pid : 0;
    return a->found != 0;
}

pid_t tune_group_child(const struct tune_group *g)
{
    struct asked a = {.leader = g->leader};
    each_member(g, 0, take_child, &a);
    return a.found;
}

int tune_group_has(const struct tune_group *g, pid_t pid)
{
    int parent, group = 0;
    return read_stat(pid, &parent, &group) && group == g->leader;
}

static int send_one(void *ctx, pid_t pid, pid_t parent)
{
    struct asked *a = ctx;
    (void)parent;
    a->count++;
    if (a->sig)
        kill(pid, a->sig);
    return 0;
}

int tune_group_signal(const struct tune_group *g, int sig)
{
    struct asked a = {.sig = sig};
    each_member(g, 1, send_one, &a);
    return a.count;
}
