/* What is said of recordings that have no end yet, and of clocks. */
#include "report/ranks/judge.h"

#include "probe/base/arena.h"
#include "probe/base/text.h"

#include <math.h>
#include <time.h>

enum { CELL = 48, SILENT_SHOWN = 4 };
#define SILENT_NS 150e9 /* two digests and a half: one that is so much older than the newest has stopped */
#define APART_NS 1e6    /* of two clocks: less is of no use to a person */

static const char *moment(struct pp_arena *a, uint64_t utc_ns, const char *format)
{
    time_t s = (time_t)(utc_ns / 1000000000);
    struct tm t;
    char text[CELL];
    return utc_ns && gmtime_r(&s, &t) && strftime(text, sizeof(text), format, &t) ? pp_arena_copy(a, text)
                                                                                  : NULL;
}

const char *judge_utc(struct pp_arena *a, uint64_t utc_ns)
{
    return moment(a, utc_ns, "%Y-%m-%dT%H:%M:%SZ");
}

/* On the first rank's clock, where that is known. */
static double until_of(const struct judge *j, size_t row)
{
    return (double)j->d->rows[row].until_utc_ns + (double)j->ahead_ns[row];
}

static double newest_of(const struct judge *j)
{
    double newest = 0;
    for (size_t i = 0; i < j->d->n_rows; i++)
        newest = fmax(newest, until_of(j, i));
    return newest;
}

static void add(struct judge *j, const char *ranks, int many, uint64_t until_utc_ns)
{
    struct pp_arena *a = &j->r->arena;
    const char *when = moment(a, until_utc_ns, "%Y-%m-%d %H:%M:%S UTC"), *before = j->r->no_end;
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
    double newest = newest_of(j);
    for (size_t i = 0; i < j->d->n_rows; i++) {
        if (!rows[i].running)
            continue;
        if (newest - until_of(j, i) > SILENT_NS) {
            if (silent++ < SILENT_SHOWN)
                add(j, pp_arena_printf(a, "%lld", (long long)rows[i].rank), 0, rows[i].until_utc_ns);
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
        add(j, others, n > 1, until);
}

static void name_clocks(struct judge *j)
{
    char apart[CELL], error[CELL];
    const struct pp_ranks_row *row = &j->r->rows[j->slowest_clock];
    double reference = NAN;
    if (j->slowest_clock == j->d->n_rows || fabs(row->clock_offset_ns) < row->clock_error_ns + APART_NS)
        return;
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

void judge_words_of_time(struct judge *j)
{
    name_unended(j);
    name_clocks(j);
}
