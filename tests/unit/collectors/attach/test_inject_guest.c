/* The injection library as a guest: it neither ends nor slows the program it is in, whatever that does, and
 * counts what it could not keep. */
#include "tests/support/inject_fixture.h"

static void a_kill_loses_only_what_is_open(void **state)
{
    struct inject_result *r = inject_run_with("killed", NULL, NULL, 256);
    assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGKILL);
    assert_int_equal(r->n, 100);
    assert_int_equal(inject_count(r, "before the kill"), 100);
    inject_done(r);
}

static void too_much_is_counted(void **state)
{
    struct inject_result *r = inject_run("deep");
    assert_int_equal(inject_count(r, "deep"), 128);
    assert_int_equal(inject_count(r, "again"), 1);
    assert_int_equal(r->process[0].too_deep, 72);
    inject_done(r);
    r = inject_run("many_open");
    assert_int_equal(inject_count(r, "open"), 4096);
    assert_int_equal(inject_count(r, "after"), 1);
    assert_int_equal(r->process[0].too_many, 5000 - 4096);
    inject_done(r);
}

static void a_thread_without_a_ring_is_left_alone(void **state)
{
    struct inject_result *r = inject_run("without_a_ring");
    assert_int_equal(inject_count(r, "heard"), 1);
    assert_int_equal(r->n, 1);
    assert_int_equal(pp_session_unregistered(r->session), 2);
    assert_true(r->process[0].unthreaded >= 2 * 9);
    inject_done(r);
}

static void a_full_ring_drops_and_counts(void **state)
{
    struct pp_ring_info info;
    struct inject_result *r = inject_run_with("many_names", NULL, NULL, 1024);
    assert_int_equal(r->status, 0);
    pp_session_ring_info(r->session, 0, &info);
    assert_int_equal(info.dropped, 5000 - 1024);
    assert_int_equal(r->n, 1024);
    inject_done(r);
}

static void a_broken_map_is_no_map(void **state)
{
    struct inject_result *r = inject_run_with("lanes", "decode* == == nonsense\n", NULL, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(inject_count(r, "decode_here_too"), 2);
    assert_int_equal(inject_find(r, "wait")->span.phase, PP_PHASE_USER);
    inject_done(r);
}

static void signal_handlers_are_survived(void **state)
{
    struct inject_result *r = inject_run("signals");
    size_t own = 0;
    for (size_t i = 0; i < r->n; i++)
        own += r->seen[i].name[0] == 'n';
    assert_int_equal(own, 30000);
    assert_true(r->n > own);
    inject_done(r);
}

static void errno_is_left_alone(void **state)
{
    struct inject_result *r = inject_run("keeps_errno");
    assert_int_equal(r->n, 2);
    assert_string_equal(r->seen[0].thread.name, "errno");
    inject_done(r);
}

static void clients_share_one_state(void **state)
{
    struct inject_result *r = inject_run("two_clients");
    assert_int_equal(inject_count(r, "one state"), 1);
    assert_int_equal(r->process[0].clients, 3);
    inject_done(r);
}

static void another_tool_sees_everything_too(void **state)
{
    char log[] = "/tmp/pp-fake-XXXXXX", line[256] = "", tool[PATH_MAX + 64];
    close(mkstemp(log));
    setenv("FAKE_TOOL_LOG", log, 1);
    snprintf(tool, sizeof(tool), "%s", built("tests/tools/libfake_tool.so"));
    struct inject_result *r = inject_run_with("chained", NULL, tool, 1024);
    assert_int_equal(r->status, 0);
    FILE *in = fopen(log, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    fclose(in);
    unlink(log);
    unsetenv("FAKE_TOOL_LOG");
    assert_string_equal(line, "pushes 2 pops 3 starts 1 ends 1 marks 1 domains 1 strings 2 wrong 0\n");
    assert_int_equal(r->process[0].chained, 1);
    assert_int_equal(inject_count(r, "a"), 1);
    assert_int_equal(inject_count(r, "the other tool does not take this one"), 1);
    assert_int_equal(inject_count(r, "range"), 1);
    assert_int_equal(inject_count(r, "m"), 1);
    assert_int_equal(r->n, 5);
    inject_done(r);
}

static void another_tool_that_does_not_load(void **state)
{
    struct inject_result *r = inject_run_with("keeps_errno", NULL, "/nonexistent/tool.so", 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    assert_int_equal(r->process[0].chained, 2);
    inject_done(r);
    char tool[PATH_MAX + 64];
    snprintf(tool, sizeof(tool), "%s", built("tests/tools/libfake_tool.so"));
    setenv("FAKE_TOOL_REFUSES", "1", 1);
    r = inject_run_with("keeps_errno", NULL, tool, 1024);
    unsetenv("FAKE_TOOL_REFUSES");
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    assert_int_equal(r->process[0].chained, 2);
    inject_done(r);
    snprintf(tool, sizeof(tool), "%s", built("libpipeprobe_inject.so")); /* ourselves: once is enough */
    r = inject_run_with("keeps_errno", NULL, tool, 1024);
    assert_int_equal(r->status, 0);
    assert_int_equal(r->n, 2);
    inject_done(r);
}

static void without_a_session_it_steps_back(void **state)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NVTX_INJECTION64_PATH", built("libpipeprobe_inject.so"), 1);
        if (state && *state)
            setenv("PIPEPROBE_SESSION", *state, 1);
        else
            unsetenv("PIPEPROBE_SESSION");
        inject_become("without_a_session");
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_session_that_is_none(void **state)
{
    char dir[] = "/tmp/pp-inject-XXXXXX", path[64];
    void *as = dir;
    assert_non_null(mkdtemp(dir));
    without_a_session_it_steps_back(&as); /* empty */
    snprintf(path, sizeof(path), "%s/session", dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("not a session", out);
    fclose(out);
    without_a_session_it_steps_back(&as);
    assert_int_equal(truncate(path, sizeof(struct pp_session_file)), 0);
    without_a_session_it_steps_back(&as); /* the right size, the wrong bytes */
    unlink(path);
    rmdir(dir);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_kill_loses_only_what_is_open),
    cmocka_unit_test(too_much_is_counted),
    cmocka_unit_test(a_thread_without_a_ring_is_left_alone),
    cmocka_unit_test(a_full_ring_drops_and_counts),
    cmocka_unit_test(a_broken_map_is_no_map),
    cmocka_unit_test(signal_handlers_are_survived),
    cmocka_unit_test(errno_is_left_alone),
    cmocka_unit_test(clients_share_one_state),
    cmocka_unit_test(another_tool_sees_everything_too),
    cmocka_unit_test(another_tool_that_does_not_load),
    cmocka_unit_test(without_a_session_it_steps_back),
    cmocka_unit_test(a_session_that_is_none),
};

INJECT_MAIN(tests)
