#include "collectors/gpu/gpu.h"

#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

enum { GPUS = 32 };

struct pp_reach_root pp_reach_here(void)
{
    return (struct pp_reach_root){.folder = "",
                                  .capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES"),
                                  .cufile_json = getenv("CUFILE_ENV_PATH_JSON"),
                                  .visible = getenv("CUDA_VISIBLE_DEVICES"),
                                  .library_path = getenv("LD_LIBRARY_PATH"),
                                  .kubernetes = getenv("KUBERNETES_SERVICE_HOST"),
                                  .force_compat = getenv("CUFILE_FORCE_COMPAT_MODE")};
}

static int exists(const struct pp_reach_root *root, const char *path)
{
    char at[PATH_MAX];
    snprintf(at, sizeof(at), "%s%s", root->folder, path);
    return access(at, F_OK) == 0;
}

static int has_device(const struct pp_reach_root *root)
{
    char path[32];
    int found = 0;
    for (int gpu = 0; gpu < GPUS && !found; gpu++) {
        snprintf(path, sizeof(path), "/dev/nvidia%d", gpu);
        found = exists(root, path);
    }
    return found;
}

int pp_reach_a_gpu(const struct pp_reach_root *root)
{
    int hidden = root->visible && (!*root->visible || strncmp(root->visible, "-1", 2) == 0);
    return has_device(root) && !hidden;
}

/* ---- what a container was given ---- */

/* NVIDIA's container runtime mounts only the libraries of the capabilities that are asked for. */
static const struct {
    const char *name, *without;
} capabilities[] = {
    {"compute", "CUDA cannot be reached"},
    {"utility", "NVML cannot be reached"},
    {"video", "the JPEG engine cannot be reached, though CUDA can"},
};

/* Whether the list, divided by commas, has the word or "all". */
static int has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        p += strspn(p, " ");
        size_t length = strcspn(p, ", ");
        if ((length == n && strncmp(p, word, n) == 0) || (length == 3 && strncmp(p, "all", 3) == 0))
            return 1;
    }
    return 0;
}

int pp_reach_capabilities(const struct pp_reach_root *root, char *text, size_t size)
{
    const char *given = root->capabilities;
    int contained = exists(root, "/.dockerenv") || exists(root, "/run/.containerenv") ||
                    exists(root, "/run/secrets/kubernetes.io") || (root->kubernetes && *root->kubernetes);
    int missing = 0;
    if (!has_device(root))
        return snprintf(text, size, "no NVIDIA device in /dev"), -1;
    if (!given && !contained)
        return snprintf(text, size, "no container limits the driver"), 1;
    /* an empty list, and none, are the runtime's default */
    const char *list = given && *given ? given : "compute,utility";
    size_t at = (size_t)snprintf(text, size, "NVIDIA_DRIVER_CAPABILITIES%s%.60s", given ? "=" : " is not set",
                                 given ? given : "");
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
        if (has_word(list, capabilities[i].name))
            continue;
        at += at < size ? (size_t)snprintf(text + at, size - at, "%s no %s: %s", missing ? ";" : ",",
                                           capabilities[i].name, capabilities[i].without)
                        : 0;
        missing++;
    }
    return missing == 0;
}

/* ---- MIG ---- */

int pp_reach_mig(const struct pp_reach_root *root, char *text, size_t size)
{
    char folder[PATH_MAX];
    size_t at = 0;
    if (!has_device(root))
        return snprintf(text, size, "no NVIDIA device in /dev"), -1;
    if (!exists(root, "/proc/driver/nvidia/capabilities"))
        return snprintf(text, size, "not in /proc/driver/nvidia/capabilities"), -1;
    for (int gpu = 0; gpu < GPUS && at < size; gpu++) {
        int n = 0; /* entries "gi" and a number */
        snprintf(folder, sizeof(folder), "%s/proc/driver/nvidia/capabilities/gpu%d/mig", root->folder, gpu);
        DIR *dir = opendir(folder);
        for (struct dirent *e; dir && (e = readdir(dir));)
            n += strncmp(e->d_name, "gi", 2) == 0 && e->d_name[2] >= '0' && e->d_name[2] <= '9';
        if (dir)
            closedir(dir);
        if (n)
            at += (size_t)snprintf(text + at, size - at, "%sGPU %d has %d instance%s", at ? ", " : "", gpu, n,
                                   n == 1 ? "" : "s");
    }
    if (!at)
        snprintf(text, size, "no GPU is divided");
    return at > 0;
}

/* ---- cuFile ---- */

static int is_library(const struct pp_reach_root *root, const char *folder, size_t length,
                      char found[PATH_MAX])
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s/libcufile.so.0", (int)length, folder);
    snprintf(found, PATH_MAX, "%s", path);
    return exists(root, path);
}

/* "allow_compat_mode" of cufile.json, which has comments as C++ has them: 1, 0, or -1: it is not said. */
static int compat_allowed(const struct pp_reach_root *root)
{
    char text[32768];
    pp_io_text(text, sizeof(text), "%s%s", root->folder,
               root->cufile_json ? root->cufile_json : "/etc/cufile.json");
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        const char *key = strstr(line, "\"allow_compat_mode\""), *comment = strstr(line, "//");
        if (!key || key >= next || (comment && comment < key))
            continue;
        key += strlen("\"allow_compat_mode\"");
        key += strspn(key, " \t:");
        return strncmp(key, "true", 4) == 0 ? 1 : strncmp(key, "false", 5) == 0 ? 0 : -1;
    }
    return -1;
}

int pp_reach_cufile(const struct pp_reach_root *root, char *text, size_t size)
{
    static const char *const folders[] = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};
    char library[PATH_MAX];
    int found = 0; /* only looked for, and not loaded: it writes a log where it is */
    for (const char *p = root->library_path; !found && p && *p; p += strcspn(p, ":"), p += *p == ':')
        found = strcspn(p, ":") && is_library(root, p, strcspn(p, ":"), library);
    for (size_t i = 0; !found && i < sizeof(folders) / sizeof(*folders); i++)
        found = is_library(root, folders[i], strlen(folders[i]), library);
    if (!found) {
        snprintf(text, size, "no libcufile.so.0");
        return 0;
    }
    int direct = exists(root, "/proc/driver/nvidia-fs/version") || exists(root, "/proc/driver/nvidia-fs"),
        compat = compat_allowed(root);
    const char *force = root->force_compat;
    if (force && (strcasecmp(force, "true") == 0 || strcmp(force, "1") == 0)) { /* as cuFile reads it */
        snprintf(text, size, "%.120s; compatibility mode (CUFILE_FORCE_COMPAT_MODE=%.8s)", library, force);
        return 0;
    }
    snprintf(text, size, "%.120s; %s%s", library, direct ? "nvidia-fs is loaded" : "no nvidia-fs",
             direct        ? ""
             : compat == 0 ? ", and cufile.json does not allow the compatibility mode"
             : compat == 1 ? ": compatibility mode"
                           : ": compatibility mode, unless cufile.json forbids it");
    return direct;
}
