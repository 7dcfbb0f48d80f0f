/* The CUDA device against the fake driver: what it copies and when, and that every call that can fail is
 * looked at. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/device/cuda_driver.h"
#include "probe/device/device.h"
#include "probe/transform/transform.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static __typeof__(fake_cuda_reset) *reset;
static __typeof__(fake_cuda_calls) *calls;
static __typeof__(fake_cuda_leaks) *leaks;
static __typeof__(fake_cuda_device_bytes) *device_bytes;
static __typeof__(fake_cuda_normalized) *normalized;
static __typeof__(fake_cuda_occupy_sms) *occupy_sms;

static struct pp_device *open_cuda(struct pp_device_opts opts)
{
    struct pp_device *d;
    struct pp_err err;
    opts.kind = "cuda";
    if (pp_device_open(&opts, &d, &err) != PP_OK)
        fail_msg("%s", err.text);
    return d;
}

static void close_cuda(struct pp_device *d)
{
    pp_device_close(d);
    assert_int_equal(leaks(), 0);
}

static void says_what_it_is(void **state)
{
    struct pp_device_info i;
    reset("");
    struct pp_device *d = open_cuda((struct pp_device_opts){0});
    pp_device_info(d, &i);
    assert_string_equal(i.kind, "cuda");
    assert_string_equal(i.name, "Fake GPU 0 (compute capability 9.0, driver for CUDA 13.0), pinned");
    assert_string_equal(i.pci_bus_id, "0000:3b:00.0");
    assert_true(i.pinned);
    assert_true(i.runs_steps);
    assert_null(i.note);
    assert_null(i.passed_over);
    close_cuda(d);
    d = open_cuda((struct pp_device_opts){.pageable = 1});
    pp_device_info(d, &i);
    assert_false(i.pinned);
    assert_non_null(strstr(i.name, "pageable"));
    close_cuda(d);
}

static void bytes_arrive(void **state)
{
    uint8_t *p;
    uint64_t ticket;
    for (int pageable = 0; pageable < 2; pageable++) {
        for (int sync = 0; sync < 2; sync++) {
            reset("");
            struct pp_device *d = open_cuda(
                (struct pp_device_opts){.pageable = pageable, .sync_copies = sync});
            assert_int_equal(pp_device_alloc(d, 3 * MIB, (void **)&p, NULL), PP_OK);
            for (size_t i = 0; i < 3 * MIB; i++)
                assert_int_equal(p[i], 0);
            for (size_t i = 0; i < 3 * MIB; i++)
                p[i] = (uint8_t)(i * 7 >> 3);
            /* a short batch, then a full one: the target grows */
            for (size_t size = MIB; size <= 3 * MIB; size += MIB) {
                assert_int_equal(pp_device_copy_start(d, p, size, &ticket, NULL), PP_OK);
                assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
                assert_memory_equal(device_bytes(), p, size);
            }
            assert_int_equal(calls("cuMemcpyHtoD_v2"), sync ? 3 : 0);
            assert_int_equal(calls("cuMemcpyHtoDAsync_v2"), sync ? 0 : 3);
            pp_device_free(d, p, 3 * MIB);
            close_cuda(d);
        }
    }
}

/* Times are bounds from below, which a loaded machine cannot break; that starting does not wait is seen by
 * comparing with what it would wait for. */
static void a_pinned_copy_does_not_block_and_a_pageable_one_does(void **state)
{
    void *p;
    uint64_t ticket;
    for (int pageable = 0; pageable < 2; pageable++) {
        reset("gbps=0.01;pageable=0.01"); /* 100 ms for a MiB */
        struct pp_device *d = open_cuda((struct pp_device_opts){.pageable = pageable});
        assert_int_equal(pp_device_alloc(d, MIB, &p, NULL), PP_OK);
        uint64_t t0 = pp_now_ns();
        assert_int_equal(pp_device_copy_start(d, p, MIB, &ticket, NULL), PP_OK);
        uint64_t started = pp_now_ns() - t0;
        assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
        uint64_t done = pp_now_ns() - t0;
        assert_true(done >= 100000000);
        assert_true(pageable ? started >= 100000000 : started < 100000000);
        pp_device_free(d, p, MIB);
        close_cuda(d);
    }
}

/* A step of 100 ms and a copy of 50 ms: together 100 ms, or 150 ms when they take turns. */
static void copies_overlap_the_step_unless_they_are_synchronous(void **state)
{
    void *p;
    uint64_t ticket;
    for (int sync = 0; sync < 2; sync++) {
        reset("gbps=0.02");
        struct pp_device *d = open_cuda((struct pp_device_opts){.sync_copies = sync});
        assert_int_equal(pp_device_alloc(d, 1000000, &p, NULL), PP_OK);
        uint64_t t0 = pp_now_ns();
        assert_int_equal(pp_device_step_start(d, 100000000, NULL), PP_OK);
        assert_int_equal(pp_device_copy_start(d, p, 1000000, &ticket, NULL), PP_OK);
        assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
        uint64_t copied = pp_now_ns() - t0;
        assert_int_equal(pp_device_step_wait(d, NULL), PP_OK);
        assert_true(pp_now_ns() - t0 >= 100000000);
        assert_true(sync ? copied >= 150000000 : copied < 150000000);
        pp_device_free(d, p, 1000000);
        close_cuda(d);
    }
}

static void copy_buffers_are_used_in_turn(void **state)
{
    void *p;
    uint64_t ticket;
    const void *at[7];
    reset("");
    struct pp_device *d = open_cuda((struct pp_device_opts){.copy_buffers = 3});
    assert_int_equal(pp_device_alloc(d, MIB, &p, NULL), PP_OK);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(pp_device_copy_start(d, p, MIB, &ticket, NULL), PP_OK);
        assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
        at[i] = device_bytes();
    }
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++)
            assert_int_equal(at[i] == at[k], i % 3 == k % 3);
    assert_int_equal(calls("cuMemAlloc_v2"), 3);
    pp_device_free(d, p, MIB);
    close_cuda(d);
}

/* A batch made twice by the shipped transform: whole on the CPU, and as bytes that the device normalises. */
enum { PICTURES = 3, SIDE = 37 };
struct both_ways {
    struct pp_transform *whole, *bytes;
    uint8_t *expected, *wire;
    size_t expected_size, wire_size;
    struct pp_device_normalize normalize;
};

static void make_both_ways(struct both_ways *b, const char *spec, enum pp_dtype dtype)
{
    struct pp_buffer scratch = {0};
    struct pp_transform_plan plan;
    uint8_t pixels[64 * 64 * 3 + 64]; /* the widest load may look past the last pixel */
    assert_int_equal(pp_transform_parse(spec, dtype, &b->whole, NULL), PP_OK);
    assert_int_equal(pp_transform_until_normalize(b->whole, &b->bytes, NULL), PP_OK);
    assert_non_null(strstr(pp_transform_text(b->bytes), "normalize=none"));
    b->expected_size = pp_transform_bytes(b->whole);
    b->wire_size = pp_transform_bytes(b->bytes);
    assert_int_equal(b->expected_size, b->wire_size * pp_dtype_size(dtype));
    b->expected = test_malloc(PICTURES * b->expected_size);
    b->wire = test_malloc(PICTURES * b->wire_size);
    for (size_t k = 0; k < PICTURES; k++) {
        for (size_t i = 0; i < sizeof(pixels); i++)
            pixels[i] = (uint8_t)(i * (k + 3) * 2654435761u >> 13);
        pp_transform_draw(b->whole, 64, 64, (struct pp_sample_key){1, 0, k}, &plan);
        const struct pp_pixels p = {.data = pixels + ((size_t)plan.crop.y * 64 + (size_t)plan.crop.x) * 3,
                                    .width = plan.crop.width,
                                    .height = plan.crop.height,
                                    .stride = 64 * 3};
        assert_int_equal(pp_transform_apply(b->whole, &plan, &p, &scratch, b->expected + k * b->expected_size,
                                            NULL),
                         PP_OK);
        assert_int_equal(pp_transform_apply(b->bytes, &plan, &p, &scratch, b->wire + k * b->wire_size, NULL),
                         PP_OK);
    }
    pp_buffer_free(&scratch);
    b->normalize = (struct pp_device_normalize){.plane = (size_t)pp_transform_width(b->whole) *
                                                         (size_t)pp_transform_height(b->whole),
                                                .value_bytes = pp_dtype_size(dtype),
                                                .table = pp_transform_values(b->whole)};
}

static void free_both_ways(struct both_ways *b)
{
    test_free(b->expected);
    test_free(b->wire);
    pp_transform_destroy(b->whole);
    pp_transform_destroy(b->bytes);
}

static void normalising_on_the_device_gives_the_cpus_bits(void **state)
{
    static const char *const specs[] = {"rrc:37,hflip,normalize=imagenet",
                                        "center:80x90,normalize=0.1,0.2,0.3/0.5,0.25,2",
                                        "resize:37x37,normalize=none"};
    for (size_t i = 0; i < 3; i++) {
        for (int dtype = PP_DTYPE_F32; dtype <= PP_DTYPE_F16; dtype++) {
            for (int sync = 0; sync < 2; sync++) {
                struct both_ways b;
                void *slot;
                uint64_t ticket;
                reset("");
                make_both_ways(&b, specs[i], (enum pp_dtype)dtype);
                struct pp_device *d = open_cuda(
                    (struct pp_device_opts){.sync_copies = sync, .normalize = &b.normalize});
                assert_int_equal(pp_device_alloc(d, PICTURES * b.wire_size, &slot, NULL), PP_OK);
                memcpy(slot, b.wire, PICTURES * b.wire_size);
                for (size_t n = 1; n <= PICTURES; n++) {
                    assert_int_equal(pp_device_copy_start(d, slot, n * b.wire_size, &ticket, NULL), PP_OK);
                    assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
                    assert_memory_equal(device_bytes(), b.wire, n * b.wire_size);
                    assert_memory_equal(normalized(), b.expected, n * b.expected_size);
                }
                pp_device_free(d, slot, PICTURES * b.wire_size);
                close_cuda(d);
                free_both_ways(&b);
            }
        }
    }
}

static void a_device_that_normalises_wrongly_is_refused(void **state)
{
    struct both_ways b;
    struct pp_device *d;
    struct pp_err err;
    make_both_ways(&b, "rrc:37,normalize=imagenet", PP_DTYPE_F32);
    reset("wrong=1");
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "cuda", .normalize = &b.normalize}, &d,
                                    &err),
                     PP_E_UNSUPPORTED);
    assert_string_equal(
        err.text,
        "normalising on this device gives other values than the CPU; leave out --wire, and report this as a bug");
    assert_int_equal(leaks(), 0);
    free_both_ways(&b);
}

static void a_coarse_timer_is_told(void **state)
{
    struct pp_device_info i;
    reset("timer-ns=5000000");
    struct pp_device *d = open_cuda((struct pp_device_opts){0});
    pp_device_info(d, &i);
    assert_non_null(i.note);
    assert_memory_equal(i.note, "a step of 2 ms takes 5", 22); /* and what lies between event and launch */
    close_cuda(d);
}

/* Something else takes half of the multiprocessors for 500 ms. A step of 200 ms that is work takes 400 ms
 * beside it, and 200 ms alone; one that is a length of time is not touched by it. */
static void work_takes_longer_beside_other_work(void **state)
{
    static const struct {
        int work, beside;
        unsigned least_ms, most_ms;
    } rows[] = {{1, 1, 400, 0}, {1, 0, 200, 400}, {0, 1, 200, 400}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_device_info info;
        reset("block-ns=3000"); /* whatever a block takes */
        struct pp_device *d = open_cuda((struct pp_device_opts){.step_work = rows[i].work});
        pp_device_info(d, &info);
        assert_null(info.note);
        uint64_t t0 = pp_now_ns();
        assert_int_equal(pp_device_step_start(d, 200000000, NULL), PP_OK);
        if (rows[i].beside)
            occupy_sms(NULL, 500000000, 0.5);
        assert_int_equal(pp_device_step_wait(d, NULL), PP_OK);
        uint64_t ms = (pp_now_ns() - t0) / 1000000;
        assert_true(ms + 2 >= rows[i].least_ms); /* whole blocks */
        if (rows[i].most_ms)
            assert_true(ms < rows[i].most_ms);
        close_cuda(d);
    }
}

static const struct {
    const char *fake, *visible, *says;
    pp_status status;
} unusable[] = {
    {"devices=0", NULL, "no CUDA device", PP_E_UNSUPPORTED},
    {"", "", "CUDA_VISIBLE_DEVICES=\"\" leaves no CUDA device", PP_E_UNSUPPORTED},
    {"", "-1", "CUDA_VISIBLE_DEVICES=\"-1\" leaves no CUDA device", PP_E_UNSUPPORTED},
    {"version=8000", NULL, "too old: it supports CUDA 8.0, and CUDA 9.0 is needed", PP_E_UNSUPPORTED},
    {"fail=cuInit:1:803", NULL, "of different versions", PP_E_UNSUPPORTED},
    {"fail=cuInit:1:999", NULL, "an unknown error", PP_E_SYSTEM},
    {"fail=cuDevicePrimaryCtxRetain:1:2", NULL,
     "making a context on Fake GPU 0 failed: driver error \"out of memory\" (CUDA error 2)", PP_E_NO_MEMORY},
    {"fail=cuModuleLoadData:1:222", NULL, "loading the step's kernel", PP_E_UNSUPPORTED},
};

/* Asked for by name an unusable device is a sentence; under "auto" the host takes its place and hands the
 * sentence on. */
static void an_unusable_device_says_why(void **state)
{
    for (size_t i = 0; i < sizeof(unusable) / sizeof(unusable[0]); i++) {
        struct pp_device *d;
        struct pp_device_info info;
        struct pp_err err;
        reset(unusable[i].fake);
        if (unusable[i].visible)
            setenv("CUDA_VISIBLE_DEVICES", unusable[i].visible, 1);
        assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "cuda"}, &d, &err),
                         unusable[i].status);
        assert_null(d);
        if (!strstr(err.text, unusable[i].says))
            fail_msg("%s: %s", unusable[i].says, err.text);
        assert_int_equal(leaks(), 0);
        reset(unusable[i].fake);
        assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "auto"}, &d, &err), PP_OK);
        pp_device_info(d, &info);
        assert_string_equal(info.kind, "host");
        assert_false(info.runs_steps);
        assert_non_null(strstr(info.passed_over, unusable[i].says));
        assert_int_equal(pp_device_step_start(d, 1, &err), PP_E_UNSUPPORTED);
        pp_device_close(d);
        unsetenv("CUDA_VISIBLE_DEVICES");
    }
}

static void auto_takes_a_usable_device(void **state)
{
    struct pp_device *d;
    struct pp_device_info info;
    reset("devices=2");
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = NULL}, &d, NULL), PP_OK);
    pp_device_info(d, &info);
    assert_string_equal(info.kind, "cuda");
    assert_null(info.passed_over);
    close_cuda(d);
}

static void no_driver_is_told_from_no_device(void **state)
{
    struct pp_cuda_driver cu;
    struct pp_err err;
    assert_int_equal(pp_cuda_driver_load(&cu, "libpp-no-such-driver.so.1", &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the NVIDIA driver is not installed"));
    /* a library without the calls, as a driver before them would be */
    assert_int_equal(pp_cuda_driver_load(&cu, "libm.so.6", &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no cuInit"));
}

static void too_large_slots_say_what_to_try(void **state)
{
    void *p;
    struct pp_err err;
    uint64_t ticket;
    reset("host-mib=8;device-mib=1");
    struct pp_device *d = open_cuda((struct pp_device_opts){0});
    assert_int_equal(pp_device_alloc(d, 9 * MIB, &p, &err), PP_E_NO_MEMORY);
    assert_string_equal(
        err.text, "page-locking 9 MiB for batch slots failed: driver error \"out of memory\" (CUDA error 2); "
                  "try a smaller --batch-size or --prefetch, or --pageable");
    assert_int_equal(pp_device_alloc(d, 8 * MIB, &p, &err), PP_OK);
    assert_int_equal(pp_device_copy_start(d, p, 2 * MIB, &ticket, &err), PP_E_NO_MEMORY);
    assert_non_null(strstr(err.text, "--copy-buffers"));
    pp_device_free(d, p, 8 * MIB);
    close_cuda(d);
}

/* One life of a device, going on after failures as its owner would: nothing. PP_OK, or the first failure. */
static pp_status live(int sync, int work, const struct pp_device_normalize *normalize, struct pp_err *err)
{
    struct pp_device *d;
    void *p = NULL;
    uint64_t ticket;
    struct pp_device_opts opts = {.kind = "cuda",
                                  .sync_copies = sync,
                                  .step_work = work,
                                  .normalize = normalize};
    pp_status st = pp_device_open(&opts, &d, err);
    if (st != PP_OK)
        return st;
    if ((st = pp_device_alloc(d, MIB, &p, err)) == PP_OK &&
        (st = pp_device_step_start(d, 1000, err)) == PP_OK &&
        (st = pp_device_copy_start(d, p, MIB / 3 * 3, &ticket, err)) == PP_OK &&
        (st = pp_device_copy_wait(d, ticket, err)) == PP_OK && (st = pp_device_step_wait(d, err)) == PP_OK)
        st = pp_device_sync(d, err);
    if (p)
        pp_device_free(d, p, MIB);
    pp_device_close(d);
    return st;
}

/* What may fail without ending anything: names, and giving back. */
static int harmless(const char *call)
{
    static const char *const names[] = {"cuDriverGetVersion",   "cuGetErrorString",
                                        "cuDeviceGetName",      "cuDeviceGetPCIBusId",
                                        "cuDeviceGetAttribute", "cuDevicePrimaryCtxRelease_v2",
                                        "cuMemFreeHost",        "cuMemFree_v2",
                                        "cuStreamDestroy_v2",   "cuEventDestroy_v2",
                                        "cuModuleUnload"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(call, names[i]))
            return 1;
    return 0;
}

/* Every call of the driver fails from its nth time on, for every n it is made: each time one sentence with
 * the driver's words, and no crash. */
static void every_failing_call_is_noticed(void **state)
{
#define NAME(name, args) #name,
    static const char *const names[] = {PP_CU_CALLS(NAME)};
#undef NAME
    static const float table[768] = {0};
    static const struct pp_device_normalize normalize = {.plane = 5 * 23 * 19,
                                                         .value_bytes = 4,
                                                         .table = table};
    size_t tried = 0;
    for (int way = 0; way < 8; way++) {
        int sync = way & 1, work = way & 4;
        const struct pp_device_normalize *bytes = way & 2 ? &normalize : NULL;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            struct pp_err err;
            char fault[80];
            reset("");
            assert_int_equal(live(sync, work, bytes, &err), PP_OK);
            assert_int_equal(leaks(), 0);
            unsigned n = calls(names[i]);
            if (harmless(names[i]))
                continue;
            for (unsigned nth = 1; nth <= n; nth += work ? 7 : 1) { /* work takes its time */
                snprintf(fault, sizeof(fault), "fail=%s:%u:719", names[i], nth);
                reset(fault);
                pp_err_clear(&err);
                pp_status st = live(sync, work, bytes, &err);
                /* the last ones are made by giving back, when all has been copied */
                if (st == PP_OK && nth + 2 >= n &&
                    (!strcmp(names[i], "cuCtxSetCurrent") || !strcmp(names[i], "cuCtxSynchronize")))
                    continue;
                if (st != PP_E_SYSTEM ||
                    !strstr(err.text, "driver error \"unspecified launch failure\" (CUDA error 719)"))
                    fail_msg("%s, call %u of %u: status %d, %s", names[i], nth, n, st, err.text);
                tried++;
            }
        }
    }
    assert_true(tried > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(bytes_arrive),
        cmocka_unit_test(a_pinned_copy_does_not_block_and_a_pageable_one_does),
        cmocka_unit_test(copies_overlap_the_step_unless_they_are_synchronous),
        cmocka_unit_test(copy_buffers_are_used_in_turn),
        cmocka_unit_test(normalising_on_the_device_gives_the_cpus_bits),
        cmocka_unit_test(a_device_that_normalises_wrongly_is_refused),
        cmocka_unit_test(a_coarse_timer_is_told),
        cmocka_unit_test(work_takes_longer_beside_other_work),
        cmocka_unit_test(an_unusable_device_says_why),
        cmocka_unit_test(auto_takes_a_usable_device),
        cmocka_unit_test(no_driver_is_told_from_no_device),
        cmocka_unit_test(too_large_slots_say_what_to_try),
        cmocka_unit_test(every_failing_call_is_noticed),
    };
    void *lib = fake_open("libcuda.so.1");
    reset = (__typeof__(reset))dlsym(lib, "fake_cuda_reset");
    calls = (__typeof__(calls))dlsym(lib, "fake_cuda_calls");
    leaks = (__typeof__(leaks))dlsym(lib, "fake_cuda_leaks");
    device_bytes = (__typeof__(device_bytes))dlsym(lib, "fake_cuda_device_bytes");
    occupy_sms = (__typeof__(occupy_sms))dlsym(lib, "fake_cuda_occupy_sms");
    normalized = (__typeof__(normalized))dlsym(lib, "fake_cuda_normalized");
    return cmocka_run_group_tests_name("cuda", tests, NULL, NULL);
}
