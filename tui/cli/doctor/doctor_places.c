/* Where things are: NUMA nodes of CPUs, GPUs, networks and disk; what of a GPU nvJPEG, a container, MIG and
 * cuFile leave within reach. */
#include "tui/cli/doctor/doctor_checks.h"

#include "collectors/gpu/reach.h"
#include "collectors/system/topology.h"
#include "probe/base/err.h"
#include "probe/device/nvjpeg.h"

#include <stdio.h>

void pp_describe_numa(const struct pp_topology *t, struct pp_finding *f)
{
    static const char *const kinds[] = {
        [PP_TOPOLOGY_GPU] = "GPU ", [PP_TOPOLOGY_NETWORK] = "network ", [PP_TOPOLOGY_DISK] = "disk "};
    char nodes[128], distance[24];
    const struct pp_topology_device *gpu = NULL;
    size_t at, far = 0;
    f->answer = t->nodes ? PP_YES : PP_CANNOT_TELL;
    if (t->nodes < 2) {
        snprintf(f->value, sizeof(f->value), "%s", t->nodes ? "one node" : "not in /sys/devices/system/node");
        return;
    }
    if (!t->own_bits) {
        f->answer = PP_CANNOT_TELL;
        snprintf(f->value, sizeof(f->value),
                 "%d nodes; which CPUs this shell may use is not in /proc/self/status", t->nodes);
        return;
    }
    at = (size_t)snprintf(f->value, sizeof(f->value), "CPUs of %s %s, of %d",
                          t->own_bits & (t->own_bits - 1) ? "nodes" : "node",
                          pp_topology_nodes(t->own_bits, nodes, sizeof(nodes)), t->nodes);
    for (int wanted = 1; wanted >= 0; wanted--) /* what is far first: there may be no room for all */
        for (size_t i = 0; i < t->devices && at < sizeof(f->value); i++) {
            const struct pp_topology_device *d = &t->device[i];
            if (d->node < 0 || pp_topology_is_far(t, d) != wanted)
                continue;
            far += (size_t)wanted;
            gpu = wanted && d->kind == PP_TOPOLOGY_GPU && !gpu ? d : gpu;
            distance[0] = '\0';
            if (d->distance)
                snprintf(distance, sizeof(distance), " (distance %d)", d->distance);
            int n = snprintf(f->value + at, sizeof(f->value) - at, "; %s%s on node %d%s", kinds[d->kind],
                             d->name, d->node, distance);
            at = n > 0 && (size_t)n < sizeof(f->value) - at ? at + (size_t)n : sizeof(f->value);
        }
    if (gpu && at < sizeof(f->value))
        snprintf(f->value + at, sizeof(f->value) - at, "; numactl --cpunodebind=%d --preferred=%d", gpu->node,
                 gpu->node);
    f->answer = far ? PP_NO : PP_YES;
}

void pp_look_numa(struct pp_finding *f)
{
    struct pp_topology t;
    pp_topology_read(".", &t);
    pp_describe_numa(&t, f);
}

#define USUAL_BATCH 256 /* of a training on one GPU; small batches are decoded otherwise without engines */

void pp_look_nvjpeg(struct pp_finding *f)
{
    struct pp_nvjpeg_found n;
    struct pp_err err;
    if (pp_nvjpeg_look(USUAL_BATCH, &n, &err) != PP_OK) {
        f->answer = PP_NO;
        snprintf(f->value, sizeof(f->value), "%.239s", err.text);
        return;
    }
    const struct pp_nvjpeg_choice *c = &n.choice;
    f->answer = PP_YES;
    if (c->engines)
        snprintf(f->value, sizeof(f->value), "nvJPEG %d.%d, %u engine%s of %u core%s, back end %s",
                 n.version / 1000, n.version % 1000, c->engines, c->engines == 1 ? "" : "s", c->cores,
                 c->cores == 1 ? "" : "s", pp_nvjpeg_backend_name(c->backend));
    else
        snprintf(f->value, sizeof(f->value), "nvJPEG %d.%d, back end %s: %.160s", n.version / 1000,
                 n.version % 1000, pp_nvjpeg_backend_name(c->backend), c->passed_over);
}

static void answer(struct pp_finding *f, int yes)
{
    f->answer = yes > 0 ? PP_YES : yes == 0 ? PP_NO : PP_CANNOT_TELL;
}

void pp_look_container(struct pp_finding *f)
{
    struct pp_reach_root here = pp_reach_here();
    struct pp_nvjpeg_found n;
    struct pp_err err;
    answer(f, pp_reach_capabilities(&here, f->value, sizeof(f->value)));
    /* A machine may give its containers the whole driver, whatever they name. */
    if (f->answer == PP_NO && pp_nvjpeg_look(1, &n, &err) == PP_OK && n.choice.engines) {
        f->answer = PP_YES;
        snprintf(f->value, sizeof(f->value), "NVIDIA_DRIVER_CAPABILITIES=%.60s, and the JPEG engines answer",
                 here.capabilities && *here.capabilities ? here.capabilities : "compute,utility");
    }
}

void pp_look_mig(struct pp_finding *f)
{
    struct pp_reach_root here = pp_reach_here();
    answer(f, pp_reach_mig(&here, f->value, sizeof(f->value)));
}

void pp_look_cufile(struct pp_finding *f)
{
    struct pp_reach_root here = pp_reach_here();
    answer(f, pp_reach_cufile(&here, f->value, sizeof(f->value)));
}
