#include "report/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Left out on purpose: hostname and data path (CI machines have new ones every time), memory available,
 * launcher variables, versions of pipeprobe itself (what a comparison may be about). */
const struct pp_same_field pp_same_fields[] = {
    {"cpu_model", PP_SAME_MACHINE, 0, "CPU model"},
    {"machine", PP_SAME_MACHINE, 0, "architecture"},
    {"usable_cpus", PP_SAME_MACHINE, 0.01, "CPUs available to this process"},
    {"cpu_quota", PP_SAME_MACHINE, 0.01, "control group's CPU quota"},
    {"memory_total", PP_SAME_MACHINE, 0.05, "memory (kernels reserve slightly different amounts)"},
    {"memory_limit", PP_SAME_MACHINE, 0.05, "control group's memory limit"},
    {"virtual_machine", PP_SAME_MACHINE, 0, "running under a hypervisor"},
    {"kernel", PP_SAME_MACHINE, 0, "kernel release"},
    {"data_fs_type", PP_SAME_MACHINE, 0, "file system under the data"},
    {"libjpeg_turbo_version", PP_SAME_MACHINE, 0, "decoder"},
    {"config.device_name", PP_SAME_MACHINE, 0, "device"},
    {"config.simd", PP_SAME_MACHINE, 0, "instruction set used by transforms"},
    {"config.dataset_samples", PP_SAME_WORK, 0, "samples in the data set"},
    {"config.format", PP_SAME_WORK, 0, "kind of data set"},
    {"config.synthetic", PP_SAME_WORK, 0, "synthetic data set"},
    {"config.step", PP_SAME_WORK, 0, "kind of trainer step"},
    {"config.step_ns", PP_SAME_WORK, 0, "length of the trainer step"},
    {NULL, PP_SAME_MACHINE, 0, NULL},
};

/* Options that name this run's files and looks, not what it measured. */
static const char *const of_one_run[] = {
    "config.output",
    "config.force",
    "config.quiet",
    "config.json",
    "config.color",
    "config.list_delivered",
    "config.digest",
    "config.dataset",
    "config.dataset_description",
    "config.dataloader", /* which loader of the job is judged: PID.NUMBER */
    "config.save_state",
    "config.workers_why",
    "config.batch_size_why",
    "config.prefetch_why",
    "config.record",
    "config.top",
    "config.collective",
    NULL,
};
static int listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return 1;
    return 0;
}

/* Whether a field is the same in both; 1 when neither has it. */
static int equal(const char *a, const char *b, double tolerance)
{
    if (!a || !b)
        return a == b;
    if (tolerance > 0) {
        char *end_a, *end_b;
        double x = strtod(a, &end_a), y = strtod(b, &end_b);
        if (end_a != a && end_b != b)
            return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
    }
    return strcmp(a, b) == 0;
}

static struct pp_difference difference(const char *name, const struct pp_run *a, const struct pp_run *b)
{
    const char *x = pp_run_field(a, name), *y = pp_run_field(b, name);
    return (struct pp_difference){.name = name,
                                  .base = x ? x : "unknown",
                                  .head = y ? y : "unknown",
                                  .base_path = a->path,
                                  .head_path = b->path};
}

/* The first run of the side whose field differs from that of run b, or NULL. */
static const struct pp_run *odd_one(const struct pp_same_field *f, const struct pp_runs *side,
                                    const struct pp_run *b)
{
    for (size_t i = 0; i < side->n; i++)
        if (!equal(pp_run_field(&side->run[i], f->name), pp_run_field(b, f->name), f->tolerance))
            return &side->run[i];
    return NULL;
}

size_t pp_differences(const struct pp_runs *a, const struct pp_runs *b, const char *const *allow,
                      struct pp_difference *out, size_t max)
{
    size_t n = 0;
    for (const struct pp_same_field *f = pp_same_fields; f->name && n < max; f++) {
        if (listed(allow, f->name) || listed(allow, "all"))
            continue;
        const struct pp_run *odd = odd_one(f, a, &b->run[0]);
        if (!odd)
            odd = odd_one(f, b, &b->run[0]);
        if (odd)
            out[n++] = difference(f->name, odd, &b->run[0]);
    }
    return n;
}

/* An option that is neither in the table nor of one run's files and looks. */
static int is_free_option(const char *name)
{
    for (const struct pp_same_field *f = pp_same_fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return 0;
    return strncmp(name, "config.", 7) == 0 && !listed(of_one_run, name);
}

size_t pp_config_changes(const struct pp_run *a, const struct pp_run *b, struct pp_difference *out,
                         size_t max)
{
    size_t n = 0;
    for (int swap = 0; swap < 2; swap++) {
        const struct pp_run *from = swap ? b : a, *other = swap ? a : b;
        for (size_t i = 0; i < from->n_fields && n < max; i++) {
            const char *name = from->field[i].name, *there = pp_run_field(other, name);
            /* what both have is found in the first walk */
            if (is_free_option(name) && (swap ? !there : !equal(from->field[i].value, there, 0)))
                out[n++] = difference(name, a, b);
        }
    }
    return n;
}

int pp_unrepeated(const struct pp_runs *side, struct pp_difference *out)
{
    for (size_t i = 1; i < side->n; i++)
        if (pp_config_changes(&side->run[0], &side->run[i], out, 1))
            return 1;
    return 0;
}

/* Field by field, each hash the seed of the next: names and values end with their zero. */
static uint64_t mix_field(uint64_t hash, const char *name, const char *value)
{
    hash = XXH64(name, strlen(name) + 1, hash);
    return XXH64(value, strlen(value) + 1, hash);
}

void pp_series_name(const struct pp_run *r, char *buf, size_t size)
{
    const char *cpu = pp_run_field(r, "cpu_model"), *cpus = pp_run_field(r, "usable_cpus"),
               *format = pp_run_field(r, "config.format");
    /* Two significant digits of what has a tolerance. */
    uint64_t hash = 0;
    static const char *const to_show[] = {"kernel", "libjpeg_turbo_version", NULL};
    char number[32];
    for (const struct pp_same_field *f = pp_same_fields; f->name; f++) {
        const char *value = pp_run_field(r, f->name);
        if (!value || listed(to_show, f->name))
            continue;
        if (f->tolerance > 0)
            snprintf(number, sizeof(number), "%.1e", strtod(value, NULL));
        hash = mix_field(hash, f->name, f->tolerance > 0 ? number : value);
    }
    for (size_t i = 0; i < r->n_fields; i++)
        if (is_free_option(r->field[i].name))
            hash = mix_field(hash, r->field[i].name, r->field[i].value);
    snprintf(buf, size, "%.60s, %.8s CPUs, %.20s [%08x]", cpu ? cpu : "unknown CPU", cpus ? cpus : "?",
             format ? format : "?", (unsigned)(hash >> 32));
}
