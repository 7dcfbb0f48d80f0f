#include "report/ci/baseline.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/json_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put_metrics(struct pp_json *j, const struct pp_run *r)
{
    pp_json_key(j, "metrics");
    pp_json_object(j);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        num(j, pp_cmp_metric((enum pp_cmp_id)i)->key, r->metric[i]);
    pp_json_object_end(j);
}

static void put_whys(struct pp_json *j, const struct pp_run *r)
{
    pp_json_key(j, "not_measured");
    pp_json_object(j);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (isnan(r->metric[i]))
            str(j, pp_cmp_metric((enum pp_cmp_id)i)->key, pp_why_key(r->why[i]));
    pp_json_object_end(j);
}

static void put_parts(struct pp_json *j, const struct pp_run *r)
{
    pp_json_key(j, "parts");
    pp_json_array(j);
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        for (int phase = 1; phase < PP_PHASE_COUNT; phase++)
            for (int part = 0; part < PP_PART_COUNT; part++) {
                double s = r->part_s[lane][phase][part];
                if (s == 0)
                    continue;
                pp_json_object(j);
                str(j, "lane", pp_lane_name((pp_lane)lane));
                str(j, "phase", pp_phase_info((unsigned)phase)->name);
                str(j, "part", pp_part_name((enum pp_part)part));
                num(j, "s_per_batch", s);
                pp_json_object_end(j);
            }
    pp_json_array_end(j);
}

static void put_run(struct pp_json *j, const struct pp_run *r)
{
    pp_json_object(j);
    str(j, "file", r->path);
    str(j, "session", r->session);
    str(j, "outcome", r->outcome);
    str(j, "subject", r->subject);
    str(j, "l0", r->l0);
    str(j, "l1", r->l1);
    str(j, "l2", r->l2);
    num(j, "s_per_batch", r->batch_s);
    put_metrics(j, r);
    put_whys(j, r);
    put_parts(j, r);
    pp_json_object_end(j);
}

static int put_document(FILE *out, const struct pp_runs *runs, const struct pp_baseline_about *about)
{
    struct pp_json j;
    pp_json_begin(&j, out, 1);
    pp_json_object(&j);
    str(&j, "schema", "pipeprobe.baseline/1");
    str(&j, "created_utc", about->created_utc);
    str(&j, "label", about->label);
    str(&j, "pipeprobe_version", about->version);
    pp_json_key(&j, "fields");
    pp_json_object(&j);
    for (size_t i = 0; i < runs->run[0].n_fields; i++)
        str(&j, runs->run[0].field[i].name, runs->run[0].field[i].value);
    pp_json_object_end(&j);
    pp_json_key(&j, "runs");
    pp_json_array(&j);
    for (size_t i = 0; i < runs->n; i++)
        put_run(&j, &runs->run[i]);
    pp_json_array_end(&j);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}

pp_status pp_baseline_write(const char *path, const struct pp_runs *runs,
                            const struct pp_baseline_about *about, struct pp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    if (runs->n == 0)
        return pp_fail(err, PP_E_EMPTY, "the baseline %s would hold no runs", path);
    FILE *out = open_memstream(&text, &size);
    int failed = !out || put_document(out, runs, about) != 0;
    failed |= out && fclose(out) != 0;
    pp_status st = failed ? pp_fail(err, PP_E_NO_MEMORY, "no memory to write the baseline %s", path)
                          : pp_io_write_atomic(path, text, size, err);
    free(text);
    return st;
}
