/* NUMA nodes of CPUs, GPUs, networks and a disk: machines made of files. */
#include "tests/support/dataset_tree.h"

#include "collectors/system/topology.h"
#include "tui/cli/doctor/doctor_checks.h"

static void test_lists_of_cpus(void **state)
{
    static const struct {
        const char *a, *b;
        int meet;
    } rows[] = {{"0-7", "7", 1},          {"0-7", "8-15", 0}, {"0-3,16-19", "4-15,18", 1},
                {"0,2,4", "1,3,5", 0},    {"", "0-7", 0},     {"0-7", "", 0},
                {"garbage", "0-7", 0},    {"7-0", "0-7", 0},  {"0-7\n", "3\n", 1},
                {"1000-2000", "1500", 1}, {"3-", "3", 0},     {"-3", "3", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (pp_cpu_lists_meet(rows[i].a, rows[i].b) != rows[i].meet)
            fail_msg("'%s' and '%s'", rows[i].a, rows[i].b);
    (void)state;
}

static void put_gpu(const char *address, const char *vendor, const char *class, const char *node)
{
    char path[128];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", address);
    tree_put_text(path, vendor);
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
    tree_put_text(path, class);
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/numa_node", address);
    tree_put_text(path, node);
}

static void put_machine_status(const char *own)
{
    char status[128];
    snprintf(status, sizeof(status), "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", own);
    tree_put_text("proc/self/status", status);
}

/* Two sockets; a GPU at each, networks, a drive at the second. own: Cpus_allowed_list. */
static void put_machine(const char *own)
{
    put_machine_status(own);
    tree_put_text("sys/devices/system/node/node0/cpulist", "0-7,16-23\n");
    tree_put_text("sys/devices/system/node/node0/distance", "10 21\n");
    tree_put_text("sys/devices/system/node/node2/cpulist", "8-15,24-31\n"); /* numbers may have gaps */
    tree_put_text("sys/devices/system/node/node2/distance", "21 10\n");
    put_gpu("0000:17:00.0", "0x10de\n", "0x030200\n", "2\n");
    put_gpu("0000:3b:00.0", "0x10de\n", "0x030000\n", "0\n");
    put_gpu("0000:3b:00.1", "0x10de\n", "0x040300\n", "0\n"); /* its audio */
    put_gpu("0000:04:00.0", "0x1a03\n", "0x030000\n", "0\n"); /* a server's screen */
    tree_put_text("proc/driver/nvidia/gpus/0000:17:00.0/information",
                  "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 18\n");
    tree_put_text("sys/class/net/eth0/operstate", "up\n");
    tree_put_text("sys/class/net/eth0/device/numa_node", "0\n");
    tree_put_text("sys/class/net/ib0/operstate", "down\n");
    tree_put_text("sys/class/net/ib0/device/numa_node", "2\n");
    tree_put_text("sys/class/net/lo/operstate", "unknown\n");
    tree_put_text("sys/devices/pci0000:80/0000:81:00.0/numa_node", "2\n");
    tree_put_text("sys/devices/pci0000:80/0000:81:00.0/nvme/nvme0/nvme0n1/dev", "259:0\n");
    tree_put_text("sys/dev/block/.keep", "");
    assert_int_equal(symlink("../../devices/pci0000:80/0000:81:00.0/nvme/nvme0/nvme0n1",
                             tree_path("sys/dev/block/259:0")),
                     0);
}

static void read_machine(const char *disk, struct pp_topology *t)
{
    char sys[128], proc[128];
    snprintf(sys, sizeof(sys), "%s", tree_path("sys"));
    snprintf(proc, sizeof(proc), "%s", tree_path("proc"));
    pp_topology_read_at(&(struct pp_topology_root){sys, proc}, disk, t);
}

static void test_two_sockets(void **state)
{
    static const struct {
        const char *name;
        enum pp_topology_kind kind;
        int node, distance, far;
    } rows[] = {{"0000:17:00.0", PP_TOPOLOGY_GPU, 2, 21, 1},
                {"0000:3b:00.0", PP_TOPOLOGY_GPU, 0, 10, 0},
                {"eth0", PP_TOPOLOGY_NETWORK, 0, 10, 0},
                {"nvme0n1", PP_TOPOLOGY_DISK, 2, 21, 1}};
    struct pp_topology t;
    char nodes[64];
    put_machine("0-3");
    read_machine("259:0", &t);
    assert_int_equal(t.nodes, 2);
    assert_string_equal(pp_topology_nodes(t.own_bits, nodes, sizeof(nodes)), "0");
    assert_string_equal(pp_topology_nodes(t.node_bits, nodes, sizeof(nodes)), "0,2");
    assert_string_equal(t.cpus[2], "8-15,24-31");
    assert_int_equal(t.devices, sizeof(rows) / sizeof(*rows));
    for (size_t i = 0; i < t.devices; i++) {
        const struct pp_topology_device *d = &t.device[i];
        assert_string_equal(d->name, rows[i].name);
        assert_int_equal(d->kind, rows[i].kind);
        assert_int_equal(d->node, rows[i].node);
        assert_int_equal(d->distance, rows[i].distance);
        assert_int_equal(pp_topology_is_far(&t, d), rows[i].far);
    }
    assert_string_equal(t.device[0].model, "NVIDIA A100-SXM4-80GB");
    assert_int_equal(pp_topology_node_of(&t, "00000000:17:00.0"), 2); /* as the driver writes it */
    assert_int_equal(pp_topology_node_of(&t, "0000:3B:00.0"), 0);
    assert_int_equal(pp_topology_node_of(&t, "0000:99:00.0"), -1);
    (void)state;
}

/* What doctor says of it: first what is far, and the command that changes it. */
static void test_what_doctor_says(void **state)
{
    struct pp_topology t;
    struct pp_finding f = {.name = ""};
    put_machine("0-3");
    read_machine("259:0", &t);
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_NO);
    assert_string_equal(
        f.value, "CPUs of node 0, of 2; GPU 0000:17:00.0 on node 2 (distance 21); disk nvme0n1 on node 2 "
                 "(distance 21); GPU 0000:3b:00.0 on node 0 (distance 10); network eth0 on node 0 "
                 "(distance 10); numactl --cpunodebind=2 --preferred=2");
    (void)state;
}

/* All CPUs: nothing is far. One node, or none told: nothing to be far from. */
static void test_other_machines(void **state)
{
    struct pp_topology t;
    struct pp_finding f = {.name = ""};
    put_machine("0-31");
    read_machine(NULL, &t);
    assert_int_equal(t.devices, 3);
    assert_int_equal(t.device[0].distance, 10); /* from the nearer node */
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_YES);
    assert_null(strstr(f.value, "numactl"));

    tree_put_text("sys/bus/pci/devices/0000:17:00.0/numa_node", "-1\n"); /* a virtual machine */
    tree_put_text("sys/devices/system/node/node0/distance", "garbage\n");
    read_machine(NULL, &t);
    assert_int_equal(t.device[0].node, -1);
    assert_int_equal(t.device[0].distance, 0);
    assert_int_equal(pp_topology_is_far(&t, &t.device[0]), 0);

    struct pp_topology_root nowhere = {"/nonexistent/sys", "/nonexistent/proc"};
    pp_topology_read_at(&nowhere, "259:0", &t);
    assert_int_equal(t.nodes, 0);
    assert_int_equal(t.devices, 0);
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_CANNOT_TELL);

    pp_topology_read("/", &t); /* this machine, whatever it is */
    assert_true(t.devices <= PP_TOPOLOGY_DEVICES && t.nodes <= PP_TOPOLOGY_NODES);
    (void)state;
}

/* A GPU's own memory may be a node, which has no CPU to move to; and a shell whose CPUs are not told is on no
 * node. */
static void test_nodes_without_cpus(void **state)
{
    struct pp_topology t;
    struct pp_finding f = {.name = ""};
    put_machine("0-31");
    tree_put_text("sys/devices/system/node/node3/cpulist", "\n");
    tree_put_text("sys/bus/pci/devices/0000:17:00.0/numa_node", "3\n");
    read_machine(NULL, &t);
    assert_int_equal(t.nodes, 3);
    assert_int_equal(t.device[0].node, 3);
    assert_int_equal(pp_topology_is_far(&t, &t.device[0]), 0);
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_YES);
    assert_null(strstr(f.value, "numactl"));

    put_machine_status("garbage");
    read_machine(NULL, &t);
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_CANNOT_TELL);
    assert_string_equal(f.value, "3 nodes; which CPUs this shell may use is not in /proc/self/status");
    (void)state;
}

/* More than there is room for. */
static void test_many_devices(void **state)
{
    struct pp_topology t;
    struct pp_finding f = {.name = ""};
    char address[32];
    put_machine("0-3");
    for (int i = 0; i < 40; i++) {
        snprintf(address, sizeof(address), "0001:%02x:00.0", i);
        put_gpu(address, "0x10de\n", "0x030200\n", "2\n");
    }
    read_machine("259:0", &t);
    assert_int_equal(t.devices, PP_TOPOLOGY_DEVICES);
    pp_describe_numa(&t, &f);
    assert_int_equal(f.answer, PP_NO);
    assert_true(strlen(f.value) < sizeof(f.value));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_cpus), TREE_TEST(test_two_sockets),
        TREE_TEST(test_what_doctor_says),     TREE_TEST(test_other_machines),
        TREE_TEST(test_many_devices),         TREE_TEST(test_nodes_without_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
