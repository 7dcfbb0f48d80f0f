#include "tui/cli/exec/exec_words.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "report/ranks/ranks.h"
#include "report/render/render.h"
#include "tui/cli/cli.h"
#include "tui/cli/rank_files.h"
#include <stdarg.h>

const char *exec_speaker = "exec";

void exec_say(const char *fmt, ...)
{
    char text[3 * PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    pp_cli_say(stderr, "pipeprobe %s: %s", exec_speaker, text);
}

/* ---- programs that are Python ---- */

/* "python", "python3.12", "python3.13t" */
static int is_interpreter(const char *path)
{
    const char *name = basename(path);
    if (strncmp(name, "python", 6) != 0)
        return 0;
    name += 6 + strspn(name + 6, "0123456789.");
    return !*name || strcmp(name, "t") == 0;
}

int exec_words_is_python(char *const *program)
{
    const char *name = basename(program[0]);
    size_t n = strlen(name);
    return is_interpreter(name) || strncmp(name, "torchrun", 8) == 0 ||
           (n > 3 && strcmp(name + n - 3, ".py") == 0);
}

/* The interpreter's letters without those that keep it from the hooks: "-uI" is "-u". Returns whether there
 * were any; *last: what comes behind them is the program's, *takes_next: the next word is this option's. */
static int without_isolation(const char *option, char *kept, size_t size, int *last, int *takes_next)
{
    size_t n = 0;
    int found = 0;
    *last = *takes_next = 0;
    for (const char *c = option; *c && n + 1 < size; c++) {
        int is_letter = c > option && !*last && !*takes_next;
        if (is_letter && strchr("IES", *c)) {
            found = 1;
            continue;
        }
        kept[n++] = *c;
        if (is_letter && strchr("cm", *c))
            *last = 1;
        if (is_letter && strchr("WX", *c))
            *takes_next = 1;
    }
    kept[n] = '\0';
    if (*takes_next && n && !strchr("WX", kept[n - 1]))
        *takes_next = 0; /* it has its argument already: -Werror */
    return found;
}

int exec_words_advice(char *const *program, char *text, size_t size, const char **why)
{
    size_t n = 0, python = 0, k = 0, kept = 0;
    int isolated = 0, last = 0, takes_next = 0;
    while (program[n])
        n++;
    while (python < n && !is_interpreter(program[python]))
        python++;
    char **words = python < n ? calloc(n + 4, sizeof(*words)) : NULL;
    char(*option)[64] = python < n ? calloc(n, sizeof(*option)) : NULL;
    if (words && option) {
        for (size_t i = 0; i < python; i++)
            words[k++] = program[i];
        words[k++] = (char *)"pipeprobe";
        words[k++] = (char *)"exec";
        words[k++] = (char *)"--";
        words[k++] = program[python];
        size_t i = python + 1;
        for (; i < n && !last && program[i][0] == '-' && program[i][1] && program[i][1] != '-'; i++) {
            isolated |= without_isolation(program[i], option[kept], sizeof(*option), &last, &takes_next);
            if (option[kept][1])
                words[k++] = option[kept++];
            if (takes_next && i + 1 < n)
                words[k++] = program[++i];
        }
        for (; i < n; i++)
            words[k++] = program[i];
        pp_shell_words(words, text, size);
    }
    *why = isolated && python
               ? "it does not hand on the environment, and -I, -E and -S make Python ignore the hooks"
           : isolated ? "-I, -E and -S make Python ignore the hooks"
                      : "it does not hand on the environment";
    int applies = !words || !option ? 0 : isolated ? EXEC_ISOLATED : python ? EXEC_BEHIND : 0;
    free(words);
    free(option);
    return applies;
}

/* ---- what was recorded ---- */

/* What works for a loader that is not torch's DataLoader, by its module. */
static const struct {
    const char *module, *loader, *works;
} others[] = {
    {"grain", "Grain",
     "record the job with jax.profiler, and read the trace: pipeprobe report TRACE (pipeprobe help other-profilers-traces)"},
    {"tensorflow", "tf.data",
     "record the job with tf.profiler, and read the trace: pipeprobe report TRACE (pipeprobe help other-profilers-traces)"},
    {"nvidia.dali", "DALI",
     "exec times its operators, and two ranges in the training loop, data_wait and step, with a --map of them, say when it waits (pipeprobe help recording-your-own-job)"},
    {"ray.data", "Ray Data", NULL},
    {"spdl.pipeline", "SPDL", NULL},
    {"torchdata.nodes", "torchdata.nodes", NULL},
    {"ffcv", "FFCV", NULL},
};
enum { OTHERS = sizeof(others) / sizeof(*others) };

/* Of a program that failed: how it ended, as its recording says. Of another: why there is nothing. */
static void explain_nothing(const struct exec_record *r, char *const *program, int with_hooks)
{
    char advice[1024];
    const char *why;
    const struct exec_totals *t = &r->totals;
    struct pp_report *report = NULL;
    struct pp_err err;
    int other = 0;
    /* What else the hooks noted of a job that may have a DataLoader counts more: the other loader may be
     * imported only. */
    while (other < OTHERS &&
           (strcmp(others[other].module, t->seen) != 0 ||
            (t->note[0] && t->with_loader && strncmp(t->note, t->seen, strlen(t->seen)) != 0)))
        other++;
    if (pp_report_build(r->path, &report, &err) == PP_OK && report->ended)
        exec_say("%s ended with exit status %.0f before it took a batch, so nothing was recorded: %s%s%s",
                 report->subject, report->exit_status, report->ended, report->ended_remedy ? ". " : "",
                 report->ended_remedy ? report->ended_remedy : "");
    else if (*r->unhooked)
        exec_say("nothing was recorded of %s: the hooks cannot be loaded into %s", program[0], r->unhooked);
    else if (other < OTHERS)
        exec_say("%s uses %s, whose batches exec did not time, so nothing was recorded%s%s. What works: %s",
                 report ? report->subject : program[0], others[other].loader, t->note[0] ? ": " : "", t->note,
                 others[other].works ? others[other].works
                                     : "two ranges in the training loop, data_wait and step (pipeprobe help "
                                       "recording-your-own-job)");
    else if (t->note[0])
        exec_say("nothing of %s was recorded: %s", program[0], t->note);
    else if (t->hooked)
        exec_say(
            "nothing was recorded: %s %s and made no NVTX range. Without a DataLoader, mark data_wait and step "
            "(pipeprobe help recording-your-own-job)",
            report ? report->subject : program[0],
            t->with_loader ? "took no batch of a DataLoader" : "did not import torch.utils.data");
    else if (exec_words_is_python(program) && !with_hooks)
        exec_say("nothing was recorded of %s: the extension for Python is not installed with "
                 "this pipeprobe (it is built where Python.h is found)",
                 program[0]);
    else if (exec_words_advice(program, advice, sizeof(advice), &why))
        exec_say("nothing was recorded of %s: %s; start it so: %s", program[0], why, advice);
    else
        exec_say(
            "nothing was recorded: %s ran no Python that can be seen and made no NVTX range. If it starts a job: %s "
            "pipeprobe exec -- python3 train.py",
            program[0], program[0]);
    pp_report_free(report);
}

void exec_words_totals(const struct exec_record *r, char *const *program, int with_hooks)
{
    const struct exec_totals *t = &r->totals;
    char spans[32], dropped[32], processes[48] = "";
    if (exec_record_is_empty(r)) {
        explain_nothing(r, program, with_hooks);
        return;
    }
    if (t->processes) /* those with NVTX calls; a program that uses the C API has none */
        snprintf(processes, sizeof(processes), " in %u process%s", t->processes,
                 t->processes == 1 ? "" : "es");
    exec_say("%s span%s of %u thread%s%s recorded in %s",
             pp_text_count(spans, sizeof(spans), (double)t->spans), t->spans == 1 ? "" : "s", t->threads,
             t->threads == 1 ? "" : "s", processes, r->path);
    if (t->dropped)
        exec_say("%s more were lost because rings were full; use a larger --ring-spans",
                 pp_text_count(dropped, sizeof(dropped), (double)t->dropped));
    if (t->ringless)
        exec_say(
            "%llu thread%s got no ring in %s and are not recorded; free some space or inodes there, or use a "
            "smaller --ring-spans",
            (unsigned long long)t->ringless, t->ringless == 1 ? "" : "s",
            pp_recording_rings_dir(r->recording));
    if (t->trainers > 1)
        exec_say("%u processes took batches, and a report is about one trainer. For the ranks of a job put "
                 "pipeprobe behind the launcher: torchrun --no-python pipeprobe exec -- python train.py, and "
                 "read all of them with pipeprobe ranks",
                 t->trainers);
    if (t->chained == 2)
        exec_say("the tool in NVTX_INJECTION64_PATH could not be attached and got no calls");
}

/* ---- the verdict ---- */

static int has_phase(const struct pp_report *r, pp_phase phase)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == phase && r->phases[i].count)
            return 1;
    return 0;
}

void exec_words_verdict(const struct exec_record *r, double gpu_hour, FILE *out)
{
    struct pp_err err;
    struct pp_report *report = NULL;
    if (pp_report_build(r->path, &report, &err) != PP_OK)
        exec_say("no verdict: %s", err.text);
    else
        pp_report_price(report, gpu_hour);
    if (!report)
        ;
    else if (report->ended)
        pp_render_short(report, out, pp_cli_use_color(PP_COLOR_AUTO, out), pp_cli_columns(out));
    else if (r->totals.loading && !r->totals.trainers) /* no process has a thread of its lane */
        exec_say(
            "no verdict: a helper thread reads the DataLoader and hands batches over in a way that pipeprobe does "
            "not record (supported: queue.Queue, Future)");
    else if (r->totals.loading && !has_phase(report, PP_PHASE_STEP))
        exec_say("no verdict: the job ended before its second batch; a verdict needs at least 10");
    else if (!has_phase(report, PP_PHASE_DATA_WAIT) || !has_phase(report, PP_PHASE_STEP))
        exec_say("no verdict: it needs ranges mapped to data_wait and step, and there are %s; see --map",
                 has_phase(report, PP_PHASE_DATA_WAIT) ? "none for step"
                 : has_phase(report, PP_PHASE_STEP)    ? "none for data_wait"
                                                       : "neither");
    else
        pp_render_short(report, out, pp_cli_use_color(PP_COLOR_AUTO, out), pp_cli_columns(out));
    pp_report_free(report);
}

void exec_words_ranks(const struct exec_record *r)
{
    const char *slash = strrchr(r->path, '/');
    if (r->rank.rank == 0)
        exec_say("this is rank 0 of %lld; for all of them: pipeprobe ranks %.*s",
                 (long long)r->rank.world_size, slash ? (int)(slash - r->path) : 1, slash ? r->path : ".");
}

/* ---- the ranks under one exec ---- */

void exec_words_job(const struct exec_ranks_made *x)
{
    size_t n = x->n;
    double spans = 0, dropped = 0;
    int64_t attempt = -1;
    for (size_t i = 0; i < n; i++) {
        const struct exec_record *r = x->rank[i];
        spans += (double)r->totals.spans;
        dropped += (double)r->totals.dropped;
        attempt = r->rank.attempt > attempt ? r->rank.attempt : attempt;
    }
    char text[32], where[PATH_MAX];
    /* As operands of `pipeprobe ranks`: their directory, or its files that are of this job and attempt. */
    const char *first = x->rank[0]->path, *slash = strrchr(first, '/'), *base = basename(first),
               *number = base;
    for (const char *at = base; (at = strstr(at, "rank")); at++)
        number = at;
    if (slash && number == base && attempt <= 0)
        snprintf(where, sizeof(where), "%.*s", (int)(slash - first), first);
    else if (attempt > 0)
        snprintf(where, sizeof(where), "%.*srank*-attempt%lld.sqlite", (int)(number - first), first,
                 (long long)attempt);
    else
        snprintf(where, sizeof(where), "%.*srank*.sqlite", (int)(number - first), first);
    exec_say("%s span%s of %zu rank%s recorded in %s", pp_text_count(text, sizeof(text), spans),
             spans == 1 ? "" : "s", n, n == 1 ? "" : "s", where);
    if (dropped > 0)
        exec_say("%s more were lost because rings were full; use a larger --ring-spans",
                 pp_text_count(text, sizeof(text), dropped));
    /* What they came to, when all of them are here: of the last attempt. */
    struct pp_err err;
    struct pp_digest all = {0};
    struct pp_ranks ranks = {0};
    const char **paths = calloc(n, sizeof(*paths));
    int here = 0;
    pp_err_clear(&err);
    for (size_t i = 0; paths && i < n; i++)
        if (x->rank[i]->rank.attempt == attempt && x->rank[i]->totals.spans)
            paths[here++] = x->rank[i]->path;
    if (here && here == x->rank[0]->rank.world_size &&
        pp_rank_files_read(paths, here, NULL, &all, &err) == PP_OK &&
        pp_ranks_judge(&all, &ranks, &err) == PP_OK)
        exec_say("%s", ranks.sentence);
    pp_ranks_free(&ranks);
    pp_digest_free(&all);
    free(paths);
    for (size_t i = 0; i < n; i++) {
        const struct exec_record *r = x->rank[i];
        if (r->first_by_ns && r->rank.attempt == attempt)
            exec_say("the job failed, and rank %lld ended first, %s before the next one",
                     (long long)r->rank.rank, pp_text_duration(text, sizeof(text), (double)r->first_by_ns));
    }
    exec_say("for all of it: pipeprobe ranks %s", where);
}
