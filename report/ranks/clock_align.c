/* The ends of collective steps in recordings, for clock.h. */
#include "report/ranks/clock.h"

#include "probe/base/err.h"
#include "report/source/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCHES = 1 << 21 };

/* By batch: when its last collective ended; 0: none. */
struct ends {
    const struct pp_source *source;
    uint64_t *at;
    size_t n;
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
    if (!is_trainer(e->source, thread))
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase != PP_PHASE_COLLECTIVE || s->batch >= MOST_BATCHES || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        if (s->batch >= e->n) {
            size_t room = e->n ? e->n : 1024;
            while (room <= s->batch)
                room *= 2;
            uint64_t *grown = realloc(e->at, room * sizeof(*grown));
            if (!grown)
                return e->no_memory = 1;
            memset(grown + e->n, 0, (room - e->n) * sizeof(*grown));
            e->at = grown;
            e->n = room;
        }
        uint64_t end = s->start_ns + s->dur_ns;
        e->at[s->batch] = end > e->at[s->batch] ? end : e->at[s->batch];
    }
    return 0;
}

static pp_status read_ends(const struct pp_source *s, struct ends *out, struct pp_err *err)
{
    uint64_t bad = 0;
    *out = (struct ends){.source = s};
    pp_status st = s->each_chunk(s->ctx, NULL, on_chunk, out, &bad, err);
    return st == PP_OK && out->no_memory ? pp_fail(err, PP_E_NO_MEMORY, "no memory to align %s", s->path)
                                         : st;
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

static pp_status align_one(const struct ends *reference, const struct ends *own, struct pp_clock *out,
                           struct pp_err *err)
{
    size_t n = 0, most = reference->n < own->n ? reference->n : own->n;
    struct pp_clock_pair *pairs = calloc(most + 1, sizeof(*pairs));
    if (!pairs)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to align clocks by %zu steps", most);
    for (size_t b = 0; b < most; b++)
        if (reference->at[b] && own->at[b])
            pairs[n++] = (struct pp_clock_pair){own->at[b], reference->at[b]};
    pp_status st = pp_clock_fit(pairs, n, out, err);
    if (st == PP_OK && out->unknown)
        by_host_clock(reference->source, own->source, out);
    free(pairs);
    return st;
}

pp_status pp_clock_align(const struct pp_source *sources, size_t n, struct pp_clock *out, struct pp_err *err)
{
    struct ends reference = {0}, own = {0};
    memset(out, 0, n * sizeof(*out));
    pp_status st = n ? read_ends(&sources[0], &reference, err) : PP_OK;
    for (size_t i = 1; st == PP_OK && i < n; i++) {
        st = read_ends(&sources[i], &own, err);
        if (st == PP_OK)
            st = align_one(&reference, &own, &out[i], err);
        free(own.at);
        own.at = NULL;
    }
    free(reference.at);
    return st;
}
