#include "report/replay/request_link.h"

#include "probe/base/array.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST = 20 };
/* ln of how many times likelier a link is (Laplace's errors); and how much smaller what it is off by is at
 * least: errors that are no chance may be alike */
#define LIKELIER 10
#define BETTER 1.5
#define LEAST_OFF 1e-4 /* of a rate: nothing is measured more exactly */

struct event {
    double at;
    size_t transfer;
    int begins;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : x->begins - y->begins;
}

/* share[i]: ns that transfer i would have had the link to itself, of all that share it. */
static void share_link(const struct event *e, size_t events, double *share)
{
    double now = 0, passed = 0; /* of a transfer that was there all the time */
    size_t running = 0;
    for (size_t i = 0; i < events; i++) {
        passed += running ? (e[i].at - now) / (double)running : 0;
        now = e[i].at;
        running += e[i].begins ? 1 : (size_t)-1;
        share[e[i].transfer] = e[i].begins ? -passed : share[e[i].transfer] + passed;
    }
}

/* Bytes per ns in the median, and how far half of the transfers are from that, as a part of it. A few that
 * were held up by something else move neither. v: room for n. */
static double fit(const struct pp_transfer *t, const double *ns, size_t n, double *v, double *off)
{
    for (size_t i = 0; i < n; i++)
        v[i] = t[i].bytes / fmax(ns[i], 1);
    qsort(v, n, sizeof(*v), pp_by_double);
    double rate = v[n / 2];
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] / rate - 1);
    qsort(v, n, sizeof(*v), pp_by_double);
    *off = fmax(v[n / 2], LEAST_OFF);
    return rate;
}

double pp_request_link(const struct pp_transfer *t, size_t n)
{
    double *share = malloc((n + 1) * sizeof(*share)), *alone = malloc((n + 1) * sizeof(*alone));
    double *v = malloc((n + 1) * sizeof(*v));
    struct event *e = malloc((2 * n + 1) * sizeof(*e));
    double link = share && alone && v && e ? 0 : NAN, off_link, off_alone;
    for (size_t i = 0; i < n && link == 0; i++) {
        e[2 * i] = (struct event){t[i].start_ns, i, 1};
        e[2 * i + 1] = (struct event){fmax(t[i].end_ns, t[i].start_ns + 1), i, 0};
        alone[i] = fmax(t[i].end_ns - t[i].start_ns, 1);
    }
    if (link == 0 && n >= FEWEST) {
        qsort(e, 2 * n, sizeof(*e), by_time);
        share_link(e, 2 * n, share);
        double rate = fit(t, share, n, v, &off_link);
        fit(t, alone, n, v, &off_alone);
        double better = off_alone / off_link;
        link = better >= BETTER && (double)n * log(better) >= LIKELIER && isfinite(rate) ? rate * 1e9 : 0;
    }
    free(e);
    free(v);
    free(alone);
    free(share);
    return link;
}
