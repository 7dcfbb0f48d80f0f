/* What is looked for beside the wait: an interval is found where one was planted, named by what happens then,
 * and never in noise; the first batch and the boundaries of epochs are found where they cost something. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"
#include "report/source/source.h"
#include "report/stats/periodicity.h"

/* ---- the statistic ---- */

enum { SLOTS = 6000 };
#define SPAN 600.0

static int by_time(const void *a, const void *b)
{
    const struct pp_stats_event *x = a, *y = b;
    return (x->t > y->t) - (x->t < y->t);
}

static double on_lattice(double t)
{
    return floor(t * SLOTS / SPAN) * SPAN / SLOTS;
}

static double normal(struct pp_rng *r)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += pp_rng_unit(r);
    return sum;
}

static size_t add_noise(struct pp_stats_event *e, size_t n, size_t more, struct pp_rng *r)
{
    for (size_t i = 0; i < more; i++)
        e[n + i] = (struct pp_stats_event){on_lattice(SPAN * pp_rng_unit(r)), -log(1 - pp_rng_unit(r))};
    return n + more;
}

/* 8 stalls at a time, within 10 s. */
static size_t add_clusters(struct pp_stats_event *e, size_t n, size_t clusters, struct pp_rng *r)
{
    for (size_t c = 0; c < clusters; c++) {
        double t = (SPAN - 20) * pp_rng_unit(r);
        for (int i = 0; i < 8; i++)
            e[n++] = (struct pp_stats_event){on_lattice(t + 10 * pp_rng_unit(r)), -log(1 - pp_rng_unit(r))};
    }
    return n;
}

/* More and more of them. */
static size_t add_drift(struct pp_stats_event *e, size_t n, size_t more, struct pp_rng *r)
{
    for (size_t i = 0; i < more; i++)
        e[n++] = (struct pp_stats_event){on_lattice(SPAN * sqrt(pp_rng_unit(r))), -log(1 - pp_rng_unit(r))};
    return n;
}

/* At p <= 0.005, 600 sets of random stalls may give 3 by chance, and 9 with a chance of 1 in 250. */
static void test_noise_has_no_period(void **state)
{
    static const size_t counts[] = {4, 6, 10, 30, 100, 400};
    static struct pp_stats_event e[512];
    int fired = 0;
    for (size_t k = 0; k < 8; k++)
        for (uint64_t seed = 0; seed < 75; seed++) {
            struct pp_rng r = pp_rng_key(seed, k, 1, 2);
            struct pp_period p;
            size_t n = k < 6    ? add_noise(e, 0, counts[k], &r)
                       : k == 6 ? add_clusters(e, 0, 12, &r)
                                : add_drift(e, 0, 60, &r);
            qsort(e, n, sizeof(*e), by_time);
            fired += pp_stats_period(e, n, SPAN, SLOTS, 0.4, &p);
        }
    assert_in_range(fired, 0, 8);
}

/* Stalls every `period` seconds, each that late or early (a random walk), among others. Returns how many of 8
 * were found, at the right interval. */
static int found_of_8(double period, double jitter, size_t others)
{
    static struct pp_stats_event e[1024];
    int right = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct pp_rng r = pp_rng_key(seed, others, (uint64_t)period, 3);
        struct pp_period p;
        size_t n = 0;
        for (double t = period * pp_rng_unit(&r); t < SPAN; t += period * (1 + jitter * normal(&r)))
            e[n++] = (struct pp_stats_event){on_lattice(t), 4};
        n = add_noise(e, n, others, &r);
        qsort(e, n, sizeof(*e), by_time);
        if (pp_stats_period(e, n, SPAN, SLOTS, 0.4, &p)) {
            assert_true(p.events <= n && p.p <= 0.005);
            right += fabs(p.period / period - 1) < 0.1;
        }
    }
    return right;
}

/* What comes every few batches is not called by a multiple of that: its stalls differ in length. */
static void test_a_multiple_is_no_period(void **state)
{
    for (int every = 3; every <= 20; every++) {
        struct pp_stats_event e[64];
        struct pp_period p;
        size_t n = 0;
        for (int i = every; i < 160; i += every)
            e[n++] = (struct pp_stats_event){.t = i, .weight = 120 + i * 7919 % 13};
        assert_true(pp_stats_period(e, n, 160, 160, 3, &p));
        assert_true(fabs(p.period - every) < 0.01);
        assert_int_equal(p.events, n);
    }
}

static void test_planted_periods_are_found(void **state)
{
    assert_int_equal(found_of_8(150, 0, 0), 8); /* four stalls, three returns */
    assert_int_equal(found_of_8(100, 0.01, 0), 8);
    assert_int_equal(found_of_8(20, 0, 5), 8);
    assert_in_range(found_of_8(20, 0.05, 5), 7, 8);
    assert_in_range(found_of_8(60, 0.01, 40), 6, 8); /* 10 among 40 */
    assert_int_equal(found_of_8(2, 0.03, 0), 8);     /* 300: more than are looked at */
    assert_int_equal(found_of_8(400, 0, 0), 0);      /* it came twice: too few to tell */
}

/* ---- in a run ---- */

struct planted {
    int batches;
    double every_s; /* 0: none */
    uint64_t stall_ns;
    pp_phase phase;                     /* of the trainer; READ: its wait, while the workers read */
    double noise;                       /* of the step */
    double io_waited, io_waited_always; /* PSI io: the part of the stalls, and of all other time, in which
                                           some task waited for I/O; counters are there if either is > 0 */
};

static struct pp_span *lap(struct fake_run *f, uint32_t thread, pp_phase phase, uint64_t *t, uint64_t dur_ns,
                           int batch)
{
    struct pp_span *s = fake_span(f, thread, phase, *t, dur_ns);
    s->batch = (uint32_t)batch;
    *t += dur_ns;
    return s;
}

/* Tasks that wait for I/O during these stalls and at other times, as the system counts it and a collector
 * reads it ten times a second. */
static void add_psi(struct fake_run *f, const struct planted *p, const uint64_t *stall_start, size_t stalls,
                    uint64_t end)
{
    double waited = 0;
    size_t at = 0;
    for (uint64_t t = FAKE_T0; t < end; t += FAKE_MS) {
        while (at < stalls && stall_start[at] + p->stall_ns <= t)
            at++;
        if ((t - FAKE_T0) % (100 * FAKE_MS) == 0)
            fake_counter(f, "psi_io_some_ns_total", t, waited);
        waited += 1e6 * (at < stalls && stall_start[at] <= t ? p->io_waited : p->io_waited_always);
    }
}

/* Steps of 20 ms, waits of 1 ms, one worker that decodes, and now and then something else. */
static struct fake_run *planted_run(const struct planted *p)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "pp-trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "pp-worker-0");
    struct pp_rng r = pp_rng_key(7, 0, 0, 5);
    uint64_t t = FAKE_T0, next = FAKE_T0 + (uint64_t)(p->every_s * 0.7e9), stall_start[64];
    size_t n_stalls = 0;
    for (int b = 0; b < p->batches; b++) {
        int stalls = p->every_s > 0 && t >= next;
        uint64_t begun = t, wait = 1 * FAKE_MS + (stalls && p->phase == PP_PHASE_READ ? p->stall_ns : 0);
        next += stalls ? (uint64_t)(p->every_s * 1e9) : 0;
        if (stalls && n_stalls < sizeof(stall_start) / sizeof(*stall_start))
            stall_start[n_stalls++] = t;
        if (stalls && p->phase == PP_PHASE_CHECKPOINT)
            lap(f, trainer, PP_PHASE_CHECKPOINT, &t, p->stall_ns, b)->batch = PP_NO_BATCH;
        lap(f, trainer, PP_PHASE_DATA_WAIT, &t, wait, b);
        uint64_t step = (uint64_t)(20e6 * (1 + p->noise * -log(1 - pp_rng_unit(&r)))) +
                        (stalls && p->phase == PP_PHASE_STEP ? p->stall_ns : 0);
        lap(f, trainer, PP_PHASE_STEP, &t, step, b);
        if (b < 5)
            for (size_t i = 1; i <= 2; i++)
                f->span[trainer][f->n_spans[trainer] - i].flags |= PP_SPAN_WARMUP;
        uint64_t w = begun;
        lap(f, worker, PP_PHASE_READ, &w, wait, b)->sample = (uint64_t)b;
        lap(f, worker, PP_PHASE_DECODE, &w, t - w, b)->sample = (uint64_t)b;
    }
    if (p->io_waited > 0 || p->io_waited_always > 0)
        add_psi(f, p, stall_start, n_stalls, t);
    return f;
}

static void expect_periodic(const struct planted *p, const char *words)
{
    struct fake_run *f = planted_run(p);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *found = finding(r, "periodic-stalls");
    if (!words)
        assert_string_equal(found->state_name, "not-found");
    else {
        assert_string_equal(found->state_name, "found");
        if (!strstr(found->sentence, words))
            fail_msg("%s", found->sentence);
        assert_true(fabs(number(found, "period_s") / p->every_s - 1) < 0.05);
        assert_true(fabs(number(found, "stall_s") * 1e9 / (double)p->stall_ns - 1) < 0.1);
        assert_non_null(found->next_step);
    }
    report_done(r, f);
}

static void test_a_stall_is_named_by_what_happens_then(void **state)
{
    struct planted p = {
        .batches = 3000, .every_s = 9, .stall_ns = 400 * FAKE_MS, .phase = PP_PHASE_CHECKPOINT, .noise = 0.1};
    expect_periodic(&p, "a stall every 9.0");
    expect_periodic(&p, "coincides with checkpoint spans");
    p.phase = PP_PHASE_STEP;
    expect_periodic(&p, "coincides with longer step of the trainer");
    p.phase = PP_PHASE_READ;
    expect_periodic(&p, "coincides with longer read of the workers");
    p.phase = PP_PHASE_NONE;
    p.every_s = 0;
    expect_periodic(&p, NULL);
    p = (struct planted){.batches = 3000, .noise = 1}; /* stalls all the time, at no interval */
    expect_periodic(&p, NULL);
    p = (struct planted){.batches = 3000,
                         .every_s = 9,
                         .stall_ns = 60 * FAKE_MS,
                         .phase = PP_PHASE_STEP}; /* 0.7 % of the time: an interval, but without a loss */
    expect_periodic(&p, NULL);
}

/* Something writes at that interval, and tasks wait for I/O meanwhile: that is said, and where to look. Tasks
 * that wait for I/O all the time coincide with nothing. */
static void test_tasks_that_wait_for_io_coincide(void **state)
{
    static const struct {
        double in_stalls, always, least, most;
    } rows[] = {{0.9, 0, 0.85, 0.95}, {0.9, 0.1, 0.7, 0.9}, {0.6, 0.6, 0, 0.1}, {0.2, 0, 0.15, 0.25}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct planted p = {.batches = 3000,
                            .every_s = 9,
                            .stall_ns = 400 * FAKE_MS,
                            .phase = PP_PHASE_READ,
                            .io_waited = rows[i].in_stalls,
                            .io_waited_always = rows[i].always};
        struct fake_run *f = planted_run(&p);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *found = finding(r, "periodic-stalls");
        double share = number(found, "psi_io_share");
        if (!(share >= rows[i].least && share <= rows[i].most))
            fail_msg("row %zu: psi_io_share %g is not from %g to %g", i, share, rows[i].least, rows[i].most);
        assert_non_null(strstr(found->sentence, "coincides with longer read of the workers"));
        assert_int_equal(strstr(found->sentence, ", while tasks waited for I/O (PSI)") != NULL, share >= 0.5);
        assert_int_equal(strstr(found->next_step, "writes or reads at this interval") != NULL, share >= 0.5);
        report_done(r, f);
    }
    struct planted unrecorded = {
        .batches = 3000,
        .every_s = 9,
        .stall_ns = 400 * FAKE_MS,
        .phase = PP_PHASE_READ}; /* without counters the share is unknown, and nothing is said of it */
    struct fake_run *f = planted_run(&unrecorded);
    struct pp_report *r = report_of(f);
    assert_true(isnan(number(finding(r, "periodic-stalls"), "psi_io_share")));
    assert_null(strstr(finding(r, "periodic-stalls")->sentence, "PSI"));
    report_done(r, f);
}

static void test_too_few_batches_are_not_measured(void **state)
{
    struct planted p = {.batches = 15};
    struct fake_run *f = planted_run(&p);
    struct pp_report *r = report_of(f);
    assert_string_equal(finding(r, "periodic-stalls")->state_name, "not-measured");
    report_done(r, f);
}

/* ---- first batch, epoch boundaries ---- */

/* 100 ms of opening, then batches of 50 ms; epochs of 10, at whose beginning the trainer waits that long. */
static struct pp_report *epochs_run(uint64_t boundary_ns, uint64_t restart_ns, const char *ended_by,
                                    struct fake_run **run)
{
    struct fake_run *f = *run = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "pp-trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "pp-worker-0"),
             main_thread = fake_thread(f, PP_LANE_MAIN, "pp-main");
    uint64_t t = FAKE_T0;
    fake_span(f, main_thread, PP_PHASE_STARTUP, t, 100 * FAKE_MS);
    t += 100 * FAKE_MS;
    for (int b = 0; b < 100; b++) {
        int first = b > 0 && b % 10 == 0;
        uint64_t begun = t;
        struct pp_span *wait = lap(f, trainer, first ? PP_PHASE_EPOCH_BOUNDARY : PP_PHASE_DATA_WAIT, &t,
                                   first ? boundary_ns : 5 * FAKE_MS, b),
                       *step;
        wait->epoch = (uint16_t)(b / 10);
        step = lap(f, trainer, PP_PHASE_STEP, &t, 45 * FAKE_MS, b);
        step->epoch = (uint16_t)(b / 10);
        if (first && restart_ns) {
            uint64_t w = begun;
            lap(f, worker, PP_PHASE_STARTUP, &w, restart_ns, b);
        }
    }
    fake_num(f, "run", "started_mono_ns", "5000000000", "ns");
    fake_text(f, "result", "ended_by", ended_by);
    return report_of(f);
}

static void test_epoch_boundaries(void **state)
{
    struct fake_run *f;
    struct pp_report *r = epochs_run(105 * FAKE_MS, 0, "duration", &f);
    const struct pp_report_finding *b = finding(r, "epoch-boundaries");
    assert_string_equal(b->state_name, "found");
    assert_true(fabs(number(b, "boundaries") - 9) < 1e-9);
    assert_true(fabs(number(b, "wait_s") - 0.105) < 1e-9);
    assert_true(fabs(number(b, "time_share") - 9 * 0.1 / (99 * 0.05 + 9 * 0.1)) < 1e-6);
    assert_null(strstr(b->sentence, "start again"));
    report_done(r, f);
    r = epochs_run(105 * FAKE_MS, 90 * FAKE_MS, "duration", &f);
    assert_non_null(
        strstr(finding(r, "epoch-boundaries")->sentence, "the workers start again for every epoch"));
    report_done(r, f);
    r = epochs_run(20 * FAKE_MS, 0, "duration", &f);
    assert_string_equal(finding(r, "epoch-boundaries")->state_name, "not-found");
    report_done(r, f);
    struct planted one_epoch = {.batches = 40};
    f = planted_run(&one_epoch);
    r = report_of(f);
    assert_string_equal(finding(r, "epoch-boundaries")->state_name, "not-measured");
    report_done(r, f);
}

static void test_first_batch(void **state)
{
    struct fake_run *f;
    struct pp_report *r = epochs_run(5 * FAKE_MS, 0, "epochs", &f);
    const struct pp_report_finding *first = finding(r, "first-batch");
    assert_string_equal(first->state_name, "not-found"); /* 105 ms of 5.1 s */
    assert_true(fabs(number(first, "first_batch_s") - 0.105) < 1e-9);
    assert_true(fabs(number(first, "opening_s") - 0.1) < 1e-9);
    assert_non_null(strstr(first->sentence, "100 ms of it opening the data set"));
    pp_report_free(r);
    f->span[2][0].start_ns -= 1000 * FAKE_MS; /* the same, opened for 1.1 s */
    f->span[2][0].dur_ns += 1000 * FAKE_MS;
    f->meta[0].value = "4000000000";
    r = report_of(f);
    assert_string_equal(finding(r, "first-batch")->state_name, "found");
    assert_non_null(strstr(finding(r, "first-batch")->next_step, "index"));
    pp_report_free(r);
    f->meta[1].value = "duration"; /* of a run that was stopped, the share says nothing */
    r = report_of(f);
    assert_string_equal(finding(r, "first-batch")->state_name, "not-found");
    report_done(r, f);
}

/* A recorded program imports for 1.1 s before its trainer first waits: that is not the input pipeline's. */
static void test_imports_are_not_the_first_batch(void **state)
{
    struct fake_run *f;
    struct pp_report *r = epochs_run(5 * FAKE_MS, 0, "epochs", &f);
    pp_report_free(r);
    f->span[2][0].start_ns -= 1000 * FAKE_MS;
    f->span[2][0].dur_ns = FAKE_MS; /* of 1.1 s only this is said to be start-up */
    f->meta[0].value = "4000000000";
    r = report_of(f);
    const struct pp_report_finding *first = finding(r, "first-batch");
    assert_true(fabs(number(first, "first_batch_s") - 1.105) < 1e-9);
    assert_true(fabs(number(first, "program_s") - 1.099) < 1e-9);
    assert_true(number(first, "rest_s") < 0.006);
    assert_non_null(strstr(first->sentence, "1.10 s of it before the program asked for data"));
    assert_null(r->verdict.sentence ? strstr(r->verdict.sentence, "starting up takes") : NULL);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_has_no_period),
        cmocka_unit_test(test_planted_periods_are_found),
        cmocka_unit_test(test_a_multiple_is_no_period),
        cmocka_unit_test(test_a_stall_is_named_by_what_happens_then),
        cmocka_unit_test(test_tasks_that_wait_for_io_coincide),
        cmocka_unit_test(test_too_few_batches_are_not_measured),
        cmocka_unit_test(test_epoch_boundaries),
        cmocka_unit_test(test_first_batch),
        cmocka_unit_test(test_imports_are_not_the_first_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
