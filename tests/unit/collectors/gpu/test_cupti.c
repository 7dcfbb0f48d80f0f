/* CUPTI's records and NVML's counters into a real file, against the fakes: joined to batches, on our clock,
 * with what was lost counted; and every way in which CUPTI can refuse, after which the run goes on. */
#include "collectors/gpu/cupti.h"
#include "collectors/gpu/cupti_records.h"
#include "collectors/gpu/gpu.h"
#include "collectors/record/collectors.h"
#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_cupti.h"
#include "tests/fake/fake_open.h"

#include <assert.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define BATCHES 12u
#define BYTES 4096u

static __typeof__(fake_cuda_reset) *reset_cuda;
static __typeof__(fake_cupti_reset) *reset_cupti;
static __typeof__(fake_cupti_enabled) *kinds_on;
static __typeof__(fake_cupti_dropped) *dropped;
static const char *nvml_path; /* of the fake: any library will do */

/* What a run left in the file. */
struct seen {
    unsigned memcpys, kernels, apis, syncs, others, without_batch;
    int wrong_time, wrong_source, wrong_result;
    char activity[520], counters[520], loss[200];
    double records, records_dropped, clock_error_ns, utilization, memory_used;
    uint64_t loss_count;
};
static struct {
    uint64_t from, to;
} span_of[BATCHES];
static int expect_pinned;
static uint64_t tolerance_ns;

static void on_row(void *ctx, const struct pp_gpu_row *g)
{
    struct seen *s = ctx;
    if (!strcmp(g->kind, "memcpy")) {
        s->memcpys++;
        s->wrong_source += !g->source || strcmp(g->source, expect_pinned ? "pinned" : "pageable") ||
                           strcmp(g->target, "device") || g->bytes != BYTES || g->asynchronous != 1;
    } else if (!strcmp(g->kind, "kernel")) {
        s->kernels++;
        s->wrong_source += !g->name || strcmp(g->name, "pp_spin");
    } else if (!strcmp(g->kind, "api")) {
        s->apis++;
        s->wrong_result += g->result != 0 || !g->name || strncmp(g->name, "cu", 2) || g->thread == UINT32_MAX;
        return; /* some are outside any batch */
    } else if (!strcmp(g->kind, "sync")) {
        s->syncs++;
        return;
    } else {
        s->others++;
    }
    if (g->batch >= BATCHES)
        s->without_batch++;
    else
        s->wrong_time += g->start_ns + tolerance_ns < span_of[g->batch].from ||
                         g->start_ns + g->dur_ns > span_of[g->batch].to + tolerance_ns;
}

static void on_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    struct seen *s = ctx;
    snprintf(s->loss, sizeof(s->loss), "%s", what);
    s->loss_count = count;
}

static void on_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct seen *s = ctx;
    if (!strcmp(name, "gpu_utilization_percent"))
        s->utilization = value;
    if (!strcmp(name, "gpu_memory_used_bytes"))
        s->memory_used = value;
}

static void read_back(const char *path, struct seen *s)
{
    struct pp_reader *r;
    struct pp_err err;
    const char *text;
    *s = (struct seen){.records = -1, .records_dropped = -1, .clock_error_ns = -1, .utilization = -1};
    assert_int_equal(pp_reader_open(path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_gpu(r, on_row, s, &err), PP_OK);
    assert_int_equal(pp_reader_each_counter(r, NULL, on_counter, s, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, on_loss, s, &err), PP_OK);
    snprintf(s->activity, sizeof(s->activity), "%s",
             (text = pp_reader_meta(r, "gpu", "activity")) ? text : "");
    snprintf(s->counters, sizeof(s->counters), "%s",
             (text = pp_reader_meta(r, "gpu", "counters")) ? text : "");
    pp_reader_meta_num(r, "gpu", "records", &s->records);
    pp_reader_meta_num(r, "gpu", "records_dropped", &s->records_dropped);
    pp_reader_meta_num(r, "gpu", "clock_error_ns", &s->clock_error_ns);
    pp_reader_close(r);
}

/* A run of BATCHES batches on the fake device, recorded and read back. Whatever happens to the recording, the
 * work gets done. */
static void record(const char *cuda, const char *cupti, int pageable, int activity, struct seen *s)
{
    char dir[] = "/tmp/pp-cupti-XXXXXX", path[64];
    struct pp_device *d;
    struct pp_store *store;
    struct pp_collectors *gpu;
    struct pp_err err;
    void *p;
    uint64_t ticket;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    reset_cuda(cuda);
    reset_cupti(cupti);
    expect_pinned = !pageable;
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "cuda", .pageable = pageable}, &d, &err),
                     PP_OK);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = path}, &store, &err), PP_OK);
    assert_int_equal(pp_collectors_start(&(struct pp_collect_opts){.store = store,
                                                                   .device = d,
                                                                   .gpu_activity = activity,
                                                                   .period_ns = 5000000},
                                         &gpu, &err),
                     PP_OK);
    assert_non_null(pp_collectors_describe(gpu, &pp_collector_cupti));
    assert_int_equal(pp_device_alloc(d, BYTES, &p, &err), PP_OK);
    for (unsigned i = 0; i < BATCHES; i++) {
        span_of[i].from = pp_now_ns();
        pp_device_begin(d, i);
        assert_int_equal(pp_device_copy_start(d, p, BYTES, &ticket, &err), PP_OK);
        assert_int_equal(pp_device_copy_wait(d, ticket, &err), PP_OK);
        assert_int_equal(pp_device_step_start(d, 1000000, &err), PP_OK);
        assert_int_equal(pp_device_step_wait(d, &err), PP_OK);
        pp_device_end(d);
        span_of[i].to = pp_now_ns();
    }
    pp_collectors_stop(gpu);
    assert_int_equal(kinds_on(), 0);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    pp_device_free(d, p, BYTES);
    pp_device_close(d);
    read_back(path, s);
    unlink(path);
    rmdir(dir);
}

static void assert_complete(const struct seen *s)
{
    assert_int_equal(s->memcpys, BATCHES);
    assert_int_equal(s->kernels, BATCHES);
    assert_int_equal(s->syncs, 2 * BATCHES);
    assert_true(s->apis >= 6 * BATCHES);
    assert_int_equal(s->others, 0);
    assert_int_equal(s->without_batch, 0);
    assert_int_equal(s->wrong_source, 0);
    assert_int_equal(s->wrong_result, 0);
    assert_int_equal(s->wrong_time, 0);
    assert_int_equal(s->records_dropped, 0);
    assert_int_equal(s->records, s->memcpys + s->kernels + s->syncs + s->apis);
}

/* Both layouts, both clocks, both kinds of memory; foreign records between ours. */
static void what_the_gpu_did_is_stored_with_its_batch(void **state)
{
    static const struct {
        const char *cupti;
        int pageable;
    } rows[] = {{"", 0}, {"version=18", 0}, {"clock=1", 0}, {"version=18;clock=1;odd=1", 1}, {"odd=1", 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seen s;
        tolerance_ns = 0;
        if (strstr(rows[i].cupti, "clock=1"))
            tolerance_ns = 2000; /* half a bracket around two calls; the goal for the real clock, too */
        record("", rows[i].cupti, rows[i].pageable, 1, &s);
        assert_complete(&s);
        assert_non_null(strstr(s.activity, strstr(rows[i].cupti, "18")
                                               ? "CUPTI of libcupti.so.13, interface 18"
                                               : "CUPTI of libcupti.so.13, interface 130001"));
        if (!tolerance_ns)
            assert_int_equal(s.clock_error_ns, 0);
        assert_int_equal(s.loss_count, 0);
    }
}

/* 500 ppm and a step of minus two hours: between two comparisons 5 ms apart, a line. */
static void a_clock_that_drifts_is_followed(void **state)
{
    struct seen s;
    tolerance_ns = 20000; /* comparisons on a loaded machine come late, but the line between them holds */
    record("", "clock=1;skew-ns=-7200000000000;drift-ppm=500", 0, 1, &s);
    assert_complete(&s);
}

/* When in between the clock was set is not known: the error says how far off rows may be. */
static void a_clock_that_is_set_is_in_the_error(void **state)
{
    struct seen s;
    tolerance_ns = 50020000;
    record("", "clock=1;jump-ns=50000000", 0, 1, &s);
    assert_complete(&s);
    assert_true(s.clock_error_ns >= 49000000);
}

static void conversion_is_a_line_between_comparisons(void **state)
{
    const struct pp_cupti_anchor a = {.t_ns = 1000000, .offset_ns = -5000},
                                 b = {.t_ns = 2000000, .offset_ns = -6000};
    assert_int_equal(pp_cupti_to_monotonic(&a, &b, 1005000), 1000000);
    assert_int_equal(pp_cupti_to_monotonic(&a, &b, 1505000), 1500000 - 500);
    assert_int_equal(pp_cupti_to_monotonic(&a, &b, 905000), 900000);          /* before: the first offset */
    assert_int_equal(pp_cupti_to_monotonic(&a, &b, 3005000), 3000000 - 1000); /* after: the second */
    assert_int_equal(pp_cupti_to_monotonic(&a, &a, 1505000), 1500000);
}

static void what_is_dropped_is_counted(void **state)
{
    struct seen s;
    tolerance_ns = 0;
    char dir[] = "/tmp/pp-cupti-XXXXXX", path[64];
    struct pp_cupti *c;
    struct pp_cupti_stats stats;
    struct pp_store *store;
    struct pp_device *d;
    struct pp_err err;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    reset_cuda("");
    reset_cupti("small=1");
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "cuda"}, &d, &err), PP_OK);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = path}, &store, &err), PP_OK);
    assert_int_equal(pp_cupti_open(&(struct pp_cupti_opts){.sink = pp_cupti_into(store),
                                                           .driver_version = 13000},
                                   &c, &err),
                     PP_OK);
    for (int i = 0; i < 300; i++)
        assert_int_equal(pp_device_sync(d, &err), PP_OK);
    assert_true(dropped() > 50);
    pp_cupti_poll(c); /* the pool is free again */
    assert_int_equal(pp_device_sync(d, &err), PP_OK);
    uint64_t lost = dropped();
    pp_cupti_close(c, &stats);
    assert_int_equal(stats.dropped, lost);
    assert_int_equal(dropped(), lost);
    pp_device_close(d);
    assert_int_equal(pp_store_finish(store, &err), PP_OK);
    pp_store_close(store);
    read_back(path, &s);
    assert_true(stats.rows > 0);
    assert_int_equal(s.apis + s.syncs, stats.rows);
    unlink(path);
    rmdir(dir);
}

static void a_run_goes_on_when_cupti_refuses(void **state)
{
    static const struct {
        const char *cupti, *variable, *value, *says;
    } rows[] = {
        {"enable=39", NULL, NULL,
         "another profiler owns CUPTI (nsys, ncu or PyTorch's): cuptiActivityEnable returned CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"},
        {"enable=39", "NSYS_PROFILING_SESSION_ID", "7", "another profiler owns CUPTI (Nsight Systems)"},
        {"enable=39", "CUDA_INJECTION64_PATH", "/opt/x/libtool.so",
         "another profiler owns CUPTI (/opt/x/libtool.so)"},
        {"enable=39", "CUDA_INJECTION64_PATH", "/opt/n/target-linux-x64/libToolsInjection64.so",
         "another profiler owns CUPTI (Nsight Systems (libToolsInjection64.so))"},
        {"enable=39", "CUDA_INJECTION64_PATH", "/opt/n/libcuda-injection.so",
         "another profiler owns CUPTI (Nsight Compute (libcuda-injection.so))"},
        {"enable=35", NULL, NULL, "NVreg_RestrictProfilingToAdminUsers"},
        {"enable=15", NULL, NULL, "the driver is older than this CUPTI"},
        {"callbacks=999", NULL, NULL, "cuptiActivityRegisterCallbacks failed: unknown error (999)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seen s;
        if (rows[i].variable)
            setenv(rows[i].variable, rows[i].value, 1);
        record("", rows[i].cupti, 0, 1, &s);
        if (rows[i].variable)
            unsetenv(rows[i].variable);
        assert_memory_equal(s.activity, "not recorded: ", 14);
        if (!strstr(s.activity, rows[i].says))
            fail_msg("%s: %s", rows[i].says, s.activity);
        assert_int_equal(s.memcpys + s.kernels + s.apis + s.syncs + s.others, 0);
        assert_true(s.records < 0); /* absent, not zero */
        assert_int_equal(s.utilization, 42);
    }
    struct seen s;
    record("", "", 0, 0, &s);
    assert_string_equal(s.activity, "not recorded: asked not to");
}

/* PyTorch's profiler is no variable: its library is there. */
static void a_holder_is_known_by_its_library(void **state)
{
    char dir[] = "/tmp/pp-holder-XXXXXX", path[80], command[300];
    struct seen s;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/libkineto.so.1", dir);
    snprintf(command, sizeof(command), "cp '%s' '%s'", nvml_path, path);
    assert_int_equal(system(command), 0);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    record("", "enable=39", 0, 1, &s);
    dlclose(library);
    unlink(path);
    rmdir(dir);
    if (!strstr(
            s.activity,
            "another profiler owns CUPTI (PyTorch's profiler (libkineto.so.1)): cuptiActivityEnable returned"))
        fail_msg("%s", s.activity);
}

static void a_cupti_that_does_not_fit_is_named(void **state)
{
    static const char *const none[] = {"libpp-no-such-cupti.so", NULL}, *const other[] = {"libm.so.6", NULL},
                             *const ours[] = {"libcupti.so.13", NULL};
    struct pp_cupti_api_table t;
    struct pp_err err;
    reset_cupti("");
    assert_int_equal(pp_cupti_load(&t, none, 13000, &err), PP_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "CUPTI (libcupti.so) is not installed"));
    assert_int_equal(pp_cupti_load(&t, other, 13000, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "libm.so.6 is not a usable CUPTI"));
    assert_int_equal(pp_cupti_load(&t, ours, 12020, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "is for CUDA 13 and the driver supports CUDA 12.2"));
    assert_int_equal(pp_cupti_load(&t, ours, 13000, &err), PP_OK);
    assert_int_equal(t.version, 130001);
}

static void counters_a_device_does_not_tell_are_absent(void **state)
{
    struct seen s;
    record("", "", 0, 1, &s);
    assert_string_equal(s.counters, "NVML");
    assert_int_equal(s.utilization, 42);
    assert_true(s.memory_used == 3.0 * 1024 * 1024 * 1024);
    setenv("PP_FAKE_NVML", "mig", 1);
    record("", "", 0, 1, &s);
    assert_int_equal(s.utilization, -1);
    assert_true(s.memory_used > 0);
    assert_string_equal(
        s.counters,
        "NVML, without utilisation and PCIe traffic: Not Supported (a MIG instance has none of its own)");
    setenv("PP_FAKE_NVML", "fail", 1);
    record("", "", 0, 1, &s);
    assert_string_equal(s.counters, "not recorded: NVML does not know the device: Driver Not Loaded (9)");
    unsetenv("PP_FAKE_NVML");
}

static void nothing_is_looked_at_on_the_host(void **state)
{
    struct pp_device *d;
    struct pp_collectors *gpu;
    struct pp_err err;
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "host"}, &d, &err), PP_OK);
    assert_int_equal(pp_collectors_start(&(struct pp_collect_opts){.device = d, .gpu_activity = 1}, &gpu,
                                         &err),
                     PP_OK);
    assert_null(pp_collectors_describe(gpu, &pp_collector_cupti));
    assert_null(pp_collectors_describe(gpu, &pp_collector_nvml));
    pp_collectors_stop(gpu);
    pp_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_gpu_did_is_stored_with_its_batch),
        cmocka_unit_test(a_clock_that_drifts_is_followed),
        cmocka_unit_test(a_clock_that_is_set_is_in_the_error),
        cmocka_unit_test(conversion_is_a_line_between_comparisons),
        cmocka_unit_test(what_is_dropped_is_counted),
        cmocka_unit_test(a_run_goes_on_when_cupti_refuses),
        cmocka_unit_test(a_holder_is_known_by_its_library),
        cmocka_unit_test(a_cupti_that_does_not_fit_is_named),
        cmocka_unit_test(counters_a_device_does_not_tell_are_absent),
        cmocka_unit_test(nothing_is_looked_at_on_the_host),
    };
    void *cuda = fake_open("libcuda.so.1"), *cupti = fake_open("libcupti.so.13");
    struct link_map *map;
    assert(dlinfo(fake_open("libnvidia-ml.so.1"), RTLD_DI_LINKMAP, &map) == 0);
    nvml_path = map->l_name;
    reset_cuda = (__typeof__(reset_cuda))dlsym(cuda, "fake_cuda_reset");
    reset_cupti = (__typeof__(reset_cupti))dlsym(cupti, "fake_cupti_reset");
    kinds_on = (__typeof__(kinds_on))dlsym(cupti, "fake_cupti_enabled");
    dropped = (__typeof__(dropped))dlsym(cupti, "fake_cupti_dropped");
    return cmocka_run_group_tests_name("cupti", tests, NULL, NULL);
}
