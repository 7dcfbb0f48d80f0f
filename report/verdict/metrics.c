#include "report/verdict/metrics.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>

const struct pp_metric_info pp_metric_infos[PP_METRIC_COUNT] = {
#define ROW(sym, n, t, u, f) \
    [PP_METRIC_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u, .from = PP_FROM_##f},
    PP_METRIC_MAP(ROW)
#undef ROW
};

const char *pp_unit_text(enum pp_unit unit, double v, char *buf, size_t size)
{
    switch (unit) {
    case PP_UNIT_SHARE: return pp_text_percent(buf, size, v);
    case PP_UNIT_COUNT: return pp_text_count(buf, size, v);
    case PP_UNIT_RATE: return pp_text_rate(buf, size, v);
    case PP_UNIT_TIME: return pp_text_duration(buf, size, v);
    case PP_UNIT_BYTES: return pp_text_bytes(buf, size, v);
    case PP_UNIT_NUMBER: break;
    }
    snprintf(buf, size, "%.3g", v);
    return isnan(v) ? "-" : buf;
}
