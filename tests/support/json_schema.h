/* A document against its published schema: the part of JSON Schema that ours use. Fails the test with the
 * path of what does not fit. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

/* file: the schemas in docs/, from the repository's root. */
void schema_check_file(const char *file, json_t *document);
