#include "report/findings/findings.h"

#include "report/findings/cache.h"
#include "report/findings/device_decode.h"
#include "report/findings/hooks.h"
#include "report/findings/leases.h"
#include "report/findings/numa.h"
#include "report/findings/pages.h"
#include "report/findings/remote.h"
#include "report/findings/rows.h"
#include "report/findings/shuffle.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <string.h>

enum { CELL = 40 };

#define LONG_START_S 10.0   /* of any run: longer than people wait without asking */
#define LEAST_WINDOW_S 1.0  /* as the verdict asks for: several scheduler and cgroup quota periods */
#define BOUNDARY_SHARE 0.05 /* the smallest share that counts */

struct pp_report_finding *pp_finding_add(struct pp_report *r, struct pp_arena *arena, const char *kind,
                                         enum pp_finding_state state, const char *sentence)
{
    static const char *const names[] = {"found", "not-found", "not-measured"};
    static struct pp_report_finding nowhere; /* without memory: the arena remembers */
    struct pp_report_finding *f = pp_arena_push(arena, (void **)&r->findings, &r->n_findings, sizeof(*f));
    if (!f)
        f = &nowhere;
    *f = (struct pp_report_finding){.kind = kind,
                                    .state = state,
                                    .state_name = names[state],
                                    .sentence = sentence};
    return f;
}

void pp_finding_number(struct pp_report_finding *f, const char *name, double value)
{
    if (f->numbers < PP_FINDING_NUMBERS) {
        f->number[f->numbers].name = name;
        f->number[f->numbers++].value = value;
    }
}

/* ---- stalls at a fixed interval ---- */

/* What to look at, by what takes the time in the stalls. The first row that fits. */
static const struct {
    pp_phase phase; /* PP_PHASE_NONE: any */
    int io;         /* 1: and tasks waited for I/O (PSI) */
    enum pp_remedy_id remedy;
} periodic_causes[] = {
    {PP_PHASE_CHECKPOINT, 0, PP_REMEDY_PERIODIC_CHECKPOINT},
    {PP_PHASE_EPOCH_BOUNDARY, 0, PP_REMEDY_PERIODIC_EPOCH},
    {PP_PHASE_STARTUP, 0, PP_REMEDY_KEEP_WORKERS},
    {PP_PHASE_NONE, 1, PP_REMEDY_PERIODIC_IO},
    {PP_PHASE_READ, 0, PP_REMEDY_PERIODIC_STORAGE},
    {PP_PHASE_RETRY, 0, PP_REMEDY_PERIODIC_ERRORS},
    {PP_PHASE_STEP, 0, PP_REMEDY_PERIODIC_STEP},
    {PP_PHASE_DEVICE_SYNC, 0, PP_REMEDY_PERIODIC_SYNC},
    {PP_PHASE_COLLECTIVE, 0, PP_REMEDY_PERIODIC_RANK},
    {PP_PHASE_NONE, 0, PP_REMEDY_PERIODIC_OTHER},
};

static const char *periodic_next_step(const struct pp_periodic *p)
{
    size_t i = 0;
    while ((periodic_causes[i].phase != PP_PHASE_NONE && periodic_causes[i].phase != p->phase) ||
           (periodic_causes[i].io && !(p->psi_io_share >= 0.5)))
        i++;
    return pp_remedies[periodic_causes[i].remedy].sentence;
}

static const char *coincides(const struct pp_periodic *p, struct pp_arena *arena)
{
    const struct pp_phase_info *phase = pp_phase_info(p->phase);
    const char *io = p->psi_io_share >= 0.5 ? ", while tasks waited for I/O (PSI)" : "";
    if (p->phase == PP_PHASE_NONE)
        return p->psi_io_share >= 0.5 ? "no recorded span coincides, but tasks waited for I/O (PSI)"
                                      : "no recorded span coincides";
    if (p->phase == PP_PHASE_CHECKPOINT || p->phase == PP_PHASE_EPOCH_BOUNDARY)
        return pp_arena_printf(arena, "coincides with %s spans%s", phase->name, io);
    return pp_arena_printf(arena, "coincides with longer %s of the %s%s", phase->name,
                           p->in_trainer ? "trainer" : "workers", io);
}

static void add_periodic(const struct pp_timeline *tl, const struct pp_periodic *p, struct pp_arena *arena,
                         struct pp_report *r)
{
    char every[CELL], long_[CELL], share[CELL], batches[CELL];
    static const char kind[] = "periodic-stalls";
    if (!p->measured) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, "fewer than 20 batches in steady state");
        return;
    }
    if (!p->found) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_FOUND,
                       pp_arena_printf(arena, "no periodic stall in %s batches",
                                       pp_text_count(batches, CELL, (double)tl->n_cycles)));
        return;
    }
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, PP_FINDING_FOUND,
        pp_arena_printf(arena, "a stall every %s (%s batches), %s long, %zu times, %s of the time: %s",
                        pp_text_duration(every, CELL, p->period_ns),
                        pp_text_count(batches, CELL, round(p->period_batches)),
                        pp_text_duration(long_, CELL, p->stall_ns), p->stalls,
                        pp_text_percent(share, CELL, p->share), coincides(p, arena)));
    f->next_step = periodic_next_step(p);
    pp_finding_number(f, "period_s", p->period_ns / 1e9);
    pp_finding_number(f, "stall_s", p->stall_ns / 1e9);
    pp_finding_number(f, "stalls", (double)p->stalls);
    pp_finding_number(f, "expected_stalls", (double)p->expected);
    pp_finding_number(f, "time_share", p->share);
    pp_finding_number(f, "phase_share", p->phase_share);
    pp_finding_number(f, "psi_io_share", p->psi_io_share);
    pp_finding_number(f, "p_value", p->p);
}

/* ---- the first batch ---- */

static void add_first_batch(const struct pp_timeline *tl, int given_length, struct pp_arena *arena,
                            struct pp_report *r)
{
    static const char kind[] = "first-batch";
    char first[CELL], share_text[CELL], part_text[CELL];
    if (isnan(r->first_batch_s)) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       "the trainer's wait for a batch was not recorded");
        return;
    }
    double opening = (double)(tl->startup_ns[PP_LANE_MAIN] + tl->startup_ns[PP_LANE_TRAINER]) / 1e9,
           share = r->duration_s > 0 ? r->first_batch_s / r->duration_s : NAN;
    double workers = (double)(tl->startup_ns[PP_LANE_WORKER] + tl->startup_ns[PP_LANE_READER]) / 1e9,
           gather = (double)tl->gather_ns / 1e9;
    double program = pp_timeline_program_s(tl, r->first_batch_s),
           rest = fmax(r->first_batch_s - opening - workers - gather - program, 0);
    const struct {
        double s;
        const char *what;
        enum pp_remedy_id remedy;
    } parts[] = {
        {program, "before the program asked for data (imports, building the model)", PP_REMEDY_FIRST_PROGRAM},
        {opening, "opening the data set", PP_REMEDY_FIRST_OPENING},
        {workers, "starting the workers", PP_REMEDY_FIRST_WORKERS},
        {gather, "waiting for the other ranks to begin", PP_REMEDY_FIRST_RANKS},
        {rest, "making the first batch", PP_REMEDY_FIRST_BATCH},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof(parts) / sizeof(*parts); i++)
        most = parts[i].s > parts[most].s ? i : most;
    int found = (given_length && r->window_s >= LEAST_WINDOW_S && share >= PP_WORTH_A_FIX) ||
                r->first_batch_s >= LONG_START_S;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "the first batch came after %s, %s of the run; %s of it %s",
                        pp_text_duration(first, CELL, r->first_batch_s * 1e9),
                        pp_text_percent(share_text, CELL, share),
                        pp_text_duration(part_text, CELL, parts[most].s * 1e9), parts[most].what));
    f->next_step = found ? pp_remedies[parts[most].remedy].sentence : NULL;
    pp_finding_number(f, "first_batch_s", r->first_batch_s);
    pp_finding_number(f, "run_share", share);
    pp_finding_number(f, "program_s", program);
    pp_finding_number(f, "opening_s", opening);
    pp_finding_number(f, "workers_s", workers);
    pp_finding_number(f, "rest_s", rest);
}

/* ---- epoch boundaries ---- */

/* Workers that start again for every epoch say so by a start-up, or are others behind each boundary. */
static void add_boundaries(const struct pp_timeline *tl, const struct pp_restarts *k, struct pp_arena *arena,
                           struct pp_report *r)
{
    static const char kind[] = "epoch-boundaries";
    char each[CELL], usual[CELL], count[CELL], longest[CELL], share_text[CELL];
    if (!tl->boundaries || !(r->window_s >= LEAST_WINDOW_S)) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       tl->boundaries ? "the steady state was shorter than 1 s"
                                      : "no epoch began in the steady state");
        return;
    }
    double n = (double)tl->boundaries,
           wait = tl->judged_batches ? (double)pp_timeline_exposed_ns(tl) / (double)tl->judged_batches : 0,
           mean = (double)tl->epoch_ns / n;
    double beyond = fmax(mean - wait, 0), share = beyond * n / (r->window_s * 1e9),
           restart = tl->restarts ? (double)tl->restart_ns / (double)tl->restarts : 0;
    int found = share >= BOUNDARY_SHARE,
        restarts = restart > beyond / 2 || (k->started_again && k->generations > tl->boundaries);
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            "the trainer waits %s at the start of each epoch (%s, the longest %s), other batches wait %s: %s of the time%s",
            pp_text_duration(each, CELL, mean),
            pp_text_counted(count, CELL, n, "epoch boundary", "epoch boundaries"),
            pp_text_duration(longest, CELL, (double)tl->epoch_max_ns), pp_text_duration(usual, CELL, wait),
            pp_text_percent(share_text, CELL, share),
            found && restarts ? "; the workers start again for every epoch" : ""));
    if (found)
        f->next_step = restarts ? pp_remedies[PP_REMEDY_KEEP_WORKERS].sentence
                                : pp_remedies[PP_REMEDY_PREFETCH_ACROSS].sentence;
    pp_finding_number(f, "boundaries", n);
    pp_finding_number(f, "wait_s", mean / 1e9);
    pp_finding_number(f, "longest_wait_s", (double)tl->epoch_max_ns / 1e9);
    pp_finding_number(f, "usual_wait_s", wait / 1e9);
    pp_finding_number(f, "time_share", share);
    pp_finding_number(f, "worker_restart_s", tl->restarts ? restart / 1e9 : NAN);
}

/* ---- orders and samples ---- */

static void add_order(const struct pp_visits *v, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "epoch-order";
    char pairs[CELL], same[CELL];
    if (v->order_unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, v->order_unknown);
        return;
    }
    pp_text_counted(pairs, CELL, (double)v->pairs, "pair of neighbouring epochs",
                    "pairs of neighbouring epochs");
    struct pp_report_finding *f;
    if (v->repeated) {
        f = pp_finding_add(
            r, arena, kind, PP_FINDING_FOUND,
            pp_arena_printf(
                arena,
                "epoch %u repeats the shuffle order of epoch %u (%s the same), %llu of %s: set_epoch() is probably missing",
                v->repeated_epoch, v->repeated_epoch - 1u,
                pp_text_counted(same, CELL, (double)v->same_batches, "batch", "batches"),
                (unsigned long long)v->repeated, pairs));
        f->next_step = pp_remedies[PP_REMEDY_SET_EPOCH].sentence;
    } else {
        f = pp_finding_add(r, arena, kind, PP_FINDING_NOT_FOUND,
                           pp_arena_printf(arena,
                                           v->by_number
                                               ? "samples are read in index order, without a shuffle (%s)"
                                               : "%s, each in a different order",
                                           pairs));
    }
    pp_finding_number(f, "compared_epochs", (double)v->pairs);
    pp_finding_number(f, "repeated_epochs", (double)v->repeated);
    pp_finding_number(f, "same_batches", (double)v->same_batches);
}

/* ": sample 17 of epoch 0, ..." */
static const char *name_examples(const struct pp_visits_example *e, size_t n, struct pp_arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < n && text; i++)
        text = pp_arena_printf(arena, "%s%s%llu of epoch %u", text, i ? ", " : ": sample ",
                               (unsigned long long)e[i].sample, e[i].epoch);
    return text ? text : "";
}

static void add_repeats(const struct pp_visits *v, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "samples-repeated";
    char count[CELL], of[CELL], epochs[CELL];
    if (v->repeats_unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, v->repeats_unknown);
        return;
    }
    pp_text_counted(of, CELL, v->visits, "visit", "visits");
    int found = v->repeats > 0;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        !found ? pp_arena_printf(arena, "%s, no sample twice in an epoch%s", of,
                                 v->scale > 1 ? " (of the sampled indexes)" : "")
               : pp_arena_printf(arena, "%s%s of %s repeated a sample of the same epoch, in %s%s",
                                 v->scale > 1 ? "about " : "", pp_text_count(count, CELL, v->repeats), of,
                                 pp_text_counted(epochs, CELL, (double)v->repeat_epochs, "epoch", "epochs"),
                                 name_examples(v->again, v->n_again, arena)));
    f->next_step = found ? pp_remedies[PP_REMEDY_REPEATED].sentence : NULL;
    pp_finding_number(f, "visits", v->visits);
    pp_finding_number(f, "repeated_visits", v->repeats);
    pp_finding_number(f, "epochs", (double)v->repeat_epochs);
    pp_finding_number(f, "visits_per_counted", v->scale);
}

static void add_skips(const struct pp_visits *v, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "samples-skipped";
    char count[CELL], of[CELL], epochs[CELL], whole[CELL];
    if (v->skips_unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, v->skips_unknown);
        return;
    }
    int found = v->skip_epochs > 0;
    pp_text_counted(whole, CELL, (double)v->whole_epochs, "whole epoch", "whole epochs");
    pp_text_counted(of, CELL, v->expected, "sample", "samples");
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        !found ? pp_arena_printf(arena, "%s of %s%s, none left out", whole, v->scale > 1 ? "about " : "", of)
               : pp_arena_printf(arena, "%s%s left out of %s, of %s of %s%s", v->scale > 1 ? "about " : "",
                                 pp_text_counted(count, CELL, v->skips, "sample was", "samples were"),
                                 pp_text_counted(epochs, CELL, (double)v->skip_epochs, "epoch", "epochs"),
                                 whole, of, name_examples(v->missing, v->n_missing, arena)));
    f->next_step = found ? pp_remedies[PP_REMEDY_SKIPPED].sentence : NULL;
    pp_finding_number(f, "expected_samples", v->expected);
    pp_finding_number(f, "skipped_samples", v->skips);
    pp_finding_number(f, "epochs", (double)v->skip_epochs);
    pp_finding_number(f, "whole_epochs", (double)v->whole_epochs);
    pp_finding_number(f, "samples_per_counted", v->scale);
}

/* ---- the ranks of a run ---- */

static void add_late_rank(const struct pp_timeline *tl, const struct pp_ranks *k, struct pp_arena *arena,
                          struct pp_report *r)
{
    static const char kind[] = "late-rank";
    char steps[CELL], last[CELL], wait[CELL];
    double share = pp_timeline_collective_share(tl);
    if (!k->meetings) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       tl->collective_ns ? "the last rank of each collective step was not recorded"
                                         : "the run has no other ranks (--collective)");
        return;
    }
    int own = k->rank == k->last_rank, found = k->last_share >= PP_MOST_MEETINGS;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena,
                        "%srank %u was last in %s of %s%s; this rank waited %s of its step time for others",
                        found ? "" : "no single slowest rank: most often ", k->last_rank,
                        pp_text_percent(last, CELL, k->last_share),
                        pp_text_counted(steps, CELL, (double)k->meetings, "collective step",
                                        "collective steps"),
                        own ? ": this rank" : "", pp_text_percent(wait, CELL, share)));
    if (found)
        f->next_step = own ? pp_remedies[PP_REMEDY_THIS_RANK].sentence
                           : pp_remedies[PP_REMEDY_THAT_RANK].sentence;
    pp_finding_number(f, "last_rank", k->last_rank);
    pp_finding_number(f, "last_share", k->last_share);
    pp_finding_number(f, "own_rank", k->rank);
    pp_finding_number(f, "own_last_share", k->own_share);
    pp_finding_number(f, "collective_steps", (double)k->meetings);
    pp_finding_number(f, "time_share", share);
}

double pp_finding_read_share(const struct pp_report *r)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == PP_PHASE_READ)
            return r->phases[i].share;
    return 0;
}

void pp_findings_add(const struct pp_source *source, const struct pp_timeline *tl,
                     const struct pp_checks *checks, int given_length, struct pp_arena *arena,
                     struct pp_report *r)
{
    add_periodic(tl, &checks->periodic, arena, r);
    add_first_batch(tl, given_length, arena, r);
    add_boundaries(tl, &checks->patterns.restarts, arena, r);
    add_order(&checks->visits, arena, r);
    add_repeats(&checks->visits, arena, r);
    add_skips(&checks->visits, arena, r);
    add_late_rank(tl, &checks->ranks, arena, r);
    pp_findings_of_workers(source, tl, checks, arena, r);
    pp_findings_of_requests(&checks->remote, arena, r);
    pp_findings_of_cache(source, &checks->cache, arena, r);
    pp_findings_of_leases(&checks->leases, arena, r);
    pp_findings_of_pages(&checks->pages, arena, r);
    pp_findings_of_shuffle(&checks->shuffle, arena, r);
    pp_findings_of_hooks(source, arena, r);
    pp_findings_of_numa(source, arena, r);
    pp_findings_of_device_decode(source, tl, &checks->device_decode, arena, r);
}
