/* A recorded run in which the Nth call of the driver fails, for every N there is: alone, and with every call
 * after it, as when a device is lost. Each time one sentence with the driver's words comes back, and the
 * recording that was begun is whole and can be read. */
#include "collectors/record/drain.h"
#include "collectors/store/reader.h"
#include "probe/base/err.h"
#include "probe/device/device.h"
#include "probe/loader/loader.h"
#include "probe/sampler/sampler.h"
#include "probe/transform/transform.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_cupti.h"
#include "tests/fake/fake_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { BATCHES = 4, BATCH_SIZE = 4, LOST = 719 };

static __typeof__(fake_cuda_reset) *reset_cuda;
static __typeof__(fake_cuda_total) *total;
static __typeof__(fake_cupti_reset) *reset_cupti;
static struct pp_dataset *dataset;
static struct pp_sampler *sampler;
static struct pp_transform *delivered, *bytes;
static char dir[] = "/tmp/pp-faults-XXXXXX", path[64], rings[80];

struct recording {
    struct pp_store *store;
    struct pp_session *session;
    struct pp_drain *drain;
};

/* Nothing of the recording calls the driver: it always begins. */
static void begin_recording(struct recording *r, struct pp_device *device)
{
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &r->store, NULL),
                     PP_OK);
    assert_int_equal(
        pp_session_open(&(struct pp_session_opts){.dir = rings, .ring_spans = 1024, .resources = 1},
                        &r->session, NULL),
        PP_OK);
    assert_int_equal(pp_drain_start(&(struct pp_drain_opts){.session = r->session,
                                                            .store = r->store,
                                                            .poll_ns = 1000000,
                                                            .device = device,
                                                            .gpu_activity = 1},
                                    &r->drain, NULL),
                     PP_OK);
}

static void end_recording(struct recording *r, pp_status st)
{
    struct pp_drain_stats stats;
    pp_drain_stop(r->drain, &stats);
    assert_int_equal(stats.first_failure, PP_OK);
    pp_store_meta_text(r->store, "run", "outcome", st == PP_OK ? "finished" : "failed");
    assert_int_equal(pp_store_finish(r->store, NULL), PP_OK);
    pp_store_close(r->store);
    pp_session_close(r->session, 1);
}

/* *recorded: the device could be opened, so there is a file. */
static pp_status one_run(int sync, int *recorded, struct pp_err *err)
{
    struct pp_device_normalize normalize = {.plane = 32 * 32,
                                            .value_bytes = 4,
                                            .table = pp_transform_values(delivered)};
    struct pp_loader_opts opts = {.dataset = dataset,
                                  .sampler = sampler,
                                  .transform = bytes,
                                  .workers = 1,
                                  .prefetch = 1,
                                  .batch_size = BATCH_SIZE,
                                  .in_order = 1,
                                  .max_steps = BATCHES,
                                  .copy_buffers = 2,
                                  .world_size = 1,
                                  .step = PP_STEP_DEVICE,
                                  .step_ns = 20000,
                                  .sync_every_step = sync};
    struct recording r = {0};
    struct pp_loader_result result;
    struct pp_loader *l;
    pp_err_clear(err);
    *recorded = 0;
    pp_status st = pp_device_open(&(struct pp_device_opts){.kind = "cuda",
                                                           .sync_copies = sync,
                                                           .normalize = &normalize},
                                  &opts.device, err);
    if (st != PP_OK)
        return st;
    *recorded = 1;
    begin_recording(&r, opts.device);
    opts.session = r.session;
    st = pp_loader_create(&opts, &l, err);
    if (st == PP_OK) {
        st = pp_loader_run(l, &result, err);
        pp_loader_destroy(l);
    }
    end_recording(&r, st);
    pp_device_close(opts.device);
    return st;
}

static int count(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    *(size_t *)ctx += n;
    return 0;
}

static void assert_readable(pp_status st)
{
    struct pp_reader *r;
    struct pp_err err;
    uint64_t bad = 0;
    size_t spans = 0;
    if (pp_reader_open(path, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(pp_reader_each_chunk(r, count, &spans, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    assert_string_equal(pp_reader_meta(r, "run", "outcome"), st == PP_OK ? "finished" : "failed");
    if (st == PP_OK)
        assert_true(spans > 4 * BATCHES);
    pp_reader_close(r);
}

/* Returns how many of the failures ended the run. */
static size_t fail_each(const char *how, int sync)
{
    struct pp_err err;
    size_t ended = 0;
    int recorded;
    reset_cuda("");
    reset_cupti("");
    assert_int_equal(one_run(sync, &recorded, &err), PP_OK);
    assert_readable(PP_OK);
    unsigned calls = total();
    assert_true(calls > 60);
    for (unsigned n = 1; n <= calls; n++) {
        char words[40];
        snprintf(words, sizeof(words), "%s=%u:%d", how, n, LOST);
        reset_cuda(words);
        reset_cupti("");
        pp_status st = one_run(sync, &recorded, &err);
        if (st != PP_OK &&
            !strstr(err.text, "driver error \"unspecified launch failure\" (CUDA error 719)") &&
            !strstr(err.text, "driver is too old"))
            fail_msg("%s: %s", words, err.text);
        if (recorded)
            assert_readable(st);
        ended += st != PP_OK;
    }
    reset_cuda("");
    return ended;
}

static void a_lost_device_ends_the_run_with_a_sentence(void **state)
{
    assert_true(fail_each("lose", 0) > 50);
}

/* Names, versions and giving back may fail without ending anything. */
static void a_call_that_fails_once_is_noticed(void **state)
{
    assert_true(fail_each("once", 1) > 40);
}

static int set_up(void **state)
{
    struct pp_err err;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    snprintf(rings, sizeof(rings), "%s.rings", path);
    return pp_dataset_open(&(struct pp_dataset_opts){.spec = "n=16,size=40x40", .format = "synthetic"},
                           &dataset, &err) != PP_OK ||
           pp_sampler_create(&(struct pp_sampler_opts){.kind = PP_SAMPLER_SEQUENTIAL,
                                                       .n = 16,
                                                       .world_size = 1},
                             &sampler, &err) != PP_OK ||
           pp_transform_parse("rrc:32,normalize=imagenet", PP_DTYPE_F32, &delivered, &err) != PP_OK ||
           pp_transform_until_normalize(delivered, &bytes, &err) != PP_OK;
}

static int tear_down(void **state)
{
    pp_transform_destroy(bytes);
    pp_transform_destroy(delivered);
    pp_sampler_destroy(sampler);
    pp_dataset_close(dataset);
    unlink(path);
    rmdir(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_device_ends_the_run_with_a_sentence),
        cmocka_unit_test(a_call_that_fails_once_is_noticed),
    };
    void *cuda = fake_open("libcuda.so.1"), *cupti = fake_open("libcupti.so.13");
    fake_open("libnvidia-ml.so.1");
    reset_cuda = (__typeof__(reset_cuda))dlsym(cuda, "fake_cuda_reset");
    total = (__typeof__(total))dlsym(cuda, "fake_cuda_total");
    reset_cupti = (__typeof__(reset_cupti))dlsym(cupti, "fake_cupti_reset");
    return cmocka_run_group_tests_name("cuda_faults", tests, set_up, tear_down);
}
