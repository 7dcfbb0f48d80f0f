/* The ends of collective steps in recordings, for clock.h. */
#include "report/ranks/clock.h"

#include "probe/base/err.h"
#include "report/source/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCHES = 1 << 21 };

struct ends {
    const struct pp_source *source;
    struct pp_collective_ends *to;
    int no_memory;
};

static int is_trainer(const struct pp_source *s, uint32_t id)
{
    const struct pp_thread_row *rows;
    size_t n = s->threads(s->ctx, &rows);
    for (size_t i = 0; i < n; i++)
        if (rows[i].id == id)
            return rows[i].lane == PP_LANE_TRAINER;
    return 0;
}

static int on_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct ends *e = ctx;
    struct pp_collective_ends *to = e->to;
    if (!is_trainer(e->source, thread))
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase != PP_PHASE_COLLECTIVE || s->batch >= MOST_BATCHES || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        if (s->batch >= to->n) {
            size_t room = to->n ? to->n : 1024;
            while (room <= s->batch)
                room *= 2;
            uint64_t *grown = realloc(to->at, room * sizeof(*grown));
            if (!grown)
                return e->no_memory = 1;
            memset(grown + to->n, 0, (room - to->n) * sizeof(*grown));
            to->at = grown;
            to->n = room;
        }
        uint64_t end = s->start_ns + s->dur_ns;
        to->at[s->batch] = end > to->at[s->batch] ? end : to->at[s->batch];
    }
    return 0;
}

/* Its one thread, which saves to read the others; NULL: there are several. */
static const uint32_t *only_trainer(const struct pp_source *s)
{
    const struct pp_thread_row *rows;
    const uint32_t *only = NULL;
    size_t n = s->threads(s->ctx, &rows);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].lane != PP_LANE_TRAINER)
            continue;
        if (only)
            return NULL;
        only = &rows[i].id;
    }
    return only;
}

/* A process that met a part of the ranks alone says so (collectors/attach/python/meets.c). */
static void look_for_groups(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    *(int *)ctx |= value && strstr(value, "clocks are not compared") != NULL;
}

pp_status pp_collective_ends_read(const struct pp_source *s, struct pp_collective_ends *io,
                                  struct pp_err *err)
{
    const struct pp_wanted wanted = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_FLAGS,
                                     .thread = only_trainer(s)};
    uint64_t bad = 0;
    struct ends e = {.source = s, .to = io};
    int groups = 0;
    pp_status st = s->each_meta(s->ctx, "process_note", look_for_groups, &groups, err);
    if (st != PP_OK || groups)
        return st;
    st = s->each_chunk(s->ctx, &wanted, on_chunk, &e, &bad, err);
    return st == PP_OK && e.no_memory ? pp_fail(err, PP_E_NO_MEMORY, "no memory to align %s", s->path) : st;
}

/* What the hosts' own clocks say: right where they are synchronised, and no error is known. */
static void by_host_clock(const struct pp_source *reference, const struct pp_source *own,
                          struct pp_clock *out)
{
    double r_mono = pp_source_number(reference, "run", "started_mono_ns", NAN),
           r_utc = pp_source_number(reference, "run", "started_utc_ns", NAN),
           mono = pp_source_number(own, "run", "started_mono_ns", NAN),
           utc = pp_source_number(own, "run", "started_utc_ns", NAN), ahead = (utc - r_utc) - (mono - r_mono);
    if (isfinite(ahead) && fabs(ahead) < 9e18)
        out->ahead_ns = (int64_t)ahead;
}

static pp_status align_one(const struct pp_collective_ends *reference, const struct pp_collective_ends *own,
                           struct pp_clock *out, struct pp_err *err)
{
    size_t n = 0, most = reference->n < own->n ? reference->n : own->n;
    struct pp_clock_pair *pairs = calloc(most + 1, sizeof(*pairs));
    if (!pairs)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to align clocks by %zu steps", most);
    for (size_t b = 0; b < most; b++)
        if (reference->at[b] && own->at[b])
            pairs[n++] = (struct pp_clock_pair){own->at[b], reference->at[b]};
    pp_status st = pp_clock_fit(pairs, n, out, err);
    free(pairs);
    return st;
}

pp_status pp_clock_align(const struct pp_source *sources, size_t n, struct pp_clock *out, struct pp_err *err)
{
    struct pp_collective_ends reference = {0};
    memset(out, 0, n * sizeof(*out));
    pp_status st = n ? pp_collective_ends_read(&sources[0], &reference, err) : PP_OK;
    for (size_t i = 1; st == PP_OK && i < n; i++) {
        struct pp_collective_ends own = {0};
        st = pp_collective_ends_read(&sources[i], &own, err);
        if (st == PP_OK)
            st = align_one(&reference, &own, &out[i], err);
        if (st == PP_OK && out[i].unknown)
            by_host_clock(&sources[0], &sources[i], &out[i]);
        free(own.at);
    }
    free(reference.at);
    return st;
}
