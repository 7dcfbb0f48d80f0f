/* The opener, which asks the formats what lies at the place, and the way to the opened one. */
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/foreign.h"
#include "probe/dataset/shard_names.h"
#include "probe/storage/cache/cache.h"
#include "probe/storage/fault.h"
#include "probe/storage/model.h"

#include <stdarg.h>
#include <strings.h>

enum { MAX_FORMATS = 32, MAX_WARNINGS = 256 };
#define KEEP_BYTES ((size_t)64 << 20) /* of a sample's buffer, for the next one */

/* ---- looking ---- */

struct root_listing {
    const struct pp_dataset_place *place;
    struct pp_listing *out;
    atomic_uint_least64_t found;
};

static pp_status list_root(void *ctx, uint64_t i, struct pp_err *err)
{
    struct root_listing *l = ctx;
    return pp_list(&l->place->root, l->place->spec, &l->found, l->out, err);
}

/* *missing gets the sentence when nothing is called spec: a pattern or a range is not, either. A directory
 * may have millions of images, and is listed with progress. */
static pp_status look(struct pp_dataset_place *p, struct pp_listing *listing, struct pp_err *missing,
                      struct pp_err *err)
{
    struct root_listing l = {.place = p, .out = listing};
    const struct pp_each each = {
        .n = 1, .piece = list_root, .ctx = &l, .opts = p->opts, .what = "listing images", .done = &l.found};
    const struct pp_open o = {.name = p->spec, .how = PP_OPEN_DIRECTORY, .attempt = "open the directory"};
    pp_status st = pp_storage_attach(p->spec, &p->storage, err);
    if (st == PP_OK)
        st = pp_storage_wrap_model(p->storage, p->opts->model, &p->storage, err);
    if (st == PP_OK)
        st = pp_storage_wrap_faults(p->storage, p->opts->read_faults, &p->storage, err);
    if (st == PP_OK)
        st = pp_storage_wrap_cache(p->storage, p->spec, p->opts->cache, &p->storage, err);
    if (st != PP_OK)
        return st;
    st = pp_storage_stat(p->storage, NULL, p->spec, "open the dataset", &p->info, missing);
    if (st != PP_OK)
        p->info.kind = PP_PLACE_MISSING;
    /* A server that does not answer, or refuses, would do so for every shard. */
    if (pp_storage_request_bytes(p->storage) && st != PP_OK && st != PP_E_NOT_FOUND)
        return pp_fail(err, st, "%s", missing->text);
    /* Files that their format tells by their names are not opened for a look. */
    if (p->info.kind == PP_PLACE_OBJECT && !pp_is_shard_spec(p->spec) &&
        pp_image_kind_by_name(p->spec) == PP_IMAGE_KINDS && !pp_has_suffix(p->spec, ".bin .npy"))
        p->foreign = pp_foreign_look(p->storage, NULL, p->spec);
    if (p->info.kind != PP_PLACE_DIRECTORY)
        return PP_OK;
    st = pp_storage_open(p->storage, &o, &p->root, err);
    if (st == PP_OK)
        st = pp_each_run(&each, err);
    p->listing = listing;
    return st;
}

/* ---- choosing ---- */

static pp_status open_with(const struct pp_dataset_format *f, struct pp_dataset_place *p,
                           struct pp_dataset **out, struct pp_err *err)
{
    p->format = f;
    pp_status st = f->open(p, out, err);
    if (st != PP_OK) {
        pp_dataset_close(*out);
        *out = NULL;
        return st;
    }
    (*out)->format = f;
    if (!f->no_place) {
        (*out)->storage = p->storage;
        p->storage = NULL;
    }
    return PP_OK;
}

/* The one that is surest; when it finds nothing of its own there, the next one. */
static pp_status open_surest(struct pp_dataset_place *p, const struct pp_err *missing,
                             struct pp_dataset **out, struct pp_err *err)
{
    int score[MAX_FORMATS] = {0};
    struct pp_err why = {0}, reason = {0};
    pp_status st = PP_E_EMPTY;
    for (size_t i = 0; (p->format = pp_dataset_format_at(i)); i++) {
        pp_err_clear(&why);
        score[i] = p->format->no_place ? 0 : p->format->probe(p, &why);
        if (score[i] == 0 && why.code != PP_OK)
            reason = why;
    }
    for (int tried = 0;; tried++) {
        size_t best = 0;
        for (size_t i = 1; i < MAX_FORMATS; i++)
            best = score[i] > score[best] ? i : best;
        if (score[best] <= 0 && tried)
            return st;
        if (score[best] <= 0)
            break;
        score[best] = 0;
        st = open_with(pp_dataset_format_at(best), p, out, err);
        if (st != PP_E_EMPTY)
            return st;
    }
    if (p->info.kind == PP_PLACE_MISSING)
        return pp_fail(err, missing->code, "%s", missing->text);
    if (reason.code != PP_OK)
        return pp_fail(err, reason.code, "%s", reason.text);
    const struct pp_foreign *foreign = pp_foreign_look(p->storage, NULL, p->spec);
    if (foreign && foreign->role == PP_FOREIGN_READ)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is a %s file, and no data set by itself: %s", p->spec,
                       foreign->noun, foreign->advice);
    if (foreign)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is a %s file, which pipeprobe does not read: %s", p->spec,
                       foreign->noun, foreign->advice);
    /* "a dataset is a directory of images, .tar shards, or ..." */
    const struct pp_dataset_format *f, *last = NULL;
    char kinds[320] = "";
    for (size_t i = 0; (f = pp_dataset_format_at(i)); i++) {
        if (f->no_place)
            continue;
        if (last)
            pp_text_add(kinds, sizeof(kinds), "%s, ", last->help);
        last = f;
    }
    return pp_fail(err, PP_E_UNSUPPORTED, "%s is not a known dataset: a dataset is %sor %s", p->spec, kinds,
                   last->help);
}

/* file:///data/my%20images is the path /data/my images of this machine. *path is the caller's to free; NULL:
 * spec is no such URL. */
static pp_status path_of_url(const char *spec, char **path, struct pp_err *err)
{
    if (!spec || strncasecmp(spec, "file:", 5) != 0)
        return PP_OK;
    const char *from = spec + 5;
    if (strncmp(from, "//", 2) == 0)
        from += strncmp(from + 2, "localhost/", 10) == 0 ? 11 : 2;
    if (*from != '/')
        return pp_fail(err, PP_E_USAGE,
                       "%s names another machine: a path of this one is file:///PATH, or the path alone",
                       spec);
    char *to = *path = malloc(strlen(from) + 1);
    if (!to)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", spec);
    for (; *from; from++) {
        int byte = from[0] == '%' && pp_text_hex(from[1]) >= 0 && pp_text_hex(from[2]) >= 0
                       ? pp_text_hex(from[1]) * 16 + pp_text_hex(from[2])
                       : 0;
        *to++ = byte ? (char)byte : *from;
        from += byte ? 2 : 0;
    }
    *to = '\0';
    return PP_OK;
}

pp_status pp_dataset_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    static const struct pp_dataset_options defaults;
    struct pp_dataset_place p = {.opts = opts,
                                 .options = opts->options ? opts->options : &defaults,
                                 .spec = opts->spec};
    const struct pp_dataset_format *f = NULL;
    struct pp_listing listing = {0};
    struct pp_err missing = {0};
    const char *name = opts->format;
    char *path = NULL, *last;
    *out = NULL;
    pp_err_clear(err);
    if (!p.spec && p.options->synthetic) {
        p.spec = p.options->synthetic;
        name = "synthetic";
    }
    pp_status st = path_of_url(p.spec, &path, err);
    if (st != PP_OK)
        return st;
    p.spec = path ? path : p.spec;
    for (size_t i = 0; name && (f = pp_dataset_format_at(i)) && strcmp(f->name, name) != 0; i++)
        ;
    if (name && !f)
        st = pp_fail(err, PP_E_USAGE, "there is no dataset format called %s", name);
    else if (!p.spec || (!p.spec[0] && !f))
        st = pp_fail(err, PP_E_USAGE,
                     "no dataset given: name a directory, .tar shards, a token file, or --synthetic SPEC");
    else if (!f || !f->no_place)
        st = look(&p, &listing, &missing, err);
    if (st == PP_OK)
        st = f ? open_with(f, &p, out, err) : open_surest(&p, &missing, out, err);
    if (p.listing)
        pp_listing_free(p.listing);
    pp_object_close(&p.root);
    pp_storage_detach(p.storage);
    free(path);
    if (st != PP_OK)
        return st;
    pp_err_clear(err);
    struct pp_warnings *w = &(*out)->warnings;
    if (w->dropped > 0 && w->text && asprintf(&last, "and %zu more warnings of this kind", w->dropped) >= 0)
        w->text[w->n++] = last;
    return PP_OK;
}

void pp_dataset_close(struct pp_dataset *d)
{
    if (!d)
        return;
    if (d->ops->close)
        d->ops->close(d);
    pp_storage_detach(d->storage);
    pp_warnings_free(&d->warnings);
    free(d);
}

int pp_files_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    const struct pp_shard_files *files = place->format->files;
    const struct pp_listing *l = place->listing;
    const struct pp_foreign *is = place->foreign;
    size_t n = files->what ? strlen(files->what) : 0;
    if (!files->what && place->info.kind != PP_PLACE_DIRECTORY)
        return pp_is_shard_spec(place->spec) ? 60 : 0;
    if (place->info.kind == PP_PLACE_OBJECT)
        return is && strncmp(is->noun, files->what, n) == 0 ? 95 : 0;
    if (place->info.kind != PP_PLACE_DIRECTORY) {
        int named = files->in_pattern ? strstr(place->spec, files->in_pattern) != NULL
                                      : pp_shard_files_has(files, place->spec);
        return named && strpbrk(place->spec, "*?{,") ? 70 : 0;
    }
    /* A directory of them and nothing else is beyond doubt; among other things they count when no format
     * finds more. */
    for (size_t i = 0; i < l->others.n; i++) {
        const char *name = l->others.bytes + l->others.at[i];
        if (!pp_shard_files_has(files, name))
            continue;
        is = files->what ? pp_foreign_look(place->storage, &place->root, name) : NULL;
        if (!files->what || (is && strncmp(is->noun, files->what, n) == 0))
            return l->images.n == 0 && l->subdirs.n == 0 ? 90 : 10;
    }
    return 0;
}

/* ---- questions ---- */

const char *pp_dataset_format_name(const struct pp_dataset *d)
{
    return d->format->name;
}

int pp_dataset_streams(const struct pp_dataset *d)
{
    return d->ops->stream != NULL;
}

enum pp_content pp_dataset_content(const struct pp_dataset *d)
{
    return d->content;
}

uint64_t pp_dataset_len(const struct pp_dataset *d)
{
    return d->len;
}

void pp_dataset_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    d->ops->describe(d, buf, size);
}

const char *pp_dataset_warning(const struct pp_dataset *d, size_t i)
{
    return i < d->warnings.n ? d->warnings.text[i] : NULL;
}

uint64_t pp_dataset_footprint(const struct pp_dataset *d)
{
    return d->ops->footprint(d);
}

/* ---- samples ---- */

size_t pp_sample_limit(const struct pp_sample *s)
{
    return s->limit ? s->limit : PP_SAMPLE_MEMORY;
}

void pp_sample_trim(struct pp_sample *s)
{
    if (s->cap <= KEEP_BYTES)
        return;
    free(s->buf);
    s->buf = NULL;
    s->data = NULL;
    s->cap = 0;
}

pp_status pp_sample_reserve(struct pp_sample *s, uint64_t n, const char *what, struct pp_err *err)
{
    size_t limit = pp_sample_limit(s);
    if (n > limit)
        return pp_fail_sample_memory(err, what, n, limit);
    if (n > s->cap) {
        size_t cap = s->cap > SIZE_MAX / 2 || s->cap * 2 < n ? n : s->cap * 2;
        if (cap > limit)
            cap = limit;
        uint8_t *buf = realloc(s->buf, cap);
        if (!buf)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a sample of %zu bytes", (size_t)n);
        s->buf = buf;
        s->cap = cap;
        s->grown++;
    }
    s->data = s->buf;
    return PP_OK;
}

void pp_sample_free(struct pp_sample *s)
{
    free(s->buf);
    *s = (struct pp_sample){.limit = s->limit};
}

pp_status pp_dataset_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s, struct pp_err *err)
{
    s->index = index;
    return pp_dataset_read_for(d, NULL, s, err);
}

pp_status pp_dataset_read_for(const struct pp_dataset *d, const struct pp_read_context *c,
                              struct pp_sample *s, struct pp_err *err)
{
    uint64_t index = s->index = c ? c->sample : s->index;
    pp_sample_trim(s);
    s->size = 0;
    s->label = -1;
    s->cache_known = 0;
    s->cache_hit_bytes = 0;
    if (d->len == 0)
        return pp_fail(err, PP_E_UNSUPPORTED, "the shards have no index: their samples can only be streamed");
    if (index >= d->len)
        return pp_fail(err, PP_E_USAGE, "sample %llu does not exist: the dataset has %llu samples",
                       (unsigned long long)index, (unsigned long long)d->len);
    return d->ops->read(d, index, c, s, err);
}

pp_status pp_dataset_row_bytes(const struct pp_dataset *d, size_t sample_limit, size_t *out,
                               struct pp_err *err)
{
    enum { TRIED = 64 };
    struct pp_sample s = {.limit = sample_limit};
    struct pp_err why = {0};
    *out = PP_TEXT_ROW;
    if (d->content == PP_CONTENT_TEXT)
        return PP_OK;
    pp_status first = pp_dataset_read(d, 0, &s, err), st = first;
    for (uint64_t i = 1; st != PP_OK && i < TRIED && i < d->len; i++)
        st = pp_dataset_read(d, i, &s, &why);
    *out = s.size;
    pp_sample_free(&s);
    if (st == PP_OK)
        pp_err_clear(err);
    return st == PP_OK ? PP_OK : first;
}

pp_status pp_dataset_labels(const struct pp_dataset *d, int64_t **out, struct pp_err *err)
{
    uint64_t labelled = 0;
    *out = NULL;
    int64_t *labels = d->ops->label ? malloc((d->len + 1) * sizeof(*labels)) : NULL;
    if (d->ops->label && !labels)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the classes of %llu samples",
                       (unsigned long long)d->len);
    for (uint64_t i = 0; labels && i < d->len; i++)
        labelled += (labels[i] = d->ops->label(d, i)) >= 0;
    if (!labelled) {
        free(labels);
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "the samples of this %s data set have no classes: give --classes FILE, a number per sample",
            pp_dataset_format_name(d));
    }
    *out = labels;
    return PP_OK;
}

const char *pp_dataset_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    if (size == 0)
        return buf;
    buf[0] = '\0';
    if (index < d->len)
        d->ops->path(d, index, buf, size);
    return buf;
}

/* ---- streams ---- */

pp_status pp_stream_open(const struct pp_dataset *d, const struct pp_stream_opts *opts,
                         struct pp_stream **out, struct pp_err *err)
{
    struct pp_stream_opts o = *opts;
    *out = NULL;
    if (o.world_size == 0)
        o.world_size = 1;
    if (!d->ops->stream)
        return pp_fail(err, PP_E_UNSUPPORTED, "a data set of kind %s is read by index and cannot be streamed",
                       d->format->name);
    if (o.leased && d->ops->stream != pp_shards_stream)
        return pp_fail(err, PP_E_UNSUPPORTED, "the shards of a data set of kind %s cannot be leased",
                       d->format->name);
    if (o.rank >= o.world_size)
        return pp_fail(err, PP_E_USAGE, "rank %llu is outside the world size %llu",
                       (unsigned long long)o.rank, (unsigned long long)o.world_size);
    return d->ops->stream(d, &o, out, err);
}

pp_status pp_stream_next(struct pp_stream *st, struct pp_sample *s, char *path, size_t path_size,
                         struct pp_err *err)
{
    return st->ops->next(st, s, path, path_size, err);
}

void pp_stream_cursor(const struct pp_stream *st, struct pp_stream_cursor *out)
{
    st->ops->cursor(st, out);
}

int pp_stream_begun(struct pp_stream *st, uint64_t *shard, uint64_t *first)
{
    return st->ops->begun && st->ops->begun(st, shard, first);
}

void pp_stream_close(struct pp_stream *st)
{
    if (st)
        st->ops->close(st);
}

/* ---- warnings ---- */

/* One slot is kept for the sentence that counts those that found no room. */
static int append_warning(struct pp_warnings *w, char *text)
{
    if (!w->text)
        w->text = calloc(MAX_WARNINGS, sizeof(*w->text));
    if (!text || !w->text || w->n >= MAX_WARNINGS - 1) {
        free(text);
        w->dropped++;
        return -1;
    }
    w->text[w->n++] = text;
    return 0;
}

void pp_warn(struct pp_warnings *w, const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    append_warning(w, text);
}

void pp_warnings_move(struct pp_warnings *to, struct pp_warnings *from)
{
    for (size_t i = 0; i < from->n; i++)
        append_warning(to, from->text[i]);
    to->dropped += from->dropped;
    from->n = 0;
    pp_warnings_free(from);
}

void pp_warnings_free(struct pp_warnings *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->text[i]);
    free(w->text);
    *w = (struct pp_warnings){0};
}
