/* `pipeprobe export`: a recorded run in another tool's format. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "probe/base/text.h"
#include "report/export/export.h"
#include "report/export/otlp_traces.h"
#include "report/export/out.h"
#include "report/ranks/clock.h"
#include "report/send/otlp.h"
#include "report/source/joined.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/sampler.h"
#include <unistd.h>

#define OTLP_SUFFIX ".otlp.jsonl"

struct options {
    const char *output;
    int to, force, quiet;
    uint64_t max_bytes;
};

#define ROW(name, help) {#name, help},
#define METRICS_ROW(name, suffix, kind, help) {#name, help},
static const struct pp_opt_choice formats[] = {
    {"auto", "default: the suffix of --output"},
    PP_EXPORT_FORMATS(ROW) METRICS_EXPORT_FORMATS(
        METRICS_ROW){"otlp", "traces, one per batch: to a server of OpenTelemetry (-o URL) or a file"},
    {NULL, NULL},
};
#undef ROW
#undef METRICS_ROW

/* What is written: spans in another tool's format, metrics, or traces. One of the three is there. */
struct target {
    const struct pp_exporter *spans;
    const struct metrics_export_format *metrics;
    int traces;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "to", .letter = 't', .type = PP_OPT_CHOICE, .offset = AT(to), .arg = "FORMAT",
     .choices = formats, .dflt = "auto", .group = "Options", .help = "what to write"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .help = "default: FILE with the format's suffix; - is standard output"},
    {.name = "max-bytes", .type = PP_OPT_SIZE, .offset = AT(max_bytes), .arg = "SIZE", .dflt = "64M", .min = 4096,
     .max = 1e12, .help = "of otlp: the batches that were waited for longest come first"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace an existing output file"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet),
     .help = "only errors on standard error"},
    {.name = NULL},
};
/* clang-format on */

static int on_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct pp_progress *p = ctx;
    char text[32];
    if (p->on)
        pp_progress_line(p, "%s spans, %.0f %%", pp_text_count(text, sizeof(text), (double)done),
                         total ? 100.0 * (double)done / (double)total : 100.0);
    return interrupt_asked();
}

static const struct pp_source_view by_thread = {.apart = 1};

/* ---- what to export, as what, to where ---- */

static pp_status choose_format(const struct options *o, struct target *to, struct pp_err *err)
{
    int n = 0, m = 0;
    while (pp_exporters[n])
        n++;
    while (metrics_export_formats[m].name)
        m++;
    *to = (struct target){0};
    if (o->to > n + m) /* choice 0 is "auto" */
        to->traces = 1;
    else if (o->to > n)
        to->metrics = &metrics_export_formats[o->to - 1 - n];
    else if (o->to)
        to->spans = pp_exporters[o->to - 1];
    else if (o->output && (strstr(o->output, "://") || strcmp(o->output, "env") == 0 ||
                           pp_ends_in(o->output, OTLP_SUFFIX)))
        to->traces = 1;
    else if (o->output && !(to->spans = pp_exporter_by_suffix(o->output)))
        for (int i = 0; i < m && !to->metrics; i++)
            if (pp_ends_in(o->output, metrics_export_formats[i].suffix))
                to->metrics = &metrics_export_formats[i];
    if (to->spans || to->metrics || to->traces)
        return PP_OK;
    return o->output
               ? pp_fail(
                     err, PP_E_USAGE,
                     "the suffix of %s is not a format; give --to, 'pipeprobe export --help' lists the formats",
                     o->output)
               : pp_fail(
                     err, PP_E_USAGE,
                     "no format given: use --to, or -o with the format's suffix; 'pipeprobe export --help' lists them");
}

/* ---- the recordings of several ranks as one source on one clock ---- */

enum { MOST_RANKS = 256 };

struct ranks {
    size_t n, opened;
    struct pp_source source[MOST_RANKS], joined;
    struct pp_clock clock[MOST_RANKS];
    struct pp_join_part part[MOST_RANKS];
    char label[MOST_RANKS][32];
};

static uint64_t to_common(const void *clock, uint64_t own_ns)
{
    return pp_clock_to_reference(clock, own_ns);
}

/* Opens the files; *source is theirs together. Says on stderr how each clock was aligned, unless quiet. */
static pp_status open_ranks(const char *const *files, size_t n, int quiet, struct ranks **out,
                            struct pp_source *source, struct pp_err *err)
{
    struct ranks *r = *out = calloc(1, sizeof(*r));
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to export %zu recordings", n);
    r->n = n;
    pp_status st = PP_OK;
    for (size_t i = 0; st == PP_OK && i < n; i++) {
        st = pp_source_open_as(files[i], &by_thread, &r->source[i], err);
        r->opened = i + 1; /* closed also after a failure */
        if (st != PP_OK)
            continue;
        /* "rank 3"; of a recording without a rank, or with one that another has, the file's name. */
        double rank = pp_source_number(&r->source[i], "rank", "rank",
                                       pp_source_number(&r->source[i], "config", "rank", NAN));
        int known = rank >= 0 && rank < 1e9;
        if (known)
            snprintf(r->label[i], sizeof(r->label[i]), "rank %.0f", rank);
        for (size_t k = 0; k < i && known; k++)
            known = strcmp(r->label[k], r->label[i]) != 0;
        if (!known)
            snprintf(r->label[i], sizeof(r->label[i]), "%.28s", basename(files[i]));
    }
    if (st == PP_OK)
        st = pp_clock_align(r->source, r->n, r->clock, err);
    for (size_t i = 0; st == PP_OK && i < n; i++)
        r->part[i] = (struct pp_join_part){.source = &r->source[i],
                                           .label = r->label[i],
                                           .to_common = i ? to_common : NULL,
                                           .clock = &r->clock[i],
                                           .clock_error_ns = !i                    ? 0
                                                             : r->clock[i].unknown ? NAN
                                                                                   : r->clock[i].error_ns};
    if (st == PP_OK)
        st = pp_source_join(r->part, n, &r->joined, err);
    if (st == PP_OK && !quiet) {
        char steps[40], error[32];
        for (size_t i = 1; i < r->n; i++) {
            const struct pp_clock *c = &r->clock[i];
            if (c->unknown)
                fprintf(stderr, "clock      %s: by the hosts' clocks, error not known: %s\n", r->label[i],
                        c->unknown);
            else
                fprintf(stderr, "clock      %s: aligned with %s by %s, error %s\n", r->label[i], r->label[0],
                        pp_text_counted(steps, sizeof(steps), (double)c->steps, "collective step",
                                        "collective steps"),
                        pp_text_duration(error, sizeof(error), c->error_ns));
        }
    }
    *source = r->joined;
    return st;
}

/* ---- spans in another tool's format ---- */

static void note_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    char text[32];
    if (count)
        fprintf(stderr, "note: missing in the recording: %s %s: %s\n",
                pp_text_count(text, sizeof(text), (double)count), what, why);
    else /* not a number of things */
        fprintf(stderr, "note: %s: %s\n", what, why);
}

static void note_damaged(uint64_t chunks)
{
    char text[64];
    if (chunks)
        fprintf(stderr, "note: %s damaged (checksum): those spans are missing\n",
                pp_text_counted(text, sizeof(text), (double)chunks, "chunk of the recording is",
                                "chunks of the recording are"));
}

/* One recording, or those of several ranks on one clock. */
static pp_status export_spans(const char *const *inputs, int n, const struct pp_exporter *to, const char *out,
                              const struct options *o, struct pp_err *err)
{
    struct pp_source source = {0};
    struct ranks *ranks = NULL;
    struct pp_export_result result;
    struct pp_progress progress;
    struct pp_export_opts eo = {
        .out = out, .force = o->force, .no_flows = n > 1, .progress = on_progress, .progress_ctx = &progress};
    pp_status st = n > 1 ? open_ranks(inputs, (size_t)n, o->quiet, &ranks, &source, err)
                         : pp_source_open_as(inputs[0], &by_thread, &source, err);
    if (st != PP_OK)
        goto out;
    pp_progress_begin(&progress, o->quiet);
    st = pp_export(&source, to, &eo, &result, err);
    pp_progress_clear(&progress);
    if (st != PP_OK || o->quiet)
        goto out;
    char text[32];
    int to_stdout = strcmp(out, "-") == 0;
    fprintf(stderr, "%s spans to %s\n", pp_text_count(text, sizeof(text), (double)result.spans),
            to_stdout ? "standard output" : out);
    if (result.gpu_rows)
        fprintf(stderr, "%s rows of GPU activity with them\n",
                pp_text_count(text, sizeof(text), (double)result.gpu_rows));
    if (result.requests)
        fprintf(stderr, "%s to storage with them\n",
                pp_text_counted(text, sizeof(text), (double)result.requests, "request", "requests"));
    struct pp_err ignored;
    source.each_loss(source.ctx, note_loss, NULL, &ignored);
    note_damaged(result.damaged_chunks);
    if (to->next && !to_stdout) {
        fputs("next: ", stderr);
        fprintf(stderr, to->next, out);
        fputc('\n', stderr);
    }
    /* nsys stats X.nsys-rep reads a sibling X.sqlite, however old either is. */
    char *report = NULL;
    if (to == &pp_export_nsys &&
        asprintf(&report, "%.*s.nsys-rep", (int)(strlen(out) - strlen(".sqlite")), out) >= 0) {
        if (access(report, F_OK) == 0)
            fprintf(stderr, "note: 'nsys stats %s' will read the export %s from now on\n", report, out);
        free(report);
    }
out:
    if (ranks)
        pp_source_unjoin(&ranks->joined);
    for (size_t i = 0; ranks && i < ranks->opened; i++) {
        pp_clock_free(&ranks->clock[i]);
        pp_source_close(&ranks->source[i]);
    }
    free(ranks);
    if (n <= 1)
        pp_source_close(&source);
    return st;
}

/* ---- traces, to a server of OpenTelemetry or a file ---- */

enum { TRIES = 5, REFUSED_MOST = 3, PAUSE_MOST_S = 30 };

struct sending {
    const struct options *o;
    const char *out;
    struct pp_otlp_settings settings;
    struct pp_client *client;
    struct pp_export_place place;
    int failed; /* errno of the file */
    /* of a server: */
    uint64_t spans, rejected, lost, wire_bytes;
    int refused, warned, given_up; /* refused: one after the other */
    char why[500];
};

static int is_interrupted(void *ctx)
{
    return interrupt_asked();
}

/* What is lost is counted; a server that takes nothing is not asked for ever. */
static int send_body(void *ctx, const char *body, size_t n, size_t spans)
{
    struct sending *s = ctx;
    enum pp_sent sent = PP_SENT_AGAIN;
    struct pp_otlp_sending x = {.things = spans, .called = "spans"};
    s->spans += spans;
    if (s->given_up) {
        s->lost += spans;
        return interrupt_asked();
    }
    for (int tries = 0; sent == PP_SENT_AGAIN && tries < TRIES && !interrupt_asked(); tries++) {
        if (tries) {
            long pause_s = x.retry_s > 1L << (tries - 1) ? x.retry_s : 1L << (tries - 1);
            uint64_t ns = (uint64_t)(pause_s < PAUSE_MOST_S ? pause_s : PAUSE_MOST_S) * UINT64_C(1000000000);
            uint64_t now = pp_now_ns(), until = now + ns + pp_mix64(now) % (ns / 4);
            while (!interrupt_asked() && now < until) {
                uint64_t next = now + UINT64_C(200000000);
                pp_sleep_until_ns(next < until ? next : until);
                now = pp_now_ns();
            }
        }
        sent = pp_otlp_send(s->client, &s->settings, body, n, &x);
    }
    s->wire_bytes += x.wire_bytes;
    s->rejected += sent == PP_SENT_PARTLY ? x.rejected : 0;
    s->lost += sent == PP_SENT_NOT || sent == PP_SENT_AGAIN ? spans : 0;
    s->refused = sent == PP_SENT_NOT ? s->refused + 1 : 0;
    s->given_up = sent == PP_SENT_AGAIN || s->refused == REFUSED_MOST;
    if (sent != PP_SENT && !interrupt_asked()) {
        /* The first trouble is said when it happens, the rest counted. */
        snprintf(s->why, sizeof(s->why), "%s", x.why);
        if (!s->warned++ && !s->o->quiet)
            fprintf(stderr, "pipeprobe export: %s\n", x.why);
    }
    return interrupt_asked();
}

static int write_body(void *ctx, const char *body, size_t n, size_t spans)
{
    struct sending *s = ctx;
    if (pp_io_write_full(s->place.fd, body, n) != 0)
        s->failed = errno;
    return s->failed || interrupt_asked();
}

static pp_status export_traces(const char *input, const char *out, const struct options *o,
                               struct pp_err *err)
{
    struct pp_source source;
    struct sending s = {.o = o, .out = out};
    struct pp_otlp_traces_result r;
    struct pp_otlp_traces_opts to = {.max_bytes = o->max_bytes, .is_json = 1};
    int to_url = strstr(out, "://") || strcmp(out, "env") == 0;
    pp_status st = pp_source_open_as(input, &by_thread, &source, err);
    if (st == PP_OK && to_url) {
        st = pp_otlp_settings_read(out, "traces", &s.settings, err);
        if (st == PP_OK) {
            struct pp_http_opts http = pp_otlp_client_opts(&s.settings);
            http.stop = is_interrupted;
            http.ctx = &s;
            st = pp_client_open(&http, &s.client, err);
        }
        to.is_json = s.settings.is_json;
        if (st == PP_OK)
            st = pp_otlp_traces(&source, &to, send_body, &s, &r, err);
        if (st == PP_OK && s.lost + s.rejected)
            st = pp_fail(err, PP_E_SYSTEM, "%llu of %llu spans were not taken: %s",
                         (unsigned long long)(s.lost + s.rejected), (unsigned long long)s.spans, s.why);
    } else if (st == PP_OK) {
        st = pp_place_open(&s.place, out, source.path, o->force, 1, err);
        if (st == PP_OK)
            st = pp_otlp_traces(&source, &to, write_body, &s, &r, err);
        if (s.failed)
            st = pp_fail_errno(err, s.failed, "writing %s failed", out);
        if (st == PP_OK)
            st = pp_place_commit(&s.place, err);
        pp_place_discard(&s.place);
    }
    if (st == PP_OK && !o->quiet) {
        char spans[32], batches[32], left[32], bytes[32], where[256];
        pp_text_no_secrets(where, sizeof(where), to_url ? s.settings.url : s.out);
        fprintf(stderr, "%s spans of %s to %s%s%s%s\n", pp_text_count(spans, sizeof(spans), (double)r.spans),
                pp_text_counted(batches, sizeof(batches), (double)r.batches, "batch", "batches"),
                strcmp(s.out, "-") == 0 ? "standard output" : where, to_url ? ", " : "",
                to_url ? pp_text_bytes(bytes, sizeof(bytes), (double)s.wire_bytes) : "",
                to_url ? " on the wire" : "");
        if (r.batches_left)
            fprintf(stderr, "note: %s with shorter waits left out: --max-bytes %s\n",
                    pp_text_counted(left, sizeof(left), (double)r.batches_left, "batch", "batches"),
                    pp_text_bytes(bytes, sizeof(bytes), (double)s.o->max_bytes));
        if (r.spans_alone)
            fprintf(stderr, "note: %s of no batch left out\n",
                    pp_text_counted(left, sizeof(left), (double)r.spans_alone, "span", "spans"));
        note_damaged(r.damaged_chunks);
        if (!r.utc_known)
            fputs("note: the recording does not say when it was made: its times count from 1970\n", stderr);
    }
    pp_client_close(s.client);
    pp_otlp_settings_free(&s.settings);
    pp_source_close(&source);
    return st;
}

/* ---- the command ---- */

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    struct target to = {0};
    char *out = NULL;
    interrupt_catch(INTERRUPT_ONCE, NULL); /* one that is stopped takes its temporary file along */
    pp_status st = n ? choose_format(o, &to, err)
                     : pp_fail(err, PP_E_USAGE,
                               "no recording given: name the FILE that 'pipeprobe run' wrote");
    if (st == PP_OK && n > 1 && !to.spans)
        st = pp_fail(err, PP_E_USAGE, "%s are of one recording, but %d were given (%s, %s%s)",
                     to.metrics ? "metrics" : "traces for a server", n, operands[0], operands[1],
                     n > 2 ? ", ..." : "");
    if (st == PP_OK && n > MOST_RANKS)
        st = pp_fail(
            err, PP_E_USAGE,
            "a timeline of %d recordings cannot be read; name at most %d, such as the straggler's and one other rank's",
            n, MOST_RANKS);
    for (int i = 0; st == PP_OK && i < n; i++)
        for (int k = 0; st == PP_OK && k < i; k++)
            if (strcmp(operands[i], operands[k]) == 0)
                st = pp_fail(err, PP_E_USAGE, "%s is named twice", operands[i]);
    /* run.sqlite -> run.csv; as nsys, whose suffix is the recording's own, run.nsys.sqlite. */
    int is_nsys = to.spans == &pp_export_nsys;
    const char *suffix = to.spans ? to.spans->suffixes[0] : to.metrics ? to.metrics->suffix : OTLP_SUFFIX;
    if (st == PP_OK && (o->output ? asprintf(&out, "%s", o->output)
                                  : asprintf(&out, "%.*s%s%s", pp_stem(operands[0]), operands[0],
                                             is_nsys ? ".nsys" : "", suffix)) < 0) {
        out = NULL;
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the arguments");
    }
    if (st == PP_OK && is_nsys && !pp_ends_in(out, ".sqlite") && strcmp(out, "-") != 0)
        st = pp_fail(err, PP_E_USAGE, "-o %s: nsys opens only names that end in .sqlite", out);
    if (st == PP_OK && to.metrics) {
        int events = to.metrics->kind == METRICS_AS_EVENTS,
            at_the_end = to.metrics->kind == METRICS_AT_THE_END;
        st = metrics_export(operands[0], to.metrics, out, o->force, err);
        if (st == PP_OK && !o->quiet && events)
            fprintf(stderr, "gauges with their times to %s\nnext: tensorboard --logdir %s\n", out, out);
        else if (st == PP_OK && !o->quiet)
            fprintf(stderr, "metrics%s to %s\n", at_the_end ? "" : " with their times",
                    strcmp(out, "-") == 0 ? "standard output" : out);
    } else if (st == PP_OK) {
        st = to.spans ? export_spans(operands, n, to.spans, out, o, err)
                      : export_traces(operands[0], out, o, err);
    }
    free(out);
    return st;
}

const struct pp_command pp_cmd_export = {
    .name = "export",
    .summary = "write a recorded run in another tool's format",
    .usage = "export FILE... --to FORMAT [-o OUT] [options]",
    .opts = opts,
    .notes = "OUT is created when it is complete. Several FILEs are ranks of one job, in one\n"
             "timeline: the clocks of ranks on other hosts are aligned with the first FILE's\n"
             "by the ends of collective steps. Details: pipeprobe help exports.",
    .examples = {"pipeprobe export run.sqlite --to nsys",
                 "pipeprobe export job/rank0000.sqlite job/rank0003.sqlite --to perfetto"},
    .fields = sizeof(struct options),
    .act = act,
};
