/* The digest of a recording that grows: any series of looks gives what one look at all of it gives, and what
 * reading the complete recording gives. */
#include "report/ranks/digest.h"
#include "report/ranks/ranks.h"
#include "tests/support/store_dir.h"

#include "probe/base/rng.h"

#include <math.h>
#include <sys/stat.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define T0 (1000 * S)
enum { TRAINER = 1, WORKER, BATCHES = 200, EPOCH = 60, SAMPLES = 8 };

static struct pp_err err;

struct growing {
    struct pp_store *store;
    struct pp_rng rng;
    uint64_t at;
    uint32_t batch;
    int numbered;
    int mid_step; /* the batch's second step span is still to come */
};

static void put(struct growing *g, uint32_t thread, pp_phase phase, uint64_t from, uint64_t ns,
                uint64_t sample, uint16_t flags)
{
    struct pp_span span = {.start_ns = from,
                           .dur_ns = ns,
                           .phase = (uint8_t)phase,
                           .sample = sample,
                           .batch = g->numbered ? g->batch : PP_NO_BATCH,
                           .epoch = (uint16_t)(g->numbered ? g->batch / EPOCH : 0),
                           .run_delay_ns = ns / 3,
                           .flags = (uint16_t)(flags | PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY)};
    assert_int_equal(pp_store_append(g->store, thread, &span, 1), PP_OK);
}

static void begin(struct growing *g, int numbered)
{
    *g = (struct growing){.store = store_create_with((struct pp_store_opts){0}),
                          .rng = pp_rng_key(11, 0, 0, 0),
                          .at = T0 + S,
                          .numbered = numbered};
    pp_store_meta_num(g->store, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_num(g->store, "run", "started_utc_ns", 1790000000e9, "ns");
    pp_store_meta_num(g->store, "rank", "rank", 1, NULL);
    pp_store_meta_num(g->store, "rank", "world_size", 2, NULL);
    pp_store_meta_text(g->store, "rank", "job", "7");
    pp_store_meta_text(g->store, "config", "loader", "pipeprobe");
    pp_store_meta_text(g->store, "environment", "hostname", "a host that is not this one");
    for (uint32_t id = 0; id <= WORKER; id++)
        pp_store_thread(g->store, &(struct pp_store_thread){.id = id,
                                                            .lane = id == TRAINER  ? PP_LANE_TRAINER
                                                                    : id == WORKER ? PP_LANE_WORKER
                                                                                   : PP_LANE_MAIN,
                                                            .name = "t",
                                                            .pid = 1,
                                                            .tid = 1 + id,
                                                            .recorded = 1});
    assert_int_equal(mkdir(store_rings, 0700), 0); /* it is being written */
    assert_int_equal(pp_store_commit(g->store, NULL), PP_OK);
}

/* Of a batch: wait, sync, step, the other ranks, and the rest of the step, which may be committed later. */
static void grow(struct growing *g)
{
    uint16_t flags = PP_SPAN_COUNT | (g->batch < 3 && g->numbered ? PP_SPAN_WARMUP : 0);
    uint64_t wait = MS + pp_rng_below(&g->rng, 20 * MS), step = 20 * MS, meet = pp_rng_below(&g->rng, 5 * MS);
    if (g->mid_step) {
        put(g, TRAINER, PP_PHASE_STEP, g->at, MS, SAMPLES, flags);
        g->at += 2 * MS;
        g->batch++;
        g->mid_step = 0;
        return;
    }
    for (int i = 0; i < SAMPLES; i++)
        put(g, WORKER, PP_PHASE_READ, g->at + (uint64_t)i * MS, MS, g->batch * SAMPLES + (uint64_t)i, 0);
    put(g, TRAINER, PP_PHASE_DATA_WAIT, g->at, wait, SAMPLES, flags);
    put(g, TRAINER, PP_PHASE_STEP, g->at + wait, step, SAMPLES, flags);
    g->at += wait + step;
    if (g->numbered) {
        put(g, TRAINER, PP_PHASE_COLLECTIVE, g->at, meet, SAMPLES, flags);
        g->at += meet;
        g->mid_step = 1;
    } else {
        g->at += MS;
        g->batch++;
    }
}

static void end(struct growing *g)
{
    pp_store_meta_num(g->store, "run", "ended_mono_ns", (double)g->at, "ns");
    pp_store_meta_text(g->store, "run", "outcome", "finished");
    assert_int_equal(pp_store_finish(g->store, NULL), PP_OK);
    pp_store_close(g->store);
    assert_int_equal(rmdir(store_rings), 0);
}

static void look(struct pp_digest_follow *f, uint64_t now, struct pp_digest *d, int *ended)
{
    pp_digest_free(d);
    assert_int_equal(pp_digest_follow_look(f, UINT64_MAX, now, d, ended, &err), PP_OK);
}

static void assert_same_steps(const struct pp_digest *a, const struct pp_digest *b)
{
    const struct pp_rank_row *x = &a->rows[0], *y = &b->rows[0];
    assert_int_equal(a->n_steps, b->n_steps);
    assert_memory_equal(a->steps, b->steps, a->n_steps * sizeof(*a->steps));
    assert_memory_equal(a->hists, b->hists, PP_DIGEST_HISTS * sizeof(*a->hists));
    assert_true(x->steps == y->steps && x->wait_ns == y->wait_ns && x->sync_ns == y->sync_ns);
    assert_true(x->step_ns == y->step_ns && x->collective_ns == y->collective_ns && x->met == y->met);
    assert_true(x->wait_delay_ns == y->wait_delay_ns && x->step_delay_ns == y->step_delay_ns);
    assert_true(x->wait_delay_ns > x->wait_ns / 4 && x->step_delay_ns > x->step_ns / 4);
    assert_true(x->samples == y->samples && x->until_utc_ns == y->until_utc_ns);
    assert_int_equal(x->n_ends, y->n_ends);
    for (size_t i = 0; i < x->n_ends; i++)
        assert_true(x->ends[i].number == y->ends[i].number && x->ends[i].utc_ns == y->ends[i].utc_ns);
    assert_int_equal(x->n_epochs, y->n_epochs);
    for (size_t i = 0; i < x->n_epochs; i++)
        assert_true(x->epochs[i].epoch == y->epochs[i].epoch &&
                    x->epochs[i].ready_ns == y->epochs[i].ready_ns);
}

static void any_looks_give_the_same(int numbered)
{
    struct growing g;
    struct pp_digest grown = {0}, at_once = {0}, complete = {0};
    struct pp_rng cuts = pp_rng_key(5, (uint64_t)numbered, 0, 0);
    int ended = 1, looks = 0;
    begin(&g, numbered);
    struct pp_digest_follow *f = pp_digest_follow_new(store_path), *once = pp_digest_follow_new(store_path);
    look(f, 5 * S, &grown, &ended);
    assert_true(!ended && grown.n_rows == 1 && grown.n_steps == 0 && grown.rows[0].running);
    assert_true(grown.rows[0].until_utc_ns == 5 * S && grown.rows[0].rank == 1);
    while (g.batch < BATCHES) {
        grow(&g);
        if (pp_rng_below(&cuts, 4))
            continue;
        assert_int_equal(pp_store_commit(g.store, NULL), PP_OK);
        size_t before = grown.n_steps;
        look(f, g.at, &grown, &ended);
        assert_true(!ended && grown.n_steps >= before && grown.rows[0].running && !grown.rows[0].outcome);
        looks++;
    }
    assert_true(looks > 20);
    end(&g);
    look(f, g.at, &grown, &ended);
    assert_true(ended && !grown.rows[0].running);
    assert_string_equal(grown.rows[0].outcome, "finished");
    look(once, g.at, &at_once, NULL);
    assert_same_steps(&grown, &at_once);
    assert_true(grown.rows[0].work_ns[PP_PHASE_READ] == at_once.rows[0].work_ns[PP_PHASE_READ]);
    assert_true(grown.rows[0].work_delay_ns == at_once.rows[0].work_delay_ns);
    uint64_t read_ns = grown.rows[0].work_ns[PP_PHASE_READ];
    assert_true(read_ns / 3 - grown.rows[0].work_delay_ns <=
                read_ns / MS); /* a third, rounded down in each */
    assert_int_equal(pp_digest_read(store_path, 0, &complete, &err), PP_OK);
    assert_same_steps(&grown, &complete);
    assert_int_equal(complete.rows[0].n_batches, 0); /* which were not asked for */
    pp_digest_free(&complete);
    assert_int_equal(pp_digest_read(store_path, 1, &complete, &err), PP_OK);
    assert_same_steps(&grown, &complete);
    assert_int_equal(complete.rows[0].n_batches > BATCHES, numbered);
    assert_int_equal(grown.rows[0].n_epochs > 1, numbered);
    assert_int_equal(grown.rows[0].n_ends > 50, numbered);
    look(f, g.at, &grown, &ended); /* and once more: nothing comes twice */
    assert_same_steps(&grown, &complete);
    pp_digest_free(&grown);
    pp_digest_free(&at_once);
    pp_digest_free(&complete);
    pp_digest_follow_free(f);
    pp_digest_follow_free(once);
}

static void test_any_looks_give_the_same(void **state)
{
    (void)state;
    any_looks_give_the_same(1);
}

static void test_also_where_batches_have_no_numbers(void **state)
{
    (void)state;
    any_looks_give_the_same(0);
}

/* What was written when the rings are gone and no outcome came. */
static void test_a_killed_one_has_ended(void **state)
{
    struct growing g;
    struct pp_digest d = {0};
    int ended = 0;
    (void)state;
    begin(&g, 1);
    while (g.batch < 30)
        grow(&g);
    assert_int_equal(pp_store_commit(g.store, NULL), PP_OK);
    pp_store_close(g.store);
    rmdir(store_rings);
    struct pp_digest_follow *f = pp_digest_follow_new(store_path);
    look(f, g.at, &d, &ended);
    assert_true(ended && !d.rows[0].running && !d.rows[0].outcome && d.n_steps > 20);
    assert_true(d.rows[0].until_utc_ns > UINT64_C(1790000000) * S); /* the last span, not now */
    pp_digest_free(&d);
    pp_digest_follow_free(f);
}

/* What the process says of a collective of some ranks: its end says nothing of the clocks of all. The waits
 * are waits for other ranks all the same. */
static void collectives_of_a_group(int named)
{
    struct growing g;
    struct pp_digest looked = {0}, read = {0};
    begin(&g, 1);
    while (g.batch < 60)
        grow(&g);
    if (named)
        pp_store_meta_text(g.store, "process_note", "1",
                           "clocks are not compared: the job has collectives of a named group of ranks");
    pp_store_meta_num(g.store, "result", "ended_first_by_ns", named ? 5e6 : -1, "ns");
    end(&g);
    struct pp_digest_follow *f = pp_digest_follow_new(store_path);
    look(f, g.at, &looked, NULL);
    assert_int_equal(pp_digest_read(store_path, 0, &read, &err), PP_OK);
    assert_same_steps(&looked, &read);
    assert_int_equal(read.rows[0].n_ends > 50, !named);
    assert_true(read.rows[0].met && read.rows[0].collective_ns > 0);
    assert_int_equal(read.rows[0].first_by_ns, named ? 5 * MS : 0);
    pp_digest_free(&looked);
    pp_digest_free(&read);
    pp_digest_follow_free(f);
}

static void test_collectives_of_all_ranks_tell_the_clocks(void **state)
{
    (void)state;
    collectives_of_a_group(0);
}

static void test_collectives_of_a_named_group_are_no_clock(void **state)
{
    (void)state;
    collectives_of_a_group(1);
}

static void test_what_is_not_there_is_said(void **state)
{
    struct pp_digest d = {0};
    (void)state;
    struct pp_digest_follow *f = pp_digest_follow_new("/tmp/pp-there-is-no-such-recording.sqlite");
    assert_int_equal(pp_digest_follow_look(f, UINT64_MAX, 0, &d, NULL, &err), PP_E_NOT_FOUND);
    assert_true(err.text[0] && !d.n_rows);
    pp_digest_follow_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_any_looks_give_the_same),
        STORE_TEST(test_also_where_batches_have_no_numbers),
        STORE_TEST(test_a_killed_one_has_ended),
        STORE_TEST(test_collectives_of_all_ranks_tell_the_clocks),
        STORE_TEST(test_collectives_of_a_named_group_are_no_clock),
        STORE_TEST(test_what_is_not_there_is_said),
    };
    return cmocka_run_group_tests_name("digests of growing recordings", tests, NULL, NULL);
}
