/* A text against the one kept in tests/golden. PP_GOLDEN_UPDATE=1 (make golden) keeps the new one instead, for review. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static inline void golden_check(const char *name, const char *got)
{
    char path[256], want[65536];
    int writing = getenv("PP_GOLDEN_UPDATE") != NULL;
    snprintf(path, sizeof(path), "tests/golden/%s", name);
    FILE *f = fopen(path, writing ? "w" : "r");
    if (!f)
        fail_msg("%s cannot be opened", path);
    if (writing) {
        fputs(got, f);
        assert_int_equal(fclose(f), 0);
        return;
    }
    size_t n = fread(want, 1, sizeof(want) - 1, f);
    fclose(f);
    want[n] = '\0';
    if (strcmp(got, want) != 0)
        fail_msg("what is printed is not %s; if it should be so, 'make golden' keeps it:\n%s", path, got);
}

#endif
