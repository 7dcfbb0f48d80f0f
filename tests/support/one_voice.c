#include "tests/support/one_voice.h"

#include "report/render/answer.h"
#include "report/replay/knobs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What sentences say of an argument: set it (True, more, -False), set it the other way, or that it gains
 * nothing. A phrase that is found is not read by those behind it. */
enum { NEITHER = 0, UP = 1, DOWN = 2, NOTHING = 4 };
static const struct {
    const char *phrase;
    int knob, says; /* knob -1: of any */
} phrases[] = {
    {"ore workers gain nothing", PP_KNOB_NUM_WORKERS, NOTHING},
    {"ore `num_workers` gain nothing", PP_KNOB_NUM_WORKERS, NOTHING},
    {"prefetch_factor does not help", PP_KNOB_PREFETCH_FACTOR, NOTHING},
    {"before changing the loader", -1, NOTHING},
    {"no change to it gains anything", -1, NOTHING},
    {"deeper prefetch bridges short spells only", PP_KNOB_PREFETCH_FACTOR, NEITHER},
    {"se more workers", PP_KNOB_NUM_WORKERS, UP},
    {"ore num_workers", PP_KNOB_NUM_WORKERS, UP},
    {"smaller DataLoader(num_workers", PP_KNOB_NUM_WORKERS, DOWN},
    {"ore workers (num_workers", PP_KNOB_NUM_WORKERS, UP},
    {"ore reads in flight (num_workers, prefetch_factor", PP_KNOB_PREFETCH_FACTOR, UP},
    {"ore reads in flight (num_workers", PP_KNOB_NUM_WORKERS, UP},
    {"reads in flight (num_workers", PP_KNOB_NUM_WORKERS, UP},
    {"se fewer workers", PP_KNOB_NUM_WORKERS, DOWN},
    {"fewer readers at a time", PP_KNOB_NUM_WORKERS, DOWN},
    {"eepen the prefetch", PP_KNOB_PREFETCH_FACTOR, UP},
    {"deeper prefetch", PP_KNOB_PREFETCH_FACTOR, UP},
    {"arger prefetch_factor", PP_KNOB_PREFETCH_FACTOR, UP},
    {"in_order=False", PP_KNOB_IN_ORDER, UP},
    {"pin_memory=True", PP_KNOB_PIN_MEMORY, UP},
    {"pin_memory=False", PP_KNOB_PIN_MEMORY, DOWN},
    {"persistent_workers=True", PP_KNOB_PERSISTENT_WORKERS, UP},
};

struct claims {
    int says[PP_KNOBS_TUNED];
};

static void read_sentence(const char *text, struct claims *c)
{
    char copy[2048];
    snprintf(copy, sizeof(copy), "%s", text ? text : "");
    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
        for (char *at = strstr(copy, phrases[i].phrase); at; at = strstr(at + 1, phrases[i].phrase)) {
            for (int k = 0; k < PP_KNOBS_TUNED; k++)
                if (phrases[i].knob == k || phrases[i].knob < 0)
                    c->says[k] |= phrases[i].says;
            if (phrases[i].says == NOTHING || phrases[i].says == NEITHER)
                memset(at, '.', strlen(phrases[i].phrase));
        }
}

static const char *config(const struct pp_report *r, const char *key)
{
    for (size_t i = 0; i < r->n_config; i++)
        if (strcmp(r->config[i].key, key) == 0)
            return r->config[i].value;
    return NULL;
}

/* The change alone: other arguments of a line to paste are as recorded. */
static void read_change(const struct pp_report *r, const char *set, struct claims *c)
{
    const char *eq = set ? strchr(set, '=') : NULL, *workers = config(r, "workers");
    const struct pp_knob *knob = eq && pp_knob_is_argument(set) ? pp_knob_find(set, (size_t)(eq - set))
                                                                : NULL;
    if (!knob || knob - pp_knob_rows >= PP_KNOBS_TUNED)
        return;
    int k = (int)(knob - pp_knob_rows);
    if (k == PP_KNOB_NUM_WORKERS && workers)
        c->says[k] |= atoi(eq + 1) > atoi(workers) ? UP : DOWN;
    else
        c->says[k] |= UP;
}

/* What the list has of it: 1: it gains; 0: it gains nothing; -1: no replay knows. */
static int gains(const struct pp_report *r, int k, int says)
{
    int known = -1;
    for (size_t i = 0; i < r->verdict.n_fixes; i++) {
        struct claims c = {{0}};
        read_change(r, r->verdict.fixes[i].set, &c);
        if (!(c.says[k] & says))
            continue;
        if (r->verdict.fixes[i].advice != PP_ADVICE_NO)
            return 1;
        known = 0;
    }
    return known;
}

/* Of the arguments that these claims name one gains, or no replay knows. */
static int is_backed(const struct pp_report *r, const struct claims *c)
{
    int named = 0, backed = 0;
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        if (c->says[k] & (UP | DOWN)) {
            named++;
            backed += gains(r, k, c->says[k]) != 0;
        }
    return !named || backed || !r->verdict.n_fixes;
}

static int is_odd(int says)
{
    return (says & (UP | DOWN)) == (UP | DOWN) || ((says & NOTHING) && (says & (UP | DOWN)));
}

const char *one_voice_broken(const struct pp_report *r, char *why, size_t size)
{
    const struct pp_report_verdict *v = &r->verdict;
    char predicted[PP_ANSWER_TEXT] = "";
    struct claims all = {{0}}, step = {{0}}, words = {{0}};
    read_sentence(v->next_step, &step);
    read_sentence(v->action.words, &words);
    all = step;
    read_sentence(v->action.words, &all);
    if (v->action.fix)
        read_change(r, v->action.fix->set, &all);
    if (v->action.fix && strcmp(v->action.fix->set, "num_workers=0") == 0)
        all.says[PP_KNOB_PERSISTENT_WORKERS] |= NOTHING; /* of no worker */
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].state == PP_FINDING_FOUND) {
            struct claims c = all;
            read_sentence(r->findings[i].next_step, &c);
            for (int k = 0; k < PP_KNOBS_TUNED; k++)
                if (is_odd(c.says[k]) && !is_odd(all.says[k]))
                    return snprintf(why, size, "%s: '%s' beside the finding %s: '%s'", pp_knob_rows[k].name,
                                    v->next_step, r->findings[i].kind, r->findings[i].next_step),
                           why;
            all = c;
        }
    size_t first = 0;
    while (first < v->n_fixes && v->fixes[first].advice != PP_ADVICE_DO)
        first++;
    if (v->action.fix != (first < v->n_fixes ? &v->fixes[first] : NULL))
        return snprintf(why, size, "what is advised is not the first change to do of the list"), why;
    for (int k = 0; k < PP_KNOBS_TUNED; k++)
        if (is_odd(all.says[k]))
            return snprintf(why, size, "%s: '%s' beside %s", pp_knob_rows[k].name, v->next_step,
                            v->action.fix ? v->action.fix->set : "itself"),
                   why;
    if (!is_backed(r, &step) || !is_backed(r, &words))
        return snprintf(why, size, "nothing that '%s' names gains",
                        is_backed(r, &step) ? v->action.words : v->next_step),
               why;
    if (v->other && (v->then || (v->action.depends && strstr(v->other, v->action.depends)) ||
                     (v->action.fix && v->action.fix->change && strstr(v->other, v->action.fix->change))))
        return snprintf(why, size, "'%s' beside '%s'", v->other, v->then ? v->then : v->next_step), why;
    const char *said[] = {v->cause, v->then, v->reason, v->next_step};
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
        if (said[i] && strstr(said[i], " - "))
            return snprintf(why, size, "a dash in place of what is not known: '%s'", said[i]), why;
    if (pp_answer(r, PP_ANSWER_PREDICTED, predicted) && v->action.depends &&
        strstr(v->action.depends, "at most"))
        return snprintf(why, size, "'%s' of '%s'", predicted, v->next_step), why;
    return NULL;
}
