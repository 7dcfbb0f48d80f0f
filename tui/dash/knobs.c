#include "tui/dash/knobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_STEP 0.8 /* a knob moved three times halves or doubles */
#define COUNT_MOST 1024

const struct pp_knob_row pp_knob_rows[PP_KNOBS + 1] = {
    {"workers", "decoding threads", PP_KNOB_COUNT, "workers"},
    {"prefetch", "batches in flight per worker", PP_KNOB_COUNT, "prefetch"},
    {"copy-buffers", "batches on the device", PP_KNOB_COUNT, "copy_buffers"},
    {"batch-size", "samples per batch; the step grows with it", PP_KNOB_DOUBLING, "batch_size"},
    {"cpus", "usable CPUs", PP_KNOB_COUNT, "usable_cpus"},
    {"cache", "share of the reads served from the page cache", PP_KNOB_SHARE, NULL},
    {"storage-latency", "factor on the time blocked in reads", PP_KNOB_FACTOR, NULL},
    {"decode", "factor on the CPU time of decoding", PP_KNOB_FACTOR, NULL},
    {"transform", "factor on the CPU time of transforms", PP_KNOB_FACTOR, NULL},
    {"step", "factor on the trainer's step", PP_KNOB_FACTOR, NULL},
    {NULL, NULL, PP_KNOB_COUNT, NULL},
};

static double recorded(const struct pp_dash_model *m, const char *key)
{
    for (size_t i = 0; i < m->n_facts; i++)
        if (strcmp(m->facts[i].key, key) == 0)
            return atof(m->facts[i].value);
    return NAN;
}

static double value_of(const struct pp_dash_model *m, int i, int step)
{
    const struct pp_knob_row *k = &pp_knob_rows[i];
    switch (k->kind) {
    case PP_KNOB_COUNT: return recorded(m, k->recorded) + step;
    case PP_KNOB_DOUBLING: return recorded(m, k->recorded) * exp2(step);
    case PP_KNOB_FACTOR: return pow(FACTOR_STEP, -step);
    case PP_KNOB_SHARE: return 0.1 * step;
    }
    return NAN;
}

int pp_knob_move(const struct pp_dash_model *m, int i, int step, int by)
{
    double v = value_of(m, i, step + by), least = 1, most = COUNT_MOST;
    if (pp_knob_rows[i].kind == PP_KNOB_DOUBLING)
        most = 1 << 20;
    else if (pp_knob_rows[i].kind == PP_KNOB_FACTOR)
        least = 0.01, most = 100;
    else if (pp_knob_rows[i].kind == PP_KNOB_SHARE)
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
        snprintf(buf, size, pp_knob_rows[i].recorded ? "%.0f" : "%.2g", v);
    return buf;
}

const char *pp_knobs_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size)
{
    char value[32];
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < PP_KNOBS && at < size; i++)
        if (s->knob[i])
            at += (size_t)snprintf(buf + at, size - at, "%s%s=%s", at ? " " : "", pp_knob_rows[i].name,
                                   pp_knob_text(m, i, s->knob[i], value, sizeof(value)));
    return buf;
}
