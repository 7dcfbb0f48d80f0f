/* pprof's protocol buffers (github.com/google/pprof, proto/profile.proto), not compressed, which pprof reads
 * as well: samples with the label "thread"; values are how often a stack was seen and the time that it stands
 * for; of a recording without stacks, spans and time of each phase. */
#include "report/export/out.h"
#include "report/export/stack_sums.h"

#include "probe/base/err.h"
#include "probe/base/proto.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_NUMBER = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILE = 4,
};
/* Places in the table of strings that a profile begins with; threads' names follow, then two a location */
enum { TEXT_NONE, TEXT_SAMPLES, TEXT_COUNT, TEXT_TIME, TEXT_NANOSECONDS, TEXT_THREAD, TEXTS };
static const char *const texts[TEXTS] = {"", "samples", "count", "time", "nanoseconds", "thread"};

static pp_status pprof_write(const struct pp_stack_sums *s, struct pp_err *err)
{
    struct pp_proto proto = {0};
    struct pp_out out;
    const struct pp_export_run *run = s->run;
    for (uint64_t type = TEXT_SAMPLES; type <= TEXT_TIME; type += 2) { /* its unit is the text behind it */
        size_t opened = pp_proto_begin(&proto, PROFILE_SAMPLE_TYPE);
        pp_proto_uint(&proto, VALUE_TYPE, type);
        pp_proto_uint(&proto, VALUE_UNIT, type + 1);
        pp_proto_end(&proto, opened);
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        uint32_t path[PP_STACK_LONGEST];
        size_t n = pp_stack_sums_path(s, &s->rows[i], path), opened = pp_proto_begin(&proto, PROFILE_SAMPLE);
        while (n-- > 0) /* from the innermost one outwards */
            pp_proto_uint(&proto, SAMPLE_LOCATION, path[n] + 1);
        pp_proto_uint(&proto, SAMPLE_VALUE, s->rows[i].n);
        pp_proto_uint(&proto, SAMPLE_VALUE, s->rows[i].ns);
        size_t label = pp_proto_begin(&proto, SAMPLE_LABEL);
        pp_proto_uint(&proto, LABEL_KEY, TEXT_THREAD);
        pp_proto_uint(&proto, LABEL_TEXT, TEXTS + (uint64_t)(s->rows[i].thread - run->threads));
        pp_proto_end(&proto, label);
        pp_proto_end(&proto, opened);
    }
    for (size_t i = 0; i < s->n_locations; i++) {
        uint64_t name = TEXTS + run->n_threads + 2 * i; /* its text; the file's is behind it */
        size_t opened = pp_proto_begin(&proto, PROFILE_LOCATION), line;
        pp_proto_uint(&proto, LOCATION_ID, i + 1);
        line = pp_proto_begin(&proto, LOCATION_LINE);
        pp_proto_uint(&proto, LINE_FUNCTION, i + 1);
        pp_proto_uint(&proto, LINE_NUMBER, s->locations[i].line);
        pp_proto_end(&proto, line);
        pp_proto_end(&proto, opened);
        opened = pp_proto_begin(&proto, PROFILE_FUNCTION);
        pp_proto_uint(&proto, FUNCTION_ID, i + 1);
        pp_proto_uint(&proto, FUNCTION_NAME, name);
        pp_proto_uint(&proto, FUNCTION_FILE, s->locations[i].file[0] ? name + 1 : TEXT_NONE);
        pp_proto_end(&proto, opened);
    }
    for (size_t i = 0; i < TEXTS; i++)
        pp_proto_str(&proto, PROFILE_STRING, texts[i]);
    for (size_t i = 0; i < run->n_threads; i++)
        pp_proto_str(&proto, PROFILE_STRING, run->threads[i].name);
    for (size_t i = 0; i < s->n_locations; i++) {
        pp_proto_str(&proto, PROFILE_STRING, s->locations[i].name);
        pp_proto_str(&proto, PROFILE_STRING, s->locations[i].file);
    }
    if (run->utc_known)
        pp_proto_uint(&proto, PROFILE_TIME, run->utc_ns);
    pp_proto_uint(&proto, PROFILE_DURATION, run->end_ns - run->origin_ns);
    pp_out_begin(&out, s->fd, s->label);
    pp_out_bytes(&out, proto.buf, proto.n);
    pp_status st = proto.failed ? pp_out_no_memory(s->label, err) : pp_out_end(&out, err);
    pp_proto_free(&proto);
    return st;
}

const struct pp_exporter pp_export_pprof = {
    .name = "pprof",
    .suffixes = {".pprof"},
    .next = "pprof -http=: %s",
    .streams = 1,
    .open = pp_stack_sums_open,
    .span = pp_stack_sums_span,
    .stacks = pprof_write,
    .close = pp_stack_sums_close,
};
