#include "report/source/source.h"

#include "probe/base/err.h"
#include "report/source/one_loader.h"
#include "report/source/lanes.h"

/* A recording, or the part of it between two moments. */
struct opened {
    struct pp_reader *reader;
    int part;
    uint64_t from_ns, to_ns; /* 0 without */
    int apart;               /* threads as they were recorded: no lane is joined */
    int looked;              /* for lanes to join */
    struct lanes {
        struct pp_thread_row *threads; /* our own copy, of a part (without what was lost elsewhere) or with
                                          joined lanes; NULL: the reader's are right */
        size_t n_threads;
        struct pp_lane_place *place; /* which row stands for each of the reader's rows */
        uint32_t *id;                /* by place: the reader's id */
        size_t n_place;
        char (*names)[32];
        uint64_t *generation_ns;
        size_t n_generations; /* after the first */
    } lanes;
    struct pp_kept_requests *kept; /* NULL: requests are read each time */
    struct pp_judged *judged;      /* NULL: the loader that the recording has chosen */
};

/* What stands for the whole run says nothing of a part: its totals are absent, and it begins and ends where
 * the part does. */
static const char *meta(void *ctx, const char *section, const char *key)
{
    const struct opened *o = ctx;
    const char *instead;
    if (o->judged && pp_judged_has(o->judged, section, key, &instead))
        return instead;
    return o->part && strcmp(section, "result") == 0 ? NULL : pp_reader_meta(o->reader, section, key);
}

static int meta_num(void *ctx, const char *section, const char *key, double *value)
{
    const struct opened *o = ctx;
    int starts = strcmp(key, "started_mono_ns") == 0, ends = strcmp(key, "ended_mono_ns") == 0;
    const char *instead;
    if (o->judged && pp_judged_has(o->judged, section, key, &instead)) {
        *value = instead ? atof(instead) : 0;
        return instead != NULL;
    }
    if (o->part && strcmp(section, "result") == 0)
        return 0;
    if (o->part && strcmp(section, "run") == 0 && (starts || ends)) {
        *value = (double)(starts ? o->from_ns : o->to_ns);
        return 1;
    }
    return pp_reader_meta_num(o->reader, section, key, value);
}

struct judging {
    const struct pp_judged *judged;
    const char *section;
    pp_meta_fn *fn;
    void *ctx;
};

static void judged_meta(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    const struct judging *j = ctx;
    const char *instead;
    int has = pp_judged_has(j->judged, j->section, key, &instead);
    if (!has || instead)
        j->fn(j->ctx, key, has ? instead : value, unit, numeric);
}

static pp_status each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    struct judging j = {o->judged, section, fn, fn_ctx};
    return o->judged ? pp_reader_each_meta(o->reader, section, judged_meta, &j, err)
                     : pp_reader_each_meta(o->reader, section, fn, fn_ctx, err);
}

/* ---- lanes ---- */

struct lives {
    const struct pp_thread_row *rows;
    struct pp_lane_life *life;
    size_t n;
};

size_t pp_thread_at(const struct pp_thread_row *rows, size_t n, uint32_t id)
{
    if (id < n && rows[id].id == id) /* ids count from 0 */
        return id;
    size_t at = 0;
    while (at < n && rows[at].id != id)
        at++;
    return at;
}

static void note_life(void *ctx, uint32_t thread, uint64_t first_start_ns, uint64_t last_end_ns)
{
    struct lives *l = ctx;
    size_t at = pp_thread_at(l->rows, l->n, thread);
    if (at == l->n)
        return;
    struct pp_lane_life *life = &l->life[at];
    life->first_ns = first_start_ns < life->first_ns ? first_start_ns : life->first_ns;
    life->last_ns = last_end_ns > life->last_ns ? last_end_ns : life->last_ns;
}

/* Rows of joined lanes: the first generation's, with what the others recorded added. */
static int join_rows(struct lanes *l, const struct pp_thread_row *rows)
{
    l->threads = malloc((l->n_place + 1) * sizeof(*l->threads));
    l->names = calloc(l->n_place + 1, sizeof(*l->names));
    l->id = malloc((l->n_place + 1) * sizeof(*l->id));
    if (!l->threads || !l->names || !l->id)
        return 0;
    for (size_t i = 0; i < l->n_place; i++) {
        l->id[i] = rows[i].id;
        if (l->place[i].row == i)
            l->threads[l->n_threads++] = rows[i];
    }
    for (size_t i = 0; i < l->n_place; i++) {
        size_t row = l->place[i].row;
        for (size_t k = 0; row != i && k < l->n_threads; k++)
            if (l->threads[k].id == rows[row].id) {
                l->threads[k].recorded += rows[i].recorded;
                l->threads[k].dropped += rows[i].dropped;
            }
    }
    for (size_t i = 0; i < l->n_place; i++)
        if (pp_lanes_unnamed(rows, l->n_place, l->place, i)) {
            snprintf(l->names[i], sizeof(l->names[i]), "worker %zu", l->place[i].number);
            for (size_t k = 0; k < l->n_threads; k++)
                if (l->threads[k].id == rows[i].id)
                    l->threads[k].name = l->names[i];
        }
    return 1;
}

static void forget_lanes(struct lanes *l)
{
    free(l->threads);
    free(l->place);
    free(l->id);
    free(l->names);
    free(l->generation_ns);
    *l = (struct lanes){0};
}

/* Once, and only for recordings of several processes. Without memory lanes stay apart. */
static void look_for_lanes(struct opened *o)
{
    const struct pp_thread_row *rows;
    int64_t from = 0;
    size_t n = pp_reader_threads(o->reader, &rows), generations = 0;
    if (o->looked)
        return;
    o->looked = 1;
    if (o->apart || !pp_lanes_wanted(rows, n))
        return;
    struct lives lives = {.rows = rows, .life = malloc((n + 1) * sizeof(*lives.life)), .n = n};
    struct lanes *l = &o->lanes;
    l->place = malloc((n + 1) * sizeof(*l->place));
    l->n_place = n;
    for (size_t i = 0; lives.life && i < n; i++)
        lives.life[i] = (struct pp_lane_life){UINT64_MAX, 0};
    if (lives.life && l->place &&
        pp_reader_each_chunk_end_after(o->reader, &from, note_life, &lives, NULL) == PP_OK)
        generations = pp_lanes_join(rows, lives.life, n, l->place);
    int are_joined = generations && join_rows(l, rows);
    if (!are_joined)
        forget_lanes(l);
    if (are_joined && generations > 1)
        l->generation_ns = malloc(generations * sizeof(*l->generation_ns));
    if (l->generation_ns) {
        l->n_generations = generations - 1;
        memset(l->generation_ns, 0xff, generations * sizeof(*l->generation_ns));
    }
    for (size_t i = 0; l->generation_ns && i < l->n_place; i++) {
        size_t g = l->place[i].generation;
        if (g && lives.life[i].first_ns < l->generation_ns[g - 1])
            l->generation_ns[g - 1] = lives.life[i].first_ns;
    }
    free(lives.life);
}

/* The thread that stands for one of the reader's. */
static uint32_t lane_id(const struct lanes *l, uint32_t thread)
{
    for (size_t i = 0; i < l->n_place; i++)
        if (l->id[i] == thread)
            return l->id[l->place[i].row];
    return thread;
}

static size_t threads(void *ctx, const struct pp_thread_row **rows)
{
    struct opened *o = ctx;
    struct lanes *l = &o->lanes;
    look_for_lanes(o);
    size_t n = pp_reader_threads(o->reader, rows);
    if (!o->part && !l->threads)
        return n;
    /* once: who asked before still looks at them */
    if (!l->threads && (l->threads = malloc((n + 1) * sizeof(*l->threads)))) {
        memcpy(l->threads, *rows, n * sizeof(*l->threads));
        l->n_threads = n;
    }
    for (size_t i = 0; o->part && l->threads && i < l->n_threads; i++)
        l->threads[i].dropped = 0;
    *rows = l->threads;
    return l->n_threads;
}

static size_t generations(void *ctx, const uint64_t **starts_ns)
{
    struct opened *o = ctx;
    look_for_lanes(o);
    *starts_ns = o->lanes.generation_ns;
    return o->lanes.n_generations;
}

static size_t joined(void *ctx)
{
    struct opened *o = ctx;
    size_t n = 0;
    look_for_lanes(o);
    for (size_t i = 0; i < o->lanes.n_place; i++)
        n += o->lanes.place[i].row != i;
    return n;
}

static const char *name(void *ctx, uint16_t id)
{
    return pp_reader_name(((struct opened *)ctx)->reader, id);
}

/* Hands a chunk on under the thread of its lane. */
struct clip {
    const struct opened *o;
    const uint32_t *only; /* of this lane alone; NULL: of all */
    pp_spans_fn *fn;
    void *ctx;
};

static int join(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    const struct clip *c = ctx;
    uint32_t lane = lane_id(&c->o->lanes, thread);
    return c->only && *c->only != lane ? 0 : c->fn(c->ctx, lane, spans, n);
}

/* Hands on the stretches of spans that begin within the part. */
static int clip(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    const struct clip *c = ctx;
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && spans[i].start_ns >= c->o->from_ns && spans[i].start_ns < c->o->to_ns)
            i++;
        if (i > from && join(ctx, thread, spans + from, i - from))
            return 1;
        i += i == from;
    }
    return 0;
}

static pp_status each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                            uint64_t *bad_chunks, struct pp_err *err)
{
    struct opened *o = ctx;
    look_for_lanes(o);
    struct clip hand_on = {o, o->lanes.n_place && wanted ? wanted->thread : NULL, fn, fn_ctx};
    struct pp_wanted asked = wanted ? *wanted : (struct pp_wanted){0};
    if (o->lanes.n_place)
        asked.thread = NULL; /* a lane is several threads */
    if (!o->part && !o->lanes.n_place)
        return pp_reader_each_chunk_of(o->reader, wanted, fn, fn_ctx, bad_chunks, err);
    if (!o->part)
        return pp_reader_each_chunk_of(o->reader, &asked, join, &hand_on, bad_chunks, err);
    asked.columns = asked.columns ? asked.columns | PP_COLUMN_START : PP_COLUMNS_ALL;
    asked.from_ns = wanted && wanted->to_ns && wanted->from_ns > o->from_ns ? wanted->from_ns : o->from_ns;
    asked.to_ns = wanted && wanted->to_ns && wanted->to_ns < o->to_ns ? wanted->to_ns : o->to_ns;
    return pp_reader_each_chunk_of(o->reader, &asked, clip, &hand_on, bad_chunks, err);
}

/* Hands on the rows of the part. */
struct rows {
    const struct opened *o;
    union {
        pp_error_fn *error;
        pp_counter_fn *counter;
        pp_request_fn *request;
    } fn;
    void *ctx;
};

static int is_in(const struct opened *o, uint64_t t_ns)
{
    return !o->part || (t_ns >= o->from_ns && t_ns < o->to_ns);
}

static void clip_error(void *ctx, const struct pp_error_row *row)
{
    const struct rows *r = ctx;
    if (is_in(r->o, row->t_ns))
        r->fn.error(r->ctx, row);
}

static void clip_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    const struct rows *r = ctx;
    if (is_in(r->o, t_ns))
        r->fn.counter(r->ctx, t_ns, name, value);
}

#define EACH_CLIPPED(what) \
    static pp_status each_##what(void *ctx, pp_##what##_fn *fn, void *fn_ctx, struct pp_err *err) \
    { \
        const struct opened *o = ctx; \
        return pp_reader_each_##what(o->reader, NULL, clip_##what, &(struct rows){o, {.what = fn}, fn_ctx}, \
                                     err); \
    }
EACH_CLIPPED(error)
EACH_CLIPPED(counter)
#undef EACH_CLIPPED

static pp_status each_order(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_order(o->reader, only, fn, fn_ctx, err);
}

/* Rows that are not clipped; of_a_part: a part has them too. */
#define EACH(what, of_a_part) \
    static pp_status each_##what(void *ctx, pp_##what##_fn *fn, void *fn_ctx, struct pp_err *err) \
    { \
        const struct opened *o = ctx; \
        return o->part && !of_a_part ? PP_OK : pp_reader_each_##what(o->reader, fn, fn_ctx, err); \
    }
EACH(queue, 0)
EACH(loss, 0)
EACH(proof, 1)
EACH(use, 1)
EACH(fact, 1)
EACH(state, 1)
EACH(content, 1)
EACH(gpu, 1)
#undef EACH

static void clip_request(void *ctx, const struct pp_request_row *row)
{
    const struct rows *r = ctx;
    if (is_in(r->o, row->start_ns))
        r->fn.request(r->ctx, row);
}

static pp_status each_request(void *ctx, pp_request_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    const struct pp_request_wanted wanted = {.from_ns = o->from_ns, .to_ns = o->to_ns};
    return o->kept ? pp_kept_requests_each(o->kept, o->reader, clip_request,
                                           &(struct rows){o, {.request = fn}, fn_ctx}, err)
                   : pp_reader_each_request(o->reader, &wanted, fn, fn_ctx, err);
}

static pp_status each_request_by_start(void *ctx, pp_request_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct opened *o = ctx;
    const struct pp_request_wanted wanted = {.from_ns = o->from_ns, .to_ns = o->to_ns, .by_start = 1};
    return pp_reader_each_request(o->reader, &wanted, fn, fn_ctx, err);
}

/* Samples of the part, under the thread of their lane. */
struct stacks {
    const struct opened *o;
    const struct pp_stack_walk *to;
};

static void clip_stack(void *ctx, const struct pp_stack_sample_row *row)
{
    const struct stacks *s = ctx;
    struct pp_stack_sample_row of_lane = *row;
    of_lane.thread = lane_id(&s->o->lanes, row->thread);
    if (is_in(s->o, row->t_ns))
        s->to->sample(s->to->sample_ctx, &of_lane);
}

static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    struct opened *o = ctx;
    struct stacks s = {o, to};
    struct pp_stack_walk clipped = *to;
    clipped.sample = clip_stack;
    clipped.sample_ctx = &s;
    look_for_lanes(o);
    return pp_reader_each_stack(o->reader, &clipped, err);
}

/* Looks belong to stalls, so that those outside a part are of no stall. */
static pp_status each_thread_look(void *ctx, const struct pp_thread_walk *to, struct pp_err *err)
{
    const struct opened *o = ctx;
    return pp_reader_each_thread_look(o->reader, to, err);
}

pp_status pp_source_open_as(const char *path, const struct pp_source_view *view, struct pp_source *out,
                            struct pp_err *err)
{
    struct opened *o = calloc(1, sizeof(*o));
    *out = (struct pp_source){
        .path = path,
        .ctx = o,
        .meta = meta,
        .meta_num = meta_num,
        .each_meta = each_meta,
        .threads = threads,
        .generations = generations,
        .joined = joined,
        .name = name,
        .each_chunk = each_chunk,
        .each_error = each_error,
        .each_queue = each_queue,
        .each_counter = each_counter,
        .each_loss = each_loss,
        .each_order = each_order,
        .each_use = each_use,
        .each_fact = each_fact,
        .each_state = each_state,
        .each_content = each_content,
        .each_proof = each_proof,
        .each_stack = each_stack,
        .each_thread_look = each_thread_look,
        .each_gpu = each_gpu,
        .each_request = each_request,
        .each_request_by_start = each_request_by_start,
    };
    if (!o)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    *o = (struct opened){.apart = view->apart,
                         .part = view->part,
                         .from_ns = view->part ? view->from_ns : 0,
                         .to_ns = view->part ? view->to_ns : 0};
    pp_status st = pp_reader_open(path, &o->reader, err);
    return st == PP_OK ? pp_reader_check(o->reader, err) : st;
}

pp_status pp_source_open(const char *path, struct pp_source *out, struct pp_err *err)
{
    return pp_source_open_as(path, &(struct pp_source_view){.apart = 0}, out, err);
}

void pp_source_keep_requests(struct pp_source *source, struct pp_kept_requests *kept)
{
    struct opened *o = source->ctx;
    if (o)
        o->kept = kept;
}

pp_status pp_source_judge(struct pp_source *source, const char *loader, struct pp_err *err)
{
    struct opened *o = source->ctx;
    struct pp_judged *judged = NULL;
    pp_status st = pp_judged_read(source, loader, &judged, err);
    free(o->judged);
    o->judged = judged;
    return st;
}

void pp_source_close(struct pp_source *source)
{
    struct opened *o = source->ctx;
    if (o) {
        pp_reader_close(o->reader);
        free(o->judged);
        forget_lanes(&o->lanes);
        free(o);
    }
    source->ctx = NULL;
}

double pp_source_number(const struct pp_source *s, const char *section, const char *key, double otherwise)
{
    double v;
    const char *text;
    if (s->meta_num(s->ctx, section, key, &v))
        return v;
    text = s->meta(s->ctx, section, key);
    return text && text[0] ? atof(text) : otherwise;
}

int pp_source_yes(const struct pp_source *s, const char *section, const char *key)
{
    const char *text = s->meta(s->ctx, section, key);
    return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

int pp_source_is(const struct pp_source *s, const char *key, const char *value)
{
    const char *text = s->meta(s->ctx, "config", key);
    return text && strcmp(text, value) == 0;
}

int pp_source_has(const struct pp_source *s, const char *key)
{
    const char *text = s->meta(s->ctx, "config", key);
    return text && text[0];
}

int pp_counter_is(struct pp_counter_id *id, const struct pp_source *source, const struct pp_span *s)
{
    if (s->phase != PP_PHASE_COUNTER || s->name >= PP_NAMES || !source->name)
        return 0;
    if (!id->known[s->name]) {
        const char *text = source->name(source->ctx, s->name);
        id->known[s->name] = text && strcmp(text, id->text) == 0 ? 2 : 1;
    }
    return id->known[s->name] == 2;
}
