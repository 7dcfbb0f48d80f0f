/* `pipeprobe attach`: looks at a running job from outside, once a second. Nothing is put into it. */
#include "tui/cli/attach/attach_rows.h"
#include "tui/cli/attach/attach_words.h"
#include "tui/cli/cli.h"

#include "collectors/system/environment.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 1000000000u

struct options {
    uint64_t duration_ns; /* 0: until Ctrl-C or the job's end */
    int quiet;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "T",
     .group = "Options", .help = "look for this long (default: until Ctrl-C or the job's end)"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no progress on stderr"},
    {.name = NULL},
};
/* clang-format on */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
    (void)sig;
    stopped = 1;
}

static void show_progress(struct pp_progress *p, const struct attach_rows *r)
{
    const struct attach_workers w = attach_rows_workers(r);
    char took[32], read[32];
    if (r->looks > 1)
        pp_progress_line(p, "%s  %u workers, CPU %.0f %% each, run delay %.0f %%, read %s/s",
                         pp_text_duration(took, sizeof(took), 1e9 * r->watched_s), w.alive,
                         isnan(w.cpu) ? 0 : 100 * w.cpu, isnan(w.delay) ? 0 : 100 * w.delay,
                         pp_text_bytes(read, sizeof(read), w.read_per_s));
}

/* Sleeps until a moment, a signal or the end of the watch. */
static void sleep_until(uint64_t ns)
{
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        continue;
}

/* Returns whether the job is still there. */
static int watch(struct attach_rows *r, const struct options *o)
{
    struct pp_progress progress;
    uint64_t began = pp_now_ns(), until = o->duration_ns ? began + o->duration_ns : UINT64_MAX, next = began;
    int there = attach_rows_look(r);
    pp_progress_begin(&progress, o->quiet);
    while (there && !stopped && pp_now_ns() < until) {
        next += LOOK_NS;
        sleep_until(next < until ? next : until);
        there = attach_rows_look(r);
        show_progress(&progress, r);
    }
    pp_progress_clear(&progress);
    return there;
}

static void print(const struct attach_rows *r, const struct attach_machine *m, int there)
{
    const struct attach_workers w = attach_rows_workers(r);
    const struct pp_page page = {.out = stdout,
                                 .columns = pp_cli_columns(stdout),
                                 .color = pp_cli_use_color(PP_COLOR_AUTO, stdout)};
    char took[32], hint[400];
    printf("process %lld, watched from outside for %s (%u looks)%s\n\n", (long long)r->pid,
           pp_text_duration(took, sizeof(took), 1e9 * r->watched_s), r->looks, there ? "" : "; it has ended");
    attach_print_table(r, stdout);
    putchar('\n');
    pp_page_text(&page, PP_TONE_STRONG, "Hint:", ATTACH_INDENT, 0, attach_hint(&w, m, hint, sizeof(hint)));
    attach_print_rest(r, &page);
}

static pp_status parse_pid(const char *text, int64_t *pid, struct pp_err *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || *end || end == text || n <= 0)
        return pp_fail(err, PP_E_USAGE, "%s is not a process id; write its number, as ps shows it", text);
    *pid = n;
    return PP_OK;
}

static int attach_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    struct attach_rows *rows = calloc(1, sizeof(*rows));
    struct attach_machine machine = {.busy_cpus = NAN};
    struct sigaction act = {.sa_handler = on_signal};
    struct pp_cpus cpus;
    struct pp_err err;
    double busy_s[2], all_s[2];
    int n_operands = 0, code = -1;
    int64_t pid = 0;
    pp_err_clear(&err);
    pp_status st = operands && rows ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory");
    if (st == PP_OK)
        code = pp_cli_parse(&pp_cmd_attach, &set, argc, argv, operands, &n_operands);
    if (code >= 0)
        goto out;
    if (st == PP_OK && n_operands != 1)
        st = pp_fail(&err, PP_E_USAGE, "give the process id of a running job: pipeprobe attach PID");
    if (st == PP_OK)
        st = parse_pid(operands[0], &pid, &err);
    if (st == PP_OK)
        st = pp_watch_check(pid, &err);
    if (st == PP_OK)
        st = attach_rows_begin(rows, pid, &err);
    if (st != PP_OK) {
        code = pp_cli_fail(&pp_cmd_attach, &err);
        goto out;
    }
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    pp_cpus_read(&cpus);
    machine.usable_cpus = cpus.usable;
    int has_machine = pp_watch_machine(&busy_s[0], &all_s[0]);
    int there = watch(rows, &o);
    if (has_machine && pp_watch_machine(&busy_s[1], &all_s[1]) && all_s[1] > all_s[0])
        machine.busy_cpus = cpus.online * (busy_s[1] - busy_s[0]) / (all_s[1] - all_s[0]);
    print(rows, &machine, there);
    code = 0;
out:
    free(rows);
    free(operands);
    return code;
}

const struct pp_command pp_cmd_attach = {
    .name = "attach",
    .summary = "look at a running PyTorch job from outside",
    .usage = "attach PID [options]",
    .opts = opts,
    .notes = "The job's process and its DataLoader workers, once a second: CPU, time ready\n"
             "without a CPU (run delay), bytes read, state (R runs, S sleeps, D waits for\n"
             "I/O). Nothing is put into the job, and nothing is recorded. It ends with a hint,\n"
             "not a verdict: how long the training waits for data cannot be seen from outside.\n"
             "It prints the command that would tell.",
    .examples = {"pipeprobe attach 4711 --duration 10s", "pipeprobe attach $(pgrep -of train.py)"},
    .run = attach_main,
};
