#include "tui/cli/run/prove.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/beside.h"
#include "collectors/store/amend.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/device/nvjpeg.h"
#include "report/build/build.h"
#include "report/replay/knobs.h"
#include "report/verdict/action.h"
#include <unistd.h>

enum {
    WORTH_A_RUN = 3,
    EXTRA_MAX = 8,
    CLAIMS_MAX = 3, /* the best fix, one beside it, the headroom */
    ROUNDS_MAX = 100
};

/* A prediction, and the options that put it to the test. */
struct claim {
    struct pp_proof_row row;
    char change[PP_KNOB_TEXT]; /* "--workers=8" */
    const char *option[EXTRA_MAX];
    int options;
    char number[32], file[PATH_MAX]; /* file: of the round that goes on, or went last */
    double rate[ROUNDS_MAX];
};

/* ---- what there is to prove ---- */

static int config_is(const struct pp_report *r, const char *key, const char *value)
{
    const char *recorded = pp_action_config(r, key);
    return recorded && strcmp(recorded, value) == 0;
}

/* Fixes come by what they gain: the best that an option of run does, and decoding on the GPU whatever else
 * gains more. */
static int claim_fixes(const struct prove_opts *o, const struct pp_report *r, struct claim *c)
{
    enum { BATCH = 64 };
    int n = 0, has_best = 0;
    struct pp_nvjpeg_found found;
    struct pp_err why;
    for (size_t i = 0; i < r->verdict.n_fixes && n < CLAIMS_MAX - 1; i++) {
        const struct pp_report_fix *f = &r->verdict.fixes[i];
        int on_gpu = strcmp(f->knob, "gpu-decode") == 0;
        c[n] = (struct claim){.options = 0};
        if (100 * f->gain < WORTH_A_RUN || (has_best && !on_gpu) || !pp_knob_option(f->set, '=', c[n].change))
            continue;
        pp_err_clear(&why);
        if (on_gpu && (config_is(r, "device_kind", "cuda")
                           ? pp_nvjpeg_look(BATCH, &found, &why)
                           : pp_fail(&why, PP_E_UNSUPPORTED, "the run had no CUDA device")) != PP_OK) {
            if (!o->quiet)
                fprintf(stderr, "proving    not %s: %s\n", c[n].change, why.text);
            continue;
        }
        c[n].row = (struct pp_proof_row){.kind = "fix",
                                         .change = f->knob,
                                         .value = f->to,
                                         .base = r->samples_per_s,
                                         .predicted = f->samples_per_s,
                                         .predicted_low = r->samples_per_s * (1 + f->low),
                                         .predicted_high = r->samples_per_s * (1 + f->high),
                                         .ballast_cpus = NAN};
        c[n].option[c[n].options++] = c[n].change;
        n++;
        has_best = 1;
    }
    return n;
}

/* ---- running it ---- */

static pp_status run_round(const struct prove_opts *o, struct claim *c, int64_t round, struct pp_err *err)
{
    struct pp_report *after = NULL;
    snprintf(c->file, sizeof(c->file), "%.*s-proof-%s-%lld.sqlite", pp_stem(o->recording), o->recording,
             c->row.change, (long long)round + 1);
    if (!o->quiet)
        fprintf(stderr, "proving    %s%s%s, round %lld of %lld\n", c->row.change,
                c->row.value[0] ? " -> " : "", c->row.value, (long long)round + 1, (long long)o->rounds);
    pp_status st;
    /* This command line again, with the claim's options behind it: of an option given twice, the last one
     * counts.
     */
    char rank[24], world_size[24];
    struct again a = {.out = AGAIN_NULL}; /* its report is not asked for */
    pid_t pid;
    snprintf(rank, sizeof(rank), "%lld", (long long)o->rank);
    snprintf(world_size, sizeof(world_size), "%lld", (long long)o->world_size);
    again_add(&a, "pipeprobe", NULL);
    again_add_all(&a, o->argv, (size_t)o->argc);
    again_add_all(&a, (char *const *)c->option, (size_t)c->options);
    for (size_t i = 0; metrics_beside_none[i]; i++)
        again_add(&a, metrics_beside_none[i], NULL);
    again_add(&a, "--no-prove", "--no-top", "--no-keep-proof", "--quiet", "--force", "--rank", rank,
              "--world-size", world_size, "--output", c->file, NULL);
    int e = again_start(&a, &pid);
    if (e) {
        st = pp_fail_errno(err, e, "--prove: starting another run failed");
    } else {
        int code = again_code(again_wait(pid));
        st = code == 0 || code == 3
                 ? PP_OK
                 : pp_fail(err, PP_E_SYSTEM, "--prove: the run with the change exited with code %d", code);
    }
    if (st == PP_OK)
        st = pp_report_build(c->file, &after, err);
    if (st == PP_OK)
        c->rate[round] = after->samples_per_s;
    if (!o->keep)
        unlink(c->file);
    pp_report_free(after);
    return st;
}

pp_status pp_prove(const struct prove_opts *o, struct pp_err *err)
{
    struct pp_report *before = NULL;
    struct claim *claims = calloc(CLAIMS_MAX, sizeof(*claims));
    int n = 0;
    pp_status st = claims ? pp_report_build(o->recording, &before, err)
                          : pp_fail(err, PP_E_NO_MEMORY, "--prove: no memory");
    if (st != PP_OK)
        goto out;
    if ((n = claim_fixes(o, before, claims)) == 0 && !o->quiet)
        fputs("proving    no remedy: no option of run is predicted to gain 3 %\n", stderr);
    int streamed = config_is(before, "stream", "true") || config_is(before, "stream", "1");
    if (!streamed && !isnan(before->without_waits_samples_per_s)) {
        struct claim *c = &claims[n++];
        double cpus = 0; /* that the workers used in the steady state */
        for (size_t i = 0; i < before->n_workers; i++)
            cpus += before->workers[i].cpu_share;
        *c = (struct claim){
            .row = {.kind = "headroom",
                    .change = "free-input",
                    .value = "",
                    .base = before->samples_per_s,
                    .predicted = before->without_waits_samples_per_s,
                    .predicted_low = NAN,
                    .predicted_high = NAN,
                    .ballast_cpus = before->n_workers ? fmin(cpus, (double)before->n_workers) : NAN}};
        c->option[c->options++] = "--cached-batches";
        c->option[c->options++] = "--no-sync-every-step";
        if (!isnan(c->row.ballast_cpus)) {
            snprintf(c->number, sizeof(c->number), "%.3f", c->row.ballast_cpus);
            c->option[c->options++] = "--cpu-ballast";
            c->option[c->options++] = c->number;
        }
    } else if (!o->quiet) {
        fprintf(stderr, "proving    no headroom: %s\n",
                streamed ? "the batches of a stream cannot be repeated"
                         : "without a step there is no wait for data");
    }
    for (int64_t round = 0; round < o->rounds && st == PP_OK && !interrupt_asked(); round++)
        for (int i = 0; i < n && st == PP_OK && !interrupt_asked(); i++)
            st = run_round(o, &claims[i], round, err);
    if (interrupt_asked()) {
        st = PP_OK; /* the rounds got no further, and half of them prove nothing */
    } else if (st == PP_OK && n) {
        struct pp_proof_row rows[CLAIMS_MAX];
        size_t rounds = (size_t)o->rounds;
        for (int i = 0; i < n; i++) {
            struct claim *c = &claims[i];
            qsort(c->rate, rounds, sizeof(c->rate[0]), pp_by_double);
            c->row.rounds = rounds;
            c->row.measured = (c->rate[(rounds - 1) / 2] + c->rate[rounds / 2]) / 2;
            c->row.measured_low = rounds > 1 ? c->rate[0] : NAN;
            c->row.measured_high = rounds > 1 ? c->rate[rounds - 1] : NAN;
            c->row.recording = o->keep ? c->file : NULL;
            rows[i] = c->row;
        }
        st = pp_proof_write(o->recording, rows, (size_t)n, err);
    }
out:
    pp_report_free(before);
    free(claims);
    return st;
}
