#include "tui/dash/knobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_STEP 0.8 /* a knob moved three times halves or doubles */

const struct pp_knob *pp_dash_knob(int i)
{
    for (const struct pp_knob *knob = pp_knob_rows; knob->name; knob++)
        if (knob->step != PP_STEP_NONE && i-- == 0)
            return knob;
    return NULL;
}

int pp_dash_knobs(void)
{
    int n = 0;
    while (n < PP_DASH_KNOBS && pp_dash_knob(n))
        n++;
    return n;
}

static double value_of(const struct pp_dash_model *m, int i, int step)
{
    const struct pp_knob *knob = pp_dash_knob(i);
    double recorded = NAN;
    for (size_t k = 0; knob->recorded && k < m->n_facts; k++)
        if (strcmp(m->facts[k].key, knob->recorded) == 0) {
            recorded = atof(m->facts[k].value);
            break;
        }
    switch (knob->step) {
    case PP_STEP_ONE: return recorded + step;
    case PP_STEP_DOUBLE: return recorded * exp2(step);
    case PP_STEP_FIFTH: return pow(FACTOR_STEP, -step);
    case PP_STEP_TENTH: return 0.1 * step;
    case PP_STEP_NONE: break;
    }
    return NAN;
}

int pp_knob_move(const struct pp_dash_model *m, int i, int step, int by)
{
    const struct pp_knob *knob = pp_dash_knob(i);
    double v = value_of(m, i, step + by), least = 1, most = knob->most > 0 ? knob->most : 1024;
    if (knob->step == PP_STEP_FIFTH)
        least = 0.01, most = 100;
    else if (knob->step == PP_STEP_TENTH)
        least = 0, most = 1.0001;
    return v >= least && v <= most ? step + by
                                   : step; /* false for NAN: what was not recorded cannot be moved */
}

int pp_knob_is_recorded(const struct pp_dash_model *m, int i)
{
    return !isnan(value_of(m, i, 0));
}

const char *pp_knob_text(const struct pp_dash_model *m, int i, int step, char *buf, size_t size)
{
    double v = value_of(m, i, step);
    if (isnan(v))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, pp_dash_knob(i)->recorded ? "%.0f" : "%.2g", v);
    return buf;
}

const char *pp_knobs_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size)
{
    char value[32];
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < pp_dash_knobs() && at < size; i++)
        if (s->knob[i])
            at += (size_t)snprintf(buf + at, size - at, "%s%s=%s", at ? " " : "", pp_dash_knob(i)->name,
                                   pp_knob_text(m, i, s->knob[i], value, sizeof(value)));
    return buf;
}
