#include "collectors/system/mounts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The next space-separated word, with the kernel's octal escapes (\040 for a space) undone. NULL at the end
 * of the line. */
static const char *next_word(const char *p, char *out, size_t size)
{
    size_t n = 0;
    while (*p == ' ')
        p++;
    if (!*p || *p == '\n')
        return NULL;
    for (; *p && *p != ' ' && *p != '\n'; p++) {
        unsigned c = (unsigned char)*p;
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
            p[3] <= '7') {
            c = (unsigned)(p[1] - '0') << 6 | (unsigned)(p[2] - '0') << 3 | (unsigned)(p[3] - '0');
            p += 3;
        }
        if (n + 1 < size)
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return p;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue": optional fields end at
 * the lone dash. */
static int parse_line(const char *p, struct pp_mount *m)
{
    char skip[256];
    for (int i = 0; i < 4; i++)
        if (!(p = next_word(p, skip, sizeof(skip))))
            return 0;
    if (!(p = next_word(p, m->point, sizeof(m->point))) ||
        !(p = next_word(p, m->options, sizeof(m->options))))
        return 0;
    do {
        if (!(p = next_word(p, skip, sizeof(skip))))
            return 0;
    } while (strcmp(skip, "-") != 0);
    return (p = next_word(p, m->type, sizeof(m->type))) && next_word(p, m->source, sizeof(m->source));
}

int pp_mount_find(const char *mountinfo, const char *path, struct pp_mount *out)
{
    size_t best = 0;
    for (const char *line = mountinfo; line && *line;) {
        struct pp_mount m;
        size_t n = parse_line(line, &m) ? strlen(m.point) : 0;
        int holds = n == 1 ? path[0] == '/'
                           : n && strncmp(m.point, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
        if (holds && n >= best) {
            best = n; /* a later mount on the same point hides the earlier one */
            *out = m;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return best > 0;
}

int pp_mount_of(const char *path, struct pp_mount *out)
{
    char real[PATH_MAX];
    char *text = NULL;
    size_t cap = 0;
    int found = 0;
    if (!realpath(path, real))
        return 0;
    FILE *in = fopen("/proc/self/mountinfo", "re");
    if (in && getdelim(&text, &cap, '\0', in) > 0)
        found = pp_mount_find(text, real, out);
    if (in)
        fclose(in);
    free(text);
    return found;
}

int pp_disk_of(const char *path, char *device, size_t size)
{
    char sys[64], more[96];
    struct stat st;
    if (stat(path, &st) != 0 || major(st.st_dev) == 0)
        return 0;
    snprintf(device, size, "%u:%u", major(st.st_dev), minor(st.st_dev));
    snprintf(sys, sizeof(sys), "/sys/dev/block/%s", device);
    snprintf(more, sizeof(more), "%s/partition", sys);
    if (access(more, F_OK) != 0)
        return access(sys, F_OK) == 0;
    snprintf(more, sizeof(more), "%s/../dev", sys);
    FILE *in = fopen(more, "re");
    int found = in && fgets(sys, sizeof(sys), in) != NULL;
    if (in)
        fclose(in);
    if (found)
        snprintf(device, size, "%.*s", (int)strcspn(sys, "\n"), sys);
    return found;
}
