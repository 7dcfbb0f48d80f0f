/* Less detail: sums stay, positions stay, what is left out is said. */
#include "tests/support/store_dir.h"

#include "collectors/record/drain.h"
#include "collectors/store/store.h"
#include "collectors/store/reader.h"

#include "probe/base/rng.h"

#include <sys/stat.h>

#define N 4096u

/* Per phase: what no merging may change. */
struct sums {
    uint64_t dur[PP_PHASE_COUNT], cpu[PP_PHASE_COUNT], bytes[PP_PHASE_COUNT], samples[PP_PHASE_COUNT],
        kib[PP_PHASE_COUNT], errors, counters;
};

static void add_up(struct sums *s, const struct pp_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *p = &spans[i];
        s->dur[p->phase] += p->dur_ns;
        s->cpu[p->phase] += p->cpu_ns;
        s->bytes[p->phase] += p->bytes;
        s->kib[p->phase] += p->cache_hit_kib;
        s->samples[p->phase] += p->flags & PP_SPAN_COUNT ? p->sample : p->sample != PP_NO_SAMPLE;
        s->errors += (p->flags & PP_SPAN_ERROR) != 0;
        s->counters += p->phase == PP_PHASE_COUNTER;
    }
}

static void fill(struct pp_rng *r, struct pp_span *s, size_t n, pp_lane lane)
{
    static const uint8_t worker[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM,
                                     PP_PHASE_DISPATCH_WAIT, PP_PHASE_COUNTER};
    static const uint8_t trainer[] = {PP_PHASE_DATA_WAIT, PP_PHASE_STEP};
    uint64_t t = 1000000000;
    for (size_t i = 0; i < n; i++) {
        int trains = lane == PP_LANE_TRAINER;
        uint8_t phase = trains ? trainer[i % 2] : worker[pp_rng_below(r, 5)];
        int whole = phase == PP_PHASE_DISPATCH_WAIT || phase == PP_PHASE_COUNTER;
        s[i] = (struct pp_span){
            .start_ns = t,
            .dur_ns = pp_rng_below(r, 100000),
            .phase = phase,
            .batch = (uint32_t)(i / 300),
            .epoch = (uint16_t)(i / 2000),
            .sample = trains  ? 32
                      : whole ? PP_NO_SAMPLE
                              : i,
            .bytes = pp_rng_below(r, 5000),
            .cpu_ns = pp_rng_below(r, 1000),
            .cache_hit_kib = (uint32_t)pp_rng_below(r, 9),
            .flags = (uint16_t)(trains ? PP_SPAN_COUNT
                                       : PP_SPAN_HAS_CPU | (pp_rng_below(r, 50) == 0 ? PP_SPAN_ERROR : 0)),
        };
        t += s[i].dur_ns;
    }
}

static void test_sums_stay(void **state)
{
    static const pp_lane lanes[] = {PP_LANE_WORKER, PP_LANE_TRAINER, PP_LANE_COPY};
    struct pp_rng r = pp_rng_key(2, 7, 1, 8);
    struct pp_span *s = malloc(N * sizeof(*s)), *before = malloc(N * sizeof(*s));
    for (int trial = 0; trial < 30; trial++) {
        for (size_t k = 0; k < 3; k++) {
            size_t last = N, n = 1 + pp_rng_below(&r, N);
            fill(&r, before, n, lanes[k]);
            for (int detail = PP_DETAIL_SAMPLE; detail <= PP_DETAIL_ROLLUP; detail++) {
                struct sums was = {.errors = 0}, is = {.errors = 0};
                memcpy(s, before, n * sizeof(*s));
                size_t kept = pp_detail_merge((enum pp_detail)detail, lanes[k], s, n);
                assert_in_range(kept, 1, n);
                add_up(&was, before, n);
                add_up(&is, s, kept);
                assert_memory_equal(&was, &is, sizeof(was));
                assert_true(kept <= last); /* each level keeps no more than the one before */
                last = kept;
                if (detail == PP_DETAIL_SAMPLE || lanes[k] == PP_LANE_TRAINER)
                    assert_memory_equal(s, before, n * sizeof(*s));
            }
        }
    }
    fill(&r, s, N, PP_LANE_WORKER);
    assert_true(pp_detail_merge(PP_DETAIL_BATCH, PP_LANE_WORKER, s, N) < N / 2);
    free(before);
    free(s);
}

static void test_many_groups(void **state)
{
    struct pp_span *s = calloc(N, sizeof(*s));
    uint64_t total = 0;
    for (uint32_t i = 0; i < N; i++)
        s[i] = (struct pp_span){.batch = i * 7919u % 1500u, .sample = i, .dur_ns = i, .phase = PP_PHASE_READ};
    size_t kept = pp_detail_merge(PP_DETAIL_BATCH, PP_LANE_WORKER, s, N);
    for (size_t i = 0; i < kept; i++)
        total += s[i].dur_ns;
    assert_in_range(kept, 1500, N);
    assert_int_equal(total, (uint64_t)N * (N - 1) / 2);
    free(s);
}

/* ---- in the file ---- */

static struct pp_store *create(enum pp_detail detail, uint64_t max_bytes)
{
    struct pp_store *s = store_create_with(
        (struct pp_store_opts){.force = 1, .detail = detail, .max_bytes = max_bytes});
    pp_store_thread(s, &(struct pp_store_thread){.id = 0, .lane = PP_LANE_WORKER, .name = "w"});
    return s;
}

static void test_roll_ups_and_positions(void **state)
{
    struct pp_rng r = pp_rng_key(3, 1, 4, 2);
    struct pp_span *s = malloc(3 * N * sizeof(*s));
    struct pp_err err;
    fill(&r, s, 3 * N, PP_LANE_WORKER);
    double count[2], total[2];
    for (int detail = PP_DETAIL_SAMPLE; detail <= PP_DETAIL_BATCH; detail++) {
        struct pp_store *store = create((enum pp_detail)detail, 0);
        assert_int_equal(pp_store_append(store, 0, s, 2 * N + 100), PP_OK);
        assert_int_equal(pp_store_commit(store, &err), PP_OK);
        assert_int_equal(pp_store_append(store, 0, s + 2 * N + 100, N - 100), PP_OK);
        assert_int_equal(pp_store_finish(store, &err), PP_OK);
        pp_store_close(store);
        count[detail] = store_query("SELECT sum(n) FROM rollup_second");
        total[detail] = store_query("SELECT sum(total_ns) FROM rollup_second");
        assert_int_equal((int)store_query("SELECT max(coalesce(next_seq, seq0 + n)) FROM chunk"),
                         3 * N); /* where a recovery would go on */
        assert_int_equal(
            (int)store_query(
                "SELECT count(*) FROM chunk c WHERE seq0 <> coalesce((SELECT max(coalesce(next_seq, seq0 + n)) FROM chunk WHERE id < c.id), 0)"),
            0);
        assert_int_equal((int)store_query("SELECT count(*) FROM loss WHERE what = 'detail'"), detail);
    }
    assert_true(count[0] == count[1] && total[0] == total[1]);
    free(s);
}

static void test_max_bytes(void **state)
{
    enum { LIMIT = 1 << 20 };
    struct pp_rng r = pp_rng_key(5, 5, 5, 5);
    struct pp_span *s = malloc(N * sizeof(*s));
    struct stat st;
    struct pp_err err;
    struct pp_store *store = create(PP_DETAIL_SAMPLE, LIMIT);
    uint64_t n = 0;
    for (int i = 0; i < 400; i++) {
        fill(&r, s, N, PP_LANE_WORKER);
        for (size_t k = 0; k < N; k++)
            s[k].sample = PP_NO_SAMPLE,
            s[k].start_ns += (uint64_t)i * 400000000u; /* nothing to merge at "batch" */
        assert_int_equal(pp_store_append(store, 0, s, N), PP_OK);
        assert_int_equal(pp_store_commit(store, &err), PP_OK);
        n += N;
    }
    assert_int_equal(pp_store_progress(store).detail, PP_DETAIL_ROLLUP);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    assert_int_equal(stat(store_path, &st), 0);
    assert_in_range(st.st_size, LIMIT / 2, LIMIT + LIMIT / 4); /* what one commit adds, and an index */
    assert_true(store_query("SELECT count FROM loss WHERE what = 'spans'") > (double)n / 4);
    assert_int_equal((int)store_query(
                         "SELECT count(*) FROM loss WHERE what = 'detail' AND why LIKE '%max-bytes%'") >= 2,
                     1);
    free(s);
}

/* A drain that comes too rarely for its rings turns detail down by itself. */
static void test_drops_turn_detail_down(void **state)
{
    struct pp_session *session;
    struct pp_drain *drain;
    struct pp_err err;
    struct pp_drain_stats stats;
    struct pp_store *store = create(PP_DETAIL_SAMPLE, 0);
    assert_int_equal(pp_session_open(&(struct pp_session_opts){.ring_spans = 16}, &session, &err), PP_OK);
    assert_int_equal(pp_drain_start(&(struct pp_drain_opts){.session = session,
                                                            .store = store,
                                                            .poll_ns = 5000000,
                                                            .commit_ns = 10000000},
                                    &drain, &err),
                     PP_OK);
    struct pp_thread *t = pp_thread_register(session, PP_LANE_WORKER, "fast");
    for (int round = 0; round < 400 && pp_store_progress(store).detail == PP_DETAIL_SAMPLE; round++) {
        for (unsigned i = 0; i < 20000; i++)
            pp_span_put(t, &(struct pp_span){.start_ns = 1000 + i,
                                             .dur_ns = 1,
                                             .phase = PP_PHASE_READ,
                                             .batch = 1,
                                             .sample = i});
        usleep(5000);
    }
    pp_drain_stop(drain, &stats);
    assert_true(stats.dropped > 0);
    assert_int_equal(pp_store_progress(store).detail > PP_DETAIL_SAMPLE, 1);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    pp_session_close(session, 0);
    assert_int_equal(
        (int)store_query(
            "SELECT count(*) FROM loss WHERE what = 'detail' AND count = 0 AND why LIKE '%faster than%'") >=
            1,
        1);
    assert_int_equal((int)(store_query("SELECT count FROM loss WHERE what = 'spans'") ==
                           (double)stats.dropped),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_stay),        cmocka_unit_test(test_many_groups),
        STORE_TEST(test_roll_ups_and_positions), STORE_TEST(test_max_bytes),
        STORE_TEST(test_drops_turn_detail_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
