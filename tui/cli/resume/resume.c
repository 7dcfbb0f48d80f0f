/* `pipeprobe resume-test`: does a killed and resumed job go on with the samples that it would have had? Runs
 * the job uninterrupted twice, kills it at chosen points and resumes it; or judges those made elsewhere. */
#include "tui/cli/resume/resume_run.h"
#include "collectors/attach/launch.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "tui/cli/cli.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/output.h"
#include <unistd.h>

#define EXEC_SAYS "pipeprobe exec: "
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=,:@%" /* to a shell */
enum { STARTS_MAX = 16 };

struct options {
    struct pp_opt_list kill_at;
    struct resume_job job;
    const char *output, *junit, *markdown;
    int64_t kills, seed;
    int yes, json, quiet, keep, force;
};

static const struct pp_opt_choice signals[] = {{"KILL", "at once, as a machine that is taken away"},
                                               {"TERM", "and SIGKILL after --grace"},
                                               {NULL, NULL}};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "yes", .letter = 'y', .type = PP_OPT_FLAG, .offset = AT(yes), .dflt = "0", .group = "Options",
     .help = "start the job without asking; needed where there is no terminal"},
    {.name = "resume-with", .type = PP_OPT_STRING, .offset = AT(job.resume_with), .arg = "CMD",
     .help = "what resumes the job, for a shell (default: the job's command again); {ckpt} "
             "in it is the newest checkpoint's path"},
    {.name = "reset", .type = PP_OPT_STRING, .offset = AT(job.reset), .arg = "CMD",
     .help = "removes what an earlier run left, before each beginning; needed without {dir}"},
    {.name = "kills", .type = PP_OPT_INT, .offset = AT(kills), .arg = "N", .dflt = "0", .min = 0, .max = 50,
     .help = "so many kills at random batches, besides the chosen ones"},
    {.name = "seed", .type = PP_OPT_INT, .offset = AT(seed), .arg = "S", .dflt = "1", .min = 0, .max = 1e9, .help = "of the random batches"},
    {.name = "kill-at", .type = PP_OPT_LIST, .offset = AT(kill_at), .arg = "BATCH",
     .help = "kill behind this batch, in place of the chosen points (repeatable)"},
    {.name = "signal", .type = PP_OPT_CHOICE, .offset = AT(job.with_term), .choices = signals, .dflt = "KILL",
     .help = "how the job is killed"},
    {.name = "grace", .type = PP_OPT_DURATION, .offset = AT(job.grace_ns), .arg = "TIME", .dflt = "30s", .min = 1e8,
     .max = 3600e9, .help = "time from SIGTERM to SIGKILL"},
    {.name = "limit", .type = PP_OPT_DURATION, .offset = AT(job.limit_ns), .arg = "TIME", .dflt = "1h", .min = 1e9,
     .max = 864000e9, .help = "time of one run, at most"},
    {.name = "after", .type = PP_OPT_INT, .offset = AT(job.after), .arg = "N", .dflt = "10", .min = 0, .max = 1e6,
     .help = "batches behind the end of the resumed epoch up to which a resumed run goes on"},
    {.name = "content", .type = PP_OPT_FLAG, .offset = AT(job.content), .dflt = "0",
     .help = "compare what samples are, not only which; needed for iterable data sets"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "DIR",
     .help = "a new directory for recordings and logs (default pipeprobe-resume-test-DATE-TIME)"},
    {.name = "keep", .type = PP_OPT_FLAG, .offset = AT(keep), .dflt = "0", .help = "keep what the job wrote below {dir}"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .help = "one document of schema pipeprobe.resume/1"},
    {.name = "junit", .type = PP_OPT_STRING, .offset = AT(junit), .arg = "FILE", .help = "a test case for each kill; - is stdout"},
    {.name = "md", .type = PP_OPT_STRING, .offset = AT(markdown), .arg = "FILE", .help = "Markdown, for a pull request; - is stdout"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0", .help = "replace FILE"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no notes on stderr, only errors"},
    {.name = NULL},
};
/* clang-format on */

/* ---- the answer ---- */

static int takers_of_stdout(const struct options *o)
{
    return (o->json != 0) + (o->junit && pp_output_is_stdout(o->junit)) +
           (o->markdown && pp_output_is_stdout(o->markdown));
}

static pp_status answer(const struct options *o, const struct pp_resume_input *in, int *code,
                        struct pp_err *err)
{
    struct pp_resume r = {0};
    pp_status st = pp_resume_judge(in, &r, err);
    if (st == PP_OK && o->junit)
        st = pp_output_write(o->junit, "JUnit file", pp_resume_junit, &r, err);
    if (st == PP_OK && o->markdown)
        st = pp_output_write(o->markdown, "Markdown file", pp_resume_markdown, &r, err);
    if (st == PP_OK && o->json && pp_fields_json(pp_resume_fields, &r, stdout) != 0)
        st = pp_fail_errno(err, errno, "cannot write to standard output");
    else if (st == PP_OK && !takers_of_stdout(o))
        pp_resume_text(&r, stdout);
    *code = r.kind == PP_RESUME_EXACT     ? 0
            : r.kind == PP_RESUME_DIFFERS ? 1
                                          : pp_status_exit_code(PP_E_INCONCLUSIVE);
    pp_arena_free(&r.arena);
    return st;
}

/* ---- recordings made elsewhere ---- */

/* A I [J ...] R: uninterrupted, killed, and those that resumed it. */
static pp_status judge_recordings(const struct options *o, const char *const *operands, int n, int *code,
                                  struct pp_err *err)
{
    struct pp_resume_start start[STARTS_MAX] = {0};
    pp_status st = PP_OK;
    if (n < 3 || n > STARTS_MAX)
        return pp_fail(
            err, PP_E_USAGE,
            "name the recordings of an uninterrupted run, of the run that was killed and of the one "
            "that resumed it, a file or a directory of ranks each; or write the job after --");
    for (int i = 0; i < n && st == PP_OK; i++)
        st = resume_start_read(operands[i], &start[i], err);
    for (int i = 0; i < n && st == PP_OK; i++)
        for (size_t k = 0; k < start[i].ranks && st == PP_OK; k++)
            if (start[i].rank[k].hashed != start[0].rank[0].hashed)
                st = pp_fail(
                    err, PP_E_USAGE,
                    "%s is a digest and %s a recording: name digests of all runs, or recordings of all",
                    start[i].rank[k].hashed ? start[i].rank[k].path : start[0].rank[0].path,
                    start[i].rank[k].hashed ? start[0].rank[0].path : start[i].rank[k].path);
    uint32_t lag = st == PP_OK ? pp_resume_lag(&start[0].rank[0]) : 0;
    for (int i = 0; i < n && st == PP_OK; i++)
        for (size_t k = 0; k < start[i].ranks; k++)
            pp_resume_finish(&start[i].rank[k], lag);
    const struct pp_resume_chain chain = {.name = "k1", .start = start + 1, .starts = (size_t)n - 1};
    if (st == PP_OK)
        st = answer(o, &(struct pp_resume_input){start, 1, &chain, 1, NULL}, code, err);
    for (int i = 0; i < n; i++)
        resume_start_free(&start[i]);
    return st;
}

/* ---- runs ---- */

struct session {
    const struct options *o;
    struct resume_job job;
    struct pp_resume_start control[2];
    size_t controls;
    uint32_t lag;
    struct resume_point point[RESUME_POINTS_MAX];
    size_t points;
    struct pp_resume_chain chain[RESUME_POINTS_MAX];
    struct pp_resume_start start[RESUME_POINTS_MAX][3];
    uint64_t kill_at[RESUME_POINTS_MAX];
    char why[RESUME_POINTS_MAX][PATH_MAX + 520], failed[RESUME_POINTS_MAX][PATH_MAX + 520],
        kill[RESUME_POINTS_MAX][200];
};

/* Reads what a run recorded, as it was taken. */
static pp_status read_start(const struct resume_done *d, struct pp_resume_start *s, struct pp_err *err)
{
    if (strncmp(d->words, EXEC_SAYS, sizeof(EXEC_SAYS) - 1) == 0) /* it says errors alone: a full disk */
        return pp_fail(err, PP_E_SYSTEM, "a run of the job could not be recorded: %s",
                       d->words + sizeof(EXEC_SAYS) - 1);
    pp_status st = resume_start_read(d->recordings, s, err);
    if (st != PP_OK && d->end == RESUME_END_LIMIT)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "It cannot be told: a run reached its limit of time (--limit) before its first batch (its output: %s).",
            d->log);
    return st == PP_E_USAGE || st == PP_E_NOT_FOUND
               ? pp_fail(err, PP_E_SYSTEM,
                         d->end == RESUME_END_ITSELF && d->status == 0
                             ? "a run of the job ended by itself without a batch: %s (its output: %s)"
                             : "a run of the job could not be recorded: %s (its output: %s)",
                         d->words, d->log)
               : st;
}

static pp_status run_control(struct session *s, const char *name, struct pp_err *err)
{
    struct resume_done d;
    struct pp_resume_start *to = &s->control[s->controls];
    if (!s->o->quiet)
        pp_cli_note("running", name[0] == 'a' ? "a, uninterrupted" : "b, uninterrupted, as a control");
    pp_status st = resume_run_begin_chain(&s->job, name, err);
    if (st == PP_OK)
        st = resume_run_make(&s->job, &(struct resume_ask){.chain = name, .start = 1, .by_epochs = 1}, &d,
                             err);
    if (st == PP_OK && d.end == RESUME_END_ITSELF && d.status != 0)
        st = pp_fail(err, PP_E_SYSTEM, "the job failed by itself with exit status %d: %s (its output: %s)",
                     d.status, d.words, d.log);
    if (st == PP_OK)
        st = read_start(&d, to, err);
    if (st != PP_OK)
        return st;
    if (!s->controls)
        s->lag = pp_resume_lag(&to->rank[0]);
    for (size_t i = 0; i < to->ranks; i++)
        pp_resume_finish(&to->rank[i], s->lag);
    s->controls++;
    if (!s->o->keep)
        resume_run_remove_out(&s->job, name);
    if (to->rank[0].unknown)
        return pp_fail(err, PP_E_INCONCLUSIVE, "It cannot be told: %s.", to->rank[0].unknown);
    return PP_OK;
}

/* The next start of chain i; the recording is read with the lag of the control. */
static pp_status run_start(struct session *s, size_t i, struct resume_ask ask, struct resume_done *d,
                           struct pp_err *err)
{
    struct pp_resume_chain *chain = &s->chain[i];
    ask.chain = s->point[i].name;
    ask.start = (int)chain->starts + 1;
    const struct pp_resume_start *before = chain->starts ? &s->start[i][chain->starts - 1] : NULL;
    for (size_t r = 0; before && r < before->ranks && !ask.ckpt; r++)
        ask.ckpt = before->rank[r].checkpoint;
    int asked = before && s->o->job.resume_with && strstr(s->o->job.resume_with, "{ckpt}");
    if (asked && (!ask.ckpt || ask.ckpt[strspn(ask.ckpt, PLAIN)])) {
        snprintf(s->why[i], sizeof(s->why[i]), "It cannot be told: %s.",
                 ask.ckpt ? "a shell would read more than a name in the path that {ckpt} stands for"
                          : "no path of a checkpoint was seen that {ckpt} could stand for");
        return PP_OK;
    }
    struct pp_resume_start *to = &s->start[i][chain->starts];
    pp_status st = resume_run_make(&s->job, &ask, d, err);
    if (st == PP_OK)
        st = read_start(d, to, err);
    int failed = d->end == RESUME_END_ITSELF && d->status != 0 && chain->starts,
        untold = st == PP_E_INCONCLUSIVE, /* it says so */
        unread = (untold || st == PP_E_SYSTEM) && !to->ranks;
    /* A resumed run that cannot load its checkpoint records nothing. Other kills have their answers. */
    if (unread && !(failed && d->status < 128)) {
        snprintf(s->why[i], sizeof(s->why[i]), "%s%s", untold ? "" : "It cannot be told: ", err->text);
        return PP_OK;
    }
    if (st != PP_OK && !unread)
        return st;
    for (size_t k = 0; k < to->ranks; k++)
        pp_resume_finish(&to->rank[k], s->lag);
    if (failed)
        snprintf(s->failed[i], sizeof(s->failed[i]), "failed with exit status %d: %s (its output: %s)",
                 d->status, d->words, d->log);
    else if (d->end == RESUME_END_LIMIT)
        snprintf(s->failed[i], sizeof(s->failed[i]), "reached the limit of time (--limit)");
    to->failed = s->failed[i][0] ? s->failed[i] : NULL;
    if (failed && to->ranks)
        to->rank[0].failed = 1;
    chain->starts++;
    return PP_OK;
}

/* Resumes the chain; *again: to be killed once more, and whether it was. */
static pp_status run_resume(struct session *s, size_t i, size_t *from, int *again, struct pp_err *err)
{
    const struct pp_resume_run *a = &s->control[0].rank[0];
    struct pp_resume_chain *chain = &s->chain[i];
    struct resume_done d = {0};
    size_t saved = 0, before = 0;
    if (!pp_resume_saved(&s->start[i][chain->starts - 1], &saved, &before) && chain->starts == 1)
        return PP_OK;
    *from += saved;
    size_t more = *again ? resume_plan_again(a, *from) : 0;
    struct resume_ask ask = {0};
    /* Else until it has enough: so many batches behind the next end of an epoch; beyond a's batches where a
     * does not go so far. */
    size_t to = more ? *from + more : SIZE_MAX;
    if (!more && *from < a->n) {
        size_t epoch = a->batch[*from].iteration;
        to = a->iteration[epoch].first + a->iteration[epoch].n + (size_t)s->o->job.after + 1;
    }
    *(more ? &ask.kill_at : &ask.enough_at) = resume_plan_done(a, *from, to, s->lag);
    pp_status st = run_start(s, i, ask, &d, err);
    *again &= d.end == RESUME_END_KILLED;
    return st;
}

static pp_status run_chain(struct session *s, size_t i, struct pp_err *err)
{
    const struct resume_point *p = &s->point[i];
    struct pp_resume_chain *chain = &s->chain[i];
    struct resume_done d;
    size_t from = 0;
    int again = p->again;
    char text[160];
    *chain = (struct pp_resume_chain){.name = p->name, .kill = s->kill[i], .start = s->start[i]};
    snprintf(text, sizeof(text), "%s, killed %s", p->name, p->how);
    if (!s->o->quiet)
        pp_cli_note("running", text);
    pp_status st = resume_run_begin_chain(&s->job, p->name, err);
    if (st == PP_OK)
        st = run_start(s, i,
                       (struct resume_ask){
                           .kill_at = resume_plan_done(&s->control[0].rank[0], 0, p->batch + 1, s->lag)},
                       &d, err);
    if (st != PP_OK)
        return st;
    snprintf(s->kill[i], sizeof(s->kill[i]), "%s%s", p->how,
             d.hung ? " (SIGTERM did not end the job within --grace, SIGKILL did)" : "");
    if (s->why[i][0])
        ; /* said */
    else if (d.end == RESUME_END_ITSELF)
        snprintf(s->why[i], sizeof(s->why[i]), "It cannot be told: the job ended before the kill%s%s.",
                 d.status ? ": " : "", d.status ? d.words : "");
    else if (d.end == RESUME_END_LIMIT)
        snprintf(s->why[i], sizeof(s->why[i]),
                 "It cannot be told: the batch was not reached within --limit.");
    else
        st = run_resume(s, i, &from, &again, err);
    if (st == PP_OK && again && !s->why[i][0] && chain->starts == 2)
        st = run_resume(s, i, &from, &(int){0}, err);
    chain->why = s->why[i][0] ? s->why[i] : NULL;
    if (!s->o->keep)
        resume_run_remove_out(&s->job, p->name);
    return st;
}

/* Of two uninterrupted runs that are alike, with a checkpoint. */
static pp_status plan_kills(struct session *s, struct pp_err *err)
{
    size_t n = (size_t)s->o->kill_at.n, saves = 0,
           unlike = pp_resume_first_unlike(&s->control[0], &s->control[1]);
    pp_resume_note_bytes(&s->control[0], &s->control[1]);
    for (size_t i = 0; i < s->control[0].ranks; i++)
        saves += s->control[0].rank[i].saves;
    if (!saves)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "It cannot be told: no checkpoint was seen in %zu batches. Let the job save more often, or run longer.",
            s->control[0].rank[0].n);
    if (unlike != SIZE_MAX)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "It cannot be told: the order is not reproducible even without a kill: two uninterrupted runs differ from batch %zu on. "
            "Seed the sampler, and let each run begin from nothing ({dir}, --reset).",
            unlike);
    for (size_t i = 0; i < n; i++)
        if (s->kill_at[i] + 1 >= s->control[0].rank[0].n)
            return pp_fail(err, PP_E_USAGE, "--kill-at %s: the uninterrupted run has %zu batches",
                           s->o->kill_at.item[i], s->control[0].rank[0].n);
    s->points = resume_plan(&s->control[0].rank[0], s->kill_at, n, (size_t)s->o->kills, (uint64_t)s->o->seed,
                            s->point);
    return s->points
               ? PP_OK
               : pp_fail(
                     err, PP_E_INCONCLUSIVE,
                     "It cannot be told: the uninterrupted run has %zu batches, too few behind a checkpoint to kill it in.",
                     s->control[0].rank[0].n);
}

/* Of batch systems: what they start runs elsewhere, and later. */
static const char *const queues[] = {"sbatch", "qsub", "bsub", "condor_submit", "kubectl"};

static pp_status check_program(const struct options *o, char *const *program, struct pp_err *err)
{
    char words[1024];
    const char *why, *slash = strrchr(program[0], '/'), *name = slash ? slash + 1 : program[0];
    for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++)
        if (strcmp(name, queues[i]) == 0)
            return pp_fail(
                err, PP_E_USAGE,
                "%s puts the job into a queue, and it runs elsewhere: record it there (pipeprobe exec -o NAME in the batch "
                "script), and name the recordings: pipeprobe resume-test WHOLE KILLED RESUMED",
                name);
    if (pp_launch_find(program[0], err) != 0)
        return err->code;
    if (exec_words_advice(program, words, sizeof(words), &why) == EXEC_ISOLATED)
        return pp_fail(err, PP_E_USAGE, "no DataLoader of the job could be seen: %s; leave them out", why);
    int names_dir = o->job.resume_with && strstr(o->job.resume_with, "{dir}");
    for (char *const *word = program; *word; word++)
        names_dir |= strstr(*word, "{dir}") != NULL;
    if (!o->job.reset && !names_dir)
        return pp_fail(
            err, PP_E_USAGE,
            "each run must begin from nothing, and the job's output directory is a fixed one: write {dir} where its name goes "
            "(--out {dir}), or give --reset 'rm -rf OUT'");
    return PP_OK;
}

static pp_status test_job(const struct options *o, char *const *program, int *code, struct pp_err *err)
{
    char dir[sizeof(((struct resume_job *)0)->dir)];
    struct session *s = calloc(1, sizeof(*s));
    pp_status st = s ? check_program(o, program, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory");
    if (s)
        s->o = o;
    for (int i = 0; st == PP_OK && i < o->kill_at.n; i++) {
        const char *text = o->kill_at.item[i];
        char *end;
        s->kill_at[i] = strtoull(text, &end, 10);
        if (*end || *text < '0' || *text > '9' || s->kill_at[i] > UINT32_MAX)
            st = pp_fail(err, PP_E_USAGE, "--kill-at %s: the number of a batch is needed, below 2^32", text);
    }
    if (st == PP_OK)
        st = job_dir_name(o->output, "resume-test", dir, sizeof(dir), err);
    if (st == PP_OK) {
        char text[PP_ASK_TEXT], words[1024], limit[32], kills[32];
        snprintf(
            text, sizeof(text),
            "pipeprobe resume-test starts this job many times, and kills it:\n  %s\n  twice uninterrupted for two epochs and some batches, then up to %s, each resumed up to\n"
            "  %lld batches behind the next epoch's end, at most %s a run. What the job writes elsewhere than in {dir}\n"
            "  (trackers, uploads) it writes in every run. Its standard input is empty.\n"
            "  Recordings and output go to the new directory %s.\n",
            pp_shell_words(program, words, sizeof(words)),
            pp_text_counted(kills, sizeof(kills),
                            (double)(o->kill_at.n ? o->kill_at.n : 5) + (double)o->kills, "kill", "kills"),
            (long long)o->job.after, pp_text_duration(limit, sizeof(limit), (double)o->job.limit_ns), dir);
        st = pp_cli_ask("resume-test starts the job several times and kills it", text, o->yes, o->quiet, err);
    }
    if (st == PP_OK)
        st = job_dir_make(dir, dir, sizeof(dir), err);
    if (st == PP_OK) {
        s->job = o->job;
        s->job.program = program;
        snprintf(s->job.dir, sizeof(s->job.dir), "%s", dir);
        interrupt_catch(INTERRUPT_WAKES, NULL);
        st = run_control(s, "a", err);
    }
    if (st == PP_OK)
        st = run_control(s, "b", err);
    if (st == PP_OK)
        st = plan_kills(s, err);
    for (size_t i = 0; st == PP_OK && i < s->points; i++)
        st = run_chain(s, i, err);
    if (st == PP_OK || st == PP_E_INCONCLUSIVE)
        st = answer(o,
                    &(struct pp_resume_input){s->control, s->controls, s->chain, s->points,
                                              st == PP_OK ? NULL : err->text},
                    code, err);
    for (size_t i = 0; s && i < 2; i++)
        resume_start_free(&s->control[i]);
    for (size_t i = 0; s && i < RESUME_POINTS_MAX; i++)
        for (size_t k = 0; k < 3; k++)
            resume_start_free(&s->start[i][k]);
    free(s);
    return st;
}

static int resume_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    char **job;
    int n, code = pp_cli_parse_job(&pp_cmd_resume_test, &set, argc, argv, &n, &job);
    if (code >= 0)
        return code;
    const char *files[] = {o.junit, o.markdown};
    pp_status st = takers_of_stdout(&o) > 1
                       ? pp_fail(&err, PP_E_USAGE,
                                 "only one of --json, --junit - and --md - writes to standard output")
                       : PP_OK;
    for (size_t i = 0; i < 2 && st == PP_OK; i++)
        if (files[i] && !pp_output_is_stdout(files[i]))
            st = pp_output_check(files[i], o.force, &err);
    if (st == PP_OK && job && n)
        st = pp_fail(&err, PP_E_USAGE, "name recordings, or write a job after --, not both");
    else if (st == PP_OK && job)
        st = test_job(&o, job, &code, &err);
    else if (st == PP_OK)
        st = judge_recordings(&o, (const char **)argv, n, &code, &err);
    return st == PP_OK ? code : pp_cli_fail(&pp_cmd_resume_test, &err);
}

const struct pp_command pp_cmd_resume_test = {
    .name = "resume-test",
    .summary = "kill and resume a job: does it go on with the right samples",
    .usage = "resume-test [options] -- PROGRAM [ARGUMENTS]   or   resume-test RECORDING...",
    .opts = opts,
    .notes = "Runs the job twice uninterrupted, kills it at chosen points, resumes each with\n"
             "the same command (or --resume-with) and compares sample by sample: from which\n"
             "batch on it differs, what was repeated or left out, and why. {dir} in the job's\n"
             "words is a new directory of each run. Recordings that pipeprobe exec --content\n"
             "made elsewhere (the uninterrupted run, what was killed, what was resumed) are\n"
             "judged in the same way; so are those of pipeprobe run --save-state and --resume,\n"
             "and digests of pipeprobe merge. Exit code: 0 exact, 1 it differs,\n"
             "3 it cannot be told, 4 the job failed by itself.",
    .examples = {"pipeprobe resume-test -- python3 train.py --out {dir}",
                 "pipeprobe resume-test whole.sqlite killed.sqlite resumed.sqlite"},
    .run = resume_main,
};
