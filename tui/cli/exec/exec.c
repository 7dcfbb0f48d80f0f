/* `pipeprobe exec`: runs somebody else's program and records its NVTX ranges, without Nsight and without a
 * GPU. The program's standard streams, signals and exit status are its own; ours are one or two lines on
 * stderr, at the end. */
#include "tui/cli/cli.h"
#include "tui/cli/digest_beside.h"
#include "tui/cli/exec/exec_record.h"
#include "tui/cli/exec/exec_python.h"
#include "tui/cli/exec/exec_tune.h"
#include "tui/cli/exec/exec_words.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/metrics/beside.h"
#include "tui/cli/shipped.h"
#include "collectors/attach/launch.h"
#include "collectors/attach/rank_session.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIBRARY "libpipeprobe_inject.so"
#define GPU_RECORDS "1000000" /* EXEC_GPU_RECORDS */
#define LINES_HZ "10"         /* EXEC_LINES_HZ */
#define RING_SPANS "16Ki"     /* 1 MiB a thread; foreign programs may have hundreds of threads */

struct options {
    struct pp_opt_list maps;
    const char *output;
    const char *json;
    double gpu_hour;
    int force, quiet, no_reads, no_lines, serve, top, tune, content;
    double lines_hz;
    int64_t ring_spans, gpu_records;
    uint64_t duration_ns;                  /* 0: until the program ends */
    int64_t workers, batch_size, prefetch; /* 0: not told */
    struct metrics_opts metrics;
    struct digest_opts digest;
};

/* Of --content=HOW; --content alone is the first. */
static const struct pp_opt_choice contents[] = {
    {"part", "of a sample of more than 64 KiB its first and last bytes, and some between"},
    {"whole", "all bytes of it"},
    {NULL, NULL}};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "map", .letter = 'm', .type = PP_OPT_LIST, .offset = AT(maps), .arg = "FILE", .group = "Options",
     .help = "map of range names to phases: FILE, pytorch or pipeprobe (repeatable)"},
    {.name = "workers", .letter = 'w', .type = PP_OPT_INT, .offset = AT(workers), .min = 1, .max = 1024,
     .arg = "N", .help = "workers of PROGRAM, for predictions (num_workers)"},
    {.name = "batch-size", .letter = 'b', .type = PP_OPT_INT, .offset = AT(batch_size), .min = 1, .max = 1e6,
     .arg = "N", .help = "samples per batch, for predictions"},
    {.name = "prefetch", .type = PP_OPT_INT, .offset = AT(prefetch), .min = 1, .max = 1024, .arg = "N",
     .help = "batches in flight per worker, for predictions (prefetch_factor)"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .help = "the recording (default pipeprobe-DATE-TIME.sqlite); DIR/: into DIR"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet), .dflt = "0",
     .help = "no notes on stderr, only errors"},
    {.name = "duration", .letter = 'd', .type = PP_OPT_DURATION, .offset = AT(duration_ns), .arg = "TIME",
     .help = "end a PyTorch job (SIGINT) after TIME of its steady state; exit code 0"},
    {.name = "top", .type = PP_OPT_FLAG, .offset = AT(top), .dflt = "0",
     .help = "show the dashboard meanwhile; PROGRAM's output goes to RECORDING.out"},
    {.name = "tune", .type = PP_OPT_FLAG, .offset = AT(tune), .dflt = "0", .choices = exec_tune_choices,
     .help = "try num_workers and prefetch_factor in the running job, keep what gains"},
    {.name = "json", .type = PP_OPT_STRING, .offset = AT(json), .arg = "REPORT.json",
     .help = "write the report there at the end, too"},
    {.name = "gpu-hour", .type = PP_OPT_DOUBLE, .offset = AT(gpu_hour), .min = 0, .max = 1e6, .arg = "PRICE",
     .dflt = "0", .help = "say what the wait costs in a day where an hour of a GPU costs PRICE"},
    {.name = "no-reads", .type = PP_OPT_FLAG, .offset = AT(no_reads), .dflt = "0",
     .help = "do not time a Python job's file reads (no LD_PRELOAD)"},
    {.name = "lines", .advanced = 1, .type = PP_OPT_DOUBLE, .offset = AT(lines_hz), .arg = "HZ", .dflt = LINES_HZ,
     .max = 100, .help = "read the job's Python stacks HZ times a second, 4 times as often in the first 30 s; 0: never"},
    {.name = "no-lines", .type = PP_OPT_FLAG, .offset = AT(no_lines), .dflt = "0",
     .help = "do not look which line of the job's Python costs how much"},
    {.name = "content", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(content), .dflt = "0", .choices = contents,
     .help = "hash each sample of a PyTorch job, and which files were read for it (=whole: all its bytes)"},
    {.name = "gpu-records", .advanced = 1, .type = PP_OPT_INT, .offset = AT(gpu_records), .arg = "N",
     .dflt = GPU_RECORDS, .max = 100000000,
     .help = "kernels, copies and calls of a PyTorch job's GPU to record (CUPTI); 0: none"},
    {.name = "ring-spans", .type = PP_OPT_INT, .offset = AT(ring_spans), .arg = "N", .dflt = RING_SPANS,
     .min = 1024, .max = 4194304,
     .help = "ring size per thread, in spans of 64 bytes"},
    {.name = "serve", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(serve), .dflt = "0",
     .help = "start nothing: print a session as JSON and record the processes that join it, until stdin ends"},
    DIGEST_OPT_ROWS(AT(digest), 0),
    METRICS_OPT_ROWS(AT(metrics), 0),
    {.name = NULL},
};
/* clang-format on */

/* ---- what the program gets ---- */

struct surroundings {
    char library[PATH_MAX], session[PATH_MAX];
    char set_library[PATH_MAX + 32], set_session[PATH_MAX + 32], set_next[PATH_MAX + 32];
    char set_ranks[PP_RANK_KEY + 64];
    struct exec_python python;
    const char *env[8];
    const char *next; /* the other tool that holds NVTX_INJECTION64_PATH; NULL: none */
    int nested;       /* it is our own library: an exec inside an exec */
    struct metrics_beside metrics;
    struct digest_beside digest;
    /* what the recordings of ranks get as well */
    const struct options *options;
    char *const *program;
    char *map_text; /* of all maps; NULL: not read yet */
    size_t map_rows;
    char line[4096];
    struct exec_ranks *ranks; /* NULL: none can ask */
    pid_t top;                /* of the dashboard; 0: none */
    enum exec_tune_mode tune;
    struct exec_tune *tuner;
};

static void make_environment(struct surroundings *s, const struct pp_identity *rank)
{
    char real[PATH_MAX], key[PP_RANK_KEY] = "";
    const char *held = getenv("NVTX_INJECTION64_PATH");
    s->next = held && *held ? held : NULL;
    s->nested = s->next && realpath(s->next, real) && strcmp(real, s->library) == 0;
    if (s->nested)
        s->next = NULL;
    snprintf(s->set_library, sizeof(s->set_library), "NVTX_INJECTION64_PATH=%s", s->library);
    snprintf(s->set_session, sizeof(s->set_session), "PIPEPROBE_SESSION=%s", s->session);
    snprintf(s->set_next, sizeof(s->set_next), "PIPEPROBE_NEXT_INJECTION=%s", s->next ? s->next : "");
    if (rank->launcher)
        pp_rank_key(rank, key, sizeof(key));
    snprintf(s->set_ranks, sizeof(s->set_ranks), PP_RANKS_VARIABLE "=%d:%s", (int)getpid(), key);
    size_t n = 0;
    if (s->options->content) /* for the job's hooks, as for an exec in it */
        setenv("PIPEPROBE_CONTENT", contents[s->options->content - 1].name, 1);
    s->env[n++] = s->set_session;
    s->env[n++] = s->set_ranks;
    if (*s->library) {
        s->env[n++] = s->set_library;
        s->env[n++] = s->set_next;
    }
    if (s->tune)
        s->env[n++] = s->tune == EXEC_TUNE_KEEP ? PP_TUNE_VARIABLE "=keep" : PP_TUNE_VARIABLE "=advise";
    if (s->python.set_path)
        s->env[n++] = s->python.set_path;
    if (s->python.set_preload)
        s->env[n++] = s->python.set_preload;
}

static void store_config(void *ctx, struct pp_store *store)
{
    const struct surroundings *s = ctx;
    const struct options *o = s->options;
    const struct {
        const char *key, *unit;
        int64_t value;
    } told[] = {/* what the recording cannot know, under the names that `run` stores it */
                {"workers", "threads", o->workers},
                {"batch_size", "samples", o->batch_size},
                {"prefetch", "batches", o->prefetch}};
    char text[4096] = "";
    size_t n = 0;
    for (int i = 0; i < o->maps.n && n < sizeof(text) - 1; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", o->maps.item[i]);
    pp_store_meta_text(store, "config", "source", "nvtx");
    pp_store_meta_text(store, "config", "python_program",
                       exec_words_is_python(s->program) ? "true" : "false");
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        if (told[i].value)
            pp_store_meta_num(store, "config", told[i].key, (double)told[i].value, told[i].unit);
    pp_store_meta_text(store, "config", "map", o->maps.n ? text : "none");
    pp_store_meta_num(store, "config", "map_rows", (double)s->map_rows, "rows");
    pp_store_meta_num(store, "config", "ring_spans", (double)o->ring_spans, "spans");
    pp_store_meta_text(store, "config", "other_tool", s->next ? s->next : "none");
    exec_python_store_config(store, &s->python, o->serve);
}

/* A rank's recording is part of the digest of this machine. */
static void add_to_digest(void *ctx, const char *path)
{
    digest_beside_add(&((struct surroundings *)ctx)->digest, path);
}

/* ---- --serve: a recording for a process that goes on before and after it, as a notebook does. It starts us,
 * reads where the session is, joins, leaves, and says so on our standard input. ---- */

#define LOOK_MS 200 /* at signals, and whether the process that started us is still there */

/* One line of JSON on standard output:
 * {"schema":"pipeprobe.session/1","recording":FILE,"session":DIRECTORY,"hooks":DIRECTORY,"reads":FILE},
 * absolute; hooks and reads are null where there are none. 0, or 125 and a sentence. */
static int print_session(const struct exec_record *r, const struct exec_python *python, struct pp_err *err)
{
    char recording[PATH_MAX], session[PATH_MAX];
    struct pp_json j;
    if (!realpath(r->path, recording) || !realpath(pp_recording_rings_dir(r->recording), session)) {
        pp_fail_errno(err, errno, "the session of %s was removed", r->path);
        return PP_LAUNCH_FAILED;
    }
    pp_json_begin(&j, stdout, 0);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.session/1");
    pp_json_put_str(&j, "recording", recording);
    pp_json_put_str(&j, "session", session);
    pp_json_put_str(&j, "hooks", *python->hooks ? python->hooks : NULL);
    pp_json_put_str(&j, "reads", *python->reads ? python->reads : NULL);
    pp_json_object_end(&j);
    if (pp_json_end(&j) == 0 && fflush(stdout) == 0)
        return 0;
    pp_fail_errno(err, errno, "cannot write to standard output");
    return PP_LAUNCH_FAILED;
}

/* Until standard input has a byte or ends, the process that started us has gone, or a signal of
 * pp_launch_begin comes, which goes into l->signalled; SIGCHLD is no order to end. 0. */
static int wait_for_session(struct pp_launch *l)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    pid_t parent = getppid();
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    siginfo_t info;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        sigaddset(&set, ends[i]);
    while (!l->signalled && getppid() == parent) {
        int ready = poll(&in, 1, LOOK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break;
        int sig = sigtimedwait(&set, &info, &(struct timespec){0});
        l->signalled = sig > 0 ? sig : 0;
    }
    return 0;
}

/* ---- the command ---- */

static int failed_before(const struct pp_err *err)
{
    pp_cli_fail(&pp_cmd_exec, err);
    return PP_LAUNCH_FAILED;
}

/* The recording, up to where the program may begin. On failure there is none. */
static pp_status begin_recording(struct exec_record *rec, struct surroundings *s, struct pp_err *err)
{
    const struct options *o = s->options;
    pp_status st = pp_shipped_find("the injection library", "PIPEPROBE_INJECT_LIB", &pp_shipped_libraries,
                                   LIBRARY, s->library, err);
    if (st != PP_OK) {
        exec_say("NVTX ranges are not recorded: %s", err->text);
        s->library[0] = '\0';
    }
    rec->gpu_records = (int)o->gpu_records;
    rec->lines_hz = o->no_lines ? 0 : o->lines_hz;
    st = exec_record_create(rec, o->output, o->force, (size_t)o->ring_spans, s->map_text, err);
    if (st == PP_OK && !realpath(pp_recording_rings_dir(rec->recording), s->session))
        st = pp_fail(err, PP_E_SYSTEM, "the session directory %s was removed",
                     pp_recording_rings_dir(rec->recording));
    if (st == PP_OK) {
        exec_python_prepare(&s->python, s->program[0], !o->no_reads);
        s->tune = rec->rank.world_size > 1 ? EXEC_TUNE_OFF : (enum exec_tune_mode)o->tune;
        if (s->tune != (enum exec_tune_mode)o->tune && !rec->rank.rank && !o->quiet)
            exec_say("--tune changes nothing: of several ranks none is tuned");
        make_environment(s, &rec->rank);
        store_config(s, pp_recording_store(rec->recording));
        exec_origin_store(pp_recording_store(rec->recording));
        size_t n = (size_t)snprintf(s->line, sizeof(s->line), "pipeprobe exec --");
        for (char *const *word = s->program; *word && n < sizeof(s->line) - 1; word++)
            n += (size_t)snprintf(s->line + n, sizeof(s->line) - n, " %s", *word);
        st = pp_recording_start(rec->recording, s->line, err);
    }
    if (st != PP_OK)
        exec_record_abandon(rec);
    else
        digest_beside_start(&s->digest, &o->digest, rec->path, !rec->rank.launcher, "pipeprobe exec: ");
    if (st == PP_OK && rec->rank.launcher)
        add_to_digest(s, rec->path);
    if (st == PP_OK && !o->serve)
        s->ranks = exec_ranks_start(&(struct exec_ranks_opts){.above = rec,
                                                              .output = o->output,
                                                              .map_text = s->map_text,
                                                              .command_line = s->line,
                                                              .ring_spans = (size_t)o->ring_spans,
                                                              .force = o->force,
                                                              .config = store_config,
                                                              .begun = add_to_digest,
                                                              .ctx = s});
    if (!s->ranks)
        s->set_ranks[sizeof(PP_RANKS_VARIABLE)] = '\0'; /* none is to ask */
    return st;
}

/* The dashboard has the terminal, and the program's output goes to a file beside the recording. */
static int launch_beside_top(struct surroundings *s, const struct exec_record *rec, struct pp_launch *l,
                             struct pp_err *err)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof(name), "%s.out", rec->path);
    int out = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
    int kept_out = out >= 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1,
        kept_errors = out >= 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1, code;
    if (kept_out < 0 || kept_errors < 0) {
        pp_fail_errno(err, errno, "PROGRAM's output cannot go to %s", name);
        code = PP_LAUNCH_FAILED;
    } else {
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        code = pp_launch_start(l, s->program, s->env, err);
        dup2(kept_out, STDOUT_FILENO);
        dup2(kept_errors, STDERR_FILENO);
    }
    close(out);
    close(kept_out);
    close(kept_errors);
    struct again top = {.group = AGAIN_WITH_US};
    again_add(&top, "pipeprobe", "top", rec->path, NULL);
    if (!code && again_start(&top, &s->top) != 0)
        exec_say("the dashboard cannot be started");
    return code;
}

/* The report of what was recorded, by ourselves again. */
static void write_report(const struct exec_record *rec, const char *json)
{
    struct again report = {0};
    pid_t pid;
    again_add(&report, "pipeprobe", "report", rec->path, "--json", "--force", "--output", json, NULL);
    int e = again_start(&report, &pid), code = e ? -1 : again_code(again_wait(pid));
    if (code != 0 && code != 3)
        exec_say("the report %s was not written", json);
}

/* Everything up to the program's start. 0, or the exit code after a message. Only what was typed wrong, and a
 * program that cannot be started, keep it from starting: where nothing can be recorded it runs all the same,
 * and unrecorded says why. */
static int start_program(const struct options *o, char *const *program, struct exec_record *rec,
                         struct surroundings *s, struct pp_launch *launch, struct pp_err *unrecorded)
{
    struct pp_err err;
    pp_err_clear(&err);
    int code = o->serve ? 0 : pp_launch_find(program[0], &err);
    if (code) {
        pp_cli_fail(&pp_cmd_exec, &err);
        return code;
    }
    pp_status st = range_maps_read(&o->maps, &s->map_text, &s->map_rows, &err);
    if (st == PP_OK)
        st = begin_recording(rec, s, unrecorded);
    else
        code = failed_before(&err);
    int no_name = o->output && (strcmp(o->output, "-") == 0 || strlen(o->output) > PATH_MAX - 64);
    if (!code && st == PP_E_USAGE && no_name) /* it cannot be a file's name anywhere */
        code = failed_before(unrecorded);
    if (!code && o->serve && !rec->recording)
        code = failed_before(unrecorded);
    if (code)
        return code;
    /* Where the recording goes, or that there is none: also with --quiet, for the file is not where it was
     * asked for. */
    if (!rec->recording)
        exec_say("%s runs unrecorded: %s", program[0], unrecorded->text);
    else if (!o->serve && *rec->taken)
        exec_say("%s already exists, so this recording is %s; --force replaces a file", rec->taken,
                 rec->path);
    if (rec->recording && !o->quiet && s->next)
        exec_say("NVTX_INJECTION64_PATH is set to %s; both it and pipeprobe get the calls", s->next);
    if (rec->recording && !o->quiet && s->nested)
        exec_say("inside another pipeprobe exec; this one records, the outer one gets no calls of %s",
                 program[0]);
    if (rec->recording) {
        struct metrics_opts metrics = o->metrics;
        metrics.gpu_hour = o->gpu_hour;
        struct metrics_of_rank own;
        metrics_opts_for_rank(&metrics, &rec->rank, &own);
        metrics_beside_start(&s->metrics, &metrics, rec->path, "pipeprobe exec: ", o->quiet);
    }
    if (rec->recording && !o->quiet && !o->serve && !(rec->rank.world_size > 1 && rec->rank.rank))
        exec_say("recording into %s; live: pipeprobe top %s", rec->path, rec->path);
    code = o->serve ? print_session(rec, &s->python, &err)
           : o->top && rec->recording
               ? launch_beside_top(s, rec, launch, &err)
               : pp_launch_start(launch, program, rec->recording ? s->env : NULL, &err);
    if (code) {
        exec_ranks_stop(s->ranks);
        metrics_beside_end(&s->metrics);
        exec_record_abandon(rec);
        digest_beside_end(&s->digest, 1);
        pp_cli_fail(&pp_cmd_exec, &err);
    }
    return code;
}

/* After the program's end. */
static void end_recording(const struct options *o, char *const *program, struct exec_record *rec,
                          struct surroundings *s, int exit_code, int signalled)
{
    struct pp_err err;
    pp_err_clear(&err);
    const char *outcome = signalled ? "interrupted" : exit_code > 0 ? "failed" : "finished";
    const struct exec_ranks_made ranks = exec_ranks_stop(s->ranks);
    exec_tune_stop(s->tuner, ranks.n != 0);
    rec->interrupted_by = signalled;
    if (ranks.n) {
        uint64_t own = exec_record_stop(rec);
        /* What the launcher itself recorded, mostly nothing, is in exec's. */
        for (size_t i = 0; i < ranks.n; i++)
            if (exec_record_end(ranks.rank[i], -1, outcome, &err) != PP_OK)
                pp_cli_fail(&pp_cmd_exec, &err);
        if (s->top) /* until the user has left the dashboard: then the terminal is ours again */
            again_wait(s->top);
        s->top = 0;
        if (!o->quiet && ranks.trouble)
            exec_say("a rank got no recording of its own: %s", ranks.trouble);
        if (!o->quiet)
            exec_words_job(&ranks);
        if (!own) { /* all that there is is the ranks' */
            metrics_beside_end(&s->metrics);
            exec_record_abandon(rec);
            digest_beside_end(&s->digest, o->quiet);
            return;
        }
    }
    pp_status st = exec_record_end(rec, exit_code, outcome, &err);
    exec_tune_end(s->tuner, st == PP_OK ? rec->path : NULL);
    s->tuner = NULL;
    if (s->top)
        again_wait(s->top);
    metrics_beside_finish(&s->metrics);
    digest_beside_finish(&s->digest);
    if (st != PP_OK)
        pp_cli_fail(&pp_cmd_exec, &err);
    /* Of many ranks the first one speaks for all, and the others only of what they lost. */
    int many = rec->rank.launcher && rec->rank.world_size > 1;
    if (!o->quiet && !pp_recording_lost(rec->recording) &&
        (!many || !rec->rank.rank || rec->totals.dropped || rec->totals.ringless))
        exec_words_totals(rec, program, *s->python.hooks != '\0');
    /* A trouble of our own is said in the file: then it stays. So it does for tune, which reads how the job
     * ended. */
    if (exec_record_is_empty(rec) && !rec->totals.note[0] && !rec->rank.launcher && !o->serve &&
        !getenv("PIPEPROBE_OVERRIDE")) {
        metrics_beside_end(&s->metrics);
        exec_record_abandon(rec);
        digest_beside_end(&s->digest, o->quiet);
        return;
    }
    if (!o->quiet && st == PP_OK && many)
        exec_words_ranks(rec);
    else if (!o->quiet && st == PP_OK && rec->totals.spans)
        exec_words_verdict(rec, o->gpu_hour, stderr);
    if (o->json && st == PP_OK)
        write_report(rec, o->json);
    metrics_beside_end(&s->metrics);
    digest_beside_end(&s->digest, o->quiet);
}

static int run_program(const struct options *o, char *const *program)
{
    struct exec_record rec = {0};
    struct surroundings *s = calloc(1, sizeof(*s));
    struct pp_launch launch;
    struct rlimit files;
    struct pp_err unrecorded;
    pp_err_clear(&unrecorded);
    if (!s) {
        pp_fail(&unrecorded, PP_E_NO_MEMORY, "no memory");
        return failed_before(&unrecorded);
    }
    *s = (struct surroundings){.options = o, .program = program};
    pp_launch_begin(&launch); /* before the drain's thread, which is not to take signals */
    int code = start_program(o, program, &rec, s, &launch, &unrecorded);
    if (!code) {
        /* It has started with the limit that we had; a rank's recording takes some 20 descriptors. */
        if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
            files.rlim_cur = files.rlim_max;
            (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        struct exec_duration *duration = rec.recording && !o->serve
                                             ? exec_duration_start(rec.path, s->session, launch.pid,
                                                                   o->duration_ns)
                                             : NULL;
        if (rec.recording)
            s->tuner = exec_tune_start(s->tune, rec.path, s->session, pp_recording_store(rec.recording),
                                       o->quiet);
        code = o->serve ? wait_for_session(&launch) : pp_launch_wait(&launch);
        rec.ended_by_duration = exec_duration_stop(duration);
        if (rec.ended_by_duration) /* as it was asked for */
            code = launch.killed_by = 0;
        if (rec.recording)
            end_recording(o, program, &rec, s, o->serve ? -1 : code, launch.signalled);
        else
            exec_say("nothing of %s was recorded: %s", program[0], unrecorded.text);
    }
    exec_tune_end(s->tuner, NULL); /* where there is nothing but recordings of ranks */
    exec_ranks_free(s->ranks);
    exec_record_free(&rec);
    exec_python_free(&s->python);
    free(s->map_text);
    free(s);
    pp_launch_end(&launch);
    if (launch.killed_by)
        pp_launch_die_of(launch.killed_by);
    return code;
}

/* Options end at "--" or at the first word that is none: from there on all are the program's. */
static int exec_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    const char **operands = (const char **)argv;
    struct pp_err err;
    int own = pp_cli_program_at(&set, argc, argv), n,
        program = own + (own < argc && strcmp(argv[own], "--") == 0);
    int code = pp_cli_parse(&pp_cmd_exec, &set, own, argv, operands, &n);
    if (code >= 0)
        return code ? PP_LAUNCH_FAILED : 0;
    pp_err_clear(&err);
    if (program >= argc)
        pp_fail(&err, PP_E_USAGE, "no program given: pipeprobe exec python3 train.py");
    else if (o.top && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        pp_fail(&err, PP_E_USAGE, "--top needs a terminal; from another one: pipeprobe top %s",
                o.output ? o.output : "");
    else if (o.output &&
             (pp_ends_in(o.output, ".html") || pp_ends_in(o.output, ".json") || pp_ends_in(o.output, ".md")))
        pp_fail(
            &err, PP_E_USAGE,
            "%s is no name of a recording: record with -o run.sqlite, then pipeprobe report run.sqlite -o %s",
            o.output, o.output);
    else
        (void)metrics_opts_check(&o.metrics, &err);
    return err.code != PP_OK ? failed_before(&err) : run_program(&o, argv + program);
}

const struct pp_command pp_cmd_exec = {
    .name = "exec",
    .summary = "run a PyTorch job or a program annotated with NVTX, and record it",
    .usage = "exec [options] [--] PROGRAM [ARGUMENTS]",
    .opts = opts,
    .notes = "A PyTorch job needs no change: its DataLoaders and their workers are recorded.\n"
             "A program with NVTX gives ranges, marks, threads and processes. A map gives\n"
             "range names a phase (read, decode, data_wait, step, ...). Where FILE exists, the\n"
             "next free name is taken; if nothing can be recorded, the program runs without.\n"
             "With torchrun, mpiexec or accelerate each rank gets its own file in\n"
             "pipeprobe-JOB/. The last lines name the slowest rank.\n"
             "Exit code: the program's; where signal N ended it, exec ends of it too (128+N in\n"
             "a shell); 127 not found, 126 not executable, 125 it was not started (a wrong\n"
             "option or map).",
    .examples = {"pipeprobe exec -o train.sqlite -- python3 train.py --epochs 1",
                 "pipeprobe exec --map names.map -- ./loader /data/imagenet"},
    .run = exec_main,
};
