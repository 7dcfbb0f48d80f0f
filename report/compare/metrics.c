#include "report/compare/metrics.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct pp_cmp_metric table[] = {
#define PP_CMP_METRIC(sym, key_, title_, unit_, better_, kind_, threshold_, floor_, text_) \
    {.key = key_, \
     .title = title_, \
     .text = text_, \
     .unit = PP_CMP_##unit_, \
     .better = PP_CMP_##better_, \
     .kind = PP_CMP_##kind_, \
     .threshold = threshold_, \
     .floor = floor_},
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
};

static const char *const keys[] = {
#define PP_CMP_METRIC(sym, key, title, unit, better, kind, threshold, floor, text) key,
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
    NULL,
};

const struct pp_cmp_metric *pp_cmp_metric(enum pp_cmp_id id)
{
    return &table[id];
}

int pp_cmp_find(const char *key)
{
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (strcmp(table[i].key, key) == 0)
            return i;
    return -1;
}

const char *const *pp_cmp_keys(void)
{
    return keys;
}

const char *pp_cmp_unit_name(enum pp_cmp_unit unit)
{
    static const char *const names[] = {[PP_CMP_RATE] = "samples/s",
                                        [PP_CMP_PERCENT] = "ratio",
                                        [PP_CMP_SECONDS] = "seconds",
                                        [PP_CMP_BYTES] = "bytes",
                                        [PP_CMP_NUMBER] = ""};
    return names[unit];
}

char *pp_cmp_value_text(char *buf, size_t size, const struct pp_cmp_metric *m, double value)
{
    switch (m->unit) {
    case PP_CMP_RATE: return pp_text_rate(buf, size, value);
    case PP_CMP_PERCENT: return pp_text_percent(buf, size, value);
    case PP_CMP_SECONDS: return pp_text_duration(buf, size, value * 1e9);
    case PP_CMP_BYTES: return pp_text_bytes(buf, size, value);
    case PP_CMP_NUMBER: break;
    }
    if (value == floor(value))
        return pp_text_count(buf, size, value);
    snprintf(buf, size, isnan(value) ? "-" : "%.2f", value);
    return buf;
}

char *pp_cmp_change_text(char *buf, size_t size, double share)
{
    if (!isfinite(share))
        snprintf(buf, size, "-");
    else if (fabs(share) < 5e-4)
        snprintf(buf, size, "0.0 %%");
    else
        snprintf(buf, size, fabs(share) < 1 ? "%+.1f %%" : "%+.0f %%", share * 100);
    return buf;
}

double pp_cmp_burden(const struct pp_cmp_metric *m, double value)
{
    if (m->kind == PP_CMP_SHARE)
        return 1 / (1 - fmin(value, 0.999999));
    double felt = fmax(value, m->floor);
    return m->better == PP_CMP_HIGHER ? 1 / felt : felt;
}
