#include "report/source/rows.h"

#include "report/source/errors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const struct pp_source *source;
    struct pp_arena *arena;
    struct pp_report *r;
    struct pp_errors errors;
};

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

static void add_pair(struct pp_arena *a, struct pp_report_pair **pairs, size_t *n, struct pp_report_pair pair)
{
    struct pp_report_pair *to = pp_arena_push(a, (void **)pairs, n, sizeof(*to));
    if (to)
        *to = (struct pp_report_pair){
            .key = pp_arena_copy(a, pair.key),
            .value = pp_arena_copy(a, pair.value),
            .unit = pp_arena_copy(a, pair.unit),
            .numeric = pair.numeric,
        };
}

static void on_environment(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct reading *g = ctx;
    add_pair(g->arena, &g->r->environment, &g->r->n_environment,
             (struct pp_report_pair){key, value, unit, NULL, numeric});
}

static void on_config(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct reading *g = ctx;
    add_pair(g->arena, &g->r->config, &g->r->n_config,
             (struct pp_report_pair){key, value, unit, NULL, numeric});
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

/* "dataset=__main__.Images samples=600 num_workers=2 ...": as collectors/attach/loaders.c writes it. */
static double number_in(const char *text, const char *key)
{
    size_t n = strlen(key);
    double v;
    for (const char *p = text; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (strncmp(p, key, n) == 0 && p[n] == '=')
            return sscanf(p + n + 1, "%lf", &v) == 1 && isfinite(v) && v >= 0 ? v : NAN;
    return NAN;
}

static const char *word_in(struct pp_arena *arena, const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = text; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (strncmp(p, key, n) == 0 && p[n] == '=')
            return pp_arena_printf(arena, "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
    return NULL;
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

/* Where the job makes it, as rows of their own: a path may have blanks. */
static void name_loader(const struct pp_source *s, struct pp_arena *arena, struct pp_report_loader *l)
{
    l->samples_per_s = NAN;
    l->place = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_place", l->row)) : NULL;
    l->name = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_name", l->row)) : NULL;
    l->source = l->row ? pp_arena_copy(arena, s->meta(s->ctx, "loader_source", l->row)) : NULL;
    const char *base = l->place ? strrchr(l->place, '/') : NULL;
    l->at = base ? base + 1 : l->place;
    if (l->at && l->name)
        l->at = pp_arena_printf(arena, "%s (%s)", l->at, l->name);
}

static void on_error(void *ctx, const struct pp_error_row *e)
{
    pp_errors_add(&((struct reading *)ctx)->errors, e);
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
    /* Table span leaves rows out for the readers of rows; the report reads the chunks, which hold them all.
     */
    int rows_alone = what && strcmp(what, "span_rows") == 0;
    pp_rows_add_loss(g->arena, g->r, what, rows_alone ? 0 : count, why);
}

pp_status pp_rows_loaders(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r,
                          struct pp_err *err)
{
    struct reading g = {.source = s, .arena = arena, .r = r};
    pp_status status = s->each_meta(s->ctx, "loader", on_loader, &g, err);
    const char *chosen = pp_arena_copy(arena, s->meta(s->ctx, "config", "dataloader"));
    double waits = 0;
    for (size_t i = 0; i < r->n_loaders; i++)
        waits += r->loaders[i].data_wait_s > 0 ? r->loaders[i].data_wait_s : 0;
    for (size_t i = 0; i < r->n_loaders; i++) {
        struct pp_report_loader *l = &r->loaders[i];
        l->wait_share = waits > 0 ? l->data_wait_s / waits : NAN;
        name_loader(s, arena, l);
        l->judged = chosen && l->row && strcmp(chosen, l->row) == 0;
    }
    return status;
}

pp_status pp_rows_read(const struct pp_source *s, struct pp_arena *arena, struct pp_report *r,
                       uint64_t *errors, struct pp_err *err)
{
    struct reading g = {.source = s, .arena = arena, .r = r, .errors = {.arena = arena, .report = r}};
    pp_status status = s->each_meta(s->ctx, "environment", on_environment, &g, err);
    if (status == PP_OK)
        status = s->each_meta(s->ctx, "config", on_config, &g, err);
    if (status == PP_OK)
        status = s->each_meta(s->ctx, "chosen", on_note, &g, err);
    if (status == PP_OK)
        status = pp_rows_loaders(s, arena, r, err);
    if (status == PP_OK)
        status = s->each_queue(s->ctx, on_queue, &g, err);
    if (status == PP_OK)
        status = s->each_error(s->ctx, on_error, &g, err);
    if (status == PP_OK)
        status = s->each_loss(s->ctx, on_loss, &g, err);
    *errors = g.errors.visits;
    pp_errors_free(&g.errors);
    return status;
}
