#include "collectors/attach/rank_session.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define NAP_MS 2

/* ---- keys ---- */

static uint64_t fnv1a(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u; /* where the text ends */
}

void pp_rank_key(const struct pp_identity *id, char *buf, size_t size)
{
    uint64_t of = fnv1a(fnv1a(0xcbf29ce484222325u, id->launcher ? id->launcher : ""), id->job);
    snprintf(buf, size, "%lld-%lld-%lld-%016llx", (long long)(id->attempt < 0 ? 0 : id->attempt),
             (long long)id->rank, (long long)id->world_size, (unsigned long long)of);
}

/* ---- in the program ---- */

static int read_answer(const char *path, char *own, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, own, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    own[n > 0 ? n : 0] = '\0';
    return n > 0 && own[0] == '/';
}

int pp_rank_is_one_of_several(void)
{
    struct pp_identity id;
    return pp_identity_read(&id) && id.world_size > 1;
}

int pp_rank_session(const char *dir, int64_t rank, int64_t world_size, char *own, size_t size)
{
    char request[PATH_MAX], part[PATH_MAX], answer[PATH_MAX], key[PP_RANK_KEY], *end = NULL;
    struct pp_identity id;
    const char *told = getenv(PP_RANKS_VARIABLE);
    long exec = told && *told ? strtol(told, &end, 10) : 0;
    if (exec <= 0 || *end != ':') /* there is none that could be asked */
        return 0;
    if (!pp_identity_read(&id)) {
        id.launcher = PP_RANK_OF_PROGRAM;
        id.rank = rank;
        id.world_size = world_size;
    }
    if (id.rank < 0 || id.world_size < 2)
        return 0;
    pp_rank_key(&id, key, sizeof(key));
    /* This process may be the rank that exec is itself. */
    if (strcmp(end + 1, key) == 0 || strlen(dir) + sizeof(key) + 32 >= PATH_MAX)
        return 0;
    snprintf(request, sizeof(request), "%s/" PP_RANK_FILE_PREFIX "%d", dir, (int)getpid());
    snprintf(part, sizeof(part), "%s/" PP_RANK_ASKING_PREFIX "%d", dir, (int)getpid());
    snprintf(answer, sizeof(answer), "%s/" PP_RANK_SESSION_PREFIX "%s", dir, key);
    int answered = read_answer(answer, own, size);
    if (answered || (kill((pid_t)exec, 0) != 0 && errno != EPERM)) /* exec has gone */
        return answered && strcmp(own, dir) != 0;
    struct pp_rank_file f = {.pid = getpid(),
                             .rank = id.rank,
                             .world_size = id.world_size,
                             .local_rank = id.local_rank,
                             .local_size = id.local_size,
                             .node = id.node,
                             .attempt = id.attempt};
    memcpy(f.magic, PP_RANK_MAGIC, sizeof(f.magic));
    snprintf(f.launcher, sizeof(f.launcher), "%s", id.launcher);
    snprintf(f.job, sizeof(f.job), "%s", id.job);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int written = fd >= 0 && write(fd, &f, sizeof(f)) == (ssize_t)sizeof(f);
    if (fd >= 0)
        close(fd);
    int asked = written && rename(part, request) == 0;
    if (fd >= 0 && !asked)
        unlink(part);
    for (int waited = 0; asked && !answered && waited < PP_RANK_WAIT_MS; waited += NAP_MS) {
        if (kill((pid_t)exec, 0) != 0 && errno != EPERM)
            break;
        nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
        answered = read_answer(answer, own, size);
    }
    if (asked && !answered)
        unlink(request);
    return answered && strcmp(own, dir) != 0;
}

/* ---- in exec ---- */

int pp_rank_file_identity(const struct pp_rank_file *f, struct pp_identity *out)
{
    const int64_t numbers[] = {f->world_size, f->local_rank, f->local_size, f->node, f->attempt};
    int sound = f->rank >= 0 && f->world_size > 1 && f->rank < f->world_size;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sound = sound && numbers[i] >= -1 && numbers[i] <= INT32_MAX;
    const char *variable, *name, *launcher = NULL;
    if (strcmp(f->launcher, PP_RANK_OF_PROGRAM) == 0)
        launcher = PP_RANK_OF_PROGRAM;
    for (size_t i = 0; !launcher && (name = pp_identity_launcher(i, &variable)); i++)
        launcher = strcmp(name, f->launcher) == 0 ? name : NULL;
    *out = (struct pp_identity){.launcher = launcher,
                                .rank = f->rank,
                                .world_size = f->world_size,
                                .local_rank = f->local_rank,
                                .local_size = f->local_size,
                                .node = f->node,
                                .attempt = f->attempt};
    snprintf(out->job, sizeof(out->job), "%s", f->job);
    return sound && launcher;
}
