/* `pipeprobe attach`: looks at a running job once a second, from outside; one that takes them gets the hooks,
 * and is recorded as well. */
#include "collectors/stacks/process.h"
#include "collectors/system/environment.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/rng.h"
#include "probe/base/io.h"
#include "probe/base/text.h"
#include "tui/cli/attach/attach_words.h"
#include "tui/cli/cli.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/jobs/interrupt.h"

#include <signal.h>
#include <unistd.h>

/* ---- Python stacks, from outside ----
 *
 * Looks at the Python stacks of a running job and of its workers, many times
 * a second, from outside: nothing is put into it, and it is not stopped. What they tell is judged at the end
 * (report/measure/looks.h). For one thread. */

#define ATTACH_STACKS_HZ 20

enum { THREADS = 1024 };

struct attach_stacks {
    struct pp_stack_tree tree;
    struct pp_stack_processes all;
    struct pp_stack_process *process[ATTACH_ROWS_MAX]; /* process[0] is the job */
    size_t processes;
    struct seen_thread {
        int64_t pid, tid;
    } thread[THREADS]; /* a sample's thread is its place here */
    unsigned char role[THREADS];
    size_t threads;
    struct pp_stack_sample_row *samples;
    size_t n, cap;
    struct pp_rng rng;
    uint64_t period_begins, due_ns;
};

static void attach_stacks_free(struct attach_stacks *s)
{
    for (size_t i = 0; s && i < s->processes; i++)
        pp_process_free(&s->all, s->process[i]);
    if (s) {
        free(s->all.room);
        pp_stack_tree_free(&s->tree);
        free(s->samples);
    }
    free(s);
}

/* NULL: no memory. */
static struct attach_stacks *attach_stacks_begin(void)
{
    struct attach_stacks *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->all = (struct pp_stack_processes){.tree = &s->tree,
                                         .room = pp_frames_room_new(),
                                         .id_offset = pp_process_id_offset()};
    s->rng = pp_rng_key((uint64_t)getpid(), 0, pp_now_ns(), 0);
    s->period_begins = pp_now_ns();
    if (pp_stack_tree_init(&s->tree) && s->all.room)
        return s;
    attach_stacks_free(s);
    return NULL;
}

/* Of a worker its main thread alone, of the job all: any of them may train. */
static void look_at_process(struct attach_stacks *s, struct pp_stack_process *p, int is_worker)
{
    for (unsigned i = 0; i < p->threads; i++) {
        const struct pp_process_thread *t = &p->thread[i];
        int is_main = p->python.thread[i].is_main;
        if (!t->tid || (is_worker && !is_main))
            continue;
        enum pp_frames_result r = pp_process_sample(&s->all, p, i);
        enum pp_looks_role role = is_worker ? PP_LOOKS_WORKER : is_main ? PP_LOOKS_MAIN : PP_LOOKS_BESIDE;
        size_t at = 0;
        while (at < s->threads && (s->thread[at].tid != t->tid || s->thread[at].pid != p->pid))
            at++;
        if (at == s->threads && at < THREADS) {
            s->thread[at] = (struct seen_thread){p->pid, t->tid};
            s->role[at] = (unsigned char)role;
            s->threads++;
        }
        if (r == PP_FRAMES_NONE || r == PP_FRAMES_GONE || !t->stack || at == THREADS ||
            !pp_grow(&s->samples, &s->cap, s->n + 1, sizeof(*s->samples)))
            continue;
        s->samples[s->n++] = (struct pp_stack_sample_row){.t_ns = pp_now_ns(),
                                                          .thread = (uint32_t)at,
                                                          .stack = t->stack,
                                                          .state = t->state,
                                                          .flags = t->flags};
    }
}

/* As a source that has stacks and nothing else. */
static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    const struct attach_stacks *s = ctx;
    for (size_t i = 0; i < s->tree.n_functions; i++)
        to->function(to->ctx, &s->tree.functions[i]);
    for (size_t i = 0; i < s->tree.n_frames; i++)
        to->frame(to->ctx, &s->tree.frames[i]);
    for (size_t i = 0; i < s->n; i++)
        to->sample(to->sample_ctx, &s->samples[i]);
    return PP_OK;
}

#define LOOK_NS 1000000000u
#define OUTSIDE_NS UINT64_C(30000000000) /* without --duration, of a job that is only looked at */
#define ANSWER_NS 50000000u              /* between looks for the job's answer, in the first second */

struct options {
    uint64_t duration_ns; /* 0: until Ctrl-C or the job's end */
    struct attach_output output;
    int outside, tune, quiet;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "T",
     .group = "Options", .help = "for this long (default: 30s from outside; else until Ctrl-C)"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output.path), .arg = "FILE",
     .help = "the recording (default pipeprobe-DATE-TIME.sqlite); DIR/: into DIR"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(output.force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "outside", .type = PP_OPT_FLAG, .offset = AT(outside), .dflt = "0",
     .help = "only look at it: put nothing into the job, and record nothing"},
    {.name = "tune", .type = PP_OPT_FLAG, .offset = AT(tune), .dflt = "0", .choices = exec_tune_choices,
     .help = "try num_workers and prefetch_factor in it meanwhile, keep what gains"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no progress on stderr"},
    {.name = NULL},
};
/* clang-format on */

/* Sleeps until a moment, a signal or the end of the watch. */
static void sleep_until(uint64_t ns)
{
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (!interrupt_asked() && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        continue;
}

/* Threads that are begun meanwhile take no signals: they are for the one that sleeps. Returns those of
 * before. */
static sigset_t block_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    return before;
}

/* The moment at which it takes the hooks is said: from then on it is recorded. */
static void look_inside(struct attach_enter *e, const struct attach_rows *r, struct pp_progress *p, int quiet)
{
    enum attach_state before = e->state;
    sigset_t signals = block_signals();
    attach_enter_look(e, r);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    if (before == e->state || e->state != ATTACH_INSIDE || quiet)
        return;
    pp_progress_clear(p);
    exec_say("process %lld took the hooks; it is recorded into %s until Ctrl-C, --duration or its end",
             (long long)r->pid, e->record.path);
}

static void on_counter(void *ctx, const char *name, double value)
{
    struct attach_gpu *g = ctx;
    if (strcmp(name, "gpu_utilization_percent") == 0)
        g->busy_percent += value, g->looks++;
    else if (strcmp(name, "gpu_memory_used_bytes") == 0)
        g->memory_bytes = value;
}

/* Looks at the stacks of a job that has not taken the hooks, whose recording has them. */
static void look_until(uint64_t ns, struct attach_stacks *s, const struct attach_rows *r,
                       const struct attach_enter *e)
{
    if (e->state == ATTACH_OUTSIDE) /* else threads that record may be begun from this one */
        pp_take_short_turns();
    while (s && e->state != ATTACH_INSIDE && !interrupt_asked() && s->due_ns < ns) {
        sleep_until(s->due_ns);
        /* One look at the job and at the workers that rows know, at a random moment of each period, so that
         * no look keeps step with the job. */
        const uint64_t period = UINT64_C(1000000000) / ATTACH_STACKS_HZ, now = pp_now_ns();
        s->period_begins += period;
        if (s->period_begins + period < now)
            s->period_begins = now;
        s->due_ns = s->period_begins + (uint64_t)((double)period * pp_rng_unit(&s->rng));
        for (size_t i = 0; i < r->n; i++) {
            const struct attach_row *row = &r->row[i];
            size_t at = 0;
            if (!row->alive || row->kind == ATTACH_OTHER)
                continue;
            while (at < s->processes && s->process[at]->pid != row->last.pid)
                at++;
            if (at == s->processes && at < ATTACH_ROWS_MAX &&
                (s->process[at] = pp_process_new(row->last.pid))) /* NULL: no memory */
                s->processes++;
            struct pp_stack_process *p = at < s->processes ? s->process[at] : NULL;
            if (p && pp_process_look(&s->all, p, pp_now_ns()) && p->state == PP_PROCESS_OPEN)
                look_at_process(s, p, row->kind == ATTACH_WORKER);
        }
    }
    sleep_until(ns);
}

/* Returns whether the job is still there. stacks: NULL is fine. */
static int watch_job(struct attach_rows *r, struct attach_enter *e, struct attach_stacks *stacks,
                     struct attach_gpu *gpu, const struct options *o)
{
    struct pp_progress progress;
    char took[32], read[32];
    uint64_t began = pp_now_ns(), until = UINT64_MAX, next = began;
    int there = attach_rows_look(r);
    pp_progress_begin(&progress, o->quiet);
    while (there && !interrupt_asked() && pp_now_ns() < until) {
        until = o->duration_ns               ? began + o->duration_ns
                : e->state == ATTACH_OUTSIDE ? began + OUTSIDE_NS
                                             : UINT64_MAX;
        next += LOOK_NS;
        for (uint64_t at = pp_now_ns();
             e->state == ATTACH_ASKED && at < next && at < until && !interrupt_asked();) {
            at += ANSWER_NS;
            sleep_until(at < until ? at : until);
            look_inside(e, r, &progress, o->quiet);
        }
        look_until(next < until ? next : until, stacks, r, e);
        there = attach_rows_look(r);
        if (gpu->nvml)
            pp_nvml_sample(gpu->nvml, on_counter, gpu);
        look_inside(e, r, &progress, o->quiet);
        const struct attach_workers w = attach_rows_workers(r);
        if (r->looks > 1)
            pp_progress_line(&progress, "%s  %u workers, CPU %.0f %% each, CPU wait %.0f %%, read %s/s",
                             pp_text_duration(took, sizeof(took), 1e9 * r->watched_s), w.alive,
                             isnan(w.cpu) ? 0 : 100 * w.cpu, isnan(w.delay) ? 0 : 100 * w.delay,
                             pp_text_bytes(read, sizeof(read), w.read_per_s));
    }
    pp_progress_clear(&progress);
    return there;
}

static void print_answer(const struct attach_rows *r, const struct attach_enter *e,
                         const struct attach_stacks *stacks, const struct attach_machine *m,
                         const struct attach_gpu *gpu, int there)
{
    struct pp_looks seen = {0};
    struct pp_err err = {.code = PP_E_NO_MEMORY, .text = "no memory for stacks"};
    const struct attach_workers w = attach_rows_workers(r);
    const struct pp_page page = {.out = stdout,
                                 .columns = pp_cli_columns(stdout),
                                 .color = pp_cli_use_color(PP_COLOR_AUTO, stdout)};
    char took[32], hint[400];
    const char *from = e->state == ATTACH_INSIDE ? "recorded and watched" : "watched from outside";
    printf("process %lld, %s for %s (%u looks)%s\n\n", (long long)r->pid, from,
           pp_text_duration(took, sizeof(took), 1e9 * r->watched_s), r->looks, there ? "" : "; it has ended");
    attach_print_table(r, gpu, &page);
    if (e->state == ATTACH_INSIDE) {
        const struct exec_record *record = &e->record;
        attach_print_inside(r, e, &page);
        if (e->unfinished.code != PP_OK)
            exec_say("%s is not whole: %s", record->path, e->unfinished.text);
        if (!record->totals.spans) {
            exec_say(
                "no batch of a DataLoader was taken while the hooks were in process %lld, so %s has no spans; "
                "watch it for longer",
                (long long)r->pid, record->path);
        } else {
            fputc('\n', page.out);
            exec_words_verdict(record, 0, page.out);
            fflush(page.out);
            exec_words_totals(record, (char *const[]){(char *)"the job", NULL}, 1);
        }
        return;
    }
    /* The stacks of the job cannot be read, and why; or it was not seen in Python. */
    const struct pp_source source = {.ctx = (void *)stacks, .path = "the job", .each_stack = each_stack};
    const struct pp_stack_process *job = stacks && stacks->processes ? stacks->process[0] : NULL;
    pp_status st = PP_E_NO_MEMORY;
    if (job && job->state == PP_PROCESS_REFUSED)
        st = pp_fail(&err, PP_E_ACCESS, "the stacks of process %lld cannot be read: %s", (long long)job->pid,
                     job->why_not[0] ? job->why_not : "no Python was found in it");
    else if (stacks && !stacks->n)
        st = pp_fail(&err, PP_E_NOT_FOUND, "no Python code of the job was seen");
    else if (stacks && (st = pp_stacks_read(&source, &seen.ops.stacks, &err)) == PP_OK)
        st = pp_looks_judge(&seen, stacks->role, stacks->threads, r->watched_s, &err);
    int is_verdict = st == PP_OK && attach_print_looks(&seen, r, m, &page);
    if (!is_verdict)
        pp_page_text(&page, PP_TONE_STRONG, "Hint:", ATTACH_INDENT, 0,
                     attach_hint(&w, m, hint, sizeof(hint)));
    if (!is_verdict && st != PP_OK) /* its stacks tell nothing */
        pp_page_text(&page, PP_TONE_PLAIN, "No verdict:", ATTACH_INDENT, 0, err.text);
    attach_print_rest(r, gpu, is_verdict, *e->why.text ? e->why.text : NULL, &page);
    pp_ops_free(&seen.ops);
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct attach_rows *rows = calloc(1, sizeof(*rows));
    struct attach_enter *enter = calloc(1, sizeof(*enter));
    struct attach_stacks *stacks = attach_stacks_begin(); /* without it there is a hint alone */
    struct attach_machine machine = {.busy_cpus = NAN};
    struct attach_gpu gpu = {.memory_bytes = NAN};
    struct pp_cpus cpus;
    double busy[2], all[2];
    char *end = NULL;
    errno = 0;
    long long pid = n == 1 ? strtoll(operands[0], &end, 10) : 0;
    int is_number = !errno && end && !*end && end != operands[0] && pid > 0;
    pp_status st = rows && enter ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (st == PP_OK && n != 1)
        st = pp_fail(err, PP_E_USAGE, "give the process id of a running job: pipeprobe attach PID");
    if (st == PP_OK && o->outside && o->output.path)
        st = pp_fail(err, PP_E_USAGE, "--outside records nothing: leave out --output");
    if (st == PP_OK && o->outside && o->tune)
        st = pp_fail(err, PP_E_USAGE, "--outside puts nothing into the job: leave out --tune");
    if (st == PP_OK && !is_number)
        st = pp_fail(err, PP_E_USAGE, "%s is not a process id; write its number, as ps shows it",
                     operands[0]);
    if (st == PP_OK)
        st = pp_watch_check(pid, err);
    if (st == PP_OK)
        st = attach_rows_begin(rows, pid, err);
    if (st != PP_OK)
        goto out;
    interrupt_catch(INTERRUPT_WAKES, NULL);
    pp_cpus_read(&cpus);
    machine.usable_cpus = cpus.usable;
    int has_machine = pp_io_machine_ticks(&busy[0], &all[0]);
    exec_speaker = "attach";
    if (!o->outside) {
        sigset_t signals = block_signals();
        enter->tune = (enum exec_tune_mode)o->tune;
        enter->quiet = o->quiet;
        (void)attach_enter_begin(enter, rows, &o->output); /* enter->why has the sentence */
        pthread_sigmask(SIG_SETMASK, &signals, NULL);
    }
    (void)pp_nvml_open(NULL, &gpu.nvml, &gpu.why); /* without it the sentence says so */
    int there = watch_job(rows, enter, stacks, &gpu, o);
    if (has_machine && pp_io_machine_ticks(&busy[1], &all[1]) && all[1] > all[0])
        machine.busy_cpus = cpus.online * (busy[1] - busy[0]) / (all[1] - all[0]);
    attach_enter_end(enter, rows, there);
    print_answer(rows, enter, stacks, &machine, &gpu, there);
    if (o->tune && !enter->tuned)
        exec_say("--tune changed nothing: the job %s",
                 enter->state == ATTACH_INSIDE ? "took the hooks at the end" : "was only watched");
    *code = enter->state == ATTACH_INSIDE ? pp_status_exit_code(enter->unfinished.code)
            : o->output.path || o->tune   ? pp_status_exit_code(enter->why.code)
                                          : 0;
out:
    pp_nvml_close(gpu.nvml);
    if (enter)
        attach_enter_free(enter);
    attach_stacks_free(stacks);
    free(enter);
    free(rows);
    return st;
}

const struct pp_command pp_cmd_attach = {
    .name = "attach",
    .summary = "record a running PyTorch job, or look at it from outside",
    .usage = "attach PID [options]",
    .opts = opts,
    .notes = "The job's process and its DataLoader workers, once a second: CPU, time ready\n"
             "without a CPU (CPU wait), bytes read, state (R runs, S sleeps, D waits for\n"
             "I/O); by NVML how busy the first GPU is. A job of Python 3.14 or later, your own\n"
             "or for root, takes the hooks of pipeprobe exec while it runs: it is recorded\n"
             "until attach or the job ends, and attach ends with the verdict. Any other is\n"
             "looked at from outside: nothing is put into it. Its Python stacks (3.8 to 3.15),\n"
             "20 times a second, tell how long it waits for data, the cause where it is sure,\n"
             "and the line that takes most; for the gain of a change, record with pipeprobe\n"
             "exec.\n"
             "--tune tries changes in the job as exec --tune does; what was kept stays.",
    .examples = {"pipeprobe attach 4711 --duration 60s -o train.sqlite",
                 "pipeprobe attach $(pgrep -of train.py) --outside"},
    .fields = sizeof(struct options),
    .act = act,
};
