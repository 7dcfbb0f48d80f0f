#include "report/measure/ops_group.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

#define MOSTLY 0.8 /* a function that hands on: one of its lines has so much of it, in one call */
#define Z80 1.2816
enum { MOST_OPS = 1024 /* of a loader: a hostile file has more */, DEEPEST = 8 };

/* ---- which op a stack is of ---- */

static uint32_t user_at(const struct grouping *g, uint32_t frame, unsigned depth, int *there)
{
    uint32_t user = g->v[frame].user, next;
    *there = user != PP_STACK_NONE;
    for (unsigned d = 0; d < depth && *there; d++) {
        next = pp_stack_next_user(g->s, g->v, user, frame);
        *there = next != PP_STACK_NONE;
        user = *there ? next : user;
    }
    return user;
}

static struct op_key key_of(const struct grouping *g, uint32_t frame)
{
    const struct pp_frame_view *v = &g->v[frame];
    int there;
    if (v->member != PP_STACK_NONE && !v->collates)
        return (struct op_key){OP_MEMBER, g->s->frames[v->member].op, 0, v->member, 0};
    uint32_t user = user_at(g, frame, v->collates ? 0 : g->depth, &there);
    if (user != PP_STACK_NONE)
        return (struct op_key){OP_LINE, g->s->frames[user].function,
                               g->whole && g->v[user].entry != user ? 0 : g->s->frames[user].line, user,
                               v->collates};
    uint32_t entry = v->entry, below = PP_STACK_NONE; /* a data set's __getitem__ is one op */
    for (uint32_t at = v->asks == PP_ASKS_ITEM ? entry : frame; at != PP_STACK_NONE && at != entry;
         at = g->s->frames[at].parent)
        below = g->v[at].kind == PP_CODE_LIBRARY ? at : below;
    below = below != PP_STACK_NONE ? below : entry != PP_STACK_NONE ? entry : frame;
    return (struct op_key){OP_LIBRARY, g->s->frames[below].function, 0, below, v->collates};
}

/* Functions of the user's code that only hand on are passed over: how deep the first is that does not. */
static unsigned depth_of(const struct grouping *g)
{
    unsigned depth = 0;
    for (; depth + 1 < DEEPEST; depth++) {
        struct votes lines = {0}, on = {0}; /* of samples of a line; of those that it hands on */
        double all = 0;
        int there;
        for (uint32_t i = 0; i < g->s->n_frames; i++) {
            uint32_t u = g->sum[i].n > 0 && !g->v[i].collates && g->v[i].member == PP_STACK_NONE
                             ? user_at(g, i, depth, &there)
                             : PP_STACK_NONE;
            if (u == PP_STACK_NONE || !there)
                continue;
            const struct pp_stack_frame *f = &g->s->frames[u];
            int passes = pp_stack_next_user(g->s, g->v, u, i) != PP_STACK_NONE;
            all += g->sum[i].n;
            pp_ops_vote(&lines, f->function, f->line, g->sum[i].n);
            pp_ops_vote(&on, f->function, f->line, passes ? g->sum[i].n : 0);
        }
        size_t most = pp_ops_most_of(&lines, PP_STACK_NONE);
        if (!(all > 0) || lines.row[most].n < MOSTLY * all || on.row[most].n < MOSTLY * lines.row[most].n)
            break;
    }
    return depth;
}

/* ---- sums ---- */

static void add_up(struct grouping *g, size_t loader)
{
    struct pp_ops *o = g->out;
    memset(g->sum, 0, g->s->n_frames * sizeof(*g->sum));
    for (size_t i = 0; i < g->s->n_samples; i++) {
        const struct pp_ops_joined *j = &g->joined[i];
        const struct pp_stack_sample *x = &g->s->samples[i];
        if (!pp_phase_is_work(j->phase) || j->loader != loader)
            continue;
        struct frame_sum *sum = &g->sum[x->frame];
        double each = g->each[(x->flags & PP_STACK_DENSE) != 0];
        int cpu = x->state == 'R' || !x->state, of_batch = g->v[x->frame].collates;
        sum->n += each;
        sum->cpu += cpu * each;
        sum->weight += j->weight;
        sum->weight2 += (double)j->weight * j->weight;
        sum->waited_for += j->weight > 0;
        if (g->whole)
            continue; /* the rest was summed before */
        o->loaders[loader].n[of_batch] += each;
        o->loaders[loader].cpu[of_batch] += cpu * each;
        o->frame_n[x->frame] += (float)each;
        o->frame_weight[x->frame] += j->weight;
    }
}

static void sum_up(struct pp_op *op, const struct frame_sum *s)
{
    op->n += s->n;
    op->cpu += s->cpu;
    op->weight += s->weight;
    op->weight2 += s->weight2;
    op->waited_for += s->waited_for;
}

static int group_loader(struct grouping *g, size_t loader)
{
    struct pp_ops *o = g->out;
    size_t first = o->n_ops, n = 0;
    struct op_key *keys = NULL;
    uint32_t *op_of = malloc((g->s->n_frames + 1) * sizeof(*op_of));
    add_up(g, loader);
    g->depth = depth_of(g);
    for (uint32_t i = 0; op_of && i < g->s->n_frames; i++) {
        op_of[i] = PP_STACK_NONE;
        if (!(g->sum[i].n > 0))
            continue;
        struct op_key key = g->key[i] = key_of(g, i);
        size_t k = 0;
        while (k < n && (keys[k].kind != key.kind || keys[k].what != key.what || keys[k].line != key.line ||
                         keys[k].of_batch != key.of_batch))
            k++;
        if (k == MOST_OPS)
            continue;
        if (k == n) {
            struct op_key *at = pp_arena_push(&o->arena, (void **)&keys, &n, sizeof(*keys));
            struct pp_op *op = at ? pp_arena_push(&o->arena, (void **)&o->ops, &o->n_ops, sizeof(*op)) : NULL;
            if (!op)
                break;
            *at = key;
            *op = (struct pp_op){.loader = loader, .of_batch = key.of_batch};
        }
        op_of[i] = (uint32_t)k;
        sum_up(&o->ops[first + k], &g->sum[i]);
    }
    for (size_t k = 0; op_of && k < n; k++)
        pp_ops_describe(g, first, op_of, k, &keys[k]);
    int fine = op_of && !pp_arena_failed(&o->arena);
    /* Lines that call one function, whose own line names them, are one operation. */
    for (size_t i = first, k; fine && i < o->n_ops; i++) {
        struct pp_op *op = &o->ops[i], *to = &o->ops[first];
        for (k = first;
             k < i && !(op->place && to->place && !op->path && !to->path && op->of_batch == to->of_batch &&
                        strcmp(op->place, to->place) == 0 && strcmp(op->name, to->name) == 0);
             k++)
            to++;
        if (k == i)
            continue;
        sum_up(to, &(struct frame_sum){op->n, op->cpu, op->weight, op->weight2, op->waited_for});
        *op = o->ops[--o->n_ops];
        i--;
    }
    free(op_of);
    return fine;
}

/* Wilson's interval (Journal of the American Statistical Association 22, 1927), of `n` equal samples. */
static void interval_of(double p, double n, double *low, double *high)
{
    double z2 = Z80 * Z80, middle = p + z2 / (2 * n), wide = Z80 * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    *low = n > 0 ? fmax((middle - wide) / (1 + z2 / n), 0) : 0;
    *high = n > 0 ? fmin((middle + wide) / (1 + z2 / n), 1) : 1;
}

static int by_share(const void *a, const void *b)
{
    const struct pp_op *x = a, *y = b;
    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->n < y->n) - (x->n > y->n);
}

/* Samples, before the first of n shares is said; next: the upper end of the second. */
static double needed(size_t n, double low, double next)
{
    return low >= 0.5 ? PP_OPS_FEWEST : n == 1 || low > next ? PP_OPS_FEW : PP_OPS_LEAST;
}

static void set_shares(struct pp_ops *o, double window_s, double pace)
{
    double weight = 0, weight2 = 0, waited_for = 0;
    for (size_t i = 0; i < o->n_ops; i++) {
        weight += o->ops[i].weight;
        waited_for += o->ops[i].waited_for;
        weight2 += o->ops[i].weight2;
        o->n += o->ops[i].n;
    }
    o->weighted = weight2 > 0 ? weight * weight / weight2 : 0;
    for (size_t i = 0; i < o->n_ops; i++) {
        struct pp_op *op = &o->ops[i];
        op->share = weight > 0 ? op->weight / (weight + o->unnamed) : 0;
        op->share_all = op->n / o->n;
        interval_of(op->share, o->weighted, &op->share_low, &op->share_high);
    }
    if (o->n_ops)
        qsort(o->ops, o->n_ops, sizeof(*o->ops), by_share);
    double least = o->n_ops ? needed(o->n_ops, o->ops[0].share_low, o->ops[o->n_ops > 1].share_high) : 1;
    o->missing_s = waited_for >= least ? 0
                   : waited_for > 0    ? ceil(window_s * (least / waited_for - 1) / pace)
                                       : INFINITY;
}

/* ---- the training thread's lines within steps ---- */

PP_BY_FALLING(by_n, struct pp_op_step, n)

/* Groups by the innermost frame of the user's code; a lambda counts for its caller. Frames above it are the
 * training loop. Each line of the loop is a row. A function that the loop calls is one row, placed at the
 * line with most samples. */
static void add_steps(struct grouping *g)
{
    struct pp_ops *o = g->out;
    struct votes lines = {0}, spots = {0};
    char *loops = pp_ops_loops(g->s, g->joined);
    for (size_t i = 0; loops && i < g->s->n_samples; i++) {
        uint32_t user = g->s->samples[i].frame, lib = PP_STACK_NONE;
        if (g->joined[i].phase != PP_PHASE_STEP)
            continue;
        const double each = g->each[(g->s->samples[i].flags & PP_STACK_DENSE) != 0];
        o->step_n += each;
        for (;
             user != PP_STACK_NONE && (g->v[user].kind != PP_CODE_USER ||
                                       strstr(g->s->functions[g->s->frames[user].function].name, "<lambda>"));
             user = g->s->frames[user].parent)
            lib = g->v[user].kind == PP_CODE_LIBRARY &&
                          !pp_function_is_private(g->s->functions[g->s->frames[user].function].name)
                      ? user
                      : lib;
        if (user == PP_STACK_NONE)
            continue;
        const struct pp_stack_frame *f = &g->s->frames[user];
        int loop = loops[f->function];
        size_t k = pp_ops_vote(&lines, f->function, loop ? f->line : 0, each);
        pp_ops_vote(&spots, f->function, f->line, each);
        struct pp_op_step *step = k == o->n_steps && k < VOTES ? pp_arena_push(&o->arena, (void **)&o->steps,
                                                                               &o->n_steps, sizeof(*step))
                                                               : NULL;
        if (step)
            *step = (struct pp_op_step){.name = pp_ops_name(g, f->function)};
        if (k >= o->n_steps)
            continue;
        o->steps[k].n += each;
        o->steps[k].cpu += g->s->samples[i].state == 'R' || !g->s->samples[i].state ? each : 0;
        if (loop && lib != PP_STACK_NONE && !o->steps[k].callee)
            o->steps[k].callee = pp_ops_library_name(g, g->s->frames[lib].function);
    }
    free(loops);
    for (size_t i = 0; i < o->n_steps; i++) {
        size_t hot = pp_ops_most_of(&spots, lines.row[i].a);
        o->steps[i].place = pp_ops_place(g, lines.row[i].a,
                                         lines.row[i].b || hot == SIZE_MAX ? lines.row[i].b
                                                                           : spots.row[hot].b);
        o->steps[i].share = o->steps[i].n / o->step_n;
        interval_of(o->steps[i].share, o->step_n, &o->steps[i].share_low, &o->steps[i].share_high);
    }
    if (o->n_steps)
        qsort(o->steps, o->n_steps, sizeof(*o->steps), by_n);
    o->steps_known = o->n_steps && o->step_n >= needed(o->n_steps, o->steps[0].share_low,
                                                       o->steps[o->n_steps > 1].share_high);
}

/* ---- between epochs ---- */

static void add_between(struct grouping *g)
{
    struct pp_op_step *to = &g->out->between;
    struct votes code = {0}, lines = {0}, made = {0};
    const struct pp_stack_frame *frames = g->s->frames;
    char *loops = calloc(g->s->n_functions + 1, 1);
    double n = 0;
    for (size_t i = 0; loops && i < g->s->n_samples; i++)
        if (g->joined[i].phase != PP_PHASE_NONE && g->joined[i].phase != PP_OPS_BETWEEN)
            for (uint32_t at = g->s->samples[i].frame; at != PP_STACK_NONE; at = frames[at].parent)
                loops[frames[at].function] = 1;
    for (size_t i = 0; loops && i < g->s->n_samples; i++) {
        if (g->joined[i].phase != PP_OPS_BETWEEN)
            continue;
        /* What the loop over epochs calls between them alone: the outermost function that no step and no wait
         * is in. Without one, the loop's own line. init: the outermost constructor. */
        uint32_t at = PP_STACK_NONE, user = PP_STACK_NONE, init = PP_STACK_NONE;
        for (uint32_t up = g->s->samples[i].frame; up != PP_STACK_NONE; up = frames[up].parent) {
            const char *dot = strrchr(g->s->functions[frames[up].function].name, '.');
            at = g->v[up].kind != PP_CODE_FOLDED && !loops[frames[up].function] ? up : at;
            user = g->v[up].kind == PP_CODE_USER && user == PP_STACK_NONE ? up : user;
            init = dot && strcmp(dot, ".__init__") == 0 ? up : init;
        }
        at = at != PP_STACK_NONE ? at : user;
        uint32_t line = at;
        const double each = g->each[(g->s->samples[i].flags & PP_STACK_DENSE) != 0];
        n += each;
        while (line != PP_STACK_NONE && g->v[line].kind != PP_CODE_USER)
            line = frames[line].parent;
        if (at != PP_STACK_NONE)
            pp_ops_vote(&code, frames[at].function, 0, each);
        if (at != PP_STACK_NONE && line != PP_STACK_NONE)
            pp_ops_vote(&lines, frames[line].function, frames[line].line, each);
        if (init != PP_STACK_NONE)
            pp_ops_vote(&made, frames[init].function, 0, each);
    }
    free(loops);
    if (!code.n)
        return;
    size_t best = pp_ops_most_of(&code, PP_STACK_NONE), hot = pp_ops_most_of(&lines, PP_STACK_NONE),
           init = pp_ops_most_of(&made, PP_STACK_NONE);
    int library = pp_code_kind(&g->s->functions[code.row[best].a]) == PP_CODE_LIBRARY;
    *to = (struct pp_op_step){.name = (library ? pp_ops_library_name : pp_ops_name)(g, code.row[best].a),
                              .place = lines.n ? pp_ops_place(g, lines.row[hot].a, lines.row[hot].b) : NULL,
                              .n = code.row[best].n,
                              .share = code.row[best].n / n};
    interval_of(to->share, n, &to->share_low, &to->share_high);
    if (made.n && made.row[init].n > n / 2) {
        const char *name = pp_ops_name(g, made.row[init].a);
        to->class = pp_arena_printf(&g->out->arena, "%.*s", (int)strcspn(name, "."), name);
    }
}

/* ---- the sampler ---- */

void pp_ops_find_draws(struct pp_ops *o, const char *sampler)
{
    const struct pp_stacks *s = &o->stacks;
    const struct grouping g = {.out = o, .s = s, .v = o->view};
    const char *module_ends = strrchr(sampler, '.'),
               *iter = pp_arena_printf(&o->arena, "%s.__iter__", module_ends ? module_ends + 1 : sampler);
    struct votes lines = {0};
    double all = 0;
    for (size_t i = 0; iter && i < s->n_samples; i++) {
        uint32_t at = s->samples[i].frame;
        while (at != PP_STACK_NONE &&
               (g.v[at].kind != PP_CODE_USER ||
                strcmp(pp_function_short(s->functions[s->frames[at].function].name), iter) != 0))
            at = s->frames[at].parent;
        const double each = s->samples[i].flags & PP_STACK_DENSE ? 1.0 / PP_STACKS_DENSER : 1;
        all += at != PP_STACK_NONE ? each : 0;
        if (at != PP_STACK_NONE)
            pp_ops_vote(&lines, s->frames[at].function, s->frames[at].line, each);
    }
    if (!lines.n)
        return;
    size_t hot = pp_ops_most_of(&lines, PP_STACK_NONE);
    o->draws = (struct pp_op_step){.name = pp_ops_name(&g, lines.row[hot].a),
                                   .place = pp_ops_place(&g, lines.row[hot].a, lines.row[hot].b),
                                   .n = lines.row[hot].n,
                                   .share = lines.row[hot].n / all};
    interval_of(o->draws.share, all, &o->draws.share_low, &o->draws.share_high);
}

/* ---- all of it ---- */

pp_status pp_ops_group(struct pp_ops *out, const struct pp_ops_joined *joined, double window_s,
                       const char *what, struct pp_err *err)
{
    struct grouping g = {.out = out, .s = &out->stacks, .v = out->view, .joined = joined};
    size_t n = out->stacks.n_frames;
    g.sum = malloc((n + 1) * sizeof(*g.sum));
    g.key = malloc((n + 1) * sizeof(*g.key));
    /* Samples of the dense seconds stand for less. */
    double dense = 0, all = (double)g.s->n_samples;
    for (size_t i = 0; i < g.s->n_samples; i++)
        dense += (g.s->samples[i].flags & PP_STACK_DENSE) != 0;
    double later = all - dense + dense / PP_STACKS_DENSER; /* in samples of later seconds */
    double pace = dense < all ? later / all : 1; /* how much of that at which samples came goes on */
    g.each[0] = all / later;
    g.each[1] = g.each[0] / PP_STACKS_DENSER;
    out->frame_n = pp_arena_alloc(&out->arena, (n + 1) * sizeof(*out->frame_n));
    out->frame_weight = pp_arena_alloc(&out->arena, (n + 1) * sizeof(*out->frame_weight));
    int fine = g.sum && g.key && !pp_arena_failed(&out->arena);
    for (; fine && g.whole < 2 && (!g.whole || out->missing_s > 0); g.whole++) { /* lines; else functions */
        out->n_ops = 0, out->n = 0;
        for (size_t i = 0; i < out->n_loaders && fine; i++)
            fine = group_loader(&g, i);
        set_shares(out, window_s, pace);
    }
    /* One word for each: the first of its names that no other operation has. */
    for (size_t i = 0; fine && i < out->n_ops; i++) {
        const char *tries[] = {out->ops[i].word, out->ops[i].path, out->ops[i].place}, *word = NULL;
        for (size_t k = 0; k < 3 && !word; k++) {
            int fits = tries[k] && !strpbrk(tries[k], " =");
            for (size_t m = 0; fits && m < i; m++)
                fits = strcmp(out->ops[m].word, tries[k]) != 0;
            word = fits ? pp_arena_copy(&out->arena, tries[k]) : NULL;
        }
        out->ops[i].word = word ? word : pp_arena_printf(&out->arena, "op-%zu", i + 1);
    }
    if (fine) {
        add_steps(&g);
        add_between(&g);
    }
    free(g.sum);
    free(g.key);
    return fine && !pp_arena_failed(&out->arena)
               ? PP_OK
               : pp_fail(err, PP_E_NO_MEMORY, "no memory for the stacks of %s", what);
}
