#include "report/build/parts.h"

#include "probe/base/text.h"

enum { CELL = 40, TEXT = 1024 };
#define UNUSED_SHARE 0.01 /* from which on the first sentence says it */

#define add(buf, ...) pp_text_add(buf, TEXT, __VA_ARGS__)

static int is_bound(const struct pp_report_verdict *v)
{
    return v->l0 && (strcmp(v->l0, "input-bound") == 0 || strcmp(v->l0, "cpu-starved") == 0);
}

const char *pp_sentence_waits(const struct pp_report *r, const char *of, char *buf, size_t size)
{
    char a[CELL], b[CELL];
    double data = r->data_wait_share, ranks = r->collective_share, all = r->verdict.exposed_share,
           rest = pp_report_rest_share(r);
    int for_ranks = ranks >= 0.005, apart = for_ranks || !isnan(rest);
    pp_text_share(a, CELL, apart ? data : all);
    if (apart)
        snprintf(buf, size, "waits %s%s for data and %s for %s", a, of,
                 pp_text_share(b, CELL, for_ranks ? ranks : rest),
                 for_ranks          ? "other ranks"
                 : r->starved_s > 0 ? "a CPU"
                                    : "the device");
    else
        snprintf(buf, size, all >= 0 ? "waits for data %s%s" : "", a, of);
    return buf;
}

static void add_stall(const struct pp_report *r, char buf[TEXT])
{
    const struct pp_report_verdict *v = &r->verdict;
    char a[CELL], waits[160];
    double boundary = r->window_s > 0 ? r->boundary_s / r->window_s : 0;
    int samples = !isnan(r->samples_per_s);
    add(buf, "Training runs at %s %s/s", pp_text_rate(a, CELL, samples ? r->samples_per_s : r->batches_per_s),
        samples ? "samples" : "batches");
    if (v->outside) {
        add(buf, " and loses %s of the time %s", pp_text_share(a, CELL, v->outside_share), v->outside);
        if (r->data_wait_share > 0)
            add(buf, "; %s it waits for data %s",
                strncmp(v->outside, "in ", 3) == 0 ? "besides," : "of the rest",
                pp_text_share(a, CELL, r->data_wait_share)); /* which boundaries are no part of */
        add(buf, is_bound(v) ? "." : ": NOT input-bound.");
        return;
    }
    add(buf, " and %s", pp_sentence_waits(r, " of the time", waits, sizeof(waits)));
    add(buf, is_bound(v) ? "." : ": NOT input-bound.");
    if (!is_bound(v) && boundary >= pp_level_rules[0].at_least)
        add(buf, " Epoch boundaries and checkpoints take %s of the time besides.",
            pp_text_share(a, CELL, boundary));
}

void pp_sentence_compose(struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_verdict *v = &r->verdict;
    char head[TEXT] = "", cause[TEXT] = "", rate[CELL], share[CELL];
    if (isnan(v->exposed_share) && !v->outside) {
        /* The verdict's own words, with the rate where they lack it. */
        add(head, "%s", v->sentence ? v->sentence : "");
        if (r->samples_per_s > 0 && !v->ceiling)
            add(head, "; measured: %s samples/s", pp_text_rate(rate, CELL, r->samples_per_s));
        add(head, ".");
    } else {
        add_stall(r, head);
    }
    /* A rate is that of what could be used: "33 % of the samples could not be used.". */
    double skipped = 0, replaced = 0;
    for (size_t i = 0; i < r->n_error_kinds; i++) {
        const struct pp_report_error_kind *k = &r->error_kinds[i];
        skipped += strcmp(k->action, "skipped") == 0 ? (double)k->count : 0;
        replaced += strcmp(k->action, "substituted") == 0 ? (double)k->count : 0;
    }
    double all = (double)r->samples + skipped, unused = all > 0 ? (skipped + replaced) / all : 0;
    if (unused >= UNUSED_SHARE)
        add(head, " %s of the samples could not be used.", pp_text_share(share, CELL, fmin(unused, 1)));
    /* Only where the trainer stalls: of most other verdicts the head says it all. */
    if (is_bound(v) || v->outside) {
        if (v->headline) {
            const char *whose = v->outside && strcmp(v->l2 ? v->l2 : "", "between-epochs") == 0
                                    ? NULL /* of any loader */
                                    : r->judged_loader;
            add(cause, "%s. [%s%s%s", v->cause ? v->cause : "", v->headline, whose ? " in " : "",
                whose ? whose : "");
            add(cause, "%s%s%s%s]", v->certainty ? ", " : "", v->certainty ? v->certainty : "",
                v->doubt ? ", because " : "", v->doubt ? v->doubt : "");
        } else if (v->outside) {
            add(cause, "%s.", v->cause);
        } else if (v->cause || v->reason) {
            add(cause, "not established: %s", v->cause ? v->cause : v->reason);
        }
    }
    if (v->ceiling && v->cause)
        add(cause, "%s.", v->cause);
    if (v->ceiling && v->cause && v->l1)
        add(cause, " [%s%s%s]", v->l1, v->l2 ? "/" : "", v->l2 ? v->l2 : "");
    v->head = pp_arena_copy(arena, head);
    v->cause_line = cause[0] ? pp_arena_copy(arena, cause) : NULL;
    v->sentence = !cause[0] ? v->head
                            : pp_arena_printf(arena, "%s Cause%s %s", head,
                                              v->headline || v->ceiling || v->outside ? ":" : "", cause);
}
