/* report/model/fields.h: the members of the report model, one row each: the document of schema
 * pipeprobe.report/1 in its order. The JSON and CSV renderers, the tables of the other renderers,
 * docs/report.schema.json and docs/reference/report-fields.md follow from it; `make golden` writes the latter
 * two again. A new member of the model is one row here. */
#pragma once

#include "probe/base/fields.h"
#include "report/model/model.h"

extern const struct pp_field pp_report_fields[]; /* of struct pp_report */
