#include "report/build/sentence.h"

#include "probe/base/text.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 40, TEXT = 1024 };
#define UNUSED_SHARE 0.01 /* from which on the first sentence says it */

#define add(buf, ...) pp_text_add(buf, TEXT, __VA_ARGS__)

static int is_bound(const struct pp_report_verdict *v)
{
    return v->l0 && (strcmp(v->l0, "input-bound") == 0 || strcmp(v->l0, "cpu-starved") == 0);
}

/* What the stall is made of, where it is more than waiting for data. */
static void add_parts(const struct pp_report *r, char buf[TEXT])
{
    char a[CELL], b[CELL];
    double data = r->data_wait_share, ranks = r->collective_share,
           rest = r->verdict.exposed_share - data - (isnan(ranks) ? 0 : ranks);
    if (ranks >= 0.005)
        add(buf, " (%s for data, %s for other ranks)", pp_text_percent(a, CELL, data),
            pp_text_percent(b, CELL, ranks));
    else if (rest >= 0.005 && r->starved_s > 0)
        add(buf, " (%s for data; %s is its own step waiting for a CPU)", pp_text_percent(a, CELL, data),
            pp_text_percent(b, CELL, rest));
}

/* Without a stalled share the verdict's own words, with the rate where they lack it. */
static void add_unjudged(const struct pp_report *r, char buf[TEXT])
{
    char rate[CELL];
    add(buf, "%s", r->verdict.sentence ? r->verdict.sentence : "");
    if (r->samples_per_s > 0 && !r->verdict.ceiling)
        add(buf, "; measured: %s samples/s", pp_text_rate(rate, CELL, r->samples_per_s));
}

static void add_stall(const struct pp_report *r, char buf[TEXT])
{
    const struct pp_report_verdict *v = &r->verdict;
    char a[CELL], b[CELL], c[CELL];
    double boundary = r->window_s > 0 ? r->boundary_s / r->window_s : 0;
    add(buf, "The trainer stalls %s of the time", pp_text_percent(a, CELL, v->exposed_share));
    add_parts(r, buf);
    add(buf, is_bound(v) ? "" : ", NOT input-bound");
    if (!isnan(r->samples_per_s))
        add(buf, ": %s samples/s", pp_text_rate(a, CELL, r->samples_per_s));
    else
        add(buf, ": %s batches/s", pp_text_rate(a, CELL, r->batches_per_s));
    if (is_bound(v) && !isnan(r->headroom_samples_per_s))
        add(buf, "; %s (%s) if %s", pp_text_rate(b, CELL, r->headroom_samples_per_s),
            pp_text_gain(c, CELL, r->headroom_gain, NAN, NAN), r->headroom_if);
    if (!is_bound(v) && boundary >= pp_level_rules[0].at_least)
        add(buf, "; epoch boundaries and checkpoints take %s of the time besides",
            pp_text_percent(a, CELL, boundary));
}

/* A rate is that of what could be used: "; 33.3 % of the samples could not be used". */
static void add_unused(const struct pp_report *r, char buf[TEXT])
{
    char share[CELL];
    double skipped = 0, replaced = 0;
    for (size_t i = 0; i < r->n_error_kinds; i++) {
        const struct pp_report_error_kind *k = &r->error_kinds[i];
        skipped += strcmp(k->action, "skipped") == 0 ? (double)k->count : 0;
        replaced += strcmp(k->action, "substituted") == 0 ? (double)k->count : 0;
    }
    double all = (double)r->samples + skipped, unused = all > 0 ? (skipped + replaced) / all : 0;
    if (unused >= UNUSED_SHARE)
        add(buf, "; %s of the samples could not be used", pp_text_percent(share, CELL, fmin(unused, 1)));
}

/* ", confidence 80.0 %, explains 78.0 % of the wait"; as much of it as is known. */
static void add_certainty(const struct pp_report_verdict *v, char buf[TEXT])
{
    char share[CELL];
    if (!isnan(v->confidence))
        add(buf, ", confidence %s", pp_text_percent(share, CELL, v->confidence));
    if (!isnan(v->explained))
        add(buf, ", explains %s of the wait", pp_text_percent(share, CELL, v->explained));
}

void pp_sentence_compose(struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    char head[TEXT] = "", cause[TEXT] = "";
    if (isnan(v->exposed_share))
        add_unjudged(r, head);
    else
        add_stall(r, head);
    add_unused(r, head);
    /* Only where the trainer stalls: of the other verdicts the head says it all. */
    if (is_bound(v) && !isnan(v->exposed_share)) {
        if (v->headline) {
            add(cause, r->judged_loader ? "%s in %s" : "%s", v->headline, r->judged_loader);
            add_certainty(v, cause);
            add(cause, ": %s", v->cause ? v->cause : "");
        } else if (v->cause || v->reason) {
            add(cause, "not established: %s", v->cause ? v->cause : v->reason);
        }
    }
    v->head = pp_arena_copy(arena, head);
    v->cause_line = cause[0] ? pp_arena_copy(arena, cause) : NULL;
    v->sentence = !cause[0] ? v->head
                            : pp_arena_printf(arena, "%s. %s%s", head, v->headline ? "" : "Cause ", cause);
}
