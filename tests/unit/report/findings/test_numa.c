/* Workers on another NUMA node than the GPU: what is found, and when nothing is said. */
#include "tests/support/findings.h"
#include "report/rules/remedies.h"

struct facts {
    const char *device_kind, *nodes, *own, *gpu, *cpus, *distance;
};

static struct pp_report *report_with(const struct facts *x)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer");
    for (uint32_t b = 0; b < 80; b++)
        fake_span(f, trainer, PP_PHASE_STEP, FAKE_T0 + b * 100 * FAKE_MS, 100 * FAKE_MS)->batch = b;
    if (x->device_kind)
        fake_text(f, "config", "device_kind", x->device_kind);
    if (x->nodes)
        fake_num(f, "environment", "numa_nodes", x->nodes, "nodes");
    if (x->own)
        fake_text(f, "environment", "cpu_numa_nodes", x->own);
    if (x->gpu)
        fake_text(f, "environment", "gpu_numa_nodes", x->gpu);
    if (x->cpus)
        fake_text(f, "environment", "gpu_numa_cpus", x->cpus);
    if (x->distance)
        fake_num(f, "environment", "gpu_numa_distance", x->distance, "");
    struct pp_report *r = report_of(f);
    fake_free(f);
    return r;
}

static void test_what_is_found(void **state)
{
    static const struct {
        struct facts facts;
        enum pp_finding_state state;
        const char *words;
    } rows[] = {
        {{"cuda", "2", "0", "1", "8-15", "21"},
         PP_FINDING_FOUND,
         "CPUs of NUMA node 0, and its GPU is on node 1 (distance 21), with CPUs 8-15"},
        {{NULL, "2", "0", "1", "8-15", "21"}, PP_FINDING_FOUND, "node 1 (distance 21)"}, /* a PyTorch job */
        {{"cuda", "4", "0,2", "3", NULL, NULL}, PP_FINDING_FOUND, "nodes 0,2, and its GPU is on node 3"},
        {{"cuda", "2", "0,1", "1", "8-15", "10"},
         PP_FINDING_NOT_FOUND,
         "nodes 0,1, and its GPU is on node 1"},
        {{"cuda", "12", "10,11", "1", NULL, "32"}, PP_FINDING_FOUND, "node 1 (distance 32)"},
        {{NULL, "2", "0", "0,1", NULL, NULL}, PP_FINDING_NOT_MEASURED, "the GPUs are on NUMA nodes 0,1"},
        {{"cuda", "2", "0", "1", "8; rm -r x", "21"}, PP_FINDING_FOUND, "node 1 (distance 21)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report *r = report_with(&rows[i].facts);
        const struct pp_report_finding *f = finding(r, "gpu-node");
        assert_int_equal(f->state, rows[i].state);
        if (!strstr(f->sentence, rows[i].words) || strstr(f->sentence, "rm -r"))
            fail_msg("row %zu: %s", i, f->sentence);
        if (f->state == PP_FINDING_FOUND)
            assert_string_equal(f->next_step, pp_remedies[PP_REMEDY_NUMA].sentence);
        else
            assert_null(f->next_step);
        pp_report_free(r);
    }
    (void)state;
}

static void test_what_says_nothing(void **state)
{
    static const struct facts rows[] = {
        {"cuda", NULL, NULL, NULL, NULL, NULL}, /* an older recording */
        {"cuda", "1", "0", "0", NULL, NULL},    /* one node */
        {"cuda", "2", "0", NULL, NULL, NULL},   /* no GPU whose node is known */
        {"host", "2", "0", "1", NULL, "21"},    /* a GPU that the run did not use */
        {"cuda", "2", "$(x)", "1", NULL, "21"}, /* no list */
        {"cuda", "2", "0", "one", NULL, "21"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report *r = report_with(&rows[i]);
        if (finding_or_null(r, "gpu-node"))
            fail_msg("row %zu: %s", i, finding(r, "gpu-node")->sentence);
        pp_report_free(r);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_found),
        cmocka_unit_test(test_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
