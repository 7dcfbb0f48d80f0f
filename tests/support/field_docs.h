/* What is written from a table of fields (probe/base/fields.h): a JSON Schema (draft 2020-12) of the document
 * that pp_fields_json prints, and a page of its fields for readers. Both are checked in under docs; the tests
 * hold them to the tables, and `make golden` writes them again. */
#pragma once

#include "probe/base/fields.h"

struct field_docs {
    const char *id;          /* "pipeprobe.report/1" */
    const char *title;       /* "pipeprobe report" */
    const char *description; /* of the document */
    const char *source;      /* the file with the tables */
    const struct pp_field *fields;
};

/* A table that names no type or has the same key twice fails an assertion. */
void field_docs_schema(const struct field_docs *d, FILE *out);
void field_docs_page(const struct field_docs *d, FILE *out);
