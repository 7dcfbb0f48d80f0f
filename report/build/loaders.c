#include "report/build/loaders.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pp_report_loader *loader_of(const struct pp_report *r, const struct pp_batch_range *of)
{
    char row[48];
    snprintf(row, sizeof(row), "%lld.%u", of->pid, of->loader);
    for (size_t i = 0; i < r->n_loaders; i++)
        if (r->loaders[i].row && strcmp(r->loaders[i].row, row) == 0)
            return &r->loaders[i];
    return NULL;
}

static void set_rates(const struct pp_timeline *tl, struct pp_report *r)
{
    double *ns = calloc(2 * r->n_loaders + 1, sizeof(*ns)), *samples = ns ? ns + r->n_loaders : NULL;
    for (size_t i = 0; ns && i < tl->other.n; i++) {
        const struct pp_report_loader *l = loader_of(r, &tl->other.range[i]);
        if (l) {
            ns[l - r->loaders] += (double)tl->other.range[i].ns;
            samples[l - r->loaders] += (double)tl->other.range[i].samples;
        }
    }
    for (size_t k = 0; ns && k < r->n_loaders; k++)
        r->loaders[k].samples_per_s = samples[k] > 0 && ns[k] > 0 ? samples[k] / ns[k] * 1e9 : NAN;
    free(ns);
}

static void name_of_workers(const struct pp_tally *tally, struct pp_report *r)
{
    for (size_t i = 0; i < r->n_workers; i++)
        for (size_t k = 0; k < tally->n_threads; k++) {
            const struct pp_tally_thread *t = &tally->threads[k];
            const struct pp_report_loader *l = t->id == r->workers[i].thread && t->of ? loader_of(r, t->of)
                                                                                      : NULL;
            if (l)
                r->workers[i].loader = t->of_several ? "several"
                                       : l->name     ? l->name
                                       : l->place    ? l->place
                                                     : l->row;
        }
}

void pp_loaders_tell(const struct pp_timeline *tl, const struct pp_tally *tally, struct pp_arena *arena,
                     struct pp_report *r)
{
    const struct pp_report_loader *judged = NULL;
    double epochs = 0;
    size_t used = 0;
    set_rates(tl, r);
    name_of_workers(tally, r);
    for (size_t i = 0; i < r->n_loaders; i++) {
        used += r->loaders[i].batches > 0;
        epochs += r->loaders[i].batches > 0 ? r->loaders[i].epochs : 0;
        judged = r->loaders[i].judged ? &r->loaders[i] : judged;
    }
    if (used > 1 && epochs > 0) { /* batches of several in turns do not say when an epoch begins */
        r->epochs = (uint64_t)epochs;
        r->used_loaders = used;
    }
    if (used > 1 && judged && judged->at)
        r->judged_loader = pp_arena_printf(arena, "the DataLoader at %s", judged->at);
}

void pp_loaders_place_line(struct pp_report *r)
{
    struct pp_report_action *a = &r->verdict.action;
    for (size_t i = 0; i < r->n_loaders && a->python && strncmp(a->python, "DataLoader(", 11) == 0; i++)
        if (r->loaders[i].judged)
            a->at = r->loaders[i].at;
}
