#include "probe/dataset/shard_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

static int cache_dir(char *dir, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (xdg && xdg[0] == '/')
        n = snprintf(dir, size, "%s/pipeprobe", xdg);
    else if (home && home[0] == '/')
        n = snprintf(dir, size, "%s/.cache/pipeprobe", home);
    else
        return -1;
    return n > 0 && (size_t)n < size ? 0 : -1;
}

/* DIR/shard-000000.tar-HASH.ppidx: the shard's own name for people, cut and without odd characters, and the
 * hash of its whole path to tell shards of one name apart. */
static void name_in(const char *dir, const char *path, int is_local, char file[PATH_MAX])
{
    char real[PATH_MAX], name[48];
    const char *base = strrchr(path, '/');
    file[0] = '\0';
    if (is_local ? !realpath(path, real) : snprintf(real, sizeof(real), "%s", path) >= (int)sizeof(real))
        return;
    snprintf(name, sizeof(name), "%s", base ? base + 1 : path);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c) ||
            (c == name && *c == '.'))
            *c = '_';
    XXH128_hash_t h = XXH3_128bits(real, strlen(real));
    if (snprintf(file, PATH_MAX, "%s/%s-%016llx%016llx.ppidx", dir, name, (unsigned long long)h.high64,
                 (unsigned long long)h.low64) >= PATH_MAX)
        file[0] = '\0';
}

void pp_shard_cache_places(const char *path, int is_local, const char *dir, struct pp_shard_places *out)
{
    char cache[PATH_MAX];
    int n = 0;
    *out = (struct pp_shard_places){0};
    if (dir) {
        name_in(dir, path, is_local, out->write);
    } else {
        if (is_local && snprintf(out->read[n], PATH_MAX, "%s.ppidx", path) < PATH_MAX)
            n++;
        if (cache_dir(cache, sizeof(cache)) == 0)
            name_in(cache, path, is_local, out->write);
    }
    memcpy(out->read[n], out->write, PATH_MAX);
}

/* The directory and its parent; other parents must exist. */
void pp_shard_cache_prepare(const struct pp_shard_places *out)
{
    char dir[PATH_MAX];
    char *slash;
    snprintf(dir, sizeof(dir), "%s", out->write);
    if (!(slash = strrchr(dir, '/')) || slash == dir)
        return;
    *slash = '\0';
    if (mkdir(dir, 0700) == 0 || !(slash = strrchr(dir, '/')) || slash == dir)
        return;
    *slash = '\0';
    mkdir(dir, 0700);
    *slash = '/';
    mkdir(dir, 0700);
}

void pp_shard_cache_touch(const char *file)
{
    utimensat(AT_FDCWD, file, NULL, AT_SYMLINK_NOFOLLOW);
}

struct kept {
    char *name;
    uint64_t bytes;
    struct timespec used;
};

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept *)a)->used, *y = &((const struct kept *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

void pp_shard_cache_trim(uint64_t most_bytes)
{
    char path[PATH_MAX];
    struct kept *all = NULL;
    size_t n = 0, cap = 0;
    uint64_t bytes = 0;
    struct dirent *e;
    struct stat s;
    DIR *dir = cache_dir(path, sizeof(path)) == 0 ? opendir(path) : NULL;
    while (dir && (e = readdir(dir)) != NULL) {
        if (!strstr(e->d_name, ".ppidx") /* also what a killed process left half-written */ ||
            fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
            continue;
        if (n == cap) {
            struct kept *grown = realloc(all, (cap = cap ? cap * 2 : 64) * sizeof(*all));
            if (!grown)
                break;
            all = grown;
        }
        all[n] = (struct kept){strdup(e->d_name), (uint64_t)s.st_size, s.st_mtim};
        bytes += all[n].bytes;
        n += all[n].name != NULL;
    }
    if (bytes > most_bytes)
        qsort(all, n, sizeof(*all), by_age);
    for (size_t i = 0; i < n; i++) {
        if (bytes > most_bytes && unlinkat(dirfd(dir), all[i].name, 0) == 0)
            bytes -= all[i].bytes;
        free(all[i].name);
    }
    free(all);
    if (dir)
        closedir(dir);
}
