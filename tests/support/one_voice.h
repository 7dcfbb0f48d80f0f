/* One voice: no two sentences of a report advise against each other, and what is advised is a change that
 * gains. Holds of every report that report_of makes (findings.h). */
#pragma once

#include "report/model/model.h"

#include <stddef.h>

/* NULL: it speaks with one voice; else what is at odds, into why. */
const char *one_voice_broken(const struct pp_report *r, char *why, size_t size);
