/* The map of ranks and time, and the page that shows it: what is in which cell, the worst first, and a page
 * of 10,000 ranks that stays small. */
#include "report/ranks/ranks.h"

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
#define START (UINT64_C(1790000000) * 1000000000) /* a multiple of 128 s */
enum { STEPS = 40 };

static struct pp_err err;

/* Steps of 1 s each, of which wait_ms are waiting. */
static void make(int rank, int world, const char *host, int wait_ms, struct pp_digest *out)
{
    struct pp_rank_own_step steps[STEPS];
    struct pp_rank_epoch epochs[] = {{0, (uint64_t)(rank + 1) * 1000 * MS}, {3, 20 * MS}};
    struct pp_rank_row row = {.rank = rank,
                              .world_size = world,
                              .local_rank = -1,
                              .node = -1,
                              .attempt = -1,
                              .host = host,
                              .file = "r.sqlite",
                              .l0 = "not",
                              .outcome = "finished",
                              .samples_per_s = 10,
                              .data_wait_share = wait_ms / 1000.0,
                              .collective_share = NAN,
                              .steps = STEPS,
                              .wait_ns = STEPS * (uint64_t)wait_ms * MS,
                              .step_ns = STEPS * (uint64_t)(1000 - wait_ms) * MS,
                              .epochs = epochs,
                              .n_epochs = rank == 1 ? 1 : 2};
    for (uint32_t i = 0; i < STEPS; i++)
        steps[i] = (struct pp_rank_own_step){.number = i + 1,
                                             .own_ns = (uint64_t)wait_ms * MS,
                                             .input_ns = (uint64_t)wait_ms * MS,
                                             .all_ns = 1000 * MS,
                                             .end_utc_ns = START + (i + 1) * 1000 * MS};
    assert_int_equal(pp_digest_make(&row, steps, STEPS, out, &err), PP_OK);
}

static char *page_of(const struct pp_ranks *r, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    assert_int_equal(pp_ranks_html(r, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_a_row_per_rank(void **state)
{
    struct pp_digest all = {0}, one;
    struct pp_ranks r;
    size_t size;
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        make(rank, 3, "a", rank == 1 ? 900 : 100, &one);
        assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(&all, &r, &err), PP_OK);
    const struct pp_ranks_map *m = &r.map;
    assert_int_equal(m->n_groups, 3);
    assert_false(m->by_host);
    assert_string_equal(m->groups[0].label, "rank 1"); /* the worst */
    assert_string_equal(m->groups[1].label, "rank 0");
    assert_true(m->groups[0].wait_share == 0.9 && m->groups[0].worst_rank == 1);
    assert_int_equal(m->n_columns, STEPS);
    assert_true(m->column_s == 1);
    for (size_t i = 0; i < STEPS; i++)
        assert_true(m->wait_share[i] == 0.9 && m->wait_share[STEPS + i] == 0.1);
    assert_int_equal(m->n_epochs, 2);
    assert_int_equal(m->epoch[1], 3);
    assert_true(m->ready_s[0] == 2 && isnan(m->ready_s[1])); /* rank 1 had no epoch 3 */
    assert_true(m->ready_s[2] == 1 && m->ready_s[3] == 0.02);
    char *text = page_of(&r, &size);
    assert_non_null(strstr(text, "Wait for data over ranks and time"));
    assert_non_null(strstr(text, "Readiness by rank and epoch"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "(null)"));
    free(text);
    pp_ranks_free(&r);
    pp_digest_free(&all);
}

/* Ranks of unequal length: slices of the longest, which hold what the shorter ones did. */
static void test_lengths_fit(void **state)
{
    struct pp_rank_own_step steps[2] = {
        {.number = 1, .input_ns = 1, .all_ns = 2, .end_utc_ns = START},
        {.number = 2, .input_ns = 1, .all_ns = 2, .end_utc_ns = START + UINT64_C(3600000) * MS}};
    struct pp_rank_row row = {.rank = 0, .world_size = 2, .local_rank = -1, .node = -1, .attempt = -1};
    struct pp_digest all = {0}, one;
    uint64_t wait = 0, n = 0;
    (void)state;
    assert_int_equal(pp_digest_make(&row, steps, 2, &one, &err), PP_OK);
    assert_int_equal(one.slice_log2_s, 4); /* an hour in 225 parts */
    assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
    pp_digest_free(&one);
    make(1, 2, "a", 250, &one);
    assert_int_equal(one.slice_log2_s, 0);
    assert_int_equal(pp_digest_merge(&all, &one, &err), PP_OK);
    pp_digest_free(&one);
    assert_int_equal(all.slice_log2_s, 4);
    for (size_t i = 0; i < all.rows[1].n_slices; i++) {
        wait += all.rows[1].slices[i].wait_ns;
        n += all.rows[1].slices[i].steps;
        assert_true(i == 0 || all.rows[1].slices[i].number > all.rows[1].slices[i - 1].number);
    }
    assert_true(wait == STEPS * 250 * MS && n == STEPS);
    assert_in_range(all.rows[1].n_slices, 3, 4);
    pp_digest_free(&all);
}

/* By hand: merging so many is not what is tested here. */
static void test_ten_thousand_ranks(void **state)
{
    enum { RANKS = 10000, PER_NODE = 8, SLICES = 225 };
    struct pp_digest d = {.rows = calloc(RANKS, sizeof(*d.rows)), .n_rows = RANKS, .slice_log2_s = 4};
    struct pp_rank_slice *slices = calloc((size_t)RANKS * SLICES, sizeof(*slices));
    struct pp_rank_epoch *epochs = calloc((size_t)RANKS * 20, sizeof(*epochs));
    static char host[RANKS / PER_NODE][32];
    struct pp_ranks r;
    size_t size;
    (void)state;
    assert_true(d.rows && slices && epochs);
    for (int i = 0; i < RANKS; i++) {
        struct pp_rank_row *row = &d.rows[i];
        unsigned node = (unsigned)i / PER_NODE;
        snprintf(host[node], sizeof(host[0]), "node%04u<i>&", node);
        *row = (struct pp_rank_row){.rank = i,
                                    .world_size = RANKS,
                                    .local_rank = i % PER_NODE,
                                    .node = node,
                                    .attempt = -1,
                                    .host = host[node],
                                    .gpu = "3",
                                    .file = "/scratch/job/rank.sqlite",
                                    .l0 = "input-bound",
                                    .l1 = "storage",
                                    .l2 = "latency",
                                    .steps = 1,
                                    .slices = &slices[(size_t)i * SLICES],
                                    .n_slices = SLICES,
                                    .epochs = &epochs[(size_t)i * 20],
                                    .n_epochs = 20};
        for (unsigned k = 0; k < SLICES; k++) {
            uint64_t wait = i == 4321 ? 99 : ((unsigned)i * 7 + k * 13) % 50;
            row->slices[k] = (struct pp_rank_slice){.number = 1000 + k,
                                                    .steps = 4,
                                                    .wait_ns = wait,
                                                    .all_ns = 100};
            row->wait_ns += wait;
            row->step_ns += 100 - wait;
        }
        for (unsigned k = 0; k < 20; k++)
            row->epochs[k] = (struct pp_rank_epoch){.epoch = k, .ready_ns = (uint64_t)i * MS};
    }
    assert_int_equal(pp_ranks_judge(&d, &r, &err), PP_OK);
    assert_true(r.map.by_host);
    assert_int_equal(r.map.n_groups, PP_RANKS_MAP_ROWS);
    assert_string_equal(r.map.groups[0].label, "node0540<i>&");
    assert_true(r.map.groups[0].worst_rank == 4321);
    assert_int_equal(r.map.groups[0].n_ranks, PER_NODE);
    assert_string_equal(r.map.groups[PP_RANKS_MAP_ROWS - 1].label, "1187 others");
    assert_in_range(r.map.n_columns, 60, PP_RANKS_MAP_COLUMNS);
    assert_int_equal(r.map.n_epochs, PP_RANKS_MAP_EPOCHS);
    assert_int_equal(r.map.epochs_left_out, 4);
    char *text = page_of(&r, &size);
    assert_in_range(size, 10000, 2000000);
    assert_non_null(strstr(text, "node0540&lt;i&gt;&amp; (8)"));
    assert_null(strstr(text, "<i>"));
    free(text);
    pp_ranks_free(&r);
    free(d.rows);
    free(slices);
    free(epochs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_per_rank),
        cmocka_unit_test(test_lengths_fit),
        cmocka_unit_test(test_ten_thousand_ranks),
    };
    return cmocka_run_group_tests_name("ranks_map", tests, NULL, NULL);
}
