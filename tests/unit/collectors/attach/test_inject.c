/* What the injection library records: every call, payloads, threads, forked children, names, phases by a map.
 */
#include "tests/support/inject_fixture.h"

static void ranges_marks_domains(void **state)
{
    struct inject_result *r = inject_run("every_call");
    assert_int_equal(r->n, 11);
    assert_true(inject_inside(inject_find(r, "inner"), inject_find(r, "outer")));
    assert_true(inject_inside(inject_find(r, "a mark"), inject_find(r, "outer")));
    assert_int_equal(inject_find(r, "a mark")->span.dur_ns, 0);
    assert_int_equal(inject_count(r, "grüß 你 😀"), 1);
    assert_int_equal(inject_count(r, "dom:registered"), 2);
    assert_int_equal(inject_count(r, "other:in other"), 1);
    assert_true(inject_inside(inject_find(r, "dom:registered"),
                              inject_find(r, "other:in other"))); /* the inner of the two comes first */
    assert_int_equal(inject_count(r, "one"), 1);
    assert_int_equal(inject_count(r, "dom:with payload"), 1);
    assert_int_equal(inject_count(r, ""), 2);
    for (size_t i = 0; i < r->n; i++) {
        assert_int_equal(r->seen[i].span.phase, PP_PHASE_USER);
        assert_int_equal(r->seen[i].span.flags, 0);
        assert_true(r->seen[i].span.sample == PP_NO_SAMPLE && r->seen[i].span.batch == PP_NO_BATCH);
        assert_true(r->seen[i].span.dur_ns < 10000000000u);
    }
    assert_int_equal(pp_session_threads(r->session), 1);
    assert_int_equal(r->processes, 1);
    assert_int_equal(r->process[0].pid, r->seen[0].thread.pid);
    assert_int_equal(r->process[0].parent_pid, getpid());
    assert_non_null(strstr(r->process[0].command, "--scenario every_call"));
    assert_int_equal(r->process[0].clients, 1);
    inject_done(r);
}

static void whole_payloads_are_batches(void **state)
{
    static const uint32_t want[] = {7,           8,           9,           10,          11,
                                    12,          PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH,
                                    PP_NO_BATCH, PP_NO_BATCH, PP_NO_BATCH, 42,          42};
    struct inject_result *r = inject_run("payloads");
    assert_int_equal(r->n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < r->n; i++)
        assert_int_equal(r->seen[i].span.batch, want[i]);
    inject_done(r);
}

static void each_thread_has_its_ring(void **state)
{
    struct inject_result *r = inject_run("threads");
    size_t of[16] = {0}, named = 0;
    assert_int_equal(inject_count(r, "odd") + inject_count(r, "even"), 8 * 500);
    assert_int_equal(inject_count(r, "crossing"), 1);
    assert_int_equal(inject_count(r, "left open at the thread's end"), 8);
    assert_int_equal(pp_session_threads(r->session), 9);
    for (size_t i = 0; i < r->n; i++) {
        of[r->seen[i].thread.thread]++;
        if (strcmp(r->seen[i].name, "left open at the thread's end") == 0)
            assert_int_equal(r->seen[i].span.flags, PP_SPAN_UNFINISHED);
        assert_int_equal(r->seen[i].thread.retired, 1);
    }
    for (int i = 0; i < 8; i++) {
        char name[32];
        snprintf(name, sizeof(name), "loader-%d", i);
        for (uint32_t t = 0; t < 9; t++) {
            struct pp_ring_info info;
            pp_session_ring_info(r->session, t, &info);
            named += strcmp(info.name, name) == 0;
        }
    }
    assert_int_equal(named, 8);
    for (int t = 1; t < 9; t++)
        assert_true(of[t] == 501 || of[t] == 502);
    inject_done(r);
}

static void forked_children_have_theirs(void **state)
{
    struct inject_result *r = inject_run("forks");
    const struct inject_seen *child = inject_find(r, "in the child"),
                             *parent = inject_find(r, "around the fork");
    assert_int_equal(r->n, 5);
    assert_int_equal(inject_count(r, "started before"), 1);
    assert_int_equal(pp_session_threads(r->session), 3);
    assert_int_equal(r->processes, 3);
    assert_int_not_equal(child->thread.pid, parent->thread.pid);
    assert_int_equal(inject_find(r, "second child range")->thread.pid, child->thread.pid);
    assert_int_not_equal(inject_find(r, "in the grandchild")->thread.pid, child->thread.pid);
    assert_int_equal(inject_find(r, "started before")->thread.pid, parent->thread.pid);
    assert_true(inject_inside(child, parent));
    inject_done(r);
}

static void forks_while_threads_record(void **state)
{
    struct inject_result *r = inject_run("forks_among_threads");
    assert_int_equal(inject_count(r, "odd") + inject_count(r, "even"), 4 * 500);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "child %d", i);
        assert_int_equal(inject_count(r, name), 1);
    }
    inject_done(r);
}

static void what_is_open_at_exit_is_unfinished(void **state)
{
    struct inject_result *r = inject_run("unfinished");
    assert_int_equal(r->n, 2);
    assert_int_equal(inject_find(r, "open at exit")->span.flags, PP_SPAN_UNFINISHED);
    assert_int_equal(inject_find(r, "started at exit")->span.flags, PP_SPAN_UNFINISHED);
    inject_done(r);
}

static void endless_names_become_one(void **state)
{
    struct inject_result *r = inject_run("many_names");
    assert_int_equal(r->n, 5000);
    assert_int_equal(inject_count(r, "iteration 17 of epoch 0"), 1);
    assert_true(inject_count(r, "iteration # of epoch #") > 4000);
    assert_int_equal(inject_count(r, ""), 0);
    assert_int_equal(r->process[0].unnamed, 0);
    inject_done(r);
}

static void a_map_gives_phases(void **state)
{
    struct inject_result *r = inject_run_with("mapped", "decode* = decode\nlib:io = read\n", NULL, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(inject_find(r, "lib:io")->span.phase, PP_PHASE_READ);
    assert_int_equal(inject_find(r, "io")->span.phase, PP_PHASE_USER);
    assert_int_equal(inject_find(r, "decode_batch")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(inject_find(r, "decode_batch")->span.batch, 3);
    assert_int_equal(inject_find(r, "decode_jpeg")->span.phase, PP_PHASE_USER);
    assert_int_equal(inject_find(r, "decode_jpeg")->span.batch, 3);
    assert_int_equal(inject_find(r, "decode_again")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(inject_find(r, "decode_started")->span.phase, PP_PHASE_DECODE);
    assert_int_equal(inject_find(r, "decode_mark")->span.phase, PP_PHASE_USER);
    const struct pp_span *busy = &inject_find(r, "decode_again")->span;
    const struct pp_span *asleep = &inject_find(r, "decode_asleep")->span;
    int delay = access("/proc/thread-self/schedstat", R_OK) == 0 ? PP_SPAN_HAS_DELAY : 0;
    assert_int_equal(busy->flags, PP_SPAN_HAS_CPU | delay);
    assert_true(busy->cpu_ns > 100000 && busy->cpu_ns < busy->dur_ns + 1000000);
    assert_true(busy->run_delay_ns < busy->dur_ns + 1000000);
    assert_int_equal(asleep->flags, PP_SPAN_HAS_CPU | delay);
    assert_true(asleep->cpu_ns < asleep->dur_ns / 4);
    assert_int_equal(inject_find(r, "decode_after_brief")->span.flags, 0); /* not worth measuring */
    assert_int_equal(inject_find(r, "decode_started")->span.flags, 0);     /* it may end on another thread */
    struct pp_ring_info info;
    pp_session_ring_info(r->session, 0, &info);
    assert_int_equal(info.lane, PP_LANE_WORKER);
    inject_done(r);
}

/* The span of that name in the ring of what is handed out; NULL: there is none. */
static const struct inject_seen *handed_out(const struct inject_result *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->seen[i].name, name) == 0 && strcmp(r->seen[i].thread.name, "of process") == 0)
            return &r->seen[i];
    return NULL;
}

/* Work that other threads do: one lane has it, with their CPU time; the threads that wait keep the name. */
static void work_of_the_process_is_one_workers(void **state)
{
    struct inject_result *r = inject_run_with("of_process", "DALI:work* = decode of process\n", NULL, 1024);
    const struct inject_seen *here = handed_out(r, "DALI:work here"),
                             *there = handed_out(r, "DALI:work there"),
                             *within = handed_out(r, "DALI:work within"),
                             *around = handed_out(r, "DALI:work around");
    assert_int_equal(r->status, 0);
    assert_true(here && there && within && around);
    const struct inject_seen *all[] = {here, there, within, around};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(all[i]->span.phase, PP_PHASE_DECODE);
        assert_int_equal(all[i]->thread.lane, PP_LANE_WORKER);
        assert_true(all[i]->span.cpu_ns <= all[i]->span.dur_ns + 1000000);
        if (i) /* disjoint, in the order in which they ended */
            assert_true(all[i]->span.start_ns + 1000 >= all[i - 1]->span.start_ns + all[i - 1]->span.dur_ns);
    }
    assert_true(here->span.cpu_ns > 18000000); /* 20 ms of another thread */
    assert_int_equal(inject_count(r, "DALI:work here"), 2);
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->seen[i].thread.name, "of process") != 0) {
            assert_int_equal(r->seen[i].span.phase, PP_PHASE_USER);
            assert_int_equal(r->seen[i].thread.lane, PP_LANE_MAIN);
        }
    inject_done(r);
}

/* GPU and mixed operators by their names, with the map that is shipped; ranges within them and of other
 * threads are no work besides. */
static void dalis_operators_are_phases(void **state)
{
    static const struct {
        const char *name;
        pp_phase phase;
    } want[] = {{"DALI:[DALI][CPU op] Run readers__File", PP_PHASE_READ},
                {"DALI:[DALI][Mixed op] Run decoders__Image", PP_PHASE_DECODE},
                {"DALI:[DALI][GPU op] Run CropMirrorNormalize", PP_PHASE_TRANSFORM},
                {"DALI:[DALI][Mixed op] Run MakeContiguous", PP_PHASE_COLLATE}};
    char map[8192];
    FILE *in = fopen("samples/maps/dali.map", "r");
    assert_non_null(in);
    size_t n = fread(map, 1, sizeof(map) - 1, in), handed = 0;
    assert_true(n < sizeof(map) - 1);
    map[n] = '\0';
    fclose(in);
    struct inject_result *r = inject_run_with("dali_on_gpu", map, NULL, 1024);
    assert_int_equal(r->status, 0);
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        const struct inject_seen *s = handed_out(r, want[i].name);
        assert_non_null(s);
        assert_int_equal(s->span.phase, want[i].phase);
    }
    for (size_t i = 0; i < r->n; i++) {
        int in_ring = strcmp(r->seen[i].thread.name, "of process") == 0;
        handed += (size_t)in_ring;
        assert_true(in_ring || r->seen[i].span.phase == PP_PHASE_USER);
    }
    assert_int_equal(handed, sizeof(want) / sizeof(*want));
    inject_done(r);
}

static void lanes_follow_the_phases(void **state)
{
    struct inject_result *r = inject_run_with("lanes",
                                              "decode* = decode\nwait = data_wait\nsomething = collective\n",
                                              NULL, 1024);
    struct pp_ring_info first, trainer;
    assert_int_equal(r->status, 0);
    pp_session_ring_info(r->session, 0, &first);
    pp_session_ring_info(r->session, 1, &trainer);
    assert_int_equal(first.lane, PP_LANE_MAIN); /* a collective says nothing of its thread */
    assert_int_equal(trainer.lane, PP_LANE_TRAINER);
    inject_done(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(ranges_marks_domains),       cmocka_unit_test(whole_payloads_are_batches),
    cmocka_unit_test(each_thread_has_its_ring),   cmocka_unit_test(forked_children_have_theirs),
    cmocka_unit_test(forks_while_threads_record), cmocka_unit_test(what_is_open_at_exit_is_unfinished),
    cmocka_unit_test(endless_names_become_one),   cmocka_unit_test(a_map_gives_phases),
    cmocka_unit_test(lanes_follow_the_phases),    cmocka_unit_test(work_of_the_process_is_one_workers),
    cmocka_unit_test(dalis_operators_are_phases),
};

INJECT_MAIN(tests)
