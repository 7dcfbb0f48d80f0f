/* The patterns of workers that people ask about by name, in runs that a small model of DataLoader makes:
 * batch b belongs to worker b % W, a worker has up to `prefetch` batches in flight, and the trainer takes
 * them in order. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"

enum { BATCHES_MOST = 4000 };

struct loader {
    int workers, batches, per_epoch; /* per_epoch 0: one epoch */
    double make_ms, step_ms;         /* of a batch */
    double slow_first;               /* factor of worker 0's batches */
    double noise;                    /* of make_ms, exponential */
    int anew;                        /* every epoch has threads of its own, which take start_ms to begin */
    double start_ms;
    double checkpoint_every, checkpoint_ms; /* batches; 0: none */
    int prefetch;                           /* batches in flight per worker; 0: 2 */
    int copies;                  /* there is a copy lane, so that the report knows what was ready */
    double slower_at_ms, slower; /* from then on, this factor of make_ms */
    int dealt;                   /* the next free worker takes the next batch */
};

static uint64_t ms(double v)
{
    return (uint64_t)(v * 1e6);
}

static struct pp_span *put(struct fake_run *f, uint32_t thread, pp_phase phase, uint64_t from, uint64_t to,
                           int batch, int epoch)
{
    struct pp_span *s = fake_span(f, thread, phase, from, to - from);
    s->batch = (uint32_t)batch;
    s->epoch = (uint16_t)epoch;
    return s;
}

static struct fake_run *run(const struct loader *l)
{
    static uint64_t done[BATCHES_MOST], taken[BATCHES_MOST];
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_rng r = pp_rng_key(11, 0, 0, 7);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             copy = l->copies ? fake_thread(f, PP_LANE_COPY, "copy") : 0, worker[64];
    int prefetch = l->prefetch ? l->prefetch : 2;
    uint64_t t = FAKE_T0, begun = FAKE_T0;
    int epoch = -1, W = l->workers, first = 0;
    assert_true(l->batches <= BATCHES_MOST && W <= 64);
    uint64_t free_at[64];
    for (int b = 0; b < l->batches; b++) {
        int e = l->per_epoch ? b / l->per_epoch : 0, w;
        char name[24];
        if (e != epoch) {
            int starts = epoch < 0 || l->anew;
            for (w = 0; w < W && starts; w++) {
                snprintf(name, sizeof(name), "worker-%d", w);
                worker[w] = fake_thread(f, PP_LANE_WORKER, name);
            }
            begun = t + (starts ? ms(l->start_ms) : 0);
            first = b;
            epoch = e;
            for (w = 0; w < W; w++)
                free_at[w] = begun;
        }
        w = (b - first) % W;
        for (int k = 0; l->dealt && k < W; k++)
            w = free_at[k] < free_at[w] ? k : w;
        uint64_t from = free_at[w], slot = b - first >= W * prefetch ? taken[b - W * prefetch] : begun;
        from = slot > from ? slot : from;
        double make = l->make_ms * (w == 0 && l->slow_first > 0 ? l->slow_first : 1);
        make *= l->slower > 0 && from >= FAKE_T0 + ms(l->slower_at_ms) ? l->slower : 1;
        make += l->noise * l->make_ms * -log(1 - pp_rng_unit(&r));
        done[b] = free_at[w] = from + ms(make);
        put(f, worker[w], PP_PHASE_READ, from, from + ms(make) / 2, b, e)->sample = (uint64_t)b;
        put(f, worker[w], PP_PHASE_DECODE, from + ms(make) / 2, done[b], b, e)->sample = (uint64_t)b;
        if (l->copies)
            put(f, worker[w], PP_PHASE_COLLATE, done[b], done[b], b, e);
        if (l->checkpoint_every > 0 && b % (int)l->checkpoint_every == 0) {
            put(f, trainer, PP_PHASE_CHECKPOINT, t, t + ms(l->checkpoint_ms), b, e)->batch = PP_NO_BATCH;
            t += ms(l->checkpoint_ms);
        }
        uint64_t got = done[b] > t ? done[b] : t;
        put(f, trainer, PP_PHASE_DATA_WAIT, t, got, b, e);
        taken[b] = got;
        if (l->copies)
            put(f, copy, PP_PHASE_GET_WAIT, got - 1000, got, b, e);
        t = got + ms(l->step_ms);
        put(f, trainer, PP_PHASE_STEP, got, t, b, e);
    }
    snprintf(f->name[trainer], sizeof(f->name[trainer]), "trainer");
    return f;
}

static void expect(const struct loader *l, const char *kind, const char *state, const char *words)
{
    struct fake_run *f = run(l);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *found = finding(r, kind);
    if (strcmp(found->state_name, state) != 0 || (words && !strstr(found->sentence, words)))
        fail_msg("%s is %s: %s", kind, found->state_name, found->sentence);
    assert_int_equal(found->next_step != NULL, strcmp(state, "found") == 0);
    report_done(r, f);
}

/* ---- waits every num_workers batches ---- */

static void test_workers_in_step_are_named(void **state)
{
    for (int w = 2; w <= 16; w *= 2) {
        struct loader l = {
            .workers = w, .batches = 80 * w, .make_ms = 40.0 * w, .step_ms = 10, .noise = 0.01};
        char words[80];
        snprintf(words, sizeof(words), "waits come every %d batches, and there are %d workers", w, w);
        expect(&l, "lockstep-waits", "found", words);
        expect(&l, "lockstep-waits", "found", "the workers deliver together, all equally slow");
        l.noise = 0.1;
        expect(&l, "lockstep-waits", "found", words);
    }
    struct loader l = {.workers = 4, .batches = 400, .make_ms = 160, .step_ms = 10, .per_epoch = 40};
    expect(&l, "lockstep-waits", "found", "all equally slow"); /* dealt anew in each epoch */
}

static void test_one_slow_worker_has_the_same_rhythm_and_another_cause(void **state)
{
    struct loader l = {
        .workers = 4, .batches = 400, .make_ms = 30, .step_ms = 10, .slow_first = 3, .noise = 0.01};
    expect(&l, "lockstep-waits", "found", "worker-0 takes 2.9");
    struct fake_run *f = run(&l);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *k = finding(r, "lockstep-waits");
    assert_true(fabs(number(k, "slowest_worker_factor") - 3) < 0.1);
    assert_non_null(strstr(k->next_step, "Check that worker"));
    report_done(r, f);
}

/* Waits without the rhythm, the rhythm without waits, and another rhythm. */
static void test_other_waits_are_not_in_step(void **state)
{
    const struct loader fast = {.workers = 4, .batches = 400, .make_ms = 20, .step_ms = 10},
                        random = {.workers = 4, .batches = 800, .make_ms = 20, .step_ms = 10, .noise = 1.2},
                        dealt = {.workers = 4,
                                 .batches = 800,
                                 .make_ms = 30,
                                 .step_ms = 10,
                                 .noise = 1,
                                 .dealt = 1},
                        one = {.workers = 1, .batches = 100, .make_ms = 40, .step_ms = 10},
                        saves = {.workers = 4,
                                 .batches = 400,
                                 .make_ms = 20,
                                 .step_ms = 10,
                                 .checkpoint_every = 4,
                                 .checkpoint_ms = 100},
                        few = {.workers = 8, .batches = 60, .make_ms = 160, .step_ms = 10};
    expect(&fast, "lockstep-waits", "not-found", "do not come every 4 batches");
    expect(&random, "lockstep-waits", "not-found", NULL);
    expect(&dealt, "lockstep-waits", "not-found", NULL);
    expect(&one, "lockstep-waits", "not-found", "one worker");
    expect(&saves, "lockstep-waits", "not-found", NULL);
    expect(&few, "lockstep-waits", "not-measured", "fewer than 12 batches per worker");
}

/* ---- the start of every epoch ---- */

static void test_stuck_at_the_start_of_every_epoch(void **state)
{
    struct loader l = {.workers = 2,
                       .batches = 400,
                       .per_epoch = 50,
                       .make_ms = 10,
                       .step_ms = 20,
                       .anew = 1,
                       .start_ms = 600};
    expect(&l, "epoch-boundaries", "found", "each epoch starts with a wait");
    struct fake_run *f = run(&l);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *k = finding(r, "epoch-boundaries");
    assert_true(fabs(number(k, "wait_s") - 0.61) < 1e-6 && fabs(number(k, "longest_wait_s") - 0.61) < 1e-6);
    assert_true(fabs(number(k, "time_share") - 7 * 0.61 / (399 * 0.02 + 7 * 0.61)) < 0.002);
    report_done(r, f);
    l.start_ms = 0;
    expect(&l, "epoch-boundaries", "not-found", NULL);
}

/* ---- workers that begin anew ---- */

static void test_workers_that_restart_every_epoch(void **state)
{
    struct loader l = {.workers = 2,
                       .batches = 400,
                       .per_epoch = 100,
                       .make_ms = 10,
                       .step_ms = 20,
                       .anew = 1,
                       .start_ms = 500};
    expect(&l, "worker-restarts", "found", "6 workers were started again in 4 epochs");
    struct fake_run *f = run(&l);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *k = finding(r, "worker-restarts");
    assert_true(number(k, "generations") == 4 && number(k, "started_again") == 6);
    assert_non_null(strstr(k->next_step, "persistent_workers=True"));
    report_done(r, f);
    l.batches = 200; /* two epochs */
    expect(&l, "worker-restarts", "found", "2 workers were started again in 2 epochs");
    l.batches = 400;
    l.start_ms = 1; /* they restart, at next to no cost */
    expect(&l, "worker-restarts", "not-found", "6 workers were started again");
    l.anew = 0;
    l.start_ms = 500;
    expect(&l, "worker-restarts", "not-found", "the workers live for the whole run");
    l.batches = 40;
    l.per_epoch = 10;
    l.anew = 1;
    l.start_ms = 10;
    expect(&l, "worker-restarts", "not-measured", NULL); /* too short */
}

/* A second loader after the first one (training, then validation) is no restart; a third generation is one,
 * also where the recording does not tell epochs. */
static void expect_generations(int batches, const char *want)
{
    struct loader l = {.workers = 2,
                       .batches = batches,
                       .per_epoch = 100,
                       .make_ms = 10,
                       .step_ms = 20,
                       .anew = 1,
                       .start_ms = 500};
    struct fake_run *f = run(&l);
    for (size_t t = 0; t < f->n_threads; t++)
        for (size_t i = 0; i < f->n_spans[t]; i++)
            f->span[t][i].epoch = 0; /* epochs are not told */
    struct pp_report *r = report_of(f);
    assert_string_equal(finding(r, "worker-restarts")->state_name, want);
    report_done(r, f);
}

static void test_a_second_loader_is_no_restart(void **state)
{
    expect_generations(200, "not-found");
    expect_generations(300, "found");
}

/* ---- hangs ---- */

static struct pp_report *hung(double open_s, double ended_s, uint16_t flags, pp_phase phase,
                              struct fake_run **out)
{
    struct loader l = {.workers = 2, .batches = 200, .make_ms = 30, .step_ms = 20};
    struct fake_run *f = *out = run(&l);
    fake_num(f, "run", "started_mono_ns", "5000000000", "ns");
    if (open_s > 0) {
        struct pp_span *s = fake_span(f, 2, phase, FAKE_T0 + 4000 * FAKE_MS, (uint64_t)(open_s * 1e9));
        s->flags = PP_SPAN_UNFINISHED | flags;
        s->sample = 917;
    }
    if (ended_s > 0) {
        struct pp_span *s = fake_span(f, 1, phase, FAKE_T0 + 2000 * FAKE_MS, (uint64_t)(ended_s * 1e9));
        s->sample = 33;
        s->flags = flags;
    }
    return report_of(f);
}

static void expect_hang(double open_s, double ended_s, uint16_t flags, pp_phase phase, const char *words)
{
    struct fake_run *f;
    struct pp_report *r = hung(open_s, ended_s, flags, phase, &f);
    const struct pp_report_finding *k = finding(r, "worker-hang");
    if (strcmp(k->state_name, words ? "found" : "not-found") != 0 || (words && !strstr(k->sentence, words)))
        fail_msg("worker-hang is %s: %s", k->state_name, k->sentence);
    report_done(r, f);
}

static void test_hangs(void **state)
{
    expect_hang(
        42, 0, 0, PP_PHASE_READ,
        "worker-1 hangs in read of sample 917 since 4.00 s: 42.0 s when the recording ended, usually 15.0 ms");
    expect_hang(0, 9, 0, PP_PHASE_DECODE,
                "worker-0 hung in decode of sample 33 at 2.00 s: 9.00 s, usually 15.0 ms");
    expect_hang(42, 9, 0, PP_PHASE_READ, "worker-1 hangs"); /* what did not end goes first */
    expect_hang(0.2, 0, 0, PP_PHASE_READ, NULL);            /* in the middle of ordinary work */
    expect_hang(0, 1.2, 0, PP_PHASE_READ, NULL);            /* a straggler */
    expect_hang(60, 0, 0, PP_PHASE_SLOT_WAIT, NULL);        /* it waits for the trainer */
    expect_hang(0, 9, PP_SPAN_COUNT, PP_PHASE_READ, NULL);  /* many samples in one span */
    expect_hang(0, 0, 0, PP_PHASE_READ, NULL);
}

/* ---- buffer debt ---- */

static void test_a_buffer_that_runs_out(void **state)
{
    struct loader l = {.workers = 4,
                       .batches = 1500,
                       .make_ms = 60,
                       .step_ms = 20,
                       .prefetch = 20,
                       .copies = 1,
                       .noise = 0.1,
                       .slower_at_ms = 9000,
                       .slower = 2};
    expect(&l, "buffer-debt", "found", "the prefetched batches ran out 1 time");
    struct fake_run *f = run(&l);
    struct pp_report *r = report_of(f);
    const struct pp_report_finding *k = finding(r, "buffer-debt");
    /* 77 batches; from 9 s on 32 batches/s are made and 50 taken: 4.2 s */
    if (!(fabs(number(k, "first_s") - 13.2) < 1) || !(fabs(number(k, "most_batches") - 78) < 4))
        fail_msg("%s (at %g s)", k->sentence, number(k, "first_s"));
    int told = 0, slices = 0;
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct pp_report_slice *s = &r->slices[i];
        if (s->start_s < 9.5 || s->end_s > 13)
            continue;
        slices++;
        told += fabs(s->buffer_lasts_s - (13.2 - s->end_s)) < 1.5;
    }
    assert_true(slices >= 5 && told >= slices - 1);
    report_done(r, f);
    l.slower = 1;
    expect(&l, "buffer-debt", "not-found", "did not run out");
    l.make_ms = 120; /* it is never full */
    expect(&l, "buffer-debt", "not-found", NULL);
    l.copies = 0;
    expect(&l, "buffer-debt", "not-measured", NULL);
}

static void test_a_recording_without_workers_says_so(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer");
    uint64_t t = FAKE_T0;
    for (int b = 0; b < 100; b++, t += 30 * FAKE_MS) {
        put(f, trainer, PP_PHASE_DATA_WAIT, t, t + 10 * FAKE_MS, b, 0);
        put(f, trainer, PP_PHASE_STEP, t + 10 * FAKE_MS, t + 30 * FAKE_MS, b, 0);
    }
    struct pp_report *r = report_of(f);
    assert_string_equal(finding(r, "lockstep-waits")->sentence, "the number of workers is not known");
    assert_string_equal(finding(r, "worker-restarts")->state_name, "not-measured");
    assert_string_equal(finding(r, "worker-hang")->state_name, "not-measured");
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_in_step_are_named),
        cmocka_unit_test(test_one_slow_worker_has_the_same_rhythm_and_another_cause),
        cmocka_unit_test(test_other_waits_are_not_in_step),
        cmocka_unit_test(test_stuck_at_the_start_of_every_epoch),
        cmocka_unit_test(test_workers_that_restart_every_epoch),
        cmocka_unit_test(test_a_second_loader_is_no_restart),
        cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_a_buffer_that_runs_out),
        cmocka_unit_test(test_a_recording_without_workers_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
