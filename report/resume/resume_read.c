#include "report/resume/resume_read.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/sample_list.h"
#include "report/resume/used.h"
#include "report/source/source.h"

enum { LOADERS = 64, EPOCHS = 1 << 16 };

/* A batch whose samples are listed, and where in `token` they are. */
struct listed {
    uint32_t batch, n;
    size_t first;
};

struct iteration {
    uint32_t loader, epoch, first_batch, place; /* place: of those without a batch, and that behind them */
    size_t first_use;                           /* SIZE_MAX: it gave nothing */
    size_t until;                               /* the first use of any behind it */
    int ended;
};

struct save {
    uint32_t batch;
    int torn, renamed, goes_on, late; /* goes_on: the iteration had not come to its end */
    uint64_t step;                    /* batches that were trained on before */
    char *path;
};

struct loader {
    int64_t pid;
    uint32_t loader, epochs, listed; /* listed: behind the epoch whose lists are in hand; 0: none */
    uint64_t batches, trained;
    int beside; /* its batches are taken between those of one iteration of the main loader */
};

struct reading {
    const struct pp_source *source;
    struct pp_resume_run *run;
    struct pp_err *err;
    pp_status status;
    int no_memory;
    struct pp_use_row *use; /* of the process that trains, in the order of its takes */
    size_t uses, use_room, next_use;
    uint64_t marks; /* batches that were trained on so far */
    struct loader loader[LOADERS];
    size_t loaders, main;
    int64_t pid;
    char *place; /* where iterations of the main loader begin; NULL: not known */
    struct iteration *iteration;
    size_t iterations, iteration_room;
    uint32_t *slot; /* of each loader, and of none, EPOCHS: the iteration's number + 1; 0: there is none */
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
    int any_renamed, any_order, unlisted, lost;
    struct resume_used *used; /* NULL: a recording of exec */
    size_t n_used;
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
    if (i == g->loaders)
        g->loader[g->loaders++] = (struct loader){.pid = u->pid, .loader = u->loader};
    g->loader[i].epochs = u->epoch + 1 > g->loader[i].epochs ? u->epoch + 1 : g->loader[i].epochs;
    g->loader[i].batches += u->batches;
    g->loader[i].trained += u->trained ? u->batches : 0;
}

/* The process that trained most, and of it the loaders that count. The main one is that which trained most;
 * of two that are taken by turns, that with the longer epochs. */
static void choose_loaders(struct reading *g)
{
    size_t best = 0, kept = 0;
    for (size_t i = 1; i < g->loaders; i++) {
        const struct loader *a = &g->loader[i], *b = &g->loader[best];
        int more = a->trained != b->trained               ? a->trained > b->trained
                   : a->trained && a->epochs != b->epochs ? a->epochs < b->epochs
                                                          : a->batches > b->batches;
        best = more ? i : best;
    }
    g->pid = g->loader[best].pid;
    uint64_t marks = g->loader[best].trained;
    for (size_t i = 0; i < g->loaders; i++)
        if (g->loader[i].pid == g->pid && (marks ? g->loader[i].trained > 0 : i == best)) {
            g->main = i == best ? kept : g->main;
            g->loader[kept++] = g->loader[i];
        }
    g->loaders = kept;
}

/* Of the loaders that count; their number: it does not. */
static size_t loader_of(const struct reading *g, int64_t pid, uint32_t loader)
{
    size_t i = 0;
    while (i < g->loaders && (g->loader[i].loader != loader || pid != g->pid))
        i++;
    return i;
}

static void note_use(void *ctx, const struct pp_use_row *u)
{
    struct reading *g = ctx;
    if (g->no_memory || loader_of(g, u->pid, u->loader) == g->loaders)
        return;
    if (pp_grow(&g->use, &g->use_room, g->uses + 1, sizeof(*g->use)))
        g->use[g->uses++] = *u;
    else
        g->no_memory = 1;
}

/* ---- recordings of `pipeprobe run` ---- */

/* As the tables of exec say it. Samples of a batch rise: which worker was first says nothing. It saved where
 * it was stopped. */
static void read_own(struct reading *g)
{
    const char *ended_by = g->source->meta(g->source->ctx, "result", "ended_by");
    g->status = resume_used_read(g->source, &g->used, &g->n_used, &g->lost, g->err);
    const struct resume_used *u = g->used;
    g->run->restored = pp_source_has(g->source, "resume");
    g->run->finished = ended_by && strcmp(ended_by, "epochs") == 0;
    for (size_t i = 0; i < g->n_used && !g->no_memory; i++, u++) {
        int begins = !i || u[-1].batch != u->batch;
        if (!pp_grow(&g->token, &g->token_room, g->tokens + 1, sizeof(*g->token)) ||
            !pp_grow(&g->listed, &g->listed_room, g->n_listed + 1, sizeof(*g->listed)) ||
            !pp_grow(&g->use, &g->use_room, g->uses + 1, sizeof(*g->use))) {
            g->no_memory = 1;
            return;
        }
        if (begins)
            g->listed[g->n_listed++] = (struct listed){.batch = u->batch, .first = g->tokens};
        if (!begins && u[-1].sample == u->sample)
            continue;
        if (u->sample == PP_NO_SAMPLE) {
            g->use[g->uses] = (struct pp_use_row){.epoch = u->epoch,
                                                  .first_batch = u->batch,
                                                  .batches = 1,
                                                  .trained = 1};
            sum_use(g, &g->use[g->uses++]);
        } else {
            g->token[g->tokens++] = u->sample;
            g->listed[g->n_listed - 1].n++;
        }
    }
    g->no_memory |= pp_source_has(g->source, "save_state") &&
                    !pp_grow(&g->save, &g->save_room, ++g->saves, sizeof(*g->save));
    if (g->saves && !g->no_memory)
        g->save[0] = (struct save){.step = UINT64_MAX, .goes_on = !g->run->finished};
}

/* ---- iterations ---- */

/* Recordings are strangers': there may be as many epochs as a span can name. */
static uint32_t *slot_of(const struct reading *g, uint32_t loader, uint32_t epoch)
{
    return &g->slot[loader_of(g, g->pid, loader) * EPOCHS + epoch % EPOCHS];
}

static struct iteration *iteration_of(struct reading *g, uint32_t loader, uint32_t epoch)
{
    uint32_t *slot = slot_of(g, loader, epoch);
    if (*slot)
        return &g->iteration[*slot - 1];
    if (g->iterations == PP_RESUME_ITERATIONS ||
        !pp_grow(&g->iteration, &g->iteration_room, g->iterations + 1, sizeof(*g->iteration))) {
        g->no_memory = 1;
        return NULL;
    }
    g->iteration[g->iterations] = (struct iteration){
        .loader = loader, .epoch = epoch, .first_batch = PP_NO_BATCH, .place = epoch, .first_use = SIZE_MAX};
    *slot = (uint32_t)++g->iterations;
    return &g->iteration[g->iterations - 1];
}

/* Epochs are the main loader's; what is taken beside is a part of them. */
static void find_iterations(struct reading *g)
{
    uint64_t since = 0; /* a bit for each loader: taken since the main one's batch */
    const struct pp_use_row *last = NULL;
    for (size_t i = 0; i < g->uses; i++) {
        size_t of = loader_of(g, g->pid, g->use[i].loader);
        since |= of != g->main ? UINT64_C(1) << of : 0;
        if (of != g->main)
            continue;
        for (size_t k = 0; k < g->loaders && last && last->epoch == g->use[i].epoch; k++)
            g->loader[k].beside |= since >> k & 1;
        last = &g->use[i];
        since = 0;
    }
    for (size_t i = 0; i < g->uses && !g->no_memory; i++) {
        const struct pp_use_row *u = &g->use[i];
        if (g->loader[loader_of(g, g->pid, u->loader)].beside)
            continue;
        struct iteration *it = iteration_of(g, u->loader, u->epoch);
        if (!it)
            return;
        it->first_batch = u->first_batch < it->first_batch ? u->first_batch : it->first_batch;
        it->first_use = i < it->first_use ? i : it->first_use;
        it->place = UINT32_MAX;
    }
}

/* A loader that is made for an epoch of which nothing is left has no use: it is one that begins where the
 * main one does, which is known at the second call. */
static void note_place(void *ctx, const struct pp_fact_row *f)
{
    struct reading *g = ctx;
    size_t of = loader_of(g, f->pid, f->loader);
    if (f->pid != g->pid || !g->loaders || strcmp(f->key, "place") != 0)
        return;
    if (of == g->main && !g->place)
        g->no_memory |= !(g->place = strdup(f->value));
    else if (of == g->loaders && of < LOADERS && g->place && strcmp(f->value, g->place) == 0)
        g->loader[g->loaders++] = (struct loader){.pid = f->pid, .loader = f->loader};
}

/* Of an iteration without a batch there is a fact. */
static void note_first_batch(void *ctx, const struct pp_fact_row *f)
{
    struct reading *g = ctx;
    size_t of = loader_of(g, f->pid, f->loader);
    if (g->no_memory || of == g->loaders || g->loader[of].beside || strcmp(f->key, "first_batch") != 0)
        return;
    struct iteration *it = iteration_of(g, f->loader, f->epoch);
    if (it && it->first_batch == PP_NO_BATCH) {
        it->first_batch = (uint32_t)strtoul(f->value, NULL, 10);
        it->ended = 1;
    }
}

static void note_end(void *ctx, const struct pp_order_row *o)
{
    struct reading *g = ctx;
    g->any_order = 1;
    uint32_t of = o->ended && o->pid == g->pid ? *slot_of(g, o->loader, o->epoch) : 0;
    if (of)
        g->iteration[of - 1].ended = 1;
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
PP_BY_BOTH(by_first, struct iteration, first_batch, place)

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
                                        .late = s->value && strcmp(s->value, "later") == 0,
                                        .step = s->step,
                                        .path = s->path ? strdup(s->path) : NULL};
}

/* Those behind what was trained on so far; where no backward is seen, behind batches up to this one. A job
 * that has looked at other loaders (evaluation) since has taken later batches. at_end: of an iteration that
 * has ended. */
static void put_saves(struct reading *g, uint32_t before, int at_end)
{
    for (; g->next_save < g->saves; g->next_save++) {
        const struct save *s = &g->save[g->next_save];
        if (s->step ? s->step > g->marks : s->batch != PP_NO_BATCH && s->batch >= before)
            return;
        int torn = s->torn || (g->any_renamed && !s->renamed);
        g->no_memory |= !pp_resume_save_here(g->run, at_end && !s->goes_on,
                                             (torn ? PP_RESUME_TORN : 0) | (s->late ? PP_RESUME_LATE : 0));
        if (!torn && s->path) { /* its newest file */
            free(g->run->checkpoint);
            g->run->checkpoint = strdup(s->path);
        }
    }
}

/* ---- an iteration ---- */

static void put_batch(struct reading *g, uint32_t number, int trained)
{
    const struct listed *l = find_batch(g->listed, g->n_listed, number),
                        *c = find_batch(g->content, g->contents, number);
    struct pp_resume_batch b = {.number = number, .trained = trained, .marks = (uint32_t)g->marks};
    int all = 1; /* samples of it have content */
    for (uint32_t k = 0; c && k < c->n; k++) {
        all &= g->hash[c->first + k] != 0;
        b.content = all ? pp_resume_mix(b.content ^ g->hash[c->first + k]) : 0;
    }
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

static void list_iteration(struct reading *g, uint32_t loader, uint32_t epoch)
{
    const struct pp_order_row only = {.pid = g->pid, .loader = loader, .epoch = epoch};
    size_t of = loader_of(g, g->pid, loader);
    if (g->used || g->loader[of].listed == epoch + 1 || !g->any_order || g->status != PP_OK)
        return;
    g->loader[of].listed = epoch + 1;
    g->status = g->source->each_order(g->source->ctx, &only, list_samples, g, g->err);
    if (g->n_listed)
        qsort(g->listed, g->n_listed, sizeof(*g->listed), by_batch);
}

/* What was taken from its first batch on, to the first one of the next. Only what is listed is walked: a row
 * may claim any number of batches. */
static void put_iteration(struct reading *g, size_t i)
{
    const struct iteration *it = &g->iteration[i];
    struct pp_resume_iteration *to = pp_resume_iterate(g->run);
    size_t until = it->first_use == SIZE_MAX ? g->next_use : it->until;
    uint64_t last = 0;
    if (!to) {
        g->no_memory = 1;
        return;
    }
    for (size_t k = 0; k < g->loaders && !g->used; k++)
        g->n_listed = g->tokens = g->loader[k].listed = 0;
    list_iteration(g, it->loader, it->epoch);
    uint64_t end = g->n_listed ? g->listed[g->n_listed - 1].batch : 0;
    for (size_t k = g->next_use; k < until; k++)
        if (!find_batch(g->listed, g->n_listed, g->use[k].first_batch))
            list_iteration(g, g->use[k].loader, g->use[k].epoch);
    uint64_t budget = g->n_listed + g->contents;
    for (; g->next_use < until; g->next_use++) {
        const struct pp_use_row *u = &g->use[g->next_use];
        g->marks = u->step > g->marks ? u->step : g->marks;
        for (uint32_t k = 0; k < u->batches && !g->no_memory; k++) {
            if (!budget--) {
                g->unlisted = 1;
                g->next_use = g->uses; /* of those behind nothing is asked */
                return;
            }
            put_saves(g, u->first_batch + k, 0);
            g->marks += u->trained;
            put_batch(g, u->first_batch + k, u->trained);
        }
        if (u->loader == it->loader && u->epoch == it->epoch)
            last = (uint64_t)u->first_batch + u->batches;
    }
    /* All were given to workers; the process was killed before it took them. */
    to->ended = it->ended && (!g->n_listed || end < last);
    if (last)
        put_saves(g, (uint32_t)last, to->ended);
}

/* Which iteration of the run a fact is of. */
static void fill_fact(void *ctx, const struct pp_fact_row *f)
{
    struct reading *g = ctx;
    uint32_t of = f->pid == g->pid ? *slot_of(g, f->loader, f->epoch) : 0;
    if (!of || of > g->run->iterations)
        return;
    struct pp_resume_iteration *it = &g->run->iteration[of - 1];
    const char *key = f->key, *value = f->value;
    if (strcmp(key, "sampler.epoch") == 0 ||
        (strcmp(key, "loader.iteration") == 0 && isnan(it->sampler_epoch)))
        it->sampler_epoch = strtod(value, NULL);
    else if (strcmp(key, "num_workers") == 0)
        it->workers = strtod(value, NULL);
    else if (strcmp(key, "loader.prefetch_factor") == 0)
        it->prefetch = strtod(value, NULL);
    else if (strcmp(key, "loader.persistent_workers") == 0)
        g->run->persistent |= strcmp(value, "True") == 0;
    else if (strcmp(key, "dataset.buffer_size") == 0)
        g->run->buffer = strtod(value, NULL);
    else if (strcmp(key, "base_seed") == 0)
        it->base_seed = pp_resume_mix(strtoull(value, NULL, 10));
    else if (strcmp(key, "rng.torch") == 0)
        it->rng = strtoull(value, NULL, 16);
    else if (strcmp(key, "place") == 0 && !it->line)
        it->line = strdup(value);
}

/* ---- all of it ---- */

#define READ(each, fn) \
    if (g.status == PP_OK && source->each) \
    g.status = source->each(source->ctx, fn, &g, err)

static pp_status read_source(const struct pp_source *source, struct pp_resume_run *out, struct pp_err *err)
{
    struct reading g = {.source = source, .run = out, .err = err};
    if (!(g.slot = calloc((LOADERS + 1) * EPOCHS, sizeof(*g.slot))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the epochs of %s", source->path);
    const char *loader = source->meta(source->ctx, "config", "loader");
    if (loader && strcmp(loader, "pipeprobe") == 0)
        read_own(&g);
    READ(each_use, sum_use);
    if (g.loaders)
        choose_loaders(&g);
    READ(each_state, note_state);
    READ(each_use, note_use);
    find_iterations(&g);
    if (g.used && out->finished && g.iterations)
        g.iteration[g.iterations - 1].ended = 1;
    READ(each_fact, note_place);
    READ(each_fact, note_place);
    READ(each_fact, note_first_batch);
    size_t until = g.uses; /* by their first batch; their slots say so */
    if (g.iterations)
        qsort(g.iteration, g.iterations, sizeof(*g.iteration), by_first);
    for (size_t i = g.iterations; i-- > 0;) {
        struct iteration *it = &g.iteration[i];
        *slot_of(&g, it->loader, it->epoch) = (uint32_t)i + 1;
        it->until = until;
        until = it->first_use < until ? it->first_use : until;
    }
    if (g.status == PP_OK && source->each_order)
        g.status = source->each_order(source->ctx, NULL, note_end, &g, err);
    READ(each_content, note_content);
    if (g.contents)
        qsort(g.content, g.contents, sizeof(*g.content), by_batch);
    for (size_t i = 0; i < g.iterations && g.status == PP_OK && !g.no_memory; i++)
        put_iteration(&g, i);
    g.marks = UINT64_MAX;
    put_saves(&g, PP_NO_BATCH, 1);
    pp_resume_spread(out);
    READ(each_fact, fill_fact);
    out->unknown = g.lost ? "some of its spans were lost or are damaged"
                   : !g.loaders
                       ? "no batch that was taken is recorded (not a PyTorch job, or an older version)"
                   : g.unlisted ? "some batches have no list of samples; an iterable data set needs --content"
                   : !g.run->n  ? "no batch was trained on"
                                : NULL;
    out->idle = !g.loaders && !g.lost && (out->failed || (out->finished && out->restored == 1));
    for (size_t i = 0; i < g.saves; i++)
        free(g.save[i].path);
    void *const owned[] = {g.save,   g.use,   g.used,    g.iteration, g.place, g.slot,
                           g.listed, g.token, g.content, g.hash,      g.files};
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        free(owned[i]);
    return g.status == PP_OK && g.no_memory
               ? pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s, or too many of them",
                         source->path)
               : g.status;
}

pp_status pp_resume_read(const char *path, struct pp_resume_run *out, struct pp_err *err)
{
    struct pp_source source;
    *out = (struct pp_resume_run){.hashing = out->hashing};
    pp_status st = pp_source_open(path, &source, err);
    if (st == PP_OK) {
        const char *section = pp_source_number(&source, "rank", "rank", -1) >= 0 ? "rank" : "config",
                   *outcome = source.meta(source.ctx, "run", "outcome");
        double rank = pp_source_number(&source, section, "rank", 0),
               world = pp_source_number(&source, section, "world_size", 1),
               status = pp_source_number(&source, "result", "exit_status", NAN);
        out->rank = rank >= 0 && rank < 1e9 ? (int64_t)rank : 0;
        out->world = world >= 1 && world < 1e6 ? (int64_t)world : 1;
        /* The status is the launcher's, and in no recording of a rank. */
        out->finished = !(status > 0) && outcome && strcmp(outcome, "finished") == 0;
        out->failed = status > 0 && status < 128;
        out->buffer = NAN;
        st = read_source(&source, out, err);
    }
    out->path = path;
    pp_source_close(&source);
    return st;
}
