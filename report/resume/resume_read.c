#include "report/resume/resume_read.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/sample_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOADERS = 64, ITERATIONS = 1 << 16 };

/* A batch whose samples are listed, and where in `token` they are. */
struct listed {
    uint32_t batch, n;
    size_t first;
};

struct iteration {
    uint32_t loader, epoch, first_batch, taken;
    int ended;
};

struct save {
    uint32_t batch;
    int torn, renamed, goes_on; /* goes_on: the iteration had not come to its end */
    uint64_t step;              /* batches that were trained on before */
    char *path;
};

struct reading {
    const struct pp_source *source;
    struct pp_resume_run *run;
    struct pp_err *err;
    pp_status status;
    int no_memory;
    struct pp_use_row *use; /* of the process that trains */
    size_t uses, use_room;
    struct {
        int64_t pid;
        uint32_t loader;
        uint64_t batches, trained;
    } loader[LOADERS];
    size_t loaders;
    int64_t pid;
    struct iteration *iteration;
    size_t iterations, iteration_room;
    struct listed *listed; /* of the iteration in hand, rising */
    size_t n_listed, listed_room;
    uint64_t *token;
    size_t tokens, token_room;
    struct listed *content; /* of all batches, rising; first: of content and files */
    size_t contents, content_room;
    uint64_t *hash, *files;
    size_t hashes, hash_room, files_room;
    struct save *save;
    size_t saves, save_room, next_save;
    int any_renamed, unlisted;
};

/* ---- which loaders ---- */

static void sum_use(void *ctx, const struct pp_use_row *u)
{
    struct reading *g = ctx;
    size_t i = 0;
    while (i < g->loaders && (g->loader[i].pid != u->pid || g->loader[i].loader != u->loader))
        i++;
    if (i == LOADERS)
        return;
    if (i == g->loaders) {
        g->loader[i].pid = u->pid;
        g->loader[i].loader = u->loader;
        g->loader[i].batches = g->loader[i].trained = 0;
        g->loaders++;
    }
    g->loader[i].batches += u->batches;
    g->loader[i].trained += u->trained ? u->batches : 0;
}

/* The process that trained most, and of it the loaders that count. */
static void choose_loaders(struct reading *g)
{
    size_t best = 0, kept = 0;
    for (size_t i = 1; i < g->loaders; i++)
        if (g->loader[i].trained > g->loader[best].trained ||
            (g->loader[i].trained == g->loader[best].trained &&
             g->loader[i].batches > g->loader[best].batches))
            best = i;
    g->pid = g->loader[best].pid;
    uint64_t marks = g->loader[best].trained;
    for (size_t i = 0; i < g->loaders; i++)
        if (g->loader[i].pid == g->pid && (marks ? g->loader[i].trained > 0 : i == best))
            g->loader[kept++] = g->loader[i];
    g->loaders = kept;
}

static int counts(const struct reading *g, int64_t pid, uint32_t loader)
{
    size_t i = 0;
    while (i < g->loaders && g->loader[i].loader != loader)
        i++;
    return pid == g->pid && i < g->loaders;
}

static struct iteration *iteration_of(struct reading *g, uint32_t loader, uint32_t epoch)
{
    for (size_t i = g->iterations; i-- > 0;)
        if (g->iteration[i].loader == loader && g->iteration[i].epoch == epoch)
            return &g->iteration[i];
    if (g->iterations == ITERATIONS ||
        !pp_grow(&g->iteration, &g->iteration_room, g->iterations + 1, sizeof(*g->iteration))) {
        g->no_memory = 1;
        return NULL;
    }
    g->iteration[g->iterations] = (struct iteration){.loader = loader,
                                                     .epoch = epoch,
                                                     .first_batch = PP_NO_BATCH};
    return &g->iteration[g->iterations++];
}

static void note_use(void *ctx, const struct pp_use_row *u)
{
    struct reading *g = ctx;
    if (g->no_memory || !counts(g, u->pid, u->loader))
        return;
    struct iteration *it = iteration_of(g, u->loader, u->epoch);
    if (!it || !pp_grow(&g->use, &g->use_room, g->uses + 1, sizeof(*g->use))) {
        g->no_memory = 1;
        return;
    }
    it->first_batch = u->first_batch < it->first_batch ? u->first_batch : it->first_batch;
    it->taken += u->batches;
    g->use[g->uses++] = *u;
}

/* Iterations without a batch have facts. */
static void note_first_batch(void *ctx, const struct pp_fact_row *f)
{
    struct reading *g = ctx;
    if (g->no_memory || !counts(g, f->pid, f->loader) || strcmp(f->key, "first_batch") != 0)
        return;
    struct iteration *it = iteration_of(g, f->loader, f->epoch);
    if (it && it->first_batch == PP_NO_BATCH)
        it->first_batch = (uint32_t)strtoul(f->value, NULL, 10);
}

static void note_end(void *ctx, const struct pp_order_row *o)
{
    struct reading *g = ctx;
    for (size_t i = 0; o->ended && o->pid == g->pid && i < g->iterations; i++)
        g->iteration[i].ended |= g->iteration[i].loader == o->loader && g->iteration[i].epoch == o->epoch;
}

/* ---- samples ---- */

static void list_samples(void *ctx, const struct pp_order_row *o)
{
    struct reading *g = ctx;
    struct pp_sample_list l = {.at = o->list, .end = o->list + o->list_bytes};
    uint64_t n, sample;
    for (uint32_t b = o->first_batch; o->list && !g->no_memory && pp_sample_list_batch(&l, &n); b++) {
        if (!pp_grow(&g->listed, &g->listed_room, g->n_listed + 1, sizeof(*g->listed))) {
            g->no_memory = 1;
            return;
        }
        struct listed *row = &g->listed[g->n_listed++];
        *row = (struct listed){.batch = b, .first = g->tokens};
        while (n != UINT64_MAX && pp_sample_list_next(&l, &sample)) {
            if (g->tokens == PP_RESUME_TOKENS ||
                !pp_grow(&g->token, &g->token_room, g->tokens + 1, sizeof(*g->token))) {
                g->no_memory = 1;
                return;
            }
            g->token[g->tokens++] = sample;
            row->n++;
        }
    }
}

static void note_content(void *ctx, const struct pp_content_row *c)
{
    struct reading *g = ctx;
    if (c->pid != g->pid || g->no_memory || g->hashes + c->samples > PP_RESUME_TOKENS)
        return;
    if (!pp_grow(&g->content, &g->content_room, g->contents + 1, sizeof(*g->content)) ||
        !pp_grow(&g->hash, &g->hash_room, g->hashes + c->samples, sizeof(*g->hash)) ||
        !pp_grow(&g->files, &g->files_room, g->hashes + c->samples, sizeof(*g->files))) {
        g->no_memory = 1;
        return;
    }
    g->content[g->contents++] = (struct listed){.batch = c->batch, .n = c->samples, .first = g->hashes};
    for (uint32_t k = 0; k < c->samples; k++) {
        g->hash[g->hashes] = pp_content_hash(c->content, k);
        g->files[g->hashes++] = pp_content_hash(c->files, k);
    }
}

PP_BY(by_batch, struct listed, batch)
PP_BY_BOTH(by_first, struct iteration, first_batch, epoch)
PP_BY(use_by_batch, struct pp_use_row, first_batch)

static const struct listed *find_batch(const struct listed *row, size_t n, uint32_t batch)
{
    const struct listed key = {.batch = batch};
    return n ? bsearch(&key, row, n, sizeof(*row), by_batch) : NULL;
}

/* ---- saves and restores ---- */

static void note_state(void *ctx, const struct pp_state_row *s)
{
    struct reading *g = ctx;
    if (s->pid != g->pid && g->loaders)
        return;
    if (strcmp(s->action, "restore") == 0)
        g->run->restored = 1;
    if (strcmp(s->action, "rename") == 0 && s->value)
        for (size_t i = g->saves; i-- > 0;)
            if (g->save[i].path && strcmp(g->save[i].path, s->value) == 0) {
                g->save[i].renamed = g->any_renamed = 1;
                free(g->save[i].path);
                g->save[i].path = strdup(s->path ? s->path : s->value);
                break;
            }
    if (strcmp(s->action, "save") != 0)
        return;
    if (!pp_grow(&g->save, &g->save_room, g->saves + 1, sizeof(*g->save))) {
        g->no_memory = 1;
        return;
    }
    g->save[g->saves++] = (struct save){.batch = s->batch,
                                        .torn = s->dur_ns == UINT64_MAX,
                                        .goes_on = s->value && strcmp(s->value, "going on") == 0,
                                        .step = s->step,
                                        .path = s->path ? strdup(s->path) : NULL};
}

/* A job that has looked at other loaders (evaluation) since it trained has taken later batches: its saves
 * stand behind the one that it trained on last. */
static void place_saves(struct reading *g)
{
    size_t k = 0; /* from the row that was found last on: both rise, nearly */
    for (size_t i = 0; i < g->saves; i++)
        for (size_t n = 0; n < g->uses && g->save[i].step; n++, k = (k + 1) % g->uses) {
            const struct pp_use_row *u = &g->use[k];
            uint64_t last = g->save[i].step - 1;
            if (u->trained && u->step <= last && last - u->step < u->batches) {
                g->save[i].batch = u->first_batch + (uint32_t)(last - u->step);
                break;
            }
        }
}

/* Those behind batches up to this one. at_end: of an iteration that has ended. */
static void put_saves(struct reading *g, uint32_t before, int at_end)
{
    for (; g->next_save < g->saves; g->next_save++) {
        const struct save *s = &g->save[g->next_save];
        if (s->batch != PP_NO_BATCH && s->batch >= before)
            return;
        int torn = s->torn || (g->any_renamed && !s->renamed);
        g->no_memory |= !pp_resume_save_here(g->run, at_end && !s->goes_on, torn);
        if (!torn && s->path) { /* its newest file */
            free(g->run->checkpoint);
            g->run->checkpoint = strdup(s->path);
        }
    }
}

/* ---- an iteration ---- */

static uint64_t mix_all(const uint64_t *hash, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!hash[k])
            return 0;
        all = pp_resume_mix(all ^ hash[k]);
    }
    return all;
}

static void put_batch(struct reading *g, uint32_t number, int trained)
{
    const struct listed *l = find_batch(g->listed, g->n_listed, number),
                        *c = find_batch(g->content, g->contents, number);
    struct pp_resume_batch b = {.number = number,
                                .trained = trained,
                                .content = c ? mix_all(g->hash + c->first, c->n) : 0};
    const uint64_t *files = c && (!l || !l->n || l->n == c->n) ? g->files + c->first : NULL;
    if (l && l->n) {
        b.n = l->n;
        g->no_memory |= !pp_resume_take(g->run, &b, g->token + l->first, files);
    } else if (c && b.content) {
        b.n = c->n;
        g->run->stream = 1;
        g->no_memory |= !pp_resume_take(g->run, &b, g->hash + c->first, files);
    } else {
        g->unlisted = 1;
    }
}

/* Only what is listed is walked: a row may claim any number of batches. */
static void put_iteration(struct reading *g, const struct iteration *it)
{
    const struct pp_order_row only = {.pid = g->pid, .loader = it->loader, .epoch = it->epoch};
    struct pp_resume_iteration *to = pp_resume_iterate(g->run);
    uint64_t last = 0;
    if (!to) {
        g->no_memory = 1;
        return;
    }
    to->ended = it->ended;
    g->n_listed = g->tokens = 0;
    if (g->source->each_order && g->status == PP_OK)
        g->status = g->source->each_order(g->source->ctx, &only, list_samples, g, g->err);
    if (g->n_listed)
        qsort(g->listed, g->n_listed, sizeof(*g->listed), by_batch);
    uint64_t budget = g->n_listed + g->contents;
    for (size_t i = 0; i < g->uses; i++) {
        const struct pp_use_row *u = &g->use[i];
        if (u->loader != it->loader || u->epoch != it->epoch)
            continue;
        for (uint32_t k = 0; k < u->batches && !g->no_memory; k++) {
            if (!budget--) {
                g->unlisted = 1;
                return;
            }
            put_saves(g, u->first_batch + k, 0);
            put_batch(g, u->first_batch + k, u->trained);
            last = u->first_batch + k + UINT64_C(1);
        }
    }
    /* All were given to workers; the process was killed before it took them. */
    to->ended &= !g->n_listed || g->listed[g->n_listed - 1].batch < last;
    if (last)
        put_saves(g, (uint32_t)last, to->ended);
}

/* Which iteration of the run a fact is of. */
static void fill_fact(void *ctx, const struct pp_fact_row *f)
{
    struct reading *g = ctx;
    size_t i = 0;
    while (i < g->iterations && (g->iteration[i].loader != f->loader || g->iteration[i].epoch != f->epoch))
        i++;
    if (f->pid != g->pid || i >= g->iterations || i >= g->run->iterations)
        return;
    struct pp_resume_iteration *it = &g->run->iteration[i];
    const char *key = f->key, *value = f->value;
    uint64_t hash = strtoull(value, NULL, 16);
    if (strcmp(key, "sampler.epoch") == 0 ||
        (strcmp(key, "loader.iteration") == 0 && isnan(it->sampler_epoch)))
        it->sampler_epoch = strtod(value, NULL);
    else if (strcmp(key, "num_workers") == 0)
        it->workers = strtod(value, NULL);
    else if (strcmp(key, "loader.prefetch_factor") == 0)
        it->prefetch = strtod(value, NULL);
    else if (strcmp(key, "dataset.buffer_size") == 0)
        g->run->buffer = strtod(value, NULL);
    else if (strcmp(key, "base_seed") == 0)
        it->base_seed = pp_resume_mix(strtoull(value, NULL, 10));
    else if (strcmp(key, "generator.state") == 0)
        it->generator = hash;
    else if (strcmp(key, "rng.torch") == 0)
        it->rng = hash;
    else if (strcmp(key, "place") == 0 && !it->line)
        it->line = strdup(value);
}

/* What the loader's row says, where no fact does: "... num_workers=2 prefetch_factor=2 ...". */
static double told_number(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void fill_loaders(struct reading *g)
{
    for (size_t i = 0; i < g->iterations && i < g->run->iterations; i++) {
        struct pp_resume_iteration *it = &g->run->iteration[i];
        char key[48];
        snprintf(key, sizeof(key), "%lld.%u", (long long)g->pid, g->iteration[i].loader);
        const char *text = g->source->meta(g->source->ctx, "loader", key);
        it->workers = isnan(it->workers) ? told_number(text, " num_workers=") : it->workers;
        it->prefetch = isnan(it->prefetch) ? told_number(text, " prefetch_factor=") : it->prefetch;
    }
}

/* ---- all of it ---- */

static const char *why_unknown(const struct reading *g)
{
    return !g->loaders   ? "no batch that was taken is recorded (not a PyTorch job, or an older version)"
           : g->unlisted ? "some batches have no list of samples; an iterable data set needs --content"
           : !g->run->n  ? "no batch was trained on"
                         : NULL;
}

static void read_identity(const struct pp_source *s, struct pp_resume_run *run)
{
    const char *section = pp_source_number(s, "rank", "rank", -1) >= 0 ? "rank" : "config",
               *outcome = s->meta(s->ctx, "run", "outcome");
    double rank = pp_source_number(s, section, "rank", 0),
           world = pp_source_number(s, section, "world_size", 1),
           status = pp_source_number(s, "result", "exit_status", NAN);
    run->path = s->path;
    run->rank = rank >= 0 && rank < 1e9 ? (int64_t)rank : 0;
    run->world = world >= 1 && world < 1e6 ? (int64_t)world : 1;
    run->finished = status == 0 && outcome && strcmp(outcome, "finished") == 0;
    run->failed = status > 0 && status < 128;
    run->buffer = NAN;
}

#define READ(each, fn) \
    if (g.status == PP_OK && source->each) \
    g.status = source->each(source->ctx, fn, &g, err)

pp_status pp_resume_read_source(const struct pp_source *source, struct pp_resume_run *out, struct pp_err *err)
{
    struct reading g = {.source = source, .run = out, .err = err};
    *out = (struct pp_resume_run){0};
    read_identity(source, out);
    READ(each_use, sum_use);
    if (g.loaders)
        choose_loaders(&g);
    READ(each_state, note_state);
    READ(each_use, note_use);
    READ(each_fact, note_first_batch);
    if (g.iterations)
        qsort(g.iteration, g.iterations, sizeof(*g.iteration), by_first);
    if (g.uses)
        qsort(g.use, g.uses, sizeof(*g.use), use_by_batch);
    if (g.status == PP_OK && source->each_order)
        g.status = source->each_order(source->ctx, NULL, note_end, &g, err);
    READ(each_content, note_content);
    if (g.contents)
        qsort(g.content, g.contents, sizeof(*g.content), by_batch);
    place_saves(&g);
    for (size_t i = 0; i < g.iterations && g.status == PP_OK && !g.no_memory; i++)
        put_iteration(&g, &g.iteration[i]);
    put_saves(&g, PP_NO_BATCH, 1);
    pp_resume_spread(out);
    READ(each_fact, fill_fact);
    fill_loaders(&g);
    out->unknown = why_unknown(&g);
    out->idle = !g.loaders && (out->failed || (out->finished && out->restored == 1));
    for (size_t i = 0; i < g.saves; i++)
        free(g.save[i].path);
    free(g.save);
    free(g.use);
    free(g.iteration);
    free(g.listed);
    free(g.token);
    free(g.content);
    free(g.hash);
    free(g.files);
    return g.status == PP_OK && g.no_memory
               ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s, or too many of them",
                         source->path)
               : g.status;
}

pp_status pp_resume_read(const char *path, struct pp_resume_run *out, struct pp_err *err)
{
    struct pp_source source;
    *out = (struct pp_resume_run){0};
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK)
        st = pp_resume_read_source(&source, out, err);
    out->path = path;
    pp_source_close(&source);
    return st;
}
