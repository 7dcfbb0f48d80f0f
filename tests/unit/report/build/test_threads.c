/* A loader in native threads, of which no span tells: looks at them in the stalls give the cause, and rows of
 * a stranger's file none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/fake_run.h"

#include "report/build/build.h"
#include "report/measure/stalls.h"

#include <math.h>

enum { BATCHES = 200, CYCLE_MS = 50, WAIT_MS = 30 };

/* Looks of the stalls and of the steps, as the source of the test has them; thread 1 is the trainer's. */
static struct {
    const char *stalled, *stepping;
    const struct pp_native_thread_row *threads;
    size_t n;
} looks;

static const struct pp_native_thread_row pool[] = {{1, 70, 70, "python"},
                                                   {2, 70, 71, "[DALI][TP0]Exec"},
                                                   {3, 70, 72, "PrefetchWorker "},
                                                   {4, 70, 73, "idle"}};

static pp_status each_look(void *ctx, const struct pp_thread_walk *to, struct pp_err *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < looks.n; i++)
        to->thread(to->ctx, &looks.threads[i]);
    for (uint32_t b = 0; b < BATCHES && looks.stalled; b++) {
        uint64_t t = FAKE_T0 + b * CYCLE_MS * FAKE_MS;
        to->look(to->ctx, &(struct pp_thread_look_row){t + 10 * FAKE_MS, looks.stalled});
        for (uint64_t ms = 40; ms <= 45; ms += 5)
            to->look(to->ctx, &(struct pp_thread_look_row){t + ms * FAKE_MS, looks.stepping});
    }
    return PP_OK;
}

/* The trainer waits 30 of 50 ms; no worker has a span. `own` CPUs of two are used by the run, `others` by
 * others. */
static struct fake_run *waiting(double own, double others)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    const struct fake_pipeline whole = {.batches = BATCHES,
                                        .wait_ns = WAIT_MS * FAKE_MS,
                                        .step_ns = (CYCLE_MS - WAIT_MS) * FAKE_MS};
    fake_thread(f, PP_LANE_TRAINER, "trainer");
    f->thread[0].pid = f->thread[0].tid = 70;
    fake_text(f, "run", "outcome", "ok");
    fake_text(f, "run", "command", "exec");
    fake_text(f, "config", "python_program", "true");
    fake_num(f, "environment", "usable_cpus", "2", "CPUs");
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint64_t t = FAKE_T0 + b * CYCLE_MS * FAKE_MS;
        fake_span(f, 0, PP_PHASE_DATA_WAIT, t, WAIT_MS * FAKE_MS)->batch = b;
        fake_span(f, 0, PP_PHASE_STEP, t + WAIT_MS * FAKE_MS, (CYCLE_MS - WAIT_MS) * FAKE_MS)->batch = b;
    }
    fake_cpu_counters(f, &whole, own, others);
    return f;
}

static struct pp_report *judged(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    struct pp_report *r;
    struct pp_err err = {0};
    source.each_thread_look = each_look;
    if (pp_report_from(&source, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

static void looks_in_stalls_give_the_cause(void **state)
{
    static const struct {
        const char *stalled;
        double own, others;
        const char *l1, *l2, *says;
    } rows[] = {
        {"frrf", 0.2, 0, "storage", NULL,
         "2 threads of the job are at work ([DALI][TP0]Exec, PrefetchWorker)"},
        {"fnff", 0.2, 0, "storage", NULL, "100 % of them in calls on files and sockets"},
        {"fRff", 0.9, 0, "loader", "under-parallel", "1 thread of the job is at work ([DALI][TP0]Exec)"},
        {"fRRf", 1.95, 0, "transform", "cpu-saturated", "making batches takes all CPUs"},
        {"fRWf", 1, 0.95, "transform", "cpu-contended", "without a CPU for 50 % of the time"},
        {"ffff", 0.1, 0, NULL, NULL, "no thread of the job's processes is at work"},
        {"fsff", 0.1, 0, NULL, NULL, "no thread of the job's processes is at work"},
        {"rsff", 0.1, 0, "storage", NULL, "1 thread of the job is at work (python)"}, /* it loads itself */
        {"RRff", 0.9, 0, "loader", "under-parallel", "1 thread of the job is at work ([DALI][TP0]Exec)"},
        {"frnn", 0.2, 0, "storage", NULL, "1 thread of the job is at work ([DALI][TP0]Exec)"}, /* servers */
        {"fRnn", 0.9, 0, "loader", "under-parallel", "1 thread of the job is at work ([DALI][TP0]Exec)"},
        {"nsff", 0.1, 0, NULL, NULL, "no thread of the job's processes is at work"},
        {"fRgf", 0.9, 0, "loader", "lock", "50 % of those at work wait for the interpreter's lock"},
        {"gRff", 0.9, 0, "loader", "under-parallel", "1 thread"}, /* the trainer has what it waited for */
        {"fgff", 0.1, 0, NULL, NULL, "no thread of the job's processes is at work"},
        {"fRrf", 0.5, 0, "transform", NULL, NULL},
    };
    (void)state;
    looks.threads = pool, looks.n = 4, looks.stepping = "RRRR";
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = waiting(rows[i].own, rows[i].others);
        looks.stalled = rows[i].stalled;
        struct pp_report *r = judged(f);
        const struct pp_report_verdict *v = &r->verdict;
        const char *said = v->cause ? v->cause : v->reason;
        print_message("%s: %s/%s %s\n", rows[i].stalled, v->l1 ? v->l1 : "-", v->l2 ? v->l2 : "-",
                      said ? said : "");
        assert_string_equal(v->l0, "input-bound");
        if (rows[i].says) {
            assert_int_equal(!v->l1, !rows[i].l1);
            if (rows[i].l1)
                assert_string_equal(v->l1, rows[i].l1);
            assert_int_equal(!v->l2, !rows[i].l2);
            if (rows[i].l2)
                assert_string_equal(v->l2, rows[i].l2);
            assert_non_null(strstr(said, rows[i].says));
        }
        pp_report_free(r);
        fake_free(f);
    }
}

/* The training thread waits for the interpreter's lock in its steps, at two of three looks; or is at work. */
static void steps_that_wait_for_the_lock_say_so(void **state)
{
    static const char *const stepping[] = {"gRff", "RRff"};
    looks.threads = pool, looks.n = 4, looks.stalled = "ffff";
    for (size_t i = 0; i < 2; i++) {
        struct fake_run *f = waiting(0.9, 0);
        looks.stepping = stepping[i];
        struct pp_report *r = judged(f);
        const char *cause = r->verdict.cause ? r->verdict.cause : "";
        assert_int_equal(strstr(cause, "The training step waits for it 67 % of the time") != NULL, i == 0);
        pp_report_free(r);
        fake_free(f);
    }
}

/* Threads with spans that are not what the trainer waits for: idle ones while it loads by itself (Grain's
 * DataLoader), and one that is blocked with tasks for others (Keras's enqueuer). */
static void looks_tell_more_than_who_is_not_at_work(void **state)
{
    static const pp_phase waits[] = {PP_PHASE_DISPATCH_WAIT, PP_PHASE_PUT_WAIT};
    (void)state;
    looks.threads = pool, looks.n = 4, looks.stepping = "ffff", looks.stalled = "rfff";
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        struct fake_run *f = waiting(0.2, 0);
        size_t lane = fake_thread(f, PP_LANE_WORKER, "pool");
        f->thread[lane].pid = 70;
        for (uint32_t b = 0; b < BATCHES; b++) {
            uint64_t t = FAKE_T0 + b * CYCLE_MS * FAKE_MS;
            fake_span(f, lane, PP_PHASE_TRANSFORM, t, FAKE_MS);
            fake_span(f, lane, waits[i], t + FAKE_MS, (CYCLE_MS - 1) * FAKE_MS);
        }
        struct pp_report *r = judged(f);
        print_message("%s\n", r->verdict.cause ? r->verdict.cause : r->verdict.reason);
        assert_non_null(r->verdict.l1);
        assert_string_equal(r->verdict.l1, "storage");
        pp_report_free(r);
        fake_free(f);
    }
}

/* A recording from before the table, or without it: as it was. */
static void without_looks_nothing_is_known(void **state)
{
    struct fake_run *f = waiting(0.5, 0);
    (void)state;
    looks.stalled = NULL, looks.threads = pool, looks.n = 4;
    struct pp_report *r = judged(f);
    assert_null(r->verdict.l1);
    assert_non_null(strstr(r->verdict.reason, "no ranges of workers"));
    pp_report_free(r);
    fake_free(f);
}

/* Numbers that no thread has, texts without end, names of another's terminal. */
static void rows_of_a_stranger_do_no_harm(void **state)
{
    static char endless[4096];
    static const struct pp_native_thread_row odd[] = {{0, 1, 1, "zero"},
                                                      {UINT32_MAX, 1, 1, "far"},
                                                      {2, 70, 71, "\033[2J\n{owner}%n"},
                                                      {512, 1, 2, "last"}};
    struct fake_run *f = waiting(0.5, 0);
    struct pp_source source = fake_source(f);
    struct pp_timeline tl;
    struct pp_thread_work w;
    struct pp_err err = {0};
    (void)state;
    memset(endless, 'R', sizeof(endless) - 1);
    looks.stalled = endless, looks.stepping = "", looks.threads = odd, looks.n = 4;
    assert_int_equal(pp_timeline_build(&source, &tl, &err), PP_OK);
    source.each_thread_look = each_look;
    assert_int_equal(pp_thread_work_read(&source, &tl, &w, &err), PP_OK);
    assert_true(w.looks > 100 && fabs(w.computes - 2) < 1e-9);
    assert_null(strchr(w.names, '\033'));
    looks.stalled = "\377?\001 ";
    assert_int_equal(pp_thread_work_read(&source, &tl, &w, &err), PP_OK);
    assert_true(pp_thread_work_all(&w) == 0 && w.names[0] == '\0');
    pp_timeline_free(&tl);
    fake_free(f);
}

/* Ranges that say what a hundredth of the workers' time is leave the cause to the looks. */
static void looks_speak_where_ranges_tell_little(void **state)
{
    (void)state;
    struct fake_run *f = waiting(0.2, 0);
    uint32_t worker = fake_thread(f, PP_LANE_WORKER, "of process");
    f->thread[worker].pid = 70, f->thread[worker].tid = 75;
    for (uint32_t b = 0; b < BATCHES; b++) {
        struct pp_span *s = fake_span(f, worker, PP_PHASE_TRANSFORM,
                                      FAKE_T0 + b * CYCLE_MS * FAKE_MS + 5 * FAKE_MS, FAKE_MS / 3);
        s->batch = b, s->cpu_ns = s->dur_ns, s->flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY;
    }
    looks.threads = pool, looks.n = 4, looks.stepping = "RRRR", looks.stalled = "ffrf";
    struct pp_report *r = judged(f);
    if (!r->verdict.l1 || strcmp(r->verdict.l1, "storage") != 0)
        fail_msg("%s", r->verdict.sentence);
    pp_report_free(r);
    fake_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_in_stalls_give_the_cause),
        cmocka_unit_test(looks_speak_where_ranges_tell_little),
        cmocka_unit_test(steps_that_wait_for_the_lock_say_so),
        cmocka_unit_test(looks_tell_more_than_who_is_not_at_work),
        cmocka_unit_test(without_looks_nothing_is_known),
        cmocka_unit_test(rows_of_a_stranger_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
