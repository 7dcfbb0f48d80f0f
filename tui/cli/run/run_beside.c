#include "tui/cli/run/run_beside.h"

#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/build/build.h"
#include "tui/cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LITTLE_WAIT 0.05 /* of step time: the step, not the loader, sets the rate */
#define MUCH_FROM_STORAGE (16 << 20)

pp_status run_beside_name(const char *torch_path, int force, char *out, size_t size, struct pp_err *err)
{
    if ((size_t)snprintf(out, size, "%.*s-pipeprobe.sqlite", pp_stem(torch_path), torch_path) >= size)
        return pp_fail(err, PP_E_USAGE, "the recording's name is too long: %s", torch_path);
    if (!force && access(out, F_OK) == 0)
        return pp_fail(
            err, PP_E_EXISTS,
            "%s, for the run of pipeprobe's own loader, already exists; give another --output, --force, or --against %s",
            out, out);
    return PP_OK;
}

static const char *config_of(const struct pp_report *r, const char *key)
{
    for (size_t i = 0; i < r->n_config; i++)
        if (strcmp(r->config[i].key, key) == 0)
            return r->config[i].value;
    return "";
}

/* Settings that have to be the same; the i-th that is not, or NULL. */
static const char *difference(const struct pp_report *a, const struct pp_report *b, size_t i)
{
    static const char *const keys[] = {"dataset",   "workers", "batch_size", "prefetch",
                                       "transform", "dtype",   "sampler",    "step_ns"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
        if (strcmp(config_of(a, keys[k]), config_of(b, keys[k])) != 0 && i-- == 0)
            return keys[k];
    return NULL;
}

static int too_short(const struct pp_report *r)
{
    return pp_report_exit_code(r) == pp_status_exit_code(PP_E_INCONCLUSIVE);
}

/* NAN: too little was measured. */
static double ratio_of(const struct pp_report *torch, const struct pp_report *own)
{
    return torch->samples_per_s > 0 && !too_short(torch) && !too_short(own)
               ? own->samples_per_s / torch->samples_per_s
               : NAN;
}

/* Both keep up with the step: then its rate is compared with itself. */
static int step_bound(const struct pp_report *torch, const struct pp_report *own)
{
    return torch->data_wait_share < LITTLE_WAIT && own->data_wait_share < LITTLE_WAIT;
}

/* ---- text ---- */

static void print_rates(const struct pp_report *torch, const struct pp_report *own, FILE *out)
{
    char a[32], b[32];
    fprintf(out, "PyTorch DataLoader %s samples/s", pp_text_rate(a, sizeof(a), torch->samples_per_s));
    if (!own) {
        fputs("\n", out);
        return;
    }
    double ratio = ratio_of(torch, own);
    fprintf(out, ", pipeprobe's loader %s: ", pp_text_rate(b, sizeof(b), own->samples_per_s));
    if (isnan(ratio))
        fputs("too little was measured to compare them; run longer\n", out);
    else if (step_bound(torch, own))
        fputs("the step sets both rates; leave out --step-ms to compare the loaders\n", out);
    else if (ratio >= 1.05)
        fprintf(out, "%.1f times is left in software\n", ratio);
    else
        fprintf(out, "%.2f times; nothing is left in software\n", ratio);
}

static void print_text(const struct run_beside *b, const struct pp_report *torch, const struct pp_report *own,
                       FILE *out)
{
    char step[32], wait[2][32], bytes[2][32];
    const char *key;
    print_rates(torch, own, out);
    if (torch->has_step && own && own->has_step)
        fprintf(out, "  waits for data at a step of %s: PyTorch DataLoader %s, pipeprobe's loader %s\n",
                pp_text_duration(step, sizeof(step), atof(config_of(torch, "step_ns"))),
                pp_text_percent(wait[0], sizeof(wait[0]), torch->data_wait_share),
                pp_text_percent(wait[1], sizeof(wait[1]), own->data_wait_share));
    fprintf(out,
            "  DataLoader(num_workers=%s, batch_size=%s, prefetch_factor=%s, persistent_workers=True), %s\n",
            config_of(torch, "workers"), config_of(torch, "batch_size"), config_of(torch, "prefetch"),
            b->versions);
    for (size_t i = 0; own && (key = difference(torch, own, i)); i++)
        fprintf(out, "  not the same: %s is %s here and %s in %s\n", key, config_of(torch, key),
                config_of(own, key), b->own_path);
    if (own && b->own_storage_bytes != UINT64_MAX &&
        b->torch_storage_bytes > 2 * b->own_storage_bytes + MUCH_FROM_STORAGE)
        fprintf(
            out,
            "  not the same: PyTorch's run read %s from storage and pipeprobe's %s, the rest from the page cache; run again for equal terms\n",
            pp_text_bytes(bytes[0], sizeof(bytes[0]), (double)b->torch_storage_bytes),
            pp_text_bytes(bytes[1], sizeof(bytes[1]), (double)b->own_storage_bytes));
    fprintf(out, "  recordings: %s%s%s\n", b->torch_path, own ? ", " : "", own ? b->own_path : "");
}

/* ---- JSON ---- */

static void put_side(struct pp_json *j, const char *key, const char *path, const struct pp_report *r,
                     uint64_t storage_bytes)
{
    pp_json_key(j, key);
    if (!r) {
        pp_json_null(j);
        return;
    }
    pp_json_object(j);
    pp_json_put_str(j, "recording", path);
    pp_json_put_num(j, "samples_per_s", r->samples_per_s);
    pp_json_put_num(j, "data_wait_share", r->data_wait_share);
    pp_json_put_uint(j, "samples", r->samples);
    pp_json_put_uint(j, "errors", r->errors);
    pp_json_key(j, "storage_read_bytes");
    if (storage_bytes == UINT64_MAX)
        pp_json_null(j);
    else
        pp_json_uint(j, storage_bytes);
    pp_json_put_str(j, "verdict", r->verdict.sentence);
    pp_json_object_end(j);
}

pp_status run_beside_print(const struct run_beside *b, int json, FILE *out, struct pp_err *err)
{
    struct pp_report *torch = NULL, *own = NULL;
    pp_status st = pp_report_build(b->torch_path, &torch, err);
    if (st == PP_OK && b->own_path)
        st = pp_report_build(b->own_path, &own, err);
    if (st == PP_OK) {
        int failed = 0;
        errno = 0;
        if (json) {
            struct pp_json j;
            const char *key;
            pp_json_begin(&j, out, 2);
            pp_json_object(&j);
            pp_json_put_str(&j, "schema", "pipeprobe.loaders/1");
            pp_json_put_num(&j, "ratio", own ? ratio_of(torch, own) : NAN);
            pp_json_put_bool(&j, "step_bound", own && step_bound(torch, own));
            pp_json_put_num(&j, "step_ns", atof(config_of(torch, "step_ns")));
            pp_json_put_str(&j, "versions", b->versions);
            put_side(&j, "pytorch", b->torch_path, torch, b->torch_storage_bytes);
            put_side(&j, "pipeprobe", b->own_path, own, b->own_storage_bytes);
            pp_json_put_array(&j, "differences");
            for (size_t i = 0; own && (key = difference(torch, own, i)); i++)
                pp_json_str(&j, key);
            pp_json_array_end(&j);
            pp_json_object_end(&j);
            failed = pp_json_end(&j) != 0;
        } else {
            print_text(b, torch, own, out);
        }
        if ((failed || fflush(out) != 0) && errno != EPIPE)
            st = pp_fail(err, PP_E_IO, "writing to stdout failed");
    }
    pp_report_free(torch);
    pp_report_free(own);
    return st;
}
