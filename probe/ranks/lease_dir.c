#include "probe/ranks/lease_dir.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/hash.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 64, JOB_BYTES = 1024 };

static const char job_head[] = "pipeprobe lease 1\n";

/* ---- names ---- */

static const char *lease_name(char buf[NAME], uint64_t epoch, uint64_t shard, int turn)
{
    if (turn == PP_LEASE_DONE)
        snprintf(buf, NAME, "epoch-%05llu/%llu.done", (unsigned long long)epoch, (unsigned long long)shard);
    else
        snprintf(buf, NAME, "epoch-%05llu/%llu.%d", (unsigned long long)epoch, (unsigned long long)shard,
                 turn);
    return buf;
}

/* ---- small files ---- */

/* At most size - 1 bytes of a regular file, as text without its last newline. 0, or errno. */
static int read_text(int dir, const char *name, char *buf, size_t size)
{
    struct stat info;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int rc = fd < 0 ? errno : 0;
    ssize_t n = 0;
    if (rc == 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)))
        rc = EINVAL;
    if (rc == 0 && (n = read(fd, buf, size - 1)) < 0)
        rc = errno;
    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    if (n > 0 && buf[n - 1] == '\n')
        buf[n - 1] = '\0';
    return rc;
}

/* 0, or errno; EEXIST: it is there. A file that was made and not yet written is empty: its readers
 * see a rank without a heartbeat. */
static int make_text(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return errno;
    int rc = pp_io_write_full(fd, text, strlen(text)) == 0 ? 0 : errno;
    if (close(fd) != 0 && rc == 0) /* NFS: the server's answer to the write comes here */
        rc = errno;
    if (rc)
        unlinkat(dir, name, 0);
    return rc;
}

static pp_status fail_dir(const struct pp_lease_dir *d, int errnum, const char *what, struct pp_err *err)
{
    const char *hint = errnum == EROFS || errnum == EACCES || errnum == EPERM
                           ? "; every rank writes there: name a directory that can be written"
                       : errnum == ENOSPC || errnum == EDQUOT ? "; free some space there"
                                                              : "";
    pp_status st = pp_fail_errno(NULL, errnum, "x");
    return pp_fail(err, st, "--lease %s: %s failed: %s%s", d->path, what, strerror(errnum), hint);
}

/* ---- whose directory it is ---- */

/* The value of a line "key value"; "" when there is none. */
static void value_of(const char *text, const char *key, char *buf, size_t size)
{
    size_t n = strlen(key);
    buf[0] = '\0';
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            size_t length = strcspn(line + n + 1, "\n");
            snprintf(buf, size, "%.*s", (int)(length < size ? length : size - 1), line + n + 1);
            return;
        }
}

/* The first difference that matters, in words of the person who chose the directory. */
static pp_status compare_jobs(const struct pp_lease_dir *d, const char *theirs, const char *own,
                              struct pp_err *err)
{
    static const struct {
        const char *key, *format;
    } rows[] = {
        {"shards",
         "holds the leases of %s shards, and this run has %s: name the same shards, or another directory"},
        {"list",
         "holds the leases of other shards (list %s, and this run's is %s): name the same shards, or another directory"},
        {"seed", "holds the leases of a job with --seed %s, and this run has %s: give all ranks the same"},
        {"shuffled",
         "holds the leases of a job with shuffled shards: %s, and this run has %s (--no-shuffle-shards)"},
        {"job", "holds the leases of job %s, and this is job %s: give each job a directory of its own"},
    };
    if (strncmp(theirs, job_head, sizeof(job_head) - 1) != 0) {
        int newer = strncmp(theirs, "pipeprobe lease ", 16) == 0;
        return pp_fail(
            err, newer ? PP_E_VERSION : PP_E_USAGE,
            newer ? "--lease %s: is of another version of pipeprobe; use the same on all ranks"
                  : "--lease %s: its file 'job' is not pipeprobe's; name an empty or a new directory",
            d->path);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char a[160], b[160], what[400];
        value_of(theirs, rows[i].key, a, sizeof(a));
        value_of(own, rows[i].key, b, sizeof(b));
        int unknown = strcmp(rows[i].key, "job") == 0 && (!a[0] || !b[0]);
        if (unknown || strcmp(a, b) == 0)
            continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(what, sizeof(what), rows[i].format, a, b);
#pragma GCC diagnostic pop
        return pp_fail(err, PP_E_USAGE, "--lease %s: %s", d->path, what);
    }
    return PP_OK;
}

/* A directory that is empty, but for what other ranks are beginning, may become the job's. */
static pp_status check_empty(const struct pp_lease_dir *d, struct pp_err *err)
{
    const struct dirent *e;
    char foreign[NAME] = "";
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return fail_dir(d, errnum, "listing it", err);
    }
    while (!foreign[0] && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "ranks") != 0 &&
            strcmp(e->d_name, "job") != 0)
            snprintf(foreign, sizeof(foreign), "%.60s", e->d_name);
    closedir(dir);
    /* What another rank made meanwhile came behind its 'job'. */
    if (!foreign[0] || faccessat(d->fd, "job", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return PP_OK;
    for (char *c = foreign; *c; c++)
        *c = *c < ' ' || *c == 127 ? '?' : *c;
    return pp_fail(
        err, PP_E_USAGE,
        "--lease %s: is no lease directory, for it holds %s and no file 'job'; name an empty or a new one",
        d->path, foreign);
}

static pp_status claim_job(const struct pp_lease_dir *d, const struct pp_lease_opts *o, struct pp_err *err)
{
    char own[JOB_BYTES], theirs[JOB_BYTES];
    char job[128];
    snprintf(job, sizeof(job), "%s", o->job ? o->job : "");
    for (char *c = job; *c; c++)
        *c = *c < ' ' ? ' ' : *c;
    snprintf(own, sizeof(own), "%sshards %llu\nlist %016llx\nseed %llu\nshuffled %d\njob %s\n", job_head,
             (unsigned long long)o->shards, (unsigned long long)o->list, (unsigned long long)o->seed,
             o->shuffled != 0, job);
    int rc = read_text(d->fd, "job", theirs, sizeof(theirs));
    pp_status st = PP_OK;
    if (rc == ENOENT) {
        /* The file appears whole or not at all. Where links cannot be made it is renamed into place: ranks of
         * one job write the same. */
        char made[PP_LEASE_TOKEN + 16];
        snprintf(made, sizeof(made), "ranks/%s.job", d->token);
        st = check_empty(d, err);
        rc = st == PP_OK ? make_text(d->fd, made, own) : 0;
        if (rc) {
            st = fail_dir(d, rc, "writing into it", err);
        } else if (st == PP_OK) {
            if (linkat(d->fd, made, d->fd, "job", 0) != 0 && errno != EEXIST)
                rc = renameat(d->fd, made, d->fd, "job") == 0 ? 0 : errno;
            unlinkat(d->fd, made, 0);
            if (rc)
                st = fail_dir(d, rc, "making its file 'job'", err);
        }
        if (st == PP_OK)
            rc = read_text(d->fd, "job", theirs, sizeof(theirs));
    }
    if (st == PP_OK && rc == EINVAL)
        st = pp_fail(err, PP_E_USAGE, "--lease %s: its 'job' is no file; name an empty or a new directory",
                     d->path);
    if (st == PP_OK && (rc == ELOOP || rc == EMLINK))
        st = pp_fail(err, PP_E_USAGE,
                     "--lease %s: its 'job' is a symbolic link; name an empty or a new directory", d->path);
    if (st == PP_OK && rc)
        st = fail_dir(d, rc, "reading its file 'job'", err);
    return st == PP_OK ? compare_jobs(d, theirs, own, err) : st;
}

pp_status pp_lease_dir_join(struct pp_lease_dir *d, const struct pp_lease_opts *o, struct pp_err *err)
{
    *d = (struct pp_lease_dir){.fd = -1, .shards = o->shards, .expiry_ns = o->expiry_ns};
    d->path = strdup(o->dir);
    if (!d->path)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to lease shards");
    /* Host, process and 64 random bits: a name for people that no other rank has. */
    char host[48] = "host";
    gethostname(host, sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    for (char *c = host; *c; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '-'))
            *c = '-';
    snprintf(d->token, PP_LEASE_TOKEN, "%.48s.%ld.%016llx", host, (long)getpid(),
             (unsigned long long)pp_hash_seed());
    struct stat info;
    pp_status st = PP_OK;
    if (mkdir(d->path, 0755) != 0 && errno != EEXIST)
        st = errno == ENOENT
                 ? pp_fail(err, PP_E_NOT_FOUND,
                           "--lease %s: the directory above it does not exist; make it first", d->path)
                 : fail_dir(d, errno, "making the directory", err);
    else if ((d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 && errno == ENOTDIR)
        st = pp_fail(err, PP_E_USAGE, "--lease %s: is no directory; name one that all ranks see", d->path);
    else if (d->fd < 0 || fstat(d->fd, &info) != 0)
        st = fail_dir(d, errno, "opening it", err);
    else if (info.st_mode & S_IWOTH)
        st = pp_fail(
            err, PP_E_ACCESS,
            "--lease %s: can be written by every user; name a directory of your own, or a new one in it",
            d->path);
    int has_job = st == PP_OK && faccessat(d->fd, "job", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (st == PP_OK) /* nothing is made in a stranger's directory */
        st = has_job ? claim_job(d, o, err) : check_empty(d, err);
    if (st == PP_OK) {
        /* A link would have the heartbeats written elsewhere. */
        if (mkdirat(d->fd, "ranks", 0755) != 0 && errno != EEXIST)
            st = fail_dir(d, errno, "writing into it", err);
        else if (fstatat(d->fd, "ranks", &info, AT_SYMLINK_NOFOLLOW) != 0)
            st = fail_dir(d, errno, "looking at its directory 'ranks'", err);
        else
            st = S_ISDIR(info.st_mode)
                     ? PP_OK
                     : pp_fail(err, PP_E_USAGE,
                               "--lease %s: its 'ranks' is no directory; name an empty or a new one",
                               d->path);
    }
    if (st == PP_OK && !has_job)
        st = claim_job(d, o, err);
    return st == PP_OK ? pp_lease_dir_beat(d, 0, err) : st;
}

void pp_lease_dir_free(struct pp_lease_dir *d)
{
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
    free(d->others);
}

/* ---- heartbeats ---- */

/* In place: a reader that has the name cached (NFS) sees the new contents when it opens it. */
pp_status pp_lease_dir_beat(struct pp_lease_dir *d, int left, struct pp_err *err)
{
    char name[PP_LEASE_TOKEN + 8], text[32];
    snprintf(name, sizeof(name), "ranks/%s", d->token);
    int n = snprintf(text, sizeof(text), left ? "left %012llu\n" : "beat %012llu\n",
                     (unsigned long long)++d->beats);
    int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    int rc = fd < 0 ? errno : 0;
    if (rc == 0 && pp_io_write_full(fd, text, (size_t)n) != 0)
        rc = errno;
    if (fd >= 0 && close(fd) != 0 && rc == 0)
        rc = errno;
    return rc ? fail_dir(d, rc, "writing the heartbeat", err) : PP_OK;
}

enum pp_lease_owner pp_lease_dir_owner(struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn,
                                       char *token)
{
    char name[NAME], of_beat[PP_LEASE_TOKEN + 8], beat[32] = "";
    uint64_t now = pp_now_ns();
    int known = read_text(d->fd, lease_name(name, epoch, shard, turn), token, PP_LEASE_TOKEN) == 0;
    /* A token that was read becomes a part of a name. */
    size_t n = strspn(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.");
    known = known && n > 0 && token[n] == '\0' && token[0] != '.' && n < PP_LEASE_TOKEN;
    if (!known) /* its maker died before it wrote its name, or is about to write it: watched by itself */
        snprintf(token, PP_LEASE_TOKEN, "?%.64s", name);
    size_t i = 0;
    while (i < d->n_others && strcmp(d->others[i].token, token) != 0)
        i++;
    if (i == d->n_others && pp_grow(&d->others, &d->others_room, d->n_others + 1, sizeof(*d->others))) {
        d->others[d->n_others] = (struct pp_lease_other){.changed_ns = now};
        snprintf(d->others[d->n_others++].token, PP_LEASE_TOKEN, "%s", token);
    }
    if (known) {
        snprintf(of_beat, sizeof(of_beat), "ranks/%s", token);
        read_text(d->fd, of_beat, beat, sizeof(beat));
    }
    if (i == d->n_others)
        return PP_LEASE_ALIVE;
    struct pp_lease_other *o = &d->others[i];
    if (strncmp(beat, "left ", 5) == 0)
        return PP_LEASE_LEFT;
    if (strcmp(beat, o->beat) != 0) {
        snprintf(o->beat, sizeof(o->beat), "%s", beat);
        o->changed_ns = now;
    }
    return now - o->changed_ns >= d->expiry_ns ? PP_LEASE_EXPIRED : PP_LEASE_ALIVE;
}

/* ---- leases ---- */

pp_status pp_lease_dir_enter(struct pp_lease_dir *d, uint64_t epoch, struct pp_err *err)
{
    char name[NAME];
    struct stat there;
    snprintf(name, sizeof(name), "epoch-%05llu", (unsigned long long)epoch);
    if (mkdirat(d->fd, name, 0755) != 0 && errno != EEXIST)
        return fail_dir(d, errno, "making the directory of an epoch", err);
    /* A member of the directory's group can have made a link of that name, which leads elsewhere. */
    if (fstatat(d->fd, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_dir(d, errno, "opening the directory of an epoch", err);
    return S_ISDIR(there.st_mode)
               ? PP_OK
               : pp_fail(err, PP_E_ACCESS,
                         "--lease %s: %s is no directory of its own; name an empty or a new "
                         "directory",
                         d->path, name);
}

pp_status pp_lease_dir_take(struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn,
                            struct pp_err *err)
{
    char name[NAME], text[PP_LEASE_TOKEN + 2];
    if (turn >= PP_LEASE_MOST_TURNS)
        return pp_fail(
            err, PP_E_LIMIT,
            "--lease %s: shard %llu was leased %d times in epoch %llu: no rank reads it to its end", d->path,
            (unsigned long long)shard, turn, (unsigned long long)epoch);
    snprintf(text, sizeof(text), "%s\n", d->token);
    int rc = make_text(d->fd, lease_name(name, epoch, shard, turn), text);
    if (rc == 0 || rc == EEXIST)
        return rc && turn != PP_LEASE_DONE ? PP_E_EXISTS : PP_OK;
    return fail_dir(d, rc, turn == PP_LEASE_DONE ? "marking a shard as done" : "leasing a shard", err);
}

int pp_lease_dir_has(const struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn)
{
    char name[NAME];
    return faccessat(d->fd, lease_name(name, epoch, shard, turn), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

pp_status pp_lease_dir_look(struct pp_lease_dir *d, uint64_t epoch, struct pp_lease_state *state,
                            struct pp_err *err)
{
    char name[NAME];
    const struct dirent *e;
    uint64_t most = 65536 + 16 * d->shards, seen = 0;
    for (uint64_t i = 0; i < d->shards; i++)
        state[i] = (struct pp_lease_state){.turn = -1};
    snprintf(name, sizeof(name), "epoch-%05llu", (unsigned long long)epoch);
    int fd = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return PP_OK;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return fail_dir(d, errnum, "listing the leases of an epoch", err);
    }
    while ((e = readdir(dir)) && seen++ < most) {
        char *end;
        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        errno = 0;
        unsigned long long shard = strtoull(e->d_name, &end, 10);
        if (errno || *end != '.' || shard >= d->shards)
            continue;
        if (strcmp(end + 1, "done") == 0)
            state[shard].done = 1;
        if (end[1] < '0' || end[1] > '9')
            continue;
        unsigned long turn = strtoul(end + 1, &end, 10);
        if (!errno && *end == '\0' && turn <= PP_LEASE_MOST_TURNS && (int)turn > state[shard].turn)
            state[shard].turn = (int)turn;
    }
    closedir(dir);
    return seen <= most ? PP_OK
                        : pp_fail(err, PP_E_LIMIT,
                                  "--lease %s: %s holds more than %llu files, and is not pipeprobe's alone",
                                  d->path, name, (unsigned long long)most);
}
