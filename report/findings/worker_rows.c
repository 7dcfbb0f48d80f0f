/* The findings about workers, as sentences. */
#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>

enum { CELL = 40, RESTARTS_LEAST = 3, LEAST_BUFFER = 4 }; /* LEAST_BUFFER: batches */

#define SLOW_WORKER 1.5    /* times the median worker's time per batch */
#define RESTART_SHARE 0.01 /* of the steady state */
#define LEAST_WINDOW_S 1.0

static const char *worker_name(const struct pp_report *r, uint32_t thread)
{
    for (size_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].thread == thread)
            return r->workers[i].name;
    return "one worker";
}

static void add_lockstep(const struct pp_lockstep *k, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "lockstep-waits";
    char step[CELL], of[CELL], wait[CELL], times[CELL];
    if (k->unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, k->unknown);
        return;
    }
    double in_step = k->distances ? (double)k->in_step / (double)k->distances : NAN;
    int found = k->found && r->data_wait_share >= PP_LEAST_SHARE, uneven = k->slowest >= SLOW_WORKER;
    const char *seen;
    pp_text_percent(wait, CELL, r->data_wait_share);
    if (k->workers < 2)
        seen = "there is one worker";
    else if (!found)
        seen = pp_arena_printf(arena, "the trainer's long waits do not come every %u batches (%u workers)",
                               k->workers, k->workers);
    else if (k->inferred)
        seen = pp_arena_printf(
            arena,
            "waits come every %u batches (%s, %s of step time), as with num_workers=%u; the trace does "
            "not record the workers",
            k->workers, pp_text_counted(of, CELL, (double)k->long_waits, "long wait", "long waits"), wait,
            k->workers);
    else
        seen = pp_arena_printf(
            arena, "waits come every %u batches, and there are %u workers (%s of %s, %s of step time): %s",
            k->workers, k->workers, pp_text_percent(step, CELL, in_step),
            pp_text_counted(of, CELL, (double)k->long_waits, "long wait", "long waits"), wait,
            !uneven
                ? "the workers deliver together, all equally slow"
                : pp_arena_printf(arena, "%s takes %s times as long per batch as the others",
                                  worker_name(r, k->slowest_thread), pp_text_rate(times, CELL, k->slowest)));
    struct pp_report_finding *f = pp_finding_add(r, arena, kind,
                                                 found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND, seen);
    f->next_step = !found ? NULL : pp_remedies[uneven ? PP_REMEDY_SLOW_WORKER : PP_REMEDY_LOCKSTEP].sentence;
    pp_finding_number(f, "workers", k->workers);
    pp_finding_number(f, "long_waits", (double)k->long_waits);
    pp_finding_number(f, "in_step_share", in_step);
    pp_finding_number(f, "long_wait_share", k->long_share);
    pp_finding_number(f, "slowest_worker_factor", k->slowest);
}

static void add_restarts(const struct pp_timeline *tl, const struct pp_restarts *k, struct pp_arena *arena,
                         struct pp_report *r)
{
    static const char kind[] = "worker-restarts";
    char count[CELL], cost[CELL], share_text[CELL], epochs[CELL];
    /* What it costs: where workers say themselves that they start again, the time that took each of them;
     * where their loader does, how long it took to end and start them, and the wait for the first to begin;
     * else the trainer's waits at the starts of epochs where they are recorded, or the time without a worker.
     */
    double again = fmax((double)k->started_again, (double)tl->restarts), lost_ns = k->gap_ns;
    if (tl->restarts)
        lost_ns = (double)tl->restart_ns * fmax(1, (double)tl->boundaries) / (double)tl->restarts;
    else if (tl->starts.starting_ns)
        lost_ns = (double)(tl->starts.workers_ns + tl->starts.late_ns);
    else if (tl->boundaries)
        lost_ns = (double)tl->epoch_ns;
    double share = r->window_s > 0 ? lost_ns / (r->window_s * 1e9) : NAN;
    int restart = tl->restarts > 0 || k->generations >= RESTARTS_LEAST ||
                  (k->generations == 2 && tl->epochs == 2);
    if (k->unknown || !tl->has_steady_state || r->window_s < LEAST_WINDOW_S) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       k->unknown ? k->unknown : "the steady state was shorter than 1 s");
        return;
    }
    int found = restart && share >= RESTART_SHARE;
    pp_text_duration(cost, CELL, lost_ns);
    pp_text_percent(share_text, CELL, share);
    pp_text_counted(count, CELL, again, "worker was", "workers were");
    if (tl->epochs > 1)
        pp_text_counted(epochs, CELL, (double)tl->epochs, "epoch", "epochs");
    else /* the recording does not tell them */
        pp_text_counted(epochs, CELL, (double)k->generations, "generation", "generations");
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        !restart
            ? pp_arena_printf(arena, "the workers live for the whole run (%s)", epochs)
            : pp_arena_printf(arena, "%s started again in %s%s: that costs %s, %s of the time", count, epochs,
                              found ? ", so the workers restart every epoch" : "", cost, share_text));
    f->next_step = found ? pp_remedies[PP_REMEDY_KEEP_WORKERS].sentence : NULL;
    pp_finding_number(f, "generations", (double)k->generations);
    pp_finding_number(f, "workers_in_all", (double)k->threads);
    pp_finding_number(f, "started_again", again);
    pp_finding_number(f, "cost_s", restart ? lost_ns / 1e9 : 0);
    pp_finding_number(f, "time_share", restart ? share : 0);
}

static void add_hang(double origin_ns, const struct pp_hang *h, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "worker-hang";
    char since[CELL], dur[CELL], usual[CELL], others[CELL];
    if (!h->measured) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, "no work of a worker was recorded");
        return;
    }
    if (!h->found) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_FOUND, "no worker stayed in one piece of work");
        return;
    }
    const char *sample = h->sample == PP_NO_SAMPLE
                             ? ""
                             : pp_arena_printf(arena, " of sample %llu", (unsigned long long)h->sample);
    const char *of_others = !h->others
                                ? ""
                                : pp_arena_printf(arena, "; %s as well",
                                                  pp_text_counted(others, CELL, (double)h->others,
                                                                  "other worker hung", "other workers hung"));
    pp_text_duration(since, CELL, fmax((double)h->start_ns - origin_ns, 0));
    pp_text_duration(dur, CELL, (double)h->dur_ns);
    const char *than = isnan(h->usual_ns) ? ""
                                          : pp_arena_printf(arena, ", usually %s",
                                                            pp_text_duration(usual, CELL, h->usual_ns));
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, PP_FINDING_FOUND,
        pp_arena_printf(arena,
                        h->open ? "%s hangs in %s%s since %s: %s when the recording ended%s%s"
                                : "%s hung in %s%s at %s: %s%s%s",
                        worker_name(r, h->thread), pp_phase_info(h->phase)->name, sample, since, dur, than,
                        of_others));
    f->next_step = pp_remedies[h->open ? PP_REMEDY_HUNG_OPEN : PP_REMEDY_HUNG_ENDED].sentence;
    pp_finding_number(f, "since_s", ((double)h->start_ns - origin_ns) / 1e9);
    pp_finding_number(f, "duration_s", (double)h->dur_ns / 1e9);
    pp_finding_number(f, "usual_s", h->usual_ns / 1e9);
    pp_finding_number(f, "still_open", h->open);
    pp_finding_number(f, "workers", (double)h->others + 1);
}

/* The thread of a process, a worker's first; a process whose threads are not known is called by its number.
 */
static const char *process_name(const struct pp_source *source, struct pp_arena *arena, int64_t pid)
{
    const struct pp_thread_row *rows, *found = NULL;
    size_t n = source->threads(source->ctx, &rows), workers = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].pid != pid)
            continue;
        workers += rows[i].lane == PP_LANE_WORKER;
        if (!found || (rows[i].lane == PP_LANE_WORKER && found->lane != PP_LANE_WORKER))
            found = &rows[i];
    }
    if (workers == 1 && found->name) /* a worker that is a process */
        return pp_arena_printf(arena, "%s (process %lld)", found->name, (long long)pid);
    return pp_arena_printf(arena, "process %lld", (long long)pid);
}

static void add_memory(const struct pp_source *source, const struct pp_memory_growth *g,
                       struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "memory-growth";
    char rate[CELL], low[CELL], high[CELL], all[CELL], left[CELL], full[CELL], count[CELL];
    const char *others = "", *then = "";
    if (g->unknown) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED, g->unknown);
        return;
    }
    if (!g->growing) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_FOUND,
                       pp_arena_printf(arena, "the memory of %s does not go on growing",
                                       pp_text_counted(count, CELL, (double)g->processes, "process",
                                                       "processes")));
        return;
    }
    if (g->growing > 1)
        others = pp_arena_printf(arena, ", %s together %s/s",
                                 pp_text_counted(count, CELL, (double)g->growing, "process", "processes"),
                                 pp_text_bytes(all, CELL, g->all_per_s));
    if (!isnan(g->full_s))
        then = pp_arena_printf(arena, "; at this rate the %s still available are full in %s",
                               pp_text_bytes(left, CELL, g->free_bytes),
                               pp_text_duration(full, CELL, g->full_s * 1e9));
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, PP_FINDING_FOUND,
        pp_arena_printf(arena, "%s grows %s/s (%s to %s)%s%s", process_name(source, arena, g->pid),
                        pp_text_bytes(rate, CELL, g->per_s), pp_text_bytes(low, CELL, g->low_per_s),
                        pp_text_bytes(high, CELL, g->high_per_s), others, then));
    f->next_step = pp_remedies[PP_REMEDY_MEMORY_GROWTH].sentence;
    pp_finding_number(f, "bytes_per_s", g->per_s);
    pp_finding_number(f, "low_bytes_per_s", g->low_per_s);
    pp_finding_number(f, "high_bytes_per_s", g->high_per_s);
    pp_finding_number(f, "all_bytes_per_s", g->all_per_s);
    pp_finding_number(f, "processes", (double)g->growing);
    pp_finding_number(f, "pid", (double)g->pid);
    pp_finding_number(f, "available_bytes", g->free_bytes);
    pp_finding_number(f, "full_in_s", g->full_s);
}

/* Slices of the whole run tell how many batches were ready. */
static void add_debt(const struct pp_timeline *tl, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "buffer-debt";
    char most[CELL], cover[CELL], first[CELL], took[CELL], times[CELL];
    double peak = 0, full_at = NAN, first_s = NAN, took_s = NAN, runs_dry = 0;
    size_t known = 0;
    for (size_t i = 0; i < r->n_slices; i++)
        if (!isnan(r->slices[i].ready_batches)) {
            known++;
            peak = fmax(peak, r->slices[i].ready_batches);
        }
    if (!known || !r->has_step || !tl->has_steady_state) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       "how many batches were ready for the trainer was not recorded");
        return;
    }
    for (size_t i = 0; i < r->n_slices && peak >= LEAST_BUFFER; i++) {
        const struct pp_report_slice *s = &r->slices[i];
        if (s->ready_batches >= peak / 2) {
            full_at = s->end_s;
        } else if (s->ready_batches < fmax(1, peak / 10) && s->wait_share >= PP_LEAST_SHARE &&
                   !isnan(full_at) && s->end_s <= r->window_end_s) {
            if (runs_dry < 1) {
                first_s = s->start_s;
                took_s = s->start_s - full_at;
            }
            runs_dry++;
            full_at = NAN; /* until it has been full again */
        }
    }
    double covers_s = r->batches_per_s > 0 ? peak / r->batches_per_s : NAN;
    pp_text_count(most, CELL, round(peak));
    pp_text_duration(cover, CELL, covers_s * 1e9);
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, runs_dry > 0 ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        runs_dry > 0
            ? pp_arena_printf(
                  arena,
                  "the prefetched batches ran out %s, first at %s, %s after the buffer was half full; then the trainer stalled. Its %s batches last %s without workers",
                  pp_text_counted(times, CELL, runs_dry, "time", "times"),
                  pp_text_duration(first, CELL, first_s * 1e9),
                  pp_text_duration(took, CELL, fmax(took_s, 0) * 1e9), most, cover)
            : pp_arena_printf(
                  arena,
                  "the buffer (%s batches at most, %s without workers) did not run out after it had been full",
                  most, cover));
    f->next_step = runs_dry > 0 ? pp_remedies[PP_REMEDY_BUFFER_DEBT].sentence : NULL;
    pp_finding_number(f, "ran_out", runs_dry);
    pp_finding_number(f, "first_s", first_s);
    pp_finding_number(f, "took_s", took_s);
    pp_finding_number(f, "most_batches", peak);
    pp_finding_number(f, "lasts_s", covers_s);
}

void pp_findings_of_workers(const struct pp_source *source, const struct pp_timeline *tl,
                            const struct pp_checks *checks, struct pp_arena *arena, struct pp_report *r)
{
    add_lockstep(&checks->patterns.lockstep, arena, r);
    add_restarts(tl, &checks->patterns.restarts, arena, r);
    add_hang(checks->origin_ns, &checks->patterns.hang, arena, r);
    add_memory(source, &checks->memory, arena, r);
    add_debt(tl, arena, r);
}
