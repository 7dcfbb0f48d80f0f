#include "report/source/rows.h"

#include "probe/base/text.h"

struct reading {
    struct pp_arena *arena;
    struct pp_report *r;
    struct errors {
        uint64_t visits; /* samples that failed, retries and notes not among them */
        uint64_t *seen;  /* hashes of the paths met, open addressing */
        size_t n, cap;
    } errors;
};

/* ---- kinds of errors: visits, distinct files, examples ---- */

/* A sample that fails is visited once per epoch, so that visits say how often and files how many. */
enum { MOST_FILES = 1 << 20 }; /* with errors, counted one by one: a stranger's file may name any number */

/* 1: path is new in the set of that number; 0: known; -1: the sets are full. */
static int is_new(struct errors *e, const char *path, uint64_t set)
{
    /* FNV-1a; set tells the sets apart, and 0 marks a free slot. */
    uint64_t h = 14695981039346656037u ^ set * 0x9e3779b97f4a7c15u;
    for (const char *text = path; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    h ^= h >> 29;
    h = h ? h : 1;
    if (e->n * 2 >= e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 256;
        uint64_t *seen = e->n < MOST_FILES ? calloc(cap, sizeof(*seen)) : NULL;
        if (!seen)
            return -1;
        for (size_t i = 0; i < e->cap; i++) {
            size_t to = e->seen[i] & (cap - 1);
            if (!e->seen[i])
                continue;
            while (seen[to])
                to = (to + 1) & (cap - 1);
            seen[to] = e->seen[i];
        }
        free(e->seen);
        e->seen = seen;
        e->cap = cap;
    }
    size_t at = h & (e->cap - 1);
    for (; e->seen[at]; at = (at + 1) & (e->cap - 1))
        if (e->seen[at] == h)
            return 0;
    e->seen[at] = h;
    e->n++;
    return 1;
}

/* Rows in the order of the table: the first of a kind is its example. */
static void on_error(void *ctx, const struct pp_error_row *row)
{
    struct reading *g = ctx;
    struct errors *e = &g->errors;
    const char *action = row->action ? row->action : "unknown";
    int counts = strcmp(action, "retried") != 0 && strcmp(action, "noted") != 0;
    const char *kind = row->kind ? row->kind : "unknown";
    struct pp_report *r = g->r;
    struct pp_report_error_kind *k = NULL;
    for (size_t i = 0; i < r->n_error_kinds && !k && !pp_arena_failed(g->arena); i++)
        if (strcmp(r->error_kinds[i].kind, kind) == 0 && strcmp(r->error_kinds[i].action, action) == 0)
            k = &r->error_kinds[i];
    if (!k && !pp_arena_failed(g->arena) &&
        (k = pp_arena_push(g->arena, (void **)&r->error_kinds, &r->n_error_kinds, sizeof(*k))))
        *k = (struct pp_report_error_kind){.kind = pp_arena_copy(g->arena, kind),
                                           .action = pp_arena_copy(g->arena, action)};
    e->visits += counts ? row->count : 0;
    if (!k)
        return;
    k->count += row->count;
    /* A set of its own for each kind, and set 0 for all together. Rows without a path are of no file, but for
     * those that the recorder summed up beyond its limit of rows. */
    int fresh = row->path ? is_new(e, row->path, (uint64_t)(k - g->r->error_kinds) + 1) : 0;
    if (fresh < 0 || (!row->path && row->count > 1))
        k->more_files = 1;
    if (fresh > 0)
        k->files++;
    if (counts && row->path && is_new(e, row->path, 0) > 0)
        g->r->error_files++;
    if (counts && k->more_files)
        g->r->more_error_files = 1;
    if (fresh == 0 && row->path && strcmp(k->kind, "warning") != 0) {
        /* Another visit to a file that is an example already. */
        for (size_t i = 0; i < k->n_examples; i++)
            if (k->examples[i].path && strcmp(k->examples[i].path, row->path) == 0)
                k->examples[i].count += row->count;
    }
    /* a warning has the data set's path, and each is one of its own */
    if (fresh > 0 || !row->path || strcmp(k->kind, "warning") == 0) {
        if (k->n_examples == PP_REPORT_ERROR_EXAMPLES)
            return;
        struct pp_report_error_example *to = pp_arena_push(g->arena, (void **)&k->examples, &k->n_examples,
                                                           sizeof(*to));
        if (to)
            *to = (struct pp_report_error_example){pp_arena_copy(g->arena, row->path),
                                                   pp_arena_copy(g->arena, row->reason), row->count};
        if (k->n_examples == 1) {
            k->example_path = k->examples[0].path;
            k->example_reason = k->examples[0].reason;
        }
    }
}

/* ---- predictions that were run ---- */

enum { CELL = 32, SENTENCE = 512 };

static void on_proof(void *ctx, const struct pp_proof_row *row)
{
    struct reading *g = ctx;
    struct pp_report_proof *p = pp_arena_push(g->arena, (void **)&g->r->proofs, &g->r->n_proofs, sizeof(*p));
    if (!p)
        return;
    *p = (struct pp_report_proof){
        .kind = pp_arena_copy(g->arena, row->kind),
        .change = pp_arena_copy(g->arena, row->change),
        .value = pp_arena_copy(g->arena, row->value),
        .base = row->base,
        .predicted = row->predicted,
        .low = row->predicted_low,
        .high = row->predicted_high,
        .measured = row->measured,
        .measured_low = row->measured_low,
        .measured_high = row->measured_high,
        .error = row->predicted / row->measured - 1,
        .rounds = row->rounds,
        .ballast_cpus = row->ballast_cpus,
        .recording = pp_arena_copy(g->arena, row->recording),
    };
    if (pp_arena_failed(g->arena))
        return;
    char text[SENTENCE], what[CELL * 4], base[CELL], predicted[CELL], measured[CELL], rounds[CELL] = "";
    char range[2][CELL * 3]; /* " (1,100 to 1,300)", or nothing: of the prediction, and as measured */
    if (strcmp(p->kind, "headroom") != 0)
        snprintf(what, sizeof(what), "%s%s%s", p->change, p->value[0] ? " -> " : "", p->value);
    else if (isnan(p->ballast_cpus))
        snprintf(what, sizeof(what), "loader infinitely fast (cached batches), its CPUs left idle");
    else
        snprintf(what, sizeof(what),
                 "loader infinitely fast (cached batches), %.2f CPUs kept busy in its place",
                 p->ballast_cpus);
    for (int i = 0; i < 2; i++) {
        double low = i ? p->measured_low : p->low, high = i ? p->measured_high : p->high;
        char a[CELL], b[CELL];
        range[i][0] = '\0';
        if (!isnan(low) && !isnan(high))
            snprintf(range[i], sizeof(range[i]), " (%s to %s)", pp_text_rate(a, CELL, low),
                     pp_text_rate(b, CELL, high));
    }
    if (p->rounds > 1)
        snprintf(rounds, sizeof(rounds), " in %llu rounds", (unsigned long long)p->rounds);
    snprintf(text, sizeof(text),
             "%s: %s samples/s before, predicted %s%s, measured %s%s%s: the prediction is off by %+.1f %%",
             what, pp_text_rate(base, CELL, p->base), pp_text_rate(predicted, CELL, p->predicted), range[0],
             pp_text_rate(measured, CELL, p->measured), range[1], rounds, 100 * p->error);
    p->sentence = pp_arena_copy(g->arena, text);
}

/* ---- rows of all tables ---- */

/* "batch-size" is "batch_size". */
static int same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
            return 0;
    return *a == *b;
}

const struct pp_report_pair *pp_rows_find(const struct pp_report_pair *pairs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (same_key(pairs[i].key, key))
            return &pairs[i];
    return NULL;
}

struct pairs {
    struct pp_arena *arena;
    struct pp_report_pair **pair;
    size_t *n;
};

static void on_pair(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    const struct pairs *g = ctx;
    struct pp_report_pair *to = pp_arena_push(g->arena, (void **)g->pair, g->n, sizeof(*to));
    if (to)
        *to = (struct pp_report_pair){
            .key = pp_arena_copy(g->arena, key),
            .value = pp_arena_copy(g->arena, value),
            .unit = pp_arena_copy(g->arena, unit),
            .numeric = numeric,
        };
}

static void on_note(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct reading *g = ctx;
    for (size_t i = 0; i < g->r->n_config && !pp_arena_failed(g->arena); i++)
        if (same_key(g->r->config[i].key, key))
            g->r->config[i].note = pp_arena_copy(g->arena, value);
}

static void on_queue(void *ctx, const struct pp_queue_row *q)
{
    struct reading *g = ctx;
    struct pp_report_queue *to = pp_arena_push(g->arena, (void **)&g->r->queues, &g->r->n_queues,
                                               sizeof(*to));
    if (to)
        *to = (struct pp_report_queue){
            pp_arena_copy(g->arena, q->name),
            q->capacity,
            q->puts,
            q->gets,
            q->put_wait_ns,
            q->get_wait_ns,
            q->mean_depth,
            q->share_empty,
            q->share_full,
        };
}

const char *pp_rows_word(const char *text, const char *key, int *length)
{
    size_t n = strlen(key);
    for (const char *p = text; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (strncmp(p, key, n) == 0 && p[n] == '=') {
            *length = (int)strcspn(p + n + 1, " ");
            return p + n + 1;
        }
    return NULL;
}

static double number_in(const char *text, const char *key)
{
    int length;
    const char *word = pp_rows_word(text, key, &length);
    double v;
    return word && sscanf(word, "%lf", &v) == 1 && isfinite(v) && v >= 0 ? v : NAN;
}

static const char *word_in(struct pp_arena *arena, const char *text, const char *key)
{
    int length;
    const char *word = pp_rows_word(text, key, &length);
    return word ? pp_arena_printf(arena, "%.*s", length, word) : NULL;
}

enum { MOST_LOADERS = 256 };

static void on_loader(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct reading *g = ctx;
    if (g->r->n_loaders == MOST_LOADERS || !value)
        return;
    struct pp_report_loader *to = pp_arena_push(g->arena, (void **)&g->r->loaders, &g->r->n_loaders,
                                                sizeof(*to));
    if (to)
        *to = (struct pp_report_loader){
            .row = pp_arena_copy(g->arena, key),
            .dataset = word_in(g->arena, value, "dataset"),
            .sampler = word_in(g->arena, value, "sampler"),
            .start_method = word_in(g->arena, value, "start_method"),
            .samples = number_in(value, "samples"),
            .num_workers = number_in(value, "num_workers"),
            .batch_size = number_in(value, "batch_size"),
            .prefetch_factor = number_in(value, "prefetch_factor"),
            .timeout_s = number_in(value, "timeout"),
            .pin_memory = number_in(value, "pin_memory"),
            .persistent_workers = number_in(value, "persistent_workers"),
            .in_order = number_in(value, "in_order"),
            .drop_last = number_in(value, "drop_last"),
            .epochs = number_in(value, "epochs"),
            .batches = number_in(value, "batches"),
            .data_wait_s = number_in(value, "data_wait_ms") / 1e3,
            .wait_share = NAN,
        };
}

void pp_rows_add_loss(struct pp_arena *arena, struct pp_report *r, const char *what, uint64_t count,
                      const char *why)
{
    struct pp_report_loss *to = pp_arena_push(arena, (void **)&r->losses, &r->n_losses, sizeof(*to));
    if (to)
        *to = (struct pp_report_loss){pp_arena_copy(arena, what), pp_arena_copy(arena, why), count};
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct reading *g = ctx;
    /* Table span leaves rows out for the readers of rows; the report reads the chunks, which hold all. */
    int rows_alone = what && strcmp(what, "span_rows") == 0;
    pp_rows_add_loss(g->arena, g->r, what, rows_alone ? 0 : count, why);
}

pp_status pp_rows_loaders(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r,
                          struct pp_err *err)
{
    struct reading g = {.arena = arena, .r = r};
    pp_status status = s->each_meta(s->ctx, "loader", on_loader, &g, err);
    const char *chosen = pp_arena_copy(arena, s->meta(s->ctx, "config", "dataloader"));
    double waits = 0;
    for (size_t i = 0; i < r->n_loaders; i++)
        waits += r->loaders[i].data_wait_s > 0 ? r->loaders[i].data_wait_s : 0;
    for (size_t i = 0; i < r->n_loaders; i++) {
        struct pp_report_loader *l = &r->loaders[i];
        l->wait_share = waits > 0 ? l->data_wait_s / waits : NAN;
        /* Where the job makes it, as rows of their own: a path may have blanks. */
        l->samples_per_s = NAN;
        l->place = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_place", l->row)) : NULL;
        l->name = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_name", l->row)) : NULL;
        l->source = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_source", l->row)) : NULL;
        const char *base = l->place ? strrchr(l->place, '/') : NULL;
        l->at = base ? base + 1 : l->place;
        if (l->at && l->name)
            l->at = pp_arena_printf(arena, "%s (%s)", l->at, l->name);
        l->judged = chosen && l->row && strcmp(chosen, l->row) == 0;
    }
    return status;
}

pp_status pp_rows_read(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r,
                       uint64_t *errors, struct pp_err *err)
{
    struct reading g = {.arena = arena, .r = r};
    struct pairs environment = {arena, &r->environment, &r->n_environment},
                 config = {arena, &r->config, &r->n_config};
    pp_status status = s->each_meta(s->ctx, "environment", on_pair, &environment, err);
    if (status == PP_OK)
        status = s->each_meta(s->ctx, "config", on_pair, &config, err);
    if (status == PP_OK)
        status = s->each_meta(s->ctx, "chosen", on_note, &g, err);
    if (status == PP_OK)
        status = pp_rows_loaders(s, arena, r, err);
    if (status == PP_OK && s->each_queue)
        status = s->each_queue(s->ctx, on_queue, &g, err);
    if (status == PP_OK)
        status = s->each_error(s->ctx, on_error, &g, err);
    if (status == PP_OK)
        status = s->each_loss(s->ctx, on_loss, &g, err);
    if (status == PP_OK && s->each_proof)
        status = s->each_proof(s->ctx, on_proof, &g, err);
    *errors = g.errors.visits;
    free(g.errors.seen);
    return status;
}
