#include "report/findings/pages.h"

#include "report/findings/counters.h"
#include "report/findings/rows.h"

#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/verdict_rules.h"

#include <stdio.h>

enum { CELL = 40 };

#define LEAST_SAMPLES 20.0
/* Bytes decoded per byte used: below, less than half of the work is for nothing */
#define LEAST_AMPLIFIED 2.0
#define MOST_OF 0.5       /* of the workers' time: reading */
#define LEAST_HELD 0.7    /* of the time: the lock is taken */
#define LEAST_WAITING 0.5 /* threads that wait for it, on average */

static const struct pp_counter_row counters[] = {
#define ROW(member) \
    { \
        "pages_" #member "_total", offsetof(struct pp_pages_use, member), 0 \
    }
    ROW(samples),   ROW(used_bytes), ROW(decoded),      ROW(decoded_bytes),
    ROW(decode_ns), ROW(lock_ns),    ROW(lock_held_ns),
#undef ROW
};

pp_status pp_pages_check(const struct pp_source *source, uint64_t start_ns, uint64_t end_ns,
                         struct pp_pages_use *out, struct pp_err *err)
{
    const struct pp_counters_asked asked = {counters, sizeof(counters) / sizeof(*counters), start_ns, end_ns};
    size_t seen;
    *out = (struct pp_pages_use){.recorded = 0};
    pp_status st = pp_counters_between(source, &asked, out, &out->watched_ns, &seen, err);
    out->recorded = seen > 0;
    if (!(out->watched_ns > 0) || out->samples < LEAST_SAMPLES || !(out->used_bytes > 0))
        out->unknown = "fewer than 20 samples out of pages were counted in the steady state";
    return st;
}

/* Without a step there is nothing but waiting. */
static int waits(const struct pp_report *r)
{
    return !(r->data_wait_share < PP_LEAST_SHARE);
}

static void add_amplified(const struct pp_pages_use *u, struct pp_arena *arena, struct pp_report *r)
{
    char each[CELL], used[CELL], pages[CELL], took[CELL];
    double times = u->decoded_bytes / u->used_bytes;
    int found = waits(r) && times >= LEAST_AMPLIFIED && pp_finding_read_share(r) >= MOST_OF;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "read-amplification", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena, "a sample has %s, and %s of pages were decoded for it (%.1f times as many, %s pages, %s)",
            pp_text_bytes(used, CELL, u->used_bytes / u->samples),
            pp_text_bytes(each, CELL, u->decoded_bytes / u->samples), times,
            pp_text_rate(pages, CELL, u->decoded / u->samples),
            pp_text_duration(took, CELL, u->decode_ns / u->samples)));
    f->next_step = found ? pp_remedies[PP_REMEDY_AMPLIFIED].sentence : NULL;
    pp_finding_number(f, "samples", u->samples);
    pp_finding_number(f, "amplification", times);
    pp_finding_number(f, "sample_bytes", u->used_bytes / u->samples);
    pp_finding_number(f, "decoded_bytes", u->decoded_bytes / u->samples);
    pp_finding_number(f, "pages_per_sample", u->decoded / u->samples);
    pp_finding_number(f, "decode_s", u->decode_ns / u->samples / 1e9);
}

/* The lock is a server with one place: how much of the time it is taken, and how many wait. */
static void add_lock(const struct pp_pages_use *u, struct pp_arena *arena, struct pp_report *r)
{
    char held[CELL];
    double share = u->lock_held_ns / u->watched_ns, waiting = u->lock_ns / u->watched_ns;
    int found = waits(r) && share >= LEAST_HELD && waiting >= LEAST_WAITING;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "reader-lock", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(
            arena,
            "libhdf5 reads for one thread at a time: its lock was held %s of the time, and %.1f threads "
            "waited for it",
            pp_text_percent(held, CELL, share), waiting));
    f->next_step = found ? pp_remedies[PP_REMEDY_READER_LOCK].sentence : NULL;
    pp_finding_number(f, "samples", u->samples);
    pp_finding_number(f, "held_share", share);
    pp_finding_number(f, "threads_waiting", waiting);
    pp_finding_number(f, "held_s", u->lock_held_ns / u->samples / 1e9);
}

void pp_findings_of_pages(const struct pp_pages_use *u, struct pp_arena *arena, struct pp_report *r)
{
    const struct {
        const char *kind;
        int applies;
        void (*add)(const struct pp_pages_use *u, struct pp_arena *arena, struct pp_report *r);
    } rows[] = {{"read-amplification", u->decoded > 0, add_amplified},
                {"reader-lock", u->lock_held_ns > 0, add_lock}};
    for (size_t i = 0; u->recorded && i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].applies && u->unknown)
            pp_finding_add(r, arena, rows[i].kind, PP_FINDING_NOT_MEASURED, u->unknown);
        else if (rows[i].applies)
            rows[i].add(u, arena, r);
    }
}
