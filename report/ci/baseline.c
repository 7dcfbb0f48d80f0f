#include "report/ci/baseline.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json.h"

#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#define SCHEMA "pipeprobe.baseline/"
#define VERSION "1"

/* ---- writing ---- */

static void put_run(struct pp_json *j, const struct pp_run *r)
{
    pp_json_object(j);
    pp_json_put_str(j, "file", r->path);
    pp_json_put_str(j, "session", r->session);
    pp_json_put_str(j, "outcome", r->outcome);
    pp_json_put_str(j, "subject", r->subject);
    pp_json_put_str(j, "l0", r->l0);
    pp_json_put_str(j, "l1", r->l1);
    pp_json_put_str(j, "l2", r->l2);
    pp_json_put_num(j, "s_per_batch", r->batch_s);
    pp_json_put_object(j, "metrics");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        pp_json_put_num(j, pp_cmp_metrics[i].key, r->metric[i]);
    pp_json_object_end(j);
    pp_json_put_object(j, "not_measured");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (isnan(r->metric[i]))
            pp_json_put_str(j, pp_cmp_metrics[i].key, pp_whys[r->why[i]].key);
    pp_json_object_end(j);
    pp_json_put_array(j, "parts");
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        for (int phase = 1; phase < PP_PHASE_COUNT; phase++)
            for (int part = 0; part < PP_PART_COUNT; part++) {
                double s = r->part_s[lane][phase][part];
                if (s == 0)
                    continue;
                pp_json_object(j);
                pp_json_put_str(j, "lane", pp_lane_name((pp_lane)lane));
                pp_json_put_str(j, "phase", pp_phase_info((unsigned)phase)->name);
                pp_json_put_str(j, "part", pp_part_names[part]);
                pp_json_put_num(j, "s_per_batch", s);
                pp_json_object_end(j);
            }
    pp_json_array_end(j);
    pp_json_object_end(j);
}

pp_status pp_baseline_write(const char *path, const struct pp_runs *runs,
                            const struct pp_baseline_about *about, struct pp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    if (runs->n == 0)
        return pp_fail(err, PP_E_EMPTY, "the baseline %s would hold no runs", path);
    FILE *out = open_memstream(&text, &size);
    int failed = !out;
    if (out) {
        struct pp_json j;
        pp_json_begin(&j, out, 1);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", SCHEMA VERSION);
        pp_json_put_str(&j, "created_utc", about->created_utc);
        pp_json_put_str(&j, "label", about->label);
        pp_json_put_str(&j, "pipeprobe_version", about->version);
        pp_json_put_object(&j, "fields");
        for (size_t i = 0; i < runs->run[0].n_fields; i++)
            pp_json_put_str(&j, runs->run[0].field[i].name, runs->run[0].field[i].value);
        pp_json_object_end(&j);
        pp_json_put_array(&j, "runs");
        for (size_t i = 0; i < runs->n; i++)
            put_run(&j, &runs->run[i]);
        pp_json_array_end(&j);
        pp_json_object_end(&j);
        failed = pp_json_end(&j) != 0;
        failed |= fclose(out) != 0;
    }
    pp_status st = failed ? pp_fail(err, PP_E_NO_MEMORY, "no memory to write the baseline %s", path)
                          : pp_io_write_atomic(path, text, size, err);
    free(text);
    return st;
}

/* ---- reading ---- */

int pp_baseline_is(const char *path)
{
    char head[64];
    int fd = pp_io_open(path, O_RDONLY | O_NONBLOCK, 0);
    ssize_t n = fd >= 0 ? pp_io_read(fd, head, sizeof(head)) : 0, i = 0;
    if (fd >= 0)
        close(fd);
    while (i < n && isspace((unsigned char)head[i]))
        i++;
    return i < n && head[i] == '{';
}

static pp_status fail_damaged(const char *path, const char *what, struct pp_err *err)
{
    return pp_fail(err, PP_E_CORRUPT, "the baseline %s is damaged: %s; save it again", path, what);
}

/* 0 when the value is there but no string, or too long. */
static int read_text(const json_t *object, const char *key, char *buf, size_t size)
{
    const json_t *v = json_object_get(object, key);
    if (!v || json_is_null(v))
        return 1;
    if (!json_is_string(v) || json_string_length(v) >= size)
        return 0;
    snprintf(buf, size, "%s", json_string_value(v));
    return 1;
}

/* null and absent are NAN; 0 for anything else that is no number. */
static int read_number(const json_t *object, const char *key, double *out)
{
    const json_t *v = json_object_get(object, key);
    *out = json_is_number(v) ? json_number_value(v) : NAN;
    return !v || json_is_null(v) || json_is_number(v);
}

static int has_text(const json_t *o, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(o, key));
    return value && strcmp(value, text) == 0;
}

static pp_status read_run(const char *path, const json_t *doc, const json_t *fields, struct pp_run *r,
                          struct pp_err *err)
{
    const char *file = json_string_value(json_object_get(doc, "file")), *name;
    const json_t *metrics = json_object_get(doc, "metrics"), *whys = json_object_get(doc, "not_measured");
    const json_t *parts = json_object_get(doc, "parts");
    json_t *value, *p;
    size_t at;
    double s;
    if (!pp_run_init(r, file ? file : path))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the baseline %s", path);
    if (!json_is_object(metrics))
        return fail_damaged(path, "a run has no metrics", err);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (!read_number(metrics, pp_cmp_metrics[i].key, &r->metric[i]))
            return fail_damaged(path, "a metric is not a number", err);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) /* UNKNOWN for what this version does not know */
        for (int why = 0; why < PP_WHY_COUNT; why++)
            if (has_text(whys, pp_cmp_metrics[i].key, pp_whys[why].key))
                r->why[i] = (enum pp_why)why;
    if (!read_text(doc, "session", r->session, sizeof(r->session)))
        return fail_damaged(path, "a run's session is not a text", err);
    if (!read_text(doc, "outcome", r->outcome, sizeof(r->outcome)) ||
        !read_text(doc, "subject", r->subject, sizeof(r->subject)) ||
        !read_text(doc, "l0", r->l0, sizeof(r->l0)) || !read_text(doc, "l1", r->l1, sizeof(r->l1)) ||
        !read_text(doc, "l2", r->l2, sizeof(r->l2)))
        return fail_damaged(path, "a run's verdict, subject or outcome is not a text", err);
    if (!read_number(doc, "s_per_batch", &r->batch_s) || (parts && !json_is_array(parts)))
        return fail_damaged(path, "a run's parts are not numbers", err);
    json_array_foreach(parts, at, p) /* of a lane or phase that this version does not know they are skipped */
    {
        unsigned lane = 0, phase = 1, part = 0;
        while (lane < PP_LANE_COUNT && !has_text(p, "lane", pp_lane_name((pp_lane)lane)))
            lane++;
        while (phase < PP_PHASE_COUNT && !has_text(p, "phase", pp_phase_info(phase)->name))
            phase++;
        while (part < PP_PART_COUNT && !has_text(p, "part", pp_part_names[part]))
            part++;
        if (!read_number(p, "s_per_batch", &s))
            return fail_damaged(path, "a run's parts are not numbers", err);
        if (lane < PP_LANE_COUNT && phase < PP_PHASE_COUNT && part < PP_PART_COUNT && !isnan(s))
            r->part_s[lane][phase][part] = s;
    }
    json_object_foreach((json_t *)fields, name, value)
    {
        if (!json_is_string(value))
            return fail_damaged(path, "a field is not a text", err);
        if (!pp_run_set_field(r, name, json_string_value(value)))
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the baseline %s", path);
    }
    return PP_OK;
}

static pp_status read_document(const char *path, const json_t *doc, struct pp_runs *out,
                               struct pp_baseline_about *about, struct pp_err *err)
{
    const json_t *runs = json_object_get(doc, "runs"), *fields = json_object_get(doc, "fields");
    struct pp_baseline_about ignored = {0};
    size_t i;
    json_t *run;
    const char *schema = json_string_value(json_object_get(doc, "schema"));
    if (!schema || strncmp(schema, SCHEMA, strlen(SCHEMA)) != 0)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s is not a baseline: its schema is %.60s, not " SCHEMA VERSION, path,
                       schema ? schema : "missing");
    if (strcmp(schema + strlen(SCHEMA), VERSION) != 0)
        return pp_fail(err, PP_E_VERSION,
                       "the baseline %s has schema %.60s, this version reads " SCHEMA VERSION
                       "; save it again",
                       path, schema);
    about = about ? about : &ignored;
    if (!read_text(doc, "label", about->label, sizeof(about->label)) ||
        !read_text(doc, "created_utc", about->created_utc, sizeof(about->created_utc)) ||
        !read_text(doc, "pipeprobe_version", about->version, sizeof(about->version)) ||
        !json_is_object(fields) || !json_is_array(runs))
        return fail_damaged(path, "label, fields or runs do not match the schema", err);
    if (json_array_size(runs) == 0)
        return pp_fail(err, PP_E_EMPTY, "the baseline %s holds no runs; save it again", path);
    json_array_foreach(runs, i, run)
    {
        struct pp_run *r = pp_runs_push(out);
        pp_status st = r ? read_run(path, run, fields, r, err)
                         : pp_fail(err, PP_E_NO_MEMORY, "no memory for the baseline %s", path);
        if (st != PP_OK)
            return st;
    }
    return PP_OK;
}

pp_status pp_baseline_read(const char *path, struct pp_runs *out, struct pp_baseline_about *about,
                           struct pp_err *err)
{
    struct pp_io_file file = {.limit = 256 << 20}; /* some kilobytes a run */
    json_error_t why;
    json_t *doc = NULL;
    *out = (struct pp_runs){0};
    pp_status st = pp_io_read_file(AT_FDCWD, path, &file, err);
    if (st != PP_OK)
        goto out;
    doc = json_loadb((const char *)file.buf, file.size, JSON_REJECT_DUPLICATES, &why);
    if (!doc)
        st = pp_fail(err, PP_E_CORRUPT, "the baseline %s is not JSON: line %d: %s", path, why.line, why.text);
    else
        st = read_document(path, doc, out, about, err);
out:
    json_decref(doc);
    free(file.buf);
    return st;
}
