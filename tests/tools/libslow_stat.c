/* libslow_stat.so, for LD_PRELOAD: every look-up of a name (stat, statx, access, open) takes $SLOW_STAT_MS
 * longer and is counted; at exit the count goes to the file $SLOW_STAT_COUNT. It makes any machine a mount
 * with slow look-ups, for programs that go through the C library. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong lookups;

static void look_up(void)
{
    const char *ms = getenv("SLOW_STAT_MS");
    long ns = ms ? atol(ms) * 1000000 : 0;
    lookups++;
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

int stat(const char *path, struct stat *info)
{
    return look_up(), REAL(stat)(path, info);
}
int lstat(const char *path, struct stat *info)
{
    return look_up(), REAL(lstat)(path, info);
}
int access(const char *path, int mode)
{
    return look_up(), REAL(access)(path, mode);
}
int faccessat(int dir, const char *path, int mode, int flags)
{
    return look_up(), REAL(faccessat)(dir, path, mode, flags);
}

int fstatat(int dir, const char *path, struct stat *info, int flags)
{
    if (!(flags & AT_EMPTY_PATH))
        look_up();
    return REAL(fstatat)(dir, path, info, flags);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *info)
{
    if (!(flags & AT_EMPTY_PATH))
        look_up();
    return REAL(statx)(dir, path, flags, mask, info);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return look_up(), REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return look_up(), REAL(openat)(dir, path, flags, mode);
}

static void __attribute__((destructor)) write_count(void)
{
    const char *path = getenv("SLOW_STAT_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "lookups %lu\n", lookups);
        fclose(out);
    }
}
