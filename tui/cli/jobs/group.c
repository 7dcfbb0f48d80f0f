#include "tui/cli/jobs/group.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 8 << 20 };

int job_stat(pid_t pid, int *parent, int *group)
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

static int is_this_program(pid_t pid)
{
    char path[40];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 && theirs.st_ino == ours.st_ino &&
           theirs.st_dev == ours.st_dev;
}

enum visited { ALL, OTHERS, CHILD };

/* CHILD: in the group alone and up to one that the leader started, which is *child. */
static int visit(const struct job_group *g, int sig, enum visited which, pid_t *child)
{
    int count = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d)) && !(child && *child);) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        int parent = 0, group = 0;
        if (pid <= 0 || pid == g->leader || pid == getpid() || !job_stat(pid, &parent, &group) ||
            !(group == g->leader || (which != CHILD && has_mark(pid, g->mark))) ||
            (which == OTHERS && is_this_program(pid)))
            continue;
        count++;
        if (child && parent == g->leader)
            *child = pid;
        if (sig)
            kill(pid, sig);
    }
    if (d)
        closedir(d);
    return count;
}

int job_group_visit(const struct job_group *g, int sig)
{
    return visit(g, sig, ALL, NULL);
}

int job_group_visit_others(const struct job_group *g, int sig)
{
    return visit(g, sig, OTHERS, NULL);
}

pid_t job_group_child(const struct job_group *g)
{
    pid_t child = 0;
    visit(g, 0, CHILD, &child);
    return child;
}
