/* Two single runs side by side. */
#include "report/compare/render.h"

#include <math.h>

int pp_compare_is_single(const struct pp_compare *c)
{
    return c->n_base == 1 && c->n_head == 1;
}

/* "1,310 +-3 %": the larger half of the quartiles around the value. */
static void value_text(char *buf, size_t size, const struct pp_cmp_metric *m, double v,
                       const struct pp_run_spread *s, int id)
{
    char value[32];
    pp_cmp_value_text(value, sizeof(value), m, v);
    if (s->known && !isnan(s->low[id]) && v > 0)
        snprintf(buf, size, "%s +-%.0f %%", value,
                 100 * fmax(fabs(s->high[id] - v), fabs(v - s->low[id])) / v);
    else
        snprintf(buf, size, "%s", value);
}

/* Whether the windows of the two runs lie apart. */
static int lie_apart(const struct pp_run_spread *a, const struct pp_run_spread *b, int id)
{
    return a->low[id] > b->high[id] || b->low[id] > a->high[id];
}

static const char *change_text(char *buf, size_t size, const struct pp_compare *c, int id)
{
    const struct pp_compare_metric *m = &c->metric[id];
    const struct pp_run_spread *a = &c->base_spread, *b = &c->head_spread;
    int spread = a->known && b->known && !isnan(a->low[id]) && !isnan(b->low[id]);
    if (m->answer == PP_NOT_MEASURED || isnan(m->change) || (spread && !lie_apart(a, b, id)))
        return "~";
    if (m->change == 0)
        return m->exact ? "=" : "~";
    pp_cmp_change_text(buf, size, m->change);
    return buf;
}

static const char *basis_text(const struct pp_compare *c, int id)
{
    const struct pp_compare_metric *m = &c->metric[id];
    if (m->exact)
        return m->answer == PP_REGRESSED ? "exact: REGRESSED" : "exact";
    if (c->base_spread.known && c->head_spread.known && !isnan(c->base_spread.low[id]) &&
        !isnan(c->head_spread.low[id]))
        return "windows of the run";
    return "one value each";
}

void pp_compare_single_table(const struct pp_compare *c, FILE *out)
{
    char base[64], head[64], change[32];
    fprintf(out, "%-20s %17s %17s %8s  %s\n", "", "BASE", "HEAD", "change", "from");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c->metric[i];
        const struct pp_cmp_metric *row = pp_cmp_metric(m->id);
        if (m->answer == PP_NOT_MEASURED)
            continue;
        value_text(base, sizeof(base), row, m->base_median, &c->base_spread, i);
        value_text(head, sizeof(head), row, m->head_median, &c->head_spread, i);
        fprintf(out, "%-20s %17s %17s %8s  %s\n", row->title, base, head,
                change_text(change, sizeof(change), c, i), basis_text(c, i));
    }
}
