#include "report/build/parts.h"

#include "probe/base/text.h"
#include "report/source/rows.h"

#include <time.h>

static const char *const kind_names[] = {[PP_SUBJECT_UNKNOWN] = "unknown",
                                         [PP_SUBJECT_OWN_LOADER] = "own-loader",
                                         [PP_SUBJECT_PYTORCH_LOADER] = "pytorch-loader",
                                         [PP_SUBJECT_JOB] = "job",
                                         [PP_SUBJECT_PROGRAM] = "program",
                                         [PP_SUBJECT_TRACE] = "trace"};

static const char *meta(const struct pp_source *s, const char *section, const char *key)
{
    const char *value = s->meta(s->ctx, section, key);
    return value && value[0] ? value : NULL;
}

/* "train.py" of "timeout 60s /usr/bin/python3 -u src/train.py --epochs 2": the first word that ends so; else
 * the first that is neither a launcher, nor an option, nor a variable, nor a number ("--nproc_per_node 2",
 * "60s"); of launchers alone, the first word. */
static const char *program_of(const char *command, struct pp_arena *arena)
{
    /* Programs that run another one, whose name says more. */
    static const char *const launchers[] = {"python", "torchrun", "accelerate", "deepspeed", "env",  "launch",
                                            "nice",   "numactl",  "time",       "uv",        "run",  "bash",
                                            "sh",     "timeout",  "taskset",    "poetry",    "sudo", "nohup",
                                            "srun",   "mpirun",   "mpiexec"};
    const char *first = NULL, *best = NULL, *last = NULL;
    size_t first_n = 0, best_n = 0, last_n = 0;
    int taken = 0;
    for (const char *p = command + strspn(command, " "); *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        size_t n = strcspn(p, " "), digits = strspn(p, "0123456789.,-");
        const char *name = p;
        for (const char *c = p; c < p + n; c++)
            name = *c == '/' && c + 1 < p + n ? c + 1 : name;
        size_t name_n = (size_t)(p + n - name);
        if (!best && n == 2 && strncmp(p, "-c", 2) == 0 && last && strncmp(last, "python", 6) == 0)
            return pp_arena_printf(arena, "%.*s -c", (int)last_n, last); /* what follows is code */
        last = name, last_n = name_n;
        int skipped = taken || p[0] == '-' || memchr(p, '=', n) || (digits && digits + 1 >= n);
        /* the next word is this option's: "-W ignore", "-X dev" */
        taken = !taken && n == 2 && (strncmp(p, "-W", 2) == 0 || strncmp(p, "-X", 2) == 0);
        if (skipped)
            continue;
        if (!first)
            first = name, first_n = name_n;
        int is_script = name_n > 3 && strncmp(name + name_n - 3, ".py", 3) == 0, runs_another = 0;
        for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
            size_t len = strlen(launchers[i]);
            runs_another |= name_n >= len && strncmp(name, launchers[i], len) == 0 &&
                            strspn(name + len, "0123456789.") >= name_n - len;
        }
        if (is_script || (!best && !runs_another))
            best = name, best_n = name_n;
        if (is_script)
            break;
    }
    if (!best)
        best = first, best_n = first_n;
    return best ? pp_arena_printf(arena, "%.*s", (int)(best_n < 120 ? best_n : 120), best) : NULL;
}

/* The words of the process that took the batches, which a launcher may have started; NULL: not known, or
 * forked by multiprocessing, whose words say nothing. */
static const char *trainers_words(const struct pp_source *s)
{
    const struct pp_thread_row *rows;
    size_t n = s->threads(s->ctx, &rows);
    const char *words = NULL;
    char pid[24];
    for (size_t i = 0; i < n && !words; i++) {
        if (rows[i].lane != PP_LANE_TRAINER || !rows[i].recorded)
            continue;
        snprintf(pid, sizeof(pid), "%lld", (long long)rows[i].pid);
        words = meta(s, "process", pid);
    }
    return words && !strstr(words, "multiprocessing") && !strstr(words, " -c ") ? words : NULL;
}

/* "2026-11-28 08:33 UTC by pipeprobe exec -- python3 train.py in /home/me, git 0123456789ab; Python 3.11.2,
 * torch 2.4.1; NVIDIA H100; data in /data/train on /data (nfs4)" */
static const char *made_text(const struct pp_source *s, struct pp_arena *arena)
{
    const char *utc = meta(s, "run", "started_utc_ns"), *command = meta(s, "run", "command_line"),
               *directory = meta(s, "run", "directory"), *commit = meta(s, "run", "git_commit");
    time_t when = utc ? (time_t)(strtod(utc, NULL) / 1e9) : 0;
    struct tm tm;
    char date[32];
    if (!command || !gmtime_r(&when, &tm) || !strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm))
        return NULL;
    const char *of = meta(s, "run", "made_of"), *gpu = meta(s, "environment", "gpu"),
               *data = meta(s, "environment", "data_path"), *mount = meta(s, "environment", "data_mount"),
               *type = meta(s, "environment", "data_fs_type");
    char words[512], more[1024] = "";
    if (of)
        pp_text_add(more, sizeof(more), "; %.120s", of);
    if (gpu)
        pp_text_add(more, sizeof(more), "; %.150s", gpu);
    if (data)
        pp_text_add(more, sizeof(more), "; data in %.300s", data);
    if (data && mount && type)
        pp_text_add(more, sizeof(more), " on %.200s (%.60s)", mount, type);
    return pp_arena_printf(arena, "%s%sby %.400s%s%.400s%s%.12s%s", utc ? date : "", utc ? " " : "",
                           pp_text_no_secrets(words, sizeof(words), command), directory ? " in " : "",
                           directory ? directory : "", commit ? ", git " : "", commit ? commit : "", more);
}

void pp_subject_read(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r)
{
    const char *tool = meta(s, "run", "tool"), *command = meta(s, "run", "command_line"),
               *source = meta(s, "config", "source"), *loader = meta(s, "config", "loader"),
               *trace = meta(s, "run", "source"), *name,
               *data = meta(s, "config", "synthetic") ? "synthetic data" : meta(s, "config", "dataset");
    r->made = made_text(s, arena);
    int exec = (source && strcmp(source, "nvtx") == 0) ||
               (command && (strncmp(command, "pipeprobe exec", strlen("pipeprobe exec")) == 0 ||
                            strncmp(command, "pipeprobe attach", strlen("pipeprobe attach")) == 0));
    r->subject_kind = PP_SUBJECT_UNKNOWN;
    r->subject = "the recorded program";
    if (trace) {
        name = meta(s, "import", "trace");
        r->subject_kind = PP_SUBJECT_TRACE;
        r->subject = pp_arena_printf(arena, "the job of the trace %.200s (%.40s)",
                                     name ? name : "that was imported", trace);
    } else if (loader && strcmp(loader, "pytorch") == 0) {
        r->subject_kind = PP_SUBJECT_PYTORCH_LOADER;
        r->subject = pp_arena_printf(arena, "PyTorch's DataLoader on %s", data ? data : "the data");
    } else if (exec) {
        const char *words = trainers_words(s), *behind = command ? strstr(command, " -- ") : NULL;
        words = words    ? words
                : behind ? behind + 4
                         : NULL; /* what `pipeprobe exec` ran stands behind its "--" */
        name = words ? program_of(words, arena) : NULL;
        r->subject_kind = PP_SUBJECT_JOB;
        r->subject = name ? pp_arena_printf(arena, "the job %s", name) : "the job that pipeprobe exec ran";
    } else if (tool && strcmp(tool, "libpipeprobe") == 0) {
        name = command ? program_of(command, arena) : NULL;
        r->subject_kind = PP_SUBJECT_PROGRAM;
        r->subject = name ? pp_arena_printf(arena, "the program %s (libpipeprobe)", name)
                          : "a program that records itself (libpipeprobe)";
    } else if (data && meta(s, "config", "format")) { /* only pipeprobe run stores both */
        const char *like = meta(s, "config", "like");
        r->subject_kind = PP_SUBJECT_OWN_LOADER;
        r->subject = like && strcmp(like, "none") != 0
                         ? pp_arena_printf(
                               arena,
                               "pipeprobe's own loader on %s, with the read times that --like %.20s assumes",
                               data, like)
                         : pp_arena_printf(arena, "pipeprobe's own loader on %s", data);
    }
    r->subject_kind_name = kind_names[r->subject_kind];
}

/* ---- a job with several DataLoaders ---- */

struct pp_report_loader *pp_loaders_find(const struct pp_report *r, long long pid, unsigned loader)
{
    char row[48];
    snprintf(row, sizeof(row), "%lld.%u", pid, loader);
    for (size_t i = 0; i < r->n_loaders; i++)
        if (r->loaders[i].row && strcmp(r->loaders[i].row, row) == 0)
            return &r->loaders[i];
    return NULL;
}

void pp_loaders_tell(const struct pp_timeline *tl, const struct pp_tally *tally, struct pp_arena *arena,
                     struct pp_report *r)
{
    const struct pp_report_loader *judged = NULL;
    double epochs = 0;
    size_t used = 0;
    double *ns = calloc(2 * r->n_loaders + 1, sizeof(*ns)), *samples = ns ? ns + r->n_loaders : NULL;
    for (size_t i = 0; ns && i < tl->other.n; i++) {
        const struct pp_batch_range *of = &tl->other.range[i];
        const struct pp_report_loader *l = pp_loaders_find(r, of->pid, of->loader);
        if (l) {
            ns[l - r->loaders] += (double)of->ns;
            samples[l - r->loaders] += (double)of->samples;
        }
    }
    for (size_t k = 0; ns && k < r->n_loaders; k++)
        r->loaders[k].samples_per_s = samples[k] > 0 && ns[k] > 0 ? samples[k] / ns[k] * 1e9 : NAN;
    free(ns);
    for (size_t i = 0; i < r->n_workers; i++)
        for (size_t k = 0; k < tally->n_threads; k++) {
            const struct pp_tally_thread *t = &tally->threads[k];
            const struct pp_report_loader *l = t->id == r->workers[i].thread && t->of
                                                   ? pp_loaders_find(r, t->of->pid, t->of->loader)
                                                   : NULL;
            if (l)
                r->workers[i].loader = t->of_several ? "several"
                                       : l->name     ? l->name
                                       : l->place    ? l->place
                                                     : l->row;
        }
    for (size_t i = 0; i < r->n_loaders; i++) {
        used += r->loaders[i].batches > 0;
        epochs += r->loaders[i].batches > 0 ? r->loaders[i].epochs : 0;
        judged = r->loaders[i].judged ? &r->loaders[i] : judged;
    }
    if (used > 1 && epochs > 0) { /* batches of several in turns do not say when an epoch begins */
        r->epochs = (uint64_t)epochs;
        r->used_loaders = used;
    }
    if (used > 1 && judged && judged->at)
        r->judged_loader = pp_arena_printf(arena, "the DataLoader at %s", judged->at);
}

const char *pp_loaders_inner(const struct pp_report *r)
{
    const struct pp_report_loader *inner = NULL;
    int in_trainer = 0;
    for (size_t i = 0; i < r->n_loaders; i++) {
        const struct pp_report_loader *l = &r->loaders[i];
        in_trainer |= l->judged && l->num_workers == 0;
        inner = l->num_workers > 0 && l->epochs > 0 && l->batches == 0 ? l : inner;
    }
    return !in_trainer || !inner ? NULL : inner->at ? inner->at : inner->row;
}

/* CPU time of a PyTorch DataLoader with PIL over that of our loader, on the same work. Of what is not listed
 * it was not measured. */
static const struct ratio {
    const char *transform; /* begins with */
    double low, high;
    const char *source;
} ratios[] = {
    {"rrc", 3.0, 3.6,
     "medians of five benchmarks on two machines, JPEG, RandomResizedCrop: pipeprobe help performance"},
    {"", 2.3, 3.6,
     "the same without region decoding (1.32 times), which only random crops gain from: pipeprobe help performance"},
};

static const char *config(const struct pp_report *r, const char *key)
{
    const struct pp_report_pair *p = pp_rows_find(r->config, r->n_config, key);
    return p && p->value ? p->value : "";
}

static pp_status replay_with(const struct pp_costs *c, double ratio, double *rate, double *wait)
{
    struct pp_knobs k = pp_knobs_none();
    k.decode = k.transform = k.collate = ratio;
    return pp_whatif_rate(c, &k, rate, wait, NULL);
}

/* "400 to 560", or one number where both read the same. */
static const char *range(struct pp_arena *arena, const char *low, const char *high)
{
    return strcmp(low, high) == 0 ? pp_arena_copy(arena, low) : pp_arena_printf(arena, "%s to %s", low, high);
}

void pp_pytorch_expect(const struct pp_costs *c, struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_pytorch *p = NULL;
    const char *format = config(r, "format"), *transform = config(r, "transform");
    const struct ratio *of = NULL; /* images of another kind, or no images */
    size_t n = 0;
    if (format[0] && strcmp(format, "tokens") != 0 && !strstr(config(r, "dataset_description"), "PNG"))
        for (of = ratios; strncmp(transform, of->transform, strlen(of->transform)) != 0;)
            of++;
    if (r->subject_kind != PP_SUBJECT_OWN_LOADER || !(p = pp_arena_push(arena, (void **)&p, &n, sizeof(*p))))
        return;
    *p = (struct pp_report_pytorch){.ratio_low = NAN,
                                    .ratio_high = NAN,
                                    .samples_per_s_low = NAN,
                                    .samples_per_s_high = NAN,
                                    .data_wait_share_low = NAN,
                                    .data_wait_share_high = NAN};
    int known = of && c &&
                replay_with(c, of->high, &p->samples_per_s_low, &p->data_wait_share_high) == PP_OK &&
                replay_with(c, of->low, &p->samples_per_s_high, &p->data_wait_share_low) == PP_OK;
    if (known) {
        p->ratio_low = of->low;
        p->ratio_high = of->high;
        p->source = of->source;
        p->samples_per_s_low = fmin(p->samples_per_s_low,
                                    p->samples_per_s_high); /* of a replay, not exactly monotone */
        if (!r->has_step)
            p->data_wait_share_low = p->data_wait_share_high = NAN;
        char low[32], high[32], step[32];
        const char *wait = "", *rate = range(arena, pp_text_predicted(low, sizeof(low), p->samples_per_s_low),
                                             pp_text_predicted(high, sizeof(high), p->samples_per_s_high));
        if (r->has_step && !isnan(r->step_mean_ns)) {
            snprintf(low, sizeof(low), "%.0f", 100 * p->data_wait_share_low);
            snprintf(high, sizeof(high), "%.0f", 100 * p->data_wait_share_high);
            wait = pp_arena_printf(arena, ", with %s %% data wait at %s per step", range(arena, low, high),
                                   pp_text_duration(step, sizeof(step), r->step_mean_ns));
        }
        p->sentence = pp_arena_printf(
            arena,
            "A PyTorch DataLoader with %d worker%s would make about %s samples/s of this data%s. Measure it: pipeprobe run --loader pytorch, or your own job: pipeprobe exec -- python train.py. (With PIL, on JPEG, pipeprobe's loader was measured %.1f to %.1f times as fast.)",
            c->workers, c->workers == 1 ? "" : "s", rate, wait, p->ratio_low, p->ratio_high);
    } else {
        p->sentence = pp_arena_printf(
            arena,
            "What a PyTorch DataLoader would do with this data is not known from this run (%s). Measure it: pipeprobe run --loader pytorch, or your own job: pipeprobe exec -- python train.py",
            !of ? "its speed beside pipeprobe's was measured for JPEG images only" : "it cannot be replayed");
    }
    r->pytorch = p;
    if (r->verdict.l0 && strcmp(r->verdict.l0, "not-input-bound") == 0 && !r->verdict.outside)
        r->verdict.next_step = pp_arena_printf(
            arena,
            "pipeprobe's own loader keeps up with this step, and no change to it gains more than about %.2g %%; a loader in Python may not. %s",
            100 * r->verdict.exposed_share, p->sentence);
}
