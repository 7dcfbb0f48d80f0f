#include "tui/cli/run/run_beside.h"
#include "collectors/system/environment.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "report/ranks/ranks.h"
#include "report/verdict/action.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/recording_name.h"
#include <signal.h>
#include <unistd.h>

#define LITTLE_WAIT 0.05 /* of step time: the step, not the loader, sets the rate */
#define MUCH_FROM_STORAGE (16 << 20)

pp_status run_beside_name(const char *torch_path, int force, char *out, size_t size, struct pp_err *err)
{
    if ((size_t)snprintf(out, size, "%.*s-pipeprobe.sqlite", pp_stem(torch_path), torch_path) >= size)
        return pp_fail(err, PP_E_USAGE, "the recording's name is too long: %s", torch_path);
    if (!force && access(out, F_OK) == 0)
        return pp_fail(
            err, PP_E_EXISTS,
            "%s, for the run of pipeprobe's own loader, already exists; give another --output, --force, or --against %s",
            out, out);
    return PP_OK;
}

static const char *config_of(const struct pp_report *r, const char *key)
{
    const char *value = pp_action_config(r, key);
    return value ? value : "";
}

/* Settings that have to be the same; the i-th that is not, or NULL. */
static const char *difference(const struct pp_report *a, const struct pp_report *b, size_t i)
{
    static const char *const keys[] = {"dataset",   "workers", "batch_size", "prefetch",
                                       "transform", "dtype",   "sampler",    "step_ns"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
        if (strcmp(config_of(a, keys[k]), config_of(b, keys[k])) != 0 && i-- == 0)
            return keys[k];
    return NULL;
}

/* ---- text ---- */

static void print_text(const struct run_beside *b, const struct pp_report *torch, const struct pp_report *own,
                       double ratio, int step_bound, FILE *out)
{
    char rate[2][32], step[32], wait[2][32], bytes[2][32];
    const char *key;
    fprintf(out, "PyTorch DataLoader %s samples/s",
            pp_text_rate(rate[0], sizeof(rate[0]), torch->samples_per_s));
    if (own)
        fprintf(out, ", pipeprobe's loader %s: ", pp_text_rate(rate[1], sizeof(rate[1]), own->samples_per_s));
    if (!own)
        fputs("\n", out);
    else if (isnan(ratio))
        fputs("too little was measured to compare them; run longer\n", out);
    else if (step_bound)
        fputs("the step sets both rates; leave out --step-ms to compare the loaders\n", out);
    else if (ratio >= 1.05)
        fprintf(out, "%.1f times is left in software\n", ratio);
    else
        fprintf(out, "%.2f times; nothing is left in software\n", ratio);
    if (torch->has_step && own && own->has_step)
        fprintf(out, "  waits for data at a step of %s: PyTorch DataLoader %s, pipeprobe's loader %s\n",
                pp_text_duration(step, sizeof(step), atof(config_of(torch, "step_ns"))),
                pp_text_percent(wait[0], sizeof(wait[0]), torch->data_wait_share),
                pp_text_percent(wait[1], sizeof(wait[1]), own->data_wait_share));
    fprintf(out,
            "  DataLoader(num_workers=%s, batch_size=%s, prefetch_factor=%s, persistent_workers=True), %s\n",
            config_of(torch, "workers"), config_of(torch, "batch_size"), config_of(torch, "prefetch"),
            b->versions);
    for (size_t i = 0; own && (key = difference(torch, own, i)); i++)
        fprintf(out, "  not the same: %s is %s here and %s in %s\n", key, config_of(torch, key),
                config_of(own, key), b->own_path);
    if (own && b->own_storage_bytes != UINT64_MAX &&
        b->torch_storage_bytes > 2 * b->own_storage_bytes + MUCH_FROM_STORAGE)
        fprintf(
            out,
            "  not the same: PyTorch's run read %s from storage and pipeprobe's %s, the rest from the page cache; run again for equal terms\n",
            pp_text_bytes(bytes[0], sizeof(bytes[0]), (double)b->torch_storage_bytes),
            pp_text_bytes(bytes[1], sizeof(bytes[1]), (double)b->own_storage_bytes));
    fprintf(out, "  recordings: %s%s%s\n", b->torch_path, own ? ", " : "", own ? b->own_path : "");
}

/* ---- JSON ---- */

static void put_side(struct pp_json *j, const char *key, const char *path, const struct pp_report *r,
                     uint64_t storage_bytes)
{
    pp_json_key(j, key);
    if (!r) {
        pp_json_null(j);
        return;
    }
    pp_json_object(j);
    pp_json_put_str(j, "recording", path);
    pp_json_put_num(j, "samples_per_s", r->samples_per_s);
    pp_json_put_num(j, "data_wait_share", r->data_wait_share);
    pp_json_put_uint(j, "samples", r->samples);
    pp_json_put_uint(j, "errors", r->errors);
    pp_json_key(j, "storage_read_bytes");
    if (storage_bytes == UINT64_MAX)
        pp_json_null(j);
    else
        pp_json_uint(j, storage_bytes);
    pp_json_put_str(j, "verdict", r->verdict.sentence);
    pp_json_object_end(j);
}

pp_status run_beside_print(const struct run_beside *b, int json, FILE *out, struct pp_err *err)
{
    struct pp_report *torch = NULL, *own = NULL;
    pp_status st = pp_report_build(b->torch_path, &torch, err);
    if (st == PP_OK && b->own_path)
        st = pp_report_build(b->own_path, &own, err);
    if (st == PP_OK) {
        int failed = 0, step_bound = 0, short_code = pp_status_exit_code(PP_E_INCONCLUSIVE);
        double ratio = NAN; /* too little was measured */
        if (own && torch->samples_per_s > 0 && pp_report_exit_code(torch) != short_code &&
            pp_report_exit_code(own) != short_code)
            ratio = own->samples_per_s / torch->samples_per_s;
        if (own) /* both keep up with the step: then its rate is compared with itself */
            step_bound = torch->data_wait_share < LITTLE_WAIT && own->data_wait_share < LITTLE_WAIT;
        errno = 0;
        if (json) {
            struct pp_json j;
            const char *key;
            pp_json_begin(&j, out, 2);
            pp_json_object(&j);
            pp_json_put_str(&j, "schema", "pipeprobe.loaders/1");
            pp_json_put_num(&j, "ratio", ratio);
            pp_json_put_bool(&j, "step_bound", step_bound);
            pp_json_put_num(&j, "step_ns", atof(config_of(torch, "step_ns")));
            pp_json_put_str(&j, "versions", b->versions);
            put_side(&j, "pytorch", b->torch_path, torch, b->torch_storage_bytes);
            put_side(&j, "pipeprobe", b->own_path, own, b->own_storage_bytes);
            pp_json_put_array(&j, "differences");
            for (size_t i = 0; own && (key = difference(torch, own, i)); i++)
                pp_json_str(&j, key);
            pp_json_array_end(&j);
            pp_json_object_end(&j);
            failed = pp_json_end(&j) != 0;
        } else {
            print_text(b, torch, own, ratio, step_bound, out);
        }
        if ((failed || fflush(out) != 0) && errno != EPIPE)
            st = pp_fail(err, PP_E_IO, "writing to stdout failed");
    }
    pp_report_free(torch);
    pp_report_free(own);
    return st;
}

/* ---- several ranks on this machine ---- */

enum { RANKS_MAX = 64 };

struct rank {
    pid_t pid;
    char file[PATH_MAX + 64];
    FILE *words; /* its standard error; NULL: rank 0's is ours */
};

struct crew {
    const struct run_opts *o;
    struct rank rank[RANKS_MAX];
    int code[RANKS_MAX];  /* exit codes; -1: not started */
    struct pp_digest all; /* of those that have a recording */
    int n;
    char private_dir[PATH_MAX - 8], meeting[PATH_MAX], workers[16];
};

/* ---- what each rank is told ---- */

/* What a rank is told by us, or what all ranks would write to. */
static pp_status check(const struct run_opts *o, const struct pp_opt_set *set, struct pp_err *err)
{
    static const char *const clash[] = {"rank", "world-size", "save-state", "resume", "list-delivered"};
    for (size_t i = 0; i < sizeof(clash) / sizeof(*clash); i++)
        if (run_opt_given(set, clash[i]))
            return pp_fail(err, PP_E_USAGE,
                           "--%s is for a single rank, and --ranks %lld starts all; leave out one of the two",
                           clash[i], (long long)o->ranks);
    if (!o->record || o->prove || o->top || o->digest)
        return pp_fail(err, PP_E_USAGE, "--ranks records every rank into its own file: leave out %s",
                       !o->record ? "--no-record"
                       : o->prove ? "--prove"
                       : o->top   ? "--top"
                                  : "--digest");
    return PP_OK;
}

/* Names; CPUs that all ranks share; and where they meet. */
static pp_status prepare(struct crew *k, struct pp_err *err)
{
    struct pp_cpus cpus;
    /* STEM.rank0.sqlite, ...; without a name, and of the same second as others, STEM-2.rank0.sqlite, ... */
    char path[PATH_MAX], stem[PATH_MAX + 16], as_given[PATH_MAX];
    pp_status st = pp_recording_name(k->o->output, NULL, 1, path, sizeof(path), err);
    if (st == PP_OK) {
        path[pp_stem(path)] = '\0';
        st = PP_E_EXISTS;
        for (int i = 1; st == PP_E_EXISTS && (i == 1 || (!k->o->output && i < PP_RECORDING_NAME_TRIES));
             i++) {
            int end = snprintf(stem, sizeof(stem), "%s", path);
            if (i > 1)
                snprintf(stem + end, sizeof(stem) - (size_t)end, "-%d", i);
            st = PP_OK;
            for (int r = 0; st == PP_OK && r < k->n; r++) {
                snprintf(k->rank[r].file, sizeof(k->rank[r].file), "%s.rank%d.sqlite", stem, r);
                st = pp_recording_name(k->rank[r].file, NULL, k->o->force, as_given, sizeof(as_given), err);
            }
        }
    }
    pp_cpus_read(&cpus);
    snprintf(k->workers, sizeof(k->workers), "%d",
             cpus.usable >= 2 * k->n ? (int)floor(cpus.usable / k->n) : 1);
    const char *dir = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                      : getenv("TMPDIR")                   ? getenv("TMPDIR")
                                                           : "/tmp";
    if (st != PP_OK || k->o->lease)
        return st;
    if (k->o->collective) {
        snprintf(k->meeting, sizeof(k->meeting), "%s", k->o->collective);
        return PP_OK;
    }
    /* A directory that no other user can enter or foretell: in /dev/shm and /tmp all users make names. */
    snprintf(k->private_dir, sizeof(k->private_dir), "%s/" RUN_MEETING_PREFIX "XXXXXX", dir);
    if (!mkdtemp(k->private_dir)) {
        st = pp_fail_errno(err, errno, "--ranks: making a directory in %s failed; set TMPDIR", dir);
        k->private_dir[0] = '\0';
    }
    snprintf(k->meeting, sizeof(k->meeting), "%s/ranks", k->private_dir);
    return st;
}

/* This command line again, with a rank's options behind it: of an option given twice, the last one counts. */
static pp_status start_rank(struct crew *k, int r, const struct run_request *asked, struct pp_err *err)
{
    struct rank *rank = &k->rank[r];
    char number[16], ranks[16];
    struct again a = {.in = AGAIN_NULL, .out = AGAIN_NULL}; /* its report is summed up here */
    if (r && !(rank->words = tmpfile()))
        return pp_fail_errno(err, errno, "--ranks: starting rank %d failed", r);
    a.errors = r ? fileno(rank->words) : 0;
    snprintf(number, sizeof(number), "%d", r);
    snprintf(ranks, sizeof(ranks), "%d", k->n);
    again_add(&a, "pipeprobe", NULL);
    again_add_all(&a, asked->argv, (size_t)asked->argc);
    again_add(&a, "--ranks", "1", "--rank", number, "--world-size", ranks, "--output", rank->file, NULL);
    if (!k->o->lease) /* leases let ranks be uneven */
        again_add(&a, "--collective", k->meeting, NULL);
    if (k->o->workers < 0)
        again_add(&a, "--workers", k->workers, NULL);
    if (r)
        again_add(&a, "--quiet", NULL);
    int e = again_start(&a, &rank->pid);
    if (e)
        return pp_fail_errno(err, e, "--ranks: starting rank %d failed", r);
    interrupt_passes_to(rank->pid);
    k->code[r] = 0;
    return PP_OK;
}

/* ---- what became of them ---- */

static int failed(int code)
{
    return code != 0 && code != 3 && code != 130;
}

/* Of their recordings; a rank whose recording cannot be read has a line without one. */
static pp_status print_ranks(struct crew *k, struct pp_err *err)
{
    struct pp_ranks ranks = {0};
    pp_status st = PP_OK;
    for (int r = 0; r < k->n && st == PP_OK; r++) {
        struct pp_digest one = {0};
        /* The last line of a rank that failed, where rank 0 did not say the same. */
        char words[40], last[1024];
        const struct rank *rank = &k->rank[r];
        if (rank->words && failed(k->code[r]) && !failed(k->code[0])) {
            snprintf(words, sizeof(words), "/proc/self/fd/%d", fileno(rank->words));
            again_last_line(words, last, sizeof(last));
            fprintf(stderr, "rank %d exited with code %d: %s\n", r, k->code[r], *last ? last : "no message");
        }
        if (!failed(k->code[r]) && pp_digest_read(k->rank[r].file, 0, &one, err) == PP_OK)
            st = pp_digest_merge(&k->all, &one, err);
        pp_digest_free(&one);
    }
    if (st != PP_OK || !k->all.n_rows)
        return st;
    st = pp_ranks_judge(&k->all, &ranks, err);
    if (st == PP_OK)
        st = pp_ranks_complete(&ranks, k->code, (size_t)k->n, err);
    if (st == PP_OK && k->o->json)
        pp_fields_json(pp_ranks_fields, &ranks, stdout);
    else if (st == PP_OK)
        pp_ranks_text(&ranks, 1, stdout);
    pp_ranks_free(&ranks);
    return st;
}

int run_ranks(const struct pp_command *cmd, const struct run_request *asked)
{
    const struct run_opts *o = &asked->o;
    struct pp_err err = {0};
    struct crew *k = calloc(1, sizeof(*k));
    int code = 4;
    pp_status st = k ? check(o, &asked->set, &err)
                     : pp_fail(&err, PP_E_NO_MEMORY, "no memory for %lld ranks", (long long)o->ranks);
    if (st == PP_OK) {
        k->o = o;
        k->n = (int)o->ranks;
        for (int r = 0; r < k->n; r++)
            k->code[r] = -1;
        st = prepare(k, &err);
    }
    if (st != PP_OK) {
        code = pp_cli_fail(cmd, &err);
        goto out;
    }
    interrupt_catch(INTERRUPT_WAKES, NULL);
    for (int r = 0; r < k->n && st == PP_OK && !interrupt_asked(); r++)
        st = start_rank(k, r, asked, &err);
    for (int r = 0; r < k->n; r++)
        if (st != PP_OK && k->code[r] >= 0)
            kill(k->rank[r].pid, SIGTERM);
    for (int r = 0; r < k->n; r++)
        if (k->code[r] >= 0) {
            int status = again_wait(k->rank[r].pid);
            k->code[r] = status < 0 ? 4 : again_code(status);
        }
    interrupt_passes_no_more();
    if (st != PP_OK) {
        code = pp_cli_fail(cmd, &err);
        goto out;
    }
    st = print_ranks(k, &err);
    if (st != PP_OK)
        pp_cli_fail(cmd, &err);
    /* That of the first rank that failed. */
    int inconclusive = 0;
    code = 0;
    for (int r = 0; r < k->n && !code; r++) {
        code = !failed(k->code[r]) ? 0 : k->code[r] < 0 ? 4 : k->code[r];
        inconclusive |= k->code[r] == 3;
    }
    if (!code)
        code = interrupt_asked() ? 130 : inconclusive ? 3 : 0;
out:
    if (k && k->private_dir[0]) {
        unlink(k->meeting); /* of ranks that were all killed */
        rmdir(k->private_dir);
    }
    for (int r = 0; k && r < k->n; r++)
        if (k->rank[r].words)
            fclose(k->rank[r].words);
    if (k)
        pp_digest_free(&k->all);
    free(k);
    return code;
}
