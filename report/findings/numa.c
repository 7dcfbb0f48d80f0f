#include "report/findings/numa.h"

#include "report/findings/rows.h"
#include "report/rules/remedies.h"

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

void pp_findings_of_numa(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r)
{
    char own[LIST], gpu[LIST], cpus[LIST], near[LIST + 16] = "", far[40] = "";
    list_of(s, "cpu_numa_nodes", own);
    list_of(s, "gpu_numa_nodes", gpu);
    list_of(s, "gpu_numa_cpus", cpus);
    double nodes = pp_source_number(s, "environment", "numa_nodes", 0),
           distance = pp_source_number(s, "environment", "gpu_numa_distance", NAN);
    if (!(nodes >= 2) || !*own || !*gpu || !uses_a_gpu(s))
        return;
    if (strchr(gpu, ',')) {
        pp_finding_add(
            r, arena, "gpu-node", PP_FINDING_NOT_MEASURED,
            pp_arena_printf(arena,
                            "the GPUs are on NUMA nodes %s, and which of them the job used is not recorded",
                            gpu));
        return;
    }
    int found = !has(own, strtol(gpu, NULL, 10)), several = strchr(own, ',') != NULL;
    if (*cpus)
        snprintf(near, sizeof(near), ", with CPUs %s", cpus);
    if (distance > 0 && distance < 256)
        snprintf(far, sizeof(far), " (distance %.0f)", distance);
    struct pp_report_finding *f = pp_finding_add(
        r, arena, "gpu-node", found ? PP_FINDING_FOUND : PP_FINDING_NOT_FOUND,
        pp_arena_printf(arena, "the job may use CPUs of NUMA node%s %s, and its GPU is on node %s%s%s",
                        several ? "s" : "", own, gpu, far, near));
    f->next_step = found ? pp_remedies[PP_REMEDY_NUMA].sentence : NULL;
    pp_finding_number(f, "numa_nodes", nodes);
    pp_finding_number(f, "gpu_node", strtod(gpu, NULL));
    pp_finding_number(f, "distance", distance);
}
