#include "probe/base/clock.h"
#include "probe/device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct pp_device *open_host(double bytes_per_s, int pageable)
{
    struct pp_device *d;
    struct pp_device_opts o = {.kind = "host", .link_bytes_per_s = bytes_per_s, .pageable = pageable};
    assert_int_equal(pp_device_open(&o, &d, NULL), PP_OK);
    return d;
}

static void unknown_kind_is_named(void **state)
{
    (void)state;
    struct pp_device *d;
    struct pp_err err;
    assert_int_equal(pp_device_open(&(struct pp_device_opts){.kind = "tpu"}, &d, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "tpu"));
    assert_null(d);
}

/* Two copies of 1 MB over 100 MB/s share the link: 10 ms and 20 ms, and issuing them takes next to none of
 * it. */
static void copies_take_their_time_on_the_link(void **state)
{
    (void)state;
    struct pp_device *d = open_host(100e6, 0);
    void *p;
    uint64_t a, b;
    assert_int_equal(pp_device_alloc(d, 1000000, &p, NULL), PP_OK);
    uint64_t t0 = pp_now_ns(), cpu0 = pp_thread_cpu_ns();
    assert_int_equal(pp_device_copy_start(d, p, 1000000, &a, NULL), PP_OK);
    assert_int_equal(pp_device_copy_start(d, p, 1000000, &b, NULL), PP_OK);
    assert_int_equal(pp_device_copy_wait(d, a, NULL), PP_OK);
    assert_true(pp_now_ns() - t0 >= 10000000);
    assert_true(pp_thread_cpu_ns() - cpu0 < 5000000); /* a copy engine costs no CPU */
    assert_int_equal(pp_device_sync(d, NULL), PP_OK);
    assert_true(pp_now_ns() - t0 >= 20000000);
    pp_device_free(d, p, 1000000);
    pp_device_close(d);
}

/* Pageable: issuing blocks until all but the last staging buffers' worth has gone over the link. */
static void pageable_copies_block_the_issuer(void **state)
{
    (void)state;
    struct pp_device *d = open_host(1e9, 1);
    size_t size = (size_t)24 << 20; /* six staging buffers: 25 ms on this link */
    void *p;
    uint64_t ticket, cpu0 = pp_thread_cpu_ns();
    assert_int_equal(pp_device_alloc(d, size, &p, NULL), PP_OK);
    memset(p, 1, size);
    cpu0 = pp_thread_cpu_ns();
    uint64_t t0 = pp_now_ns();
    assert_int_equal(pp_device_copy_start(d, p, size, &ticket, NULL), PP_OK);
    assert_true(pp_now_ns() - t0 > 14000000);
    assert_true(pp_thread_cpu_ns() - cpu0 > 500000); /* the bounce copy is real work */
    assert_int_equal(pp_device_copy_wait(d, ticket, NULL), PP_OK);
    assert_true(pp_now_ns() - t0 >= 25000000);
    pp_device_free(d, p, size);
    pp_device_close(d);
}

static void info_says_what_it_is(void **state)
{
    (void)state;
    struct pp_device *d = open_host(12e9, 1);
    struct pp_device_info i;
    pp_device_info(d, &i);
    assert_non_null(strstr(i.name, "12.0 GB/s"));
    assert_non_null(strstr(i.name, "pageable"));
    assert_false(i.pinned);
    pp_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_kind_is_named),
        cmocka_unit_test(copies_take_their_time_on_the_link),
        cmocka_unit_test(pageable_copies_block_the_issuer),
        cmocka_unit_test(info_says_what_it_is),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
