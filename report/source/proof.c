#include "report/source/proof.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 32, SENTENCE = 512 };

struct reading {
    struct pp_arena *arena;
    struct pp_report *r;
};

/* " (1,100 to 1,300)", or nothing. */
static void say_range(char *text, size_t size, double low, double high)
{
    char a[CELL], b[CELL];
    if (isnan(low) || isnan(high))
        text[0] = '\0';
    else
        snprintf(text, size, " (%s to %s)", pp_text_rate(a, CELL, low), pp_text_rate(b, CELL, high));
}

static const char *sentence(struct pp_arena *arena, const struct pp_report_proof *p)
{
    char text[SENTENCE], what[CELL * 4], base[CELL], predicted[CELL], measured[CELL], expected[CELL * 3],
        spread[CELL * 3], rounds[CELL] = "";
    if (strcmp(p->kind, "headroom") != 0)
        snprintf(what, sizeof(what), "%s%s%s", p->change, p->value[0] ? " -> " : "", p->value);
    else if (isnan(p->ballast_cpus))
        snprintf(what, sizeof(what), "loader infinitely fast (cached batches), its CPUs left idle");
    else
        snprintf(what, sizeof(what),
                 "loader infinitely fast (cached batches), %.2f CPUs kept busy in its place",
                 p->ballast_cpus);
    say_range(expected, sizeof(expected), p->low, p->high);
    say_range(spread, sizeof(spread), p->measured_low, p->measured_high);
    if (p->rounds > 1)
        snprintf(rounds, sizeof(rounds), " in %llu rounds", (unsigned long long)p->rounds);
    snprintf(text, sizeof(text),
             "%s: %s samples/s before, predicted %s%s, measured %s%s%s: the prediction is off by %+.1f %%",
             what, pp_text_rate(base, CELL, p->base), pp_text_rate(predicted, CELL, p->predicted), expected,
             pp_text_rate(measured, CELL, p->measured), spread, rounds, 100 * p->error);
    return pp_arena_copy(arena, text);
}

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
    if (!pp_arena_failed(g->arena))
        p->sentence = sentence(g->arena, p);
}

pp_status pp_proof_read(const struct pp_source *source, struct pp_arena *arena, struct pp_report *r,
                        struct pp_err *err)
{
    struct reading g = {.arena = arena, .r = r};
    return source->each_proof ? source->each_proof(source->ctx, on_proof, &g, err) : PP_OK;
}
