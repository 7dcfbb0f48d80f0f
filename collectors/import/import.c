#include "collectors/import/import.h"

#include "collectors/import/events.h"
#include "collectors/record/recording.h"
#include "collectors/store/reader.h"
#include "probe/base/err.h"

#include <ctype.h>

#define ROW(name) &pp_importer_##name,
static const struct pp_importer *const formats[] = {PP_IMPORT_FORMATS(ROW) NULL};

/* ---- which format ---- */

/* A text that begins as the traces of events do, and ends within its first event: `{"id":0,"name":"HH` */
static int ends_too_early(const uint8_t *text, size_t size)
{
    int depth = 0, in_text = 0;
    size_t i = 0;
    while (i < size && (isspace(text[i]) || text[i] == '['))
        i++;
    if (size >= PP_IMPORT_HEAD || (i < size && text[i] != '{') || (i == size && !memchr(text, '[', size)))
        return 0;
    for (; i < size; i++) {
        if (in_text && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_text = !in_text;
        else if (!in_text)
            depth += (text[i] == '{') - (text[i] == '}');
        if (!in_text && !depth)
            return 0;
    }
    return 1;
}

pp_status pp_import_format(const char *path, const struct pp_importer **out, struct pp_err *err)
{
    uint8_t *buf = malloc(PP_IMPORT_HEAD + 1);
    struct pp_bytes *bytes = NULL;
    const uint8_t *run;
    size_t size = 0, n;
    *out = NULL;
    pp_status status = buf ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    if (status == PP_OK && pp_reader_is_recording(path))
        status = pp_fail(err, PP_E_UNSUPPORTED, "%s is a recording already: pipeprobe report %s", path, path);
    if (status == PP_OK)
        status = pp_bytes_open(path, &bytes, err);
    if (status == PP_OK) {
        while (size < PP_IMPORT_HEAD && (run = pp_bytes_next(bytes, &n)) && n) {
            n = n < PP_IMPORT_HEAD - size ? n : PP_IMPORT_HEAD - size;
            memcpy(buf + size, run, n);
            size += n;
        }
        for (size_t i = 0; i < size; i++) /* probes search for words */
            buf[i] = buf[i] ? buf[i] : 1;
        buf[size] = '\0';
        for (size_t i = 0; formats[i] && !*out; i++)
            *out = formats[i]->probe(&(struct pp_import_head){path, buf, size}) ? formats[i] : NULL;
    }
    if (status == PP_OK && strstr((char *)buf, "\"origin_mono_ns\"") &&
        strstr((char *)buf, "\"traceEvents\"")) {
        *out = NULL;
        status = pp_fail(err, PP_E_UNSUPPORTED,
                         "%s was exported by pipeprobe: report the recording that it was made of", path);
    } else if (status == PP_OK && !*out && ends_too_early(buf, size)) {
        status = pp_fail(err, PP_E_CORRUPT,
                         "%s is cut inside of its first event: nothing of it can be judged", path);
    } else if (status == PP_OK && !*out) {
        char known[512] = "";
        for (size_t i = 0; formats[i]; i++)
            snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i ? "; " : "",
                     formats[i]->what);
        status = pp_fail(err, PP_E_UNSUPPORTED, "%s is no trace of a known format. Known are: %s", path,
                         known);
    }
    pp_bytes_close(bytes);
    free(buf);
    return status;
}

const struct pp_importer *pp_import_trace_format(const char *path)
{
    const struct pp_importer *format;
    struct pp_err err;
    return pp_import_format(path, &format, &err) == PP_OK ? format : NULL;
}

/* ---- which rank ---- */

struct rank {
    int64_t rank, world_size;
};

static int on_rank_value(void *ctx, const char *name, const char *value)
{
    struct rank *r = ctx;
    if (strcmp(name, "distributedInfo.rank") == 0)
        r->rank = strtoll(value, NULL, 10);
    if (strcmp(name, "distributedInfo.world_size") == 0)
        r->world_size = strtoll(value, NULL, 10);
    return 0;
}

int pp_import_rank_of(const char *path, int64_t *rank, int64_t *world_size)
{
    struct rank r = {-1, -1};
    struct pp_events_read read;
    struct pp_err err;
    pp_events_read(path, &(struct pp_event_sink){.value = on_rank_value, .ctx = &r}, &read, &err);
    if (r.rank < 0 || r.rank > INT32_MAX) {
        /* "rank3", "rank-0", "rank_12" in the last part of the path. */
        const char *at = strstr(basename(path), "rank");
        at += at ? 4 : 0;
        at += at && (*at == '-' || *at == '_' || *at == '.');
        r.rank = at && isdigit((unsigned char)*at) && strspn(at, "0123456789") < 8 ? strtoll(at, NULL, 10)
                                                                                   : -1;
    }
    *rank = r.rank;
    *world_size = r.world_size > r.rank && r.world_size <= INT32_MAX ? r.world_size : -1;
    return r.rank >= 0;
}

/* ---- reading and writing ---- */

static pp_status write_recording(struct pp_imported *im, const char *path, const struct pp_import_opts *o,
                                 struct pp_err *err)
{
    struct pp_import_facts *f = pp_imported_facts(im);
    struct pp_recording *recording = NULL;
    uint64_t first, last;
    if (f->rank < 0 || f->world_size <= f->rank) {
        f->rank = o->rank;
        f->world_size = o->world_size;
    }
    uint64_t utc = pp_imported_extent(im, path, &first, &last);
    struct pp_recording_opts opts = {.store = {.path = o->output, .force = o->force},
                                     .rings = PP_RINGS_NONE,
                                     .tool = "pipeprobe",
                                     .started_ns = first,
                                     .started_utc_ns = utc};
    if (f->rank >= 0 && f->world_size > f->rank)
        opts.identity = pp_identity_of(f->source, f->rank, f->world_size);
    pp_status status = o->stopped ? o->stopped(err) : PP_OK;
    if (status == PP_OK)
        status = pp_recording_create(&opts, &recording, err);
    if (status == PP_OK)
        status = pp_recording_start(recording, o->command_line, err);
    if (status == PP_OK) {
        pp_store_meta_text(pp_recording_store(recording), "import", "trace", basename(path));
        status = pp_imported_write(im, pp_recording_store(recording), o->stopped, err);
    }
    if (status == PP_OK && o->stopped)
        status = o->stopped(err);
    if (status == PP_OK)
        status = pp_recording_finish(recording, "finished", last, err);
    if (status == PP_OK)
        pp_recording_free(recording);
    else if (recording)
        pp_recording_abandon(recording);
    return status;
}

pp_status pp_import_file(const char *path, const struct pp_import_opts *opts, struct pp_import_result *out,
                         struct pp_err *err)
{
    const struct pp_importer *format;
    struct pp_imported *im = NULL;
    memset(out, 0, sizeof(*out));
    pp_status status = pp_import_format(path, &format, err);
    if (status == PP_OK && !(im = pp_imported_new()))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    if (status == PP_OK) {
        pp_imported_facts(im)->source = format->name;
        status = format->read(path, opts->map, im, err);
    }
    for (size_t i = 0; i < opts->n_more && status == PP_OK; i++)
        status = format->read(opts->more[i], opts->map, im, err);
    if (status == PP_OK)
        status = pp_imported_assemble(im, path, err);
    if (status == PP_OK)
        status = write_recording(im, path, opts, err);
    if (status == PP_OK) {
        const struct pp_import_facts *f = pp_imported_facts(im);
        *out = (struct pp_import_result){.source = format->name,
                                         .what = format->what,
                                         .events = f->events,
                                         .fetches = f->fetches,
                                         .steps = f->steps,
                                         .waits = f->waits,
                                         .workers = f->workers,
                                         .other_trainers = f->other_trainers,
                                         .ended = f->ended,
                                         .ended_at = f->ended_at};
    }
    pp_imported_free(im);
    return status;
}
