#include "report/compare/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *pp_part_name(enum pp_part part)
{
    static const char *const names[] = {[PP_PART_CPU] = "cpu",
                                        [PP_PART_RUN_DELAY] = "waiting for a CPU",
                                        [PP_PART_BLOCKED] = "blocked",
                                        [PP_PART_UNSPLIT] = ""};
    return names[part];
}

static const struct {
    const char *key, *text;
} whys[PP_WHY_COUNT] = {
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

const char *pp_why_key(enum pp_why why)
{
    return whys[why].key;
}

const char *pp_why_text(enum pp_why why)
{
    return whys[why].text;
}

enum pp_why pp_why_of_key(const char *key)
{
    for (int i = 0; key && i < PP_WHY_COUNT; i++)
        if (strcmp(whys[i].key, key) == 0)
            return (enum pp_why)i;
    return PP_WHY_UNKNOWN;
}

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

static struct pp_run_field *find(const struct pp_run *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (strcmp(r->field[i].name, name) == 0)
            return &r->field[i];
    return NULL;
}

int pp_run_set_field(struct pp_run *r, const char *name, const char *value)
{
    struct pp_run_field *f = find(r, name), fresh = {NULL, strdup(value)};
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
    const struct pp_run_field *f = find(r, name);
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
