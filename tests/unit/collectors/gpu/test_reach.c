/* What of a GPU a container, MIG and cuFile leave within reach: machines made of files. */
#include "tests/support/dataset_tree.h"

#include "collectors/gpu/gpu.h"

#include <sys/stat.h>
#include <unistd.h>

static struct pp_reach_root root_of(const char *capabilities)
{
    return (struct pp_reach_root){.folder = tree_root, .capabilities = capabilities};
}

static void test_capabilities_of_a_container(void **state)
{
    static const struct {
        const char *given;
        int contained, all;
        const char *words, *not_words;
    } rows[] = {
        {NULL, 0, 1, "no container limits the driver", "video"},
        {NULL, 1, 0, "is not set, no video: the JPEG engine cannot be reached, though CUDA can", "utility:"},
        {"", 1, 0, "no video", "compute:"},
        {"all", 1, 1, "NVIDIA_DRIVER_CAPABILITIES=all", "cannot"},
        {"compute,utility,video", 1, 1, "=compute,utility,video", "cannot"},
        {"compute,utility", 1, 0, "no video: the JPEG engine", "NVML"},
        {"video", 1, 0, "no compute: CUDA cannot be reached; no utility: NVML cannot be reached", "JPEG"},
        {"graphics, video, compute", 1, 0, "no utility: NVML", "CUDA"},
        {"computed,utility,video", 0, 0, "no compute: CUDA", "NVML"}, /* and no part of a word */
    };
    char text[240];
    struct pp_reach_root r = root_of(NULL);
    assert_int_equal(pp_reach_capabilities(&r, text, sizeof(text)), -1);
    assert_string_equal(text, "no NVIDIA device in /dev");
    tree_put_text("dev/nvidiactl", ""); /* which a machine may have without a device */
    assert_int_equal(pp_reach_capabilities(&r, text, sizeof(text)), -1);
    tree_put_text("dev/nvidia3", "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        r = root_of(rows[i].given);
        if (rows[i].contained)
            tree_put_text(".dockerenv", "");
        else
            unlink(tree_path(".dockerenv"));
        int all = pp_reach_capabilities(&r, text, sizeof(text));
        if (all != rows[i].all || !strstr(text, rows[i].words) || strstr(text, rows[i].not_words))
            fail_msg("row %zu: %d, %s", i, all, text);
    }
    /* a pod of Kubernetes has neither file: its service, or its account, tells */
    unlink(tree_path(".dockerenv"));
    r = root_of(NULL);
    r.kubernetes = "";
    assert_int_equal(pp_reach_capabilities(&r, text, sizeof(text)), 1);
    r.kubernetes = "10.0.0.1";
    assert_int_equal(pp_reach_capabilities(&r, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "no video: the JPEG engine"));
    r.kubernetes = NULL;
    tree_put_text("run/secrets/kubernetes.io/serviceaccount/token", "");
    assert_int_equal(pp_reach_capabilities(&r, text, sizeof(text)), 0);
    char tiny[16];
    r = root_of("graphics");
    assert_int_equal(pp_reach_capabilities(&r, tiny, sizeof(tiny)), 0);
    assert_true(strlen(tiny) < sizeof(tiny));
    (void)state;
}

static void test_instances_of_mig(void **state)
{
    char text[240];
    struct pp_reach_root r = root_of(NULL);
    assert_int_equal(pp_reach_mig(&r, text, sizeof(text)), -1);
    tree_put_text("dev/nvidia0", "");
    assert_int_equal(pp_reach_mig(&r, text, sizeof(text)),
                     -1); /* a driver before MIG, or a container without */
    assert_string_equal(text, "not in /proc/driver/nvidia/capabilities");
    tree_put_text("proc/driver/nvidia/capabilities/gpu0/mig/config", "");
    assert_int_equal(pp_reach_mig(&r, text, sizeof(text)), 0);
    assert_string_equal(text, "no GPU is divided");
    tree_put_text("proc/driver/nvidia/capabilities/gpu1/mig/gi7/access", "");
    tree_put_text("proc/driver/nvidia/capabilities/gpu3/mig/gi1/ci0/access", "");
    tree_put_text("proc/driver/nvidia/capabilities/gpu3/mig/gi2/access", "");
    tree_put_text("proc/driver/nvidia/capabilities/gpu3/mig/gibberish", "");
    assert_int_equal(pp_reach_mig(&r, text, sizeof(text)), 1);
    assert_string_equal(text, "GPU 1 has 1 instance, GPU 3 has 2 instances");
    (void)state;
}

/* Whether a program that is recorded may use a GPU: CUDA_VISIBLE_DEVICES may hide all there are. */
static void test_a_gpu_for_a_program(void **state)
{
    static const struct {
        const char *visible;
        int reached;
    } rows[] = {{NULL, 1}, {"", 0}, {"-1", 0}, {"-1,0", 0}, {"0", 1}, {"MIG-5c2f", 1}};
    struct pp_reach_root r = root_of(NULL);
    assert_int_equal(pp_reach_a_gpu(&r), 0);
    tree_put_text("dev/nvidia0", "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        r.visible = rows[i].visible;
        assert_int_equal(pp_reach_a_gpu(&r), rows[i].reached);
    }
    (void)state;
}

static void test_cufile(void **state)
{
    char text[240];
    struct pp_reach_root r = root_of(NULL);
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_string_equal(text, "no libcufile.so.0");
    tree_put_text("usr/lib/x86_64-linux-gnu/libcufile.so.0", "");
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_string_equal(text,
                        "/usr/lib/x86_64-linux-gnu/libcufile.so.0; no nvidia-fs: compatibility mode, unless "
                        "cufile.json forbids it");
    tree_put_text("etc/cufile.json", "{\n  // \"allow_compat_mode\": true,\n  \"properties\": {\n"
                                     "    \"allow_compat_mode\": false,\n  }\n}\n");
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "cufile.json does not allow the compatibility mode"));
    tree_put_text("own.json", "{ \"allow_compat_mode\" : true }");
    r.cufile_json = "/own.json";
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "no nvidia-fs: compatibility mode"));
    assert_null(strstr(text, "unless"));
    tree_put_text("proc/driver/nvidia-fs/version", "2.17\n");
    tree_put_text("opt/cuda/libcufile.so.0", "");
    r.library_path = "/nowhere::/opt/cuda";
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 1);
    assert_string_equal(text, "/opt/cuda/libcufile.so.0; nvidia-fs is loaded");
    r.force_compat = "false";
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 1);
    r.force_compat = "TRUE";
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_string_equal(text, "/opt/cuda/libcufile.so.0; compatibility mode (CUFILE_FORCE_COMPAT_MODE=TRUE)");
    r.force_compat = NULL;
    unlink(tree_path("proc/driver/nvidia-fs/version"));
    rmdir(tree_path("proc/driver/nvidia-fs"));
    unlink(tree_path("own.json")); /* and no file that is waited for */
    assert_int_equal(mkfifo(tree_path("own.json"), 0600), 0);
    assert_int_equal(pp_reach_cufile(&r, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "unless cufile.json forbids it"));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_capabilities_of_a_container),
        TREE_TEST(test_instances_of_mig),
        TREE_TEST(test_a_gpu_for_a_program),
        TREE_TEST(test_cufile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
