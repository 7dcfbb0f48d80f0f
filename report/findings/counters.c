#include "report/findings/counters.h"

#include <math.h>
#include <string.h>

struct walk {
    const struct pp_counters_asked *asked;
    struct {
        uint64_t from_ns, to_ns; /* 0: none yet */
        double from, to;
    } of[PP_COUNTER_ROWS];
    size_t seen;
};

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct walk *w = ctx;
    size_t i = 0;
    if (!isfinite(value) || value < 0)
        return;
    while (i < w->asked->n && strcmp(w->asked->rows[i].name, name) != 0)
        i++;
    if (i == w->asked->n)
        return;
    w->seen++;
    if (!w->of[i].from_ns || (t_ns <= w->asked->start_ns && t_ns > w->of[i].from_ns)) {
        w->of[i].from_ns = t_ns;
        w->of[i].from = value;
    }
    if (!w->of[i].to_ns || (t_ns > w->of[i].to_ns && w->of[i].to_ns < w->asked->end_ns)) {
        w->of[i].to_ns = t_ns;
        w->of[i].to = value;
    }
}

pp_status pp_counters_between(const struct pp_source *source, const struct pp_counters_asked *asked,
                              void *out, double *watched_ns, size_t *seen, struct pp_err *err)
{
    struct walk w = {.asked = asked};
    pp_status st = source->each_counter ? source->each_counter(source->ctx, on_counter, &w, err) : PP_OK;
    for (size_t i = 0; i < asked->n; i++)
        *(double *)((char *)out + asked->rows[i].offset) = asked->rows[i].state
                                                               ? w.of[i].to
                                                               : fmax(w.of[i].to - w.of[i].from, 0);
    *watched_ns = w.of[0].to_ns > w.of[0].from_ns ? (double)(w.of[0].to_ns - w.of[0].from_ns) : 0;
    *seen = w.seen;
    return st;
}
