/* Disks, networks and the memory of processes: parsing of what kernels say, and the counters in a file. */
#include "tests/support/store_dir.h"

#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "collectors/system/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_disks(void **state)
{
    static const char text[] = "   7       0 loop0 9 0 999 0 0 0 999 0 0 0 0\n"
                               "   8       0 sda 100 5 2000 30 50 6 4000 70 0 80 90 0 0 0 0 0 0\n"
                               "   8       1 sda1 100 5 1999 30 50 6 3999 70 0 80 90\n"
                               " 259       0 nvme0n1 1 0 10 1 1 0 20 1 0 1 1\n"
                               " 259       1 nvme0n1p1 1 0 10 1 1 0 20 1 0 1 1\n"
                               " 259       2 nvme0n12 1 0 100 1 1 0 200 1 0 1 1\n"
                               " 254       0 vda 1 0 1 1 1 0 1 1 0 1 1\n"
                               " 254      16 vdb 1 0 1 1 1 0 1 1 0 1 1\n"
                               " 253       0 dm-0 100 5 2000 30 50 6 4000 70 0 80 90\n"
                               "   9       0 md0 100 5 2000 30 50 6 4000 70 0 80 90\n";
    struct pp_traffic t;
    assert_int_equal(pp_traffic_of_disks(text, &t), 1);
    assert_true(t.in_bytes == 512.0 * (2000 + 10 + 100 + 2) && t.out_bytes == 512.0 * (4000 + 20 + 200 + 2));
    assert_int_equal(pp_traffic_of_disks("", &t), 0);
    assert_int_equal(pp_traffic_of_disks("garbage\n\n 8 0", &t), 0);
    assert_int_equal(pp_traffic_of_disks("   7 0 loop0 9 0 999 0 0 0 999 0 0 0 0\n", &t), 0);
}

static void test_networks(void **state)
{
    static const char text[] =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
        "    lo:   22032     165    0    0    0     0          0         0    22032     165    0    0    0     0       0          0\n"
        "  eth0:1000 165 0 0 0 0 0 0 30 165 0 0 0 0 0 0\n"
        "   ib0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n"
        "docker0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n"
        "veth12ab: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
    struct pp_traffic t;
    assert_int_equal(pp_traffic_of_networks(text, &t), 1);
    assert_true(t.in_bytes == 1005 && t.out_bytes == 37);
    assert_int_equal(pp_traffic_of_networks("", &t), 0);
    assert_int_equal(pp_traffic_of_networks("lo: 1 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n", &t), 0);
}

/* ---- in a file ---- */

static size_t many(void *ctx, int64_t *pid, size_t most)
{
    size_t n = *(size_t *)ctx < most ? *(size_t *)ctx : most;
    for (size_t i = 0; i < n; i++)
        pid[i] = i % 2 ? 999999999 : getpid(); /* every other one has gone */
    return n;
}

static void count_memory(void *ctx, uint64_t t_ns, const char *name, double value)
{
    char own[64];
    snprintf(own, sizeof(own), PP_MEMORY_COUNTER "%d", (int)getpid());
    if (strncmp(name, PP_MEMORY_COUNTER, sizeof(PP_MEMORY_COUNTER) - 1) != 0)
        return;
    assert_string_equal(name, own);
    assert_true(t_ns > 0 && value > 65536 && value < 1e12);
    ++*(int *)ctx;
}

/* However many processes there are, so many are read at a time, and not twice within half a second. */
static void test_memory_is_bounded(void **state)
{
    size_t processes = 500;
    void *memory;
    int n = 0;
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    struct pp_collect_opts opts = {.store = s, .processes = many, .processes_ctx = &processes};
    assert_int_equal(pp_collector_memory.start(&opts, &memory, NULL), PP_OK);
    pp_collector_memory.poll(memory);
    pp_collector_memory.poll(memory); /* too soon */
    pp_collector_memory.stop(memory);
    assert_int_equal(pp_store_finish(s, NULL), PP_OK);
    pp_store_close(s);
    struct pp_reader *r;
    assert_int_equal(pp_reader_open(store_path, &r, NULL), PP_OK);
    assert_int_equal(pp_reader_each_counter(r, NULL, count_memory, &n, NULL), PP_OK);
    assert_int_equal(n, PP_MEMORY_READINGS / 2);
    pp_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disks),
        cmocka_unit_test(test_networks),
        STORE_TEST(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
