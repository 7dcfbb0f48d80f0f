#include "report/findings/pages.h"

#include "report/findings/counters.h"
#include "report/findings/measure.h"

#include <math.h>

#define LEAST_SAMPLES 20.0
/* Bytes decoded per byte used: below, less than half of the work is for nothing */

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

/* The lock is a server with one place: how much of the time it is taken, and how many wait. */
void pp_measure_pages(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_pages_use *u = &from->checks->pages;
    double *m = f->number;
    if (!u->recorded)
        return;
    f->text[PP_FINDING_PAGES_UNKNOWN] = u->unknown;
    m[PP_FINDING_PAGES_DECODED] = m[PP_FINDING_AMPLIFIED] = u->decoded > 0 ? u->decoded : NAN;
    m[PP_FINDING_PAGES_SAMPLES] = u->samples;
    m[PP_FINDING_PAGES_AMPLIFICATION] = u->decoded_bytes / u->used_bytes;
    m[PP_FINDING_PAGES_SAMPLE_BYTES] = u->used_bytes / u->samples;
    m[PP_FINDING_PAGES_BYTES] = u->decoded_bytes / u->samples;
    m[PP_FINDING_PAGES_EACH] = u->decoded / u->samples;
    m[PP_FINDING_PAGES_TIME] = u->decode_ns / u->samples / 1e9;
    m[PP_FINDING_LOCK_RECORDED] = u->lock_held_ns > 0 ? 1 : NAN;
    m[PP_FINDING_LOCK_HELD_SHARE] = u->lock_held_ns / u->watched_ns;
    m[PP_FINDING_LOCK_WAITING] = u->lock_ns / u->watched_ns;
    m[PP_FINDING_LOCK_HELD] = u->lock_held_ns / u->samples / 1e9;
}
