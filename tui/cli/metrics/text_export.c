#include "tui/cli/metrics/text_export.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/metrics/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW(format, end, times, help) {.name = #format, .suffix = end, .history = times},
const struct metrics_export_format metrics_export_formats[] = {METRICS_EXPORT_FORMATS(ROW){NULL, NULL, 0}};
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

static pp_status make_text(const char *recording, int history, char **text, size_t *n, struct pp_err *err)
{
    const struct metrics_opts none = {0};
    struct metrics_sampler *s = NULL;
    pp_status status = metrics_sampler_open(recording, &none, 0, &s, err);
    *text = NULL;
    if (status == PP_OK && !history) {
        *text = metrics_sampler_text(s, PP_METRICS_TEXT, n);
        status = *text ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
    } else if (status == PP_OK) {
        FILE *out = open_memstream(text, n);
        status = out ? metrics_sampler_history(s, out, err)
                     : pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
        if (out && fclose(out) != 0 && status == PP_OK)
            status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
    }
    metrics_sampler_close(s);
    return status;
}

pp_status metrics_export(const char *recording, const struct metrics_export_format *to, const char *out,
                         int force, struct pp_err *err)
{
    char *text = NULL;
    size_t n = 0;
    int to_stdout = strcmp(out, "-") == 0;
    pp_status status = PP_OK;
    if (!to_stdout && !force && access(out, F_OK) == 0)
        status = pp_fail(err, PP_E_EXISTS, "%s already exists; --force replaces it", out);
    if (status == PP_OK)
        status = make_text(recording, to->history, &text, &n, err);
    if (status == PP_OK && !to_stdout)
        status = pp_io_write_atomic(out, text, n, err);
    else if (status == PP_OK && (fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0))
        status = pp_fail_errno(err, errno, "writing the metrics failed");
    free(text);
    return status;
}
