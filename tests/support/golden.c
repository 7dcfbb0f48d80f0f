#include "tests/support/golden.h"

void golden_check(const char *name, const char *got)
{
    char path[256], *want = NULL;
    size_t size = 0;
    int writing = getenv("PP_GOLDEN_UPDATE") != NULL;
    snprintf(path, sizeof(path), "tests/golden/%s", name);
    FILE *f = fopen(path, writing ? "w" : "r");
    if (!f)
        fail_msg("%s is missing: run from the repository's root, or make it with PP_GOLDEN_UPDATE=1", path);
    if (writing) {
        fputs(got, f);
        assert_int_equal(fclose(f), 0);
        return;
    }
    if (getdelim(&want, &size, '\0', f) < 0)
        fail_msg("%s is empty", path);
    fclose(f);
    if (strcmp(got, want) != 0)
        fail_msg("what is printed is not %s; if it should be so, 'make golden' keeps it:\n%s", path, got);
    free(want);
}
