#include "probe/base/err.h"

#include "collectors/collector.h"
#include "collectors/gpu/gpu.h"
#include "collectors/system/topology.h"
#include "probe/base/json.h"
#include "probe/base/page.h"
#include "probe/base/text.h"
#include "probe/device/cuda_bandwidth.h"
#include "probe/device/nvjpeg.h"
#include "tui/cli/cli.h"
#include "tui/cli/doctor/doctor_checks.h"

struct options {
    const char *only;
    int json, nvjpeg, color;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .group = "Options",
     .help = "one document of schema pipeprobe.doctor/1"},
    {.name = "only", .type = PP_OPT_STRING, .offset = AT(only), .arg = "NAMES",
     .help = "only these checks, separated by commas"},
    {.name = "nvjpeg", .type = PP_OPT_FLAG, .offset = AT(nvjpeg),
     .help = "measure JPEG decoding on the GPU too, by back end and batch; some seconds"},
    {.name = "color", .type = PP_OPT_CHOICE, .offset = AT(color), .choices = pp_cli_colors, .dflt = "auto",
     .help = "auto: on a terminal, unless NO_COLOR is set"},
    {.name = NULL},
};
/* clang-format on */

static void put_text(const struct options *o)
{
    static const char *const word[] = {[PP_NO] = "no", [PP_YES] = "yes", [PP_CANNOT_TELL] = "?"};
    static const enum pp_tone tone[] = {
        [PP_NO] = PP_TONE_BAD, [PP_YES] = PP_TONE_PLAIN, [PP_CANNOT_TELL] = PP_TONE_BAD};
    struct pp_page page = {.out = stdout,
                           .columns = pp_cli_columns(stdout),
                           .color = pp_cli_use_color((enum pp_color)o->color, stdout)};
    struct pp_bandwidth b;
    struct pp_err err;
    struct pp_finding f, next = {.name = NULL};
    char lead[40], text[800], size[32];
    for (size_t i = 0; i < pp_checks_n || next.name;) {
        f = next.name ? next : (struct pp_finding){.name = NULL};
        next.name = NULL;
        if (!f.name && !pp_check_run(&pp_checks[i++], o->only, &f))
            continue;
        int n = snprintf(lead, sizeof(lead), "%-4s %-20s ", word[f.answer], f.name);
        snprintf(text, sizeof(text), "%s: %s", f.value, f.meaning);
        /* What has the same cause is one sentence. */
        while (!next.name && f.answer != PP_YES && i < pp_checks_n)
            if (pp_check_run(&pp_checks[i++], o->only, &next) && next.answer == f.answer &&
                strcmp(next.value, f.value) == 0) {
                pp_text_add(text, sizeof(text), "; %s: %s", next.name, next.meaning);
                next.name = NULL;
            }
        pp_page_text(&page, tone[f.answer], lead, n, 0, text);
    }
    if (o->only)
        return;
    /* GB/s by kind of memory and size. Nothing where there is no device; the check above has said why. */
    if (pp_cuda_bandwidth(&b, &err) == PP_OK) {
        printf("\nCopies to the GPU, GB/s  ");
        for (int s = 0; s < PP_BANDWIDTH_SIZES; s++)
            printf(" %9s", pp_text_bytes(size, sizeof(size), (double)b.size[s]));
        for (int m = 0; m < PP_BANDWIDTH_MEMORIES; m++) {
            printf("\n  %-22s ", b.memory[m]);
            for (int s = 0; s < PP_BANDWIDTH_SIZES; s++)
                printf(" %9.2f", b.bytes_per_s[m][s] / 1e9);
        }
        putchar('\n');
    } else if (err.code != PP_E_NOT_FOUND && err.code != PP_E_UNSUPPORTED) {
        printf("\nCopies to the GPU could not be measured: %s\n", err.text);
    }
    if (o->nvjpeg)
        pp_decode_rates_text(stdout);
}

static void put_json(const struct options *o)
{
    struct pp_json j;
    struct pp_bandwidth b;
    struct pp_err err;
    pp_json_begin(&j, stdout, 2);
    pp_json_object(&j);
    pp_json_put_str(&j, "schema", "pipeprobe.doctor/1");
    pp_json_put_str(&j, "version", PP_VERSION);
    pp_json_put_array(&j, "checks");
    for (size_t i = 0; i < pp_checks_n; i++) {
        struct pp_finding f;
        if (!pp_check_run(&pp_checks[i], o->only, &f))
            continue;
        pp_json_object(&j);
        pp_json_put_str(&j, "name", f.name);
        pp_json_key(&j, "ok");
        if (f.answer == PP_CANNOT_TELL)
            pp_json_null(&j);
        else
            pp_json_bool(&j, f.answer == PP_YES);
        pp_json_put_str(&j, "value", f.value);
        pp_json_put_str(&j, "meaning", f.meaning);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_key(&j, "h2d"); /* a row per kind of memory and size; null where nothing was measured */
    if (pp_cuda_bandwidth(&b, &err) == PP_OK) {
        pp_json_array(&j);
        for (int i = 0; i < PP_BANDWIDTH_MEMORIES * PP_BANDWIDTH_SIZES; i++) {
            int m = i / PP_BANDWIDTH_SIZES, s = i % PP_BANDWIDTH_SIZES;
            pp_json_object(&j);
            pp_json_put_str(&j, "memory", b.memory[m]);
            pp_json_put_uint(&j, "size_bytes", b.size[s]);
            pp_json_put_num(&j, "bytes_per_s", b.bytes_per_s[m][s]);
            pp_json_object_end(&j);
        }
        pp_json_array_end(&j);
    } else {
        pp_json_null(&j);
    }
    if (o->nvjpeg)
        pp_decode_rates_json(&j);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    const char *names[64] = {NULL};
    char word[64], near[128];
    if (n > 1)
        pp_fail(err, PP_E_USAGE, "takes one PYTHON, but '%s' was given too", operands[1]);
    else if (n == 1)
        pp_doctor_python = operands[0];
    for (size_t i = 0; i < pp_checks_n && i < 63; i++)
        names[i] = pp_checks[i].collector ? pp_checks[i].collector->name : pp_checks[i].name;
    for (const char *at = o->only; err->code == PP_OK && at;
         at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t i = 0;
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, ","), at);
        while (names[i] && strcmp(names[i], word) != 0)
            i++;
        if (!names[i])
            pp_fail(err, PP_E_USAGE, "--only: no check is called '%s'%s", word,
                    pp_did_you_mean(near, word, names));
    }
    if (err->code == PP_OK)
        (o->json ? put_json : put_text)(o);
    if (err->code == PP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        pp_fail_errno(err, errno, "cannot write to standard output");
    return err->code;
}

const struct pp_command pp_cmd_doctor = {
    .name = "doctor",
    .summary = "show what this machine and this build can measure",
    .usage = "doctor [options] [PYTHON]",
    .opts = opts,
    .notes = "One line per capability: yes, no or ? (unknown), the finding, its consequence.\n"
             "The first are what exec needs, tried with PYTHON (default: python3): it records\n"
             "a DataLoader, in some seconds. Run it in the job's environment and in the data's\n"
             "directory: page-cache hits depend on the file system.",
    .examples = {"pipeprobe doctor",
                 "pipeprobe doctor ~/venv/bin/python --json | jq '.checks[] | select(.ok | not)'"},
    .fields = sizeof(struct options),
    .act = act,
};

/* Where things are: NUMA nodes of CPUs, GPUs, networks and disk; what of a GPU nvJPEG, a container, MIG and
 * cuFile leave within reach. */

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

void pp_look_container(struct pp_finding *f)
{
    struct pp_reach_root here = pp_reach_here();
    struct pp_nvjpeg_found n;
    struct pp_err err;
    int yes = pp_reach_capabilities(&here, f->value, sizeof(f->value));
    f->answer = yes > 0 ? PP_YES : yes == 0 ? PP_NO : PP_CANNOT_TELL;
    /* A machine may give its containers the whole driver, whatever they name. */
    if (f->answer == PP_NO && pp_nvjpeg_look(1, &n, &err) == PP_OK && n.choice.engines) {
        f->answer = PP_YES;
        snprintf(f->value, sizeof(f->value), "NVIDIA_DRIVER_CAPABILITIES=%.60s, and the JPEG engines answer",
                 here.capabilities && *here.capabilities ? here.capabilities : "compute,utility");
    }
}
