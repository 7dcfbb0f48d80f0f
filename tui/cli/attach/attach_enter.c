#include "tui/cli/attach/attach_words.h"

#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "tui/cli/cli.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_SPANS 16384 /* a thread, as pipeprobe exec */
#define LEAVE_MS 5000    /* for the job to leave */
#define OTHERS_MS 300    /* for its workers, behind it: an idle one looks up every 5 s */
#define BEGUN_MS 1000    /* a script that was begun, and has not answered */
#define NAP_MS 20
#define ANSWER_MAX 512

/* ---- whose files ----
 *
 * What root makes for another user's job is that user's: its processes write into the session. Asking alone
 * needs root, for this thread alone. */

static void as_root(const struct attach_enter *e, int on)
{
    if (e->user)
        (void)syscall(SYS_setresuid, (uid_t)-1, on ? 0 : e->user, (uid_t)-1);
}

/* ---- the scripts ---- */

/* Any path as a literal of Python. */
static void put_path(FILE *f, const char *path)
{
    fputs("os.fsdecode(bytes.fromhex('", f);
    for (; *path; path++)
        fprintf(f, "%02x", (unsigned char)*path);
    fputs("'))", f);
}

/* What is wrong before our module is there is written by hand. */
static pp_status write_script(const struct attach_enter *e, const char *path, int enters, struct pp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory");
    fputs("def _pipeprobe():\n    import os, sys\n    session, hooks, reads = (", f);
    put_path(f, e->session);
    fputs(", ", f);
    put_path(f, e->hooks.hooks);
    fputs(", ", f);
    put_path(f, e->hooks.reads);
    fputs(")\n    sys.path.insert(0, hooks)\n    try:\n        import pipeprobe_attach\n"
          "    except Exception as e:\n"
          "        with open(os.path.join(session, 'answer-%d' % os.getpid()), 'w') as f:\n"
          "            f.write('not: %s: %s' % (type(e).__name__, e))\n        return\n"
          "    finally:\n        sys.path.remove(hooks)\n",
          f);
    if (enters)
        fprintf(f, "    pipeprobe_attach.enter(session, %d, hooks, reads, '%s')\n", (int)getpid(),
                e->tune ? exec_tune_choices[e->tune - 1].name : "");
    else
        fputs("    pipeprobe_attach.leave(session)\n", f);
    fputs("try:\n    _pipeprobe()\nexcept Exception:\n    pass\n", f);
    pp_status st = fclose(f) == 0 ? pp_io_write_atomic(path, text, size, err)
                                  : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    free(text);
    return st;
}

/* What it answered into text; the file goes. 0: nothing yet. */
static int take_answer(const struct attach_enter *e, int64_t pid, char *text, size_t size)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/" PP_ANSWER_FILE_PREFIX "%lld", e->session, (long long)pid);
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    ssize_t n = pp_io_pread_full(fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    unlink(path);
    return 1;
}

/* ---- making the recording ---- */

/* A container or a chroot shows the job other files under these names, or none. */
static pp_status check_sees(int64_t pid, const char *path, struct pp_err *err)
{
    char inside[PATH_MAX + 64];
    struct stat here, there;
    snprintf(inside, sizeof(inside), "/proc/%lld/root", (long long)pid);
    if (stat(inside, &there) != 0)
        return PP_OK; /* not to be told */
    snprintf(inside, sizeof(inside), "/proc/%lld/root%s", (long long)pid, path);
    if (stat(path, &here) == 0 && stat(inside, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return PP_OK;
    return pp_fail(
        err, PP_E_UNSUPPORTED,
        "process %lld does not see %s: it runs in a container or a chroot; run pipeprobe attach in "
        "there",
        (long long)pid, path);
}

static pp_status make_recording(struct attach_enter *e, const struct attach_rows *r,
                                const struct attach_output *o, struct pp_err *err)
{
    char line[4096];
    e->record.gpu_records = EXEC_GPU_RECORDS;
    e->record.lines_hz = EXEC_LINES_HZ;
    pp_status st = exec_record_create(&e->record, o->path, o->force, RING_SPANS, "", err);
    if (st != PP_OK)
        return st;
    if (!realpath(pp_recording_rings_dir(e->record.recording), e->session))
        return pp_fail_errno(err, errno, "the session of %s was removed", e->record.path);
    if ((st = check_sees(r->pid, e->session, err)) != PP_OK)
        return st;
    if ((size_t)snprintf(e->script, sizeof(e->script), "%s/" PP_ENTER_FILE_NAME, e->session) >=
            sizeof(e->script) ||
        (size_t)snprintf(e->leave_script, sizeof(e->leave_script), "%s/" PP_LEAVE_FILE_NAME, e->session) >=
            sizeof(e->leave_script))
        return pp_fail(err, PP_E_USAGE, "the name is too long: %s", e->session);
    st = write_script(e, e->script, 1, err);
    if (st != PP_OK)
        return st;
    struct pp_store *store = pp_recording_store(e->record.recording);
    pp_store_meta_text(store, "config", "source", "nvtx");
    pp_store_meta_text(store, "config", "python_program", "true");
    pp_store_meta_text(store, "config", "map", "none");
    pp_store_meta_num(store, "config", "attached_pid", (double)r->pid, NULL);
    pp_store_meta_num(store, "config", "ring_spans", RING_SPANS, "spans");
    exec_python_store_config(store, &e->hooks, 1);
    char **words = attach_rows_command(r);
    int head = snprintf(line, sizeof(line), "pipeprobe attach %lld -- ", (long long)r->pid);
    if (words)
        pp_shell_words(words, line + head, sizeof(line) - (size_t)head);
    free(words);
    return pp_recording_start(e->record.recording, line, err);
}

static void remove_scripts(const struct attach_enter *e)
{
    char text[ANSWER_MAX];
    for (size_t i = 0; i < e->n_asked; i++)
        (void)take_answer(e, e->asked[i].python.pid, text, sizeof(text));
    if (*e->script)
        unlink(e->script);
    if (*e->leave_script)
        unlink(e->leave_script);
}

static void abandon_recording(struct attach_enter *e)
{
    if (!e->record.recording)
        return;
    remove_scripts(e);
    exec_record_abandon(&e->record);
}

/* ---- asking ---- */

static int has_answered(struct attach_enter *e, struct attach_asked *a)
{
    char text[ANSWER_MAX];
    struct pp_watch_look look;
    if (!a->answered && take_answer(e, a->python.pid, text, sizeof(text))) {
        const char *colon = strchr(text, ':');
        a->answered = 1;
        a->took_hooks |= strcmp(text, "done") == 0;
        if (a == e->asked && !a->took_hooks)
            (void)pp_fail(&e->why, PP_E_UNSUPPORTED, "process %lld took no hooks: %s",
                          (long long)a->python.pid, colon ? colon + 1 + strspn(colon + 1, " ") : text);
    }
    if (!a->answered)
        a->answered = !pp_watch_look(a->python.pid, &look) || look.started != a->python.started;
    return a->answered;
}

/* Until all of the first n have, or for so long; 0: looks once. */
static void await_answers(struct attach_enter *e, size_t n, unsigned wait_ms)
{
    uint64_t until = pp_now_ns() + wait_ms * 1000000ull;
    for (;;) {
        size_t answered = 0;
        for (size_t i = 0; i < n; i++)
            answered += has_answered(e, &e->asked[i]) != 0;
        if (answered == n || pp_now_ns() >= until)
            return;
        nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
    }
}

static struct attach_asked *ask_one(struct attach_enter *e, int64_t pid, struct pp_err *err)
{
    struct attach_asked *a = &e->asked[e->n_asked];
    if (e->n_asked == sizeof(e->asked) / sizeof(e->asked[0]))
        return NULL;
    uid_t user = geteuid();
    as_root(e, 1);
    pp_status st = pp_python_find(pid, &a->python, err);
    if (st == PP_OK && a->python.user != (int64_t)user)
        st = pp_fail(err, PP_E_ACCESS, "process %lld is another user's by now", (long long)pid);
    if (st == PP_OK)
        st = pp_python_ask(&a->python, e->script, err);
    as_root(e, 0);
    a->answered = a->is_worker = a->took_hooks = 0;
    if (st != PP_OK) {
        pp_python_close(&a->python);
        return NULL;
    }
    e->n_asked++;
    return a;
}

pp_status attach_enter_begin(struct attach_enter *e, const struct attach_rows *r,
                             const struct attach_output *o)
{
    struct pp_python python;
    struct pp_err *err = &e->why;
    struct stat owner;
    char path[64];
    pp_err_clear(err);
    e->state = ATTACH_OUTSIDE;
    pp_status st = pp_python_find(r->pid, &python, err);
    pp_python_close(&python); /* it is found anew when it is asked */
    if (st == PP_OK) {
        snprintf(path, sizeof(path), "/proc/%lld/exe", (long long)r->pid);
        exec_python_prepare(&e->hooks, path, 1);
        if (!*e->hooks.hooks)
            st = pp_fail(
                err, PP_E_UNSUPPORTED,
                "this pipeprobe was built without its Python hooks; pipeprobe doctor says what is missing");
    }
    struct stat here, there; /* of the namespaces: it answers under its own number */
    snprintf(path, sizeof(path), "/proc/%lld/ns/pid", (long long)r->pid);
    if (st == PP_OK && stat("/proc/self/ns/pid", &here) == 0 && stat(path, &there) == 0 &&
        (here.st_dev != there.st_dev || here.st_ino != there.st_ino))
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "process %lld has another number in its own PID namespace: it runs in a container; run "
                     "pipeprobe attach in there",
                     (long long)r->pid);
    if (st == PP_OK)
        st = check_sees(r->pid, e->hooks.hooks, err);
    snprintf(path, sizeof(path), "/proc/%lld", (long long)r->pid);
    if (st == PP_OK && geteuid() == 0 && stat(path, &owner) == 0 && owner.st_uid != 0) { /* become it */
        const struct passwd *user = getpwuid(owner.st_uid);
        int groups = user ? initgroups(user->pw_name, owner.st_gid) : setgroups(0, NULL);
        if (groups != 0 || setegid(owner.st_gid) != 0 || seteuid(owner.st_uid) != 0)
            st = pp_fail_errno(err, errno, "cannot become user %u, whose job it is", (unsigned)owner.st_uid);
        else
            e->user = owner.st_uid;
    }
    if (st == PP_OK)
        st = make_recording(e, r, o, err);
    if (st == PP_OK && !ask_one(e, r->pid, err))
        st = err->code;
    if (st == PP_OK)
        e->state = ATTACH_ASKED;
    else
        abandon_recording(e);
    return st;
}

void attach_enter_look(struct attach_enter *e, const struct attach_rows *r)
{
    if (e->state == ATTACH_INSIDE)
        await_answers(e, e->n_asked, 0);
    if (e->state != ATTACH_ASKED || !has_answered(e, &e->asked[0]))
        return;
    if (e->asked[0].took_hooks) {
        e->state = ATTACH_INSIDE;
        e->since_s = r->watched_s;
        e->tuner = exec_tune_start(e->tune, e->record.path, e->session,
                                   pp_recording_store(e->record.recording), e->quiet);
        e->tuned = e->tuner != NULL;
        /* The job has the hooks: now those that it had started. Others inherit them. */
        struct pp_err err;
        pp_err_clear(&err);
        for (size_t i = 0; i < r->n_servers; i++)
            (void)ask_one(e, r->server[i], &err);
        for (size_t i = 1; i < r->n; i++) {
            struct attach_asked *a = NULL;
            if (r->row[i].kind == ATTACH_WORKER && r->row[i].alive)
                a = ask_one(e, r->row[i].last.pid, &err);
            if (a) {
                a->is_worker = 1;
                e->workers++;
            }
        }
    } else if (e->why.code != PP_OK) { /* else it has ended */
        e->state = ATTACH_OUTSIDE;
        abandon_recording(e);
    }
}

/* ---- leaving ---- */

/* Takes back what has not begun. A script that was begun is let finish: its file goes afterwards. */
static void take_back(struct attach_enter *e)
{
    for (size_t i = 0; i < e->n_asked; i++) {
        struct attach_asked *a = &e->asked[i];
        if (has_answered(e, a))
            continue;
        as_root(e, 1);
        if (pp_python_is_asked(&a->python)) {
            pp_python_withdraw(&a->python);
            a->answered = 1;
        }
        as_root(e, 0);
    }
    await_answers(e, e->n_asked, BEGUN_MS);
}

void attach_enter_end(struct attach_enter *e, const struct attach_rows *r, int there)
{
    struct pp_err err;
    pp_err_clear(&err);
    if (e->state == ATTACH_ASKED) {
        take_back(e);
        e->state = e->asked[0].took_hooks ? ATTACH_INSIDE : ATTACH_OUTSIDE;
        e->since_s = r->watched_s;
    }
    if (e->state == ATTACH_OUTSIDE && e->record.recording) {
        if (e->why.code == PP_OK && !there)
            (void)pp_fail(&e->why, PP_E_UNSUPPORTED, "process %lld ended before it took the hooks",
                          (long long)r->pid);
        else if (e->why.code == PP_OK)
            (void)
                pp_fail(&e->why, PP_E_UNSUPPORTED,
                        "process %lld took no hooks: its main thread ran no Python while it was watched, and "
                        "the request was taken back",
                        (long long)r->pid);
        abandon_recording(e);
    }
    if (e->state != ATTACH_INSIDE)
        return;
    take_back(e); /* workers that have not entered yet */
    for (size_t i = 0; i < e->n_asked; i++)
        e->entered += e->asked[i].is_worker && e->asked[i].took_hooks;
    if (there && write_script(e, e->leave_script, 0, &err) == PP_OK) {
        as_root(e, 1);
        for (size_t i = 0; i < e->n_asked; i++)
            e->asked[i].answered = pp_python_ask(&e->asked[i].python, e->leave_script, &err) != PP_OK;
        as_root(e, 0);
        await_answers(e, 1, LEAVE_MS);
        await_answers(e, e->n_asked, OTHERS_MS);
        take_back(e);
    }
    exec_tune_stop(e->tuner, 0);
    remove_scripts(e);
    if (exec_record_end(&e->record, -1, "finished", &err) != PP_OK)
        e->unfinished = err;
    exec_tune_end(e->tuner, e->unfinished.code == PP_OK ? e->record.path : NULL);
    e->tuner = NULL;
}

void attach_enter_free(struct attach_enter *e)
{
    for (size_t i = 0; i < e->n_asked; i++)
        pp_python_close(&e->asked[i].python);
    exec_python_free(&e->hooks);
    exec_record_free(&e->record);
}
