#include "report/source/joined.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

enum {
    FIRST_PID = 4000000 /* of 22 bits, as Nsight takes them */,
    MOST_NAMES = 4096 /* of all parts; a span with another one has its phase's */
};

struct part {
    struct pp_join_part in;
    char label[32];
    uint32_t first, ids; /* its thread i is first + i; the last of them stands for undeclared ones */
    uint16_t *name;      /* ours, by its own; allocated when it is first met. 0: not met yet */
};

struct joined {
    struct part *parts;
    size_t n;
    struct pp_thread_row *rows;
    size_t n_rows;
    int64_t next_pid;
    char **names; /* by our id, from 1 */
    size_t n_names;
    struct pp_span *span; /* of one chunk */
    size_t room;
    int no_memory;
};

static uint64_t common(const struct part *p, uint64_t t_ns)
{
    return p->in.to_common ? p->in.to_common(p->in.clock, t_ns) : t_ns;
}

static uint32_t thread_of(const struct part *p, uint32_t id)
{
    return p->first + (id < p->ids ? id : p->ids - 1);
}

/* ---- threads ---- */

static int pid_is_taken(const struct joined *j, size_t n, int64_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (j->rows[i].pid == pid)
            return 1;
    return 0;
}

static int add_threads(struct joined *j, struct part *p, uint32_t *next)
{
    const struct pp_thread_row *rows;
    size_t n = p->in.source->threads(p->in.source->ctx, &rows), before = j->n_rows;
    struct pp_thread_row *grown = realloc(j->rows, (before + n + 1) * sizeof(*grown));
    if (!grown)
        return 0;
    j->rows = grown;
    p->first = *next;
    for (size_t i = 0; i < n; i++)
        p->ids = rows[i].id < UINT16_MAX && rows[i].id >= p->ids ? rows[i].id + 1 : p->ids;
    p->ids++;
    *next += p->ids;
    for (size_t i = 0; i < n; i++) {
        struct pp_thread_row *row = &j->rows[j->n_rows];
        char *name;
        if (asprintf(&name, "%s %s", p->label, rows[i].name ? rows[i].name : "") < 0)
            return 0;
        *row = rows[i];
        row->name = name;
        row->id = thread_of(p, rows[i].id);
        row->pid = 0;
        for (size_t k = 0; k < i && !row->pid; k++) /* the same process as a thread before it */
            if (rows[k].pid == rows[i].pid)
                row->pid = j->rows[before + k].pid;
        if (!row->pid && pid_is_taken(j, before, rows[i].pid)) {
            while (pid_is_taken(j, before, j->next_pid)) /* ranks on other hosts may have the same numbers */
                j->next_pid++;
            row->pid = j->next_pid++;
        } else if (!row->pid) {
            row->pid = rows[i].pid;
        }
        j->n_rows++;
    }
    return 1;
}

static size_t threads(void *ctx, const struct pp_thread_row **rows)
{
    const struct joined *j = ctx;
    *rows = j->rows;
    return j->n_rows;
}

/* ---- names ---- */

static uint16_t name_id(struct joined *j, struct part *p, uint16_t theirs)
{
    if (!theirs || !p->in.source->name)
        return 0;
    if (!p->name && !(p->name = calloc(UINT16_MAX + 1, sizeof(*p->name)))) {
        j->no_memory = 1;
        return 0;
    }
    if (p->name[theirs])
        return p->name[theirs];
    const char *text = p->in.source->name(p->in.source->ctx, theirs);
    size_t i = 1;
    while (text && i <= j->n_names && strcmp(j->names[i - 1], text) != 0)
        i++;
    if (!text || i > MOST_NAMES)
        return 0;
    if (i > j->n_names) {
        char **grown = realloc(j->names, i * sizeof(*grown)), *copy = strdup(text);
        j->names = grown ? grown : j->names;
        if (!grown || !copy) {
            free(copy);
            j->no_memory = 1;
            return 0;
        }
        j->names[j->n_names++] = copy;
    }
    return p->name[theirs] = (uint16_t)i;
}

static const char *name(void *ctx, uint16_t id)
{
    const struct joined *j = ctx;
    return id && id <= j->n_names ? j->names[id - 1] : NULL;
}

/* ---- spans ---- */

struct walk {
    struct joined *j;
    struct part *p;
    pp_spans_fn *fn;
    void *ctx;
    int stopped;
};

static int on_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct walk *w = ctx;
    struct joined *j = w->j;
    if (!pp_grow(&j->span, &j->room, n, sizeof(*j->span)))
        return j->no_memory = 1;
    for (size_t i = 0; i < n; i++) {
        struct pp_span *s = &j->span[i];
        *s = spans[i];
        s->start_ns = common(w->p, spans[i].start_ns);
        const struct pp_span *span = &spans[i];
        uint64_t end = common(w->p, span->dur_ns > UINT64_MAX - span->start_ns
                                        ? UINT64_MAX
                                        : span->start_ns + span->dur_ns); /* what touched, touches */
        s->dur_ns = end > s->start_ns ? end - s->start_ns : 0;
        s->name = name_id(j, w->p, spans[i].name);
    }
    w->stopped = w->fn(w->ctx, thread_of(w->p, thread), j->span, n);
    return w->stopped || j->no_memory;
}

/* Columns and times that are wanted are not passed on: exports want all. */
static pp_status each_chunk(void *ctx, const struct pp_wanted *wanted, pp_spans_fn *fn, void *fn_ctx,
                            uint64_t *bad_chunks, struct pp_err *err)
{
    struct walk w = {.j = ctx, .fn = fn, .ctx = fn_ctx};
    pp_status st = PP_OK;
    uint64_t all = 0;
    for (size_t i = 0; st == PP_OK && !w.stopped && i < w.j->n; i++) {
        uint64_t bad = 0;
        w.p = &w.j->parts[i];
        st = w.p->in.source->each_chunk(w.p->in.source->ctx, NULL, on_chunk, &w, &bad, err);
        all += bad;
    }
    if (bad_chunks)
        *bad_chunks = all;
    return st == PP_OK && w.j->no_memory ? pp_fail(err, PP_E_NO_MEMORY, "no memory to join recordings") : st;
}

/* ---- what lies beside ---- */

struct rows {
    const struct part *p;
    void *fn, *ctx;
};

static void on_error(void *ctx, const struct pp_error_row *row)
{
    const struct rows *r = ctx;
    struct pp_error_row moved = *row;
    moved.t_ns = common(r->p, row->t_ns);
    moved.thread = thread_of(r->p, row->thread);
    (*(pp_error_fn *const *)r->fn)(r->ctx, &moved);
}

static void on_counter(void *ctx, uint64_t t_ns, const char *text, double value)
{
    const struct rows *r = ctx;
    char named[160];
    snprintf(named, sizeof(named), "%s %s", r->p->label, text);
    (*(pp_counter_fn *const *)r->fn)(r->ctx, common(r->p, t_ns), named, value);
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    const struct rows *r = ctx;
    char text[512];
    snprintf(text, sizeof(text), "%s: %s", r->p->label, why ? why : "");
    (*(pp_loss_fn *const *)r->fn)(r->ctx, what, count, text);
}

#define EACH(what) \
    static pp_status each_##what(void *ctx, pp_##what##_fn *fn, void *fn_ctx, struct pp_err *err) \
    { \
        const struct joined *j = ctx; \
        pp_status st = PP_OK; \
        for (size_t i = 0; st == PP_OK && i < j->n; i++) { \
            const struct pp_source *s = j->parts[i].in.source; \
            if (s->each_##what) \
                st = s->each_##what(s->ctx, on_##what, &(struct rows){&j->parts[i], &fn, fn_ctx}, err); \
        } \
        return st; \
    }
EACH(error)
EACH(counter)
EACH(loss)
#undef EACH

/* ---- values: the first rank's, and the clocks' errors ---- */

static const char *meta(void *ctx, const char *section, const char *key)
{
    const struct pp_source *s = ((struct joined *)ctx)->parts[0].in.source;
    return s->meta(s->ctx, section, key);
}

static int meta_num(void *ctx, const char *section, const char *key, double *value)
{
    const struct pp_source *s = ((struct joined *)ctx)->parts[0].in.source;
    return s->meta_num(s->ctx, section, key, value);
}

static pp_status each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct joined *j = ctx;
    const struct pp_source *s = j->parts[0].in.source;
    char key[64], value[40];
    pp_status st = s->each_meta(s->ctx, section, fn, fn_ctx, err);
    for (size_t i = 0; st == PP_OK && strcmp(section, "run") == 0 && i < j->n; i++) {
        double error = j->parts[i].in.clock_error_ns;
        snprintf(key, sizeof(key), "%s.clock_error_ns", j->parts[i].label);
        if (isnan(error))
            snprintf(value, sizeof(value), "unknown");
        else
            snprintf(value, sizeof(value), "%.0f", error);
        fn(fn_ctx, key, value, NULL, !isnan(error));
    }
    return st;
}

pp_status pp_source_join(const struct pp_join_part *parts, size_t n, struct pp_source *out,
                         struct pp_err *err)
{
    struct joined *j = calloc(1, sizeof(*j));
    uint32_t next = 0;
    *out = (struct pp_source){.path = n ? parts[0].source->path : "", .ctx = j};
    if (j)
        j->next_pid = FIRST_PID;
    int ok = j && (j->parts = calloc(n + 1, sizeof(*j->parts)));
    for (size_t i = 0; ok && i < n; i++) {
        struct part *p = &j->parts[j->n++];
        p->in = parts[i];
        snprintf(p->label, sizeof(p->label), "%s", parts[i].label);
        ok = add_threads(j, p, &next);
    }
    if (!ok) {
        pp_source_unjoin(out);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to join %zu recordings", n);
    }
    out->meta = meta;
    out->meta_num = meta_num;
    out->each_meta = each_meta;
    out->threads = threads;
    out->name = name;
    out->each_chunk = each_chunk;
    out->each_error = each_error;
    out->each_counter = each_counter;
    out->each_loss = each_loss;
    return PP_OK;
}

void pp_source_unjoin(struct pp_source *joined)
{
    struct joined *j = joined->ctx;
    for (size_t i = 0; j && i < j->n_rows; i++)
        free((char *)j->rows[i].name);
    for (size_t i = 0; j && j->parts && i < j->n; i++)
        free(j->parts[i].name);
    for (size_t i = 0; j && i < j->n_names; i++)
        free(j->names[i]);
    if (j) {
        free(j->parts);
        free(j->rows);
        free(j->names);
        free(j->span);
    }
    free(j);
    joined->ctx = NULL;
}
