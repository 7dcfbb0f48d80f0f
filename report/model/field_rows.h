/* report/model/field_rows.h: what the tables of fields.h are written with. */
#pragma once

#include "report/model/fields.h"

#include <pipeprobe/phase.h>

/* Rows of a table of struct ROW: F: the key is the member's name; FK: it has another. */
#define F(member, unit, help, ...) PP_FIELD_AT(ROW, #member, member, unit, help, __VA_ARGS__)
#define FK(key, member, unit, help, ...) PP_FIELD_AT(ROW, key, member, unit, help, __VA_ARGS__)
#define FB(key, member, help) PP_FLAG_AT(ROW, key, member, help) /* an int that is 0 or 1 */
/* What no member holds. */
#define MADE PP_FIELD_MADE
#define TO_1 .range = "0..1"
#define FROM_0 .range = "0.."
#define ALWAYS .flags = PP_FIELD_ALWAYS

extern const struct pp_field pp_report_gpu_fields[];    /* of struct pp_report_gpu */
extern const struct pp_field pp_report_decode_fields[]; /* of struct pp_report_decode */
extern const struct pp_field pp_report_series_fields[]; /* of struct pp_report: its pictures */
extern const struct pp_field pp_report_spent_fields[];  /* of struct pp_report_spent */

static inline const char *pp_name_of_phase(pp_phase phase)
{
    const struct pp_phase_info *info = pp_phase_info(phase);
    return info ? info->name : NULL;
}
