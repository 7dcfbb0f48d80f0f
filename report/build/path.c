#include "report/build/path.h"

#include "probe/base/err.h"
#include "report/replay/whatif.h"

#include <string.h>

#define WORTH_A_STEP 1.05 /* of the rate before it */

/* Both set the same argument. */
static int sets_the_same(const char *set, const char *other)
{
    size_t n = strcspn(set, "=");
    return strncmp(set, other, n) == 0 && other[n] == '=';
}

static int is_taken(const struct pp_report_verdict *v, const char *set)
{
    for (size_t i = 0; i < v->n_path; i++)
        if (sets_the_same(set, v->path[i].set))
            return 1;
    return 0;
}

/* All so far, and that one; 0: together they cannot be replayed. */
static int set_all(const struct pp_costs *costs, const struct pp_report_verdict *v, const char *set,
                   struct pp_knobs *k)
{
    struct pp_err ignored = {0};
    *k = pp_knobs_none();
    for (size_t i = 0; i < v->n_path; i++)
        if (pp_knobs_set_all(k, costs, v->path[i].set, &ignored) != PP_OK)
            return 0;
    return pp_knobs_set_all(k, costs, set, &ignored) == PP_OK;
}

/* The setting with the highest rate beside those so far; NULL: none is worth a step. */
static const char *next_setting(const struct pp_costs *costs, const struct pp_report_verdict *v, double rate)
{
    const char *best = NULL;
    double best_rate = rate * WORTH_A_STEP;
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        struct pp_err ignored = {0};
        struct pp_knobs k;
        double with, share;
        if (!f->is_argument || f->effort != 0 || is_taken(v, f->set) || !set_all(costs, v, f->set, &k) ||
            pp_whatif_rate(costs, &k, &with, &share, &ignored) != PP_OK || !(with >= best_rate))
            continue;
        best = f->set;
        best_rate = with;
    }
    return best;
}

void pp_path_find(const struct pp_costs *costs, struct pp_report_verdict *v)
{
    double rate = pp_whatif_measured(costs);
    const char *set;
    while (v->n_path < PP_REPORT_STEPS && (set = next_setting(costs, v, rate))) {
        struct pp_err ignored = {0};
        struct pp_knobs k;
        struct pp_prediction p;
        if (!set_all(costs, v, set, &k) || pp_whatif(costs, &k, &p, &ignored) != PP_OK || !(p.gain_low > 0))
            return;
        v->path[v->n_path++] = (struct pp_report_step){.set = set,
                                                       .gain = p.gain,
                                                       .low = p.gain_low,
                                                       .high = p.gain_high,
                                                       .samples_per_s = costs->made_per_batch > 0
                                                                            ? NAN
                                                                            : p.samples_per_s};
        rate = p.samples_per_s;
    }
}
