#include "tests/lab/reliability.h"

#include <math.h>
#include <stdlib.h>

/* Wilson, as in tables.c. */
static void put_interval(FILE *out, size_t right, size_t all)
{
    double n = (double)all, p = (double)right / n, z = 1.96, d = 1 + z * z / n, m = (p + z * z / (2 * n)) / d,
           h = z / d * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    fprintf(out, "%5.1f %%  (%.1f to %.1f)\n", 100 * p, 100 * fmax(m - h, 0), 100 * fmin(m + h, 1));
}

void lab_put_reliability(const struct lab_results *r, FILE *out)
{
    static const double from[] = {0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0001};
    double brier = 0;
    size_t all = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        if (!isnan(r->runs[i].confidence)) {
            brier += pow(r->runs[i].confidence - r->runs[i].l1_right, 2);
            all++;
        }
    if (!all)
        return;
    fprintf(out, "\n  confidence of the class (%zu verdicts, Brier score %.3f)\n    %-16s %4s %8s %6s  %s\n",
            all, brier / (double)all, "stated", "n", "mean", "right", "that is");
    for (size_t b = 0; b + 1 < sizeof(from) / sizeof(*from); b++) {
        size_t n = 0, right = 0;
        double sum = 0;
        for (size_t i = 0; i < r->n_runs; i++)
            if (r->runs[i].confidence >= from[b] && r->runs[i].confidence < from[b + 1]) {
                n++;
                right += (size_t)r->runs[i].l1_right;
                sum += r->runs[i].confidence;
            }
        if (!n)
            continue;
        fprintf(out, "    %3.0f to %3.0f %%     %4zu %6.1f %% %6zu  ", 100 * from[b],
                100 * fmin(from[b + 1], 1), n, 100 * sum / (double)n, right);
        put_interval(out, right, n);
    }
}

static int by_score(const void *a, const void *b)
{
    const struct lab_score *x = *(const struct lab_score *const *)a, *y = *(const struct lab_score *const *)b;
    return (x->score > y->score) - (x->score < y->score);
}

static double share(const struct lab_fit_row *row)
{
    return (double)row->right / (double)row->n;
}

/* Row k joins the one before it. */
static void pool(struct lab_fit_row *rows, size_t *n, size_t k)
{
    rows[k - 1].n += rows[k].n;
    rows[k - 1].right += rows[k].right;
    for (size_t i = k + 1; i < *n; i++)
        rows[i - 1] = rows[i];
    --*n;
}

size_t lab_fit(const struct lab_scores *s, struct lab_fit_row *rows)
{
    const struct lab_score **run = malloc((s->n + 1) * sizeof(*run));
    size_t n_runs = 0, n = 0;
    for (size_t i = 0; run && i < s->n; i++)
        run[n_runs++] = &s->row[i];
    if (n_runs)
        qsort(run, n_runs, sizeof(*run), by_score);
    for (size_t i = 0; i < n_runs; i++) {
        if (n && rows[n - 1].score == run[i]->score) { /* equal scores are one row */
            rows[n - 1].n++;
            rows[n - 1].right += (size_t)run[i]->right;
        } else {
            rows[n++] = (struct lab_fit_row){run[i]->score, 1, (size_t)run[i]->right};
        }
        while (n > 1 && i + 1 < n_runs && run[i + 1]->score != run[i]->score &&
               share(&rows[n - 2]) >= share(&rows[n - 1]))
            pool(rows, &n, n - 1);
    }
    for (size_t k = n; k-- > 1;) /* the last value may have been several runs */
        if (share(&rows[k - 1]) >= share(&rows[k]))
            pool(rows, &n, k), k = n;
    for (size_t k = 0; k < n && n > 1;)
        if (rows[k].n < LAB_FIT_LEAST)
            pool(rows, &n, k + 1 < n ? k + 1 : k), k = k < n ? k : n - 1;
        else
            k++;
    free(run);
    return n;
}

void lab_put_fit(const struct lab_scores *s, FILE *out)
{
    struct lab_fit_row *rows = malloc((s->n + 1) * sizeof(*rows));
    size_t n = rows ? lab_fit(s, rows) : 0;
    lab_scores_put(s, out);
    fprintf(out, "\n  the table of report/verdict/confidence.c from these runs:\n");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "    {%.3f, %.3f}, /* %zu of %zu */\n", i ? rows[i].score : 0,
                ((double)rows[i].right + 0.5) / ((double)rows[i].n + 1), rows[i].right, rows[i].n);
    free(rows);
}
