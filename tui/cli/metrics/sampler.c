#include "tui/cli/metrics/sampler.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/pace.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "tui/dash/verdict.h"

#include <pthread.h>
#include <sys/stat.h>

#define SECOND_NS UINT64_C(1000000000)
#define FRESH_NS UINT64_C(900000000) /* a recorder commits every second */
#define WINDOW_S 15                  /* of gauges: the usual interval of scrapes */
#define POINTS_MOST 1000
/* Of the machine's CPUs: what a server can make us take, reading the file for it, and all of this process
 * with the verdicts. A text is then of up to --metrics-interval ago where it is asked for more often than
 * that pays. */
#define LOOK_SHARE 0.0004
#define VERDICT_SHARE 0.0009
/* The verdict while a run goes on is of its newest part, so that it says what is, and costs as much after a
 * day as after a minute: this many batches, but not less than 10 s and not more than 5 minutes. */
#define VERDICT_BATCHES 64
#define VERDICT_LEAST_S 10
#define VERDICT_MOST_S 300
#define VERDICT_FROM_S 4 /* before, there is little more than warm-up */

struct metrics_sampler {
    char *path;
    pthread_mutex_t lock; /* guards all that follows */
    struct pp_live *live;
    struct pp_live_snapshot snap;
    struct pp_verdicts *verdicts; /* NULL: report is the only one */
    int parts;                    /* of the newest part of a run that goes on */
    struct pp_report *report;     /* of the whole run, made here; NULL: none */
    const struct pp_report *newest;
    struct metrics_labels labels;
    struct pp_metrics_sender sender;
    double gpu_hour;                    /* of struct metrics_opts */
    uint64_t interval_ns, next_look_ns; /* the file is not read again before */
    int looked, is_sending;
    int all; /* also the metrics that are rarely asked for */
};

/* A file that cannot be read just now leaves what was read. */
static void read_newest(struct metrics_sampler *s)
{
    uint64_t now = pp_now_ns(), cpu = pp_thread_cpu_ns();
    const struct pp_live_snapshot *n = &s->snap;
    if (now < s->next_look_ns)
        return;
    if (s->looked)
        pp_live_refresh(s->live, NULL, NULL);
    s->looked = 1;
    pp_live_at(s->live, UINT64_MAX, WINDOW_S, &s->snap, NULL);
    if (s->parts && n->last_s >= n->first_s + VERDICT_FROM_S) {
        double wanted = n->batches_per_s > 0 ? VERDICT_BATCHES / n->batches_per_s : VERDICT_MOST_S;
        uint64_t part_s = (uint64_t)fmin(fmax(ceil(wanted), VERDICT_LEAST_S), VERDICT_MOST_S),
                 from_s = n->last_s + 1 - n->first_s > part_s ? n->last_s + 1 - part_s : n->first_s;
        pp_verdicts_ask(s->verdicts, from_s * SECOND_NS, (n->last_s + 1) * SECOND_NS, 0);
    }
    s->newest = s->report ? s->report : pp_verdicts_newest(s->verdicts, NULL);
    s->sender.cpu_s = (double)pp_process_cpu_ns() / 1e9;
    uint64_t paid = pp_pace_until(now, pp_thread_cpu_ns() - cpu, LOOK_SHARE), latest = now + s->interval_ns,
             at = paid < latest ? paid : latest;
    s->next_look_ns = at > now + FRESH_NS ? at : now + FRESH_NS;
}

static struct pp_metrics_view view_of(struct metrics_sampler *s)
{
    struct pp_metrics_view v = {
        .snap = &s->snap,
        .totals = pp_live_totals(s->live),
        .rank = pp_live_rank(s->live),
        .report = s->newest,
        .sender = s->is_sending ? &s->sender : NULL,
        .labels = s->labels.label,
        .n_labels = s->labels.n,
        .gpu_hour = s->gpu_hour,
        .all = s->all,
    };
    v.facts = pp_live_facts(s->live, &v.n_facts);
    return v;
}

pp_status metrics_sampler_open(const char *path, const struct metrics_opts *o, int watches,
                               struct metrics_sampler **out, struct pp_err *err)
{
    struct metrics_sampler *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    }
    pthread_mutex_init(&s->lock, NULL);
    s->is_sending = watches;
    s->interval_ns = o->interval_ns;
    s->gpu_hour = o->gpu_hour;
    s->all = o->all || !watches; /* a recording as a whole has them all */
    pp_status status = metrics_opts_labels(o, &s->labels, err);
    if (status == PP_OK)
        status = pp_live_open(path, &s->live, err);
    if (status == PP_OK)
        pp_live_without_bars(s->live);
    if (status != PP_OK) {
        metrics_sampler_close(s);
        return status;
    }
    pp_live_at(s->live, UINT64_MAX, WINDOW_S, &s->snap, NULL);
    s->parts = watches && s->snap.state == PP_LIVE_RUNNING;
    if (watches)
        s->verdicts = pp_verdicts_start(path, VERDICT_SHARE, s->parts);
    else
        pp_verdict_of(path, NULL, NULL, &s->report, NULL); /* without one there are no metrics of it */
    read_newest(s);
    *out = s;
    return PP_OK;
}

void metrics_sampler_close(struct metrics_sampler *s)
{
    if (!s)
        return;
    pp_verdicts_stop(s->verdicts);
    pp_report_free(s->report);
    pp_live_close(s->live);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}

char *metrics_sampler_text(void *sampler, enum pp_sink_format format, size_t *n)
{
    struct metrics_sampler *s = sampler;
    char *text = NULL;
    if (format == PP_SINK_PAGE) {
        /* The report as it is shown by `report`: what a look brings has no intervals and no series. */
        struct pp_report *report = NULL;
        FILE *page = pp_report_build(s->path, &report, NULL) == PP_OK ? open_memstream(&text, n) : NULL;
        int bad = !page || pp_render_html(report, page) != 0;
        if (page && fclose(page) != 0)
            bad = 1;
        pp_report_free(report);
        if (bad) {
            free(text);
            text = NULL;
        }
        return text;
    }
    FILE *out = open_memstream(&text, n);
    if (!out)
        return NULL;
    pthread_mutex_lock(&s->lock);
    read_newest(s);
    double utc_s = (double)pp_clock_of(CLOCK_REALTIME) / 1e9;
    struct pp_metrics_view v = view_of(s), all = v;
    char *otlp;
    size_t otlp_n = 0;
    int failed = 0;
    all.all = 1; /* curves and a run's page cost a server no series: they have all */
    switch (format) {
    case PP_SINK_PROMETHEUS: failed = pp_metrics_write(&v, PP_METRICS_TEXT, out) != 0; break;
    case PP_SINK_OPENMETRICS: failed = pp_metrics_write(&v, PP_METRICS_OPENMETRICS, out) != 0; break;
    case PP_SINK_MLFLOW_METRICS: failed = pp_metrics_mlflow(&all, utc_s, out) != 0; break;
    case PP_SINK_MLFLOW_PARAMS: failed = pp_metrics_mlflow_params(&v, out) != 0; break;
    case PP_SINK_EVENTS_HEAD: pp_tfevents_begin(out, utc_s); break;
    case PP_SINK_EVENTS: pp_tfevents_write(&all, utc_s, out); break;
    case PP_SINK_OTLP_PROTOBUF:
    case PP_SINK_OTLP_JSON:
        otlp = pp_metrics_otlp(&v, format == PP_SINK_OTLP_JSON, utc_s, &otlp_n);
        failed = !otlp || fwrite(otlp, 1, otlp_n, out) != otlp_n;
        free(otlp);
        break;
    case PP_SINK_PAGE: break; /* made above */
    }
    failed |= ferror(out) != 0;
    pthread_mutex_unlock(&s->lock);
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

void metrics_sampler_complete(struct metrics_sampler *s)
{
    struct pp_report *report = NULL;
    pp_verdict_of(s->path, NULL, NULL, &report, NULL);
    pthread_mutex_lock(&s->lock);
    if (report) {
        pp_report_free(s->report);
        s->report = report;
    }
    s->next_look_ns = 0;
    read_newest(s);
    pthread_mutex_unlock(&s->lock);
}

int metrics_sampler_is_running(struct metrics_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    int running = s->snap.state == PP_LIVE_RUNNING && !s->snap.deleted;
    pthread_mutex_unlock(&s->lock);
    return running;
}

long metrics_sampler_rank(struct metrics_sampler *s)
{
    return pp_live_rank(s->live).rank;
}

void metrics_sampler_note_pushes(struct metrics_sampler *s, struct pp_sink_count pushes)
{
    pthread_mutex_lock(&s->lock);
    s->sender.pushing = 1;
    s->sender.pushes = pushes.sent;
    s->sender.pushes_lost = pushes.lost;
    pthread_mutex_unlock(&s->lock);
}

static int write_moment(void *ctx, const struct pp_metrics_view *view, double utc_s)
{
    pp_tfevents_write(view, utc_s, ctx);
    return !ferror((FILE *)ctx);
}

#define ROW(format, end, times, help) {.name = #format, .suffix = end, .kind = times},
const struct metrics_export_format metrics_export_formats[] = {
    METRICS_EXPORT_FORMATS(ROW){NULL, NULL, METRICS_AT_THE_END}};
#undef ROW

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
        struct pp_metrics_view v = view_of(s);
        FILE *out = open_memstream(text, n);
        if (!out) {
            status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the metrics of %s", recording);
        } else if (kind == METRICS_AS_EVENTS) {
            const struct pp_live_fact *started = pp_live_fact_of(v.facts, v.n_facts, "run", "started_utc_ns");
            double began = started ? atof(started->value) / 1e9 : 0;
            /* The number of the run stands where TensorFlow has its process: a second export has the same
             * name. */
            snprintf(name, NAME_MAX, "events.out.tfevents.%010.0f.pipeprobe.%.0f.0", began < 1e11 ? began : 0,
                     v.rank.rank >= 0 ? (double)v.rank.rank : 0);
            pp_tfevents_begin(out, began);
            status = pp_metrics_walk(s->live, &v, POINTS_MOST, write_moment, out, err);
        } else {
            status = pp_metrics_history(s->live, &v, POINTS_MOST, out, err); /* the run with times */
        }
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
