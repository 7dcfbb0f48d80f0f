#include "report/findings/cache.h"

#include "report/findings/counters.h"
#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 40 };

#define LEAST_REQUESTS 20.0 /* fewer say nothing about a share */
#define LEAST_MISSED 0.1    /* of the reads: not in the cache, although they had been asked for before */
#define LEAST_AGAIN 0.01    /* of the reads: fetched again after having made room */
#define MOST_OF 0.5         /* of the workers' time: reading */

static const struct pp_counter_row rows[] = {
#define ROW(name, member, is_state) \
    { \
        "cache_" name, offsetof(struct pp_cache_use, member), is_state \
    }
    ROW("requests_total", requests, 0),
    ROW("hits_total", hits, 0),
    ROW("cold_total", cold, 0),
    ROW("coalesced_total", coalesced, 0),
    ROW("evicted_total", evicted, 0),
    ROW("again_total", again, 0),
    ROW("changed_total", changed, 0),
    ROW("bytes_total", bytes, 0),
    ROW("hit_bytes_total", hit_bytes, 0),
    ROW("page_cache_bytes_total", page_bytes, 0),
    ROW("fetched_bytes_total", fetched_bytes, 0),
    ROW("wait_ns_total", wait_ns, 0),
    ROW("damaged_total", damaged, 1), /* of the whole run */
    ROW("data_bytes", data_bytes, 1),
    ROW("limit_bytes", limit_bytes, 1),
    ROW("held_bytes", held_bytes, 1),
#undef ROW
};

pp_status pp_cache_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                         struct pp_cache_use *out, struct pp_err *err)
{
    const struct pp_counters_asked asked = {rows, sizeof(rows) / sizeof(*rows), start_ns, end_ns};
    size_t seen;
    double watched_ns;
    *out = (struct pp_cache_use){.recorded = 0};
    pp_status st = pp_counters_between(source, &asked, out, &watched_ns, &seen, err);
    out->recorded = seen > 0;
    if (!(watched_ns > 0) || out->requests < LEAST_REQUESTS || !(out->bytes > 0) || !(out->data_bytes > 0))
        out->unknown = "fewer than 20 reads were asked of the cache in the steady state";
    return st;
}

static double read_share(const struct pp_report *r)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == PP_PHASE_READ)
            return r->phases[i].share;
    return 0;
}

static double attainable(const struct pp_cache_use *u)
{
    return fmin(u->limit_bytes / u->data_bytes, 1);
}

static void add_hits(const struct pp_source *source, const struct pp_cache_use *u, struct pp_arena *arena,
                     struct pp_report *r)
{
    char hits[CELL], of[CELL], bytes[CELL], page[CELL], disk[CELL], rest[CELL], most[CELL], cache[CELL],
        data[CELL], wait[CELL], waited[CELL], cold[CELL];
    double by_bytes = u->hit_bytes / u->bytes, from_page = fmin(u->page_bytes / u->bytes, by_bytes),
           missed = fmax(u->requests - u->hits - u->cold, 0) / u->requests;
    int found = r->data_wait_share >= PP_LEAST_SHARE && missed >= LEAST_MISSED && read_share(r) >= MOST_OF;
    const char *coalesced = u->coalesced < 1
                                ? ""
                                : pp_arena_printf(arena, "; %s %s for another of the same bytes",
                                                  pp_text_counted(waited, CELL, u->coalesced, "read waited",
                                                                  "reads waited"),
                                                  pp_text_duration(wait, CELL, u->wait_ns / u->coalesced));
    const char *first = u->cold < 1
                            ? ""
                            : pp_arena_printf(arena, "; %s of the reads were the first of their bytes",
                                              pp_text_percent(cold, CELL, u->cold / u->requests));
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "cache-hits", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            "%s of %s were answered from the cache; of the bytes %s: %s page cache, %s the cache's disk, and %s the "
            "storage; attainable %s (cache %s, data %s so far); %.2f bytes fetched per byte used%s%s",
            pp_text_percent(hits, CELL, u->hits / u->requests),
            pp_text_counted(of, CELL, u->requests, "read", "reads"), pp_text_percent(bytes, CELL, by_bytes),
            pp_text_percent(page, CELL, from_page), pp_text_percent(disk, CELL, by_bytes - from_page),
            pp_text_percent(rest, CELL, 1 - by_bytes), pp_text_percent(most, CELL, attainable(u)),
            pp_text_bytes(cache, CELL, u->limit_bytes), pp_text_bytes(data, CELL, u->data_bytes),
            u->fetched_bytes / u->bytes, first ? first : "", coalesced ? coalesced : ""));
    f->next_step = found ? pp_remedies[PP_REMEDY_CACHE_SIZE].sentence : NULL;
    pp_finding_number(f, "reads", u->requests);
    pp_finding_number(f, "hit_rate", u->hits / u->requests);
    pp_finding_number(f, "hit_rate_bytes", by_bytes);
    pp_finding_number(f, "page_cache_rate_bytes", from_page);
    pp_finding_number(f, "attainable_rate", attainable(u));
    pp_finding_number(f, "fetched_per_used", u->fetched_bytes / u->bytes);
    pp_finding_number(f, "cache_bytes", u->limit_bytes);
    pp_finding_number(f, "data_bytes", u->data_bytes);
}

static void add_thrash(const struct pp_source *source, const struct pp_cache_use *u, struct pp_arena *arena,
                       struct pp_report *r)
{
    char count[CELL], of[CELL], hits[CELL], most[CELL];
    const char *policy = source->meta(source->ctx, "config", "cache_policy");
    int found = u->again / u->requests >= LEAST_AGAIN;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "cache-thrash", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena,
                        "%s of %s fetched again what had made room in this run (policy %s): %s were hits, "
                        "%s is attainable, by the policy keep",
                        pp_text_count(count, CELL, u->again),
                        pp_text_counted(of, CELL, u->requests, "read", "reads"), policy ? policy : "unknown",
                        pp_text_percent(hits, CELL, u->hits / u->requests),
                        pp_text_percent(most, CELL, attainable(u))));
    f->next_step = found ? pp_remedies[PP_REMEDY_CACHE_THRASH].sentence : NULL;
    pp_finding_number(f, "reads", u->requests);
    pp_finding_number(f, "fetched_again", u->again);
    pp_finding_number(f, "evicted", u->evicted);
    pp_finding_number(f, "hit_rate", u->hits / u->requests);
    pp_finding_number(f, "attainable_rate", attainable(u));
}

/* Of the whole run, long or short. */
static void add_trouble(const struct pp_source *source, const struct pp_cache_use *u, struct pp_arena *arena,
                        struct pp_report *r)
{
    char count[CELL];
    const char *trouble = source->meta(source->ctx, "cache", "trouble");
    int found = trouble || u->damaged >= 1;
    const char *damaged = pp_arena_printf(
        arena, "%s of the cache did not have the bytes that were stored, and %s fetched again",
        pp_text_counted(count, CELL, u->damaged, "entry", "entries"), u->damaged < 2 ? "was" : "were");
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "cache-trouble", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        trouble           ? trouble
        : u->damaged >= 1 ? damaged
                          : "the cache could be written, and no entry was damaged");
    f->next_step = found ? pp_remedies[PP_REMEDY_CACHE_TROUBLE].sentence : NULL;
    pp_finding_number(f, "damaged", u->damaged);
    pp_finding_number(f, "changed", u->changed);
    pp_finding_number(f, "held_bytes", u->held_bytes);
}

void pp_findings_of_cache(const struct pp_source *source, const struct pp_cache_use *u,
                          struct pp_arena *arena, struct pp_report *r)
{
    static const struct {
        const char *kind;
        void (*add)(const struct pp_source *source, const struct pp_cache_use *u, struct pp_arena *arena,
                    struct pp_report *r);
        int short_too;
    } kinds[] = {{"cache-hits", add_hits, 0},
                 {"cache-thrash", add_thrash, 0},
                 {"cache-trouble", add_trouble, 1}};
    for (size_t i = 0; u->recorded && i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (u->unknown && !kinds[i].short_too)
            pp_finding_add(r, arena, kinds[i].kind, PP_FINDING_NOT_MEASURED, u->unknown);
        else
            kinds[i].add(source, u, arena, r);
    }
}
