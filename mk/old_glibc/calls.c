/* What glibc's headers call by names that only glibc 2.33 and later have, in the words of those before:
 * linked into what starts with an older one (stubs.py). The number says which struct stat is meant; for the
 * only one of a 64-bit machine it is 1 on x86-64 and 0 elsewhere, and stat64 is the same. */
#if defined(__x86_64__)
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define SAME_AS(name) __attribute__((visibility("hidden"), alias(#name)))

/* sys/stat.h may call these by other names. */
struct stat;
extern int __xstat(int version, const char *path, struct stat *to);
extern int __lxstat(int version, const char *path, struct stat *to);
extern int __fxstat(int version, int fd, struct stat *to);
extern int __fxstatat(int version, int dir, const char *path, struct stat *to, int flags);

HIDDEN int stat(const char *path, struct stat *to);
HIDDEN int lstat(const char *path, struct stat *to);
HIDDEN int fstat(int fd, struct stat *to);
HIDDEN int fstatat(int dir, const char *path, struct stat *to, int flags);

int stat(const char *path, struct stat *to)
{
    return __xstat(STAT_VERSION, path, to);
}

int lstat(const char *path, struct stat *to)
{
    return __lxstat(STAT_VERSION, path, to);
}

int fstat(int fd, struct stat *to)
{
    return __fxstat(STAT_VERSION, fd, to);
}

int fstatat(int dir, const char *path, struct stat *to, int flags)
{
    return __fxstatat(STAT_VERSION, dir, path, to, flags);
}

extern int stat64(const char *path, struct stat *to) SAME_AS(stat);
extern int lstat64(const char *path, struct stat *to) SAME_AS(lstat);
extern int fstat64(int fd, struct stat *to) SAME_AS(fstat);
extern int fstatat64(int dir, const char *path, struct stat *to, int flags) SAME_AS(fstatat);
