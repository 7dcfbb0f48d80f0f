#include "report/ranks/judge.h"

#include "probe/base/arena.h"
#include "probe/base/text.h"

#include <math.h>
#include <string.h>

enum { CELL = 48 };

void judge_missing(struct judge *j)
{
    struct pp_ranks *r = j->r;
    size_t ranges = 0;
    int64_t next = 0, world = isnan(r->world_size) ? 0 : (int64_t)r->world_size;
    for (size_t i = 0; i <= j->d->n_rows; i++) {
        int64_t here = i < j->d->n_rows ? j->d->rows[i].rank : world;
        if (here > next) {
            r->missing_ranks += (uint64_t)(here - next);
            r->missing = pp_ranges_add(&r->arena, r->missing, ranges++, next, here - 1);
        }
        next = here + 1;
    }
}

static const char *place_of(struct judge *j)
{
    struct pp_ranks *r = j->r;
    const struct pp_ranks_row *row = &r->rows[j->slow];
    const char *host = row->host ? row->host : "";
    return pp_arena_printf(&r->arena, "%s%s%s%s%s%s", host[0] || row->gpu ? " (" : "", host[0] ? "node " : "",
                           host, host[0] && row->gpu ? ", " : "", row->gpu ? "GPU " : "",
                           row->gpu ? row->gpu : "");
}

/* The launcher of an imported trace is the profiler that wrote it (collectors/import). */
static int is_imported(const struct judge *j)
{
    static const char *const profilers[] = {"kineto", "nsys"};
    int imported = 0;
    for (size_t i = 0; i < sizeof(profilers) / sizeof(*profilers); i++)
        imported |= j->r->launcher && strcmp(j->r->launcher, profilers[i]) == 0;
    return imported;
}

/* The command is going to be pasted, and a digest may have been made to call its file anything. */
static const char *file_of(const struct pp_ranks_row *row)
{
    return row->file && row->file[0] != '-' && pp_text_is_shell_word(row->file) ? row->file : "FILE";
}

/* Its threads wait for CPUs that others use: which of them, and in what. */
static const char *why_contended(struct judge *j, const char *gap)
{
    struct pp_ranks *r = j->r;
    char part[CELL], trainer[CELL], workers[CELL], exchange[CELL];
    pp_text_percent(part, sizeof(part), r->cpu_wait_share);
    pp_text_duration(trainer, sizeof(trainer), j->trainer_delay_ns);
    pp_text_duration(workers, sizeof(workers), j->worker_delay_ns);
    int exchanges = r->exchange_delay_ns >= 0.01 * r->step_ns;
    if (j->exchange_ns > 0)
        return pp_arena_printf(
            &r->arena,
            "CPU contention: its threads that exchange with the other ranks were ready and had no CPU for %s a step, its trainer "
            "for %s; its workers' wait for one delays data by %s a step",
            pp_text_duration(exchange, sizeof(exchange), r->exchange_delay_ns), trainer, workers);
    return pp_arena_printf(
        &r->arena,
        "CPU contention: waiting for a CPU has %s of the %s by which it is behind the median rank; its trainer was ready "
        "without one for %s a step, its workers' wait for one delays data by %s a step%s%s%s",
        part, gap, trainer, workers, exchanges ? "; the exchange with the other ranks waits " : "",
        exchanges ? pp_text_duration(exchange, sizeof(exchange), r->exchange_delay_ns) : "",
        exchanges ? " a step for one" : "");
}

/* A straggler that need not come last. */
static const char *in_exchange(struct judge *j, const char *place, const char *close)
{
    struct pp_ranks *r = j->r;
    char share[CELL], steps[CELL], cost[CELL], of_step[CELL];
    return pp_arena_printf(
        &r->arena,
        "Rank %d%s%s is the straggler: all ranks wait %s per step for its part in the exchange, %s of a step. It comes last in "
        "%s of %s.",
        (int)r->rows[j->slow].rank, place, close, pp_text_duration(cost, sizeof(cost), j->exchange_ns),
        pp_text_percent(of_step, sizeof(of_step), j->exchange_ns / r->step_ns),
        pp_text_percent(share, sizeof(share), r->rows[j->slow].last_share),
        pp_text_counted(steps, sizeof(steps), (double)r->compared_steps, "step", "steps"));
}

/* One rank or all of a node, in what part of its data where its own verdict says so, and since when. */
static const char *where_of(struct judge *j, const struct pp_ranks_row *slow)
{
    struct pp_ranks *r = j->r;
    char after[CELL];
    const char *who = r->kind == PP_RANKS_NODE ? "all ranks of one node"
                      : slow->l2 && strcmp(slow->l2, "straggler-shard") == 0
                          ? "one rank, in one part of its data"
                          : "one rank";
    if (j->exchange_ns > 0)
        return who;
    if (isnan(r->since_step))
        return pp_arena_printf(&r->arena, "%s, from the first compared step on", who);
    return pp_arena_printf(&r->arena, "%s, since step %.0f%s%s", who, r->since_step,
                           isnan(r->since_s) ? "" : ", after ",
                           isnan(r->since_s) ? "" : pp_text_duration(after, sizeof(after), r->since_s * 1e9));
}

static void say(struct judge *j)
{
    struct pp_ranks *r = j->r;
    char share[CELL], lost[CELL], of_step[CELL], gap[CELL], more[CELL], part[CELL], own[CELL], median[CELL],
        steps[CELL], most[CELL];
    const struct pp_ranks_row *slow = r->n_rows ? &r->rows[j->slow] : NULL;
    int rank = slow ? (int)slow->rank : 0;
    const char *place = slow ? place_of(j) : "";
    const char *close = place && *place ? ")" : "";
    pp_text_percent(share, sizeof(share), r->last_share);
    pp_text_counted(steps, sizeof(steps), (double)r->compared_steps, "step", "steps");
    pp_text_duration(lost, sizeof(lost), r->lost_ns);
    pp_text_percent(of_step, sizeof(of_step), r->lost_share);
    switch (r->kind) {
    case PP_RANKS_INCONCLUSIVE:
        r->sentence = r->n_rows < 2
                          ? pp_arena_printf(
                                &r->arena,
                                "Only rank %d was recorded: there is no other rank to compare it with.", rank)
                          : pp_arena_printf(&r->arena, "%s are in all recordings: at least %d are compared.",
                                            steps, PP_RANKS_LEAST_STEPS);
        if (r->n_rows >= 2 && is_imported(j))
            r->next_step =
                "Profile 20 steps or more of each rank: torch.profiler.schedule(wait=1, warmup=1, active=21).";
        return;
    case PP_RANKS_STRAGGLER:
        r->sentence =
            j->exchange_ns > 0
                ? in_exchange(j, place, close)
                : pp_arena_printf(
                      &r->arena,
                      "Rank %d%s%s is the straggler: last in %s of %s. Each other rank waits %s per step for it, %s of a step.",
                      rank, place, close, share, steps, lost, of_step);
        break;
    case PP_RANKS_NODE:
        r->sentence = pp_arena_printf(
            &r->arena,
            "Node %s is the straggler: its ranks are last in %s of %s. A rank waits %s per step for the last one, %s of a step.",
            slow->host, pp_text_percent(share, sizeof(share), j->node_share), steps, lost, of_step);
        break;
    case PP_RANKS_ROTATING:
        r->sentence = pp_arena_printf(
            &r->arena,
            "No single slowest rank (most often rank %d, %s of %s), but the ranks wait %s per step for the last one, %s of a step.",
            rank, share, steps, lost, of_step);
        r->where = "Another rank is last each time: samples of uneven cost, or jitter of the machines.";
        r->next_step =
            "Give batches of equal work to all ranks (samples of similar length together), or prefetch more.";
        return;
    case PP_RANKS_APART:
        r->sentence = pp_arena_printf(
            &r->arena,
            "Rank %d%s%s is slower, and the others do not wait for it: its steps take %s longer than the median rank's.",
            rank, place, close, pp_text_duration(more, sizeof(more), j->apart_ns));
        break;
    case PP_RANKS_INPUT:
        r->sentence = pp_arena_printf(
            &r->arena,
            "No straggler: the ranks are alike and wait for data, %s of a step at the median rank. The cause is common to them.",
            pp_text_percent(most, sizeof(most), j->median_wait_ns / r->step_ns));
        r->next_step =
            "Look at one rank's report; what helps it helps all. Storage that all share comes first.";
        return;
    default:
        r->sentence = pp_arena_printf(
            &r->arena,
            "No straggler: no single slowest rank (most often rank %d, %s of %s), and %s per step is lost to waiting, %s of a step.",
            rank, share, steps, lost, of_step);
        return;
    }
    pp_text_duration(gap, sizeof(gap), r->gap_ns);
    if (r->cause && strcmp(r->cause, PP_RANKS_CONTENDED) == 0)
        r->why = why_contended(j, gap);
    else if (r->cause)
        r->why = pp_arena_printf(&r->arena,
                                 "%s has %s of the %s by which it is behind the median rank%s%s%s%s%s%s",
                                 r->cause, pp_text_percent(part, sizeof(part), r->cause_share), gap,
                                 r->input_cause ? "; in it " : "", r->input_cause ? r->input_cause : "",
                                 r->input_cause ? ", " : "",
                                 r->input_cause ? pp_text_duration(own, sizeof(own), r->input_cause_ns) : "",
                                 r->input_cause ? " a sample against " : "",
                                 r->input_cause ? pp_text_duration(median, sizeof(median), r->input_median_ns)
                                                : "");
    else
        r->why = pp_arena_printf(
            &r->arena, "unattributed: no phase has 80 %% of the %s by which it is behind the median rank",
            gap);
    r->where = where_of(j, slow);
    r->next_step = pp_arena_printf(&r->arena, "pipeprobe report %s", file_of(slow));
}

static const char *join(struct pp_arena *a, const char *list, const char *more)
{
    return list && more ? pp_arena_printf(a, "%s; %s", list, more) : list ? list : more;
}

static const char *versions_of(struct judge *j)
{
    const char *version = NULL, *other = NULL;
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const char *v = j->d->rows[i].version;
        version = version ? version : v;
        other = v && strcmp(v, version) != 0 ? v : other;
    }
    return other ? pp_arena_printf(&j->r->arena, "the recordings are of versions %s and %s of pipeprobe",
                                   version, other)
                 : NULL;
}

/* A recording that was not finished has no outcome; one that is still written is another matter. */
static int is_killed(const struct pp_rank_row *row)
{
    return row->outcome ? strcmp(row->outcome, PP_RANK_KILLED) == 0 : !row->running;
}

static const char *killed_of(struct judge *j)
{
    const char *ranks = NULL;
    size_t ranges = 0;
    int cut = 0;
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const struct pp_rank_row *row = &j->d->rows[i];
        if (!is_killed(row))
            continue;
        ranks = pp_ranges_add(&j->r->arena, ranks, ranges++, row->rank, row->rank);
        cut |= !row->outcome;
    }
    return ranks ? pp_arena_printf(
                       &j->r->arena,
                       "killed before it was done: rank %s; steps that it did not reach are not compared%s",
                       ranks, cut ? "; a recording that was copied while it was written looks the same" : "")
                 : NULL;
}

/* Of a job that failed under one exec, whose ranks all end with the launcher. */
static const char *first_of(struct judge *j)
{
    const char *said = NULL;
    char by[CELL];
    for (size_t i = 0; i < j->r->n_rows && !said; i++)
        if (j->r->rows[i].first_by_ns > 0)
            said = pp_arena_printf(&j->r->arena,
                                   "the job failed, and rank %.0f ended first, %s before the next one",
                                   j->r->rows[i].rank,
                                   pp_text_duration(by, sizeof(by), j->r->rows[i].first_by_ns));
    return said;
}

static const char *imported_of(const struct judge *j)
{
    return is_imported(j) && j->met
               ? "imported traces: the wait for other ranks is the time of collectives inside of a step, whether the step waits "
                 "for them or not; NCCL's kernels run beside it on the GPU, and hold the transfer too"
               : NULL;
}

static void note_what_limits(struct judge *j)
{
    struct pp_ranks *r = j->r;
    if (!j->met && r->kind != PP_RANKS_INCONCLUSIVE)
        r->note =
            "the ranks' waits for each other were not recorded, so only input is compared: a rank that is "
            "slow in the step itself is not seen";
    r->note = join(&r->arena, r->note, imported_of(j));
    r->note = join(&r->arena, r->note, killed_of(j));
    r->note = join(&r->arena, r->note, first_of(j));
    r->note = join(&r->arena, r->note, versions_of(j));
}

void judge_words(struct judge *j)
{
    note_what_limits(j);
    judge_words_of_time(j);
    say(j);
}
