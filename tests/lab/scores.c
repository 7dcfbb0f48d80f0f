#include "tests/lab/scores.h"

#include "probe/base/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "scenario,severity,seed,outside_cpus,score,confidence,right\n"

static pp_status add(struct lab_scores *s, struct lab_score row, struct pp_err *err)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        struct lab_score *more = realloc(s->row, room * sizeof(*more));
        if (!more)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu scores", room);
        s->row = more;
        s->room = room;
    }
    s->row[s->n++] = row;
    return PP_OK;
}

pp_status lab_scores_add(struct lab_scores *s, const struct lab_results *r, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (size_t i = 0; i < r->n_runs && st == PP_OK; i++)
        if (!isnan(r->runs[i].score))
            st = add(s, (struct lab_score){r->runs[i].score, r->runs[i].confidence, r->runs[i].l1_right},
                     err);
    return st;
}

/* The last three cells of a line. */
static int parse(const char *line, struct lab_score *row)
{
    int commas = 0, used = 0;
    const char *p = line;
    for (; *p && commas < 4; p++)
        commas += *p == ',';
    return commas == 4 &&
           sscanf(p, "%lf,%lf,%d %n", &row->score, &row->confidence, &row->right, &used) == 3 && !p[used] &&
           row->score >= 0 && row->score <= 1 && (row->right == 0 || row->right == 1);
}

pp_status lab_scores_read(struct lab_scores *s, const char *file, struct pp_err *err)
{
    char line[256];
    size_t at = 0;
    struct lab_score row;
    FILE *in = fopen(file, "r");
    pp_status st = in ? PP_OK : pp_fail_errno(err, errno, "cannot read the scores of %s", file);
    while (st == PP_OK && fgets(line, sizeof(line), in)) {
        if (at++ == 0 && strcmp(line, HEADER) == 0)
            continue;
        st = parse(line, &row) ? add(s, row, err)
                               : pp_fail(err, PP_E_CORRUPT, "%s: line %zu holds no score", file, at);
    }
    if (in)
        fclose(in);
    return st;
}

pp_status lab_scores_append(const char *file, const struct lab_results *r, struct pp_err *err)
{
    FILE *out = fopen(file, "a");
    if (!out)
        return pp_fail_errno(err, errno, "cannot write scores to %s", file);
    if (fseek(out, 0, SEEK_END) == 0 && ftell(out) == 0)
        fputs(HEADER, out);
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct lab_run *run = &r->runs[i];
        if (!isnan(run->score))
            fprintf(out, "%s,%s,%u,%.2f,%.6f,%.6f,%d\n", run->s->name, scenario_level_name(run->level),
                    run->seed, run->outside_cpus, run->score, run->confidence, run->l1_right);
    }
    int failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return pp_fail_errno(err, errno, "cannot write scores to %s", file);
    return PP_OK;
}

void lab_scores_free(struct lab_scores *s)
{
    free(s->row);
    *s = (struct lab_scores){0};
}

void lab_scores_put(const struct lab_scores *s, FILE *out)
{
    enum { BINS = 20 };
    size_t n[BINS + 1] = {0}, right[BINS + 1] = {0};
    for (size_t i = 0; i < s->n; i++) {
        size_t bin = (size_t)(BINS * fmin(fmax(s->row[i].score, 0), 1));
        n[bin]++;
        right[bin] += (size_t)s->row[i].right;
    }
    n[BINS - 1] += n[BINS], right[BINS - 1] += right[BINS];
    fprintf(out, "\n  scores of %zu verdicts\n    %-14s %4s %6s\n", s->n, "from", "n", "right");
    for (size_t b = 0; b < BINS; b++)
        if (n[b])
            fprintf(out, "    %.2f to %.2f   %4zu %6zu\n", (double)b / BINS, (double)(b + 1) / BINS, n[b],
                    right[b]);
}
