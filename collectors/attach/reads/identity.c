/* A process that becomes another user, or gets another root, starts programs that may not find this library:
 * the loader would say so on the job's standard error ("cannot be preloaded: ignored"), which is the job's
 * own. Its environment therefore names us no more from then on. */
#include "collectors/attach/reads/calls.h"

#include <dlfcn.h>
#include <grp.h>

static char own_path[4096];

__attribute__((constructor)) static void learn_own_path(void)
{
    Dl_info info;
    if (dladdr((void *)own_path, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof(own_path))
        memcpy(own_path, info.dli_fname, strlen(info.dli_fname) + 1);
}

/* In place and without a lock: it may be between fork and exec. */
static void leave_environment(void)
{
    static const char name[] = "LD_PRELOAD=";
    const size_t size = strlen(own_path);
    for (char **e = environ; size && e && *e; e++) {
        char *list = strncmp(*e, name, sizeof(name) - 1) == 0 ? *e + sizeof(name) - 1 : NULL;
        char *at = list ? strstr(list, own_path) : NULL;
        if (!at || (at > list && at[-1] != ':' && at[-1] != ' ') || (at[size] && !strchr(": ", at[size])))
            continue;
        char *behind = at + size + (at[size] != '\0');
        at -= at > list && !*behind; /* with what parts it from its neighbour */
        memmove(at, behind, strlen(behind) + 1);
        for (char **to = e; !*list && *to; to++) /* nothing else was preloaded */
            to[0] = to[1];
        return;
    }
}

#define LEAVES(NAME, ARGUMENTS, VALUES) \
    SHOWN int NAME ARGUMENTS \
    { \
        int out = REAL(NAME) VALUES, error = errno; \
        if (out == 0) \
            leave_environment(); \
        errno = error; \
        return out; \
    }

LEAVES(setuid, (uid_t user), (user))
LEAVES(setreuid, (uid_t real_user, uid_t user), (real_user, user))
LEAVES(setresuid, (uid_t real_user, uid_t user, uid_t saved), (real_user, user, saved))
LEAVES(chroot, (const char *path), (path))
LEAVES(unshare, (int what), (what))
LEAVES(setns, (int fd, int what), (fd, what))
