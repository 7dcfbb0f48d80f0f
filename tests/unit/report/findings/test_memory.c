/* Memory that grows and goes on growing is a finding with its rate; what grows once, comes and goes, or is
 * noise is none. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"

#define MIB (1024.0 * 1024)

struct shape {
    double seconds, start, per_s, step_at_s, step, warm_s, warm, saw, saw_s, noise, every_s; /* MiB */
};

static struct fake_run *begin(void)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             w0 = fake_thread(f, PP_LANE_WORKER, "worker-0"), w1 = fake_thread(f, PP_LANE_WORKER, "worker-1");
    f->thread[w0].pid = 71;
    f->thread[w1].pid = 72;
    for (uint32_t b = 0; b < 40; b++)
        for (int k = 0; k < 2; k++) {
            struct pp_span *s = fake_span(f, trainer, k ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT,
                                          FAKE_T0 + (2 * b + (uint64_t)k) * 50 * FAKE_MS, 50 * FAKE_MS);
            s->batch = b;
        }
    fake_num(f, "environment", "memory_available", "10737418240", "bytes");
    return f;
}

static void add(struct fake_run *f, const char *name, const struct shape *s)
{
    struct pp_rng r = pp_rng_key(3, 1, 4, 1);
    for (double t = 0; t <= s->seconds; t += s->every_s > 0 ? s->every_s : 1) {
        double v = s->start + s->per_s * t + (t >= s->step_at_s ? s->step : 0) +
                   (s->warm_s > 0 ? s->warm * fmin(t / s->warm_s, 1) : 0) +
                   (s->saw_s > 0 ? s->saw * fmod(t, s->saw_s) / s->saw_s : 0) + s->noise * pp_rng_unit(&r);
        fake_counter(f, name, FAKE_T0 + (uint64_t)(t * 1e9), v * MIB);
    }
}

static void expect(const struct shape *s, const char *state)
{
    struct fake_run *f = begin();
    add(f, "process_anon_bytes.72", s);
    struct pp_report *r = report_of(f);
    if (strcmp(finding(r, "memory-growth")->state_name, state) != 0)
        fail_msg("%s: %s", finding(r, "memory-growth")->state_name, finding(r, "memory-growth")->sentence);
    report_done(r, f);
}

static void test_growth_is_found_with_its_rate(void **state)
{
    struct fake_run *f = begin();
    add(f, "process_anon_bytes.71", &(struct shape){.seconds = 60, .start = 300, .noise = 2});
    add(f, "process_anon_bytes.72", &(struct shape){.seconds = 60, .start = 300, .per_s = 12, .noise = 2});
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *g = finding(r, "memory-growth");
    assert_string_equal(g->state_name, "found");
    assert_non_null(strstr(g->sentence, "worker-1 (process 72) grows 1"));
    assert_non_null(strstr(g->sentence, "at this rate the 9."));
    double rate = number(g, "bytes_per_s"), low = number(g, "low_bytes_per_s"),
           high = number(g, "high_bytes_per_s");
    assert_true(low < 12 * MIB && 12 * MIB < high && high - low < 1.5 * MIB);
    assert_true(fabs(number(g, "full_in_s") / ((10240 * MIB - 60 * rate) / rate) - 1) < 0.02);
    assert_true(number(g, "processes") == 1);
    pp_report_free(r);
    add(f, "process_anon_bytes.71",
        &(struct shape){.seconds = 0, .start = 300}); /* an older reading changes little */
    add(f, "process_anon_bytes.73", &(struct shape){.seconds = 60, .start = 100, .per_s = 5});
    r = report_of(f);
    assert_non_null(strstr(finding(r, "memory-growth")->sentence, "2 processes together 17"));
    report_done(r, f);
}

/* Private memory beside the anonymous one: both grow, or pages are copied; a worker that does neither is
 * none. */
static void test_the_way_it_grows_is_told(void **state)
{
    static const struct {
        double anon, private, every_s;
        const char *says;
    } rows[] = {{0, 8, 1, "worker-1 (process 72) copies 48"},
                {8, 8, 1, "keeps what it makes"},
                {8, 8, 7, "keeps what it makes"}, /* of a large process, which takes long to read */
                {8, 8, 19, "grows 8"},            /* too seldom to tell */
                {0, 0, 1, "does not go on growing"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = begin();
        add(f, "process_anon_bytes.72", &(struct shape){.seconds = 60, .start = 600, .per_s = rows[i].anon});
        add(f, "process_private_bytes.72",
            &(struct shape){
                .seconds = 60, .start = 90, .per_s = rows[i].private, .every_s = rows[i].every_s});
        struct pp_report *r = report_of(f);
        if (!strstr(finding(r, "memory-growth")->sentence, rows[i].says))
            fail_msg("row %zu: %s", i, finding(r, "memory-growth")->sentence);
        report_done(r, f);
    }
}

/* Copies become fewer as the heap is copied; a page that is written once for all is none that goes on. */
static void test_copies_that_become_fewer_are_told(void **state)
{
    static const struct {
        double mib[6]; /* every 3 s */
        const char *state;
    } ways[] = {{{15, 55, 78, 95, 107, 114}, "found"},
                {{34, 47, 56, 62, 66, 69}, "found"},
                {{15, 16, 16.5, 80, 80.5, 80.6}, "not-found"},
                {{34, 60, 61, 61.3, 61.6, 61.9}, "not-found"}}; /* as a process starts */
    for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
        struct fake_run *f = begin();
        add(f, "process_anon_bytes.72", &(struct shape){.seconds = 15, .start = 450});
        for (int i = 0; i < 6; i++)
            fake_counter(f, "process_private_bytes.72", FAKE_T0 + (uint64_t)i * 3000 * FAKE_MS,
                         ways[way].mib[i] * MIB);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *g = finding(r, "memory-growth");
        assert_string_equal(g->state_name, ways[way].state);
        if (strcmp(g->state_name, "found") == 0)
            assert_non_null(strstr(g->sentence, "copy on write: worker-1 (process 72) copies"));
        report_done(r, f);
    }
}

static void test_other_shapes_are_no_growth(void **state)
{
    expect(&(struct shape){.seconds = 60, .start = 300, .noise = 40}, "not-found");
    expect(&(struct shape){.seconds = 60, .start = 300, .step_at_s = 40, .step = 500, .noise = 1},
           "not-found");
    expect(&(struct shape){.seconds = 60, .start = 300, .warm_s = 18, .warm = 900, .noise = 1}, "not-found");
    expect(&(struct shape){.seconds = 120, .start = 300, .saw_s = 15, .saw = 200, .noise = 1}, "not-found");
    expect(&(struct shape){.seconds = 60, .start = 300, .per_s = 0.01}, "not-found"); /* next to nothing */
    expect(&(struct shape){.seconds = 60, .start = 900, .per_s = -8}, "not-found");
    expect(&(struct shape){.seconds = 60, .start = 300, .noise = 40, .every_s = 7}, "not-found");
    expect(&(struct shape){.seconds = 60, .start = 300, .step_at_s = 40, .step = 500, .every_s = 7},
           "not-found");
    expect(&(struct shape){.seconds = 9, .start = 300, .per_s = 50}, "not-measured");
}

static void test_damaged_counters_do_no_harm(void **state)
{
    struct fake_run *f = begin();
    static char name[4000][40];
    for (int i = 0; i < 4000; i++) { /* more processes than are looked at */
        snprintf(name[i], sizeof(name[i]), "process_anon_bytes.%d", i + 1);
        fake_counter(f, name[i], FAKE_T0 + (uint64_t)i, i % 3 ? NAN : 1e300);
    }
    fake_counter(f, "process_anon_bytes.", FAKE_T0, 1);
    fake_counter(f, "process_anon_bytes.-9223372036854775808", FAKE_T0, 1);
    fake_counter(f, "process_anon_bytes.99999999999999999999999", UINT64_MAX, -INFINITY);
    struct pp_report *r = report_of(f);
    assert_string_equal(finding(r, "memory-growth")->state_name, "not-measured");
    report_done(r, f);
}

static void test_what_was_not_recorded_is_not_measured(void **state)
{
    struct fake_run *f = begin();
    struct pp_report *r = report_of(f);
    assert_string_equal(finding(r, "memory-growth")->sentence,
                        "the memory of the processes was not recorded");
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_is_found_with_its_rate),
        cmocka_unit_test(test_the_way_it_grows_is_told),
        cmocka_unit_test(test_copies_that_become_fewer_are_told),
        cmocka_unit_test(test_other_shapes_are_no_growth),
        cmocka_unit_test(test_damaged_counters_do_no_harm),
        cmocka_unit_test(test_what_was_not_recorded_is_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
