/* report/ranks/fields.h: the members of the judgement on ranks, one row each: the document of schema
 * pipeprobe.ranks/1 in its order. docs/ranks.schema.json and docs/reference/ranks-fields.md follow from it;
 * `make golden` writes the two again. */
#ifndef PP_REPORT_RANKS_FIELDS_H
#define PP_REPORT_RANKS_FIELDS_H

#include "probe/base/fields.h"

extern const struct pp_field pp_ranks_fields[]; /* of struct pp_ranks */

#endif
