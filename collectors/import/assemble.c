/* From ranges as a profiler names them to a trainer's timeline. A profiler's step holds the wait for its
 * batch:
 *
 *     ProfilerStep#3    |-------------------|      step       ..|     |------...
 *       the fetch         |-----|              ->  data_wait    |-----|
 *
 * so that waits and steps of the recording are disjoint. What lies before the fetch, some tens of
 * microseconds of the loop and of the profiler, is of the step before. Where there are no steps, the time
 * from one wait to the next is one. */
#include "collectors/import/imported_impl.h"
#include "probe/base/array.h"
#include "probe/base/err.h"

/* The trainer's spans by what they are to a step. */
struct parts {
    struct pp_span *steps, *holes; /* holes: what is in a step and is none of it */
    size_t n_steps, n_holes;
};

/* What assembling puts into the place of both. */
struct made {
    struct pp_imported *im;
    size_t last_step; /* 1 + its span; 0: none, or a wait follows it */
    uint32_t batch;
    int any;
};

/* In the order of starts; of equals the longer first. */
static int by_start(const void *a, const void *b)
{
    const struct pp_span *x = a, *y = b;
    int order = PP_COMPARE(x->start_ns, y->start_ns);
    return order ? order : PP_COMPARE(y->dur_ns, x->dur_ns); /* it holds the other */
}

/* The most steps; of equals the one that waits more, then the first. Without steps, the most waits. */
static uint32_t choose_trainer(const struct pp_imported *im)
{
    uint32_t best = PP_IMPORT_NO_THREAD;
    for (uint32_t i = 0; i < im->n_threads; i++) {
        const struct import_thread *t = &im->threads[i],
                                   *b = best == PP_IMPORT_NO_THREAD ? NULL : &im->threads[best];
        if (!t->steps && !t->waits)
            continue;
        if (!b || t->steps > b->steps || (t->steps == b->steps && t->waits > b->waits))
            best = i;
    }
    return best;
}

/* Moves the trainer's steps and holes out of the spans; the others stay. */
static int split_trainer(struct pp_imported *im, struct parts *p)
{
    size_t kept = 0, n = im->threads[im->trainer].spans + 1;
    p->steps = malloc(n * sizeof(*p->steps));
    p->holes = malloc(n * sizeof(*p->holes));
    if (!p->steps || !p->holes)
        return 0;
    for (size_t i = 0; i < im->n_spans; i++) {
        struct import_span *s = &im->spans[i];
        if (s->thread == im->trainer && s->s.phase == PP_PHASE_STEP) {
            p->steps[p->n_steps++] = s->s;
        } else if (s->thread == im->trainer &&
                   (s->s.phase == PP_PHASE_DATA_WAIT || s->s.phase == PP_PHASE_DEVICE_SYNC ||
                    s->s.phase == PP_PHASE_EPOCH_BOUNDARY || s->s.phase == PP_PHASE_CHECKPOINT ||
                    (s->s.phase == PP_PHASE_COLLECTIVE && im->facts.collectives_wait))) {
            p->holes[p->n_holes++] = s->s;
        } else {
            if (s->s.phase == PP_PHASE_COLLECTIVE && s->thread == im->trainer)
                s->s.phase = PP_PHASE_USER; /* its launch; how long it takes is seen elsewhere */
            /* What it reads or transforms itself (num_workers=0) stays a range of its: the wait holds it. */
            if (s->thread == im->trainer && (im->facts.calls || im->facts.stages) &&
                pp_phase_info(s->s.phase)->lane == PP_LANE_WORKER) {
                s->s.phase = PP_PHASE_USER;
                s->role = PP_ROLE_OWN_WORK;
            }
            im->spans[kept++] = *s;
        }
    }
    im->n_spans = kept;
    return 1;
}

/* In order and disjoint: what lies inside of another is a twin or a part of it, what reaches into the next is
 * cut. */
static size_t flatten(struct pp_imported *im, struct pp_span *a, size_t n)
{
    size_t kept = 0;
    qsort(a, n, sizeof(*a), by_start);
    for (size_t i = 0; i < n; i++) {
        struct pp_span *last = kept ? &a[kept - 1] : NULL;
        if (last && import_end_of(&a[i]) <= import_end_of(last)) {
            im->facts.twins += a[i].start_ns == last->start_ns && a[i].dur_ns == last->dur_ns;
            continue;
        }
        if (last && a[i].start_ns < import_end_of(last))
            last->dur_ns = a[i].start_ns - last->start_ns;
        a[kept++] = a[i];
    }
    return kept;
}

static void put_part(struct made *m, const struct pp_span *like, unsigned phase, uint64_t from, uint64_t to)
{
    struct pp_imported *im = m->im;
    if (to <= from || !pp_import_room(im, &im->spans, im->n_spans, &im->spans_room, sizeof(*im->spans)))
        return;
    struct import_span *s = &im->spans[im->n_spans++];
    *s = (struct import_span){*like, im->trainer, PP_ROLE_NONE};
    s->s.phase = (uint8_t)phase;
    s->s.start_ns = from;
    s->s.dur_ns = to - from;
    s->s.batch = m->batch;
    m->last_step = phase == PP_PHASE_STEP ? im->n_spans : 0;
}

/* Share of a step: more is work of its own, as of a loop that takes its batch at the end */
#define BEFORE_THE_WAIT 0.1

static void put_steps(struct made *m, const struct parts *p)
{
    size_t h = 0;
    int whole = m->im->facts.whole_steps;
    for (size_t i = 0; i < p->n_steps; i++) {
        const struct pp_span *s = &p->steps[i];
        uint64_t at = s->start_ns;
        int waits = h < p->n_holes && p->holes[h].start_ns < import_end_of(s);
        if (!m->any || whole || waits || !p->n_holes) { /* a batch begins */
            m->batch += m->any != 0;
            m->any = 1;
            m->im->step_start_ns[m->im->n_steps++] = waits && p->holes[h].start_ns < at ? p->holes[h].start_ns
                                                                                        : at;
        }
        /* The time from its begin to its wait is of the step before it, or of none. */
        const struct pp_span *wait = waits ? &p->holes[h] : NULL;
        if (wait && wait->start_ns >= at &&
            (double)(wait->start_ns - at) <= BEFORE_THE_WAIT * (double)s->dur_ns) {
            at = wait->start_ns;
            if (m->last_step) {
                struct pp_span *last = &m->im->spans[m->last_step - 1].s;
                last->dur_ns = at - last->start_ns;
            }
        }
        for (; h < p->n_holes && p->holes[h].start_ns < import_end_of(s); h++) {
            const struct pp_span *w = &p->holes[h];
            put_part(m, s, PP_PHASE_STEP, at, w->start_ns);
            put_part(m, w, w->phase, w->start_ns, import_end_of(w));
            at = import_end_of(w) > at ? import_end_of(w) : at;
        }
        put_part(m, s, PP_PHASE_STEP, at, import_end_of(s));
    }
    m->im->dropped_waits = p->n_holes - h; /* that no step followed */
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct import_span *x = a, *y = b;
    int order = PP_COMPARE(x->thread, y->thread);
    return order ? order : by_start(&x->s, &y->s);
}

static pp_status assemble_steps(struct pp_imported *im, struct pp_err *err)
{
    struct parts p = {0};
    struct made m = {.im = im};
    pp_status status = PP_OK;
    int ok = split_trainer(im, &p);
    if (!ok)
        goto out;
    p.n_steps = flatten(im, p.steps, p.n_steps);
    p.n_holes = flatten(im, p.holes, p.n_holes);
    /* How much of what the trainer reads or transforms itself is done while it waits for data. */
    for (size_t i = 0; i < im->n_spans; i++) {
        const struct pp_span *s = &im->spans[i].s;
        size_t before = PP_BEFORE(im->spans[i].role == PP_ROLE_OWN_WORK ? p.n_holes : 0, k,
                                  p.holes[k].start_ns <= s->start_ns);
        const struct pp_span *w = before ? &p.holes[before - 1] : NULL;
        im->facts.trainer_calls += w && w->phase == PP_PHASE_DATA_WAIT &&
                                   import_end_of(s) <= import_end_of(w);
    }
    if (!p.n_steps) {
        /* From the end of each wait to the next one; what follows the last wait has no end. */
        const struct pp_span *before = NULL;
        struct pp_span *grown = realloc(p.steps, (p.n_holes + 1) * sizeof(*grown));
        p.steps = grown ? grown : p.steps;
        ok = grown != NULL;
        for (const struct pp_span *w = p.holes; ok && w < p.holes + p.n_holes; w++) {
            if (w->phase != PP_PHASE_DATA_WAIT)
                continue;
            if (before && w->start_ns > import_end_of(before)) {
                struct pp_span *s = &p.steps[p.n_steps++];
                *s = *before;
                s->phase = PP_PHASE_STEP;
                s->name = 0;
                s->start_ns = import_end_of(before);
                s->dur_ns = w->start_ns - s->start_ns;
            }
            before = w;
        }
        im->facts.whole_steps = 0;
    }
    im->step_start_ns = calloc(p.n_steps + 1, sizeof(*im->step_start_ns));
    ok = ok && im->step_start_ns;
    if (ok)
        put_steps(&m, &p);
out:
    if (!ok || im->no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the steps of the trace");
    free(p.steps);
    free(p.holes);
    return status;
}

/* ---- which process is what ----
 *
 * Traces of many processes (DFTracer, Nsight Systems): whose spans belong to the job that is judged, and
 * which workers are one. Workers that a DataLoader starts anew for every epoch are processes of their own,
 * one after the other: as threads of their own they would look idle for all the other epochs.
 *
 *     pid 11  |--reads--|                       worker 0  |--reads--|--reads--|
 *     pid 12  |--reads--|                  ->   worker 1  |--reads--|--reads--|
 *     pid 21             |--reads--|
 *     pid 22             |--reads--|
 */

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

PP_BY_BOTH(by_first, struct life, first_ns, thread)

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

/* Of a trace of many processes, whose trainer is known: keeps its process and those that it started, and
 * gives workers that follow each other, as those of epochs do, one thread. */
static void join_processes(struct pp_imported *im)
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
        /* The nearest of the processes that waits for data: the thread's own, the one that started it, ... */
        const char *pid = im->threads[i].pid;
        for (int k = 0; pid && k < DEEPEST; k++) {
            struct import_process key, *p = NULL;
            if (bsearch(&pid, trainers, n_trainers, sizeof(*trainers), pp_by_text)) {
                foreign[i] = strcmp(pid, im->threads[im->trainer].pid) != 0;
                break;
            }
            memcpy(key.pid, pid, strlen(pid) + 1);
            if (im->n_processes)
                p = bsearch(&key, im->processes, im->n_processes, sizeof(key), by_pid);
            pid = p ? p->parent : NULL;
        }
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

/* ---- waits ---- */

/* The executor of TensorFlow waits on a thread of its own for what a step on the trainer's thread needs: such
 * a wait becomes the trainer's. */
static void adopt_waits(struct pp_imported *im)
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
        qsort(steps, n, sizeof(*steps), by_start);
    for (size_t i = 0; n && i < im->n_spans; i++) {
        struct import_span *s = &im->spans[i];
        /* The last of them is the step that begins last before it. */
        size_t before = PP_BEFORE(s->s.phase == PP_PHASE_DATA_WAIT ? n : 0, k,
                                  steps[k].start_ns <= s->s.start_ns);
        if (!before || import_end_of(&s->s) > import_end_of(&steps[before - 1]))
            continue;
        im->threads[s->thread].waits--;
        s->thread = im->trainer;
        trainer->waits++;
    }
    free(steps);
}

/* ---- parts ----
 *
 * tf.data's ranges: a stage's GetNext holds that of its input, so that their times overlap on one thread.
 *
 *     Batch |-----------------|            collate   |-|   |-|    |-|
 *     Map     |---| |----|         ->      transform   |-| | |--| |
 *     TFRecord |-|   |--|                  read         |-|   |--|      (each part of a thread's time once)
 */

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

/* Of ranges that hold each other, on other threads than the trainer's: each keeps the time of its own. Deeper
 * ones than the stack are parts of the last one in it. */
static void part_stages(struct pp_imported *im)
{
    size_t n = im->n_spans, kept = 0;
    struct import_span *all = malloc((n + 1) * sizeof(*all));
    im->no_memory |= !all;
    for (size_t i = 0; all && i < n; i++)
        all[i] = im->spans[i];
    if (all && n)
        qsort(all, n, sizeof(*all), by_thread_and_start);
    im->n_spans = all ? 0 : im->n_spans;
    for (size_t end; all && kept < n; kept = end) {
        const struct import_span *open[DEEPEST];
        uint64_t at = 0; /* all before is given */
        int depth = 0;
        for (end = kept; end < n && all[end].thread == all[kept].thread; end++)
            if (all[end].thread == im->trainer)
                give_part(im, &all[end], all[end].s.start_ns, import_end_of(&all[end].s));
        for (size_t i = all[kept].thread == im->trainer ? end : kept; i < end || depth; i++) {
            uint64_t next = i < end ? all[i].s.start_ns : UINT64_MAX;
            while (depth && import_end_of(&open[depth - 1]->s) <= next) {
                const struct import_span *last = open[--depth];
                give_part(im, last, at, import_end_of(&last->s));
                at = import_end_of(&last->s) > at ? import_end_of(&last->s) : at;
            }
            if (i >= end || depth == DEEPEST)
                continue;
            if (depth)
                give_part(im, open[depth - 1], at, next);
            at = next > at ? next : at;
            open[depth++] = &all[i];
        }
    }
    free(all);
}

/* ---- all of it ---- */

pp_status pp_imported_assemble(struct pp_imported *im, const char *what, struct pp_err *err)
{
    pp_status status = PP_OK;
    im->trainer = choose_trainer(im);
    if (im->trainer == PP_IMPORT_NO_THREAD || (!im->threads[im->trainer].waits && !im->facts.fetches)) {
        /* A range of the program's own that says "wait" counts where nothing better does. */
        for (size_t i = 0; i < im->n_spans; i++) {
            struct import_span *s = &im->spans[i];
            if (s->role != PP_ROLE_MAYBE_WAIT ||
                (im->trainer != PP_IMPORT_NO_THREAD && s->thread != im->trainer))
                continue;
            s->s.phase = PP_PHASE_DATA_WAIT;
            im->threads[s->thread].waits++;
            im->facts.waits = PP_WAITS_ANNOTATED;
        }
        im->trainer = choose_trainer(im);
    }
    if (im->no_memory)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the events of %s", what);
    if (im->trainer == PP_IMPORT_NO_THREAD)
        return pp_fail(
            err, PP_E_EMPTY,
            "%s: none of its %llu events is a step (%s) or a wait for data (%s); %s, or record the job: "
            "pipeprobe exec -- python train.py",
            what, (unsigned long long)im->facts.events,
            im->facts.steps_are ? im->facts.steps_are : "ProfilerStep#N",
            im->facts.waits_are ? im->facts.waits_are : "enumerate(DataLoader)#...",
            im->facts.instead ? im->facts.instead : "profile the training loop with prof.step()");
    if (im->facts.stages)
        adopt_waits(im);
    if (im->facts.waits == PP_WAITS_NONE)
        im->facts.waits = im->threads[im->trainer].waits ? PP_WAITS_LOADER
                          : im->facts.fetches            ? PP_WAITS_ELSEWHERE
                                                         : PP_WAITS_NONE;
    if (im->facts.processes)
        join_processes(im);
    if (im->facts.stages)
        part_stages(im);
    if (im->no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the processes of %s", what);
    else if (!im->facts.numbered)
        status = assemble_steps(im, err);
    if (im->n_spans)
        qsort(im->spans, im->n_spans, sizeof(*im->spans), by_thread_and_start);
    return status;
}
