#include "report/findings/hooks.h"

#include "report/findings/rows.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 40 };
#define WORTH_SAYING_S 1.0 /* of waiting, before it matters for which loader */

/* ---- what was left out ---- */

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

/* What a recording with these hooks lacks; NULL: nothing. */
static const char *lack(const char *hooks)
{
    if (strcmp(hooks, "hooks") == 0)
        return "reads are not timed by themselves (the library that times them was not loaded): reading is part of decode and transform, and storage is "
               "told from them only where they are blocked";
    return NULL;
}

static void add_partly(const char *hooks, const struct notes *notes, struct pp_arena *arena,
                       struct pp_report *r)
{
    const char *lacks = lack(hooks), *more = "";
    if (notes->n > 1)
        more = pp_arena_printf(arena, " (and %zu more)", notes->n - 1);
    const char *sentence = notes->first ? pp_arena_printf(arena, "%s%s%s%s", notes->first, more,
                                                          lacks ? "; " : "", lacks ? lacks : "")
                           : lacks
                               ? lacks
                               : pp_arena_printf(arena, "the job was recorded with %s, and every hook fits",
                                                 hooks);
    struct pp_report_finding *f = pp_finding_add(r, arena, "partly-recorded",
                                                 notes->first || lacks ? PP_FINDING_FOUND
                                                                       : PP_FINDING_NOT_FOUND,
                                                 sentence);
    if (notes->first)
        f->next_step =
            "What is not recorded counts as part of what is around it. `pipeprobe doctor` shows the hooks of this build; a newer pipeprobe may know the version of the package.";
    else if (lacks)
        f->next_step =
            "Record again without --no-reads, where the job takes a library in front (LD_PRELOAD).";
    pp_finding_number(f, "left_out", (double)notes->n);
}

/* ---- several loaders ---- */

static const char *words_of(const struct pp_report_loader *l, struct pp_arena *arena)
{
    char wait[CELL], batches[CELL];
    return pp_arena_printf(arena, "%s for %s of %s (num_workers=%.0f, batch_size=%.0f)",
                           pp_text_duration(wait, CELL, l->data_wait_s * 1e9),
                           pp_text_counted(batches, CELL, l->batches, "batch", "batches"),
                           l->dataset ? l->dataset : "?", l->num_workers, l->batch_size);
}

static void add_several(struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_report_loader *judged = NULL, *other = NULL;
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
    int found = judged->data_wait_s + other->data_wait_s >= WORTH_SAYING_S;
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "several-loaders", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "%zu DataLoaders were iterated: the training thread waited %s, and %s", used,
                        words_of(judged, arena), words_of(other, arena)));
    f->next_step =
        found
            ? "Cause, arguments to change and gain are about the first one; the gain is that of the whole job. Rates, phases and workers are those of all loaders together."
            : NULL;
    pp_finding_number(f, "loaders", (double)used);
    pp_finding_number(f, "judged_wait_share", judged->wait_share);
    pp_finding_number(f, "other_wait_share", other->wait_share);
}

void pp_findings_of_hooks(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r)
{
    const char *stored = source->meta(source->ctx, "config", "python_hooks");
    struct notes notes = {.arena = arena};
    if (!stored || strcmp(stored, "none") == 0 || !r->n_loaders)
        return;
    const char *hooks = pp_arena_copy(arena, stored); /* the source's text is lent until it is asked again */
    if (!hooks || source->each_meta(source->ctx, "process_note", on_note, &notes, NULL) != PP_OK)
        return;
    add_partly(hooks, &notes, arena, r);
    add_several(arena, r);
}
