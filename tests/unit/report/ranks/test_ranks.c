/* Ranks of a job: digests merge in any order and any tree to the same bits, and the judgement on them. */
#include "report/ranks/ranks.h"

#include "probe/base/rng.h"
#include "tests/support/json_schema.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
enum { RANKS = 16, STEPS = 400 };

static struct pp_err err;

/* ---- jobs made up ---- */

struct job {
    int ranks, steps, met;
    const char *host[RANKS];
    uint64_t wait_ns[RANKS], step_ns[RANKS];
    int from_step, to_step; /* wait_ns counts in these only; before and after as rank 0's */
    int late_by;            /* rotating: in step i rank i % ranks waits so many ms more */
    int rare_by;            /* in every fourth step rank 0 waits so many ms more */
    int apart;              /* the ranks do not wait for each other */
    const char *l2;         /* of their own verdicts */
    /* ready and without a CPU: the trainer of a rank per step, its workers per step of one sample; how long
     * those take for it; 0: neither was measured */
    uint64_t wait_delay_ns[RANKS], step_delay_ns[RANKS], work_ns[RANKS], work_delay_ns[RANKS];
    /* all ranks: of a step, behind the wait for the last one; of each, how long its threads lack a CPU in it
     */
    uint64_t exchange_ns, exchange_delay_ns[RANKS];
};

static struct pp_rank_row row_of(int rank, int world)
{
    return (struct pp_rank_row){.rank = rank,
                                .world_size = world,
                                .local_rank = rank % 4,
                                .node = -1,
                                .attempt = -1,
                                .job = "77",
                                .launcher = "torchrun",
                                .version = "0.1.0",
                                .outcome = "finished",
                                .l0 = "not-input-bound",
                                .samples_per_s = 10,
                                .data_wait_share = NAN,
                                .collective_share = NAN};
}

static uint64_t wait_in(const struct job *j, int rank, int step)
{
    uint64_t late = j->late_by && step % j->ranks == rank ? (uint64_t)j->late_by * MS : 0;
    late += j->rare_by && rank == 0 && step % 4 == 3 ? (uint64_t)j->rare_by * MS : 0;
    int in = !j->to_step || (step >= j->from_step && step < j->to_step);
    return (in ? j->wait_ns[rank] : j->wait_ns[0]) + late + (uint64_t)(rank * 7 + step * 3) % 11;
}

static void make(const struct job *j, int rank, struct pp_digest *out)
{
    struct pp_rank_own_step *steps = calloc((size_t)j->steps, sizeof(*steps));
    struct pp_rank_row row = row_of(rank, j->ranks);
    char file[32];
    snprintf(file, sizeof(file), "rank%d.sqlite", rank);
    row.file = file;
    row.host = j->host[rank] ? j->host[rank] : "a";
    row.met = j->met;
    row.l2 = j->l2;
    row.steps = row.samples = (uint64_t)j->steps;
    row.wait_delay_ns = row.steps * j->wait_delay_ns[rank];
    row.step_delay_ns = row.steps * j->step_delay_ns[rank];
    row.work_ns[PP_PHASE_DECODE] = row.steps * j->work_ns[rank];
    row.work_delay_ns = row.steps * j->work_delay_ns[rank];
    row.exchanges = 2 * row.steps; /* two a step, and every eighth sampled */
    row.sampled_exchanges = row.steps / 4;
    row.exchange_delay_ns = row.sampled_exchanges * j->exchange_delay_ns[rank] / 2;
    row.collective_ns = row.steps * j->exchange_ns;
    for (int i = 0; i < j->steps; i++) {
        uint64_t wait = wait_in(j, rank, i), step = j->step_ns[rank], longest = 0;
        for (int r = 0; r < j->ranks; r++) {
            uint64_t own = wait_in(j, r, i) + j->step_ns[r];
            longest = own > longest ? own : longest;
        }
        uint64_t others = j->apart ? 0 : longest - wait - step;
        row.wait_ns += wait;
        row.step_ns += step + (j->met ? 0 : others);
        row.collective_ns += j->met ? others : 0;
        steps[i] = (struct pp_rank_own_step){.number = (uint32_t)i + 1,
                                             .own_ns = wait + step,
                                             .input_ns = wait,
                                             .all_ns = wait + step + others,
                                             .end_utc_ns = UINT64_C(1) << 60 | (uint64_t)i * 50 * MS};
    }
    assert_int_equal(pp_digest_make(&row, steps, (size_t)j->steps, out, &err), PP_OK);
    free(steps);
}

static void judge(const struct job *j, struct pp_digest *all, struct pp_ranks *out)
{
    *all = (struct pp_digest){0};
    for (int r = 0; r < j->ranks; r++) {
        struct pp_digest one;
        make(j, r, &one);
        assert_int_equal(pp_digest_merge(all, &one, &err), PP_OK);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(all, out, &err), PP_OK);
}

/* ---- merging ---- */

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void assert_same(const struct pp_digest *a, const struct pp_digest *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_steps, b->n_steps);
    for (size_t i = 0; i < a->n_rows; i++) {
        const struct pp_rank_row *x = &a->rows[i], *y = &b->rows[i];
        assert_true(x->rank == y->rank && x->steps == y->steps && x->wait_ns == y->wait_ns);
        assert_true(x->wait_delay_ns == y->wait_delay_ns && x->work_delay_ns == y->work_delay_ns);
        assert_int_equal(x->n_slices, y->n_slices);
        for (size_t k = 0; k < x->n_slices; k++)
            assert_memory_equal(&x->slices[k], &y->slices[k], sizeof(x->slices[k]));
        assert_true(x->running == y->running && x->until_utc_ns == y->until_utc_ns);
        assert_int_equal(x->n_ends, y->n_ends);
        for (size_t k = 0; k < x->n_ends; k++)
            assert_true(x->ends[k].number == y->ends[k].number && x->ends[k].utc_ns == y->ends[k].utc_ns);
        assert_true(same_text(x->file, y->file) && same_text(x->job, y->job) && same_text(x->host, y->host));
    }
    assert_int_equal(a->slice_log2_s, b->slice_log2_s);
    assert_memory_equal(a->hists, b->hists, PP_DIGEST_HISTS * sizeof(*a->hists));
    for (size_t i = 0; i < a->n_steps; i++) {
        const struct pp_rank_step *x = &a->steps[i], *y = &b->steps[i];
        assert_true(x->number == y->number && x->ranks == y->ranks && x->end_utc_ns == y->end_utc_ns);
        assert_memory_equal(&x->own, &y->own, sizeof(x->own));
        assert_memory_equal(&x->input, &y->input, sizeof(x->input));
    }
}

/* Digests of random steps, some numbers missing, many ties. */
static void make_random(struct pp_rng *rng, int rank, struct pp_digest *out)
{
    struct pp_rank_own_step steps[64];
    size_t n = 0;
    for (uint32_t k = 0; k < 64; k++)
        if (pp_rng_below(rng, 4)) {
            steps[n] = (struct pp_rank_own_step){.number = k,
                                                 .own_ns = pp_rng_below(rng, 6),
                                                 .input_ns = pp_rng_below(rng, 3),
                                                 .end_utc_ns = pp_rng_below(rng, 5)};
            n++;
        }
    struct pp_rank_row row = row_of(rank, RANKS);
    char file[32];
    snprintf(file, sizeof(file), "rank%d.sqlite", rank);
    row.file = file;
    row.attempt = rank % 2 ? 3 : -1;
    row.wait_ns = pp_rng_below(rng, 1000);
    row.wait_delay_ns = pp_rng_below(rng, 1000);
    row.work_delay_ns = pp_rng_below(rng, 1000);
    struct pp_rank_end ends[8];
    for (uint32_t k = 0; k < 8; k++)
        ends[k] = (struct pp_rank_end){3 * k, pp_rng_below(rng, 5)};
    row.ends = ends;
    row.n_ends = (uint32_t)pp_rng_below(rng, 9);
    row.running = rank % 3 == 0;
    row.outcome = row.running ? NULL : row.outcome;
    row.until_utc_ns = pp_rng_below(rng, 5);
    assert_int_equal(pp_digest_make(&row, steps, n, out, &err), PP_OK);
}

static void copy(const struct pp_digest *from, struct pp_digest *out)
{
    *out = (struct pp_digest){0};
    assert_int_equal(pp_digest_merge(out, from, &err), PP_OK);
}

/* Random pairs of what is left are merged until one is: every order and every tree. */
static void test_any_tree_gives_the_same(void **state)
{
    struct pp_rng rng = pp_rng_key(1, 0, 0, 0);
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct pp_digest leaf[RANKS], part[RANKS], in_order = {0};
        size_t left = RANKS;
        for (int r = 0; r < RANKS; r++) {
            make_random(&rng, r, &leaf[r]);
            copy(&leaf[r], &part[r]);
            assert_int_equal(pp_digest_merge(&in_order, &leaf[r], &err), PP_OK);
        }
        while (left > 1) {
            size_t a = pp_rng_below(&rng, left), b = pp_rng_below(&rng, left - 1);
            b += b >= a;
            assert_int_equal(pp_digest_merge(&part[a], &part[b], &err), PP_OK);
            pp_digest_free(&part[b]);
            left--;
            if (b != left)
                part[b] = part[left];
        }
        assert_same(&part[0], &in_order);
        pp_digest_free(&part[0]);
        pp_digest_free(&in_order);
        for (int r = 0; r < RANKS; r++)
            pp_digest_free(&leaf[r]);
    }
}

static void test_what_is_merged_is_the_sum(void **state)
{
    struct job j = {.ranks = 4, .steps = 30, .met = 1};
    struct pp_digest all;
    struct pp_ranks r;
    (void)state;
    for (int i = 0; i < 4; i++) {
        j.wait_ns[i] = (uint64_t)(i + 1) * MS;
        j.step_ns[i] = 5 * MS;
    }
    judge(&j, &all, &r);
    const struct pp_rank_step *s = &all.steps[10];
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += wait_in(&j, i, 10) + 5 * MS;
    assert_int_equal(s->ranks, 4);
    assert_int_equal(s->own.sum_ns, sum);
    assert_int_equal(s->own.rank, 3);
    assert_int_equal(s->own.max_ns, wait_in(&j, 3, 10) + 5 * MS);
    assert_int_equal(s->own.second_ns, wait_in(&j, 2, 10) + 5 * MS);
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

static void test_what_does_not_belong_together(void **state)
{
    static const struct {
        const char *says;
        int64_t rank, world_size, attempt;
        const char *job;
    } rows[] = {{"are both of rank 0", 0, 4, -1, "77"},
                {"of job 77 and", 1, 4, -1, "78"},
                {"of attempt 0 of the job", 1, 4, 1, "77"},
                {"of a job of 4 ranks and", 1, 8, -1, "77"},
                {NULL, 1, -1, -1, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_rank_row a = row_of(0, 4), b = row_of((int)rows[i].rank, (int)rows[i].world_size);
        struct pp_digest x, y;
        a.attempt = 0;
        b.attempt = rows[i].attempt;
        b.job = rows[i].job;
        assert_int_equal(pp_digest_make(&a, NULL, 0, &x, &err), PP_OK);
        assert_int_equal(pp_digest_make(&b, NULL, 0, &y, &err), PP_OK);
        pp_status st = pp_digest_merge(&x, &y, &err);
        assert_int_equal(st, rows[i].says ? PP_E_USAGE : PP_OK);
        assert_int_equal(x.n_rows, rows[i].says ? 1 : 2);
        if (rows[i].says && !strstr(err.text, rows[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, rows[i].says);
        pp_digest_free(&x);
        pp_digest_free(&y);
    }
}

/* ---- judging ---- */

static struct job even(int ranks, int met)
{
    struct job j = {.ranks = ranks, .steps = STEPS, .met = met};
    for (int r = 0; r < ranks; r++) {
        j.wait_ns[r] = MS;
        j.step_ns[r] = 20 * MS;
    }
    return j;
}

static void test_kinds(void **state)
{
    struct job balanced = even(8, 1), slow_input = even(8, 1), slow_step = even(8, 1), hidden = even(8, 0),
               apart = even(8, 0), node = even(8, 1), rotating = even(8, 1), input = even(8, 1),
               few = even(8, 1), one = even(1, 1), two = even(2, 1), unmet_even = even(8, 0),
               unseen = even(8, 0), often_by_little = even(8, 1);
    (void)state;
    slow_input.wait_ns[5] = 30 * MS;
    slow_step.step_ns[5] = 40 * MS;
    hidden.wait_ns[5] = apart.wait_ns[5] = 30 * MS;
    apart.apart = 1;
    for (int r = 0; r < 8; r++) {
        node.host[r] = r < 4 ? "a" : "b";
        input.wait_ns[r] = 30 * MS;
    }
    for (int r = 4; r < 8; r++)
        node.wait_ns[r] = 30 * MS + (uint64_t)(r == 6);
    rotating.late_by = 30;
    few.steps = 19;
    few.wait_ns[5] = 30 * MS;
    two.wait_ns[1] = 30 * MS;
    unseen.step_ns[5] = 40 * MS;
    often_by_little.wait_ns[5] = 2 * MS; /* last in three of four steps, but little is lost by it */
    often_by_little.rare_by = 30;
    const struct {
        const struct job *job;
        enum pp_ranks_kind kind;
        double rank; /* NAN: none is named */
        const char *cause, *sentence;
    } rows[] = {
        {&balanced, PP_RANKS_BALANCED, NAN, NULL, "No straggler"},
        {&slow_input, PP_RANKS_STRAGGLER, 5, "data_wait",
         "Rank 5 (node a) is the straggler: last in 100 % of 400 steps"},
        {&slow_step, PP_RANKS_STRAGGLER, 5, "step", "waits 20.0 ms per step for it"},
        {&hidden, PP_RANKS_STRAGGLER, 5, "data_wait", "Rank 5"},
        {&apart, PP_RANKS_APART, 5, "data_wait", "do not wait for it"},
        {&node, PP_RANKS_NODE, NAN, "data_wait", "Node b is the straggler"},
        {&rotating, PP_RANKS_ROTATING, NAN, NULL, "No single slowest rank"},
        {&input, PP_RANKS_INPUT, NAN, NULL, "The cause is common"},
        {&few, PP_RANKS_INCONCLUSIVE, NAN, NULL, "at least 20"},
        {&one, PP_RANKS_INCONCLUSIVE, NAN, NULL, "Only rank 0 was recorded"},
        {&two, PP_RANKS_STRAGGLER, 1, "data_wait", "Rank 1"},
        {&unmet_even, PP_RANKS_BALANCED, NAN, NULL, "No straggler"},
        {&often_by_little, PP_RANKS_ROTATING, NAN, NULL, "most often rank 5"},
        {&unseen, PP_RANKS_BALANCED, NAN, NULL, "No straggler"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_digest all;
        struct pp_ranks r;
        judge(rows[i].job, &all, &r);
        int named = isnan(rows[i].rank) ? isnan(r.straggler_rank) : r.straggler_rank == rows[i].rank;
        if (r.kind != rows[i].kind || !named || !same_text(r.cause, rows[i].cause) ||
            !strstr(r.sentence, rows[i].sentence))
            fail_msg("job %zu: %s, rank %g, cause %s: %s", i, r.kind_name, r.straggler_rank,
                     r.cause ? r.cause : "none", r.sentence);
        if (!rows[i].job->met && r.kind != PP_RANKS_INCONCLUSIVE)
            assert_non_null(strstr(r.note, "slow in the step itself is not seen"));
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

/* ---- clocks, and recordings without an end ---- */

#define SECOND (1000 * MS)
#define NOW (UINT64_C(1790000000) * SECOND) /* 2026-09-21 14:13:20 UTC */

/* A rank whose collectives end when rank 0's do, but for delays of up to 50 us and what its clock is off. */
static void make_ended(int rank, int64_t off_ns, uint32_t steps, uint64_t until_utc_ns, int running,
                       struct pp_digest *out)
{
    struct pp_rng rng = pp_rng_key(17, 0, (uint64_t)rank, 0);
    struct pp_rank_row row = row_of(rank, 4);
    struct pp_rank_end ends[PP_RANK_ENDS];
    row.running = running;
    row.outcome = running ? NULL : "finished";
    row.until_utc_ns = until_utc_ns;
    row.ends = ends;
    for (uint32_t k = 0; k < steps; k++)
        if (pp_rank_end_is_kept(k)) {
            ends[row.n_ends] = (struct pp_rank_end){k, NOW + k * 250 * MS + (uint64_t)off_ns +
                                                           pp_rng_below(&rng, 50000)};
            row.n_ends++;
        }
    assert_int_equal(pp_digest_make(&row, NULL, 0, out, &err), PP_OK);
}

static void test_the_ends_that_are_kept_do_not_depend_on_how_many_there_are(void **state)
{
    (void)state;
    uint32_t kept = 0, of_octave = 0;
    for (uint32_t k = 0; k < 1u << 20; k++) {
        kept += (uint32_t)pp_rank_end_is_kept(k);
        of_octave += (uint32_t)pp_rank_end_is_kept(k) && k >= 1u << 19;
        if (k < 64)
            assert_int_equal(kept, k + 1);
    }
    assert_int_equal(of_octave, 32);
    assert_true(kept <= PP_RANK_ENDS);
    for (uint32_t k = UINT32_MAX - 100000000; k < UINT32_MAX; k++) /* nor overflow */
        if (pp_rank_end_is_kept(k))
            return;
    fail_msg("none of the last numbers is kept");
}

static void test_clocks_are_held_against_each_other(void **state)
{
    const int64_t off[] = {0, -30 * (int64_t)MS, 48 * (int64_t)MS, 0};
    const uint32_t steps[] = {14400, 14400, 900, 30}; /* one died early; of one there is too little */
    struct pp_digest all = {0}, one;
    struct pp_ranks r;
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_ended(i, off[i], steps[i], NOW, 0, &one);
        assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(r.rows[i].clock_offset_ns - (double)off[i]) <= r.rows[i].clock_error_ns + 50000);
        assert_true(i == 0 ? r.rows[i].clock_error_ns == 0
                           : r.rows[i].clock_error_ns > 0 && r.rows[i].clock_error_ns < 50000);
        assert_true(r.rows[i].clock_error_ns <= r.clock_error_ns);
    }
    assert_true(isnan(r.rows[3].clock_error_ns) && isnan(r.rows[3].clock_offset_ns));
    assert_non_null(strstr(r.clocks, "rank 2's is 48.0 ms ahead of rank 0's, to within"));
    assert_null(r.no_end);
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

static void test_recordings_without_an_end_are_named(void **state)
{
    struct pp_digest all = {0}, one;
    struct pp_ranks r;
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_ended(i, 0, 0, i == 3 ? NOW - 700 * SECOND : NOW + (uint64_t)i * SECOND, i > 0, &one);
        assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
    assert_string_equal(r.no_end, "rank 3: no end, last digest 2026-09-21 14:01:40 UTC; "
                                  "ranks 1-2: no end, last digest 2026-09-21 14:13:22 UTC");
    assert_string_equal(r.rows[0].until, "2026-09-21T14:13:20Z");
    assert_true(!r.note || !strstr(r.note, "killed"));
    assert_true(isnan(r.clock_error_ns) && !r.clocks);
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

/* The gap of rank 2 is 20 ms of wait and 20 ms of step: no phase has 80 % of it. */
static void test_the_wait_for_a_cpu_is_a_cause_in_whatever_phases(void **state)
{
    static const struct {
        const char *name;
        uint64_t wait_delay_ns, step_delay_ns, work_ns, work_delay_ns, of_all_ns;
        int met;
        const char *cause;
        double cpu_wait_ms;
    } rows[] = {
        {"trainer and workers wait for a CPU", 2 * MS, 18 * MS, 40 * MS, 36 * MS, 0, 1, "cpu-contended",
         36.2},
        {"the workers have more to do", 0, 18 * MS, 40 * MS, 0, 0, 1, NULL, 18},
        {"half of what they take longer is work", 0, 18 * MS, 40 * MS, 20 * MS, 0, 1, NULL, 28},
        {"the workers wait, and the trainer does not", 0, 0, 40 * MS, 40 * MS, 0, 1, NULL, 20},
        {"all ranks lack CPUs alike", 2 * MS, 18 * MS, 40 * MS, 36 * MS, 40 * MS, 1, NULL, 0},
        {"nothing was measured", 0, 0, 0, 0, 0, 1, NULL, 0},
        {"the wait for others hides steps", 2 * MS, 0, 40 * MS, 39 * MS, 0, 0, "cpu-contended", 19.55},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job j = even(4, rows[i].met);
        struct pp_digest all;
        struct pp_ranks r;
        for (int k = 0; k < 4; k++)
            j.wait_delay_ns[k] = j.step_delay_ns[k] = j.work_ns[k] = j.work_delay_ns[k] = rows[i].of_all_ns;
        j.wait_ns[2] += 20 * MS;
        j.step_ns[2] += rows[i].met ? 20 * MS : 0;
        j.wait_delay_ns[2] = rows[i].of_all_ns ? rows[i].of_all_ns : rows[i].wait_delay_ns;
        j.step_delay_ns[2] = rows[i].of_all_ns ? rows[i].of_all_ns : rows[i].step_delay_ns;
        j.work_ns[2] = rows[i].of_all_ns ? rows[i].of_all_ns : rows[i].work_ns;
        j.work_delay_ns[2] = rows[i].of_all_ns ? rows[i].of_all_ns : rows[i].work_delay_ns;
        judge(&j, &all, &r);
        if (r.straggler_rank != 2 || !same_text(r.cause, rows[i].cause) ||
            fabs(r.cpu_wait_ns / 1e6 - rows[i].cpu_wait_ms) > 0.3)
            fail_msg("%s: rank %g, cause %s, %.2f ms: %s", rows[i].name, r.straggler_rank,
                     r.cause ? r.cause : "none", r.cpu_wait_ns / 1e6, r.why ? r.why : "");
        if (rows[i].cause)
            assert_non_null(strstr(r.why, "CPU contention: waiting for a CPU explains 9"));
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

/* Rank 2 takes 40 ms longer, and all of them 30 ms to exchange, in which its threads lack a CPU. */
static void test_the_gain_counts_the_exchange_of_a_contended_rank(void **state)
{
    static const struct {
        double delay_ms, of_all_ms, counted_ms;
        int contended;
    } rows[] = {
        {25, 1, 30 * (25.0 / 30 - 1.0 / 70), 1}, /* the others wait 40 ms longer for it */
        {100, 0, 30, 1},
        {0, 0, 0, 1},
        {25, 25, 30 * (25.0 / 30 - 25.0 / 70), 1},
        {30, 70, 0, 1}, /* all of the wait, on each rank */
        {25, 1, NAN, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job j = even(4, 1);
        struct pp_digest all;
        struct pp_ranks r;
        for (int k = 0; k < 4; k++)
            j.exchange_delay_ns[k] = (uint64_t)((k == 2 ? rows[i].delay_ms : rows[i].of_all_ms) * 1e6);
        j.exchange_ns = 30 * MS;
        j.step_ns[2] += 40 * MS;
        j.step_delay_ns[2] = rows[i].contended ? 39 * MS : 0;
        judge(&j, &all, &r);
        assert_true(r.straggler_rank == 2);
        assert_string_equal(r.cause, rows[i].contended ? "cpu-contended" : "step");
        assert_true(isnan(rows[i].counted_ms) ? isnan(r.exchange_delay_ns)
                                              : fabs(r.exchange_delay_ns / 1e6 - rows[i].counted_ms) < 0.01);
        double left = 91 - 40 - (isnan(rows[i].counted_ms) ? 0 : rows[i].counted_ms);
        assert_true(fabs(r.gain_share - (91 / left - 1)) < 0.01);
        assert_int_equal(strstr(r.why, "the exchange with the other ranks waits") != NULL,
                         rows[i].counted_ms > 0);
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

/* All ranks come alike, now one last and now another, and wait for the threads of rank 2 when they are there.
 */
static void test_a_rank_that_is_slow_in_the_exchange_is_named(void **state)
{
    static const struct {
        const char *name;
        double delay_ms[4], exchange_ms, named_ms; /* named_ms: what it costs; NAN: none is named */
        int late_by, steps, met;
    } rows[] = {
        {"it alone lacks CPUs", {1, 1, 31, 2}, 40, 30, 0, STEPS, 1},
        {"no more than the exchange takes", {0, 0, 90, 0}, 25, 25, 0, STEPS, 1},
        {"ranks come late in turn, and it lacks CPUs", {1, 1, 31, 1}, 40, 30, 4, STEPS, 1},
        {"a tenth of a step is the least", {1, 1, 5, 1}, 40, NAN, 0, STEPS, 1},
        {"two lack CPUs", {1, 1, 31, 31}, 40, NAN, 0, STEPS, 1},
        {"all lack CPUs", {31, 31, 31, 31}, 40, NAN, 0, STEPS, 1},
        {"too few samples", {1, 1, 31, 2}, 40, NAN, 0, 28, 1},
        {"the waits for others were not recorded", {1, 1, 31, 2}, 40, NAN, 0, STEPS, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job j = even(4, rows[i].met);
        struct pp_digest all;
        struct pp_ranks r;
        for (int k = 0; k < 4; k++)
            j.exchange_delay_ns[k] = (uint64_t)(rows[i].delay_ms[k] * 1e6);
        j.exchange_ns = (uint64_t)(rows[i].exchange_ms * 1e6);
        j.late_by = rows[i].late_by;
        j.steps = rows[i].steps;
        judge(&j, &all, &r);
        if (isnan(rows[i].named_ms) ? !isnan(r.straggler_rank) || !isnan(r.exchange_delay_ns)
                                    : r.straggler_rank != 2 || !same_text(r.cause, "cpu-contended") ||
                                          fabs(r.exchange_delay_ns / 1e6 - rows[i].named_ms) > 0.01 ||
                                          r.gap_ns < r.exchange_delay_ns || r.lost_ns < r.exchange_delay_ns)
            fail_msg("%s: %s, rank %g, cause %s, %.2f ms: %s", rows[i].name, r.kind_name, r.straggler_rank,
                     r.cause ? r.cause : "none", r.exchange_delay_ns / 1e6, r.sentence);
        if (!isnan(rows[i].named_ms)) {
            assert_non_null(strstr(r.sentence, "per step for its part in the exchange"));
            assert_non_null(strstr(r.why, "its threads that exchange with the other ranks were ready"));
            assert_string_equal(r.where, "one rank");
        }
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

/* Rank 2 is last by 30 ms in three of four steps, rank 0 by 20 ms in the fourth: mending rank 2 mends the
 * three. */
static void test_the_gain_is_of_the_straggler_s_own_steps(void **state)
{
    struct job j = even(4, 1);
    struct pp_digest all;
    struct pp_ranks r;
    (void)state;
    j.wait_ns[2] += 30 * MS;
    j.rare_by = 50;
    judge(&j, &all, &r);
    assert_true(r.straggler_rank == 2 && fabs(r.last_share - 0.75) < 0.01);
    double step = (0.75 * 51 + 0.25 * 71), left = step - 0.75 * 30;
    assert_true(fabs(r.step_ns / 1e6 - step) < 0.1);
    if (fabs(r.gain_share - (step / left - 1)) > 0.01)
        fail_msg("gain %.3f, not %.3f", r.gain_share, step / left - 1);
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

static void test_numbers(void **state)
{
    struct job j = even(4, 1);
    struct pp_digest all;
    struct pp_ranks r;
    (void)state;
    j.wait_ns[2] = 31 * MS;
    judge(&j, &all, &r);
    assert_true(fabs(r.lost_ns / 1e6 - 30) < 0.01); /* of each of three ranks */
    assert_true(fabs(r.lost_rank_s - 3 * 0.03 * STEPS) < 0.01);
    assert_true(fabs(r.step_ns / 1e6 - 51) < 0.01);
    assert_true(fabs(r.gain_share - (51.0 / 21 - 1)) < 0.01);
    assert_true(fabs(r.gap_ns / 1e6 - 30) < 0.01);
    assert_true(r.last_share == 1 && r.rows[2].last_share == 1 && r.rows[0].last_share == 0);
    assert_true(isnan(r.since_step));
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

/* The other ranks have nothing to do in a step: what their loaders could do was not seen. */
static void test_no_gain_beyond_what_was_seen(void **state)
{
    static const struct {
        uint64_t ms;
        int known;
    } rows[] = {{170, 1}, {200, 0}, {4000, 0}}; /* with 21 ms that are left: 89 %, 90.5 %, 99.5 % */
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job j = even(4, 1);
        struct pp_digest all;
        struct pp_ranks r;
        j.wait_ns[2] += rows[i].ms * MS;
        judge(&j, &all, &r);
        assert_int_equal(r.kind, PP_RANKS_STRAGGLER);
        if (isnan(r.gain_share) == rows[i].known)
            fail_msg("%d ms: gain %g", (int)rows[i].ms, r.gain_share);
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

static void test_since_when(void **state)
{
    struct job j = even(4, 1);
    struct pp_digest all;
    struct pp_ranks r;
    (void)state;
    j.wait_ns[2] = 31 * MS;
    j.l2 = "straggler-shard";
    j.from_step = 150;
    j.to_step = STEPS;
    judge(&j, &all, &r);
    assert_int_equal(r.kind, PP_RANKS_STRAGGLER);
    assert_true(fabs(r.since_step - 151) <= 3); /* numbers begin at 1; a few steps are anybody's */
    assert_true(fabs(r.since_s - 7.5) < 0.2);
    assert_non_null(strstr(r.where, "one rank, in one part of its data, since step"));
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

static void test_missing_ranks_by_number(void **state)
{
    static const struct {
        const char *here, *missing;
        uint64_t n;
    } rows[] = {{"1111", NULL, 0},   {"0111", "0", 1},    {"1000", "1-3", 3},
                {"1010", "1, 3", 2}, {"0110", "0, 3", 2}, {"0001", "0-2", 3}};
    struct job j = even(4, 1);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_digest all = {0}, one;
        struct pp_ranks r;
        for (int k = 0; k < 4; k++)
            if (rows[i].here[k] == '1') {
                make(&j, k, &one);
                assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
                pp_digest_free(&one);
            }
        assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
        assert_true(same_text(r.missing, rows[i].missing));
        assert_int_equal(r.missing_ranks, rows[i].n);
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

static void test_versions_and_kills_are_said(void **state)
{
    const struct {
        const char *outcome;
        int killed;
    } rows[] = {{NULL, 1}, {PP_RANK_KILLED, 1}, {"interrupted", 0}};
    struct pp_digest x, y;
    struct pp_ranks r;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_rank_row a = row_of(0, 2), b = row_of(1, 2);
        b.version = "0.2.0";
        b.outcome = rows[i].outcome;
        assert_int_equal(pp_digest_make(&a, NULL, 0, &x, &err), PP_OK);
        assert_int_equal(pp_digest_make(&b, NULL, 0, &y, &err), PP_OK);
        assert_int_equal(pp_digest_merge(&x, &y, &err), PP_OK);
        assert_int_equal(pp_ranks_judge(&x, &r, &err), PP_OK);
        assert_non_null(strstr(r.note, "versions 0.1.0 and 0.2.0"));
        assert_int_equal(strstr(r.note, "killed before it was done: rank 1;") != NULL, rows[i].killed);
        pp_ranks_free(&r);
        pp_digest_free(&x);
        pp_digest_free(&y);
    }
}

/* Of a job of which every second rank is missing, not all are listed. */
static void test_the_list_of_missing_ranks_is_bounded(void **state)
{
    struct pp_digest all = {0}, one;
    struct pp_ranks r;
    (void)state;
    for (int i = 1; i < 1000; i += 2) {
        struct pp_rank_row row = row_of(i, 1000);
        assert_int_equal(pp_digest_make(&row, NULL, 0, &one, &err), PP_OK);
        assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
    assert_int_equal(r.missing_ranks, 500);
    assert_string_equal(r.missing, "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, ...");
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

/* The document of each kind against the published schema, and the text at least without a NULL in it. */
static void test_documents(void **state)
{
    struct job jobs[4] = {even(4, 1), even(4, 1), even(1, 1), even(16, 0)};
    const int codes[5] = {0, 0, 0, 0, 139};
    (void)state;
    jobs[1].wait_ns[2] = 31 * MS;
    for (int i = 0; i < 4; i++) {
        struct pp_digest all;
        struct pp_ranks r;
        char *text = NULL;
        size_t size;
        judge(&jobs[i], &all, &r);
        if (i == 1)
            assert_int_equal(pp_ranks_complete(&r, codes, 5, &err), PP_OK);
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(pp_fields_json(pp_ranks_fields, &r, out), 0);
        fclose(out);
        json_t *doc = json_loads(text, 0, NULL);
        assert_non_null(doc);
        schema_check_file("docs/ranks.schema.json", doc);
        json_decref(doc);
        free(text);
        out = open_memstream(&text, &size);
        pp_ranks_text(&r, 0, out);
        fclose(out);
        assert_null(strstr(text, "(null)"));
        assert_null(strstr(text, "nan"));
        if (i == 1)
            assert_non_null(strstr(text, "no recording (exit code 139)"));
        free(text);
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

/* A digest that was made to call its file anything: what is to be pasted is a command all the same. */
static void test_no_foreign_command_is_to_be_pasted(void **state)
{
    static const char *const names[][2] = {{"dir/rank1.sqlite", "pipeprobe report dir/rank1.sqlite"},
                                           {"x; rm -rf ~", "pipeprobe report FILE"},
                                           {"$(id)", "pipeprobe report FILE"},
                                           {"--output=/etc/passwd", "pipeprobe report FILE"}};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct job j = {.ranks = 3, .steps = 100, .met = 1, .wait_ns = {1 * MS, 90 * MS, 1 * MS}};
        struct pp_digest all = {0};
        struct pp_ranks r;
        for (int rank = 0; rank < j.ranks; rank++) {
            struct pp_digest one;
            make(&j, rank, &one);
            one.rows[0].file = names[i][0];
            assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
            pp_digest_free(&one);
        }
        assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
        assert_int_equal(r.kind, PP_RANKS_STRAGGLER);
        assert_string_equal(r.next_step, names[i][1]);
        pp_ranks_free(&r);
        pp_digest_free(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_tree_gives_the_same),
        cmocka_unit_test(test_what_is_merged_is_the_sum),
        cmocka_unit_test(test_what_does_not_belong_together),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_the_ends_that_are_kept_do_not_depend_on_how_many_there_are),
        cmocka_unit_test(test_clocks_are_held_against_each_other),
        cmocka_unit_test(test_recordings_without_an_end_are_named),
        cmocka_unit_test(test_the_wait_for_a_cpu_is_a_cause_in_whatever_phases),
        cmocka_unit_test(test_the_gain_counts_the_exchange_of_a_contended_rank),
        cmocka_unit_test(test_a_rank_that_is_slow_in_the_exchange_is_named),
        cmocka_unit_test(test_the_gain_is_of_the_straggler_s_own_steps),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_no_gain_beyond_what_was_seen),
        cmocka_unit_test(test_since_when),
        cmocka_unit_test(test_missing_ranks_by_number),
        cmocka_unit_test(test_versions_and_kills_are_said),
        cmocka_unit_test(test_the_list_of_missing_ranks_is_bounded),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_no_foreign_command_is_to_be_pasted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
