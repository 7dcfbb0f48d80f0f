#include "tui/cli/tune/tune_group.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

typedef int member_fn(void *ctx, pid_t pid, pid_t parent);

/* Every living member but the leader, until fn says 1. */
static void each_member(pid_t leader, member_fn *fn, void *ctx)
{
    DIR *d = opendir("/proc");
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        int parent = 0, group = 0;
        if (pid > 0 && pid != leader && read_stat(pid, &parent, &group) && group == leader &&
            fn(ctx, pid, parent))
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

pid_t tune_group_child(pid_t leader)
{
    struct asked a = {.leader = leader};
    each_member(leader, take_child, &a);
    return a.found;
}

int tune_group_has(pid_t leader, pid_t pid)
{
    int parent, group = 0;
    return read_stat(pid, &parent, &group) && group == leader;
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

int tune_group_signal(pid_t leader, int sig)
{
    struct asked a = {.leader = leader, .sig = sig};
    each_member(leader, send_one, &a);
    return a.count;
}

void tune_group_finish(pid_t leader)
{
    if (!tune_group_signal(leader, SIGTERM))
        return;
    for (int i = 0; i < 20 && tune_group_signal(leader, 0); i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000000L}, NULL);
    tune_group_signal(leader, SIGKILL);
}
