/* `pipeprobe verify`: whether the edited job is faster than it was, and still does the same work. The job as
 * it was is the edited one with the recording's arguments put back by its hooks, or another command. */
#include "tui/cli/tune/tune.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/trace_report.h"
#include <unistd.h>

struct options {
    const char *change, *before, *output;
    uint64_t duration_ns, start_limit_ns, grace_ns, most_ns;
    int64_t most_runs;
    int yes, json, md, quiet, no_reads;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "change", .type = PP_OPT_STRING, .offset = AT(change), .arg = "ID", .group = "Options",
     .help = "the change that was made, as `pipeprobe answer FILE` numbers it: its prediction stands beside what is measured"},
    {.name = "before", .type = PP_OPT_STRING, .offset = AT(before), .arg = "COMMAND",
     .help = "a shell command that runs the job as it was, where more than arguments of its DataLoader were changed (default: the edited job with those of FILE put back)"},
    {.name = "yes", .letter = 'y', .type = PP_OPT_FLAG, .offset = AT(yes), .dflt = "0",
     .help = "start the job without asking; needed where there is no terminal"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "DIR",
     .help = "a new directory for recordings and logs (default pipeprobe-verify-DATE-TIME)"},
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "TIME",
     .dflt = "20s", .min = 1e9, .max = 86400e9, .help = "steady state of each run"},
    {.name = "max-runs", .type = PP_OPT_INT, .offset = AT(most_runs), .arg = "N", .dflt = "6", .min = 2,
     .max = 2 * TUNE_REPEATS_MAX, .help = "runs of both together, at most; it ends sooner where the answer is clear"},
    {.name = "max-seconds", .type = PP_OPT_DURATION, .offset = AT(most_ns), .arg = "TIME", .dflt = "1h", .min = 1e9,
     .max = 86400e9, .help = "no run is started after so much time"},
    {.name = "start-limit", .type = PP_OPT_DURATION, .offset = AT(start_limit_ns), .arg = "TIME", .dflt = "10m",
     .min = 1e9, .max = 86400e9, .help = "time until the second batch, at most"},
    {.name = "grace", .type = PP_OPT_DURATION, .offset = AT(grace_ns), .arg = "TIME", .dflt = "10s", .min = 1e8,
     .max = 3600e9, .help = "time from SIGINT to SIGTERM, and from SIGTERM to SIGKILL"},
    {.name = "no-reads", .type = PP_OPT_FLAG, .offset = AT(no_reads), .dflt = "0",
     .help = "do not time file reads (no LD_PRELOAD)"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .help = "one document of schema pipeprobe.verify/1"},
    {.name = "md", .type = PP_OPT_FLAG, .offset = AT(md), .help = "Markdown for a pull request"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no notes on stderr, only errors"},
    {.name = NULL},
};
/* clang-format on */

#define WORTH_SAYING 0.03

enum outcome { FIXED, IMPROVED, UNCHANGED, WORSE, INCONCLUSIVE, NOT_COMPARABLE, JOB_FAILED };
static const struct {
    const char *code, *says;
    int exit;
} outcomes[] = {
    [FIXED] = {"fixed", "faster, and training does not wait for its input any more", 0},
    [IMPROVED] = {"improved", "faster, beyond the noise", 0},
    [UNCHANGED] = {"unchanged", "no gain of 3 % or more", 1},
    [WORSE] = {"worse", "slower, beyond the noise", 1},
    [INCONCLUSIVE] = {"inconclusive",
                      "the noise hides what was gained: more or longer runs, or an idle machine", 3},
    [NOT_COMPARABLE] = {"not-comparable", "the two do not do the same work", 1},
    [JOB_FAILED] = {"job-failed", "a run could not be measured", 4},
};

struct verify {
    const struct options *o;
    struct tune_job job, job_before;
    char *before_words[4];
    const char *recording;
    struct pp_report *recorded;      /* FILE */
    const struct pp_report_fix *fix; /* what is predicted of the change; NULL: nothing */
    struct tune_set put_back;        /* arguments of FILE that the edited job has not */
    struct tune_loader loader;       /* of the edited job */
    struct tune_sample before, after;
    struct tune_gain measured, predicted; /* predicted: of fix */
    double stall_before, stall_after;     /* NAN: not known */
    int bound_after;                      /* the edited job's report: it still waits for its input */
    struct verify_check check[VERIFY_CHECKS];
    int differ;
    char why[400];
    enum outcome outcome;
};

/* ---- runs ---- */

static void fail_run(struct verify *v, const char *name, const char *why)
{
    if (!v->why[0])
        snprintf(v->why, sizeof(v->why), "%s: %.330s", name, why);
    v->outcome = JOB_FAILED;
}

static pp_status run_one(struct verify *v, int is_after, int number, struct pp_err *err)
{
    char name[32];
    int back = !is_after && !v->o->before;
    struct tune_run *r = calloc(1, sizeof(*r));
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a run");
    snprintf(name, sizeof(name), "%02d-%s", number, is_after ? "edited" : "before");
    if (!v->o->quiet)
        pp_cli_note("running", name);
    const struct tune_ask ask = {name, v->o->duration_ns, back ? &v->put_back : NULL,
                                 back ? &v->loader : NULL};
    pp_status st = tune_run_make(is_after ? &v->job : &v->job_before, &ask, r, err);
    for (int k = 0; st == PP_OK && back && k < PP_KNOBS_TUNED; k++)
        if (v->put_back.value[k] >= 0 && !r->loaders.set[k])
            fail_run(v, name, r->loaders.left[k] ? r->loaders.why[k] : "the arguments could not be put back");
    if (st == PP_OK && interrupt_asked())
        st = pp_fail(err, PP_E_INTERRUPTED, "interrupted; what was recorded is in %s", v->job.dir);
    else if (st == PP_OK && isnan(r->rate))
        fail_run(v, name, r->why);
    else if (st == PP_OK) {
        struct tune_sample *sample = is_after ? &v->after : &v->before;
        struct pp_report *report = NULL;
        struct pp_err why;
        tune_add_run(sample, r);
        if (sample->n == 1 && pp_report_build(r->path, &report, &why) == PP_OK) {
            *(is_after ? &v->stall_after : &v->stall_before) = report->verdict.exposed_share;
            if (is_after) { /* its verdict and its work, held against those of FILE */
                struct verify_work was, is;
                v->bound_after = report->verdict.l0 && strcmp(report->verdict.l0, "not-input-bound") != 0;
                verify_work_read(v->recorded, &was);
                verify_work_read(report, &is);
                v->differ = verify_work_compare(&was, &is, v->check);
            }
            pp_report_free(report);
        }
        const struct tune_loader *l = tune_log_choose(&r->loaders, 0);
        if (is_after && v->after.n == 1 && l)
            v->loader = *l;
        if (is_after && !l)
            fail_run(v, name, "no DataLoader of the job was seen");
    }
    free(r);
    return st;
}

static enum outcome judge(const struct verify *v)
{
    const struct tune_gain *g = &v->measured;
    int of_work = 0;
    for (int i = 0; i < VERIFY_CHECKS; i++)
        of_work += !v->check[i].same && v->check[i].is_less;
    if (v->differ > (v->o->before ? of_work : 0))
        return NOT_COMPARABLE;
    if (isnan(g->low))
        return INCONCLUSIVE;
    if (g->low > 0 && g->gain >= WORTH_SAYING)
        return v->bound_after || v->differ ? IMPROVED : FIXED;
    if (g->high < 0 && g->gain <= -WORTH_SAYING)
        return WORSE;
    return g->high < WORTH_SAYING && g->low > -WORTH_SAYING ? UNCHANGED : INCONCLUSIVE;
}

/* Pairs in alternating order, until the answer is clear: two pairs at least. */
static pp_status run_all(struct verify *v, struct pp_err *err)
{
    uint64_t until = pp_now_ns() + v->o->most_ns;
    int number = 1;
    pp_status st = run_one(v, 1, number++, err);
    if (v->differ && !v->o->before) { /* no rate would say more */
        v->outcome = NOT_COMPARABLE;
        return st;
    }
    if (st == PP_OK && v->outcome != JOB_FAILED && !v->o->before) {
        /* What is put back: what FILE has otherwise; without workers nothing else counts. */
        const struct pp_report_loader *l = verify_loader_of(v->recorded);
        const double recorded[PP_KNOBS_TUNED] = {[PP_KNOB_NUM_WORKERS] = l->num_workers,
                                                 [PP_KNOB_PREFETCH_FACTOR] = l->prefetch_factor,
                                                 [PP_KNOB_PIN_MEMORY] = l->pin_memory,
                                                 [PP_KNOB_PERSISTENT_WORKERS] = l->persistent_workers,
                                                 [PP_KNOB_IN_ORDER] = l->in_order};
        int n = 0;
        for (int k = 0; k < PP_KNOBS_TUNED; k++) {
            int was = isnan(recorded[k]) ? -1 : (int)recorded[k],
                needs_workers = k != PP_KNOB_NUM_WORKERS && k != PP_KNOB_PIN_MEMORY;
            int differs = was >= 0 && was != v->loader.value[k] && !(needs_workers && !(l->num_workers > 0));
            v->put_back.value[k] = differs ? was : -1;
            n += differs;
        }
        if (!n)
            return pp_fail(
                err, PP_E_USAGE,
                "the job makes its DataLoader with the arguments that %s has: make the change first (`pipeprobe "
                "patch`), or let `pipeprobe tune` try it; where something else was changed, --before runs "
                "the job as it was",
                v->recording);
        /* The change of FILE's list that the edited job has made, where it was not named. */
        const struct pp_report_verdict *verdict = &v->recorded->verdict;
        struct tune_set set, made;
        for (int k = 0; k < PP_KNOBS_TUNED; k++)
            made.value[k] = v->put_back.value[k] < 0 ? -1 : v->loader.value[k];
        for (size_t i = 0; i < verdict->n_fixes && !v->fix; i++)
            if (verdict->fixes[i].set && tune_set_parse(verdict->fixes[i].set, &set, NULL) == PP_OK &&
                memcmp(&set, &made, sizeof(set)) == 0)
                v->fix = &verdict->fixes[i];
    }
    for (int i = 1;
         st == PP_OK && v->outcome != JOB_FAILED && number <= v->o->most_runs && pp_now_ns() < until; i++) {
        st = run_one(v, i % 4 == 0 || i % 4 == 3, number++,
                     err); /* edited before | before edited | edited ... */
        size_t freedom;
        double spread = tune_spread((struct tune_sample[]){v->before, v->after}, 2, &freedom);
        v->measured = tune_gain_of(&v->before, &v->after, spread, freedom);
        if (v->outcome != JOB_FAILED)
            v->outcome = judge(v);
        if (v->before.n >= 2 && v->after.n >= 2 && v->outcome != INCONCLUSIVE)
            break;
    }
    return st;
}

/* ---- output ---- */

static void print_text(const struct verify *v, FILE *out)
{
    char gain[64], predicted[64], set[TUNE_TEXT], *dir = pp_text_plain(v->job.dir);
    if (v->o->before)
        fputs("Before:    is what --before runs\n", out);
    else if (v->before.n)
        fprintf(out, "Put back:  %s, for the runs of the job as it was\n",
                tune_set_text(&v->put_back, TUNE_ARGUMENTS, set));
    for (int is_after = 0; is_after < 2; is_after++) {
        char rate[32], share[32], least_text[32], most_text[32];
        const struct tune_sample *s = is_after ? &v->after : &v->before;
        double least, most, stall = is_after ? v->stall_after : v->stall_before;
        if (!s->n)
            continue;
        tune_range(s, &least, &most);
        fprintf(out, "%-11s%s samples/s",
                is_after ? "Edited:" : "As it was:", pp_text_rate(rate, sizeof(rate), tune_median(s)));
        if (s->n > 1)
            fprintf(out, " (%zu runs, %s to %s)", s->n, pp_text_rate(least_text, sizeof(least_text), least),
                    pp_text_rate(most_text, sizeof(most_text), most));
        if (!isnan(stall))
            fprintf(out, ", waits %s of the time", pp_text_share(share, sizeof(share), stall));
        fputc('\n', out);
    }
    if (!isnan(v->measured.gain))
        fprintf(out, "Gain:      %s measured, %s predicted\n", tune_percent(&v->measured, gain, sizeof(gain)),
                tune_percent(&v->predicted, predicted, sizeof(predicted)));
    for (int i = 0; v->after.n && i < VERIFY_CHECKS; i++)
        if (!v->check[i].same)
            fprintf(out, "Work:      %s was %s and is %s\n", v->check[i].name, v->check[i].before,
                    v->check[i].after);
    if (v->after.n && !v->differ)
        fputs("Work:      the same: data set, its length, epochs, batch, bytes, work on a sample, step\n",
              out);
    fprintf(out, "Outcome:   %s: %s%s%s\n", outcomes[v->outcome].code, outcomes[v->outcome].says,
            v->why[0] ? ": " : "", v->why);
    fprintf(out, "Files:     %s\n", dir ? dir : "?");
    free(dir);
}

static void print_md(const struct verify *v, FILE *out)
{
    char gain[64], predicted[64], before[32], after[32];
    fprintf(out, "**pipeprobe verify: %s** (%s)\n\n| | before | after |\n|---|--:|--:|\n",
            outcomes[v->outcome].code, outcomes[v->outcome].says);
    fprintf(out, "| samples/s | %s | %s |\n",
            pp_text_rate(before, sizeof(before), v->before.n ? tune_median(&v->before) : NAN),
            pp_text_rate(after, sizeof(after), v->after.n ? tune_median(&v->after) : NAN));
    fprintf(out, "| waits for data | %s | %s |\n", pp_text_share(before, sizeof(before), v->stall_before),
            pp_text_share(after, sizeof(after), v->stall_after));
    for (int i = 0; v->after.n && i < VERIFY_CHECKS; i++)
        if (!v->check[i].same && i > 0) /* the data set's name is a stranger's */
            fprintf(out, "| %s | %s | %s |\n", v->check[i].name, v->check[i].before, v->check[i].after);
    fprintf(out, "\nGain: %s measured, %s predicted; %zu and %zu runs.\n",
            tune_percent(&v->measured, gain, sizeof(gain)),
            tune_percent(&v->predicted, predicted, sizeof(predicted)), v->before.n, v->after.n);
}

static void print_json(const struct verify *v, FILE *out)
{
    struct pp_json j;
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.verify/1");
    pp_json_put_str(&j, "outcome", outcomes[v->outcome].code);
    pp_json_put_str(&j, "why", v->why[0] ? v->why : NULL);
    tune_put_gain(&j, "measured", &v->measured);
    tune_put_gain(&j, "predicted", &v->predicted);
    for (int is_after = 0; is_after < 2; is_after++) {
        const struct tune_sample *s = is_after ? &v->after : &v->before;
        pp_json_put_object(&j, is_after ? "after" : "before");
        pp_json_put_num(&j, "samples_per_s", s->n ? tune_median(s) : NAN);
        pp_json_put_uint(&j, "runs", s->n);
        pp_json_put_num(&j, "stall_share", is_after ? v->stall_after : v->stall_before);
        pp_json_object_end(&j);
    }
    pp_json_put_array(&j, "same_work");
    for (int i = 0; v->after.n && i < VERIFY_CHECKS; i++) {
        pp_json_object(&j);
        pp_json_put_str(&j, "code", v->check[i].code);
        pp_json_put_bool(&j, "same", v->check[i].same);
        pp_json_put_str(&j, "before", v->check[i].before);
        pp_json_put_str(&j, "after", v->check[i].after);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_put_str(&j, "directory", v->job.dir);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

/* ---- the command ---- */

static pp_status prepare(struct verify *v, char *const *program, char *dir, size_t size, struct pp_err *err)
{
    const struct options *o = v->o;
    char text[PP_ASK_TEXT], words[1024], time[32];
    pp_status st = pp_report_build(v->recording, &v->recorded, err);
    if (st == PP_OK && o->change && !(v->fix = pp_report_change(v->recorded, o->change, err)))
        st = err->code;
    if (st == PP_OK && !verify_loader_of(v->recorded))
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "%s has no DataLoader: verify works on recordings of PyTorch jobs", v->recording);
    if (st == PP_OK)
        st = tune_check_job(program, err);
    if (st == PP_OK)
        st = job_dir_name(o->output, "verify", dir, size, err);
    if (st == PP_OK) {
        snprintf(
            text, sizeof(text),
            "pipeprobe verify starts this job at most %lld times, as it is and as it was, each for %s of steady "
            "state:\n  %s\n  What the job writes it writes in every run. Recordings and output go to %s.\n",
            (long long)o->most_runs, pp_text_duration(time, sizeof(time), (double)o->duration_ns),
            pp_shell_words(program, words, sizeof(words)), dir);
        st = pp_cli_ask("verify starts the job several times, and a job may write checkpoints", text, o->yes,
                        1, err);
    }
    v->job = (struct tune_job){.program = program,
                               .no_reads = o->no_reads,
                               .start_limit_ns = o->start_limit_ns,
                               .grace_ns = o->grace_ns};
    if (st == PP_OK)
        st = job_dir_make(dir, v->job.dir, sizeof(v->job.dir), err);
    v->job_before = v->job;
    if (o->before) {
        v->before_words[0] = "sh", v->before_words[1] = "-c", v->before_words[2] = (char *)o->before;
        v->job_before.program = v->before_words;
    }
    return st;
}

static int verify_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    char **job;
    int n, code = pp_cli_parse_job(&pp_cmd_verify, &set, argc, argv, &n, &job);
    if (code >= 0)
        return code;
    if (n != 1 || !job)
        return pp_cli_fail(
            &pp_cmd_verify,
            (pp_fail(
                 &err, PP_E_USAGE,
                 "name the recording from before the change, and write the edited job after --: pipeprobe "
                 "verify run.sqlite -- python3 train.py"),
             &err));
    struct verify *v = calloc(1, sizeof(*v));
    if (!v)
        return pp_cli_fail(&pp_cmd_verify, (pp_fail(&err, PP_E_NO_MEMORY, "no memory"), &err));
    char dir[sizeof(v->job.dir)];
    v->o = &o;
    v->recording = argv[0];
    v->outcome = INCONCLUSIVE;
    v->measured = v->predicted = (struct tune_gain){NAN, NAN, NAN};
    v->stall_before = v->stall_after = NAN;
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        v->put_back.value[k] = -1;
    pp_status st = prepare(v, job, dir, sizeof(dir), &err);
    if (st == PP_OK) {
        interrupt_catch(INTERRUPT_WAKES, NULL);
        st = run_all(v, &err);
    }
    if (v->fix)
        v->predicted = (struct tune_gain){v->fix->gain, v->fix->low, v->fix->high};
    if (st == PP_OK)
        (o.json ? print_json : o.md ? print_md : print_text)(v, stdout);
    code = st == PP_OK ? outcomes[v->outcome].exit : pp_cli_fail(&pp_cmd_verify, &err);
    pp_report_free(v->recorded);
    free(v);
    return code;
}

const struct pp_command pp_cmd_verify = {
    .name = "verify",
    .summary = "whether an edited job is faster, and does the same work",
    .usage = "verify FILE [options] -- PROGRAM [ARGUMENTS]",
    .opts = opts,
    .notes = "FILE was recorded before the change. The edited job runs in turns with itself as\n"
             "it was: the DataLoader's arguments of FILE are put back from outside. Less work\n"
             "(a smaller batch, a transform left out) is no gain: not-comparable.\n"
             "Exit code: 0 fixed or improved; 1 unchanged, worse or not-comparable;\n"
             "3 inconclusive; 4 the job failed.",
    .examples = {"pipeprobe verify run.sqlite -- python3 train.py",
                 "pipeprobe verify run.sqlite --before 'python3 old.py' -- python3 train.py"},
    .run = verify_main,
};
