#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "probe/device/cuda_bandwidth.h"
#include "probe/base/page.h"
#include "tui/cli/cli.h"
#include "tui/cli/doctor/doctor_checks.h"
#include "tui/cli/doctor/doctor_decode.h"

#include <errno.h>

struct options {
    int json, nvjpeg, color;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .group = "Options",
     .help = "one document of schema pipeprobe.doctor/1"},
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
    char lead[40], text[400], size[32];
    for (size_t i = 0; i < pp_checks_n; i++) {
        struct pp_finding f;
        pp_check_run(&pp_checks[i], &f);
        int n = snprintf(lead, sizeof(lead), "%-4s %-20s ", word[f.answer], f.name);
        snprintf(text, sizeof(text), "%s: %s", f.value, f.meaning);
        pp_page_text(&page, tone[f.answer], lead, n, 0, text);
    }
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
    pp_json_key(&j, "schema"), pp_json_str(&j, "pipeprobe.doctor/1");
    pp_json_key(&j, "version"), pp_json_str(&j, PP_VERSION);
    pp_json_key(&j, "checks"), pp_json_array(&j);
    for (size_t i = 0; i < pp_checks_n; i++) {
        struct pp_finding f;
        pp_check_run(&pp_checks[i], &f);
        pp_json_object(&j);
        pp_json_key(&j, "name"), pp_json_str(&j, f.name);
        pp_json_key(&j, "ok");
        if (f.answer == PP_CANNOT_TELL)
            pp_json_null(&j);
        else
            pp_json_bool(&j, f.answer == PP_YES);
        pp_json_key(&j, "value"), pp_json_str(&j, f.value);
        pp_json_key(&j, "meaning"), pp_json_str(&j, f.meaning);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_key(&j, "h2d"); /* a row per kind of memory and size; null where nothing was measured */
    if (pp_cuda_bandwidth(&b, &err) == PP_OK) {
        pp_json_array(&j);
        for (int i = 0; i < PP_BANDWIDTH_MEMORIES * PP_BANDWIDTH_SIZES; i++) {
            int m = i / PP_BANDWIDTH_SIZES, s = i % PP_BANDWIDTH_SIZES;
            pp_json_object(&j);
            pp_json_key(&j, "memory"), pp_json_str(&j, b.memory[m]);
            pp_json_key(&j, "size_bytes"), pp_json_uint(&j, b.size[s]);
            pp_json_key(&j, "bytes_per_s"), pp_json_num(&j, b.bytes_per_s[m][s]);
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

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    const char **operands = (const char **)argv;
    int n, code = pp_cli_parse(&pp_cmd_doctor, &set, argc, argv, operands, &n);
    if (code >= 0)
        return code;
    if (n > 0)
        pp_fail(&err, PP_E_USAGE, "takes no argument, but '%s' was given", operands[0]);
    else
        (o.json ? put_json : put_text)(&o);
    if (err.code == PP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        pp_fail_errno(&err, errno, "cannot write to standard output");
    return err.code == PP_OK ? 0 : pp_cli_fail(&pp_cmd_doctor, &err);
}

const struct pp_command pp_cmd_doctor = {
    .name = "doctor",
    .summary = "show what this machine and this build can measure",
    .usage = "doctor [options]",
    .opts = opts,
    .notes = "One line per capability: yes, no or ? (unknown), the finding, its consequence.\n"
             "Run it in the data's directory: page-cache hits depend on the file system.",
    .examples = {"pipeprobe doctor", "pipeprobe doctor --json | jq '.checks[] | select(.ok | not)'"},
    .run = run,
};
