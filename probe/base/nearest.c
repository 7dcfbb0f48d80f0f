#include "probe/base/opts.h"

enum { LONGEST = 63 };

/* Damerau-Levenshtein distance in its optimal string alignment form: insert, delete, replace, swap
 * neighbours. */
static int distance(const char *a, const char *b)
{
    int na = (int)strlen(a), nb = (int)strlen(b);
    int row[3][LONGEST + 1];
    for (int k = 0; k <= nb; k++)
        row[0][k] = k;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3];
        const int *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int k = 1; k <= nb; k++) {
            now[k] = last[k - 1] + (a[i - 1] != b[k - 1]);
            now[k] = last[k] + 1 < now[k] ? last[k] + 1 : now[k];
            now[k] = now[k - 1] + 1 < now[k] ? now[k - 1] + 1 : now[k];
            int swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (swapped && before[k - 2] + 1 < now[k])
                now[k] = before[k - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

const char *pp_nearest(const char *word, const char *const *names)
{
    size_t len = strlen(word);
    if (len == 0 || len > LONGEST)
        return NULL;
    const char *best = NULL;
    int best_distance = ((int)len + 2) / 3; /* further than that it would be a guess, not a correction */
    for (; *names; names++) {
        if (strlen(*names) > LONGEST)
            continue;
        int d = distance(word, *names);
        if (d > 1 && len >= 3 && strncmp(word, *names, len) == 0)
            d = 1; /* the start of the name: an abbreviation */
        /* It is one or more whole words of other tools' longer name: "prefetch" of "prefetch-factor",
         * "workers" of "num_workers". */
        size_t n = strlen(*names);
        for (const char *at = word; d > 2 && n > 3 && (at = strstr(at, *names)) != NULL; at++)
            if ((at == word || strchr("-_", at[-1])) && (at[n] == '\0' || strchr("-_", at[n])))
                d = 2;
        if (d < best_distance + (best == NULL)) {
            best = *names;
            best_distance = d;
        }
    }
    return best;
}
