/* The machine's fingerprint: parsing of what other machines say, and this machine's own facts. */
#include "collectors/store/reader.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/environment.h"
#include "collectors/system/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_cgroup_path(void **state)
{
    static const char v1[] = "12:cpu,cpuacct:/docker/abc\n11:memory:/docker/abc/def\n1:name=systemd:/init\n";
    static const char v2[] = "0::/user.slice/user-1000.slice/session-2.scope\n";
    static const char hybrid[] = "5:cpuacct,cpu:/a:b\n0::/\n";
    static const struct {
        const char *text, *controller, *want; /* NULL: not found */
    } rows[] = {
        {v1, "cpu", "/docker/abc"},
        {v1, "cpuacct", "/docker/abc"},
        {v1, "memory", "/docker/abc/def"},
        {v1, NULL, NULL},
        {v1, "cp", NULL},
        {v1, "pids", NULL},
        {v2, NULL, "/user.slice/user-1000.slice/session-2.scope"},
        {v2, "cpu", NULL},
        {hybrid, "cpu", "/a:b"},
        {hybrid, NULL, "/"},
        {"", NULL, NULL},
        {"garbage", "cpu", NULL},
        {"1:\n", "cpu", NULL},
        {":::", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[128] = "unset";
        int found = pp_cgroup_path(rows[i].text, rows[i].controller, out, sizeof(out));
        assert_int_equal(found, rows[i].want != NULL);
        if (found)
            assert_string_equal(out, rows[i].want);
    }
    char tiny[4];
    assert_int_equal(pp_cgroup_path(v2, NULL, tiny, sizeof(tiny)), 0); /* never cut */
}

static void test_cpu_quota(void **state)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {{"200000 100000\n", 2}, {"50000 100000", 0.5}, {"max 100000\n", 0}, {"150000", 1.5}, {"", 0},
                {"-1 100000", 0},       {"100000 0", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(pp_cgroup_cpu_max(rows[i].text) == rows[i].want);
    assert_true(pp_cgroup_cfs(-1, 100000) == 0);
    assert_true(pp_cgroup_cfs(25000, 100000) == 0.25);
}

/* A tree of control groups made of files. */
static void put(const char *root, const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof(name), "%s/%s", root, path);
    for (char *slash = strchr(name + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

struct group_files {
    const char *path, *text;
};

static int memory_of(const struct group_files *files, struct pp_cgroup_memory *out)
{
    char root[] = "/tmp/pp-test-cgroup-XXXXXX", self[64], mount[64], command[96];
    assert_non_null(mkdtemp(root));
    for (; files->path; files++)
        put(root, files->path, files->text);
    snprintf(self, sizeof(self), "%s/self", root);
    snprintf(mount, sizeof(mount), "%s/fs", root);
    int found = pp_cgroup_memory(&(struct pp_cgroup_root){self, mount}, out);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
    return found;
}

static void test_memory_left(void **state)
{
    struct pp_cgroup_memory m;
    /* v2: the parent's limit is wider, and its neighbours have used it up; its file cache does not count. */
    static const struct group_files v2[] = {{"self", "0::/job/step\n"},
                                            {"fs/cgroup.procs", "1\n"},
                                            {"fs/job/memory.max", "1000000000\n"},
                                            {"fs/job/memory.high", "max\n"},
                                            {"fs/job/memory.current", "950000000\n"},
                                            {"fs/job/memory.stat",
                                             "anon 1\ninactive_file 30000000\nactive_file 20000000\n"},
                                            {"fs/job/step/memory.max", "500000000\n"},
                                            {"fs/job/step/memory.current", "100000000\n"},
                                            {NULL, NULL}};
    assert_int_equal(memory_of(v2, &m), 1);
    assert_int_equal(m.limit_bytes, 1000000000);
    assert_int_equal(m.left_bytes, 100000000);
    assert_int_equal(m.is_soft, 0);
    static const struct group_files high[] = {{"self", "0::/job\n"},
                                              {"fs/cgroup.procs", "1\n"},
                                              {"fs/job/memory.max", "1000000000\n"},
                                              {"fs/job/memory.high", "200000000\n"},
                                              {"fs/job/memory.current", "250000000\n"},
                                              {NULL, NULL}};
    assert_int_equal(memory_of(high, &m), 1);
    assert_int_equal(m.limit_bytes, 200000000);
    assert_int_equal(m.left_bytes, 0);
    assert_int_equal(m.is_soft, 1);
    static const struct group_files v1[] = {
        {"self", "4:memory:/a/b\n0::/\n"},
        {"fs/memory/cgroup.procs", "1\n"},
        {"fs/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"fs/memory/memory.usage_in_bytes", "5\n"},
        {"fs/memory/a/memory.limit_in_bytes", "700000000\n"},
        {"fs/memory/a/memory.usage_in_bytes", "600000000\n"},
        {"fs/memory/a/memory.stat", "cache 1\ntotal_inactive_file 40000000\ntotal_active_file 10000000\n"},
        {"fs/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
        {"fs/memory/a/b/memory.usage_in_bytes", "5\n"},
        {NULL, NULL}};
    assert_int_equal(memory_of(v1, &m), 1);
    assert_int_equal(m.limit_bytes, 700000000);
    assert_int_equal(m.left_bytes, 150000000);
    static const struct group_files none[] = {{"self", "0::/job\n"},
                                              {"fs/cgroup.procs", "1\n"},
                                              {"fs/job/memory.max", "max\n"},
                                              {"fs/job/memory.current", "5\n"},
                                              {NULL, NULL}};
    assert_int_equal(memory_of(none, &m), 0);
}

static void test_disk_limits(void **state)
{
    static const char io_max[] = "8:0 rbps=max wbps=1048576 riops=max wiops=max\n"
                                 "254:0 rbps=1000000 wbps=max riops=120 wiops=max\n254:16 rbps=5 riops=7\n";
    static const char throttle[] = "8:0 500\n254:0 1000000\n254:16 9223372036854775807\n";
    struct pp_io_limit l = {0};
    pp_cgroup_io_max(io_max, "8:0", &l);
    assert_true(l.bytes_per_s == 0 && l.reads_per_s == 0);
    pp_cgroup_io_max(io_max, "254:0", &l);
    assert_true(l.bytes_per_s == 1e6 && l.reads_per_s == 120);
    pp_cgroup_io_max("254:0 rbps=2000000 riops=60", "254:0", &l); /* a group above: the tighter of both */
    assert_true(l.bytes_per_s == 1e6 && l.reads_per_s == 60);
    pp_cgroup_io_max("254:0 rbps=\n254:1 rbps=9", "254:0", &l);
    pp_cgroup_io_max("", "254:0", &l);
    pp_cgroup_io_max(io_max, "", &l);
    assert_true(l.bytes_per_s == 1e6 && l.reads_per_s == 60);
    assert_true(pp_cgroup_throttle(throttle, "254:0") == 1e6);
    assert_true(pp_cgroup_throttle(throttle, "254:1") == 0);
    assert_true(pp_cgroup_throttle(throttle, "254:16") == 0); /* v1's "no limit" */
    assert_true(pp_cgroup_throttle("254:0", "254:0") == 0);
}

static void test_mounts(void **state)
{
    static const char info[] =
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "23 22 0:21 / /data rw,noatime shared:5 master:1 - nfs4 server:/export/data rw,vers=4.2\n"
        "24 23 8:1 / /data/fast\\040disk rw - xfs /dev/sda1 rw\n"
        "25 22 0:30 / /data rw - fuse.juicefs JuiceFS:x rw\n"
        "26 22 0:31 / /dat ro - tmpfs tmpfs rw\n"
        "broken line\n"
        "27 22 0:32 / /nodash rw\n";
    static const struct {
        const char *path, *point, *type;
    } rows[] = {
        {"/home/me", "/", "ext4"},
        {"/data", "/data", "fuse.juicefs"},
        {"/data/train", "/data", "fuse.juicefs"},
        {"/data/fast disk/x", "/data/fast disk", "xfs"},
        {"/database", "/", "ext4"},
        {"/dat/a", "/dat", "tmpfs"},
        {"/nodash/x", "/", "ext4"},
    };
    struct pp_mount m;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(pp_mount_find(info, rows[i].path, &m), 1);
        assert_string_equal(m.point, rows[i].point);
        assert_string_equal(m.type, rows[i].type);
    }
    pp_mount_find(info, "/data/fast disk", &m);
    assert_string_equal(m.source, "/dev/sda1");
    assert_int_equal(pp_mount_find("", "/x", &m), 0);
    assert_int_equal(pp_mount_find("1 2 3", "/x", &m), 0);
    assert_int_equal(pp_mount_of("/proc/self", &m), 1);
    assert_string_equal(m.type, "proc");
    assert_int_equal(pp_mount_of("/nonexistent/path", &m), 0);
}

static void test_proc_field(void **state)
{
    static const char cpuinfo[] = "processor\t: 0\nmodel name\t: Some CPU @ 2.3GHz\nflags\t\t: fpu vme\n";
    static const char meminfo[] = "MemTotal:       24684092 kB\nMemAvailable:   123 kB";
    char out[64];
    assert_int_equal(pp_proc_field(cpuinfo, "model name", out, sizeof(out)), 1);
    assert_string_equal(out, "Some CPU @ 2.3GHz");
    assert_int_equal(pp_proc_field(meminfo, "MemAvailable", out, sizeof(out)), 1);
    assert_string_equal(out, "123 kB");
    assert_int_equal(pp_proc_field(cpuinfo, "model", out, sizeof(out)), 0);
    assert_int_equal(pp_proc_field("", "x", out, sizeof(out)), 0);
}

static void test_this_machine(void **state)
{
    struct pp_cpus c;
    pp_cpus_read(&c);
    assert_true(c.usable > 0 && c.usable <= c.affinity && c.affinity <= c.online);
    assert_true(c.quota >= 0);
    assert_true(pp_memory_available() > 1 << 20);
}

/* In a chroot the mount that holds the root directory is in no list: what lies on it is then unknown, and not
 * asked for. */
static int root_mount_is_listed(void)
{
    char line[4096], point[4096];
    int listed = 0;
    FILE *f = fopen("/proc/self/mountinfo", "r");
    while (f && fgets(line, sizeof(line), f))
        listed |= sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 && strcmp(point, "/") == 0;
    if (f)
        fclose(f);
    return listed;
}

static void test_stored(void **state)
{
    char dir[] = "/tmp/pp-test-XXXXXX", path[64];
    struct pp_store *s;
    struct pp_reader *r;
    struct pp_err err;
    double v = 0;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run.sqlite", dir);
    setenv("RANK", "3", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = path}, &s, &err), PP_OK);
    assert_int_equal(pp_environment_store(s, dir, &err), PP_OK);
    pp_store_close(s);
    assert_int_equal(pp_reader_open(path, &r, &err), PP_OK);
    static const char *const there[] = {
        "kernel",        "hostname",         "cpu_model",      "data_path",
        "data_mount",    "data_fs_type",     "sqlite_version", "libjpeg_turbo_version",
        "limit_memlock", "limit_open_files",
    };
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        if (!pp_reader_meta(r, "environment", there[i]) &&
            (root_mount_is_listed() ||
             (strcmp(there[i], "data_mount") != 0 && strcmp(there[i], "data_fs_type") != 0)))
            fail_msg("%s is missing", there[i]);
    assert_string_equal(pp_reader_meta(r, "environment", "RANK"), "3");
    assert_string_equal(pp_reader_meta(r, "environment", "SLURM_JOB_ID"), "77");
    assert_string_equal(pp_reader_meta(r, "environment", "data_path"), dir);
    assert_int_equal(pp_reader_meta_num(r, "environment", "usable_cpus", &v), 1);
    assert_true(v > 0);
    assert_int_equal(pp_reader_meta_num(r, "environment", "memory_total", &v), 1);
    assert_int_equal(pp_reader_meta_num(r, "environment", "page_size", &v), 1);
    assert_true(v == (double)sysconf(_SC_PAGESIZE));
    pp_reader_close(r);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cgroup_path),  cmocka_unit_test(test_cpu_quota),
        cmocka_unit_test(test_memory_left),  cmocka_unit_test(test_disk_limits),
        cmocka_unit_test(test_mounts),       cmocka_unit_test(test_proc_field),
        cmocka_unit_test(test_this_machine), cmocka_unit_test(test_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
