/* `pipeprobe selftest`: a few stalls of known cause, made on this machine by `pipeprobe run` itself, and
 * whether the verdict names each. The accuracy over many scenarios, severities and seeds is the lab's: make
 * bench-diagnosis, tests/lab. */
#include "collectors/system/counters.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    const char *only, *keep;
    int json;
    double seconds;
};

#define AT(field) .offset = offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "only", .type = PP_OPT_STRING, AT(only), .arg = "NAMES",
     .help = "only these stalls, separated by commas"},
    {.name = "seconds", .type = PP_OPT_DOUBLE, AT(seconds), .min = 1, .max = 600, .arg = "S", .dflt = "4",
     .help = "length of one run"},
    {.name = "keep", .type = PP_OPT_STRING, AT(keep), .arg = "DIR", .help = "directory for the recordings"},
    {.name = "json", .type = PP_OPT_FLAG, AT(json), .help = "the results as JSON, pipeprobe.selftest/1"},
    {.name = NULL},
};
/* clang-format on */

/* What is made, and what must be found. All but one sleep, so that what else runs on the machine does not
 * change them; decoding needs CPU time, and a CPU beside the one that it has. The verdict is right when its
 * class is; the control has none. */
static const struct stall {
    const char *name, *l0, *l1, *l2;
    int cpus; /* at least */
    const char *options;
} stalls[] = {
    {"fed-trainer", "not-input-bound", NULL, NULL, 1, "--workers 2 --batch-size 16 --step-ms 80"},
    {"slow-reads", "input-bound", "storage", "latency", 1,
     "--workers 2 --batch-size 16 --step-ms 20 --inject read-latency=30ms"},
    {"failing-reads", "input-bound", "loader", "errors", 1,
     "--workers 2 --batch-size 8 --step-ms 15 --retry-backoff-ms 40 --inject read-errors=0.15,fails=2"},
    {"one-worker", "input-bound", "loader", "under-parallel", 2,
     "--workers 1 --batch-size 16 --step-ms 5 --inject decode-cost=8"},
    {"slow-link", "input-bound", "sync", "h2d-bandwidth", 1,
     "--workers 2 --batch-size 8 --step-ms 15 --link-gbps 0.08"},
    {"sync-every-step", "input-bound", "sync", "implicit-sync", 1,
     "--workers 2 --batch-size 4 --step-ms 10 --sync-every-step --inject sync-latency=20ms"},
};
enum { STALLS = sizeof(stalls) / sizeof(*stalls) };

struct result {
    char file[PATH_MAX], l0[24], l1[24], l2[40];
    int wanted, right;
    int others;        /* the verdict is that other processes hold the CPUs: it says nothing of the stall */
    double wait;       /* share of the trainer's time */
    struct pp_err err; /* code PP_OK: it was run and judged */
};

/* Runs this program on synthetic data, and judges the recording. */
static pp_status make_stall(const struct stall *s, const struct options *o, struct result *r)
{
    static const char name[] = "pipeprobe run: "; /* before its sentence when it fails */
    struct pp_err *err = &r->err;
    struct pp_report *report = NULL;
    char text[512], said[PATH_MAX + 8], line[400], *save;
    struct again a = {.out = AGAIN_NULL};
    cpu_set_t cpus;
    pid_t pid;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < s->cpus)
        return pp_fail(err, PP_E_UNSUPPORTED, "it needs %d CPUs, and %d can be used", s->cpus,
                       CPU_COUNT(&cpus));
    snprintf(text, sizeof(text),
             "pipeprobe run --synthetic n=3000,size=256x192..384x288 %s --seed 1 --rank 0 --world-size 1 "
             "--duration %.2f --quiet --force -o",
             s->options, o->seconds);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        again_add(&a, word, NULL);
    again_add(&a, r->file, NULL);
    snprintf(said, sizeof(said), "%.*s.said", PATH_MAX, r->file);
    a.errors = pp_io_open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int words = a.errors, status = 0;
    a.failed = words < 0 ? errno : 0;
    int rc = again_start(&a, &pid);
    if (rc == 0) {
        interrupt_passes_to(pid);
        status = again_wait(pid);
        interrupt_passes_no_more();
    }
    if (words >= 0)
        close(words);
    again_last_line(said, line, sizeof(line));
    unlink(said);
    if (rc != 0)
        return pp_fail_errno(err, rc, "starting pipeprobe run");
    int code = again_code(status);
    if (interrupt_asked() || code == pp_status_exit_code(PP_E_INTERRUPTED) || code == 128 + SIGINT ||
        code == 128 + SIGTERM)
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    int inconclusive = code == pp_status_exit_code(PP_E_INCONCLUSIVE); /* recorded, and judged below */
    const char *why = strncmp(line, name, strlen(name)) == 0 ? line + strlen(name) : line;
    if (code != 0 && !inconclusive)
        return pp_fail(err, PP_E_SYSTEM, "pipeprobe run ended with %d: %s", code,
                       *why ? why : "without a word");
    if (pp_report_build(r->file, &report, err) != PP_OK)
        return err->code;
    const struct pp_report_verdict *v = &report->verdict;
    snprintf(r->l0, sizeof(r->l0), "%s", v->l0);
    snprintf(r->l1, sizeof(r->l1), "%s", v->l1 ? v->l1 : "");
    snprintf(r->l2, sizeof(r->l2), "%s", v->l2 ? v->l2 : "");
    r->right = strcmp(s->l1 ? r->l1 : v->l0, s->l1 ? s->l1 : s->l0) == 0;
    r->others = !r->right && strcmp(r->l2, "cpu-contended") == 0;
    r->wait = report->data_wait_share;
    pp_report_free(report);
    return PP_OK;
}

#define OTHERS "other processes had the CPUs"
#define BUSY 0.1      /* of the CPUs, used by others: less changes no verdict */
#define MOST_BUSY 0.5 /* too little may be recorded beside them for a verdict */
#define LOOK_S 0.5    /* how long they are watched */

static void put_line(const struct stall *s, const struct result *r)
{
    char text[2][80], share[32];
    const char *const levels[2][3] = {{s->l0, s->l1, s->l2}, {r->l0, r->l1, r->l2}};
    for (int side = 0; side < 2; side++) { /* "storage/latency", or the first level where there is no class */
        const char *const *l = levels[side];
        int classed = l[1] && *l[1];
        snprintf(text[side], sizeof(text[side]), "%s%s%s", classed ? l[1] : l[0],
                 classed && l[2] && *l[2] ? "/" : "", classed && l[2] ? l[2] : "");
    }
    if (r->err.code != PP_OK)
        printf("--     %-16s expected %-22s not run: %s\n", s->name, text[0], r->err.text);
    else
        printf("%-6s %-16s expected %-22s found %-22s %s%s\n",
               r->right    ? "right"
               : r->others ? "busy"
                           : "WRONG",
               s->name, text[0], text[1], r->others ? "not judged: " OTHERS : "data wait ",
               r->others ? "" : pp_text_percent(share, sizeof(share), r->wait));
    fflush(stdout);
}

static int is_judged(const struct result *r)
{
    return r->err.code == PP_OK && !r->others;
}

static void put_json(const struct result *results, const struct options *o, double busy, const char *largest,
                     int right, int wrong, int not_run)
{
    static const char *const names[] = {"l0", "l1", "l2"};
    struct pp_json j;
    pp_json_begin(&j, stdout, 2);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.selftest/1");
    pp_json_put_int(&j, "right", right);
    pp_json_put_int(&j, "wrong", wrong);
    pp_json_put_int(&j, "not_run", not_run);
    pp_json_put_num(&j, "others_cpu_share", busy);
    pp_json_put_str(&j, "others", *largest ? largest : NULL);
    pp_json_put_array(&j, "stalls");
    for (int i = 0; i < STALLS; i++) {
        const struct result *r = &results[i];
        int judged = r->err.code == PP_OK;
        const char *reason = r->others ? OTHERS : judged ? NULL : r->err.text;
        if (!r->wanted)
            continue;
        pp_json_object(&j);
        pp_json_put_str(&j, "name", stalls[i].name);
        pp_json_put_str(&j, "options", stalls[i].options);
        const char *const levels[2][3] = {{stalls[i].l0, stalls[i].l1, stalls[i].l2}, {r->l0, r->l1, r->l2}};
        for (int side = 0; side < 2; side++) {
            pp_json_put_object(&j, side ? "found" : "expected");
            for (int k = 0; k < 3; k++)
                pp_json_put_str(&j, names[k], levels[side][k] && *levels[side][k] ? levels[side][k] : NULL);
            pp_json_object_end(&j);
        }
        pp_json_key(&j, "right");
        is_judged(r) ? pp_json_bool(&j, r->right) : pp_json_null(&j);
        pp_json_put_num(&j, "data_wait_share", judged ? r->wait : NAN);
        pp_json_put_str(&j, "reason", reason);
        pp_json_put_str(&j, "recording", judged && o->keep ? r->file : NULL);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

/* Marks what --only names; every word of it must be a stall. */
static pp_status choose_stalls(const char *only, struct result *results, struct pp_err *err)
{
    const char *names[STALLS + 1] = {NULL};
    char word[64], near[128];
    for (int i = 0; i < STALLS; i++) {
        names[i] = stalls[i].name;
        results[i].wanted = !only;
    }
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',') {
        int i = 0;
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, ","), p);
        while (i < STALLS && strcmp(stalls[i].name, word) != 0)
            i++;
        if (i == STALLS)
            return pp_fail(err, PP_E_USAGE, "--only: no stall is called '%s'%s", word,
                           pp_did_you_mean(near, word, names));
        results[i].wanted = 1;
    }
    return PP_OK;
}

static pp_status make_directory(const struct options *o, char *dir, size_t size, struct pp_err *err)
{
    const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (o->keep) {
        snprintf(dir, size, "%s", o->keep);
        if (mkdir(dir, 0777) == 0 || (errno == EEXIST && pp_is_directory(dir)))
            return PP_OK;
        return pp_fail_errno(err, errno == EEXIST ? ENOTDIR : errno,
                             "cannot create the directory %s for the recordings", dir);
    }
    snprintf(dir, size, "%s/pipeprobe-selftest-XXXXXX", tmp);
    return mkdtemp(dir)
               ? PP_OK
               : pp_fail(err, PP_E_ACCESS, "no directory for recordings can be made in %s; set TMPDIR", tmp);
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct result results[STALLS] = {0};
    char dir[PATH_MAX - 64] = "", largest[512] = "", share[32];
    double busy = NAN;
    int right = 0, wrong = 0, not_run = 0, interrupted = 0;
    pp_status st = PP_OK;
    if (n)
        st = pp_fail(err, PP_E_USAGE, "'%s': selftest makes its own data; --only names stalls", operands[0]);
    if (st == PP_OK)
        st = choose_stalls(o->only, results, err);
    if (st == PP_OK)
        st = make_directory(o, dir, sizeof(dir), err);
    interrupt_catch(INTERRUPT_WAKES, NULL); /* the run in hand ends its recording */
    /* What the machine does beside us is said first: the verdicts are about it too. */
    if (st == PP_OK)
        busy = pp_neighbours_now(LOOK_S, largest, sizeof(largest));
    if (st == PP_OK && !o->json && busy >= BUSY)
        printf("This machine is busy: other processes use %s of its CPUs%s%s%s.\n"
               "Stalls that sleep can be judged all the same; what needs free CPUs cannot.\n\n",
               pp_text_percent(share, sizeof(share), busy), *largest ? " (" : "", largest,
               *largest ? ")" : "");
    fflush(stdout);
    for (int i = 0; st == PP_OK && i < STALLS && !interrupted; i++) {
        struct result *r = &results[i];
        if (!r->wanted)
            continue;
        snprintf(r->file, sizeof(r->file), "%s/%s.sqlite", dir, stalls[i].name);
        make_stall(&stalls[i], o, r);
        r->others |= !r->right && busy >= MOST_BUSY && strcmp(r->l0, "inconclusive") == 0;
        if (!o->keep)
            unlink(r->file);
        interrupted = r->err.code == PP_E_INTERRUPTED;
        not_run += !is_judged(r);
        right += is_judged(r) && r->right;
        wrong += is_judged(r) && !r->right;
        if (!o->json)
            put_line(&stalls[i], r);
    }
    if (!o->keep && dir[0])
        rmdir(dir);
    if (st == PP_OK && o->json)
        put_json(results, o, busy, largest, right, wrong, not_run);
    else if (st == PP_OK)
        printf("\n%d right, %d wrong, %d not run or not judged.\n", right, wrong, not_run);
    *code = interrupted ? pp_status_exit_code(PP_E_INTERRUPTED)
            : wrong     ? 1
            : !right    ? pp_status_exit_code(PP_E_SYSTEM)
                        : 0;
    return st;
}

const struct pp_command pp_cmd_selftest = {
    .name = "selftest",
    .summary = "make stalls of known cause here and check the verdicts",
    .usage = "selftest [options]",
    .opts = opts,
    .notes = "Half a minute: one run without a stall, and five with one each. A verdict is\n"
             "right when it has the class of the stall. On a busy machine it names first what\n"
             "else runs; a verdict that names the same is not judged. Exit code 0: all judged\n"
             "are right; 1: one is wrong; 4: none could be judged. Accuracy over 34 scenarios\n"
             "and many seeds: make bench-diagnosis, in the source tree.",
    .examples = {"pipeprobe selftest", "pipeprobe selftest --only slow-reads --keep recordings"},
    .fields = sizeof(struct options),
    .act = act,
};
