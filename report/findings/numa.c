/* Whether the workers may run on the NUMA node of the GPU that the job copies to, from what the recording
 * says of both (collectors/system/topology.h).
 *
 * For pipeprobe's own loader it is the device that it used. Of another job it is only known where all GPUs of
 * the machine are on one node. */
#include "report/findings/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST = 128 };

/* Numbers, commas and dashes, as much as is shown of them; "" for anything else: a recording is a stranger's
 * file. */
static const char *list_of(const struct pp_source *s, const char *key, char text[LIST])
{
    const char *value = s->meta(s->ctx, "environment", key);
    size_t n = value ? strlen(value) : 0;
    int fits = n > 0 && n < LIST && value[0] >= '0' && value[0] <= '9' && strspn(value, "0123456789,-") == n;
    snprintf(text, LIST, "%s", fits ? value : "");
    return text;
}

static int has(const char *list, long node)
{
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strtol(p, NULL, 10) == node)
            return 1;
    return 0;
}

/* Copies to a GPU: our own loader to a CUDA device, or a program of its own, which is taken to use the GPUs
 * of its machine. */
static int uses_a_gpu(const struct pp_source *s)
{
    const char *kind = s->meta(s->ctx, "config", "device_kind");
    return !kind || strcmp(kind, "cuda") == 0;
}

void pp_measure_numa(const struct pp_findings_from *from, struct pp_finding_values *f)
{
    const struct pp_source *s = from->source;
    char own[LIST], gpu[LIST], cpus[LIST];
    double *m = f->number, nodes = pp_source_number(s, "environment", "numa_nodes", 0),
           distance = pp_source_number(s, "environment", "gpu_numa_distance", NAN);
    list_of(s, "cpu_numa_nodes", own);
    list_of(s, "gpu_numa_nodes", gpu);
    list_of(s, "gpu_numa_cpus", cpus);
    if (!(nodes >= 2) || !*own || !*gpu || !uses_a_gpu(s))
        return;
    m[PP_FINDING_NUMA_NODES] = nodes;
    if (strchr(gpu, ',')) {
        f->text[PP_FINDING_NUMA_MANY] = pp_arena_copy(from->arena, gpu);
        return;
    }
    m[PP_FINDING_NUMA_APART] = !has(own, strtol(gpu, NULL, 10));
    m[PP_FINDING_NUMA_GPU] = strtod(gpu, NULL);
    m[PP_FINDING_NUMA_DISTANCE] = distance;
    m[PP_FINDING_NUMA_FAR] = distance > 0 && distance < 256 ? distance : NAN;
    f->text[PP_FINDING_NUMA_OWN] = pp_arena_printf(from->arena, "%s %s", strchr(own, ',') ? "nodes" : "node",
                                                   own);
    f->text[PP_FINDING_NUMA_CPUS] = pp_arena_copy(from->arena, cpus);
}
