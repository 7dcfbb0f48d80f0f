/* Chrome's trace-event format (JSON): complete events 'X' in microseconds with three decimals, counters 'C',
 * instants 'i', metadata 'M', and a flow s -> t -> f per batch. Times count from the run's start: a JSON
 * reader keeps 53 bits, and absolute nanoseconds need more. Source: "Trace Event Format" (the Chromium
 * project's document); Perfetto and chrome://tracing read it. */
#include "report/export/export.h"
#include "report/export/out.h"
#include "report/export/tracks.h"

#include "probe/base/err.h"
#include "probe/base/json.h"

/* Spans beside their thread's own track get a thread number that no thread has: Linux numbers end at 2^22.
 * Devices are processes beyond the last. */
#define TRACK_STEP (INT64_C(1) << 22)
#define GPU_TRACKS (TRACK_STEP * PP_TRACKS_MAX)
#define REQUEST_TRACKS (GPU_TRACKS + TRACK_STEP)
#define DEVICES TRACK_STEP

struct chrome {
    struct pp_out out;
    const struct pp_export_run *run;
    char *quoted[PP_EXPORT_KEYS]; /* span names as JSON strings, made when first met */
    uint64_t *named;              /* per thread: bit k: track k has its name */
    struct pp_gpu_tracks gpu;
    struct pp_request_tracks requests;
    int comma;
    int out_of_memory;
};

/* ---- how an event is spelled ---- */

/* s as a JSON string, the caller frees; NULL without memory. The one writer of JSON strings is base/json. */
static char *json_string(const char *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    struct pp_json j;
    if (!f)
        return NULL;
    pp_json_begin(&j, f, 0);
    pp_json_str(&j, s);
    int failed = pp_json_end(&j) != 0;
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0'; /* pp_json_end closes with a newline */
    return text;
}

static void put_text(struct chrome *c, const char *key, const char *s)
{
    char *text = json_string(s);
    pp_out_str(&c->out, key);
    if (text)
        pp_out_str(&c->out, text);
    else
        c->out_of_memory = 1;
    free(text);
}

static void put_uint(struct chrome *c, const char *key, uint64_t v)
{
    pp_out_str(&c->out, key);
    pp_out_uint(&c->out, v);
}

/* ,\n{"ph":"X","pid":1,"tid":2,"ts":3.000: what follows is up to the caller, "}" included. Metadata have no
 * time. */
static void begin_event(struct chrome *c, char ph, int64_t pid, int64_t tid, uint64_t t_ns)
{
    pp_out_str(&c->out, c->comma ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    c->comma = 1;
    pp_out_char(&c->out, ph);
    put_uint(c, "\",\"pid\":", (uint64_t)pid); /* neither is below 0 */
    put_uint(c, ",\"tid\":", (uint64_t)tid);
    if (ph == 'M')
        return;
    pp_out_str(&c->out, ",\"ts\":");
    pp_out_us(&c->out, t_ns > c->run->origin_ns ? t_ns - c->run->origin_ns : 0);
}

static void begin_slice(struct chrome *c, int64_t pid, int64_t tid, uint64_t start_ns, uint64_t end_ns)
{
    begin_event(c, 'X', pid, tid, start_ns);
    pp_out_str(&c->out, ",\"dur\":");
    pp_out_us(&c->out, end_ns - start_ns);
}

/* The nth argument; the first opens them, and after the last the caller closes with "}". */
static void put_arg(struct chrome *c, int *n, const char *key, uint64_t v)
{
    pp_out_str(&c->out, (*n)++ ? ",\"" : ",\"args\":{\"");
    pp_out_str(&c->out, key);
    put_uint(c, "\":", v);
}

/* A flow event binds to the slice that encloses its time on its thread: the start of what it belongs to. */
static void put_flow(struct chrome *c, enum pp_flow flow, int64_t pid, int64_t tid, uint64_t t_ns,
                     const char *kind, uint64_t id)
{
    static const char ph[] = {[PP_FLOW_START] = 's', [PP_FLOW_STEP] = 't', [PP_FLOW_END] = 'f'};
    begin_event(c, ph[flow], pid, tid, t_ns);
    pp_out_str(&c->out, ",\"cat\":\"");
    pp_out_str(&c->out, kind);
    pp_out_str(&c->out, "\",\"name\":\"");
    pp_out_str(&c->out, kind);
    put_uint(c, "\",\"id\":", id);
    pp_out_str(&c->out, flow == PP_FLOW_END ? ",\"bp\":\"e\"}" : "}");
}

/* A whole event: what, "process_name" or "thread_name", is called name. */
static void put_name(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
    begin_event(c, 'M', pid, tid, 0);
    pp_out_str(&c->out, ",\"name\":\"");
    pp_out_str(&c->out, what);
    put_text(c, "\",\"args\":{\"name\":", name);
    pp_out_str(&c->out, "}}");
}

static pp_status check_output(const struct chrome *c, struct pp_err *err)
{
    return c->out_of_memory ? pp_out_no_memory(c->out.label, err) : pp_out_check(&c->out, err);
}

/* ---- hooks ---- */

struct pairs {
    struct chrome *c;
    const char *section;
};

static void put_pair(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct pairs *p = ctx;
    const char *end = strrchr(key, '_'), *in = !unit || (end && strcmp(end + 1, unit) == 0) ? "" : unit;
    char name[160];
    snprintf(name, sizeof(name), "%s.%s%s%s", p->section, key, *in ? "_" : "", in);
    put_text(p->c, ",\n", name);
    put_text(p->c, ":", value ? value : "");
}

static pp_status chrome_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                             struct pp_err *err)
{
    static const char *const sections[] = {"run", "config", "environment", "result"};
    struct chrome *c = *self = calloc(1, sizeof(*c));
    pp_status st = PP_OK;
    if (!c || !(c->named = calloc(run->n_threads + 1, sizeof(*c->named))))
        return pp_out_no_memory(place->out, err);
    c->run = run;
    c->gpu.run = run;
    pp_out_begin(&c->out, place->fd, place->out);

    put_uint(c, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"origin_mono_ns\":\"", run->origin_ns);
    if (run->utc_known)
        put_uint(c, "\",\n\"origin_utc_ns\":\"", run->utc_ns);
    pp_out_char(&c->out, '"');
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && st == PP_OK; i++)
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
    return st == PP_OK ? check_output(c, err) : st;
}

static pp_status chrome_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    struct chrome *c = self;
    int first = 1;
    for (const struct pp_thread_row *u = c->run->threads; u < t; u++)
        first &= pp_track_pid(u) != pp_track_pid(t);
    if (first)
        put_name(c, "process_name", pp_track_pid(t), pp_track_tid(t), c->run->program);
    put_name(c, "thread_name", pp_track_pid(t), pp_track_tid(t), t->name);
    begin_event(c, 'M', pp_track_pid(t), pp_track_tid(t), 0);
    put_uint(c, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", t->id);
    pp_out_str(&c->out, "}}");
    return check_output(c, err);
}

static pp_status chrome_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                              struct pp_err *err)
{
    struct chrome *c = self;
    begin_event(c, 'i', pp_track_pid(t), t ? pp_track_tid(t) : 0, e->t_ns);
    pp_out_str(&c->out, t ? ",\"s\":\"t\",\"cat\":\"error\"" : ",\"s\":\"p\",\"cat\":\"error\"");
    put_text(c, ",\"name\":", e->kind ? e->kind : "error");
    put_text(c, ",\"args\":{\"path\":", e->path ? e->path : "");
    put_text(c, ",\"reason\":", e->reason ? e->reason : "");
    put_text(c, ",\"action\":", e->action ? e->action : "");
    put_uint(c, ",\"count\":", e->count);
    pp_out_str(&c->out, "}}");
    return check_output(c, err);
}

static pp_status chrome_counter(void *self, const struct pp_export_counter *v, struct pp_err *err)
{
    struct chrome *c = self;
    if (!isfinite(v->value))
        return PP_OK;
    /* The first thread's process; there is none in a run without threads. */
    begin_event(c, 'C', pp_track_pid(v->thread ? v->thread : c->run->threads), 0, v->t_ns);
    put_text(c, ",\"name\":", v->name);
    pp_out_str(&c->out, ",\"args\":{\"value\":");
    char text[32]; /* with as many digits as it takes */
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v->value);
        if (strtod(text, NULL) == v->value)
            break;
    }
    pp_out_str(&c->out, text);
    pp_out_str(&c->out, "}}");
    return check_output(c, err);
}

/* A device is a process, its streams are threads of it; calls are beside the thread that made them. A flow
 * leads from a call to the work done for it: "ac2g" is Kineto's name for that. */
static pp_status chrome_gpu(void *self, const struct pp_gpu_row *row, struct pp_err *err)
{
    struct chrome *c = self;
    struct pp_gpu_slice s;
    int n = 0;
    pp_status st = pp_gpu_tracks_place(&c->gpu, row, &s);
    if (st != PP_OK)
        return st == PP_END ? PP_OK : pp_out_no_memory(c->out.label, err);
    int64_t pid = s.device != UINT32_MAX ? DEVICES + s.device
                                         : pp_track_pid(s.thread ? s.thread : c->run->threads),
            tid = GPU_TRACKS + s.track;
    if (s.new_device)
        put_name(c, "process_name", pid, 0, s.device_name);
    if (s.new_track)
        put_name(c, "thread_name", pid, tid, s.track_name);
    begin_slice(c, pid, tid, s.start_ns, s.end_ns);
    pp_out_str(&c->out, ",\"cat\":\"");
    pp_out_str(&c->out, s.category);
    put_text(c, "\",\"name\":", s.name);
    for (size_t i = 0; i < s.n_notes; i++)
        put_arg(c, &n, s.note[i].key, s.note[i].value);
    pp_out_str(&c->out, n ? "}}" : "}");
    if (s.flow != PP_FLOW_NONE)
        put_flow(c, s.flow == PP_FLOW_START ? PP_FLOW_START : PP_FLOW_END, pid, tid, s.start_ns, "ac2g",
                 s.flow_id);
    return check_output(c, err);
}

/* The parts follow their request: of equal starts the longer comes first. */
static pp_status chrome_request(void *self, const struct pp_request_row *row, struct pp_err *err)
{
    struct chrome *c = self;
    struct pp_request_slice s;
    int n = 0;
    if (pp_request_tracks_place(&c->requests, row, &s) != PP_OK)
        return pp_out_no_memory(c->out.label, err);
    int64_t pid = pp_track_pid(c->run->threads), tid = REQUEST_TRACKS + s.track;
    if (s.new_track)
        put_name(c, "thread_name", pid, tid, s.track_name);
    begin_slice(c, pid, tid, s.start_ns, s.end_ns);
    pp_out_str(&c->out, s.failed ? ",\"cat\":\"request,error\"" : ",\"cat\":\"request\"");
    put_text(c, ",\"name\":", s.name);
    for (size_t i = 0; i < s.n_notes; i++)
        put_arg(c, &n, s.note[i].key, s.note[i].value);
    if (s.dropped)
        put_arg(c, &n, "dropped", 1);
    if (s.prefix) /* the first argument is there: bytes always are */
        put_text(c, ",\"prefix\":", s.prefix);
    pp_out_str(&c->out, "}}");
    for (size_t i = 0; i < s.n_parts; i++) {
        begin_slice(c, pid, tid, s.part[i].start_ns, s.part[i].end_ns);
        put_text(c, ",\"cat\":\"request\",\"name\":", pp_request_part_names[s.part[i].which]);
        pp_out_char(&c->out, '}');
    }
    return check_output(c, err);
}

static pp_status chrome_span(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct chrome *c = self;
    const struct pp_span *s = e->span;
    uint64_t *named = &c->named[e->thread - c->run->threads];
    int64_t pid = pp_track_pid(e->thread), tid = pp_track_tid(e->thread) + (int64_t)e->track * TRACK_STEP;
    if (e->track && !(*named >> e->track & 1)) {
        char name[96];
        snprintf(name, sizeof(name), "%s (overlapping %u)", e->thread->name, e->track);
        put_name(c, "thread_name", pid, tid, name);
        *named |= 1ull << e->track;
    }
    begin_slice(c, pid, tid, s->start_ns, e->end_ns);
    pp_out_str(&c->out, e->waits ? ",\"cat\":\"wait" : ",\"cat\":\"work");
    pp_out_str(&c->out, s->flags & PP_SPAN_ERROR ? ",error\",\"name\":" : "\",\"name\":");
    char **quoted = &c->quoted[e->key];
    if (!*quoted && !(*quoted = json_string(e->name)))
        return pp_out_no_memory(c->out.label, err);
    pp_out_str(&c->out, *quoted);
    struct pp_span_note note[PP_SPAN_NOTES];
    size_t n_notes = pp_span_notes(s, note);
    int n = 0;
    for (size_t i = 0; i < n_notes; i++)
        put_arg(c, &n, pp_span_note_names[note[i].which], note[i].value);
    if (n)
        pp_out_char(&c->out, '}');
    pp_out_char(&c->out, '}');
    if (e->flow != PP_FLOW_NONE)
        put_flow(c, e->flow, pid, tid, s->start_ns, "batch", s->batch);
    return check_output(c, err);
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
    free(c->requests.lane);
    free(c->named);
    free(c);
    return st;
}

const struct pp_exporter pp_export_chrome = {
    .name = "chrome",
    .suffixes = {".trace.json", ".json"}, /* the first is no name that `report -o` has */
    .next = "open %s in chrome://tracing or ui.perfetto.dev",
    .streams = 1,
    .open = chrome_open,
    .thread = chrome_thread,
    .error = chrome_error,
    .counter = chrome_counter,
    .gpu = chrome_gpu,
    .request = chrome_request,
    .span = chrome_span,
    .close = chrome_close,
};
