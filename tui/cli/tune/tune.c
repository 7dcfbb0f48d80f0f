/* `pipeprobe tune`: records a PyTorch job, predicts what other arguments of its DataLoader would gain, runs
 * the job with them for a bounded time, and prints measured beside predicted. The job is not changed: its
 * hooks put the arguments in place (collectors/attach/python/pipeprobe_override.py). */
#include "tui/cli/tune/tune.h"
#include "collectors/attach/launch.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/ranks/identity.h"
#include "tui/cli/cli.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include <unistd.h>

struct options {
    struct pp_opt_list tries;
    const char *output;
    uint64_t duration_ns, proof_ns, start_limit_ns, grace_ns;
    int64_t repeats, loader_number;
    int yes, json, md, quiet, no_reads;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "yes", .letter = 'y', .type = PP_OPT_FLAG, .offset = AT(yes), .dflt = "0", .group = "Options",
     .help = "start the job without asking; needed where there is no terminal"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "DIR",
     .help = "a new directory for recordings and logs (default pipeprobe-tune-DATE-TIME)"},
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "TIME",
     .dflt = "30s", .min = 1e9, .max = 86400e9, .help = "steady state recorded of the first baseline"},
    {.name = "proof-duration", .type = PP_OPT_DURATION, .offset = AT(proof_ns), .arg = "TIME", .dflt = "30s",
     .min = 1e9, .max = 86400e9, .help = "steady state of every run after it"},
    {.name = "repeats", .letter = 'r', .type = PP_OPT_INT, .offset = AT(repeats), .arg = "N", .dflt = "1", .min = 1,
     .max = TUNE_REPEATS_MAX, .help = "rounds; each runs every change and the baseline"},
    {.name = "try", .type = PP_OPT_LIST, .offset = AT(tries), .arg = "KEY=N,...",
     .help = "this change, not the best predicted: num_workers prefetch_factor pin_memory persistent_workers in_order "
             "(repeatable)"},
    {.name = "loader-number", .type = PP_OPT_INT, .offset = AT(loader_number), .arg = "N", .min = 1, .max = 1e6,
     .help = "the N-th DataLoader that the job makes (default: the one that the report is about)"},
    {.name = "start-limit", .type = PP_OPT_DURATION, .offset = AT(start_limit_ns), .arg = "TIME", .dflt = "10m",
     .min = 1e9, .max = 86400e9, .help = "time until the second batch, at most"},
    {.name = "grace", .type = PP_OPT_DURATION, .offset = AT(grace_ns), .arg = "TIME", .dflt = "10s", .min = 1e8,
     .max = 3600e9, .help = "time from SIGINT to SIGTERM, and from SIGTERM to SIGKILL"},
    {.name = "no-reads", .type = PP_OPT_FLAG, .offset = AT(no_reads), .dflt = "0",
     .help = "do not time file reads (no LD_PRELOAD)"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .help = "one document of schema pipeprobe.tune/1"},
    {.name = "md", .type = PP_OPT_FLAG, .offset = AT(md), .help = "Markdown for a pull request"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no notes on stderr, only errors"},
    {.name = NULL},
};
/* clang-format on */

/* ---- before anything is started ---- */

/* On a terminal the answer is asked for. */
static pp_status ask_to_start(const struct options *o, char *const *program, const char *dir,
                              struct pp_err *err)
{
    char text[PP_ASK_TEXT], words[1024], first[32], further[32], grace[32];
    int changes = o->tries.n ? o->tries.n : TUNE_FIXES_MAX;
    snprintf(
        text, sizeof(text),
        "pipeprobe tune starts this job several times, each time from its beginning:\n  %s\n  once as it is, for %s of steady state; then up to %lld times for %s, with other DataLoader arguments\n"
        "  and as it is again. Each run ends with SIGINT, after %s with SIGTERM, then with SIGKILL.\n"
        "  What the job writes (checkpoints, logs, trackers) it writes in every run. Its standard input is empty.\n"
        "  Recordings and output go to the new directory %s.\n",
        pp_shell_words(program, words, sizeof(words)),
        pp_text_duration(first, sizeof(first), (double)o->duration_ns),
        (long long)((changes + 1) * o->repeats),
        pp_text_duration(further, sizeof(further), (double)o->proof_ns),
        pp_text_duration(grace, sizeof(grace), (double)o->grace_ns), dir);
    return pp_cli_ask("tune starts the job several times, and a job may write checkpoints", text, o->yes,
                      o->quiet, err);
}

pp_status tune_check_job(char *const *program, struct pp_err *err)
{
    char words[1024];
    const char *why;
    struct pp_identity rank;
    if (pp_launch_find(program[0], err) != 0)
        return err->code;
    if (pp_identity_read(&rank) && rank.world_size > 1)
        return pp_fail(err, PP_E_USAGE, TUNE_ONE_PROCESS);
    if (exec_words_advice(program, words, sizeof(words), &why) == EXEC_ISOLATED)
        return pp_fail(err, PP_E_USAGE, "no DataLoader of the job could be seen: %s; leave them out", why);
    return PP_OK;
}

/* ---- the baseline ---- */

static void note(const struct options *o, const char *label, const char *text)
{
    if (!o->quiet)
        pp_cli_note(label, text);
}

static pp_status run_baseline(struct tune_session *s, const struct options *o, struct pp_err *err)
{
    char text[512];
    struct tune_run *r = &s->baseline;
    note(o, "running", "01-baseline");
    pp_status st = tune_run_make(&s->job,
                                 &(struct tune_ask){.name = "01-baseline", .duration_ns = o->duration_ns}, r,
                                 err);
    if (st != PP_OK)
        return st;
    s->loader = tune_log_choose(&r->loaders, (long)o->loader_number);
    if (interrupt_asked())
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted; what was recorded is in %s", s->job.dir);
    if (r->end == TUNE_END_RANKS)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s; what was recorded is in %s", r->why, s->job.dir);
    if (r->end == TUNE_END_ITSELF && r->status != 0)
        return pp_fail(err, PP_E_SYSTEM, "%s (its output: %s)", r->why, r->log);
    if (!s->loader && o->loader_number)
        return pp_fail(
            err, PP_E_USAGE,
            "--loader-number %lld: the job made %zu DataLoader%s; one that is made again with the same arguments counts once",
            (long long)o->loader_number, r->loaders.made, r->loaders.made == 1 ? "" : "s");
    if (!s->loader)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "no DataLoader of the job was seen%s%s; 'pipeprobe exec' says why (its output: %s)",
                       r->loaders.trouble[0] ? ": " : "", r->loaders.trouble, r->log);
    if (isnan(r->rate))
        return pp_fail(err, PP_E_INCONCLUSIVE, "the baseline was not measured: %s (its output: %s)", r->why,
                       r->log);
    s->base = (struct tune_sample){.rate = {r->rate}, .noise = {r->noise}, .n = 1};
    note(o, "loader", tune_loader_text(s, text, sizeof(text)));
    return PP_OK;
}

/* ---- the other runs ---- */

void tune_add_run(struct tune_sample *sample, const struct tune_run *r)
{
    sample->rate[sample->n] = r->rate;
    sample->noise[sample->n++] = r->noise;
}

/* What is printed, pasted and stored as proof is what was applied; why the rest was not is in c->left. */
static void add_candidate_run(struct tune_session *s, struct tune_candidate *c, const struct tune_run *r)
{
    struct tune_set applied = c->set;
    char left[sizeof(c->left)] = "";
    struct pp_err ignored;
    int some = 0;
    size_t n = 0;
    for (int k = 0; k < PP_KNOBS_TUNED; k++) {
        if (c->set.value[k] < 0)
            continue;
        some += r->loaders.set[k] > 0;
        if (r->loaders.set[k])
            continue;
        applied.value[k] = -1;
        if (n < sizeof(left))
            n += (size_t)snprintf(left + n, sizeof(left) - n, "%s%s: %s", n ? "; " : "", pp_knob_rows[k].name,
                                  r->loaders.left[k] ? r->loaders.why[k]
                                                     : "the job made no such DataLoader again");
    }
    snprintf(c->recording, sizeof(c->recording), "%s", r->path);
    if (isnan(r->rate)) {
        snprintf(c->why, sizeof(c->why), "%s", r->why);
    } else if (!some) {
        snprintf(c->why, sizeof(c->why), "it could not be applied: %.280s", left);
    } else {
        tune_add_run(&c->sample, r);
        if (left[0]) {
            memcpy(c->left, left, sizeof(left));
            c->set = applied;
            tune_set_text(&c->set, TUNE_ARGUMENTS, c->words);
            c->predicted = (struct tune_gain){NAN, NAN, NAN};
            if (!s->is_other)
                (void)tune_predict(s, c, 1, &ignored);
        }
    }
}

static int was_measured(const struct tune_session *s)
{
    int n = 0;
    for (int i = 0; i < s->candidates; i++)
        n += s->candidate[i].sample.n > 0;
    return n;
}

/* Rounds in alternating order: what drifts steadily hits all alike. In each the candidates, and the baseline
 * again. */
static pp_status run_rounds(struct tune_session *s, const struct options *o, struct pp_err *err)
{
    char predicted[64], text[600];
    int number = 1;
    pp_status st = PP_OK;
    for (int i = 0; i < s->candidates; i++) {
        snprintf(text, sizeof(text), "%s, predicted %s", s->candidate[i].words,
                 tune_percent(&s->candidate[i].predicted, predicted, sizeof(predicted)));
        note(o, "to prove", text);
    }
    for (int64_t round = 0; round < o->repeats && s->candidates; round++)
        for (int i = 0; i <= s->candidates && st == PP_OK && !interrupt_asked(); i++) {
            int which = round % 2 ? s->candidates - i : i;
            char name[TUNE_TEXT + 16], words[TUNE_TEXT] = "baseline";
            struct tune_candidate *c = which < s->candidates ? &s->candidate[which] : NULL;
            number++;
            /* It failed in a round before; or there is nothing yet to compare a baseline with. */
            if (c ? c->why[0] != 0 : !was_measured(s))
                continue;
            if (c)
                tune_set_text(&c->set, TUNE_WORDS, words);
            for (char *p = words; *p; p++)
                *p = *p == '=' ? '-' : *p == ',' ? '_' : *p;
            snprintf(name, sizeof(name), "%02d-%s", number, words);
            note(o, "running", name);
            const struct tune_ask ask = {name, o->proof_ns, c ? &c->set : NULL, s->loader};
            struct tune_run *r = calloc(1, sizeof(*r));
            st = r ? tune_run_make(&s->job, &ask, r, err)
                   : pp_fail(err, PP_E_NO_MEMORY, "no memory for a run");
            if (st == PP_OK && c)
                add_candidate_run(s, c, r);
            else if (st == PP_OK && !isnan(r->rate))
                tune_add_run(&s->base, r);
            const char *why = st == PP_OK ? (c ? c->why : r->why) : "";
            snprintf(text, sizeof(text), "%s: %s", name, why);
            if (why[0] && !interrupt_asked())
                note(o, "failed", text);
            free(r);
        }
    if (st == PP_OK && interrupt_asked())
        st = pp_fail(err, PP_E_INTERRUPTED, "interrupted; what was recorded is in %s", s->job.dir);
    return st;
}

/* ---- the command ---- */

static int tune_main(int argc, char **argv)
{
    struct options given = {0};
    const struct options *o = &given;
    struct pp_opt_set set = {.table = opts, .fields = &given};
    struct pp_err err = {0};
    char **program, dir[sizeof(((struct tune_job *)0)->dir)];
    int n, code = pp_cli_parse_job(&pp_cmd_tune, &set, argc, argv, &n, &program);
    if (code >= 0)
        return code;
    if (n || !program) {
        pp_fail(&err, PP_E_USAGE, "write the job after --: pipeprobe tune -- python3 train.py");
        return pp_cli_fail(&pp_cmd_tune, &err);
    }
    struct tune_session *s = calloc(1, sizeof(*s));
    struct tune_set ignored;
    pp_status st = s ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory");
    for (int i = 0; i < o->tries.n && st == PP_OK; i++)
        st = tune_set_parse(o->tries.item[i], &ignored, &err);
    if (st == PP_OK)
        st = tune_check_job(program, &err);
    if (st == PP_OK)
        st = job_dir_name(o->output, "tune", dir, sizeof(dir), &err);
    if (st == PP_OK)
        st = ask_to_start(o, program, dir, &err);
    if (st == PP_OK)
        st = job_dir_make(dir, s->job.dir, sizeof(s->job.dir), &err);
    if (st == PP_OK) {
        s->asked = o->tries.n;
        s->job.program = program;
        s->job.no_reads = o->no_reads;
        s->job.start_limit_ns = o->start_limit_ns;
        s->job.grace_ns = o->grace_ns;
        interrupt_catch(INTERRUPT_WAKES, NULL);
        st = run_baseline(s, o, &err);
    }
    if (st == PP_OK)
        st = tune_plan(s, &o->tries, o->quiet ? NULL : stderr, &err);
    int planned = st == PP_OK;
    if (planned)
        st = run_rounds(s, o, &err);
    if (planned && (st == PP_OK || was_measured(s))) { /* also of rounds that were broken off */
        struct pp_err why = {0};
        pp_status stored = tune_sum_up(s, &why);
        (o->json ? tune_print_json : o->md ? tune_print_md : tune_print)(s, stdout);
        if (st == PP_OK && stored != PP_OK)
            st = stored, err = why;
    }
    /* What was asked for with --try, or is worth a run, and could not be measured is 4. */
    code = st != PP_OK                     ? pp_cli_fail(&pp_cmd_tune, &err)
           : !s->candidates && !o->tries.n ? pp_status_exit_code(s->inconclusive ? PP_E_INCONCLUSIVE : PP_OK)
                                           : pp_status_exit_code(was_measured(s) ? PP_OK : PP_E_SYSTEM);
    free(s);
    return code;
}

const struct pp_command pp_cmd_tune = {
    .name = "tune",
    .summary = "prove on a PyTorch job what other DataLoader arguments gain",
    .usage = "tune [options] -- PROGRAM [ARGUMENTS]",
    .opts = opts,
    .notes = "Records the job for a bounded time, predicts the best arguments of its\n"
             "DataLoader, runs the job again with each of them (no change to its code), and\n"
             "prints measured beside predicted. The job is started several times, after a\n"
             "question or --yes.",
    .examples = {"pipeprobe tune -- python3 train.py",
                 "pipeprobe tune --yes --try num_workers=8,prefetch_factor=4 -- python3 train.py"},
    .run = tune_main,
};
