/* A text against the one kept in tests/golden. PP_GOLDEN_UPDATE=1 (make golden) keeps the new one instead,
 * for review. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* name: of a file in tests/golden. */
void golden_check(const char *name, const char *got);
