/* `pipeprobe history`: medians of repeated runs over time, and where they changed. */
#include "collectors/store/history.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "report/compare/run.h"
#include "report/compare/render.h"
#include "report/stats/changepoint.h"
#include "tui/cli/cli.h"
#include <time.h>

#define POINTS_FOR_CHANGES 20

struct options {
    const char *db, *label;
    int64_t last;
    double max_p;
    int json;
};

#define AT(field) .offset = offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "db", .type = PP_OPT_STRING, AT(db), .arg = "FILE", .dflt = "pipeprobe-history.sqlite",
     .group = "Options", .help = "the file of the history"},
    {.name = "label", .type = PP_OPT_STRING, AT(label), .arg = "TEXT",
     .help = "add: name of the point, such as a commit; default: the time"},
    {.name = "last", .type = PP_OPT_INT, AT(last), .min = 1, .max = PP_CHANGE_MAX, .arg = "N", .dflt = "100",
     .help = "show: the newest N points of each series"},
    {.name = "max-p", .type = PP_OPT_DOUBLE, AT(max_p), .min = 1e-12, .max = 0.1, .arg = "P", .dflt = "0.001",
     .help = "show: largest p of a change point's t-test"},
    {.name = "json", .type = PP_OPT_FLAG, AT(json),
     .help = "show: one document of schema pipeprobe.history/1"},
    {.name = NULL},
};
/* clang-format on */

/* ---- add ---- */

static pp_status add_point(const struct options *o, const char *const *words, int n, struct pp_err *err)
{
    struct pp_history_value value[PP_CMP_COUNT_OF_METRICS];
    struct pp_history *h = NULL;
    struct pp_runs runs = {0};
    struct pp_compare_opts strict;
    char series[128], stamp[32];
    time_t now = time(NULL);
    struct tm tm;
    size_t n_values = 0;
    double *v = NULL;
    pp_status st = n > 0 ? pp_runs_load(words, (size_t)n, &runs, err)
                         : pp_fail(err, PP_E_USAGE, "no runs given: name recordings, or directories of them");
    pp_compare_defaults(&strict);
    if (st == PP_OK)
        st = pp_compare_check_side(&(struct pp_compare_side){words[0], &runs}, err);
    if (st == PP_OK)
        st = pp_compare_check_environment(&runs, &runs, &strict, err);
    if (st == PP_OK && !(v = malloc(runs.n * sizeof(*v))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu runs", runs.n);
    if (st == PP_OK)
        st = pp_history_open(o->db, 1, &h, err);
    for (int id = 0; st == PP_OK && id < PP_CMP_COUNT_OF_METRICS; id++) {
        size_t known = 0;
        for (size_t i = 0; i < runs.n; i++)
            if (!isnan(runs.run[i].metric[id]))
                v[known++] = runs.run[i].metric[id];
        if (known == runs.n)
            value[n_values++] = (struct pp_history_value){pp_cmp_metrics[id].key, pp_stats_median(v, known),
                                                          known};
    }
    if (st == PP_OK) {
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
        pp_series_name(&runs.run[0], series, sizeof(series));
        st = pp_history_add(h,
                            &(struct pp_history_point){.utc_s = now,
                                                       .label = o->label ? o->label : stamp,
                                                       .series = series,
                                                       .value = value,
                                                       .n_values = n_values},
                            err);
    }
    pp_history_close(h);
    free(v);
    pp_runs_free(&runs);
    return st;
}

/* ---- show ---- */

struct point {
    char *label;
    int64_t utc_s;
    double median;
    size_t runs;
};

/* One series of one metric while it is collected; finished when the next one begins. */
struct show {
    const struct options *o;
    const struct pp_cmp_metric *metric;
    struct pp_json json;
    char series[128];
    struct point *point;
    size_t n, room, shown;
    pp_status st;
    struct pp_err *err;
};

static void put_series_json(struct show *s, const struct point *p, size_t n, const struct pp_change *change,
                            size_t changes)
{
    struct pp_json *j = &s->json;
    pp_json_object(j);
    pp_json_put_str(j, "metric", s->metric->key);
    pp_json_put_str(j, "series", s->series);
    pp_json_put_array(j, "points");
    for (size_t i = 0; i < n; i++) {
        pp_json_object(j);
        pp_json_put_int(j, "utc_s", p[i].utc_s);
        pp_json_put_str(j, "label", p[i].label);
        pp_json_put_num(j, "median", p[i].median);
        pp_json_put_uint(j, "runs", p[i].runs);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_put_bool(j, "enough_for_changes", n >= POINTS_FOR_CHANGES);
    pp_json_put_array(j, "changes");
    for (size_t i = 0; i < changes; i++) {
        pp_json_object(j);
        pp_json_put_str(j, "label", p[change[i].at].label);
        pp_json_put_num(j, "before", change[i].before);
        pp_json_put_num(j, "after", change[i].after);
        pp_json_put_num(j, "p", change[i].p);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_object_end(j);
}

static void finish_series(struct show *s)
{
    size_t skip = s->n > (size_t)s->o->last ? s->n - (size_t)s->o->last : 0, n = s->n - skip, changes = 0;
    struct pp_change *change = NULL;
    double *values = malloc((n + 1) * sizeof(*values));
    if (n == 0 || s->st != PP_OK || !values) {
        if (!values)
            s->st = pp_fail(s->err, PP_E_NO_MEMORY, "no memory for a series of %zu points", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = s->point[skip + i].median;
    if (n >= POINTS_FOR_CHANGES)
        s->st = pp_change_points(values, n, &(struct pp_change_opts){.max_p = s->o->max_p}, &change, &changes,
                                 s->err);
    if (s->st == PP_OK && s->o->json) {
        put_series_json(s, s->point + skip, n, change, changes);
    } else if (s->st == PP_OK) {
        const struct point *p = s->point + skip;
        char value[32], by[32], day[32];
        struct tm tm;
        printf("%s%s: %s\n", s->shown ? "\n" : "", s->metric->title, s->series);
        for (size_t i = 0; i < n; i++) {
            const struct pp_change *c = change, *end = change + changes;
            while (c < end && c->at != i)
                c++;
            strftime(day, sizeof(day), "%Y-%m-%d %H:%M", gmtime_r(&(time_t){p[i].utc_s}, &tm));
            printf("  %s  %-24.24s %10s  %2zu runs", day, p[i].label,
                   pp_cmp_value_text(value, sizeof(value), s->metric, p[i].median), p[i].runs);
            if (c < end)
                printf("  <- changed %s, p %.0e",
                       pp_cmp_change_text(by, sizeof(by), c->after / c->before - 1), c->p);
            putchar('\n');
        }
        if (n < POINTS_FOR_CHANGES)
            printf("  %zu point%s: change detection needs %d\n", n, n == 1 ? "" : "s", POINTS_FOR_CHANGES);
    }
    s->shown++;
out:
    free(change);
    free(values);
    for (size_t i = 0; i < s->n; i++)
        free(s->point[i].label);
    s->n = 0;
}

static void add_row(void *ctx, const struct pp_history_row *row)
{
    struct show *s = ctx;
    if (strcmp(row->series, s->series) != 0)
        finish_series(s);
    char *label = strdup(row->label);
    if (!label || !pp_grow(&s->point, &s->room, s->n + 1, sizeof(*s->point))) {
        s->st = pp_fail(s->err, PP_E_NO_MEMORY, "no memory for a series of %zu points", s->n);
        free(label);
        return;
    }
    snprintf(s->series, sizeof(s->series), "%s", row->series);
    s->point[s->n++] = (struct point){label, row->utc_s, row->median, row->runs};
}

static pp_status show_series(const struct options *o, const char *const *words, int n, struct pp_err *err)
{
    static const char *const usual[] = {"samples_per_s"};
    struct show s = {.o = o, .st = PP_OK, .err = err};
    struct pp_history *h = NULL;
    char near[128];
    for (int i = 0; i < n; i++)
        if (pp_cmp_find(words[i]) < 0)
            return pp_fail(err, PP_E_USAGE, "unknown metric '%s'%s", words[i],
                           pp_did_you_mean(near, words[i], pp_cmp_keys));
    pp_status st = pp_history_open(o->db, 0, &h, err);
    if (st != PP_OK)
        return st;
    if (o->json) {
        pp_json_begin(&s.json, stdout, 2);
        pp_json_object(&s.json);
        pp_json_put_str(&s.json, "schema", "pipeprobe.history/1");
        pp_json_put_array(&s.json, "series");
    }
    for (int i = 0; i < (n ? n : 1) && st == PP_OK; i++) {
        const char *key = n ? words[i] : usual[0];
        s.metric = &pp_cmp_metrics[pp_cmp_find(key)];
        s.series[0] = '\0';
        st = pp_history_each(h, key, add_row, &s, err);
        finish_series(&s);
        st = st == PP_OK ? s.st : st;
    }
    if (o->json) {
        pp_json_array_end(&s.json);
        pp_json_object_end(&s.json);
        pp_json_end(&s.json);
    } else if (st == PP_OK && !s.shown) {
        puts("the history is empty");
    }
    if (st == PP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        st = pp_fail_errno(err, errno, "cannot write to standard output");
    free(s.point);
    pp_history_close(h);
    return st;
}

static pp_status act(void *fields, const char **words, int n, int *code, struct pp_err *err)
{
    static const char *const verbs[] = {"add", "show", NULL};
    const struct options *o = fields;
    char near[128] = "";
    pp_status st;
    if (n > 0 && strcmp(words[0], "add") == 0)
        st = add_point(o, words + 1, n - 1, err);
    else if (n > 0 && strcmp(words[0], "show") == 0)
        st = show_series(o, words + 1, n - 1, err);
    else
        st = pp_fail(err, PP_E_USAGE, "history needs a subcommand: add or show%s",
                     n > 0 ? pp_did_you_mean(near, words[0], verbs) : "");
    return st;
}

const struct pp_command pp_cmd_history = {
    .name = "history",
    .summary = "keep medians of repeated runs over time and show where they changed",
    .usage = "history add RUNS... [options]   or   history show [METRIC...] [options]",
    .opts = opts,
    .notes = "Change points: E-divisive with a t-test, for 20 or more points of one machine,\n"
             "workload and options. The same history gives the same result.\n"
             "Exit codes: 0 success, 2 usage, 3 a run cannot be compared, 4 a file is damaged.",
    .examples = {"pipeprobe history add runs/ --label \"$(git rev-parse --short HEAD)\"",
                 "pipeprobe history show samples_per_s data_wait_share"},
    .fields = sizeof(struct options),
    .act = act,
};
