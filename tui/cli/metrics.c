/* `pipeprobe metrics`: a recording as metrics for monitoring, while it grows or once. run, exec and top start
 * it beside themselves for --metrics, --otlp and the like: what a slow server, a name that is not resolved or
 * a full disk costs is then this process's alone. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "tui/cli/cli.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/beside.h"
#include "tui/cli/metrics/sampler.h"
#include <poll.h>
#include <unistd.h>

#define FINISH_NS UINT64_C(6000000000) /* for the last texts of all; below what run and exec wait for us */

struct options {
    struct metrics_opts m;
    int openmetrics, beside;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    METRICS_OPT_ROWS(AT(m), 0),
    {.name = "gpu-hour", .type = PP_OPT_DOUBLE, .offset = AT(m) + offsetof(struct metrics_opts, gpu_hour), .min = 0,
     .max = 1e6, .arg = "PRICE", .dflt = "0", .help = "what the wait costs in a day at that price, as a metric"},
    {.name = "openmetrics", .type = PP_OPT_FLAG, .offset = AT(openmetrics), .dflt = "0", .group = "Output",
     .help = "on standard output: OpenMetrics instead of Prometheus' older text"},
    {.name = "beside", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(beside), .dflt = "0",
     .help = "for run, exec and top: until standard input ends"},
    {.name = NULL},
};
/* clang-format on */

/* ---- words ---- */

static void put_words(int beside, char kind, const char *text)
{
    if (beside)
        fprintf(stderr, "%c%s\n", kind, text);
    else
        fprintf(stderr, "pipeprobe metrics: %s\n", text);
    fflush(stderr);
}

/* ---- sinks ---- */

enum { SINKS_MOST = 8 };

struct sending {
    const struct options *o;
    struct metrics_sampler *sampler;
    void *self[SINKS_MOST];
    int told[SINKS_MOST]; /* that it loses texts */
    int n_open, n_push;   /* n_push: of those that are sent to */
    char host[256];
};

static void open_sinks(struct sending *s)
{
    const struct metrics_opts *m = &s->o->m;
    if (gethostname(s->host, sizeof(s->host) - 1) != 0 || !s->host[0])
        snprintf(s->host, sizeof(s->host), "localhost");
    /* Unless a label says it; the first one counts. */
    static const char *const names[] = {"job", "instance"};
    const char *named[] = {"pipeprobe", s->host};
    for (int k = 0; k < 2; k++)
        for (int i = m->labels.n - 1; i >= 0; i--) {
            size_t n = strlen(names[k]);
            const char *label = m->labels.item[i];
            if (strncmp(label, names[k], n) == 0 && label[n] == '=' && label[n + 1])
                named[k] = label + n + 1;
        }
    for (int i = 0; pp_sink_kinds[i]; i++) {
        const struct pp_sink_kind *k = pp_sink_kinds[i];
        struct pp_sink_opts so = {
            .target = metrics_opts_target(m, k),
            .content_types = {pp_metrics_content_type[PP_METRICS_TEXT],
                              pp_metrics_content_type[PP_METRICS_OPENMETRICS]},
            .fetch = metrics_sampler_text,
            .ctx = s->sampler,
            .job = named[0],
            .instance = named[1],
            .rank = metrics_sampler_rank(s->sampler),
        };
        struct pp_err err;
        char text[600];
        if (!so.target)
            continue;
        if (k->open(k, &so, &s->self[i], &err) != PP_OK) {
            snprintf(text, sizeof(text), "no --%s: %s", k->option, err.text);
            put_words(s->o->beside, '!', text);
            s->self[i] = NULL;
            continue;
        }
        s->n_open++;
        s->n_push += k->put != NULL;
        if (k->where)
            put_words(s->o->beside, 'i', k->where(s->self[i]));
    }
}

/* What is sent of itself. A text that several take is made once. */
static void send_texts(struct sending *s, int last)
{
    struct {
        char *bytes;
        size_t n;
    } text[PP_SINK_PAGE + 1] = {{0}};
    struct pp_sink_count sum = {0};
    int remote = 0;
    for (int i = 0; pp_sink_kinds[i]; i++)
        if (s->self[i] && pp_sink_kinds[i]->is_remote) {
            struct pp_sink_count c = pp_sink_kinds[i]->count(s->self[i]);
            sum.sent += c.sent;
            sum.lost += c.lost;
            remote = 1;
        }
    if (remote)
        metrics_sampler_note_pushes(s->sampler, sum);
    for (int i = 0; pp_sink_kinds[i]; i++) {
        const struct pp_sink_kind *k = pp_sink_kinds[i];
        if (!s->self[i] || !k->put)
            continue;
        enum pp_sink_format f = k->format ? k->format(s->self[i]) : k->takes;
        if (!text[f].bytes)
            text[f].bytes = metrics_sampler_text(s->sampler, f, &text[f].n);
        if (text[f].bytes)
            k->put(s->self[i], text[f].bytes, text[f].n, last);
    }
    for (size_t f = 0; f < sizeof(text) / sizeof(*text); f++)
        free(text[f].bytes);
}

/* One sentence per sink: at its first loss, unless another command reads our words, and with the numbers at
 * the end. */
static void note_losses(struct sending *s, int last)
{
    char why[500], text[700];
    for (int i = 0; pp_sink_kinds[i]; i++) {
        struct pp_sink_count c = s->self[i] ? pp_sink_kinds[i]->count(s->self[i]) : (struct pp_sink_count){0};
        if (!c.lost || (!last && (s->told[i] || s->o->beside)))
            continue;
        pp_sink_kinds[i]->trouble(s->self[i], why, sizeof(why));
        if (last)
            snprintf(text, sizeof(text), "--%s: %llu of %llu texts were lost%s%s", pp_sink_kinds[i]->option,
                     (unsigned long long)c.lost, (unsigned long long)(c.lost + c.sent), *why ? ": " : "",
                     why);
        else
            snprintf(text, sizeof(text), "--%s: %s", pp_sink_kinds[i]->option,
                     *why ? why : "a text was lost");
        put_words(s->o->beside, '!', text);
        s->told[i] = 1;
    }
}

/* ---- the time between ---- */

static void live_on(struct sending *s)
{
    int ended = 0;
    if (s->o->beside)
        put_words(1, METRICS_READY, "");
    while (!ended && s->n_open) {
        send_texts(s, 0);
        note_losses(s, 0);
        /* Until the next text is due, or the end: another command beside us ends our standard input. */
        uint64_t until = pp_now_ns() + s->o->m.interval_ns;
        for (uint64_t now = pp_now_ns(); !(ended = interrupt_asked() != 0) && now < until;
             now = pp_now_ns()) {
            struct pollfd fd = {.fd = s->o->beside ? STDIN_FILENO : -1, .events = POLLIN};
            uint64_t left_ms = (until - now) / 1000000 + 1;
            char byte;
            int n = poll(&fd, 1, left_ms < 1000 ? (int)left_ms : 1000);
            if (n > 0 && read(STDIN_FILENO, &byte, 1) <= 0) {
                ended = 1;
                break;
            }
        }
        if (!s->o->beside && !ended && !s->n_push) {
            size_t n;
            free(metrics_sampler_text(s->sampler, PP_SINK_PROMETHEUS, &n)); /* looks at the file */
        }
        ended = ended || (!s->o->beside && !metrics_sampler_is_running(s->sampler));
    }
    if (s->n_push) {
        metrics_sampler_complete(s->sampler);
        send_texts(s, 1);
        /* One deadline for all: a server that is silent takes no time of another. */
        uint64_t deadline = pp_now_ns() + FINISH_NS;
        for (int i = 0; pp_sink_kinds[i]; i++)
            if (s->self[i] && pp_sink_kinds[i]->wait)
                pp_sink_kinds[i]->wait(s->self[i], deadline);
    }
    note_losses(s, 1);
}

/* ---- the command ---- */

static int metrics_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {.code = PP_OK};
    struct sending s = {.o = &o};
    char path[PATH_MAX];
    const char **operands = (const char **)argv;
    int n, exit_code = pp_cli_parse(&pp_cmd_metrics, &set, argc, argv, operands, &n);
    if (exit_code >= 0)
        return exit_code;
    pp_status status =
        n == 1 ? metrics_opts_check(&o.m, &err)
               : pp_fail(&err, PP_E_USAGE,
                         n ? "one recording at a time, but %d were given"
                           : "no recording given: name its file, its directory, or the running process",
                         n);
    if (status == PP_OK)
        status = pp_find_recording(operands[0], path, sizeof(path), &err);
    int any = metrics_opts_any(&o.m);
    if (status == PP_OK && any) {
        interrupt_catch(o.beside ? INTERRUPT_BESIDE : INTERRUPT_WAKES, NULL);
        interrupt_ignore_pipe();
    }
    if (status == PP_OK)
        status = metrics_sampler_open(path, &o.m, any, &s.sampler, &err);
    if (status == PP_OK && any) {
        open_sinks(&s);
        if (s.n_open)
            live_on(&s);
        else
            status = pp_fail(&err, PP_E_UNSUPPORTED, "nothing was sent");
        for (int i = 0; pp_sink_kinds[i]; i++)
            if (s.self[i])
                pp_sink_kinds[i]->close(s.self[i]);
    } else if (status == PP_OK) {
        size_t size;
        char *text = metrics_sampler_text(s.sampler, o.openmetrics ? PP_SINK_OPENMETRICS : PP_SINK_PROMETHEUS,
                                          &size);
        status = text ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the metrics");
        if (text && (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0))
            status = pp_fail_errno(&err, errno, "writing the metrics failed");
        free(text);
    }
    metrics_sampler_close(s.sampler);
    exit_code = status == PP_OK ? interrupt_asked() ? 130 : 0 : 4;
    if (status != PP_OK && o.beside)
        put_words(1, '!', err.text);
    else if (status != PP_OK)
        exit_code = pp_cli_fail(&pp_cmd_metrics, &err);
    return exit_code;
}

const struct pp_command pp_cmd_metrics = {
    .name = "metrics",
    .summary = "a run as metrics: Prometheus, node_exporter, Pushgateway",
    .usage = "metrics FILE|DIR|PID [options]",
    .opts = opts,
    .notes = "Without an option the metrics of now go to standard output. With one they are\n"
             "served or sent until the run ends, or Ctrl-C. run, exec and top take the same\n"
             "options. Put a password into the variable PIPEPROBE_METRICS_PUSH: other users\n"
             "cannot read it there, as they can a command line. More: pipeprobe help\n"
             "guide/metrics.",
    .examples = {"pipeprobe metrics run.sqlite --metrics 9400",
                 "pipeprobe exec --metrics 0.0.0.0:9400 -- python3 train.py"},
    .run = metrics_main,
};
