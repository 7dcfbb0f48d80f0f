/* A report speaks with one voice, whatever was recorded: of made-up pipelines that are bound by anything, of
 * one of each class, and of the recordings that are kept. The check itself is tests/support/one_voice.h,
 * which stands before every report that a unit test builds. */
#include "tests/support/one_voice.h"

#include "probe/base/rng.h"
#include "report/build/build.h"
#include "report/build/parts.h"
#include "report/rules/finding_rules.h"
#include "report/rules/remedies.h"
#include "tests/support/report_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_one_voice(const struct pp_report *r, const char *of)
{
    char why[4096];
    if (one_voice_broken(r, why, sizeof(why)))
        fail_msg("%s, %s: %s", of, r->verdict.headline ? r->verdict.headline : r->verdict.l0, why);
}

static double drawn(struct pp_rng *r, double low, double high)
{
    return low + pp_rng_unit(r) * (high - low);
}

/* Log-uniform: small ones as often as large ones. */
static uint64_t drawn_ns(struct pp_rng *r, double low_ms, double high_ms)
{
    return (uint64_t)(low_ms * pow(high_ms / low_ms, pp_rng_unit(r)) * (double)FAKE_MS);
}

static const char *text(char buf[12], int n)
{
    snprintf(buf, 12, "%d", n);
    return buf;
}

/* The trainer waits as long as its workers need beyond its step. */
static struct fake_run *any_pipeline(uint64_t seed)
{
    static char workers[12], batch[12], prefetch[12], cpus[12]; /* the fake run borrows them */
    static const pp_phase stages[] = {PP_PHASE_READ, PP_PHASE_DECODE, PP_PHASE_TRANSFORM, PP_PHASE_COLLATE};
    struct pp_rng r = pp_rng_key(seed, 1, 0, 5);
    int n = 1 << (int)drawn(&r, 0, 4), usable = n * (1 << (int)drawn(&r, 0, 3));
    struct fake_pipeline p = {.workers = n,
                              .batches = 90,
                              .warmup = 10,
                              .batch_size = 4 + (int)drawn(&r, 0, 12),
                              .batches_per_epoch = pp_rng_unit(&r) < 0.5 ? 0 : (int)drawn(&r, 6, 30),
                              .step_ns = drawn_ns(&r, 10, 80),
                              .sync_ns = pp_rng_unit(&r) < 0.3 ? drawn_ns(&r, 1, 10) : 0,
                              .h2d_ns = drawn_ns(&r, 0.05, 8)};
    double sample = 0;
    for (int i = 0; i < 4; i++) {
        double cpu = i == 0 ? 0.1 * pp_rng_unit(&r) : drawn(&r, 0.5, 1);
        p.stage[i] = (struct fake_stage){stages[i], drawn_ns(&r, i < 3 ? 0.2 : 0.05, i < 3 ? 12 : 2), cpu,
                                         (1 - cpu) * 0.5 * pp_rng_unit(&r)};
        sample += (double)p.stage[i].dur_ns;
    }
    double batch_ns = sample * p.batch_size / n;
    p.wait_ns = (uint64_t)fmax(batch_ns - (double)p.step_ns - (double)p.sync_ns, 0.1e6);
    struct fake_run *f = fake_pipeline(&p);
    int own = pp_rng_unit(&r) < 0.5;
    fake_text(f, "run", "outcome", "finished");
    fake_num(f, "config", "workers", text(workers, n), "threads");
    fake_num(f, "config", "batch_size", text(batch, p.batch_size), "samples");
    fake_num(f, "config", "prefetch", text(prefetch, 1 << (int)drawn(&r, 0, 4)), "batches");
    fake_num(f, "environment", "usable_cpus", text(cpus, usable), NULL);
    if (own) {
        fake_text(f, "config", "step", "sleep");
        fake_text(f, "config", "pageable", pp_rng_unit(&r) < 0.3 ? "true" : "false");
        fake_text(f, "config", "out_of_order", pp_rng_unit(&r) < 0.3 ? "true" : "false");
    } else {
        fake_text(f, "config", "source", "pytorch");
        fake_num(f, "config", "num_workers", workers, NULL);
        fake_num(f, "config", "persistent_workers", pp_rng_unit(&r) < 0.5 ? "1" : "0", NULL);
        fake_num(f, "config", "pin_memory", pp_rng_unit(&r) < 0.5 ? "1" : "0", NULL);
    }
    for (size_t i = 0; i < f->n_spans[0]; i++)
        if (f->span[0][i].phase == PP_PHASE_STEP || f->span[0][i].phase == PP_PHASE_DATA_WAIT)
            fake_resources(&f->span[0][i], &(struct fake_stage){.cpu = 0.3, .delay = seed % 3 ? 0.02 : 0.2},
                           0);
    if (pp_rng_unit(&r) < 0.7)
        fake_cpu_counters(f, &p, drawn(&r, 0.3, 2), pp_rng_unit(&r) < 0.5 ? 0.05 : drawn(&r, 0.2, usable));
    return f;
}

static void test_any_pipeline(void **state)
{
    int replayed = 0, advised = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed += SEED_STEP) {
        char of[32];
        struct fake_run *f = any_pipeline(seed);
        struct pp_report *r = report_of(f);
        snprintf(of, sizeof(of), "pipeline %d", (int)seed);
        replayed += r->verdict.n_fixes > 0;
        advised += r->verdict.action.fix != NULL;
        expect_one_voice(r, of);
        pp_report_free(r);
        fake_free(f);
    }
    if (replayed * SEED_STEP < 25 || advised * SEED_STEP < 15)
        fail_msg("%d of them were replayed, and %d got a change to do", replayed, advised);
}

static void test_each_class(void **state)
{
    (void)state;
    for (int i = 0; i < REPORT_CLASSES; i++) {
        struct fake_run *f = report_of_class(i);
        struct pp_report *r = report_of(f);
        expect_one_voice(r, report_class_name(i));
        pp_report_free(r);
        fake_free(f);
    }
}

static void test_kept_recordings(void **state)
{
    static const char *const files[] = {"cat tests/recordings/train.sqlite",
                                        "gunzip -c samples/stallbench/small_files_on_a_mount.sqlite.gz",
                                        "gunzip -c samples/stallbench/workers_for_a_tensor.sqlite.gz"};
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char path[] = "/tmp/pp-one-voice-XXXXXX", command[256];
        struct pp_report *r;
        struct pp_err err = {0};
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        snprintf(command, sizeof(command), "%s >%s", files[i], path);
        assert_int_equal(system(command), 0);
        if (pp_report_build(path, &r, &err) != PP_OK)
            fail_msg("%s: %s", files[i], err.text);
        unlink(path);
        expect_one_voice(r, files[i]);
        pp_report_free(r);
    }
}

static void test_no_advice_on_workers_that_are_left_out(void **state)
{
    struct pp_report_fix none = {.knob = "no-workers", .set = "num_workers=0"};
    struct pp_report_finding found[] = {{.kind = "worker-restarts",
                                         .remedy = &pp_remedies[PP_REMEDY_KEEP_WORKERS],
                                         .next_step = pp_remedies[PP_REMEDY_KEEP_WORKERS].sentence},
                                        {.kind = "lockstep-waits",
                                         .remedy = &pp_remedies[PP_REMEDY_LOCKSTEP],
                                         .next_step = pp_remedies[PP_REMEDY_LOCKSTEP].sentence},
                                        {.kind = "samples-repeated",
                                         .remedy = &pp_remedies[PP_REMEDY_REPEATED],
                                         .next_step = pp_remedies[PP_REMEDY_REPEATED].sentence}};
    struct pp_report r = {.findings = found, .n_findings = 3, .verdict.action.fix = &none};
    struct pp_arena arena = {0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        found[i].state = PP_FINDING_FOUND;
        assert_non_null(found[i].next_step);
    }
    r.verdict.action.fix = &(struct pp_report_fix){.knob = "between-epochs"}; /* sets nothing */
    found[1].state = PP_FINDING_NOT_FOUND;
    pp_changes_agree(&r, &arena);
    assert_non_null(found[0].next_step);
    found[1].state = PP_FINDING_FOUND;
    r.verdict.action.fix = &none;
    pp_changes_agree(&r, &arena);
    assert_null(found[0].next_step);
    assert_null(found[1].next_step);
    assert_non_null(found[2].next_step);
    pp_arena_free(&arena);
}

/* What a finding says of workers is known to be that. */
static void test_advice_on_workers_is_marked(void **state)
{
    static const char *const of_workers[] = {"persistent_workers", "(num_workers", "prefetch_factor"};
    size_t said = 0;
    (void)state;
    for (size_t i = 0; i < pp_finding_rules_n; i++) {
        const struct pp_remedy *r = &pp_remedies[pp_finding_rules[i].remedy];
        for (size_t k = 0; k < 3 && pp_finding_rules[i].says == PP_SAYS_SO && r->sentence; k++)
            if (strstr(r->sentence, of_workers[k])) {
                said++;
                if (!r->of_workers && (!r->in_step || strstr(r->in_step, of_workers[k])))
                    fail_msg("%s", r->sentence);
            }
    }
    assert_true(said >= 8);
}

/* Beside a setting the code that gains a third of it at least, or a line; beside code the setting. */
static void test_the_other_way_is_of_another_kind(void **state)
{
    static const struct {
        int sets;               /* the chosen one is a setting */
        double gain, low, line; /* of the other change; of half a line */
        const char *said;
    } rows[] = {{1, 5, 4, 0, "one tensor: 600 samples/s, 6.0 times (5.0 to 7.0)"},
                {1, 2, 1, 0, NULL},
                {0, 5, 4, 0, "num_workers=0: 600 samples/s, 6.0 times (5.0 to 7.0)"},
                {0, 5, -0.1, 0, NULL},
                {1, 0, 0, 4,
                 "Make load (files.py:7) cheaper: it is 61 % of the stall, and half of it gains 5.0 times."},
                {0, 0, 0, 4, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report_fix fixes[2] = {{.effort = !rows[i].sets, .gain = 10, .low = 9},
                                         {.remedy = &pp_remedies[PP_REMEDY_UNPICKLE_LESS],
                                          .effort = rows[i].sets,
                                          .is_argument = !rows[i].sets,
                                          .advice = PP_ADVICE_MEASURE,
                                          .change = rows[i].sets ? "one tensor" : "num_workers=0",
                                          .gain = rows[i].gain,
                                          .low = rows[i].low,
                                          .high = rows[i].gain + 1,
                                          .samples_per_s = 600}};
        struct pp_report_op op = {
            .name = "load", .place = "files.py:7", .judged = 1, .share = 0.61, .gain = rows[i].line};
        struct pp_report r = {
            .ops = &op,
            .n_ops = 1,
            .verdict = {.l1 = "loader", .next_step = "Do it.", .fixes = fixes, .n_fixes = 2}};
        struct pp_arena arena = {0};
        r.verdict.action.fix = &fixes[0];
        pp_ops_other_way(&r, &arena);
        if (rows[i].said)
            assert_string_equal(r.verdict.other, rows[i].said);
        else
            assert_null(r.verdict.other);
        r.verdict.then = "the job's own";
        r.verdict.other = NULL;
        pp_ops_other_way(&r, &arena);
        assert_null(r.verdict.other);
        pp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advice_on_workers_is_marked),
        cmocka_unit_test(test_the_other_way_is_of_another_kind),
        cmocka_unit_test(test_each_class),
        cmocka_unit_test(test_kept_recordings),
        cmocka_unit_test(test_any_pipeline),
        cmocka_unit_test(test_no_advice_on_workers_that_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
