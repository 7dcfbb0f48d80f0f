/* The what-if curve of a report: see report/pictures/series.h. */
#include "report/pictures/series.h"

#include <math.h>
#include <string.h>

/* As far as the fixes look (knobs.c): four times the workers there were; and twice the CPUs. */
static int most_workers(const struct pp_costs *c)
{
    double most = fmax(4.0 * c->workers, 2 * c->cpus);
    return (int)fmin(fmax(most, 4), 256);
}

void pp_series_curve(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r)
{
    static const int steps[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    enum { MOST_POINTS = 8, STEPS = sizeof(steps) / sizeof(*steps) };
    int last = 0, most = most_workers(costs);
    while (last + 1 < STEPS && steps[last] < most)
        last++;
    int first = last + 1 > MOST_POINTS ? last + 1 - MOST_POINTS : 0;
    struct pp_report_curve *curve = pp_arena_push(arena, (void **)&r->curves, &r->n_curves, sizeof(*curve));
    if (!curve)
        return;
    *curve = (struct pp_report_curve){.knob = "workers", .now = costs->workers};
    for (int i = first; i <= last; i++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_prediction p;
        k.workers = steps[i];
        if (pp_whatif(costs, &k, &p, NULL) != PP_OK)
            continue; /* a value that cannot be replayed is not on the curve */
        struct pp_report_curve_point *to = pp_arena_push(arena, (void **)&curve->points, &curve->n_points,
                                                         sizeof(*to));
        if (to)
            *to = (struct pp_report_curve_point){steps[i], p.samples_per_s, p.low, p.high};
    }
}
