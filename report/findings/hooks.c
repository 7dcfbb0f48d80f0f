/* Of a job that `pipeprobe exec` recorded through its Python hooks: what the hooks could not see, and which
 * of several DataLoaders the verdict is about. */
#include "report/findings/measure.h"

#include <math.h>
#include <string.h>

struct notes {
    struct pp_arena *arena;
    const char *first;
    size_t n;
};

static void on_note(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct notes *x = ctx;
    if (!x->n++ && value)
        x->first = pp_arena_copy(x->arena, value);
}

/* Of two loaders or more the judged one, and of the others the one that was waited for longest. */
static void measure_loaders(const struct pp_report *r, struct pp_finding_values *f)
{
    const struct pp_report_loader *judged = NULL, *other = NULL;
    double *m = f->number;
    size_t used = 0;
    for (size_t i = 0; i < r->n_loaders; i++) {
        const struct pp_report_loader *l = &r->loaders[i];
        if (!(l->batches > 0) || isnan(l->data_wait_s))
            continue;
        used++;
        if (l->judged)
            judged = l;
        else if (!other || l->data_wait_s > other->data_wait_s)
            other = l;
    }
    if (used < 2 || !judged || !other)
        return;
    m[PP_FINDING_LOADERS] = (double)used;
    m[PP_FINDING_LOADERS_WAIT] = judged->data_wait_s + other->data_wait_s;
    m[PP_FINDING_LOADER_SHARE] = judged->wait_share;
    m[PP_FINDING_LOADER_WAIT] = judged->data_wait_s;
    m[PP_FINDING_LOADER_BATCHES] = judged->batches;
    m[PP_FINDING_LOADER_WORKERS] = judged->num_workers;
    m[PP_FINDING_LOADER_BATCH_SIZE] = judged->batch_size;
    f->text[PP_FINDING_LOADER_DATASET] = judged->dataset ? judged->dataset : "?";
    m[PP_FINDING_OTHER_LOADER_SHARE] = other->wait_share;
    m[PP_FINDING_OTHER_LOADER_WAIT] = other->data_wait_s;
    m[PP_FINDING_OTHER_LOADER_BATCHES] = other->batches;
    m[PP_FINDING_OTHER_LOADER_WORKERS] = other->num_workers;
    m[PP_FINDING_OTHER_LOADER_BATCH_SIZE] = other->batch_size;
    f->text[PP_FINDING_OTHER_LOADER_DATASET] = other->dataset ? other->dataset : "?";
}

void pp_measure_hooks(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_source *source = from->source;
    const char *stored = source->meta(source->ctx, "config", "python_hooks");
    struct notes notes = {.arena = from->arena};
    if (!stored || strcmp(stored, "none") == 0 || !from->report->n_loaders)
        return;
    const char *hooks = pp_arena_copy(from->arena, stored); /* lent until the source is asked again */
    if (!hooks || source->each_meta(source->ctx, "process_note", on_note, &notes, NULL) != PP_OK)
        return;
    f->text[PP_FINDING_HOOKS] = hooks;
    f->text[PP_FINDING_HOOKS_NOTE] = notes.first;
    f->number[PP_FINDING_HOOKS_LEFT_OUT] = (double)notes.n;
    f->number[PP_FINDING_HOOKS_MORE] = notes.n > 1 ? (double)(notes.n - 1) : NAN;
    f->number[PP_FINDING_HOOKS_UNTIMED] = strcmp(hooks, "hooks") == 0;
    measure_loaders(from->report, f);
}
