#include "tui/cli/resume/resume_run.h"
#include "collectors/attach/order_files.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_NS = 5000000,
    GONE_TICKS = 2000, /* after SIGKILL */
    ITERATIONS = 256,
    EPOCHS_ENOUGH = 2,  /* whole ones, and as many batches of the next: */
    BATCHES_ENOUGH = 30 /* and those of --after */
};
#define EXEC_ENDS_NS (UINT64_C(180) * 1000000000) /* to finish the file of a job that is gone */

/* ---- how far the job is ---- */

struct progress {
    struct resume_done_so_far done; /* of the process that has most */
    struct {
        int64_t pid;
        uint32_t loader, epoch;
        uint64_t batches;
        int beside; /* one that began before goes on */
    } iteration[ITERATIONS];
    size_t iterations;
};

static void note_block(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *list)
{
    struct progress *p = ctx;
    uint32_t trained = b->flags + b->samples, taken = b->first_batch + b->batches;
    size_t i = p->iterations;
    if (b->magic != PP_USE_MAGIC) /* the other kinds count something else */
        return;
    p->done.trained = trained > p->done.trained ? trained : p->done.trained;
    p->done.taken = taken > p->done.taken ? taken : p->done.taken;
    while (i > 0 && (p->iteration[i - 1].pid != pid || p->iteration[i - 1].loader != b->loader ||
                     p->iteration[i - 1].epoch != b->epoch))
        i--;
    if (!i && p->iterations < ITERATIONS) {
        p->iteration[p->iterations].pid = pid;
        p->iteration[p->iterations].loader = b->loader;
        p->iteration[p->iterations].epoch = b->epoch;
        i = ++p->iterations;
    }
    if (i)
        p->iteration[i - 1].batches += b->batches;
    for (size_t k = i; i && k < p->iterations; k++)
        p->iteration[k].beside |= p->iteration[k].pid == pid;
}

/* The sessions are those of the recordings being written; ranks have sessions of their own in one. */
static void look(const char *path, int depth, struct progress *p)
{
    char inner[PATH_MAX + 512];
    DIR *d = depth < 2 ? opendir(path) : NULL;
    if (depth)
        pp_order_files_take(path, PP_FILES_STAY, note_block, p);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (depth ? e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
                  : n < 6 || strcmp(e->d_name + n - 6, ".rings") != 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        look(inner, depth + 1, p);
    }
    if (d)
        closedir(d);
}

/* Iterations that train and are over, and batches of the newest one, which goes on. Those of another loader
 * beside one are a part of it; `whole`: short ones are for something else than training. */
static size_t epochs_over(const struct progress *p, int whole, uint64_t *newest)
{
    size_t n = 0, longest = 0;
    *newest = 0;
    for (size_t i = 0; i < p->iterations; i++)
        if (p->iteration[i].pid == p->iteration[0].pid &&
            p->iteration[i].batches > p->iteration[longest].batches)
            longest = i;
    for (size_t i = 0; i < p->iterations; i++) {
        if (p->iteration[i].pid != p->iteration[0].pid ||
            (p->iteration[i].beside && p->iteration[i].loader != p->iteration[longest].loader))
            continue;
        n += *newest && (!whole || 2 * *newest >= p->iteration[longest].batches);
        *newest = p->iteration[i].batches;
    }
    return n;
}

/* ---- starting ---- */

static void name_out(const struct resume_job *job, const char *chain, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s/out", job->dir, chain);
}

/* With {dir} as the chain's directory, and {ckpt} as a path, where there is one. NULL: no memory. */
static char *fill_word(struct pp_arena *arena, const char *word, const char *out, const char *ckpt)
{
    const char *const names[] = {"{dir}", "{ckpt}"}, *const values[] = {out, ckpt};
    size_t n = 1, i;
    for (const char *p = word; *p; p++)
        n += *p == '{' ? strlen(out) + (ckpt ? strlen(ckpt) : 0) + 1 : 1;
    char *filled = pp_arena_alloc(arena, n), *to = filled;
    for (const char *p = word; filled && *p;) {
        for (i = 0; i < 2 && !(values[i] && strncmp(p, names[i], strlen(names[i])) == 0); i++)
            ;
        if (i == 2) {
            *to++ = *p++;
            continue;
        }
        to = stpcpy(to, values[i]);
        p += strlen(names[i]);
    }
    if (filled)
        *to = '\0';
    return filled;
}

/* ---- to its end ---- */

/* What lost its parent is ours. */
static void reap_orphans(pid_t exec)
{
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || !info.si_pid || info.si_pid == exec)
            return;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

static enum resume_end what_is_due(const struct resume_job *job, const struct resume_ask *ask,
                                   const struct resume_done *d, uint64_t started_ns)
{
    struct progress p = {0};
    uint64_t newest, after = (uint64_t)job->after;
    if (interrupt_asked())
        return RESUME_END_STOPPED;
    if (pp_now_ns() - started_ns >= job->limit_ns)
        return RESUME_END_LIMIT;
    look(d->recordings, 0, &p);
    int done[2];
    for (int i = 0; i < 2; i++) {
        const struct resume_done_so_far *asked = i ? &ask->enough_at : &ask->kill_at;
        done[i] = asked->trained ? p.done.trained >= asked->trained
                                 : asked->taken && p.done.taken >= asked->taken;
    }
    if (done[0])
        return RESUME_END_KILLED;
    /* Behind an end of its own, too: what goes on too early, or with fewer ranks, comes to it later. */
    size_t over = epochs_over(&p, 0, &newest);
    if (done[1] && (over > 1 || (over == 1 && newest > after)))
        return RESUME_END_ENOUGH;
    /* Two epochs, and some of the next. */
    over = epochs_over(&p, 1, &newest);
    if (ask->by_epochs &&
        (over > EPOCHS_ENOUGH || (over == EPOCHS_ENOUGH && newest >= BATCHES_ENOUGH + after)))
        return RESUME_END_ENOUGH;
    return RESUME_END_ITSELF; /* nothing yet */
}

static int watch_over(const struct resume_job *job, const struct resume_ask *ask, struct resume_done *d,
                      pid_t exec, const char *mark)
{
    const struct job_group group = {exec, mark};
    uint64_t started = pp_now_ns(), kill_ns = 0, killed_ns = 0;
    int status = 0;
    while (!again_has_ended(&exec, &status)) {
        if (!kill_ns && (d->end = what_is_due(job, ask, d, started)) != RESUME_END_ITSELF) {
            int gently = job->with_term && d->end == RESUME_END_KILLED;
            if (gently)
                job_group_visit(&group, JOB_OTHERS, SIGTERM, NULL);
            kill_ns = pp_now_ns() + (gently ? job->grace_ns : 0);
        }
        if (kill_ns && pp_now_ns() >= kill_ns && job_group_visit(&group, JOB_OTHERS, 0, NULL)) {
            d->hung |= job->with_term && d->end == RESUME_END_KILLED && !killed_ns;
            killed_ns = killed_ns ? killed_ns : pp_now_ns();
            /* All at once: a launcher that sees one rank end would start it again. */
            job_group_visit(&group, JOB_OTHERS, SIGSTOP, NULL);
            job_group_visit(&group, JOB_OTHERS, SIGKILL, NULL);
        }
        if (killed_ns && pp_now_ns() > killed_ns + EXEC_ENDS_NS)
            kill(group.leader, SIGKILL);
        reap_orphans(exec);
        pp_sleep_until_ns(pp_now_ns() + TICK_NS);
    }
    for (int i = 0; i < GONE_TICKS && job_group_visit(&group, JOB_ALL, i % 200 == 0 ? SIGKILL : 0, NULL);
         i++) {
        reap_orphans(0);
        pp_sleep_until_ns(pp_now_ns() + TICK_NS);
    }
    reap_orphans(0);
    return status;
}

pp_status resume_run_make(const struct resume_job *job, const struct resume_ask *ask, struct resume_done *d,
                          struct pp_err *err)
{
    char mark[2 * PATH_MAX];
    pid_t exec = 0;
    *d = (struct resume_done){.end = RESUME_END_ITSELF};
    snprintf(d->recordings, sizeof(d->recordings), "%s/%s/start%d", job->dir, ask->chain, ask->start);
    snprintf(d->log, sizeof(d->log), "%s/%s/start%d.log", job->dir, ask->chain, ask->start);
    snprintf(mark, sizeof(mark), "PIPEPROBE_RESUME_RUN=%s", d->recordings);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (mkdir(d->recordings, 0777) != 0)
        return pp_fail_errno(err, errno, "cannot make %s", d->recordings);
    /* exec --quiet --output DIR/ [--content] -- PROGRAM..., or -- sh -c RESUME_WITH. */
    char out[PATH_MAX], output[PATH_MAX + 2];
    struct pp_arena arena = {0};
    int log = pp_io_open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    struct again a = {.in = AGAIN_NULL, .out = log, .errors = log, .group = AGAIN_OWN_SESSION};
    name_out(job, ask->chain, out);
    snprintf(output, sizeof(output), "%s/", d->recordings);
    again_add(&a, "pipeprobe", "exec", "--quiet", "--output", output, NULL);
    again_add(&a, job->content ? "--content" : "--", job->content ? "--" : NULL, NULL);
    if (ask->start > 1 && job->resume_with)
        again_add(&a, "sh", "-c", fill_word(&arena, job->resume_with, out, ask->ckpt), NULL);
    else
        for (char *const *word = job->program; *word; word++)
            again_add(&a, fill_word(&arena, *word, out, NULL), NULL);
    if (pp_arena_failed(&arena))
        a.failed = ENOMEM;
    else if (log < 0 || setenv("PIPEPROBE_RESUME_RUN", strchr(mark, '=') + 1, 1) != 0)
        a.failed = errno;
    int e = again_start(&a, &exec);
    unsetenv("PIPEPROBE_RESUME_RUN");
    pp_arena_free(&arena);
    if (log >= 0)
        close(log);
    pp_status st = e ? pp_fail_errno(err, e, "cannot start a run of %s", job->program[0]) : PP_OK;
    if (st != PP_OK)
        return st;
    d->status = again_code(watch_over(job, ask, d, exec, mark));
    if (!again_last_line(d->log, d->words, sizeof(d->words)))
        snprintf(d->words, sizeof(d->words), "no output");
    return d->end == RESUME_END_STOPPED
               ? pp_fail(err, PP_E_INTERRUPTED, "interrupted; what was recorded is in %s", job->dir)
               : PP_OK;
}

/* ---- the directory of a chain ---- */

pp_status resume_run_begin_chain(const struct resume_job *job, const char *chain, struct pp_err *err)
{
    char path[PATH_MAX], out[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", job->dir, chain);
    name_out(job, chain, out);
    if (mkdir(path, 0777) != 0 || mkdir(out, 0777) != 0)
        return pp_fail_errno(err, errno, "cannot make %s", out);
    if (!job->reset)
        return PP_OK;
    struct pp_arena arena = {0};
    char *command = fill_word(&arena, job->reset, out, NULL);
    struct again a = {.program = "sh", .in = AGAIN_NULL, .out = 2, .errors = 2};
    pid_t pid = 0;
    again_add(&a, "sh", "-c", command, NULL);
    int e = command ? again_start(&a, &pid) : ENOMEM, status = e ? -1 : again_wait(pid);
    pp_arena_free(&arena);
    return e || status != 0 ? pp_fail(err, PP_E_SYSTEM, "--reset failed: %s", job->reset) : PP_OK;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    if (at->level > 0)
        remove(path);
    return 0;
}

void resume_run_remove_out(const struct resume_job *job, const char *chain)
{
    char out[PATH_MAX];
    name_out(job, chain, out);
    nftw(out, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
