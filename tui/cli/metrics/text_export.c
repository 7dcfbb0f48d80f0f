#include "tui/cli/metrics/text_export.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/metrics/sampler.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW(format, end, times, help) {.name = #format, .suffix = end, .kind = times},
const struct metrics_export_format metrics_export_formats[] = {
    METRICS_EXPORT_FORMATS(ROW){NULL, NULL, METRICS_AT_THE_END}};
#undef ROW

const struct metrics_export_format *metrics_export_by_suffix(const char *path)
{
    size_t n = strlen(path);
    for (const struct metrics_export_format *f = metrics_export_formats; f->name; f++) {
        size_t m = strlen(f->suffix);
        if (n > m && strcmp(path + n - m, f->suffix) == 0)
            return f;
    }
    return NULL;
}

/* name: of the file, for events. */
static pp_status make_text(const char *recording, enum metrics_export_kind kind, char name[NAME_MAX],
                           char **text, size_t *n, struct pp_err *err)
{
    const struct metrics_opts none = {0};
    struct metrics_sampler *s = NULL;
    pp_status status = metrics_sampler_open(recording, &none, 0, &s, err);
    *text = NULL;
    if (status == PP_OK && kind == METRICS_AT_THE_END) {
        *text = metrics_sampler_text(s, PP_SINK_PROMETHEUS, n);
        status = *text ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
    } else if (status == PP_OK) {
        FILE *out = open_memstream(text, n);
        status = out && kind == METRICS_AS_EVENTS ? metrics_sampler_events(s, out, name, NAME_MAX, err)
                 : out                            ? metrics_sampler_history(s, out, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
        if (out && fclose(out) != 0 && status == PP_OK)
            status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
    }
    metrics_sampler_close(s);
    return status;
}

static pp_status may_write(const char *path, int force, struct pp_err *err)
{
    return force || access(path, F_OK) != 0
               ? PP_OK
               : pp_fail(err, PP_E_EXISTS, "%s already exists; --force replaces it", path);
}

pp_status metrics_export(const char *recording, const struct metrics_export_format *to, const char *out,
                         int force, struct pp_err *err)
{
    char *text = NULL, name[NAME_MAX] = "", path[PATH_MAX];
    size_t n = 0;
    int to_stdout = strcmp(out, "-") == 0, events = to->kind == METRICS_AS_EVENTS;
    pp_status status = PP_OK;
    if (to_stdout && events)
        status = pp_fail(err, PP_E_USAGE, "%s needs a directory: give it with -o", to->name);
    if (status == PP_OK && !events)
        status = may_write(out, force, err);
    if (status == PP_OK)
        status = make_text(recording, to->kind, name, &text, &n, err);
    if (status == PP_OK && events) {
        /* TensorBoard reads directories. */
        if (mkdir(out, 0777) != 0 && errno != EEXIST)
            status = pp_fail_errno(err, errno, "cannot make the directory %s", out);
        else if ((size_t)snprintf(path, sizeof(path), "%s/%s", out, name) >= sizeof(path))
            status = pp_fail(err, PP_E_USAGE, "the name is too long: %s", out);
        else
            status = may_write(path, force, err);
        out = path;
    }
    if (status == PP_OK && !to_stdout)
        status = pp_io_write_atomic(out, text, n, err);
    else if (status == PP_OK && (fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0))
        status = pp_fail_errno(err, errno, "writing the metrics failed");
    free(text);
    return status;
}
