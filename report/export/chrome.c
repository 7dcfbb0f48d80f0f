/* Chrome's trace-event format (JSON): complete events 'X' in microseconds with three decimals, counters 'C',
 * instants 'i', metadata 'M', and a flow s -> t -> f per batch. Times count from the run's start: a JSON
 * reader keeps 53 bits, and absolute nanoseconds need more. Source: "Trace Event Format" (the Chromium
 * project's document); Perfetto and chrome://tracing read it. */
#include "report/export/chrome.h"
#include "report/export/place.h"

#include "probe/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- header ---- */

struct pairs {
    struct chrome *c;
    const char *section;
};

static void put_pair(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct pairs *p = ctx;
    char name[160];
    (void)numeric;
    snprintf(name, sizeof(name), "%s.%s%s%s", p->section, key, unit ? "_" : "", unit ? unit : "");
    pp_out_str(&p->c->out, ",\n");
    chrome_put_quoted(p->c, name);
    pp_out_char(&p->c->out, ':');
    chrome_put_quoted(p->c, value ? value : "");
}

static pp_status put_other_data(struct chrome *c, struct pp_err *err)
{
    static const char *const sections[] = {"run", "config", "environment", "result"};
    const struct pp_export_run *run = c->run;
    pp_status st = PP_OK;
    pp_out_str(&c->out, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"origin_mono_ns\":\"");
    pp_out_uint(&c->out, run->origin_ns);
    if (run->utc_known) {
        pp_out_str(&c->out, "\",\n\"origin_utc_ns\":\"");
        pp_out_uint(&c->out, run->utc_ns);
    }
    pp_out_char(&c->out, '"');
    for (size_t i = 0; i < 4 && st == PP_OK; i++)
        st = run->source->each_meta(run->source->ctx, sections[i], put_pair, &(struct pairs){c, sections[i]},
                                    err);
    for (size_t i = 0; i < run->n_losses; i++) {
        char key[32], text[512];
        snprintf(key, sizeof(key), "%zu", i);
        snprintf(text, sizeof(text), "%llu %s: %s", (unsigned long long)run->losses[i].count,
                 run->losses[i].what, run->losses[i].why);
        put_pair(&(struct pairs){c, "loss"}, key, text, NULL, 0);
    }
    pp_out_str(&c->out, "},\n\"traceEvents\":[");
    return st;
}

static pp_status chrome_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                             struct pp_err *err)
{
    struct chrome *c = *self = calloc(1, sizeof(*c));
    if (!c || !(c->named = calloc(run->n_threads + 1, sizeof(*c->named))))
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", place->out);
    c->run = run;
    pp_gpu_tracks_begin(&c->gpu, run);
    pp_out_begin(&c->out, place->fd, place->out);
    pp_status st = put_other_data(c, err);
    return st == PP_OK ? chrome_check(c, err) : st;
}

/* ---- events ---- */

static pp_status chrome_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct chrome *c = self;
    int first = 1;
    for (const struct pp_thread_row *u = c->run->threads; u < t; u++)
        first &= chrome_pid_of(u) != chrome_pid_of(t);
    if (first)
        chrome_put_name(c, "process_name", chrome_pid_of(t), chrome_tid_of(t), c->run->program);
    chrome_put_name(c, "thread_name", chrome_pid_of(t), chrome_tid_of(t), t->name);
    chrome_begin_event(c, 'M', chrome_pid_of(t), chrome_tid_of(t));
    pp_out_str(&c->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
    pp_out_uint(&c->out, t->id);
    pp_out_str(&c->out, "}}");
    return chrome_check(c, err);
}

static pp_status chrome_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                              struct pp_err *err)
{
    struct chrome *c = self;
    chrome_begin_event(c, 'i', chrome_pid_of(t), t ? chrome_tid_of(t) : 0);
    chrome_put_time(c, ",\"ts\":", e->t_ns - c->run->origin_ns);
    pp_out_str(&c->out,
               t ? ",\"s\":\"t\",\"cat\":\"error\",\"name\":" : ",\"s\":\"p\",\"cat\":\"error\",\"name\":");
    chrome_put_quoted(c, e->kind ? e->kind : "error");
    pp_out_str(&c->out, ",\"args\":{\"path\":");
    chrome_put_quoted(c, e->path ? e->path : "");
    pp_out_str(&c->out, ",\"reason\":");
    chrome_put_quoted(c, e->reason ? e->reason : "");
    pp_out_str(&c->out, ",\"action\":");
    chrome_put_quoted(c, e->action ? e->action : "");
    pp_out_str(&c->out, ",\"count\":");
    pp_out_uint(&c->out, e->count);
    pp_out_str(&c->out, "}}");
    return chrome_check(c, err);
}

static pp_status chrome_counter(void *self, const struct pp_export_counter *v, struct pp_err *err)
{
    struct chrome *c = self;
    const struct pp_thread_row *t = v->thread ? v->thread
                                              : c->run->threads; /* which is NULL in a run without threads */
    if (!isfinite(v->value))
        return PP_OK;
    chrome_begin_event(c, 'C', chrome_pid_of(t), 0);
    chrome_put_time(c, ",\"ts\":", v->t_ns - c->run->origin_ns);
    pp_out_str(&c->out, ",\"name\":");
    chrome_put_quoted(c, v->name);
    pp_out_str(&c->out, ",\"args\":{\"value\":");
    pp_out_double(&c->out, v->value);
    pp_out_str(&c->out, "}}");
    return chrome_check(c, err);
}

static const char *span_name(struct chrome *c, const struct pp_export_span *e)
{
    char **at = &c->quoted[e->key];
    if (!*at)
        *at = chrome_quote(e->name);
    if (!*at)
        c->out_of_memory = 1;
    return *at ? *at : "\"\"";
}

/* The span's thread number; the first span on a track beside the thread's own names it. */
static int64_t track_tid(struct chrome *c, const struct pp_export_span *e)
{
    uint64_t *named = &c->named[e->thread - c->run->threads];
    int64_t tid = chrome_tid_of(e->thread) + (int64_t)e->track * TRACK_STEP;
    if (e->track && !(*named >> e->track & 1)) {
        char name[96];
        snprintf(name, sizeof(name), "%s (overlapping %u)", e->thread->name, e->track);
        chrome_put_name(c, "thread_name", chrome_pid_of(e->thread), tid, name);
        *named |= 1ull << e->track;
    }
    return tid;
}

static void put_args(struct chrome *c, const struct pp_span *s)
{
    int n = 0;
    if (s->batch != PP_NO_BATCH)
        chrome_put_arg(c, &n, "batch", s->batch);
    if (s->flags & PP_SPAN_COUNT)
        chrome_put_arg(c, &n, "samples", s->sample);
    else if (s->sample != PP_NO_SAMPLE)
        chrome_put_arg(c, &n, "sample", s->sample);
    if (s->bytes)
        chrome_put_arg(c, &n, "bytes", s->bytes);
    if (s->flags & PP_SPAN_HAS_CPU)
        chrome_put_arg(c, &n, "cpu_ns", s->cpu_ns);
    if (s->flags & PP_SPAN_HAS_DELAY)
        chrome_put_arg(c, &n, "run_delay_ns", s->run_delay_ns);
    if (s->flags & PP_SPAN_HAS_CACHE)
        chrome_put_arg(c, &n, "cache_hit_kib", s->cache_hit_kib);
    if (s->epoch)
        chrome_put_arg(c, &n, "epoch", s->epoch);
    if (s->flags & PP_SPAN_WARMUP)
        chrome_put_arg(c, &n, "warmup", 1);
    if (s->flags & PP_SPAN_UNFINISHED)
        chrome_put_arg(c, &n, "unfinished", 1);
    if (n)
        pp_out_char(&c->out, '}');
}

/* A flow event binds to the slice that encloses its time on its thread: the span's start. */
static void put_flow(struct chrome *c, const struct pp_export_span *e, int64_t tid)
{
    static const char ph[] = {[PP_FLOW_START] = 's', [PP_FLOW_STEP] = 't', [PP_FLOW_END] = 'f'};
    chrome_begin_event(c, ph[e->flow], chrome_pid_of(e->thread), tid);
    chrome_put_time(c, ",\"ts\":", e->span->start_ns - c->run->origin_ns);
    pp_out_str(&c->out, ",\"cat\":\"batch\",\"name\":\"batch\",\"id\":");
    pp_out_uint(&c->out, e->span->batch);
    pp_out_str(&c->out, e->flow == PP_FLOW_END ? ",\"bp\":\"e\"}" : "}");
}

static pp_status chrome_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct chrome *c = self;
    const struct pp_span *s = e->span;
    int64_t tid = track_tid(c, e);
    chrome_begin_event(c, 'X', chrome_pid_of(e->thread), tid);
    chrome_put_time(c, ",\"ts\":", s->start_ns - c->run->origin_ns);
    chrome_put_time(c, ",\"dur\":", e->end_ns - s->start_ns);
    pp_out_str(&c->out, ",\"cat\":\"");
    pp_out_str(&c->out, e->waits ? "wait" : "work");
    pp_out_str(&c->out, s->flags & PP_SPAN_ERROR ? ",error\",\"name\":" : "\",\"name\":");
    pp_out_str(&c->out, span_name(c, e));
    put_args(c, s);
    pp_out_char(&c->out, '}');
    if (e->flow != PP_FLOW_NONE)
        put_flow(c, e, tid);
    return chrome_check(c, err);
}

static pp_status put_gpu_row(void *self, const struct pp_gpu_row *row, struct pp_err *err)
{
    return chrome_put_gpu(self, row, err);
}

static pp_status put_request_row(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    return chrome_put_request(self, row, err);
}

static pp_status chrome_close(void *self, int complete, struct pp_err *err)
{
    struct chrome *c = self;
    pp_status st = PP_OK;
    if (!c)
        return st;
    if (complete) {
        pp_out_str(&c->out, "\n]}\n");
        st = pp_out_end(&c->out, err);
    }
    for (size_t i = 0; i < PP_EXPORT_KEYS; i++)
        free(c->quoted[i]);
    pp_gpu_tracks_free(&c->gpu);
    pp_request_tracks_free(&c->requests);
    free(c->named);
    free(c);
    return st;
}

const struct pp_exporter pp_export_chrome = {
    .name = "chrome",
    .suffixes = {".json"},
    .next = "open %s in chrome://tracing or ui.perfetto.dev",
    .streams = 1,
    .open = chrome_open,
    .thread = chrome_thread,
    .error = chrome_error,
    .counter = chrome_counter,
    .gpu = put_gpu_row,
    .request = put_request_row,
    .span = chrome_span,
    .close = chrome_close,
};
