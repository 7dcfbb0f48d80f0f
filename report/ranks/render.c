#include "probe/base/text.h"
#include "report/ranks/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 32, SHOWN = 16 };

int pp_ranks_json(const struct pp_ranks *r, FILE *out)
{
    return pp_fields_json(pp_ranks_fields, r, out);
}

/* The one most often last first; of equals the lower rank. */
static int by_last(const void *a, const void *b)
{
    const struct pp_ranks_row *x = *(const struct pp_ranks_row *const *)a,
                              *y = *(const struct pp_ranks_row *const *)b;
    return x->last_share != y->last_share ? (x->last_share < y->last_share) - (x->last_share > y->last_share)
                                          : (x->rank > y->rank) - (x->rank < y->rank);
}

static const char *verdict_of(const struct pp_ranks_row *r)
{
    return r->l1 ? r->l1 : r->l0 ? r->l0 : "-";
}

static void put_row(const struct pp_ranks_row *p, int hosts, FILE *out)
{
    char rate[CELL], data[CELL], others[CELL], last[CELL], own[CELL];
    fprintf(out, "%5.0f  ", p->rank);
    if (hosts)
        fprintf(out, "%-16.16s %-4.4s ", p->host ? p->host : "-", p->gpu ? p->gpu : "-");
    if (!p->file) {
        fprintf(out, "no recording (exit code %.0f)\n", p->exit_code);
        return;
    }
    fprintf(out, "%11s %10s %10s %11s %8s  %s%s%s\n", pp_text_rate(rate, sizeof(rate), p->samples_per_s),
            pp_text_duration(own, sizeof(own), p->own_ns),
            pp_text_percent(data, sizeof(data), p->data_wait_share),
            pp_text_percent(others, sizeof(others), p->collective_share),
            pp_text_percent(last, sizeof(last), p->last_share), verdict_of(p), p->l2 ? ", " : "",
            p->l2 ? p->l2 : "");
}

static int many_places(const struct pp_ranks *r)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].gpu ||
            (r->rows[i].host && r->rows[0].host && strcmp(r->rows[i].host, r->rows[0].host) != 0))
            return 1;
    return 0;
}

static void put_table(const struct pp_ranks *r, int all, FILE *out)
{
    const struct pp_ranks_row **order = calloc(r->n_rows + 1, sizeof(*order));
    int hosts = many_places(r);
    size_t shown = all || r->n_rows <= SHOWN ? r->n_rows : SHOWN;
    for (size_t i = 0; order && i < r->n_rows; i++)
        order[i] = &r->rows[i];
    if (order && shown < r->n_rows)
        qsort(order, r->n_rows, sizeof(*order), by_last);
    fprintf(out, "%5s  %s%11s %10s %10s %11s %8s  %s\n", "rank", hosts ? "node             GPU  " : "",
            "samples/s", "own time", "data wait", "other ranks", "last", "verdict");
    for (size_t i = 0; order && i < shown; i++)
        put_row(order[i], hosts, out);
    if (shown < r->n_rows)
        fprintf(out, "       ... and %zu more, which are last less often (--all)\n", r->n_rows - shown);
    free(order);
}

static int have_gpus(const struct pp_ranks *r)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (!r->rows[i].gpu)
            return 0;
    return r->n_rows > 0;
}

static void put_line(const char *label, const char *text, FILE *out)
{
    if (text)
        fprintf(out, "%-9s %s\n", label, text);
}

void pp_ranks_text(const struct pp_ranks *r, int all, FILE *out)
{
    char a[CELL], b[CELL];
    double rate = 0;
    const char *subject = NULL;
    for (size_t i = 0; i < r->n_rows; i++) {
        rate += r->rows[i].samples_per_s > 0 ? r->rows[i].samples_per_s : 0;
        subject = subject ? subject : r->rows[i].subject;
    }
    fprintf(out, "%s%s%s%s%s%s: %s samples/s in all\n\n",
            pp_text_counted(a, sizeof(a), (double)r->n_rows, "rank", "ranks"), subject ? " of " : "",
            subject ? subject : "", r->job ? ", job " : "", r->job ? r->job : "",
            r->attempt > 0 ? ", restarted" : "", pp_text_rate(b, sizeof(b), rate));
    put_table(r, all, out);
    fprintf(out, "\n%s\n", r->sentence);
    put_line("why", r->why, out);
    put_line("where", r->where, out);
    if (r->straggler_file)
        for (size_t i = 0; i < r->n_rows; i++)
            if (r->rows[i].file && strcmp(r->rows[i].file, r->straggler_file) == 0)
                put_line("verdict", r->rows[i].sentence, out);
    if (r->lost_share >= 0.1 || r->exchange_delay_ns > 0) {
        double hours = r->lost_rank_s / 3600;
        fprintf(out, "%-9s %.*f %s over %s; ", "cost", hours < 1 ? 4 : 1, hours,
                have_gpus(r) ? "GPU-hours" : "rank-hours",
                pp_text_counted(a, sizeof(a), (double)r->compared_steps, "step", "steps"));
        if (isnan(r->gain_share))
            fputs("gain unknown: no other rank's loader was seen at that pace\n", out);
        else
            fprintf(out, "throughput +%s if the last rank %s\n", pp_text_percent(b, sizeof(b), r->gain_share),
                    isnan(r->exchange_delay_ns) ? "were as fast as the next one" : "had its CPUs");
    }
    if (r->missing_ranks)
        fprintf(out, "%-9s rank%s %s of %.0f: no recording here\n", "missing",
                r->missing_ranks == 1 ? "" : "s", r->missing, r->world_size);
    put_line("no end", r->no_end, out);
    put_line("clocks", r->clocks, out);
    put_line("note", r->note, out);
    put_line("next", r->next_step, out);
}
