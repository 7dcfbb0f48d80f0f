/* Whether two reports are of the same work (tui/cli/tune/verify_work.c): each kind of less is seen, by its
 * code and no other, and what a machine does to times is none. */
#include "tui/cli/tune/tune.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct job {
    struct pp_report r;
    struct pp_report_loader loader;
    struct pp_report_phase phase[4];
    struct pp_report_finding finding[2];
};

static struct pp_report_phase phase(pp_phase p, double total_ms, double delay, double cpu)
{
    return (struct pp_report_phase){.phase = p,
                                    .total_ns = (uint64_t)(total_ms * 1e6),
                                    .p50_ns = (uint64_t)(total_ms * 1e4),
                                    .run_delay_share = delay,
                                    .cpu_share = cpu};
}

static void make_job(struct job *j)
{
    *j = (struct job){
        .loader = {.dataset = "torchvision.datasets.folder.ImageFolder",
                   .samples = 50000,
                   .batch_size = 64,
                   .drop_last = 0,
                   .batches = 100,
                   .epochs = 1,
                   .judged = 1},
        .phase = {phase(PP_PHASE_READ, 500, 0, 0.1), phase(PP_PHASE_DECODE, 2000, 0.2, 0.8),
                  phase(PP_PHASE_TRANSFORM, 4000, 0.2, 0.8), phase(PP_PHASE_STEP, 1000, 0, 0.5)},
        .finding = {{.kind = "view-of-storage", .number = {{"tensor_bytes", 38535168}}, .numbers = 1},
                    {.kind = "samples-repeated",
                     .number = {{"visits", 6400}, {"repeated_visits", 0}},
                     .numbers = 2}}};
    j->r = (struct pp_report){.loaders = &j->loader,
                              .n_loaders = 1,
                              .phases = j->phase,
                              .n_phases = 4,
                              .findings = j->finding,
                              .n_findings = 2,
                              .window_samples = 6400};
}

/* The codes that differ, separated by commas. */
static const char *differing(struct job *before, struct job *after, int *is_less)
{
    static char codes[200];
    struct verify_check check[VERIFY_CHECKS];
    struct verify_work was, is;
    before->r.loaders = &before->loader, before->r.phases = before->phase,
    before->r.findings = before->finding;
    after->r.loaders = &after->loader, after->r.phases = after->phase, after->r.findings = after->finding;
    verify_work_read(&before->r, &was);
    verify_work_read(&after->r, &is);
    int n = verify_work_compare(&was, &is, check), found = 0;
    codes[0] = '\0';
    *is_less = 0;
    for (int i = 0; i < VERIFY_CHECKS; i++)
        if (!check[i].same) {
            found++;
            *is_less |= check[i].is_less;
            strcat(strcat(codes, codes[0] ? "," : ""), check[i].code);
        }
    assert_int_equal(n, found);
    return codes;
}

static void the_same_is_the_same(void **state)
{
    struct job a, b;
    int less;
    make_job(&a), make_job(&b);
    assert_string_equal(differing(&a, &b, &less), "");
    /* More CPUs taken by others, a slower clock, cold reads: nothing of it is less work. */
    b.phase[2] = phase(PP_PHASE_TRANSFORM, 7000, 0.5, 0.45);
    b.phase[0] = phase(PP_PHASE_READ, 9000, 0, 0.01);
    b.phase[3] = phase(PP_PHASE_STEP, 1100, 0.2, 0.5);
    assert_string_equal(differing(&a, &b, &less), "");
    /* Slower, its first epoch is not over; faster, it comes to a second one. */
    b.loader.batches = 20;
    assert_string_equal(differing(&a, &b, &less), "");
    b.loader.batches = 1500, b.loader.epochs = 2;
    assert_string_equal(differing(&a, &b, &less), "");
    make_job(&b);
    b.phase[2] = phase(PP_PHASE_TRANSFORM, 3400, 0.2, 0.8);
    assert_string_equal(differing(&a, &b, &less), "");
}

static void each_kind_of_less_is_seen(void **state)
{
    struct job a, b;
    int less;
#define CHANGED(what, codes, is_less) \
    do { \
        make_job(&a), make_job(&b); \
        what; \
        assert_string_equal(differing(&a, &b, &less), (codes)); \
        assert_int_equal(less, (is_less)); \
    } while (0)
    CHANGED(b.loader.dataset = "__main__.Small", "dataset", 0);
    CHANGED(b.loader.samples = 5000, "samples", 0);
    CHANGED(b.loader.batch_size = 32, "batch_size", 0);
    CHANGED(b.loader.drop_last = 1, "drop_last", 0);
    CHANGED(b.finding[0].number[0].value /= 2, "batch_bytes", 0);
    CHANGED(b.loader.epochs = 20, "epoch", 0); /* left after 5 batches */
    CHANGED(b.finding[1].number[1].value = 3200, "repeated", 0);
    CHANGED(b.phase[2] = phase(PP_PHASE_TRANSFORM, 1000, 0.2, 0.8), "sample_work", 1);
    CHANGED(b.phase[1].total_ns = b.phase[2].total_ns = 0, "sample_work", 1);
    CHANGED(b.phase[2] = phase(PP_PHASE_TRANSFORM, 4000, 0.2, 0.1), "sample_cpu", 1); /* it mostly waits */
    CHANGED(b.phase[3] = phase(PP_PHASE_STEP, 500, 0, 0.5), "step", 1);
    CHANGED(b.phase[3] = phase(PP_PHASE_STEP, 1000, 0.5, 0.5), "step", 1); /* half of it waits for a CPU */
    CHANGED(b.phase[3].mean_ns = 5e6, "step", 1);                          /* of every other one */
}

static void the_unknown_accuses_nobody(void **state)
{
    struct job a, b;
    int less;
    make_job(&a), make_job(&b);
    b.r.n_findings = 0;
    b.loader.samples = NAN;
    b.r.window_samples = 0;
    assert_string_equal(differing(&a, &b, &less), "");
    /* Workers that stay cost less than new ones of each epoch. */
    make_job(&a), make_job(&b);
    a.loader.num_workers = b.loader.num_workers = 8, b.loader.persistent_workers = 1;
    a.loader.epochs = b.loader.epochs = 20;
    b.phase[2] = phase(PP_PHASE_TRANSFORM, 1000, 0.2, 0.8);
    assert_string_equal(differing(&a, &b, &less), "");
    a.loader.epochs = 2, b.loader.epochs = 2; /* 400 samples of each */
    assert_string_equal(differing(&a, &b, &less), "sample_work");
    a.loader.epochs = b.loader.epochs = 1; /* the first one goes on */
    b.loader.persistent_workers = 0, b.loader.batches = 20;
    assert_string_equal(differing(&a, &b, &less), "sample_work");
    /* Of samples that take next to nothing, another process tells. */
    make_job(&a), make_job(&b);
    a.r.window_samples = b.r.window_samples = 6400000;
    b.phase[2] = phase(PP_PHASE_TRANSFORM, 1000, 0.2, 0.8);
    assert_string_equal(differing(&a, &b, &less), "");
    /* What a batch's hand-over costs a step goes with it. */
    make_job(&a), make_job(&b);
    a.phase[3] = phase(PP_PHASE_STEP, 78, 0, 0.5), b.phase[3] = phase(PP_PHASE_STEP, 58, 0, 0.5);
    assert_string_equal(differing(&a, &b, &less), "");
    make_job(&a), make_job(&b);
    b.r.n_phases = 3; /* a job without steps */
    assert_string_equal(differing(&a, &b, &less), "");
}

static void the_loader_is_the_judged_one(void **state)
{
    struct pp_report_loader two[2] = {{.row = "1.0", .batches = 10},
                                      {.row = "1.1", .batches = 5, .judged = 1}};
    struct pp_report r = {.loaders = two, .n_loaders = 2};
    assert_string_equal(verify_loader_of(&r)->row, "1.1");
    two[1].judged = 0;
    assert_string_equal(verify_loader_of(&r)->row, "1.0");
    r.n_loaders = 0;
    assert_null(verify_loader_of(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_the_same),
        cmocka_unit_test(each_kind_of_less_is_seen),
        cmocka_unit_test(the_unknown_accuses_nobody),
        cmocka_unit_test(the_loader_is_the_judged_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
