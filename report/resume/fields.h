/* report/resume/fields.h: the members of the test of resumed jobs, one row each: the document of schema
 * pipeprobe.resume/1 in its order. docs/resume.schema.json and docs/reference/resume-fields.md follow from
 * it; `make golden` writes the two again. */
#ifndef PP_REPORT_RESUME_FIELDS_H
#define PP_REPORT_RESUME_FIELDS_H

#include "probe/base/fields.h"

extern const struct pp_field pp_resume_fields[]; /* of struct pp_resume */

#endif
