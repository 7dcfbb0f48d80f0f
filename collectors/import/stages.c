/* tf.data's ranges: a stage's GetNext holds that of its input, so that their times overlap on one thread.
 *
 *     Batch |-----------------|            collate   |-|   |-|    |-|
 *     Map     |---| |----|         ->      transform   |-| | |--| |
 *     TFRecord |-|   |--|                  read         |-|   |--|      (each part of a thread's time once)
 */
#include "collectors/import/imported_impl.h"

#include <stdlib.h>

enum { DEEPEST = 64 };

/* ---- waits ---- */

void pp_import_adopt_waits(struct pp_imported *im)
{
    struct import_thread *trainer = &im->threads[im->trainer];
    size_t n = 0;
    if (trainer->waits || !im->facts.fetches)
        return;
    struct pp_span *steps = malloc((trainer->steps + 1) * sizeof(*steps));
    im->no_memory |= !steps;
    for (size_t i = 0; steps && i < im->n_spans; i++)
        if (im->spans[i].thread == im->trainer && im->spans[i].s.phase == PP_PHASE_STEP)
            steps[n++] = im->spans[i].s;
    if (n)
        qsort(steps, n, sizeof(*steps), pp_import_by_start);
    for (size_t i = 0; n && i < im->n_spans; i++) {
        struct import_span *s = &im->spans[i];
        size_t low = 0, high = n; /* the step that begins last before it */
        while (s->s.phase == PP_PHASE_DATA_WAIT && low < high) {
            size_t middle = low + (high - low) / 2;
            if (steps[middle].start_ns <= s->s.start_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (!low || import_end_of(&s->s) > import_end_of(&steps[low - 1]))
            continue;
        im->threads[s->thread].waits--;
        s->thread = im->trainer;
        trainer->waits++;
    }
    free(steps);
}

/* ---- parts ---- */

/* What a range has of the time up to t, behind what was given to others. */
static void give_part(struct pp_imported *im, const struct import_span *s, uint64_t from, uint64_t to)
{
    if (to <= from || !pp_import_room(im, &im->spans, im->n_spans, &im->spans_room, sizeof(*im->spans)))
        return;
    struct import_span *part = &im->spans[im->n_spans++];
    *part = *s;
    part->s.start_ns = from;
    part->s.dur_ns = to - from;
}

/* The ranges of one thread, in order. Deeper ones than the stack are parts of the last one in it. */
static void part_thread(struct pp_imported *im, const struct import_span *all, size_t n)
{
    const struct import_span *open[DEEPEST];
    uint64_t at = 0; /* all before is given */
    int depth = 0;
    for (size_t i = 0; i <= n; i++) {
        uint64_t next = i < n ? all[i].s.start_ns : UINT64_MAX;
        while (depth && import_end_of(&open[depth - 1]->s) <= next) {
            give_part(im, open[depth - 1], at, import_end_of(&open[depth - 1]->s));
            at = import_end_of(&open[depth - 1]->s) > at ? import_end_of(&open[depth - 1]->s) : at;
            depth--;
        }
        if (i == n || depth == DEEPEST)
            continue;
        if (depth)
            give_part(im, open[depth - 1], at, next);
        at = next > at ? next : at;
        open[depth++] = &all[i];
    }
}

void pp_import_part_stages(struct pp_imported *im)
{
    size_t n = im->n_spans, kept = 0;
    struct import_span *all = malloc((n + 1) * sizeof(*all));
    im->no_memory |= !all;
    for (size_t i = 0; all && i < n; i++)
        all[i] = im->spans[i];
    if (all && n)
        qsort(all, n, sizeof(*all), pp_import_by_thread_and_start);
    im->n_spans = all ? 0 : im->n_spans;
    for (size_t end; all && kept < n; kept = end) {
        for (end = kept; end < n && all[end].thread == all[kept].thread; end++)
            if (all[end].thread == im->trainer)
                give_part(im, &all[end], all[end].s.start_ns, import_end_of(&all[end].s));
        if (all[kept].thread != im->trainer)
            part_thread(im, &all[kept], end - kept);
    }
    free(all);
}
