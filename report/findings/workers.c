/* Of the workers: waits in lockstep, restarts, hangs, and the memory of processes. */
#include "report/findings/findings.h"

enum { RESTARTS_LEAST = 3 };
static const char *worker_name(const struct pp_report *r, uint32_t thread)
{
    for (size_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].thread == thread)
            return r->workers[i].name;
    return "one worker";
}

static void measure_memory(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_memory_growth *g = &from->checks->memory;
    double *m = f->number;
    f->text[PP_FINDING_MEMORY_UNKNOWN] = g->unknown;
    m[PP_FINDING_MEMORY_WATCHED] = (double)g->processes;
    m[PP_FINDING_MEMORY_GROWING] = (double)g->growing;
    if (!g->growing)
        return;
    m[PP_FINDING_MEMORY_TOGETHER] = g->growing > 1 ? (double)g->growing : NAN;
    m[PP_FINDING_MEMORY_RATE] = g->per_s;
    m[PP_FINDING_MEMORY_MINUTE] = 60 * g->per_s;
    m[PP_FINDING_MEMORY_COPIED] = g->copied;
    m[PP_FINDING_MEMORY_PRIVATE] = g->private_bytes;
    m[PP_FINDING_MEMORY_ANON] = g->anon_bytes;
    m[PP_FINDING_MEMORY_LOW] = g->low_per_s;
    m[PP_FINDING_MEMORY_HIGH] = g->high_per_s;
    m[PP_FINDING_MEMORY_ALL] = g->all_per_s;
    m[PP_FINDING_MEMORY_PID] = (double)g->pid;
    m[PP_FINDING_MEMORY_FREE] = g->free_bytes;
    m[PP_FINDING_MEMORY_FULL] = g->full_s;
    /* The thread of a process, a worker's first; a process whose threads are not known is named by number. */
    const struct pp_thread_row *rows, *found = NULL;
    size_t n = from->source->threads(from->source->ctx, &rows), workers = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].pid != g->pid)
            continue;
        workers += rows[i].lane == PP_LANE_WORKER;
        if (!found || (rows[i].lane == PP_LANE_WORKER && found->lane != PP_LANE_WORKER))
            found = &rows[i];
    }
    f->text[PP_FINDING_MEMORY_NAME] = workers == 1 && found->name /* a worker that is a process */
                                          ? pp_arena_printf(from->arena, "%s (process %lld)", found->name,
                                                            (long long)g->pid)
                                          : pp_arena_printf(from->arena, "process %lld", (long long)g->pid);
}

void pp_measure_workers(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_lockstep *k = &from->checks->patterns.lockstep;
    const struct pp_restarts *again = &from->checks->patterns.restarts;
    const struct pp_hang *h = &from->checks->patterns.hang;
    const struct pp_timeline *tl = from->timeline;
    double *m = f->number, window_s = from->report->window_s, lost_ns = again->gap_ns;
    f->text[PP_FINDING_LOCKSTEP_UNKNOWN] = k->unknown;
    m[PP_FINDING_LOCKSTEP] = k->found;
    m[PP_FINDING_LOCKSTEP_INFERRED] = k->inferred;
    m[PP_FINDING_LOCKSTEP_WORKERS] = k->workers;
    m[PP_FINDING_LOCKSTEP_WAITS] = (double)k->long_waits;
    m[PP_FINDING_LOCKSTEP_IN_STEP] = k->distances ? (double)k->in_step / (double)k->distances : NAN;
    m[PP_FINDING_LOCKSTEP_LONG] = k->long_share;
    m[PP_FINDING_LOCKSTEP_SLOWEST] = k->slowest;
    f->text[PP_FINDING_LOCKSTEP_SLOWEST_NAME] = worker_name(from->report, k->slowest_thread);
    /* What restarts cost: where workers say themselves that they start again, the time that took each of
     * them; where their loader does, how long it took to end and start them, and the wait for the first to
     * begin; else the trainer's waits at the starts of epochs where they are recorded, or the time without a
     * worker. */
    if (tl->restarts)
        lost_ns = (double)tl->restart_ns * fmax(1, (double)tl->boundaries) / (double)tl->restarts;
    else if (tl->starts.starting_ns)
        lost_ns = (double)(tl->starts.workers_ns + tl->starts.late_ns);
    else if (tl->boundaries)
        lost_ns = (double)tl->epoch_ns;
    int restart = tl->restarts > 0 || again->generations >= RESTARTS_LEAST ||
                  (again->generations == 2 && tl->epochs == 2);
    if (again->unknown || !tl->has_steady_state || window_s < PP_LEAST_WINDOW_S)
        f->text[PP_FINDING_RESTARTS_UNKNOWN] = again->unknown ? again->unknown
                                                              : "the steady state was shorter than 1 s";
    m[PP_FINDING_RESTARTS] = restart;
    m[PP_FINDING_RESTART_GENERATIONS] = (double)again->generations;
    m[PP_FINDING_RESTART_THREADS] = (double)again->threads;
    m[PP_FINDING_RESTART_AGAIN] = fmax((double)again->started_again, (double)tl->restarts);
    m[PP_FINDING_RESTART_COST] = restart ? lost_ns / 1e9 : 0;
    m[PP_FINDING_RESTART_SHARE] = !restart ? 0 : window_s > 0 ? lost_ns / (window_s * 1e9) : NAN;
    if (tl->epochs > 1)
        m[PP_FINDING_RESTART_EPOCHS] = (double)tl->epochs;
    else /* the recording does not tell them */
        m[PP_FINDING_RESTART_UNNAMED_EPOCHS] = (double)again->generations;
    measure_memory(from, f);
    f->text[PP_FINDING_HANG_UNKNOWN] = h->measured ? NULL : "no work of a worker was recorded";
    if (!h->measured || !h->found)
        return;
    m[PP_FINDING_HANG] = 1;
    m[PP_FINDING_HANG_OPEN] = h->open;
    m[PP_FINDING_HANG_SINCE] = fmax(((double)h->start_ns - from->checks->origin_ns) / 1e9, 0);
    m[PP_FINDING_HANG_TIME] = (double)h->dur_ns / 1e9;
    m[PP_FINDING_HANG_USUAL] = h->usual_ns / 1e9;
    m[PP_FINDING_HANG_WORKERS] = (double)h->others + 1;
    m[PP_FINDING_HANG_OTHERS] = h->others ? (double)h->others : NAN;
    m[PP_FINDING_HANG_PHASE] = h->phase;
    f->text[PP_FINDING_HANG_NAME] = worker_name(from->report, h->thread);
    if (h->sample != PP_NO_SAMPLE)
        f->text[PP_FINDING_HANG_SAMPLE] = pp_arena_printf(from->arena, "%llu", (unsigned long long)h->sample);
}

/* ---- the node of the GPU ---- */

/* Whether the workers may run on the NUMA node of the GPU that the job copies to, from what the recording
 * says of both (collectors/system/topology.h).
 *
 * For pipeprobe's own loader it is the device that it used. Of another job it is only known where all GPUs of
 * the machine are on one node. */
enum { LIST = 128 };

void pp_measure_numa(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_source *s = from->source;
    static const char *const keys[] = {"cpu_numa_nodes", "gpu_numa_nodes", "gpu_numa_cpus"};
    char list[3][LIST];
    const char *own = list[0], *gpu = list[1], *cpus = list[2];
    const char *kind = s->meta(s->ctx, "config",
                               "device_kind"); /* a program is taken to use its machine's GPUs */
    double *m = f->number, nodes = pp_source_number(s, "environment", "numa_nodes", 0),
           distance = pp_source_number(s, "environment", "gpu_numa_distance", NAN);
    /* Numbers, commas and dashes, as much as is shown; of anything else nothing: a recording is a stranger's.
     */
    for (int i = 0; i < 3; i++) {
        const char *value = s->meta(s->ctx, "environment", keys[i]);
        size_t n = value ? strlen(value) : 0;
        int fits = n > 0 && n < LIST && value[0] >= '0' && value[0] <= '9' &&
                   strspn(value, "0123456789,-") == n;
        snprintf(list[i], LIST, "%s", fits ? value : "");
    }
    if (!(nodes >= 2) || !*own || !*gpu || (kind && strcmp(kind, "cuda") != 0))
        return;
    m[PP_FINDING_NUMA_NODES] = nodes;
    if (strchr(gpu, ',')) {
        f->text[PP_FINDING_NUMA_MANY] = pp_arena_copy(from->arena, gpu);
        return;
    }
    int near = 0;
    for (const char *p = own; *p; p += strcspn(p, ","), p += *p == ',')
        near |= strtol(p, NULL, 10) == strtol(gpu, NULL, 10);
    m[PP_FINDING_NUMA_APART] = !near;
    m[PP_FINDING_NUMA_GPU] = strtod(gpu, NULL);
    m[PP_FINDING_NUMA_DISTANCE] = distance;
    m[PP_FINDING_NUMA_FAR] = distance > 0 && distance < 256 ? distance : NAN;
    f->text[PP_FINDING_NUMA_OWN] = pp_arena_printf(from->arena, "%s %s", strchr(own, ',') ? "nodes" : "node",
                                                   own);
    f->text[PP_FINDING_NUMA_CPUS] = pp_arena_copy(from->arena, cpus);
}
