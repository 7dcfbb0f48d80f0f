/* nvJPEG opened at run time, against the fake: which library, which back end, and the sentence for each
 * trouble. */
#include "probe/base/err.h"
#include "probe/device/nvjpeg.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_nvjpeg.h"
#include "tests/fake/fake_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static __typeof__(fake_cuda_reset) *reset_cuda;
static __typeof__(fake_cuda_leaks) *leaks_cuda;
static __typeof__(fake_nvjpeg_reset) *reset;
static __typeof__(fake_nvjpeg_leaks) *leaks;

static struct pp_cuda_driver cu;

static void the_library_is_found_and_named(void **state)
{
    struct pp_nvjpeg n;
    reset("version=12.4");
    assert_int_equal(pp_nvjpeg_load(&n, NULL), PP_OK);
    assert_int_equal(n.version, 12004);
    assert_string_equal(n.library, "libnvjpeg.so.12");
    char path[300];
    snprintf(path, sizeof(path), "%s", built("tests/fake/libnvjpeg.so.12"));
    setenv("PIPEPROBE_NVJPEG_LIB", path, 1);
    assert_int_equal(pp_nvjpeg_load(&n, NULL), PP_OK);
    assert_non_null(strstr(n.library, "tests/fake/libnvjpeg.so.12"));
    unsetenv("PIPEPROBE_NVJPEG_LIB");
}

static void a_library_that_cannot_be_used_is_named(void **state)
{
    char old[300];
    snprintf(old, sizeof(old), "%s", built("tests/fake/libnvjpeg.so.11"));
    const struct {
        const char *library, *says;
    } cases[] = {
        {"/nowhere/libnvjpeg.so.12",
         "PIPEPROBE_NVJPEG_LIB: nvJPEG cannot be opened (/nowhere/libnvjpeg.so.12"},
        {"libm.so.6", "libm.so.6 is no nvJPEG"},
        {old, "libnvjpeg.so.11 is too old: nvJPEG 12.4 has no nvjpegGetHardwareDecoderInfo; install"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_nvjpeg n;
        struct pp_err err;
        setenv("PIPEPROBE_NVJPEG_LIB", cases[i].library, 1);
        assert_int_equal(pp_nvjpeg_load(&n, &err), PP_E_UNSUPPORTED);
        unsetenv("PIPEPROBE_NVJPEG_LIB");
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].library, err.text);
    }
}

static void the_best_back_end_is_chosen(void **state)
{
    static const struct {
        const char *words, *capabilities;
        size_t batch;
        enum pp_nvjpeg_backend backend;
        unsigned engines, cores;
        const char *passed_over;
    } cases[] = {
        {"engines=7;cores=4", NULL, 64, PP_NVJPEG_HARDWARE, 7, 4, ""},
        {"engines=0", NULL, 51, PP_NVJPEG_GPU_HYBRID, 0, 0, "this GPU has no JPEG engine"},
        {"engines=0", NULL, 50, PP_NVJPEG_HYBRID, 0, 0, "this GPU has no JPEG engine"},
        {"engines=0", "all", 50, PP_NVJPEG_HYBRID, 0, 0, "this GPU has no JPEG engine"},
        {"engines=0;name=NVIDIA A100-SXM4-40GB MIG 1g.5gb", NULL, 51, PP_NVJPEG_GPU_HYBRID, 0, 0,
         "this MIG slice has no JPEG engine (NVIDIA A100-SXM4-40GB MIG 1g.5gb"},
        {"create=8", "compute,utility", 64, PP_NVJPEG_GPU_HYBRID, 0, 0,
         "NVIDIA_DRIVER_CAPABILITIES=compute,utility lacks video"},
        {"create=8", "compute,video", 64, PP_NVJPEG_GPU_HYBRID, 0, 0, "nvJPEG status 8, INTERNAL_ERROR"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_nvjpeg n;
        struct pp_nvjpeg_choice c;
        reset_cuda(cases[i].words); /* each of both takes the words that are its own */
        reset(cases[i].words);
        unsetenv("NVIDIA_DRIVER_CAPABILITIES");
        if (cases[i].capabilities)
            setenv("NVIDIA_DRIVER_CAPABILITIES", cases[i].capabilities, 1);
        assert_int_equal(pp_nvjpeg_load(&n, NULL), PP_OK);
        assert_int_equal(pp_nvjpeg_choose(&n, &cu, cases[i].batch, PP_NVJPEG_AUTO, &c, NULL), PP_OK);
        assert_int_equal(c.backend, cases[i].backend);
        assert_int_equal(c.engines, cases[i].engines);
        assert_int_equal(c.cores, cases[i].cores);
        if (!strstr(c.passed_over, cases[i].passed_over) || !c.passed_over[0] != !cases[i].passed_over[0])
            fail_msg("%s: \"%s\"", cases[i].words, c.passed_over);
        assert_int_equal(leaks(), 1);
        n.nvjpegDestroy(c.handle);
        assert_int_equal(leaks(), 0);
    }
    unsetenv("NVIDIA_DRIVER_CAPABILITIES");
}

static void the_back_end_that_is_asked_for_or_none(void **state)
{
    static const struct {
        const char *words;
        enum pp_nvjpeg_backend wanted;
        int regions;
        const char *fails; /* NULL: it does not */
    } cases[] = {
        {"engines=7", PP_NVJPEG_AUTO, 1, NULL},
        {"engines=7", PP_NVJPEG_HARDWARE, 1, NULL},
        {"engines=7", PP_NVJPEG_HARDWARE_DEVICE, 0, NULL},
        {"engines=7", PP_NVJPEG_GPU_HYBRID, 0, NULL},
        {"engines=7", PP_NVJPEG_GPU_HYBRID_DEVICE, 0, NULL},
        {"engines=7", PP_NVJPEG_HYBRID, 0, NULL},
        {"engines=0", PP_NVJPEG_HARDWARE, 0, "back end HARDWARE cannot be used: this GPU has no JPEG engine"},
        {"engines=0", PP_NVJPEG_HARDWARE_DEVICE, 0, "HARDWARE_DEVICE cannot be used: this GPU has no JPEG"},
        {"create-any=6", PP_NVJPEG_GPU_HYBRID, 0, "cannot be started on this device"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_nvjpeg n;
        struct pp_nvjpeg_choice c;
        struct pp_err err;
        reset(cases[i].words);
        assert_int_equal(pp_nvjpeg_load(&n, NULL), PP_OK);
        pp_status st = pp_nvjpeg_choose(&n, &cu, 64, cases[i].wanted, &c, &err);
        if (cases[i].fails) {
            assert_int_equal(st, PP_E_UNSUPPORTED);
            if (!strstr(err.text, cases[i].fails))
                fail_msg("%s", err.text);
        } else {
            assert_int_equal(st, PP_OK);
            assert_int_equal(c.backend, cases[i].wanted ? cases[i].wanted : PP_NVJPEG_HARDWARE);
            assert_int_equal(c.regions, cases[i].regions);
            n.nvjpegDestroy(c.handle);
        }
        assert_int_equal(leaks(), 0);
    }
}

static void a_library_that_does_not_start_is_an_error(void **state)
{
    struct pp_nvjpeg n;
    struct pp_nvjpeg_choice c;
    struct pp_err err;
    reset("create-any=6");
    assert_int_equal(pp_nvjpeg_load(&n, NULL), PP_OK);
    assert_int_equal(pp_nvjpeg_choose(&n, &cu, 64, PP_NVJPEG_AUTO, &c, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cannot be started on this device (status 6, EXECUTION_FAILED)"));
    assert_int_equal(leaks(), 0);
}

static void a_look_leaves_nothing_behind(void **state)
{
    struct pp_nvjpeg_found found;
    struct pp_err err;
    reset_cuda("");
    reset("engines=8;cores=1");
    assert_int_equal(pp_nvjpeg_look(256, &found, &err), PP_OK);
    assert_int_equal(found.version, 12004);
    assert_int_equal(found.choice.engines, 8);
    assert_null(found.choice.handle);
    assert_int_equal(leaks(), 0);
    assert_int_equal(leaks_cuda(), 0);
    reset_cuda("devices=0");
    assert_int_equal(pp_nvjpeg_look(256, &found, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no CUDA device"));
    reset_cuda("fail=cuDevicePrimaryCtxRetain:1:2");
    assert_int_equal(pp_nvjpeg_look(256, &found, &err), PP_E_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_found_and_named),
        cmocka_unit_test(a_library_that_cannot_be_used_is_named),
        cmocka_unit_test(the_best_back_end_is_chosen),
        cmocka_unit_test(the_back_end_that_is_asked_for_or_none),
        cmocka_unit_test(a_library_that_does_not_start_is_an_error),
        cmocka_unit_test(a_look_leaves_nothing_behind),
    };
    void *cuda = fake_open("libcuda.so.1"), *nvjpeg = fake_open("libnvjpeg.so.12");
    *(void **)&reset_cuda = dlsym(cuda, "fake_cuda_reset");
    *(void **)&leaks_cuda = dlsym(cuda, "fake_cuda_leaks");
    *(void **)&reset = dlsym(nvjpeg, "fake_nvjpeg_reset");
    *(void **)&leaks = dlsym(nvjpeg, "fake_nvjpeg_leaks");
    reset_cuda("");
    if (pp_cuda_driver_load(&cu, PP_CUDA_LIBRARY, NULL) != PP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
