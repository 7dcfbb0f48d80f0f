/* What the live view says before it happens: prefetched batches that run out, a worker that hangs; and the
 * machine's meters. Recordings of a model of a loader are looked at second by second, as they grew, and each
 * warning is held against what happened: docs/guide/dashboard.md has the counts that test_warnings prints. */
#include "tests/support/store_dir.h"

#include "collectors/store/writer.h"
#include "probe/base/rng.h"
#include "report/live/live.h"
#include "report/stats/order.h"

#include <math.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define T0 (1000 * S)
enum { TRAINER, WORKER0, WORKERS = 4, BATCHES = 8192 };

/* A loader with W workers that each take `make_ms` for a batch, from second `slow_s` on for `slow_for_s`
 * seconds `factor` times as long; the trainer takes step_ms; the buffer holds `room` batches. */
struct course {
    double make_ms, step_ms, slow_s, slow_for_s, factor, noise, seconds;
    int room;
};

static void put(struct pp_store *s, uint32_t thread, pp_phase phase, uint64_t from, uint64_t to,
                uint32_t batch)
{
    struct pp_span span = {.start_ns = from,
                           .dur_ns = to - from,
                           .phase = (uint8_t)phase,
                           .sample = PP_NO_SAMPLE,
                           .batch = batch};
    assert_int_equal(pp_store_append(s, thread, &span, 1), PP_OK);
}

static void put_depth(struct pp_store *s, uint64_t t, uint64_t depth)
{
    struct pp_span span = {.start_ns = t,
                           .phase = PP_PHASE_COUNTER,
                           .name = 1,
                           .bytes = depth,
                           .sample = PP_NO_SAMPLE,
                           .batch = PP_NO_BATCH};
    assert_int_equal(pp_store_append(s, TRAINER, &span, 1), PP_OK);
}

static struct pp_store *begin(void)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    pp_store_name(s, 1, "queue_ready_batches");
    pp_store_meta_num(s, "run", "started_mono_ns", (double)T0, "ns");
    pp_store_meta_text(s, "environment", "hostname", "a host that is not this one");
    for (uint32_t i = 0; i <= WORKERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), i ? "worker-%u" : "trainer", i - 1);
        pp_store_thread(s, &(struct pp_store_thread){.id = i,
                                                     .lane = i ? PP_LANE_WORKER : PP_LANE_TRAINER,
                                                     .name = name,
                                                     .pid = 1,
                                                     .tid = 1 + (int64_t)i});
    }
    return s;
}

static void end(struct pp_store *s, uint64_t at)
{
    pp_store_meta_num(s, "run", "ended_mono_ns", (double)at, "ns");
    pp_store_meta_text(s, "run", "outcome", "finished");
    assert_int_equal(pp_store_finish(s, NULL), PP_OK);
    pp_store_close(s);
}

static void record(const struct course *c, uint64_t seed)
{
    static uint64_t done[BATCHES], taken[BATCHES];
    struct pp_rng r = pp_rng_key(seed, 2, 4, 8);
    struct pp_store *s = begin();
    uint64_t t = T0, until = T0 + (uint64_t)(c->seconds * 1e9);
    for (uint32_t b = 0; b < BATCHES && t < until; b++) {
        uint64_t from = b >= WORKERS ? done[b - WORKERS] : T0;
        from = (int)b >= c->room && taken[b - (uint32_t)c->room] > from ? taken[b - (uint32_t)c->room] : from;
        double at_s = (double)(from - T0) / 1e9,
               ms = c->make_ms * (at_s >= c->slow_s && at_s < c->slow_s + c->slow_for_s ? c->factor : 1) *
                    (1 - c->noise * log(1 - pp_rng_unit(&r)));
        done[b] = from + (uint64_t)(ms * 1e6);
        put(s, WORKER0 + b % WORKERS, PP_PHASE_READ, from, done[b] - 1000, b);
        put(s, WORKER0 + b % WORKERS, PP_PHASE_COLLATE, done[b] - 1000, done[b], b);
        uint64_t got = done[b] > t ? done[b] : t;
        put(s, TRAINER, PP_PHASE_DATA_WAIT, t, got, b);
        taken[b] = got;
        t = got + (uint64_t)(c->step_ms * 1e6);
        put(s, TRAINER, PP_PHASE_STEP, got, t, b);
    }
    /* The depth that the trainer found, of batches that were made by then and not taken. */
    for (uint32_t b = 0; b < BATCHES && taken[b] && taken[b] < until; b++) {
        uint32_t n = 0;
        for (uint32_t k = b + 1; k < BATCHES && k <= b + (uint32_t)c->room && taken[k]; k++)
            n += done[k] <= taken[b];
        put_depth(s, taken[b], n);
    }
    memset(done, 0, sizeof(done));
    memset(taken, 0, sizeof(taken));
    end(s, until);
}

/* ---- warnings against what happened ---- */

struct score {
    int stalls, told, warnings, right, early; /* early: warned 2 s or more before */
    double ratio[512];                        /* of the time that was told to what it was */
    int n_ratio;
};

static void judge(struct score *sum)
{
    struct pp_live *l;
    struct pp_live_snapshot s;
    double lasts[256];
    float wait[256];
    int n = 0;
    assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
    assert_int_equal(pp_live_at(l, UINT64_MAX, 1, &s, NULL), PP_OK);
    uint64_t first = s.first_s, last = s.last_s;
    for (uint64_t at = first; at <= last && n < 256; at++, n++) {
        assert_int_equal(pp_live_at(l, at, 5, &s, NULL), PP_OK);
        lasts[n] = s.buffer_lasts_s;
        wait[n] = s.wait_series[s.n_series - 1];
    }
    pp_live_close(l);
    int warned_at = -1;
    for (int i = 5; i < n; i++) {
        int stalls = wait[i] >= 0.2f, before = wait[i - 1] >= 0.2f;
        if (stalls && !before) {
            sum->stalls++;
            sum->told += warned_at >= 0;
            sum->early += warned_at >= 0 && i - warned_at >= 2;
        }
        if (stalls)
            warned_at = -1;
        if (isnan(lasts[i]))
            continue;
        warned_at = warned_at < 0 ? i : warned_at;
        int hit = 0, far = i + 2 + (int)(2 * lasts[i]);
        for (int k = i + 1; k < n && k <= far && !hit; k++) {
            hit = wait[k] >= 0.2f;
            if (hit && sum->n_ratio < 512)
                sum->ratio[sum->n_ratio++] = lasts[i] / (k - i);
        }
        if (!hit && far >= n)
            continue; /* the recording ends before it could be seen */
        sum->warnings++;
        sum->right += hit;
    }
}

static void test_warnings(void **state)
{
    struct score sum = {0}, calm = {0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct pp_rng r = pp_rng_key(seed, 1, 1, 9);
        struct course c = {.make_ms = 60,
                           .step_ms = 20,
                           .slow_s = 8 + floor(6 * pp_rng_unit(&r)),
                           .slow_for_s = 100,
                           .factor = 1.5 + 1.5 * pp_rng_unit(&r),
                           .noise = 0.2,
                           .seconds = 40,
                           .room = 60 + (int)(140 * pp_rng_unit(&r))};
        record(&c, seed);
        judge(&sum);
        unlink(store_path);
        c.factor = 1; /* nothing happens */
        c.noise = 0.5;
        c.make_ms = 45;
        record(&c, seed);
        judge(&calm);
        unlink(store_path);
    }
    pp_stats_sort(sum.ratio, (size_t)sum.n_ratio);
    double middle = pp_stats_median_sorted(sum.ratio, (size_t)sum.n_ratio),
           low = pp_stats_quantile_sorted(sum.ratio, (size_t)sum.n_ratio, 0.1),
           high = pp_stats_quantile_sorted(sum.ratio, (size_t)sum.n_ratio, 0.9);
    print_message(
        "buffers that run dry: %d stalls, %d told before (%d by 2 s or more); %d warnings, %d right, time "
        "told over real %.2f (%.2f to %.2f); calm: %d stalls, %d warnings\n",
        sum.stalls, sum.told, sum.early, sum.warnings, sum.right, middle, low, high, calm.stalls,
        calm.warnings);
    assert_true(sum.stalls >= 15 && sum.told >= sum.stalls * 9 / 10);
    assert_true(sum.right >= sum.warnings * 9 / 10);
    assert_true(calm.warnings <= 2);
}

/* A slow spell that ends before the buffer is empty: what was said was right at that rate, and it is taken
 * back. */
static void test_a_spell_that_ends_is_taken_back(void **state)
{
    struct course c = {.make_ms = 60,
                       .step_ms = 20,
                       .slow_s = 8,
                       .slow_for_s = 4,
                       .factor = 3,
                       .noise = 0.1,
                       .seconds = 30,
                       .room = 200};
    struct pp_live *l;
    struct pp_live_snapshot s;
    int during = 0, after = 0;
    record(&c, 1);
    assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
    for (uint64_t at = 1005; at < 1029; at++) {
        assert_int_equal(pp_live_at(l, at, 5, &s, NULL), PP_OK);
        *(at < 1018 ? &during : &after) += !isnan(s.buffer_lasts_s);
    }
    assert_true(during >= 3);
    assert_int_equal(after, 0);
    pp_live_close(l);
}

/* ---- a worker that hangs ---- */

static void look(struct pp_store *s, uint64_t t, uint32_t worker, pp_phase phase, uint64_t since)
{
    pp_store_open_phase(s, &(struct pp_store_open_phase){.t_ns = t,
                                                         .thread = WORKER0 + worker,
                                                         .phase = phase,
                                                         .since_ns = since,
                                                         .batch = PP_NO_BATCH,
                                                         .sample = 5});
}

static void test_a_worker_that_hangs_is_named_while_others_go_on(void **state)
{
    struct pp_store *s = begin();
    struct pp_live *l;
    struct pp_live_snapshot snap;
    for (uint32_t b = 0; b < 500; b++) {
        put(s, WORKER0, PP_PHASE_READ, T0 + b * 20 * MS, T0 + b * 20 * MS + 15 * MS, b);
        put(s, TRAINER, PP_PHASE_STEP, T0 + b * 20 * MS, T0 + (b + 1) * 20 * MS, b);
    }
    for (uint64_t k = 1; k < 10; k++) {
        look(s, T0 + k * S + 500 * MS, 0, PP_PHASE_READ, T0 + k * S + 490 * MS);
        look(s, T0 + k * S + 500 * MS, 1, PP_PHASE_READ, T0 + 3 * S < T0 + k * S ? T0 + 3 * S : T0 + k * S);
        look(s, T0 + k * S + 500 * MS, 2, PP_PHASE_SLOT_WAIT, T0);
    }
    end(s, T0 + 10 * S);
    assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
    assert_int_equal(pp_live_at(l, 1004, 5, &snap, NULL), PP_OK);
    assert_int_equal(snap.hung_worker, -1); /* 1.5 s: not yet */
    assert_int_equal(pp_live_at(l, 1008, 5, &snap, NULL), PP_OK);
    assert_true(snap.hung_worker >= 0);
    assert_string_equal(snap.workers[snap.hung_worker].name, "worker-1");
    assert_int_equal(snap.hung_phase, PP_PHASE_READ);
    assert_true(snap.hung_since_ns == T0 + 3 * S && snap.hung_ns == 5.5e9);
    pp_live_close(l);
}

/* ---- meters ---- */

static void test_meters(void **state)
{
    struct pp_store *s = begin();
    struct pp_live *l;
    struct pp_live_snapshot snap;
    static const char *const busy[] = {"machine_cpu_user_ns_total",   "machine_cpu_nice_ns_total",
                                       "machine_cpu_system_ns_total", "machine_cpu_idle_ns_total",
                                       "machine_cpu_iowait_ns_total", "machine_cpu_steal_ns_total"};
    static const double share[] = {0.5, 0, 0.25, 0.25, 0, 0};
    put(s, TRAINER, PP_PHASE_STEP, T0, T0 + 10 * S - 1, 0);
    for (int k = 0; k < 10; k++) {
        uint64_t t = T0 + (uint64_t)k * S + 100 * MS;
        for (int i = 0; i < 6; i++)
            pp_store_counter(s, t, busy[i], 1e15 + 4e9 * k * share[i]);
        pp_store_counter(s, t, "machine_disk_read_bytes_total", 5e12 + 1e8 * k + (k >= 5 ? 2e8 : 0));
        pp_store_counter(s, t, "machine_disk_write_bytes_total", 1e12);
        pp_store_counter(s, t, "machine_net_rx_bytes_total", k < 8 ? 1e9 : 5); /* begins anew */
        pp_store_counter(s, t, "machine_net_tx_bytes_total", 1e6 * k);
    }
    end(s, T0 + 10 * S);
    assert_int_equal(pp_live_open(store_path, &l, NULL), PP_OK);
    assert_int_equal(pp_live_at(l, 1003, 1, &snap, NULL), PP_OK);
    assert_true(fabs(snap.cpu_busy - 0.75) < 1e-9 && fabs(snap.disk_bytes_per_s - 1e8) < 1);
    assert_true(fabs(snap.net_bytes_per_s - 1e6) < 1 && fabs(snap.disk_most_bytes_per_s - 1e8) < 1);
    assert_int_equal(pp_live_at(l, 1007, 1, &snap, NULL), PP_OK);
    assert_true(fabs(snap.disk_most_bytes_per_s - 3e8) < 1);
    assert_int_equal(pp_live_at(l, 1008, 1, &snap, NULL), PP_OK);
    assert_true(isnan(snap.net_bytes_per_s));
    assert_int_equal(pp_live_at(l, 1000, 1, &snap, NULL), PP_OK);
    assert_true(isnan(snap.cpu_busy)); /* one look */
    pp_live_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_warnings),
        STORE_TEST(test_a_spell_that_ends_is_taken_back),
        STORE_TEST(test_a_worker_that_hangs_is_named_while_others_go_on),
        STORE_TEST(test_meters),
    };
    return cmocka_run_group_tests_name("outlook", tests, NULL, NULL);
}
