/* speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): a sampled profile per thread,
 * each stack with its weight; of a recording without stacks, the phases. */
#include "report/export/stack_sums.h"

#include "probe/base/err.h"
#include "probe/base/json.h"

#include <unistd.h>

/* The rows of one thread. */
static void put_profile(struct pp_json *j, const struct pp_stack_sums *s, const struct pp_stack_sum *rows,
                        size_t n)
{
    uint32_t path[PP_STACK_LONGEST];
    uint64_t all = 0;
    pp_json_object(j);
    pp_json_put_str(j, "type", "sampled");
    pp_json_put_str(j, "name", rows->thread->name);
    pp_json_put_str(j, "unit", "nanoseconds");
    pp_json_put_array(j, "samples");
    for (size_t i = 0; i < n; i++) {
        size_t depth = pp_stack_sums_path(s, &rows[i], path);
        all += rows[i].ns;
        pp_json_array(j);
        for (size_t k = 0; k < depth; k++)
            pp_json_uint(j, path[k]);
        pp_json_array_end(j);
    }
    pp_json_array_end(j);
    pp_json_put_array(j, "weights");
    for (size_t i = 0; i < n; i++)
        pp_json_uint(j, rows[i].ns);
    pp_json_array_end(j);
    pp_json_put_uint(j, "startValue", 0);
    pp_json_put_uint(j, "endValue", all);
    pp_json_object_end(j);
}

static pp_status speedscope_write(const struct pp_stack_sums *s, struct pp_err *err)
{
    int fd = dup(s->fd);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    if (!out)
        return pp_fail_errno(err, errno, "cannot write %s", s->label);
    struct pp_json j;
    pp_json_begin(&j, out, 0);
    pp_json_object(&j);
    pp_json_put_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    pp_json_put_str(&j, "exporter", "pipeprobe");
    pp_json_put_object(&j, "shared");
    pp_json_put_array(&j, "frames");
    for (size_t i = 0; i < s->n_locations; i++) {
        pp_json_object(&j);
        pp_json_put_str(&j, "name", s->locations[i].name);
        if (s->locations[i].file[0])
            pp_json_put_str(&j, "file", s->locations[i].file);
        if (s->locations[i].line)
            pp_json_put_uint(&j, "line", s->locations[i].line);
        pp_json_object_end(&j);
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    pp_json_put_array(&j, "profiles");
    for (size_t i = 0, n; i < s->n_rows; i += n) {
        for (n = 1; i + n < s->n_rows && s->rows[i + n].thread == s->rows[i].thread; n++)
            ;
        put_profile(&j, s, &s->rows[i], n);
    }
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    int fine = pp_json_end(&j) == 0;
    fine &= fclose(out) == 0;
    return fine ? PP_OK : pp_fail_errno(err, errno, "cannot write %s", s->label);
}

const struct pp_exporter pp_export_speedscope = {
    .name = "speedscope",
    .suffixes = {".speedscope.json"},
    .next = "open %s in https://www.speedscope.app",
    .streams = 1,
    .open = pp_stack_sums_open,
    .span = pp_stack_sums_span,
    .stacks = speedscope_write,
    .close = pp_stack_sums_close,
};
