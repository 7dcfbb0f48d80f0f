/* PyTorch jobs that are killed and resumed, their processes numbering epochs from 0: a correct one is clean
 * or cannot be told, a wrong one is named, with the numbers of samples that it used twice or left out, or
 * cannot be told. */
#include "probe/sampler/sampler_permutation.h"
#include "report/audit/audit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 200, B = 8, EPOCHS = 3, RANKS = 4, PARTS = 3 * RANKS, LISTS = EPOCHS + 1, EVERY = 5, AHEAD = 4 };

/* An epoch as one process has it. */
struct list {
    uint64_t id[N];
    uint32_t n, taken, trained; /* samples; batches; the first that was trained on */
    int ended;
};

struct made {
    struct list list[LISTS];
    struct pp_audit_span span[LISTS];
    struct pp_audit_save save; /* the newest */
    size_t n;
    int rank;
};

struct job {
    int how, ranks, ranks_then, kill; /* kill: batches of all epochs */
    int kill_again;                   /* of the second run; 0: it ends */
    uint64_t seed;
    int marks, saves; /* backward was seen; checkpoints were */
    int unlisted;     /* not all lists are there */
    uint32_t lag;     /* a wrapper takes so many batches ahead */
    struct made made[PARTS];
    struct pp_audit_part part[PARTS];
    size_t n;
    int from_scratch;       /* there was no checkpoint yet */
    double uses[EPOCHS][N]; /* the truth: what trained the model in the end */
};

enum how {
    SKIPS,
    REST,
    RESTARTS,
    UNSEEDED,
    PLAIN,
    LAST_RIGHT = PLAIN,
    ORDER_0,
    EPOCH_0,
    RANDOM,
    PREFETCHED,
    AGAIN,
    STICKS,
    SET_EPOCH_0,
    EMPTY,
    LAST
};

static void order_of(const struct job *j, int seed, uint64_t *out)
{
    struct pp_permutation p;
    pp_permutation_init(&p, N, j->seed, (uint64_t)seed);
    for (uint64_t i = 0; i < N; i++)
        out[i] = j->how == PLAIN ? i : pp_permutation_at(&p, i);
}

/* What the rank is given of an order from sample `from` of all ranks on. */
static struct list draw(const struct job *j, int order, int rank, int world, uint32_t from)
{
    uint64_t all[N];
    struct list l = {.trained = PP_AUDIT_NONE};
    order_of(j, order, all);
    for (uint32_t i = from + (uint32_t)rank; i < N; i += (uint32_t)world)
        l.id[l.n++] = all[i];
    return l;
}

static uint32_t batches(uint32_t samples)
{
    return (samples + B - 1) / B;
}

/* Trains on the batches of the list from `skip` on, up to `to`; saves with every fifth batch of the epoch, of
 * which the list begins with `first`. */
static void train(struct job *j, struct made *m, struct list l, uint32_t first, uint32_t skip, uint32_t to,
                  int epoch)
{
    uint32_t all = batches(l.n), at = (uint32_t)m->n;
    to = to < all ? to : all;
    uint32_t ahead = to + j->lag < all ? to + j->lag : all;
    l.taken = ahead;
    l.ended = to == all;
    l.trained = j->marks && to > skip ? skip + j->lag : PP_AUDIT_NONE;
    if (!l.ended && l.n > (to + AHEAD) * B)
        l.n = (to + AHEAD) * B; /* given, and not taken */
    m->list[at] = l;
    m->span[at] = (struct pp_audit_span){.epoch = (uint16_t)at,
                                         .begun = 1,
                                         .ended = l.ended,
                                         .batches = ahead,
                                         .to = ahead,
                                         .given = l.n,
                                         .trained = l.trained};
    m->n += to > 0;
    for (uint32_t i = skip; i < to; i++) {
        if ((first + i + 1) % EVERY == 0 && j->how != RESTARTS && j->how != UNSEEDED && j->how != EPOCH_0)
            m->save = (struct pp_audit_save){(uint16_t)at, i + 1 + j->lag, 0};
        for (uint32_t k = i * B; k < l.n && k < (i + 1) * B; k++)
            j->uses[epoch][l.id[k]]++;
    }
    if (l.ended && to)
        m->save = (struct pp_audit_save){(uint16_t)at, to, 1};
}

static struct made *add_part(struct job *j, int rank, int world, int run)
{
    struct made *m = &j->made[j->n];
    m->rank = rank;
    j->part[j->n] = (struct pp_audit_part){.rank = rank,
                                           .world_size = world,
                                           .file = "x",
                                           .samples = N,
                                           .batch_size = B,
                                           .drop_last = -1,
                                           .by_content = 1,
                                           .unlisted = j->unlisted,
                                           .started_ns = 1e9 * (1 + run),
                                           .ended_ns = 1e9 * (1 + run) + 5e8,
                                           .epochs = m->span};
    j->n++;
    return m;
}

/* From batch `at` of all epochs on, of which `kill` are made; the checkpoint to go on from. */
static int run(struct job *j, int number, int at, int kill, int world)
{
    int per = (int)batches((uint32_t)(N / world)), resumed = number > 0, epoch = at / per, done = at % per,
        saved = at;
    int end = kill && kill < EPOCHS * per ? kill : EPOCHS * per;
    int by_list = j->how == REST || j->how == ORDER_0 || j->how == PREFETCHED || j->how == AGAIN ||
                  j->how == STICKS || j->how == PLAIN;
    for (int e = epoch; e < EPOCHS; e++) /* what is not saved is done again */
        for (int k = end - 1; k >= 0 && e == epoch; k--)
            if (k + 1 <= end && ((k + 1) % per == 0 || (((k % per) + 1) % EVERY == 0 && j->how != RESTARTS &&
                                                        j->how != UNSEEDED && j->how != EPOCH_0))) {
                saved = k + 1 > saved ? k + 1 : saved;
                break;
            }
    for (int rank = 0; rank < world; rank++) {
        struct made *m = add_part(j, rank, world, number);
        double kept[EPOCHS][N];
        for (int e = epoch; e < EPOCHS && e * per < end; e++) {
            int first = e == epoch ? done : 0, to = end - e * per < per ? end - e * per : per, order = e;
            if (resumed && e == epoch) {
                order = j->how == ORDER_0 || j->how == EPOCH_0 || j->how == SET_EPOCH_0 ? 0 : e;
                order = j->how == RANDOM || j->how == UNSEEDED ? 1000 + number : order;
                first += j->how == PREFETCHED ? AHEAD : j->how == AGAIN ? -2 : 0;
            }
            if (resumed && j->how == SET_EPOCH_0)
                order = e - epoch;
            if (resumed && j->how == STICKS)
                first = done;
            memcpy(kept, j->uses, sizeof(kept));
            if (resumed && e == epoch &&
                j->how == EMPTY) { /* an epoch without a batch, in the place of this one */
                m->span[m->n++] = (struct pp_audit_span){.epoch = 0};
                continue;
            }
            struct list l = draw(j, order, rank, world, by_list ? (uint32_t)(first * B * world) : 0);
            train(j, m, l, by_list ? (uint32_t)first : 0, by_list ? 0 : (uint32_t)first,
                  (uint32_t)(by_list ? to - first : to), e);
            if (kill && e * per + to > saved) { /* batches behind the checkpoint are lost with the weights */
                memcpy(j->uses, kept, sizeof(kept));
                int keep = saved - e * per - first;
                for (int i = (by_list ? 0 : first) * B;
                     keep > 0 && i < (int)l.n && i < ((by_list ? 0 : first) + keep) * B; i++)
                    j->uses[e][l.id[i]]++;
            }
        }
        if (j->how == EMPTY && resumed) { /* no batch: no list */
            memmove(m->span, m->span + 1, (m->n - 1) * sizeof(*m->span));
            memmove(m->list, m->list + 1, (m->n - 1) * sizeof(*m->list));
            m->n--;
        }
        j->part[j->n - 1].n_epochs = m->n;
        if (j->saves && rank == 0)
            j->part[j->n - 1].save = m->save;
    }
    return saved;
}

static int by_rank(const void *a, const void *b)
{
    const struct pp_audit_part *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->started_ns > y->started_ns) - (x->started_ns < y->started_ns);
}

static pp_status feed(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                      struct pp_err *err)
{
    const struct job *j = ctx;
    const struct made *m = NULL;
    for (size_t i = 0; i < j->n; i++)
        if (j->made[i].span == j->part[part].epochs)
            m = &j->made[i];
    (void)err;
    for (size_t k = 0; k < m->n; k++)
        for (uint32_t i = 0; m->span[k].epoch == epoch && i < m->list[k].n; i++)
            if (fn(fn_ctx, &(struct pp_audit_use){.sample = m->list[k].id[i], .batch = i / B}, 1))
                return PP_OK;
    return PP_OK;
}

/* 0: the other world size has no batch that begins there. */
static int audit(struct job *j, struct pp_audit *out)
{
    struct pp_err err;
    int per = (int)batches((uint32_t)(N / j->ranks)), then = j->ranks_then ? j->ranks_then : j->ranks,
        saved = run(j, 0, 0, j->kill, j->ranks), done = saved % per * j->ranks,
        at = saved / per * (int)batches((uint32_t)(N / then)) + done / then;
    if (done % then)
        return 0;
    j->from_scratch = !saved;
    if (j->kill_again)
        at = run(j, 1, at, at + j->kill_again, then);
    run(j, j->kill_again ? 2 : 1, at, 0, then);
    qsort(j->part, j->n, sizeof(*j->part), by_rank);
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){j->part, j->n, feed, j}, out, &err), PP_OK);
    return 1;
}

static const struct pp_audit_cause *cause_of(const struct pp_audit *a, enum pp_audit_cause_id id)
{
    for (size_t i = 0; i < a->n_causes; i++)
        if (a->causes[i].id == id)
            return &a->causes[i];
    return NULL;
}

static void count_truth(const struct job *j, double *again, double *left)
{
    *again = *left = 0;
    for (int e = 0; e < EPOCHS; e++)
        for (int i = 0; i < N; i++) {
            *again += fmax(j->uses[e][i] - 1, 0);
            *left += j->uses[e][i] == 0;
        }
}

static struct job job_of(int how, uint64_t seed)
{
    return (struct job){.how = how, .ranks = 1, .kill = 38, .seed = seed, .marks = 1, .saves = 1};
}

static void show_and_fail(const struct job *j, const struct pp_audit *a)
{
    pp_audit_text(a, 1, stdout);
    fail_msg("how %d, %d to %d ranks, killed at %d: %s", j->how, j->ranks, j->ranks_then, j->kill,
             a->kind_name);
}

/* Killed anywhere, once or twice, on one rank or two, which may become four. */
static void test_no_correct_job_is_accused(void **state)
{
    int clean = 0, all = 0;
    for (int how = 0; how <= LAST_RIGHT; how++)
        for (int kill = 6; kill < 72; kill++)
            for (int form = 0; form < 6; form++) {
                struct job j = job_of(how, (uint64_t)(kill * 7 + how));
                struct pp_audit a;
                double again, left;
                j.kill = kill;
                j.kill_again = form == 1 ? 7 : 0;
                j.ranks = form == 2 || form == 3 ? 2 : 1;
                j.ranks_then = form == 3 && how == REST ? 4 : 0;
                j.marks = form != 4;
                j.lag = form == 0 ? kill % 2 : 0;
                j.saves = form != 5;
                if (kill >= EPOCHS * (int)batches((uint32_t)(N / j.ranks)) - 1)
                    continue;
                if (!audit(&j, &a))
                    continue;
                count_truth(&j, &again, &left);
                if (again > 0 || left > 0)
                    print_message("form %d: %.0f %.0f\n", form, again, left), show_and_fail(&j, &a);
                if (a.kind == PP_AUDIT_BROKEN || (form == 5 && a.kind == PP_AUDIT_CLEAN) ||
                    (form < 3 && !j.from_scratch && a.kind != PP_AUDIT_CLEAN))
                    show_and_fail(&j, &a);
                clean += a.kind == PP_AUDIT_CLEAN;
                all++;
                pp_arena_free(&a.arena);
            }
    print_message("%d of %d correct jobs are clean, none is accused\n", clean, all);
}

static const struct {
    int how;
    enum pp_audit_cause_id id;
    int always; /* named; else it may be one that cannot be told */
} wrong[] = {
    {ORDER_0, PP_AUDIT_RESUME_ORDER, 1},     {EPOCH_0, PP_AUDIT_RESUME_ORDER, 1},
    {RANDOM, PP_AUDIT_RESUME_REPEATS, 1},    {PREFETCHED, PP_AUDIT_RESUME_SKIPS, 0},
    {AGAIN, PP_AUDIT_RESUME_REPEATS, 0},     {STICKS, PP_AUDIT_LEFT_OUT, 1},
    {SET_EPOCH_0, PP_AUDIT_RESUME_ORDER, 0}, {EMPTY, PP_AUDIT_LEFT_OUT, 0},
};

static void test_wrong_jobs_are_named_with_their_numbers(void **state)
{
    for (size_t w = 0; w < sizeof(wrong) / sizeof(*wrong); w++) {
        int named = 0, all = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct job j = job_of(wrong[w].how, seed);
            struct pp_audit a;
            double again, left;
            j.kill = 32 + (int)seed % 15;
            if (wrong[w].how == PREFETCHED)
                j.kill = seed % 2 ? 35 : 38; /* 35: those that were prefetched had not been taken */
            audit(&j, &a);
            count_truth(&j, &again, &left);
            const struct pp_audit_cause *c = cause_of(&a, wrong[w].id),
                                        *r = cause_of(&a, PP_AUDIT_RESUME_REPEATS),
                                        *s = cause_of(&a, PP_AUDIT_RESUME_SKIPS),
                                        *l = cause_of(&a, PP_AUDIT_LEFT_OUT);
            int ok = a.kind == PP_AUDIT_BROKEN && c;
            if (a.kind == PP_AUDIT_CLEAN || (wrong[w].always && !ok) || (a.kind == PP_AUDIT_BROKEN && !c))
                show_and_fail(&j, &a);
            if (ok &&
                ((r ? r->samples : 0) != again || (s ? s->samples : 0) + (l ? l->samples : 0) != left)) {
                print_message("truth: %.0f again, %.0f left out\n", again, left);
                show_and_fail(&j, &a);
            }
            assert_true(ok || a.note);
            named += ok;
            all++;
            pp_arena_free(&a.arena);
        }
        print_message("how %d: %d of %d named\n", wrong[w].how, named, all);
    }
}

/* What is not marked as trained on may have been dropped or not. */
static void test_what_is_not_known_is_never_clean(void **state)
{
    static const int hows[] = {RANDOM, SKIPS};
    for (size_t i = 0; i < 2; i++) {
        struct job j = job_of(hows[i], 3);
        struct pp_audit a;
        j.marks = 0;
        audit(&j, &a);
        assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
        assert_non_null(strstr(a.note, "resumed recording"));
        pp_arena_free(&a.arena);
    }
    struct job j = job_of(REST, 3);
    struct pp_audit a;
    j.unlisted = 1;
    audit(&j, &a);
    assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
    assert_non_null(strstr(a.note, "not listed"));
    pp_arena_free(&a.arena);
}

/* Four ranks that skip as many steps as two had made. */
static void test_another_world_size_that_skips_twice_as_much(void **state)
{
    struct job j = job_of(REST, 1);
    struct pp_audit a;
    struct pp_err err;
    j.ranks = 2;
    j.kill = 11;
    int saved = run(&j, 0, 0, j.kill, 2);
    run(&j, 1, saved, 0, 4);
    qsort(j.part, j.n, sizeof(*j.part), by_rank);
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){j.part, j.n, feed, &j}, &a, &err), PP_OK);
    if (a.kind != PP_AUDIT_INCONCLUSIVE)
        show_and_fail(&j, &a);
    assert_non_null(strstr(a.note, "world size"));
    pp_arena_free(&a.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_correct_job_is_accused),
        cmocka_unit_test(test_wrong_jobs_are_named_with_their_numbers),
        cmocka_unit_test(test_what_is_not_known_is_never_clean),
        cmocka_unit_test(test_another_world_size_that_skips_twice_as_much),
    };
    return cmocka_run_group_tests_name("a resumed job is placed", tests, NULL, NULL);
}
