/* report/audit/fields.h: the members of the audit, one row each: the document of schema pipeprobe.audit/1 in
 * its order. docs/audit.schema.json and docs/reference/audit-fields.md follow from it; `make golden` writes
 * the two again. */
#ifndef PP_REPORT_AUDIT_FIELDS_H
#define PP_REPORT_AUDIT_FIELDS_H

#include "probe/base/fields.h"

extern const struct pp_field pp_audit_fields[]; /* of struct pp_audit */

#endif
