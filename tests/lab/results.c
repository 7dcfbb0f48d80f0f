#include "tests/lab/results.h"

#include "probe/base/text.h"
#include "report/verdict/verdict_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more, doubling. */
static void *push(void **rows, size_t *n, size_t size)
{
    if ((*n & (*n - 1)) == 0) {
        void *more = realloc(*rows, (*n ? 2 * *n : 1) * size);
        if (!more)
            return NULL;
        *rows = more;
    }
    return memset((char *)*rows + (*n)++ * size, 0, size);
}

struct lab_run *lab_add_run(struct lab_results *r)
{
    return push((void **)&r->runs, &r->n_runs, sizeof(*r->runs));
}

struct lab_truth *lab_add_truth(struct lab_results *r)
{
    return push((void **)&r->truths, &r->n_truths, sizeof(*r->truths));
}

struct lab_prediction *lab_add_prediction(struct lab_results *r)
{
    return push((void **)&r->predictions, &r->n_predictions, sizeof(*r->predictions));
}

void lab_results_free(struct lab_results *r)
{
    free(r->runs);
    free(r->truths);
    free(r->predictions);
    memset(r, 0, sizeof(*r));
}

int scenario_is_control(const struct scenario *s)
{
    return strcmp(s->l0, "not-input-bound") == 0;
}

const char *scenario_level_name(int level)
{
    static const char *const names[SCENARIO_LEVELS] = {"mild", "medium", "severe"};
    return names[level];
}

const char *lab_cpus_text(char *buf, size_t size, double cpus)
{
    snprintf(buf, size, "%.1f", cpus);
    return isnan(cpus) ? "-" : buf;
}

/* What the rule of a true cause misses; where a label allows several, of the first that there is a rule for.
 */
static const char *why_not(const struct scenario *s, const struct pp_report_verdict *v)
{
    for (size_t i = 0; i < v->n_rejected; i++)
        if (scenario_lists(s->l1, v->rejected[i].l1) && scenario_lists(s->l2, v->rejected[i].l2))
            return v->rejected[i].why;
    return "no rule";
}

static void explain(struct lab_run *row, const struct scenario *s, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    char share[32], least[32];
    if (row->l1_right && (row->l2_right || scenario_is_control(s)))
        return;
    if (v->reason)
        snprintf(row->why, sizeof(row->why), "%s", v->reason);
    else if (!row->l0_right)
        snprintf(row->why, sizeof(row->why), "the stall is %s, the line is at %s",
                 pp_text_percent(share, sizeof(share), row->wait),
                 pp_text_percent(least, sizeof(least), pp_level_moderate->at_least));
    else
        snprintf(row->why, sizeof(row->why), "%s: %s", s->l2, why_not(s, v));
}

const char *lab_first_fix(const struct pp_report_verdict *v)
{
    for (size_t i = 0; v->l2 && i < pp_outside_rules_n; i++) {
        const char *l1 = pp_outside_rules[i].l1, *l2 = pp_outside_rules[i].l2; /* NULL: the job's own code */
        if (l2 && strcmp(v->l2, l2) == 0 && strcmp(l1, "loader") == 0)
            return "start";
    }
    if (!v->n_fixes || !v->l1)
        return "";
    return v->action.fix ? v->action.fix->knob : v->action.depends ? "work" : v->fixes[0].knob;
}

void lab_judge(struct lab_run *row, const struct scenario *s, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    int control = scenario_is_control(s);
    row->s = s;
    /* A scenario says whether something holds the step up, not what it is called. */
    row->l0 = strcmp(v->l0, "cpu-starved") == 0 ? "input-bound" : v->l0;
    row->l1 = v->l1;
    row->l2 = v->l2;
    row->l0_right = strcmp(row->l0, s->l0) == 0;
    row->l1_right = row->l0_right && (control || scenario_lists(s->l1, v->l1));
    row->l2_right = row->l1_right && !control && scenario_lists(s->l2, v->l2);
    row->confidence = v->confidence;
    row->score = v->confidence_score;
    row->wait = r->data_wait_share + (isnan(r->collective_share) ? 0 : r->collective_share);
    snprintf(row->first_fix, sizeof(row->first_fix), "%s", lab_first_fix(v));
    for (int i = 0; i < LAB_OTHER_TOOLS && other_tool(i, r, &row->tool[i]); i++)
        continue;
    explain(row, s, r);
}
