#include "report/stats/spearman.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double value;
    size_t at; /* in the sample */
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct place *)a)->value, y = ((const struct place *)b)->value;
    return (x > y) - (x < y);
}

/* rank[i]: of x[i], from their middle, so that ranks sum to 0. Returns the sum of their squares. */
static double rank_around_0(const double *x, size_t n, struct place *places, double *rank)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){x[i], i};
    qsort(places, n, sizeof(*places), by_value);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && places[to].value == places[from].value; to++)
            ;
        double middle = ((double)from + (double)to - (double)n) / 2;
        for (size_t i = from; i < to; i++)
            rank[places[i].at] = middle;
        squares += (double)(to - from) * middle * middle;
    }
    return squares;
}

double pp_stats_spearman(const double *x, const double *y, size_t n)
{
    struct place *places = n >= 2 ? malloc(n * sizeof(*places)) : NULL;
    double *of_x = places ? malloc(2 * n * sizeof(*of_x)) : NULL, *of_y = of_x ? of_x + n : NULL, xy = 0,
           r = NAN;
    if (of_x) {
        double xx = rank_around_0(x, n, places, of_x), yy = rank_around_0(y, n, places, of_y);
        for (size_t i = 0; i < n; i++)
            xy += of_x[i] * of_y[i];
        r = xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
    }
    free(of_x);
    free(places);
    return r;
}
