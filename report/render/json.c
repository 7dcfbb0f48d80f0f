#include "report/render/render.h"

#include "report/model/fields.h"

/* docs/report.schema.json describes the document; both follow from the table of fields. */
int pp_render_json(const struct pp_report *r, FILE *out)
{
    return pp_fields_json(pp_report_fields, r, out);
}
