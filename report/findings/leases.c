#include "report/findings/leases.h"

#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/verdict/remedies.h"

#include <math.h>
#include <stdlib.h>

enum { CELL = 40 };

#define LEAST_WAIT_SHARE 0.05 /* the smallest share that counts, as at the boundaries of epochs */

struct pp_leases_pass {
    const struct pp_source *source;
    const struct pp_timeline *tl;
    struct pp_lease_use use;
};

struct pp_leases_pass *pp_leases_begin(const struct pp_source *source, const struct pp_timeline *tl)
{
    struct pp_leases_pass *p = calloc(1, sizeof(*p));
    if (p) {
        p->source = source;
        p->tl = tl;
    }
    return p;
}

void pp_leases_chunk(struct pp_leases_pass *p, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->phase == PP_PHASE_LEASE) {
            p->use.looks++;
            p->use.looks_ns += (double)s->dur_ns;
        } else if (s->phase == PP_PHASE_LEASE_WAIT) {
            p->use.wait_ns += (double)s->dur_ns;
            p->use.longest_ns = fmax(p->use.longest_ns, (double)s->dur_ns);
        }
    }
}

void pp_leases_end(struct pp_leases_pass *p, struct pp_lease_use *out)
{
    *out = (struct pp_lease_use){0};
    if (!p)
        return;
    *out = p->use;
    out->run_ns = p->tl->spans ? (double)(p->tl->last_ns - p->tl->first_ns) : NAN;
    out->taken = pp_source_number(p->source, "result", "leases", NAN);
    out->stolen = pp_source_number(p->source, "result", "leases_stolen", NAN);
    out->lost = pp_source_number(p->source, "result", "leases_lost", NAN);
    free(p);
}

static const char *accidents(const struct pp_lease_use *u, struct pp_arena *arena)
{
    char a[CELL], b[CELL];
    const char *stolen = u->stolen > 0 ? pp_arena_printf(arena, "; %s of ranks that died or left",
                                                         pp_text_counted(a, CELL, u->stolen, "was", "were"))
                                       : "",
               *lost = u->lost > 0 ? pp_arena_printf(arena, "; %s lost to other ranks",
                                                     pp_text_counted(b, CELL, u->lost, "was", "were"))
                                   : "";
    return pp_arena_printf(arena, "%s%s", stolen, lost);
}

void pp_findings_of_leases(const struct pp_lease_use *u, struct pp_arena *arena, struct pp_report *r)
{
    static const char kind[] = "lease-waits";
    char leased[CELL], wait[CELL], share_text[CELL], look[CELL];
    double share = u->wait_ns / u->run_ns;
    if (!u->looks)
        return;
    if (isnan(u->taken)) {
        pp_finding_add(r, arena, kind, PP_FINDING_NOT_MEASURED,
                       "the run was killed before it could store how many shards it leased");
        return;
    }
    int found = share >= LEAST_WAIT_SHARE;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, kind, found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            "%s leased%s; the shard reader waited %s (%s of the run) for the shards that were left at the end of an epoch, and %s to lease",
            pp_text_counted(leased, CELL, u->taken, "shard", "shards"), accidents(u, arena),
            pp_text_duration(wait, CELL, u->wait_ns), pp_text_percent(share_text, CELL, share),
            pp_text_duration(look, CELL, u->looks_ns)));
    f->next_step = found ? pp_remedies[PP_REMEDY_LEASES].sentence : NULL;
    pp_finding_number(f, "leases", u->taken);
    pp_finding_number(f, "stolen", u->stolen);
    pp_finding_number(f, "lost", u->lost);
    pp_finding_number(f, "wait_s", u->wait_ns / 1e9);
    pp_finding_number(f, "wait_share", share);
    pp_finding_number(f, "longest_wait_s", u->longest_ns / 1e9);
    pp_finding_number(f, "leasing_s", u->looks_ns / 1e9);
}
