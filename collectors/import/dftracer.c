/* DFTracer's files (.pfw, .pfw.gz): an event a line, written by every process of a PyTorch or DLIO job, with
 * its calls of files (categories POSIX and STDIO). Of versions 1 ("ph":"X", an array that may not end) and 2
 * ("ph":1, no array). Names: dftracer/logger/ai.py (dataloader, data, compute, ...), DLIO's own before those,
 * docs/trace_format.rst. Times are microseconds of UTC.
 *
 * What it shows beyond a profiler of the trainer: how long each worker's calls take. What it does not: CPU
 * time, the page cache, and whatever else a worker does that no range names. */
#include "collectors/import/events.h"
#include "collectors/import/import.h"

#include "probe/base/err.h"

/* Rows of a map (attach/namemap.h), category:name. A wait that holds another one's range counts once. */
static const char known_names[] = "dataloader:fetch.iter = data_wait\n"
                                  "dataloader:fetch.block = step\n"
                                  "*:fetch-data.iter = data_wait\n"
                                  "*:<module>.iter = data_wait\n"
                                  "data_loader:*.iter = data_wait\n"
                                  "dlio_benchmark:loop.iter = data_wait\n"
                                  "data:preprocess = transform\n"
                                  "reader:*.preprocess = transform\n"
                                  "reader:*.resize = transform\n"
                                  "reader:*.decode = decode\n"
                                  "checkpoint:* = checkpoint\n"
                                  "comm:* = collective\n"
                                  "POSIX:*read* = read\n"
                                  "POSIX:*open* = read\n"
                                  "POSIX:close* = read\n"
                                  "POSIX:*stat* = read\n"
                                  "POSIX:*seek* = read\n"
                                  "STDIO:*read* = read\n"
                                  "STDIO:*open* = read\n"
                                  "STDIO:*close* = read\n"
                                  "STDIO:*seek* = read\n";

struct mapper {
    struct pp_imported *im;
    struct pp_import_facts *facts;
    struct pp_import_names names;
    char unit[16]; /* of its times, where it says one that is not microseconds */
};

static int is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static int on_event(void *ctx, const struct pp_event *e)
{
    struct mapper *m = ctx;
    struct pp_import_facts *f = m->facts;
    int is_call = is(e->cat, "POSIX") || is(e->cat, "STDIO");
    f->events++;
    if (is(e->ph, "M") || is(e->ph, "4")) {
        /* HH: the host's name; PR and CM: what a process says of itself and of its configuration. */
        if (is(e->name, "HH") && !f->host[0])
            snprintf(f->host, sizeof(f->host), "%s", e->label);
        if (is(e->name, "PR") && is(e->label, "rank") && f->rank < 0)
            f->rank = strtoll(e->value, NULL, 10);
        if (is(e->name, "CM") && is(e->label, "time_metric") && !is(e->value, "US"))
            snprintf(m->unit, sizeof(m->unit), "%.15s", e->value);
    } else if (is(e->ph, "A") || is(e->ph, "3") || (is(e->ph, "C") && is_call)) {
        f->folded++;
    } else if (is(e->ph, "X") || is(e->ph, "1")) {
        if (is(e->name, "start") && e->ppid[0])
            pp_imported_parent(m->im, e->pid, e->ppid);
        if (!(e->has & PP_HAS_TS) || !(e->has & PP_HAS_DUR) || e->dur_ns < 0) {
            f->odd_times++;
        } else if (!is(e->cat, "dftracer")) {
            struct pp_span s = {.dur_ns = (uint64_t)e->dur_ns, .sample = PP_NO_SAMPLE, .batch = PP_NO_BATCH};
            pp_phase phase = pp_import_phase(&m->names, e->cat, e->name, NULL);
            if (!(phase == PP_PHASE_USER && is_call) && pp_imported_time(m->im, e->ts_ns, &s.start_ns)) {
                /* a write, or whatever else is none of the input */
                s.phase = (uint8_t)phase;
                s.name = phase == PP_PHASE_STEP || phase == PP_PHASE_DATA_WAIT
                             ? 0
                             : pp_imported_name(m->im, e->name);
                s.bytes = phase == PP_PHASE_READ && is(e->cat, "POSIX") && strstr(e->name, "read") &&
                                  e->has & PP_HAS_RET
                              ? e->ret
                              : 0;
                pp_imported_span(m->im, pp_imported_thread(m->im, e->pid, e->tid), &s, PP_ROLE_NONE);
            }
        }
    }
    return 0;
}

static pp_status read_trace(const char *path, const struct pp_namemap *map, struct pp_imported *im,
                            struct pp_err *err)
{
    struct mapper m = {.im = im, .facts = pp_imported_facts(im)};
    struct pp_import_facts *f = m.facts;
    struct pp_events_read read = {0};
    f->calls = f->processes = 1;
    f->steps_are = "dataloader fetch.block";
    f->waits_are = "dataloader fetch.iter";
    f->instead = "trace the loop with ai.dataloader.fetch.iter(loader)";
    f->no_workers =
        "no calls of worker processes are in the files: DFTracer traces those below DFTRACER_DATA_DIR, and each "
        "process writes a file of its own; import the directory of all of them";
    f->blind =
        "not recorded: CPU time and page cache; a call that the page cache answers looks like one of the storage";
    pp_status status = pp_import_names_open(&m.names, map, known_names, 0, path, err);
    if (status == PP_OK)
        status = pp_events_read(path, &(struct pp_event_sink){.event = on_event, .ctx = &m, .lines = 1},
                                &read, err);
    if (read.ended) {
        f->ended = read.ended;
        f->ended_at = read.at;
    }
    if (status == PP_OK && m.unit[0])
        status = pp_fail(err, PP_E_UNSUPPORTED,
                         "%s has its times in %s: only microseconds are read; trace again without "
                         "DFTRACER_TIME_METRIC",
                         path, m.unit);
    pp_import_names_close(&m.names);
    return status;
}

/* A line of it: an object with a name, a category and a kind, and one of the words that only it writes. */
static int probe(const struct pp_import_head *head)
{
    static const char *const parts[] = {"\"name\"", "\"cat\"", "\"ph\"", "\"pid\""},
                             *const words[] = {"\"hhash\"", "\"dftracer\"", "\"POSIX\"", "\"STDIO\""};
    const char *text = (const char *)head->data;
    text += strspn(text, "[ \t\r\n");
    size_t line = strcspn(text, "\n");
    int found = 0;
    if (*text != '{' || (text[line] == '\0' && head->size >= PP_IMPORT_HEAD))
        return 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!memmem(text, line, parts[i], strlen(parts[i])))
            return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        found |= strstr(text, words[i]) != NULL;
    return found && !strstr(text, "\"traceEvents\"");
}

const struct pp_importer pp_importer_dftracer = {
    .name = "dftracer",
    .what = "DFTracer, .pfw or .pfw.gz",
    .joins = 1,
    .probe = probe,
    .read = read_trace,
};
