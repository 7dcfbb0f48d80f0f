#include "tui/cli/tune/tune.h"
#include "collectors/store/amend.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "tui/cli/exec/exec_record.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const struct timespec tick = {.tv_nsec = 100000000};
enum {
    LOOK_TICKS = 5,  /* the recording is looked into so often */
    GONE_TICKS = 20, /* after SIGKILL */
    BATCHES_LEAST = 10
};
static const uint64_t EXEC_ENDS_NS = UINT64_C(180) *
                                     1000000000; /* to finish the file of a job that is gone */

/* ---- to its end ---- */

/* What the processes are sent, one after the other; exec itself gets none but the first, and finishes the
 * file. */
static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
enum { SIGNALS = sizeof(signals) / sizeof(*signals) };

struct ending {
    struct job_group group;
    int sent;         /* of signals */
    uint64_t next_ns; /* when the next one is due */
};

static void end_further(struct ending *e, const struct tune_job *job, struct tune_run *r, const char *notes)
{
    uint64_t now = pp_now_ns();
    if (e->sent && now < e->next_ns)
        return;
    if (e->sent == SIGNALS) { /* the job is long gone, and exec does not end */
        kill(e->group.leader, SIGKILL);
        return;
    }
    r->signal = signals[e->sent];
    if (e->sent > 0) {
        job_group_visit(&e->group, JOB_ALL, signals[e->sent], NULL);
    } else {
        /* SIGINT goes to the program, through exec, and to the processes that made DataLoaders: the
         * interpreter below a shell script. Not to workers: they end with their loader, and what they
         * recorded stays free of errors. */
        struct tune_log *log = malloc(sizeof(*log));
        struct pp_err err;
        pid_t program = 0, leader = e->group.leader;
        int parent, group = 0;
        job_group_visit(&e->group, JOB_CHILD, 0, &program);
        kill(leader, SIGINT);
        if (log && tune_log_read(notes, log, &err) == PP_OK)
            for (size_t i = 0; i < log->pids; i++)
                if (log->pid[i] != program && log->pid[i] != leader &&
                    job_stat(log->pid[i], &parent, &group) && group == leader)
                    kill(log->pid[i], SIGINT);
        free(log);
    }
    e->sent++;
    e->next_ns = now + (e->sent == SIGNALS ? EXEC_ENDS_NS : job->grace_ns);
}

/* A rank's recording has a name of its own beside that of the run. */
static int has_ranks(const struct tune_job *job, const char *name)
{
    char begins[128];
    int found = 0;
    size_t n = (size_t)snprintf(begins, sizeof(begins), "%s-rank", name);
    DIR *d = opendir(job->dir);
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = strncmp(e->d_name, begins, n) == 0;
    if (d)
        closedir(d);
    return found;
}

/* Until exec has ended: its wait status. */
static int watch_over(const struct tune_job *job, const struct tune_ask *ask, struct tune_run *r, pid_t exec,
                      const char *notes)
{
    char mark[PATH_MAX + 64];
    struct exec_taken taken = {0};
    struct ending ending = {.group = {exec, mark}};
    uint64_t limit = pp_now_ns() + job->start_limit_ns, until = 0;
    int status = 0, ends = 0;
    snprintf(mark, sizeof(mark), "PIPEPROBE_OVERRIDE=log=%s", notes);
    for (unsigned n = 1;; n++) {
        if (again_has_ended(&exec, &status))
            break;
        uint64_t now = pp_now_ns();
        int looks = !ends && !until && n % LOOK_TICKS == 0, ranks = looks && has_ranks(job, ask->name);
        if (looks && exec_is_steady(r->path, &taken))
            until = now + ask->duration_ns;
        if (!ends && (interrupt_asked() || ranks || now >= (until ? until : limit))) {
            r->end = interrupt_asked() ? TUNE_END_STOPPED
                     : ranks           ? TUNE_END_RANKS
                     : until           ? TUNE_END_TIME
                                       : TUNE_END_LIMIT;
            ends = 1;
        }
        if (ends)
            end_further(&ending, job, r, notes);
        nanosleep(&tick, NULL);
    }
    /* exec has ended. What the program left running would slow the next run down, and has its grace as well:
     * a child that still saves its checkpoint, what still uploads to a tracker. */
    struct ending *e = &ending;
    if (!e->sent)
        *e = (struct ending){e->group, 1, pp_now_ns() + job->grace_ns};
    while (e->sent < SIGNALS && job_group_visit(&e->group, JOB_ALL, 0, NULL)) {
        if (pp_now_ns() >= e->next_ns) {
            job_group_visit(&e->group, JOB_ALL, signals[e->sent++], NULL);
            e->next_ns = pp_now_ns() + job->grace_ns;
        }
        nanosleep(&tick, NULL);
    }
    for (int i = 0; i < GONE_TICKS && job_group_visit(&e->group, JOB_ALL, 0, NULL); i++)
        nanosleep(&tick, NULL);
    if (r->end == TUNE_END_ITSELF && has_ranks(job, ask->name))
        r->end = TUNE_END_RANKS;
    return status;
}

/* ---- what it measured ---- */

/* The last line of the job's output that says something. */
static void last_words(const char *log, char *text, size_t size)
{
    char line[161];
    snprintf(text, size, "%s", again_last_line(log, line, sizeof(line)) ? line : "no output");
    char *plain = pp_text_plain(text);
    if (plain)
        snprintf(text, size, "%s", plain);
    free(plain);
}

/* The rate, and the noise by the mean and scatter of the slices inside the window: pieces of one run, so they
 * know nothing of what differs between runs. */
static void measure_run(struct tune_run *r)
{
    char words[168];
    struct pp_err err;
    struct pp_report *report = NULL;
    last_words(r->log, words, sizeof(words));
    if (r->end == TUNE_END_STOPPED)
        snprintf(r->why, sizeof(r->why), "interrupted");
    else if (r->end == TUNE_END_RANKS)
        snprintf(r->why, sizeof(r->why), TUNE_ONE_PROCESS);
    else if (r->end == TUNE_END_ITSELF && r->status != 0)
        snprintf(r->why, sizeof(r->why), "the job failed with exit status %d: %s", r->status, words);
    else if (r->end == TUNE_END_LIMIT)
        snprintf(r->why, sizeof(r->why), "the job reached no second batch within --start-limit");
    else if (pp_report_build(r->path, &report, &err) != PP_OK)
        snprintf(r->why, sizeof(r->why), "%.300s", err.text);
    else if (!report->has_steady_state || report->window_batches < BATCHES_LEAST ||
             !(report->samples_per_s > 0))
        snprintf(r->why, sizeof(r->why),
                 "the steady state has %llu batches, %d are needed: use a longer time",
                 (unsigned long long)(report->has_steady_state ? report->window_batches : 0), BATCHES_LEAST);
    for (size_t i = 0; report && i < report->n_loaders; i++) {
        const struct pp_report_loader *l = &report->loaders[i];
        int at = tune_log_loader_of(&r->loaders, l->row);
        if (at >= 0 && l->samples > r->loaders.loader[at].samples)
            r->loaders.loader[at].samples = l->samples;
        if (at >= 0 && l->judged)
            r->loaders.judged = at;
    }
    double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t i = 0; report && i < report->n_coarse; i++) {
        const struct pp_report_slice *s = &report->coarse[i];
        if (s->start_s < report->window_start_s || s->end_s > report->window_end_s ||
            !(s->samples_per_s >= 0))
            continue;
        n++;
        sum += s->samples_per_s;
        squares += s->samples_per_s * s->samples_per_s;
    }
    if (report && !r->why[0])
        r->rate = report->samples_per_s;
    if (report && !r->why[0] && n >= 3 && sum > 0) {
        double mean = sum / (double)n, variance = (squares - sum * mean) / (double)(n - 1);
        r->noise = sqrt(fmax(variance, 0) / (double)n) / mean;
    }
    pp_report_free(report);
}

static const char *const ends[] = {[TUNE_END_TIME] = "after the time asked for",
                                   [TUNE_END_ITSELF] = "by itself",
                                   [TUNE_END_LIMIT] = "no batch within the limit",
                                   [TUNE_END_RANKS] = "its processes are ranks",
                                   [TUNE_END_STOPPED] = "tune was interrupted"};

/* What was changed belongs to the recording: it is no recording of the job as it is. */
static void write_notes(const struct tune_run *r, const struct tune_set *set, const struct tune_loader *of)
{
    char words[TUNE_TEXT], left[PP_KNOBS_TUNED][256];
    char sent[16];
    struct pp_note notes[PP_KNOBS_TUNED + 4];
    struct pp_err err;
    size_t n = 0;
    notes[n++] = (struct pp_note){"ended", ends[r->end]};
    snprintf(sent, sizeof(sent), "%d", r->signal);
    if (r->signal)
        notes[n++] = (struct pp_note){"signal", sent};
    if (set) {
        notes[n++] = (struct pp_note){"override", tune_set_text(set, TUNE_WORDS, words)};
        notes[n++] = (struct pp_note){"loader", of->dataset};
    }
    for (int k = 0; set && k < PP_KNOBS_TUNED; k++) {
        if (set->value[k] < 0)
            continue;
        snprintf(left[k], sizeof(left[k]), "left: %s",
                 r->loaders.left[k] ? r->loaders.why[k] : "no such DataLoader was made");
        notes[n++] = (struct pp_note){pp_knob_rows[k].name, r->loaders.set[k] ? "changed" : left[k]};
    }
    /* The recording is whole without them. */
    (void)pp_note_write(r->path, "tune", notes, n, &err);
    /* A run that was to last so long and did is finished, although SIGINT ended it. */
    if (r->end == TUNE_END_TIME)
        (void)pp_note_write(r->path, "run", &(struct pp_note){"outcome", "finished"}, 1, &err);
}

/* ---- a run ---- */

pp_status tune_run_make(const struct tune_job *job, const struct tune_ask *ask, struct tune_run *r,
                        struct pp_err *err)
{
    char notes[PATH_MAX], words[168], set[TUNE_TEXT], *override = NULL;
    pid_t exec = 0;
    *r = (struct tune_run){.end = TUNE_END_ITSELF, .rate = NAN, .noise = NAN};
    snprintf(r->path, sizeof(r->path), "%s/%s.sqlite", job->dir, ask->name);
    snprintf(r->log, sizeof(r->log), "%s/%s.log", job->dir, ask->name);
    snprintf(notes, sizeof(notes), "%s/%s.loaders", job->dir, ask->name);
    int n = ask->set ? asprintf(&override, "log=%s\nset=%s\nmade=%u\nlike=%s", notes,
                                tune_set_text(ask->set, TUNE_WORDS, set), ask->of->made, ask->of->like)
                     : asprintf(&override, "log=%s", notes);
    if (n < 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory");
    int fd = pp_io_open(notes, O_WRONLY | O_CREAT | O_EXCL, 0644); /* which the job's hooks write */
    pp_status st = fd >= 0 ? PP_OK : pp_fail_errno(err, errno, "cannot make %s", notes);
    if (fd >= 0)
        close(fd);
    if (st == PP_OK) {
        /* exec --quiet --output PATH [--no-reads] -- PROGRAM... It is a session and group of its own, so that
         * all of it can be reached and none of it waits for the terminal, and ends with us. */
        size_t words_n = 0;
        int log = pp_io_open(r->log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
        struct again a = {.in = AGAIN_NULL, .out = log, .errors = log, .group = AGAIN_OWN_SESSION};
        while (job->program[words_n])
            words_n++;
        again_add(&a, "pipeprobe", "exec", "--quiet", "--output", r->path, NULL);
        if (job->no_reads)
            again_add(&a, "--no-reads", NULL);
        again_add(&a, "--", NULL);
        again_add_all(&a, job->program, words_n);
        if (log < 0 || setenv("PIPEPROBE_OVERRIDE", override, 1) != 0)
            a.failed = errno;
        int e = again_start(&a, &exec);
        unsetenv("PIPEPROBE_OVERRIDE");
        if (log >= 0)
            close(log);
        st = e ? pp_fail_errno(err, e, "cannot start a run of %s", job->program[0]) : PP_OK;
    }
    free(override);
    if (st != PP_OK)
        return st;
    int status = watch_over(job, ask, r, exec, notes);
    r->status = again_code(status);
    st = tune_log_read(notes, &r->loaders, err);
    unlink(notes);
    int recorded = access(r->path, F_OK) == 0;
    if (st == PP_OK && !recorded && interrupt_asked())
        r->end = TUNE_END_STOPPED; /* before it began */
    if (st == PP_OK && !recorded && r->end != TUNE_END_RANKS && r->end != TUNE_END_STOPPED) {
        last_words(r->log, words, sizeof(words));
        st = pp_fail(err, PP_E_SYSTEM, "a run of %s could not be recorded: %s", job->program[0], words);
    }
    if (st == PP_OK) {
        measure_run(r);
        if (recorded)
            write_notes(r, ask->set, ask->of);
    }
    return st;
}
