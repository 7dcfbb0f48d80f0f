#include "tui/cli/run/run_ranks.h"

#include "collectors/system/environment.h"
#include "probe/base/err.h"
#include "report/ranks/ranks.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/recording_name.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS_MAX = 64 };

struct rank {
    pid_t pid;
    char file[PATH_MAX + 32];
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

/* STEM.rank0.sqlite, ... */
static pp_status name_files(struct crew *k, const char *stem, struct pp_err *err)
{
    char as_given[PATH_MAX];
    pp_status st = PP_OK;
    for (int r = 0; st == PP_OK && r < k->n; r++) {
        snprintf(k->rank[r].file, sizeof(k->rank[r].file), "%s.rank%d.sqlite", stem, r);
        st = pp_recording_name(k->rank[r].file, NULL, k->o->force, as_given, sizeof(as_given), err);
    }
    return st;
}

/* Names; CPUs that all ranks share; and where they meet. */
static pp_status prepare(struct crew *k, struct pp_err *err)
{
    struct pp_cpus cpus;
    /* Without a name, and of the same second as others, they are STEM-2.rank0.sqlite, ... */
    char path[PATH_MAX], stem[PATH_MAX + 16];
    pp_status st = pp_recording_name(k->o->output, NULL, 1, path, sizeof(path), err);
    if (st == PP_OK) {
        path[pp_stem(path)] = '\0';
        st = name_files(k, path, err);
        for (int i = 2; st == PP_E_EXISTS && !k->o->output && i < PP_RECORDING_NAME_TRIES; i++) {
            snprintf(stem, sizeof(stem), "%s-%d", path, i);
            st = name_files(k, stem, err);
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

static int sum_of_codes(const struct crew *k)
{
    int inconclusive = 0;
    for (int r = 0; r < k->n; r++) {
        if (failed(k->code[r]))
            return k->code[r] < 0 ? 4 : k->code[r];
        inconclusive |= k->code[r] == 3;
    }
    return interrupt_asked() ? 130 : inconclusive ? 3 : 0;
}

/* A rank whose recording cannot be read has a line without one. */
static pp_status read_recordings(struct crew *k, struct pp_err *err)
{
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
        if (!failed(k->code[r]) && pp_digest_read(k->rank[r].file, &one, err) == PP_OK)
            st = pp_digest_merge(&k->all, &one, err);
        pp_digest_free(&one);
    }
    return st;
}

static pp_status print(struct crew *k, struct pp_err *err)
{
    struct pp_ranks ranks = {0};
    pp_status st = pp_ranks_judge(&k->all, &ranks, err);
    if (st == PP_OK)
        st = pp_ranks_complete(&ranks, k->code, (size_t)k->n, err);
    if (st == PP_OK && k->o->json)
        pp_ranks_json(&ranks, stdout);
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
    st = read_recordings(k, &err);
    if (st == PP_OK && k->all.n_rows)
        st = print(k, &err);
    if (st != PP_OK)
        pp_cli_fail(cmd, &err);
    code = sum_of_codes(k);
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
