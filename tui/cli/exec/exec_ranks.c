#include "tui/cli/exec/exec_record.h"
#include "collectors/attach/session_files.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/cli.h"
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_MS 1000    /* beside what inotify says */
#define LOOK_OFTEN_MS 5 /* in place of it */

struct exec_ranks {
    struct exec_ranks_opts opts;
    char dir[PATH_MAX];   /* of exec's session, where ranks ask */
    char names[PATH_MAX]; /* directory for recordings of a job without a name; ends in a slash */
    int changes, end;     /* inotify, -1: there is none; eventfd */
    pthread_t thread;
    int runs;
    struct exec_record *rank[EXEC_RANKS_MAX];
    size_t n;
    /* of each rank the process that asked: a pidfd, -1: none any more; when it ended, 0: not seen */
    int process[EXEC_RANKS_MAX];
    uint64_t ended_ns[EXEC_RANKS_MAX];
    struct pollfd fds[2 + EXEC_RANKS_MAX];
    struct pp_err trouble; /* the first */
};

/* ---- answering ---- */

/* One that can have no recording of its own is told exec's, so that it does not wait. */
static void answer_rank(void *ctx, const struct pp_rank_file *f)
{
    struct exec_ranks *x = ctx;
    struct pp_identity id;
    struct pp_err err;
    char key[PP_RANK_KEY], other[PP_RANK_KEY], path[2 * PATH_MAX], own[PATH_MAX];
    struct exec_record *r = NULL;
    if (!pp_rank_file_identity(f, &id))
        return;
    pp_err_clear(&err);
    pp_rank_key(&id, key, sizeof(key));
    for (size_t i = 0; i < x->n && !r; i++) {
        pp_rank_key(&x->rank[i]->rank, other, sizeof(other));
        r = strcmp(key, other) == 0 ? x->rank[i] : NULL;
    }
    int is_new = !r;
    pp_status st = PP_OK;
    if (is_new && (x->n == EXEC_RANKS_MAX || !(r = calloc(1, sizeof(*r)))))
        st = pp_fail(&err, PP_E_NO_MEMORY, "there is no room for more than %zu ranks", x->n);
    if (is_new && st == PP_OK) {
        const struct exec_ranks_opts *o = &x->opts;
        /* Under the launcher all ranks have one parent, which began when exec did: a job without a name is
         * called as exec's own recording is. */
        const char *output = o->output || *id.job ? o->output : x->names;
        r->rank = id;
        r->gpu_records = o->above->gpu_records;
        r->lines_hz = o->above->lines_hz;
        st = exec_record_create(r, output, o->force, o->ring_spans, o->map_text, &err);
        if (st == PP_OK) {
            o->config(o->ctx, pp_recording_store(r->recording));
            st = pp_recording_start(r->recording, o->command_line, &err);
            if (st != PP_OK)
                exec_record_abandon(r);
        }
        if (st == PP_OK) {
            o->begun(o->ctx, r->path);
            x->process[x->n] = f->pid > 0 && f->pid <= INT32_MAX
                                   ? (int)syscall(SYS_pidfd_open, (pid_t)f->pid, 0)
                                   : -1;
            x->rank[x->n++] = r;
        } else {
            free(r);
        }
    }
    if (st == PP_OK && !realpath(pp_recording_rings_dir(r->recording), own))
        st = pp_fail(&err, PP_E_SYSTEM, "the session directory %s was removed",
                     pp_recording_rings_dir(r->recording));
    if (st != PP_OK && x->trouble.code == PP_OK)
        x->trouble = err;
    if (st != PP_OK)
        memcpy(own, x->dir, sizeof(own));
    snprintf(path, sizeof(path), "%s/" PP_RANK_SESSION_PREFIX "%s", x->dir, key);
    if (pp_io_write_atomic(path, own, strlen(own), &err) != PP_OK && x->trouble.code == PP_OK)
        x->trouble = err;
}

static void *serve(void *arg)
{
    struct exec_ranks *x = arg;
    struct pollfd *fds = x->fds;
    char events[4096];
    int goes_on = 1;
    pthread_setname_np(pthread_self(), "pp-ranks");
    while (goes_on) {
        fds[0] = (struct pollfd){.fd = x->end, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = x->changes, .events = POLLIN};
        for (size_t i = 0; i < x->n; i++)
            fds[2 + i] = (struct pollfd){.fd = x->process[i], .events = POLLIN};
        (void)poll(fds, 2 + x->n, x->changes >= 0 ? LOOK_MS : LOOK_OFTEN_MS); /* else nothing has happened */
        uint64_t now = pp_now_ns(); /* of all that ended since the last look: which was first is not known */
        for (size_t i = 0; i < x->n; i++)
            if (fds[2 + i].revents) {
                x->ended_ns[i] = now;
                close(x->process[i]);
                x->process[i] = -1;
            }
        goes_on = !fds[0].revents;
        while (goes_on && fds[1].revents && read(x->changes, events, sizeof(events)) > 0) {
        }
        if (goes_on)
            pp_rank_files_take(x->dir, answer_rank, x);
    }
    return NULL;
}

/* ---- the whole ---- */

struct exec_ranks *exec_ranks_start(const struct exec_ranks_opts *opts)
{
    struct exec_ranks *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    x->opts = *opts;
    x->end = eventfd(0, EFD_CLOEXEC);
    x->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    pp_err_clear(&x->trouble);
    int stem = pp_stem(opts->above->path);
    snprintf(x->names, sizeof(x->names), "%.*s/", stem < PATH_MAX - 2 ? stem : PATH_MAX - 2,
             opts->above->path);
    int found = realpath(pp_recording_rings_dir(opts->above->recording), x->dir) != NULL;
    if (found && x->changes >= 0 && inotify_add_watch(x->changes, x->dir, IN_MOVED_TO) < 0) {
        close(x->changes);
        x->changes = -1;
    }
    x->runs = found && x->end >= 0 && pthread_create(&x->thread, NULL, serve, x) == 0;
    if (!x->runs) {
        exec_ranks_free(x);
        x = NULL;
    }
    return x;
}

struct exec_ranks_made exec_ranks_stop(struct exec_ranks *x)
{
    int ran = x && x->runs;
    if (ran) {
        (void)!write(x->end, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(x->thread, NULL);
        x->runs = 0;
    }
    /* A process that is still there ends later than now. */
    uint64_t now = pp_now_ns();
    for (size_t i = 0; ran && i < x->n; i++) {
        uint64_t next = 0;
        int first = x->ended_ns[i] != 0;
        for (size_t k = 0; k < x->n && first; k++) {
            const struct pp_identity *a = &x->rank[i]->rank, *b = &x->rank[k]->rank;
            if (k == i || a->attempt != b->attempt || strcmp(a->job, b->job) != 0)
                continue;
            uint64_t end = x->process[k] >= 0 ? now : x->ended_ns[k];
            first = end > x->ended_ns[i];
            next = !next || end < next ? end : next;
        }
        x->rank[i]->first_by_ns = first && next ? next - x->ended_ns[i] : 0;
    }
    struct exec_ranks_made made = {.n = 0};
    if (x)
        made = (struct exec_ranks_made){x->rank, x->n, x->trouble.code != PP_OK ? x->trouble.text : NULL};
    return made;
}

void exec_ranks_free(struct exec_ranks *x)
{
    if (!x)
        return;
    exec_ranks_stop(x);
    for (size_t i = 0; i < x->n; i++) {
        if (x->process[i] >= 0)
            close(x->process[i]);
        exec_record_free(x->rank[i]);
        free(x->rank[i]);
    }
    if (x->changes >= 0)
        close(x->changes);
    if (x->end >= 0)
        close(x->end);
    free(x);
}
