/* How many CPUs a recorded job may use: the masks of its processes (taskset, numactl, a
 * launcher's) and the quota of their control group, which may be others than those of the process that
 * records, and may change. Once a second; `environment` then has the job's in the place of our own, of
 * several the one that held longest, and usable_cpus_changes says "2 -> 1 after 34 s".
 * cpus_at_start are those that the job was started with, before its command or its script bound it; and
 * narrow_processes of the job had together narrow_cpus, fewer than the job (workers that are bound). */
#include "collectors/collector.h"
#include "collectors/store/writer.h"
#include "collectors/system/cgroup.h"
#include "probe/base/err.h"

#include <sched.h>
#include <unistd.h>

enum { PROCESSES = 256, VALUES = 8, CHANGES = 200 };

struct job_cpus {
    const struct pp_collect_opts *opts;
    struct held {
        double usable;
        int affinity;
        unsigned looks;
    } held[VALUES]; /* each value that was seen, and how often */
    size_t n;
    double now, stored; /* NAN: none yet */
    unsigned looks;
    int inherited; /* CPUs that the job was started with: those of this process */
    size_t narrow; /* the most processes that had fewer CPUs than the job as a whole */
    char changes[CHANGES];
};

/* CPUs that any of them may use; 0: none of them is there any more. Stores how many were bound to a part of
 * these: workers, by worker_init_fn or a library. */
static int affinity_of(struct job_cpus *j, const int64_t *pid, size_t n)
{
    cpu_set_t mask[PROCESSES], all, theirs;
    size_t narrow = 0;
    CPU_ZERO(&all);
    CPU_ZERO(&theirs);
    for (size_t i = 0; i < n; i++) {
        CPU_ZERO(&mask[i]);
        if (sched_getaffinity((pid_t)pid[i], sizeof(*mask), &mask[i]) == 0)
            CPU_OR(&all, &all, &mask[i]);
    }
    int affinity = CPU_COUNT(&all);
    for (size_t i = 0; i < n; i++)
        if (CPU_COUNT(&mask[i]) && CPU_COUNT(&mask[i]) < affinity) {
            CPU_OR(&theirs, &theirs, &mask[i]);
            narrow++;
        }
    if (narrow > j->narrow && CPU_COUNT(&theirs) != affinity) { /* else bound one by one, to all of them */
        j->narrow = narrow;
        pp_store_meta_num(j->opts->store, "environment", "narrow_processes", (double)narrow, "processes");
        pp_store_meta_num(j->opts->store, "environment", "narrow_cpus", CPU_COUNT(&theirs), "CPUs");
    }
    return affinity;
}

static void job_cpus_poll(void *state)
{
    struct job_cpus *j = state;
    int64_t pid[PROCESSES];
    size_t all = j->opts->processes ? j->opts->processes(j->opts->processes_ctx, pid, PROCESSES) : 0, n = 0;
    for (size_t i = 0; i < all; i++)
        if (pid[i] != (int64_t)getpid())
            pid[n++] = pid[i];
    int affinity = n ? affinity_of(j, pid, n) : 0;
    j->looks++;
    if (!affinity)
        return;
    double quota = pp_cgroup_cpu_quota(pid[0]), usable = quota > 0 ? fmin(quota, affinity) : affinity;
    if (!isnan(j->now) && usable != j->now) {
        size_t at = strlen(j->changes);
        snprintf(j->changes + at, sizeof(j->changes) - at, "%s%g -> %g after %u s", at ? ", " : "", j->now,
                 usable, j->looks);
        pp_store_meta_text(j->opts->store, "environment", "usable_cpus_changes", j->changes);
    }
    j->now = usable;
    /* Of several values the one that held longest is the run's. */
    size_t k = 0, most = 0;
    while (k < j->n && j->held[k].usable != usable)
        k++;
    if (k == VALUES)
        return;
    if (k == j->n)
        j->held[j->n++] = (struct held){.usable = usable};
    j->held[k].affinity = affinity;
    j->held[k].looks++;
    for (size_t i = 1; i < j->n; i++)
        if (j->held[i].looks > j->held[most].looks)
            most = i;
    if (j->held[most].usable == j->stored)
        return;
    j->stored = j->held[most].usable;
    pp_store_meta_num(j->opts->store, "environment", "usable_cpus", j->stored, "CPUs");
    pp_store_meta_num(j->opts->store, "environment", "cpus_affinity", j->held[most].affinity, "CPUs");
    pp_store_meta_num(j->opts->store, "environment", "cpus_at_start", j->inherited, "CPUs");
}

static pp_status job_cpus_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    struct job_cpus *j = malloc(sizeof(*j));
    if (!j)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to watch the job's CPUs");
    cpu_set_t own;
    *j = (struct job_cpus){.opts = opts, .now = NAN, .stored = NAN};
    j->inherited = sched_getaffinity(0, sizeof(own), &own) == 0 ? CPU_COUNT(&own) : 0;
    *state = j;
    return PP_OK;
}

const struct pp_collector pp_collector_job_cpus = {
    .name = "the job's CPUs",
    .found = "the CPUs that a job's processes may use are read once a second",
    .start = job_cpus_start,
    .poll = job_cpus_poll,
    .stop = free,
};
