/* GPU idle time and the sync verdicts from made-up rows: every nanosecond of the split is known beforehand.
 */
#include "tests/support/findings.h"
#include "tests/support/json_schema.h"
#include "report/gpu/gpu.h"
#include "report/render/render.h"

#define US UINT64_C(1000)
enum { BATCHES = 80, WARMUP = 20, MOST_ROWS = 4096, TRAINER_TID = 1, COPY_TID = 2 };

static struct pp_gpu_row row[MOST_ROWS];
static size_t n_rows;
static uint32_t correlation;

static pp_status each_gpu(void *ctx, pp_gpu_fn *fn, void *fn_ctx, struct pp_err *err)
{
    for (size_t i = 0; i < n_rows; i++)
        fn(fn_ctx, &row[i]);
    return PP_OK;
}

static struct pp_gpu_row *add(const char *kind, uint64_t from, uint64_t to, uint32_t batch)
{
    assert_true(n_rows < MOST_ROWS);
    row[n_rows] = (struct pp_gpu_row){.kind = kind,
                                      .start_ns = from,
                                      .dur_ns = to - from,
                                      .batch = batch,
                                      .correlation = correlation,
                                      .thread = UINT32_MAX,
                                      .asynchronous = -1,
                                      .result = -1};
    return &row[n_rows++];
}

/* A call and what it made the device do share a correlation id. */
static void call(uint32_t tid, uint64_t from, uint64_t to, uint32_t batch)
{
    correlation++;
    add("api", from, to, batch)->thread = tid;
}

/* One batch of 30 ms: where its parts lie, in us from its beginning; to 0: there is none. The kernel runs
 * from kernel[0] to kernel[1]. */
struct shape {
    unsigned copy[2], kernel[2], launch, sync[2], other_copy[2];
    const char *source, *sync_name;
    int blocking, no_batch;
};

static void batch_rows(const struct shape *s, uint64_t t, uint32_t batch)
{
    if (s->copy[1]) {
        call(COPY_TID, t + s->copy[0] * US, t + s->copy[1] * US, batch);
        struct pp_gpu_row *c = add("memcpy", t + s->copy[0] * US, t + s->copy[1] * US, batch);
        c->source = s->source ? s->source : "pinned";
        c->asynchronous = !s->blocking;
        c->bytes = 1000000;
    }
    if (s->other_copy[1]) {
        call(COPY_TID, t + s->other_copy[0] * US, t + s->other_copy[1] * US, batch + 1000);
        struct pp_gpu_row *c = add("memcpy", t + s->other_copy[0] * US, t + s->other_copy[1] * US,
                                   batch + 1000);
        c->source = "pinned";
        c->asynchronous = 0;
    }
    if (s->sync[1]) {
        call(TRAINER_TID, t + s->sync[0] * US, t + s->sync[1] * US, batch);
        add("sync", t + s->sync[0] * US, t + s->sync[1] * US, batch)->name = s->sync_name
                                                                                 ? s->sync_name
                                                                                 : "context synchronize";
    }
    call(TRAINER_TID, t + s->launch * US, t + s->launch * US + 5 * US, batch);
    add("kernel", t + s->kernel[0] * US, t + s->kernel[1] * US, s->no_batch ? UINT32_MAX : batch)
        ->name = "pp_spin";
}

static struct fake_run *make(const struct shape *s, uint64_t wait_us, uint64_t step_us)
{
    struct fake_pipeline p = {.workers = 2,
                              .batches = BATCHES,
                              .warmup = WARMUP,
                              .batch_size = 8,
                              .wait_ns = wait_us * US,
                              .step_ns = step_us * US,
                              .h2d_ns = wait_us * US,
                              .stage = {{PP_PHASE_READ, 50 * US, 0.1, 0},
                                        {PP_PHASE_DECODE, 100 * US, 0.98, 0.01},
                                        {PP_PHASE_SLOT_WAIT, 2850 * US, 0.01, 0}}};
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "run", "outcome", "finished");
    fake_text(f, "config", "device_kind", "cuda");
    fake_text(f, "config", "device_name", "Fake GPU 0");
    fake_text(f, "config", "step", "cuda");
    fake_num(f, "config", "batch_size", "8", NULL);
    fake_num(f, "environment", "usable_cpus", "4", NULL);
    fake_text(f, "gpu", "activity", "CUPTI of libcupti.so.13, interface 130001");
    fake_num(f, "gpu", "records", "1000", "records");
    fake_num(f, "gpu", "records_dropped", "0", "records");
    n_rows = 0;
    correlation = 0;
    for (uint32_t b = 0; b < BATCHES; b++)
        batch_rows(s, FAKE_T0 + 100 * FAKE_MS + b * (wait_us + step_us) * US, b);
    return f;
}

static struct pp_report *report(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    source.each_gpu = each_gpu;
    return report_of_source(&source);
}

/* ---- the split ---- */

static const struct {
    const char *what;
    struct shape shape;
    double busy, data, copy, sync, launch, other; /* of the 30 ms a batch takes, in ms */
} splits[] = {
    {"the loader is late: the copy comes 9 ms after the kernel before, takes 1 ms and is launched at once",
     {.copy = {9000, 10000}, .kernel = {10000, 30000}, .launch = 10000},
     20,
     9,
     1,
     0,
     0,
     0},
    {"a long copy", {.copy = {1000, 10000}, .kernel = {10000, 30000}, .launch = 10000}, 20, 1, 9, 0, 0, 0},
    {"the data is there early and the host launches late",
     {.copy = {1000, 2000}, .kernel = {10000, 30000}, .launch = 9500},
     20,
     1,
     1,
     0,
     8,
     0},
    {"a synchronisation before the launch, data there",
     {.copy = {500, 1000}, .kernel = {10000, 30000}, .launch = 9000, .sync = {2000, 8000}},
     20,
     0.5,
     0.5,
     6,
     3,
     0},
    {"a synchronisation while the batch is copied is the copy's",
     {.copy = {2000, 8000}, .kernel = {10000, 30000}, .launch = 10000, .sync = {2000, 9000}},
     20,
     2,
     6,
     1,
     1,
     0},
    {"the wait for the kernel itself, which begins after its launch, is none",
     {.copy = {0, 1000}, .kernel = {10000, 30000}, .launch = 2000, .sync = {2010, 30000}},
     20,
     0,
     1,
     0,
     9,
     0},
    {"launched, and held back by a blocking copy of another batch",
     {.copy = {0, 1000}, .kernel = {10000, 30000}, .launch = 2000, .other_copy = {2000, 9000}},
     20,
     0,
     8,
     0,
     2,
     0},
    {"an unknown batch is not guessed at",
     {.copy = {1000, 9000}, .kernel = {10000, 30000}, .launch = 9000, .no_batch = 1},
     20,
     0,
     0,
     0,
     1,
     9},
    {"copies under the kernel before leave nothing",
     {.copy = {1, 2}, .kernel = {0, 30000}, .launch = 0},
     30,
     0,
     0,
     0,
     0,
     0},
};

static void idle_time_is_divided_to_the_nanosecond(void **state)
{
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        struct fake_run *f = make(&splits[i].shape, 10000, 20000);
        struct pp_report *r = report(f);
        const double want[] = {splits[i].data, splits[i].copy, splits[i].sync, splits[i].launch,
                               splits[i].other};
        double sum = r->gpu->busy_share;
        assert_null(r->gpu->not_measured);
        assert_true(fabs(r->gpu->busy_share - splits[i].busy / 30) < 1e-6);
        for (int k = 0; k < PP_GPU_IDLES; k++) {
            if (fabs(r->gpu->idle_share[k] - want[k] / 30) > 1e-6)
                fail_msg("%s: part %d is %.4f ms, not %.4f", splits[i].what, k, r->gpu->idle_share[k] * 30,
                         want[k]);
            sum += r->gpu->idle_share[k];
        }
        assert_true(fabs(sum - 1) < 1e-9);
        report_done(r, f);
    }
}

static void copies_and_calls_are_summed(void **state)
{
    const struct shape s = {.copy = {5000, 15000},
                            .kernel = {10000, 30000},
                            .launch = 9000,
                            .sync = {1000, 2000},
                            .source = "pageable"};
    struct fake_run *f = make(&s, 10000, 20000);
    struct pp_report *r = report(f);
    const struct pp_report_gpu *g = r->gpu;
    assert_int_equal(g->copies, BATCHES - WARMUP);
    assert_int_equal(g->copied_bytes, (BATCHES - WARMUP) * 1000000u);
    assert_true(fabs(g->copy_bytes_per_s - 1e8) < 1);
    assert_true(fabs(g->overlap_share - 0.5) < 1e-9);
    assert_true(fabs(g->overlap_gain - (30.0 / 25 - 1)) < 1e-6); /* 5 of the 30 ms would be gone */
    assert_true(g->pageable_share == 1 && g->blocking_share == 0);
    assert_true(fabs(g->syncs_per_step - 1) < 1e-9);
    assert_true(fabs(g->kernel_ns - 20e6) < 1);
    assert_true(fabs(g->exposed_copy_ns - 5e6) < 1);
    assert_true(fabs(g->idle_in_wait_ns - 10e6) < 1);
    assert_true(g->recorded_share == 1);
    report_done(r, f);
}

/* ---- verdicts ---- */

static const struct {
    const char *l1, *l2;
    uint64_t wait_us, step_us;
    struct shape shape;
} verdicts[] = {
    {"sync",
     "pageable",
     10000,
     20000,
     {.copy = {500, 10000}, .kernel = {10000, 30000}, .launch = 10000, .source = "pageable"}},
    {"sync", "serial-copy", 10000, 20000, {.copy = {500, 10000}, .kernel = {10000, 30000}, .launch = 10000}},
    {"sync", "h2d-bandwidth", 27000, 3000, {.copy = {500, 27000}, .kernel = {27000, 30000}, .launch = 27000}},
    {"sync",
     "implicit-sync",
     10000,
     20000,
     {.copy = {1, 2}, .kernel = {10000, 30000}, .launch = 9990, .sync = {10, 9900}}},
    {"sync",
     "small-batch",
     2000,
     28000,
     {.copy = {1, 2},
      .kernel = {20000, 30000},
      .launch = 3000,
      .sync = {10, 2000},
      .sync_name = "event synchronize"}},
    {NULL,
     NULL,
     10000,
     20000,
     {.copy = {9400, 9500},
      .kernel = {10000, 30000},
      .launch = 9990}}, /* late data: the spans say h2d, the device does not */
};

static int same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_document(const struct pp_report *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pp_render_json(r, out), 0);
    fclose(out);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    schema_check_file("docs/report.schema.json", document);
    json_decref(document);
    free(text);
}

static void sync_is_decided_by_the_device(void **state)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        struct fake_run *f = make(&verdicts[i].shape, verdicts[i].wait_us, verdicts[i].step_us);
        struct pp_report *r = report(f);
        const struct pp_report_verdict *v = &r->verdict;
        assert_string_equal(v->l0, "input-bound");
        if (!same(v->l1, verdicts[i].l1) || !same(v->l2, verdicts[i].l2))
            fail_msg("%s: %s", verdicts[i].l2 ? verdicts[i].l2 : "no cause", v->sentence);
        check_document(r);
        report_done(r, f);
    }
}

/* ---- what was not measured ---- */

static void set_meta(struct fake_run *f, const char *key, const char *value)
{
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].section, "gpu") == 0 && strcmp(f->meta[i].key, key) == 0)
            f->meta[i].value = value;
}

static void without_cupti_it_is_not_measured(void **state)
{
    const struct shape s = {.copy = {500, 10000}, .kernel = {10000, 30000}, .launch = 10000};
    static const char why[] = "not recorded: CUPTI (libcupti.so) is not installed";
    struct fake_run *f = make(&s, 10000, 20000);
    set_meta(f, "activity", why);
    n_rows = 0;
    struct pp_report *r = report(f);
    assert_string_equal(r->gpu->not_measured, why);
    assert_true(isnan(r->gpu->busy_share) && isnan(r->gpu->idle_share[PP_GPU_IDLE_COPY]));
    assert_null(r->verdict.l1);
    assert_non_null(strstr(r->verdict.sentence, "NOT MEASURED: not recorded: CUPTI (libcupti.so)"));
    char *text = NULL;
    size_t size;
    int (*const renderers[])(const struct pp_report *, FILE *) = {pp_render_md, pp_render_csv, pp_render_html,
                                                                  pp_render_json};
    for (size_t i = 0; i < 4; i++) {
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(renderers[i](r, out), 0);
        fclose(out);
        assert_non_null(strstr(text, "CUPTI (libcupti.so) is not installed"));
        free(text);
    }
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pp_render_text(r, out, 0, 120), 0);
    fclose(out);
    assert_non_null(strstr(text, "NOT MEASURED: not recorded: CUPTI (libcupti.so) is not installed"));
    free(text);
    report_done(r, f);
}

/* A job of which nothing else is known: the reason alone makes the part of the report, and no cause is named.
 */
static void another_programs_gpu_is_not_measured(void **state)
{
    const struct shape s = {.copy = {500, 10000}, .kernel = {10000, 30000}, .launch = 10000};
    static const char why[] = "not recorded: kernels and copies of another program are not read";
    struct fake_run *f = make(&s, 10000, 20000);
    set_meta(f, "activity", why);
    for (size_t i = 0; i < f->n_meta; i++)
        if (strncmp(f->meta[i].key, "device", 6) == 0)
            f->meta[i].section = "nowhere";
    n_rows = 0;
    struct pp_report *r = report(f);
    assert_non_null(r->gpu);
    assert_string_equal(r->gpu->not_measured, why);
    assert_true(isnan(r->gpu->pageable_share) && isnan(r->gpu->idle_share[PP_GPU_IDLE_COPY]));
    assert_null(r->verdict.l1);
    assert_non_null(strstr(r->verdict.sentence, "NOT MEASURED: not recorded: kernels and copies of another"));
    report_done(r, f);
    (void)state;
}

/* A PyTorch job, of which the process recorded its own GPU: kernels of a thread without a lane, as
 * autograd's, are the step's; while they run, a wait costs nothing. */
static struct fake_run *make_job(const struct shape *s)
{
    struct fake_run *f = make(s, 10000, 20000);
    for (size_t i = 0; i < f->n_meta; i++)
        if (strncmp(f->meta[i].key, "device", 6) == 0 || strcmp(f->meta[i].key, "step") == 0)
            f->meta[i].section = "nowhere";
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(row[i].kind, "api") == 0 && row[i].thread == TRAINER_TID)
            row[i].thread = 77;
    fake_text(f, "config", "source", "pytorch");
    fake_text(f, "environment", "gpu", "Fake GPU 0");
    fake_num(f, "gpu", "from_ns", "5000000000", "ns");
    return f;
}

static void a_jobs_kernels_hide_its_waits(void **state)
{
    static const struct {
        const char *what;
        struct shape shape;
        const char *until; /* FAKE_T0 is 5 s, the steady state begins 0.7 s later and lasts 1.8 s */
        double busy, recorded;
        int bound;
    } rows[] = {
        {"kernels all the time", {.copy = {1, 2}, .kernel = {0, 30000}}, NULL, 1, 1, 0},
        {"the GPU waits as well",
         {.copy = {9000, 10000}, .kernel = {10000, 30000}, .launch = 10000},
         NULL,
         20.0 / 30,
         1,
         1},
        {"known of a quarter, which does not speak for the rest",
         {.copy = {1, 2}, .kernel = {0, 30000}},
         "6150000000",
         1,
         0.25,
         1},
        {"known of three quarters", {.copy = {1, 2}, .kernel = {0, 30000}}, "7050000000", 1, 0.75, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = make_job(&rows[i].shape);
        if (rows[i].until)
            fake_num(f, "gpu", "until_ns", rows[i].until, "ns");
        struct pp_report *r = report(f);
        assert_non_null(r->gpu);
        assert_null(r->gpu->not_measured);
        assert_string_equal(r->gpu->name, "Fake GPU 0");
        if (fabs(r->gpu->busy_share - rows[i].busy) > 1e-6 ||
            fabs(r->gpu->recorded_share - rows[i].recorded) > 1e-6)
            fail_msg("%s: busy %.4f of %.4f", rows[i].what, r->gpu->busy_share, r->gpu->recorded_share);
        if (strcmp(r->verdict.l0, rows[i].bound ? "input-bound" : "not-input-bound") != 0)
            fail_msg("%s: %s", rows[i].what, r->verdict.l0);
        /* no ceiling is above what the kernels leave, and a quarter says nothing of it */
        double most = rows[i].recorded < 0.5 ? INFINITY : (1 - rows[i].busy) / rows[i].busy;
        if (!(r->headroom_gain <= most + 1e-6) || (rows[i].bound && !(r->headroom_gain > 0.2)))
            fail_msg("%s: +%.3f, at most +%.3f", rows[i].what, r->headroom_gain, most);
        if (!rows[i].bound)
            assert_non_null(strstr(r->verdict.next_step, "while the GPU still has kernels to run"));
        report_done(r, f);
    }
}

static void what_was_recorded_elsewhere_is_not_measured(void **state)
{
    const struct shape s = {.copy = {9000, 10000}, .kernel = {10000, 30000}, .launch = 10000};
    struct fake_run *f = make_job(&s);
    (void)state;
    fake_num(f, "gpu", "until_ns", "5600000000", "ns"); /* in the warm-up */
    struct pp_report *r = report(f);
    assert_string_equal(r->gpu->not_measured, "GPU activity was recorded outside the steady state only");
    report_done(r, f);
}

static void dropped_records_and_no_kernels_are_reasons(void **state)
{
    const struct shape s = {.copy = {500, 10000}, .kernel = {10000, 30000}, .launch = 10000};
    struct fake_run *f = make(&s, 10000, 20000);
    set_meta(f, "records_dropped", "11");
    struct pp_report *r = report(f);
    assert_string_equal(r->gpu->not_measured,
                        "11 of 1011 records were dropped, and above 1 % the shares are not reliable");
    pp_report_free(r);
    set_meta(f, "records_dropped", "10");
    r = report(f);
    assert_null(r->gpu->not_measured);
    pp_report_free(r);
    n_rows = 0;
    r = report(f);
    assert_non_null(strstr(r->gpu->not_measured, "no kernel of a step ran in the steady state"));
    report_done(r, f);
}

/* NVML's readings stand beside CUPTI's rows: each is known, or said to be missing, for itself. */
static struct {
    uint64_t t_ns;
    const char *name;
    double value;
} reading[16];
static size_t n_readings;

static pp_status each_counter(void *ctx, pp_counter_fn *fn, void *fn_ctx, struct pp_err *err)
{
    for (size_t i = 0; i < n_readings; i++)
        fn(fn_ctx, reading[i].t_ns, reading[i].name, reading[i].value);
    return PP_OK;
}

static void nvml_is_summed_up_in_the_window(void **state)
{
    static const struct shape fed = {.copy = {1, 2}, .kernel = {0, 30000}, .launch = 0};
    struct fake_run *f = make(&fed, 1000, 29000);
    struct pp_source source = fake_source(f);
    const uint64_t in = FAKE_T0 + 2000 * FAKE_MS; /* the window is behind 20 batches of 30 ms */
    struct pp_report *r;
    source.each_gpu = each_gpu;
    source.each_counter = each_counter;
    fake_text(f, "gpu", "counters", "NVML");
    n_readings = 0;
    for (uint64_t i = 0; i < 2; i++) {
        reading[n_readings++] = (typeof(reading[0])){in + i, "gpu_utilization_percent", i ? 60 : 20};
        reading[n_readings++] = (typeof(reading[0])){in + i, "gpu_memory_used_bytes", i ? 3e9 : 5e9};
        reading[n_readings++] = (typeof(reading[0])){in + i, "gpu_pcie_rx_bytes_per_s", i ? 1e9 : 3e9};
    }
    reading[n_readings++] = (typeof(reading[0])){FAKE_T0, "gpu_utilization_percent", 100}; /* before it */
    assert_int_equal(pp_report_from(&source, &r, NULL), PP_OK);
    assert_null(r->gpu->counters_missing);
    assert_true(r->gpu->utilization_share == 0.4);
    assert_true(r->gpu->memory_used_bytes == 5e9);
    assert_true(r->gpu->pcie_rx_bytes_per_s == 2e9);
    assert_true(isnan(r->gpu->pcie_tx_bytes_per_s)); /* not told */
    pp_report_free(r);

    n_readings = 0;
    assert_int_equal(pp_report_from(&source, &r, NULL), PP_OK);
    assert_non_null(strstr(r->gpu->counters_missing, "no NVML sample in the steady state"));
    pp_report_free(r);

    set_meta(f, "counters", "not recorded: there is no NVML here");
    assert_int_equal(pp_report_from(&source, &r, NULL), PP_OK);
    assert_string_equal(r->gpu->counters_missing, "not recorded: there is no NVML here");
    assert_true(isnan(r->gpu->utilization_share));
    assert_null(r->gpu->not_measured);
    report_done(r, f);
}

static void a_host_run_has_no_gpu(void **state)
{
    struct fake_pipeline p = {.workers = 1,
                              .batches = BATCHES,
                              .warmup = WARMUP,
                              .batch_size = 8,
                              .wait_ns = FAKE_MS,
                              .step_ns = 20 * FAKE_MS,
                              .stage = {{PP_PHASE_READ, FAKE_MS, 0.1, 0}}};
    struct fake_run *f = fake_pipeline(&p);
    fake_text(f, "config", "device_kind", "host");
    struct pp_report *r = report_of(f);
    assert_null(r->gpu);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_time_is_divided_to_the_nanosecond),
        cmocka_unit_test(copies_and_calls_are_summed),
        cmocka_unit_test(sync_is_decided_by_the_device),
        cmocka_unit_test(without_cupti_it_is_not_measured),
        cmocka_unit_test(another_programs_gpu_is_not_measured),
        cmocka_unit_test(a_jobs_kernels_hide_its_waits),
        cmocka_unit_test(what_was_recorded_elsewhere_is_not_measured),
        cmocka_unit_test(dropped_records_and_no_kernels_are_reasons),
        cmocka_unit_test(nvml_is_summed_up_in_the_window),
        cmocka_unit_test(a_host_run_has_no_gpu),
    };
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
