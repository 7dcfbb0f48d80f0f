/* Traces of many processes (DFTracer, Nsight Systems): whose spans belong to the job that is judged, and
 * which workers are one. Workers that a DataLoader starts anew for every epoch are processes of their own,
 * one after the other: as threads of their own they would look idle for all the other epochs.
 *
 *     pid 11  |--reads--|                       worker 0  |--reads--|--reads--|
 *     pid 12  |--reads--|                  ->   worker 1  |--reads--|--reads--|
 *     pid 21             |--reads--|
 *     pid 22             |--reads--|
 */
#include "collectors/import/imported_impl.h"
#include "probe/base/array.h"

#include <stdlib.h>
#include <string.h>

struct life {
    uint64_t first_ns, last_ns;
    uint32_t thread;
    uint32_t joins; /* the thread whose spans it becomes */
};

enum { DEEPEST = 64 }; /* of a process started by a process started by ..., and of a stage in a stage */

static int by_pid(const void *a, const void *b)
{
    return strcmp(((const struct import_process *)a)->pid, ((const struct import_process *)b)->pid);
}

/* 1: the nearest of the processes that waits for data is another than the trainer: the thread's own, the one
 * that started it, and so on. */
static int is_foreign(const struct pp_imported *im, const char *const *trainers, size_t n, uint32_t thread)
{
    const char *pid = im->threads[thread].pid;
    for (int i = 0; i < DEEPEST; i++) {
        struct import_process key;
        if (bsearch(&pid, trainers, n, sizeof(*trainers), pp_by_text))
            return strcmp(pid, im->threads[im->trainer].pid) != 0;
        memcpy(key.pid, pid, strlen(pid) + 1);
        const struct import_process *p = im->n_processes ? bsearch(&key, im->processes, im->n_processes,
                                                                   sizeof(key), by_pid)
                                                         : NULL;
        if (!p)
            return 0;
        pid = p->parent;
    }
    return 0;
}

static int by_first(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Each thread with spans of a worker takes over from the first one that has ended by then. lives, become:
 * room for every thread. */
static void join_workers(struct pp_imported *im, struct life *lives, uint32_t *become)
{
    size_t n = 0, slots = 0;
    for (uint32_t i = 0; i < im->n_threads; i++) {
        lives[i] = (struct life){UINT64_MAX, 0, i, i};
        become[i] = i;
    }
    for (size_t i = 0; i < im->n_spans; i++) {
        const struct pp_span *s = &im->spans[i].s;
        struct life *l = &lives[im->spans[i].thread];
        l->first_ns = s->start_ns < l->first_ns ? s->start_ns : l->first_ns;
        l->last_ns = import_end_of(s) > l->last_ns ? import_end_of(s) : l->last_ns;
    }
    for (uint32_t i = 0; i < im->n_threads; i++)
        if (lives[i].last_ns && i != im->trainer && im->threads[i].lanes[PP_LANE_WORKER] &&
            strcmp(im->threads[i].pid, im->threads[im->trainer].pid) != 0)
            lives[n++] = lives[i];
    qsort(lives, n, sizeof(*lives), by_first);
    for (size_t i = 0; i < n; i++) {
        size_t slot = 0;
        struct life l = lives[i];
        while (slot < slots && lives[slot].last_ns > l.first_ns)
            slot++;
        become[l.thread] = slot < slots ? lives[slot].joins : l.thread;
        lives[slot] = (struct life){l.first_ns, l.last_ns, l.thread, become[l.thread]};
        slots += slot == slots;
    }
    for (size_t i = 0; i < im->n_spans; i++)
        im->spans[i].thread = become[im->spans[i].thread];
}

void pp_import_join_processes(struct pp_imported *im)
{
    size_t n = im->n_threads, n_trainers = 0, kept = 0;
    uint8_t *foreign = calloc(n, sizeof(*foreign));
    const char **trainers = calloc(n, sizeof(*trainers)); /* pids of the threads that wait for data */
    struct life *lives = calloc(n, sizeof(*lives));
    uint32_t *become = calloc(n, sizeof(*become));
    im->no_memory |= !foreign || !trainers || !lives || !become;
    if (im->no_memory)
        goto out;
    for (size_t i = 0; i < n; i++)
        if (im->threads[i].waits || im->threads[i].steps)
            trainers[n_trainers++] = im->threads[i].pid;
    qsort(trainers, n_trainers, sizeof(*trainers), pp_by_text);
    if (im->n_processes)
        qsort(im->processes, im->n_processes, sizeof(*im->processes), by_pid);
    for (uint32_t i = 0; i < n; i++) {
        foreign[i] = (uint8_t)is_foreign(im, trainers, n_trainers, i);
        im->facts.other_trainers += foreign[i] && (im->threads[i].waits || im->threads[i].steps);
    }
    for (size_t i = 0; i < im->n_spans; i++)
        if (!foreign[im->spans[i].thread])
            im->spans[kept++] = im->spans[i];
    im->n_spans = kept;
    if (im->facts.calls)
        join_workers(im, lives, become);
out:
    free(foreign);
    free(trainers);
    free(lives);
    free(become);
}

/* tf.data's ranges: a stage's GetNext holds that of its input, so that their times overlap on one thread.
 *
 *     Batch |-----------------|            collate   |-|   |-|    |-|
 *     Map     |---| |----|         ->      transform   |-| | |--| |
 *     TFRecord |-|   |--|                  read         |-|   |--|      (each part of a thread's time once)
 */

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
