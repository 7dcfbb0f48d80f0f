#include "report/compare/run.h"

#include "probe/base/array.h"
#include "probe/base/text.h"

/* ---- metrics ---- */

const struct pp_cmp_metric pp_cmp_metrics[] = {
#define PP_CMP_METRIC(sym, key_, title_, unit_, better_, kind_, threshold_, floor_, text_) \
    {.key = key_, \
     .title = title_, \
     .text = text_, \
     .unit = PP_CMP_##unit_, \
     .better = PP_CMP_##better_, \
     .kind = PP_CMP_##kind_, \
     .threshold = threshold_, \
     .floor = floor_},
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
};

const char *const pp_cmp_keys[] = {
#define PP_CMP_METRIC(sym, key, title, unit, better, kind, threshold, floor, text) key,
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
    NULL,
};

int pp_cmp_find(const char *key)
{
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (strcmp(pp_cmp_metrics[i].key, key) == 0)
            return i;
    return -1;
}

const char *const pp_cmp_unit_names[] = {[PP_CMP_RATE] = "samples/s",
                                         [PP_CMP_PERCENT] = "ratio",
                                         [PP_CMP_SECONDS] = "seconds",
                                         [PP_CMP_BYTES] = "bytes",
                                         [PP_CMP_NUMBER] = ""};

char *pp_cmp_value_text(char *buf, size_t size, const struct pp_cmp_metric *m, double value)
{
    switch (m->unit) {
    case PP_CMP_RATE: return pp_text_rate(buf, size, value);
    case PP_CMP_PERCENT: return pp_text_percent(buf, size, value);
    case PP_CMP_SECONDS: return pp_text_duration(buf, size, value * 1e9);
    case PP_CMP_BYTES: return pp_text_bytes(buf, size, value);
    case PP_CMP_NUMBER: break;
    }
    if (value == floor(value))
        return pp_text_count(buf, size, value);
    snprintf(buf, size, isnan(value) ? "-" : "%.2f", value);
    return buf;
}

char *pp_cmp_change_text(char *buf, size_t size, double share)
{
    if (!isfinite(share))
        snprintf(buf, size, "-");
    else if (fabs(share) < 5e-4)
        snprintf(buf, size, "0.0 %%");
    else
        snprintf(buf, size, fabs(share) < 1 ? "%+.1f %%" : "%+.0f %%", share * 100);
    return buf;
}

/* ---- runs ---- */

const char *const pp_part_names[PP_PART_COUNT] = {[PP_PART_CPU] = "cpu",
                                                  [PP_PART_RUN_DELAY] = "waiting for a CPU",
                                                  [PP_PART_BLOCKED] = "blocked",
                                                  [PP_PART_UNSPLIT] = ""};

const struct pp_why_words pp_whys[PP_WHY_COUNT] = {
    [PP_WHY_UNKNOWN] = {"", ""},
    [PP_WHY_NO_FIRST_BATCH] = {"no-first-batch", "the trainer never got a batch"},
    [PP_WHY_NO_STEADY_STATE] = {"no-steady-state", "no steady state was reached; record a longer run"},
    [PP_WHY_NO_STEP] = {"no-step", "the run has no trainer step; give --step-ms"},
    [PP_WHY_NO_WAIT] = {"no-wait", "no wait for data was recorded"},
    [PP_WHY_NO_CPU_TIME] = {"no-cpu-time", "CPU time was not recorded"},
    [PP_WHY_NO_EPOCH] = {"no-epoch", "no epoch was completed; give --epochs"},
    [PP_WHY_LOST_SPANS] = {"lost-spans", "spans were lost, so counts are not exact"},
    [PP_WHY_PART_OF_EPOCH] = {"part-of-epoch", "the run has no whole number of epochs; end it with --epochs"},
    [PP_WHY_NOT_COUNTED] = {"not-counted",
                            "not recorded; the recording is from an older version or another loader"},
    [PP_WHY_MAPPED] = {"mapped", "token files are mapped, not read"},
    [PP_WHY_COUNTS_SAMPLES] = {"counts-samples", "the run counts samples: see throughput"},
    [PP_WHY_NO_SAMPLES] = {"no-samples", "the program's ranges do not count samples: see batch throughput"},
};

int pp_run_init(struct pp_run *r, const char *path)
{
    *r = (struct pp_run){.batch_s = NAN};
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        r->metric[i] = NAN;
    r->path = strdup(path);
    return r->path != NULL;
}

void pp_run_free(struct pp_run *r)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        free(r->field[i].name);
        free(r->field[i].value);
    }
    free(r->field);
    free(r->path);
    *r = (struct pp_run){0};
}

static struct pp_run_field *find_field(const struct pp_run *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (strcmp(r->field[i].name, name) == 0)
            return &r->field[i];
    return NULL;
}

int pp_run_set_field(struct pp_run *r, const char *name, const char *value)
{
    struct pp_run_field *f = find_field(r, name), fresh = {NULL, strdup(value)};
    if (!fresh.value)
        return 0;
    if (f) {
        free(f->value);
        f->value = fresh.value;
        return 1;
    }
    fresh.name = strdup(name);
    f = fresh.name ? realloc(r->field, (r->n_fields + 1) * sizeof(*f)) : NULL;
    if (!f) {
        free(fresh.name);
        free(fresh.value);
        return 0;
    }
    r->field = f;
    r->field[r->n_fields++] = fresh;
    return 1;
}

const char *pp_run_field(const struct pp_run *r, const char *name)
{
    const struct pp_run_field *f = find_field(r, name);
    return f ? f->value : NULL;
}

struct pp_run *pp_runs_push(struct pp_runs *runs)
{
    struct pp_run *grown = realloc(runs->run, (runs->n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    runs->run = grown;
    grown += runs->n++;
    *grown = (struct pp_run){0};
    return grown;
}

void pp_runs_free(struct pp_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        pp_run_free(&runs->run[i]);
    free(runs->run);
    *runs = (struct pp_runs){0};
}
