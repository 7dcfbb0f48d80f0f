/* Which line of the job's own code its training steps are blocked in, by Python stacks
 * (report/measure/ops.h).
 *
 * On a CPU a step that computes is on it; a trainer that waits for its GPU spins there. What sleeps is a line
 * that writes, logs, asks the network, or takes a lock. */
#include "report/findings/measure.h"

#define MOSTLY 0.5

void pp_measure_step_lines(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_report *r = from->report;
    const struct pp_report_step_line *most = NULL;
    double *m = f->number, blocked = 0;
    if (!r->n_step_lines)
        return;
    for (size_t i = 0; i < r->n_step_lines; i++) {
        const struct pp_report_step_line *s = &r->step_lines[i];
        double share = s->low * (1 - s->cpu_share); /* for sure */
        if (s->cpu_share < MOSTLY && share > blocked)
            most = s, blocked = share;
    }
    m[PP_FINDING_STEP_BLOCKED] = blocked;
    if (!most)
        return;
    m[PP_FINDING_STEP_SHARE] = most->share;
    m[PP_FINDING_STEP_ON_CPU] = most->cpu_share;
    f->text[PP_FINDING_STEP_LINE] = pp_arena_printf(from->arena, "%s, %s,",
                                                    most->callee ? most->callee : most->name, most->place);
}
