/* What is said of the ranks: facts in words for the rules (report/rules/ranks.def), and of recordings that
 * have no end yet, and of clocks. */
#include "report/ranks/judge.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"

#include <time.h>

enum { CELL = 48, SILENT_SHOWN = 4 };
#define SILENT_NS 150e9 /* two digests and a half: one that is so much older than the newest has stopped */
#define APART_NS 1e6    /* of two clocks: less is of no use to a person */

/* ---- of the recordings ---- */

void judge_recordings(struct judge *j)
{
    struct pp_ranks *r = j->r;
    double *m = j->fact;
    const char *launcher = r->launcher ? r->launcher : "";
    for (int i = 0; i < PP_RANKS_FACT_COUNT; i++)
        m[i] = NAN;
    m[PP_RANKS_FACT_RECORDED] = (double)j->d->n_rows;
    m[PP_RANKS_FACT_STEPS] = (double)r->compared_steps;
    m[PP_RANKS_FACT_LEAST] = PP_RANKS_LEAST_STEPS;
    m[PP_RANKS_FACT_MET] = j->met ? 1 : NAN;
    /* the launcher of an imported trace is the profiler that wrote it (collectors/import) */
    m[PP_RANKS_FACT_IMPORTED] = strcmp(launcher, "kineto") == 0 || strcmp(launcher, "nsys") == 0 ? 1 : NAN;
    /* Names the ranks of the job that have no row. */
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
    /* A recording that was not finished has no outcome; one that is still written is another matter. */
    ranges = 0;
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const struct pp_rank_row *row = &j->d->rows[i];
        const char **ranks = &j->text[PP_RANKS_FACT_KILLED];
        if (row->outcome ? strcmp(row->outcome, PP_RANK_KILLED) != 0 : row->running)
            continue;
        *ranks = pp_ranges_add(&r->arena, *ranks, ranges++, row->rank, row->rank);
        if (!row->outcome)
            m[PP_RANKS_FACT_CUT] = 1;
    }
    const char **version = &j->text[PP_RANKS_FACT_VERSION];
    for (size_t i = 0; i < j->d->n_rows; i++) {
        const char *v = j->d->rows[i].version;
        *version = *version ? *version : v;
        if (v && strcmp(v, *version) != 0)
            j->text[PP_RANKS_FACT_OTHER_VERSION] = v;
    }
    /* of a job that failed under one exec, whose ranks all end with the launcher */
    for (size_t i = 0; i < r->n_rows && !j->text[PP_RANKS_FACT_FIRST]; i++)
        if (r->rows[i].first_by_ns > 0) {
            j->text[PP_RANKS_FACT_FIRST] = pp_arena_printf(&r->arena, "%.0f", r->rows[i].rank);
            m[PP_RANKS_FACT_FIRST_BY] = r->rows[i].first_by_ns;
        }
}

/* ---- of the slow one ---- */

static void name_slow(struct judge *j)
{
    struct pp_ranks *r = j->r;
    const struct pp_ranks_row *slow = &r->rows[j->slow];
    const char **text = j->text, *host = slow->host ? slow->host : "";
    double *m = j->fact;
    text[PP_RANKS_FACT_RANK] = pp_arena_printf(&r->arena, "%d", r->n_rows ? (int)slow->rank : 0);
    if (!r->n_rows)
        return;
    text[PP_RANKS_FACT_HOST] = slow->host;
    text[PP_RANKS_FACT_PLACE] = pp_arena_printf(&r->arena, "%s%s%s%s%s", host[0] ? "node " : "", host,
                                                host[0] && slow->gpu ? ", " : "", slow->gpu ? "GPU " : "",
                                                slow->gpu ? slow->gpu : "");
    /* the command is going to be pasted, and a digest may have been made to call its file anything */
    text[PP_RANKS_FACT_FILE] = slow->file && slow->file[0] != '-' && pp_text_is_shell_word(slow->file)
                                   ? slow->file
                                   : "FILE";
    m[PP_RANKS_FACT_LAST_SHARE] = slow->last_share;
    m[PP_RANKS_FACT_LOST] = r->lost_ns;
    m[PP_RANKS_FACT_LOST_SHARE] = r->lost_share;
    if (isnan(r->straggler_rank) && !r->straggler_host)
        return;
    m[PP_RANKS_FACT_WHO] = r->kind == PP_RANKS_NODE                               ? PP_RANKS_ALL_OF_NODE
                           : slow->l2 && strcmp(slow->l2, "straggler-shard") == 0 ? PP_RANKS_ONE_SHARD
                                                                                  : PP_RANKS_ONE;
    if (!isnan(r->since_step))
        text[PP_RANKS_FACT_SINCE] = pp_arena_printf(&r->arena, "%.0f", r->since_step);
    m[PP_RANKS_FACT_AFTER] = r->since_s * 1e9;
    m[PP_RANKS_FACT_EXCHANGE] = j->exchange_ns > 0 ? j->exchange_ns : NAN;
    m[PP_RANKS_FACT_GAP] = r->gap_ns;
    text[PP_RANKS_FACT_CAUSE] = r->cause;
    m[PP_RANKS_FACT_CAUSE_SHARE] = r->cause_share;
    text[PP_RANKS_FACT_INPUT_CAUSE] = r->input_cause;
    m[PP_RANKS_FACT_INPUT_CAUSE_TIME] = r->input_cause_ns;
    m[PP_RANKS_FACT_INPUT_MEDIAN] = r->input_median_ns;
    m[PP_RANKS_FACT_CPU_WAIT_SHARE] = r->cpu_wait_share;
    m[PP_RANKS_FACT_TRAINER_DELAY] = j->trainer_delay_ns;
    m[PP_RANKS_FACT_WORKER_DELAY] = j->worker_delay_ns;
    m[PP_RANKS_FACT_EXCHANGE_DELAY] = r->exchange_delay_ns >= 0.01 * r->step_ns ? r->exchange_delay_ns : NAN;
}

/* ---- of time ---- */

const char *judge_moment(struct pp_arena *a, uint64_t utc_ns, const char *format)
{
    time_t s = (time_t)(utc_ns / 1000000000);
    struct tm t;
    char text[CELL];
    return utc_ns && gmtime_r(&s, &t) && strftime(text, sizeof(text), format, &t) ? pp_arena_copy(a, text)
                                                                                  : NULL;
}

/* On the first rank's clock, where that is known. */
static double until_of(const struct judge *j, size_t row)
{
    return (double)j->d->rows[row].until_utc_ns + (double)j->ahead_ns[row];
}

static void say_unended(struct judge *j, const char *ranks, int many, uint64_t until_utc_ns)
{
    struct pp_arena *a = &j->r->arena;
    const char *when = judge_moment(a, until_utc_ns, "%Y-%m-%d %H:%M:%S UTC"), *before = j->r->no_end;
    j->r->no_end = pp_arena_printf(a, "%s%srank%s %s: no end, last digest %s", before ? before : "",
                                   before ? "; " : "", many ? "s" : "", ranks, when ? when : "unknown");
}

/* Those that have been silent for longer than the others one by one, the others together. */
static void name_unended(struct judge *j)
{
    struct pp_arena *a = &j->r->arena;
    const struct pp_rank_row *rows = j->d->rows;
    const char *others = NULL;
    size_t ranges = 0, silent = 0, n = 0;
    uint64_t until = 0;
    double newest = 0;
    for (size_t i = 0; i < j->d->n_rows; i++)
        newest = fmax(newest, until_of(j, i));
    for (size_t i = 0; i < j->d->n_rows; i++) {
        if (!rows[i].running)
            continue;
        if (newest - until_of(j, i) > SILENT_NS) {
            if (silent++ < SILENT_SHOWN)
                say_unended(j, pp_arena_printf(a, "%lld", (long long)rows[i].rank), 0, rows[i].until_utc_ns);
            continue;
        }
        size_t first = i;
        while (i + 1 < j->d->n_rows && rows[i + 1].running && rows[i + 1].rank == rows[i].rank + 1 &&
               newest - until_of(j, i + 1) <= SILENT_NS)
            i++;
        others = pp_ranges_add(a, others, ranges++, rows[first].rank, rows[i].rank);
        n += i - first + 1;
        for (size_t k = first; k <= i; k++)
            until = rows[k].until_utc_ns > until ? rows[k].until_utc_ns : until;
    }
    if (silent > SILENT_SHOWN)
        j->r->no_end = pp_arena_printf(a, "%s; and %zu more", j->r->no_end, silent - SILENT_SHOWN);
    if (others)
        say_unended(j, others, n > 1, until);
}

static const char *say_first(struct judge *j, const struct pp_rule *rules, size_t n)
{
    const struct pp_values v = judge_values(j);
    const struct pp_rule *rule = pp_rules_first(rules, n, &v);
    return rule ? pp_rules_fill(rule->said, &v, &j->r->arena) : NULL;
}

void judge_words(struct judge *j, const struct pp_rule *rule)
{
    struct pp_ranks *r = j->r;
    const struct pp_values v = judge_values(j);
    j->fact[PP_RANKS_FACT_KIND] = r->kind;
    name_slow(j);
    name_unended(j);
    char apart[CELL], error[CELL];
    const struct pp_ranks_row *row = &j->r->rows[j->slowest_clock];
    double reference = NAN;
    if (j->slowest_clock != j->d->n_rows && !(fabs(row->clock_offset_ns) < row->clock_error_ns + APART_NS)) {
        for (size_t i = 0; i < j->d->n_rows && isnan(reference); i++)
            if (j->r->rows[i].clock_error_ns == 0)
                reference = j->r->rows[i].rank;
        j->r->clocks = pp_arena_printf(
            &j->r->arena,
            "rank %.0f's is %s %s rank %.0f's, to within %s; steps are compared by number, and times of one clock each",
            row->rank, pp_text_duration(apart, sizeof(apart), fabs(row->clock_offset_ns)),
            row->clock_offset_ns > 0 ? "ahead of" : "behind", reference,
            pp_text_duration(error, sizeof(error), row->clock_error_ns));
    }
    r->sentence = pp_rules_fill(rule->said, &v, &r->arena);
    if (rule->says == PP_SAYS_SO)
        r->next_step = pp_rules_fill(pp_remedies[rule->remedy].sentence, &v, &r->arena);
    if (!isnan(j->fact[PP_RANKS_FACT_WHO]))
        r->why = say_first(j, pp_ranks_whys, pp_ranks_whys_n);
    r->where = say_first(j, pp_ranks_wheres, pp_ranks_wheres_n);
    for (size_t i = 0; i < pp_ranks_notes_n; i++)
        if (!pp_rule_missed(&pp_ranks_notes[i], &v)) {
            const char *note = pp_rules_fill(pp_ranks_notes[i].said, &v, &r->arena);
            r->note = r->note ? pp_arena_printf(&r->arena, "%s; %s", r->note, note) : note;
        }
}
