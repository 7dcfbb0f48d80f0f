#include "tui/cli/jobs/again.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/jobs/interrupt.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OURSELVES "/proc/self/exe"
enum { TAIL_BYTES = 16384 }; /* of a log that may be long */

void again_add_all(struct again *a, char *const *words, size_t n)
{
    if (!pp_grow(&a->word, &a->room, a->n + n + 1, sizeof(*a->word))) {
        a->failed = ENOMEM;
        return;
    }
    if (n)
        memcpy(a->word + a->n, words, n * sizeof(*words));
    a->n += n;
    a->word[a->n] = NULL;
}

void again_add(struct again *a, ...)
{
    va_list words;
    va_start(words, a);
    for (char *word; (word = va_arg(words, char *));)
        again_add_all(a, &word, 1);
    va_end(words);
}

/* posix_spawn cannot ask for a signal at our end: it is asked for by the child itself. */
static pid_t fork_session(const struct again *a, const int stream[3], char *const *environment)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigset_t restore, none;
    interrupt_restores(&restore);
    sigemptyset(&none);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int i = 0; i < 3; i++)
        if (stream[i] > 0 && dup2(stream[i], i) != i)
            _exit(127);
    for (int sig = 1; sig < NSIG; sig++)
        if (sigismember(&restore, sig) == 1)
            signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent) /* else we have ended meanwhile, and no signal will come */
        execvpe(a->program ? a->program : OURSELVES, (char *const *)a->word, environment);
    _exit(127);
}

static int spawn(const struct again *a, const int stream[3], char *const *environment, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t restore, none;
    if (posix_spawnattr_init(&attr) != 0)
        return ENOMEM;
    interrupt_restores(&restore);
    sigemptyset(&none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                        (a->group == AGAIN_OWN_GROUP ? POSIX_SPAWN_SETPGROUP : 0));
    posix_spawnattr_setsigdefault(&attr, &restore);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setpgroup(&attr, 0);
    int e = posix_spawn_file_actions_init(&actions);
    if (e == 0) {
        for (int i = 0; i < 3; i++)
            if (e == 0 && stream[i] > 0)
                e = posix_spawn_file_actions_adddup2(&actions, stream[i], i);
        if (e == 0)
            e = posix_spawnp(pid, a->program ? a->program : OURSELVES, &actions, &attr,
                             (char *const *)a->word, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attr);
    return e;
}

int again_start(struct again *a, pid_t *pid)
{
    const int asked[] = {a->in, a->out, a->errors};
    char *const *environment = a->environment ? a->environment : environ;
    int stream[3], none = -1, e = a->failed;
    *pid = 0;
    for (int i = 0; i < 3; i++) {
        if (asked[i] == AGAIN_NULL && none < 0 && (none = pp_io_open("/dev/null", O_RDWR, 0)) < 0)
            e = errno;
        stream[i] = asked[i] == AGAIN_NULL ? none : asked[i];
    }
    if (e == 0 && a->group == AGAIN_OWN_SESSION)
        e = (*pid = fork_session(a, stream, environment)) < 0 ? errno : 0;
    else if (e == 0)
        e = spawn(a, stream, environment, pid);
    if (e != 0)
        *pid = 0;
    if (none >= 0)
        close(none);
    free(a->word);
    a->word = NULL;
    a->n = a->room = 0;
    a->failed = 0;
    return e;
}

int again_wait(pid_t pid)
{
    int status;
    pid_t ended;
    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        continue;
    return ended < 0 ? -1 : status;
}

int again_has_ended(pid_t *pid, int *status)
{
    int s = 0;
    pid_t ended = *pid > 0 ? waitpid(*pid, &s, WNOHANG) : 0;
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return 0;
    if (status)
        *status = s;
    *pid = 0;
    return 1;
}

int again_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int again_last_line(const char *path, char *line, size_t size)
{
    char text[1024];
    FILE *in = fopen(path, "re");
    line[0] = '\0';
    if (in && fseek(in, -TAIL_BYTES, SEEK_END) != 0)
        rewind(in);
    while (in && fgets(text, sizeof(text), in)) {
        text[strcspn(text, "\r\n")] = '\0';
        if (text[strspn(text, " \t")])
            snprintf(line, size, "%s", text);
    }
    if (in)
        fclose(in);
    return line[0] != '\0';
}

/* ---- the directory of a job's runs ---- */

pp_status job_dir_name(const char *output, const char *command, char *dir, size_t size, struct pp_err *err)
{
    char when[32];
    struct stat st;
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    int n = output ? snprintf(dir, size, "%s", output)
                   : snprintf(dir, size, "pipeprobe-%s-%s", command, when);
    if (n < 1 || (size_t)n >= size)
        return pp_fail(err, PP_E_USAGE, "-o: a name of 1 to %zu bytes is needed", size - 1);
    char parent[PATH_MAX];
    snprintf(parent, sizeof(parent), "%s", dir);
    if (stat(dirname(parent), &st) != 0 || !S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_NOT_FOUND, "cannot make the directory %s: there is no such place", dir);
    if (lstat(dir, &st) == 0)
        return pp_fail(err, PP_E_EXISTS,
                       "%s exists; %s writes into a new directory: give another name with -o", dir, command);
    return PP_OK;
}

pp_status job_dir_make(const char *dir, char *path, size_t size, struct pp_err *err)
{
    char real[PATH_MAX];
    if (mkdir(dir, 0777) != 0 || !realpath(dir, real))
        return pp_fail_errno(err, errno, "cannot make the directory %s", dir);
    if (strlen(real) >= size || strchr(real, '\n')) {
        rmdir(dir);
        return pp_fail(err, PP_E_USAGE, "the path of %s is too long, or has a line break", dir);
    }
    strcpy(path, real);
    return PP_OK;
}

/* ---- the processes of a job ---- */

enum { ENVIRONMENT_MAX = 8 << 20 };

int job_stat(pid_t pid, int *parent, int *group)
{
    char text[512], state;
    int threads;
    pp_io_text(text, sizeof(text), "/proc/%d/stat", (int)pid);
    const char *after = strrchr(text, ')');
    return after &&
           sscanf(after + 1, " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &state,
                  parent, group, &threads) == 4 &&
           state != 'X' && (state != 'Z' || threads > 1);
}

int job_group_visit(const struct job_group *g, enum job_visited which, int sig, pid_t *child)
{
    int count = 0;
    size_t length = strlen(g->mark);
    DIR *d = opendir("/proc");
    if (child)
        *child = 0;
    for (struct dirent *e; d && (e = readdir(d)) && !(child && *child);) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        int parent = 0, group = 0;
        if (pid <= 0 || pid == g->leader || pid == getpid() || !job_stat(pid, &parent, &group))
            continue;
        char path[40];
        struct stat theirs, ours;
        int is_of_job = group == g->leader;
        if (!is_of_job && which != JOB_CHILD) {
            /* The variable, with the end of its value or of its first line behind it. */
            struct pp_io_file f = {.limit = ENVIRONMENT_MAX};
            struct pp_err err;
            snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
            pp_status st = pp_io_read_file(AT_FDCWD, path, &f, &err);
            for (const char *at = (char *)f.buf, *end = st == PP_OK ? at + f.size : at;
                 at < end && !is_of_job; at += strnlen(at, (size_t)(end - at)) + 1)
                is_of_job = (size_t)(end - at) > length && memcmp(at, g->mark, length) == 0 &&
                            (!at[length] || at[length] == '\n');
            free(f.buf);
        }
        if (!is_of_job)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        if (which == JOB_OTHERS && stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
            theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
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
